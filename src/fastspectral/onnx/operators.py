"""The operators that fastspectral serves, as ONNX nodes spell them.

The one place that knows which opset means which signature: the axis of DFT is an attribute with default 1 before opset
20 and an input with default -2 from then on; STFT takes its step second and its length fourth; strings are bytes.

Sources: the ONNX operator specifications DFT-17, DFT-20, STFT-17, HannWindow-17, HammingWindow-17, BlackmanWindow-17,
MelWeightMatrix-17, ConvTranspose-1, ConvTranspose-11 and ConvTranspose-22.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

import fastspectral

Array = npt.NDArray[Any]
Scalar = Any  # a number as nodes get it: an array of one element

# The default domain has two spellings.
DEFAULT_DOMAINS = ("", "ai.onnx")


def _dft_17(
    input: Array,  # noqa: A002 (ONNX's name)
    dft_length: Scalar | None = None,
    *,
    axis: Scalar = 1,
    inverse: int = 0,
    onesided: int = 0,
    workers: int | None = None,
) -> Array:
    options = {"inverse": bool(inverse), "onesided": bool(onesided), "workers": workers}
    return _rounded_once(fastspectral.dft, input, dft_length, axis, **options)


def _dft_20(
    input: Array,  # noqa: A002
    dft_length: Scalar | None = None,
    axis: Scalar | None = None,
    *,
    inverse: int = 0,
    onesided: int = 0,
    workers: int | None = None,
) -> Array:
    return _dft_17(
        input, dft_length, axis=-2 if axis is None else axis, inverse=inverse, onesided=onesided, workers=workers
    )


def _stft(
    signal: Array,
    frame_step: Scalar,
    window: Array | None = None,
    frame_length: Scalar | None = None,
    *,
    onesided: int = 1,
    workers: int | None = None,
) -> Array:
    options = {"onesided": bool(onesided), "workers": workers}
    return _rounded_once(fastspectral.stft, signal, frame_step, window, frame_length, **options)


def _rounded_once(operator: Callable[..., Array], x: Array, *inputs: Any, **options: Any) -> Array:
    """Compute a float32 node in float64 and round its result once.

    A logarithm follows the transform in every speech model; in bins 120 dB below the loudest it turns the rounding of a float32 transform into errors of
    2e-4 to 6e-4 of the features (measured on speech; with any library).  In float64 the node takes about twice its time, which is a small part of a model's.
    """
    if x.dtype != np.float32:
        return operator(x, *inputs, **options)
    with np.errstate(over="ignore"):  # beyond float32's range a result is infinite, as ever
        return operator(x.astype(np.float64), *inputs, **options).astype(np.float32)


def _hann_window(size: Scalar, *, periodic: int = 1, output_datatype: int = 1) -> Array:
    return fastspectral.hann_window(size, periodic=bool(periodic), output_datatype=output_datatype)


def _hamming_window(size: Scalar, *, periodic: int = 1, output_datatype: int = 1) -> Array:
    return fastspectral.hamming_window(size, periodic=bool(periodic), output_datatype=output_datatype)


def _blackman_window(size: Scalar, *, periodic: int = 1, output_datatype: int = 1) -> Array:
    return fastspectral.blackman_window(size, periodic=bool(periodic), output_datatype=output_datatype)


def _mel_weight_matrix(
    num_mel_bins: Scalar,
    dft_length: Scalar,
    sample_rate: Scalar,
    lower_edge_hertz: Scalar,
    upper_edge_hertz: Scalar,
    *,
    output_datatype: int = 1,
) -> Array:
    return fastspectral.mel_weight_matrix(
        num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz, output_datatype=output_datatype
    )


def _conv_transpose(
    X: Array,
    W: Array,
    B: Array | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    workers: int | None = None,
) -> Array:
    return fastspectral.conv_transpose(
        X,
        W,
        B,
        auto_pad=auto_pad,
        dilations=dilations,
        group=group,
        kernel_shape=kernel_shape,
        output_padding=output_padding,
        output_shape=output_shape,
        pads=pads,
        strides=strides,
        workers=workers,
    )


# Of each operator: from which opset on which function computes it, newest first.
OPERATORS: dict[str, tuple[tuple[int, Callable[..., Array]], ...]] = {
    "BlackmanWindow": ((17, _blackman_window),),
    "ConvTranspose": ((1, _conv_transpose),),
    "DFT": ((20, _dft_20), (17, _dft_17)),
    "HammingWindow": ((17, _hamming_window),),
    "HannWindow": ((17, _hann_window),),
    "MelWeightMatrix": ((17, _mel_weight_matrix),),
    "STFT": ((17, _stft),),
}


def default_opset(imports: Iterable[onnx.OperatorSetIdProto]) -> int:
    """Give the version of the default domain that a model imports; 1, the first, where it imports none."""
    return next((entry.version for entry in imports if entry.domain in DEFAULT_DOMAINS), 1)


def is_served(node: onnx.NodeProto, opset: int) -> bool:
    """Tell whether fastspectral computes `node` in a model of version `opset` of the default domain."""
    return node.domain in DEFAULT_DOMAINS and _function(node.op_type, opset) is not None


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
    function = _function(node.op_type, opset)
    if function is None:
        raise ValueError(f"node must be one of {', '.join(OPERATORS)} of opset {opset}, got {node.op_type}")
    parameters = inspect.signature(function).parameters
    inputs = [name for name, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    required = [name for name in inputs if parameters[name].default is inspect.Parameter.empty]
    keywords = {name for name in parameters if name not in inputs}
    known = sorted(keywords - {"workers"})
    where = f"{node.op_type} node {node_name(node)!r} of opset {opset}"

    attributes = {attribute.name: _attribute_value(attribute) for attribute in node.attribute}
    for name in attributes:
        if name not in known:
            raise ValueError(f"attributes of {where} must be among {known}, got {name!r}")
    for i, name in enumerate(required):
        if i >= len(node.input) or not node.input[i]:
            raise ValueError(f"inputs of {where} must give {name} (input {i}), got {list(node.input)}")
    if len(node.input) > len(inputs):
        raise ValueError(f"inputs of {where} must be at most {inputs}, got {list(node.input)}")
    if len(node.output) != 1 or not node.output[0]:
        raise ValueError(f"outputs of {where} must be one name, got {list(node.output)}")

    if "workers" in keywords:
        attributes["workers"] = workers
    return functools.partial(function, **attributes)


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
    if node.op_type in ("DFT", "STFT", "ConvTranspose"):
        return input_element_type
    for attribute in node.attribute:
        if attribute.name == "output_datatype":
            return int(attribute.i)
    return int(onnx.TensorProto.FLOAT)


def node_name(node: onnx.NodeProto) -> str:
    """Give the name of a node, or where it has none its first output, which is unique as well."""
    return str(node.name or next(iter(node.output), ""))


def _function(op_type: str, opset: int) -> Callable[..., Array] | None:
    return next((function for since, function in OPERATORS.get(op_type, ()) if opset >= since), None)


def _attribute_value(attribute: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    return value.decode() if isinstance(value, bytes) else value
