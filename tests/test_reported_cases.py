"""Every reported case through the public functions: the right answer, nobody else's."""

import warnings

import numpy as np
import pytest

import fastspectral
from reported_cases import CASES, ERROR


def call(case):
    """Run the public function for a node; up to opset 19 the axis of DFT is an attribute of default 1."""
    attributes = dict(case.attributes)
    if case.op == "DFT":
        x, length = case.inputs["input"], case.inputs["dft_length"]
        axis = attributes.pop("axis", 1) if case.opset < 20 else case.inputs["axis"]
        return fastspectral.dft(x, length, -2 if axis is None else axis, **attributes)
    if case.op == "STFT":
        return fastspectral.stft(*case.inputs.values(), **attributes)
    if case.op == "ConvTranspose":
        return fastspectral.conv_transpose(*case.inputs.values(), **attributes)
    window = {
        "HannWindow": fastspectral.hann_window,
        "HammingWindow": fastspectral.hamming_window,
        "BlackmanWindow": fastspectral.blackman_window,
    }[case.op]
    return window(case.inputs["size"], **attributes)


def identify(case):
    return f"{case.identifier}-{case.op}"


def test_there_are_88():
    assert len({case.identifier for case in CASES}) == len(CASES) == 88


@pytest.mark.parametrize("case", [case for case in CASES if case.expected is not ERROR], ids=identify)
def test_right_answer(case):
    before = [None if value is None else value.copy() for value in case.inputs.values()]
    with warnings.catch_warnings():
        if "auto_pad" in case.attributes and any(case.attributes.get("pads", ())):
            warnings.filterwarnings("ignore", "pads are replaced", UserWarning)
        result = call(case)
    assert result.shape == case.expected.shape
    assert result.dtype == case.expected.dtype
    compared = np.broadcast_to(case.mask, result.shape)
    np.testing.assert_allclose(
        result[compared].astype(np.float64),
        case.expected[compared].astype(np.float64),
        rtol=case.rtol,
        atol=case.atol,
        err_msg=case.note,
    )
    for value, kept in zip(case.inputs.values(), before, strict=True):
        assert value is None or np.array_equal(value, kept, equal_nan=value.dtype.kind == "f"), "an input was changed"


@pytest.mark.parametrize("case", [case for case in CASES if case.expected is ERROR], ids=identify)
def test_error(case):
    with pytest.raises((ValueError, TypeError), match=r", got |must"):
        call(case)


def test_symmetric_window_is_symmetric_bit_for_bit():
    (case,) = [case for case in CASES if case.identifier == "C089"]
    window = call(case)
    assert np.array_equal(window, window[::-1])


@pytest.mark.parametrize("name", ["C171", "C173"])
def test_no_silent_conversion(name):
    (case,) = [case for case in CASES if case.identifier == name]
    with pytest.raises(TypeError, match="float"):
        call(case)
