"""Lengths that are transformed fast."""

import operator

from fastspectral.recipes import RADICES, prime_factors

LARGEST = max(p for radix in RADICES for p in prime_factors(radix))


def next_fast_len(target: int, real: bool = False) -> int:
    """Give the smallest n of at least `target` without prime factors above 13: the passes of `fft` have code for those.

    Other lengths are fast too, but one of these nearby is faster: pad where the length is yours to choose.

    Parameters
    ----------
    target : int > 0
        Length to begin at.
    real : bool
        For code written for SciPy: lengths that are fast for complex data are fast for real ones.

    Raises
    ------
    ValueError
        If `target` is below 1.
    TypeError
        If it is no integer.

    Examples
    --------
    >>> import fastspectral
    >>> fastspectral.fft.next_fast_len(1021)
    1024
    """
    n = checked(target)
    while not is_fast(n):
        n += 1
    return n


def prev_fast_len(target: int, real: bool = False) -> int:
    """Give the largest n of at most `target` without prime factors above 13; see `next_fast_len`."""
    n = checked(target)
    while not is_fast(n):
        n -= 1
    return n


def checked(target: int) -> int:
    """Give a positive integer as an int."""
    n = operator.index(target)
    if n < 1:
        raise ValueError(f"target must be at least 1, got {n}")
    return n


def is_fast(n: int) -> bool:
    """Whether no prime factor of n is above the largest one of a radix."""
    for p in range(2, LARGEST + 1):
        while n % p == 0:
            n //= p
    return n == 1
