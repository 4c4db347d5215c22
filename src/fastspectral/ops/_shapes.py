"""Pure shape rules: from the shapes and attributes of a call to a frozen spec of what is to be computed.

Every ValueError about a shape or an attribute is raised here.  The `*_spec` functions take the arguments as users give
them; the `*_rule` functions behind them know plain integers only and are cached: the same few shapes come again.

Sources: the ONNX operator specifications DFT-20, STFT-17 and ConvTranspose-22.
"""

import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from fastspectral._arrays import INT64_MAX, as_index, as_indices
from fastspectral.recipes import LONGEST

AUTO_PADS = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")


class DFTSpec(NamedTuple):
    """One DFT along one axis.

    `kind` says what is read and written: "complex" and "real" (input) give n complex values, "onesided" reads real
    samples and gives n // 2 + 1 complex bins, "inverse_onesided" reads such bins and gives n real samples.  The first
    `keep` values of the axis are read; the others that the transform needs count as zero.
    """

    kind: Literal["complex", "real", "onesided", "inverse_onesided"]
    n: int
    keep: int
    axis: int
    output_shape: tuple[int, ...]


class STFTSpec(NamedTuple):
    """Frames of a batch of signals: frame t of a signal starts at sample t * frame_step."""

    is_complex: bool
    batch: int
    length: int
    frame_length: int
    frame_step: int
    frames: int
    bins: int
    output_shape: tuple[int, ...]


class ISTFTSpec(NamedTuple):
    """Frames that reach the first `reach` samples of signals of output_shape[1] samples; frame t starts at sample t * frame_step."""

    onesided: bool
    batch: int
    frame_length: int
    frame_step: int
    frames: int
    bins: int
    reach: int
    output_shape: tuple[int, ...]


class ConvTransposeSpec(NamedTuple):
    """A transposed convolution; `input` to `output` hold one value for each spatial axis.

    Input position p and kernel tap q meet at output position p * strides + q * dilations - begins.
    """

    batch: int
    in_channels: int
    out_channels: int
    group: int
    input: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    output: tuple[int, ...]
    output_shape: tuple[int, ...]


def as_shape(values: Sequence[int], name: str) -> tuple[int, ...]:
    """Give a shape as a tuple of Python ints, which the rules take no others than: what they keep for (1, 2.0) they would give for (1, 2).

    Raises as `as_indices`, and ValueError where a size is negative.
    """
    shape = as_indices(values, name)
    if any(size < 0 for size in shape):
        raise ValueError(f"{name} must hold sizes of at least 0, got {shape}")
    return shape


def dft_spec(shape: tuple[int, ...], dft_length: Any, axis: Any, inverse: Any, onesided: Any) -> DFTSpec:
    """Spec of `dft` for an input of `shape`; raises as `dft` does."""
    n = None if dft_length is None else as_index(dft_length, "dft_length")
    return dft_rule(shape, n, as_index(axis, "axis"), bool(inverse), bool(onesided))


