"""Plans of transposed convolutions: which outputs are summed together, on which tile, and the table for the kernels.

A plan depends on shapes and attributes only.  Choosing is arithmetic on a model of the time; whatever is chosen, an
output is the same sum.
"""

import hashlib
from functools import lru_cache
from itertools import groupby, product
from math import lcm, prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from fastspectral._jit import compiled_address
from fastspectral.kernels import conv_transpose as kernels
from fastspectral.kernels.conv_geometry import (
    AXIS,
    AXIS_BYTES,
    CLASS,
    CLASS_BYTES,
    HEADER,
    HEADER_BYTES,
    LINE_BYTES,
    PACKING,
    TILE,
    TILE_BYTES,
    records,
    scratch_words,
)
from fastspectral.kernels.lanes import Variant, lanes_of, register_bytes, registers
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
MOST_PANEL_BYTES = 256 * 1024  # of all rows together, where those of one read are read together
BLOCK_POSITIONS = 4096
MOST_BYTES = 3 * 1024 * 1024  # of a panel of one tile: with all that a thread needs beside it, 4 MiB

# Outputs of more bytes do not stay in caches.  Asked for ahead, lines of such are stored in 0.8 to 0.9 of the time (U-Net's last
# layer, bilinear upsampling); where they do, asking takes 5 % more.
HELD_OUTPUT = 8 * 1024 * 1024

# Above, a table of all phases costs more than it can save: the definition is taken.
MOST_PHASES = 1 << 14

# What the way that weights are packed for may cost, of the cheapest, before they are packed anew.
HELD_COST = 1.2

# Below, outputs are summed one by one: a sum of pairs errs by what its neighbours' inputs are like, not by its own alone,
# and only a sum of many channels is sure to be like them.
LEAST_PAIRED_CHANNELS = 16

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


Read = tuple[tuple[int, int], ...]  # what a term reads of x: offsets and signs


class Product(NamedTuple):
    """A sum over `reads`, each times a combination of taps, and the outputs of a position that it is part of.

    An axis of step 1 has one output of each phase for a position, which is one product; an axis of step 2 has two.
    taps: (offset number less that of the read's first one, halves) of every combination; results: (output, sign).
    """

    reads: tuple[Read, ...]
    anchors: tuple[int, ...]  # number of the first offset of every read
    taps: tuple[tuple[int, int], ...]
    results: tuple[tuple[int, int], ...]


# Minimal filtering (Winograd): two neighbouring outputs y0, y1 of so many taps g0, g1 … over inputs d0, d1 … by fewer
# products than taps × 2.  Of each product: the reads, the taps in halves, the outputs.  The first one is part of both.
#   2:  m0 = d1 (g0 + g1),            m1 = (d0 - d1) g0,                m2 = (d1 - d2) g1
#       y0 = m0 + m1,                 y1 = m0 - m2
#   3:  m0 = (d1 + d2) (g0 + g1 + g2) / 2,  m1 = (d2 - d1) (g0 - g1 + g2) / 2,  m2 = (d0 - d2) g0,  m3 = (d1 - d3) g2
#       y0 = m0 + m1 + m2,            y1 = m0 - m1 - m3
FILTERS: dict[int, tuple[tuple[Read, Read, Read], ...]] = {
    1: ((((0, 1),), ((0, 2),), ((0, 1),)), (((1, 1),), ((0, 2),), ((1, 1),))),
    2: (
        (((1, 1),), ((0, 2), (1, 2)), ((0, 1), (1, 1))),
        (((0, 1), (1, -1)), ((0, 2),), ((0, 1),)),
        (((1, 1), (2, -1)), ((1, 2),), ((1, -1),)),
    ),
    3: (
        (((1, 1), (2, 1)), ((0, 1), (1, 1), (2, 1)), ((0, 1), (1, 1))),
        (((2, 1), (1, -1)), ((0, 1), (1, -1), (2, 1)), ((0, 1), (1, -1))),
        (((0, 1), (2, -1)), ((0, 2),), ((0, 1),)),
        (((1, 1), (3, -1)), ((2, 2),), ((1, -1),)),
    ),
}


