"""ops.conv_transpose against its definition: every attribute, layout, dtype and value."""

import warnings

import ml_dtypes
import numpy as np
import pytest

import oracles
from accuracy import assert_accurate
from fastspectral import conv_transpose, conv_transpose_shape

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]

# x shape, w shape, attributes; each is a way of its own through phases, classes, tiles or stores.
CASES = {
    "one value": ((1, 1, 1), (1, 1, 1), {}),
    "stride 1": ((2, 3, 40), (3, 5, 4), {}),
    "stride 1, kernel 1": ((2, 3, 17), (3, 7, 1), {}),
    "stride 2 = kernel": ((1, 4, 33), (4, 6, 2), {"strides": [2]}),
    "stride 2, cropped by an odd number": ((2, 3, 37), (3, 13, 4), {"strides": [2], "pads": [1, 1]}),
    "stride 2, uneven phases": ((1, 3, 50), (3, 8, 3), {"strides": [2], "pads": [1, 0]}),
    "stride 3": ((1, 2, 20), (2, 4, 7), {"strides": [3], "pads": [2, 1]}),
    "stride 8": ((1, 16, 21), (16, 9, 16), {"strides": [8], "pads": [4, 4]}),
    "stride 128": ((1, 6, 9), (6, 1, 512), {"strides": [128], "pads": [100, 30]}),
    "holes: stride over kernel": ((2, 2, 9), (2, 3, 2), {"strides": [5]}),
    "dilated": ((1, 3, 25), (3, 4, 3), {"dilations": [3]}),
    "stride and dilation share a factor": ((1, 3, 12), (3, 2, 4), {"strides": [4], "dilations": [6], "pads": [3, 2]}),
    "dilation over input": ((1, 2, 3), (2, 2, 3), {"dilations": [11], "strides": [2]}),
    "padded by dilation": ((1, 2, 4), (2, 2, 2), {"dilations": [3], "output_padding": [2]}),
    "crop longer than the input": ((1, 2, 3), (2, 2, 30), {"pads": [20, 5]}),
    "groups": ((2, 12, 10), (12, 3, 3), {"group": 4, "strides": [2]}),
    "depthwise": ((2, 10, 30), (10, 1, 3), {"group": 10, "pads": [1, 1]}),
    "depthwise with two outputs": ((1, 6, 11), (6, 2, 4), {"group": 6, "strides": [2], "pads": [1, 1]}),
    "2-D": ((2, 3, 9, 20), (3, 4, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
    "2-D, each axis its own": (
        (1, 2, 5, 7),
        (2, 3, 2, 4),
        {"strides": [3, 1], "dilations": [2, 3], "pads": [1, 0, 0, 2], "output_padding": [1, 0]},
    ),
    "2-D, small maps of many images": ((9, 8, 2, 2), (8, 16, 4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "2-D depthwise": ((2, 7, 6, 8), (7, 1, 4, 4), {"group": 7, "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    "2-D, one long line": ((1, 2, 1, 500), (2, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
    "3-D": ((1, 4, 3, 4, 5), (4, 3, 2, 2, 2), {"strides": [2, 2, 2]}),
    "3-D cropped": ((2, 2, 3, 2, 9), (2, 2, 3, 1, 4), {"strides": [1, 3, 2], "pads": [1, 0, 1, 1, 0, 1]}),
    "4-D": ((1, 2, 2, 3, 2, 3), (2, 2, 2, 1, 3, 2), {"strides": [2, 1, 1, 2], "pads": [0, 0, 1, 0, 0, 1, 0, 1]}),
    "output_shape, odd crop": ((1, 2, 5), (2, 2, 3), {"strides": [2], "output_shape": [8]}),
    "output_shape, surplus": ((1, 2, 5), (2, 2, 3), {"strides": [2], "output_shape": [12]}),
    "SAME_UPPER": ((1, 2, 5, 4), (2, 2, 4, 3), {"strides": [2, 1], "auto_pad": "SAME_UPPER"}),
    "SAME_LOWER": ((1, 2, 5, 4), (2, 2, 4, 3), {"strides": [3, 2], "auto_pad": "SAME_LOWER"}),
    "SAME_UPPER with holes": ((1, 2, 5), (2, 2, 1), {"strides": [2], "auto_pad": "SAME_UPPER"}),
    "VALID": ((1, 2, 5), (2, 2, 3), {"strides": [2], "auto_pad": "VALID", "kernel_shape": [3]}),
    "more phases than a plan lists": ((1, 2, 2), (2, 3, 2), {"strides": [20000], "pads": [7, 0]}),
    "many terms": ((1, 200, 12), (200, 8, 5), {}),
    "more positions than a block": ((3, 5, 4000), (5, 2, 3), {"strides": [2], "pads": [1, 1]}),
}


def inputs(rng, x_shape, w_shape, attributes, dtype, bias=True):
    """x, w and b; the terms of an output are at most as many as input channels of a group times taps."""
    channels_out = w_shape[1] * attributes.get("group", 1)
    x, w, b = (rng.standard_normal(shape).astype(dtype) for shape in (x_shape, w_shape, (channels_out,)))
    terms = w_shape[0] // attributes.get("group", 1) * int(np.prod(w_shape[2:])) + 1
    return x, w, b if bias else None, terms


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("name", CASES)
def test_matches_definition(name, dtype, rng):
    x_shape, w_shape, attributes = CASES[name]
    x, w, b, terms = inputs(rng, x_shape, w_shape, attributes, dtype)
    result = conv_transpose(x, w, b, **attributes)
    assert result.dtype == dtype
    assert result.shape == conv_transpose_shape(x.shape, w.shape, b.shape, **attributes)
    # A sum of n products errs by about 0.13 eps sqrt(n) in L2 and twice that at the worst place, less than eps log2(n)
    # up to n = 2000.
    assert_accurate(result, oracles.conv_transpose(x, w, b, **attributes), terms)


@pytest.mark.parametrize("name", CASES)
def test_same_bits_for_any_number_of_workers(name, rng):
    x_shape, w_shape, attributes = CASES[name]
    x, w, b, _ = inputs(rng, x_shape, w_shape, attributes, np.float32)
    one = conv_transpose(x, w, b, workers=1, **attributes)
    assert np.array_equal(one, conv_transpose(x, w, b, workers=2, **attributes))
    assert np.array_equal(one, conv_transpose(x, w, b, workers=-1, **attributes))


def test_without_bias(rng):
    x, w, _, terms = inputs(rng, (2, 3, 9), (3, 4, 2), {}, np.float64)
    attributes = {"strides": [3]}
    result = conv_transpose(x, w, **attributes)
    assert_accurate(result, oracles.conv_transpose(x, w, **attributes), terms)
    assert not result[..., 2::3].any()  # no tap reaches these


def test_outputs_without_taps_hold_the_bias(rng):
    x, w, b, _ = inputs(rng, (2, 3, 9), (3, 4, 2), {}, np.float32)
    assert np.array_equal(conv_transpose(x, w, b, strides=[3])[..., 2::3], np.broadcast_to(b[:, None], (2, 4, 8)))


def test_half_is_rounded_once():
    # 2048 + 1 + 1 is 2050 in float32 and 2048 if every sum is rounded to half.
    x, w = np.array([[[2048.0], [1.0]]], np.float16), np.ones((2, 1, 1), np.float16)
    assert conv_transpose(x, w, np.ones(1, np.float16))[0, 0, 0] == 2050


def test_half_overflows_to_infinity():
    x = np.full((1, 2, 1), 60000, np.float16)
    assert conv_transpose(x, np.ones((2, 1, 1), np.float16))[0, 0, 0] == np.inf


LAYOUTS = {
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "negative strides": lambda a: np.ascontiguousarray(a[..., ::-1])[..., ::-1],
    "transposed": lambda a: np.asfortranarray(a),
    "big-endian": lambda a: a.astype(a.dtype.newbyteorder(">")),
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout(layout, rng):
    x, w, b, _ = inputs(rng, (2, 4, 9, 6), (4, 3, 3, 2), {}, np.float32)
    attributes = {"strides": [2, 2], "pads": [1, 0, 0, 1]}
    changed = [LAYOUTS[layout](array) for array in (x, w, b)]
    assert np.array_equal(conv_transpose(*changed, **attributes), conv_transpose(x, w, b, **attributes))


def test_read_only_and_broadcast_input(rng):
    one, w, b, _ = inputs(rng, (1, 1, 7), (4, 3, 3), {}, np.float64)
    x = np.broadcast_to(one, (5, 4, 7))
    w.flags.writeable = b.flags.writeable = False
    result = conv_transpose(x, w, b)
    assert np.array_equal(result, conv_transpose(x.copy(), w, b))
    assert all(np.array_equal(image, result[0]) for image in result)


def test_lists_become_float64():
    result = conv_transpose([[[1.0, 2.0]]], [[[1.0, 10.0, 100.0]]], [0.5], strides=[2])
    assert result.dtype == np.float64
    assert result.tolist() == [[[1.5, 10.5, 102.5, 20.5, 200.5]]]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_out(dtype, rng):
    x, w, b, _ = inputs(rng, (2, 4, 9, 6), (4, 3, 3, 2), {}, dtype)
    result = conv_transpose(x, w, b, strides=[2, 1])
    out = np.full_like(result, 7)
    assert conv_transpose(x, w, b, strides=[2, 1], out=out) is out
    assert np.array_equal(out, result)
    wide = np.full((2, 3, 19, 14), 7, dtype)
    strided = wide[:, :, ::-1, ::2]
    assert conv_transpose(x, w, b, strides=[2, 1], out=strided) is strided
    assert np.array_equal(strided, result)
    assert (wide[..., 1::2] == 7).all()


def test_writes_nothing_around_out(rng):
    for name, (x_shape, w_shape, attributes) in CASES.items():
        x, w, b, _ = inputs(rng, x_shape, w_shape, attributes, np.float32)
        result = conv_transpose(x, w, b, **attributes)
        memory = np.full(result.size + 128, 7, np.float32)
        out = memory[64:-64].reshape(result.shape)
        conv_transpose(x, w, b, out=out, **attributes)
        assert np.array_equal(out, result), name
        assert (memory[:64] == 7).all(), name
        assert (memory[-64:] == 7).all(), name


def test_out_must_fit(rng):
    x, w, b, _ = inputs(rng, (1, 2, 9), (2, 3, 3), {}, np.float32)
    with pytest.raises(ValueError, match=r"out must have shape \(1, 3, 11\)"):
        conv_transpose(x, w, b, out=np.empty((1, 3, 10), np.float32))
    with pytest.raises(TypeError, match="out must have dtype float32"):
        conv_transpose(x, w, b, out=np.empty((1, 3, 11)))
    with pytest.raises(ValueError, match="overlaps an input"):
        conv_transpose(x, w[:, :2, :1], out=x)
    for out in (w[:1, :, :1], b.reshape(1, 3, 1)):
        with pytest.raises(ValueError, match="overlaps an input"):
            conv_transpose(x[:, :, :1], w[:, :, :1], b, out=out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", ["x", "w", "b", "x and w"])
def test_non_finite_values_reach_the_outputs_of_the_definition(place, value, dtype, rng):
    for name in (
        "stride 2, cropped by an odd number",
        "stride 3",
        "dilated",
        "groups",
        "depthwise",
        "2-D",
        "2-D depthwise",
        "holes: stride over kernel",
        "3-D cropped",
        "more phases than a plan lists",
    ):
        x_shape, w_shape, attributes = CASES[name]
        x, w, b, _ = inputs(rng, x_shape, w_shape, attributes, dtype)
        if "x" in place:
            x[0, -1, ..., -1] = value
        if "w" in place:
            w[0, -1, ..., 0] = value
        if place == "b":
            b[-1] = value
        result = conv_transpose(x, w, b, **attributes)
        with np.errstate(invalid="ignore"):
            exact = oracles.conv_transpose(x, w, b, **attributes)
        assert np.array_equal(np.isnan(result), np.isnan(exact)), name
        assert np.array_equal(result[np.isinf(exact)], exact[np.isinf(exact)]), name
        assert np.isfinite(result[np.isfinite(exact)]).all(), name


def test_infinite_weight_meets_no_padding():
    result = conv_transpose(np.ones((1, 1, 3)), np.array([[[np.inf, 1.0, 1.0]]]))
    assert result.tolist() == [[[np.inf, np.inf, np.inf, 2.0, 1.0]]]


@pytest.mark.parametrize(
    ("x_shape", "w_shape", "attributes", "shape"),
    [
        ((0, 2, 5), (2, 3, 3), {}, (0, 3, 7)),
        ((2, 2, 5), (2, 0, 3), {}, (2, 0, 7)),
        ((2, 0, 5), (0, 3, 3), {}, (2, 3, 7)),
        ((2, 2, 0), (2, 3, 4), {"strides": [2]}, (2, 3, 2)),
        ((2, 2, 0, 4), (2, 3, 4, 1), {"strides": [1, 1]}, (2, 3, 3, 4)),
    ],
    ids=["no images", "no output channels", "no input channels", "no positions", "no positions along one axis"],
)
def test_empty_axes(x_shape, w_shape, attributes, shape, rng):
    x, w, b, _ = inputs(rng, x_shape, w_shape, attributes, np.float32)
    result = conv_transpose(x, w, b, **attributes)
    assert result.shape == shape
    assert np.array_equal(result, np.broadcast_to(b.reshape(-1, *[1] * (len(shape) - 2)), shape))


@pytest.mark.parametrize("position", [1, 2], ids=["w", "b"])
def test_dtypes_must_agree(position, rng):
    arrays = list(inputs(rng, (1, 2, 9), (2, 3, 3), {}, np.float32)[:3])
    arrays[position] = arrays[position].astype(np.float64)
    with pytest.raises(TypeError, match=rf"^{'xwb'[position]} must have the float dtype of x, float32, got float64"):
        conv_transpose(*arrays)


@pytest.mark.parametrize("dtype", [np.int32, np.complex64, np.longdouble, bool])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match="x must be float16, bfloat16, float32 or float64, got"):
        conv_transpose(np.ones((1, 1, 3), dtype), np.ones((1, 1, 3), dtype))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"strides": [0]}, "strides must be at least 1, got"),
        ({"strides": [1, 1]}, "strides must have 1 values"),
        ({"dilations": [-1]}, "dilations must be at least 1, got"),
        ({"pads": [-1, 0]}, "pads must be at least 0, got"),
        ({"pads": [9, 9]}, "output must have a size of at least 1"),
        ({"group": 3}, "group must divide the 4 channels of x, got 3"),
        ({"output_padding": [1]}, "output_padding must be less than the stride or the dilation"),
        ({"output_shape": [40]}, "output_shape must be in"),
        ({"kernel_shape": [4]}, r"kernel_shape must be that of w, \(3,\), got"),
        ({"auto_pad": "SAME"}, "auto_pad must be one of"),
    ],
)
def test_bad_attributes(attributes, message):
    with pytest.raises(ValueError, match=message):
        conv_transpose(np.ones((1, 4, 9)), np.ones((4, 2, 3)), **attributes)


def test_replaced_pads_warn_at_the_call():
    x, w = np.ones((1, 1, 4)), np.ones((1, 1, 3))
    with pytest.warns(UserWarning, match="pads are replaced") as caught:
        conv_transpose(x, w, auto_pad="VALID", pads=[1, 1])
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conv_transpose(x, w, auto_pad="VALID", pads=[0, 0])


@pytest.mark.parametrize("workers", [0, -2, 1.5])
def test_bad_workers(workers):
    with pytest.raises((ValueError, TypeError), match="workers must be a positive integer"):
        conv_transpose(np.ones((1, 1, 4)), np.ones((1, 1, 3)), workers=workers)
