"""InferenceSession against plain onnxruntime, whatever way the graph runs around the nodes it is cut at."""

import concurrent.futures
import subprocess
import sys
import weakref

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import fastspectral
import onnx_models as oracle
from fastspectral.onnx import InferenceSession
from fastspectral.onnx.operators import OPERATORS
from onnx_models import make_model, run_onnxruntime, tensor

EPS = float(np.finfo(np.float32).eps)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
node = helper.make_node


@pytest.fixture
def x():
    # Lengths are powers of two: there, onnxruntime's own float32 DFT errs by a few eps, elsewhere by up to 1e-3.
    return np.random.default_rng(7).standard_normal((2, 16, 1)).astype(np.float32)


def session_of(model, *args):
    return InferenceSession(model.SerializeToString(), *args)


def assert_close(actual, expected, multiple=16):
    """Compare kind, dtype and shape, and values to `multiple` eps of the largest."""
    assert type(actual) is type(expected)
    if isinstance(expected, list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            assert_close(one, other, multiple)
        return
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if expected.dtype.kind == "f":
        scale = np.max(np.abs(expected), initial=0.0)
        assert np.max(np.abs(actual - expected), initial=0.0) <= multiple * EPS * scale
    else:
        np.testing.assert_array_equal(actual, expected)


def assert_as_onnxruntime(model, feeds):
    """All outputs, and every output alone, are those of plain onnxruntime; give the session."""
    session = session_of(model)
    expected = run_onnxruntime(model, feeds)
    names = [output.name for output in session.get_outputs()]
    assert_close(session.run(None, feeds), expected)
    for name, value in zip(names, expected, strict=True):
        assert_close(session.run([name], feeds), [value])
    return session


def runners(session):
    """Give who runs every node, by name."""
    return {record.node: record.runner for record in session.report()}


def part_count(session, runner):
    return len({record.part for record in session.report() if record.runner == runner and record.part is not None})


TOPOLOGIES = {
    "only our node": ([node("DFT", ["x"], ["y"])], ["y"], 1, 0),
    "between nodes": ([node("Neg", ["x"], ["a"]), node("DFT", ["a"], ["b"]), node("Abs", ["b"], ["y"])], ["y"], 1, 2),
    "two in series": ([node("DFT", ["x"], ["a"]), node("DFT", ["a"], ["y"], inverse=1)], ["y"], 2, 0),
    "three in series, nodes between": (
        [
            node("DFT", ["x"], ["a"]),
            node("Neg", ["a"], ["b"]),
            node("DFT", ["b"], ["c"], inverse=1),
            node("Abs", ["c"], ["d"]),
            node("DFT", ["d"], ["y"]),
        ],
        ["y"],
        3,
        2,
    ),
    "two in parallel": (
        [
            node("DFT", ["x"], ["a"]),
            node("Neg", ["x"], ["b"]),
            node("DFT", ["b"], ["c"]),
            node("Sub", ["a", "c"], ["y"]),
        ],
        ["y"],
        2,
        2,
    ),
    "one deep and one shallow branch": (
        [
            node("DFT", ["x"], ["a"]),
            node("Neg", ["a"], ["b"]),
            node("DFT", ["b"], ["c"]),
            node("Neg", ["x"], ["d"]),
            node("DFT", ["d"], ["e"]),
            node("Mul", ["c", "e"], ["y"]),
        ],
        ["y"],
        3,
        3,
    ),
    "result read twice and an output": (
        [node("DFT", ["x"], ["a"]), node("Neg", ["a"], ["b"]), node("Mul", ["a", "b"], ["c"])],
        ["a", "c", "b"],
        1,
        1,
    ),
    "part's result is an output and read": (
        [node("Neg", ["x"], ["a"]), node("DFT", ["a"], ["b"]), node("Add", ["a", "b"], ["c"])],
        ["a", "b", "c"],
        1,
        2,
    ),
    "input is an output": ([node("DFT", ["x"], ["y"])], ["x", "y"], 1, 0),
    "input skips the cut": ([node("DFT", ["x"], ["a"]), node("Add", ["a", "x"], ["y"])], ["y"], 1, 1),
    "no node of ours": ([node("Neg", ["x"], ["y"])], ["y"], 0, 1),
    "node twice the same input": ([node("DFT", ["x"], ["a"]), node("Mul", ["a", "a"], ["y"])], ["y"], 1, 1),
    "several outputs of one part cross": (
        [
            node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2),
            node("DFT", ["a"], ["c"]),
            node("Add", ["b", "c"], ["y"]),
        ],
        ["y"],
        1,
        2,
    ),
    "unused outputs and dead nodes": (
        [
            node("Neg", ["x"], ["a"]),
            node("DFT", ["a"], ["dead"]),
            node("DFT", ["x"], ["y"]),
            node("Abs", ["a"], ["gone"]),
        ],
        ["y"],
        1,
        0,
    ),
    "nodes not sorted": (
        [node("Abs", ["b"], ["y"]), node("DFT", ["a"], ["b"]), node("Neg", ["x"], ["a"])],
        ["y"],
        1,
        2,
    ),
    "the other spelling of the domain": ([node("DFT", ["x"], ["y"], domain="ai.onnx")], ["y"], 1, 0),
}


