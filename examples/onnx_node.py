"""Run one node of an ONNX model in the three ways that ONNX knows: as a node, in the evaluator, in a session.

    python examples/onnx_node.py

The node is an inverse real DFT of 7 points from 5 bins, more than it needs: onnxruntime mixes up the bins there.
"""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from fastspectral.onnx import InferenceSession, backend, new_ops

x = np.cos(np.arange(7) * 2.0)
spectrum = np.zeros((1, 5, 2), np.float32)
spectrum[0, :4] = np.fft.rfft(x).astype(np.complex64).view(np.float32).reshape(4, 2)
spectrum[0, 4] = 100, 100  # a bin beyond those of 7 points

node = helper.make_node("DFT", ["spectrum", "length"], ["signal"], inverse=1, onesided=1)
length = np.array(7)
feeds = {"spectrum": spectrum, "length": length}

graph = helper.make_graph(
    [node],
    "one node",
    [
        helper.make_tensor_value_info("spectrum", TensorProto.FLOAT, ["batch", "bins", 2]),
        helper.make_tensor_value_info("length", TensorProto.INT64, []),
    ],
    [helper.make_tensor_value_info("signal", TensorProto.FLOAT, ["batch", "samples", 1])],
)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
onnx.checker.check_model(model)

session = InferenceSession(model.SerializeToString())
results = {
    "backend.run_node": backend.run_node(node, [spectrum, length], opset_version=20)[0],
    "ReferenceEvaluator": ReferenceEvaluator(model, new_ops=new_ops).run(None, feeds)[0],
    "InferenceSession": session.run(None, feeds)[0],
    "onnxruntime alone": onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0],
}
for name, signal in results.items():
    print(f"{name:20} largest error {np.max(np.abs(signal[0, :, 0] - x)):.1e}")
print()
print(session.report())
