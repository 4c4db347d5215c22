"""The operators by their definitions, in float64: what the kernels' results are compared with.

Inputs and attributes are those of the contract; shapes are those of its shape rules, values are computed by nothing of the kernels.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fastspectral.ops import _shapes

Array = npt.NDArray[Any]

# Up to here a transform is the sum itself; above, which would take minutes, NumPy's in extended precision.
LONGEST_SUM = 512


def transform(lines: Array, inverse: bool) -> Array:
    """``X[k] = Σ_j x[j] exp(∓2πi jk / n)`` along the last axis; the inverse divided by n."""
    n = lines.shape[-1]
    if n > LONGEST_SUM:
        lines = lines.astype(np.clongdouble)
        return np.asarray(np.fft.ifft(lines) if inverse else np.fft.fft(lines)).astype(np.complex128)
    j = np.arange(n)
    angle = 2 * np.pi * (np.outer(j, j) % n) / n  # below 2π, where it is exact to the last bit
    matrix = np.cos(angle) + 1j * (1 if inverse else -1) * np.sin(angle)
    result: Array = lines @ matrix / (n if inverse else 1)
    return result


def dft(x: Array, dft_length: Any = None, axis: Any = None, *, inverse: int, onesided: int) -> Array:
    """DFT of a line cut or continued with zeros, of which one half, or from one half to a real line."""
    spec = _shapes.dft_spec(x.shape, dft_length, -2 if axis is None else axis, bool(inverse), bool(onesided))
    values = x.astype(np.float64)
    lines = np.moveaxis(values[..., 0] + (1j * values[..., 1] if x.shape[-1] == 2 else 0), spec.axis, -1)
    kept = np.zeros((*lines.shape[:-1], spec.n), np.complex128)
    kept[..., : spec.keep] = lines[..., : spec.keep]
    if spec.kind == "inverse_onesided":
        for k in range(spec.n // 2 + 1):
            own_mirror_image = k in (0, spec.n - k)
            kept[..., -k] = kept[..., k].real if own_mirror_image else kept[..., k].conj()
            kept[..., k] = kept[..., -k].conj()
        return np.moveaxis(transform(kept, True).real, -1, spec.axis)[..., np.newaxis]
    bins = spec.output_shape[spec.axis]
    return _pairs(np.moveaxis(transform(kept, bool(inverse))[..., :bins], -1, spec.axis))


def stft(
    signal: Array, frame_step: Any, window: Array | None = None, frame_length: Any = None, *, onesided: int
) -> Array:
    """Transforms of windowed frames."""
    w_shape = None if window is None else window.shape
    spec = _shapes.stft_spec(signal.shape, frame_step, w_shape, frame_length, bool(onesided))
    values = signal.astype(np.float64).reshape(spec.batch, spec.length, -1)
    samples = values[..., 0] + 1j * values[..., 1] if spec.is_complex else values[..., 0]
    frames = np.lib.stride_tricks.sliding_window_view(samples, spec.frame_length, axis=1)[:, :: spec.frame_step]
    if window is not None:
        frames = frames * window.astype(np.float64)
    return _pairs(transform(frames, False)[..., : spec.bins])


def window_of(*coefficients: float) -> Callable[..., Array]:
    """Window ``Σ_j (−1)^j c_j cos(2π j i / period)``."""

    def window(size: Any, *, periodic: int, **_: Any) -> Array:
        n = int(size)
        period = n if periodic else n - 1
        if period < 1:
            return np.ones(n)
        angle = 2 * np.pi * np.arange(n) / period
        terms = [(-1) ** j * c * np.cos(j * angle) for j, c in enumerate(coefficients)]
        return np.asarray(sum(reversed(terms)))  # the small ones first: 0.08 + 0.5 + 0.42 is 1

    return window


def mel_weight_matrix(bands: Any, dft_length: Any, rate: Any, lower: Any, upper: Any, **_: Any) -> Array:
    """Triangles between bins that lie evenly on the mel scale."""
    bands, n, rate = int(bands), int(dft_length), int(rate)
    low, high = (2595 * math.log10(1 + float(edge) / 700) for edge in (lower, upper))
    hertz = 700 * (10 ** ((low + np.arange(bands + 2) * (high - low) / (bands + 2)) / 2595) - 1)
    points = np.floor((n + 1) * hertz / rate).astype(int)
    weights = np.zeros((n // 2 + 1, bands))
    for band in range(bands):
        start, peak, end = points[band : band + 3]
        for k in range(start, peak):
            weights[k, band] = (k - start) / (peak - start)
        for k in range(peak, end):
            weights[k, band] = (end - k) / (end - peak)
        weights[peak, band] = 1
    return weights


def conv_transpose(x: Array, w: Array, b: Array | None = None, **attributes: Any) -> Array:
    """Every tap adds its product to the output that it meets."""
    given = _shapes.conv_transpose_attributes(**attributes)
    spec = _shapes.conv_transpose_rule(x.shape, w.shape, None if b is None else b.shape, *given)
    inputs = x.astype(np.float64).reshape(x.shape[0], spec.group, -1, *spec.input)
    weights = w.astype(np.float64).reshape(spec.group, -1, *w.shape[1:])
    y = np.zeros((x.shape[0], spec.group, w.shape[1], *spec.output))
    for tap in np.ndindex(*spec.kernel):
        sources, targets = [], []
        for q, dilation, stride, begin, size, length in zip(
            tap, spec.dilations, spec.strides, spec.begins, spec.input, spec.output, strict=True
        ):
            start = q * dilation - begin  # output of input 0
            first, end = max(0, -(start // stride)), min(size, -((start - length) // stride))
            sources.append(slice(first, max(first, end)))
            targets.append(slice(start + first * stride, start + first * stride + max(0, end - first) * stride, stride))
        read = inputs[:, :, :, *sources]
        if read.size:
            product = np.swapaxes(weights[:, :, :, *tap], 1, 2) @ read.reshape(*read.shape[:3], -1)
            y[:, :, :, *targets] += product.reshape(*product.shape[:3], *read.shape[3:])
    y = y.reshape(spec.output_shape)
    return y if b is None else y + b.astype(np.float64).reshape(-1, *[1] * len(spec.output))


def _pairs(values: Array) -> Array:
    return np.stack([values.real, values.imag], axis=-1)


DEFINITIONS: dict[str, Callable[..., Array]] = {
    "BlackmanWindow": window_of(0.42, 0.5, 0.08),
    "ConvTranspose": conv_transpose,
    "DFT": dft,
    "HammingWindow": window_of(25 / 46, 21 / 46),
    "HannWindow": window_of(0.5, 0.5),
    "MelWeightMatrix": mel_weight_matrix,
    "STFT": stft,
}