@pytest.mark.parametrize("name", TOPOLOGIES)
def test_topology(name, x):
    nodes, outputs, served, parts = TOPOLOGIES[name]
    model = make_model(nodes, [tensor("x", ["b", "n", 1])], outputs)
    session = assert_as_onnxruntime(model, {"x": x})
    assert part_count(session, "fastspectral") == served
    assert part_count(session, "onnxruntime") == parts


def test_nodes_run_as_late_as_they_may(x):
    """What only the last part reads is computed there, so that it need not cross the cut."""
    nodes = [node("Neg", ["x"], ["a"]), node("DFT", ["x"], ["b"]), node("Add", ["a", "b"], ["y"], name="add")]
    session = assert_as_onnxruntime(make_model(nodes, [tensor("x", ["b", "n", 1])], ["y"]), {"x": x})
    parts = {record.node: record.part for record in session.report()}
    assert parts["a"] == parts["add"] == 1


def test_input_given_back_is_a_copy(x):
    session = session_of(make_model([node("DFT", ["x"], ["y"])], [tensor("x", ["b", "n", 1])], ["x", "y"]))
    same, _ = session.run(None, {"x": x})
    assert not np.shares_memory(same, x)


def test_dft_axis_by_opset():
    """The default axis is 1 before opset 20 and -2 from then on."""
    x = np.random.default_rng(0).standard_normal((2, 4, 8, 1)).astype(np.float32)
    for opset, axis in [(17, 1), (19, 1), (20, 2)]:
        model = make_model([node("DFT", ["x"], ["y"])], [tensor("x", None)], ["y"], opset=opset)
        assert_close(session_of(model).run(None, {"x": x}), [oracle.dft(x, axis=axis)])
    model = make_model([node("DFT", ["x"], ["y"], axis=-2, onesided=1)], [tensor("x", None)], ["y"], opset=17)
    assert_close(session_of(model).run(None, {"x": x}), [oracle.dft(x, axis=2, onesided=True)])


@pytest.mark.parametrize("source", ["initializer", "constant", "constant_int", "input", "computed"])
def test_scalars_from_everywhere(source, x):
    """dft_length and axis as initialisers, Constant nodes, graph inputs and results of other nodes; "" in between."""
    inputs, initializers, nodes, feeds = [tensor("x", ["b", "n", 1])], {}, [], {"x": x}
    if source == "initializer":
        initializers["axis"] = np.int64(1)
    elif source == "constant":
        nodes.append(node("Constant", [], ["axis"], value=helper.make_tensor("v", TensorProto.INT64, [], [1])))
    elif source == "constant_int":
        nodes.append(node("Constant", [], ["axis"], value_int=1))
    elif source == "input":
        inputs.append(tensor("axis", [], TensorProto.INT64))
        feeds["axis"] = np.array(1)
    else:
        nodes += [node("Shape", ["x"], ["s"], start=2), node("Squeeze", ["s"], ["axis"])]
    nodes.append(node("DFT", ["x", "", "axis"], ["y"], onesided=1))
    session = assert_as_onnxruntime(make_model(nodes, inputs, ["y"], initializers), feeds)
    assert runners(session)["y"] == "fastspectral"


@pytest.mark.parametrize("rank", [2, 3])
def test_stft_ignores_wrong_stored_shapes(rank):
    """Onnx's shape inference takes the missing attribute onesided for 0: the stored shapes contradict the result."""
    signal = np.random.default_rng(1).standard_normal((2, 64, 1)[:rank]).astype(np.float32)
    nodes = [
        node("Neg", ["signal"], ["negated"]),
        node("STFT", ["negated", "step", "window"], ["spectrum"]),
        node("Neg", ["spectrum"], ["y"]),
    ]
    model = make_model(
        nodes, [tensor("signal", signal.shape)], [tensor("y", None)], {"step": 4, "window": np.hanning(16).astype("f4")}
    )
    wrong = tensor("spectrum", [2, 13, 16, 2])
    model.graph.value_info.append(wrong)
    session = session_of(model)
    (y,) = session.run(None, {"signal": signal})
    assert_close(y, oracle.stft(signal, 4, np.hanning(16).astype(np.float32)))


def test_all_seven_operators_in_one_model():
    """Mel spectrogram and a transposed convolution, windows and filters from constants."""
    nodes = [
        node("HannWindow", ["size"], ["hann"]),
        node("HammingWindow", ["size"], ["hamming"], periodic=0),
        node("BlackmanWindow", ["size"], ["blackman"]),
        node("Add", ["hann", "hamming"], ["two"]),
        node("Add", ["two", "blackman"], ["window"]),
        node("STFT", ["signal", "step", "window"], ["spectrum"], onesided=1),
        node("ReduceSumSquare", ["spectrum", "last"], ["power"], keepdims=0),
        node("MelWeightMatrix", ["mels", "size", "rate", "low", "high"], ["filters"]),
        node("MatMul", ["power", "filters"], ["mel"]),
        node("ConvTranspose", ["mel", "kernel"], ["up"], strides=[2], auto_pad="SAME_UPPER"),
        node("Unsqueeze", ["up", "last"], ["line"]),
        node("DFT", ["line"], ["y"]),
    ]
    rng = np.random.default_rng(2)
    constants = {
        "size": np.int64(16),
        "step": np.int64(8),
        "last": np.array([-1]),
        "mels": np.int64(8),
        "rate": np.int64(8000),
        "low": np.float32(0),
        "high": np.float32(4000),
        "kernel": rng.standard_normal((7, 3, 3)).astype(np.float32),
    }
    model = make_model(nodes, [tensor("signal", [1, "n"])], ["y", "mel"], constants)
    signal = rng.standard_normal((1, 64)).astype(np.float32)
    session = session_of(model)
    for actual, expected in zip(
        session.run(None, {"signal": signal}), run_onnxruntime(model, {"signal": signal}), strict=True
    ):
        assert_close(actual, expected, 64)
    ours = {record.op_type for record in session.report() if record.runner == "fastspectral"}
    assert ours == set(OPERATORS)


