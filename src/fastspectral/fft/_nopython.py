"""`fft`, `ifft`, `rfft` and `irfft` in the user's own @njit code: plans found by their length, and the kernels on plans.

A plan is made in Python, at the first call of a length, and kept as long as the process lives.  Compiled code that has found one remembers where it is: a
call of 64 points takes 0.2 us more than one of the kernel with a plan at hand, where asking Python for it takes 2 us each time.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import carray, objmode, types
from numba.core.errors import TypingError
from numba.extending import overload

from fastspectral._jit import njit
from fastspectral.fft import _one_axis
from fastspectral.kernels.lanes import pointer, static_words
from fastspectral.kernels.plan_lines import fft_lines, ifft_lines, irfft_lines, rfft_lines
from fastspectral.plans import FFTPlan, fft_plan
from fastspectral.recipes import LONGEST

SLOTS = 61  # a prime: powers of two fall on slots of their own
# What compiled code reads of a plan, in this order, which cached code of the user's knows.
RECORD_N, RECORD_BITS, RECORD_ENTRY, RECORD_GEOMETRIES, RECORD_ROWS, RECORD_COLUMNS, RECORD_SCRATCH = range(7)

BAD_LENGTH = f"n must be at least 1 and at most {LONGEST}"
BAD_AXIS = "axis must be one of the array's"
BAD_NORM = 'norm must be "backward", "ortho" or "forward"'

_held: dict[tuple[int, int], tuple[FFTPlan, npt.NDArray[np.int64]]] = {}


def record_address(n: int, size: int) -> int:
    """Address of what compiled code must know of the plan of n points whose numbers have `size` bytes."""
    if (n, size) not in _held:
        plan = fft_plan(n, f"f{size}")
        place = (plan.geometries.ctypes.data, *plan.geometries.shape)
        record = np.array([n, plan.bits, plan.entry, *place, plan.scratch_words], np.int64)
        _held.setdefault((n, size), (plan, record))
    return int(_held[n, size][1].ctypes.data)


def plan_of(n: Any, size: Any) -> FFTPlan:
    """Plan of n points of numbers of `size` bytes; in @njit code only."""
    raise NotImplementedError


# Not njit with this package's options: nogil makes Numba warn of objmode.
@overload(plan_of)  # type: ignore[untyped-decorator]
def _plan_of(n: Any, size: Any) -> Any:
    def find(n: Any, size: Any) -> Any:
        slots = pointer(static_words(SLOTS))
        slot = (n + size) % SLOTS
        if not 1 <= n <= LONGEST:  # in compiled code, whose `try` cannot catch what Python raises
            raise ValueError(BAD_LENGTH)
        address = slots[slot]
        if address == 0 or pointer(address)[RECORD_N] != n or pointer(address)[RECORD_BITS] != 8 * size:
            with objmode(address="int64"):
                address = record_address(n, size)
            slots[slot] = address
        record = pointer(address)
        shape = (record[RECORD_ROWS], record[RECORD_COLUMNS])
        geometries = carray(pointer(record[RECORD_GEOMETRIES]), shape)
        return FFTPlan(n, record[RECORD_BITS], record[RECORD_ENTRY], geometries, record[RECORD_SCRATCH])

    return find


@njit
def copied(x: Any, points: int, dtype: Any) -> Any:
    """Rows of x, cut to so many points or continued with zeros, as an array of their own."""
    keep, rows = min(points, x.shape[-1]), 1
    for axis in range(x.ndim - 1):
        rows *= x.shape[axis]
    lines, source = np.zeros((rows, points), dtype), np.ascontiguousarray(x).reshape((rows, x.shape[-1]))
    for i in range(rows):
        for j in range(keep):
            lines[i, j] = source[i, j]
    return lines


def fitted(x: Any, points: Any, dtype: Any) -> Any:
    """Rows of x as `copied` gives them, or those of x itself where they are so already; in @njit code only."""
    raise NotImplementedError


@overload(fitted)  # type: ignore[untyped-decorator]
def _fitted(x: Any, points: Any, dtype: Any) -> Any:
    def as_they_are(x: Any, points: Any, dtype: Any) -> Any:
        if x.shape[-1] == points:
            return x.reshape((x.size // points, points))
        return copied(x, points, dtype)

    def always_copied(x: Any, points: Any, dtype: Any) -> Any:
        return copied(x, points, dtype)

    usable = x.layout == "C" and x.mutable and x.aligned and x.dtype == dtype.dtype
    return as_they_are if usable else always_copied


@njit
def last_axis(x: Any, axis: Any) -> Any:
    """The array itself, whose last axis is transformed."""
    return x


@njit
def swapped(x: Any, axis: Any) -> Any:
    """Dense array with an axis in the place of the last one, and that in its; twice, it is as it was."""
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(BAD_AXIS)
    return np.ascontiguousarray(np.swapaxes(x, axis, -1))


@njit
def default_factor(points: Any, inverse: Any, norm: Any) -> Any:
    """Factor of a result: 1 forward and 1/n backward."""
    return 1.0 / points if inverse else 1.0


@njit
def factor(points: Any, inverse: Any, norm: Any) -> Any:
    """Factor of a result by its norm."""
    if norm == "ortho":
        return 1.0 / math.sqrt(points)
    if norm not in ("backward", "forward"):
        raise ValueError(BAD_NORM)
    return 1.0 / points if inverse == (norm == "backward") else 1.0


def is_given(argument: Any) -> bool:
    """Whether a type of Numba's is that of an argument that the user's code gives; else it is the default or None."""
    return isinstance(argument, types.Type) and not isinstance(argument, (types.NoneType, types.Omitted))


def check_types(name: str, x: Any, n: Any, axis: Any, norm: Any) -> None:
    """Raise TypingError for arguments that compiled code does not take."""
    if not isinstance(x, types.Array) or x.ndim == 0 or not isinstance(x.dtype, (types.Number, types.Boolean)):
        raise TypingError(f"x of {name} must be an array of numbers with at least one axis, got {x}")
    if name == "rfft" and isinstance(x.dtype, types.Complex):
        raise TypingError(f"x of rfft must be real, got {x}")
    n = n.type if isinstance(n, types.Optional) else n
    for argument, value in (("n", n), ("axis", axis)):
        if is_given(value) and not isinstance(value, types.Integer):
            raise TypingError(f"{argument} of {name} must be an integer, got {value}")
    if is_given(norm) and not isinstance(norm, (types.UnicodeType, types.StringLiteral)):
        raise TypingError(f"norm of {name} must be a string or None, got {norm}")


def transform_of(
    name: _one_axis.Name, kernel: Callable[..., None], x: Any, n: Any, axis: Any, norm: Any
) -> Callable[..., Any]:
    """A transform along any axis by a kernel on lines, for arguments of these types."""
    check_types(name, x, n, axis, norm)
    single = x.dtype in (types.float32, types.complex64)
    real, complex_ = (np.float32, np.complex64) if single else (np.float64, np.complex128)
    size = np.dtype(real).itemsize
    inverse, to_half, from_half = name in ("ifft", "irfft"), name == "rfft", name == "irfft"
    x_dtype, y_dtype = real if to_half else complex_, real if from_half else complex_
    placed = swapped if is_given(axis) else last_axis
    factor_of = factor if is_given(norm) else default_factor

    def transform(x: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
        array = placed(x, axis)
        length = array.shape[-1]
        whole = 2 * (length - 1) if from_half else length
        points = whole if n is None else np.int64(int(n))  # of unsigned and of optional ones too
        plan = plan_of(points, size)
        lines = fitted(array, points // 2 + 1 if from_half else points, x_dtype)
        values = points // 2 + 1 if to_half else points
        out = np.empty((lines.shape[0], values), y_dtype)
        kernel(lines, out, factor_of(points, inverse, norm), plan)
        return placed(out.reshape(array.shape[:-1] + (values,)), axis)  # noqa: RUF005 - Numba unpacks no tuples

    return transform


def offer(name: _one_axis.Name, kernel: Callable[..., None]) -> None:
    """Let compiled code call the transform of this name."""

    @overload(getattr(_one_axis, name))  # type: ignore[untyped-decorator]
    def typed(x: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
        return transform_of(name, kernel, x, n, axis, norm)


offer("fft", fft_lines)
offer("ifft", ifft_lines)
offer("rfft", rfft_lines)
offer("irfft", irfft_lines)
