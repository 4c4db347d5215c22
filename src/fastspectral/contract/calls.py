"""From inputs and attributes as ONNX's nodes spell them to calls of the operators, and to shapes.

Flags are the numbers 0 and 1, and what a node does not give is None.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

import fastspectral
from fastspectral.ops import _shapes

Array = npt.NDArray[Any]
Scalar = Any  # a number as nodes get it: an array of one element


def dft(
    input: Array,  # noqa: A002 (ONNX's name)
    dft_length: Scalar | None = None,
    axis: Scalar | None = None,
    *,
    inverse: int,
    onesided: int,
    out: Array | None = None,
    workers: int | None = None,
) -> Array:
    """DFT; the axis is an input from opset 20 on, where it may be absent, and an attribute before."""
    axis = -2 if axis is None else axis
    return fastspectral.dft(
        input, dft_length, axis, inverse=bool(inverse), onesided=bool(onesided), out=out, workers=workers
    )


def dft_shape(
    input: Array,  # noqa: A002
    dft_length: Scalar | None = None,
    axis: Scalar | None = None,
    *,
    inverse: int,
    onesided: int,
) -> tuple[int, ...]:
    """Shape of `dft`."""
    axis = -2 if axis is None else axis
    return fastspectral.dft_shape(input.shape, dft_length, axis, inverse=bool(inverse), onesided=bool(onesided))


def stft(
    signal: Array,
    frame_step: Scalar,
    window: Array | None = None,
    frame_length: Scalar | None = None,
    *,
    onesided: int,
    out: Array | None = None,
    workers: int | None = None,
) -> Array:
    """STFT; its step is the second input."""
    return fastspectral.stft(
        signal, frame_step, window, frame_length, onesided=bool(onesided), out=out, workers=workers
    )


def stft_shape(
    signal: Array,
    frame_step: Scalar,
    window: Array | None = None,
    frame_length: Scalar | None = None,
    *,
    onesided: int,
) -> tuple[int, ...]:
    """Shape of `stft`."""
    window_shape = None if window is None else window.shape
    return fastspectral.stft_shape(signal.shape, frame_step, window_shape, frame_length, onesided=bool(onesided))


def hann_window(size: Scalar, *, periodic: int, output_datatype: int) -> Array:
    """HannWindow."""
    return fastspectral.hann_window(size, periodic=bool(periodic), output_datatype=output_datatype)


def hamming_window(size: Scalar, *, periodic: int, output_datatype: int) -> Array:
    """HammingWindow."""
    return fastspectral.hamming_window(size, periodic=bool(periodic), output_datatype=output_datatype)


def blackman_window(size: Scalar, *, periodic: int, output_datatype: int) -> Array:
    """BlackmanWindow."""
    return fastspectral.blackman_window(size, periodic=bool(periodic), output_datatype=output_datatype)


def window_shape(size: Scalar, **_: Any) -> tuple[int, ...]:
    """Shape of a window."""
    return _shapes.window_shape(size)


def mel_weight_matrix(
    num_mel_bins: Scalar,
    dft_length: Scalar,
    sample_rate: Scalar,
    lower_edge_hertz: Scalar,
    upper_edge_hertz: Scalar,
    *,
    output_datatype: int,
) -> Array:
    """MelWeightMatrix."""
    return fastspectral.mel_weight_matrix(
        num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz, output_datatype=output_datatype
    )


def mel_shape(num_mel_bins: Scalar, dft_length: Scalar, *_: Scalar, **__: Any) -> tuple[int, ...]:
    """Shape of `mel_weight_matrix`."""
    return _shapes.mel_shape(num_mel_bins, dft_length)


def conv_transpose(
    X: Array,
    W: Array,
    B: Array | None = None,
    *,
    out: Array | None = None,
    workers: int | None = None,
    **attributes: Any,
) -> Array:
    """ConvTranspose, whose attributes have the names that `fastspectral.conv_transpose` knows."""
    return fastspectral.conv_transpose(X, W, B, out=out, workers=workers, **attributes)


def conv_transpose_shape(X: Array, W: Array, B: Array | None = None, **attributes: Any) -> tuple[int, ...]:
    """Shape of `conv_transpose`."""
    return fastspectral.conv_transpose_shape(np.shape(X), np.shape(W), None if B is None else np.shape(B), **attributes)
