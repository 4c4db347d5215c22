"""The operator MelWeightMatrix."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fastspectral._arrays import as_index, as_real
from fastspectral.ops._datatypes import as_datatype, convert
from fastspectral.ops._shapes import mel_shape

# The HTK mel scale: 2595 log10(1 + f / 700) mel for f hertz.
MEL_FACTOR = 2595.0
MEL_CORNER_HERTZ = 700.0


def mel_weight_matrix(
    num_mel_bins: int,
    dft_length: int,
    sample_rate: int,
    lower_edge_hertz: float,
    upper_edge_hertz: float,
    *,
    output_datatype: Any = 1,
) -> npt.NDArray[Any]:
    """Weights that sum spectral bins into mel bands, as the ONNX operator MelWeightMatrix (opset 17).

    ``mel_spectrogram = spectrogram @ mel_weight_matrix(...)``, for one-sided power or magnitude spectra.

    Band m is a triangle that rises from 0 at spectral bin p[m] to 1 at p[m+1] and falls to 0 at p[m+2], where
    ``p[i] = floor((dft_length + 1) hertz(low + i (high - low) / (num_mel_bins + 2)) / sample_rate)`` with `low` and
    `high` the edges in mel.  ONNX divides by the number of points: the last one stays a step below the upper edge.

    Parameters
    ----------
    num_mel_bins : int >= 0
        Number of bands.
    dft_length : int >= 1
        Length of the transform that gave the spectrum.
    sample_rate : int >= 1
        In Hz.
    lower_edge_hertz, upper_edge_hertz : float
        Edges of the bands in Hz, ``0 <= lower_edge_hertz <= upper_edge_hertz``; a float32 value is used exactly.
    output_datatype : int or dtype, default 1
        TensorProto code or NumPy dtype of the result, one of the 12 of `hann_window`.

    Returns
    -------
    ndarray, shape (dft_length // 2 + 1, num_mel_bins), dtype `output_datatype`
        Computed in float64 and rounded once; integers are truncated toward zero, so that only the peaks remain.

    Raises
    ------
    TypeError
        If an argument is not of the kind above.
    ValueError
        If an argument is out of the range above, or a band reaches past the last spectral bin, ``dft_length // 2``.

    Notes
    -----
    Peaks are 1, whatever the width of a band.  Filterbanks of librosa and torchaudio differ: they interpolate in Hz,
    not between whole bins, and divide by ``num_mel_bins + 1``.

    References
    ----------
    ONNX operator MelWeightMatrix-17.
    """
    dtype = as_datatype(output_datatype)
    _, bands = shape = mel_shape(num_mel_bins, dft_length)
    length = as_index(dft_length, "dft_length")
    rate = as_index(sample_rate, "sample_rate")
    lower = as_real(lower_edge_hertz, "lower_edge_hertz")
    upper = as_real(upper_edge_hertz, "upper_edge_hertz")
    if rate < 1:
        raise ValueError(f"sample_rate must be at least 1, got {rate}")
    if not 0 <= lower <= upper:
        raise ValueError(f"lower_edge_hertz must be in [0, upper_edge_hertz = {upper}], got {lower}")

    try:
        matrix = np.zeros(shape, dtype)
    except ValueError:
        raise ValueError(f"a result of shape {shape} is larger than any array can be") from None
    if bands == 0:
        return matrix
    points = _points(bands, length, rate, lower, upper)
    highest = max(points[-2], points[-1] - 1)
    if highest > length // 2:
        raise ValueError(
            f"upper_edge_hertz must keep every band within the spectral bins 0 to {length // 2}, got {upper}, "
            f"which needs bin {highest:.0f} (dft_length {length}, sample_rate {rate})"
        )
    whole = points.astype(np.int64)
    left, centre, right = whole[:-2], whole[1:-1], whole[2:]
    # One row of `band`, `bins` and `weights` for each spectral bin of each band, all bands one after the other.
    counts = np.maximum(centre, right - 1) - left + 1
    band = np.repeat(np.arange(bands), counts)
    bins = np.arange(band.size) - np.repeat(np.cumsum(counts) - counts - left, counts)
    left, centre, right = left[band], centre[band], right[band]
    rise = (bins - left) / np.maximum(centre - left, 1)
    fall = (right - bins) / np.maximum(right - centre, 1)
    weights = np.where(bins < centre, rise, np.where(bins > centre, fall, 1.0))
    matrix[bins, band] = convert(weights, dtype)
    return matrix


def _points(bands: int, length: int, rate: int, lower: float, upper: float) -> npt.NDArray[np.float64]:
    """Whole numbers of the spectral bins where the bands begin, peak and end.  (bands + 2,)."""
    low, high = (MEL_FACTOR * math.log1p(edge / MEL_CORNER_HERTZ) / math.log(10) for edge in (lower, upper))
    mel = low + np.arange(bands + 2) * ((high - low) / (bands + 2))
    with np.errstate(over="ignore"):  # an infinite bin is out of range like any other
        hertz = MEL_CORNER_HERTZ * np.expm1(mel / MEL_FACTOR * math.log(10))
        points: npt.NDArray[np.float64] = np.floor((length + 1) * hertz / rate)
    return points
