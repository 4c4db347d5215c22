"""The kernels of conv_transpose and the plans that drive them: choices, tables, scratch, and two ways to one result."""

from itertools import product
from math import prod

import numpy as np
import pytest

import oracles
from accuracy import assert_accurate
from fastspectral import conv_plans
from fastspectral.conv_plans import (
    TILES,
    Axis,
    Choice,
    PhaseGroup,
    block_plan,
    choose,
    cost,
    count_of,
    phase_groups,
    products_of,
    row_tiles,
)
from fastspectral.kernels import conv_transpose as kernels
from fastspectral.kernels.conv_geometry import HEADER, records

AXES = [
    Axis(size=9, kernel=4, stride=2, dilation=1, begin=1, output=18),
    Axis(size=9, kernel=3, stride=2, dilation=1, begin=1, output=17),
    Axis(size=5, kernel=4, stride=4, dilation=6, begin=3, output=30),
    Axis(size=6, kernel=2, stride=5, dilation=1, begin=0, output=27),
    Axis(size=3, kernel=3, stride=1, dilation=7, begin=4, output=9),
    Axis(size=4, kernel=7, stride=3, dilation=2, begin=5, output=2),
    Axis(size=0, kernel=4, stride=2, dilation=1, begin=0, output=2),
]


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_phases_meet_the_taps_of_the_definition(axis):
    for shift in {0, axis.begin % axis.stride}:
        met = {}
        for group in phase_groups(axis, shift):
            for phase, taps in zip(group.phases, group.taps, strict=True):
                for j in range(count_of(axis, shift)):
                    o = j * axis.stride + phase - shift
                    pairs = {(j + offset, tap) for offset, tap in zip(group.offsets, taps, strict=True)}
                    if 0 <= o < axis.output:
                        assert o not in met, "an output belongs to two phases"
                        met[o] = {(i, tap) for i, tap in pairs if 0 <= i < axis.size}
        assert met == {
            o: {
                (i, q)
                for i in range(axis.size)
                for q in range(axis.kernel)
                if i * axis.stride + q * axis.dilation == o + axis.begin
            }
            for o in range(axis.output)
        }


def test_choice_shares_rows_where_output_channels_are_few():
    axis = Axis(size=33, kernel=4, stride=2, dilation=1, begin=1, output=66)
    assert choose(1, 64, 3, (axis, axis), 8, 16).shared
    small = Axis(size=2, kernel=4, stride=2, dilation=1, begin=1, output=4)
    assert choose(4, 512, 256, (small, small), 8, 16).shifts == (0, 0)  # 2 x 2 positions instead of 3 x 3
    assert not choose(4, 512, 256, (small, small), 8, 16).shared  # or of 4 x 4


def test_choice_takes_the_tile_that_runs_fastest():
    wide, line = Axis(64, 3, 1, 1, 1, 64), Axis(800, 16, 8, 1, 4, 6400)
    assert choose(1, 64, 64, (wide, wide), 8, 16)[2:4] == (6, 2)
    assert choose(1, 256, 128, (line,), 8, 16)[2:4] == (6, 2)
    assert choose(1, 24, 1, (wide,), 8, 16).rows == 1


def test_choice_is_the_cheapest():
    axes = (Axis(size=20, kernel=4, stride=2, dilation=1, begin=1, output=40),)
    best = choose(2, 30, 50, axes, 8, 16)
    costs = {
        choice: cost(2, 30, 50, axes, 8, choice)
        for shift in (0, 1)
        for tile in TILES[16]
        for choice in (Choice((shift,), (1,), *tile), Choice((shift,), (1,), *tile, shared=True))
    }
    assert costs[best] == min(costs.values()) < max(costs.values())


@pytest.mark.parametrize("count", TILES, ids=lambda count: f"{count} registers")
def test_tiles_fit_in_the_registers(count):
    assert all(rows * vectors + vectors + 1 <= count for rows, vectors in TILES[count])


def problem(rng, images, groups, channels, out_channels, axes, dtype):
    """x, w and b."""
    x = rng.standard_normal((images, groups * channels, *[axis.size for axis in axes])).astype(dtype)
    w = rng.standard_normal((groups * channels, out_channels, *[axis.kernel for axis in axes])).astype(dtype)
    return x, w, rng.standard_normal(groups * out_channels).astype(dtype)


