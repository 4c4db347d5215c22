"""The contract: what it says is what onnx.defs says, and kernels keep to it."""

import inspect
import json

import numpy as np
import onnx
import pytest

import fastspectral
import oracles
from accuracy import errors
from fastspectral._jit import source_digest
from fastspectral._threads import resolve_workers
from fastspectral.contract import OPERATORS, get_kernel
from fastspectral.contract.cases import cases, error_eps
from fastspectral.contract.manifest import version_of

VERSIONS = [operator for versions in OPERATORS.values() for operator in versions]
CASES = cases("test")
SPELLED = {"float": "float32", "double": "float64"}  # where ONNX's name of a dtype is not NumPy's


def identity(value):
    return f"{value.op_type}-{value.since}"


def dtypes_of(strings):
    names = (string.removeprefix("tensor(").removesuffix(")") for string in strings)
    return sorted(SPELLED.get(name, name) for name in names)


@pytest.mark.parametrize("op_type", OPERATORS)
def test_every_version_is_there(op_type):
    schemas = [schema for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""]
    known = {schema.since_version for schema in schemas if schema.name == op_type}
    assert [operator.since for operator in OPERATORS[op_type]] == sorted(known, reverse=True)
    for opset in range(1, onnx.defs.onnx_opset_version() + 1):
        found = version_of(op_type, opset)
        assert (found and found.since) == max((since for since in known if since <= opset), default=None)


@pytest.mark.parametrize("operator", VERSIONS, ids=identity)
def test_the_contract_is_that_of_onnx(operator):
    schema = onnx.defs.get_schema(operator.op_type, operator.since)
    types = {constraint.type_param_str: constraint.allowed_type_strs for constraint in schema.type_constraints}
    assert {name: sorted(dtypes) for name, dtypes in operator.types.items()} == {
        name: dtypes_of(strings) for name, strings in types.items()
    }
    assert [(value.name, value.required) for value in operator.inputs] == [
        (value.name, value.option == onnx.defs.OpSchema.FormalParameterOption.Single) for value in schema.inputs
    ]
    assert [operator.output.name] == [value.name for value in schema.outputs]
    for value, formal in zip([*operator.inputs, operator.output], [*schema.inputs, *schema.outputs], strict=True):
        assert sorted(operator.dtypes(value)) == dtypes_of(types.get(formal.type_str, [formal.type_str]))
        assert value.type == formal.type_str.removeprefix("tensor(").removesuffix(")")
    described = {}
    for name, attribute in schema.attributes.items():
        default = onnx.helper.get_attribute_value(attribute.default_value) if attribute.default_value.name else None
        described[name] = (attribute.type.name.lower(), default.decode() if isinstance(default, bytes) else default)
    assert {a.name: (a.kind, a.default) for a in operator.attributes} == described


@pytest.mark.parametrize("operator", VERSIONS, ids=identity)
def test_calls_have_the_names_of_the_contract(operator):
    for function in (operator.compute, operator.shape):
        parameters = inspect.signature(function).parameters.values()
        if not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
            inputs = [value.name for value in operator.inputs]
            assert names[: len(inputs)] == inputs
    json.dumps(operator.as_dict())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.id}, {case.name}")
def test_cases(case):
    kernel, arrays = case.kernel, case.arrays()
    exact = case.expected(arrays)
    values = {**arrays, **case.attributes}
    assert kernel.shape(**values) == exact.shape
    name = kernel.operator.output.name
    result = kernel(**values)[name]
    assert error_eps(result, exact) <= case.bound
    out = np.empty_like(result)
    assert kernel(**values, outputs={name: out})[name] is out
    np.testing.assert_array_equal(out, result)
    explained = kernel.explain(**values)
    assert explained.variant in kernel.operator.variants
    for variant in kernel.operator.variants:
        if kernel.explain(**values, variant=variant).variant != variant:
            with pytest.raises(ValueError, match=f"variant '{variant}' is not possible"):
                kernel(**values, variant=variant)
            continue
        forced = kernel(**values, variant=variant)[name]
        assert error_eps(forced, exact) <= case.bound
        if variant == explained.variant or kernel.operator.variants == ("serial", "parallel"):
            np.testing.assert_array_equal(forced, result)


