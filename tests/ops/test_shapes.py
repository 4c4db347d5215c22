"""Shape rules: against onnx's shape inference where that is right, else against the rules themselves, row by row."""

import itertools
import warnings

import numpy as np
import onnx
import pytest
from onnx import helper

from fastspectral.ops._shapes import conv_transpose_attributes, conv_transpose_rule, dft_spec, stft_spec
from fastspectral.ops.shapes import conv_transpose_shape, dft_shape, stft_shape


def inferred(op, opset, inputs, **attributes):
    """Infer the output shape of one node.  inputs: shape tuple, int (a constant scalar) or None (left out)."""
    names = ["" if value is None else f"i{k}" for k, value in enumerate(inputs)]
    tensors = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, value)
        for name, value in zip(names, inputs, strict=True)
        if isinstance(value, tuple)
    ]
    constants = [
        helper.make_tensor(name, onnx.TensorProto.INT64, [], [value])
        for name, value in zip(names, inputs, strict=True)
        if isinstance(value, int)
    ]
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    attributes = {name: value for name, value in attributes.items() if value is not None}
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], op, tensors, [result], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    typed = onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type
    return tuple(dim.dim_value for dim in typed.shape.dim)


@pytest.mark.parametrize("dft_length", [None, 1, 4, 5, 9])
@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("axis", [-4, -3, -2, 0, 1, 2])
def test_dft_agrees_with_inference(dft_length, inverse, onesided, axis):
    for parts in (1, 2):
        if onesided and parts != 1 + inverse:
            continue
        shape = (2, 5, 6, parts)
        expected = inferred("DFT", 20, (shape, dft_length, axis), inverse=inverse, onesided=onesided)
        assert dft_shape(shape, dft_length, axis, inverse=inverse, onesided=onesided) == expected


@pytest.mark.parametrize(
    ("shape", "length", "inverse", "onesided", "kind", "n", "keep", "output_shape"),
    [
        ((1, 8, 1), None, 0, 0, "real", 8, 8, (1, 8, 2)),
        ((1, 8, 2), None, 0, 0, "complex", 8, 8, (1, 8, 2)),
        ((1, 8, 1), None, 1, 0, "real", 8, 8, (1, 8, 2)),
        ((1, 8, 2), 5, 1, 0, "complex", 5, 5, (1, 5, 2)),
        ((1, 8, 2), 11, 0, 0, "complex", 11, 8, (1, 11, 2)),
        ((1, 8, 1), 11, 0, 1, "onesided", 11, 8, (1, 6, 2)),
        ((1, 8, 1), 4, 0, 1, "onesided", 4, 4, (1, 3, 2)),
        ((1, 5, 2), None, 1, 1, "inverse_onesided", 8, 5, (1, 8, 1)),
        ((1, 5, 2), 9, 1, 1, "inverse_onesided", 9, 5, (1, 9, 1)),
        ((1, 3, 2), 3, 1, 1, "inverse_onesided", 3, 2, (1, 3, 1)),
        ((1, 3, 2), 8, 1, 1, "inverse_onesided", 8, 3, (1, 8, 1)),
        ((1, 1, 2), 1, 1, 1, "inverse_onesided", 1, 1, (1, 1, 1)),
        ((1, 0, 1), 4, 0, 0, "real", 4, 0, (1, 4, 2)),
        ((0, 8, 2), None, 0, 0, "complex", 8, 8, (0, 8, 2)),
    ],
)
def test_dft_reads_and_writes(shape, length, inverse, onesided, kind, n, keep, output_shape):
    for axis in (1, -2):
        assert dft_spec(shape, length, axis, inverse, onesided) == (kind, n, keep, 1, output_shape)


