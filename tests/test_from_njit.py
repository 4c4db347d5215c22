"""The kernels on plans, called from a user's own compiled code."""

import concurrent.futures

import numpy as np
import pytest
from numba import njit, prange

from fastspectral import fft_plan, kernels

LENGTHS = [1, 2, 3, 8, 15, 64, 97, 100, 251, 400, 441, 1009, 4096]
TYPES = [(np.float32, np.complex64, 2.0**-23), (np.float64, np.complex128, 2.0**-52)]


@njit
def all_four(z, spectrum, back, x, bins, real_back, plan):
    kernels.fft_lines(z, spectrum, 1.0, plan)
    kernels.ifft_lines(spectrum, back, 1.0 / plan.n, plan)
    kernels.rfft_lines(x, bins, 1.0, plan)
    kernels.irfft_lines(bins, real_back, 1.0 / plan.n, plan)


@njit(parallel=True)
def in_prange(z, spectrum, plan):
    for line in prange(z.shape[0]):
        kernels.fft_lines(z[line : line + 1], spectrum[line : line + 1], 1.0, plan)


@njit(nogil=True)
def without_the_lock(z, plan):
    spectrum = np.empty_like(z)
    kernels.fft_lines(z, spectrum, 1.0, plan)
    return spectrum


def close(actual, exact, n, eps):
    assert np.linalg.norm(actual - exact) <= 2 * eps * np.log2(n + 1) * np.linalg.norm(exact)


@pytest.mark.parametrize(("real", "complex_", "eps"), TYPES)
@pytest.mark.parametrize("lines", [1, 11])
def test_serial(lines, real, complex_, eps, rng):
    for n in LENGTHS:
        z = (rng.standard_normal((lines, n)) + 1j * rng.standard_normal((lines, n))).astype(complex_)
        x = rng.standard_normal((lines, n)).astype(real)
        spectrum, back, real_back = np.empty_like(z), np.empty_like(z), np.empty_like(x)
        bins = np.empty((lines, n // 2 + 1), complex_)
        all_four(z, spectrum, back, x, bins, real_back, fft_plan(n, real))
        wide = np.complex128 if real is np.float32 else np.clongdouble
        close(spectrum, np.fft.fft(z.astype(wide)), n, eps)
        close(bins, np.fft.rfft(x.astype(wide(0).real.dtype)), n, eps)
        close(back, z, n, 2 * eps)
        close(real_back, x, n, 2 * eps)


@pytest.mark.parametrize("n", [2**18, 2**18 + 3])
def test_long_lines_with_a_scale_of_their_own(n, rng):
    """Nothing of a plan for @njit code is in sweeps, which have factors and tables of their own."""
    z = rng.standard_normal((1, n)) + 1j * rng.standard_normal((1, n))
    x = rng.standard_normal((1, n))
    spectrum, back, real_back = np.empty_like(z), np.empty_like(z), np.empty_like(x)
    bins = np.empty((1, n // 2 + 1), np.complex128)
    all_four(z, spectrum, back, x, bins, real_back, fft_plan(n, np.float64))
    close(spectrum, np.fft.fft(z.astype(np.clongdouble)), n, 2.0**-52)
    close(back, z, n, 2.0**-51)
    close(real_back, x, n, 2.0**-51)


def test_rows_of_a_larger_array_and_in_place(rng):
    memory = np.zeros((6, 40), np.complex128)
    z = memory[::2, 3:33]
    z[...] = rng.standard_normal(z.shape)
    want = np.fft.fft(z)

    @njit
    def run(z, plan):
        kernels.fft_lines(z, z, 0.5, plan)

    run(z, fft_plan(30, z.dtype))
    close(z, want / 2, 30, 2.0**-52)
    assert not memory[1::2].any()
    assert not memory[:, :3].any()
    assert not memory[:, 33:].any()


@pytest.mark.parametrize(("real", "complex_", "eps"), TYPES)
def test_scale_is_exact_and_keeps_infinities(real, complex_, eps):
    @njit
    def run(z, scale, plan):
        kernels.fft_lines(z, z, scale, plan)

    for scale in (1.0, 0.1, -0.3, 1e-25, 1e-36, 3e20):
        z = np.zeros((1, 5), complex_)
        z[0, 0] = 3
        run(z, scale, fft_plan(5, real))
        assert abs(z.real.astype(np.longdouble) / (3 * np.longdouble(scale)) - 1).max() <= 0.51 * eps
        z[:] = 0
        z[0, 0] = np.inf
        run(z, scale, fft_plan(5, real))
        assert z[0, 0].real == np.inf * np.sign(scale)


def test_in_prange_and_from_threads(rng):
    z = rng.standard_normal((64, 400)) + 1j * rng.standard_normal((64, 400))
    plan, spectrum = fft_plan(400, np.float64), np.empty_like(z)
    in_prange(z, spectrum, plan)
    close(spectrum, np.fft.fft(z), 400, 2.0**-52)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for result in pool.map(lambda _: without_the_lock(z, plan), range(64)):
            np.testing.assert_array_equal(result, without_the_lock(z, plan))


def test_no_lines(rng):
    z = np.empty((0, 8), np.complex64)
    assert without_the_lock(z, fft_plan(8, np.float32)).shape == (0, 8)
