"""README.md: its Python runs, its commands name what is there, and CI runs its test command."""

import math
import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from fastspectral.cli.main import VERBS, main, parser

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def blocks(language):
    """Give (number of the first line, text) of each block of code."""
    for found in re.finditer(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL):
        yield README.count("\n", 0, found.start(1)), found[1]


COMMANDS = [line for _, text in blocks("console") for line in text.splitlines()]


def test_python_blocks_run(tmp_path, monkeypatch, capsys):
    """One after the other, in one namespace; a traceback shows the lines of the README."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "readme"}
    found = list(blocks("python"))
    assert len(found) >= 5
    for line, text in found:
        exec(compile("\n" * line + text, "README.md", "exec"), namespace)
    printed = capsys.readouterr().out
    assert re.search(r"^1 +fastspectral +STFT", printed, re.MULTILINE)
    assert list(tmp_path.iterdir()) == []


def test_there_are_commands():
    assert len(COMMANDS) >= 4


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_name_what_is_there(command):
    folder = ROOT
    for part in re.split(r"&&|;", command):
        words = shlex.split(part, comments=True)
        if words[0] == "cd":
            folder = ROOT / words[1]
            assert folder.is_dir()
            continue
        for word in words:
            extra = re.fullmatch(r"\.\[(\w+)\]", word)
            if extra:
                assert extra[1] in PROJECT["optional-dependencies"]
            elif word.endswith(".py"):
                assert (folder / word).is_file()
            elif word.startswith(".ci/"):
                assert os.access(folder / word, os.X_OK)


def test_verbs_of_the_command_line_parse():
    """Every command of the package is one that its parser takes, up to the files that it names."""
    commands = [shlex.split(command) for command in COMMANDS if command.startswith("python -m fastspectral ")]
    assert {words[3] for words in commands} == set(VERBS)
    for words in commands:
        assert parser().parse_args(words[3:]).verb == words[3]


@pytest.mark.parametrize("verb", ["info", "ops --json"])
def test_commands_without_files_run(verb, capsys):
    assert f"python -m fastspectral {verb}" in COMMANDS
    assert main(verb.split()) == 0
    assert capsys.readouterr().out


def test_ci_runs_the_test_command():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (pattern,) = re.findall(r"^command=\$\(grep -x '(.*)' README\.md\)$", script, re.MULTILINE)
    chosen = [line for line in README.splitlines() if re.fullmatch(pattern, line)]
    assert chosen == [
        'python3 -m venv .venv && .venv/bin/python -m pip install -e ".[test]" && .venv/bin/python -m pytest'
    ]
    assert chosen[0] in COMMANDS
    assert chosen[0] in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    assert 'bash -euo pipefail -c "$command"' in script


def test_the_newcomers_command_is_there():
    assert (
        'python3 -m venv .venv && .venv/bin/python -m pip install ".[examples]" && '
        ".venv/bin/python examples/whisper_frontend.py"
    ) in COMMANDS


def test_links_lead_to_headings_and_files():
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    links = re.findall(r"\]\(([^)\s]+)\)", README)
    assert len(links) > 10
    for link in links:
        if link.startswith("#"):
            assert link[1:] in anchors
        elif not link.startswith("https://"):
            assert (ROOT / link).exists()


def test_pictures_are_small_and_there():
    pictures = re.findall(r"^!\[.+\]\((\S+)\)$", README, re.MULTILINE)
    assert len(pictures) == 2
    assert all(0 < (ROOT / picture).stat().st_size < 150_000 for picture in pictures)


def test_table_of_speeds_is_generated_and_dated():
    (table,) = re.findall(r"^<!-- speed: begin -->\n(.*)^<!-- speed: end -->$", README, re.MULTILINE | re.DOTALL)
    assert re.search(r"20\d\d-\d\d-\d\d, by `python asv_benchmarks/readme_table\.py`", table)
    assert len(re.findall(r"^\| \w+, .* \|$", table, re.MULTILINE)) >= 12
    assert str(ROOT) not in README


def test_table_of_errors_is_generated_and_bounded():
    (table,) = re.findall(r"^<!-- accuracy: begin -->\n(.*)^<!-- accuracy: end -->$", README, re.MULTILINE | re.DOTALL)
    assert re.search(r"20\d\d-\d\d-\d\d, by `python asv_benchmarks/accuracy_table\.py`", table)
    rows = re.findall(r"^\| float\d\d, (\d+) \| (\S+) \|", table, re.MULTILINE)
    assert len(rows) == 24
    assert all(float(eps) <= 0.6 * math.log2(int(n)) ** 0.5 for n, eps in rows)  # the bound that is stated above it
