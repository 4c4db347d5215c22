"""Output shapes of the operators, without computing: the same rules and the same errors."""

from collections.abc import Sequence
from typing import Any

from fastspectral.ops import _shapes


def dft_shape(
    shape: Sequence[int], dft_length: Any = None, axis: Any = -2, *, inverse: bool = False, onesided: bool = False
) -> tuple[int, ...]:
    """Shape of ``dft(input, ...)`` for an input of `shape`.

    Parameters
    ----------
    shape : sequence of int
        Shape of the input, its last axis of size 1 (real) or 2 (real and imaginary part).
    dft_length, axis, inverse, onesided
        As of `dft`.

    Returns
    -------
    tuple of int
        `shape` with ``dft_length`` (``dft_length // 2 + 1`` where the result is one-sided) along `axis`, and at the end
        2, or 1 where the result is real.

    Raises
    ------
    ValueError, TypeError
        As `dft`.

    References
    ----------
    ONNX operator DFT-20.
    """
    return _shapes.dft_spec(_shapes.as_shape(shape, "shape"), dft_length, axis, inverse, onesided).output_shape


def stft_shape(
    signal_shape: Sequence[int],
    frame_step: Any,
    window_shape: Sequence[int] | None = None,
    frame_length: Any = None,
    *,
    onesided: bool = True,
) -> tuple[int, ...]:
    """Shape of ``stft(signal, frame_step, window, frame_length, onesided=onesided)``.

    Parameters
    ----------
    signal_shape : sequence of int
        ``(batch, length)``, ``(batch, length, 1)`` or, for a complex signal, ``(batch, length, 2)``.
    window_shape : sequence of int, optional
        ``(frame_length,)``.
    frame_step, frame_length, onesided
        As of `stft`.

    Returns
    -------
    tuple of int
        ``(batch, frames, bins, 2)``.

    Raises
    ------
    ValueError, TypeError
        As `stft`.

    References
    ----------
    ONNX operator STFT-17.
    """
    window = None if window_shape is None else _shapes.as_shape(window_shape, "window_shape")
    return _shapes.stft_spec(
        _shapes.as_shape(signal_shape, "signal_shape"), frame_step, window, frame_length, onesided
    ).output_shape


def conv_transpose_shape(
    x_shape: Sequence[int],
    w_shape: Sequence[int],
    b_shape: Sequence[int] | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: Any = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Shape of ``conv_transpose(x, w, b, ...)`` for arrays of these shapes.

    Parameters
    ----------
    x_shape : sequence of int
        ``(batch, channels, size, ...)``.
    w_shape : sequence of int
        ``(channels, output channels // group, taps, ...)``.
    b_shape : sequence of int, optional
        ``(output channels,)``.
    auto_pad, dilations, group, kernel_shape, output_padding, output_shape, pads, strides
        As of `conv_transpose`.

    Returns
    -------
    tuple of int
        ``(batch, output channels, size, ...)``.

    Raises
    ------
    ValueError, TypeError
        As `conv_transpose`.

    Warns
    -----
    UserWarning
        If `auto_pad` replaces `pads` that are not all zero.

    References
    ----------
    ONNX operator ConvTranspose-22.
    """
    attributes = _shapes.conv_transpose_attributes(
        auto_pad, dilations, group, kernel_shape, output_padding, output_shape, pads, strides
    )
    spec = _shapes.conv_transpose_rule(
        _shapes.as_shape(x_shape, "x_shape"),
        _shapes.as_shape(w_shape, "w_shape"),
        None if b_shape is None else _shapes.as_shape(b_shape, "b_shape"),
        *attributes,
    )
    return spec.output_shape
