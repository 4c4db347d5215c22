"""Numba's disk cache as this package uses it: it saves compiling, sees every edit, and is never in the way.

Every test runs new interpreters on a cache folder of its own and counts what they compile.
"""

import itertools
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numba
import pytest
from numba.core import caching

import fastspectral
from fastspectral import kernels
from fastspectral._jit import KeyedCacheFiles, SourceKeyedCache

PACKAGE = Path(fastspectral.__file__).parent

# A kernel; C callbacks and another kernel, but not with "window"; with "parallel" a kernel of several threads as well.  Then the number of the package's
# functions compiled, by Numba's own events.
PAYLOAD = """
import sys
import numba
import numpy as np
from numba.core import event
if "refused" in sys.argv:  # root may write anywhere
    import os, tempfile
    locked, given = sys.argv[-1], tempfile.TemporaryFile
    def refuse(*arguments, dir=None, **keywords):
        if os.fspath(dir).startswith(locked):
            raise PermissionError(dir)
        return given(*arguments, dir=dir, **keywords)
    tempfile.TemporaryFile = refuse
with event.install_recorder("numba:run_pass") as recorder:
    import fastspectral
    window = fastspectral.hann_window(4)
    assert np.allclose(window, [0, 0.5, 1, 0.5], rtol=0, atol=1e-7)
    if "window" not in sys.argv:
        x = np.arange(144.0).reshape(9, 8, 2)
        spectrum = fastspectral.dft(x).view(complex)[..., 0]
        assert np.allclose(spectrum, np.fft.fft(x.view(complex)[..., 0]), rtol=0, atol=1e-12)
    if "parallel" in sys.argv:
        numba.get_num_threads()  # starts the threads, which the package does not on one CPU
        many = fastspectral.dft(np.tile(x, (400, 1, 1)), workers=2).view(complex)[..., 0]
        assert (many.reshape(400, 9, 8) == spectrum).all()
passes = [recorded.data for _, recorded in recorder.buffer]
names = {data["qualname"] for data in passes if data["module"].startswith("fastspectral.")}
print(len([name for name in names if "parallel" not in name]), len(names))
"""


def start(site, cache, *arguments, **environment):
    """Start the payload in a new interpreter, with the package in the folder `site` and the cache in the folder `cache`."""
    settings = {
        "NUMBA_CACHE_DIR": str(cache),
        "NUMBA_NUM_THREADS": "2",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(site),
    }
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", PAYLOAD, *arguments],
        env=os.environ | settings | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def compiled(process):
    """Wait for a payload and give the number of functions that it compiled for one thread."""
    return both_compiled(process)[0]


def both_compiled(process):
    """The same, and the number of all."""
    printed, complaints = process.communicate(timeout=300)
    assert process.returncode == 0, complaints
    assert complaints == ""
    return tuple(map(int, printed.split()))


def files(cache):
    found = sorted(cache.rglob("*.nbc"))
    assert found
    return found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder with a copy of the package, which nobody edits meanwhile."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE, site / "fastspectral", ignore=shutil.ignore_patterns("__pycache__"))
    return site


@pytest.fixture(scope="module")
def filled(site, tmp_path_factory):
    """Folder of a cache that one run has filled, and the number of functions that it compiled for one thread; one more is for several."""
    cache = tmp_path_factory.mktemp("filled")
    serial, all_ = both_compiled(start(site, cache, "parallel"))
    assert all_ == serial + 1 >= 6
    return cache, serial


@pytest.fixture
def cache(filled, tmp_path):
    """Copy of the filled cache, to be damaged."""
    return Path(shutil.copytree(filled[0], tmp_path / "cache"))


@pytest.mark.parametrize("threads", ["2", "3"])
def test_a_second_process_compiles_nothing(site, filled, cache, threads):
    """For any number of threads."""
    assert both_compiled(start(site, cache, "parallel", NUMBA_NUM_THREADS=threads)) == (0, 0)


