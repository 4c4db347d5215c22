"""ops.dft against its definition, in every layout, kind and precision."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from accuracy import assert_accurate
from fastspectral import dft

LENGTHS = [
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    11,
    12,
    13,
    15,
    16,
    17,
    25,
    27,
    31,
    32,
    49,
    64,
    97,
    100,
    120,
    127,
    128,
    251,
    256,
    320,
    400,
    441,
    509,
    512,
]
DTYPES = [np.float32, np.float64]
HALVES = [np.float16, ml_dtypes.bfloat16]
KINDS = {
    "forward": (2, {}),
    "inverse": (2, {"inverse": True}),
    "real": (1, {}),
    "inverse of real": (1, {"inverse": True}),
    "onesided": (1, {"onesided": True}),
    "inverse onesided": (2, {"inverse": True, "onesided": True}),
}


def signal(rng, shape, dtype):
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lines", [1, 5, 19])
def test_matches_the_definition(lines, kind, dtype, rng):
    parts, options = KINDS[kind]
    for n in LENGTHS:
        if kind == "inverse onesided":
            options = options | {"dft_length": n}
        x = signal(rng, (lines, n // 2 + 1 if kind == "inverse onesided" else n, parts), dtype)
        y = dft(x, **options)
        assert y.dtype == dtype
        assert_accurate(y, oracles.dft(x, **options), n)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        ((6, 5), 0),
        ((17, 30), 0),
        ((2, 30, 16), 1),
        ((3, 31, 20), 1),
        ((2, 8, 3, 5), 1),
        ((2, 9, 3, 5), 2),
        ((40, 3), 0),
    ],
)
def test_any_axis(shape, axis, kind, dtype, rng):
    parts, options = KINDS[kind]
    x = signal(rng, (*shape, parts), dtype)
    y = dft(x, axis=axis, **options)
    assert_accurate(y, oracles.dft(x, axis=axis, **options), shape[axis])
    np.testing.assert_array_equal(dft(x, axis=axis - len(shape) - 1, **options), y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_pads_and_crops(kind, dtype, rng):
    parts, options = KINDS[kind]
    for size in (1, 2, 3, 7, 8, 20, 33):
        for n in (1, 2, 5, 6, 8, 16, 19, 30, 33, 64, 100, 101, 128, 251):
            for lines in (1, 9):
                x = signal(rng, (lines, size, parts), dtype)
                assert_accurate(dft(x, n, **options), oracles.dft(x, n, **options), n)


@pytest.mark.parametrize("dtype", DTYPES)
def test_pads_and_crops_along_another_axis(dtype, rng):
    for kind, (parts, options) in KINDS.items():
        for n in (5, 8, 21, 22, 40):
            x = signal(rng, (2, 21, 9, parts), dtype)
            assert_accurate(dft(x, n, 1, **options), oracles.dft(x, n, 1, **options), n), kind


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("kind", KINDS)
def test_halves_are_computed_in_float32_and_rounded_once(kind, dtype, rng):
    parts, options = KINDS[kind]
    for n in (8, 30, 31, 400):
        x = signal(rng, (3, n, parts), dtype)
        y = dft(x, **options)
        assert y.dtype == dtype
        wide = dft(x.astype(np.float32), **options)
        np.testing.assert_array_equal(y, wide.astype(dtype))


def test_half_overflows_on_store_only():
    x = np.full((1, 4096, 2), 60000, np.float16)
    assert np.isinf(dft(x)[0, 0, 0])
    np.testing.assert_array_equal(dft(x, inverse=True)[0, 0], np.float16([60000, 60000]))


@pytest.mark.parametrize("dtype", HALVES)
def test_all_halves_pass_through_a_transform_of_one_point(dtype):
    x = np.arange(65536, dtype=np.uint16).view(dtype)
    for shape, axis in (((-1, 1, 2), 1), ((1, -1, 2), 0), ((-1, 1, 1), 1), ((8, 1, 64, 64, 2), 1)):
        y = dft(x.reshape(shape), axis=axis)
        np.testing.assert_array_equal(y[..., : shape[-1]].ravel().astype(np.float32), x.astype(np.float32))


@pytest.mark.parametrize("dtype", HALVES)
def test_halves_in_place(dtype, rng):
    for shape, axis in (((19, 100, 2), 1), ((3, 64, 19, 2), 1), ((1, 4096, 2), 1)):
        x = signal(rng, shape, dtype)
        want = dft(x, axis=axis)
        assert dft(x, axis=axis, out=x) is x
        np.testing.assert_array_equal(x, want)


def variants_of(x):
    """The same values in every kind of memory."""
    wide = np.zeros((x.shape[0], 2 * x.shape[1], *x.shape[2:]), x.dtype)
    wide[:, ::2] = x
    yield "every second", wide[:, ::2]
    yield "reversed", np.ascontiguousarray(x[:, ::-1])[:, ::-1]
    yield "reversed lines", np.ascontiguousarray(x[::-1])[::-1]
    yield "Fortran order", np.asfortranarray(x)
    yield "swapped parts", np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    swapped = x.astype(x.dtype.newbyteorder())
    yield "big-endian", swapped
    frozen = x.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen
    raw = np.zeros(x.nbytes + 1, np.uint8)[1:]
    unaligned = raw.view(x.dtype).reshape(x.shape)
    unaligned[...] = x
    yield "unaligned", unaligned


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_any_memory(axis, kind, dtype, rng):
    parts, options = KINDS[kind]
    x = signal(rng, (9, 12, 10, parts), dtype)
    want = oracles.dft(x, axis=axis, **options)
    for name, view in variants_of(x):
        before = view.copy()
        y = dft(view, axis=axis, **options)
        assert_accurate(y, want, x.shape[axis])
        np.testing.assert_array_equal(view, before, err_msg=name)
    spread = np.broadcast_to(x[:1], x.shape)
    assert_accurate(dft(spread, axis=axis, **options), oracles.dft(spread, axis=axis, **options), x.shape[axis])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_inverse_divides_without_a_second_rounding(dtype, rng):
    """1/n alone, rounded, would put up to half an ulp more on every result."""
    for n in (3, 5, 61, 100, 1000):
        x = np.zeros((200, n, 2), dtype)
        x[:, 0] = rng.standard_normal((200, 2))
        exact = x[:, 0].astype(np.longdouble) / n
        assert (abs(dft(x, inverse=True)[:, 0] - exact) <= 0.501 * np.spacing(abs(exact.astype(dtype)))).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_bins_are_exactly_real(dtype, rng):
    for n in (2, 3, 10, 11, 16, 97, 251, 400, 509, 1009):
        x = signal(rng, (9, n, 1), dtype)
        for y in (dft(x), dft(x, onesided=True), dft(x, inverse=True), dft(x[:1]), dft(x[:1], onesided=True)):
            assert not y[:, 0, 1].any()
            if n % 2 == 0:
                assert not y[:, n // 2, 1].any()


def test_irfft_ignores_imaginary_parts_of_special_bins(rng):
    for n in (7, 15, 16, 17, 63, 100, 303):
        x = signal(rng, (3, n // 2 + 1, 2), np.float64)
        changed = x.copy()
        changed[:, 0, 1] = [100, 1e30, np.nan]
        if n % 2 == 0:
            changed[:, -1, 1] = [-100, np.inf, np.nan]
        options = {"dft_length": n, "inverse": True, "onesided": True}
        np.testing.assert_array_equal(dft(changed, **options), dft(x, **options))


def test_special_bins_of_real_lines_are_real(rng):
    for n in (7, 15, 16, 17, 63, 100, 303):
        x = signal(rng, (9, n, 1), np.float32)
        for y in (dft(x), dft(x, onesided=True), dft(x, inverse=True)):
            assert not y[:, 0, 1].any()
            assert n % 2 or not y[:, n // 2, 1].any()


def test_out_takes_the_result(rng):
    x = signal(rng, (5, 12, 2), np.float32)
    want = dft(x)
    out = np.empty_like(x)
    assert dft(x, out=out) is out
    np.testing.assert_array_equal(out, want)
    strided = np.zeros((5, 24, 4), np.float32)[:, ::2, ::-2]
    assert dft(x, out=strided) is strided
    np.testing.assert_array_equal(strided, want)


@pytest.mark.parametrize("shape", [(9, 64), (3, 30), (20, 251), (1, 4096)])
@pytest.mark.parametrize("axis", [0, 1])
def test_in_place(shape, axis, rng):
    x = signal(rng, (*shape, 2), np.float32)
    want = dft(x, axis=axis)
    assert dft(x, axis=axis, out=x) is x
    np.testing.assert_array_equal(x, want)


def test_partial_overlap_is_refused(rng):
    memory = signal(rng, (6, 8, 2), np.float32)
    with pytest.raises(ValueError, match=r"out must be the input itself or memory apart from it"):
        dft(memory[:5], out=memory[1:])


def test_overlap_of_strided_or_reshaped_memory_is_refused(rng):
    base = signal(rng, (1000, 16, 2), np.float32)
    with pytest.raises(ValueError, match="out must be"):
        dft(base[::2], out=base[250:750])
    bins = base[:8].reshape(8, 16, 2)
    with pytest.raises(ValueError, match="out must be"):
        dft(bins, 16, axis=0, inverse=True, onesided=True, out=bins.reshape(16, 16, 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_inverse_keeps_infinities(dtype):
    for n in (1, 2, 3, 5, 7, 100):
        x = np.zeros((1, n, 2), dtype)
        x[0, 0, 0] = np.inf
        assert dft(x, inverse=True)[0, 0, 0] == np.inf


@pytest.mark.parametrize("axis", [0, 1])
def test_nan_and_inf_stay_in_their_line(axis, rng):
    for n in (8, 30, 31, 64, 202, 251, 347):
        x = signal(rng, (n, n, 2), np.float32)
        clean = dft(x, axis=axis)
        bad = x.copy()
        line = (slice(None), 3) if axis == 0 else (3, slice(None))
        bad[line][1] = np.nan, np.inf
        y = dft(bad, axis=axis)
        mask = np.ones(x.shape, bool)
        mask[line] = False
        np.testing.assert_array_equal(y[mask], clean[mask])
        assert not np.isfinite(y[line]).any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_for_any_number_of_workers(dtype, rng):
    for shape, axis in [
        ((37, 64), 1),
        ((37, 64), 0),
        ((5, 100, 33), 1),
        ((17, 251), 1),
        ((17, 347), 1),
        ((3, 4096), 1),
    ]:
        x = signal(rng, (*shape, 2), dtype)
        for kind, (parts, options) in KINDS.items():
            one = dft(x[..., :parts], axis=axis, workers=1, **options)
            np.testing.assert_array_equal(dft(x[..., :parts], axis=axis, workers=2, **options), one, err_msg=kind)


def test_empty_batch_and_empty_axis():
    assert dft(np.zeros((0, 4, 1), np.float32)).shape == (0, 4, 2)
    y = dft(np.zeros((2, 0, 1), np.float32), 4)
    assert y.shape == (2, 4, 2)
    assert not y.any()


def test_a_crop_of_a_huge_axis_copies_what_it_reads():
    x = np.broadcast_to(np.float32(1), (1, 2**40, 2))
    np.testing.assert_array_equal(dft(x, 4)[0], [[4, 4], [0, 0], [0, 0], [0, 0]])


def test_huge_lengths_are_refused_not_wrapped():
    for n in (2**31, 2**40, 2**62, 2**63):
        with pytest.raises((ValueError, MemoryError)):
            dft(np.ones((1, 4, 1), np.float32), n)


@given(
    shape=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    n=st.integers(1, 70),
    size=st.integers(1, 70),
    kind=st.sampled_from(sorted(KINDS)),
    dtype=st.sampled_from(["f4", "f8"]),
    data=st.data(),
)
def test_random_calls(shape, n, size, kind, dtype, data):
    parts, options = KINDS[kind]
    axis = data.draw(st.integers(0, len(shape) - 1))
    shape[axis] = size
    x = signal(np.random.default_rng(len(shape) + 100 * n), (*shape, parts), dtype)
    axes = data.draw(st.permutations(range(len(shape) + 1)))
    view = np.ascontiguousarray(x.transpose(axes)).transpose(np.argsort(axes))
    assert_accurate(dft(view, n, axis, **options), oracles.dft(x, n, axis, **options), n, c=2)


@given(n=st.integers(2, 300), shift=st.integers(0, 299))
def test_shift_theorem(n, shift):
    rng = np.random.default_rng(n)
    x = rng.standard_normal((1, n, 2))
    shift %= n
    turned = dft(np.roll(x, shift, axis=1))
    w = np.exp(-2j * np.pi * (np.arange(n) * shift % n) / n)
    y = dft(x)
    want = (y[..., 0] + 1j * y[..., 1]) * w
    assert_accurate(turned, np.stack([want.real, want.imag], -1), n, c=4)


@given(n=st.integers(1, 400))
def test_parseval(n):
    x = np.random.default_rng(n).standard_normal((1, n, 2))
    assert abs(np.sum(dft(x) ** 2) / np.sum(x**2) / n - 1) < 16 * 2.0**-52 * np.log2(n + 1) + 2.0**-52


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((1, 5, 1), {"axis": 2}, "axis must be in"),
        ((1, 5, 1), {"axis": -1}, "axis must be in"),
        ((1, 5, 3), {}, "last axis of input must have size 1"),
        ((5,), {}, "rank 2 or more"),
        ((1, 5, 1), {"dft_length": 0}, "dft_length must be at least 1"),
        ((1, 5, 2), {"onesided": True}, "onesided=True needs a real input"),
        ((1, 5, 1), {"onesided": True, "inverse": True}, "needs complex bins"),
    ],
)
def test_refuses(shape, options, message):
    with pytest.raises(ValueError, match=message):
        dft(np.zeros(shape, np.float32), **options)


@pytest.mark.parametrize("dtype", [np.int32, np.bool, np.complex64, np.longdouble, object])
def test_refuses_other_dtypes(dtype):
    with pytest.raises(TypeError, match="input must be float16, bfloat16, float32 or float64"):
        dft(np.zeros((1, 4, 1), dtype))
