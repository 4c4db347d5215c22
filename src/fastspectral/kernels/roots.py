"""Roots of one, correctly rounded or nearly so in float64."""

from functools import lru_cache
from typing import Any

import numpy as np

__all__ = ["roots_of_one"]

PI = np.longdouble(np.pi) + np.longdouble(1.2246467991473532e-16)
MOST_KEPT = 4096
BLOCK = 1 << 13  # numerators at a time: the temporaries stay in the cache, and small beside the result


def roots_of_one(numerators: Any, n: int, bits: int = 64) -> Any:
    """``exp(−2πi numerators / n)`` as complex128, for integers 0 ≤ numerators < n ≤ 2^58.

    The angle is reduced to the first octant in exact integers, so that roots which mirror one another agree in every bit.  It is taken in extended
    precision, where there is one: with rounded angles the transforms in float64 have up to a fifth more error (81 and 2187 points).  Those in float32, `bits`
    32, do with them, in half the time.
    """
    if n <= MOST_KEPT:
        return kept_roots(n, bits)[numerators]
    return computed_roots(np.asarray(numerators, np.int64), n, bits)


@lru_cache(maxsize=64)  # at most 4 MiB
def kept_roots(n: int, bits: int) -> Any:
    """All roots: the passes of a plan, and those of plans like it, ask for some of them again and again."""
    return computed_roots(np.arange(n), n, bits)


def computed_roots(turns: Any, n: int, bits: int) -> Any:
    """`roots_of_one` of an array."""
    step = PI / (4 * n) if bits == 64 else float(PI / (4 * n))
    out = np.empty(turns.shape, np.complex128)
    flat, flat_out = turns.reshape(-1), out.reshape(-1)
    # The first octant has an eighth of the points, where n is a multiple of 8: worth a table if many are wanted, and as
    # many as stay in the cache.
    angles = np.arange(0, n + 1, 8) * step if n % 8 == 0 and BLOCK >= turns.size > n // 8 else None
    octant_points = None if angles is None else (np.cos(angles).astype(np.float64), np.sin(angles).astype(np.float64))
    for start in range(0, flat.size, BLOCK):
        eighths = 8 * flat[start : start + BLOCK]
        octant = eighths // n
        rest = eighths - octant * n
        reduced = np.where(octant % 2 == 0, rest, n - rest)
        if octant_points is None:
            angle = reduced * step
            c, s = np.cos(angle), np.sin(angle)
        else:
            c, s = (part[reduced // 8] for part in octant_points)
        s = np.where(reduced == n, c, s)  # equal at an eighth turn, whatever the rounding of the angle
        c, s = np.where((octant % 4 == 1) | (octant % 4 == 2), (s, c), (c, s))
        block = flat_out[start : start + BLOCK]
        block.real = np.where((octant >= 2) & (octant < 6), -c, c)
        block.imag = np.where(octant >= 4, s, -s)
    return out
