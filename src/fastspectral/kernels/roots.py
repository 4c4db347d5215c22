"""Roots of one, accurate to the last bit or so in float64."""

from typing import Any

import numpy as np

__all__ = ["roots_of_one"]

BLOCK = 1 << 16  # numerators at a time: the temporaries stay in the cache, and small beside the result


def roots_of_one(numerators: Any, n: int) -> Any:
    """``exp(−2πi numerators / n)`` as complex128, for integers 0 ≤ numerators < n ≤ 2^58.

    The angle is reduced to the first octant in exact integers, so that roots which mirror one another agree in every bit.
    """
    turns = np.asarray(numerators, np.int64)
    out = np.empty(turns.shape, np.complex128)
    flat, flat_out = turns.reshape(-1), out.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        eighths = 8 * flat[start : start + BLOCK]
        octant = eighths // n
        rest = eighths - octant * n
        reduced = np.where(octant % 2 == 0, rest, n - rest)
        angle = reduced * (2.0 * np.pi / (8 * n))
        c = np.cos(angle)
        s = np.where(reduced == n, c, np.sin(angle))  # equal at an eighth turn, whatever the rounding of the angle
        c, s = np.where((octant % 4 == 1) | (octant % 4 == 2), (s, c), (c, s))
        block = flat_out[start : start + BLOCK]
        block.real = np.where((octant >= 2) & (octant < 6), -c, c)
        block.imag = np.where(octant >= 4, s, -s)
    return out
