"""How many workers a call gets, in threads and child processes too, and which of Numba's layers runs them."""

import importlib.util
import os
import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

from fastspectral import _threads
from fastspectral._threads import get_workers, resolve_workers, set_workers

ALL = numba.get_num_threads()
needs_two = pytest.mark.skipif(ALL < 2, reason="Numba has one thread here")
LARGE, SMALL, THRESHOLD = 100, 99, 100


@pytest.fixture(autouse=True)
def nobody_chose(monkeypatch):
    monkeypatch.delenv("FASTSPECTRAL_WORKERS", raising=False)
    _threads.workers_of_environment.cache_clear()
    yield
    set_workers(None)
    _threads.workers_of_environment.cache_clear()


def test_work_decides_where_nobody_chose():
    assert resolve_workers(None, SMALL, THRESHOLD) == 1
    assert resolve_workers(None, LARGE, THRESHOLD) == ALL


def test_little_work_is_done_alone():
    assert resolve_workers(ALL, SMALL, THRESHOLD, LARGE) == 1
    assert resolve_workers(ALL, LARGE, THRESHOLD, LARGE) == ALL
    with pytest.raises(ValueError, match="workers must be"):
        resolve_workers(0, SMALL, THRESHOLD, LARGE)


def test_argument_comes_first(monkeypatch):
    monkeypatch.setenv("FASTSPECTRAL_WORKERS", "-1")
    with set_workers(-1):
        assert resolve_workers(1, LARGE, THRESHOLD) == 1
    with set_workers(1):
        assert resolve_workers(-1, SMALL, THRESHOLD) == ALL


@needs_two
def test_choice_holds_for_any_work():
    assert resolve_workers(2, SMALL, THRESHOLD) == 2
    with set_workers(2):
        assert resolve_workers(None, SMALL, THRESHOLD) == 2


def test_never_more_than_numba_has():
    assert resolve_workers(10**6, SMALL, THRESHOLD) == ALL
    assert resolve_workers(np.int64(ALL), SMALL, THRESHOLD) == ALL


@needs_two
def test_numba_mask_is_kept_to():
    numba.set_num_threads(1)
    try:
        assert resolve_workers(-1, LARGE, THRESHOLD) == 1
    finally:
        numba.set_num_threads(ALL)


def test_set_workers_nests():
    with set_workers(1):
        assert get_workers() == 1
        with set_workers(-1):
            assert get_workers() == ALL
        assert get_workers() == 1
    assert get_workers() == ALL


def test_set_workers_is_undone_after_an_error():
    with pytest.raises(KeyError), set_workers(1):
        raise KeyError
    assert get_workers() == ALL


def test_set_workers_holds_when_called_plainly():
    set_workers(1)
    assert get_workers() == 1
    assert resolve_workers(None, LARGE, THRESHOLD) == 1
    set_workers(None)
    assert get_workers() == ALL


@needs_two
def test_set_workers_is_of_its_thread():
    seen = []
    with set_workers(1):
        other = threading.Thread(target=lambda: seen.append(_threads._chosen.workers))
        other.start()
        other.join()
    assert seen == [None]


@pytest.mark.parametrize(
    ("workers", "error"),
    [(0, ValueError), (-2, ValueError), (1.0, TypeError), ("2", TypeError), (True, TypeError), ([2], TypeError)],
)
def test_other_workers_are_refused(workers, error):
    words = "workers must be a positive integer, or -1 for all threads, got"
    with pytest.raises(error, match=words):
        resolve_workers(workers, LARGE, THRESHOLD)
    with pytest.raises(error, match=words):
        set_workers(workers)
    assert get_workers() == ALL


@pytest.mark.parametrize(("text", "count"), [("1", 1), ("-1", ALL), (" 1 ", 1), ("1000000", ALL)])
def test_environment(monkeypatch, text, count):
    monkeypatch.setenv("FASTSPECTRAL_WORKERS", text)
    assert get_workers() == count
    assert resolve_workers(None, SMALL, THRESHOLD) == count
    with set_workers(1):
        assert get_workers() == 1


@pytest.mark.parametrize("text", ["", "two", "0", "-3", "1.5"])
def test_other_environment_is_refused(monkeypatch, text):
    monkeypatch.setenv("FASTSPECTRAL_WORKERS", text)
    with pytest.raises(ValueError, match="FASTSPECTRAL_WORKERS must be a positive integer"):
        get_workers()


