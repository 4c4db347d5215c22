"""Small complete Fourier transforms as plain Python over + − ×.

``X[k] = Σ_n x[n] exp(−2πi nk / R)``

A codelet takes R complex operands and yields R pairs (k, X[k]), each as soon as it is known: all at once do not fit the registers, so machine code
puts every one away before the next (16 points without twiddles spill 24 registers this way, 52 else).  An operand is a `Split`: a complex number held as
two real things, which may be NumPy arrays (the tests), SIMD registers (`lanes.py`: this is how the machine code comes about), or objects that count
operations.

Written out by hand: 2 and 4.  Composed of two smaller ones (`compose`): 6, 8, 9, 10, 12, 15, 16.  By symmetric pairs of a prime (`dft_prime`): 3, 5, 7, 11, 13.

Sources: Cooley & Tukey (1965); Nussbaumer, "Fast Fourier Transform and Convolution Algorithms" (1982), ch. 5, for the symmetric pairs.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

from fastspectral.kernels.roots import roots_of_one

__all__ = ["CODELETS", "REAL_CODELETS", "Split"]


class Split:
    """A complex number held as two real things."""

    __slots__ = ("im", "re")

    def __init__(self, re: Any, im: Any) -> None:
        self.re, self.im = re, im

    def __add__(self, other: "Split") -> "Split":
        return Split(self.re + other.re, self.im + other.im)

    def __sub__(self, other: "Split") -> "Split":
        return Split(self.re - other.re, self.im - other.im)

    def __mul__(self, other: "Split") -> "Split":
        return Split(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)

    def conjugate(self) -> "Split":
        """The other sign of the imaginary part."""
        return Split(self.re, -self.im)

    def times_minus_i(self) -> "Split":
        """Quarter turn clockwise; costs nothing but a sign."""
        return Split(self.im, -self.re)

    def scaled(self, factor: float) -> "Split":
        """Times a real constant."""
        return Split(self.re * factor, self.im * factor)

    def less(self, share: float) -> "Split":
        """Less a share of itself."""
        return Split(self.re - self.re * share, self.im - self.im * share)

    def turned(self, numerator: int, denominator: int) -> "Split":
        """Times ``exp(−2πi numerator / denominator)``; quarter and eighth turns take their short forms."""
        eighth, rest = divmod(8 * (numerator % denominator), denominator)
        if rest == 0 and eighth % 2 == 0:
            z = self if eighth in (0, 4) else self.times_minus_i()
            return z if eighth in (0, 2) else Split(-z.re, -z.im)
        if rest == 0:
            half = math.sqrt(0.5)
            s, d = self.re + self.im, self.im - self.re  # times (1 − i)
            z = Split(s, d) if eighth in (1, 5) else Split(d, -s)
            return z.scaled(half if eighth in (1, 3) else -half)
        w = complex(roots_of_one(numerator % denominator, denominator))
        return self * Split(w.real, w.imag)


# 1 − sin(2π/3).  The sine itself lies almost in the middle between two float64: so taken, 2187 points have 14 % less error, 163 points (Rader) 15 %.
SINE_SHORT_OF_1 = 0.1339745962155613532

Codelet = Callable[..., Iterator[tuple[int, Split]]]
Keep = Callable[[Split], Split]


def at_hand(z: Split) -> Split:
    """Leave an intermediate result where it is."""
    return z


def dft2(x0: Split, x1: Split, *, keep: Keep = at_hand) -> Iterator[tuple[int, Split]]:
    """Sum and difference."""
    yield 0, x0 + x1
    yield 1, x0 - x1


def dft4(x0: Split, x1: Split, x2: Split, x3: Split, *, keep: Keep = at_hand) -> Iterator[tuple[int, Split]]:
    """Two stages of sums and differences; no multiplication."""
    s02, d02 = x0 + x2, x0 - x2
    s13, d13 = x1 + x3, (x1 - x3).times_minus_i()
    yield 0, s02 + s13
    yield 1, d02 + d13
    yield 2, s02 - s13
    yield 3, d02 - d13


def dft_prime(*x: Split, keep: Keep = at_hand) -> Iterator[tuple[int, Split]]:
    """Odd prime R: with ``s_j = x_j + x_{R−j}`` and ``d_j = x_j − x_{R−j}`` only h = (R−1)/2 cosines and sines are left.

    ``X_k, X_{R−k} = x_0 + Σ_j s_j cos(2πjk/R)  ∓  i Σ_j d_j sin(2πjk/R)``, j = 1..h

    The results come at the end and in order: LLVM makes up to a sixth faster code of it (5, 7, 11, 13).
    """
    n, h = len(x), len(x) // 2
    sums = [x[j] + x[n - j] for j in range(1, h + 1)]
    differences = [x[j] - x[n - j] for j in range(1, h + 1)]
    total = x[0]
    for s in sums:
        total = total + s
    out = {0: total}
    for k in range(1, h + 1):
        even, odd = x[0], None
        for j in range(1, h + 1):
            w = complex(roots_of_one(j * k % n, n))
            even = even + sums[j - 1].scaled(w.real)
            term = differences[j - 1].less(SINE_SHORT_OF_1) if n == 3 else differences[j - 1].scaled(-w.imag)
            odd = term if odd is None else odd + term
        assert odd is not None
        odd = odd.times_minus_i()
        out[k], out[n - k] = even + odd, even - odd
    yield from sorted(out.items())


def compose(rows: Codelet, r: int, columns: Codelet, c: int) -> Codelet:
    """Transform of r·c points (Cooley & Tukey): c transforms of r points, a turn by ``exp(−2πi jk / rc)``, r transforms of c points.

    What the first ones give waits for the second ones: `keep` says where.
    """

    def dft(*x: Split, keep: Keep = at_hand) -> Iterator[tuple[int, Split]]:
        inner = [{k: keep(z) for k, z in rows(*x[j::c])} for j in range(c)]
        for k in range(r):
            for i, z in columns(*[inner[j][k].turned(j * k, r * c) for j in range(c)]):
                yield i * r + k, z

    return dft


def unzip(z: Split, mirrored: Split, half_root: Split) -> tuple[Split, ...]:
    """Bins k and h − k of 2h real points from those of h complex ones (`real.py`); half_root is exp(−2πi k / 2h) / 2."""
    even = (z + mirrored.conjugate()).scaled(0.5)
    odd = ((z - mirrored.conjugate()) * half_root).times_minus_i()
    return even + odd, (even - odd).conjugate()


def rezip(x: Split, mirrored: Split, half_root: Split) -> tuple[Split, ...]:
    """The reverse of `unzip`."""
    even = (x + mirrored.conjugate()).scaled(0.5)
    odd = ((x.conjugate() - mirrored) * half_root).times_minus_i().conjugate()
    return even + odd, (even - odd).conjugate()


REAL_CODELETS: dict[str, Callable[[Split, Split, Split], tuple[Split, ...]]] = {"unzip": unzip, "rezip": rezip}
CODELETS: dict[int, Codelet] = {2: dft2, 4: dft4, **dict.fromkeys((3, 5, 7, 11, 13), dft_prime)}
# The order of the two parts is the faster one of both (up to a fifth).
for _rows, _columns in ((3, 2), (2, 4), (3, 3), (5, 2), (4, 3), (5, 3), (4, 4)):
    CODELETS[_rows * _columns] = compose(CODELETS[_rows], _rows, CODELETS[_columns], _columns)