@lru_cache(maxsize=1024)
def dft_rule(shape: tuple[int, ...], dft_length: int | None, axis: int, inverse: bool, onesided: bool) -> DFTSpec:
    """`dft_spec` of plain integers."""
    rank = len(shape)
    if rank < 2:
        raise ValueError(
            f"input must have rank 2 or more, got shape {shape} (the last axis holds real and imaginary parts: "
            "give a real signal as input[..., np.newaxis])"
        )
    if not (-rank <= axis <= -2 or 0 <= axis <= rank - 2):
        raise ValueError(
            f"axis must be in [{-rank}, -2] or [0, {rank - 2}] for an input of rank {rank}, got {axis} "
            "(the last axis holds real and imaginary parts)"
        )
    axis %= rank
    parts, length = shape[-1], shape[axis]
    if parts not in (1, 2):
        raise ValueError(
            f"the last axis of input must have size 1 (real) or 2 (real and imaginary part), got shape {shape}: "
            "give a real signal as input[..., np.newaxis]"
        )
    if onesided and not inverse and parts == 2:
        raise ValueError(
            f"onesided=True needs a real input, of last size 1, got shape {shape} "
            "(only the spectrum of real samples is given by its first half)"
        )
    if onesided and inverse and parts == 1:
        raise ValueError(
            f"inverse=True with onesided=True needs complex bins, of last size 2, got shape {shape} "
            "(they are one half of the spectrum of a real signal)"
        )
    if dft_length is not None:
        if dft_length < 1:
            raise ValueError(f"dft_length must be at least 1, got {dft_length}")
        n = dft_length
    elif inverse and onesided:
        if length < 2:
            raise ValueError(
                f"dft_length must be given for an input of fewer than 2 bins, got {length} along axis {axis} "
                "(its default, 2 * (bins - 1), would be less than 1)"
            )
        n = 2 * (length - 1)
    else:
        if length < 1:
            raise ValueError(f"dft_length must be given for an input of size 0 along axis {axis}, got shape {shape}")
        n = length

    if n > LONGEST:
        raise ValueError(
            f"dft_length must be at most {LONGEST} (longer tables would pass the memory of most machines), got {n}"
        )
    bins = n // 2 + 1
    lead, trail = shape[:axis], shape[axis + 1 : -1]
    if onesided and inverse:
        return DFTSpec("inverse_onesided", n, min(length, bins), axis, (*lead, n, *trail, 1))
    if onesided:
        return DFTSpec("onesided", n, min(length, n), axis, (*lead, bins, *trail, 2))
    return DFTSpec("complex" if parts == 2 else "real", n, min(length, n), axis, (*lead, n, *trail, 2))


def stft_spec(
    signal_shape: tuple[int, ...],
    frame_step: Any,
    window_shape: tuple[int, ...] | None,
    frame_length: Any,
    onesided: Any,
) -> STFTSpec:
    """Spec of `stft` for a signal of `signal_shape`; raises as `stft` does."""
    length = None if frame_length is None else as_index(frame_length, "frame_length")
    return stft_rule(signal_shape, as_index(frame_step, "frame_step"), window_shape, length, bool(onesided))


@lru_cache(maxsize=1024)
def stft_rule(
    signal_shape: tuple[int, ...],
    frame_step: int,
    window_shape: tuple[int, ...] | None,
    frame_length: int | None,
    onesided: bool,
) -> STFTSpec:
    """`stft_spec` of plain integers."""
    rank = len(signal_shape)
    if rank not in (2, 3) or (rank == 3 and signal_shape[2] not in (1, 2)):
        raise ValueError(
            "signal must have shape (batch, length), (batch, length, 1) or, if complex, (batch, length, 2), "
            f"got {signal_shape} (give one signal alone as signal[np.newaxis])"
        )
    batch, length = signal_shape[:2]
    check_frames(frame_step, window_shape, frame_length)
    if frame_length is not None:
        size, origin = frame_length, "frame_length"
    elif window_shape is not None:
        size, origin = window_shape[0], "the size of window"
    else:
        size, origin = length, "the signal's length"
    if size < 1:
        raise ValueError(f"signal must have at least one sample, got shape {signal_shape}")
    if size > length:
        raise ValueError(
            f"{origin} must be at most the signal's length {length}, got {size} "
            "(frames are never padded: pad the signal)"
        )
    if size > LONGEST:
        raise ValueError(
            f"{origin} must be at most {LONGEST} (longer tables would pass the memory of most machines), got {size}"
        )
    frames = (length - size) // frame_step + 1
    bins = size // 2 + 1 if onesided else size
    is_complex = rank == 3 and signal_shape[2] == 2
    return STFTSpec(is_complex, batch, length, size, frame_step, frames, bins, (batch, frames, bins, 2))


