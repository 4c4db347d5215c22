"""Inputs, outputs and metadata of a model, as onnxruntime's sessions tell them, and the check of what a user feeds."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime


class NodeArg(NamedTuple):
    """Name, type such as ``"tensor(float)"`` and shape of an input or output, as `onnxruntime.NodeArg` has them.

    A dimension is an int where it is fixed, a str where it has a name and None where nothing is known; the list is
    empty for a scalar and where not even the rank is known.
    """

    name: str
    type: str
    shape: list[int | str | None]


class ModelMetadata(NamedTuple):
    """What a model says of itself, as `onnxruntime.ModelMetadata` has it."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


def node_arg(value: onnx.ValueInfoProto) -> NodeArg:
    """Give the declaration of an input or output as a `NodeArg`."""
    return NodeArg(value.name, type_string(value.type), _shape(value.type))


def metadata(model: onnx.ModelProto) -> ModelMetadata:
    """Give what `model` says of itself."""
    return ModelMetadata(
        model.producer_name,
        model.graph.name,
        model.domain,
        model.doc_string,
        model.graph.doc_string,
        model.model_version,
        {entry.key: entry.value for entry in model.metadata_props},
    )


def type_string(proto: onnx.TypeProto) -> str:
    """Give a type as onnxruntime spells it, such as ``"seq(tensor(float))"``; an absent one as ``""``."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        return tensor_type(proto.tensor_type.elem_type)
    if kind == "sparse_tensor_type":
        return f"sparse_{tensor_type(proto.sparse_tensor_type.elem_type)}"
    if kind == "sequence_type":
        return f"seq({type_string(proto.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_string(proto.optional_type.elem_type)})"
    if kind == "map_type":
        key = onnx.TensorProto.DataType.Name(proto.map_type.key_type).lower()
        return f"map({key},{type_string(proto.map_type.value_type)})"
    return ""


def tensor_type(code: int) -> str:
    """Give the type of a tensor whose elements have the TensorProto code `code`."""
    if code not in onnx.TensorProto.DataType.values():
        raise ValueError(f"the element type of a tensor must be a TensorProto code, got {code}")
    return f"tensor({onnx.TensorProto.DataType.Name(code).lower()})"


def element_type(tensor: str) -> int:
    """Give the TensorProto code of the elements of a tensor type such as ``"tensor(float)"``.

    Raises
    ------
    ValueError
        If the type is another one.
    """
    if not tensor.startswith("tensor("):
        raise ValueError(f"the input of an operator must be a tensor, got {tensor or 'a value of no type'}")
    return int(onnx.TensorProto.DataType.Value(tensor.removeprefix("tensor(").removesuffix(")").upper()))


def check_feeds(feeds: Mapping[str, Any], inputs: Sequence[NodeArg], optional: Iterable[NodeArg]) -> dict[str, Any]:
    """Give `feeds` with every tensor as an ndarray in native byte order, if they fit `inputs` and `optional` ones.

    An OrtValue and a value that is no tensor come back as they are: onnxruntime checks them.

    Raises
    ------
    TypeError
        If a tensor has another element type than the input.
    ValueError
        If an input without a default is missing, a name is unknown, or a rank or a fixed dimension differs.
    """
    known = {argument.name: argument for argument in [*inputs, *optional]}
    missing = [a.name for a in inputs if a.name not in feeds and not a.type.startswith("optional")]
    if missing:
        raise ValueError(f"input_feed must give every input of the model, got {list(feeds)} without {missing}")
    unknown = [name for name in feeds if name not in known]
    if unknown:
        raise ValueError(f"input_feed must name inputs of the model, which are {list(known)}, got {unknown}")
    return {name: _checked(value, known[name]) for name, value in feeds.items()}


def _checked(value: Any, argument: NodeArg) -> Any:
    if not argument.type.startswith("tensor(") or isinstance(value, onnxruntime.OrtValue):
        return value
    expected = _dtype(argument.type)
    array: npt.NDArray[Any] = np.asarray(value, expected if isinstance(value, (list, tuple)) else None)
    if expected == np.dtype(object):
        fits = array.dtype.kind in "OUS"
    else:
        if not array.dtype.isnative:  # onnxruntime takes the bytes for native ones
            array = array.astype(array.dtype.newbyteorder("="))
        fits = array.dtype == expected
    if not fits:
        raise TypeError(f"input {argument.name!r} must be {argument.type}, got an array of {array.dtype}")
    if argument.shape:
        _check_shape(array.shape, argument)
    return array


@lru_cache
def _dtype(tensor: str) -> np.dtype[Any]:
    dtype: np.dtype[Any] = onnx.helper.tensor_dtype_to_np_dtype(element_type(tensor))
    return dtype


def _check_shape(shape: tuple[int, ...], argument: NodeArg) -> None:
    fits = len(shape) == len(argument.shape) and all(
        not isinstance(wanted, int) or size == wanted for size, wanted in zip(shape, argument.shape, strict=True)
    )
    if not fits:
        raise ValueError(
            f"input {argument.name!r} must have rank {len(argument.shape)} and shape {argument.shape} "
            f"(a name or None stands for any size), got shape {list(shape)}"
        )


def _shape(proto: onnx.TypeProto) -> list[int | str | None]:
    kind = proto.WhichOneof("value")
    if kind not in ("tensor_type", "sparse_tensor_type"):
        return []
    return [d.dim_value if d.HasField("dim_value") else (d.dim_param or None) for d in getattr(proto, kind).shape.dim]
