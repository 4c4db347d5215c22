"""Transposed convolution: matrix products that are summed in registers and stored once.

Along one axis, output ``o = stride · j + phase − shift`` meets input ``i = j + offset`` with tap q wherever ``stride ·
i + dilation · q = o + begin``.  A phase therefore always meets the same taps at the same offsets, and

    y[(m, phase), j] = b[m] + Σ_(offset, c) w[c, m, tap(phase, offset)] · x[c, j + offset]

is a matrix product of *rows* (m, phase) and *positions* (image, j), over *terms* (offset, c), for any number of axes.
Positions are numbered through all images, so that small maps fill registers too, and are worked on in blocks.  Phases of
the outer axes with equal offsets form a *class*, together with all phases of the innermost axis: the class reads one
*panel*, which has a row for every term with x at the block's positions, and zeros for what lies outside of x.

Along an axis of STEP 2 a position is a pair of neighbours 2j, 2j + 1, and has twice the outputs.  They are summed by
minimal filtering (Winograd), 3 products for 4 or 4 for 6: terms read sums and differences of x, which are made from
*staged* rows, and weights are sums and differences of taps; see `conv_plans.FILTERS`.  A number would spoil its
neighbours that is not finite, or that large that sums overflow: the caller looks for them.

A *unit* is an output channel with one output of a position along every outer axis.  It has a row for each output of the
position along the innermost axis; they are stored together, interleaved.  Some units make a *batch*, whose rows are summed
to a buffer that stays in a cache, and stored from there with the bias.  A *tile* is some rows that have the same terms; it
is summed in registers, in the order of the terms, whatever the number of workers, and is stored, or added with its sign, to
all the rows of the batch that it is part of.  Zeros of the panel would turn infinite weights into NaN: with such weights
`conv_transpose_direct` is taken.

The geometry is an int64 table: a header, `AXIS_COLUMNS` for each axis, `CLASS_COLUMNS` for each class, `TILE_COLUMNS` for
each tile, then the lists that these point at.
"""

from typing import Any

import numpy as np

from fastspectral._jit import njit, prange
from fastspectral.kernels.lanes import broadcast, call_address, load, number_bytes, one_lane, pointer, splat, store
from fastspectral.kernels.lanes import lanes as lanes_of_register
from fastspectral.kernels.tiles import (
    add_products,
    add_rows,
    gather_rows,
    half,
    load_even,
    one_column,
    phases_stored,
    prefetch_line,
    prefetch_write,
    store_phases,
    store_rows,
    tile_columns,
    tile_rows,
    zero_tile,
)