class Choice(NamedTuple):
    """How to sum: shifts of the axes and inputs from position to position, rows and vectors of the tile.

    shared: whether a channel is one row of the panel, which is read at all offsets, and not one for each of them.
    """

    shifts: tuple[int, ...]
    steps: tuple[int, ...]
    rows: int
    vectors: int
    shared: bool = False


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
    work: int  # multiplications of the definition
    rows: str = ""  # what the rows of a tile are

    @property
    def paired(self) -> bool:
        """Whether outputs are summed two by two."""
        return self.choice is not None and prod(self.choice.steps) > 1


def count_of(axis: Axis, shift: int, step: int = 1) -> int:
    """Count the positions along an axis."""
    return -(-(axis.output + shift) // (axis.stride * step))


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
def products_of(group: PhaseGroup, step: int) -> tuple[Product, ...]:
    """List the products of a phase group."""
    if step == 1 or not group.offsets:
        reads = tuple([((offset, 1),) for offset in group.offsets])
        both = tuple([(output, 1) for output in range(step)])
        return (Product(reads, tuple(range(len(reads))), ((0, 2),), both),)
    pieces: dict[int, list[int]] = {}  # taps → numbers of the first offsets
    for _, run in groupby(enumerate(group.offsets), lambda item: item[1] - item[0]):
        numbers = [number for number, _ in run]
        at, end = numbers[0], numbers[-1] + 1
        while at < end:  # by threes and twos, which are better than one and three
            taps = min(3, end - at) if end - at != 4 else 2
            pieces.setdefault(taps, []).append(at)
            at += taps
    return tuple(
        [
            Product(
                tuple([tuple([(group.offsets[at] + k, sign) for k, sign in read]) for at in anchors]),
                tuple(anchors),
                taps,
                results,
            )
            for length, anchors in sorted(pieces.items(), reverse=True)
            for read, taps, results in FILTERS[length]
        ]
    )


def reads_of(groups: tuple[PhaseGroup, ...], step: int) -> tuple[Read, ...]:
    """Give what the products of any of the groups read."""
    return tuple(sorted({read for group in groups for product_ in products_of(group, step) for read in product_.reads}))


def offsets_of(reads: tuple[Read, ...]) -> tuple[int, ...]:
    """Give the offsets of reads."""
    return tuple(sorted({offset for read in reads for offset, _ in read}))


@lru_cache(maxsize=1024)
def offset_range(axis: Axis, shift: int) -> tuple[int, int]:
    """Give the first and the last offset that any phase of an axis reads, 0 and 0 if none does."""
    offsets = {offset for group in phase_groups(axis, shift) for offset in group.offsets}
    return min(offsets, default=0), max(offsets, default=0)


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
    rows, vectors, steps = choice.rows, choice.vectors, choice.steps
    counts = [count_of(*axis) for axis in zip(axes, choice.shifts, steps, strict=True)]
    if choice.shared:
        ranges = [offset_range(*axis) for axis in zip(axes, choice.shifts, strict=True)]
        counts = [count + last - first for count, (first, last) in zip(counts, ranges, strict=True)]
    positions = images * prod(counts)
    tiles = -(-positions // (vectors * lanes))
    registers_filled = tiles * vectors
    lines = positions / counts[-1]
    inner = phase_groups(axes[-1], choice.shifts[-1])
    inner_reads = reads_of(inner, steps[-1])
    stride, outputs = axes[-1].stride, prod(steps)
    paired = outputs > 1
    # Two products a cycle, which take four cycles, and hardly two loads: 12 x 1 takes 13 % longer than its products.
    # Of registers that are read at any offset every other one is in two cache lines.
    term = max(rows * vectors / 2, (rows + (1.5 if choice.shared else 1.0) * vectors) / 1.8, 4.0)
    total = channels * (1.5 * registers_filled + 6 * lines) if choice.shared else 0.0
    for outer in product(*[phase_groups(axis, shift) for axis, shift in zip(axes[:-1], choice.shifts, strict=False)]):
        units = out_channels * prod(len(group.phases) for group in outer)
        cut = row_tiles(stride, tuple([group.phases for group in inner]), units, rows)[1]
        outer_products = list(product(*[products_of(*group) for group in zip(outer, steps, strict=False)]))
        outer_terms = sum(prod(len(p.reads) for p in member) for member in outer_products)
        outer_results = sum(prod(len(p.results) for p in member) for member in outer_products)
        inner_products = [products_of(inner[tile.group], steps[-1]) for tile in cut]
        terms = outer_terms * channels * sum(len(p.reads) for products in inner_products for p in products)
        results = outer_results * sum(len(p.results) for products in inner_products for p in products)
        reads = len(inner_reads) * prod(
            len(reads_of((group,), step)) for group, step in zip(outer, steps, strict=False)
        )
        # Above the first-level cache a register of the panel takes two and a half cycles to come.
        long = channels * reads * vectors > 700
        total += tiles * (terms * max(term, 2.5 * vectors if long else 0.0) + results * (rows * vectors + 12))
        staged = len(offsets_of(inner_reads)) * prod(
            len(offsets_of(reads_of((group,), step))) for group, step in zip(outer, steps, strict=False)
        )
        if not choice.shared:
            total += channels * staged * ((2.5 if paired else 1.5) * registers_filled + 6 * lines)
        total += channels * (reads * (1 + sum(step - 1 for step in steps[:-1])) if paired else 0) * 2 * registers_filled
        total += units * outputs * (stride * registers_filled * 2 + 20 * lines)
    return total


def choose(
    images: int,
    channels: int,
    out_channels: int,
    axes: tuple[Axis, ...],
    lanes: int,
    register_count: int,
    pairs: bool = False,
    held: Choice | None = None,
    singles: bool = True,
) -> Choice:
    """Choose the cheapest way to sum, or the one that the weights are packed for if it is hardly slower.

    Positions that start where y does need the fewest tiles; those that start at a multiple of the stride in y's
    uncropped form put more phases together.  pairs: whether outputs may be summed two by two, by fewer products;
    singles: whether they may be summed one by one where pairs are possible.
    """
    shifts = list(product(*[sorted({0, axis.begin % axis.stride}) for axis in axes]))
    steps = {(1,) * len(axes)}
    if pairs and channels >= LEAST_PAIRED_CHANNELS:
        paired = tuple([1 + any(len(group.offsets) > 1 for group in phase_groups(axis, 0)) for axis in axes])
        steps |= {paired, (1, *paired[1:]), (*paired[:-1], 1)}
        if not singles and len(steps) > 1:
            steps.discard((1,) * len(axes))
    choices = [Choice(*ways, *tile) for ways in product(shifts, sorted(steps)) for tile in TILES[register_count]]
    choices += [choice._replace(shared=True) for choice in choices if prod(choice.steps) == 1]
    costs = {choice: cost(images, channels, out_channels, axes, lanes, choice) for choice in choices}
    size = (register_bytes() or 8) // lanes
    wide = {
        choice: channels * most_reads(axes, choice) * row_pitch(choice.vectors * lanes, lanes, size) > MOST_BYTES
        for choice in choices
    }
    best = min(choices, key=lambda choice: (wide[choice], costs[choice]))
    return held if held is not None and costs.get(held, np.inf) <= HELD_COST * costs[best] else best


def most_reads(axes: tuple[Axis, ...], choice: Choice) -> int:
    """Count the rows of the panel that a channel has, in the class that has most."""
    if choice.shared:
        return 1
    ways = list(zip(axes, choice.shifts, choice.steps, strict=True))
    most = [
        max(len(reads_of((group,), step)) for group in phase_groups(axis, shift)) for axis, shift, step in ways[:-1]
    ]
    axis, shift, step = ways[-1]
    return prod(most) * len(reads_of(phase_groups(axis, shift), step))


def row_pitch(numbers: int, lanes: int, size: int) -> int:
    """Give the bytes from row to row, which are an odd number of cache lines.

    A distance that is a power of two would put all rows on the same cache sets.  Behind a row there is room for a register
    that reaches over its end.
    """
    return (-(-(numbers + lanes) * size // 64) | 1) * 64


class _Table:
    """The geometry behind the axes: classes, tiles, then lists, whose places are known when all tiles are."""

    def __init__(self, start: int, classes: int) -> None:
        self.first_class, self.first_tile = start, start + classes * CLASS_BYTES
        self.classes: list[tuple[int, ...]] = []
        self.tiles: list[tuple[int, ...]] = []
        self.packings: list[tuple[int, ...]] = []
        self.lists: list[npt.NDArray[np.int64]] = []
        self.length, self.packed, self.staged, self.rows = 0, 0, 0, ""
        self.most_offsets, self.most_phases, self.most_slots = 0, 0, 0
        self.packing = hashlib.sha256()

    def add_list(self, values: npt.NDArray[np.int64] | list[Any]) -> int:
        """Append a list; return its place among the lists, in bytes."""
        place, values = self.length, np.array(values, np.int64).ravel()
        self.lists.append(values)
        self.length += values.nbytes
        return place

    def add_class(
        self,
        outer: tuple[PhaseGroup, ...],
        inner: tuple[PhaseGroup, ...],
        axes: tuple[Axis, ...],
        channels: int,
        out_channels: int,
        choice: Choice,
        most_rows: int,
        pitch: int,
        size: int,
        shares: tuple[tuple[int, int], ...],
    ) -> int:
        """Append a class, in batches of at most `most_rows` rows if that fills tiles; return the rows of a batch.

        pitch: bytes from row to row; shares: where rows are shared, the first offset and the distance of neighbours in
        numbered positions, of each axis.
        """
        stride, height, steps = axes[-1].stride, choice.rows, choice.steps
        inner_phases, outputs = tuple([group.phases for group in inner]), prod(steps)
        reads = [
            *[reads_of((group,), step) for group, step in zip(outer, steps, strict=False)],
            reads_of(inner, steps[-1]),
        ]
        phases = _outputs(outer, axes, steps)
        units = out_channels * prod(len(group.phases) for group in outer)
        filling, _ = row_tiles(stride, inner_phases, units, height)
        batch = max(1, min(-(-units // filling), most_rows // (filling * stride * outputs))) * filling
        most = min(batch, units) * stride * outputs
        products = [
            (number, members)
            for number, group in enumerate(inner)
            for members in product(*[products_of(*part) for part in zip((*outer, group), steps, strict=True)])
        ]
        taps = [_taps(members, (*outer, inner[number]), axes) for number, members in products]
        of_group = [[place for place, (of, _) in enumerate(products) if of == number] for number in range(len(inner))]
        slots = [np.unique(np.concatenate([taps[place][0].ravel() for place in places])) for places in of_group]
        slot_lists = [self.add_list(known) for known in slots]
        columns = [
            self._add_product(*taps[place], slots[number], _runs(members, reads, channels, pitch, size, shares))
            for place, (number, members) in enumerate(products)
        ]
        tile_list, full, count = self.first_tile + len(self.tiles) * TILE_BYTES, 0, 0
        results: dict[tuple[RowTile, int], tuple[int, int]] = {}
        for start in range(0, units, batch):
            cut = row_tiles(stride, inner_phases, min(batch, units - start), height)[1]
            written: set[int] = set()
            firsts = []
            for place, (number, members) in enumerate(products):
                firsts.append(self.first_tile + len(self.tiles) * TILE_BYTES)
                for tile in cut:
                    if tile.group == number:
                        if (tile, place) not in results:
                            rows = _results(tile, members, stride, steps, height, most, written)
                            rows[:, 1:] *= pitch
                            results[tile, place] = len(rows), self.add_list(rows)
                        self.tiles.append((self.packed, *columns[place], *results[tile, place]))
                        self.packed += channels * len(taps[place][0]) * height
            # Of what follows the bytes alone may be those of other tiles: three of 4 rows have the places of one of 12.
            shapes = [[part.shape for place in places for part in taps[place]] for places in of_group]
            self.packing.update(repr((height, cut, shapes)).encode())
            for number, places in enumerate(of_group):
                mine = [tile for tile in cut if tile.group == number]
                for k, tile in enumerate(mine):
                    rows = _row_places(tile, start, outer, inner[number], axes, height)
                    self.packings.append(
                        (
                            firsts[places[0]] + k * TILE_BYTES,
                            len(mine) * TILE_BYTES,
                            len(places),
                            self.add_list(rows * size),
                            bool((np.diff(rows) == 1).all()),
                            slots[number].size,
                            slot_lists[number],
                        )
                    )
                    self.packing.update(rows.tobytes())
                for part in (part for place in places for part in taps[place]):
                    self.packing.update(part.tobytes())
            full, count = full or len(self.tiles), len(self.tiles)
            if start == 0:
                self.rows = _rows_text(stride, len(inner), cut[0])
        begin = (tile_list - self.first_tile) // TILE_BYTES
        offsets, mixes, staged = _mixes(reads)
        if shares:
            offsets = np.array([[first for first, _ in shares]], np.int64)
        self.classes.append(
            (
                len(offsets),
                self.add_list(offsets),
                len(phases),
                self.add_list(phases),
                -(-units // batch),
                batch * prod(steps[:-1]),
                full - begin,
                count - begin,
                tile_list,
                staged,
                len(mixes),
                self.add_list(mixes),
            )
        )
        self.most_offsets, self.most_phases = max(self.most_offsets, len(offsets)), max(self.most_phases, len(phases))
        self.staged = max(self.staged, staged)
        self.most_slots = max(self.most_slots, *[known.size for known in slots])
        return most

    def _add_product(
        self,
        places: npt.NDArray[np.int64],
        factors: npt.NDArray[np.int64],
        slots: npt.NDArray[np.int64],
        runs: npt.NDArray[np.int64],
    ) -> tuple[int, ...]:
        """Append what the tiles of a product share: the slots and factors of its taps, and what it reads of the panel."""
        slot_list, factor_list = self.add_list(np.searchsorted(slots, places)), self.add_list(factors)
        return len(places), factors.size, slot_list, factor_list, len(runs), self.add_list(runs)

    def geometry(self, header: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Join all, behind the header and the axes."""
        classes, tiles, packings = (
            np.array(self.classes, CLASS),
            np.array(self.tiles, TILE),
            np.array(self.packings, PACKING),
        )
        for kind, names in (
            (classes, ("offset_list", "phase_list", "mix_list")),
            (tiles, ("slot_list", "factor_list", "run_list", "result_list")),
            (packings, ("row_list", "slot_list")),
        ):
            for name in names:
                kind[name] += self.first_packing + packings.nbytes
        return np.concatenate([header, *[kind.view(np.int64) for kind in (classes, tiles, packings)], *self.lists])

    @property
    def first_packing(self) -> int:
        """Where the packings are."""
        return self.first_tile + len(self.tiles) * TILE_BYTES


@lru_cache(maxsize=256)
def block_plan(
    images: int,
    groups: int,
    channels: int,
    out_channels: int,
    axes: tuple[Axis, ...],
    bits: int,
    pairs: bool = False,
    held: Choice | None = None,
    singles: bool = True,
) -> BlockPlan:
    """Plan for `groups` groups of so many channels each, in numbers of `bits` bits; weights are packed for `held`.

    pairs: whether outputs may be summed two by two; singles: whether one by one where pairs are possible.
    """
    taps = prod(axis.kernel for axis in axes)
    plane, out_plane = prod(axis.size for axis in axes), prod(axis.output for axis in axes)
    front = np.zeros((HEADER_BYTES + len(axes) * AXIS_BYTES) // 8, np.int64)
    _set(
        records(front, HEADER),
        axes=len(axes),
        last_axis=HEADER_BYTES + (len(axes) - 1) * AXIS_BYTES,
        line_bytes=LINE_BYTES + 8 * len(axes),
        images=images,
        groups=groups,
        channels=channels,
        out_channels=out_channels,
        plane=plane,
        out_plane=out_plane,
        taps=taps,
    )
    rows = records(front, AXIS, HEADER_BYTES, len(axes))
    for i, axis in enumerate(axes):
        _set(
            rows[i : i + 1],
            size=axis.size,
            stride=axis.stride,
            out_size=axis.output,
            pitch=prod(a.size for a in axes[i + 1 :]),
            out_pitch=prod(a.output for a in axes[i + 1 :]),
            kernel=axis.kernel,
            dilation=axis.dilation,
            begin=axis.begin,
            step=1,
        )
    work = images * groups * channels * out_channels * taps * plane
    if not images * out_channels or prod(axis.stride for axis in axes) > MOST_PHASES:
        return BlockPlan(front, None, b"", 0, 0, work)

    lanes, size = lanes_of(bits), bits // 8
    choice = choose(images, channels, out_channels, axes, lanes, registers(), pairs, held, singles)
    steps = choice.steps
    ranges = [offset_range(*axis) if choice.shared else (0, 0) for axis in zip(axes, choice.shifts, strict=True)]
    for i, (axis, shift, step) in enumerate(zip(axes, choice.shifts, steps, strict=True)):
        count = count_of(axis, shift, step)
        reached = count + ranges[i][1] - ranges[i][0]
        _set(rows[i : i + 1], shift=shift, count=count, numbered=reached, stride=axis.stride * step, step=step)
    numbered = rows["numbered"].tolist()
    distances = [prod(numbered[i + 1 :]) for i in range(len(axes))]
    reach = sum((last - first) * distance for (first, last), distance in zip(ranges, distances, strict=True))
    shares = tuple([(first, distance) for (first, _), distance in zip(ranges, distances, strict=True)])
    positions, width = images * prod(numbered), choice.vectors * lanes
    outer = list(product(*[phase_groups(axis, shift) for axis, shift in zip(axes[:-1], choice.shifts, strict=False)]))
    inner = phase_groups(axes[-1], choice.shifts[-1])

    terms, paired = channels * most_reads(axes, choice), prod(steps) > 1
    groups_together = 1 if paired else min(groups, max(1, CHANNELS_TOGETHER // max(1, channels)))
    # A product of pairs reads the rows of one read only.
    at_once = channels if paired else terms * groups_together
    fitting = min(PANEL_BYTES // (size * max(1, at_once)), MOST_PANEL_BYTES // (size * max(1, terms)), BLOCK_POSITIONS)
    blocks = -(-positions // max(width, fitting))
    block = -(-positions // (blocks * width)) * width
    pitch = row_pitch(block + reach, lanes, size)

    table = _Table(front.nbytes, len(outer))
    batch_rows = max(
        table.add_class(
            member,
            inner,
            axes,
            channels,
            out_channels,
            choice,
            SUMS_BYTES // pitch,
            pitch,
            size,
            shares if choice.shared else (),
        )
        for member in outer
    )
    geometry, stride, inner_count = table.geometry(front), axes[-1].stride * steps[-1], numbered[-1]
    most_lines = min(block + reach, (block + reach + inner_count - 2) // inner_count + 1)
    base, tile, phases = (
        Variant(bits, lanes),
        Tile(bits, lanes, choice.rows, choice.vectors),
        Phases(bits, lanes, min(stride, lanes)),
    )
    of_two = types.literal(2) if stride == 2 else types.none
    head = records(geometry, HEADER)
    _set(
        head,
        executor=compiled_address(kernels.transpose_blocks, base, *[INTEGER] * 9),
        packer=compiled_address(kernels.pack_tiles, tile, *[INTEGER] * 6),
        summer=compiled_address(kernels.sum_tiles, tile, *[INTEGER] * 8),
        storer=compiled_address(kernels.store_batch, phases, of_two, *[INTEGER] * 9),
        line_finder=compiled_address(kernels.find_lines, *[INTEGER] * 5),
        copy_finder=compiled_address(kernels.find_copies, *[INTEGER] * 8),
        panel_filler=compiled_address(kernels.fill_panel, base, *[INTEGER] * 8),
        row_mixer=compiled_address(kernels.mix_rows, base, *[INTEGER] * 5) if paired else 0,
        target_finder=compiled_address(kernels.find_targets, *[INTEGER] * 4),
        positions=positions,
        block=block,
        blocks=-(-positions // block),
        groups_together=groups_together,
        items=-(-groups // groups_together) * -(-positions // block),
        packed=table.packed,
        classes=len(outer),
        first_class=table.first_class,
        packings=len(table.packings),
        first_packing=table.first_packing,
        tile_width=width,
        lines_ahead=2 if images * groups * out_channels * out_plane * size > HELD_OUTPUT else 0,
        pitch=pitch,
        panel_bytes=terms * groups_together * pitch,
        staged_bytes=table.staged * pitch,
        sums_bytes=(batch_rows + 1) * pitch,  # a tile that is not full writes its last rows to one more
        most_lines=most_lines,
        most_outer=table.most_phases,
        # of a line the beginning, the end and what lies between, of a row the end, and how far they read
        most_copies=table.most_offsets
        * (min(block + reach, (block + reach) // lanes + 3 * most_lines) + width // lanes + 1)
        + 1,
        shared=choice.shared,
        reach=reach,
        unit=1 << len(axes),  # a half along each axis
        direct=images == 1 and len(table.tiles) == 1 and _covers_x(axes, choice),
        slot_words=table.most_slots * kernels.PACKED_TOGETHER * choice.rows,  # a number takes a word at most
    )
    return BlockPlan(
        geometry,
        choice,
        table.packing.digest(),
        groups * table.packed,
        scratch_words(geometry),
        work,
        table.rows,
    )


def _set(record: Any, **words: int) -> None:
    """Set words of a record."""
    for name, value in words.items():
        record[name] = value


def _grid(values: list[tuple[int, ...]]) -> npt.NDArray[np.int64]:
    """List all combinations, the last one fastest.  Returns (combinations, values)."""
    combinations = list(product(*values))
    return np.array(combinations, np.int64).reshape(len(combinations), len(values))


def _taps(
    members: tuple[Product, ...], groups: tuple[PhaseGroup, ...], axes: tuple[Axis, ...]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Find the taps of a product, and what they count, in halves along every axis.  Returns (terms, taps) and (taps,)."""
    places, taps = np.zeros(1, np.int64), np.array([[0, 1]], np.int64)
    for member, group, axis in zip(members, groups, axes, strict=True):
        of_first = np.array(group.taps[0], np.int64)
        places = (places[:, None] * axis.kernel + of_first[list(member.anchors)]).ravel()
        # from offset to offset taps are equally far apart
        several = any(k for k, _ in member.taps)
        apart = of_first[member.anchors[0] + 1] - of_first[member.anchors[0]] if several else 0
        displaced = np.array([(k * apart, halves) for k, halves in member.taps], np.int64)
        taps = np.stack(
            [
                (taps[:, None, 0] * axis.kernel + displaced[:, 0]).ravel(),
                (taps[:, None, 1] * displaced[:, 1]).ravel(),
            ],
            axis=-1,
        )
    return places[:, None] + taps[:, 0], taps[:, 1]


def _runs(
    members: tuple[Product, ...],
    reads: list[tuple[Read, ...]],
    channels: int,
    pitch: int,
    size: int,
    shares: tuple[tuple[int, int], ...],
) -> npt.NDArray[np.int64]:
    """Find where the terms of a product are in the panel.  Returns (runs, 2): bytes to the first of rows, and their count."""
    rows = np.zeros(1, np.int64)
    if shares:
        for member, (first, distance) in zip(members, shares, strict=True):
            here = np.array([read[0][0] - first for read in member.reads], np.int64)
            rows = (rows[:, None] + here * distance).ravel()
        return np.stack([rows * size, np.full_like(rows, channels)], axis=-1)
    for member, known in zip(members, reads, strict=True):
        here = np.array([known.index(read) for read in member.reads], np.int64)
        rows = (rows[:, None] * len(known) + here).ravel()
    # neighbours are joined
    starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
    lengths = np.diff(starts, append=rows.size)
    return np.stack([rows[starts] * pitch, lengths], axis=-1) * channels


def _covers_x(axes: tuple[Axis, ...], choice: Choice) -> bool:
    """Tell whether the positions are the numbers of a plane of x, each read at one offset."""
    return prod(choice.steps) == 1 and all(
        count_of(axis, shift) == axis.size and [group.offsets for group in phase_groups(axis, shift)] == [(0,)]
        for axis, shift in zip(axes, choice.shifts, strict=True)
    )


def _outputs(outer: tuple[PhaseGroup, ...], axes: tuple[Axis, ...], steps: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """List the outputs of a position along the outer axes: by phases, then by the inputs of the position."""
    phases, inputs = _grid([group.phases for group in outer]), _grid([tuple(range(step)) for step in steps[:-1]])
    outputs: npt.NDArray[np.int64] = phases[:, None] + inputs * np.array([axis.stride for axis in axes[:-1]], np.int64)
    return outputs.reshape(len(phases) * len(inputs), len(axes) - 1)


def _mixes(reads: list[tuple[Read, ...]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], int]:
    """Find how the rows of the panel come from x, axis by axis.

    Returns the offsets to copy; what to mix, (mixes, 4): target, two sources, sign of the second one; and the staged rows,
    which the offsets are the first of.  A target beyond those is a row of the panel.  No mixes: the panel is copied.
    """
    grids = [offsets_of(axis) for axis in reads]
    offsets = _grid(list(grids))
    if all(len(read) == 1 for axis in reads for read in axis):
        return offsets, np.zeros((0, 4), np.int64), 0
    singles = [tuple([((offset, 1),) for offset in grid]) for grid in grids]
    rows: dict[tuple[Read, ...], int] = {key: row for row, key in enumerate(product(*singles))}
    mixes, count = [], len(rows)
    last = min(a for a, axis in enumerate(reads) if any(len(read) > 1 for read in axis))
    for a in range(len(reads) - 1, last - 1, -1):
        before, rows, staged = rows, {}, count
        for key in product(*singles[:a], *reads[a:]):
            sources = [before[(*key[:a], ((offset, 1),), *key[a + 1 :])] for offset, _ in key[a]]
            if len(sources) == 1 and a > last:
                rows[key] = sources[0]
            else:
                mixes.append((count, sources[0], sources[-1], key[a][1][1] if len(sources) > 1 else 0))
                rows[key], count = count, count + 1
    return offsets, np.array(mixes, np.int64), staged


def _rows_text(stride: int, groups: int, tile: RowTile) -> str:
    """Say what the rows of a tile are."""
    if stride == 1:
        return "rows are channels"
    if groups == 1:
        return f"rows are channels and all {stride} phases, which read the same inputs"
    if tile.step == stride:
        return f"rows are channels of one of {stride} phases, which read different inputs"
    return f"rows are neighbours of {stride} phases, more than there are channels"


def _phase_places(groups: tuple[PhaseGroup, ...], axes: tuple[Axis, ...]) -> npt.NDArray[np.int64]:
    """Find how far the first tap of each phase is behind that of the first phase."""
    places = np.zeros(1, np.int64)
    for axis, group in zip(axes, groups, strict=True):
        here = np.array([taps[0] - group.taps[0][0] if taps else 0 for taps in group.taps], np.int64)
        places = (places[:, None] * axis.kernel + here).ravel()
    return places


def _base_rows(tile: RowTile, stride: int, height: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Give the units and phases of a tile's rows; the last row fills the tile."""
    rows = tile.first + tile.step * np.minimum(np.arange(height), tile.rows - 1)
    return rows // stride, rows % stride


def _row_places(
    tile: RowTile, start: int, outer: tuple[PhaseGroup, ...], inner: PhaseGroup, axes: tuple[Axis, ...], height: int
) -> npt.NDArray[np.int64]:
    """Find the places of a tile's weights among those of a channel, behind those of the first row's terms."""
    units, phases = _base_rows(tile, axes[-1].stride, height)
    outer_phases = prod(len(group.phases) for group in outer)
    numbers = np.array([inner.phases.index(phase) for phase in phases.tolist()], np.int64)
    units = units + start
    places: npt.NDArray[np.int64] = (
        units // outer_phases * prod(axis.kernel for axis in axes)
        + _phase_places((*outer, inner), axes)[units % outer_phases * len(inner.phases) + numbers]
    )
    return places


def _results(
    tile: RowTile,
    members: tuple[Product, ...],
    stride: int,
    steps: tuple[int, ...],
    height: int,
    trash: int,
    written: set[int],
) -> npt.NDArray[np.int64]:
    """List the results of a tile: how to add, 0 where nothing was written, and the rows of sums."""
    units, phases = _base_rows(tile, stride, height)
    outer = prod(steps[:-1])
    results = []
    for parts in product(*[member.results for member in members]):
        number = 0
        for (output, _), step in zip(parts[:-1], steps, strict=False):
            number = number * step + output
        rows = ((units * outer + number) * steps[-1] + parts[-1][0]) * stride + phases
        rows[tile.rows :] = trash
        sign = prod(sign for _, sign in parts) if int(rows[0]) in written else 0
        results.append([sign, *rows.tolist()])
        written.update(rows[: tile.rows].tolist())
    return np.array(results, np.int64)


def describe(plan: BlockPlan) -> str:
    """Say in a line how a plan sums, and why in that way."""
    if plan.choice is None:
        return "the definition, as the strides have more phases than a table is worth"
    head = records(plan.geometry, HEADER)[0]
    offsets = records(plan.geometry, CLASS, head["first_class"], head["classes"])["offsets"]
    paired = [str(axis) for axis, step in enumerate(plan.choice.steps) if step > 1]
    pairs = f", outputs by pairs along axis {' and '.join(paired)}" if paired else ""
    return (
        f"tiles of {plan.choice.rows} rows x {head['tile_width']} positions, {plan.rows}{pairs}; "
        f"{head['positions']} positions in {head['blocks']} blocks, {offsets.size} classes of at most "
        f"{offsets.max()} offsets x {head['channels']} channels" + ", whose rows serve all offsets" * plan.choice.shared
    )
