"""The kernels on plans, called from a user's own compiled code."""

import concurrent.futures
import os
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit, prange
from numba.core.errors import TypingError

import fastspectral
import oracles
from accuracy import assert_accurate
from fastspectral import conv_transpose_plan, fft, fft_plan, kernels, stft, stft_plan

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


# ------------------------------------------------------------------------------------- numpy-shaped functions, by length


@njit
def of_length(z, x, n):
    return fft.fft(z, n), fft.ifft(z, n), fft.rfft(x, n=n), fft.irfft(z, n=n), fft.fft(x, n)


@njit
def of_their_own_length(z, x):
    return fft.fft(z), fft.ifft(z), fft.rfft(x), fft.irfft(z)


def check(results, arrays, n, eps):
    for name, x, y in zip(("fft", "ifft", "rfft", "irfft", "fft"), arrays, results, strict=False):
        want = getattr(np.fft, name)(x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble), n)
        assert y.dtype == (x.real if name == "irfft" else x[:0] + 0j).dtype
        assert y.shape == want.shape
        assert np.linalg.norm(y - want) <= 2 * eps * np.log2(max(2, want.shape[-1])) * np.linalg.norm(want)


def test_functions_of_any_length(rng):
    for size in (6, 64, 1009):
        z = rng.standard_normal((3, size)) + 1j * rng.standard_normal((3, size))
        x = rng.standard_normal((3, size))
        for n in (1, 5, size, 2 * size + 1):
            check(of_length(z, x, n), (z, z, x, z, x), n, 2.0**-52)


@pytest.mark.parametrize(("axes", "real", "complex_", "eps"), [(1, *TYPES[0]), (3, *TYPES[1])])
def test_functions_of_any_array(axes, real, complex_, eps, rng):
    z = (rng.standard_normal((2, 3, 20)) + 1j)[(0,) * (3 - axes)].astype(complex_)
    x = rng.standard_normal((2, 3, 20))[(0,) * (3 - axes)].astype(real)
    if axes == 3:
        z, x = z[::-1, :, ::-2], x[::-1, :, ::-2]
        z.flags.writeable = x.flags.writeable = False
    check(of_their_own_length(z, x), (z, z, x, z), None, eps)


def test_integers_are_float64_and_types_are_refused(rng):
    @njit
    def spectrum(x):
        return fft.rfft(x)

    x = rng.integers(-9, 9, 20)
    close(spectrum(x), np.fft.rfft(x), 20, 2.0**-52)
    with pytest.raises(TypingError, match="x of rfft must be real"):
        spectrum(x + 0j)


@njit
def of_axis(z, x, n, axis, norm):
    return (
        fft.fft(z, n, axis, norm),
        fft.ifft(z, n, axis, norm),
        fft.rfft(x, n, axis, norm),
        fft.irfft(z, n, axis, norm),
    )


@njit
def of_axis_alone(z, x, axis):
    return fft.rfft(x, axis=axis), fft.irfft(z, axis=axis)


def test_functions_along_any_axis_and_by_any_norm(rng):
    z = rng.standard_normal((4, 5, 6)) + 1j * rng.standard_normal((4, 5, 6))
    x = rng.standard_normal((4, 5, 6))
    for axis in range(-3, 3):
        for y, name in zip(of_axis_alone(z, x, axis), ("rfft", "irfft"), strict=True):
            close(y, getattr(np.fft, name)(x if name == "rfft" else z, axis=axis), 8, 2.0**-52)
            assert y.flags.c_contiguous
        for norm in ("backward", "ortho", "forward"):
            for y, name in zip(of_axis(z, x, 7, axis, norm), ("fft", "ifft", "rfft", "irfft"), strict=True):
                close(y, getattr(np.fft, name)(x if name == "rfft" else z, 7, axis, norm), 8, 2.0**-52)