# The header: addresses of the compiled parts, then sizes of the problem.  CHANNELS and OUT_CHANNELS are those of a group.
EXECUTOR, PACKER, SUMMER, STORER = 0, 1, 2, 3
AXES, IMAGES, GROUPS, CHANNELS, OUT_CHANNELS, PLANE, OUT_PLANE, TAPS = 4, 5, 6, 7, 8, 9, 10, 11
# How it is cut: BLOCK positions of GROUPS_TOGETHER groups at a time.  PACKED: numbers in a group's packed weights.
# LINES_AHEAD: how many lines of y are filled while one comes to the caches, 0 to let them come when they are filled.
POSITIONS, BLOCK, BLOCKS, GROUPS_TOGETHER, PACKED = 12, 13, 14, 15, 16
CLASSES, FIRST_CLASS, PACKS, FIRST_PACK, LINES_AHEAD, TILE_WIDTH = 17, 18, 19, 20, 21, 22
# Bytes from row to row of the panel and of the sums, and what a worker's scratch consists of.
PANEL_PITCH, STAGED_BYTES, PANEL_BYTES, SUMS_BYTES, MOST_LINES, MOST_OUTER, MOST_COPIES = 23, 24, 25, 26, 27, 28, 29
# Whether the panel has one row for a channel, read at all offsets, and how many positions such a row reaches over the block's.
SHARED, REACH = 30, 31
# The memory for the slots of one worker that packs weights, in words of 8 bytes.
SLOT_WORDS = 32
# Whether x itself is the panel: positions are the numbers of a plane, at one offset, and every number is read once.
DIRECT = 33
# Addresses of the parts of the executor.  As functions that it calls they would be compiled twice, in themselves and in it, and one that a plan does not
# need as well: a first call took 1.4 times as long.
LINE_FINDER, COPY_FINDER, PANEL_FILLER, ROW_MIXER, TARGET_FINDER = 34, 35, 36, 37, 38
ITEMS = 39  # blocks of positions, for all groups
HEADER = 40
# An axis: sizes, and the distance of its neighbours in a plane of x and of y.  COUNT: how many positions there are, STEP: how
# many inputs from one to the next, STRIDE: how many outputs.  NUMBERED: how many positions are numbered: behind those there
# are, where rows are shared, as many more as the offsets differ by, which have no outputs.
SIZE, STRIDE, SHIFT, OUT_SIZE, COUNT, PITCH, OUT_PITCH, KERNEL, DILATION, BEGIN, STEP = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
NUMBERED = 11
AXIS_COLUMNS = 12
# A class: its offsets, one number for each axis; its outer phases, one number for each outer axis; its batches of
# BATCH_UNITS units and BATCH_TILES tiles, and where its tiles are.
OFFSETS, OFFSET_LIST, PHASES, PHASE_LIST, BATCHES, BATCH_UNITS, BATCH_TILES, TILE_COUNT, TILE_LIST = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
)
# How its panel is made of pairs: so many staged rows, then mixes of a target, two sources and the sign of the second one.
STAGED, MIXES, MIX_LIST = 9, 10, 11
CLASS_COLUMNS = 12
# A tile: where its packed weights begin; what the tiles of a product share: its terms, the taps that are combined, each at a slot
# for every term and with a factor, and its runs of terms of the panel, each where the first one is, in bytes, and a count; the
# results, each a sign and the rows of sums, in bytes.
TILE_WEIGHTS, TILE_TERMS, TILE_TAPS, TILE_SLOT_LIST, TILE_FACTOR_LIST = 0, 1, 2, 3, 4
TILE_RUNS, TILE_RUN_LIST, TILE_RESULTS, TILE_RESULT_LIST = 5, 6, 7, 8
TILE_COLUMNS = 9
# A packing: the tiles of all products that have the same rows, one every PACK_STEP columns; the places, in bytes, of the rows
# in a channel of w, and whether these are neighbours; the slots: the taps that any of the tiles needs.
PACK_TILE, PACK_STEP, PACK_TILES, PACK_ROW_LIST, PACK_DENSE, PACK_SLOTS, PACK_SLOT_LIST = 0, 1, 2, 3, 4, 5, 6
PACK_COLUMNS = 7
# A line of positions, neighbours along the innermost axis: its first position in the block, its length, its image, where
# phase 0 of its first position is in the output, the positions low … high − 1 whose phases all are, then j along every
# axis.
LINE_START, LINE_LENGTH, LINE_IMAGE, LINE_OUTPUT, LINE_LOW, LINE_HIGH, LINE_J = 0, 1, 2, 3, 4, 5, 6
# A register that is copied: where to in the panel, and where from in x.
COPY_TARGET, COPY_SOURCE = 0, 1
COPY_COLUMNS = 2
ZEROS = -1  # in place of where in x, for zeros
OUTSIDE = -1  # in place of the output line of a line, where there is none
# In front of a list of lines, and of one of copies, stands how many there are; of copies, how many numbers.
COUNT_BYTES = 8
ALIGNMENT = 64
PACKED_TOGETHER = 8  # channels


def scratch_words(geometry: Any) -> int:
    """Give the scratch of one worker, in words of 8 bytes."""
    tables = (
        geometry[MOST_LINES] * (LINE_J + geometry[AXES] + geometry[MOST_OUTER]) + geometry[MOST_COPIES] * COPY_COLUMNS
    )
    return int(
        geometry[PANEL_BYTES] + geometry[STAGED_BYTES] + geometry[SUMS_BYTES] + ALIGNMENT + 2 * COUNT_BYTES
    ) // 8 + int(tables)


# ------------------------------------------------------------------------------------------------------------- weights


@njit
def all_below(numbers: Any, limit: float) -> bool:
    """Tell whether the magnitudes of a flat array are all below a limit."""
    found, most = 0, numbers.dtype.type(limit)
    for k in range(numbers.size):  # counting, not leaving at the first: the loop becomes SIMD
        found += 0 if abs(numbers[k]) < most else 1
    return found == 0


@njit
def add_scaled(variant: Any, source: int, factor: float, target: int, size: int, adds: bool) -> None:
    """Multiply `size` bytes of numbers, and add them to those at the target, or put them there."""
    step, single = lanes_of_register(variant) * number_bytes(variant), one_lane(variant)
    whole = size - size % step
    for at in range(0, whole, step):
        numbers = load(variant, source + at) * splat(variant, factor)
        store(load(variant, target + at) + numbers if adds else numbers, target + at)
    for at in range(whole, size, number_bytes(variant)):
        number = load(single, source + at) * splat(single, factor)
        store(load(single, target + at) + number if adds else number, target + at)


