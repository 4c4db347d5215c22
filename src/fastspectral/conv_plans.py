"""Plans of transposed convolutions: which outputs are summed together, on which tile, and the table for the kernels.

A plan depends on shapes and attributes only.  Choosing is arithmetic on a model of the time; whatever is chosen, an
output is the same sum.
"""

from functools import lru_cache
from itertools import product
from math import lcm, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from fastspectral._jit import compiled_address
from fastspectral.kernels import conv_transpose as layout
from fastspectral.kernels.lanes import lanes_of, registers
from fastspectral.kernels.tiles import Tile

# Rows × vectors of a tile: as many sums as fit with the vectors and one broadcast number beside them, for few rows and
# for many.
TILES = {16: ((1, 4), (2, 4), (4, 3), (6, 2)), 32: ((1, 8), (2, 8), (4, 6), (6, 4), (8, 3), (12, 2))}

# Panel and sums of a block, in bytes: less than half of the second-level caches of today (512 KiB and more).
BLOCK_BYTES = 192 * 1024
BLOCK_POSITIONS = 4096

# Weights above the first size are packed as they are used, a batch of the second at a time, if a panel of the third
# holds enough positions: packing a weight takes three cycles, using it a sixteenth of a cycle a position.
WEIGHT_BYTES = 512 * 1024
BATCH_BYTES = 256 * 1024
PANEL_BYTES = 7 * 512 * 1024
FEW_POSITIONS = 400

# Above, a table of all phases costs more than it can save: the definition is taken.
MOST_PHASES = 1 << 14

# Channels that are copied together: finding what to copy takes longer than to copy one channel.
CHANNELS_TOGETHER = 16

# Rows whose sums wait for one another to be stored together.
MOST_TOGETHER = 256

INTEGER = types.intp


class Axis(NamedTuple):
    """One spatial axis: input i and tap q meet at output ``i * stride + q * dilation − begin``."""

    size: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    output: int


class PhaseGroup(NamedTuple):
    """Phases of an axis that read the same `offsets`; ``taps[p][k]`` is the tap of phase p at offset k."""

    offsets: tuple[int, ...]
    phases: tuple[int, ...]
    taps: tuple[tuple[int, ...], ...]


class Choice(NamedTuple):
    """How to sum: shifts of the axes, and rows and vectors of the tile."""

    shifts: tuple[int, ...]
    rows: int
    vectors: int


class ConvTransposePlan(NamedTuple):
    """All that the kernels need but the arrays; `tile_rows` is 0 where there is only the definition."""

    geometry: npt.NDArray[np.int64]
    taps: npt.NDArray[np.int64]  # the geometry points at it
    tile_rows: int
    packed: int  # numbers in the packed weights; 0 where they are packed as they are used
    scratch_words: int
    work: int  # multiplications


