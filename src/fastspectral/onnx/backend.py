"""ONNX Backend API: models and single nodes, run by `fastspectral.onnx.InferenceSession`.

The functions of this module are those of the class `Backend`, as ``onnx.backend.test.BackendTest`` and other users of
the interface expect.

>>> import numpy as np, onnx
>>> from fastspectral.onnx import backend
>>> node = onnx.helper.make_node("HannWindow", ["size"], ["window"])
>>> backend.run_node(node, [np.int64(4)]).window
array([0. , 0.5, 1. , 0.5], dtype=float32)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx.backend import base

from fastspectral.onnx.session import InferenceSession


class BackendRep(base.BackendRep):  # type: ignore[misc]
    """A prepared model."""

    def __init__(self, session: InferenceSession) -> None:
        self.session = session

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:  # noqa: ARG002
        """Run the model.

        Parameters
        ----------
        inputs : sequence of array, mapping of str to array, or array
            The inputs, in the order of the graph or by name; of a model with one input, the array itself.
        **kwargs
            Taken for the sake of the interface; none has an effect.

        Returns
        -------
        namedtuple
            The outputs, in the order of the graph; also by name, as attributes and as keys.

        Raises
        ------
        ValueError
            If there are too many inputs, and as `fastspectral.onnx.InferenceSession.run` does.
        """
        known = [*self.session.get_inputs(), *self.session.get_overridable_initializers()]
        feeds = _named(inputs, [argument.name for argument in known])
        names = [output.name for output in self.session.get_outputs()]
        outputs: tuple[Any, ...] = base.namedtupledict("Outputs", names)(*self.session.run(None, feeds))
        return outputs


class Backend(base.Backend):  # type: ignore[misc]
    """The interface; its methods are also functions of this module."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> BackendRep:
        """Check and load a model.

        Parameters
        ----------
        model : onnx.ModelProto
            The model.
        device : str
            ``"CPU"``.
        **kwargs
            Taken for the sake of the interface (test runners give tolerances); none has an effect.

        Raises
        ------
        ValueError
            If the device is another one, and as `fastspectral.onnx.InferenceSession` does.
        onnx.checker.ValidationError
            If the model is malformed.
        """
        _check_device(cls, device)
        super().prepare(model, device, **kwargs)
        return BackendRep(InferenceSession(model.SerializeToString()))

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Run one node.

        Parameters
        ----------
        node : onnx.NodeProto
            The node.
        inputs : sequence of array, mapping of str to array, or array
            Its inputs, without those whose name is empty.
        device : str
            ``"CPU"``.
        outputs_info : sequence, optional
            Taken for the sake of the interface: types and shapes of the outputs follow from the node.
        **kwargs
            ``opset_version``: that of the default domain; onnx's newest if it is not given.

        Returns
        -------
        namedtuple
            The outputs, also by name.

        Raises
        ------
        ValueError
            If the device is another one, and as `fastspectral.onnx.InferenceSession` does.
        onnx.checker.ValidationError
            If the node is malformed.
        """
        _check_device(cls, device)
        opset = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        super().run_node(node, inputs, device, outputs_info, opset_version=opset)
        feeds = _named(inputs, list(dict.fromkeys(name for name in node.input if name)))
        arrays = {name: np.asarray(value) for name, value in feeds.items()}
        imports = [onnx.helper.make_opsetid("", opset)]
        graph = onnx.helper.make_graph(
            [node],
            node.op_type,
            [_value_info(name, array) for name, array in arrays.items()],
            [onnx.ValueInfoProto(name=name) for name in node.output if name],
        )
        ir_version = onnx.helper.find_min_ir_version_for(imports)
        model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=ir_version)
        return BackendRep(InferenceSession(model.SerializeToString())).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Tell whether `device` is the CPU."""
        return device.split(":")[0] == "CPU"


def _check_device(backend: type[Backend], device: str) -> None:
    if not backend.supports_device(device):
        raise ValueError(f"device must be 'CPU', got {device!r}")


def _named(inputs: Any, names: Sequence[str]) -> dict[str, Any]:
    """Give inputs by name."""
    if isinstance(inputs, Mapping):
        return dict(inputs)
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    if len(values) > len(names):
        raise ValueError(f"inputs must be at most {len(names)}, which are {list(names)}, got {len(values)}")
    return dict(zip(names, values, strict=False))


def _value_info(name: str, array: npt.NDArray[Any]) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


is_compatible = Backend.is_compatible
prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
