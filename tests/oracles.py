"""The operators by their definitions: slow, in extended precision, with nothing taken from the package.

Arrays come in and go out in ONNX's layouts; results are longdouble and rounded by whoever compares.
"""

import numpy as np

PI = 4 * np.arctan(np.longdouble(1))

# Up to here the sum itself is taken; above, numpy.fft in extended precision, which test_oracles.py compares with it.
SUM_LIMIT = 512


def unit_roots(n):
    """exp(2πi k / n) for k = 0 ... n - 1."""
    angle = 2 * PI * np.arange(n) / n
    return np.cos(angle) + 1j * np.sin(angle)


def transform(lines, inverse):
    """X[k] = sum_j x[j] exp(∓2πi jk / n), along the last axis; the inverse divided by n."""
    n = lines.shape[-1]
    if n > SUM_LIMIT:
        return np.fft.ifft(lines) if inverse else np.fft.fft(lines)
    j = np.arange(n)
    matrix = unit_roots(n)[j[:, None] * j % n]
    return lines @ matrix / n if inverse else lines @ matrix.conj()


def as_complex(pairs):
    """(..., 1 or 2) real -> (...) complex."""
    pairs = np.asarray(pairs, np.longdouble)
    return pairs[..., 0] + (1j * pairs[..., 1] if pairs.shape[-1] == 2 else np.clongdouble(0))


def as_pairs(values):
    """(...) complex -> (..., 2) real."""
    return np.stack([values.real, values.imag], axis=-1)


def fit(lines, n):
    """Crop or zero-pad the last axis to n."""
    fitted = np.zeros((*lines.shape[:-1], n), np.clongdouble)
    keep = min(n, lines.shape[-1])
    fitted[..., :keep] = lines[..., :keep]
    return fitted


def dft(x, dft_length=None, axis=-2, *, inverse=False, onesided=False):
    """DFT, its inverse, the one-sided DFT of a real signal, and its inverse."""
    axis = axis % np.ndim(x)
    lines = np.moveaxis(as_complex(x), axis, -1)
    length = lines.shape[-1]
    if inverse and onesided:
        n = 2 * (length - 1) if dft_length is None else dft_length
        bins = fit(lines, n // 2 + 1)
        whole = np.zeros((*bins.shape[:-1], n), np.clongdouble)
        for k in range(n // 2 + 1):
            if k in (0, n - k):  # bins that are their own mirror image are real
                whole[..., k] = bins[..., k].real
            else:
                whole[..., k] = bins[..., k]
                whole[..., n - k] = bins[..., k].conj()
        return np.moveaxis(transform(whole, inverse=True).real, -1, axis)[..., None]
    n = length if dft_length is None else dft_length
    spectrum = transform(fit(lines, n), inverse)
    if onesided:
        spectrum = spectrum[..., : n // 2 + 1]
    return as_pairs(np.moveaxis(spectrum, -1, axis))


def stft(signal, frame_step, window=None, frame_length=None, *, onesided=True):
    """Transform every frame of `frame_length` windowed samples that fits in the signal."""
    signal = np.asarray(signal)
    samples = as_complex(signal if signal.ndim == 3 else signal[..., None])
    length = samples.shape[1]
    if frame_length is None:
        frame_length = length if window is None else len(window)
    weights = np.ones(frame_length, np.longdouble) if window is None else np.asarray(window, np.longdouble)
    bins = frame_length // 2 + 1 if onesided else frame_length
    frames = []
    start = 0
    while start + frame_length <= length:
        frames.append(transform(samples[:, start : start + frame_length] * weights, inverse=False)[:, :bins])
        start += frame_step
    return as_pairs(np.stack(frames, axis=1))


COEFFICIENTS = {"hann": (50, 50, 0, 100), "hamming": (25, 21, 0, 46), "blackman": (42, 50, 8, 100)}


def window(kind, size, periodic=True):
    """w[i] = a0 - a1 cos(2πi / D) + a2 cos(4πi / D), D = size or size - 1; 1 where D = 0."""
    period = size if periodic else size - 1
    if period < 1:
        return np.ones(size, np.longdouble)
    a0, a1, a2, scale = (np.longdouble(value) for value in COEFFICIENTS[kind])
    angle = 2 * PI * np.arange(size) / period
    return (a0 - a1 * np.cos(angle) + a2 * np.cos(2 * angle)) / scale


def mel_weight_matrix(num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz):
    """Triangles of height 1 between whole bins, one column for each band."""
    low, high = (2595 * np.log1p(np.float64(edge) / 700) / np.log(10) for edge in (lower_edge_hertz, upper_edge_hertz))
    matrix = np.zeros((dft_length // 2 + 1, num_mel_bins))
    points = []
    for i in range(num_mel_bins + 2):
        mel = low + i * ((high - low) / (num_mel_bins + 2))
        hertz = 700 * np.expm1(mel / 2595 * np.log(10))
        points.append(int(np.floor((dft_length + 1) * hertz / sample_rate)))
    for band in range(num_mel_bins):
        left, peak, right = points[band : band + 3]
        for k in range(left, peak):
            matrix[k, band] = (k - left) / (peak - left)
        matrix[peak, band] = 1
        for k in range(peak + 1, right):
            matrix[k, band] = (right - k) / (right - peak)
    return matrix


def conv_transpose(
    x,
    w,
    b=None,
    *,
    auto_pad="NOTSET",
    dilations=None,
    group=1,
    kernel_shape=None,
    output_padding=None,
    output_shape=None,
    pads=None,
    strides=None,
):
    """Add every input value times every kernel tap at output = input * stride + tap * dilation - begin."""
    batch, channels, *sizes = x.shape
    channels_out, *taps = w.shape[1:]
    axes = range(len(sizes))
    strides = strides or [1 for _ in axes]
    dilations = dilations or [1 for _ in axes]
    extra = (output_padding or [0 for _ in axes])[-len(sizes) :]
    pads = pads or [0 for _ in axes] * 2
    assert kernel_shape is None or list(kernel_shape) == taps
    full = [strides[a] * (sizes[a] - 1) + dilations[a] * (taps[a] - 1) + 1 + extra[a] for a in axes]
    if output_shape is not None:
        wanted = list(output_shape)[-len(sizes) :]
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [sizes[a] * strides[a] for a in axes]
    else:
        wanted = None
    if wanted is not None:
        totals = [max(0, full[a] - wanted[a]) for a in axes]
        begins = [total // 2 if auto_pad == "SAME_UPPER" else (total + 1) // 2 for total in totals]
    elif auto_pad == "VALID":
        wanted, begins = full, [0 for _ in axes]
    else:
        begins = pads[: len(sizes)]
        wanted = [full[a] - pads[a] - pads[a + len(sizes)] for a in axes]

    grouped_x = np.asarray(x, np.longdouble).reshape(batch, group, channels // group, *sizes)
    grouped_w = np.asarray(w, np.longdouble).reshape(group, channels // group, channels_out, *taps)
    y = np.zeros((batch, group, channels_out, *wanted), np.longdouble)
    for position in np.ndindex(*sizes):
        for tap in np.ndindex(*taps):
            target = tuple(position[a] * strides[a] + tap[a] * dilations[a] - begins[a] for a in axes)
            if all(0 <= target[a] < wanted[a] for a in axes):
                values = grouped_x[(..., *position)][..., None] * grouped_w[(..., *tap)]  # (batch, group, in, out)
                y[(..., *target)] += values.sum(axis=2)
    y = y.reshape(batch, group * channels_out, *wanted)
    return y if b is None else y + np.asarray(b, np.longdouble).reshape(-1, *(1 for _ in axes))
