"""Codelets interpreted by NumPy, and by an operation counter."""

import numpy as np
import pytest

import oracles
from fastspectral.kernels.codelets import CODELETS, REAL_CODELETS, Split
from fastspectral.kernels.roots import roots_of_one

RADICES = sorted(CODELETS)
# Additions and multiplications; those of 2, 4, 8 and 16 are the textbook's least.
OPERATIONS = {
    2: (4, 0),
    3: (14, 4),
    4: (16, 0),
    5: (32, 16),
    7: (60, 36),
    8: (52, 4),
    11: (140, 100),
    13: (192, 144),
    16: (144, 24),
}


def split(z):
    return Split(z.real, z.imag)


def joined(z):
    return z.re + 1j * z.im


class Count:
    """An operand that counts what is done with it."""

    def __init__(self, counts):
        self.counts = counts

    def add(self, _):
        self.counts[0] += 1
        return self

    __add__ = __sub__ = add

    def __mul__(self, _):
        self.counts[1] += 1
        return self

    def __neg__(self):
        return self


@pytest.mark.parametrize("radix", RADICES)
def test_is_the_transform(radix, rng):
    z = rng.standard_normal((radix, 50)) + 1j * rng.standard_normal((radix, 50))
    results = dict(CODELETS[radix](*map(split, z)))
    actual = np.array([joined(results[k]) for k in range(radix)])
    exact = oracles.transform(z.T.astype(np.clongdouble), inverse=False).T
    assert np.linalg.norm(actual - exact) <= 2.0**-52 * np.log2(radix + 1) * np.linalg.norm(exact)


@pytest.mark.parametrize("radix", sorted(OPERATIONS))
def test_operation_count(radix):
    counts = [0, 0]
    list(CODELETS[radix](*[Split(Count(counts), Count(counts)) for _ in range(radix)]))
    assert tuple(counts) == OPERATIONS[radix]


def test_turns_by_eighths_are_exact():
    z = Split(np.float64(3.0), np.float64(5.0))
    for eighth, want in {0: 3 + 5j, 2: 5 - 3j, 4: -3 - 5j, 6: -5 + 3j}.items():
        assert joined(z.turned(eighth, 8)) == want
    for eighth in (1, 3, 5, 7):
        assert abs(joined(z.turned(eighth, 8)) - (3 + 5j) * np.exp(-0.25j * np.pi * eighth)) < 2e-15


@pytest.mark.parametrize("half", [2, 3, 8, 9])
def test_unzip_and_rezip_are_the_split_of_real_points(half, rng):
    x = rng.standard_normal(2 * half)
    z, spectrum = np.fft.fft(x[::2] + 1j * x[1::2]), np.fft.rfft(x)
    for k in range(1, half):
        root = split(np.exp(-1j * np.pi * k / half) / 2)
        low, high = REAL_CODELETS["unzip"](split(z[k]), split(z[half - k]), root)
        assert abs(joined(low) - spectrum[k]) < 1e-14
        assert abs(joined(high) - spectrum[half - k]) < 1e-14
        low, high = REAL_CODELETS["rezip"](split(spectrum[k]), split(spectrum[half - k]), root)
        assert abs(joined(low) - z[k]) < 1e-14
        assert abs(joined(high) - z[half - k]) < 1e-14


def test_roots_are_accurate_to_an_ulp_and_mirror_exactly():
    for n in (1, 2, 3, 8, 12, 97, 400, 1009, 4096, 1 << 20):
        k = np.unique(np.concatenate([np.arange(min(n, 2000)), n - 1 - np.arange(min(n, 2000))]))
        w = roots_of_one(k, n)
        angle = 2 * oracles.PI * k.astype(np.longdouble) / n
        assert abs(w - (np.cos(angle) - 1j * np.sin(angle))).max() < 1.2 * 2.0**-53 * 2
        np.testing.assert_array_equal(roots_of_one(-k % n, n), w.conj())
