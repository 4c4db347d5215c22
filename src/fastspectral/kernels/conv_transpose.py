"""Transposed convolution: for every phase of the strides one matrix product, accumulated in registers and stored once.

Along one axis, output ``o = stride · j + phase − shift`` meets input ``i = j + offset`` with tap q wherever ``stride ·
i + dilation · q = o + begin``.  A phase therefore always meets the same taps at the same offsets.  Phases with equal
offsets form a *class*: over a class,

    y[(m, phase), j] = b[m] + Σ_(c, offset) w[c, m, tap(phase, offset)] · x[c, j + offset]

is a matrix product of *rows* (m, phase) and *positions* (image, j), over *terms* (c, offset), for any number of axes.
Positions are numbered through all images, so that small maps fill registers too, and are worked on in blocks: the
values of x that a block needs are copied to a *panel* that stays in a cache, and zeros stand in it for what lies
outside of x.  A tile of rows × positions is summed in registers over all terms, in their order, whatever the number of
workers.  Zeros of the panel would turn infinite weights into NaN: with such weights `conv_transpose_direct` is taken.

The geometry is an int64 table: a header, `AXIS_COLUMNS` for each axis, `CLASS_COLUMNS` for each class, then the lists
that classes point at.
"""

from typing import Any

import numpy as np

from fastspectral._jit import njit, prange
from fastspectral.kernels.lanes import (
    broadcast,
    call_address,
    load,
    number_bytes,
    one_lane,
    pointer,
    splat,
    store,
    store_pairs,
)
from fastspectral.kernels.lanes import lanes as lanes_of_register
from fastspectral.kernels.tiles import (
    add_products,
    merged,
    store_rows,
    store_transposed,
    tile_columns,
    tile_rows,
    window,
    zero_tile,
)

# The header: sizes of the problem, of a block and of a worker's scratch.  TERMS are those of the largest class,
# CHANNELS and OUT_CHANNELS those of a group.
EXECUTOR, AXES, IMAGES, GROUPS, CHANNELS, OUT_CHANNELS, PLANE, OUT_PLANE = 0, 1, 2, 3, 4, 5, 6, 7
POSITIONS, BLOCK, BLOCKS, CLASSES, FIRST_CLASS, PACKED, TERMS, ROWS_TOGETHER, TAPS, GROUPS_TOGETHER = (
    8,
    9,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    17,
)
# TAP_TABLE: address of the places of weights (see `pack_rows`); PACKED_APART: 1 where the weights are packed before, 0
# where each batch of rows packs its own.
TAP_TABLE, PACKED_APART, PACKER = 18, 19, 20
HEADER = 21
# An axis: sizes, and the distance of its neighbours in a plane of x and of y.  COUNT: how many j there are.
SIZE, STRIDE, SHIFT, OUT_SIZE, COUNT, PITCH, OUT_PITCH, KERNEL, DILATION, BEGIN = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
AXIS_COLUMNS = 10
# A class: numbers of offsets, phases and rows, then where its packed weights, its offsets and its phases begin.  DENSE:
# 1 where it holds all phases of the innermost axis, which then are the fastest of its rows.
OFFSETS, PHASES, ROWS, WEIGHTS, OFFSET_LIST, PHASE_LIST, TAP_LIST, DENSE = 0, 1, 2, 3, 4, 5, 6, 7
CLASS_COLUMNS = 8
# A line of positions, neighbours along the innermost axis: its first position in the block, its length, its image, then
# j along every axis.
LINE_START, LINE_LENGTH, LINE_IMAGE, LINE_J = 0, 1, 2, 3
# A piece of a line, for one register of a panel's row: where the register is, the lanes low … high − 1 that come from
# x, where in x lane 0 would come from, and how many lanes earlier pieces have filled.
PIECE_START, PIECE_LOW, PIECE_HIGH, PIECE_SOURCE, PIECE_KEPT = 0, 1, 2, 3, 4
PIECE_COLUMNS = 5
ALIGNMENT = 64