# Constants


def test_constant_nodes_run_once(monkeypatch):
    """A window of constants, also through a node of onnxruntime's, is computed when the session is created."""
    calls = []
    original = fastspectral.hann_window

    def counting(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    monkeypatch.setattr(fastspectral, "hann_window", counting)
    nodes = [
        node("Constant", [], ["half"], value_int=8),
        node("Add", ["half", "half"], ["size"]),
        node("HannWindow", ["size"], ["window"], name="hann"),
        node("Mul", ["window", "window"], ["y"]),
        node("STFT", ["signal", "half", "window"], ["spectrum"]),
    ]
    model = make_model(nodes, [tensor("signal", [1, "n"])], ["y", "spectrum", "window"])
    session = session_of(model)
    signal = np.random.default_rng(3).standard_normal((1, 40)).astype(np.float32)
    expected = run_onnxruntime(model, {"signal": signal})
    for _ in range(2):
        results = session.run(None, {"signal": signal})
        assert_close(results, expected)
        results[2][:] = np.nan  # the caller's own
    assert len(calls) == 1
    (record,) = [record for record in session.report() if record.node == "hann"]
    assert record == ("hann", "HannWindow", "fastspectral", None, None, "constant")


def test_bad_constants_are_told_when_the_session_is_created():
    model = make_model([node("HannWindow", ["size"], ["y"])], [], ["y"], {"size": np.int64(-1)})
    with pytest.raises(ValueError, match="size"):
        session_of(model)


def test_random_nodes_are_no_constants():
    nodes = [node("RandomNormal", [], ["r"], shape=[1, 8, 1]), node("DFT", ["r"], ["y"])]
    session = session_of(make_model(nodes, [], ["y"]))
    first, second = session.run(None, {}), session.run(None, {})
    assert not np.array_equal(first[0], second[0])


def test_constant_expressions_stay_in_the_part_that_reads_them(x):
    """Transposed weights are folded by onnxruntime where they are used, in both parts; nothing crosses the cut."""
    nodes = [
        node("Transpose", ["w"], ["t"], name="transpose"),
        node("MatMul", ["t", "x"], ["a"]),
        node("DFT", ["a"], ["b"]),
        node("MatMul", ["t", "b"], ["y"]),
    ]
    weights = np.random.default_rng(4).standard_normal((16, 16)).astype(np.float32)
    session = assert_as_onnxruntime(make_model(nodes, [tensor("x", [2, 16, 1])], ["y"], {"w": weights}), {"x": x})
    assert [record.part for record in session.report() if record.node == "transpose"] == [0, 2]


def test_outputs_that_are_constants(x):
    nodes = [node("DFT", ["x"], ["y"]), node("Neg", ["w"], ["n"]), node("Identity", ["w"], ["v"])]
    model = make_model(nodes, [tensor("x", [2, 16, 1])], ["w", "n", "y", "v"], {"w": np.arange(3.0)})
    session = assert_as_onnxruntime(model, {"x": x})
    session.run(["w"], {"x": x})[0][:] = np.nan
    np.testing.assert_array_equal(session.run(["w"], {"x": x})[0], np.arange(3.0))


def test_initializers_that_are_inputs_can_be_replaced(x):
    """From IR version 4 on they are defaults, of parts and of our nodes alike."""
    nodes = [
        node("Mul", ["x", "scale"], ["a"]),
        node("DFT", ["a", "length"], ["b"]),
        node("Mul", ["b", "scale"], ["y"]),
    ]
    inputs = [tensor("x", ["b", "n", 1]), tensor("scale", []), tensor("length", [], TensorProto.INT64)]
    model = make_model(nodes, inputs, ["y"], {"scale": np.float32(2), "length": np.int64(8)})
    session = assert_as_onnxruntime(model, {"x": x})
    assert [argument.name for argument in session.get_inputs()] == ["x"]
    assert [argument.name for argument in session.get_overridable_initializers()] == ["scale", "length"]
    assert_as_onnxruntime(model, {"x": x, "scale": np.array(3, np.float32)})
    assert_as_onnxruntime(model, {"x": x, "length": np.array(32)})


def test_initializers_listed_as_inputs_before_ir_version_4():
    rng = np.random.default_rng(5)
    w = rng.standard_normal((2, 3, 3)).astype(np.float32)
    nodes = [node("ConvTranspose", ["x", "w"], ["a"], strides=[2]), node("Neg", ["a"], ["y"])]
    model = make_model(
        nodes, [tensor("x", [1, 2, 8]), tensor("w", [2, 3, 3])], [tensor("y", None)], {"w": w}, opset=6, ir_version=3
    )
    x = rng.standard_normal((1, 2, 8)).astype(np.float32)
    session = assert_as_onnxruntime(model, {"x": x})
    assert [argument.name for argument in session.get_inputs()] == ["x"]
    with pytest.raises(ValueError, match=r"input_feed must name inputs .*\['w'\]"):
        session.run(None, {"x": x, "w": w})


def test_weights_from_an_initializer_are_packed_once(monkeypatch):
    import fastspectral

    made = []
    plan = fastspectral.conv_transpose_plan
    monkeypatch.setattr(fastspectral, "conv_transpose_plan", lambda *args, **kw: made.append(1) or plan(*args, **kw))
    rng = np.random.default_rng(6)
    w, b = rng.standard_normal((2, 3, 3)).astype(np.float32), rng.standard_normal(3).astype(np.float32)
    x = rng.standard_normal((1, 2, 8)).astype(np.float32)
    nodes = [node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2])]
    session = session_of(make_model(nodes, [tensor("x", [1, 2, "n"])], ["y"], {"w": w, "b": b}))
    for length in (8, 5, 8):
        (y,) = session.run(None, {"x": x[..., :length]})
        assert np.array_equal(y, fastspectral.conv_transpose(x[..., :length], w, b, strides=[2]))
    assert len(made) == 1
    inputs = [tensor("x", [1, 2, "n"]), tensor("w", [2, 3, 3]), tensor("b", [3])]
    session = session_of(make_model(nodes, inputs, ["y"], {"w": w, "b": b}))
    for weights in (w, 2 * w):
        (y,) = session.run(None, {"x": x, "w": weights})
        assert np.array_equal(y, fastspectral.conv_transpose(x, weights, b, strides=[2]))
    assert len(made) == 1


