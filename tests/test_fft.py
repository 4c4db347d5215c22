"""fastspectral.fft against numpy.fft in extended precision, and as a backend of scipy.fft."""

import inspect
import os

import ml_dtypes
import numpy as np
import pytest
import scipy.fft
import scipy.signal

from accuracy import assert_accurate
from fastspectral import fft, set_workers
from fastspectral.fft import _one_axis, _scipy

REAL_TO_COMPLEX, COMPLEX_TO_REAL = ("rfft", "ihfft"), ("irfft", "hfft")
ONE_AXIS = ("fft", "ifft", *REAL_TO_COMPLEX, *COMPLEX_TO_REAL)
SEVERAL_AXES = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def numbers(rng, shape, dtype):
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def exact(name, x, *arguments):
    return getattr(np.fft, name)(x.astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble), *arguments)


def pairs(x):
    return np.stack([x.real, x.imag], -1)


def check(y, want, n, dtype):
    double = np.dtype(dtype).char in "dD"
    assert y.dtype == {"c": (np.complex64, np.complex128), "f": (np.float32, np.float64)}[want.dtype.kind][double]
    assert_accurate(pairs(y), pairs(want), n)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ONE_AXIS)
def test_one_axis(name, dtype, rng):
    x = numbers(rng, (6, 10, 15), dtype)
    if name in REAL_TO_COMPLEX and x.dtype.kind == "c":
        with pytest.raises(TypeError, match="real"):
            getattr(fft, name)(x)
        return
    for axis in (0, 1, -1):
        for n in (None, 1, 7, 10, 20):
            for norm in (None, "backward", "ortho", "forward"):
                want = exact(name, x, n, axis, norm)
                check(getattr(fft, name)(x, n, axis, norm), want, 32, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", SEVERAL_AXES)
def test_several_axes(name, dtype, rng):
    x = numbers(rng, (6, 10, 15), dtype)
    if name.startswith("rfft") and x.dtype.kind == "c":
        with pytest.raises(TypeError, match="real"):
            getattr(fft, name)(x)
        return
    for s, axes in [(None, (0, 1)), ((8, 9), (2, 0)), ((-1, 20), (1, 2)), (None, (-1, 0))]:
        for norm in (None, "ortho", "forward"):
            check(getattr(fft, name)(x, s, axes, norm), exact(name, x, s, axes, norm), 512, dtype)
    if name.endswith("n"):
        check(getattr(fft, name)(x), exact(name, x), 900, dtype)
        check(getattr(fft, name)(x, (4, 4)), exact(name, x, (4, 4), (1, 2)), 16, dtype)
    for s, axes in [((-1, -1), (0, 1)), ((7, -1), (-1, 0))]:  # the size as it is, which for irfftn is not its default
        check(getattr(fft, name)(x, s, axes), exact(name, x, s, axes), 512, dtype)


def test_one_axis_of_several(rng):
    """SciPy takes an integer for a sequence of one."""
    x = rng.standard_normal((5, 8)) + 1j
    for name in ("fftn", "irfftn", "irfft2"):
        y, want = getattr(fft, name)(x, 6, 1), getattr(scipy.fft, name)(x, 6, 1)
        np.testing.assert_allclose(y, want, rtol=0, atol=1e-14)


@pytest.mark.parametrize("n", [2, 127, 360, 1009, 1021 * 2, 4096, 2**17, 2**18])
@pytest.mark.parametrize("norm", ["ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_factors_of_every_way_to_transform(name, norm, n, rng):
    """Passes, convolutions, sweeps and bundles each have the factor in a step of their own."""
    x = numbers(rng, (n // 2 + 1 if name == "irfft" else n,), np.float64 if name == "rfft" else np.complex128)
    check(getattr(fft, name)(x, n, -1, norm), exact(name, x, n, -1, norm), n, np.float64)
    lines = numbers(rng, (9, 12, 3), np.float64 if name == "rfft" else np.complex128)
    check(getattr(fft, name)(lines, 12, 1, norm), exact(name, lines, 12, 1, norm), 12, np.float64)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("norm", ["ortho", "forward"])
def test_factors_of_lines_side_by_side(norm, dtype, rng):
    """In blocks, and several registers of lines together, in place too."""
    for shape in [(256, 256), (250, 256), (256, 250), (2, 128, 300)]:
        z = numbers(rng, shape, dtype)
        check(fft.ifft(z, None, -2, norm), exact("ifft", z, None, -2, norm), 256, dtype)
        np.testing.assert_array_equal(fft.ifft(z.copy(), None, -2, norm), fft.ifft(z, None, -2, norm, out=z))


@pytest.mark.parametrize("name", ["fft", "irfft", "rfft", "fftn", "rfftn", "irfftn"])
def test_any_memory(name, rng):
    transform = getattr(fft, name)
    x = numbers(rng, (4, 6, 8), np.float64 if name.startswith("rfft") else np.complex128)
    want = transform(x)
    for y in (np.asfortranarray(x), np.repeat(x, 2, 1)[:, ::2], x[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1]):
        np.testing.assert_allclose(transform(y), want, rtol=0, atol=1e-14 * abs(want).max())
    swapped = x.astype(x.dtype.newbyteorder())
    bytes_off = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    bytes_off[...] = x
    frozen = x.copy()
    frozen.flags.writeable = False
    for y in (swapped, bytes_off, frozen, x.tolist()):
        np.testing.assert_array_equal(transform(y), want)
    np.testing.assert_array_equal(transform(np.broadcast_to(x[:1], x.shape)), transform(np.repeat(x[:1], 4, 0)))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifftn", "rfftn", "irfftn"])
def test_out(name, rng):
    transform = getattr(fft, name)
    x = numbers(rng, (6, 10), np.float64 if name in ("rfft", "ihfft", "rfftn") else np.complex128)
    given, want = x.copy(), transform(x)
    out = np.full_like(want, np.nan)
    assert transform(x, out=out) is out
    np.testing.assert_array_equal(out, want)
    strided = np.zeros((6, 2 * want.shape[1]), want.dtype)
    assert transform(x, out=strided[:, ::2]).base is not None
    np.testing.assert_array_equal(strided[:, ::2], want)
    assert not strided[:, 1::2].any()
    np.testing.assert_array_equal(x, given)


@pytest.mark.parametrize("n", [None, 5, 8])
@pytest.mark.parametrize("axis", [0, 1])
def test_out_that_overlaps(axis, n, rng):
    memory = numbers(rng, (12, 12), np.complex128)
    for x_part, y_part in [
        (np.s_[:6, :6], np.s_[:6, :6]),
        (np.s_[:6, :6], np.s_[1:7, 2:8]),
        (np.s_[5::-1, :6], np.s_[:6, :6]),
    ]:
        work = memory.copy()
        x = work[x_part]
        want = fft.fft(x.copy(), n, axis)
        sizes = [slice(p.start or 0, (p.start or 0) + size) for p, size in zip(y_part, want.shape, strict=True)]
        out = work[tuple(sizes)]
        fft.fft(x, n, axis, out=out)
        np.testing.assert_allclose(out, want, rtol=0, atol=1e-14)
        work[tuple(sizes)] = memory[tuple(sizes)]
        np.testing.assert_array_equal(work, memory)


def test_several_axes_in_place(rng):
    x = numbers(rng, (8, 9, 10), np.complex64)
    want = fft.fftn(x)
    assert fft.fftn(x, out=x) is x
    np.testing.assert_array_equal(x, want)


def test_dtypes(rng):
    x = rng.integers(-99, 99, (3, 20))
    np.testing.assert_array_equal(fft.fft(x), fft.fft(x.astype(np.float64)))
    np.testing.assert_array_equal(fft.rfft(x > 0), fft.rfft((x > 0).astype(np.float64)))
    np.testing.assert_array_equal(fft.rfft(x.astype(np.int16)), fft.rfft(x.astype(np.float64)))
    np.testing.assert_array_equal(fft.irfft(x.tolist()), fft.irfft(x + 0j))
    for half in (np.float16, ml_dtypes.bfloat16):
        y = (x / 64).astype(half)
        for name in ("fft", "rfft", "irfft"):
            result = getattr(fft, name)(y)
            np.testing.assert_array_equal(result, getattr(fft, name)(y.astype(np.float32)))
            assert result.dtype == (np.float32 if name == "irfft" else np.complex64)
    long = x.astype(np.longdouble)
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "irfftn"):
        y = getattr(fft, name)(long)
        assert y.dtype == (np.longdouble if name in ("irfft", "hfft", "irfftn") else np.clongdouble)
        np.testing.assert_array_equal(y, getattr(np.fft, name)(long))


@pytest.mark.parametrize(
    "x", [["1", "2"], np.array(["2026-01-01", "2026-01-02"], "M8[D]"), np.ones(2, "m8[s]"), np.ones(2, [("a", "f8")])]
)
@pytest.mark.parametrize("name", ["fft", "irfft", "hfft", "rfftn"])
def test_what_is_no_number_is_refused(name, x):
    with pytest.raises(TypeError):
        getattr(fft, name)(x)


def test_masked_elements_and_matrices_are_their_data(rng):
    x = rng.standard_normal(8)
    y = fft.fft(np.ma.array(x, mask=[0, 1] * 4))
    assert type(y) is np.ndarray
    np.testing.assert_array_equal(y, fft.fft(x))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n": 0}, ValueError, "Invalid number of FFT data points"),
        ({"n": 2**27}, ValueError, "at most"),
        ({"n": 2.0}, TypeError, "integer"),
        ({"axis": 2}, ValueError, "axis"),
        ({"axis": -3}, IndexError, "axis"),
        ({"axis": 1.0}, TypeError, "integer"),
        ({"norm": "none"}, ValueError, "Invalid norm value"),
        ({"plan": 3}, NotImplementedError, "precomputed plan"),
        ({"workers": 0}, ValueError, "workers"),
        ({"out": ""}, TypeError, "ArrayType"),
        ({"out": np.zeros((2, 5), complex)}, ValueError, "wrong shape"),
        ({"out": np.zeros((2, 4), np.complex64)}, TypeError, "Cannot cast"),
        ({"out": np.frombuffer(bytes(128), complex).reshape(2, 4)}, ValueError, "read-only"),
    ],
)
def test_refuses(arguments, error, message):
    fft.fft(np.ones((2, 4)), n=2), fft.fft(np.ones((2, 4)), axis=1)  # in no cache are 2.0 and 1.0 these
    with pytest.raises(error, match=message):
        fft.fft(np.ones((2, 4)), **arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"s": (2, 2), "axes": (0,)}, ValueError, "different lengths"),
        ({"s": (2, 2, 2)}, ValueError, "more axes than are present"),
        ({"axes": (0, 2)}, ValueError, "axis"),
        ({"s": (0, 2)}, ValueError, "Invalid number of FFT data points"),
        ({"s": (2, 1.5)}, TypeError, "integer"),
        ({"axes": ()}, ValueError, "at least 1 axis"),
    ],
)
def test_several_axes_refuse(arguments, error, message):
    with pytest.raises(error, match=message):
        fft.irfftn(np.ones((2, 4)), **arguments)