def run(code, **environment):
    """Run code in a new interpreter and give what it prints."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_THREADING", "FASTSPECTRAL"))
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


LAYER = "import numba; from fastspectral._threads import get_workers; print(get_workers(), numba.threading_layer())"
needs_two_cpus = pytest.mark.skipif(_threads._cpus() == 1, reason="on one CPU no layer is started")
needs_tbb = pytest.mark.skipif(
    sys.platform != "linux" or importlib.util.find_spec("numba.np.ufunc.tbbpool") is None or not _threads.tbb_library(),
    reason="no tbb here",
)


@needs_tbb
@needs_two_cpus
@pytest.mark.parametrize("layer", ["default", "tbb", "safe"])
def test_layer_is_that_of_the_tbb_package(layer):
    assert run(LAYER, NUMBA_NUM_THREADS="2", NUMBA_THREADING_LAYER=layer) == ["2", "tbb"]


@needs_two_cpus
def test_layer_of_the_user_is_kept():
    assert run(LAYER, NUMBA_NUM_THREADS="2", NUMBA_THREADING_LAYER="workqueue") == ["2", "workqueue"]


@needs_tbb
@needs_two_cpus
def test_tbb_can_be_left_alone():
    code = (
        "import numba, fastspectral._threads as t; t.get_workers(); print('libtbb' in open('/proc/self/maps').read())"
    )
    assert run(code, NUMBA_NUM_THREADS="2") == ["True"]
    assert run(
        code, NUMBA_NUM_THREADS="2", FASTSPECTRAL_TBB="0", NUMBA_THREADING_LAYER_PRIORITY="workqueue omp tbb"
    ) == ["False"]


def test_one_worker_starts_no_threads():
    code = """
from numba.np.ufunc import parallel
from fastspectral._threads import resolve_workers
resolve_workers(1, 100, 1), resolve_workers(None, 1, 2)
print(parallel._is_initialized)
"""
    assert run(code) == ["False"]


@needs_two_cpus
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("layer", ["omp", "workqueue", "default"])
def test_child_process_survives(layer):
    """Numba ends a child that goes parallel on the omp layer of its parent: such a child gets one worker."""
    code = """
import os, sys, warnings
import numba
from fastspectral._threads import get_workers
warnings.simplefilter("ignore")

@numba.njit(parallel=True)
def total(n):
    count = 0
    for i in numba.prange(n):
        count += i
    return count

try:
    workers = get_workers()
except ValueError:
    print("missing")
    sys.exit()
total(100)
child = os.fork()
if child == 0:
    if get_workers() > 1:
        total(100)
    os._exit(0)
_, status = os.waitpid(child, 0)
print(workers, os.waitstatus_to_exitcode(status))
"""
    printed = run(code, NUMBA_NUM_THREADS="2", NUMBA_THREADING_LAYER=layer)
    if printed == ["missing"]:
        pytest.skip(f"Numba has no layer {layer} here")
    assert printed == ["2", "0"]


@needs_two_cpus
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_child_that_another_thread_has_forked_uses_one_worker():
    """Numba starts tbb again behind a fork of the main thread only."""
    code = """
import os, threading
from fastspectral._threads import get_workers
get_workers()
def fork():
    child = os.fork()
    if child == 0:
        os._exit(get_workers())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
thread = threading.Thread(target=fork)
thread.start(); thread.join()
"""
    assert run(code, NUMBA_NUM_THREADS="2") == ["1"]


@needs_two_cpus
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_child_forked_while_the_workqueue_was_at_work_may_use_it():
    code = """
import os
from fastspectral._threads import get_workers, shared
get_workers()
def fork(threads):
    child = os.fork()
    if child == 0:
        os._exit(shared(2, int))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(shared(2, fork))
"""
    assert run(code, NUMBA_NUM_THREADS="2", NUMBA_THREADING_LAYER="workqueue") == ["2"]


@needs_two_cpus
def test_workqueue_gets_one_work_at_a_time():
    """Numba ends the process where two threads enter its workqueue layer at once, or one of the layer's own."""
    code = """
import _thread, threading, time
from fastspectral._threads import get_workers, shared
def in_thread(function, *arguments):
    results = []
    thread = threading.Thread(target=lambda: results.append(function(*arguments)))
    thread.start(); thread.join()
    return results[0]
def nested(threads):
    return threads, shared(2, int), in_thread(shared, 2, int)
print(get_workers(), *shared(2, nested), shared(2, int), in_thread(shared, 2, int), shared(1, int))
def fail(threads):
    raise KeyError
try:
    shared(2, fail)
except KeyError:
    print(shared(2, int))
_thread.start_new_thread(lambda: print(shared(2, int), flush=True), ())
time.sleep(1)
"""
    printed = run(code, NUMBA_NUM_THREADS="2", NUMBA_THREADING_LAYER="workqueue")
    assert printed == ["2", "2", "1", "1", "2", "2", "1", "2", "1"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="a process cannot be held to one CPU here")
@pytest.mark.parametrize("threads", ["2", None])
def test_one_cpu_starts_no_layer(threads):
    code = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
from numba.np.ufunc import parallel
from fastspectral._threads import get_workers
print(get_workers(), parallel._is_initialized)
"""
    assert run(code, **({} if threads is None else {"NUMBA_NUM_THREADS": threads})) == ["1", "False"]
