"""conv_transpose_plan against conv_transpose: the same bits, weights packed once, any shape, pickling, printing."""

import itertools
import pickle
import threading

import ml_dtypes
import numpy as np
import pytest

import oracles
from fastspectral import ConvTransposePlan, conv_transpose, conv_transpose_plan
from fastspectral.ops import conv_transpose as module

DTYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
ATTRIBUTES = {
    "stride 2": {"strides": [2, 2], "pads": [1, 0, 1, 1]},
    "SAME_LOWER": {"strides": [3, 2], "auto_pad": "SAME_LOWER"},
    "output_shape": {"strides": [2, 1], "output_shape": [18, 12], "dilations": [2, 1]},
    "groups": {"group": 2, "output_padding": [1, 0], "strides": [2, 1], "kernel_shape": [4, 3]},
}


@pytest.fixture
def arrays(rng):
    return [rng.standard_normal(shape).astype(np.float32) for shape in ((2, 4, 9, 11), (4, 6, 4, 3), (6,))]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_gives_the_bits_of_conv_transpose(name, dtype, arrays):
    attributes = ATTRIBUTES[name]
    x, w, b = (array.astype(dtype) for array in arrays)
    b = np.tile(b, attributes.get("group", 1))
    for bias in (None, b):
        plan = conv_transpose_plan(w, bias, **attributes)
        assert isinstance(plan, ConvTransposePlan)
        assert np.array_equal(plan(x), conv_transpose(x, w, bias, **attributes))


def test_takes_x_of_any_shape(rng, arrays):
    _, w, b = arrays
    plan = conv_transpose_plan(w, b, strides=[2, 2], pads=[1, 1, 1, 1])
    shapes = [(1, 4, 1, 1), (3, 4, 2, 40), (1, 4, 64, 64), (1, 4, 1, 300), (0, 4, 5, 5), (3, 4, 2, 40)]
    for shape in shapes + [(1, 4, 3, n) for n in range(1, 100)]:
        x = rng.standard_normal(shape).astype(np.float32)
        assert np.array_equal(plan(x), conv_transpose(x, w, b, strides=[2, 2], pads=[1, 1, 1, 1])), shape


def test_takes_shapes_in_any_order(rng, arrays):
    _, w, b = arrays
    inputs = [rng.standard_normal((1, 4, 3 + n % 5, 2 + 9 * n)).astype(np.float32) for n in range(12)]
    expected = [conv_transpose(x, w, b, strides=[2, 2], pads=[1, 1, 1, 1]) for x in inputs]
    for first, second in itertools.permutations(range(12), 2):
        plan = conv_transpose_plan(w, b, strides=[2, 2], pads=[1, 1, 1, 1])
        plan(inputs[first])
        assert np.array_equal(plan(inputs[second]), expected[second]), (first, second)


def test_packs_the_weights_once(arrays, monkeypatch):
    calls = []
    pack = module.pack_weights
    monkeypatch.setattr(module, "pack_weights", lambda *args: calls.append(1) or pack(*args))
    x, w, b = arrays
    plan = conv_transpose_plan(w, b)
    for length in (11, 10, 9, 40, 11):
        plan(x[..., :length])
    assert len(calls) == 1


def test_out_and_workers(arrays):
    x, w, b = arrays
    plan = conv_transpose_plan(w, b, strides=[2, 1])
    expected = conv_transpose(x, w, b, strides=[2, 1])
    out = np.full_like(expected, 7)
    assert plan(x, out, 2) is out
    assert np.array_equal(out, expected)
    with pytest.raises(ValueError, match="overlaps an input"):
        conv_transpose_plan(w[:2, :2, :1, :1])(x[:, :2], out=x[:, :2])
    with pytest.raises(ValueError, match="out must have shape"):
        plan(x, out=out[:1])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite(value, arrays):
    x, w, b = arrays
    w[1, 2, 3, 1] = value
    plan = conv_transpose_plan(w, b, strides=[2, 2])
    result = plan(x)
    exact = oracles.conv_transpose(x, w, b, strides=[2, 2])
    assert np.array_equal(np.isfinite(result), np.isfinite(exact))
    assert "not finite" in str(plan)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