def definition(x, w, b, groups, axes):
    """Give the result of the oracle."""
    ends = [
        axis.stride * (axis.size - 1) + axis.dilation * (axis.kernel - 1) + 1 - axis.begin - axis.output
        for axis in axes
    ]
    return oracles.conv_transpose(
        x,
        w,
        b,
        strides=[axis.stride for axis in axes],
        dilations=[axis.dilation for axis in axes],
        pads=[axis.begin for axis in axes] + ends,
        group=groups,
    )


def by_blocks(x, w, b, groups, axes, workers=1):
    """Give the result of the blocks, out of scratch and packed weights full of NaN."""
    channels, out_channels = w.shape[0] // groups, w.shape[1]
    plan = block_plan(len(x), groups, channels, out_channels, axes, 8 * x.itemsize)
    y = np.full((len(x), groups * out_channels, *[axis.output for axis in axes]), np.nan, x.dtype)
    packed = np.full(plan.packed + 128, np.nan, x.dtype)
    slots = np.full((workers, records(plan.geometry, HEADER)[0]["slot_words"]), -1, np.int64)
    pack = kernels.pack_weights if workers == 1 else kernels.pack_weights_parallel
    pack(w.reshape(-1), packed[64:-64], plan.geometry, slots)
    assert np.isfinite(packed[64:-64]).all()
    memory = np.full((workers * plan.scratch_words + 512,), -1, np.int64)  # NaN, read as floats
    scratch = memory[256:-256].reshape(workers, -1)
    kernel = kernels.conv_transpose_blocks if workers == 1 else kernels.conv_transpose_blocks_parallel
    kernel(x.reshape(-1), packed[64:-64], b, y.reshape(-1), plan.geometry, scratch)
    for guarded, guard in ((memory, 256), (packed, 64)):
        before, after = guarded[:guard], guarded[-guard:]
        assert (before == -1).all() if guard == 256 else np.isnan(before).all()
        assert (after == -1).all() if guard == 256 else np.isnan(after).all()
    return y


def line_axis(stride, kernel, size=37, begin=1):
    """Give an axis whose output is that of one crop at either end."""
    return Axis(size, kernel, stride, 1, begin, stride * (size - 1) + kernel - 2 * begin)


PROBLEMS = {
    "groups": (3, 2, 5, 7, (AXES[0], AXES[1])),
    "many rows": (2, 1, 150, 130, (AXES[0], AXES[0])),
    "depthwise": (2, 37, 1, 1, (AXES[1], AXES[0])),
    "phases without taps": (2, 1, 3, 4, (AXES[2],)),
    "holes": (1, 2, 3, 4, (AXES[3],)),
    "lines of one position": (3, 1, 4, 3, (AXES[0], AXES[0], Axis(1, 3, 1, 2, 1, 3))),
    "lines of three": (9, 2, 2, 2, (Axis(4, 3, 1, 1, 0, 6), Axis(2, 2, 2, 1, 1, 3))),
    "cropped to two": (1, 1, 2, 3, (AXES[5], AXES[4])),
    "cropped to less than a stride": (2, 1, 2, 3, (Axis(4, 3, 5, 1, 1, 1),)),
    "cropped to less than a pair": (2, 1, 2, 3, (Axis(4, 5, 3, 1, 4, 2),)),
    "stored by transposes": (
        2,
        1,
        6,
        3,
        (AXES[1], Axis(size=40, kernel=16, stride=8, dilation=1, begin=4, output=320)),
    ),
    **{
        f"stride {s}, kernel {k}": (2, 1, 3, 7, (line_axis(s, k),))
        for s in (1, 2, 3, 4, 5, 7, 9, 20)
        for k in (s, 2 * s + 1)
    },
    "x is the panel": (1, 1, 5, 1, (Axis(33, 2, 2, 1, 0, 66), Axis(31, 2, 2, 1, 0, 62))),
    "planes of groups are the panels": (1, 3, 2, 1, (Axis(9, 1, 1, 1, 0, 9), Axis(5, 4, 4, 1, 0, 20))),
    "phases of one channel": (1, 1, 5, 1, (Axis(30, 50, 24, 1, 3, 700),)),
    "lines shorter than a register": (5, 1, 4, 6, (AXES[0], Axis(4, 4, 2, 1, 1, 8))),
    "many channels, several blocks": (1, 1, 300, 5, (AXES[0], Axis(40, 5, 3, 2, 4, 122))),
}