def count_of(axis: Axis, shift: int) -> int:
    """Count the positions along an axis."""
    return -(-(axis.output + shift) // axis.stride)


@lru_cache(maxsize=1024)
def phase_groups(axis: Axis, shift: int) -> tuple[PhaseGroup, ...]:
    """Sort the phases of an axis by the offsets that they read, those without any first."""
    count = count_of(axis, shift)
    meetings: list[list[tuple[int, int]]] = [[] for _ in range(axis.stride)]
    for tap in range(axis.kernel):
        # output stride · j + phase − shift = input · stride + tap · dilation − begin
        quotient, phase = divmod(tap * axis.dilation - axis.begin + shift, axis.stride)
        if -count < -quotient < axis.size:  # else no position of this axis reaches an input
            meetings[phase].append((-quotient, tap))
    groups: dict[tuple[int, ...], list[int]] = {}
    for phase, met in enumerate(meetings):
        met.sort()
        if phase < axis.output + shift:
            groups.setdefault(tuple([offset for offset, _ in met]), []).append(phase)
    return tuple(
        [
            PhaseGroup(offsets, tuple(phases), tuple([tuple([tap for _, tap in meetings[phase]]) for phase in phases]))
            for offsets, phases in sorted(groups.items())
        ]
    )


def is_dense(axis: Axis, group: PhaseGroup, lanes: int) -> bool:
    """Tell whether a group makes whole runs of outputs that the kernels can store together."""
    return len(group.phases) == axis.stride and (
        axis.stride <= 2 or (axis.stride % lanes == 0 and axis.stride <= MOST_TOGETHER)
    )


def cost(images: int, channels: int, out_channels: int, axes: tuple[Axis, ...], lanes: int, choice: Choice) -> float:
    """Estimate the cycles that one group of channels takes."""
    rows, vectors = choice.rows, choice.vectors
    positions = images * prod(count_of(axis, shift) for axis, shift in zip(axes, choice.shifts, strict=True))
    tiles = -(-positions // (vectors * lanes))
    total = 0.0
    for groups in product(*[phase_groups(axis, shift) for axis, shift in zip(axes, choice.shifts, strict=True)]):
        terms = channels * prod(len(group.offsets) for group in groups)
        height = out_channels * prod(len(group.phases) for group in groups)
        # Two products and two loads a cycle; a product takes four cycles.
        term = max(rows * vectors / 2, (rows + vectors) / 2, 4.0)
        stored = 0.4 if is_dense(axes[-1], groups[-1], lanes) else 1.5
        # Above the first-level cache a register of the panel takes two cycles to come.
        term = max(term, 2.0 * vectors if terms * vectors > 700 else 0.0)
        total += terms * (3 + 3 * vectors) + -(-height // rows) * terms * term + height * vectors * lanes * stored
    return tiles * total


def choose(
    images: int, channels: int, out_channels: int, axes: tuple[Axis, ...], lanes: int, register_count: int
) -> Choice:
    """Choose the cheapest way to sum.

    Positions that start where y does need the fewest tiles; those that start at a multiple of the stride in y's
    uncropped form put more phases together.
    """
    shifts = product(*[sorted({0, axis.begin % axis.stride}) for axis in axes])
    choices = [Choice(shift, *tile) for shift in shifts for tile in TILES[register_count]]
    return min(choices, key=lambda choice: cost(images, channels, out_channels, axes, lanes, choice))


@lru_cache(maxsize=256)
def conv_transpose_plan(
    images: int, groups: int, channels: int, out_channels: int, axes: tuple[Axis, ...], bits: int
) -> ConvTransposePlan:
    """Plan for `groups` groups of so many channels each, in numbers of `bits` bits."""
    geometry = np.zeros(layout.HEADER + len(axes) * layout.AXIS_COLUMNS, np.int64)
    taps = prod(axis.kernel for axis in axes)
    plane, out_plane = prod(axis.size for axis in axes), prod(axis.output for axis in axes)
    for column, value in (
        (layout.AXES, len(axes)),
        (layout.IMAGES, images),
        (layout.GROUPS, groups),
        (layout.CHANNELS, channels),
        (layout.OUT_CHANNELS, out_channels),
        (layout.PLANE, plane),
        (layout.OUT_PLANE, out_plane),
        (layout.TAPS, taps),
    ):
        geometry[column] = value
    rows = geometry[layout.HEADER :].reshape(len(axes), layout.AXIS_COLUMNS)
    for i, axis in enumerate(axes):
        pitch, out_pitch = prod(a.size for a in axes[i + 1 :]), prod(a.output for a in axes[i + 1 :])
        rows[i] = (axis.size, axis.stride, 0, axis.output, 0, pitch, out_pitch, axis.kernel, axis.dilation, axis.begin)
    work = images * groups * channels * out_channels * taps * plane
    if prod(axis.stride for axis in axes) > MOST_PHASES:
        return ConvTransposePlan(geometry, np.empty(0, np.int64), 0, 0, 0, work)

    lanes = lanes_of(bits)
    choice = choose(images, channels, out_channels, axes, lanes, registers())
    for i, (axis, shift) in enumerate(zip(axes, choice.shifts, strict=True)):
        rows[i, [layout.SHIFT, layout.COUNT]] = shift, count_of(axis, shift)
    classes, lists, tap_lists = [], [], []
    first_class = geometry.size
    members = list(product(*[phase_groups(axis, shift) for axis, shift in zip(axes, choice.shifts, strict=True)]))
    list_start, tap_start, packed, most_terms = first_class + len(members) * layout.CLASS_COLUMNS, 0, 0, 0
    for member in members:
        offsets = _grid([group.offsets for group in member])
        phases = _grid([group.phases for group in member])
        height = out_channels * len(phases)
        table = _tap_table(member, axes, out_channels, choice.rows)
        classes += [len(offsets), len(phases), height, packed, list_start, list_start + offsets.size, tap_start]
        classes.append(int(is_dense(axes[-1], member[-1], lanes)))
        lists += [offsets.ravel(), phases.ravel()]
        tap_lists.append(table)
        list_start, tap_start, packed = (
            list_start + offsets.size + phases.size,
            tap_start + table.size,
            packed + channels * table.size,
        )
        most_terms = max(most_terms, channels * len(offsets))
    geometry = np.concatenate([geometry, np.array(classes, np.int64), *lists])

    size, width = bits // 8, choice.vectors * lanes
    positions = images * int(rows[:, layout.COUNT].prod())
    together = lcm(
        choice.rows, axes[-1].stride if any(is_dense(axes[-1], member[-1], lanes) for member in members) else 1
    )
    # Large weights are packed as they are used, once for each block of positions: they would take long to go to memory
    # and back.
    fitting = PANEL_BYTES // (size * (most_terms + 1))
    apart = packed * groups * size <= WEIGHT_BYTES or fitting < min(positions, FEW_POSITIONS)
    if apart:
        groups_together = min(groups, max(1, CHANNELS_TOGETHER // max(1, channels)))
        fitting = min(BLOCK_BYTES // (size * (most_terms * groups_together + together)), BLOCK_POSITIONS)
    else:
        groups_together = 1
        together *= max(1, BATCH_BYTES // (size * most_terms * together))
    blocks = -(-positions // max(width, fitting))
    block = -(-positions // (blocks * width)) * width
    tile = Tile(bits, lanes, choice.rows, choice.vectors)
    table, pointer = np.concatenate(tap_lists), types.CPointer(types.int64)
    for column, value in (
        (layout.EXECUTOR, compiled_address(layout.transpose_blocks, tile, *[INTEGER] * 4, pointer, *[INTEGER] * 4)),
        (layout.PACKER, compiled_address(layout.pack_groups, tile, INTEGER, pointer, INTEGER)),
        (layout.POSITIONS, positions),
        (layout.BLOCK, block),
        (layout.BLOCKS, -(-positions // block)),
        (layout.CLASSES, len(members)),
        (layout.FIRST_CLASS, first_class),
        (layout.PACKED, packed),
        (layout.TERMS, most_terms),
        (layout.ROWS_TOGETHER, together),
        (layout.GROUPS_TOGETHER, groups_together),
        (layout.TAP_TABLE, table.ctypes.data),
        (layout.PACKED_APART, apart),
    ):
        geometry[column] = value
    return ConvTransposePlan(
        geometry, table, choice.rows, groups * packed if apart else 0, layout.scratch_words(geometry, size), work
    )


def _grid(values: list[tuple[int, ...]]) -> npt.NDArray[np.int64]:
    """List all combinations, the last one fastest.  Returns (combinations, axes)."""
    return np.array(list(product(*values)), np.int64).reshape(-1, len(values))


def _tap_table(
    member: tuple[PhaseGroup, ...], axes: tuple[Axis, ...], out_channels: int, tile_rows: int
) -> npt.NDArray[np.int64]:
    """Find the places of a class's weights among those of a channel, by block of rows, offset and row.

    The last row fills the last block.
    """
    places = np.zeros((1, 1), np.int64)  # (phases, offsets)
    for axis, group in zip(axes, member, strict=True):
        here = np.array(group.taps, np.int64).reshape(len(group.phases), len(group.offsets))
        places = (places[:, None, :, None] * axis.kernel + here[None, :, None, :]).reshape(
            places.shape[0] * here.shape[0], places.shape[1] * here.shape[1]
        )
    kernel = prod(axis.kernel for axis in axes)
    phases, offsets = places.shape
    rows = out_channels * phases
    by_row = (np.arange(out_channels)[:, None, None] * kernel + places).reshape(rows, offsets)
    blocks = -(-rows // tile_rows)
    filled = by_row[np.minimum(np.arange(blocks * tile_rows), rows - 1)]
    return filled.reshape(blocks, tile_rows, offsets).transpose(0, 2, 1).ravel()
