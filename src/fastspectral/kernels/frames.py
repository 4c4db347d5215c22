"""From the spectra of frames back to their signal, in one pass: inverse transforms, some frames at a time, and overlap-add.

y[i] = Σ_t w[i − t·step] · f_t[i − t·step] · weight(i), with f_t the inverse transform of spectrum t and weight(i) = 1 / Σ_t w[i − t·step]²

This is the signal whose frames are closest to the f_t / w times w, in the sense of least squares (Griffin & Lim 1984).  The signal is worked on in rows of
`step` samples.  A sample is the sum over its frames in ascending order and a frame is transformed in the same group of frames whoever does it: results are the
same in every bit for any number of threads.

Arguments: spectrum, flat; signals, (batch, length); window, (frame_length,); weights, (kinds of rows, step), see `row_kind`; geometry of the inverse
transforms of the frames of one signal, see `program.py`; scratch, (workers, at least scratch_words(…)) int64; frames, (workers, lanes + frames at a time,
frame_length · parts): memory of frames, of whose numbers every `parts`-th one counts.
"""

from typing import Any

from fastspectral._jit import njit, prange
from fastspectral.kernels.lanes import call_address
from fastspectral.kernels.program import EXECUTOR, INNER, LANES, SOURCE_INNER_BYTES


@njit(inner=True)
def row_kind(row: int, frames: int, kinds: int) -> int:
    """Row of `weights` for a row of the signal.

    First the rows that ever more frames reach; the last one of them stands for all in the middle; then those that ever fewer reach.
    """
    rising = frames if kinds >= 2 * frames else (kinds + 1) // 2
    return row if row < rising else max(rising - 1, row - frames + rising)


@njit(inner=True)
def add_frame(frame: Any, window: Any, parts: int, start: int, begin: int, end: int, signal: Any) -> None:
    """Add the windowed frame that starts at sample `start` to samples begin..end−1.  frame: (frame_length · parts,); signal: (length,)."""
    first, last = max(start, begin), min(start + window.size, end)
    if first < last:
        x, w, y = frame[(first - start) * parts :], window[first - start :], signal[first:last]
        if parts == 1:
            for m in range(y.size):
                y[m] += w[m] * x[m]
        else:
            for m in range(y.size):
                y[m] += w[m] * x[m * parts]


@njit(inner=True)
def rows_of_signal(
    spectrum: int,
    signal: Any,
    window: Any,
    weights: Any,
    geometry: Any,
    scratch: Any,
    frames: Any,
    begin: int,
    end: int,
) -> None:
    """Rows begin..end−1 of one signal, by one worker.  spectrum: address."""
    step, lanes, count = weights.shape[1], geometry[LANES], geometry[INNER]
    together, parts = (frames.shape[0] - lanes) // lanes, frames.shape[1] // window.size
    first, last = begin * step, min(end * step, signal.size)
    signal[first:last] = 0
    group = max(begin - (window.size - 1) // step, 0) // lanes
    groups_end = (min(end, count) + lanes - 1) // lanes
    while group < groups_end:
        stop, start = min(group + together, groups_end), group * lanes
        # The first frame of the group behind the room for those that a last group does twice.
        target = frames.ctypes.data + (lanes - start) * frames.strides[0]
        addresses = (spectrum, target, geometry.ctypes.data, scratch.ctypes.data)
        call_address(geometry[EXECUTOR], (*addresses, group, stop))
        for t in range(start, min(stop * lanes, count)):
            add_frame(frames[lanes + t - start], window, parts, t * step, first, last, signal)
        group = stop
    for row in range(begin, end):
        weight, y = weights[row_kind(row, count, weights.shape[0])], signal[row * step : min(last, (row + 1) * step)]
        for m in range(y.size):
            y[m] *= weight[m]


@njit
def overlap_add(
    spectrum: Any, signals: Any, window: Any, weights: Any, geometry: Any, scratch: Any, frames: Any
) -> None:
    """All signals, one after the other."""
    rows, size = (
        (signals.shape[1] + weights.shape[1] - 1) // weights.shape[1],
        geometry[INNER] * geometry[SOURCE_INNER_BYTES],
    )
    for i in range(signals.shape[0]):
        address = spectrum.ctypes.data + i * size
        rows_of_signal(address, signals[i], window, weights, geometry, scratch[0], frames[0], 0, rows)


@njit(parallel=True)
def overlap_add_parallel(
    spectrum: Any, signals: Any, window: Any, weights: Any, geometry: Any, scratch: Any, frames: Any, pieces: int
) -> None:
    """`overlap_add` with pieces of the signals shared among as many workers as `scratch` has rows."""
    rows, size = (
        (signals.shape[1] + weights.shape[1] - 1) // weights.shape[1],
        geometry[INNER] * geometry[SOURCE_INNER_BYTES],
    )
    workers, items = scratch.shape[0], signals.shape[0] * pieces
    for worker in prange(workers):
        for item in range(items * worker // workers, items * (worker + 1) // workers):
            i, piece = item // pieces, item % pieces
            begin, end = rows * piece // pieces, rows * (piece + 1) // pieces
            address = spectrum.ctypes.data + i * size
            rows_of_signal(address, signals[i], window, weights, geometry, scratch[worker], frames[worker], begin, end)
