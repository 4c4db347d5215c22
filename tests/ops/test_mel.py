"""mel_weight_matrix against its definition and the reference evaluator of onnx."""

import ml_dtypes
import numpy as np
import onnx.helper
import pytest
from onnx.reference import ReferenceEvaluator

import oracles
from fastspectral.ops.mel import mel_weight_matrix

CONFIGURATIONS = {
    "official": (8, 16, 8192, 0.0, 4096.0),
    "whisper": (80, 400, 16000, 0.0, 8000.0),
    "whisper128": (128, 400, 16000, 0.0, 8000.0),
    "kaldi": (80, 512, 16000, 20.0, 7600.0),
    "speech": (40, 512, 16000, 125.0, 7500.0),
    "music": (128, 2048, 44100, 0.0, 22050.0),
    "more_bands_than_bins": (100, 64, 8000, 0.0, 4000.0),
    "odd_length": (10, 15, 8192, 0.0, 4096.0),
    "one_point": (5, 256, 16000, 1000.0, 1000.0),
    "one_band": (1, 30, 8000, 300.0, 3000.0),
    "no_band": (0, 16, 8000, 0.0, 4000.0),
    "length_one": (3, 1, 8000, 0.0, 500.0),
    "falls_to_zero_just_past_the_last_bin": (7, 8, 8000, 0.0, 6000.0),
}
configurations = pytest.mark.parametrize("arguments", CONFIGURATIONS.values(), ids=CONFIGURATIONS)


def reference(arguments):
    """Run a model of this one node in onnx's reference evaluator."""
    names = ["num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"]
    types = [7, 7, 7, 1, 1]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MelWeightMatrix", names, ["y"], output_datatype=11)],
        "mel",
        [onnx.helper.make_tensor_value_info(name, code, []) for name, code in zip(names, types, strict=True)],
        [onnx.helper.make_tensor_value_info("y", 11, None)],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    dtypes = {7: np.int64, 1: np.float32}
    feeds = {name: np.array(value, dtypes[code]) for name, value, code in zip(names, arguments, types, strict=True)}
    return ReferenceEvaluator(model).run(None, feeds)[0]


@configurations
def test_matches_definition(arguments):
    matrix = mel_weight_matrix(*arguments, output_datatype=np.float64)
    assert matrix.shape == (arguments[1] // 2 + 1, arguments[0])
    assert np.array_equal(matrix, oracles.mel_weight_matrix(*arguments))


@configurations
def test_matches_reference(arguments):
    given = (*arguments[:3], np.float32(arguments[3]), np.float32(arguments[4]))
    np.testing.assert_allclose(mel_weight_matrix(*given, output_datatype=11), reference(given), rtol=0, atol=2.0**-52)


def test_random_configurations_match_definition(rng):
    for _ in range(100):
        rate = int(rng.choice([8000, 16000, 22050, 44100]))
        upper = rng.uniform(500, rate / 2)
        arguments = (int(rng.integers(1, 130)), int(rng.integers(64, 2049)), rate, rng.uniform(0, 500), upper)
        matrix = mel_weight_matrix(*arguments, output_datatype=11)
        assert np.array_equal(matrix, oracles.mel_weight_matrix(*arguments)), arguments


def test_last_band_stays_below_the_upper_edge():
    matrix = mel_weight_matrix(80, 400, 16000, 0.0, 8000.0)
    assert np.flatnonzero(matrix.any(axis=1)).max() == 192


def test_peaks_are_one_and_integers_keep_only_them():
    matrix = mel_weight_matrix(40, 512, 16000, 0.0, 8000.0)
    assert matrix.dtype == np.float32
    assert np.array_equal(matrix.max(axis=0), np.ones(40))
    for dtype in (np.uint8, np.int64):
        assert np.array_equal(mel_weight_matrix(40, 512, 16000, 0.0, 8000.0, output_datatype=dtype), matrix == 1)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_rounded_once(dtype):
    exact = mel_weight_matrix(40, 512, 16000, 0.0, 8000.0, output_datatype=11)
    rounded = mel_weight_matrix(40, 512, 16000, 0.0, 8000.0, output_datatype=dtype)
    assert rounded.dtype == dtype
    half_spacing = ml_dtypes.finfo(dtype).eps / 2
    assert np.all(np.abs(rounded.astype(np.float64) - exact) <= half_spacing * exact)


def test_arrays_of_one_element():
    arguments = [np.array([value]) for value in (8, 16, 8192, 0.0, 4096.0)]
    assert np.array_equal(mel_weight_matrix(*arguments), mel_weight_matrix(8, 16, 8192, 0, 4096))


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"num_mel_bins": -1}, ValueError, "num_mel_bins must be at least 0, got -1"),
        ({"dft_length": 0}, ValueError, "dft_length must be at least 1, got 0"),
        ({"sample_rate": 0}, ValueError, "sample_rate must be at least 1, got 0"),
        ({"lower_edge_hertz": -1.0}, ValueError, "lower_edge_hertz must be in .*got -1.0"),
        ({"lower_edge_hertz": 4097.0}, ValueError, r"lower_edge_hertz must be in \[0, upper_edge_hertz = 4096.0\]"),
        (
            {"upper_edge_hertz": 9000.0},
            ValueError,
            "upper_edge_hertz must keep .* bins 0 to 8, got 9000.0, .*bin 1[0-9]",
        ),
        ({"upper_edge_hertz": 1e308}, ValueError, "upper_edge_hertz must keep"),
        ({"upper_edge_hertz": np.nan}, ValueError, "upper_edge_hertz must be finite, got nan"),
        ({"upper_edge_hertz": "4k"}, TypeError, "upper_edge_hertz must be a real number"),
        ({"num_mel_bins": 8.0}, TypeError, "num_mel_bins must be an integer"),
        ({"dft_length": [16, 16]}, ValueError, "dft_length must be one integer"),
        ({"dft_length": 2**62}, (ValueError, MemoryError), "larger than any array|Unable to allocate"),
        ({"num_mel_bins": 2**62}, (ValueError, MemoryError), "larger than any array|Unable to allocate"),
        ({"output_datatype": 14}, ValueError, "output_datatype must be one of"),
    ],
)
def test_errors(changed, error, words):
    arguments = {
        "num_mel_bins": 8,
        "dft_length": 16,
        "sample_rate": 8192,
        "lower_edge_hertz": 0.0,
        "upper_edge_hertz": 4096.0,
    }
    with pytest.raises(error, match=words):
        mel_weight_matrix(**(arguments | changed))
