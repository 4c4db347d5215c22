"""The operators that fastspectral serves, as the ONNX standard has them: versions, types, inputs, outputs, attributes and shapes.

It is what the ONNX adapters read to serve nodes, `get_kernel` to make kernels, and ``python -m fastspectral ops`` to print.

Sources: the ONNX operator specifications DFT-17, DFT-20, STFT-17, HannWindow-17, HammingWindow-17, BlackmanWindow-17,
MelWeightMatrix-17, ConvTranspose-1, ConvTranspose-11 and ConvTranspose-22.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy.typing as npt

from fastspectral.contract import calls

Array = npt.NDArray[Any]

DOMAIN = "ai.onnx"

FLOATS = ("bfloat16", "float16", "float32", "float64")
LENGTHS = ("int32", "int64")
NUMBERS = (*FLOATS, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


class Value(NamedTuple):
    """An input or output; `type` is a name among the types of its operator, or a dtype."""

    name: str
    type: str
    required: bool = True


class Attribute(NamedTuple):
    """An attribute: its kind ("int", "ints" or "string") and its default, None where what its absence means depends on shapes."""

    name: str
    kind: str
    default: int | str | None


class Operator(NamedTuple):
    """One operator from one opset on.

    Attributes
    ----------
    op_type : str
        Name of the operator.
    since : int
        The opset from which on this holds, until that of the next version.
    types : dict of str to tuple of str
        The dtypes that each type of the signature may be.
    inputs : tuple of Value
        In the order of a node's inputs.
    output : Value
        The only output.
    attributes : tuple of Attribute
        What a node may say besides.
    shape_rule : str
        The shape of the output, in words.
    variants : tuple of str
        Ways to compute that a call may choose among; of more than one, ``workers`` may be given.
    compute : callable
        From inputs (None where one is absent), attributes by name, and where there are variants ``out`` and ``workers``, to the output.
    shape : callable
        From inputs and attributes to the shape of the output.
    """

    op_type: str
    since: int
    types: dict[str, tuple[str, ...]]
    inputs: tuple[Value, ...]
    output: Value
    attributes: tuple[Attribute, ...]
    shape_rule: str
    variants: tuple[str, ...]
    compute: Callable[..., Array]
    shape: Callable[..., tuple[int, ...]]

    @property
    def threaded(self) -> bool:
        """Whether it takes ``workers`` and ``out``."""
        return len(self.variants) > 1

    def dtypes(self, value: Value) -> tuple[str, ...]:
        """The dtypes that an input or output may have."""
        return self.types.get(value.type, (value.type,))

    @property
    def defaults(self) -> dict[str, int | str | None]:
        """The attributes that a node without any has."""
        return {attribute.name: attribute.default for attribute in self.attributes}

    def as_dict(self) -> dict[str, Any]:
        """The contract as plain data, for JSON."""
        return {
            "id": f"{DOMAIN}.{self.op_type}",
            "since": self.since,
            "types": {name: list(dtypes) for name, dtypes in self.types.items()},
            "inputs": [value._asdict() for value in self.inputs],
            "outputs": [{"name": self.output.name, "type": self.output.type, "shape": self.shape_rule}],
            "attributes": [attribute._asdict() for attribute in self.attributes],
            "variants": list(self.variants),
        }


THREADS = ("serial", "parallel")

ONESIDED = Attribute("onesided", "int", 0)
INVERSE = Attribute("inverse", "int", 0)
DATATYPE = Attribute("output_datatype", "int", 1)  # float32


def _dft(since: int, inputs: tuple[Value, ...], attributes: tuple[Attribute, ...]) -> Operator:
    return Operator(
        "DFT",
        since,
        {"T1": FLOATS, "T2": LENGTHS},
        (Value("input", "T1"), Value("dft_length", "T2", required=False), *inputs),
        Value("output", "T1"),
        (*attributes, INVERSE, ONESIDED),
        "that of input, with n along axis (n // 2 + 1 if onesided and not inverse) and a last axis of 2 (1 if onesided and inverse); "
        "n is dft_length or the size of the axis (2 * (size - 1) if onesided and inverse)",
        THREADS,
        calls.dft,
        calls.dft_shape,
    )


def _window(op_type: str, compute: Callable[..., Array]) -> Operator:
    return Operator(
        op_type,
        17,
        {"T1": LENGTHS, "T2": NUMBERS},
        (Value("size", "T1"),),
        Value("output", "T2"),
        (Attribute("periodic", "int", 1), DATATYPE),
        "(size,)",
        ("serial",),
        compute,
        calls.window_shape,
    )


def _conv_transpose(since: int, dtypes: tuple[str, ...]) -> Operator:
    return Operator(
        "ConvTranspose",
        since,
        {"T": dtypes},
        (Value("X", "T"), Value("W", "T"), Value("B", "T", required=False)),
        Value("Y", "T"),
        (
            Attribute("auto_pad", "string", "NOTSET"),
            Attribute("dilations", "ints", None),
            Attribute("group", "int", 1),
            Attribute("kernel_shape", "ints", None),
            Attribute("output_padding", "ints", None),
            Attribute("output_shape", "ints", None),
            Attribute("pads", "ints", None),
            Attribute("strides", "ints", None),
        ),
        "(X.shape[0], W.shape[1] * group, ...), along each spatial axis strides * (size - 1) + dilations * (taps - 1) + 1 + output_padding "
        "- begin - end, or size * strides if auto_pad is SAME_UPPER or SAME_LOWER, or output_shape",
        ("pairs", "blocks", "direct"),
        calls.conv_transpose,
        calls.conv_transpose_shape,
    )


# Of each operator its versions, newest first.
OPERATORS: dict[str, tuple[Operator, ...]] = {
    "BlackmanWindow": (_window("BlackmanWindow", calls.blackman_window),),
    "ConvTranspose": (
        _conv_transpose(22, FLOATS),
        _conv_transpose(11, FLOATS[1:]),
        _conv_transpose(1, FLOATS[1:]),
    ),
    "DFT": (
        _dft(20, (Value("axis", "int64", required=False),), ()),
        _dft(17, (), (Attribute("axis", "int", 1),)),
    ),
    "HammingWindow": (_window("HammingWindow", calls.hamming_window),),
    "HannWindow": (_window("HannWindow", calls.hann_window),),
    "MelWeightMatrix": (
        Operator(
            "MelWeightMatrix",
            17,
            {"T1": LENGTHS, "T2": FLOATS, "T3": NUMBERS},
            (
                Value("num_mel_bins", "T1"),
                Value("dft_length", "T1"),
                Value("sample_rate", "T1"),
                Value("lower_edge_hertz", "T2"),
                Value("upper_edge_hertz", "T2"),
            ),
            Value("output", "T3"),
            (DATATYPE,),
            "(dft_length // 2 + 1, num_mel_bins)",
            ("serial",),
            calls.mel_weight_matrix,
            calls.mel_shape,
        ),
    ),
    "STFT": (
        Operator(
            "STFT",
            17,
            {"T1": FLOATS, "T2": LENGTHS},
            (
                Value("signal", "T1"),
                Value("frame_step", "T2"),
                Value("window", "T1", required=False),
                Value("frame_length", "T2", required=False),
            ),
            Value("output", "T1"),
            (ONESIDED._replace(default=1),),
            "(batch, (length - frame_length) // frame_step + 1, frame_length // 2 + 1 if onesided else frame_length, 2); "
            "frame_length is that of window if it is not given",
            THREADS,
            calls.stft,
            calls.stft_shape,
        ),
    ),
}


def version_of(op_type: str, opset: int) -> Operator | None:
    """Give the version of an operator that holds at an opset, or None where there is none."""
    return next((operator for operator in OPERATORS.get(op_type, ()) if opset >= operator.since), None)
