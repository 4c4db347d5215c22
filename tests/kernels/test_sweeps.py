"""Long lines in two sweeps, lines far apart in blocks, few interleaved lines in bundles: all three forced onto short ones, against the oracle."""

import sys

import numpy as np
import pytest

import oracles
from accuracy import assert_accurate
from fastspectral import dft, plans, recipes
from fastspectral.kernels import program as layout
from fastspectral.kernels.lanes import lanes_of

GUARD = 64  # numbers on either side that nobody may touch
KINDS = {
    "complex": (2, {}),
    "inverse": (2, {"inverse": True}),
    "one-sided": (1, {"onesided": True}),
    "full": (1, {}),
    "inverse one-sided": (2, {"inverse": True, "onesided": True}),
}


def forget_plans():
    for cached in (recipes.recipe, plans.program, plans.line_transform, sys.modules["fastspectral.ops.dft"].planned):
        cached.cache_clear()


@pytest.fixture
def sweeping(monkeypatch):
    """Every line whose length allows it goes in sweeps; from some hundred points on by way of blocks."""
    monkeypatch.setattr(recipes, "LARGEST_WHOLE", 0)
    monkeypatch.setattr(plans, "FAR", 4096)
    forget_plans()
    yield
    forget_plans()


@pytest.fixture
def in_blocks(monkeypatch):
    """All lines side by side go in blocks."""
    monkeypatch.setattr(plans, "FAR", 0)
    monkeypatch.setattr(plans, "CRITICAL", 4)
    monkeypatch.setattr(plans, "BLOCK_BYTES", 6000)
    forget_plans()
    yield
    forget_plans()


def check(x, n, axis, options):
    exact = oracles.dft(x, n, axis, **options)
    memory = np.full(exact.size + 2 * GUARD, 7.5, x.dtype)
    out = memory[GUARD:-GUARD].reshape(exact.shape)
    dft(x, n, axis, out=out, workers=1, **options)
    assert_accurate(out, exact, n or x.shape[axis])
    assert (memory[:GUARD] == 7.5).all()
    assert (memory[-GUARD:] == 7.5).all()
    again = dft(x, n, axis, workers=2, **options)
    np.testing.assert_array_equal(again, out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [144, 187, 441, 1000, 1024, 2401, 4000, 10007])
def test_lines_in_sweeps(sweeping, n, kind, dtype, rng):
    parts, options = KINDS[kind]
    size = n // 2 + 1 if kind == "inverse one-sided" else n
    for lines in (1, 3):
        check(rng.standard_normal((lines, size, parts)).astype(dtype), n, 1, options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sweeps_are_what_is_tested(sweeping, dtype):
    size = np.dtype(dtype).itemsize
    line = plans.Lines(1, 1, 0, 0, 2 * size)
    plan = plans.line_transform("complex", 4000, 4000, False, 8 * size, line, line)
    assert len(plan.programs[0].sweeps) == (2 if lanes_of(8 * size) > 1 else 0)
    assert all(sweep.geometry[layout.BLOCK] for sweep in plan.programs[0].sweeps)


@pytest.mark.parametrize("inverse", [False, True])
def test_a_sweep_in_place(sweeping, inverse, rng):
    x = rng.standard_normal((2, 1000, 2)).astype(np.float32)
    apart = dft(x, axis=1, inverse=inverse)
    np.testing.assert_array_equal(dft(x, axis=1, inverse=inverse, out=x), apart)


def test_what_is_not_finite_stays_in_its_line(sweeping, rng):
    x = rng.standard_normal((3, 1000, 2))
    x[1, 500, 0] = np.nan
    y = dft(x, axis=1)
    assert np.isnan(y[1]).all()
    assert_accurate(y[::2], oracles.dft(x[::2], None, 1), 1000)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inner", [8, 20, 37, 64])
def test_lines_in_blocks(in_blocks, inner, kind, dtype, rng):
    parts, options = KINDS[kind]
    for n in (30, 31, 64):
        size = n // 2 + 1 if kind == "inverse one-sided" else n
        check(rng.standard_normal((2, size, inner, parts)).astype(dtype), n, 1, options)
        check(rng.standard_normal((2, size - 3, inner, parts)).astype(dtype), n, 1, options)


@pytest.mark.parametrize("inner", [8, 19, 37])
def test_blocks_in_place(in_blocks, inner, rng):
    x = rng.standard_normal((2, 30, inner, 2)).astype(np.float32)
    apart = dft(x, axis=1)
    np.testing.assert_array_equal(dft(x, axis=1, out=x), apart)


@pytest.mark.parametrize("inner", [9, 12, 15])
def test_the_last_group_of_lines_begins_early_but_not_in_place(inner, rng):
    x = rng.standard_normal((2, 30, inner, 2)).astype(np.float32)
    check(x, None, 1, {})
    apart = dft(x, axis=1)
    np.testing.assert_array_equal(dft(x, axis=1, out=x), apart)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("inner", [2, 3, 5, 7])
def test_interleaved_lines_in_bundles(inner, inverse, dtype, rng):
    for n in (2, 30, 64, 97):
        for cut in (0, 1):
            check(rng.standard_normal((21, n, inner, 2)).astype(dtype), n + cut, 1, {"inverse": inverse})
            check(rng.standard_normal((21, n + cut, inner, 2)).astype(dtype), n, 1, {"inverse": inverse})
