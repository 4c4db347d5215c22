"""The operators for ``onnx.reference.ReferenceEvaluator(model, new_ops=new_ops)``.

They replace the evaluator's own in the main graph and in the bodies of If, Loop and Scan; inside model-local functions
the evaluator uses its own.
"""

from typing import Any

import numpy.typing as npt
import onnx
from onnx.reference.op_run import OpRun

from fastspectral.onnx.operators import DEFAULT_DOMAINS, bind


class _Operator(OpRun):  # type: ignore[misc]
    """An operator of the default domain; the evaluator finds it by the name of its class, whatever the opset."""

    op_domain = ""

    def __init__(self, onnx_node: onnx.NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        super().__init__(onnx_node, run_params, schema)
        opset = next(version for domain, version in run_params["opsets"].items() if domain in DEFAULT_DOMAINS)
        self._operator = bind(onnx_node, opset)

    def _run(self, *inputs: npt.NDArray[Any] | None, **attributes: Any) -> tuple[npt.NDArray[Any]]:  # noqa: ARG002
        # `attributes` have the defaults of the newest schema, wrong for DFT-17; `bind` has read those of the node.
        try:
            return (self._operator(*inputs),)
        except TypeError as error:  # which the evaluator would hide behind a message of its own
            raise ValueError(str(error)) from error


class BlackmanWindow(_Operator):
    """BlackmanWindow, opset 17."""


class ConvTranspose(_Operator):
    """ConvTranspose, opsets 1, 11 and 22."""


class DFT(_Operator):
    """DFT, opsets 17 and 20."""


class HammingWindow(_Operator):
    """HammingWindow, opset 17."""


class HannWindow(_Operator):
    """HannWindow, opset 17."""


class MelWeightMatrix(_Operator):
    """MelWeightMatrix, opset 17."""


class STFT(_Operator):
    """STFT, opset 17."""


new_ops: list[type[OpRun]] = [BlackmanWindow, ConvTranspose, DFT, HammingWindow, HannWindow, MelWeightMatrix, STFT]