def test_nothing_to_transform(rng):
    assert fft.fft(np.zeros((0, 4), np.float32)).shape == (0, 4)
    np.testing.assert_array_equal(fft.fft(np.zeros((2, 0)), 3), np.zeros((2, 3)))
    x = rng.standard_normal((2, 3))
    y = fft.fftn(x, axes=())
    assert y.dtype == np.complex128
    np.testing.assert_array_equal(y, x)
    with pytest.raises(ValueError, match="Invalid number"):
        fft.fft(np.zeros((2, 0)))


def test_workers_change_no_bit(rng):
    x = numbers(rng, (64, 1000), np.complex64)
    for name in ("fft", "irfft", "fft2"):
        want = getattr(fft, name)(x, workers=1)
        np.testing.assert_array_equal(getattr(fft, name)(x, workers=2), want)
        with set_workers(2):
            np.testing.assert_array_equal(getattr(fft, name)(x), want)


def test_fast_lengths():
    smooth = [1]
    for p in (2, 3, 5, 7, 11, 13):
        smooth = [n * p**k for n in smooth for k in range(12) if n * p**k < 4000]
    for target in (1, 2, 17, 121, 128, 1009, 1021, 2501):
        assert fft.next_fast_len(target) == min(n for n in smooth if n >= target)
        assert fft.prev_fast_len(target, real=True) == max(n for n in smooth if n <= target)
    for function in (fft.next_fast_len, fft.prev_fast_len):
        with pytest.raises(ValueError, match="at least 1"):
            function(0)
        with pytest.raises(TypeError):
            function(2.5)


