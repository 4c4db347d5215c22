"""Recipes, programs and the plans that users hold."""

import math
import pickle
import tracemalloc
import weakref

import numpy as np
import pytest

from fastspectral import _plan_caches, dft, fft, fft_plan, plans, recipes, stft
from fastspectral.ops import dft as dft_module
from fastspectral.ops import stft as stft_module
from fastspectral.ops._lines import run
from fastspectral.recipes import (
    FREE,
    LONGEST,
    RADICES,
    Group,
    choose_group,
    convolves,
    line_passes,
    odd_factors,
    passes,
    prime_factors,
    primitive_root,
    recipe,
)


@pytest.mark.parametrize("registers", [16, 32])
def test_factors_multiply_to_the_length(registers):
    for n in range(1, 600):
        cost, factors = passes(n, registers, FREE)
        if math.isfinite(cost):
            assert math.prod(factors) == n
            assert all(factor in RADICES or factor in prime_factors(n) for factor in factors)


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_a_line_starts_with_the_lanes_and_leaves_groups_for_them(lanes):
    for n in range(1, 3000):
        cost, factors = line_passes(n, lanes, 32, FREE)
        if math.isfinite(cost):
            assert factors[0] % lanes == 0
            assert math.prod(factors) == n
            assert n // factors[0] >= lanes
        elif n % lanes == 0 and n >= lanes * lanes:
            # a prime too large for its sums, or nothing but large primes after the lanes: their pass cannot be the last one
            assert max(prime_factors(n)) > 127 or min(prime_factors(n // lanes)) > 13


def test_large_primes_become_convolutions_that_are_long_enough():
    # one line; or a prime less one with a factor that is a convolution itself, or large
    for n, lanes in ((131, 4), (257, 16), (1009, 8), (2 * 251, 4), (587, 1), (1579, 1), (10007, 1), (1030703, 16)):
        how = recipe(n, Group(lanes > 1, lanes), 16, 4)
        assert how.padded >= 2 * n - 1
        assert max(prime_factors(how.padded)) <= 5


def test_primes_are_convolved_where_it_is_less_work():
    for prime in (17, 19, 31, 43, 67, 83):
        assert not convolves(prime, 16)
    for prime in (97, 101, 127, 251, 257, 1009, 1021):
        assert convolves(prime, 16)
        assert recipe(2 * prime, Group(False, 8), 16, 4).factors == (prime, 2)
    assert line_passes(8 * 2 * 101, 8, 16, FREE)[1] == (8, 101, 2)


def test_odd_real_lines_have_their_real_end_in_an_odd_radix():
    for n in (3, 9, 45, 441, 1001, 3 * 101, 5 * 17, 2187):
        forward, backward = odd_factors(n, 16, False), odd_factors(n, 16, True)
        assert math.prod(forward) == math.prod(backward) == n
        assert forward[0] == backward[-1]
        assert forward[0] in RADICES
    for n in (1, 2, 6, 17, 17 * 19, 64, 90, 1009):
        assert not odd_factors(n, 16, False)


def test_powers_of_a_primitive_root_run_through_all_residues():
    for prime in (3, 5, 7, 17, 41, 73, 97, 191, 251, 1009):
        g = primitive_root(prime)
        assert {pow(g, q, prime) for q in range(prime - 1)} == set(range(1, prime))


def test_groups_follow_the_work():
    assert choose_group(400, 1, 8, 16, 4, dense=True).line
    assert not choose_group(15, 1000, 8, 16, 4, dense=True).line
    assert not choose_group(400, 1000, 8, 16, 4, dense=False).line
    assert choose_group(1009, 1, 8, 16, 4, dense=True) == (True, 8)


def test_a_plan_shows_how_it_works():
    assert "complex, one line: 400 = " in str(fft_plan(400, np.float32))
    assert "convolution of 2048 points" in str(fft_plan(1009, np.float64))
    assert "\n  real, many: 21 = 7 · 3, " in str(fft_plan(21, np.float32))
    assert "\n  inverse real, many: 21 = 3 · 7, " in str(fft_plan(21, np.float32))
    assert str(fft_plan(1, np.float64)).count("copy") == 8


def test_plans_are_cached_and_rebuilt_by_pickle():
    plan = fft_plan(100, np.complex64)
    assert fft_plan(100, np.float32) is plan
    assert pickle.loads(pickle.dumps(plan)) is plan


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda x: dft(x), id="dft"),
        pytest.param(lambda x: dft(x[:, :1009]), id="dft by a convolution"),
        pytest.param(lambda x: dft(x[:, :1000].reshape(5, 100, 10, 2), axis=1), id="dft of columns"),
        pytest.param(lambda x: dft(x[:1], 1 << 17), id="dft in sweeps"),
        pytest.param(lambda x: dft(x[:, :1001, :1], onesided=True), id="dft of real lines"),
        pytest.param(lambda x: stft(x[..., 0], 100, np.hanning(400)), id="stft, frames side by side"),
        pytest.param(lambda x: stft(x[..., 0], 500, np.hanning(512)), id="stft, frame by frame"),
        pytest.param(lambda x: stft(x, 100, np.hanning(400)), id="stft of complex signals"),
    ],
)
def test_a_plan_in_use_outlives_the_caches(call, rng, monkeypatch):
    """Other threads may push it out of them, and of two that make the same one the caches take one."""
    x = rng.standard_normal((5, 1200, 2))
    expected = call(x)
    caches = [plans.program, plans.line_transform, plans._fft_plan, dft_module.planned, stft_module.windowed_transform]

    def forget():
        for cache in caches:
            cache.cache_clear()

    def mortal(count, dtype):
        array = aligned(count, dtype)
        weakref.finalize(array, array.base.fill, np.nan)
        return array

    def forgetful(*arguments):
        forget()
        return run(*arguments)

    aligned = plans.aligned
    monkeypatch.setattr(plans, "aligned", mortal)
    for module in (dft_module, stft_module):
        monkeypatch.setattr(module, "run", forgetful)
    forget()
    np.testing.assert_array_equal(call(x), expected)