def test_cases_cover_every_version_and_dtype():
    assert {case.id for case in CASES} == {f"ai.onnx.{name}" for name in OPERATORS}
    assert {(case.kernel.operator.op_type, case.kernel.metadata.since) for case in CASES} == {
        (operator.op_type, operator.since) for operator in VERSIONS
    }
    dtypes = {given["dtype"] for case in CASES for given in case.inputs.values()}
    assert {"float16", "bfloat16", "float32", "float64"} <= dtypes
    assert {case.id for case in cases("bench")} >= {"ai.onnx.DFT", "ai.onnx.STFT", "ai.onnx.ConvTranspose"}


# Of which the definitions of the tests, in extended precision, are another spelling.
ORACLES = {
    "DFT": lambda x, n=None, axis=-2, **flags: oracles.dft(
        x, n and int(n), -2 if axis is None else int(axis), **{k: bool(v) for k, v in flags.items() if k != "axis"}
    ),
    "STFT": lambda x, step, w, n, onesided: oracles.stft(x, int(step), w, n and int(n), onesided=bool(onesided)),
    "ConvTranspose": oracles.conv_transpose,
}


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.name.endswith("float64") and case.kernel.operator.op_type in ORACLES],
    ids=lambda case: f"{case.id}, {case.name}",
)
def test_definitions_are_those_of_the_oracles(case):
    arrays, operator = case.arrays(), case.kernel.operator
    inputs = [arrays.get(value.name) for value in operator.inputs]
    given = case.attributes if operator.op_type == "ConvTranspose" else {**operator.defaults, **case.attributes}
    exact = ORACLES[operator.op_type](*inputs, **given)
    # float64 sums of at most 512 products of noise: a few eps
    assert errors(case.expected(arrays), exact)[0] <= 4


def test_metadata():
    kernel = get_kernel("ai.onnx.DFT", opset=19, version=1)
    assert kernel.metadata == ("ai.onnx.DFT", 17, 1, fastspectral.__version__, source_digest())
    assert get_kernel("ai.onnx.DFT").metadata.since == 20
    assert "ai.onnx.DFT" in repr(kernel)


def test_the_axis_of_opset_17_is_an_attribute(rng):
    x = rng.standard_normal((3, 4, 5, 2))
    np.testing.assert_array_equal(get_kernel("ai.onnx.DFT", 17)(input=x)["output"], fastspectral.dft(x, axis=1))
    np.testing.assert_array_equal(get_kernel("ai.onnx.DFT", 20)(input=x)["output"], fastspectral.dft(x, axis=2))


def test_variants_of_a_transform(rng):
    kernel, x = get_kernel("ai.onnx.DFT"), rng.standard_normal((64, 1000, 2))
    serial = kernel.explain(input=x, variant="serial")
    assert serial[:3] == ("serial", "it was asked for", 1)
    assert serial.plan.startswith("1000 = ")
    if resolve_workers(-1, 1, 0) > 1:
        assert kernel.explain(input=x).variant == "parallel"
        assert kernel.explain(input=x, variant="parallel").threads > 1
    assert "worth" in kernel.explain(input=x).reason or "one thread" in kernel.explain(input=x).reason
    assert kernel.explain(input=x[:1, :60]).variant == "serial"
    assert "sweeps" in kernel.explain(input=np.ones((1, 1 << 20, 2), np.float32)).plan
    assert "convolution" in kernel.explain(input=np.ones((1, 4093, 2), np.float32)).plan