def scratch_words(geometry: Any, size: int) -> int:
    """Give the scratch of one worker, in words of 8 bytes, for numbers of `size` bytes."""
    block = int(geometry[BLOCK])
    numbers = block * int((geometry[TERMS] + 1) * geometry[GROUPS_TOGETHER] + geometry[ROWS_TOGETHER])
    if not geometry[PACKED_APART]:
        numbers += int(geometry[TERMS] * geometry[ROWS_TOGETHER])
    columns = LINE_J + int(geometry[AXES]) + 2 * PIECE_COLUMNS
    return (numbers * size + 7) // 8 + (block + ALIGNMENT) * columns + ALIGNMENT // 2


# ------------------------------------------------------------------------------------------------------------- weights


@njit
def all_finite(numbers: Any) -> bool:
    """Tell whether all of a flat array are finite."""
    found = 0
    for k in range(numbers.size):  # counting, not leaving at the first: the loop becomes SIMD
        found += 0 if abs(numbers[k]) < np.inf else 1
    return found == 0


@njit
def pack_rows(tile: Any, w: int, geometry: Any, here: int, begin: int, end: int, packed: int) -> None:
    """Pack the weights of row blocks begin … end − 1 of a class as a tile reads them: by block, term and row.

    w: address of the group's weights.  The tap table holds for every class the places of its weights among those of a
    channel, in the same order.
    """
    size, single = number_bytes(tile), one_lane(tile)
    channels, run = geometry[CHANNELS], geometry[here + OFFSETS] * tile_rows(tile)
    channel_size = geometry[OUT_CHANNELS] * geometry[TAPS] * size
    table = pointer(geometry[TAP_TABLE] + 8 * geometry[here + TAP_LIST])
    # Eight channels at a time: their distance is often a power of two, and a cache set holds eight lines.
    for first in range(0, channels, 8):
        for block in range(begin, end):
            for c in range(first, min(first + 8, channels)):
                source, target = w + c * channel_size, packed + ((block - begin) * channels + c) * run * size
                for k in range(run):
                    store(load(single, source + table[block * run + k] * size), target + k * size)


def pack_groups(tile: Any, w: int, geometry: Any, packed: int) -> None:
    """Write the packed weights of all groups.  w, packed: addresses; geometry: CPointer(int64)."""
    size, height = number_bytes(tile), tile_rows(tile)
    for group in range(geometry[GROUPS]):
        source = w + group * geometry[CHANNELS] * geometry[OUT_CHANNELS] * geometry[TAPS] * size
        for index in range(geometry[CLASSES]):
            here = geometry[FIRST_CLASS] + index * CLASS_COLUMNS
            blocks = (geometry[here + ROWS] + height - 1) // height
            pack_rows(
                tile,
                source,
                geometry,
                here,
                0,
                blocks,
                packed + (group * geometry[PACKED] + geometry[here + WEIGHTS]) * size,
            )


@njit
def prepared(w: Any, packed: Any, geometry: Any) -> bool:
    """Pack the weights, if they are to be packed apart; tell whether all are finite.  w, packed: flat."""
    if not all_finite(w):
        return False
    if geometry[PACKED_APART]:
        call_address(geometry[PACKER], (0, w.ctypes.data, geometry.ctypes.data, packed.ctypes.data))
    return True


# --------------------------------------------------------------------------------------------------------------- panel


@njit
def find_lines(geometry: Any, first: int, count: int, lines: Any) -> int:
    """Write the lines of the positions first … first + count − 1; return how many."""
    axes = geometry[AXES]
    inner = geometry[HEADER + (axes - 1) * AXIS_COLUMNS + COUNT]
    found, done = 0, 0
    while done < count:
        line = found * (LINE_J + axes)
        rest = first + done
        for axis in range(axes - 1, -1, -1):
            size = geometry[HEADER + axis * AXIS_COLUMNS + COUNT]
            lines[line + LINE_J + axis] = rest % size
            rest //= size
        length = min(inner - lines[line + LINE_J + axes - 1], count - done)
        lines[line + LINE_START], lines[line + LINE_LENGTH], lines[line + LINE_IMAGE] = done, length, rest
        found, done = found + 1, done + length
    return found


