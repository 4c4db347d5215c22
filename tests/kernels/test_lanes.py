"""The intrinsics, each compiled for every register width that this machine can run."""

import numpy as np
import pytest
from numba import njit, types
from numba.extending import intrinsic

from fastspectral.kernels import lanes
from fastspectral.kernels.lanes import Variant

VARIANTS = [(bits, width) for bits in (32, 64) for width in (1, 2, 4, 8, 16)]


def variant_of(bits, width, codelet=0):
    """A jitted function that gives the variant, for the variant is a type without a Python value."""
    variant = Variant(bits, width, codelet)

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


@pytest.mark.parametrize(("bits", "width"), VARIANTS)
def test_pairs_and_reversal(bits, width):
    make = variant_of(bits, width)
    size = bits // 8

    @njit
    def run(x, y, z):
        variant = make()
        re, im = lanes.load_pairs(variant, x.ctypes.data)
        lanes.store_point(re, im, y.ctypes.data, width * size)
        re, im = lanes.load_point_reversed(variant, y.ctypes.data, width * size)
        lanes.store_pairs(re, im, z.ctypes.data)

    x = numbers(2 * width, bits)
    y, z = np.zeros_like(x), np.zeros_like(x)
    run(x, y, z)
    np.testing.assert_array_equal(y, np.concatenate([x[::2], x[1::2]]))
    np.testing.assert_array_equal(z, x.reshape(-1, 2)[::-1].ravel())


@pytest.mark.parametrize(("bits", "width"), [v for v in VARIANTS if v[1] > 1])
def test_tiles_transpose(bits, width):
    make = variant_of(bits, width)
    size = bits // 8

    @njit
    def run(table, planes, back):
        variant = make()
        distance = planes.shape[1] * size
        factor = lanes.broadcast_point(variant, planes[2:].ctypes.data, size)
        lanes.load_tile(variant, lanes.pointer(table[0].ctypes.data), 0, planes.ctypes.data, distance)
        lanes.store_tile(variant, planes.ctypes.data, distance, factor, lanes.pointer(table[1].ctypes.data), 0)

    x = numbers(width * width, bits).reshape(width, width)
    back = np.zeros_like(x)
    planes = np.zeros((3, width * width // 2), x.dtype)
    planes[2, :2] = 2, 0.5
    table = np.array([[row.ctypes.data for row in array] for array in (x, back)], np.int64)
    run(table, planes, back)
    np.testing.assert_array_equal(planes[0].reshape(-1, width), x[:, ::2].T)
    np.testing.assert_array_equal(planes[1].reshape(-1, width), x[:, 1::2].T)
    np.testing.assert_array_equal(back, 2.5 * x)


@pytest.mark.parametrize(("bits", "width"), VARIANTS)
def test_codelet_and_its_memory(bits, width):
    make = variant_of(bits, width, 5)
    size = bits // 8

    @njit
    def run(x, y):
        variant = make()
        points = lanes.load_points(variant, x.ctypes.data, width * size, 5 * width * size)
        lanes.store_points(lanes.codelet(variant, points), y.ctypes.data, width * size, 5 * width * size)
        return lanes.radix(variant)

    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 5, width)).astype(f"f{size}")
    y = np.empty_like(x)
    assert run(x, y) == 5
    exact = np.fft.fft(x[0].astype(np.longdouble) + 1j * x[1], axis=0)
    assert np.linalg.norm(y[0] + 1j * y[1] - exact) <= 4 * np.finfo(x.dtype).eps * np.linalg.norm(exact)


def test_columns_are_the_transposed_points():
    make = variant_of(32, 4, 8)

    @njit
    def run(x, y):
        variant = make()
        points = lanes.load_points(variant, x.ctypes.data, 16, 128)
        lanes.store_columns(variant, points, y.ctypes.data, 128)

    x = numbers(64, 32).reshape(2, 8, 4)
    y = np.empty((2, 4, 8), np.float32)
    run(x, y)
    np.testing.assert_array_equal(y, x.transpose(0, 2, 1))


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
