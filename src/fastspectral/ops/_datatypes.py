"""The attribute `output_datatype` of operators that make tensors from numbers."""

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

# TensorProto.DataType code -> name of the NumPy dtype.
DATATYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
}


def as_datatype(output_datatype: Any) -> np.dtype[Any]:
    """Give the dtype for a TensorProto code or anything that NumPy takes for a dtype.

    Raises
    ------
    TypeError
        If `output_datatype` is neither.
    ValueError
        If it is none of the 12 that ONNX allows; for bfloat16, if the package ml_dtypes, which has it, is missing.
    """
    if isinstance(output_datatype, (int, np.integer)) and not isinstance(output_datatype, bool):
        name = DATATYPES.get(int(output_datatype), "")
    elif output_datatype is None or isinstance(output_datatype, (bool, np.bool)):
        raise TypeError(f"output_datatype must be a TensorProto code or a NumPy dtype, got {output_datatype!r}")
    elif output_datatype == "bfloat16":
        name = "bfloat16"  # NumPy knows the name only after ml_dtypes was imported
    else:
        try:
            name = np.dtype(output_datatype).name
        except TypeError:
            raise TypeError(
                f"output_datatype must be a TensorProto code or a NumPy dtype, got {output_datatype!r}"
            ) from None
    if name not in DATATYPES.values():
        allowed = ", ".join(f"{code} ({allowed})" for code, allowed in DATATYPES.items())
        raise ValueError(f"output_datatype must be one of {allowed}, got {output_datatype!r}")
    return _bfloat16() if name == "bfloat16" else np.dtype(name)


def _bfloat16() -> np.dtype[Any]:
    try:
        # By name: ml_dtypes is no dependency, and whoever asks for no bfloat16 never loads it.
        dtype: np.dtype[Any] = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        raise ValueError(
            "output_datatype bfloat16 needs the package ml_dtypes, which has the type for NumPy: "
            'install it, or fastspectral with its extra "onnx"'
        ) from None
    return dtype


def convert(values: npt.NDArray[np.float64], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Give `values` as `dtype`: integers truncated toward zero, floats rounded once."""
    if dtype.name == "bfloat16":
        return _to_odd_float32(values).astype(dtype)
    return values.astype(dtype, copy=False)


def _to_odd_float32(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Round to float32 so that rounding again to bfloat16 gives what rounding once would.

    ml_dtypes goes from float64 to bfloat16 by float32, and twice to nearest errs near ties: 1 + 2**-8 + 2**-40 would
    become 1.  Rounded to odd, an inexact value never looks like a tie.  Finite values only.

    Source: Boldo and Melquiond (2008), "Emulation of FMA and correctly rounded sums: proved algorithms using rounding
    to odd".
    """
    nearest = values.astype(np.float32)
    bits = nearest.view(np.int32)
    away = np.abs(nearest.astype(np.float64)) > np.abs(values)
    inexact = nearest.astype(np.float64) != values
    odd: npt.NDArray[np.int32] = (bits - away) | inexact  # the magnitude, cut, its last bit set where something was cut
    return odd.view(np.float32)
