"""Array plumbing: what comes in is checked and made addressable, what goes out is allocated or checked.  No arithmetic.

Every public function takes its arrays through `as_float`, its integers through `as_index` or `as_indices`, and its
result through `output` and `deliver`; the kernels behind them see native, aligned memory only and never raise.
"""

import math
import operator
from typing import Any

import numpy as np
import numpy.typing as npt

_FLOATS = "float16, bfloat16, float32 or float64"
_NATIVE = frozenset((np.dtype(np.float32), np.dtype(np.float64)))  # a short way for these two: it saves 0.2 us a call
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

# Steps that NumPy may spend on proving that two strided views share no element; where it gives up, they share.
_OVERLAP_EFFORT = 10_000


def is_float(dtype: np.dtype[Any]) -> bool:
    """Tell whether `dtype` is one of the four that the operators compute with; bfloat16 is known by its name alone."""
    return dtype.char in "efd" or dtype.name == "bfloat16"


def as_float(value: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Give `value` as an array of float16, bfloat16, float32 or float64, in native byte order and aligned.

    An array that is so already comes back as it is, whatever its strides and flags; Python floats and lists of them
    become float64.

    Raises
    ------
    TypeError
        If `value` holds anything else (integers, booleans, complex or extended numbers, objects, text) or is masked.
    ValueError
        If nested sequences differ in length.
    """
    if type(value) is np.ndarray:
        if value.dtype in _NATIVE and value.flags.aligned:
            return value
        array = value
    elif isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name} must be a plain array, got a masked array (an operator has no answer for a masked element); "
            f"give {name}.filled(...)"
        )
    else:
        try:
            array = np.asarray(value)
        except ValueError as error:
            raise ValueError(f"{name} must be an array or evenly nested sequences of floats: {error}") from None
    checked_dtype(array.dtype, name)
    if array.dtype.isnative and array.flags.aligned:
        return array
    return array.astype(array.dtype.newbyteorder("="))  # a copy, and NumPy's copies are aligned


def checked_dtype(dtype: np.dtype[Any], name: str) -> None:
    """Raise TypeError if `dtype` is not one of the four, in whatever byte order."""
    if not is_float(dtype):
        raise TypeError(f"{name} must be {_FLOATS}, got {dtype}; {_conversion(dtype, name)}")


def _conversion(dtype: np.dtype[Any], name: str) -> str:
    if dtype.kind in "biu":
        return f"convert it with {name}.astype(np.float32) or np.float64"
    if dtype.kind == "f":
        return f"convert it with {name}.astype(np.float64)"
    if dtype.kind == "c":
        return f"real and imaginary parts are a last axis of size 2: np.stack([{name}.real, {name}.imag], axis=-1)"
    return "convert it to numbers first"


def as_index(value: Any, name: str) -> int:
    """Give an integer, a NumPy integer or an integer array of one element as a Python int.

    Raises
    ------
    TypeError
        If `value` is a boolean, a float or anything else that is no integer.
    ValueError
        If `value` has no element or several, or does not fit in int64, ONNX's widest index.
    """
    if type(value) is int:
        index = value
    elif isinstance(value, (bool, np.bool)):
        raise TypeError(f"{name} must be an integer, got the boolean {value}")
    elif isinstance(value, (int, np.integer)):
        index = operator.index(value)
    else:
        array = np.asarray(value)
        if array.dtype.kind not in "iu":
            shown = repr(value) if array.ndim == 0 else f"an array of {array.dtype}"
            raise TypeError(f"{name} must be an integer, got {shown}")
        if array.size != 1:
            raise ValueError(
                f"{name} must be one integer (a scalar, or an array of one element), got shape {array.shape}"
            )
        index = int(array.item())
    if not INT64_MIN <= index <= INT64_MAX:
        raise ValueError(f"{name} must fit in int64, ONNX's widest index, got {index}")
    return index


def as_indices(values: Any, name: str) -> tuple[int, ...]:
    """Give a sequence or a 1-D array of integers as a tuple of Python ints; errors as `as_index`.

    Raises
    ------
    TypeError
        If `values` is no sequence, or an element is no integer.
    ValueError
        If `values` has more than one dimension, or an element does not fit in int64.
    """
    if type(values) is list or type(values) is tuple:
        pass
    elif isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(f"{name} must be a sequence of integers, got an array of shape {values.shape}")
    elif isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise TypeError(f"{name} must be a sequence of integers, got {values!r}")
    indices = tuple(values)
    for value in indices:
        if type(value) is not int or not INT64_MIN <= value <= INT64_MAX:
            return tuple([as_index(value, f"{name}[{i}]") for i, value in enumerate(indices)])
    return indices


def as_real(value: Any, name: str) -> float:
    """Give a real number, or an array of one, as a Python float.

    Raises
    ------
    TypeError
        If `value` is a boolean, complex or no number.
    ValueError
        If `value` has no element or several, or is infinite or NaN.
    """
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" and not is_float(array.dtype):
        raise TypeError(f"{name} must be a real number, got {value!r}")
    if array.size != 1:
        raise ValueError(f"{name} must be one number (a scalar, or an array of one element), got shape {array.shape}")
    number = float(array.item())
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    return number


def output(
    out: npt.NDArray[Any] | None,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    *inputs: npt.NDArray[Any],
    in_place: bool = False,
) -> npt.NDArray[Any]:
    """Give the C-contiguous memory for a kernel to write; hand it to `deliver` when it is written.

    It is `out` itself where that is C-contiguous, else a new array.  With `in_place`, `out` may be exactly one of the
    `inputs` (same address, shape and strides).

    Raises
    ------
    TypeError
        If `out` is no ndarray or has another dtype or byte order.
    ValueError
        If `out` has another shape, is read-only, holds one address twice or shares memory with an input; if `shape` is
        too large.
    MemoryError
        If there is not enough memory.
    """
    if out is None:
        return _empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a numpy.ndarray, got {type(out).__name__}")
    if out.dtype != dtype:
        raise TypeError(
            f"out must have dtype {dtype} in native byte order (that of the result), got {out.dtype.str} {out.dtype}"
        )
    if out.shape != shape:
        raise ValueError(f"out must have shape {shape} (that of the result), got {out.shape}")
    if not out.flags.writeable:
        raise ValueError("out must be writeable, got a read-only array")
    contiguous = out.flags.c_contiguous and out.flags.aligned
    if not contiguous and _overlaps_itself(out):
        raise ValueError(
            f"out must hold every element at an address of its own, got shape {shape} with strides {out.strides}"
        )
    for array in inputs:
        if in_place and array is out:
            continue
        # NumPy's stubs know two special values of max_work only.
        shared = np.may_share_memory(out, array, max_work=_OVERLAP_EFFORT)  # type: ignore[arg-type]
        if shared and not (in_place and _is_same_memory(out, array)):
            allowed = "the input itself or memory apart from it" if in_place else "memory apart from the inputs"
            raise ValueError(
                f"out must be {allowed}, got an array that overlaps an input (it would be overwritten while read)"
            )
    return np.asarray(out) if contiguous else _empty(shape, dtype)


def deliver(written: npt.NDArray[Any], out: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    """Give the user the memory of `output`: as it is, or copied once into an `out` of other strides."""
    if out is None or out is written:
        return written
    out[...] = written
    return out


def _empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    try:
        return np.empty(shape, dtype)
    except ValueError:
        raise ValueError(f"a result of shape {shape} and dtype {dtype} is larger than any array can be") from None


def _is_same_memory(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    return a.ctypes.data == b.ctypes.data and a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype


def _overlaps_itself(array: npt.NDArray[Any]) -> bool:
    """Tell whether two elements may share memory: False is a proof, which every slice and transpose of an array has."""
    reach = array.itemsize
    for stride, size in sorted(
        (abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True) if size != 1
    ):
        if stride < reach:
            return array.size > 0
        reach += (size - 1) * stride
    return False