def test_dft_of_rank_2_and_of_the_first_axis():
    assert dft_shape((7, 1)) == (7, 2)
    assert dft_shape((7, 3, 2), axis=0) == (7, 3, 2)
    assert dft_shape((1, 2, 3, 1)) == (1, 2, 3, 2)
    assert dft_spec((1, 2, 3, 1), None, -2, False, False).axis == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((5,),), r"input must have rank 2 or more, got shape \(5,\).*np.newaxis"),
        (((),), "input must have rank 2"),
        (
            ((1, 5, 1), None, -1),
            r"axis must be in \[-3, -2\] or \[0, 1\] for an input of rank 3, got -1 \(the last axis",
        ),
        (((1, 5, 1), None, 2), "axis must be in .*got 2"),
        (((1, 5, 1), None, 3), "axis must be in .*got 3"),
        (((1, 5, 1), None, -4), "axis must be in .*got -4"),
        (((1, 5),), r"last axis of input must have size 1 .real. or 2 .*got shape \(1, 5\).*newaxis"),
        (((1, 5, 3),), "last axis of input must have size 1"),
        (((1, 5, 0),), "last axis of input must have size 1"),
        (((1, 5, 1), 0), "dft_length must be at least 1, got 0"),
        (((1, 5, 1), -1), "dft_length must be at least 1, got -1"),
        (((1, 0, 1),), "dft_length must be given for an input of size 0 along axis 1"),
        (((1, 5, -1),), "shape must hold sizes of at least 0"),
        (((1, 5, 1), 2**63), "dft_length must fit in int64"),
        (((1, 5, 1), [4, 4]), "dft_length must be one integer"),
    ],
)
def test_dft_errors(arguments, words):
    with pytest.raises(ValueError, match=words):
        dft_shape(*arguments)


def test_dft_onesided_errors():
    with pytest.raises(ValueError, match="onesided=True needs a real input"):
        dft_shape((1, 5, 2), onesided=True)
    with pytest.raises(ValueError, match="inverse=True with onesided=True needs complex bins"):
        dft_shape((1, 5, 1), onesided=True, inverse=True)
    for bins in (0, 1):
        with pytest.raises(ValueError, match=f"fewer than 2 bins, got {bins} along axis 1"):
            dft_shape((1, bins, 2), onesided=True, inverse=True)


@pytest.mark.parametrize("axis", [1.0, True, None, "1"])
def test_dft_axis_of_another_type(axis):
    with pytest.raises(TypeError, match="axis must be an integer"):
        dft_shape((1, 5, 1), None, axis)


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("length", [16, 100, 101])
@pytest.mark.parametrize("step", [1, 7, 16, 500])
def test_stft_agrees_with_inference(onesided, parts, length, step):
    shape = (3, length, parts)
    for window, frame in [((16,), None), ((16,), 16), (None, 16), (None, 15)]:
        expected = inferred("STFT", 17, (shape, step, window, frame), onesided=onesided)
        assert stft_shape(shape, step, window, frame, onesided=onesided) == expected


@pytest.mark.parametrize(
    ("arguments", "spec"),
    [
        (((1, 128, 1), 8, None, 16, True), (False, 1, 128, 16, 8, 15, 9, (1, 15, 9, 2))),
        (((1, 128), 8, None, 16, True), (False, 1, 128, 16, 8, 15, 9, (1, 15, 9, 2))),
        (((2, 10, 2), 3, None, 4, True), (True, 2, 10, 4, 3, 3, 3, (2, 3, 3, 2))),
        (((2, 10, 2), 3, None, 4, False), (True, 2, 10, 4, 3, 3, 4, (2, 3, 4, 2))),
        (((1, 1024, 1), 256, None, 1024, True), (False, 1, 1024, 1024, 256, 1, 513, (1, 1, 513, 2))),
        (((1, 20, 1), 3, None, None, True), (False, 1, 20, 20, 3, 1, 11, (1, 1, 11, 2))),
        (((1, 20, 1), 3, (8,), None, True), (False, 1, 20, 8, 3, 5, 5, (1, 5, 5, 2))),
        (((1, 20, 1), 99, (8,), 8, True), (False, 1, 20, 8, 99, 1, 5, (1, 1, 5, 2))),
        (((0, 20, 1), 4, (8,), 8, True), (False, 0, 20, 8, 4, 4, 5, (0, 4, 5, 2))),
    ],
)
def test_stft_frames(arguments, spec):
    assert stft_spec(*arguments) == spec


