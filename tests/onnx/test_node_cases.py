"""The official ONNX cases of the served operators, through the Backend API and through the reference evaluator.

30 node cases are made by importing onnx's own modules (importing all of them, as its collector does, takes 6 s); three
ConvTranspose models of opset 6 are stored in the wheel with their data.
"""

import importlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.backend.test.case import node as node_cases
from onnx.reference import ReferenceEvaluator

from fastspectral.onnx import backend, new_ops
from fastspectral.onnx.operators import OPERATORS

STORED = [
    "pytorch-converted/test_ConvTranspose2d",
    "pytorch-converted/test_ConvTranspose2d_no_bias",
    "pytorch-operator/test_operator_convtranspose",
]


def _node_cases():
    for operator in OPERATORS:
        importlib.import_module(f"onnx.backend.test.case.node.{operator.lower()}")
    for case in node_cases._NodeTestCases:
        (data,) = case.data_sets
        first = case.model.graph.node[0]
        # The expanded twins spell a window as Range, Cos and so on: none of ours is in them.
        if first.op_type in OPERATORS and "expanded" not in case.name:
            yield case.name, case.model, *data


def _stored_cases():
    for name in STORED:
        folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / name
        model = onnx.load_model(folder / "model.onnx")
        data = folder / "test_data_set_0"
        tensors = [[onnx.load_tensor(data / f"{kind}_0.pb")] for kind in ("input", "output")]
        yield name.split("/")[1], model, *tensors


def _array(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


CASES = {name: (model, inputs, outputs) for name, model, inputs, outputs in [*_node_cases(), *_stored_cases()]}

# Two stored inverse DFTs hold NumPy's float32 rounding noise, 1.9e-7 where the truth is 0, and sums of a DFT cancel to
# 0 at a scale of 50: onnxruntime too is tested with this tolerance.
ATOL = {"DFT": 1e-5, "STFT": 1e-5}


def test_all_cases_are_there():
    assert len(CASES) == 33
    assert {model.graph.node[0].op_type for model, _, _ in CASES.values()} == set(OPERATORS)


@pytest.fixture(params=CASES)
def case(request):
    model, inputs, outputs = CASES[request.param]
    tolerance = {"rtol": 1e-3, "atol": ATOL.get(model.graph.node[0].op_type, 1e-7)}
    return model, [_array(value) for value in inputs], [_array(value) for value in outputs], tolerance


def check(actual, expected, tolerance):
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert isinstance(one, np.ndarray)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(one, other, **tolerance)


def test_backend(case):
    model, inputs, outputs, tolerance = case
    check(backend.prepare(model).run(inputs), outputs, tolerance)
    check(backend.run_model(model, inputs), outputs, tolerance)


def test_backend_ran_it_itself(case):
    report = backend.prepare(case[0]).session.report()
    assert {record.runner for record in report if record.op_type in OPERATORS} == {"fastspectral"}


def test_new_ops(case, monkeypatch):
    model, inputs, outputs, tolerance = case
    for operator in OPERATORS:  # the evaluator's own must not come to the rescue
        own = getattr(importlib.import_module("onnx.reference.ops._op_list"), operator, None)
        if own is not None:
            monkeypatch.setattr(own, "_run", None)
    names = [value.name for value in model.graph.input]
    given = {tensor.name for tensor in model.graph.initializer}
    feeds = dict(zip([name for name in names if name not in given], inputs, strict=True))
    check(ReferenceEvaluator(model, new_ops=new_ops).run(None, feeds), outputs, tolerance)


# The stored models have the weights as initialisers.
ONE_NODE_CASES = [name for name, (model, _, _) in CASES.items() if not model.graph.initializer]


@pytest.mark.parametrize("name", ONE_NODE_CASES)
def test_run_node(name):
    model, inputs, outputs = CASES[name]
    (node,) = model.graph.node
    tolerance = {"rtol": 1e-3, "atol": ATOL.get(node.op_type, 1e-7)}
    actual = backend.run_node(node, [_array(v) for v in inputs], opset_version=model.opset_import[0].version)
    check(actual, [_array(v) for v in outputs], tolerance)
