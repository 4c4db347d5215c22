"""The inverse of the ONNX operator STFT, which ONNX does not have."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fastspectral._arrays import as_float, as_index, deliver, output
from fastspectral._threads import resolve_workers
from fastspectral.kernels.frames import overlap_add, overlap_add_parallel
from fastspectral.kernels.program import LANES
from fastspectral.ops._lines import PARALLEL_THRESHOLD, flat, half_of, narrow
from fastspectral.ops._shapes import ISTFTSpec, istft_spec
from fastspectral.plans import Kind, Lines, LineTransform, line_transform

FRAMES_BYTES = (
    64 << 10
)  # of the frames that are transformed together before they are added: beside the signal, in a second-level cache
PIECES = 4  # of the signals, for each worker: the last one to finish keeps the others waiting for a fourth of its work at most


def istft(
    spectrum: npt.ArrayLike,
    frame_step: Any,
    window: npt.ArrayLike | None = None,
    frame_length: Any = None,
    *,
    onesided: bool = True,
    length: Any = None,
    out: npt.NDArray[Any] | None = None,
    workers: int | None = None,
) -> npt.NDArray[Any]:
    """Inverse short-time Fourier transform: the signal whose `stft` is closest to `spectrum`.

    ``output[b, i] = Σ_t window[i − t · frame_step] · frames[b, t, i − t · frame_step] / Σ_t window[i − t · frame_step]²``, where
    ``frames[b, t]`` is the inverse transform of ``spectrum[b, t]``.  Of all signals it has the least sum of squared differences between its windowed frames
    and these; a spectrum that `stft` has given leads back to its signal.

    Parameters
    ----------
    spectrum : array_like of float16, bfloat16, float32 or float64, shape (batch, frames, bins, 2)
        Real and imaginary parts, as `stft` gives them.
    frame_step : int > 0
        Samples from the start of a frame to the start of the next one (hop length).
    window : array_like of real floats, shape (frame_length,), optional
        The window of `stft`.  Default: ones.
    frame_length : int > 0, optional
        Samples in a frame.  Default: the size of `window`; with neither, ``2 * (bins - 1)`` of a one-sided spectrum, `bins` of another.
    onesided : bool
        The spectrum has the first ``frame_length // 2 + 1`` bins; the imaginary parts of bin 0 and of bin frame_length/2 are ignored.  Else it has all
        bins, and the real part of the frames is taken.
    length : int > 0, optional
        Samples of the result: it is cut, or continued with zeros.  Default: all samples that lie in a frame.
    out : ndarray, optional
        Where to put the result: exact shape and dtype, any strides, no memory shared with the inputs.
    workers : int, optional
        Threads at most; -1 for all.  Default: see `set_workers`.

    Returns
    -------
    ndarray, shape (batch, length, 1)
        In the dtype of `spectrum`; by default ``length = (frames − 1) · frame_step + frame_length``.  Half precisions are
        computed in float32 and rounded once.  Samples that no window reaches are 0 at both ends: a Hann window is 0 at its
        first sample.  A window does not reach a sample where it is below eps of its largest value: its frame holds nothing
        of it but rounding errors.  The result is the same in every bit for any number of workers.

    Raises
    ------
    ValueError
        If a sample between others is reached by no window, or `window` is zero everywhere; if `frame_step`, `frame_length` or `length` is below 1, there are no
        frames, or a shape is none of the above; if `out` does not fit.
    TypeError
        If an array is of another dtype than the four, or an argument of another kind.

    Notes
    -----
    No matrix of frames is formed.  Where few windows reach, near the ends, the rounding errors of the spectrum are divided by what the window is there.

    Centred frames, with the first one around sample 0, as `librosa.stft` and `torch.stft` have by default, are those of a padded signal.  With n for
    frame_length::

        padded = np.pad(signal, ((0, 0), (n // 2, n // 2)))  # torch: mode="reflect"
        spectrum = stft(padded, frame_step, window)
        again = istft(spectrum, frame_step, window)[:, n // 2 :][:, : signal.shape[1]]

    and that is what `librosa.istft` and `torch.istft` give with ``length=signal.shape[1]``.  Without it they give
    ``frame_step * (frames - 1)`` samples.  Spectra are (batch, bins, frames) and complex there: ``spectrum[..., 0] + 1j * spectrum[..., 1]``, transposed.

    See Also
    --------
    stft : the way there.
    hann_window, hamming_window, blackman_window : windows.

    References
    ----------
    Griffin & Lim, "Signal estimation from modified short-time Fourier transform", 1984.

    Examples
    --------
    >>> import fastspectral, numpy as np
    >>> signal = np.sin(np.arange(64, dtype=np.float32))[np.newaxis]
    >>> window = fastspectral.hamming_window(16)
    >>> again = fastspectral.istft(fastspectral.stft(signal, 4, window), 4, window)
    >>> again.shape, bool(abs(again[..., 0] - signal).max() < 1e-6)
    ((1, 64, 1), True)
    """
    x = as_float(spectrum, "spectrum")
    w = None if window is None else as_float(window, "window")
    samples = None if length is None else as_index(length, "length")
    spec = istft_spec(x.shape, frame_step, None if w is None else w.shape, frame_length, onesided, samples)
    y = output(out, spec.output_shape, x.dtype, x, *(() if w is None else (w,)))
    wide = np.dtype(np.float32) if x.dtype.itemsize == 2 else x.dtype
    factors = np.ones(spec.frame_length, wide)
    with np.errstate(over="ignore"):
        if w is not None:
            factors[...] = w.astype(x.dtype)
        exponent = math.frexp(abs(factors).max())[1]  # below 1 no square overflows or vanishes
        factors = np.ldexp(factors, -exponent)
        weights = np.ldexp(weights_of(factors, spec), -exponent)
    if y.size:
        target = y if y.dtype == wide else np.empty(y.shape, wide)
        signals = target.reshape(spec.batch, spec.output_shape[1])
        signals[:, spec.reach :] = 0
        source = np.ascontiguousarray(x[:, : spec.frames])
        add(source, signals[:, : spec.reach], factors, weights, spec, workers)
        narrow(target, y)
    return deliver(y, out)


def add(
    source: npt.NDArray[Any],
    signals: npt.NDArray[Any],
    factors: npt.NDArray[Any],
    weights: npt.NDArray[Any],
    spec: ISTFTSpec,
    workers: Any,
) -> None:
    """Transform the frames of the dense source and add them."""
    plan, parts = plan_of(spec, source, factors)
    lanes, work = int(plan.geometry[LANES]), spec.batch * plan.work
    threads = resolve_workers(workers, work, PARALLEL_THRESHOLD)
    together = max(1, min(-(-spec.frames // lanes), FRAMES_BYTES // (lanes * parts * factors.nbytes)))
    scratch = np.empty((threads, plan.scratch_words), np.int64)
    frames = np.empty((threads, lanes + together * lanes, parts * factors.size), factors.dtype)
    numbers = flat(source if source.itemsize > 2 else source.view(np.uint16))
    if threads == 1:
        overlap_add(numbers, signals, factors, weights, plan.geometry, scratch, frames)
    else:
        pieces = -(-PIECES * threads // spec.batch)
        overlap_add_parallel(numbers, signals, factors, weights, plan.geometry, scratch, frames, pieces)


def plan_of(spec: ISTFTSpec, source: npt.NDArray[Any], factors: npt.NDArray[Any]) -> tuple[LineTransform, int]:
    """Plan of the inverse transforms of the frames of one signal, and the numbers in their results for a sample."""
    n, parts, size = spec.frame_length, 1 if spec.onesided else 2, factors.itemsize
    bins_bytes, frame_bytes = spec.bins * 2 * source.itemsize, n * parts * size
    lines = Lines(1, spec.frames, 0, bins_bytes, 2 * source.itemsize, half_of(source.dtype))
    frames = Lines(1, spec.frames, 0, frame_bytes, parts * size)
    kind: Kind = "inverse_onesided" if spec.onesided else "complex"
    return line_transform(kind, n, spec.bins, True, 8 * size, lines, frames), parts


def weights_of(w: npt.NDArray[Any], spec: ISTFTSpec) -> npt.NDArray[Any]:
    """1 / Σ_t w[i − t · step]² of all different rows of `step` samples of the signal, 0 where no window reaches; (kinds of rows, step)."""
    step, past = spec.frame_step, -(-w.size // spec.frame_step)
    squares = np.zeros((past, step), np.longdouble)
    squares.reshape(-1)[: w.size] = w.astype(np.longdouble) ** 2
    most = min(spec.frames, past)
    sums = np.zeros((most + past - 1, step), np.longdouble)
    if most == past:
        sums[:past] = np.cumsum(squares, 0)
        sums[past:] = np.cumsum(squares[:0:-1], 0)[::-1]
    else:
        for t in range(most):
            sums[t : t + past] += squares
    least = (np.finfo(w.dtype).eps * abs(w).max()) ** 2
    if least == 0:
        raise ValueError("window must not be zero everywhere")
    unreached = sums <= least  # not so where it is NaN
    check_reached(unreached, most, spec)
    sums[unreached] = np.inf
    return (1 / sums).astype(w.dtype)


def check_reached(unreached: npt.NDArray[np.bool_], most: int, spec: ISTFTSpec) -> None:
    """Raise ValueError if a sample inside the signal is in no window.  Of the rows that are alike two stand for all."""
    rows = -(-spec.reach // spec.frame_step)
    first = range(min(most + 1, rows))
    last = range(max(most + 1, spec.frames - 1), rows)
    kinds = [row if row < most else max(most - 1, row - spec.frames + most) for row in (*first, *last)]
    samples = np.flatnonzero(~unreached[kinds].ravel()[: spec.reach - (rows - len(kinds)) * spec.frame_step])
    if samples.size and samples[-1] - samples[0] >= samples.size:
        raise ValueError(
            f"every sample between the first and the last one that a window reaches must be in a window, got frame_step {spec.frame_step} "
            f"with a window of {spec.frame_length} samples that leaves gaps (its values below eps of the largest one count as 0)"
        )
