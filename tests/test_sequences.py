"""What a call leaves behind for the next ones shows in no result: caches, kept memory and plans, in any order of calls, in threads, after interrupts.

Results are compared, bit for bit, with those of the same call made with empty caches and a new plan.
"""

import functools
import gc
import itertools
import pickle
import random
import sys
from functools import cache
from math import prod
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import fastspectral
from fastspectral import _jit, conv_plans, fft, fft_plan, kernels, stft_plan
from fastspectral.kernels.lanes import registers
from fastspectral.onnx import InferenceSession
from fastspectral.ops import _lines
from onnx_models import make_model, tensor

PACKAGE = str(Path(fastspectral.__file__).parent)
LENGTHS = [1, 2, 5, 8, 12, 15, 16, 31, 61, 64, 97, 100, 127, 128, 243, 400, 509, 1009, 1024, 4096, 65536]
WINDOWS = [np.hanning(n + 2)[1:-1].astype(dtype) for n in (4, 31, 64, 400) for dtype in ("f4", "f8")]
WEIGHTS = [  # shape and attributes; of those with 16 channels some shapes of x are summed by pairs
    ((16, 16, 4, 4), {"strides": [2, 2]}),
    ((17, 5, 3, 3), {"pads": [1, 0, 1, 1]}),
    ((6, 4, 7), {"strides": [3], "dilations": [2], "group": 2}),
    ((24, 13, 6), {"strides": [2], "auto_pad": "SAME_LOWER"}),
    ((3, 2, 2, 3, 2), {"strides": [1, 2, 3], "group": 3}),
]


def forget(chance=1.0, r=random):
    """Clear every cache but those of addresses of compiled code, which is kept for good."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("fastspectral")]
    for function in {value for module in modules for value in vars(module).values() if hasattr(value, "cache_clear")}:
        if not function.__name__.endswith("_address") and function is not _jit.source_digest and r.random() < chance:
            function.cache_clear()
    if r.random() < chance:
        _lines._kept.__dict__.clear()


def weights(number):
    (shape, attributes), rng = WEIGHTS[number], np.random.default_rng(number)
    b = rng.standard_normal(shape[1] * attributes.get("group", 1))
    return rng.standard_normal(shape).astype(np.float32), b.astype(np.float32), attributes


class Held:
    """Plans and sessions that one call after another uses."""

    def __init__(self):
        self.plan = cache(self._plan)
        self.session = cache(self._session)

    def _plan(self, number):
        w, b, attributes = weights(number)
        return fastspectral.conv_transpose_plan(w, b, **attributes)

    def _session(self, number):
        w, b, attributes = weights(number)
        nodes = [helper.make_node("Neg", ["x"], ["a"]), helper.make_node("ConvTranspose", "awb", ["y"], **attributes)]
        model = make_model(nodes, [tensor("x", [None] * w.ndim)], ["y"], {"w": w, "b": b})
        return InferenceSession(model.SerializeToString())


def call(seed, held):
    """Make a call that the seed decides; give a digest of the results."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    real, workers, n = r.choice(["f4", "f8"]), r.choice([None, 1, 2]), r.choice(LENGTHS)

    def noise(*shape, parts=1, kinds=("f2", "f4", "f8")):
        x = rng.standard_normal((*shape, parts)).astype(r.choice(kinds))
        x = x if parts == 2 else x[..., 0]
        layout = r.randrange(5)
        if layout == 0:
            x = np.repeat(x, 2, axis=0)[::2]
        elif layout == 1:
            x = x.astype(x.dtype.newbyteorder())
        x.flags.writeable = layout != 2
        return x

    def transformed():
        x, axis = noise(*r.choice([(n,), (7, n), (3, n, 5)])[: 3 if n < 2000 else 1], parts=2), r.choice([0, 1])
        axis = min(axis, x.ndim - 2)
        return fastspectral.dft(x, r.choice([None, 60]), axis, inverse=r.random() < 0.5, workers=workers)

    def like_scipy():
        name, x = r.choice(["fft", "rfft", "ihfft", "rfftn"]), noise(r.choice([1, 9]), min(n, 2000), kinds=("f4", "f8"))
        return getattr(fft, name)(x, norm=r.choice([None, "ortho", "forward"]), workers=workers)

    def frames():
        window, step = r.choice(WINDOWS), r.randrange(1, 50)
        signal = noise(2, window.size + r.choice([0, 99, 1000]), parts=r.choice([1, 2]))
        spectra = fastspectral.stft(signal, step, window, onesided=signal.ndim == 2, workers=workers)
        return spectra, fastspectral.istft(
            spectra, min(step, window.size), window + 1, onesided=signal.ndim == 2, workers=workers
        )

    def compiled():
        z = rng.standard_normal((r.choice([1, 6]), min(n, 2000))) + 1j
        z, window = z.astype(r.choice(["c8", "c16"])), r.choice(WINDOWS)
        out, plan = np.empty_like(z), fft_plan(z.shape[1], z.dtype)
        kernels.fft_lines(z, out, 1.0, plan)
        signal, plan = rng.standard_normal((1, 900)).astype(real), stft_plan(r.randrange(1, 50), window, dtype=real)
        spectra = np.empty((1, r.choice([1, 5]), plan.bins), "c8" if real == "f4" else "c16")
        kernels.stft_frames(signal, spectra, plan)
        return out, spectra

    def convolved():
        number = r.randrange(len(WEIGHTS))
        w, b, attributes = weights(number)
        sizes = [r.choice([[1, 5, 40, 300], [1, 4, 12, 27, 31], [1, 3, 6]][w.ndim - 3]) for _ in w.shape[2:]]
        x = noise(r.choice([1, 3]), len(w), *sizes, kinds=("f4",))
        if r.random() < 0.1:
            x = np.where(x > 2, np.float32(1e30), x)  # pairs would overflow
        plan, way = held.plan(number), r.randrange(5)
        if way == 0:
            return fastspectral.conv_transpose(x, w, b, workers=workers, **attributes)
        if way == 1:
            arrays = plan.for_njit(x.shape)
            out = np.empty(tuple(arrays.output_shape), np.float32)
            kernels.conv_transpose_planned(np.ascontiguousarray(x, np.float32), out, arrays)
            return out
        if way == 2:
            return held.session(number).run(None, {"x": x})[0]
        return plan(x, workers=workers)

    results = r.choice([transformed, like_scipy, frames, compiled, convolved, convolved])()
    results = results if isinstance(results, tuple) else (results,)
    return [(result.dtype, result.shape, result.tobytes()) for result in results]


