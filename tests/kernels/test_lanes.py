"""The intrinsics, each compiled for every register width that this machine can run."""

import ml_dtypes
import numpy as np
import pytest
from numba import njit, types
from numba.extending import intrinsic

from fastspectral.kernels import lanes
from fastspectral.kernels.lanes import Variant

VARIANTS = [(bits, width) for bits in (32, 64) for width in (1, 2, 4, 8, 16)]


def variant_of(*arguments):
    """A jitted function that gives the variant, for the variant is a type without a Python value."""
    variant = Variant(*arguments)

    @intrinsic
    def make(typingctx):
        return variant(), lambda context, builder, signature, args: context.get_constant_null(variant)

    @njit
    def value():
        return make()

    return value


def numbers(count, bits):
    return np.arange(1, count + 1, dtype=f"f{bits // 8}")


@pytest.mark.parametrize(("bits", "width"), VARIANTS)
def test_loads_stores_and_arithmetic(bits, width):
    make = variant_of(bits, width)

    @njit
    def run(x, y):
        variant = make()
        a, b = lanes.load(variant, x.ctypes.data), lanes.broadcast(variant, x.ctypes.data + lanes.number_bytes(variant))
        lanes.store(a * b + a - lanes.splat(variant, 0.5), y.ctypes.data)
        return lanes.lanes(variant)

    x, y = numbers(width + 1, bits), np.zeros(width + 2, f"f{bits // 8}")
    assert run(x, y) == width
    np.testing.assert_array_equal(y[:width], x[:width] * x[1] + x[:width] - 0.5)
    assert not y[width:].any()


@pytest.mark.parametrize(("bits", "width"), [(32, 8), (64, 1)])
@pytest.mark.parametrize("source", ["planes", "planes swapped", "pairs", "pairs swapped", "pairs weighted"])
@pytest.mark.parametrize("target", ["planes", "planes swapped", "pairs", "pairs scaled", "pairs scaled swapped"])
def test_ends(target, source, bits, width):
    """Every form of memory at either end, in order and reversed."""
    make = variant_of(bits, width, 0, source, target)

    @njit
    def run(x, weights, y, z, scale):
        variant = make()
        re, im = lanes.read_point(variant, x.ctypes.data, weights.ctypes.data - x.ctypes.data)
        lanes.write_point_reversed(variant, re, im, y.ctypes.data, scale.ctypes.data)
        re, im = lanes.read_point_reversed(variant, x.ctypes.data, weights.ctypes.data - x.ctypes.data)
        lanes.write_point(variant, re, im, z.ctypes.data, scale.ctypes.data)

    x = numbers(2 * width, bits)
    weights, y, z, scale = x[::-1].copy(), np.zeros_like(x), np.zeros_like(x), np.array([2, 0.5], x.dtype)
    run(x, weights, y, z, scale)
    numbers_read = x * weights if "weighted" in source else x
    order = lanes.lane_order(bits, width)
    parts = numbers_read.reshape(-1, 2).T if "pairs" in source else numbers_read.reshape(2, -1)[:, np.argsort(order)]
    if ("swapped" in source) != ("swapped" in target):
        parts = parts[::-1]
    parts = parts[:, ::-1] * (2.5 if "scaled" in target else 1)
    want = parts.T.ravel() if "pairs" in target else parts[:, order].ravel()
    np.testing.assert_array_equal(y, want)
    np.testing.assert_array_equal(z, want)


def beside(values):
    """The values and their neighbours in float32."""
    return np.concatenate([values, *(np.nextafter(values, np.float32(side)) for side in (-np.inf, np.inf))])