@njit
def find_pieces(geometry: Any, lines: Any, line_count: int, offsets: int, group: int, vector: int, pieces: Any) -> int:
    """Cut the lines where a register ends, and find what they read of x at one list of offsets; return their number."""
    axes = geometry[AXES]
    last = HEADER + (axes - 1) * AXIS_COLUMNS
    found = 0
    for number in range(line_count):
        line = number * (LINE_J + axes)
        source, inside = (
            (lines[line + LINE_IMAGE] * geometry[GROUPS] + group) * geometry[CHANNELS] * geometry[PLANE],
            True,
        )
        for axis in range(axes - 1):
            row = HEADER + axis * AXIS_COLUMNS
            i = lines[line + LINE_J + axis] + geometry[offsets + axis]
            inside = inside and 0 <= i < geometry[row + SIZE]
            source += i * geometry[row + PITCH]
        i = lines[line + LINE_J + axes - 1] + geometry[offsets + axes - 1]
        start, end = lines[line + LINE_START], lines[line + LINE_START] + lines[line + LINE_LENGTH]
        while start < end:
            lane = start % vector
            length = min(vector - lane, end - start)
            piece = found * PIECE_COLUMNS
            pieces[piece + PIECE_START] = start - lane
            pieces[piece + PIECE_LOW] = min(lane + max(-i, 0), vector)
            pieces[piece + PIECE_HIGH] = max(lane + min(geometry[last + SIZE] - i, length), 0) if inside else 0
            pieces[piece + PIECE_SOURCE] = source + i - lane
            pieces[piece + PIECE_KEPT] = lane
            found, start, i = found + 1, start + length, i + length
    return found