def test_variants_of_a_convolution(rng):
    kernel = get_kernel("ai.onnx.ConvTranspose")
    x, w = rng.standard_normal((1, 32, 9, 9)), rng.standard_normal((32, 16, 3, 3))
    assert {name: kernel.explain(X=x, W=w, variant=name).variant for name in kernel.operator.variants} == {
        "pairs": "pairs",
        "blocks": "blocks",
        "direct": "direct",
    }
    large = np.where(x == x.max(), 1e200, x)
    assert kernel.explain(X=large, W=w, variant="pairs")[:2] == (
        "blocks",
        "X has numbers so large that sums of pairs could overflow",
    )
    assert "W has numbers" in kernel.explain(X=x, W=w * 1e200).reason
    assert kernel.explain(X=x, W=np.where(w == w.max(), np.inf, w))[:2] == ("direct", "a weight is not finite")
    assert kernel.explain(X=x[:, :8], W=w[:8]).reason == "sums of pairs need 16 channels in a group"
    assert kernel.explain(X=x, W=w).variant in ("pairs", "blocks")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({}, ValueError, "must give 'input'"),
        ({"input": np.ones((1, 4, 2), int)}, TypeError, "float"),
        ({"input": np.ones((1, 4, 2)), "onsided": 1}, TypeError, "onsided"),
        ({"input": np.ones((1, 4, 2)), "outputs": {"Y": np.ones(1)}}, ValueError, "outputs"),
        ({"input": np.ones((1, 4, 2)), "outputs": {"output": np.ones((1, 5, 2))}}, ValueError, "shape"),
        ({"input": np.ones((1, 4, 2)), "variant": "pairs"}, ValueError, "must be one of"),
        ({"input": np.ones((1, 4, 2)), "variant": "serial", "workers": 2}, ValueError, "workers"),
        ({"input": np.ones((1, 4, 2)), "dft_length": np.float32(4)}, TypeError, "dft_length"),
        ({"input": np.ones((1, 4, 2)), "axis": 7}, ValueError, "axis"),
        (
            {"input": np.ones((1, 4, 2)), "inverse": "0"},
            TypeError,
            "'inverse' of ai.onnx.DFT must be an integer, got '0'",
        ),
    ],
)
def test_errors_of_calls(arguments, error, words):
    with pytest.raises(error, match=words):
        get_kernel("ai.onnx.DFT")(**arguments)


def test_none_is_as_if_not_given(rng):
    x = rng.standard_normal((3, 4, 5, 2))
    given = {"input": x, "dft_length": None, "axis": None, "inverse": None}
    for opset in (17, 20):
        kernel = get_kernel("ai.onnx.DFT", opset)
        np.testing.assert_array_equal(kernel(**given)["output"], kernel(input=x)["output"])


def test_explanations_take_lengths_and_axes_as_calls_do(rng):
    kernel, x = get_kernel("ai.onnx.DFT"), rng.standard_normal((3, 4, 5, 2))
    explained = kernel.explain(input=x, dft_length=[7], axis=np.array([1]))
    assert explained == kernel.explain(input=x, dft_length=7, axis=1)
    assert explained.plan.startswith("7 = ")


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("HannWindow", {"size": -1}, "size must be at least 0, got -1"),
        ("MelWeightMatrix", {"num_mel_bins": -1, "dft_length": 4}, "num_mel_bins must be at least 0, got -1"),
        ("MelWeightMatrix", {"num_mel_bins": 1, "dft_length": 0}, "dft_length must be at least 1, got 0"),
    ],
)
def test_shapes_and_explanations_refuse_what_calls_refuse(name, values, message):
    kernel = get_kernel(f"ai.onnx.{name}")
    if name == "MelWeightMatrix":
        values |= {"sample_rate": 8000, "lower_edge_hertz": 0.0, "upper_edge_hertz": 1.0}
    for method in (kernel, kernel.shape, kernel.explain):
        with pytest.raises(ValueError, match=message):
            method(**values)


def test_opsets_are_integers():
    with pytest.raises(TypeError, match="opset must be an integer, got '20'"):
        get_kernel("ai.onnx.DFT", "20")


def test_bfloat16_is_new_in_opset_22(rng):
    x, w = (fastspectral.hann_window(8, output_datatype=16).reshape(1, 1, 8) for _ in range(2))
    assert get_kernel("ai.onnx.ConvTranspose", 22)(X=x, W=w)["Y"].dtype == x.dtype
    with pytest.raises(TypeError, match="bfloat16"):
        get_kernel("ai.onnx.ConvTranspose", 11)(X=x, W=w)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ai.onnx.Relu",), "ai.onnx.Relu"),
        (("DFT",), "id must be one of"),
        (("ai.onnx.DFT", 16), "at least 17"),
        (("ai.onnx.DFT", 20, 2), "version"),
        ((20,), "id must be one of"),
    ],
)
def test_errors_of_get_kernel(arguments, words):
    with pytest.raises(ValueError, match=words):
        get_kernel(*arguments)