def test_lengths_that_may_be_none_or_unsigned(rng):
    @njit
    def spectrum(x, shorter):
        n = 7 if shorter else None
        return fft.fft(x, n)

    x = rng.standard_normal((2, 9))
    close(spectrum(x, True), np.fft.fft(x, 7), 9, 2.0**-52)
    close(spectrum(x, False), np.fft.fft(x), 9, 2.0**-52)
    close(of_length(x, x, np.uint64(5))[0], np.fft.fft(x, 5), 9, 2.0**-52)


def test_bad_arguments_raise():
    z, x = np.ones((4, 5, 6), complex), np.ones((4, 5, 6))  # of types that are compiled above
    for arguments, message in [
        ((0, 0, "ortho"), "n must be"),
        ((2, 3, "ortho"), "axis must be"),
        ((2, 0, "x"), "norm must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            of_axis(z, x, *arguments)


def test_bad_lengths_are_caught_in_compiled_code():
    @njit
    def spectrum(x, n):
        try:
            return fft.fft(x, n)
        except Exception:  # the only kind that Numba catches
            return fft.fft(x)

    np.testing.assert_array_equal(spectrum(np.ones(4), 0), [4, 0, 0, 0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1.0, 4, 0, "ortho"), "x of fft must be an array of numbers with at least one axis, got float64"),
        ((np.array(1.0), 4, 0, "ortho"), "x of fft must be an array of numbers with at least one axis"),
        ((np.ones(4), 4.0, 0, "ortho"), "n of fft must be an integer, got float64"),
        ((np.ones(4), 4, None, 3), "norm of fft must be a string or None, got int64"),
        ((np.ones(4), 4, 1.5, None), "axis of fft must be an integer, got float64"),
    ],
)
def test_errors_of_types_are_clear(given, message):
    @njit
    def spectrum(x, n, axis, norm):
        return fft.fft(x, n, axis, norm)

    with pytest.raises(TypingError, match=re.escape(message)):
        spectrum(*given)


def test_more_lengths_than_slots(rng):
    """Two lengths of one slot, by turns: each is found again."""

    @njit
    def spectra(x, lengths):
        return [fft.rfft(x[:n]) for n in lengths]

    x = rng.standard_normal(400)
    lengths = np.array([5, 66, 127, 5, 66, 5, 127])
    for n, y in zip(lengths, spectra(x, lengths), strict=True):
        close(y, np.fft.rfft(x[:n]), n, 2.0**-52)


@njit(parallel=True)
def fft_in_prange(z):
    spectra = np.empty_like(z)
    for i in prange(z.shape[0]):
        spectra[i] = fft.fft(z[i])
    return spectra


@njit(nogil=True)
def fft_without_the_lock(z):
    return fft.ifft(fft.fft(z))


def test_functions_in_prange_and_from_threads(rng):
    z = rng.standard_normal((64, 90)) + 1j * rng.standard_normal((64, 90))  # of a length whose plan is made in the loop
    close(fft_in_prange(z), np.fft.fft(z), 90, 2.0**-52)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        arrays = [z[:, : 50 + k % 8] for k in range(64)]
        for array, back in zip(arrays, pool.map(fft_without_the_lock, arrays), strict=True):
            close(back, array, 50, 2.0**-51)


# ----------------------------------------------------------------------------------------- frames, transposed convolution


@njit
def stft_serial(signals, out, plan):
    kernels.stft_frames(signals, out, plan)


@njit(parallel=True)
def stft_in_prange(signals, out, plan):
    for i in prange(signals.shape[0]):
        kernels.stft_frames(signals[i : i + 1], out[i : i + 1], plan)


@njit(nogil=True)
def stft_without_the_lock(signals, out, plan):
    kernels.stft_frames(signals, out, plan)
    return out


