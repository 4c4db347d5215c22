"""From arrays to lines: strides of an axis, and the call of the executor."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fastspectral._threads import resolve_workers
from fastspectral.kernels.lines import transform_lines, transform_lines_parallel
from fastspectral.ops._shapes import DFTSpec
from fastspectral.plans import Lines, LineTransform, line_transform

PARALLEL_THRESHOLD = 1 << 15  # points; below, starting threads costs more than it saves


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


def lines_of(shape: tuple[int, ...], strides: tuple[int, ...], axis: int, number_bytes: int) -> Lines | None:
    """Lines along `axis` of an array whose last axis holds the parts of a point, or None where it must be copied first."""
    if shape[-1] == 2 and strides[-1] != number_bytes:
        return None
    outer = collapsed(shape[:axis], strides[:axis])
    inner = collapsed(shape[axis + 1 : -1], strides[axis + 1 : -1])
    if outer is None or inner is None:
        return None
    step = strides[axis] if shape[axis] > 1 else number_bytes * shape[-1]
    return Lines(outer[0], inner[0], outer[1], inner[1], step)


def wide(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in the precision that is computed in: halves become float32."""
    return array if array.dtype.itemsize >= 4 else array.astype(np.float32)


@lru_cache(maxsize=1024)
def planned(
    spec: DFTSpec, inverse: bool, number_bytes: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> LineTransform | None:
    """Plan of a transform into C-contiguous memory, or None where the input must be copied first."""
    source = lines_of(shape, strides, spec.axis, number_bytes)
    if source is None:
        return None
    target = lines_of(spec.output_shape, dense_strides(spec.output_shape, number_bytes), spec.axis, number_bytes)
    assert target is not None
    return line_transform(spec.kind, spec.n, spec.keep, inverse, 8 * number_bytes, source, target)


def dense_strides(shape: tuple[int, ...], number_bytes: int) -> tuple[int, ...]:
    """Strides of a C-contiguous array."""
    return tuple(number_bytes * math.prod(shape[k + 1 :]) for k in range(len(shape)))


def transform(x: npt.NDArray[Any], y: npt.NDArray[Any], spec: DFTSpec, inverse: bool, workers: Any) -> None:
    """Fill the C-contiguous `y` with the transform of `x` that `spec` describes."""
    source, target = wide(x), wide(y)
    size = source.itemsize
    plan = planned(spec, inverse, size, source.shape, source.strides)
    if plan is None:
        source = np.ascontiguousarray(source)
        plan = planned(spec, inverse, size, source.shape, source.strides)
    assert plan is not None
    run(plan, source, target, workers)
    narrow(target, y)


def narrow(computed: npt.NDArray[Any], y: npt.NDArray[Any]) -> None:
    """Round what was computed in float32 to a half-precision `y`, once; a value beyond its range becomes infinite."""
    if computed is not y:
        with np.errstate(over="ignore"):
            y[...] = computed


def run(transform: LineTransform, source: npt.NDArray[Any], target: npt.NDArray[Any], workers: Any) -> None:
    """Transform all lines of `source` into `target`."""
    threads = resolve_workers(workers, transform.work, PARALLEL_THRESHOLD)
    scratch = np.empty((threads, transform.scratch_words), np.int64)
    kernel = transform_lines if threads == 1 else transform_lines_parallel
    kernel(source.ctypes.data, target.ctypes.data, transform.geometry, scratch)
