"""Cosine-sum windows in float64.

w[i] = a0 - a1 cos(2πi / period) + a2 cos(4πi / period)

Source: Harris (1978), "On the use of windows for harmonic analysis with the discrete Fourier transform".
"""

import math

import numpy as np
import numpy.typing as npt

from fastspectral._jit import njit


@njit
def cosine_sum(out: npt.NDArray[np.float64], period: int, a0: float, a1: float, a2: float) -> None:
    """Fill `out` with the first samples of the window of `period`.

    out: (size,) float64, size <= period + 1; period: integer >= 1.

    The sum is taken as a0 + (a2 cos - a1 cos), which makes the middle of a Blackman window 1.0 and its ends 0.0
    exactly; from left to right 0.42 + 0.5 + 0.08 is 0.9999999999999999.  The second half mirrors the first: the same
    bits on both sides, and angles that stay within [0, π].
    """
    size = out.shape[0]
    for i in range(min(size, period // 2 + 1)):
        angle = 2.0 * math.pi * i / period
        out[i] = a0 + (a2 * math.cos(2.0 * angle) - a1 * math.cos(angle))
    for i in range(period // 2 + 1, size):
        out[i] = out[period - i]