def check_frames(frame_step: int, window_shape: tuple[int, ...] | None, frame_length: int | None) -> None:
    """Raise ValueError where step, window and length of frames are not positive or do not fit together."""
    if frame_step < 1:
        raise ValueError(f"frame_step must be at least 1, got {frame_step}")
    if window_shape is not None and len(window_shape) != 1:
        raise ValueError(f"window must have one dimension, got shape {window_shape}")
    if frame_length is not None and frame_length < 1:
        raise ValueError(f"frame_length must be at least 1, got {frame_length}")
    if window_shape is not None and window_shape[0] < 1:
        raise ValueError("window must have at least one element, got none (its size is the frame length)")
    if window_shape is not None and frame_length not in (None, window_shape[0]):
        raise ValueError(
            f"window must have frame_length = {frame_length} elements, got {window_shape[0]} "
            "(pad the window, or leave frame_length out)"
        )


def istft_spec(
    spectrum_shape: tuple[int, ...],
    frame_step: Any,
    window_shape: tuple[int, ...] | None,
    frame_length: Any,
    onesided: Any,
    length: int | None,
) -> ISTFTSpec:
    """Spec of `istft` for a spectrum of `spectrum_shape`; raises as `istft` does."""
    size = None if frame_length is None else as_index(frame_length, "frame_length")
    return istft_rule(spectrum_shape, as_index(frame_step, "frame_step"), window_shape, size, bool(onesided), length)