def test_the_same_frequencies_as_numpy():
    for name in ("fftfreq", "rfftfreq", "fftshift", "ifftshift"):
        assert getattr(fft, name) is getattr(np.fft, name)


# ------------------------------------------------------------------------------------------------------ backend of SciPy


@pytest.fixture
def calls(monkeypatch):
    """Names and workers of the calls that reach the package."""
    seen = []

    def noted(name, function):
        def call(*args, **kwargs):
            seen.append((name, kwargs["workers"]))
            return function(*args, **kwargs)

        return call

    for name, function in _scipy.FUNCTIONS.items():
        monkeypatch.setitem(_scipy.FUNCTIONS, name, noted(name, function))
    return seen


def test_every_function_is_one_of_scipys():
    for name in _scipy.FUNCTIONS:
        ours, theirs = (list(inspect.signature(getattr(module, name)).parameters) for module in (fft, scipy.fft))
        assert set(theirs) <= set(ours)
        assert ours[:4] == theirs[:4]


@pytest.mark.parametrize("name", ONE_AXIS + SEVERAL_AXES)
def test_scipy_calls_arrive(name, calls, rng):
    x = numbers(rng, (6, 10), np.float32 if name.startswith(("rfft", "ih")) else np.complex64)
    want = exact(name, x)
    with scipy.fft.set_backend(fft, only=True):
        y = getattr(scipy.fft, name)(x)
        second = getattr(scipy.fft, name)(x, None, *((-1,) if name in ONE_AXIS else ((0, 1),)), "ortho", True, 1)
    assert calls == [(name, None), (name, 1)]
    check(y, want, 64, np.float32)
    check(second, exact(name, x, None, -1 if name in ONE_AXIS else (0, 1), "ortho"), 64, np.float32)


