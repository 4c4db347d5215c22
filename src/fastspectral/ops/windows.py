"""The operators HannWindow, HammingWindow and BlackmanWindow."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastspectral._arrays import output
from fastspectral.kernels.windows import cosine_sum
from fastspectral.ops._datatypes import as_datatype, convert
from fastspectral.ops._shapes import window_shape

HANN = (0.5, 0.5, 0.0)
HAMMING = (25 / 46, 21 / 46, 0.0)
BLACKMAN = (0.42, 0.5, 0.08)


def hann_window(size: int, *, periodic: bool = True, output_datatype: Any = 1) -> npt.NDArray[Any]:
    """Hann window, as the ONNX operator HannWindow (opset 17).

    ``w[i] = 1/2 - 1/2 cos(2πi / period)``

    Parameters
    ----------
    size : int >= 0
        Number of samples; an integer array of one element is taken too.
    periodic : bool, default True
        If true ``period = size``, for spectral analysis; else ``period = size - 1`` and the window is symmetric, bit
        for bit.
    output_datatype : int or dtype, default 1
        TensorProto code or NumPy dtype of the result: 1 (float32), 2 (uint8), 3 (int8), 4 (uint16), 5 (int16),
        6 (int32), 7 (int64), 10 (float16), 11 (float64), 12 (uint32), 13 (uint64) or 16 (bfloat16; needs the package
        ml_dtypes).

    Returns
    -------
    ndarray, shape (size,), dtype `output_datatype`
        Computed in float64 and rounded once; integers are truncated toward zero, so that they are 1 where the window is
        1 and 0 elsewhere.  A symmetric window of size 1 is 1 (the formula divides by 0 there).

    Raises
    ------
    TypeError
        If `size` is no integer or `output_datatype` is no data type.
    ValueError
        If `size` is negative or `output_datatype` is not one of the 12 above.

    See Also
    --------
    scipy.signal.windows.hann : the same for ``sym=not periodic``, but 1 for every window of size 1.

    References
    ----------
    ONNX operator HannWindow-17.
    """
    return _window(size, periodic, output_datatype, HANN)


def hamming_window(size: int, *, periodic: bool = True, output_datatype: Any = 1) -> npt.NDArray[Any]:
    """Hamming window, as the ONNX operator HammingWindow (opset 17).

    ``w[i] = 25/46 - 21/46 cos(2πi / period)``

    Parameters
    ----------
    size : int >= 0
        Number of samples; an integer array of one element is taken too.
    periodic : bool, default True
        If true ``period = size``, for spectral analysis; else ``period = size - 1`` and the window is symmetric, bit
        for bit.
    output_datatype : int or dtype, default 1
        TensorProto code or NumPy dtype of the result, one of the 12 of `hann_window`.

    Returns
    -------
    ndarray, shape (size,), dtype `output_datatype`
        Rounded as that of `hann_window`.  A symmetric window of size 1 is 1.

    Raises
    ------
    TypeError
        If `size` is no integer or `output_datatype` is no data type.
    ValueError
        If `size` is negative or `output_datatype` is not one of the 12.

    See Also
    --------
    scipy.signal.windows.hamming, torch.hamming_window : coefficients 0.54 and 0.46; ONNX has 25/46 and 21/46.

    References
    ----------
    ONNX operator HammingWindow-17.
    """
    return _window(size, periodic, output_datatype, HAMMING)


def blackman_window(size: int, *, periodic: bool = True, output_datatype: Any = 1) -> npt.NDArray[Any]:
    """Blackman window, as the ONNX operator BlackmanWindow (opset 17).

    ``w[i] = 0.42 - 0.5 cos(2πi / period) + 0.08 cos(4πi / period)``

    Parameters
    ----------
    size : int >= 0
        Number of samples; an integer array of one element is taken too.
    periodic : bool, default True
        If true ``period = size``, for spectral analysis; else ``period = size - 1`` and the window is symmetric, bit
        for bit.
    output_datatype : int or dtype, default 1
        TensorProto code or NumPy dtype of the result, one of the 12 of `hann_window`.

    Returns
    -------
    ndarray, shape (size,), dtype `output_datatype`
        Rounded as that of `hann_window`; exactly 1 in the middle and 0 at the ends.  A symmetric window of size 1 is 1.

    Raises
    ------
    TypeError
        If `size` is no integer or `output_datatype` is no data type.
    ValueError
        If `size` is negative or `output_datatype` is not one of the 12.

    See Also
    --------
    scipy.signal.windows.blackman : the same for ``sym=not periodic``, but 1 for every window of size 1.

    References
    ----------
    ONNX operator BlackmanWindow-17.
    """
    return _window(size, periodic, output_datatype, BLACKMAN)


def _window(
    size: Any, periodic: Any, output_datatype: Any, coefficients: tuple[float, float, float]
) -> npt.NDArray[Any]:
    dtype = as_datatype(output_datatype)
    (count,) = shape = window_shape(size)
    window = output(None, shape, np.dtype(np.float64))
    period = count if periodic else count - 1
    if period > 0:
        cosine_sum(window, period, *coefficients)
    else:
        window[:] = 1.0  # no sample, or the only one of a symmetric window
    return convert(window, dtype)