def test_stft_counts_frames_in_integers():
    # The quotient is a hair below 2: 2.0 in float32, which would make the third frame.
    length, step = 2**25 + 1, 2**24
    assert np.float32(length - 2) / np.float32(step) == 2
    assert stft_shape((1, length, 1), step, None, 2) == (1, 2, 2, 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (((1, 10, 1), 0, None, 4), "frame_step must be at least 1, got 0"),
        (((1, 10, 1), -2, None, 4), "frame_step must be at least 1, got -2"),
        (((1, 10, 1), 2, None, 0), "frame_length must be at least 1, got 0"),
        (((1, 10, 1), 2, None, -4), "frame_length must be at least 1, got -4"),
        (((1, 10, 1), 2, (0,), None), "window must have at least one element"),
        (((1, 10, 1), 2, (4, 1), None), r"window must have one dimension, got shape \(4, 1\)"),
        (((1, 10, 1), 2, (), 4), r"window must have one dimension, got shape \(\)"),
        (((1, 10, 1), 2, (5,), 4), "window must have frame_length = 4 elements, got 5"),
        (((1, 10, 1), 2, (3,), 4), "window must have frame_length = 4 elements, got 3"),
        (((1, 10, 1), 2, None, 11), "frame_length must be at most the signal's length 10, got 11"),
        (((1, 10, 1), 2, (11,), None), "the size of window must be at most the signal's length 10, got 11"),
        (((1, 0, 1), 2, None, None), "signal must have at least one sample"),
        (((10,), 2, None, 4), r"signal must have shape \(batch, length\).*got \(10,\).*newaxis"),
        (((1, 10, 3), 2, None, 4), "signal must have shape"),
        (((1, 1, 10, 1), 2, None, 4), "signal must have shape"),
    ],
)
def test_stft_errors(arguments, words):
    with pytest.raises(ValueError, match=words):
        stft_shape(*arguments)


@pytest.mark.parametrize(
    ("auto_pad", "strides", "dilations", "pads", "output_padding"),
    [
        *itertools.product(["NOTSET", "VALID"], [None, [2, 3]], [None, [3, 1]], [None, [1, 0, 2, 1]], [None, [0, 0]]),
        ("NOTSET", [2, 3], None, [1, 0, 2, 1], [1, 2]),
        ("SAME_UPPER", [2, 3], None, None, None),
        ("SAME_LOWER", [2, 3], [2, 1], None, None),
    ],
)
def test_conv_transpose_agrees_with_inference(auto_pad, strides, dilations, pads, output_padding):
    if auto_pad == "VALID" and pads is not None:
        pads = None  # inference refuses both
    attributes = {
        "auto_pad": auto_pad,
        "strides": strides,
        "dilations": dilations,
        "pads": pads,
        "output_padding": output_padding,
    }
    for group in (1, 2):
        x, w, b = (3, 4, 5, 6), (4, 3, 3, 4), (3 * group,)
        expected = inferred("ConvTranspose", 22, (x, w, b), group=group, **attributes)
        assert conv_transpose_shape(x, w, b, group=group, **attributes) == expected


def line(size, taps, **attributes):
    """Begin pad and output size of one spatial axis."""
    given = {"auto_pad": "NOTSET", "dilations": None, "group": 1, "kernel_shape": None, "output_padding": None}
    given |= {"output_shape": None, "pads": None, "strides": None} | attributes
    attributes = conv_transpose_attributes(**given)
    spec = conv_transpose_rule((1, 1, size), (1, 1, taps), None, *attributes)
    return spec.begins[0], spec.output[0]


# Input 5, kernel 3, stride 2: everything together is 11 long.
@pytest.mark.parametrize(
    ("attributes", "begin", "size"),
    [
        ({}, 0, 11),
        ({"pads": [1, 2]}, 1, 8),
        ({"auto_pad": "VALID"}, 0, 11),
        ({"auto_pad": "VALID", "output_padding": [1]}, 0, 12),
        ({"output_shape": [10]}, 1, 10),
        ({"output_shape": [10], "auto_pad": "VALID"}, 1, 10),
        ({"output_shape": [10], "auto_pad": "SAME_UPPER"}, 0, 10),
        ({"output_shape": [10], "auto_pad": "SAME_LOWER"}, 1, 10),
        ({"output_shape": [8]}, 2, 8),
        ({"output_shape": [8], "auto_pad": "SAME_UPPER"}, 1, 8),
        ({"output_shape": [8], "auto_pad": "SAME_LOWER"}, 2, 8),
        ({"output_shape": [12]}, 0, 12),
        ({"output_shape": [12], "auto_pad": "SAME_UPPER"}, 0, 12),
        ({"output_shape": [12], "auto_pad": "SAME_LOWER"}, 0, 12),
        ({"output_shape": [4]}, 4, 4),
        ({"output_shape": [1]}, 5, 1),
        ({"output_shape": [10], "pads": [0, 1]}, 1, 10),
        ({"output_shape": [10], "pads": [3, 3]}, 1, 10),
        ({"output_shape": [1, 1, 10]}, 1, 10),
        ({"output_shape": [11], "output_padding": [1]}, 1, 11),
        ({"output_shape": [14], "dilations": [4]}, 2, 14),
        ({"output_shape": [18], "dilations": [4]}, 0, 18),
        ({"auto_pad": "SAME_UPPER"}, 0, 10),
        ({"auto_pad": "SAME_LOWER"}, 1, 10),
        ({"auto_pad": "SAME_UPPER", "output_padding": [1]}, 1, 10),
        ({"auto_pad": "SAME_LOWER", "output_padding": [1]}, 1, 10),
        ({"output_padding": [0, 0, 1]}, 0, 12),
        ({"output_padding": [2], "dilations": [3], "strides": [1]}, 0, 13),
        ({"pads": [5, 5]}, 5, 1),
    ],
    ids=str,
)
def test_begin_and_size(attributes, begin, size):
    assert line(5, 3, **({"strides": [2]} | attributes)) == (begin, size)