def pack_tiles(tile: Any, w: int, table: int, packed: int, slots: int, begin: int, end: int) -> None:
    """Do packings begin … end − 1, numbered through all groups: weights as a tile reads them, by term and row.

    w, table, packed, slots: addresses, the last one of SLOT_WORDS words.
    """
    size, column, geometry = number_bytes(tile), one_column(tile), pointer(table)
    channels, step = geometry[CHANNELS], tile_rows(tile) * size
    channel_size = geometry[OUT_CHANNELS] * geometry[TAPS] * size
    unit = 1.0
    for _ in range(geometry[AXES]):
        unit *= 0.5
    # Eight channels at a time: w is read in its order, eight streams of it, whose distance is often a power of two, and a
    # cache set holds eight lines.
    for first in range(0, channels, PACKED_TOGETHER):
        together = min(PACKED_TOGETHER, channels - first)
        for number in range(begin, end):
            group, here = number // geometry[PACKS], geometry[FIRST_PACK] + number % geometry[PACKS] * PACK_COLUMNS
            source = w + (group * channels + first) * channel_size
            rows, dense, to = table + 8 * geometry[here + PACK_ROW_LIST], geometry[here + PACK_DENSE], slots
            for slot in range(
                geometry[here + PACK_SLOT_LIST], geometry[here + PACK_SLOT_LIST] + geometry[here + PACK_SLOTS]
            ):
                place = source + geometry[slot] * size
                for _ in range(together):
                    if dense:
                        store(load(column, place + pointer(rows)[0]), to)
                    else:
                        store(gather_rows(tile, place, rows), to)
                    place, to = place + channel_size, to + step
            entry = geometry[here + PACK_TILE]
            for _ in range(geometry[here + PACK_TILES]):
                target = packed + (group * geometry[PACKED] + geometry[entry + TILE_WEIGHTS]) * size + first * step
                slot, taps = geometry[entry + TILE_SLOT_LIST], geometry[entry + TILE_TAPS]
                factors = geometry[entry + TILE_FACTOR_LIST]
                for k in range(geometry[entry + TILE_TERMS]):
                    to = target + k * channels * step
                    for tap in range(taps):
                        factor = geometry[factors + tap] * unit
                        numbers = slots + geometry[slot + tap] * together * step
                        add_scaled(tile, numbers, factor, to, together * step, tap > 0)
                    slot += taps
                entry += geometry[here + PACK_STEP]


@njit
def pack_weights(w: Any, packed: Any, geometry: Any) -> None:
    """Pack all weights, which must be finite.  w, packed: flat."""
    slots, packs = np.empty(geometry[SLOT_WORDS], np.int64), geometry[GROUPS] * geometry[PACKS]
    addresses = w.ctypes.data, geometry.ctypes.data, packed.ctypes.data
    call_address(geometry[PACKER], (0, *addresses, slots.ctypes.data, 0, packs))
    slots[0] = 0  # keeps it until here


@njit(parallel=True)
def pack_weights_parallel(w: Any, packed: Any, geometry: Any, workers: int) -> None:
    """Do `pack_weights` with the packings shared among workers."""
    packs, slots = geometry[GROUPS] * geometry[PACKS], np.empty((workers, geometry[SLOT_WORDS]), np.int64)
    addresses = w.ctypes.data, geometry.ctypes.data, packed.ctypes.data
    for worker in prange(workers):
        begin, end = packs * worker // workers, packs * (worker + 1) // workers
        call_address(geometry[PACKER], (0, *addresses, slots[worker].ctypes.data, begin, end))
    slots[0, 0] = 0  # keeps it until here


# --------------------------------------------------------------------------------------------------------------- panel