CROPPED = [name for name in PROBLEMS if "cropped" in name]


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_blocks_and_direct_loop_match_the_definition(name, dtype, rng):
    images, groups, channels, out_channels, axes = PROBLEMS[name]
    x, w, b = problem(rng, images, groups, channels, out_channels, axes, dtype)
    exact = definition(x, w, b, groups, axes)
    terms = channels * prod(axis.kernel for axis in axes) + 1
    one = by_blocks(x, w, b, groups, axes)
    assert_accurate(one, exact, terms)
    assert np.array_equal(one, by_blocks(x, w, b, groups, axes, workers=2))
    plan = block_plan(images, groups, channels, out_channels, axes, 8 * x.itemsize)
    for workers in (1, 2):
        direct = np.full_like(one, np.nan)
        flat = (x.reshape(-1), w.reshape(-1), b, direct.reshape(-1), plan.geometry)
        if workers == 1:
            kernels.conv_transpose_direct(*flat)
        else:
            kernels.conv_transpose_direct_parallel(*flat, workers)
        assert_accurate(direct, exact, terms)


@pytest.mark.parametrize("name", PROBLEMS)
def test_x_is_the_panel_where_every_number_is_read_once(name):
    images, groups, channels, out_channels, axes = PROBLEMS[name]
    plan = block_plan(images, groups, channels, out_channels, axes, 32)
    assert bool(records(plan.geometry, HEADER)[0]["direct"]) == ("panel" in name)


@pytest.fixture
def chosen(monkeypatch):
    """Give a function that makes all plans choose what it is given."""

    def choose_always(choice):
        monkeypatch.setattr(conv_plans, "choose", lambda *_: choice)
        conv_plans.block_plan.cache_clear()

    yield choose_always
    conv_plans.block_plan.cache_clear()


@pytest.mark.parametrize("name", ["depthwise", "stride 3, kernel 7", "phases of one channel", "groups"])
def test_weights_are_taken_for_packed_only_if_they_are_packed_alike(name, rng, chosen):
    images, groups, channels, out_channels, axes = PROBLEMS[name]
    _, w, _ = problem(rng, images, groups, channels, out_channels, axes, np.float32)
    known = {}
    for tile, step, shared in product(TILES[16], (1, 2), (False, True)):
        for shifted in (0, 1):
            shifts = tuple(shifted * (axis.begin % axis.stride) for axis in axes)
            chosen(Choice(shifts, (step,) * len(axes), *tile, shared and step == 1))
            plan = block_plan(images, groups, channels, out_channels, axes, 32)
            packed = np.empty(plan.packed, np.float32)
            slots = np.empty((1, records(plan.geometry, HEADER)[0]["slot_words"]), np.int64)
            kernels.pack_weights(w.reshape(-1), packed, plan.geometry, slots)
            assert np.array_equal(known.setdefault(plan.packing, packed), packed), plan.choice
    assert len(known) >= len({rows for rows, _ in TILES[16]})