def test_begin_and_size_of_other_lines():
    assert line(5, 1, strides=[2], auto_pad="SAME_UPPER") == (0, 10)  # surplus at the end
    assert line(5, 1, strides=[2], auto_pad="SAME_LOWER") == (0, 10)
    assert line(0, 4, strides=[2]) == (0, 2)
    assert line(2, 3, dilations=[5], pads=[5, 5]) == (5, 2)


def test_conv_transpose_rule_holds_everything():
    attributes = ("NOTSET", [2, 1], 2, [3, 4], [1, 0], None, np.array([1, 0, 2, 1]), (3, np.int64(2)))
    spec = conv_transpose_rule((3, 4, 5, 6), (4, 3, 3, 4), (6,), *conv_transpose_attributes(*attributes))
    assert spec._asdict() == {
        "batch": 3,
        "in_channels": 4,
        "out_channels": 6,
        "group": 2,
        "input": (5, 6),
        "kernel": (3, 4),
        "strides": (3, 2),
        "dilations": (2, 1),
        "begins": (1, 0),
        "output": (15, 13),
        "output_shape": (3, 6, 15, 13),
    }


def test_conv_transpose_of_no_batch_and_no_channels():
    assert conv_transpose_shape((0, 1, 3), (1, 1, 3), strides=[2]) == (0, 1, 7)
    assert conv_transpose_shape((1, 0, 3), (0, 2, 3)) == (1, 2, 5)
    assert conv_transpose_shape((1, 2, 3), (2, 0, 3), (0,)) == (1, 0, 5)
    assert conv_transpose_shape((1, 1, 2, 2, 2, 2), (1, 1, 3, 3, 3, 3)) == (1, 1, 4, 4, 4, 4)


X, W = (1, 2, 5), (2, 3, 3)


