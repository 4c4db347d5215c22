"""Random calls of every operator, right ones and wrong ones: the result is that of the definition, or a ValueError, TypeError or MemoryError is raised.

Whatever happens, inputs stay as they are, nothing is written but the result, and nothing is read that was not written.  `HYPOTHESIS_PROFILE=thorough` makes
20,400 calls, others every time.
"""

import contextlib
import math
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import fastspectral
import oracles
from accuracy import EPS, assert_accurate
from fastspectral import _arrays
from fastspectral.ops import _lines
from fastspectral.ops import conv_transpose as conv_module
from fastspectral.ops import dft as dft_module
from guards import GuardedNumPy, amid_poison

REFUSED = (ValueError, TypeError, MemoryError)
MOST = 200_000  # numbers in a result: larger ones are only planned
DTYPES = [np.dtype(d) for d in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)]
HUGE = [2**31 - 1, 2**31, 2**32 + 1, 2**62, 2**63 - 1, 2**63, -1, -(2**31), -(2**62)]
NONSENSE = [None, True, 1.0, "2", np.int8(3), np.array(2), np.array([2, 3]), float("nan"), [], object()]


@pytest.fixture
def guarded(monkeypatch):
    numpy = GuardedNumPy()
    for module in (_arrays, _lines, conv_module, dft_module):
        monkeypatch.setattr(module, "np", numpy)
    monkeypatch.setattr(_lines, "KEPT_WORDS", -1)  # no scratch outlives its call
    monkeypatch.setattr(_lines, "_kept", _lines._Kept())
    return numpy