# Bodies and functions


def branch(name, nodes, output):
    return helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name=output)])


def test_bodies_read_values_of_ours_and_keep_their_own_nodes(x):
    """The branches of an If capture a spectrum and a value of the first part; a DFT inside stays with onnxruntime."""
    then = branch("then", [node("Add", ["spectrum", "negated"], ["t"])], "t")
    other = branch("else", [node("DFT", ["spectrum"], ["e"], name="inner", inverse=1)], "e")
    nodes = [
        node("Neg", ["x"], ["negated"]),
        node("DFT", ["negated"], ["spectrum"], name="outer"),
        node("If", ["condition"], ["y"], name="choice", then_branch=then, else_branch=other),
    ]
    model = make_model(nodes, [tensor("x", [2, 16, 1]), tensor("condition", [], TensorProto.BOOL)], ["y"])
    for condition in (True, False):
        session = assert_as_onnxruntime(model, {"x": x, "condition": np.array(condition)})
    assert runners(session)["outer"] == "fastspectral"
    (inner,) = [record for record in session.report() if record.node == "inner"]
    assert (inner.runner, inner.note) == ("onnxruntime", "inside If choice")


def test_body_between_two_of_ours(x):
    """A Loop whose body reads an outer spectrum feeds another node of ours."""
    body = helper.make_graph(
        [node("Add", ["state", "spectrum"], ["next"]), node("Identity", ["go"], ["still"])],
        "body",
        [tensor("i", [], TensorProto.INT64), tensor("go", [], TensorProto.BOOL), tensor("state", [2, 16, 2])],
        [tensor("still", [], TensorProto.BOOL), tensor("next", [2, 16, 2])],
    )
    nodes = [
        node("DFT", ["x"], ["spectrum"]),
        node("Loop", ["trips", "yes", "spectrum"], ["sum"], body=body),
        node("DFT", ["sum"], ["y"], inverse=1),
    ]
    model = make_model(nodes, [tensor("x", [2, 16, 1])], ["y"], {"trips": np.int64(3), "yes": np.array(True)})
    session = assert_as_onnxruntime(model, {"x": x})
    assert part_count(session, "onnxruntime") == 1


def test_functions_stay_with_onnxruntime(x):
    function = helper.make_function(
        "local", "Spectrum", ["a"], ["b"], [node("DFT", ["a"], ["b"], name="inner")], [helper.make_opsetid("", 20)]
    )
    nodes = [
        node("Spectrum", ["x"], ["s"], domain="local"),
        node("DFT", ["s"], ["t"], name="outer", inverse=1),
        node("Spectrum", ["t"], ["y"], domain="local"),
    ]
    model = make_model(nodes, [tensor("x", [2, 16, 1])], ["y"], functions=[function], domains=["local"])
    session = assert_as_onnxruntime(model, {"x": x})
    assert runners(session)["outer"] == "fastspectral"
    assert {record.note for record in session.report() if record.node == "inner"} == {"inside function Spectrum"}


# Values that are no tensors, and element types