@pytest.mark.parametrize(
    ("shapes", "attributes", "words"),
    [
        (((1, 2), (2, 3)), {}, r"x must have shape \(batch, channels, size, ...\).*got \(1, 2\)"),
        ((X, (2, 3, 3, 3)), {}, r"w must have the rank of x, 3, got shape \(2, 3, 3, 3\)"),
        ((X, (1,)), {}, "w must have the rank of x, 3"),
        ((X, (3, 3, 3)), {}, r"w must have 2 input channels .*got shape \(3, 3, 3\)"),
        ((X, (2, 3, 0)), {}, "kernel must have at least one tap"),
        ((X, W, (2,)), {}, r"b must have shape \(3,\).*got \(2,\)"),
        ((X, W, (4,)), {}, r"b must have shape \(3,\).*got \(4,\)"),
        ((X, W, (3, 1)), {}, r"b must have shape \(3,\)"),
        ((X, W), {"group": 0}, "group must be at least 1, got 0"),
        (((1, 3, 5), (3, 1, 2)), {"group": 2}, "group must divide the 3 channels of x, got 2"),
        ((X, W), {"kernel_shape": [2]}, r"kernel_shape must be that of w, \(3,\), got \(2,\)"),
        ((X, W), {"auto_pad": "SAME"}, "auto_pad must be one of NOTSET, SAME_UPPER, SAME_LOWER, VALID, got 'SAME'"),
        ((X, W), {"strides": [0]}, r"strides must be at least 1, got \(0,\)"),
        ((X, W), {"strides": [1, 1]}, r"strides must have 1 values .*got \(1, 1\)"),
        ((X, W), {"dilations": [-1]}, "dilations must be at least 1"),
        ((X, W), {"dilations": []}, "dilations must have 1 values"),
        ((X, W), {"pads": [-1, 0]}, r"pads must be at least 0, got \(-1, 0\)"),
        ((X, W), {"pads": [1]}, r"pads must have 2 values .all begins, then all ends., got \(1,\)"),
        ((X, W), {"pads": [4, 3]}, r"output must have a size of at least 1 .*got \(0,\)"),
        ((X, W), {"pads": [9, 9]}, "output must have a size of at least 1"),
        ((X, W), {"output_padding": [-1]}, "output_padding must be at least 0"),
        ((X, W), {"output_padding": [1]}, "output_padding must be less than .*got 1 for spatial axis 0 with stride 1"),
        ((X, W), {"output_padding": [2], "strides": [2]}, "output_padding must be less than"),
        ((X, W), {"output_padding": [1, 0, 1], "strides": [2]}, r"output_padding must have 1 values .*got \(1, 0, 1\)"),
        ((X, W), {"output_shape": [0]}, "output_shape must be at least 1"),
        ((X, W), {"output_shape": [-2]}, "output_shape must be at least 1"),
        ((X, W), {"output_shape": [8]}, r"output_shape must be in \[1, 7\] along spatial axis 0, got 8"),
        ((X, W), {"output_shape": [14], "strides": [2]}, r"output_shape must be in \[1, 12\]"),
        ((X, W), {"output_shape": [13], "strides": [2], "output_padding": [1]}, r"output_shape must be in \[1, 12\]"),
        ((X, W), {"output_shape": [2, 3, 7]}, r"output_shape must have 1 values .*got \(2, 3, 7\)"),
        (((1, 2, 0), W), {"auto_pad": "SAME_UPPER"}, "output must have a size of at least 1"),
        (((1, 2, 0), (2, 3, 1)), {}, "output must have a size of at least 1"),
        ((X, W), {"dilations": [2**62]}, "must fit in int64"),
        ((X, W), {"strides": [2**64]}, r"strides\[0\] must fit in int64"),
        (((-1, 2, 5), W), {}, "x_shape must hold sizes of at least 0"),
    ],
)
def test_conv_transpose_errors(shapes, attributes, words):
    with pytest.raises(ValueError, match=words):
        conv_transpose_shape(*shapes, **attributes)


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"strides": 2}, "strides must be a sequence of integers, got 2"),
        ({"pads": [0.0, 0.0]}, r"pads\[0\] must be an integer"),
        ({"group": 1.0}, "group must be an integer"),
        ({"auto_pad": b"VALID"}, "auto_pad must be one of"),
        ({"auto_pad": None}, "auto_pad must be one of"),
    ],
)
def test_conv_transpose_attributes_of_another_type(attributes, words):
    with pytest.raises(TypeError, match=words):
        conv_transpose_shape(X, W, **attributes)


@pytest.mark.parametrize("auto_pad", ["VALID", "SAME_UPPER", "SAME_LOWER"])
def test_replaced_pads_are_warned_of_on_every_call(auto_pad):
    for _ in range(3):
        with pytest.warns(UserWarning, match=f"pads are replaced by those of auto_pad='{auto_pad}', got") as caught:
            shape = conv_transpose_shape(X, W, auto_pad=auto_pad, pads=[1, 0])
        assert caught[0].filename == __file__
        assert shape == conv_transpose_shape(X, W, auto_pad=auto_pad)


def test_nothing_else_is_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        conv_transpose_shape(X, W, auto_pad="VALID", pads=[0, 0])
        conv_transpose_shape(X, W, output_shape=[6], pads=[1, 0])
        conv_transpose_shape(X, W, pads=np.array([1, 0]))


def test_shapes_may_be_lists_and_arrays():
    assert dft_shape([1, 8, 1], np.array([4]), np.int32(1)) == (1, 4, 2)
    assert stft_shape(np.array([1, 8, 1]), np.array(2), [4]) == (1, 3, 3, 2)
    assert conv_transpose_shape(list(X), np.array(W), strides=np.array([2])) == (1, 3, 11)
