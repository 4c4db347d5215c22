"""The executor, its programs and rims: they write their lines and nothing else, and read no scratch that they have not written."""

import numpy as np
import pytest

import oracles
from accuracy import assert_accurate
from fastspectral import dft, stft
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