def test_threads_count_the_operations_of_their_own_codelet(monkeypatch, race):
    expected = {radix: recipes.operations(radix) for radix in RADICES}
    results = []

    def work():
        results.append({radix: recipes.operations(radix) for radix in RADICES})

    monkeypatch.setattr(recipes, "operations", recipes.operations.__wrapped__)
    for _ in range(30):
        race(*[work] * 4)
    assert all(result == expected for result in results)


def test_plans_of_ever_new_lengths_do_not_fill_the_memory(rng, monkeypatch):
    monkeypatch.setattr(_plan_caches, "MOST_BYTES", 1 << 20)
    x = rng.standard_normal((1, 5_100, 2))
    for call in (lambda n: dft(x[:, :n]), lambda n: fft.rfft(x[0, :n, 0])):
        for n in range(5_061, 5_100):
            call(n)  # compiles, which takes three times as long while memory is traced
        tracemalloc.start()
        try:
            for n in range(5_001, 5_061):  # with 0.2 MB of tables each
                call(n)
            arrays = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
            traces = tracemalloc.take_snapshot().filter_traces([arrays]).traces
        finally:
            tracemalloc.stop()
        assert sum(trace.size for trace in traces) < 8 << 20


def test_plans_larger_than_the_memory_for_all_are_kept(rng, monkeypatch):
    monkeypatch.setattr(_plan_caches, "MOST_BYTES", 1)
    monkeypatch.setattr(_plan_caches._Tables, "made", 0)
    x, made = rng.standard_normal((1, 1009, 2)), []
    program = plans.ProgramBuilder.program
    monkeypatch.setattr(plans.ProgramBuilder, "program", lambda *args: made.append(1) or program(*args))
    dft(dft(x), inverse=True)
    programs = len(made)
    for _ in range(5):
        dft(dft(x), inverse=True)
    assert len(made) == programs


@pytest.mark.parametrize("n", [0, -1, LONGEST + 1, 2**62])
def test_refuses_lengths(n):
    with pytest.raises(ValueError, match="n must be at least 1 and at most"):
        fft_plan(n, np.float32)


def test_refuses_other_types():
    with pytest.raises(TypeError, match="dtype must be float32"):
        fft_plan(8, np.float16)
    for n in (8.0, True, "8"):
        with pytest.raises(TypeError, match="n must be an integer"):
            fft_plan(n, np.float32)


def test_a_new_length_compiles_nothing(rng):
    from fastspectral import _jit

    for n in (16, 60, 64, 400, 1009):
        dft(rng.standard_normal((20, n, 2)).astype(np.float32))
    before = len(_jit._callbacks)
    for n in (32 * 25, 480, 601):
        dft(rng.standard_normal((20, n, 2)).astype(np.float32))
    # radices of the new lengths may be new; the same kernels with other tables are not
    radices = {key[1][0].codelet for key in list(_jit._callbacks)[before:]}
    assert radices <= {2, 3, 4, 5, 6, 8, 9, 10, 12, 15, 16}
    after = len(_jit._callbacks)
    for n in (32 * 25, 480, 601):
        dft(rng.standard_normal((20, n, 2)).astype(np.float32))
    assert len(_jit._callbacks) == after