@lru_cache(maxsize=1024)
def istft_rule(
    spectrum_shape: tuple[int, ...],
    frame_step: int,
    window_shape: tuple[int, ...] | None,
    frame_length: int | None,
    onesided: bool,
    length: int | None,
) -> ISTFTSpec:
    """`istft_spec` of plain integers."""
    if len(spectrum_shape) != 4 or spectrum_shape[3] != 2:
        raise ValueError(
            f"spectrum must have shape (batch, frames, bins, 2), got {spectrum_shape} "
            "(give that of one signal alone as spectrum[np.newaxis])"
        )
    batch, frames, bins, _ = spectrum_shape
    if frames < 1:
        raise ValueError(f"spectrum must have at least one frame, got shape {spectrum_shape}")
    if length is not None and length < 1:
        raise ValueError(f"length must be at least 1, got {length}")
    check_frames(frame_step, window_shape, frame_length)
    if frame_length is not None:
        size, origin = frame_length, "frame_length"
    elif window_shape is not None:
        size, origin = window_shape[0], "the size of window"
    else:
        size, origin = 2 * (bins - 1) if onesided else bins, "frame_length by default"
    if not 1 <= size <= LONGEST:
        raise ValueError(f"{origin} must be at least 1 and at most {LONGEST}, got {size} (of {bins} bins)")
    wanted = size // 2 + 1 if onesided else size
    if bins != wanted:
        raise ValueError(
            f"spectrum must have {wanted} bins for {origin} = {size} and onesided={onesided}, got shape {spectrum_shape}"
        )
    output_length = (frames - 1) * frame_step + size if length is None else length
    frames = min(frames, -(-output_length // frame_step))  # later ones start behind the end
    if frames == 1:
        frame_step = size  # which is then of no meaning, and may be beyond all arrays
    elif frame_step > size:
        raise ValueError(
            f"frame_step must be at most {origin} = {size}, got {frame_step} (samples would be in no frame)"
        )
    reach = min(output_length, (frames - 1) * frame_step + size)
    return ISTFTSpec(onesided, batch, size, frame_step, frames, bins, reach, (batch, output_length, 1))


class ConvTransposeAttributes(NamedTuple):
    """Attributes of ConvTranspose as plain integers, in the order of `conv_transpose_rule`; None where nothing was given."""

    auto_pad: str
    group: int
    dilations: tuple[int, ...] | None
    kernel_shape: tuple[int, ...] | None
    output_padding: tuple[int, ...] | None
    output_shape: tuple[int, ...] | None
    pads: tuple[int, ...] | None
    strides: tuple[int, ...] | None


def window_shape(size: Any) -> tuple[int]:
    """Shape of a window."""
    count = as_index(size, "size")
    if count < 0:
        raise ValueError(f"size must be at least 0, got {count}")
    return (count,)


def mel_shape(num_mel_bins: Any, dft_length: Any) -> tuple[int, int]:
    """Shape of mel weights."""
    bands, length = as_index(num_mel_bins, "num_mel_bins"), as_index(dft_length, "dft_length")
    if bands < 0:
        raise ValueError(f"num_mel_bins must be at least 0, got {bands}")
    if length < 1:
        raise ValueError(f"dft_length must be at least 1, got {length}")
    return length // 2 + 1, bands


def conv_transpose_attributes(
    auto_pad: str,
    dilations: Any,
    group: Any,
    kernel_shape: Any,
    output_padding: Any,
    output_shape: Any,
    pads: Any,
    strides: Any,
) -> ConvTransposeAttributes:
    """Check what the attributes are, but not yet how they fit a shape; raises as `conv_transpose` does.

    Warns, on every call, where `auto_pad` replaces given pads: for the caller of the public function, two frames up.
    """
    if not isinstance(auto_pad, str):
        raise TypeError(f"auto_pad must be one of {', '.join(AUTO_PADS)}, got {auto_pad!r}")
    if auto_pad != "NOTSET" and pads is not None and any(pads):
        warnings.warn(f"pads are replaced by those of auto_pad={auto_pad!r}, got {pads}", UserWarning, stacklevel=3)
    return ConvTransposeAttributes(
        auto_pad,
        as_index(group, "group"),
        None if dilations is None else as_indices(dilations, "dilations"),
        None if kernel_shape is None else as_indices(kernel_shape, "kernel_shape"),
        None if output_padding is None else as_indices(output_padding, "output_padding"),
        None if output_shape is None else as_indices(output_shape, "output_shape"),
        None if pads is None else as_indices(pads, "pads"),
        None if strides is None else as_indices(strides, "strides"),
    )


@lru_cache(maxsize=1024)
def conv_transpose_rule(
    x_shape: tuple[int, ...],
    w_shape: tuple[int, ...],
    b_shape: tuple[int, ...] | None,
    auto_pad: str,
    group: int,
    dilations: tuple[int, ...] | None,
    kernel_shape: tuple[int, ...] | None,
    output_padding: tuple[int, ...] | None,
    output_shape: tuple[int, ...] | None,
    pads: tuple[int, ...] | None,
    strides: tuple[int, ...] | None,
) -> ConvTransposeSpec:
    """Spec of `conv_transpose` for these shapes; raises as `conv_transpose` does."""
    batch, in_channels, out_channels = _channels(x_shape, w_shape, b_shape, group)
    axes = len(x_shape) - 2
    inputs, kernel = x_shape[2:], w_shape[2:]
    if min(kernel) < 1:
        raise ValueError(f"the kernel must have at least one tap along every axis, got a w of shape {w_shape}")
    if kernel_shape is not None and kernel_shape != kernel:
        raise ValueError(f"kernel_shape must be that of w, {kernel}, got {kernel_shape}")
    if auto_pad not in AUTO_PADS:
        raise ValueError(f"auto_pad must be one of {', '.join(AUTO_PADS)}, got {auto_pad!r}")
    strides = _values(strides, "strides", axes, default=1, least=1)
    dilations = _values(dilations, "dilations", axes, default=1, least=1)
    pads = _values(pads, "pads", 2 * axes, default=0, least=0)

    # Exporters write these two with values for batch and channels in front: harmless where those change nothing.
    if output_padding is not None and len(output_padding) == axes + 2 and output_padding[:2] == (0, 0):
        output_padding = output_padding[2:]
    if output_shape is not None and len(output_shape) == axes + 2 and output_shape[:2] == (batch, out_channels):
        output_shape = output_shape[2:]
    output_padding = _values(output_padding, "output_padding", axes, default=0, least=0)
    for i, (extra, stride, dilation) in enumerate(zip(output_padding, strides, dilations, strict=True)):
        if extra >= max(stride, dilation):
            raise ValueError(
                f"output_padding must be less than the stride or the dilation of its axis, got {extra} "
                f"for spatial axis {i} with stride {stride} and dilation {dilation}"
            )

    # Extent of everything that input and kernel reach, plus output_padding.
    full = tuple(
        stride * (size - 1) + dilation * (taps - 1) + 1 + extra
        for size, taps, stride, dilation, extra in zip(inputs, kernel, strides, dilations, output_padding, strict=True)
    )
    if max(full) > INT64_MAX:
        raise ValueError(
            f"strides * (input - 1) + dilations * (kernel - 1) + 1 + output_padding must fit in int64, got {full} "
            f"(input {inputs}, kernel {kernel}, strides {strides}, dilations {dilations})"
        )
    if output_shape is not None:
        sizes = _values(output_shape, "output_shape", axes, default=1, least=1)
        for i in range(axes):
            most = full[i] - output_padding[i] + max(strides[i], dilations[i]) - 1
            if sizes[i] > most:
                raise ValueError(
                    f"output_shape must be in [1, {most}] along spatial axis {i}, got {sizes[i]} "
                    f"(input {inputs[i]}, kernel {kernel[i]}, stride {strides[i]}, dilation {dilations[i]})"
                )
        begins = _split(full, sizes, auto_pad)
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        sizes = tuple(size * stride for size, stride in zip(inputs, strides, strict=True))
        begins = _split(full, sizes, auto_pad)
    elif auto_pad == "VALID":
        sizes, begins = full, (0,) * axes
    else:
        begins, ends = pads[:axes], pads[axes:]
        sizes = tuple(size - begin - end for size, begin, end in zip(full, begins, ends, strict=True))
    if min(sizes) < 1:
        raise ValueError(
            f"the output must have a size of at least 1 along every spatial axis, got {sizes} (input {inputs}, "
            f"kernel {kernel}, strides {strides}, dilations {dilations}, output_padding {output_padding}, "
            f"auto_pad {auto_pad}, pads {pads})"
        )
    return ConvTransposeSpec(
        batch,
        in_channels,
        out_channels,
        group,
        inputs,
        kernel,
        strides,
        dilations,
        begins,
        sizes,
        (batch, out_channels, *sizes),
    )


def _channels(
    x_shape: tuple[int, ...], w_shape: tuple[int, ...], b_shape: tuple[int, ...] | None, group: int
) -> tuple[int, int, int]:
    """Batch, input channels and output channels."""
    if len(x_shape) < 3:
        raise ValueError(
            f"x must have shape (batch, channels, size, ...) with at least one spatial axis, got {x_shape}"
        )
    if len(w_shape) != len(x_shape):
        raise ValueError(
            f"w must have the rank of x, {len(x_shape)}, got shape {w_shape} "
            "(its axes are input channels, output channels / group, taps, ...)"
        )
    batch, channels = x_shape[:2]
    if group < 1:
        raise ValueError(f"group must be at least 1, got {group}")
    if channels % group:
        raise ValueError(f"group must divide the {channels} channels of x, got {group}")
    if w_shape[0] != channels:
        raise ValueError(f"w must have {channels} input channels along its first axis, as x, got shape {w_shape}")
    out_channels = w_shape[1] * group
    if b_shape is not None and b_shape != (out_channels,):
        raise ValueError(f"b must have shape ({out_channels},), one value for each output channel, got {b_shape}")
    return batch, channels, out_channels


def _values(given: tuple[int, ...] | None, name: str, count: int, *, default: int, least: int) -> tuple[int, ...]:
    """`given` or `count` times the default, after the check that there are `count` values of at least `least`."""
    if given is None:
        return (default,) * count
    if len(given) != count:
        layout = "all begins, then all ends" if name == "pads" else "one for each spatial axis"
        raise ValueError(f"{name} must have {count} values ({layout}), got {given}")
    if any(value < least for value in given):
        raise ValueError(f"{name} must be at least {least}, got {given}")
    return given


def _split(full: tuple[int, ...], sizes: tuple[int, ...], auto_pad: str) -> tuple[int, ...]:
    """Begin pads that crop `full` to `sizes`.

    The odd one of a crop goes to the end for SAME_UPPER and to the beginning for all else.  Where `sizes` is larger
    there is nothing to crop: the surplus follows at the end.
    """
    totals = [max(0, extent - size) for extent, size in zip(full, sizes, strict=True)]
    return tuple([total // 2 if auto_pad == "SAME_UPPER" else total - total // 2 for total in totals])
