"""The operators inside onnx's reference evaluator."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import fastspectral
import onnx_models as oracle
from fastspectral.onnx import new_ops
from onnx_models import make_model, tensor

node = helper.make_node


@pytest.fixture
def x():
    return np.random.default_rng(11).standard_normal((2, 4, 6, 1)).astype(np.float32)


def evaluate(model, feeds):
    return ReferenceEvaluator(model, new_ops=new_ops).run(None, feeds)


def assert_close(actual, expected):
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    assert np.max(np.abs(actual - expected)) <= 16 * np.finfo(np.float32).eps * np.max(np.abs(expected))


@pytest.mark.parametrize(("opset", "axis"), [(17, 1), (19, 1), (20, 2), (22, 2)])
def test_default_axis_is_that_of_the_opset(opset, axis, x):
    (y,) = evaluate(make_model([node("DFT", ["x"], ["y"])], [tensor("x")], [tensor("y")], opset=opset), {"x": x})
    assert_close(y, oracle.dft(x, axis=axis))


def test_dft_of_opset_17_with_its_attributes(x):
    model = make_model([node("DFT", ["x"], ["y"], axis=-2, onesided=1)], [tensor("x")], [tensor("y")], opset=17)
    assert_close(evaluate(model, {"x": x})[0], oracle.dft(x, axis=2, onesided=True))


def test_absent_inputs(x):
    model = make_model([node("DFT", ["x", "", "axis"], ["y"])], [tensor("x")], [tensor("y")], {"axis": np.int64(1)})
    assert_close(evaluate(model, {"x": x})[0], oracle.dft(x, axis=1))


def test_grouped_conv_transpose():
    """What the evaluator's own raises at: two channels in and two out for each of two groups, with a bias."""
    rng = np.random.default_rng(12)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in [(1, 4, 5), (4, 2, 3), (4,)])
    model = make_model(
        [node("ConvTranspose", ["x", "w", "b"], ["y"], group=2)], [tensor(n) for n in "xwb"], [tensor("y")]
    )
    expected = np.zeros((1, 4, 7))
    for channel in range(4):
        for out in range(2):
            line = np.convolve(x[0, channel].astype("f8"), w[channel, out].astype("f8"))
            expected[0, channel // 2 * 2 + out] += line
    expected += b[:, np.newaxis]
    assert_close(evaluate(model, {"x": x, "w": w, "b": b})[0], expected.astype(np.float32))


def test_inside_the_branches_of_an_if(x, monkeypatch):
    calls = []
    original = fastspectral.dft
    monkeypatch.setattr(fastspectral, "dft", lambda *a, **k: calls.append(1) or original(*a, **k))
    then = helper.make_graph([node("DFT", ["x"], ["t"])], "then", [], [tensor("t")])
    other = helper.make_graph([node("Identity", ["x"], ["e"])], "else", [], [tensor("e")])
    nodes = [node("If", ["c"], ["y"], then_branch=then, else_branch=other)]
    model = make_model(nodes, [tensor("x"), tensor("c", [], TensorProto.BOOL)], [tensor("y")])
    assert_close(evaluate(model, {"x": x, "c": np.array(True)})[0], oracle.dft(x))
    assert calls == [1]


def test_errors_are_the_operators_own(x):
    model = make_model([node("DFT", ["x"], ["y"])], [tensor("x", None, TensorProto.INT32)], [tensor("y")])
    with pytest.raises(ValueError, match="float32"):
        evaluate(model, {"x": x.astype(np.int32)})
    model = make_model([node("DFT", ["x", "n"], ["y"])], [tensor("x")], [tensor("y")], {"n": np.int64(0)})
    with pytest.raises(ValueError, match="dft_length"):
        evaluate(model, {"x": x})
    model = make_model([node("DFT", ["x"], ["y"], axis=1)], [tensor("x")], [tensor("y")], opset=20)
    with pytest.raises(ValueError, match="got 'axis'"):
        evaluate(model, {"x": x})
