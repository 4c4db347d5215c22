"""Transforms along several axes: one after the other, from the last one on, in the memory of the result where shapes allow."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastspectral.fft._one_axis import Array, Name, Norm, transform

Step = tuple[Name, int, int]  # a transform, its points, its axis


def fftn(
    x: npt.ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """Discrete Fourier transform along several axes.

    Parameters
    ----------
    x : array_like
        As of `fft`.
    s : sequence of int, optional
        Points along each of the axes, which are cut or continued with zeros; -1 for the size as it is.  Default: all sizes as they are.
    axes : sequence of int, optional
        Axes to transform, the last one first.  Default: the last ``len(s)`` ones, or all.
    norm, out, overwrite_x, workers, plan
        As of `fft`.

    Returns
    -------
    ndarray, complex64 or complex128
        C-contiguous, unless it is `out`.

    Raises
    ------
    ValueError
        As of `fft`; if `s` and `axes` differ in length.
    TypeError, NotImplementedError
        As of `fft`.
    """
    array, points = np.asarray(x), pairs(x, s, axes)
    return in_turn(array, [("fft", n, axis) for axis, n in reversed(points)], norm, out, workers, plan)


def ifftn(
    x: npt.ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """Inverse of `fftn`.  Arguments, result and errors are those of `fftn`."""
    array, points = np.asarray(x), pairs(x, s, axes)
    return in_turn(array, [("ifft", n, axis) for axis, n in reversed(points)], norm, out, workers, plan)


def rfftn(
    x: npt.ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """`rfft` of real x along the last one of the axes, then `fft` along the others.

    Arguments, result and errors are those of `fftn`; at least one axis is needed, and a complex `x` is a TypeError.
    """
    array, points = np.asarray(x), at_least_one(pairs(x, s, axes))
    axis, n = points[-1]
    steps: list[Step] = [("rfft", n, axis), *(("fft", n, axis) for axis, n in reversed(points[:-1]))]
    return in_turn(array, steps, norm, out, workers, plan)


def irfftn(
    x: npt.ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """Inverse of `rfftn`: `ifft` along all axes but the last one, then `irfft` along it.

    By default there are ``2 * (size - 1)`` points along the last axis; -1 in `s` means its size there too, as in NumPy and SciPy.  Other
    arguments and errors are those of `rfftn`; the result is float32 or float64.
    """
    array, points = np.asarray(x), at_least_one(pairs(x, s, axes))
    axis, n = points[-1]
    if s is None:
        n = 2 * (n - 1)
    return in_turn(
        array, [*(("ifft", n, axis) for axis, n in points[:-1]), ("irfft", n, axis)], norm, out, workers, plan
    )


def fft2(
    x: npt.ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """`fftn` along the last two axes."""
    return fftn(x, s, axes, norm, out, workers=workers, plan=plan)


def ifft2(
    x: npt.ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """`ifftn` along the last two axes."""
    return ifftn(x, s, axes, norm, out, workers=workers, plan=plan)


def rfft2(
    x: npt.ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """`rfftn` along the last two axes."""
    return rfftn(x, s, axes, norm, out, workers=workers, plan=plan)


def irfft2(
    x: npt.ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """`irfftn` along the last two axes."""
    return irfftn(x, s, axes, norm, out, workers=workers, plan=plan)


def pairs(x: npt.ArrayLike, s: Any, axes: Any) -> list[tuple[int, int]]:
    """Axes and the points along them."""
    shape = np.shape(x)
    sizes = None if s is None else indices(s)
    if axes is None:
        count = len(shape) if sizes is None else len(sizes)
        if count > len(shape):
            raise ValueError(f"shape requires more axes than are present: s has {count}, x has {len(shape)}")
        chosen = tuple(range(len(shape) - count, len(shape)))
    else:
        chosen = indices(axes)
        for axis in chosen:
            if not -len(shape) <= axis < len(shape):
                raise np.exceptions.AxisError(axis, len(shape))
    if sizes is None:
        sizes = (-1,) * len(chosen)
    if len(sizes) != len(chosen):
        raise ValueError(f"Shape and axes have different lengths: {sizes} and {chosen}")
    return [(axis, shape[axis] if n == -1 else n) for axis, n in zip(chosen, sizes, strict=True)]


def indices(values: Any) -> tuple[int, ...]:
    """One integer or a sequence of them, as a tuple."""
    return tuple(map(operator.index, values if np.iterable(values) else (values,)))


def at_least_one(points: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Raise ValueError where there are no axes."""
    if not points:
        raise ValueError("at least 1 axis must be transformed")
    return points


def in_turn(x: Array, steps: list[Step], norm: Norm, out: Array | None, workers: Any, plan: Any) -> Array:
    """Take one step after the other; all but the first one in place, where their shape allows."""
    if not steps:
        steps, x = [("fft", 1, -1)], x[..., np.newaxis]
        result = in_turn(x, steps, norm, None if out is None else out[..., np.newaxis], workers, plan)[..., 0]
        return result if out is None else out
    y = x
    for number, (name, n, axis) in enumerate(steps):
        shape = list(y.shape)
        shape[axis] = n // 2 + 1 if name == "rfft" else n
        last = number == len(steps) - 1
        target = None
        if out is not None and (last or (steps[-1][0] != "irfft" and np.shape(out) == tuple(shape))):
            target = out
        elif number and name != "irfft" and tuple(shape) == y.shape:
            target = y
        y = transform(name, y, n, axis, norm, target, workers, plan)
    return y
