"""The ONNX operator STFT."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastspectral._arrays import as_float, as_index, deliver, output
from fastspectral._plan_caches import plan_cache
from fastspectral.ops._lines import flat, half_of, run
from fastspectral.ops._shapes import STFTSpec, check_frames, stft_spec
from fastspectral.plans import Lines, LineTransform, STFTPlan, line_transform, windowed_plan, with_window
from fastspectral.recipes import LONGEST


def stft(
    signal: npt.ArrayLike,
    frame_step: Any,
    window: npt.ArrayLike | None = None,
    frame_length: Any = None,
    *,
    onesided: bool = True,
    out: npt.NDArray[Any] | None = None,
    workers: int | None = None,
) -> npt.NDArray[Any]:
    """Short-time Fourier transform, as the ONNX operator STFT (opset 17).

    ``output[b, t, k] = Σ_m window[m] · signal[b, t · frame_step + m] · exp(−2πi km / frame_length)``

    Frames start at sample 0, are not padded, and the samples after the last whole frame are not used: pad the signal
    yourself for centred frames.

    Parameters
    ----------
    signal : array_like of float16, bfloat16, float32 or float64, shape (batch, length, 1), (batch, length) or (batch, length, 2)
        Real signals, or complex ones as real and imaginary parts.  Rank 2 is not in the text of the standard but in real
        models; onnxruntime takes it too.
    frame_step : int > 0
        Samples from the start of a frame to the start of the next one (hop length).
    window : array_like of real floats, shape (frame_length,), optional
        Factors of the samples of a frame.  Converted once to the precision of the signal.
    frame_length : int > 0, optional
        Samples in a frame.  Default: the size of `window`; with neither, the length of the signal.
    onesided : bool
        Give the first ``frame_length // 2 + 1`` bins only, which hold all there is to know of a real signal.  Of a complex
        signal these are the same first bins, as onnxruntime and the ONNX reference have it: give False for all of them.
    out : ndarray, optional
        Where to put the result: exact shape and dtype, any strides, no memory shared with the inputs.
    workers : int, optional
        Threads at most; -1 for all.  Default: see `set_workers`.

    Returns
    -------
    ndarray, shape (batch, frames, bins, 2)
        Real and imaginary parts in the dtype of `signal`; ``frames = (length − frame_length) // frame_step + 1``.  The
        imaginary part of bin 0 of a real signal, and of bin frame_length/2, is exactly 0.

    Raises
    ------
    ValueError
        If `frame_step` or `frame_length` is below 1, a frame is longer than 2^26 samples, `window` and `frame_length`
        disagree, the signal is shorter than a frame, or a shape is none of the above; if `out` does not fit.
    TypeError
        If an array is of another dtype than the four, or an argument of another kind.

    Notes
    -----
    No matrix of frames is formed.  Cost O(frames · frame_length · log frame_length).

    See Also
    --------
    stft_shape : the shape of the result, without computing.
    hann_window, hamming_window, blackman_window : windows.

    References
    ----------
    ONNX operator STFT-17.

    Examples
    --------
    >>> import fastspectral, numpy as np
    >>> signal = np.sin(2 * np.pi * np.arange(64, dtype=np.float32) / 8)[np.newaxis]
    >>> spectrum = fastspectral.stft(signal, 16, fastspectral.hann_window(32))
    >>> spectrum.shape
    (1, 3, 17, 2)
    >>> int(np.hypot(spectrum[0, 0, :, 0], spectrum[0, 0, :, 1]).argmax())  # 32 / 8
    4
    """
    x = as_float(signal, "signal")
    w = None if window is None else as_float(window, "window")
    spec = stft_spec(x.shape, frame_step, None if w is None else w.shape, frame_length, onesided)
    y = output(out, spec.output_shape, x.dtype, x, *(() if w is None else (w,)))
    if not y.size:
        return deliver(y, out)
    size, parts = x.dtype.itemsize, 2 if spec.is_complex else 1
    if x.strides[1] != size * parts or (spec.is_complex and x.strides[2] != size):
        x = np.ascontiguousarray(x)
    how = frames_of(spec, x.strides[0], x.dtype, windowed=w is not None)
    plan = line_transform(*how) if w is None else windowed_transform(how, w.tobytes(), w.dtype, x.dtype)
    run(plan, flat(x), y, workers)
    return deliver(y, out)


def frames_of(spec: STFTSpec, signal_bytes: int, dtype: np.dtype[Any], *, windowed: bool) -> tuple[Any, ...]:
    """Give the arguments of `line_transform` for the frames of signals that lie so many bytes apart."""
    size, parts = dtype.itemsize, 2 if spec.is_complex else 1
    step_bytes = (
        spec.frame_step * size * parts if spec.frames > 1 else 0
    )  # one frame may have any step, beyond int64 in bytes
    lines = Lines(spec.batch, spec.frames, signal_bytes, step_bytes, size * parts, half_of(dtype))
    bytes_of_frame = spec.bins * 2 * size
    out_lines = Lines(spec.batch, spec.frames, spec.frames * bytes_of_frame, bytes_of_frame, 2 * size, half_of(dtype))
    kind = "complex" if spec.is_complex else "onesided" if spec.bins != spec.frame_length else "real"
    n, bins = spec.frame_length, spec.bins
    stored = bins if spec.is_complex and bins != n else 0
    return kind, n, n, False, max(32, 8 * size), lines, out_lines, windowed, stored


@plan_cache(16)
def windowed_transform(
    how: tuple[Any, ...], window: bytes, window_dtype: np.dtype[Any], dtype: np.dtype[Any]
) -> LineTransform:
    """Plan a transform of frames with their window.

    Making it takes 30 us, three times as long as 113 frames of 128 samples.
    """
    w = np.frombuffer(window, np.uint8).view(window_dtype)
    return with_window(line_transform(*how), w, dtype, max(4, dtype.itemsize))


def stft_plan(
    frame_step: Any,
    window: npt.ArrayLike | None = None,
    frame_length: Any = None,
    *,
    onesided: bool = True,
    dtype: npt.DTypeLike = np.float32,
) -> STFTPlan:
    """Plan of short-time Fourier transforms, to be handed to `fastspectral.kernels.stft_frames` from @njit code.

    Parameters
    ----------
    frame_step, window, frame_length, onesided
        As of `stft`; one of `window` and `frame_length` is needed.
    dtype : dtype
        float32 or float64: that of the signals.

    Returns
    -------
    STFTPlan
        ``plan.frame_length``, ``plan.frame_step`` and ``plan.bins`` are numbers, in compiled code too.

    Raises
    ------
    ValueError
        If `frame_step` or `frame_length` is below 1 or above 2^26, `window` and `frame_length` disagree, or there are neither.
    TypeError
        If an argument is of another kind.

    Examples
    --------
    >>> import fastspectral, numpy as np
    >>> from numba import njit
    >>> @njit
    ... def spectra(signals, plan):
    ...     frames = (signals.shape[1] - plan.frame_length) // plan.frame_step + 1
    ...     out = np.empty((signals.shape[0], frames, plan.bins), np.complex64)
    ...     fastspectral.kernels.stft_frames(signals, out, plan)
    ...     return out
    >>> spectra(np.ones((1, 6), np.float32), fastspectral.stft_plan(2, frame_length=4))[0, 0]
    array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """
    number = np.dtype(dtype)
    if number.char not in "fd":
        raise TypeError(f"dtype must be float32 or float64, got {number}")
    step = as_index(frame_step, "frame_step")
    length = None if frame_length is None else as_index(frame_length, "frame_length")
    w = None if window is None else as_float(window, "window")
    check_frames(step, None if w is None else w.shape, length)
    if w is None and length is None:
        raise ValueError("window or frame_length must be given")
    n = w.size if w is not None else length
    assert n is not None
    if max(n, step) > LONGEST:
        raise ValueError(f"frame_length and frame_step must be at most {LONGEST}, got {n} and {step}")
    with np.errstate(over="ignore"):
        factors = np.ones(n, number) if w is None else np.array(w, number)
    return windowed_plan(step, factors, bool(onesided))