@pytest.mark.parametrize("tile", TILES[16], ids=lambda tile: f"{tile[0]} x {tile[1]}")
@pytest.mark.parametrize(
    "name", ["depthwise", "stride 3, kernel 7", "phases of one channel", "lines of one position", *CROPPED]
)
def test_any_tile_and_shift_gives_the_result(name, tile, rng, chosen):
    images, groups, channels, out_channels, axes = PROBLEMS[name]
    x, w, b = problem(rng, images, groups, channels, out_channels, axes, np.float32)
    exact = definition(x, w, b, groups, axes)
    for shifted in (0, 1):
        shifts = tuple(shifted * (axis.begin % axis.stride) for axis in axes)
        results = []
        for shared in (False, True):
            chosen(Choice(shifts, (1,) * len(axes), *tile, shared))
            results.append(by_blocks(x, w, b, groups, axes))
        assert_accurate(results[0], exact, channels * prod(axis.kernel for axis in axes) + 1)
        assert np.array_equal(*results)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_shared_rows_give_the_result_of_rows_for_every_offset(name, dtype, rng, chosen):
    images, groups, channels, out_channels, axes = PROBLEMS[name]
    x, w, b = problem(rng, images, groups, channels, out_channels, axes, dtype)
    shifts = tuple(axis.begin % axis.stride for axis in axes)
    results = []
    for shared, workers in ((False, 1), (True, 1), (True, 2)):
        chosen(Choice(shifts, (1,) * len(axes), 4, 3, shared))
        results.append(by_blocks(x, w, b, groups, axes, workers))
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[1], results[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_pairs_give_the_result(name, dtype, rng, chosen):
    images, groups, channels, out_channels, axes = PROBLEMS[name]
    x, w, b = problem(rng, images, groups, channels, out_channels, axes, dtype)
    exact = definition(x, w, b, groups, axes)
    terms = channels * prod(axis.kernel for axis in axes) + 1
    for steps in product((1, 2), repeat=len(axes)):
        for shifted, tile in ((0, (6, 2)), (1, (4, 3))):
            chosen(Choice(tuple(shifted * (axis.begin % axis.stride) for axis in axes), steps, *tile))
            one = by_blocks(x, w, b, groups, axes)
            assert_accurate(one, exact, terms, c=2)
            assert np.array_equal(one, by_blocks(x, w, b, groups, axes, workers=2))


@pytest.mark.parametrize("offsets", range(1, 10))
def test_products_of_pairs_are_the_pairs(offsets, rng):
    group = PhaseGroup(tuple(range(offsets)), (0,), (tuple(range(offsets)),))
    products = products_of(group, 2)
    x, w, y = rng.integers(-9, 9, 2 * offsets + 2), rng.integers(-9, 9, offsets), [0, 0]
    for one in products:
        for read, anchor in zip(one.reads, one.anchors, strict=True):
            of_x = sum(sign * x[offset] for offset, sign in read)
            of_w = sum(halves * w[anchor + k] for k, halves in one.taps) / 2
            for output, sign in one.results:
                y[output] += sign * of_x * of_w
    assert y == [np.dot(x[:offsets], w), np.dot(x[1 : offsets + 1], w)]
    count = sum(len(one.reads) for one in products)
    assert count == 2 if offsets == 1 else count <= 1.5 * offsets


def test_pairs_are_chosen_where_products_are_what_takes_long():
    layer, tiny = Axis(16, 4, 2, 1, 1, 32), Axis(8, 4, 2, 1, 1, 16)
    assert choose(16, 128, 64, (layer, layer), 8, 16, pairs=True).steps == (2, 2)
    assert choose(16, 128, 64, (layer, layer), 8, 16).steps == (1, 1)
    assert choose(1, 8, 8, (tiny, tiny), 8, 16, pairs=True).steps == (1, 1)
    apart = Axis(64, 2, 2, 1, 0, 128)  # of which no two outputs have an input in common
    assert choose(1, 256, 64, (apart, apart), 8, 16, pairs=True).steps == (1, 1)


@pytest.mark.parametrize(
    ("stride", "groups", "units", "height"),
    [
        (1, ((0,),), 13, 6),
        (2, ((0, 1),), 5, 4),
        (2, ((0,), (1,)), 13, 6),
        (8, ((4, 5, 6, 7), (0, 1, 2, 3)), 1, 3),
        (8, ((4, 5, 6, 7), (0, 1, 2, 3)), 40, 6),
        (5, ((1, 3), (0, 2, 4)), 2, 4),
        (6, ((2, 3),), 3, 4),
    ],
)
def test_tiles_cover_the_rows_and_spill_into_later_ones_only(stride, groups, units, height):
    filling, tiles = row_tiles(stride, groups, units, height)
    done = {}
    for number, (first, step, rows, group) in enumerate(tiles):
        for k in range(rows):
            assert (first + k * step) % stride in groups[group]
            done[first + k * step] = number
        for k in range(rows, height):  # written as well
            assert done.get(first + k * step) is None
    assert sorted(done) == [unit * stride + phase for unit in range(units) for phase in sorted(sum(groups, ()))]
    assert all(rows == height for _, _, rows, _ in row_tiles(stride, groups, filling, height)[1]) or filling == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, -8.0, 8.0])
@pytest.mark.parametrize("place", [0, 40, 100])
def test_limits_are_told(value, place):
    numbers = np.full(101, -7.5, np.float32)
    assert kernels.all_below(numbers, 8)
    numbers[place] = value
    assert not kernels.all_below(numbers, 8)


def test_scratch_stays_within_four_mebibytes_and_one_tile():
    for images, channels, out_channels, axis in (
        (16, 512, 256, Axis(4, 4, 2, 1, 1, 8)),
        (1, 256, 64, Axis(64, 2, 2, 1, 0, 128)),
        (1, 1024, 64, Axis(64, 3, 1, 1, 1, 64)),
        (1, 4098, 64, Axis(6, 3, 1, 1, 1, 6)),
        (1, 64, 64, Axis(2000, 3, 1, 1, 1, 2000)),
        (64, 1, 1, Axis(100, 3, 2, 1, 1, 199)),
    ):
        for pairs in (False, True):
            plan = block_plan(images, 1, channels, out_channels, (axis, axis), 32, pairs)
            assert 8 * plan.scratch_words <= 4 << 20
