"""Roots of one, accurate to the last bit or so in float64."""

from typing import Any

import numpy as np

__all__ = ["roots_of_one"]


def roots_of_one(numerators: Any, n: int) -> Any:
    """``exp(−2πi numerators / n)`` as complex128, for integers 0 ≤ numerators < n ≤ 2^58.

    The angle is reduced to the first octant in exact integers, so that roots which mirror one another agree in every bit.
    """
    eighths = 8 * np.asarray(numerators, np.int64)
    octant = eighths // n
    rest = eighths - octant * n
    angle = np.where(octant % 2 == 0, rest, n - rest) * (2.0 * np.pi / (8 * n))
    c, s = np.cos(angle), np.sin(angle)
    c, s = np.where((octant % 4 == 1) | (octant % 4 == 2), (s, c), (c, s))
    out = np.empty(c.shape, np.complex128)
    out.real = np.where((octant >= 2) & (octant < 6), -c, c)
    out.imag = np.where(octant >= 4, s, -s)
    return out
