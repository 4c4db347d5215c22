"""From arrays to lines: strides of an axis, and the call of the executor."""

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fastspectral._jit import entry_of
from fastspectral._threads import resolve_workers, shared
from fastspectral.kernels.lines import transform_line_parallel, transform_lines, transform_lines_parallel
from fastspectral.plans import Half, Lines, LineTransform

KEPT_WORDS = 1 << 19  # 4 MiB
PARALLEL_THRESHOLD = 1 << 15  # points; below, starting threads costs more than it saves
# Points that one thread transforms whatever `workers` allows: 16 us of work, a fifth of what waking a thread may take.
ALONE = 1 << 14


def collapsed(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int] | None:
    """Count and stride in bytes of axes that act as one, or None where they do not."""
    count, stride = 1, 0
    for size, step in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if count > 1 and step != stride * count:
            return None
        if count == 1:
            stride = step
        count *= size
    return count, stride


def half_of(dtype: np.dtype[Any]) -> Half:
    """How a plan calls the dtype if its numbers have 16 bits."""
    # the name would cost 4 us
    return "" if dtype.itemsize > 2 else "float16" if dtype.char == "e" else "bfloat16"


def lines_of(shape: tuple[int, ...], strides: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> Lines | None:
    """Lines along `axis` of an array whose last axis holds the parts of a point, or None where it must be copied first."""
    if shape[-1] == 2 and strides[-1] != dtype.itemsize:
        return None
    outer = collapsed(shape[:axis], strides[:axis])
    inner = collapsed(shape[axis + 1 : -1], strides[axis + 1 : -1])
    if outer is None or inner is None:
        return None
    step = strides[axis] if shape[axis] > 1 else dtype.itemsize * shape[-1]
    return Lines(outer[0], inner[0], outer[1], inner[1], step, half_of(dtype))


def wide(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in the precision that is computed in: halves become float32."""
    return array if array.dtype.itemsize >= 4 else array.astype(np.float32)


def dense_strides(shape: tuple[int, ...], number_bytes: int) -> tuple[int, ...]:
    """Strides of a C-contiguous array."""
    return tuple(number_bytes * math.prod(shape[k + 1 :]) for k in range(len(shape)))


def narrow(computed: npt.NDArray[Any], y: npt.NDArray[Any]) -> None:
    """Round what was computed in float32 to a half-precision `y`, once; a value beyond its range becomes infinite."""
    if computed is not y:
        with np.errstate(over="ignore"):
            y[...] = computed


class _Kept(threading.local):
    """Scratch of this thread, its words and its address.

    A new array for every call would cost a third of a short one's time, and page faults for a long one.
    """

    scratch: tuple[int, int, npt.NDArray[np.int64]] = (-1, 0, np.empty(0, np.int64))


_kept = _Kept()


def more_scratch(words: int) -> tuple[int, int, npt.NDArray[np.int64]]:
    """Scratch for calls on this thread, kept for the next one unless it is large."""
    array = np.empty(words, np.int64)
    scratch = words, array.ctypes.data, array
    if words <= KEPT_WORDS:
        _kept.scratch = scratch
    return scratch


def scratch_of(workers: int, words: int) -> npt.NDArray[np.int64]:
    """Scratch for so many workers, (workers, words)."""
    size = workers * words
    scratch = _kept.scratch if _kept.scratch[0] >= size else more_scratch(size)
    return scratch[2][:size].reshape(workers, words)


def flat(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """1-D view that starts where `array` does; of all its elements, if they are dense."""
    if array.flags.c_contiguous:
        return array.ravel()
    return np.lib.stride_tricks.as_strided(array, (1,), (array.itemsize,))


def run(plan: LineTransform, source: npt.NDArray[Any], target: npt.NDArray[Any], workers: Any) -> bool:
    """Transform all lines of the `flat` source into the dense `target`.  Gives False, with nothing done, where two dense arrays overlap."""
    if target.itemsize == 2:  # Numba has arrays of neither kind of halves
        source, target = source.view(np.uint16), target.view(np.uint16)
    if not (type(workers) is int and (workers == 1 or (workers > 1 and plan.work < ALONE))):
        threads = resolve_workers(workers, plan.work, PARALLEL_THRESHOLD, ALONE)
        if threads > 1:
            return shared(threads, run_on, plan, source, target)
    scratch = _kept.scratch
    if scratch[0] < plan.scratch_words:
        scratch = more_scratch(plan.scratch_words)
    y = target.ravel()
    transform = _entries.get(64 * source.itemsize + y.itemsize) or _entry(source, y)
    done: bool = transform(source, y, plan.address, scratch[1])
    return done


_entries: dict[int, Callable[..., Any]] = {}  # of `transform_lines`, by the bytes of a number in source and target


def _entry(source: npt.NDArray[Any], target: npt.NDArray[Any]) -> Callable[..., Any]:
    # What the numbers are does not matter, and a source that is read-only would be another type.
    x, y = (np.empty(1, "c16" if array.itemsize == 16 else f"u{array.itemsize}") for array in (source, target))
    return _entries.setdefault(64 * source.itemsize + target.itemsize, entry_of(transform_lines, x, y, 1, 1))


def run_on(threads: int, plan: LineTransform, source: npt.NDArray[Any], target: npt.NDArray[Any]) -> bool:
    """`run` on so many threads."""
    if threads == 1:
        return run(plan, source, target, 1)
    target = target.ravel()
    # For complex numbers the loops would be compiled once more.
    source, target = (array.view(array.real.dtype) for array in (source, target))
    if plan.buffer_words:
        buffers = np.empty((2, plan.buffer_words), np.int64)
        rows = scratch_of(threads, plan.scratch_words - 2 * plan.buffer_words)
        return transform_line_parallel(source, target, plan.geometry, rows, buffers)
    return transform_lines_parallel(source, target, plan.geometry, scratch_of(threads, plan.scratch_words))
