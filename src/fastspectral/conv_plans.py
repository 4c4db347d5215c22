"""Plans of transposed convolutions: which outputs are summed together, on which tile, and the table for the kernels.

A plan depends on shapes and attributes only.  Choosing is arithmetic on a model of the time; whatever is chosen, an
output is the same sum.
"""

import hashlib
from functools import lru_cache
from itertools import groupby, product
from math import lcm, prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from fastspectral._jit import compiled_address
from fastspectral.kernels import conv_transpose as layout
from fastspectral.kernels.lanes import Variant, lanes_of, registers
from fastspectral.kernels.tiles import Phases, Tile

# Rows × vectors of a tile: as many sums as fit with the vectors and one broadcast number beside them, for few rows and
# for many.
TILES = {
    16: ((1, 4), (2, 4), (3, 3), (4, 3), (6, 2), (12, 1)),
    32: ((1, 8), (2, 8), (4, 6), (6, 4), (8, 3), (12, 2), (24, 1)),
}

# A block's panel, and the sums of a batch, in bytes: together less than the second-level caches of today (512 KiB and more).
PANEL_BYTES = 192 * 1024
SUMS_BYTES = 48 * 1024
BLOCK_POSITIONS = 4096

# Above, a table of all phases costs more than it can save: the definition is taken.
MOST_PHASES = 1 << 14

# What the way that weights are packed for may cost, of the cheapest, before they are packed anew.
HELD_COST = 1.2

# Channels that are copied together: finding what to copy takes longer than to copy one channel.
CHANNELS_TOGETHER = 16

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


class RowTile(NamedTuple):
    """Rows ``first + k * step`` for k below `rows`, which all read the offsets of phase group `group`."""

    first: int
    step: int
    rows: int
    group: int


class BlockPlan(NamedTuple):
    """All that the kernels need but the arrays; `choice` is None where there is only the definition."""

    geometry: npt.NDArray[np.int64]
    choice: Choice | None
    packing: bytes  # equal for plans that read equally packed weights
    packed: int  # numbers in the packed weights
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