def test_sequence_that_need_not_cross_is_no_hindrance(x):
    """The sequence is made before our node by the numbers, but only read after it: it is made there."""
    nodes = [
        node("SequenceConstruct", ["x", "x"], ["s"]),
        node("DFT", ["x"], ["a"]),
        node("SequenceAt", ["s", "one"], ["b"]),
        node("Add", ["a", "b"], ["y"]),
    ]
    model = make_model(nodes, [tensor("x", [2, 16, 1])], ["y"], {"one": np.int64(1)})
    session = assert_as_onnxruntime(model, {"x": x})
    assert runners(session)["a"] == "fastspectral"


def test_sequence_holds_its_nodes_in_one_part(x):
    """One reader of the sequence runs before a node of ours, the other after it, but no node of ours is between."""
    nodes = [
        node("SequenceConstruct", ["x", "x"], ["s"]),
        node("SequenceAt", ["s", "one"], ["a"]),
        node("DFT", ["a"], ["b"], name="ours"),
        node("SequenceLength", ["s"], ["n"]),
        node("Cast", ["n"], ["f"], to=TensorProto.FLOAT),
        node("Mul", ["b", "f"], ["y"]),
    ]
    model = make_model(nodes, [tensor("x", [2, 16, 1])], ["y"], {"one": np.int64(1)})
    session = assert_as_onnxruntime(model, {"x": x})
    parts = {record.node: record.part for record in session.report()}
    assert parts["s"] == parts["a"] == parts["n"] < parts["ours"]


def test_sequence_around_our_node_keeps_it_with_onnxruntime(x):
    """A sequence made before the node and extended with its result; a second node of ours is served all the same."""
    nodes = [
        node("SequenceConstruct", ["x"], ["s"]),
        node("SequenceAt", ["s", "zero"], ["a"]),
        node("DFT", ["a"], ["b"], name="between"),
        node("SequenceInsert", ["s", "b"], ["t"]),
        node("SequenceAt", ["t", "one"], ["c"]),
        node("DFT", ["c"], ["y"], name="after", inverse=1),
    ]
    model = make_model(nodes, [tensor("x", [2, 16, 1])], ["y"], {"zero": np.int64(0), "one": np.int64(1)})
    session = assert_as_onnxruntime(model, {"x": x})
    assert runners(session)["after"] == "fastspectral"
    (kept,) = [record for record in session.report() if record.node == "between"]
    assert kept.runner == "onnxruntime"
    assert "no tensor" in kept.note


def test_two_sequences_that_hold_our_node_together(x):
    """Neither sequence alone goes around the node: the one part's sequence does on the way back from the other's."""
    nodes = [
        node("SequenceConstruct", ["x"], ["s"]),
        node("SequenceAt", ["s", "zero"], ["a"]),
        node("DFT", ["a"], ["b"], name="between"),
        node("SequenceConstruct", ["b", "b"], ["t"]),
        node("SequenceLength", ["t"], ["n"]),
        node("SequenceConstruct", ["x", "x"], ["u"]),
        node("SequenceAt", ["u", "zero"], ["v"]),
        node("Sub", ["n", "n"], ["m"]),
        node("SequenceInsert", ["s", "v", "m"], ["w"]),
        node("SequenceAt", ["w", "zero"], ["y"]),
    ]
    model = make_model(nodes, [tensor("x", [2, 16, 1])], ["y"], {"zero": np.int64(0)})
    session = assert_as_onnxruntime(model, {"x": x})
    assert runners(session)["between"] == "onnxruntime"


def test_node_that_is_given_a_sequence_is_refused(x):
    nodes = [node("SequenceConstruct", ["x"], ["s"]), node("DFT", ["s"], ["y"])]
    with pytest.raises(Exception, match="seq"):
        session_of(make_model(nodes, [tensor("x", [2, 16, 1])], ["y"]))
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    with pytest.raises(ValueError, match=r"must be a tensor, got seq\(tensor\(float\)\)"):
        session_of(make_model([node("DFT", ["s"], ["y"])], [sequence], ["y"]))


def test_sequences_as_inputs_and_outputs(x):
    nodes = [
        node("SequenceAt", ["s", "zero"], ["a"]),
        node("DFT", ["a"], ["b"]),
        node("SequenceInsert", ["s", "a"], ["t"]),
        node("SequenceConstruct", ["b", "b"], ["u"]),
    ]
    sequence = helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)
    model = make_model(nodes, [sequence], ["t", "u", "s"], {"zero": np.int64(0)})
    session = assert_as_onnxruntime(model, {"s": [x, x[:1]]})
    assert runners(session)["b"] == "fastspectral"
    assert [output.type for output in session.get_outputs()] == ["seq(tensor(float))"] * 3


def test_strings_cross_the_cut(x):
    nodes = [
        node("StringConcat", ["text", "text"], ["twice"]),
        node("Cast", ["number"], ["n"], to=TensorProto.FLOAT),
        node("Mul", ["x", "n"], ["a"]),
        node("DFT", ["a"], ["b"]),
        node("ReduceMax", ["b"], ["c"], keepdims=0),
        node("Cast", ["c"], ["d"], to=TensorProto.STRING),
        node("StringConcat", ["twice", "d"], ["y"]),
    ]
    inputs = [
        tensor("x", [2, 16, 1]),
        tensor("text", [1], TensorProto.STRING),
        tensor("number", [1], TensorProto.STRING),
    ]
    model = make_model(nodes, inputs, ["y", "twice"])
    feeds = {"x": np.ones_like(x), "text": np.array(["a"], object), "number": np.array(["0"])}
    session = assert_as_onnxruntime(model, feeds)
    assert runners(session)["b"] == "fastspectral"