@cache
def expected(seed):
    forget()
    return call(seed, Held())


def wrong_in(seeds, count, r):
    """Make so many calls in any order, now and then with some caches cleared, or with a plan that was pickled."""
    held, wrong = Held(), []
    for _ in range(count):
        seed, event = r.choice(seeds), r.random()
        if event < 0.1:
            forget(0.3, r)
        elif event < 0.12:
            gc.collect()
        elif event < 0.14:
            held = Held()
        if call(seed, held) != expected(seed):
            wrong.append(seed)
    return wrong


def interrupted(seed, held, lines):
    """Make the call, with a KeyboardInterrupt after so many lines of the package."""
    counted = itertools.count()

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        if event == "line" and next(counted) == lines:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call(seed, held)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize(
    ("seeds", "count"), [(120, 600), pytest.param(600, 6000, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_calls_in_any_order(seeds, count):
    assert wrong_in(range(seeds), count, random.Random(1)) == []


@pytest.mark.parametrize("seeds", [60, pytest.param(600, marks=pytest.mark.slow)], ids=["few", "many"])
def test_interrupted_calls(seeds):
    r, held, interrupts = random.Random(2), Held(), 0
    for seed in range(seeds):
        want = expected(seed)
        if r.random() < 0.5:
            forget()
        interrupts += interrupted(seed, held, int(10 ** r.uniform(0, 4)))
        assert call(seed, held) == want, seed
    assert interrupts > seeds // 4


@pytest.mark.parametrize("count", [100, pytest.param(1500, marks=pytest.mark.slow)], ids=["few", "many"])
def test_calls_of_threads_that_share_plans(count, race):
    seeds, held, wrong = range(120), Held(), []
    for seed in seeds:
        expected(seed)

    def work(number):
        r = random.Random(number)
        for _ in range(count):
            seed = r.choice(seeds)
            if r.random() < 0.05:
                forget(0.3, r)
            if call(seed, held) != expected(seed):
                wrong.append(seed)

    race(*[functools.partial(work, number) for number in range(4)])
    assert wrong == []


def any_way(axes, channels, pairs, r):
    """Choose a way to sum, whatever it costs."""
    shifts = tuple([r.choice([0, axis.begin % axis.stride]) for axis in axes])
    several = [
        any(len(group.offsets) > 1 for group in conv_plans.phase_groups(axis, shift))
        for axis, shift in zip(axes, shifts, strict=True)
    ]
    steps = tuple([1 + (pairs and more and r.random() < 0.4) for more in several])
    tile = r.choice(conv_plans.TILES[registers()])
    return conv_plans.Choice(shifts, steps, *tile, prod(steps) == 1 and r.random() < 0.4)


@pytest.mark.parametrize("plans", [40, pytest.param(800, marks=pytest.mark.slow)], ids=["few", "many"])
def test_a_plan_that_sums_each_shape_in_another_way(plans, monkeypatch):
    r, salt = random.Random(3), 0

    def choose(images, channels, out_channels, axes, lanes, count, pairs, held, singles):
        return any_way(axes, channels, pairs, random.Random(repr((salt, images, axes))))

    monkeypatch.setattr(conv_plans, "choose", choose)
    for salt in range(plans):
        rng, axes, group = np.random.default_rng(salt), r.choice([1, 1, 2, 2, 3]), r.choice([1, 1, 2, 4])
        channels, out_channels = group * r.choice([1, 3, 8, 17]), r.choice([1, 2, 3, 5, 8, 12, 13, 24])
        taps = [r.randint(1, (12, 5, 3)[axes - 1]) for _ in range(axes)]
        w = rng.standard_normal((channels, out_channels, *taps)).astype(r.choice(["f4", "f4", "f8"]))
        attributes = {
            name: [r.randint(1, most) for _ in range(axes)] for name, most in (("strides", 4), ("dilations", 3))
        }
        attributes |= {"group": group, "auto_pad": r.choice(["NOTSET", "SAME_UPPER", "SAME_LOWER"])}
        sizes = [1, 2, 3, 9, 17, 40, 150] if axes == 1 else [1, 2, 3, 6, 9, 14]
        shapes = [(r.randint(1, 3), channels, *[r.choice(sizes) for _ in range(axes)]) for _ in range(5)]
        inputs = [rng.standard_normal(shape).astype(w.dtype) for shape in shapes]
        forget()
        want = [fastspectral.conv_transpose_plan(w, **attributes)(x) for x in inputs]
        plan = fastspectral.conv_transpose_plan(w, **attributes)
        for number in r.choices(range(5), k=12):
            assert np.array_equal(plan(inputs[number]), want[number]), (salt, shapes[number])
        assert np.array_equal(pickle.loads(pickle.dumps(plan))(inputs[0]), want[0])
    forget()
