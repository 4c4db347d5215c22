"""Accuracy of every transform length where the recipe changes, against longdouble (float32: float64) and beside SciPy.

Allowed: 1.5 times SciPy's error on the same input, or 0.6 eps sqrt(log2 n) where that is larger.
"""

import math

import numpy as np
import pytest
import scipy.fft

import fastspectral

SHORT = [
    *range(1, 65),
    73,
    97,
    101,
    127,
    128,
    200,
    251,
    256,
    400,
    441,
    509,
    512,
    521,
    808,
    1000,
    1009,
    1021,
    1024,
    2018,
    4099,
]
LONG = [*range(1, 513), 521, 808, 1000, 1009, 1021, 1024, 1616, 2018, 4099, 8191, 10007, 44100, 65536, 1 << 20]
EPS = {"float32": 2.0**-23, "float64": 2.0**-52}


def pair(z, dtype):
    return np.stack([z.real, z.imag], -1).astype(dtype)


def cplx(x):
    return x[..., 0] + 1j * x[..., 1]


def relative(actual, exact):
    return float(np.linalg.norm((actual - exact).ravel()) / np.linalg.norm(exact.ravel()))


def check(n, dtype, rng, lines):
    wide = np.float64 if dtype == "float32" else np.longdouble
    if n > 1 << 16:
        wide = np.longdouble  # the oracle's own float64 error would show
    z = cplx(pair(rng.standard_normal((lines, n)) + 1j * rng.standard_normal((lines, n)), dtype))
    x, exact = pair(z, dtype), z.astype(np.result_type(wide, np.complex64))
    half = np.fft.rfft(exact.real)
    bins = pair(half, dtype)
    # bins 0 and n/2 of a real signal are real: irfft ignores their imaginary parts
    bins[:, 0, 1] = 0
    if n % 2 == 0:
        bins[:, -1, 1] = 0
    exact_bins = bins[..., 0].astype(wide) + 1j * bins[..., 1].astype(wide)
    runs = {
        "forward": (cplx(fastspectral.dft(x)), scipy.fft.fft(z), np.fft.fft(exact)),
        "inverse": (cplx(fastspectral.dft(x, inverse=True)), scipy.fft.ifft(z), np.fft.ifft(exact)),
        "rfft": (cplx(fastspectral.dft(x[..., :1], onesided=True)), scipy.fft.rfft(z.real), half),
        "irfft": (
            fastspectral.dft(bins, n, inverse=True, onesided=True)[..., 0],
            scipy.fft.irfft(cplx(bins), n),
            np.fft.irfft(exact_bins, n),
        ),
    }
    for name, (ours, theirs, want) in runs.items():
        assert ours.dtype == theirs.dtype, name
        bound = max(1.5 * relative(theirs, want), 0.6 * EPS[dtype] * math.sqrt(math.log2(max(n, 2))))
        error = relative(ours, want)
        assert error <= bound, (
            f"{name} of {n} points, {lines} lines: {error / EPS[dtype]:.2f} eps, allowed {bound / EPS[dtype]:.2f}"
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lines", [1, 9])
def test_error_is_within_the_bound(dtype, lines, rng):
    for n in SHORT:
        check(n, dtype, rng, max(lines, 32 // n))  # of a handful of numbers the error is chance


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lines", [1, 3, 17])
def test_error_is_within_the_bound_at_every_length(dtype, lines, rng):
    for n in LONG:
        check(n, dtype, rng, max(lines, 32 // n) if n < 1 << 16 else 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_large_mean_stays_in_its_bin(dtype, rng):
    """Convolutions take the sum of all points from bin 0 to every other one."""
    for n in (97, 101, 251, 808, 1009, 2018, 4099):
        x = (rng.standard_normal((9, n, 2)) + 1000).astype(dtype)
        want = np.fft.fft(cplx(x.astype(np.longdouble)))
        ours, theirs = cplx(fastspectral.dft(x)), scipy.fft.fft(cplx(x))
        assert relative(ours, want) <= 0.6 * EPS[dtype] * math.sqrt(math.log2(n))
        assert relative(ours[:, 1:], want[:, 1:]) <= 1.5 * relative(theirs[:, 1:], want[:, 1:])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_impulse_gives_bare_twiddles(dtype):
    """An impulse at the last sample turns every error of a twiddle into an error of a magnitude that should be 1."""
    for n in (400, 441, 1009, 2048, 4099):
        x = np.zeros((1, n, 1), dtype)
        x[0, -1, 0] = 1
        y = fastspectral.dft(x, axis=1)
        assert abs(np.hypot(y[..., 0], y[..., 1]) - 1).max() <= 8 * EPS[dtype]