@pytest.mark.parametrize(("real", "complex_", "eps"), TYPES)
@pytest.mark.parametrize("onesided", [True, False])
@pytest.mark.parametrize(("length", "n", "step"), [(60, 16, 4), (2000, 400, 160), (40, 40, 7), (600, 251, 99)])
def test_frames(length, n, step, onesided, real, complex_, eps, rng):
    signals = rng.standard_normal((5, length + 3)).astype(real)[:, :length]
    window = rng.standard_normal(n).astype(real)
    want = oracles.stft(signals, step, window, onesided=onesided)
    plan = stft_plan(step, window, onesided=onesided, dtype=real)
    assert (plan.frame_length, plan.frame_step, plan.bins) == (n, step, want.shape[2])
    outs = [np.full(want.shape[:-1], np.nan, complex_) for _ in range(3)]
    stft_serial(signals, outs[0], pickle.loads(pickle.dumps(plan)))
    stft_in_prange(signals, outs[1], plan)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: stft_without_the_lock(signals[i:], outs[2][i:], plan), [0] * 8))
    for out in outs:
        assert_accurate(out.view(real).reshape(want.shape), want, n)
    assert_accurate(stft(signals, step, window, onesided=onesided), want, n)


def test_frames_without_window_and_bad_plans():
    out = np.empty((1, 3, 3), np.complex64)
    stft_serial(np.ones((1, 8), np.float32), out, stft_plan(2, frame_length=4))
    np.testing.assert_array_equal(out[0, :, 0], 4)
    with pytest.raises(ValueError, match="window or frame_length"):
        stft_plan(2)
    with pytest.raises(TypeError, match="float32 or float64"):
        stft_plan(2, frame_length=4, dtype=np.float16)


@njit
def conv_serial(x, out, plan):
    kernels.conv_transpose_planned(x, out, plan)


@njit(parallel=True)
def conv_in_prange(x, out, plan):
    for i in prange(x.shape[0]):
        kernels.conv_transpose_planned(x[i], out[i], plan)


@njit(nogil=True)
def conv_without_the_lock(x, out, plan):
    kernels.conv_transpose_planned(x, out, plan)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("x_shape", "w_shape", "attributes"),
    [
        ((2, 4, 20), (4, 3, 8), {"strides": [4], "pads": [2, 2]}),
        ((1, 6, 5, 7), (6, 2, 3, 3), {"group": 3, "strides": [2, 1]}),
        ((1, 32, 9, 9), (32, 16, 2, 2), {"strides": [2, 2]}),
    ],
)
def test_transposed_convolution(x_shape, w_shape, attributes, dtype, rng):
    w, x = rng.standard_normal(w_shape).astype(dtype), rng.standard_normal((4, *x_shape)).astype(dtype)
    b = rng.standard_normal(w_shape[1] * attributes.get("group", 1)).astype(dtype)
    plan = conv_transpose_plan(w, b, **attributes).for_njit(x_shape)
    want = np.stack([oracles.conv_transpose(x[i], w, b, **attributes) for i in range(4)])
    outs = [np.full((4, *plan.output_shape), np.nan, dtype) for _ in range(3)]
    for i in range(4):
        conv_serial(x[i], outs[0][i], plan)
    conv_in_prange(x, outs[1], plan)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: conv_without_the_lock(x[i], outs[2][i], plan), range(4)))
    assert_accurate(outs[0], want, x_shape[1] * w[0, 0].size)
    for out in outs[1:]:
        np.testing.assert_array_equal(out, outs[0])


def test_convolutions_that_compiled_code_cannot_do():
    with pytest.raises(ValueError, match="finite"):
        conv_transpose_plan(np.full((1, 1, 2), np.nan)).for_njit((1, 1, 4))
    with pytest.raises(TypeError, match="float32 or float64"):
        conv_transpose_plan(np.ones((1, 1, 2), np.float16)).for_njit((1, 1, 4))
    plan = conv_transpose_plan(np.ones((1, 1, 2)))
    with pytest.raises(TypeError, match=r"x_shape\[2\] must be an integer, got 7.0"):
        plan.for_njit((1, 1, 7.0))
    assert plan(np.ones((1, 1, 7))).shape == (1, 1, 8)  # which is not what was kept for 7.0


