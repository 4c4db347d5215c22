"""_arrays: what is taken, what is refused with which words, and where results go."""

import ml_dtypes
import numpy as np
import pytest

from fastspectral._arrays import as_float, as_index, as_indices, as_real, deliver, output

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
def test_float_arrays_come_back_as_they_are(dtype):
    base = np.zeros((4, 6), dtype)
    read_only = base.copy()
    read_only.flags.writeable = False
    for array in (
        base,
        base[::2, ::-3],
        base.T,
        np.broadcast_to(base[0], (3, 6)),
        read_only,
        base[:0],
        base[0, 0:1][0:1],
    ):
        assert as_float(array, "x") is array


def test_python_floats_become_float64():
    for value in (1.5, [1.0, 2.0], [[1.0], [2]], []):
        assert as_float(value, "x").dtype == np.float64


def test_numpy_scalars_keep_their_dtype():
    assert as_float(np.float32(1), "x").dtype == np.float32
    assert as_float([np.float16(1)], "x").dtype == np.float16


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", "<f4"])
def test_byte_order_becomes_native(dtype):
    array = np.array([1.0, -2.5], dtype)
    result = as_float(array, "x")
    assert result.dtype.isnative
    assert result.tolist() == [1.0, -2.5]


def test_unaligned_is_copied():
    packed = np.zeros(3, np.dtype([("flag", np.int8), ("value", np.float32)]))
    packed["value"] = [1, 2, 3]
    assert not packed["value"].flags.aligned
    result = as_float(packed["value"], "x")
    assert result.flags.aligned
    assert result.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (np.arange(3), "x must be float16, bfloat16, float32 or float64, got int64.*x.astype"),
        ([1, 2], "got int64"),
        (np.array([True]), "got bool.*astype"),
        (np.ones(2, np.complex64), "got complex64.*np.stack"),
        (np.ones(2, np.longdouble), "got (float128|float96|longdouble).*float64"),
        (np.array([1.0, None]), "got object"),
        (np.array(["a"]), "got <U1"),
        ("text", "got <U4"),
        (None, "got object"),
        (np.ones(2, ml_dtypes.float8_e4m3fn), "got float8_e4m3fn"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "masked.*filled"),
    ],
)
def test_other_types_are_refused(value, words):
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and not isinstance(value, np.ma.MaskedArray):
        pytest.skip("long double is double on this platform")
    with pytest.raises(TypeError, match=words):
        as_float(value, "x")


def test_ragged_lists_are_refused():
    with pytest.raises(ValueError, match=r"x must be .*evenly nested"):
        as_float([[1.0, 2.0], [3.0]], "x")


@pytest.mark.parametrize(
    "value",
    [
        7,
        np.int8(7),
        np.uint64(7),
        np.array(7),
        np.array([7], np.int32),
        np.array([[7]], np.uint8),
        [7],
        np.array([7], ">i4"),
    ],
    ids=repr,
)
def test_index(value):
    index = as_index(value, "n")
    assert index == 7
    assert type(index) is int


@pytest.mark.parametrize(
    "value", [True, np.True_, 1.0, np.float32(1), np.array([1.0]), "1", None, 1j, [True]], ids=repr
)
def test_index_of_another_type_is_refused(value):
    with pytest.raises(TypeError, match=r"^n must be an integer, got"):
        as_index(value, "n")


def test_index_of_several_or_no_elements_is_refused():
    for value in (np.array([1, 2]), [1, 2], np.zeros((1, 0), np.int64)):
        with pytest.raises(ValueError, match=r"^n must be one integer .*, got shape \("):
            as_index(value, "n")


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, np.uint64(2**64 - 1), np.array([2**63], np.uint64)], ids=repr)
def test_index_never_wraps(value):
    with pytest.raises(ValueError, match="n must fit in int64"):
        as_index(value, "n")
    assert as_index(2**63 - 1, "n") == 2**63 - 1


def test_indices():
    for values in ([1, 2], (1, 2), np.array([1, 2], np.int32), [np.int64(1), np.array([2])], range(1, 3)):
        assert as_indices(values, "pads") == (1, 2)
    assert as_indices([], "pads") == ()


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        (3, TypeError, "pads must be a sequence of integers, got 3"),
        ("12", TypeError, "pads must be a sequence"),
        ([1, 2.0], TypeError, r"pads\[1\] must be an integer"),
        (np.array([1.0]), TypeError, r"pads\[0\] must be an integer"),
        (np.ones((2, 2), int), ValueError, "pads must be a sequence of integers, got an array of shape"),
        (np.array(3), ValueError, "pads must be a sequence"),
    ],
)
def test_other_indices_are_refused(values, error, words):
    with pytest.raises(error, match=words):
        as_indices(values, "pads")


def test_real():
    for value in (
        2.5,
        np.float32(2.5),
        np.array([2.5]),
        np.array(2.5, ml_dtypes.bfloat16),
        np.array([[2.5]], np.float16),
    ):
        assert as_real(value, "hz") == 2.5
    assert as_real(3, "hz") == 3.0
    assert as_real(np.float32(0.1), "hz") == float(np.float32(0.1))


