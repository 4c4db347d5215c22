"""Numba's disk cache as this package uses it: it saves compiling, sees every edit, and is never in the way.

Every test runs new interpreters on a cache folder of its own and counts what they compile.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fastspectral

PACKAGE = Path(fastspectral.__file__).parent

# A C callback, a kernel with a dispatcher, a parallel kernel; then what was compiled, by Numba's own events.
PAYLOAD = """
import numpy as np
from numba.core import event
with event.install_recorder("numba:run_pass") as recorder:
    import fastspectral
    from fastspectral import kernels
    x = np.arange(12.0).reshape(1, 12, 1)
    spectrum = fastspectral.dft(x)
    assert np.allclose(spectrum[0].view(complex)[:, 0], np.fft.fft(x[0, :, 0]), rtol=0, atol=1e-13)
    y = fastspectral.conv_transpose(np.ones((1, 2, 3)), np.ones((2, 1, 2)), workers=2)
    assert y.tolist() == [[[2, 4, 4, 2]]], y
    z, out = spectrum[0].view(complex).T.copy(), np.empty((1, 12), complex)
    kernels.ifft_lines(z, out, 1 / 12, fastspectral.fft_plan(12, np.float64))
    assert np.allclose(out[0].real, x[0, :, 0], rtol=0, atol=1e-13)
print(len({recorded.data["qualname"] for _, recorded in recorder.buffer if hasattr(recorded, "data")}))
"""


def start(cache, **environment):
    """Start the payload in a new interpreter with its cache in the folder `cache`."""
    settings = {"NUMBA_CACHE_DIR": str(cache), "NUMBA_NUM_THREADS": "2", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PAYLOAD],
        env=os.environ | settings | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def compiled(process):
    """Wait for a payload and give the number of functions that it compiled."""
    printed, complaints = process.communicate(timeout=300)
    assert process.returncode == 0, complaints
    assert complaints == ""
    return int(printed)


def files(cache, suffix):
    found = sorted(cache.rglob(f"*{suffix}"))
    assert found
    return found


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Folder of a cache that one run has filled, and the number of functions that it compiled."""
    cache = tmp_path_factory.mktemp("filled")
    return cache, compiled(start(cache))


@pytest.fixture
def cache(filled, tmp_path):
    """Copy of the filled cache, to be damaged."""
    return Path(shutil.copytree(filled[0], tmp_path / "cache"))


def test_a_second_process_compiles_nothing(filled, cache):
    assert filled[1] >= 10
    assert compiled(start(cache)) == 0


def emptied(path):
    path.write_bytes(b"")


def truncated(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbage(path):
    path.write_bytes(b"\x80\x04garbage" * 100)


def lost(path):
    path.unlink()


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [emptied, truncated, garbage, lost])
def test_a_damaged_file_is_a_miss_and_is_repaired(filled, cache, suffix, damage):
    for path in files(cache, suffix):
        damage(path)
    assert compiled(start(cache)) == filled[1]
    assert compiled(start(cache)) == 0


def test_a_file_that_cannot_be_written_is_a_miss(filled, cache):
    """A folder in its place: no user, root included, can read or replace it."""
    for path in files(cache, ".nbi"):
        path.unlink()
        path.mkdir()
    assert compiled(start(cache)) == filled[1]


def test_two_processes_on_one_empty_cache(filled, tmp_path):
    both = [start(tmp_path), start(tmp_path)]
    assert all(0 < compiled(process) <= filled[1] for process in both)
    assert compiled(start(tmp_path)) == 0


@pytest.fixture
def site(tmp_path):
    """Folder with a copy of the package, to be imported from there."""
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "fastspectral", ignore=shutil.ignore_patterns("__pycache__"))
    return site


@pytest.mark.parametrize("edited", ["kernels/codelets.py", "recipes.py"])
def test_an_edited_source_is_a_miss(filled, site, tmp_path, edited):
    """Neither file holds a function that Numba caches: Numba itself would not notice."""
    run = {"cache": tmp_path / "cache", "PYTHONPATH": str(site)}
    shutil.copytree(filled[0], run["cache"])
    assert compiled(start(**run)) == filled[1]  # another folder is another cache
    assert compiled(start(**run)) == 0
    with (site / "fastspectral" / edited).open("a") as source:
        source.write("\n# edited\n")
    assert compiled(start(**run)) == filled[1]
    assert compiled(start(**run)) == 0


def test_nothing_writable_still_works(filled, site):
    """Neither the folder that the user names, nor those beside the sources, nor one at home, can be made."""
    nowhere = os.fspath(Path(os.devnull) / "nowhere")
    for folder in [site / "fastspectral", *(path for path in (site / "fastspectral").rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("a file, so that the folder cannot be made, not even by root")
    homes = dict.fromkeys(["HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "APPDATA", "USERPROFILE"], nowhere)
    before = sorted(site.rglob("*"))
    assert compiled(start(nowhere, PYTHONPATH=str(site), **homes)) == filled[1]
    assert sorted(site.rglob("*")) == before