@pytest.mark.parametrize("by", ["instruction", "integers"])
@pytest.mark.parametrize("width", [1, 4, 8])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_are_converted(dtype, width, by, monkeypatch):
    """All of them; back, each of them and its neighbours in float32, ties between two of them and theirs, and any bits at all."""
    if by == "integers":
        monkeypatch.setattr(lanes, "converts_halves", lambda: False)
    elif not lanes.converts_halves():
        pytest.skip("no such instruction here")
    make = variant_of(32, width, 0, f"pairs {np.dtype(dtype).name}")

    @njit
    def widen(x, y):
        variant = make()
        for k in range(0, x.size, width):
            value = lanes.read_numbers(variant, x.ctypes.data + k * lanes.stored_bytes(variant))
            lanes.store(value, y.ctypes.data + k * lanes.number_bytes(variant))

    @njit
    def narrow(x, y):
        variant = make()
        for k in range(0, x.size, width):
            value = lanes.load(variant, x.ctypes.data + k * lanes.number_bytes(variant))
            lanes.write_numbers(variant, value, y.ctypes.data + k * lanes.stored_bytes(variant))

    bits = np.arange(65536, dtype=np.uint16)
    wide, exact = np.empty(bits.size, np.float32), bits.view(dtype).astype(np.float32)
    widen(bits, wide)
    np.testing.assert_array_equal(wide, exact)
    np.testing.assert_array_equal(np.signbit(wide[::0x8000]), [False, True])

    finite = np.sort(exact[np.isfinite(exact)]).astype(np.float64)
    ties = ((finite[1:] + finite[:-1]) / 2).astype(np.float32)
    beyond = np.array([65520, -65520, 65536, 3.4e38, 1e-45, -1e-45, np.inf, -np.inf], np.float32)
    anything = np.random.default_rng(5).integers(0, 1 << 32, 1 << 16, np.uint32).view(np.float32)
    numbers = np.concatenate([exact, beside(exact[np.isfinite(exact)]), beside(ties), beyond, anything])
    numbers = numbers[: numbers.size // 8 * 8]
    halves = np.empty(numbers.size, np.uint16)
    narrow(numbers, halves)
    with np.errstate(over="ignore", invalid="ignore"):
        want = numbers.astype(dtype)
    kept = ~np.isnan(numbers)
    np.testing.assert_array_equal(halves[kept], want.view(np.uint16)[kept])
    assert np.isnan(halves.view(dtype)[~kept].astype(np.float32)).all()


@pytest.mark.parametrize(("bits", "width"), [v for v in VARIANTS if v[1] > 1])
def test_tiles_transpose(bits, width):
    make = variant_of(bits, width, 0, "pairs", "scaled")
    size = bits // 8

    @njit
    def run(table, planes, scale):
        variant = make()
        distance = width * size
        factor = lanes.broadcast_point(variant, scale.ctypes.data, size)
        x = lanes.addresses(variant, lanes.pointer(table[0].ctypes.data))
        y = lanes.addresses(variant, lanes.pointer(table[1].ctypes.data))
        lanes.load_tile(variant, x, 0, planes.ctypes.data, distance)
        lanes.store_tile(variant, planes.ctypes.data, distance, factor, y, 0)

    x = numbers(width * width, bits).reshape(width, width)
    back = np.zeros_like(x)
    planes, scale = np.zeros((width // 2, 2, width), x.dtype), np.array([2, 0.5], x.dtype)
    table = np.array([[row.ctypes.data for row in array] for array in (x, back)], np.int64)
    run(table, planes, scale)
    np.testing.assert_array_equal(planes.reshape(-1, width), x.T[:, lanes.lane_order(bits, width)])
    np.testing.assert_array_equal(back, 2.5 * x)


@pytest.mark.parametrize(("bits", "width"), VARIANTS)
def test_parts_come_apart_in_lane_order_and_together_again(bits, width):
    make = variant_of(bits, width)

    @njit
    def run(x, parts, pairs, ordered, back):
        variant = make()
        re, im = lanes.load_parts(variant, x.ctypes.data)
        lanes.store(re, parts[0].ctypes.data)
        lanes.store(im, parts[1].ctypes.data)
        lanes.store_parts(variant, re, im, pairs.ctypes.data)
        lanes.store(lanes.load_ordered(variant, x.ctypes.data), ordered.ctypes.data)
        lanes.store_ordered(variant, lanes.load_ordered(variant, x.ctypes.data), back.ctypes.data)

    x = numbers(2 * width, bits)
    parts, pairs, ordered, back = (
        np.zeros((2, width), x.dtype),
        np.zeros_like(x),
        np.zeros(width, x.dtype),
        x[:width] * 0,
    )
    run(x, parts, pairs, ordered, back)
    order = list(lanes.lane_order(bits, width))
    assert sorted(order) == list(range(width))
    np.testing.assert_array_equal(parts, x.reshape(-1, 2).T[:, order])
    np.testing.assert_array_equal(pairs, x)
    np.testing.assert_array_equal(ordered, x[order])
    np.testing.assert_array_equal(back, x[:width])


@pytest.mark.parametrize(("bits", "width"), [v for v in VARIANTS if v[1] > 1])
def test_a_tile_of_registers_turns(bits, width):
    make = variant_of(bits, width)

    @njit
    def run(x, y):
        lanes.turn_tile(make(), x.ctypes.data, y.ctypes.data)

    x, order = numbers(2 * width * width, bits).reshape(width, 2, width), list(lanes.lane_order(bits, width))
    y = np.zeros_like(x)
    run(x, y)
    np.testing.assert_array_equal(y[:, 0][:, np.argsort(order)], x[:, 0][:, np.argsort(order)].T)
    assert not y[:, 1].any()


@pytest.mark.parametrize(("bits", "width"), VARIANTS)
@pytest.mark.parametrize(("groups", "side_by_side"), [(1, 1), (3, 2)])
def test_butterflies_are_the_codelet_times_its_twiddles(bits, width, groups, side_by_side):
    make = variant_of(bits, width, 5, "planes", "planes", True)
    span = side_by_side * 2 * width * bits // 8

    @njit
    def run(x, y, twiddles):
        variant = make()
        lanes.butterflies(variant, groups, span, x.ctypes.data, 0, y.ctypes.data, 0, twiddles.ctypes.data, 0)
        return lanes.radix(variant)

    rng = np.random.default_rng(3)
    shapes = ((5, groups, side_by_side, 2, width), (groups, 4, 2))
    x, twiddles = (rng.standard_normal(shape).astype(f"f{bits // 8}") for shape in shapes)
    y = np.empty((groups, 5, side_by_side, 2, width), x.dtype)
    assert run(x, y, twiddles) == 5
    exact = np.fft.fft(x[:, :, :, 0].astype(np.longdouble) + 1j * x[:, :, :, 1], axis=0).swapaxes(0, 1)
    exact[:, 1:] *= (twiddles[..., 0] + 1j * twiddles[..., 1]).astype(np.clongdouble)[..., np.newaxis, np.newaxis]
    error = np.linalg.norm(y[:, :, :, 0] + 1j * y[:, :, :, 1] - exact)
    assert error <= 4 * np.finfo(x.dtype).eps * np.linalg.norm(exact)


@pytest.mark.parametrize(("bits", "width"), [(32, 8), (64, 1)])
@pytest.mark.parametrize("radix", [3, 5, 7, 9, 11, 13, 15])
def test_real_ends_of_odd_radices(radix, bits, width):
    make, plain = variant_of(bits, width, radix, "planes", "planes", True), variant_of(bits, width, radix)
    plane, half = width * bits // 8, radix // 2 + 1

    @njit
    def run(x, y, z, twiddles):
        variant = make()
        lanes.real_butterfly(variant, x.ctypes.data, plane, y.ctypes.data, 2 * plane, twiddles.ctypes.data)
        lanes.real_butterfly(plain(), x.ctypes.data, plane, z.ctypes.data, 2 * plane, 0)
        lanes.hermitian_butterfly(plain(), z.ctypes.data, 2 * plane, x.ctypes.data, plane)

    x = numbers(radix * width, bits).reshape(radix, width)
    y, z, twiddles = np.zeros((half, 2, width), x.dtype), np.zeros((half, 2, width), x.dtype), numbers(radix - 1, bits)
    bins, factors = np.fft.rfft(x.astype(float), axis=0), np.insert(twiddles.astype(float).view(complex), 0, 1)
    want_x = radix * x[-np.arange(radix)]  # the transform of the transform is the mirrored line
    run(x, y, z, twiddles)
    tolerance = 8 * np.finfo(x.dtype).eps * radix
    for actual, want in ((z, bins), (y, bins * factors[:, np.newaxis])):
        assert abs(actual[:, 0] + 1j * actual[:, 1] - want).max() <= tolerance * abs(want).max()
    assert not z[0, 1].any()
    assert abs(x - want_x).max() <= tolerance * abs(want_x).max()


@pytest.mark.parametrize(("width", "radix"), [(2, 4), (4, 4), (4, 8), (8, 8)])
def test_first_butterfly_transposes(width, radix):
    make = variant_of(32, width, radix, "pairs", "planes")

    @njit
    def run(x, y, twiddles):
        lanes.first_butterfly(make(), x.ctypes.data, x.strides[0], y.ctypes.data, twiddles.ctypes.data, 0)

    rng = np.random.default_rng(4)
    x = (rng.standard_normal((radix, width)) + 1j * rng.standard_normal((radix, width))).astype(np.complex64)
    twiddles = rng.standard_normal((radix - 1, 2, width)).astype(np.float32)
    y = np.empty((radix * width // width, 2, width), np.float32)
    run(x, y, twiddles)
    exact = np.fft.fft(x.astype(complex), axis=0)
    order = list(lanes.lane_order(32, width))
    exact[1:, order] *= twiddles[:, 0] + 1j * twiddles[:, 1]
    want = exact.T.ravel().reshape(-1, width)[:, order]
    assert np.linalg.norm(y[:, 0] + 1j * y[:, 1] - want) <= 4 * 2.0**-23 * np.linalg.norm(want)


def test_registers_of_the_target():
    assert lanes.register_bytes() in (0, 16, 32, 64)
    assert lanes.lanes_of(32) == 2 * lanes.lanes_of(64) or lanes.register_bytes() == 0
    assert lanes.registers() in (16, 32)


def test_variants_are_types_that_numba_can_cache():
    import pickle

    variant = Variant(32, 8, "unzip")
    assert pickle.loads(pickle.dumps(variant)) == variant
    assert variant != Variant(32, 8, "rezip")
    assert isinstance(variant.vector, types.Type)