def test_what_is_lacking_falls_through(calls, rng):
    x = rng.standard_normal(20)
    with scipy.fft.set_backend(fft):
        np.testing.assert_array_equal(scipy.fft.dct(x), scipy.fft.dct(x))
        scipy.fft.hfftn(x + 0j)
    assert calls == []
    with scipy.fft.set_backend(fft, only=True), pytest.raises(NotImplementedError):
        scipy.fft.dct(x)


def test_scipy_workers(calls):
    cpus = os.cpu_count()
    x = np.ones(8)
    with scipy.fft.set_backend(fft):
        scipy.fft.fft(x)
        scipy.fft.fft(x, workers=-1)
        scipy.fft.fft(x, workers=-cpus)
        with scipy.fft.set_workers(3):
            scipy.fft.fft(x)
        for workers in (0, -cpus - 1):
            with pytest.raises(ValueError, match="workers"):
                scipy.fft.fft(x, workers=workers)
        with pytest.raises(NotImplementedError, match="precomputed plan"):
            scipy.fft.fft(x, plan=1)
    assert [workers for _, workers in calls[:4]] == [None, cpus, 1, 3]


def test_scipy_signal_runs_on_it(calls, rng):
    x, y = rng.standard_normal((2, 500)).astype(np.float32)
    want = scipy.signal.hilbert(x.astype(float)), scipy.signal.fftconvolve(x.astype(float), y)
    with scipy.fft.set_backend(fft, only=True):
        got = scipy.signal.hilbert(x), scipy.signal.fftconvolve(x, y)
    assert len(calls) >= 5
    assert got[0].dtype == np.complex64
    assert got[1].dtype == np.float32
    for a, b in zip(got, want, strict=True):
        assert np.linalg.norm(a - b) <= 2.0**-23 * 10 * np.linalg.norm(b)


def test_overwrite_is_harmless(rng):
    x = numbers(rng, 64, np.complex128)
    before = x.copy()
    with scipy.fft.set_backend(fft, only=True):
        scipy.fft.fft(x, overwrite_x=True)
    np.testing.assert_array_equal(x, before)


def test_longdouble_is_numpys_even_where_numpy_is_patched(monkeypatch):
    monkeypatch.setattr(np.fft, "fft", fft.fft)
    assert np.fft.fft(np.ones(4, np.longdouble)).dtype == np.clongdouble
    assert set(_one_axis.IN_EXTENDED_PRECISION) == {"fft", "ifft", "rfft", "irfft"}