@pytest.mark.parametrize(
    ("code", "dtype", "eps"),
    [
        (TensorProto.FLOAT16, np.dtype(np.float16), 2.0**-10),
        (TensorProto.BFLOAT16, BFLOAT16, 2.0**-7),
        (TensorProto.DOUBLE, np.dtype(np.float64), 2.0**-52),
    ],
    ids=str,
)
def test_other_floats(code, dtype, eps):
    """What onnxruntime computes in no bfloat16 at all: inputs, cut values and outputs, by way of its nodes."""
    nodes = [node("Identity", ["x"], ["a"]), node("DFT", ["a"], ["b"]), node("Identity", ["b"], ["y"])]
    model = make_model(nodes, [tensor("x", ["b", "n", 1], code)], ["y", "a", "x"], opset=22, ir_version=10)
    x = np.random.default_rng(6).standard_normal((2, 12, 1)).astype(dtype)
    session = session_of(model)
    y, a, same = session.run(None, {"x": x})
    expected = oracle.dft(x)
    assert y.dtype == a.dtype == same.dtype == dtype
    assert np.max(np.abs(y.astype("f8") - expected.astype("f8"))) <= 2 * eps * np.max(np.abs(expected.astype("f8")))
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(same, x)


def test_ort_values_are_taken(x):
    """As onnxruntime's run takes them; bfloat16 can be fed to it in no other way."""
    model = make_model([node("DFT", ["x"], ["a"]), node("Add", ["a", "x"], ["y"])], [tensor("x", ["b", "n", 1])], ["y"])
    fed = onnxruntime.OrtValue.ortvalue_from_numpy(x)
    assert_close(session_of(model).run(None, {"x": fed}), run_onnxruntime(model, {"x": x}))
    model = make_model([node("DFT", ["x"], ["y"])], [tensor("x", ["b", "n", 1], TensorProto.BFLOAT16)], ["x", "y"])
    half = x.astype(BFLOAT16)
    fed = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(half.view(np.uint16), TensorProto.BFLOAT16)
    same, _ = session_of(model).run(None, {"x": fed})
    np.testing.assert_array_equal(same, half)


def test_sparse_initializer(x):
    """A node of ours that reads one stays with onnxruntime; other nodes read it in their parts."""
    model = make_model(
        [node("DFT", ["x"], ["a"]), node("Add", ["a", "sparse"], ["y"])], [tensor("x", [2, 16, 1])], ["y"]
    )
    values = helper.make_tensor("sparse", TensorProto.FLOAT, [2], [1.0, 2.0])
    indices = helper.make_tensor("indices", TensorProto.INT64, [2], [0, 3])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [16, 2]))
    assert_as_onnxruntime(model, {"x": x})
    kernel = helper.make_sparse_tensor(values, indices, [1, 2, 2])
    nodes = [
        node("ConvTranspose", ["x", "sparse"], ["a"], name="up"),
        node("Reshape", ["a", "shape"], ["b"]),
        node("DFT", ["b"], ["y"]),
    ]
    model = make_model(nodes, [tensor("x", [1, 1, 7])], ["y"], {"shape": np.array([2, 8, 1])})
    model.graph.sparse_initializer.append(kernel)
    session = assert_as_onnxruntime(model, {"x": x.reshape(1, 1, 32)[..., :7]})
    notes = {record.node: record.note for record in session.report()}
    assert notes["up"] == "reads a sparse initialiser"


# Where models come from


def external_model(folder):
    then = branch("then", [node("Mul", ["spectrum", "factor"], ["t"])], "t")
    then.initializer.append(onnx.numpy_helper.from_array(np.float32([3.0, 4.0]), "factor"))
    other = branch("else", [node("Identity", ["spectrum"], ["e"])], "e")
    nodes = [
        node("Mul", ["signal", "gain"], ["loud"]),
        node("STFT", ["loud", "step", "window"], ["spectrum"]),
        node("If", ["condition"], ["a"], then_branch=then, else_branch=other),
        node("Add", ["a", "bias"], ["y"]),
    ]
    rng = np.random.default_rng(8)
    constants = {name: rng.standard_normal(n).astype("f4") for name, n in [("gain", 64), ("window", 16), ("bias", 2)]}
    inputs = [tensor("signal", [1, 64]), tensor("condition", [], TensorProto.BOOL)]
    model = make_model(nodes, inputs, ["y"], {"step": np.int64(4), **constants})
    onnx.save_model(
        onnx.ModelProto.FromString(model.SerializeToString()),
        folder / "model.onnx",
        save_as_external_data=True,
        location="weights.bin",
        size_threshold=0,
    )
    stored = onnx.load_model(folder / "model.onnx", load_external_data=False)
    assert all(t.data_location == TensorProto.EXTERNAL for t in stored.graph.initializer)
    return model