@njit
def fill_panel(
    tile: Any,
    x: int,
    geometry: Any,
    here: int,
    group: int,
    groups: int,
    count: int,
    lines: Any,
    line_count: int,
    pieces: Any,
    panel: int,
) -> None:
    """Copy to the panel what a class needs of x for some groups: by group, tile and term.

    Tiles lie one term further apart than they are long: a distance that is a power of two would put them all on the
    same cache sets.
    """
    size, width, single, vector = number_bytes(tile), tile_columns(tile), one_lane(tile), lanes_of_register(tile)
    axes, channels, offsets = geometry[AXES], geometry[CHANNELS], geometry[here + OFFSETS]
    terms = channels * offsets
    tiles = (count + width - 1) // width
    memory = geometry[IMAGES] * geometry[GROUPS] * channels * geometry[PLANE]
    for k in range(offsets):
        found = find_pieces(geometry, lines, line_count, geometry[here + OFFSET_LIST] + k * axes, group, vector, pieces)
        for start in range((count + vector - 1) // vector * vector, tiles * width, vector):
            piece = found * PIECE_COLUMNS  # the rest of the last tile
            pieces[piece + PIECE_START], pieces[piece + PIECE_LOW], pieces[piece + PIECE_HIGH] = start, 0, 0
            pieces[piece + PIECE_SOURCE], pieces[piece + PIECE_KEPT] = 0, 0
            found += 1
        # Full registers first, the others in their order behind: two loops without branches.
        full, partial = 0, geometry[BLOCK] + ALIGNMENT
        first, last = memory, 0
        for number in range(found):
            piece = number * PIECE_COLUMNS
            start, source = pieces[piece + PIECE_START], pieces[piece + PIECE_SOURCE]
            low, high, kept = pieces[piece + PIECE_LOW], pieces[piece + PIECE_HIGH], pieces[piece + PIECE_KEPT]
            if high - low == vector:
                piece, full = full * PIECE_COLUMNS, full + 1
            else:
                piece, partial = partial * PIECE_COLUMNS, partial + 1
            pieces[piece + PIECE_START] = (start // width * (terms + 1) + k) * width + start % width
            pieces[piece + PIECE_LOW], pieces[piece + PIECE_HIGH], pieces[piece + PIECE_KEPT] = low, high, kept
            pieces[piece + PIECE_SOURCE] = source if low < high else 0
            if low < high:
                first, last = min(first, source), max(last, source)
        for c in range(groups * channels):
            plane = x + c * geometry[PLANE] * size
            row = panel + (c // channels * tiles * (terms + 1) + c % channels * offsets) * width * size
            for number in range(full):
                piece = number * PIECE_COLUMNS
                source, target = plane + pieces[piece + PIECE_SOURCE] * size, row + pieces[piece + PIECE_START] * size
                store(load(tile, source), target)
            # A whole register may be read where it does not reach out of the memory of x: everywhere but at its ends.
            whole = first + c * geometry[PLANE] >= 0 and last + c * geometry[PLANE] + vector <= memory
            for number in range(geometry[BLOCK] + ALIGNMENT, partial):
                piece = number * PIECE_COLUMNS
                source, target = plane + pieces[piece + PIECE_SOURCE] * size, row + pieces[piece + PIECE_START] * size
                low, high = pieces[piece + PIECE_LOW], pieces[piece + PIECE_HIGH]
                kept = window(load(tile, target), 0, pieces[piece + PIECE_KEPT])
                if whole:
                    store(merged(kept, window(load(tile, source), low, high)), target)
                else:
                    store(kept, target)
                    for lane in range(low, high):
                        store(load(single, source + lane * size), target + lane * size)


# ------------------------------------------------------------------------------------------------------------- results


@njit
def store_line(
    tile: Any,
    b: int,
    sums: int,
    target: int,
    stride: int,
    first: int,
    quotient: int,
    rest: int,
    j: int,
    length: int,
    together: int,
    step: int,
) -> None:
    """Add the bias to a line of sums and store it.

    Number k of row p goes to ``(j + k) stride + first + p``, where that lies in the line.

    sums: `together` rows, `step` bytes apart; target: the output line, whose last place is first + quotient stride + rest,
    0 <= rest < stride; -stride < first < stride.
    """
    size, vector, single = number_bytes(tile), lanes_of_register(tile), one_lane(tile)
    bias = load(single, b) if b else splat(single, 0.0)
    origin = target + (j * stride + first) * size
    # Where all rows lie in the output.  Divisions would take longer than the stores of a short line.
    low = 1 if first < 0 and j == 0 else 0
    high = min(length, quotient + (1 if together - 1 <= rest else 0) - j)
    k = low
    if together == stride and (stride <= 2 or stride % vector == 0):
        biases = broadcast(tile, b) if b else splat(tile, 0.0)
        while k + vector <= high:
            if stride == 1:
                store(load(tile, sums + k * size) + biases, origin + k * size)
            elif stride % vector == 0:
                for p in range(0, stride, vector):
                    store_transposed(
                        tile, sums + p * step + k * size, step, biases, origin + (k * stride + p) * size, stride * size
                    )
            else:
                even, odd = load(tile, sums + k * size) + biases, load(tile, sums + step + k * size) + biases
                store_pairs(even, odd, origin + 2 * k * size)
            k += vector
    for p in range(together):
        start = 1 if first + p < 0 and j == 0 else 0
        end = min(length, quotient + (1 if p <= rest else 0) - j)
        for q in range(start, min(low, end)):
            store(load(single, sums + p * step + q * size) + bias, origin + (q * stride + p) * size)
        for q in range(k, end):
            store(load(single, sums + p * step + q * size) + bias, origin + (q * stride + p) * size)


@njit
def store_results(
    tile: Any,
    b: int,
    y: int,
    geometry: Any,
    here: int,
    group: int,
    begin: int,
    end: int,
    lines: Any,
    line_count: int,
    sums: int,
) -> None:
    """Store the sums of rows begin … end − 1 of a class, plus the bias."""
    size, axes, phases = number_bytes(tile), geometry[AXES], geometry[here + PHASES]
    last = HEADER + (axes - 1) * AXIS_COLUMNS
    stride, together = geometry[last + STRIDE], geometry[last + STRIDE] if geometry[here + DENSE] else 1
    step = geometry[BLOCK] * size
    for row in range(begin, end, together):
        m = group * geometry[OUT_CHANNELS] + row // phases
        phase = geometry[here + PHASE_LIST] + row % phases * axes
        bias = b + m * size if b else 0
        first = geometry[phase + axes - 1] - geometry[last + SHIFT]
        quotient = (geometry[last + OUT_SIZE] - 1 - first) // stride
        rest = geometry[last + OUT_SIZE] - 1 - first - quotient * stride
        for number in range(line_count):
            line = number * (LINE_J + axes)
            target, inside = (
                (lines[line + LINE_IMAGE] * geometry[GROUPS] * geometry[OUT_CHANNELS] + m) * geometry[OUT_PLANE],
                True,
            )
            for axis in range(axes - 1):
                column = HEADER + axis * AXIS_COLUMNS
                o = (
                    lines[line + LINE_J + axis] * geometry[column + STRIDE]
                    + geometry[phase + axis]
                    - geometry[column + SHIFT]
                )
                inside = inside and 0 <= o < geometry[column + OUT_SIZE]
                target += o * geometry[column + OUT_PITCH]
            if inside:
                source = sums + (row - begin) * step + lines[line + LINE_START] * size
                j, length = lines[line + LINE_J + axes - 1], lines[line + LINE_LENGTH]
                store_line(
                    tile,
                    bias,
                    source,
                    y + target * size,
                    stride,
                    first,
                    quotient,
                    rest,
                    j,
                    length,
                    together,
                    step,
                )


# -------------------------------------------------------------------------------------------------------------- blocks


@njit
def sum_tile(tile: Any, weights: int, panel: int, terms: int, sums: int, step: int) -> None:
    """Write the sums of one block of rows at the positions of one tile, `step` bytes from row to row."""
    size = number_bytes(tile)
    across, down = tile_columns(tile) * size, tile_rows(tile) * size
    total = zero_tile(tile)
    column, row = weights, panel
    for _ in range(terms):
        total = add_products(tile, total, column, row)
        column, row = column + down, row + across
    store_rows(tile, total, sums, step)


def transpose_blocks(
    tile: Any, x: int, w: int, b: int, y: int, geometry: Any, scratch: int, begin: int, end: int, parts: int
) -> None:
    """Do the work items begin … end − 1.

    An item is a block of positions of some groups, with one of `parts` parts of the rows of every class.

    x, w, b, y: addresses, w of packed weights where these are packed apart, b 0 for none; geometry: CPointer(int64);
    scratch: address, of one worker.
    """
    size, width, height = number_bytes(tile), tile_columns(tile), tile_rows(tile)
    axes, block, together = geometry[AXES], geometry[BLOCK], geometry[ROWS_TOGETHER]
    panel = (scratch + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    sums = panel + block * (geometry[TERMS] + 1) * geometry[GROUPS_TOGETHER] * size
    own_weights = (sums + together * block * size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    tables = own_weights + (0 if geometry[PACKED_APART] else (geometry[TERMS] * together * size + 7) // 8 * 8)
    lines, pieces = pointer(tables), pointer(tables + 8 * block * (LINE_J + axes))
    for item in range(begin, end):
        part, number, group = (
            item % parts,
            item // parts % geometry[BLOCKS],
            item // parts // geometry[BLOCKS] * geometry[GROUPS_TOGETHER],
        )
        groups = min(geometry[GROUPS_TOGETHER], geometry[GROUPS] - group)
        count = min(block, geometry[POSITIONS] - number * block)
        tiles = (count + width - 1) // width
        line_count = find_lines(geometry, number * block, count, lines)
        for index in range(geometry[CLASSES]):
            here = geometry[FIRST_CLASS] + index * CLASS_COLUMNS
            terms, rows = geometry[CHANNELS] * geometry[here + OFFSETS], geometry[here + ROWS]
            batches = (rows + together - 1) // together
            first, last = batches * part // parts, batches * (part + 1) // parts
            if first == last:
                continue
            fill_panel(tile, x, geometry, here, group, groups, count, lines, line_count, pieces, panel)
            for g in range(groups):
                columns = panel + g * tiles * (terms + 1) * width * size
                for batch in range(first, last):
                    row, row_end = batch * together, min((batch + 1) * together, rows)
                    if geometry[PACKED_APART]:
                        weights = w + ((group + g) * geometry[PACKED] + geometry[here + WEIGHTS] + row * terms) * size
                    else:
                        weights = own_weights
                        group_weights = (
                            w + (group + g) * geometry[CHANNELS] * geometry[OUT_CHANNELS] * geometry[TAPS] * size
                        )
                        pack_rows(
                            tile,
                            group_weights,
                            geometry,
                            here,
                            row // height,
                            (row_end + height - 1) // height,
                            weights,
                        )
                    for tile_number in range(tiles):
                        for top in range(0, row_end - row, height):
                            sum_tile(
                                tile,
                                weights + top * terms * size,
                                columns + tile_number * (terms + 1) * width * size,
                                terms,
                                sums + (top * block + tile_number * width) * size,
                                block * size,
                            )
                    store_results(tile, b, y, geometry, here, group + g, row, row_end, lines, line_count, sums)


@njit
def items_of(geometry: Any) -> int:
    """Give the number of blocks of positions, for all groups."""
    items: int = (geometry[GROUPS] + geometry[GROUPS_TOGETHER] - 1) // geometry[GROUPS_TOGETHER] * geometry[BLOCKS]
    return items


@njit
def conv_transpose_blocks(x: Any, w: Any, packed: Any, b: Any, y: Any, geometry: Any, scratch: Any) -> bool:
    """Fill y, or return False with nothing written where a weight is not finite.

    x, w, b, y: flat, b empty for none; packed: flat, written, see `ConvTransposePlan`; geometry: int64; scratch: (1,
    scratch_words(…)) int64.
    """
    if not prepared(w, packed, geometry):
        return False
    weights = packed.ctypes.data if geometry[PACKED_APART] else w.ctypes.data
    bias = np.intp(b.ctypes.data) if b.size else 0
    arguments = (
        0,
        x.ctypes.data,
        weights,
        bias,
        y.ctypes.data,
        geometry.ctypes.data,
        scratch.ctypes.data,
        0,
        items_of(geometry),
        1,
    )
    call_address(geometry[EXECUTOR], arguments)
    return True


@njit(parallel=True)
def conv_transpose_blocks_parallel(x: Any, w: Any, packed: Any, b: Any, y: Any, geometry: Any, scratch: Any) -> bool:
    """Do `conv_transpose_blocks` with the work shared among as many workers as `scratch` has rows."""
    if not prepared(w, packed, geometry):
        return False
    workers = scratch.shape[0]
    # At least four items for each worker, so that their shares differ by a quarter at most.
    parts = max(1, 4 * workers // items_of(geometry))
    items = items_of(geometry) * parts
    weights = packed.ctypes.data if geometry[PACKED_APART] else w.ctypes.data
    bias = np.intp(b.ctypes.data) if b.size else 0
    source, target, table = x.ctypes.data, y.ctypes.data, geometry.ctypes.data
    for worker in prange(workers):
        begin, end = items * worker // workers, items * (worker + 1) // workers
        call_address(
            geometry[EXECUTOR],
            (0, source, weights, bias, target, table, scratch[worker].ctypes.data, begin, end, parts),
        )
    return True


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
                    i = reach // geometry[row + STRIDE]
                    meets = meets and i * geometry[row + STRIDE] == reach and 0 <= i < geometry[row + SIZE]
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