fuzzed = settings(
    max_examples=3 * settings.default.max_examples, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def begin(guarded, draw):
    """Decide where in a cache line memory begins during this example."""
    guarded.start = 8 * draw(st.integers(0, 7))


def mostly(strategy, *others):
    """The strategy, and now and then a value that does not belong there."""
    # 0 and 39 come far more often than once in 40 times, and two calls of three would be refused
    return st.integers(0, 39).flatmap(lambda k: st.sampled_from(others) if k == 20 else strategy)


def index(least, most):
    return mostly(st.integers(least, most), *HUGE, *NONSENSE)


def flag():
    return mostly(st.booleans(), 0, 1, None, "yes")


@st.composite
def arrays(draw, shapes):
    """Numbers of one of the four formats, amid NaN, in some strides; now and then of another kind."""
    shape = draw(shapes)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(mostly(st.sampled_from(DTYPES), np.dtype(int), np.dtype(complex), np.dtype(">f4")))
    layout = draw(st.sampled_from(["dense", "dense", "reversed", "every other", "transposed", "read-only"]))
    grown = [2 * size for size in shape] if layout == "every other" else list(shape)
    array = amid_poison(rng.standard_normal(grown[::-1] if layout == "transposed" else grown).astype(dtype))
    if layout == "every other":
        array = array[(slice(None, None, 2),) * array.ndim]
    elif layout == "reversed":
        array = array[(slice(None, None, -1),) * array.ndim]
    elif layout == "transposed":
        array = array.T
    array.flags.writeable = layout != "read-only"
    return array


def shapes(least, most, largest, last=None):
    """Shapes of some axes, few of them long."""
    sizes = st.lists(mostly(st.integers(1, 6), 0, 1, 7, 16, 33, largest), min_size=least, max_size=most)
    return sizes if last is None else st.tuples(sizes, last).map(lambda both: [*both[0], both[1]])


def outputs(draw, array, shape, dtype):
    """None, or a place for the result: a right one, of another shape or kind, or one that overlaps the input."""
    kind = draw(
        st.sampled_from(
            ["none"] * 9 + ["dense", "dense", "strided", "strided", "shape", "dtype", "input", "input", "overlap"]
        )
    )
    if kind == "dense":
        return np.full(shape, 7, dtype)
    if kind == "strided":
        return np.full([2 * size for size in shape], 7, dtype)[(slice(None, None, 2),) * len(shape)]
    if kind == "shape":
        return np.full((*shape, 2), 7, dtype)
    if kind == "dtype":
        return np.zeros(shape, np.float32 if dtype != np.float32 else np.float64)
    if kind == "input":
        return array
    if kind == "overlap" and array.dtype == dtype and array.flags.c_contiguous and array.size >= math.prod(shape):
        flat = array.reshape(-1)
        start = draw(st.integers(0, array.size - math.prod(shape)))
        return flat[start : start + math.prod(shape)].reshape(shape)
    return None


def call(numpy, operator, planned_shape, oracle, inputs, out_of, check):
    """One call; `inputs` are checked to stay as they are unless the result goes there."""
    copies = [np.array(array) for array in inputs]

    def unchanged():
        for array, copy in zip(inputs, copies, strict=True):
            np.testing.assert_array_equal(array, copy)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of pads that `auto_pad` replaces
        try:
            shape = planned_shape()
        except REFUSED:
            with pytest.raises(REFUSED):
                operator(None)
            unchanged()
            return
        if math.prod(shape) > MOST:
            return
        try:
            out = out_of(shape)
            result = operator(out)
        except REFUSED:
            unchanged()
            return
        finally:
            numpy.check()
    assert result.shape == shape
    if out is not None:
        assert result is out
    for array, copy in zip(inputs, copies, strict=True):
        if out is None or not np.may_share_memory(array, out):
            np.testing.assert_array_equal(array, copy)
    check(result, oracle(*copies))


@fuzzed
@given(st.data())
def test_dft(guarded, data):
    draw = data.draw
    begin(guarded, draw)
    x = draw(arrays(shapes(1, 3, 250, mostly(st.sampled_from([1, 2]), 0, 3))))
    length, axis = draw(mostly(st.none(), 1, 2, 7, 30, 64, 251, *HUGE, *NONSENSE)), draw(index(0, x.ndim - 2))
    options = {"inverse": draw(flag()), "onesided": draw(flag())}
    if options["inverse"] is False and draw(st.integers(0, 9)):
        options["onesided"] = x.shape[-1] == 1
    workers = draw(mostly(st.sampled_from([None, 1, 2, -1]), 0, "1", 2.0))

    def operator(out):
        return fastspectral.dft(x, length, axis, **options, out=out, workers=workers)

    def oracle(x):
        n, where = (None if length is None else int(np.asarray(length).item())), int(np.asarray(axis).item())
        return oracles.dft(x, n, where, **{name: bool(value) for name, value in options.items()})

    def check(result, exact):
        n = exact.shape[int(np.asarray(axis).item())]
        if options["inverse"] or np.abs(exact).max(initial=0) < 1e4:  # beyond, halves become infinite
            assert_accurate(result, exact, max(n, 2), 2)

    call(
        guarded,
        operator,
        lambda: fastspectral.dft_shape(x.shape, length, axis, **options),
        oracle,
        [x],
        lambda shape: outputs(draw, x, shape, x.dtype),
        check,
    )


@fuzzed
@given(st.data())
def test_stft(guarded, data):
    draw = data.draw
    begin(guarded, draw)
    samples = st.tuples(st.integers(1, 3), mostly(st.integers(60, 300), 0, 1))
    signal = draw(arrays(st.tuples(samples, st.sampled_from([(), (), (1,), (2,), (3,)])).map(lambda s: s[0] + s[1])))
    window = draw(st.none() | arrays(st.lists(mostly(st.integers(1, 60), 0, 64, 100), min_size=1, max_size=1)))
    step, length = draw(index(1, 40)), draw(st.none() | index(1, 60))
    if window is not None and draw(st.integers(0, 9)):
        length = draw(st.sampled_from([None, window.shape[0]]))
    onesided = draw(flag())
    workers = draw(st.sampled_from([None, 1, 2]))

    def oracle(signal, window=None):
        frame = None if length is None else int(np.asarray(length).item())
        return oracles.stft(
            signal, int(np.asarray(step).item()), None if window is None else window.astype(signal.dtype), frame,
            onesided=bool(onesided),
        )  # fmt: skip

    call(
        guarded,
        lambda out: fastspectral.stft(signal, step, window, length, onesided=onesided, out=out, workers=workers),
        lambda: fastspectral.stft_shape(
            signal.shape, step, None if window is None else window.shape, length, onesided=onesided
        ),
        oracle,
        [signal] if window is None else [signal, window],
        lambda shape: outputs(draw, signal, shape, signal.dtype),
        lambda result, exact: assert_accurate(result, exact, 64, 2),
    )


@fuzzed
@given(st.data())
def test_conv_transpose(guarded, data):
    draw = data.draw
    begin(guarded, draw)
    axes = draw(st.integers(1, 3))
    group = draw(st.sampled_from([1, 1, 2, 3]))
    channels = group * draw(st.integers(1, 3)) + draw(mostly(st.just(0), 1))
    sizes = st.lists(mostly(st.integers(1, 6), 0, 20), min_size=axes, max_size=axes)
    x = draw(arrays(st.tuples(mostly(st.integers(1, 3), 0), sizes).map(lambda s: [s[0], channels, *s[1]])))
    w = draw(arrays(st.tuples(st.integers(1, 4), sizes).map(lambda s: [channels, s[0], *[min(k, 4) for k in s[1]]])))
    if draw(st.integers(0, 9)):
        w = w.real.astype(x.dtype)

    def per_axis(least, most):
        return draw(st.none() | st.lists(index(least, most), min_size=axes, max_size=axes))

    b = draw(st.none() | st.just(None) | arrays(st.just([w.shape[1] * group])))
    if b is not None and draw(st.integers(0, 9)):
        b = b.real.astype(x.dtype)
    attributes = {
        "auto_pad": draw(
            mostly(st.sampled_from(["NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]), "SAME", None)
        ),
        "dilations": per_axis(1, 3),
        "group": draw(mostly(st.just(group), *HUGE, *NONSENSE)),
        "output_padding": draw(st.sampled_from([None] * 4 + [[1] * axes, [0] * axes])),
        "output_shape": draw(st.sampled_from([None] * 9 + [[4] * axes, [1] * axes, [2**62] * axes])),
        "pads": draw(st.none() | st.lists(index(0, 1), min_size=2 * axes, max_size=2 * axes)),
        "strides": per_axis(1, 4),
    }
    workers = draw(st.sampled_from([None, 1, 2]))

    def plain(value):
        return [int(np.asarray(one).item()) for one in value] if isinstance(value, list) else value

    def oracle(x, w, b=None):
        used = {name: plain(value) for name, value in attributes.items()}
        used["group"] = int(np.asarray(attributes["group"]).item())
        exact = oracles.conv_transpose(x, w, b, **used)
        magnitude = oracles.conv_transpose(abs(x), abs(w), None if b is None else abs(b), **used)
        return exact, magnitude

    def check(result, exact_and_magnitude):
        exact, magnitude = exact_and_magnitude
        eps, sum_eps = EPS[result.dtype.name], EPS["float64" if result.dtype == np.float64 else "float32"]
        error = np.abs(result.astype(np.longdouble) - exact)
        assert (error <= 12 * sum_eps * magnitude + (0.51 * eps * np.abs(exact) + 2.0**-24) * (eps > sum_eps)).all()

    def operator(out):
        if draw(st.booleans()):
            return fastspectral.conv_transpose_plan(w, b, **attributes)(x, out=out, workers=workers)
        return fastspectral.conv_transpose(x, w, b, **attributes, out=out, workers=workers)

    call(
        guarded,
        operator,
        lambda: fastspectral.conv_transpose_shape(x.shape, w.shape, None if b is None else b.shape, **attributes),
        oracle,
        [x, w] if b is None else [x, w, b],
        lambda shape: outputs(draw, x, shape, x.dtype),
        check,
    )


@fuzzed
@given(st.data())
def test_windows_and_mel_weights(guarded, data):
    draw = data.draw
    begin(guarded, draw)
    datatype = draw(mostly(st.sampled_from([1, 11, 10, 16, np.float32, "float64"]), 0, 8, "text", None, 99, 2**62))
    kind = draw(st.sampled_from(["hann", "hamming", "blackman", "mel"]))
    if kind == "mel":
        arguments = [draw(index(0, 12)), draw(index(1, 300)), draw(index(1, 48000))]
        edges = [draw(mostly(st.floats(0, 9000), -1.0, np.inf, np.nan, "1", None, 1e300)) for _ in range(2)]
        # Of 2^31 bands or bins a machine may have the memory, or promise it.
        assume(not any(isinstance(one, int) and 2**20 < one < 2**60 for one in arguments))
        with contextlib.suppress(*REFUSED):
            result = fastspectral.mel_weight_matrix(*arguments, *edges, output_datatype=datatype)
            exact = oracles.mel_weight_matrix(*[int(np.asarray(one).item()) for one in arguments], *map(float, edges))
            assert result.shape == exact.shape
            if result.dtype.name in EPS:
                assert_accurate(result, exact, 4)
    else:
        size, periodic = draw(mostly(st.integers(0, 200), 2**62, 2**63, -1, -(2**62), *NONSENSE)), draw(flag())
        operator = getattr(fastspectral, f"{kind}_window")
        with contextlib.suppress(*REFUSED):
            result = operator(size, periodic=periodic, output_datatype=datatype)
            exact = oracles.window(kind, int(np.asarray(size).item()), bool(periodic))
            assert result.shape == exact.shape
            if result.dtype.name in EPS:
                assert_accurate(result, exact, 4)
    guarded.check()
