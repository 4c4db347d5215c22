"""The oracles against NumPy and against one another."""

import numpy as np
import pytest

import oracles
from accuracy import assert_accurate


@pytest.mark.parametrize("n", [1, 2, 3, 8, 30, 97, 512])
@pytest.mark.parametrize("inverse", [False, True])
def test_sum_agrees_with_fast_transform(n, inverse, rng):
    lines = rng.standard_normal((2, n)) + 1j * rng.standard_normal((2, n))
    fast = np.fft.ifft(lines) if inverse else np.fft.fft(lines)
    exact = oracles.transform(lines.astype(np.clongdouble), inverse)
    assert_accurate(oracles.as_pairs(fast), oracles.as_pairs(exact), n)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 12])
def test_inverse_onesided_agrees_with_irfft(n, rng):
    bins = rng.standard_normal((3, 5, 2))
    exact = oracles.dft(bins, n, inverse=True, onesided=True)
    assert_accurate(np.fft.irfft(bins[..., 0] + 1j * bins[..., 1], n)[..., None], exact, n)


def test_extended_precision_above_the_sum(rng):
    n = 2 * oracles.SUM_LIMIT
    lines = rng.standard_normal((1, n)).astype(np.clongdouble)
    roots = oracles.unit_roots(n)
    k = 5
    exact = np.sum(lines[0] * roots[np.arange(n) * k % n].conj())
    assert abs(oracles.transform(lines, inverse=False)[0, k] - exact) <= 16 * np.finfo(np.longdouble).eps * np.sqrt(n)


def test_conv_transpose_by_hand():
    x = np.array([[[1.0, 2, 3]]])
    w = np.array([[[1.0, 10, 100]]])
    assert oracles.conv_transpose(x, w, strides=[2]).tolist() == [[[1, 10, 102, 20, 203, 30, 300]]]
    assert oracles.conv_transpose(x, w, strides=[2], output_shape=[6]).tolist() == [[[10, 102, 20, 203, 30, 300]]]
    assert oracles.conv_transpose(x, w, strides=[2], auto_pad="SAME_UPPER").tolist() == [[[1, 10, 102, 20, 203, 30]]]
