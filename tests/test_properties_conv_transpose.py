"""conv_transpose for random shapes and attributes: definition, adjoint, linearity, and values that are not finite."""

from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from accuracy import EPS
from fastspectral import conv_plans, conv_transpose, conv_transpose_plan
from fastspectral.ops.conv_transpose import planned

# The largest cases of these strategies have 4 · 3^4 terms for an output at the most; their sums err by less than this
# many eps of the sum of magnitudes.
TOLERANCE = 12


class Case(NamedTuple):
    """Arguments of conv_transpose."""

    x: np.ndarray
    w: np.ndarray
    b: np.ndarray | None
    attributes: dict


@st.composite
def cases(draw, dtypes=("float16", "bfloat16", "float32", "float64")):
    """All attributes, 1 to 4 spatial axes."""
    axes = draw(st.integers(1, 4))

    def per_axis(least, most):
        return [draw(st.integers(least, most)) for _ in range(axes)]

    sizes, taps = per_axis(1, (30, 9, 4, 3)[axes - 1]), per_axis(1, (9, 5, 3, 3)[axes - 1])
    strides, dilations = per_axis(1, (9, 4, 3, 2)[axes - 1]), per_axis(1, (5, 3, 2, 2)[axes - 1])
    extra = [
        draw(st.integers(0, max(stride, dilation) - 1)) for stride, dilation in zip(strides, dilations, strict=True)
    ]
    group = draw(st.sampled_from([1, 1, 2, 3]))
    channels, out_channels = group * draw(st.integers(1, 4)), draw(st.integers(1, 8))
    full = [
        stride * (size - 1) + dilation * (count - 1) + 1 + more
        for size, count, stride, dilation, more in zip(sizes, taps, strides, dilations, extra, strict=True)
    ]
    attributes = {"strides": strides, "dilations": dilations, "output_padding": extra, "group": group}
    how = draw(st.sampled_from(["pads", "output_shape", "auto_pad"]))
    if how == "pads":
        begins = [draw(st.integers(0, size - 1)) for size in full]
        ends = [draw(st.integers(0, size - 1 - begin)) for size, begin in zip(full, begins, strict=True)]
        attributes["pads"] = begins + ends
    else:
        attributes["auto_pad"] = draw(st.sampled_from(["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if how == "output_shape":
        most = [
            size - more + max(stride, dilation) - 1
            for size, more, stride, dilation in zip(full, extra, strides, dilations, strict=True)
        ]
        attributes["output_shape"] = [draw(st.integers(1, size)) for size in most]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = np.dtype(getattr(ml_dtypes, name) if (name := draw(st.sampled_from(dtypes))) == "bfloat16" else name)
    x = rng.standard_normal((draw(st.integers(1, 3)), channels, *sizes)).astype(dtype)
    w = rng.standard_normal((channels, out_channels, *taps)).astype(dtype)
    b = rng.standard_normal(group * out_channels).astype(dtype) if draw(st.booleans()) else None
    return Case(x, w, b, attributes)


@settings(max_examples=max(100, settings().max_examples))
@given(cases())
def test_definition(case):
    result = conv_transpose(*case[:3], **case.attributes)
    exact = oracles.conv_transpose(*case[:3], **case.attributes)
    magnitude = oracles.conv_transpose(
        np.abs(case.x), np.abs(case.w), None if case.b is None else np.abs(case.b), **case.attributes
    )
    assert result.shape == exact.shape
    error = np.abs(result.astype(np.longdouble) - exact)
    eps = EPS["float64" if result.dtype == np.float64 else "float32"]  # of the sum
    assert (error <= TOLERANCE * eps * magnitude + half_rounding(result, exact)).all()


@given(cases(["float32"]), st.lists(st.sampled_from([1, 2, 5, 11, 20, 40, 300]), min_size=2, max_size=6))
def test_a_plan_gives_for_any_x_what_a_new_one_does(case, lengths):
    axes = case.x.ndim - 2
    plan = conv_transpose_plan(case.w, case.b, **case.attributes)
    for length in lengths:
        sizes = [*case.x.shape[2:-1], length] if axes < 3 else [min(length, 5)] * axes
        x = np.resize(case.x, (*case.x.shape[:2], *sizes))
        try:
            expected = conv_transpose_plan(case.w, case.b, **case.attributes)(x, workers=1)
        except ValueError:  # pads or an output_shape that do not fit x
            continue
        assert np.array_equal(plan(x, workers=1), expected)


@given(cases(), st.data())
def test_pairs_give_the_definition(case, data):
    axes = case.x.ndim - 2
    steps, begin = (tuple(data.draw(st.sampled_from([1, 2])) for _ in range(axes)) for _ in range(2))
    tile = data.draw(st.sampled_from(conv_plans.TILES[16]))

    def choose(images, channels, out_channels, axes, *_):
        shifts = tuple([axis.begin % axis.stride * (step - 1) for axis, step in zip(axes, begin, strict=True)])
        return conv_plans.Choice(shifts, steps, *tile)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conv_plans, "choose", choose)
        conv_plans.block_plan.cache_clear()
        planned.cache_clear()
        result = conv_transpose(*case[:3], **case.attributes)
    conv_plans.block_plan.cache_clear()
    planned.cache_clear()
    exact = oracles.conv_transpose(*case[:3], **case.attributes)
    # A sum of pairs errs by what the inputs are like that its neighbours read, not by its own alone.
    largest = np.abs(case.x).max().astype(float) * np.abs(case.w).max().astype(float)
    terms = case.w.size // case.w.shape[1] // case.attributes["group"]
    magnitude = 2.0**axes * terms * largest + (0 if case.b is None else np.abs(case.b).max().astype(float))
    eps = EPS["float64" if result.dtype == np.float64 else "float32"]
    assert (np.abs(result.astype(np.longdouble) - exact) <= eps * magnitude + half_rounding(result, exact)).all()


def half_rounding(result, exact):
    """Bound what one rounding to a half costs: half a unit in the last place."""
    if result.dtype.itemsize >= 4:
        return 0
    smallest = {"float16": 2.0**-24, "bfloat16": 2.0**-133}[result.dtype.name]
    return 0.51 * EPS[result.dtype.name] * np.abs(exact) + smallest


@given(cases(dtypes=("float32",)))
def test_same_bits_for_any_number_of_workers(case):
    one, two = (conv_transpose(*case[:3], workers=workers, **case.attributes) for workers in (1, 2))
    assert np.array_equal(one, two)


@given(
    cases(dtypes=("float32", "float64")),
    st.integers(0, 2**32 - 1),
    st.sampled_from([np.nan, np.inf, -np.inf]),
    st.booleans(),
)
def test_values_that_are_not_finite(case, seed, value, in_weights):
    array = case.w if in_weights else case.x
    array.flat[seed % array.size] = value
    result = conv_transpose(*case[:3], **case.attributes)
    with np.errstate(invalid="ignore"):
        exact = oracles.conv_transpose(*case[:3], **case.attributes)
    assert np.array_equal(np.isnan(result), np.isnan(exact))
    assert np.array_equal(result[np.isinf(exact)], exact[np.isinf(exact)])
    assert np.isfinite(result[np.isfinite(exact)]).all()


def correlate(y, w, attributes, sizes):
    """Correlate, which `conv_transpose` is the adjoint of: x collects from where it would have been added to."""
    axes = range(len(sizes))
    strides, dilations, begins = attributes["strides"], attributes["dilations"], attributes["pads"][: len(sizes)]
    group = attributes["group"]
    grouped = y.reshape(y.shape[0], group, -1, *y.shape[2:])
    weights = w.reshape(group, -1, *w.shape[1:])
    x = np.zeros((y.shape[0], group, weights.shape[1], *sizes))
    for i in np.ndindex(*sizes):
        for q in np.ndindex(*w.shape[2:]):
            o = tuple(i[a] * strides[a] + q[a] * dilations[a] - begins[a] for a in axes)
            if all(0 <= o[a] < y.shape[2 + a] for a in axes):
                x[(..., *i)] += np.einsum("ngm,gcm->ngc", grouped[(..., *o)], weights[(..., *q)])
    return x.reshape(y.shape[0], -1, *sizes)


@given(cases(dtypes=("float64",)).filter(lambda case: "pads" in case.attributes), st.integers(0, 2**32 - 1))
def test_adjoint_of_correlation(case, seed):
    y = conv_transpose(case.x, case.w, **case.attributes)
    other = np.random.default_rng(seed).standard_normal(y.shape)
    back = correlate(other, case.w, case.attributes, case.x.shape[2:])
    # Two sums of y.size products of magnitude |y| |other|.
    assert abs(np.vdot(y, other) - np.vdot(case.x, back)) <= 8 * EPS["float64"] * np.sqrt(y.size) * (
        np.linalg.norm(y) * np.linalg.norm(other) + np.linalg.norm(case.x) * np.linalg.norm(back)
    )


@given(cases(dtypes=("float64",)), st.floats(-4, 4))
def test_linear_in_x(case, factor):
    attributes = case.attributes
    other = case.x[..., ::-1]
    together = conv_transpose(case.x + factor * other, case.w, **attributes)
    apart = conv_transpose(case.x, case.w, **attributes) + factor * conv_transpose(other, case.w, **attributes)
    magnitude = oracles.conv_transpose(np.abs(case.x) + abs(factor) * np.abs(other), np.abs(case.w), **attributes)
    assert (np.abs(together - apart) <= 2 * TOLERANCE * EPS["float64"] * magnitude).all()