@pytest.mark.parametrize("options", [None, onnxruntime.SessionOptions()], ids=["default options", "own options"])
def test_external_data(tmp_path, monkeypatch, options):
    """Initialisers of parts, of bodies and of our nodes, wherever the process works."""
    model = external_model(tmp_path)
    feeds = {"signal": np.random.default_rng(9).standard_normal((1, 64)).astype("f4"), "condition": np.array(True)}
    expected = run_onnxruntime(model, feeds)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert_close(InferenceSession(tmp_path / "model.onnx", options).run(None, feeds), expected)
    assert_close(InferenceSession("../model.onnx", options).run(None, feeds), expected)
    monkeypatch.chdir(tmp_path)
    assert_close(InferenceSession((tmp_path / "model.onnx").read_bytes(), options).run(None, feeds), expected)


def test_onnxruntime_format_is_left_to_onnxruntime(tmp_path, x):
    model = make_model([node("DFT", ["x"], ["y"])], [tensor("x", ["b", "n", 1])], ["y"])
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "model.ort")
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(model.SerializeToString(), options)
    expected = run_onnxruntime(model, {"x": x})
    for source in (tmp_path / "model.ort", (tmp_path / "model.ort").read_bytes()):
        session = InferenceSession(source)
        assert_close(session.run(None, {"x": x}), expected)
        assert "format" in session.report()[0].note


def test_bad_source():
    with pytest.raises(TypeError, match=r"path_or_bytes must be a path or the bytes of a model, got ModelProto"):
        InferenceSession(onnx.ModelProto())


def test_unknown_attributes_and_missing_inputs_are_told_at_once():
    model = make_model([node("DFT", ["x"], ["y"], axis=1)], [tensor("x", [2, 16, 1])], ["y"])
    with pytest.raises(ValueError, match=r"DFT node 'y' of opset 20 must be among .*got 'axis'"):
        session_of(model)
    model = make_model([node("STFT", ["x"], ["y"])], [tensor("x", [2, 16, 1])], ["y"])
    with pytest.raises(ValueError, match=r"STFT node 'y' .*must give frame_step"):
        session_of(model)
    model = make_model([node("HannWindow", ["n", "n"], ["y"])], [tensor("n", [], TensorProto.INT64)], ["y"])
    with pytest.raises(ValueError, match=r"HannWindow node 'y' .*at most"):
        session_of(model)


def test_circle():
    model = make_model([node("Add", ["x", "y"], ["a"]), node("DFT", ["a"], ["y"])], [tensor("x", [2, 16, 1])], ["y"])
    with pytest.raises(ValueError, match="circle"):
        session_of(model)


# The session's interface


@pytest.fixture
def described():
    nodes = [node("Neg", ["x"], ["a"]), node("DFT", ["a"], ["b"]), node("Neg", ["b"], ["y"])]
    outputs = [tensor("y", ["b", 16, 2]), tensor("b", ["b", 16, 2])]
    model = make_model(nodes, [tensor("x", ["b", 16, None])], outputs)
    model.producer_name, model.model_version, model.doc_string, model.domain = "tester", 5, "about", "test.domain"
    model.graph.doc_string = "about the graph"
    helper.set_model_props(model, {"rate": "16000"})
    return model


def test_description_is_onnxruntimes(described):
    ours, theirs = session_of(described), onnxruntime.InferenceSession(described.SerializeToString())
    for method in ("get_inputs", "get_outputs", "get_overridable_initializers"):
        expected = [(a.name, a.type, a.shape) for a in getattr(theirs, method)()]
        assert [(a.name, a.type, a.shape) for a in getattr(ours, method)()] == expected
    for field, value in ours.get_modelmeta()._asdict().items():
        assert value == getattr(theirs.get_modelmeta(), field)
    assert ours.get_providers() == theirs.get_providers()


def test_options_reach_onnxruntime_and_bound_our_threads(described, x, monkeypatch):
    seen = []
    original = fastspectral.dft
    monkeypatch.setattr(fastspectral, "dft", lambda *a, **k: seen.append(k["workers"]) or original(*a, **k))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = session_of(described, options, ["CPUExecutionProvider"])
    session.run(None, {"x": x})
    session_of(described).run(None, {"x": x})
    assert seen == [1, None]
    assert session.get_session_options().intra_op_num_threads == 1
    assert session.get_providers() == ["CPUExecutionProvider"]
    stop = onnxruntime.RunOptions()
    stop.terminate = True
    with pytest.raises(Exception, match="terminate"):
        session.run(None, {"x": x}, stop)


@pytest.mark.parametrize(
    ("feeds", "error", "words"),
    [
        ({}, ValueError, r"must give every input .*without \['x'\]"),
        ({"x": np.zeros((1, 16, 1), "f4"), "z": 1}, ValueError, r"must name inputs .*\['x'\], got \['z'\]"),
        ({"x": np.zeros((1, 16, 1))}, TypeError, r"'x' must be tensor\(float\), got an array of float64"),
        (
            {"x": np.zeros((1, 15, 1), "f4")},
            ValueError,
            r"'x' must have rank 3 .*'b', 16, None.*got shape \[1, 15, 1\]",
        ),
        ({"x": np.zeros((16, 1), "f4")}, ValueError, r"'x' must have rank 3"),
        ({"x": np.array("text")}, TypeError, r"'x' must be tensor\(float\)"),
    ],
)
def test_wrong_feeds(described, feeds, error, words):
    with pytest.raises(error, match=words):
        session_of(described).run(None, feeds)


