"""Running the steps of a cut graph: a served node with fastspectral, a part with an onnxruntime session of its own."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from fastspectral.onnx.operators import bind, bind_weights
from fastspectral.onnx.partition import Graph, Step, reads
from fastspectral.onnx.signature import element_type

_BFLOAT16 = "tensor(bfloat16)"

# What NumPy arrays carry from one session to another; bfloat16 goes through `OrtValue`, which takes its bits as uint16.
_NUMPY_ELEMENTS = "float double float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string"
SEPARABLE = {f"tensor({name})" for name in _NUMPY_ELEMENTS.split()} | {_BFLOAT16}


class Runner(Protocol):
    """One step that can run: it reads `inputs` from a dictionary of values and adds those `outputs` that are wanted."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def run(self, values: dict[str, Any], wanted: Collection[str], run_options: Any) -> None:
        """Compute what is wanted; `run_options` are for onnxruntime."""


class ServedNode:
    """A node that fastspectral computes."""

    def __init__(self, node: onnx.NodeProto, opset: int, workers: int | None, constants: Collection[str]) -> None:
        """Bind a node; `constants` are values that are the same in every run."""
        self.inputs = tuple(name for name in node.input if name)
        self.outputs: tuple[str, ...] = (node.output[0],)
        self._arguments = tuple(node.input)
        self._operator = bind(node, opset, workers=workers)
        fixed = node.op_type == "ConvTranspose" and all(name in constants for name in self.inputs[1:])
        self._bind_weights = bind_weights(node, opset, workers=workers) if fixed else None
        self._planned: Callable[..., npt.NDArray[Any]] | None = None  # with the weights packed, from the first run on

    def run(self, values: dict[str, Any], wanted: Collection[str], run_options: Any) -> None:  # noqa: ARG002
        """Compute the node; an OrtValue that the user fed becomes an array on the CPU."""
        arrays: list[Any] = [as_array(values[name]) if name else None for name in self._arguments]
        if self._bind_weights is None:
            values[self.outputs[0]] = self._operator(*arrays)
            return
        if self._planned is None:
            self._planned = self._bind_weights(*arrays[1:])
        values[self.outputs[0]] = self._planned(arrays[0])


class Part:
    """Nodes that an onnxruntime session runs."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self.session = session
        self.types = {output.name: output.type for output in session.get_outputs()}
        optional = [argument.name for argument in session.get_overridable_initializers()]
        self.inputs = tuple(argument.name for argument in session.get_inputs()) + tuple(optional)
        self.outputs = tuple(self.types)

    def run(self, values: dict[str, Any], wanted: Collection[str], run_options: onnxruntime.RunOptions | None) -> None:
        """Run the session; it reads contiguous arrays where they are, and its results are not copied either."""
        names = [name for name in self.outputs if name in wanted]
        feeds = {name: _as_feed(values[name]) for name in self.inputs if name in values}
        if any(self.types[name] == _BFLOAT16 for name in names):
            feeds = {name: _as_ort_value(value) for name, value in feeds.items()}
            results = map(as_array, self.session.run_with_ort_values(names, feeds, run_options))
        else:
            results = self.session.run(names, feeds, run_options)
        values.update(zip(names, results, strict=True))


def as_array(value: Any) -> npt.NDArray[Any]:
    """Give an OrtValue on the CPU as an array on its memory; an array as it is."""
    if not isinstance(value, onnxruntime.OrtValue):
        return np.asarray(value)
    if value.data_type() != _BFLOAT16:
        return np.asarray(value.numpy())
    if value.device_name().lower() != "cpu":
        raise ValueError(f"a bfloat16 OrtValue must be on the CPU, got one on {value.device_name()}")
    return np.asarray(_Bits(value)).view(onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16))


def part_model(
    model: onnx.ModelProto, graph: Graph, step: Step, types: Mapping[str, str], ir_version: int
) -> onnx.ModelProto:
    """Give the nodes of `step` as a model of their own.

    Cut values have types but no shapes, and what `model` says of inner shapes is left out: shape inference gets the
    bins of an STFT wrong, and onnxruntime infers what it needs.

    Parameters
    ----------
    model : onnx.ModelProto
        The model that `graph` is of; it stays as it is.
    graph : Graph
        The graph.
    step : Step
        Nodes for onnxruntime.
    types : mapping of str to str
        Types of the values that enter, such as ``"tensor(float)"``; those of the graph's own inputs are not needed.
    ir_version : int
        Version of the new model.
    """
    part = onnx.ModelProto(ir_version=ir_version, producer_name=model.producer_name, domain=model.domain)
    part.opset_import.extend(model.opset_import)
    part.functions.extend(model.functions)
    part.graph.name = model.graph.name
    part.graph.node.extend(step.nodes)
    for name in step.inputs:
        if name in graph.inputs:
            part.graph.input.append(graph.inputs[name])
        else:
            part.graph.input.append(onnx.helper.make_tensor_value_info(name, element_type(types[name]), None))
    part.graph.output.extend(onnx.ValueInfoProto(name=name) for name in step.outputs)
    read = {name for node in step.nodes for name in reads(node)}
    part.graph.initializer.extend(tensor for name, tensor in graph.initializers.items() if name in read)
    part.graph.sparse_initializer.extend(tensor for name, tensor in graph.sparse.items() if name in read)
    return part


class _Bits:
    """The memory of a bfloat16 OrtValue as uint16, which NumPy keeps alive by keeping this object."""

    def __init__(self, value: onnxruntime.OrtValue) -> None:
        self._value = value
        self.__array_interface__ = {
            "version": 3,
            "typestr": np.dtype(np.uint16).str,
            "shape": tuple(value.shape()),
            "data": (value.data_ptr(), False),
        }


def _as_feed(value: Any) -> Any:
    """Give a value as a session's `run` takes it: an array, list or dictionary, or an OrtValue in place of bfloat16."""
    return _as_ort_value(value) if isinstance(value, np.ndarray) and _is_bfloat16(value.dtype) else value


def _as_ort_value(value: Any) -> onnxruntime.OrtValue:
    """Give an array as an OrtValue on its memory; an OrtValue as it is."""
    if isinstance(value, onnxruntime.OrtValue):
        return value
    if _is_bfloat16(value.dtype):
        bits = np.ascontiguousarray(value).view(np.uint16).reshape(value.shape)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, onnx.TensorProto.BFLOAT16)
    return onnxruntime.OrtValue.ortvalue_from_numpy(value)


def _is_bfloat16(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "V" and dtype.name == "bfloat16"  # the name alone takes NumPy 4 us
