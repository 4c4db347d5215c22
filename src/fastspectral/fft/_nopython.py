"""`fft`, `ifft`, `rfft` and `irfft` in the user's own @njit code: plans found by their length, and the kernels on plans.

A plan is made in Python, at the first call of a length, and kept as long as the process lives.  Compiled code that has found one remembers where it is: a
call of 64 points takes 0.2 us more than one of the kernel with a plan at hand, where asking Python for it takes 2 us each time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import carray, objmode, types
from numba.extending import overload

from fastspectral._jit import njit
from fastspectral.fft import _one_axis
from fastspectral.kernels.lanes import pointer, static_words
from fastspectral.kernels.plan_lines import fft_lines, ifft_lines, irfft_lines, rfft_lines
from fastspectral.plans import FFTPlan, fft_plan

SLOTS = 61  # a prime: powers of two fall on slots of their own
# What compiled code reads of a plan, in this order, which cached code of the user's knows.
RECORD_N, RECORD_BITS, RECORD_ENTRY, RECORD_GEOMETRIES, RECORD_ROWS, RECORD_COLUMNS, RECORD_SCRATCH = range(7)

_held: dict[tuple[int, int], tuple[FFTPlan, npt.NDArray[np.int64]]] = {}


def record_address(n: int, size: int) -> int:
    """Address of what compiled code must know of the plan of n points whose numbers have `size` bytes; raises as `fft_plan`."""
    if (n, size) not in _held:
        plan = fft_plan(n, f"f{size}")
        place = (plan.geometries.ctypes.data, *plan.geometries.shape)
        record = np.array([n, plan.bits, plan.entry, *place, plan.scratch_words], np.int64)
        _held.setdefault((n, size), (plan, record))
    return int(_held[n, size][1].ctypes.data)


def plan_of(n: int, size: Any) -> FFTPlan:
    """Plan of n points of numbers of `size` bytes; in @njit code only."""
    raise NotImplementedError


# Not njit with this package's options: nogil makes Numba warn of objmode.
@overload(plan_of)  # type: ignore[untyped-decorator]
def _plan_of(n: Any, size: Any) -> Any:
    def find(n: Any, size: Any) -> Any:
        slots = pointer(static_words(SLOTS))
        slot = (n + size) % SLOTS
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


def precision(x: Any) -> tuple[Any, Any] | None:
    """Real and complex dtype that an array of Numba's is computed in, or None."""
    if not isinstance(x, types.Array) or x.ndim == 0 or not isinstance(x.dtype, (types.Number, types.Boolean)):
        return None
    single = x.dtype in (types.float32, types.complex64)
    return (np.float32, np.complex64) if single else (np.float64, np.complex128)


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


def fitted(x: Any, points: int, dtype: Any) -> Any:
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


def of_complex(x: Any, kernel: Callable[..., None], inverse: bool) -> Any:
    """`fft` or `ifft` by a kernel."""
    dtypes = precision(x)
    if dtypes is None:
        return None
    real, complex_ = dtypes
    size = np.dtype(real).itemsize

    def transform(x: Any, n: Any = None) -> Any:
        points = x.shape[-1] if n is None else n
        plan = plan_of(points, size)
        lines = fitted(x, points, complex_)
        out = np.empty(lines.shape, complex_)
        kernel(lines, out, 1.0 / points if inverse else 1.0, plan)
        return out.reshape(x.shape[:-1] + (points,))  # noqa: RUF005 - Numba unpacks no tuples

    return transform


@overload(_one_axis.fft)  # type: ignore[untyped-decorator]
def _fft(x: Any, n: Any = None) -> Any:
    return of_complex(x, fft_lines, False)


@overload(_one_axis.ifft)  # type: ignore[untyped-decorator]
def _ifft(x: Any, n: Any = None) -> Any:
    return of_complex(x, ifft_lines, True)


@overload(_one_axis.rfft)  # type: ignore[untyped-decorator]
def _rfft(x: Any, n: Any = None) -> Any:
    dtypes = precision(x)
    if dtypes is None or isinstance(x.dtype, types.Complex):
        return None
    real, complex_ = dtypes
    size = np.dtype(real).itemsize

    def transform(x: Any, n: Any = None) -> Any:
        points = x.shape[-1] if n is None else n
        plan = plan_of(points, size)
        lines = fitted(x, points, real)
        out = np.empty((lines.shape[0], points // 2 + 1), complex_)
        rfft_lines(lines, out, 1.0, plan)
        return out.reshape(x.shape[:-1] + (points // 2 + 1,))  # noqa: RUF005

    return transform


@overload(_one_axis.irfft)  # type: ignore[untyped-decorator]
def _irfft(x: Any, n: Any = None) -> Any:
    dtypes = precision(x)
    if dtypes is None:
        return None
    real, complex_ = dtypes
    size = np.dtype(real).itemsize

    def transform(x: Any, n: Any = None) -> Any:
        points = 2 * (x.shape[-1] - 1) if n is None else n
        plan = plan_of(points, size)
        lines = fitted(x, points // 2 + 1, complex_)
        out = np.empty((lines.shape[0], points), real)
        irfft_lines(lines, out, 1.0 / points, plan)
        return out.reshape(x.shape[:-1] + (points,))  # noqa: RUF005

    return transform
