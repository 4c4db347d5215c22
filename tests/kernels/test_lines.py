"""The executor, its programs and rims: they write their lines and nothing else, and read no scratch that they have not written."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import oracles
from accuracy import EPS, assert_accurate
from fastspectral import dft, plans, stft
from fastspectral.kernels import program as layout
from fastspectral.kernels.lanes import lanes_of
from fastspectral.ops import _lines

GUARD = 64  # numbers on either side
LENGTHS = [
    1,
    2,
    3,
    5,
    8,
    16,
    17,
    30,
    31,
    34,
    39,
    61,
    64,
    77,
    97,
    100,
    127,
    128,
    251,
    272,
    303,
    400,
    441,
    808,
    1009,
    1021,
    1616,
]
KINDS = [
    (2, {}),
    (2, {"inverse": True}),
    (1, {}),
    (1, {"inverse": True}),
    (1, {"onesided": True}),
    (2, {"inverse": True, "onesided": True}),
]


def guarded(shape, dtype):
    """An array with numbers around it that nobody may touch."""
    memory = np.full(int(np.prod(shape)) + 2 * GUARD, 7.5, dtype)
    return memory, memory[GUARD:-GUARD].reshape(shape)


def poison():
    """Fill this thread's scratch with NaN, float32 or float64."""
    _lines.more_scratch(1 << 16)[2][...] = -1


def check(call, exact, n):
    memory, out = guarded(exact.shape, call.dtype)
    poison()
    call(out)
    assert_accurate(out, exact, n)
    assert (memory[:GUARD] == 7.5).all()
    assert (memory[-GUARD:] == 7.5).all()


class Call:
    """A call that still lacks its output."""

    def __init__(self, function, x, *arguments, **options):
        self.function, self.x, self.arguments, self.options, self.dtype = function, x, arguments, options, x.dtype

    def __call__(self, out):
        self.function(self.x, *self.arguments, out=out, **self.options)


def test_poison_is_nan():
    poison()
    assert np.isnan(_lines._kept.scratch[2].view(np.float32)).all()
    assert np.isnan(_lines._kept.scratch[2].view(np.float64)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["one line", "lines", "columns", "few columns", "strided"])