def test_plans_are_shown_in_words():
    """Not as tables of addresses."""
    assert repr(fft_plan(8, np.float64)) == str(fft_plan(8, np.float64))
    assert repr(fft_plan(8, np.float64)).startswith("FFTPlan of 8 points, float64\n")
    assert repr(stft_plan(2, np.ones(4))) == "STFTPlan of frames of 4 samples, a step of 2, 3 bins, float32"
    plan = conv_transpose_plan(np.ones((1, 1, 2))).for_njit((1, 1, 4))
    assert repr(plan) == "ConvTransposeArrays of outputs of shape (1, 1, 5), float64"


# -------------------------------------------------------------------------------------------------------- cached functions

MODULE = """
import numpy as np
from numba import njit, prange
from fastspectral import conv_transpose_plan, fft, fft_plan, kernels, stft_plan

@njit(cache=True)
def serial(z, spectrum, signals, frames, x, y, plan, frame_plan, conv_plan):
    kernels.fft_lines(z, spectrum, 1.0, plan)
    kernels.stft_frames(signals, frames, frame_plan)
    kernels.conv_transpose_planned(x, y, conv_plan)
    return fft.fft(z), fft.ifft(z), fft.rfft(signals), fft.irfft(z)

@njit(cache=True, parallel=True)
def parallel(z):
    spectrum = np.empty_like(z)
    for i in prange(z.shape[0]):
        spectrum[i] = fft.fft(z[i])
    return spectrum

rng = np.random.default_rng(0)
z = rng.standard_normal((8, 30)) + 1j * rng.standard_normal((8, 30))
signals, x, w = rng.standard_normal((2, 64)), rng.standard_normal((1, 4, 9)), rng.standard_normal((4, 3, 5))
spectrum, frames, y = np.empty_like(z), np.empty((2, 13, 9), complex), np.empty((1, 3, 13))
conv_plan = conv_transpose_plan(w).for_njit(x.shape)
given = z, spectrum, signals, frames, x, y, fft_plan(30, float), stft_plan(4, np.hanning(16), dtype=float), conv_plan
results = serial(*given)
total = sum(abs(a).sum() for a in (spectrum, frames, y, *results, parallel(z)))
assert abs(results[0] - np.fft.fft(z)).max() < 1e-13 and abs(parallel(z) - np.fft.fft(z)).max() < 1e-13
print(total.hex(), sum(serial.stats.cache_hits.values()), sum(parallel.stats.cache_hits.values()))
"""


def run_cached(folder, package):
    """Run MODULE with the package in a folder: its sum, and cache hits of its serial and of its parallel function."""
    path = folder / "cached.py"
    path.write_text(MODULE, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(package)}
    command = [sys.executable, path]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()


SOURCES = Path(fastspectral.__file__).parents[1]


def test_cached_functions_run_in_another_process(tmp_path):
    first, second = run_cached(tmp_path, SOURCES), run_cached(tmp_path, SOURCES)
    assert first[1:] == ["0", "0"]
    assert second == [first[0], "1", "1"]


@pytest.mark.slow
def test_cached_functions_run_another_version(tmp_path):
    """Nothing of how plans are laid out is in the user's code: a version with other columns is not read by the old ones."""
    first = run_cached(tmp_path, SOURCES)
    shutil.copytree(SOURCES, tmp_path / "other", ignore=shutil.ignore_patterns("__pycache__"))
    program = tmp_path / "other" / "fastspectral" / "kernels" / "program.py"
    text = program.read_text(encoding="utf-8")
    text, count = re.subn(r"^EXECUTOR, SCALE = 30, 31$", "EXECUTOR, SCALE = 31, 30", text, flags=re.M)
    assert count == 1
    text, count = re.subn(r"^(GEOMETRY_SIZE = .*)$", r"\1 + 8", text, flags=re.M)
    assert count == 1
    program.write_text(text, encoding="utf-8")
    assert run_cached(tmp_path, tmp_path / "other") == [first[0], "1", "1"]