def emptied(path):
    path.write_bytes(b"")


def truncated(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garbage(path):
    path.write_bytes(b"\x80\x04garbage" * 100)


def lost(path):
    path.unlink()


DAMAGES = [emptied, truncated, garbage, lost]


def test_damaged_files_are_misses_and_are_repaired(site, filled, cache):
    """All kinds of damage at once: a file that is not missed is one function less compiled."""
    for damage, path in zip(itertools.cycle(DAMAGES), files(cache), strict=False):
        damage(path)
    assert compiled(start(site, cache)) == filled[1] > len(DAMAGES)
    assert compiled(start(site, cache)) == 0


def test_a_file_that_cannot_be_written_is_a_miss(site, filled, cache):
    """A folder in its place: no user, root included, can read or replace it."""
    for path in files(cache):
        path.unlink()
        path.mkdir()
    assert compiled(start(site, cache)) == filled[1]


def test_processes_that_save_together_never_get_the_code_of_another_signature(tmp_path, monkeypatch):
    """Whatever the order in which their files are written: Numba's own files are mixed up by some."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    first, second = (SourceKeyedCache(kernels.fft_lines.py_func)._cache_file for _ in range(2))
    keys, names = ("float32", "float64"), []
    first._open_for_write = recorded = lambda path: names.append(path) or KeyedCacheFiles._open_for_write(first, path)
    second._open_for_write = recorded
    for cache, key in ((first, keys[0]), (second, keys[1])):
        cache.save(key, f"code for {key}")
    assert len(set(names)) == len(names) == 2  # no file has two writers, so that the order does not matter
    for cache in (first, second):
        assert [cache.load(key) for key in keys] == ["code for float32", "code for float64"]
    assert KeyedCacheFiles(str(tmp_path), "kernel", "another stamp").load(keys[0]) is None


def test_eight_processes_on_one_empty_cache(site, tmp_path):
    together = [start(site, tmp_path, "window") for _ in range(8)]
    assert all(compiled(process) in (0, 1) for process in together)
    assert compiled(start(site, tmp_path, "window")) == 0


@pytest.mark.parametrize("edited", ["kernels/codelets.py", "recipes.py"])
def test_an_edited_source_is_a_miss(site, filled, cache, edited):
    """Neither file holds a function that Numba caches: Numba itself would not notice."""
    source = site / "fastspectral" / edited
    original = source.read_bytes()
    source.write_bytes(original + b"\n# edited\n")
    try:
        assert compiled(start(site, cache)) == filled[1]
        assert compiled(start(site, cache)) == 0
    finally:
        source.write_bytes(original)


def test_nothing_writable_still_works(site, filled, tmp_path):
    """Neither the folder that the user names, nor those beside the sources, nor one at home, can be made."""
    locked = tmp_path / "locked"
    shutil.copytree(site, locked, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in {path.parent for path in locked.rglob("*.py")}:
        (folder / "__pycache__").write_text("a file, so that the folder cannot be made, not even by root")
    nowhere = os.fspath(Path(os.devnull) / "nowhere")
    homes = dict.fromkeys(["HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE"], nowhere)
    before = sorted(locked.rglob("*"))
    assert compiled(start(locked, nowhere, **homes)) == filled[1]
    assert sorted(locked.rglob("*")) == before


def test_a_folder_that_can_only_be_read_is_read(site, filled, cache, tmp_path):
    """As of an image of a container: what it lacks goes to the next folder that can be written, here beside the sources."""
    assert compiled(start(site, cache, "refused", os.sep)) == 0
    own, image = tmp_path / "own", tmp_path / "image"
    shutil.copytree(site, own)
    assert compiled(start(own, image)) == filled[1]
    (window,) = [path for path in files(image) if path.name.startswith("window")]
    lost(window)
    kept = files(image)
    for expected in (1, 0):
        assert compiled(start(own, image, "refused", os.fspath(image))) == expected
    assert files(image) == kept
    assert len(files(own)) == 1


def test_a_package_in_an_archive_is_cached_and_its_edits_are_seen(site, filled, tmp_path):
    def pack(appended):
        with zipfile.ZipFile(tmp_path / "site.zip", "w") as archive:
            for path in sorted(site.rglob("*.py")):
                text = path.read_text(encoding="utf-8")
                archive.writestr(str(path.relative_to(site)), text + appended * (path.name == "codelets.py"))

    cache = tmp_path / "cache"
    pack("")
    assert compiled(start(tmp_path / "site.zip", cache)) == filled[1]
    known = hasattr(caching, "ZipCacheLocator")  # to older versions of Numba archives are not
    assert compiled(start(tmp_path / "site.zip", cache)) == (0 if known else filled[1])
    pack("\n# edited\n")
    assert compiled(start(tmp_path / "site.zip", cache)) == filled[1]


# A user's module that Numba caches, and what of it was compiled.
USER = """
import numpy as np
from numba import njit
from numba.core import event
from fastspectral import fft_plan, kernels

@njit(cache=True)
def spectrum(x, out, plan):
    kernels.fft_lines(x, out, 1.0, plan)

if __name__ == "__main__":
    x, out = np.arange(4).reshape(1, 4).astype(complex), np.empty((1, 4), complex)
    with event.install_recorder("numba:compile") as recorder:
        spectrum(x, out, fft_plan(4, float))
    mine = [one for _, one in recorder.buffer if one.data["dispatcher"].__module__ == "__main__"]
    print(len(mine), *out.ravel().real)
"""


def test_a_users_own_cached_function_runs_the_installed_version(site, tmp_path):
    """Numba's cache of the user's function does not see that this package was upgraded."""
    module, installed = tmp_path / "user.py", tmp_path / "site"
    module.write_text(USER)
    shutil.copytree(site, installed, ignore=shutil.ignore_patterns("__pycache__"))
    settings = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(installed)}

    def run():
        done = subprocess.run(
            [sys.executable, module], env=os.environ | settings, capture_output=True, text=True, timeout=300, check=True
        )
        count, *numbers = map(float, done.stdout.split())
        return count, numbers

    count, numbers = run()
    assert count > 0
    assert numbers == [6, -2, -2, -2]
    assert run() == (0, numbers)
    kernels = installed / "fastspectral" / "kernels"
    replace(kernels / "codelets.py", "yield 0, x0 + x1", "yield 0, (x0 + x1).scaled(10.0)")
    # what the user's code would read at the wrong place if it knew where things stand in a plan
    replace(kernels / "program.py", "EXECUTOR, SCALE = 30, 31", "EXECUTOR, SCALE = 31, 30")
    assert run() == (0, [600, -20, -20, -2])  # 2 · 2 points


def replace(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_without_the_compiler_every_operator_says_so():
    code = """
import numpy as np, fastspectral as fs
line, image, taps = np.ones((1, 8, 2)), np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2))
for operator in (
    lambda: fs.dft(line),
    lambda: fs.dft(line.astype(np.float16), workers=2),
    lambda: fs.stft(np.ones((1, 64)), 8, np.ones(16)),
    lambda: fs.conv_transpose(image, taps),
    lambda: fs.conv_transpose_plan(taps),
    lambda: fs.hann_window(8),
    lambda: fs.hamming_window(8),
    lambda: fs.blackman_window(8),
    lambda: fs.fft_plan(8, float),
    lambda: fs.kernels.fft_lines(line, line, 1.0, None),
):
    try:
        operator()
    except RuntimeError as error:
        assert "NUMBA_DISABLE_JIT" in str(error), error
    else:
        raise AssertionError("no error")
print(fs.dft_shape((1, 8, 2)), fs.mel_weight_matrix(2, 16, 16000, 0.0, 8000.0).shape)  # need no kernel
"""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout == "(1, 8, 2) (9, 2)\n"
