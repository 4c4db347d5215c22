"""Transforms along one axis, by NumPy's and SciPy's names."""

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fastspectral._arrays import deliver, is_float
from fastspectral._plan_caches import plan_cache
from fastspectral.ops._lines import dense_strides, flat, lines_of, run
from fastspectral.plans import Kind, Lines, LineTransform, line_transform
from fastspectral.recipes import LONGEST

Array = npt.NDArray[Any]
Name = Literal["fft", "ifft", "rfft", "irfft"]
Norm = Literal["backward", "ortho", "forward"] | None

SWAPPED_NORM: dict[Any, Norm] = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
HALVES: dict[Name, Kind] = {"rfft": "onesided", "irfft": "inverse_onesided"}
NUMBERS = {"f": "f", "F": "f", "d": "d", "D": "d"}  # dtype of the parts of what is computed with
COMPLEX: dict[str, np.dtype[Any]] = {"f": np.dtype(np.complex64), "d": np.dtype(np.complex128)}
IN_EXTENDED_PRECISION: dict[Name, Callable[..., Array]] = {
    "fft": np.fft.fft,
    "ifft": np.fft.ifft,
    "rfft": np.fft.rfft,
    "irfft": np.fft.irfft,
}
ROOT_BITS = 120  # of 1/sqrt(n): what two numbers of 53 bits hold, and more


class Task(NamedTuple):
    """A transform of n points: shape and dtype of its result, how many values of the axis are read, and its plan where the data can be used as they lie."""

    n: int
    axis: int
    keep: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    plan: LineTransform | None = None
    dense: bool = False


