"""The ONNX Backend API."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from fastspectral.onnx import backend
from onnx_models import make_model, tensor

node = helper.make_node

# The checker wants shapes, if only symbolic ones.
XYZ = ["a", "b", "c"]
X, Y = tensor("x", XYZ), tensor("y", ["d", "e", "f"])


def test_run_model_takes_lists_mappings_and_single_arrays():
    model = make_model(
        [node("Sub", ["a", "b"], ["c"]), node("DFT", ["c"], ["y"])], [tensor("a", XYZ), tensor("b", XYZ)], [Y]
    )
    a, b = np.full((1, 4, 1), 3, np.float32), np.full((1, 4, 1), 1, np.float32)
    expected = np.float32([[[8, 0], [0, 0], [0, 0], [0, 0]]])
    for inputs in ([a, b], (a, b), {"b": b, "a": a}):
        outputs = backend.run_model(model, inputs)
        np.testing.assert_array_equal(outputs.y, expected)
        np.testing.assert_array_equal(outputs["y"], expected)
        np.testing.assert_array_equal(outputs[0], expected)
    single = make_model([node("DFT", ["x"], ["y"])], [X], [Y])
    np.testing.assert_array_equal(backend.run_model(single, a).y[0, :, 0], [12, 0, 0, 0])


def test_prepared_model_runs_again():
    prepared = backend.prepare(make_model([node("DFT", ["x"], ["y"])], [X], [Y]))
    for n in (2, 3):
        assert prepared.run([np.ones((1, n, 1), np.float32)]).y[0, 0, 0] == n


def test_run_node_of_any_opset_and_of_onnxruntimes_operators():
    x = np.arange(12, dtype=np.float32).reshape(1, 2, 6, 1)
    assert backend.run_node(node("DFT", ["x"], ["y"], axis=1), [x], opset_version=17).y.shape == (1, 2, 6, 2)
    assert backend.run_node(node("DFT", ["x"], ["y"], onesided=1), x).y.shape == (1, 2, 4, 2)
    np.testing.assert_array_equal(backend.run_node(node("Neg", ["x"], ["y"]), [x], opset_version=20).y, -x)
    first, second = backend.run_node(
        node("Split", ["x"], ["a", "b"], axis=1, num_outputs=2), {"x": x}, opset_version=18
    )
    np.testing.assert_array_equal(first, x[:, :1])
    np.testing.assert_array_equal(second, x[:, 1:])


def test_run_node_leaves_out_absent_inputs():
    x = np.ones((1, 2, 6, 1), np.float32)
    outputs = backend.run_node(node("DFT", ["x", "", "axis"], ["y"]), [x, np.int64(1)])
    np.testing.assert_array_equal(outputs.y[0, :, 0, 0], [2, 0])


def test_devices():
    assert backend.supports_device("CPU")
    assert backend.supports_device("CPU:0")
    assert not backend.supports_device("CUDA")
    model = make_model([node("DFT", ["x"], ["y"])], [X], [Y])
    assert backend.is_compatible(model)
    for call in (lambda: backend.prepare(model, "CUDA"), lambda: backend.run_node(model.graph.node[0], [], "CUDA:1")):
        with pytest.raises(ValueError, match=r"device must be 'CPU', got 'CUDA"):
            call()


def test_malformed_models_and_wrong_inputs():
    with pytest.raises(onnx.checker.ValidationError):
        backend.prepare(make_model([node("DFT", ["nothing"], ["y"])], [X], [Y]))
    with pytest.raises(onnx.checker.ValidationError):
        backend.run_node(node("DFT", ["x"], ["y"], axis=1), [np.ones((1, 2, 1), np.float32)], opset_version=20)
    prepared = backend.prepare(make_model([node("DFT", ["x"], ["y"])], [X], [Y]))
    with pytest.raises(ValueError, match=r"at most 1, .*\['x'\], got 2"):
        prepared.run([np.ones((1, 2, 1), np.float32)] * 2)
    with pytest.raises(ValueError, match=r"without \['x'\]"):
        prepared.run([])


def test_onnxs_own_runner_takes_the_module():
    """BackendTest makes its methods from the module; a model of its kind runs and a wrong expectation fails."""
    from onnx.backend.test.runner import Runner  # it is slow to import

    Runner.assert_similar_outputs(
        [np.float32([0, 0.5, 1, 0.5])],
        backend.run_node(node("HannWindow", ["n"], ["y"]), [np.int64(4)]),
        rtol=1e-3,
        atol=1e-7,
    )
    model = make_model([node("HannWindow", ["n"], ["y"])], [tensor("n", [], TensorProto.INT64)], [tensor("y", ["n"])])
    prepared = backend.prepare(model, "CPU", rtol=1e-3, atol=1e-7)
    assert prepared.run([np.array(4)]).y.dtype == np.float32
    assert issubclass(backend.Backend, onnx.backend.base.Backend)