@pytest.mark.parametrize("place", ["x", "w"])
def test_what_pairs_would_spoil_is_summed_one_by_one(place, value, dtype, rng):
    x, w = rng.standard_normal((2, 40, 9, 12)).astype(dtype), rng.standard_normal((40, 24, 4, 4)).astype(dtype)
    value = value if abs(value) != 1e30 or dtype == np.float32 else 1e300
    plan = conv_transpose_plan(w, strides=[2, 2], pads=[1, 1, 1, 1])
    plan(x)
    assert "pairs" in str(plan)
    (x if place == "x" else w)[1, 2, 1, 1] = value
    plan = plan if place == "x" else conv_transpose_plan(w, strides=[2, 2], pads=[1, 1, 1, 1])
    result = plan(x)
    with np.errstate(invalid="ignore"):
        exact = oracles.conv_transpose(x, w, strides=[2, 2], pads=[1, 1, 1, 1])
    assert np.array_equal(np.isnan(result), np.isnan(exact))
    assert np.array_equal(result[np.isinf(exact)], exact[np.isinf(exact)])
    small = np.abs(exact) < 1e10
    # Pairs would mix the neighbours of what is large into sums that it is no part of.
    assert np.abs(result[small] - exact[small]).max() <= 600 * 2.0 ** (-52 if dtype == np.float64 else -23)


def test_pickles_by_making_itself_anew(arrays):
    x, w, b = arrays
    plan = conv_transpose_plan(w, b, strides=[2, 2], auto_pad="SAME_UPPER")
    before = plan(x)
    assert np.array_equal(pickle.loads(pickle.dumps(plan))(x), before)


def test_print_names_the_formulation(arrays):
    x, w, _ = arrays
    plan = conv_transpose_plan(w, strides=[2, 2], pads=[1, 1, 1, 1])
    assert str(plan) == "ConvTransposePlan of w (4, 6, 4, 3), float32, group 1, pads (1, 1, 1, 1), strides (2, 2)"
    plan(x)
    shape, how = str(plan).splitlines()[1].split(": ", 1)
    assert shape.strip() == "x (2, 4, 9, 11) -> (2, 6, 18, 21)"
    assert how.startswith("tiles of ")
    assert ("whose rows serve all offsets" in how) == plan._packed[0].choice.shared  # which depends on the CPU
    upsampling = conv_transpose_plan(np.ones((64, 64, 3, 3), np.float32), strides=[2, 2], pads=[1, 1, 1, 1])
    upsampling(np.ones((1, 64, 56, 56), np.float32))
    assert "rows are channels of one of 2 phases, which read different inputs, outputs by pairs" in str(upsampling)
    vocoder = conv_transpose_plan(np.ones((64, 32, 16), np.float32), strides=[8], pads=[4, 4])
    vocoder(np.ones((1, 64, 800), np.float32))
    assert "rows are channels and all 8 phases, which read the same inputs" in str(vocoder)
    phases = conv_transpose_plan(np.ones((3, 1, 50), np.float32), strides=[24])
    phases(np.ones((1, 3, 80), np.float32))
    assert "rows are neighbours of 24 phases" in str(phases)
    generator = conv_transpose_plan(np.ones((128, 64, 4, 4), np.float32), strides=[2, 2], pads=[1, 1, 1, 1])
    generator(np.ones((16, 128, 16, 16), np.float32))
    assert "outputs by pairs along axis 0 and 1" in str(generator)
    extreme = conv_transpose_plan(np.ones((1, 1, 2), np.float32), strides=[20000])
    extreme(np.ones((1, 1, 2), np.float32))
    assert "the definition" in str(extreme)


def test_errors(arrays):
    x, w, b = arrays
    with pytest.raises(TypeError, match="b must have the float dtype of w, float32, got float64"):
        conv_transpose_plan(w, b.astype(np.float64))
    with pytest.raises(TypeError, match="w must have the float dtype of x, float64, got float32"):
        conv_transpose_plan(w, b)(x.astype(np.float64))
    with pytest.raises(ValueError, match="w must have 2 input channels"):
        conv_transpose_plan(w, b)(x[:, :2])
    with pytest.raises(TypeError, match=r"strides\[0\] must be an integer"):
        conv_transpose_plan(w, strides=[1.5, 1])


def test_replaced_pads_warn_at_the_call(arrays):
    with pytest.warns(UserWarning, match="pads are replaced") as caught:
        conv_transpose_plan(arrays[1], auto_pad="VALID", pads=[1, 1, 1, 1])
    assert caught[0].filename == __file__


def test_threads_share_a_plan(rng, arrays):
    _, w, b = arrays
    plan = conv_transpose_plan(w, b, strides=[2, 2], pads=[1, 1, 1, 1])
    inputs = [rng.standard_normal((1, 4, 3 + n % 5, 2 + 9 * n)).astype(np.float32) for n in range(12)]
    expected = [conv_transpose(x, w, b, strides=[2, 2], pads=[1, 1, 1, 1]) for x in inputs]
    wrong = []

    def work(order):
        for _ in range(5):
            for n in order:
                if not np.array_equal(plan(inputs[n], workers=1), expected[n]):
                    wrong.append(n)

    orders = [np.random.default_rng(seed).permutation(12) for seed in range(6)]
    threads = [threading.Thread(target=work, args=(order,)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
