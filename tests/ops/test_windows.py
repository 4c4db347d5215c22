"""The windows against their definition, in all 12 data types."""

import sys
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import oracles
from fastspectral.ops._datatypes import DATATYPES, convert
from fastspectral.ops.windows import blackman_window, hamming_window, hann_window

WINDOWS = {"hann": hann_window, "hamming": hamming_window, "blackman": blackman_window}
SIZES = [1, 2, 3, 4, 5, 8, 10, 15, 16, 25, 100, 255, 256, 400, 512, 1001, 4096, 65536]
EPS = 2.0**-52
windows = pytest.mark.parametrize("kind", WINDOWS)


@windows
@pytest.mark.parametrize("periodic", [True, False], ids=["periodic", "symmetric"])
@pytest.mark.parametrize("size", SIZES)
def test_matches_definition(kind, size, periodic):
    actual = WINDOWS[kind](size, periodic=periodic, output_datatype=np.float64)
    error = np.abs(actual - oracles.window(kind, size, periodic)).max() / EPS
    assert actual.shape == (size,)
    assert error <= 3, f"{error:.2f} eps"  # two cosines of an angle rounded twice, three roundings of a sum up to 1


@windows
@pytest.mark.parametrize("size", SIZES)
def test_symmetric_bit_for_bit(kind, size):
    window = WINDOWS[kind](size, periodic=False, output_datatype=11)
    assert window.tobytes() == window[::-1].tobytes()


@windows
@pytest.mark.parametrize("size", SIZES)
def test_periodic_is_the_beginning_of_the_next_symmetric(kind, size):
    longer = WINDOWS[kind](size + 1, periodic=False, output_datatype=11)
    assert WINDOWS[kind](size, periodic=True, output_datatype=11).tobytes() == longer[:-1].tobytes()


@windows
def test_middle_is_exactly_one_and_integers_keep_only_it(kind):
    for size in range(2, 300, 2):
        window = WINDOWS[kind](size, output_datatype=11)
        assert window[size // 2] == 1.0
        for datatype in (2, 3, 4, 5, 6, 7, 12, 13):
            whole = WINDOWS[kind](size, output_datatype=datatype)
            assert whole.dtype.name == DATATYPES[datatype]
            assert np.array_equal(np.flatnonzero(whole), [size // 2])
            assert whole[size // 2] == 1


def test_ends_are_zero_and_never_negative():
    for size in (2, 3, 10, 101):
        for window in (hann_window, blackman_window):
            values = window(size, periodic=False, output_datatype=11)
            assert values[0] == values[-1] == 0.0
            assert not np.signbit(values).any()


def test_hamming_has_the_coefficients_of_onnx():
    assert hamming_window(10, output_datatype=11)[0] == pytest.approx(4 / 46, abs=2 * EPS)


@windows
def test_sizes_zero_and_one(kind):
    for periodic in (True, False):
        assert WINDOWS[kind](0, periodic=periodic).shape == (0,)
    assert WINDOWS[kind](1, periodic=False).tolist() == [1.0]
    first = WINDOWS[kind](1, output_datatype=11)[0]
    assert first == WINDOWS[kind](8, output_datatype=11)[0] == pytest.approx(float(oracles.window(kind, 1)[0]), abs=EPS)


@windows
def test_periodic_is_truthiness(kind):
    assert np.array_equal(WINDOWS[kind](7, periodic=2), WINDOWS[kind](7, periodic=True))
    assert np.array_equal(WINDOWS[kind](7, periodic=0), WINDOWS[kind](7, periodic=False))


@windows
def test_default_is_float32_rounded_once(kind):
    window = WINDOWS[kind](1001)
    assert window.dtype == np.float32
    assert np.array_equal(window, WINDOWS[kind](1001, output_datatype=11).astype(np.float32))


def nearest(value, dtype):
    """Give the number of `dtype` nearest to a positive float64, of two the even one: by exact fractions."""
    near = np.array([value], np.float32).astype(dtype)
    bits = int(near.view(np.uint16)[0])
    candidates = np.array([max(bits - 1, 0), bits, bits + 1], np.uint16)
    values = candidates.view(dtype).astype(np.float64)
    distances = [
        (abs(Fraction(float(v)) - Fraction(value)), int(b) % 2) for v, b in zip(values, candidates, strict=True)
    ]
    return values[distances.index(min(distances))]


@windows
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=["float16", "bfloat16"])
def test_halves_are_rounded_once(kind, dtype):
    exact = WINDOWS[kind](3001, output_datatype=11)
    window = WINDOWS[kind](3001, output_datatype=dtype)
    assert window.dtype == dtype
    assert window.astype(np.float64).tolist() == [nearest(value, dtype) for value in exact.tolist()]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("beyond", [2.0**-40, -(2.0**-40), 0.0])
@pytest.mark.parametrize("bits", [1, 3, 129, 255])
def test_bfloat16_just_beside_a_tie(bits, beyond, sign):
    tie = (128 + bits / 2) / 128  # between two neighbours where `bits` is odd
    value = tie + beyond
    assert sign * float(convert(np.array([sign * value]), np.dtype(ml_dtypes.bfloat16))[0]) == nearest(
        value, ml_dtypes.bfloat16
    )


@windows
@pytest.mark.parametrize("code", DATATYPES)
def test_code_and_dtype_say_the_same(kind, code):
    by_code = WINDOWS[kind](9, output_datatype=code)
    assert by_code.dtype.name == DATATYPES[code]
    for same in (np.int64(code), by_code.dtype, by_code.dtype.type, DATATYPES[code]):
        assert WINDOWS[kind](9, output_datatype=same).tobytes() == by_code.tobytes()


@windows
@pytest.mark.parametrize("datatype", [0, 8, 9, 14, 17, 999, -1, np.complex64, "U3", np.longdouble, object])
def test_other_data_types_are_refused(kind, datatype):
    if datatype is np.longdouble and np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("long double is double on this platform")
    with pytest.raises(ValueError, match=r"output_datatype must be one of 1 \(float32\), .*16 \(bfloat16\), got"):
        WINDOWS[kind](4, output_datatype=datatype)


@windows
@pytest.mark.parametrize("datatype", [None, True, 1.5, "float33"])
def test_what_is_no_data_type_is_refused(kind, datatype):
    with pytest.raises(TypeError, match="output_datatype must be a TensorProto code or a NumPy dtype, got"):
        WINDOWS[kind](4, output_datatype=datatype)


def test_bfloat16_without_ml_dtypes_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ValueError, match=r"bfloat16 needs the package ml_dtypes.*install"):
        hann_window(4, output_datatype=16)


@windows
@pytest.mark.parametrize(
    ("size", "error", "words"),
    [
        (-3, ValueError, "size must be at least 0, got -3"),
        (np.array([4, 5]), ValueError, "size must be one integer"),
        (4.0, TypeError, "size must be an integer, got 4.0"),
        (True, TypeError, "size must be an integer"),
        (2**61, (ValueError, MemoryError), "larger than any array|Unable to allocate"),
        (2**40, MemoryError, "Unable to allocate"),
    ],
)
def test_bad_sizes_are_refused(kind, size, error, words):
    with pytest.raises(error, match=words):
        WINDOWS[kind](size)


def test_size_as_array_of_one():
    assert np.array_equal(hann_window(np.array([6], np.int32)), hann_window(6))
