"""Transforms of lines and of frames by a plan, for the user's own @njit code.

They are thin: all that they know is the fields of a plan and the signature of `run_lines`, which is reached through the address that the plan holds.  Code of
the user's which Numba has cached runs the installed version of this package after an upgrade.

lines and out are 2-D, one line in each row; the rows are dense, their distance is free.  Every result is multiplied by `scale`; nothing else is: an inverse
that shall undo a transform of n points needs ``scale = 1 / n``.  Out may be the input where shapes and types allow.  The plan's precision is the arrays'.
"""

from typing import Any

import numpy as np

from fastspectral._jit import njit
from fastspectral.kernels.lanes import call_address, pointer
from fastspectral.kernels.program import (
    EXECUTOR,
    GEOMETRY_SIZE,
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
MANY = 4  # lines from which on the plan for many lines is used; its rows are so many behind those for one line
OWN_WORDS = GEOMETRY_SIZE + 2  # of the scratch of `run_lines`: the factor of the results, and the geometry


def run_lines(
    geometry: Any,
    factor: Any,
    scratch: int,
    source: int,
    target: int,
    outer: int,
    inner: int,
    source_outer: int,
    source_inner: int,
    target_outer: int,
    target_inner: int,
    scale: float,
) -> None:
    """Transform outer × inner lines that are so many bytes apart.

    geometry: CPointer(int64), as planned for other lines; scratch: address of the words that the plan asks for; factor: the same as a pointer to numbers.
    """
    factor[0], factor[1] = 0.0, 1.0
    zero, one = factor[0], factor[1]  # in the plan's precision
    # The factor and what it loses where it is rounded: of one sign, and not 0, for inf − inf and 0 × inf are NaN.
    factor[0] = scale
    if abs(factor[0]) > abs(scale):
        factor[0] = np.nextafter(factor[0], zero)
    factor[1] = scale - factor[0]
    if factor[1] == 0:
        factor[1] = factor[0] * (np.nextafter(one, one + one) - one) * 2.0**-17
    own = pointer(scratch + 16)
    for column in range(GEOMETRY_SIZE):
        own[column] = geometry[column]
    own[OUTER], own[INNER], own[RUN], own[SCALE] = outer, inner, inner, scratch
    own[SOURCE_OUTER_BYTES], own[SOURCE_INNER_BYTES] = source_outer, source_inner
    own[TARGET_OUTER_BYTES], own[TARGET_INNER_BYTES] = target_outer, target_inner
    units = outer * ((inner + own[LANES] - 1) // own[LANES])
    call_address(own[EXECUTOR], (source, target, own, scratch + 8 * OWN_WORDS, 0, units))


@njit(inner=True)
def run_plan(plan: Any, row: int, source: Any, target: Any, shape: Any, strides: Any, scale: float) -> None:
    """Call `run_lines` with a row of the plan's geometries.  shape: (outer, inner); strides: of the source, then of the target."""
    scratch = np.empty(plan.scratch_words, np.int64)
    memory, geometry = scratch.ctypes.data, plan.geometries.ctypes.data + row * plan.geometries.strides[0]
    arguments = (geometry, memory, memory, source.ctypes.data, target.ctypes.data, *shape, *strides, scale)
    call_address(plan.entry, arguments)
    scratch[0] = 0  # a use behind the call, for Numba frees an array after the last use that it sees


@njit(inner=True)
def transform_rows(lines: Any, out: Any, scale: float, plan: Any, which: int) -> None:
    """Run one of the plan's transforms on all rows."""
    count = lines.shape[0]
    if count:
        row = which + (MANY if count >= MANY else 0)
        run_plan(plan, row, lines, out, (1, count), (0, lines.strides[0], 0, out.strides[0]), scale)


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
    if batch * frames:
        strides = (signals.strides[0], plan.frame_step * signals.itemsize, out.strides[0], out.strides[1])
        run_plan(plan, 1 if frames >= MANY else 0, signals, out, (batch, frames), strides, 1.0)
