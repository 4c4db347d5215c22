"""Transforms of lines by a plan, for the user's own @njit code.

They are thin: what they call is reached through an address that the plan holds, so that code of the user's which Numba has cached runs the installed
version of this package after an upgrade.

lines and out are 2-D, one line in each row; the rows are dense, their distance is free.  Every result is multiplied by `scale`; nothing else is: an inverse
that shall undo a transform of n points needs ``scale = 1 / n``.  Out may be the input where shapes and types allow.  The plan's precision is the arrays'.
"""

from typing import Any

import numpy as np

from fastspectral._jit import njit
from fastspectral.kernels.lanes import call_address
from fastspectral.kernels.program import (
    EXECUTOR,
    INNER,
    LANES,
    OUTER,
    RUN,
    SCALE,
    SOURCE_INNER_BYTES,
    SOURCE_OUTER_BYTES,
    TARGET_INNER_BYTES,
    TARGET_OUTER_BYTES,
)

COMPLEX, INVERSE, ONESIDED, INVERSE_ONESIDED = 0, 1, 2, 3
MANY = 4  # lines from which on the plan for many lines is used


@njit
def transform_rows(lines: Any, out: Any, scale: float, plan: Any, which: int) -> None:
    """Run one of the plan's transforms on all rows."""
    if lines.shape[0] == 0:
        return
    many = lines.shape[0] >= MANY
    geometry = plan.geometries[which + (4 if many else 0)].copy()
    geometry[INNER], geometry[RUN] = lines.shape[0], lines.shape[0]
    geometry[SOURCE_INNER_BYTES], geometry[TARGET_INNER_BYTES] = lines.strides[0], out.strides[0]
    # The factor and what it loses where it is rounded: of one sign, and not 0, for inf − inf and 0 × inf are NaN.
    factor = np.empty(2, plan.one.dtype)
    factor[0] = scale
    if abs(factor[0]) > abs(scale):
        factor[0] = np.nextafter(factor[0], plan.one.dtype.type(0))
    factor[1] = scale - factor[0]
    if factor[1] == 0:
        factor[1] = factor[0] * np.finfo(plan.one.dtype).eps * 2.0**-17
    geometry[SCALE] = factor.ctypes.data
    scratch = np.empty(plan.scratch_words, np.int64)
    addresses = (lines.ctypes.data, out.ctypes.data, geometry.ctypes.data, scratch.ctypes.data)
    call_address(geometry[EXECUTOR], (*addresses, 0, (lines.shape[0] + geometry[LANES] - 1) // geometry[LANES]))
    factor[0], scratch[0] = 0, 0  # uses behind the call, for Numba frees an array after the last use that it sees


@njit
def fft_lines(lines: Any, out: Any, scale: float, plan: Any) -> None:
    """out[l, k] = scale · Σ_j lines[l, j] exp(−2πi jk/n).  lines, out: (count, n) complex."""
    transform_rows(lines, out, scale, plan, COMPLEX)


@njit
def ifft_lines(lines: Any, out: Any, scale: float, plan: Any) -> None:
    """out[l, j] = scale · Σ_k lines[l, k] exp(+2πi jk/n).  lines, out: (count, n) complex."""
    transform_rows(lines, out, scale, plan, INVERSE)


@njit
def rfft_lines(lines: Any, out: Any, scale: float, plan: Any) -> None:
    """The first n // 2 + 1 bins of `fft_lines` for real lines.  lines: (count, n) real; out: (count, n // 2 + 1) complex."""
    transform_rows(lines, out, scale, plan, ONESIDED)


@njit
def irfft_lines(lines: Any, out: Any, scale: float, plan: Any) -> None:
    """`ifft_lines` of spectra given by their first half.  lines: (count, n // 2 + 1) complex; out: (count, n) real."""
    # an even number of real points is transformed as half as many complex ones
    transform_rows(lines, out, scale if plan.n % 2 else 2 * scale, plan, INVERSE_ONESIDED)


@njit
def stft_frames(signals: Any, out: Any, plan: Any) -> None:
    """out[b, t, k] = Σ_m window[m] · signals[b, t · step + m] · exp(−2πi km / n), by a plan of `stft_plan`.

    signals: (batch, length) real, the rows dense; out: (batch, frames, bins) complex, the spectra dense; frames ≤ (length − n) // step + 1.
    """
    batch, frames = out.shape[0], out.shape[1]
    if batch * frames == 0:
        return
    geometry = plan.geometries[1 if frames >= MANY else 0].copy()
    geometry[OUTER], geometry[INNER], geometry[RUN] = batch, frames, frames
    geometry[SOURCE_OUTER_BYTES], geometry[SOURCE_INNER_BYTES] = signals.strides[0], plan.frame_step * signals.itemsize
    geometry[TARGET_OUTER_BYTES], geometry[TARGET_INNER_BYTES] = out.strides[0], out.strides[1]
    geometry[SCALE] = plan.scale.ctypes.data
    scratch = np.empty(plan.scratch_words, np.int64)
    addresses = (signals.ctypes.data, out.ctypes.data, geometry.ctypes.data, scratch.ctypes.data)
    units = batch * ((frames + geometry[LANES] - 1) // geometry[LANES])
    call_address(geometry[EXECUTOR], (*addresses, 0, units))
    scratch[0] = 0  # a use behind the call, as above
