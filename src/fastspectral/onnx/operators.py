"""Nodes of ONNX graphs, served as the contract of their operators says: see `fastspectral.contract.manifest`."""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

import fastspectral
from fastspectral.contract.manifest import OPERATORS, version_of

Array = npt.NDArray[Any]

# The default domain has two spellings.
DEFAULT_DOMAINS = ("", "ai.onnx")


def _rounded_once(operator: Callable[..., Array], x: Array, *inputs: Any, **options: Any) -> Array:
    """Compute a float32 node in float64 and round its result once.

    A logarithm follows the transform in every speech model; in bins 120 dB below the loudest it turns the rounding of a float32 transform into errors of
    2e-4 to 6e-4 of the features (measured on speech; with any library).  In float64 the node takes about twice its time, which is a small part of a model's.
    """
    if x.dtype != np.float32:
        return operator(x, *inputs, **options)
    with np.errstate(over="ignore"):  # beyond float32's range a result is infinite, as ever
        return operator(x.astype(np.float64), *inputs, **options).astype(np.float32)


def default_opset(imports: Iterable[onnx.OperatorSetIdProto]) -> int:
    """Give the version of the default domain that a model imports; 1, the first, where it imports none."""
    return next((entry.version for entry in imports if entry.domain in DEFAULT_DOMAINS), 1)


def is_served(node: onnx.NodeProto, opset: int) -> bool:
    """Tell whether fastspectral computes `node` in a model of version `opset` of the default domain."""
    return node.domain in DEFAULT_DOMAINS and version_of(node.op_type, opset) is not None


def bind(node: onnx.NodeProto, opset: int, *, workers: int | None = None) -> functools.partial[Array]:
    """Give a function from the input arrays of a served `node` (None where one is absent) to its output.

    Parameters
    ----------
    node : onnx.NodeProto
        A node for which `is_served` is true.
    opset : int
        Version of the default domain that the model imports.
    workers : int, optional
        Threads for the operators that use several; None leaves it to `fastspectral.set_workers`.

    Raises
    ------
    ValueError
        If the node has an attribute that its operator does not know at this opset, no input where one is required, or
        too many inputs or outputs.
    """
    operator = version_of(node.op_type, opset)
    if operator is None:
        raise ValueError(f"node must be one of {', '.join(OPERATORS)} of opset {opset}, got {node.op_type}")
    inputs = [value.name for value in operator.inputs]
    known = sorted(operator.defaults)
    where = f"{node.op_type} node {node_name(node)!r} of opset {opset}"

    attributes = {attribute.name: _attribute_value(attribute) for attribute in node.attribute}
    for name in attributes:
        if name not in known:
            raise ValueError(f"attributes of {where} must be among {known}, got {name!r}")
    for i, value in enumerate(operator.inputs):
        if value.required and (i >= len(node.input) or not node.input[i]):
            raise ValueError(f"inputs of {where} must give {value.name} (input {i}), got {list(node.input)}")
    if len(node.input) > len(inputs):
        raise ValueError(f"inputs of {where} must be at most {inputs}, got {list(node.input)}")
    if len(node.output) != 1 or not node.output[0]:
        raise ValueError(f"outputs of {where} must be one name, got {list(node.output)}")

    options = {**operator.defaults, **attributes, **({"workers": workers} if operator.threaded else {})}
    function = operator.compute
    if operator.op_type in ("DFT", "STFT"):
        function = functools.partial(_rounded_once, function)
    return functools.partial(function, **options)


def bind_weights(
    node: onnx.NodeProto, opset: int, *, workers: int | None = None
) -> Callable[..., Callable[[Array], Array]]:
    """Give a function from the weights and the bias of a served ConvTranspose `node` to a function of its x.

    The weights are packed once.  Parameters and errors are those of `bind`.
    """
    attributes = bind(node, opset, workers=workers).keywords

    def planned(w: Array, b: Array | None = None) -> Callable[[Array], Array]:
        given = {name: value for name, value in attributes.items() if name != "workers"}
        return functools.partial(fastspectral.conv_transpose_plan(w, b, **given), workers=workers)

    return planned


def output_element_type(node: onnx.NodeProto, input_element_type: int) -> int:
    """Give the element type (a TensorProto code) of a served node's output, from that of its first input."""
    if not any(attribute.name == "output_datatype" for attribute in OPERATORS[node.op_type][0].attributes):
        return input_element_type
    for attribute in node.attribute:
        if attribute.name == "output_datatype":
            return int(attribute.i)
    return int(onnx.TensorProto.FLOAT)


def node_name(node: onnx.NodeProto) -> str:
    """Give the name of a node, or where it has none its first output, which is unique as well."""
    return str(node.name or next(iter(node.output), ""))


def _attribute_value(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    return value.decode() if isinstance(value, bytes) else value