def test_wrong_outputs(described, x):
    with pytest.raises(ValueError, match=r"output_names must be outputs .*\['y', 'b'\], got \['nothing'\]"):
        session_of(described).run(["nothing"], {"x": x})


def test_wrong_values_are_told_in_the_operators_words(x):
    model = make_model([node("DFT", ["x", "n"], ["y"])], [tensor("x", None), tensor("n", [], TensorProto.INT64)], ["y"])
    with pytest.raises(ValueError, match="dft_length"):
        session_of(model).run(None, {"x": x, "n": np.array(0)})


def test_feeds_of_any_layout(described, x):
    session = session_of(described)
    (expected,) = session.run(["y"], {"x": x})
    wide = np.zeros((2, 32, 3), np.float32)
    wide[:, ::-2, 1:2] = x
    frozen = x.copy()
    frozen.flags.writeable = False
    for same in (wide[:, ::-2, 1:2], x.astype(">f4"), np.asfortranarray(x), frozen, x.tolist()):
        (y,) = session.run(["y"], {"x": same})
        np.testing.assert_array_equal(y, expected)


def test_only_what_the_outputs_need_is_run(x):
    nodes = [node("DFT", ["x"], ["a"], name="a"), node("Neg", ["a"], ["b"]), node("DFT", ["b"], ["c"], name="c")]
    session = session_of(make_model(nodes, [tensor("x", [2, 16, 1])], ["a", "c"]))
    assert all(record.seconds is None for record in session.report())
    session.run(["a"], {"x": x})
    assert [record.seconds is None for record in session.report()] == [False, True, True]
    session.run(None, {"x": x})
    assert all(record.seconds > 0 for record in session.report())


def test_values_are_given_up_after_their_last_reader(x, monkeypatch):
    """While the second node of ours runs, the result of the first, which only a part between them reads, is gone."""
    results, alive = [], []
    original = fastspectral.dft

    def watching(*args, **kwargs):
        alive.append(sum(result() is not None for result in results))
        y = original(*args, **kwargs)
        results.append(weakref.ref(y))
        return y

    monkeypatch.setattr(fastspectral, "dft", watching)
    nodes = [node("DFT", ["x"], ["a"]), node("Neg", ["a"], ["b"]), node("DFT", ["b"], ["y"], inverse=1)]
    session_of(make_model(nodes, [tensor("x", [2, 16, 1])], ["y"])).run(None, {"x": x})
    assert alive == [0, 0]


def test_report_is_readable(x):
    then = branch("then", [node("DFT", ["a"], ["t"], name="inner")], "t")
    other = branch("else", [node("Identity", ["a"], ["e"])], "e")
    nodes = [
        node("HannWindow", ["n"], ["w"], name="window"),
        node("Neg", ["x"], ["m"]),
        node("Abs", ["m"], ["p"]),
        node("DFT", ["p"], ["a"], name="spectrum"),
        node("If", ["c"], ["i"], name="choice", then_branch=then, else_branch=other),
        node("Mul", ["i", "w"], ["y"]),
    ]
    inputs = [tensor("x", [2, 16, 1]), tensor("c", [], TensorProto.BOOL)]
    session = session_of(make_model(nodes, inputs, ["y"], {"n": np.int64(2)}))
    session.run(None, {"x": x, "c": np.array(True)})
    lines = str(session.report()).splitlines()
    table = [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]
    assert table[0] == ["part", "runner", "node", "ms", "note"]
    assert [row[:3] for row in table[1:]] == [
        ["once", "fastspectral", "HannWindow window"],
        ["0", "onnxruntime", "2 nodes"],
        ["1", "fastspectral", "DFT spectrum"],
        ["2", "onnxruntime", "2 nodes"],
        ["2", "onnxruntime", "DFT inner"],
    ]
    assert [row[-1] for row in table[1:]][::4] == ["constant", "inside If choice"]
    assert [len(record) for record in session.report()] == [6] * 7


def test_many_threads_at_once():
    """Every thread gets the results of its own feeds."""
    nodes = [
        node("Mul", ["x", "two"], ["a"]),
        node("DFT", ["a"], ["b"]),
        node("Mul", ["b", "two"], ["c"]),
        node("DFT", ["c"], ["y"], inverse=1),
    ]
    session = session_of(make_model(nodes, [tensor("x", ["b", "n", 1])], ["y"], {"two": np.float32(2)}))
    rng = np.random.default_rng(10)
    feeds = [rng.standard_normal((1, 8 + i, 1)).astype(np.float32) for i in range(64)]
    alone = [session.run(None, {"x": x})[0] for x in feeds]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda x: session.run(None, {"x": x})[0], feeds))
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)


def test_importing_the_adapters_loads_neither_onnx_nor_onnxruntime():
    code = "import sys, fastspectral.onnx; print(sorted({'onnx', 'onnxruntime', 'ml_dtypes'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
