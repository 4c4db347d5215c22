"""How many threads a call may use, and on which of Numba's threading layers.

The order: the argument `workers`, else `set_workers`, else the environment variable FASTSPECTRAL_WORKERS, else all of
Numba's threads where the work is worth it.
"""

import ctypes
import functools
import importlib.metadata
import operator
import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, TypeVar

import numba
import numpy as np
from numba.np.ufunc import parallel as numba_parallel

Result = TypeVar("Result")

_LIBTBB = ("libtbb.so.12", "libtbb.12.dylib", "tbb12.dll")


class _Chosen(threading.local):
    workers: int | None = None


_chosen = _Chosen()


class set_workers:  # a function that is also a context manager, named as the one in scipy.fft
    """Set the number of threads for calls from this Python thread that give no `workers`.

    It holds from the call on; as a context manager, until the block ends.

    Parameters
    ----------
    n : int or None
        Threads, at most Numba's; -1 is all of them.  None leaves it to FASTSPECTRAL_WORKERS or to the size of a call.

    Raises
    ------
    TypeError
        If `n` is no integer.
    ValueError
        If `n` is 0 or less than -1.

    Examples
    --------
    >>> with set_workers(2):
    ...     get_workers()
    2
    """

    def __init__(self, n: int | None) -> None:
        checked = None if n is None else _checked(n, "workers")
        self._before = _chosen.workers
        _chosen.workers = checked

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _chosen.workers = self._before


def get_workers() -> int:
    """Give the number of threads that a large call from this Python thread uses, if it gives no `workers`.

    Raises
    ------
    ValueError
        If FASTSPECTRAL_WORKERS is set to anything but an integer that `set_workers` takes.
    """
    return resolve_workers(None, 1, 0)


def resolve_workers(workers: Any, work: int, threshold: int, alone: int = 0) -> int:
    """Give the number of threads for a call: where nobody chose, more than one only if `work` reaches `threshold`.

    Less work than `alone` is done by one, whoever chose.

    Raises as `set_workers` and `get_workers`.
    """
    if workers is not None:
        wanted = workers if type(workers) is int and workers == 1 else _checked(workers, "workers")
    elif _chosen.workers is not None:
        wanted = _chosen.workers
    elif (environment := workers_of_environment()) is not None:
        wanted = environment
    else:
        wanted = -1 if work >= threshold else 1
    if wanted == 1 or work < alone:
        return 1
    available = _available()
    return available if wanted == -1 else min(wanted, available)


def _checked(workers: Any, name: str) -> int:
    if isinstance(workers, (bool, np.bool)):
        raise TypeError(f"{name} must be a positive integer, or -1 for all threads, got {workers!r}")
    try:
        count = operator.index(workers)
    except TypeError:
        raise TypeError(f"{name} must be a positive integer, or -1 for all threads, got {workers!r}") from None
    if count < 1 and count != -1:
        raise ValueError(f"{name} must be a positive integer, or -1 for all threads, got {count}")
    return count


@functools.cache
def workers_of_environment() -> int | None:
    """Read FASTSPECTRAL_WORKERS, once: a look at the environment costs 0.6 us, as much as checking the input."""
    text = os.environ.get("FASTSPECTRAL_WORKERS")
    if text is None:
        return None
    try:
        count = int(text)
    except ValueError:
        raise ValueError(
            f"FASTSPECTRAL_WORKERS must be a positive integer, or -1 for all threads, got {text!r}"
        ) from None
    return _checked(count, "FASTSPECTRAL_WORKERS")


def _available() -> int:
    """Threads of Numba that can be used here and now."""
    if numba.config.NUMBA_NUM_THREADS == 1 or (_cpus() == 1 and not numba_parallel._is_initialized):
        # starts no layer: on one CPU a process that has started tbb and then forked hangs when it ends
        return 1
    if not numba_parallel._is_initialized:
        _show_tbb_to_numba()
    threads = int(numba.get_num_threads())  # starts the layer
    # Numba ends the process where its omp layer (libgomp) runs in a child forked after it started.  tbb is taken down before a fork and started
    # again behind it, but by the main thread only.
    if _forked == "by another thread" or (_forked and numba.threading_layer() == "omp"):
        return 1
    return threads


def _cpus() -> int | None:
    """CPUs that the process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def shared(threads: int, work: Callable[..., Result], *arguments: Any) -> Result:
    """Give ``work(threads, …)``, or ``work(1, …)`` where Numba's workqueue layer has work already: it would end the process that brings it more."""
    if threads == 1 or numba.threading_layer() != "workqueue":
        return work(threads, *arguments)
    # A thread that Python has not started is, most likely, one of the layer's, in the user's own prange.
    known = not isinstance(threading.current_thread(), threading._DummyThread)
    if not (known and _workqueue.acquire(blocking=False)):
        return work(1, *arguments)
    try:
        return work(threads, *arguments)
    finally:
        _workqueue.release()


def _show_tbb_to_numba() -> None:
    """Load the library of the PyPI package tbb, which Numba looks for by name only and never finds in an environment.

    Numba then takes its tbb layer, the only one that is safe in threads and after fork.  Nothing happens where the user
    chose another layer or set FASTSPECTRAL_TBB=0; where loading fails, Numba chooses among the others.
    """
    if os.environ.get("FASTSPECTRAL_TBB") == "0" or str(numba.config.THREADING_LAYER).lower() in ("omp", "workqueue"):
        return
    library = tbb_library()
    if library is None:
        return
    try:
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return


def tbb_library() -> str | None:
    """Find the library that the PyPI package tbb has installed."""
    try:
        files = importlib.metadata.distribution("tbb").files or ()
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((os.fspath(file.locate()) for file in files if file.name in _LIBTBB), None)


Forked = Literal["", "by the main thread", "by another thread"]

_workqueue = threading.Lock()
_forked: Forked = ""  # how this process came about, if Numba's threads were started before
_by_main_thread = True


def _before_fork() -> None:
    global _by_main_thread
    _by_main_thread = threading.current_thread() is threading.main_thread()


def _after_fork() -> None:
    global _forked, _workqueue
    _workqueue = threading.Lock()  # the one that was may be held by a thread that is no more
    if numba_parallel._is_initialized:
        _forked = "by the main thread" if _by_main_thread else "by another thread"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