def fft(
    x: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """Discrete Fourier transform along one axis: ``y[k] = Σ_j x[j] · exp(−2πi jk / n)``.

    Parameters
    ----------
    x : array_like
        Real or complex.  float32 and complex64 are computed in single precision, and so is float16; all else, integers included, in double precision.
        longdouble is left to `numpy.fft`.
    n : int > 0, optional
        Points of the transform: the axis is cut to n values or continued with zeros.  Default: its size.
    axis : int
        Axis to transform.
    norm : {"backward", "ortho", "forward"}, optional
        Which direction is divided by n: the way back, both by its square root, or the way forward.  Default: "backward".
    out : ndarray, optional
        Where to put the result: its shape and dtype, any strides.  It may be `x`, or overlap it.
    overwrite_x : bool
        For code written for SciPy: `x` is never overwritten, unless it is `out`.
    workers : int, optional
        Threads at most; -1 for all.  Default: see `fastspectral.set_workers`.
    plan : None
        For code written for SciPy, which knows no other value either: plans are kept by themselves.

    Returns
    -------
    ndarray, complex64 or complex128
        C-contiguous, unless it is `out`.

    Raises
    ------
    ValueError
        If `n` is below 1 or above 2^26, `axis` is out of range, or `norm` is none of the above; if `out` has another shape.
    TypeError
        If an argument is of another kind; if `out` is of another dtype.
    NotImplementedError
        If `plan` is not None.

    Examples
    --------
    >>> import fastspectral, numpy as np
    >>> fastspectral.fft.fft(np.array([1.0, 2.0, 3.0, 4.0], np.float32))
    array([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j], dtype=complex64)
    """
    return transform("fft", x, n, axis, norm, out, workers, plan)


def ifft(
    x: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """Inverse of `fft`: ``y[j] = (1/n) Σ_k x[k] · exp(+2πi jk / n)``.  Arguments, result and errors are those of `fft`."""
    return transform("ifft", x, n, axis, norm, out, workers, plan)


def rfft(
    x: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """The first ``n // 2 + 1`` values of `fft` of real x; the others are their conjugates in reverse order.

    Arguments, result and errors are those of `fft`; a complex `x` is a TypeError.
    """
    return transform("rfft", x, n, axis, norm, out, workers, plan)


def irfft(
    x: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """Inverse of `rfft`: n real values from ``n // 2 + 1`` complex ones.

    By default n is ``2 * (size - 1)``, which is even: give it for a signal of odd length.  Imaginary parts of value 0 and, for even n, of value n/2 are
    ignored.  Other arguments and errors are those of `fft`; the result is float32 or float64.
    """
    return transform("irfft", x, n, axis, norm, out, workers, plan)


def hfft(
    x: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """`fft` of a signal with ``x[n − j] = conj(x[j])``, of which x has the first ``n // 2 + 1`` values: n real values.

    By default n is ``2 * (size - 1)``.  Other arguments and errors are those of `fft`; the result is float32 or float64.
    """
    return transform("irfft", np.conjugate(x), n, axis, SWAPPED_NORM.get(norm, norm), out, workers, plan)


def ihfft(
    x: npt.ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    out: Array | None = None,
    *,
    overwrite_x: bool = False,
    workers: int | None = None,
    plan: None = None,
) -> Array:
    """Inverse of `hfft`: ``n // 2 + 1`` complex values from n real ones.  Arguments, result and errors are those of `fft`."""
    y = transform("rfft", x, n, axis, SWAPPED_NORM.get(norm, norm), out, workers, plan)
    return np.conjugate(y, out=y)


def transform(
    name: Name, x: Any, n: Any, axis: Any, norm: Any, out: Array | None, workers: Any, plan: Any = None
) -> Array:
    """Any of the four.  What most calls bring is looked up as it is; `general` takes all else."""
    if plan is not None:
        raise NotImplementedError(
            "plan must be None: a precomputed plan is not taken, for plans are kept by themselves"
        )
    if n is not None and type(n) is not int:
        n = operator.index(n)
    if type(axis) is not int:
        axis = operator.index(axis)
    if type(x) is not np.ndarray or not x.flags.aligned:
        return general(name, x, n, axis, norm, out, workers)
    task = planned(name, x.shape, x.strides, x.dtype, n, axis, norm)
    if task.plan is None:
        return general(name, x, n, axis, norm, out, workers)
    if out is None:
        y = np.empty(task.shape, task.dtype)
    elif type(out) is np.ndarray and out.dtype == task.dtype and out.shape == task.shape and out.flags.carray:
        # The compiled code sees by itself whether two dense arrays overlap; of others it does not know where they end.
        if not (task.dense and x.shape == out.shape) and np.may_share_memory(x, out):
            return general(name, x, n, axis, norm, out, workers)
        y = out
    else:
        return general(name, x, n, axis, norm, out, workers)
    if not run(task.plan, x.ravel() if task.dense else flat(x), y, workers):
        return general(name, x, n, axis, norm, out, workers)
    return y


@plan_cache(1024)
def planned(
    name: Name,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    n: int | None,
    axis: int,
    norm: Norm,
) -> Task:
    """What is to be done with an aligned array of native numbers; raises as `fft` does."""
    if norm not in SWAPPED_NORM:
        raise ValueError(f'Invalid norm value {norm!r}; should be "backward", "ortho" or "forward".')
    if not -len(shape) <= axis < len(shape):
        raise np.exceptions.AxisError(axis, len(shape))
    axis %= len(shape)
    length, inverse = shape[axis], name in ("ifft", "irfft")
    n = n if n is not None else 2 * (length - 1) if name == "irfft" else length
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    if n > LONGEST:
        raise ValueError(f"n must be at most {LONGEST} (longer tables would pass the memory of most machines), got {n}")
    if name == "rfft" and dtype.kind == "c":
        raise TypeError(f"x must be a real sequence, got {dtype}")
    bins = n // 2 + 1
    kind = HALVES.get(name) or ("complex" if dtype.kind == "c" else "real")
    keep = min(length, bins if name == "irfft" else n)
    number = NUMBERS.get(dtype.char)
    y_dtype: np.dtype[Any] = np.dtype(number or "d")
    if name != "irfft":
        y_dtype = COMPLEX[y_dtype.char]
    y_shape = (*shape[:axis], bins if name == "rfft" else n, *shape[axis + 1 :])
    task = Task(n, axis, keep, y_shape, y_dtype)
    usable = number is not None and dtype.isnative and (name != "irfft" or dtype.kind == "c")
    source = as_pairs(shape, strides, axis, dtype) if usable and keep and math.prod(y_shape) else None
    if source is None:
        return task
    target = as_pairs(y_shape, dense_strides(y_shape, y_dtype.itemsize), axis, y_dtype)
    assert target is not None
    bits = 32 if number == "f" else 64
    plan = line_transform(kind, n, keep, inverse, bits, source, target, scale=factor(norm, n, inverse))
    return task._replace(plan=plan, dense=strides == dense_strides(shape, dtype.itemsize))


def as_pairs(shape: tuple[int, ...], strides: tuple[int, ...], axis: int, dtype: np.dtype[Any]) -> Lines | None:
    """Lines of an array of numbers, complex ones being pairs on an axis of their own; None where it must be copied first."""
    parts = 2 if dtype.kind == "c" else 1
    number = np.dtype(NUMBERS[dtype.char])
    return lines_of((*shape, parts), (*strides, number.itemsize), axis, number)


def factor(norm: Norm, n: int, inverse: bool) -> Fraction | None:
    """Factor of a result; None for what is so by default, 1 forward and 1/n backward."""
    if norm == "ortho":
        return Fraction(math.isqrt(4**ROOT_BITS // n), 2**ROOT_BITS)
    if norm == "forward":
        return Fraction(1) if inverse else Fraction(1, n)
    return None


def general(name: Name, x: Any, n: int | None, axis: int, norm: Norm, out: Any, workers: Any) -> Array:
    """Any dtype, strides, byte order and `out`: what must be converted or copied first is."""
    array = np.asarray(x)
    if array.dtype.char in "gG":
        return IN_EXTENDED_PRECISION[name](array, n, axis, norm, out)
    array = as_numbers(array, to_complex=name == "irfft")
    task = planned(name, array.shape, array.strides, array.dtype, n, axis, norm)
    if out is not None:
        check_out(out, task)
    y = np.empty(task.shape, task.dtype)
    if task.keep == 0:
        y[...] = 0
    elif y.size:
        if task.plan is None:
            array = np.ascontiguousarray(array[(slice(None),) * task.axis + (slice(task.keep),)])
        transform(name, array, task.n, axis, norm, y, workers)
    return deliver(y, out)


def as_numbers(array: Array, to_complex: bool) -> Array:
    """Native aligned single or double precision numbers."""
    dtype: np.dtype[Any] = array.dtype
    if dtype.kind in "SUTMm" or dtype.names:
        raise TypeError(f"x must hold numbers, got {dtype}")  # which NumPy's conversion would take for some
    if dtype.char not in NUMBERS:
        dtype = np.dtype(np.float32 if dtype.itemsize == 2 and is_float(dtype) else np.float64)
    if to_complex and dtype.kind != "c":
        dtype = COMPLEX[dtype.char]
    numbers: Array = np.require(array, dtype.newbyteorder("="), ["ALIGNED"])
    return numbers


def check_out(out: Any, task: Task) -> None:
    """Raise where `out` cannot take the result."""
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be of ArrayType, a numpy.ndarray, got {type(out).__name__}")
    if out.shape != task.shape:
        raise ValueError(f"out has wrong shape {out.shape}; that of the result is {task.shape}")
    if out.dtype.newbyteorder("=") != task.dtype:
        raise TypeError(f"Cannot cast the result, {task.dtype}, to out, {out.dtype}")
    if not out.flags.writeable:
        raise ValueError("out must be writeable, got a read-only array")