@lru_cache(maxsize=1024)
def row_tiles(
    stride: int, groups: tuple[tuple[int, ...], ...], units: int, height: int
) -> tuple[int, tuple[RowTile, ...]]:
    """Cut the rows of `units` units, each with a row for every phase 0 … stride − 1, into tiles.

    groups: the phases of each phase group.  The rows of a tile are side by side where all phases are of one group; else one
    phase of several units, or some phases of one unit, whatever takes fewer tiles.  Returns how many units fill tiles, and
    the tiles.
    """
    if len(groups) == 1 and len(groups[0]) == stride:
        rows = units * stride
        tiles = [RowTile(first, 1, min(height, rows - first), 0) for first in range(0, rows, height)]
        return lcm(stride, height) // stride, tuple(tiles)
    runs = []  # phases side by side of one group: its number, the first phase and the count
    for number, phases in enumerate(groups):
        for _, run in groupby(enumerate(phases), lambda item: item[1] - item[0]):
            members = [phase for _, phase in run]
            runs.append((number, members[0], len(members)))
    runs.sort(key=lambda run: run[1])  # a tile that is not full writes into the next run's rows, which must come later
    if sum(map(len, groups)) * -(-units // height) < units * sum(-(-length // height) for _, _, length in runs):
        tiles = [
            RowTile(first * stride + phase, stride, min(height, units - first), number)
            for first in range(0, units, height)
            for number, phases in enumerate(groups)
            for phase in phases
        ]
        return height, tuple(tiles)
    tiles = [
        RowTile(unit * stride + start + at, 1, min(height, length - at), number)
        for unit in range(units)
        for number, start, length in runs
        for at in range(0, length, height)
    ]
    return 1, tuple(tiles)


def cost(images: int, channels: int, out_channels: int, axes: tuple[Axis, ...], lanes: int, choice: Choice) -> float:
    """Estimate the cycles that one group of channels takes."""
    rows, vectors = choice.rows, choice.vectors
    positions = images * prod(count_of(axis, shift) for axis, shift in zip(axes, choice.shifts, strict=True))
    tiles = -(-positions // (vectors * lanes))
    registers_filled = tiles * vectors
    lines = positions / count_of(axes[-1], choice.shifts[-1])
    inner = phase_groups(axes[-1], choice.shifts[-1])
    inner_offsets = {offset for group in inner for offset in group.offsets}
    stride = axes[-1].stride
    # Two products and two loads a cycle; a product takes four cycles.
    term = max(rows * vectors / 2, (rows + vectors) / 2, 4.0)
    total = 0.0
    for outer in product(*[phase_groups(axis, shift) for axis, shift in zip(axes[:-1], choice.shifts, strict=False)]):
        units = out_channels * prod(len(group.phases) for group in outer)
        offsets = prod(len(group.offsets) for group in outer)
        cut = row_tiles(stride, tuple([group.phases for group in inner]), units, rows)[1]
        terms = sum(len(inner[tile.group].offsets) for tile in cut) * offsets * channels
        # Above the first-level cache a register of the panel takes two and a half cycles to come.
        long = channels * offsets * len(inner_offsets) * vectors > 700
        total += tiles * (terms * max(term, 2.5 * vectors if long else 0.0) + len(cut) * (rows * vectors + 12))
        total += channels * offsets * len(inner_offsets) * (1.5 * registers_filled + 6 * lines)
        total += units * (stride * registers_filled * 2 + 20 * lines)
    return total


def choose(
    images: int,
    channels: int,
    out_channels: int,
    axes: tuple[Axis, ...],
    lanes: int,
    register_count: int,
    held: Choice | None = None,
) -> Choice:
    """Choose the cheapest way to sum, or the one that the weights are packed for if it is hardly slower.

    Positions that start where y does need the fewest tiles; those that start at a multiple of the stride in y's
    uncropped form put more phases together.
    """
    shifts = product(*[sorted({0, axis.begin % axis.stride}) for axis in axes])
    choices = [Choice(shift, *tile) for shift in shifts for tile in TILES[register_count]]
    costs = {choice: cost(images, channels, out_channels, axes, lanes, choice) for choice in choices}
    best = min(choices, key=costs.__getitem__)
    return held if held is not None and costs.get(held, np.inf) <= HELD_COST * costs[best] else best


class _Table:
    """The geometry behind the axes: classes, tiles, then lists, whose places are known when all tiles are."""

    def __init__(self, start: int, classes: int) -> None:
        self.first_class, self.first_tile = start, start + classes * layout.CLASS_COLUMNS
        self.classes: list[tuple[int, ...]] = []
        self.tiles: list[tuple[int, ...]] = []
        self.lists: list[npt.NDArray[np.int64]] = []
        self.length, self.packed = 0, 0
        self.packing = hashlib.sha256()

    def add_list(self, values: npt.NDArray[np.int64]) -> int:
        """Append a list; return its place among the lists."""
        place = self.length
        self.lists.append(values.ravel())
        self.length += values.size
        return place

    def add_class(
        self,
        outer: tuple[PhaseGroup, ...],
        inner: tuple[PhaseGroup, ...],
        axes: tuple[Axis, ...],
        channels: int,
        out_channels: int,
        height: int,
        most_rows: int,
    ) -> int:
        """Append a class, in batches of at most `most_rows` rows if that fills tiles; return the rows of a batch."""
        stride, inner_phases = axes[-1].stride, tuple([group.phases for group in inner])
        phases, inner_offsets = _grid([group.phases for group in outer]), offsets_of(inner)
        offsets = _grid([*[group.offsets for group in outer], inner_offsets])
        units = out_channels * len(phases)
        filling, _ = row_tiles(stride, inner_phases, units, height)
        batch = max(1, min(-(-units // filling), most_rows // (filling * stride))) * filling
        cut = [
            tile._replace(first=start * stride + tile.first)
            for start in range(0, units, batch)
            for tile in row_tiles(stride, inner_phases, min(batch, units - start), height)[1]
        ]
        full = len(row_tiles(stride, inner_phases, min(batch, units), height)[1])
        tile_list = self.first_tile + len(self.tiles) * layout.TILE_COLUMNS
        lists = len(offsets), self.add_list(offsets), len(phases), self.add_list(phases)
        self.classes.append((*lists, -(-units // batch), batch, full, len(cut), tile_list))
        runs, places = [], []
        for number, group in enumerate(inner):
            read = [inner_offsets.index(offset) for offset in group.offsets]
            terms = np.arange(0, len(offsets), max(1, len(inner_offsets)))[:, None] + np.array(read, np.int64)
            runs.append(_runs(terms.ravel(), channels))
            mine = [tile for tile in cut if tile.group == number]
            places.append(iter(_tile_places(mine, outer, group, axes, height)))
        run_lists = [(len(run), self.add_list(run)) for run in runs]
        for tile in cut:
            table = next(places[tile.group])
            row, weights = tile.first % (batch * stride), (self.packed, len(table), self.add_list(table))
            self.tiles.append((row, tile.step, *weights, *run_lists[tile.group]))
            self.packed += channels * table.size
            self.packing.update(table.tobytes())
        return min(batch, units) * stride

    def geometry(self, header: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Join all, behind the header and the axes."""
        classes = np.array(self.classes, np.int64).reshape(-1, layout.CLASS_COLUMNS)
        tiles = np.array(self.tiles, np.int64).reshape(-1, layout.TILE_COLUMNS)
        start = self.first_tile + tiles.size
        classes[:, [layout.OFFSET_LIST, layout.PHASE_LIST]] += start
        tiles[:, [layout.TILE_PLACES, layout.TILE_RUN_LIST]] += start
        return np.concatenate([header, classes.ravel(), tiles.ravel(), *self.lists])


@lru_cache(maxsize=256)
def block_plan(
    images: int,
    groups: int,
    channels: int,
    out_channels: int,
    axes: tuple[Axis, ...],
    bits: int,
    held: Choice | None = None,
) -> BlockPlan:
    """Plan for `groups` groups of so many channels each, in numbers of `bits` bits; weights are packed for `held`."""
    header = np.zeros(layout.HEADER + len(axes) * layout.AXIS_COLUMNS, np.int64)
    taps = prod(axis.kernel for axis in axes)
    plane, out_plane = prod(axis.size for axis in axes), prod(axis.output for axis in axes)
    header[layout.AXES : layout.TAPS + 1] = (len(axes), images, groups, channels, out_channels, plane, out_plane, taps)
    rows = header[layout.HEADER :].reshape(len(axes), layout.AXIS_COLUMNS)
    for i, axis in enumerate(axes):
        pitch, out_pitch = prod(a.size for a in axes[i + 1 :]), prod(a.output for a in axes[i + 1 :])
        rows[i] = (axis.size, axis.stride, 0, axis.output, 0, pitch, out_pitch, axis.kernel, axis.dilation, axis.begin)
    work = images * groups * channels * out_channels * taps * plane
    if not images * out_channels or prod(axis.stride for axis in axes) > MOST_PHASES:
        return BlockPlan(header, None, b"", 0, 0, work)

    lanes, size = lanes_of(bits), bits // 8
    choice = choose(images, channels, out_channels, axes, lanes, registers(), held)
    for i, (axis, shift) in enumerate(zip(axes, choice.shifts, strict=True)):
        rows[i, [layout.SHIFT, layout.COUNT]] = shift, count_of(axis, shift)
    positions, width = images * int(rows[:, layout.COUNT].prod()), choice.vectors * lanes
    outer = list(product(*[phase_groups(axis, shift) for axis, shift in zip(axes[:-1], choice.shifts, strict=False)]))
    inner = phase_groups(axes[-1], choice.shifts[-1])

    offsets = len(offsets_of(inner)) * max(prod(len(group.offsets) for group in member) for member in outer)
    terms = channels * offsets
    groups_together = min(groups, max(1, CHANNELS_TOGETHER // max(1, channels)))
    fitting = min(PANEL_BYTES // (size * max(1, terms) * groups_together), BLOCK_POSITIONS)
    blocks = -(-positions // max(width, fitting))
    block = -(-positions // (blocks * width)) * width
    # Rows are an odd number of cache lines apart: a distance that is a power of two would put them all on the same cache
    # sets.  Behind a row there is room for a register that reaches over its end.
    pitch = (-(-(block + lanes) * size // 64) | 1) * 64

    table = _Table(header.size, len(outer))
    batch_rows = max(
        table.add_class(member, inner, axes, channels, out_channels, choice.rows, SUMS_BYTES // pitch)
        for member in outer
    )
    geometry, stride, inner_count = table.geometry(header), axes[-1].stride, int(rows[-1, layout.COUNT])
    most_lines = min(block, (block + inner_count - 2) // inner_count + 1)
    base, tile = Variant(bits, lanes), Tile(bits, lanes, choice.rows, choice.vectors)
    for column, value in (
        (layout.EXECUTOR, compiled_address(layout.transpose_blocks, base, *[INTEGER] * 9)),
        (layout.PACKER, compiled_address(layout.pack_tiles, base, *[INTEGER] * 5)),
        (layout.SUMMER, compiled_address(layout.sum_tiles, tile, *[INTEGER] * 7)),
        (layout.STORER, compiled_address(layout.store_batch, Phases(bits, lanes, min(stride, lanes)), *[INTEGER] * 10)),
        (layout.POSITIONS, positions),
        (layout.BLOCK, block),
        (layout.BLOCKS, -(-positions // block)),
        (layout.GROUPS_TOGETHER, groups_together),
        (layout.PACKED, table.packed),
        (layout.CLASSES, len(outer)),
        (layout.FIRST_CLASS, table.first_class),
        (layout.TILES, len(table.tiles)),
        (layout.FIRST_TILE, table.first_tile),
        (layout.TILE_HEIGHT, choice.rows),
        (layout.TILE_WIDTH, width),
        (layout.PANEL_PITCH, pitch),
        (layout.SUMS_PITCH, pitch),
        (layout.PANEL_BYTES, terms * groups_together * pitch),
        (layout.SUMS_BYTES, (batch_rows + choice.rows * stride) * pitch),  # a tile that is not full writes its rows too
        (layout.MOST_LINES, most_lines),
        # of a line the beginning, the end and what lies between, of a row the end, and how far they read
        (layout.MOST_COPIES, offsets * (min(block, block // lanes + 3 * most_lines) + width // lanes + 1) + 1),
        (layout.MOST_OUTER, max(prod(len(group.phases) for group in member) for member in outer)),
    ):
        geometry[column] = value
    return BlockPlan(
        geometry, choice, table.packing.digest(), groups * table.packed, layout.scratch_words(geometry), work
    )


def offsets_of(groups: tuple[PhaseGroup, ...]) -> tuple[int, ...]:
    """Give the offsets that any of the groups reads."""
    return tuple(sorted({offset for group in groups for offset in group.offsets}))


def _grid(values: list[tuple[int, ...]]) -> npt.NDArray[np.int64]:
    """List all combinations, the last one fastest.  Returns (combinations, values)."""
    combinations = list(product(*values))
    return np.array(combinations, np.int64).reshape(len(combinations), len(values))


def _runs(offsets: npt.NDArray[np.int64], channels: int) -> npt.NDArray[np.int64]:
    """Join the terms of neighbouring offsets.  Returns (runs, 2): first term and count."""
    starts = np.flatnonzero(np.diff(offsets, prepend=-2) != 1)
    lengths = np.diff(starts, append=offsets.size)
    return np.stack([offsets[starts], lengths], axis=-1) * channels


def _tile_places(
    tiles: list[RowTile], outer: tuple[PhaseGroup, ...], inner: PhaseGroup, axes: tuple[Axis, ...], height: int
) -> npt.NDArray[np.int64]:
    """Find the places of the tiles' weights among those of a channel.  Returns (tiles, offsets, height).

    The last row of a tile fills it.
    """
    places = np.zeros((1, 1), np.int64)  # of the first output channel's taps, (phases, offsets)
    for axis, group in zip(axes, (*outer, inner), strict=True):
        here = np.array(group.taps, np.int64).reshape(len(group.phases), len(group.offsets))
        places = (places[:, None, :, None] * axis.kernel + here[None, :, None, :]).reshape(
            places.shape[0] * here.shape[0], places.shape[1] * here.shape[1]
        )
    first, step, filled, _ = np.array(tiles, np.int64).reshape(-1, 4).T
    rows = first[:, None] + step[:, None] * np.minimum(np.arange(height), filled[:, None] - 1)
    units, phases = rows // axes[-1].stride, rows % axes[-1].stride
    outer_phases = prod(len(group.phases) for group in outer)
    # place of a phase in its group
    numbers = np.zeros(axes[-1].stride, np.int64)
    numbers[list(inner.phases)] = np.arange(len(inner.phases))
    by_row = units // outer_phases * prod(axis.kernel for axis in axes)
    found: npt.NDArray[np.int64] = (
        by_row[..., None] + places[units % outer_phases * len(inner.phases) + numbers[phases]]
    )
    return found.transpose(0, 2, 1)


def describe(plan: BlockPlan) -> str:
    """Say in a line how a plan sums, and why in that way."""
    if plan.choice is None:
        return "the definition, as the strides have more phases than a table is worth"
    g = plan.geometry
    classes = g[g[layout.FIRST_CLASS] :][: g[layout.CLASSES] * layout.CLASS_COLUMNS].reshape(-1, layout.CLASS_COLUMNS)
    tiles = g[g[layout.FIRST_TILE] :][: g[layout.TILES] * layout.TILE_COLUMNS].reshape(-1, layout.TILE_COLUMNS)
    last = layout.HEADER + (int(g[layout.AXES]) - 1) * layout.AXIS_COLUMNS
    stride = int(g[last + layout.STRIDE])
    if stride == 1:
        rows = "rows are channels"
    elif len(np.unique(tiles[:, layout.TILE_RUN_LIST])) == 1:
        rows = f"rows are channels and all {stride} phases, which read the same inputs"
    elif tiles[0, layout.TILE_STEP] == stride:
        rows = f"rows are channels of one of {stride} phases, which read different inputs"
    else:
        rows = f"rows are neighbours of {stride} phases, more than there are channels"
    return (
        f"tiles of {plan.choice.rows} rows x {g[layout.TILE_WIDTH]} positions, {rows}; "
        f"{g[layout.POSITIONS]} positions in {g[layout.BLOCKS]} blocks, {len(classes)} classes of at most "
        f"{classes[:, layout.OFFSETS].max()} offsets x {g[layout.CHANNELS]} channels"
    )