def find_lines(table: int, first: int, count: int, everywhere: int, line_table: int) -> None:
    """Write the lines of the positions first … first + count − 1, and how many.

    everywhere: whether also of positions that have no outputs; the tables: addresses.
    """
    geometry, lines = pointer(table), pointer(line_table)
    axes = geometry[AXES]
    last = HEADER + (axes - 1) * AXIS_COLUMNS
    stride, numbered = geometry[last + STRIDE], geometry[last + NUMBERED]
    found, done = 0, 0
    while done < count:
        line = found * (LINE_J + axes)
        rest, inside = first + done, True
        for axis in range(axes - 1, -1, -1):
            column = HEADER + axis * AXIS_COLUMNS
            j = rest % geometry[column + NUMBERED]
            inside = inside and j < geometry[column + COUNT]
            lines[line + LINE_J + axis] = j
            rest //= geometry[column + NUMBERED]
        j = lines[line + LINE_J + axes - 1]
        there = min(numbered - j, count - done)
        if inside or everywhere:
            length = there if everywhere else min(geometry[last + COUNT] - j, there)
            output = j * stride - geometry[last + SHIFT]
            low = 1 if output < 0 else 0
            lines[line + LINE_START], lines[line + LINE_LENGTH], lines[line + LINE_IMAGE] = done, length, rest
            lines[line + LINE_OUTPUT], lines[line + LINE_LOW] = output, low
            lines[line + LINE_HIGH] = max(low, min(length, (geometry[last + OUT_SIZE] - output) // stride))
            found += 1
        done += there
    pointer(line_table - COUNT_BYTES)[0] = found


def find_copies(
    table: int, here: int, size: int, vector: int, end: int, line_table: int, group: int, copy_table: int
) -> None:
    """Find the registers that fill the rows of a channel up to position `end`, at all offsets of a class, and how many.

    They are to be stored in their order, each over what the one before wrote too far.  Lines that are neighbours in x as
    well are copied as one.  vector: numbers in a register; copies: in bytes, for the first channel of a group; behind the
    last one, how far they read.
    """
    geometry, lines, copies = pointer(table), pointer(line_table), pointer(copy_table)
    line_count = pointer(line_table - COUNT_BYTES)[0]
    axes, step = geometry[AXES], vector * size
    last = HEADER + (axes - 1) * AXIS_COLUMNS
    apart = geometry[last + STEP]  # inputs that are copied
    distance = geometry[PANEL_PITCH] * (1 if geometry[here + MIXES] else geometry[CHANNELS])  # of offsets
    found, reach = 0, 0
    for k in range(geometry[here + OFFSETS]):
        offsets, row = geometry[here + OFFSET_LIST] + k * axes, k * distance
        at, follows = row, ZEROS  # the next byte to write, and what x has behind the line before
        for number in range(line_count):
            line = number * (LINE_J + axes)
            source = (lines[line + LINE_IMAGE] * geometry[GROUPS] + group) * geometry[CHANNELS] * geometry[PLANE]
            inside = True
            for axis in range(axes - 1):
                column = HEADER + axis * AXIS_COLUMNS
                i = lines[line + LINE_J + axis] * geometry[column + STEP] + geometry[offsets + axis]
                inside = inside and 0 <= i < geometry[column + SIZE]
                source += i * geometry[column + PITCH]
            i, length = (
                lines[line + LINE_J + axes - 1] * apart + geometry[offsets + axes - 1],
                lines[line + LINE_LENGTH],
            )
            low = min((max(-i, 0) + apart - 1) // apart, length) if inside else length
            high = max(min((geometry[last + SIZE] - i + apart - 1) // apart, length), low)
            start = row + lines[line + LINE_START] * size
            begin, stop, line_end = start + low * size, start + high * size, start + length * size
            ahead = (source + i) * size - start * apart  # from a place in the panel, times `apart`, to that in x
            if low or start * apart + ahead != follows:
                at = start
                while at < begin:
                    copies[found + COPY_TARGET], copies[found + COPY_SOURCE] = at, ZEROS
                    at, found = at + step, found + COPY_COLUMNS
                at = begin
            while at < stop:
                copies[found + COPY_TARGET], copies[found + COPY_SOURCE] = at, at * apart + ahead
                at, found, reach = at + step, found + COPY_COLUMNS, max(reach, (at + step) * apart + ahead)
            follows = stop * apart + ahead if high == length else ZEROS
            if high < length:
                at = stop
                while at < line_end:
                    copies[found + COPY_TARGET], copies[found + COPY_SOURCE] = at, ZEROS
                    at, found = at + step, found + COPY_COLUMNS
        at = (
            row
            + (
                lines[(line_count - 1) * (LINE_J + axes) + LINE_START]
                + lines[(line_count - 1) * (LINE_J + axes) + LINE_LENGTH]
            )
            * size
        )
        while at < row + end * size:
            copies[found + COPY_TARGET], copies[found + COPY_SOURCE] = at, ZEROS
            at, found = at + step, found + COPY_COLUMNS
    copies[found + COPY_SOURCE] = reach
    pointer(copy_table - COUNT_BYTES)[0] = found


def mix_rows(variant: Any, table: int, here: int, staged: int, panel: int, width: int) -> None:
    """Make the panel's rows of a channel from those that are staged, by sums and differences.

    panel: address of the first row; width: bytes of a row that are needed.
    """
    geometry = pointer(table)
    pitch, step = geometry[PANEL_PITCH], lanes_of_register(variant) * number_bytes(variant)
    first, count = geometry[here + MIX_LIST], geometry[here + STAGED]
    for mix in range(first, first + 4 * geometry[here + MIXES], 4):
        row = geometry[mix]
        target = staged + row * pitch if row < count else panel + (row - count) * geometry[CHANNELS] * pitch
        a, b, sign = staged + geometry[mix + 1] * pitch, staged + geometry[mix + 2] * pitch, geometry[mix + 3]
        if sign == 0:
            for at in range(0, width, step):
                store(load(variant, a + at), target + at)
        else:
            factor = splat(variant, float(sign))
            for at in range(0, width, step):
                store(load(variant, a + at) + load(variant, b + at) * factor, target + at)


def fill_panel(
    variant: Any,
    x: int,
    table: int,
    here: int,
    groups: int,
    copy_table: int,
    panel: int,
    staged: int,
    width: int,
) -> None:
    """Write to the panel what a class needs of x for some groups: by group, read and channel.

    A channel is copied for all offsets while it is in the first-level cache.  width: bytes of a row.
    """
    geometry, copies, end = pointer(table), pointer(copy_table), pointer(copy_table - COUNT_BYTES)[0]
    size, step, zero = number_bytes(variant), lanes_of_register(variant) * number_bytes(variant), splat(variant, 0.0)
    channels, offsets, single = geometry[CHANNELS], geometry[here + OFFSETS], one_lane(variant)
    mixes, apart = geometry[here + MIXES], geometry[HEADER + (geometry[AXES] - 1) * AXIS_COLUMNS + STEP]
    next_plane = geometry[PLANE] * size
    memory = x + geometry[IMAGES] * geometry[GROUPS] * channels * next_plane
    for g in range(groups):
        for c in range(channels):
            plane = x + (g * channels + c) * geometry[PLANE] * size
            row = panel + (g * offsets * channels + c) * geometry[PANEL_PITCH]
            to = staged if mixes else row
            inside = plane + copies[end + COPY_SOURCE] <= memory  # everywhere but in the last channel of x
            for copy in range(0, end, COPY_COLUMNS):
                target, source = to + copies[copy + COPY_TARGET], copies[copy + COPY_SOURCE]
                if source == ZEROS:
                    store(zero, target)
                elif inside or plane + source + step * apart <= memory:
                    prefetch_line(plane + source + next_plane)
                    if apart == 1:
                        store(load(variant, plane + source), target)
                    else:
                        store(load_even(variant, plane + source), target)
                else:
                    place = plane + source
                    while place < memory and target < to + copies[copy + COPY_TARGET] + step:
                        store(load(single, place), target)
                        place, target = place + apart * size, target + size
            if mixes:
                call_address(geometry[ROW_MIXER], (0, table, here, staged, row, width))


# ---------------------------------------------------------------------------------------------------------------- sums


def sum_tiles(
    tile: Any, weights: int, panel: int, pitch: int, sums: int, table: int, first: int, count: int, columns: int
) -> None:
    """Sum the tiles of one batch at the positions of `columns` tiles.

    weights, panel, sums, table: addresses; pitch: bytes from row to row of the panel; first: where the batch's tiles are in
    the geometry.
    """
    size, geometry = number_bytes(tile), pointer(table)
    down, across = tile_rows(tile) * size, tile_columns(tile) * size
    for column in range(columns):
        for here in range(first, first + count * TILE_COLUMNS, TILE_COLUMNS):
            total = zero_tile(tile)
            weight, runs = weights + geometry[here + TILE_WEIGHTS] * size, geometry[here + TILE_RUN_LIST]
            for run in range(runs, runs + 2 * geometry[here + TILE_RUNS], 2):
                row = panel + geometry[run] + column * across
                for _ in range(geometry[run + 1]):
                    total = add_products(tile, total, weight, row)
                    weight, row = weight + down, row + pitch
            result = geometry[here + TILE_RESULT_LIST]
            for _ in range(geometry[here + TILE_RESULTS]):
                rows, target = table + 8 * (result + 1), sums + column * across
                if geometry[result] == 0:
                    store_rows(tile, total, target, rows)
                else:
                    add_rows(tile, total, float(geometry[result]), target, rows)
                result += 1 + tile_rows(tile)


# ------------------------------------------------------------------------------------------------------------- results


def find_targets(table: int, here: int, line_table: int, target_table: int) -> None:
    """Find where the lines are in the output of the first channel, for every outer phase of a class."""
    geometry, lines, targets = pointer(table), pointer(line_table), pointer(target_table)
    line_count = pointer(line_table - COUNT_BYTES)[0]
    axes, phases = geometry[AXES], geometry[here + PHASES]
    for p in range(phases):
        phase = geometry[here + PHASE_LIST] + p * (axes - 1)
        for number in range(line_count):
            line = number * (LINE_J + axes)
            target = lines[line + LINE_IMAGE] * geometry[GROUPS] * geometry[OUT_CHANNELS] * geometry[OUT_PLANE]
            inside = True
            for axis in range(axes - 1):
                row = HEADER + axis * AXIS_COLUMNS
                o = (
                    lines[line + LINE_J + axis] * geometry[row + STRIDE]
                    + geometry[phase + axis]
                    - geometry[row + SHIFT]
                )
                inside = inside and 0 <= o < geometry[row + OUT_SIZE]
                target += o * geometry[row + OUT_PITCH]
            targets[p * geometry[MOST_LINES] + number] = target if inside else OUTSIDE


@njit
def store_positions(
    variant: Any, bias: Any, sums: int, pitch: int, target: int, stride: int, begin: int, end: int
) -> int:
    """Store all phases of positions begin … end − 1, if they fill a register; return the first that is not stored.

    target: that of position and phase 0.
    """
    size, vector, count, k = number_bytes(variant), lanes_of_register(variant), phases_stored(variant), begin
    step = stride * size
    while k < end and end - begin >= vector:
        k = min(k, end - vector)  # the last positions, some of them once more
        p = 0
        while p < stride:
            p = min(p, stride - count)  # the last phases, some of them once more
            store_phases(variant, sums + p * pitch + k * size, pitch, bias, target + k * step + p * size, step)
            p += count
        k += vector
    return min(k, end)


@njit
def store_line(variant: Any, b: int, sums: int, pitch: int, target: int, stride: int, line: Any, out_size: int) -> None:
    """Store the outputs of a line that exist, plus the bias at b, 0 for none.

    target: where the output line begins; line: pointer to the line's columns.
    """
    size, single, narrow = number_bytes(variant), one_lane(variant), half(variant)
    low, high, length, output = line[LINE_LOW], line[LINE_HIGH], line[LINE_LENGTH], line[LINE_OUTPUT]
    first, bias = target + output * size, load(single, b) if b else splat(single, 0.0)
    k = store_positions(
        variant, broadcast(variant, b) if b else splat(variant, 0.0), sums, pitch, first, stride, low, high
    )
    k = store_positions(narrow, broadcast(narrow, b) if b else splat(narrow, 0.0), sums, pitch, first, stride, k, high)
    # The positions at both ends, one number after another: those of their phases that are in the output.
    q = 0 if low else k
    while q < length:
        o = output + q * stride
        for p in range(max(0, -o), min(stride, out_size - o)):
            store(load(single, sums + p * pitch + q * size) + bias, target + (o + p) * size)
        q = k if q + 1 == low else q + 1


@njit
def store_line_of_two(variant: Any, b: int, sums: int, pitch: int, target: int, line: Any, out_size: int) -> None:
    """`store_line` of two phases: also where the first output is of phase 1, or the last of phase 0, by whole registers.

    Behind a number of phase 0 comes that of phase 1, `pitch` bytes on; behind one of phase 1 the next one of phase 0.
    """
    size, single, narrow = number_bytes(variant), one_lane(variant), half(variant)
    output = line[LINE_OUTPUT]
    cropped = 1 if output < 0 else 0
    source, first = sums + cropped * pitch, target + (output + cropped) * size
    after = size - pitch if cropped else pitch
    outputs = min(2 * line[LINE_LENGTH], out_size - output) - cropped
    bias = broadcast(narrow, b) if b else splat(narrow, 0.0)
    pairs, others, least = outputs // 2, (outputs - 1) // 2, lanes_of_register(narrow)
    k = store_positions(variant, broadcast(variant, b) if b else splat(variant, 0.0), source, after, first, 2, 0, pairs)
    k = store_positions(narrow, bias, source, after, first, 2, k, pairs)
    if k == pairs and others >= least:
        if outputs % 2:  # the last numbers, all but one once more
            store_positions(narrow, bias, source + after, size - after, first + size, 2, others - least, others)
        return
    for o in range(2 * k, outputs):
        number = load(single, source + o % 2 * after + o // 2 * size)
        store(number + (load(single, b) if b else splat(single, 0.0)), first + o * size)


def store_batch(
    variant: Any,
    of_two: Any,
    b: int,
    y: int,
    sums: int,
    table: int,
    here: int,
    unit: int,
    end: int,
    line_table: int,
    target_table: int,
) -> None:
    """Store the sums of units unit … end − 1 of the class that is `here` in the geometry, plus the bias.

    of_two: of type None, or where there are two phases a literal: Numba prunes the branch that is not needed.  b, y: addresses
    of a group's first channel, b 0 for none; the other tables: addresses.
    """
    size, geometry, targets = number_bytes(variant), pointer(table), pointer(target_table)
    pitch, line_count = geometry[PANEL_PITCH], pointer(line_table - COUNT_BYTES)[0]
    axes, phases, lines_ahead = geometry[AXES], geometry[here + PHASES], geometry[LINES_AHEAD]
    last = HEADER + (axes - 1) * AXIS_COLUMNS
    stride, out_size = geometry[last + STRIDE], geometry[last + OUT_SIZE]
    for number in range(unit, end):
        m, phase = number // phases, number % phases
        bias = b + m * size if b else 0
        plane, rows = y + m * geometry[OUT_PLANE] * size, sums + (number - unit) * stride * pitch
        for index in range(line_count):
            if targets[phase * geometry[MOST_LINES] + index] == OUTSIDE:
                continue
            line = pointer(line_table + 8 * index * (LINE_J + axes))
            target = plane + targets[phase * geometry[MOST_LINES] + index] * size
            source = rows + line[LINE_START] * size
            if lines_ahead:
                ahead, coming, later = index + lines_ahead, plane, phase
                if ahead >= line_count and number + 1 < end:
                    ahead, later = ahead - line_count, (number + 1) % phases
                    coming = y + (number + 1) // phases * geometry[OUT_PLANE] * size
                if ahead < line_count:
                    coming += (targets[later * geometry[MOST_LINES] + ahead] + line[LINE_OUTPUT]) * size
                    for at in range(0, line[LINE_LENGTH] * stride * size, ALIGNMENT):
                        prefetch_write(coming + at)
            general = of_two is None  # on a name, for Numba prunes no branch whose condition is written into it
            if general:
                store_line(variant, bias, source, pitch, target, stride, line, out_size)
            else:
                store_line_of_two(variant, bias, source, pitch, target, line, out_size)


# -------------------------------------------------------------------------------------------------------------- blocks


def transpose_blocks(
    variant: Any, x: int, w: int, b: int, y: int, table: int, scratch: int, begin: int, end: int, parts: int
) -> None:
    """Do the work items begin … end − 1.

    An item is a block of positions of some groups, with one of `parts` parts of the batches of every class.

    x, w, b, y, table: addresses, w of packed weights, b 0 for none; scratch: address, of one worker.
    """
    size, vector, geometry = number_bytes(variant), lanes_of_register(variant), pointer(table)
    width, axes, block, together = geometry[TILE_WIDTH], geometry[AXES], geometry[BLOCK], geometry[GROUPS_TOGETHER]
    panel = (scratch + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    staged = panel + geometry[PANEL_BYTES]
    sums = staged + geometry[STAGED_BYTES]
    lines = sums + geometry[SUMS_BYTES] + COUNT_BYTES
    targets = lines + 8 * geometry[MOST_LINES] * (LINE_J + axes)
    copies = targets + 8 * geometry[MOST_LINES] * geometry[MOST_OUTER] + COUNT_BYTES
    for item in range(begin, end):
        part, rest = item % parts, item // parts
        number, group = rest % geometry[BLOCKS], rest // geometry[BLOCKS] * together
        count, groups = min(block, geometry[POSITIONS] - number * block), min(together, geometry[GROUPS] - group)
        columns = (count + width - 1) // width
        call_address(geometry[LINE_FINDER], (table, number * block, count, 0, lines))
        # Behind the last plane of x there is nothing that a tile could read.
        direct = geometry[DIRECT] != 0 and number * block + columns * width <= geometry[PLANE]
        filled, pitch = direct, geometry[PLANE] * size if direct else geometry[PANEL_PITCH]
        for index in range(geometry[CLASSES]):
            here = geometry[FIRST_CLASS] + index * CLASS_COLUMNS
            batches, units = geometry[here + BATCHES], geometry[OUT_CHANNELS] * geometry[here + PHASES]
            first, last = batches * part // parts, batches * (part + 1) // parts
            if first == last:
                continue
            if not filled:
                shared, end = geometry[SHARED], columns * width + geometry[REACH]
                if shared:
                    reached = min(end, geometry[POSITIONS] - number * block)
                    call_address(geometry[LINE_FINDER], (table, number * block, reached, 1, lines))
                call_address(geometry[COPY_FINDER], (table, here, size, vector, end, lines, group, copies))
                call_address(geometry[PANEL_FILLER], (0, x, table, here, groups, copies, panel, staged, end * size))
                if shared:
                    call_address(geometry[LINE_FINDER], (table, number * block, count, 0, lines))
                    filled = True
            call_address(geometry[TARGET_FINDER], (table, here, lines, targets))
            terms = geometry[CHANNELS] * geometry[here + OFFSETS]
            for g in range(groups):
                rows, weights = panel + g * terms * pitch, w + (group + g) * geometry[PACKED] * size
                if direct:
                    rows = x + ((group + g) * geometry[CHANNELS] * geometry[PLANE] + number * block) * size
                channel = (group + g) * geometry[OUT_CHANNELS]
                bias, target = b + channel * size if b else 0, y + channel * geometry[OUT_PLANE] * size
                for batch in range(first, last):
                    start = batch * geometry[here + BATCH_TILES]
                    # the last batch has fewer units, and may have more tiles
                    tiles = geometry[here + BATCH_TILES] if batch + 1 < batches else geometry[here + TILE_COUNT] - start
                    tile = geometry[here + TILE_LIST] + start * TILE_COLUMNS
                    call_address(geometry[SUMMER], (0, weights, rows, pitch, sums, table, tile, tiles, columns))
                    unit = batch * geometry[here + BATCH_UNITS]
                    unit_end = min(unit + geometry[here + BATCH_UNITS], units)
                    call_address(
                        geometry[STORER],
                        (0, 0, bias, target, sums, table, here, unit, unit_end, lines, targets),
                    )


@njit
def conv_transpose_blocks(x: Any, packed: Any, b: Any, y: Any, geometry: Any, scratch: Any) -> None:
    """Fill y.

    x, packed, b, y: flat, packed by `pack_weights`, b empty for none; geometry: int64; scratch: (1, scratch_words(…))
    int64.
    """
    bias = np.intp(b.ctypes.data) if b.size else 0
    source, weights, target, table = x.ctypes.data, packed.ctypes.data, y.ctypes.data, geometry.ctypes.data
    call_address(
        geometry[EXECUTOR],
        (0, source, weights, bias, target, table, scratch.ctypes.data, 0, geometry[ITEMS], 1),
    )


@njit(parallel=True)
def conv_transpose_blocks_parallel(x: Any, packed: Any, b: Any, y: Any, geometry: Any, scratch: Any) -> None:
    """Do `conv_transpose_blocks` with the work shared among as many workers as `scratch` has rows."""
    workers = scratch.shape[0]
    # At least four items for each worker, so that their shares differ by a quarter at most.
    parts = max(1, 4 * workers // geometry[ITEMS])
    items = geometry[ITEMS] * parts
    bias = np.intp(b.ctypes.data) if b.size else 0
    source, weights, target, table = x.ctypes.data, packed.ctypes.data, y.ctypes.data, geometry.ctypes.data
    for worker in prange(workers):
        begin, end = items * worker // workers, items * (worker + 1) // workers
        call_address(
            geometry[EXECUTOR],
            (0, source, weights, bias, target, table, scratch[worker].ctypes.data, begin, end, parts),
        )


# -------------------------------------------------------------------------------------------------- by the definition


@njit
def direct_lines(x: Any, w: Any, b: Any, y: Any, geometry: Any, begin: int, end: int) -> None:
    """Fill output lines begin … end − 1 along the innermost axis, from the taps and inputs that exist and nothing else.

    x, w, b, y: flat, b empty for none.
    """
    axes, taps, channels = geometry[AXES], geometry[TAPS], geometry[CHANNELS]
    plane, out_channels = geometry[PLANE], geometry[OUT_CHANNELS]
    length = geometry[HEADER + (axes - 1) * AXIS_COLUMNS + OUT_SIZE]
    lines = geometry[OUT_PLANE] // length
    for line in range(begin, end):
        m = line // lines % out_channels
        group = line // lines // out_channels % geometry[GROUPS]
        image = line // lines // out_channels // geometry[GROUPS]
        x_plane = (image * geometry[GROUPS] + group) * channels * plane
        for o in range(length):
            total = y.dtype.type(0)
            for tap in range(taps):
                place, rest, outer = x_plane, tap, line % lines
                meets = True
                for axis in range(axes - 1, -1, -1):
                    row = HEADER + axis * AXIS_COLUMNS
                    if axis == axes - 1:
                        at = o
                    else:
                        at = outer % geometry[row + OUT_SIZE]
                        outer //= geometry[row + OUT_SIZE]
                    reach = at + geometry[row + BEGIN] - rest % geometry[row + KERNEL] * geometry[row + DILATION]
                    rest //= geometry[row + KERNEL]
                    stride = geometry[row + STRIDE] // geometry[row + STEP]
                    i = reach // stride
                    meets = meets and i * stride == reach and 0 <= i < geometry[row + SIZE]
                    place += i * geometry[row + PITCH]
                if meets:
                    for c in range(channels):
                        weight = ((group * channels + c) * out_channels + m) * taps + tap
                        total += x[place + c * plane] * w[weight]
            y[line * length + o] = total + b[group * out_channels + m] if b.size else total


@njit
def output_lines(geometry: Any) -> int:
    """Give the number of output lines along the innermost axis."""
    length = geometry[HEADER + (geometry[AXES] - 1) * AXIS_COLUMNS + OUT_SIZE]
    lines: int = geometry[IMAGES] * geometry[GROUPS] * geometry[OUT_CHANNELS] * geometry[OUT_PLANE] // length
    return lines


@njit
def conv_transpose_direct(x: Any, w: Any, b: Any, y: Any, geometry: Any) -> None:
    """Fill the output by the definition: slow, and right for weights that are not finite and for extreme strides."""
    direct_lines(x, w, b, y, geometry, 0, output_lines(geometry))


@njit(parallel=True)
def conv_transpose_direct_parallel(x: Any, w: Any, b: Any, y: Any, geometry: Any, workers: int) -> None:
    """Do `conv_transpose_direct` with the lines shared among workers."""
    lines = output_lines(geometry)
    for worker in prange(workers):
        direct_lines(x, w, b, y, geometry, lines * worker // workers, lines * (worker + 1) // workers)


# -------------------------------------------------------------------------------------------------- for the user's own code


@njit
def conv_transpose_planned(x: Any, out: Any, plan: Any) -> None:
    """Transposed convolution of x by a plan of ``ConvTransposePlan.for_njit``.

    x, out: C-contiguous, of the shapes that the plan was made for and has, in the dtype of its weights.
    """
    scratch = np.empty(plan.scratch_words, np.int64)
    bias = np.intp(plan.bias.ctypes.data) if plan.bias.size else 0
    arrays = (x.ctypes.data, plan.weights.ctypes.data, bias, out.ctypes.data, plan.geometry.ctypes.data)
    call_address(plan.entry, (0, *arrays, scratch.ctypes.data, 0, plan.items, 1))
    scratch[0] = 0  # a use behind the call, for Numba frees an array after the last use that it sees