@pytest.mark.parametrize(
    ("value", "error"),
    [(True, TypeError), ("1", TypeError), (1j, TypeError), (None, TypeError), ([1.0, 2.0], ValueError)]
    + [(bad, ValueError) for bad in (np.nan, np.inf, -np.inf)],
)
def test_other_reals_are_refused(value, error):
    with pytest.raises(error, match=r"^hz must be"):
        as_real(value, "hz")


SHAPE = (2, 3)
F4 = np.dtype(np.float32)


def test_output_is_allocated():
    result = output(None, SHAPE, F4)
    assert (result.shape, result.dtype, result.flags.c_contiguous) == (SHAPE, F4, True)
    assert deliver(result, None) is result


def test_contiguous_out_is_written_in_place():
    out = np.zeros(SHAPE, F4)
    written = output(out, SHAPE, F4, np.ones(SHAPE, F4))
    assert written is out
    assert deliver(written, out) is out


@pytest.mark.parametrize(
    "out",
    [
        np.zeros((3, 2), F4).T,
        np.zeros((4, 9), F4)[::2, ::3],
        np.zeros(SHAPE, F4)[::-1, ::-1],
        np.zeros((2, 3), np.dtype([("flag", np.int8), ("value", F4)]))["value"],
        np.zeros((2, 3, 2), F4)[..., 1],
        np.zeros(25, np.int8)[1:].view(F4).reshape(SHAPE),
    ],
    ids=["transposed", "strided", "reversed", "unaligned", "interleaved", "contiguous_unaligned"],
)
def test_out_of_any_strides_is_filled(out):
    written = output(out, SHAPE, F4)
    assert written.flags.c_contiguous
    assert written.flags.aligned
    written[...] = np.arange(6).reshape(SHAPE)
    assert deliver(written, out) is out
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_subclass_of_ndarray_is_filled(tmp_path):
    out = np.memmap(tmp_path / "out", F4, "w+", shape=SHAPE)
    written = output(out, SHAPE, F4)
    assert type(written) is np.ndarray
    written[...] = 5
    assert deliver(written, out) is out
    assert np.all(out == 5)


def read_only():
    array = np.zeros(SHAPE, F4)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("out", "error", "words"),
    [
        ([[0.0] * 3] * 2, TypeError, "out must be a numpy.ndarray, got list"),
        (np.zeros(SHAPE), TypeError, "out must have dtype float32 .*got <f8"),
        (np.zeros(SHAPE, ">f4"), TypeError, "native byte order.*got >f4"),
        (np.zeros((3, 2), F4), ValueError, r"out must have shape \(2, 3\).*got \(3, 2\)"),
        (np.zeros((1, 2, 3), F4), ValueError, r"out must have shape \(2, 3\)"),
        (read_only(), ValueError, "out must be writeable"),
        (np.lib.stride_tricks.as_strided(np.zeros(3, F4), SHAPE, (0, 4)), ValueError, "out must hold every element"),
        (np.lib.stride_tricks.as_strided(np.zeros(4, F4), SHAPE, (4, 4)), ValueError, "out must hold every element"),
    ],
)
def test_unfit_out_is_refused(out, error, words):
    with pytest.raises(error, match=words):
        output(out, SHAPE, F4)


def test_out_that_overlaps_an_input_is_refused():
    buffer = np.zeros(12, F4)
    out, x = buffer[:6].reshape(SHAPE), buffer[3:9].reshape(SHAPE)
    for in_place in (False, True):
        with pytest.raises(ValueError, match=r"out must be .* overlaps an input"):
            output(out, SHAPE, F4, x, in_place=in_place)
    with pytest.raises(ValueError, match="out must be memory apart"):
        output(out, SHAPE, F4, np.ones(3), out)


def test_out_between_the_elements_of_an_input_is_taken():
    buffer = np.zeros((2, 3, 2), F4)
    x, out = buffer[..., 0], buffer[..., 1]
    written = output(out, SHAPE, F4, x)
    written[...] = 1
    deliver(written, out)
    assert not x.any()
    assert out.all()


def test_out_may_be_the_input_itself_where_allowed():
    x = np.zeros(SHAPE, F4)
    assert output(x[:], SHAPE, F4, x, in_place=True) is not None
    with pytest.raises(ValueError, match="overlaps an input"):
        output(x[:], SHAPE, F4, x)
    with pytest.raises(ValueError, match="the input itself"):
        output(x[::-1], SHAPE, F4, x, in_place=True)
    square = np.zeros((2, 2), F4)
    with pytest.raises(ValueError, match="the input itself"):
        output(square.T, (2, 2), F4, square, in_place=True)
    strided = np.zeros((2, 6), F4)[:, ::2]
    assert output(strided, SHAPE, F4, strided, in_place=True).flags.c_contiguous


@pytest.mark.parametrize("shape", [(2**62, 2), (2**64, 1), (2**40,), (2**21, 2**21), (0, 2**62, 4)], ids=str)
def test_too_large_is_an_error(shape):
    with pytest.raises((ValueError, MemoryError), match=r"larger than any array|Unable to allocate"):
        output(None, shape, F4)
