"""Comparison with an exact result, at a stated multiple of the rounding error."""

import math

import numpy as np

EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def errors(actual, exact):
    """Relative L2 error and largest error over largest value, both in eps of the dtype of `actual`."""
    assert actual.shape == exact.shape, f"shape {actual.shape}, want {exact.shape}"
    if actual.size == 0:
        return 0.0, 0.0
    exact = np.asarray(exact, np.longdouble)
    difference = np.abs(actual.astype(np.longdouble) - exact)
    if not exact.any():
        return (math.inf, math.inf) if difference.any() else (0.0, 0.0)
    eps = EPS[actual.dtype.name]
    l2 = np.sqrt(np.sum(difference**2) / np.sum(exact**2))
    largest = difference.max() / np.abs(exact).max()
    return float(l2 / eps), float(largest / eps)


def assert_accurate(actual, exact, n, c=1.0):
    """Fail where an error passes c · eps · log2(n), the growth of a transform of length n (n < 2 counts as 2).

    actual: array of one of the four float dtypes; exact: longdouble, or float64 where `actual` is shorter; same shape.
    """
    l2, largest = errors(actual, exact)
    bound = c * max(1.0, math.log2(n)) if n > 1 else c
    print(f"n = {n}: relative L2 error {l2:.3g} eps, largest error {largest:.3g} eps, allowed {bound:.3g} eps")  # noqa: T201
    assert l2 <= bound, f"relative L2 error {l2:.3g} eps > {bound:.3g} eps"  # NaN fails too
    assert largest <= bound, f"largest error {largest:.3g} eps > {bound:.3g} eps"