def test_dft_writes_its_lines_only(layout, dtype, rng):
    for n in LENGTHS:
        for parts, options in KINDS:
            size = n // 2 + 1 if options.get("onesided") and options.get("inverse") else n
            shape, axis = {
                "one line": ((1, size), 1),
                "lines": ((11, size), 1),
                "columns": ((2, size, 19), 1),
                "few columns": ((5, size, 3), 1),
                "strided": ((6, size), 1),
            }[layout]
            x = rng.standard_normal((*shape, parts)).astype(dtype)
            if layout == "strided":
                x = np.repeat(x, 2, axis=1)[:, ::2]
            check(Call(dft, x, n, axis, **options), oracles.dft(x, n, axis, **options), n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_padded_and_cropped_lines(kind, dtype, rng):
    parts, options = KINDS[kind]
    for n in (1, 6, 16, 31, 63, 64, 100, 225, 251):
        for size in (1, 5, 40, 300):
            for lines in (1, 9):
                x = rng.standard_normal((lines, size, parts)).astype(dtype)
                check(Call(dft, x, n, 1, **options), oracles.dft(x, n, 1, **options), n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("parts", [1, 2])
def test_frames(parts, dtype, rng):
    for frame in (1, 2, 15, 16, 17, 63, 64, 100, 251, 303, 400):
        for onesided in (True, False):
            x, window = rng.standard_normal((2, 900, parts)).astype(dtype), rng.standard_normal(frame).astype(dtype)
            exact = oracles.stft(x, 37, window, onesided=onesided)
            check(Call(stft, x, 37, window, onesided=onesided), exact, frame)


def assert_rounded_once(halves, computed, n):
    """Halves that float32 results round to; these may be 2 eps of float32 log2 2n off, of the largest, as a rim and a pass fuse other products and sums."""
    within = 2 * EPS["float32"] * math.log2(2 * n) * abs(computed).max()
    assert (halves >= (computed - within).astype(halves.dtype)).all()
    assert (halves <= (computed + within).astype(halves.dtype)).all()


HALVES = [np.float16, ml_dtypes.bfloat16]
LAYOUTS = {
    "one line": lambda n: ((1, n), 1),
    "lines": lambda n: ((11, n), 1),
    "columns": lambda n: ((2, n, 19), 1),
    "few columns": lambda n: ((5, n, 3), 1),
    "bundles": lambda n: ((37, n, 3), 1),
    "far columns": lambda n: ((n, 1024), 0),
    "strided": lambda n: ((6, n), 1),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_lines_of_halves(layout, dtype, rng):
    for n in (512, 1024) if layout == "far columns" else (1, 2, 5, 8, 16, 31, 64, 77, 100, 251, 400, 1009):
        for parts, options in KINDS:
            size = n // 2 + 1 if options.get("onesided") and options.get("inverse") else n
            shape, axis = LAYOUTS[layout](size)
            x = rng.standard_normal((*shape, parts)).astype(dtype)
            wide = x.astype(np.float32)
            if layout == "strided":
                x, wide = (np.repeat(a, 2, axis=1)[:, ::2] for a in (x, wide))
            if layout == "far columns":  # the last block has a single one, of two bytes if real
                x, wide = x[:, :513], wide[:, :513]
            for length in (n, n + 3):
                computed = dft(wide, length, axis, **options)
                memory, out = guarded(computed.shape, dtype)
                poison()
                dft(x, length, axis, out=out, **options)
                assert_rounded_once(out, computed, length)
                assert (memory[:GUARD] == 7.5).all()
                assert (memory[-GUARD:] == 7.5).all()


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_long_lines_of_halves(kind, dtype, rng):
    """In passes, in two sweeps, in a convolution of two sweeps each, and continued with zeros."""
    parts, options = KINDS[kind]
    for size, n in ((4096, 4096), (1 << 20, 1 << 20), (100003, 100003), (300000, 1 << 20)):
        size = size // 2 + 1 if options.get("onesided") and options.get("inverse") else size
        x = rng.standard_normal((1, size, parts)).astype(dtype)
        y = dft(x, n, **options, workers=1)
        assert_rounded_once(y, dft(x.astype(np.float32), n, **options), n)
        np.testing.assert_array_equal(dft(x, n, **options, workers=2), y)


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("parts", [1, 2])
def test_frames_of_halves(parts, dtype, rng):
    for frame in (1, 2, 15, 16, 64, 100, 251, 303, 400, 4096):
        for onesided in (True, False):
            for batch in (1, 2):
                x = rng.standard_normal((batch, 4500, parts)).astype(dtype)
                for window in (None, rng.standard_normal(frame).astype(dtype)):
                    wide = None if window is None else window.astype(np.float32)
                    computed = stft(x.astype(np.float32), 37, wide, frame, onesided=onesided)
                    memory, out = guarded(computed.shape, dtype)
                    poison()
                    stft(x, 37, window, frame, onesided=onesided, out=out)
                    assert_rounded_once(out, computed, frame)
                    assert (memory[:GUARD] == 7.5).all()
                    assert (memory[-GUARD:] == 7.5).all()


def test_a_half_that_is_rounded_otherwise_would_show():
    """To zero instead of to nearest."""
    computed = np.linspace(1, 2, 100, dtype=np.float32)
    assert_rounded_once(computed.astype(np.float16), computed, 8)
    with pytest.raises(AssertionError):
        assert_rounded_once((computed.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(np.float16), computed, 8)


def test_wrong_values_and_stray_writes_would_show(rng):
    """The check itself fails for a wrong number and for a write beside the output."""
    x = rng.standard_normal((3, 8, 2))
    exact = oracles.dft(x)

    def wrong(x, out):
        out[...] = exact
        out[0, 0, 0] += 1e-3

    def stray(x, out):
        out[...] = exact
        out.base[GUARD - 1] = 0

    for function in (wrong, stray):
        with pytest.raises(AssertionError):
            check(Call(function, x), exact, 8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize(
    "shape",
    [(1, 512, 256), (3, 30, 512), (2, 16, 2048), (1, 1000, 256), (1, 400, 1024)],
    ids=["critical", "few points", "one pass", "few at a time", "far"],
)
def test_registers_of_lines_abreast(shape, inverse, dtype, rng):
    n = shape[1]
    bits, point = 8 * np.dtype(dtype).itemsize, 2 * np.dtype(dtype).itemsize
    lines = plans.Lines(shape[0], shape[2], n * shape[2] * point, point, shape[2] * point)
    plan = plans.abreast(n, n, inverse, bits, lines, lines, Fraction(1, n) if inverse else None)
    if lanes_of(bits) == 1:
        assert plan is None
        return
    assert plan.geometry[layout.LANES] > lanes_of(bits)
    x = rng.standard_normal((*shape, 2)).astype(dtype)
    exact = oracles.dft(x, n, 1, inverse=inverse)
    check(Call(dft, x, n, 1, inverse=inverse), exact, n)
    apart = dft(x, n, 1, inverse=inverse)
    assert np.array_equal(apart, dft(x, n, 1, inverse=inverse, workers=2))
    assert np.array_equal(apart, dft(x, n, 1, inverse=inverse, out=x))
