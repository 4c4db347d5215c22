"""Transposed convolution: for every phase of the strides one matrix product, accumulated in registers and stored once.

Along one axis, output ``o = stride · j + phase − shift`` meets input ``i = j + offset`` with tap q wherever ``stride · i + dilation · q = o + begin``.  A
phase therefore always meets the same taps at the same offsets.  Phases with equal offsets form a *class*: over a class,

    y[(m, phase), j] = b[m] + Σ_(c, offset) w[c, m, tap(phase, offset)] · x[c, j + offset]

is a matrix product of *rows* (m, phase) and *positions* (image, j), over *terms* (c, offset), for any number of axes.  Positions are numbered through all
images, so that small maps fill registers too, and are worked on in blocks: the values of x that a block needs are copied to a *panel* that stays in the
second-level cache, and zeros stand in it for what lies outside of x.  A tile of rows × positions is summed in registers over all terms, in their order,
whatever the number of workers.  Zeros of the panel would turn infinite weights into NaN: with such weights `conv_transpose_direct` is taken.

The geometry is an int64 table: a header, `AXIS_COLUMNS` for each axis, `CLASS_COLUMNS` for each class, then the lists that classes point at.
"""

from typing import Any

from fastspectral._jit import njit, prange
from fastspectral.kernels.lanes import broadcast, call_address, load, number_bytes, one_lane, pointer, splat, store, store_pairs
from fastspectral.kernels.lanes import lanes as lanes_of_register
from fastspectral.kernels.tiles import add_products, store_rows, tile_columns, tile_rows, zero_tile

# The header: sizes of the problem, of a block and of a worker's scratch.  TERMS are those of the largest class, CHANNELS and OUT_CHANNELS those of a group.
EXECUTOR, AXES, IMAGES, GROUPS, CHANNELS, OUT_CHANNELS, PLANE, OUT_PLANE = 0, 1, 2, 3, 4, 5, 6, 7
POSITIONS, BLOCK, BLOCKS, CLASSES, FIRST_CLASS, PACKED, TERMS, ROWS_TOGETHER, TAPS = 8, 9, 10, 11, 12, 13, 14, 15, 16
HEADER = 17
# An axis: sizes, and the distance of its neighbours in a plane of x and of y.  COUNT: how many j there are.
SIZE, STRIDE, SHIFT, OUT_SIZE, COUNT, PITCH, OUT_PITCH, KERNEL, DILATION, BEGIN = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
AXIS_COLUMNS = 10
# A class: numbers of offsets, phases and rows, then where its packed weights, its offsets and its phases begin.  DENSE: 1 where it holds all phases of the
# innermost axis, which then are the fastest of its rows.
OFFSETS, PHASES, ROWS, WEIGHTS, OFFSET_LIST, PHASE_LIST, TAP_LIST, DENSE = 0, 1, 2, 3, 4, 5, 6, 7
CLASS_COLUMNS = 8
# A line of positions, neighbours along the innermost axis: its first position in the block, its length, its image, then j along every axis.
LINE_START, LINE_LENGTH, LINE_IMAGE, LINE_J = 0, 1, 2, 3
# A piece of a panel's row: first position, length, then which of these positions lie in x, and where the first position would.
PIECE_START, PIECE_LENGTH, PIECE_LOW, PIECE_HIGH, PIECE_SOURCE = 0, 1, 2, 3, 4
PIECE_COLUMNS = 5
ALIGNMENT = 64


def scratch_words(geometry: Any, size: int) -> int:
    """Scratch of one worker, in words of 8 bytes, for numbers of `size` bytes."""
    block = int(geometry[BLOCK])
    numbers = block * int(geometry[TERMS] + geometry[ROWS_TOGETHER])
    return (numbers * size + 7) // 8 + block * (LINE_J + int(geometry[AXES]) + PIECE_COLUMNS) + PIECE_COLUMNS + ALIGNMENT // 4


# ------------------------------------------------------------------------------------------------------------- weights


@njit
def pack_weights(w: Any, packed: Any, taps: Any, geometry: Any, tile_height: int, largest: int) -> bool:
    """Put the weights of every class into the order in which a tile reads them: group, block of rows, term, row.

    w, packed: flat, the bits of numbers as integers; taps: for every class the places of its weights among those of a channel, by block of rows, offset and
    row; largest: bits of infinity.  Tell whether all weights are finite.
    """
    channels, channel_size = geometry[CHANNELS], geometry[OUT_CHANNELS] * geometry[TAPS]
    found, mask = 0, largest | (largest - 1)
    for group in range(geometry[GROUPS]):
        for number in range(geometry[CLASSES]):
            here = geometry[FIRST_CLASS] + number * CLASS_COLUMNS
            run = geometry[here + OFFSETS] * tile_height
            blocks = (geometry[here + ROWS] + tile_height - 1) // tile_height
            # Eight channels at a time: their distance is often a power of two, and a cache set holds eight lines.
            for first in range(0, channels, 8):
                for block in range(blocks):
                    table = geometry[here + TAP_LIST] + block * run
                    for c in range(first, min(first + 8, channels)):
                        source = (group * channels + c) * channel_size
                        target = group * geometry[PACKED] + geometry[here + WEIGHTS] + (block * channels + c) * run
                        for k in range(run):
                            value = w[source + taps[table + k]]
                            packed[target + k] = value
                            found = max(found, value & mask)
    return found < largest


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
def find_pieces(geometry: Any, lines: Any, line_count: int, offsets: int, group: int, width: int, pieces: Any) -> int:
    """Cut the lines where a tile ends, and find what they hold at the list of offsets, one for each axis; return how many pieces there are."""
    axes = geometry[AXES]
    last = HEADER + (axes - 1) * AXIS_COLUMNS
    found = 0
    for number in range(line_count):
        line = number * (LINE_J + axes)
        plane = (lines[line + LINE_IMAGE] * geometry[GROUPS] + group) * geometry[CHANNELS]
        source, inside = plane * geometry[PLANE], True
        for axis in range(axes - 1):
            row = HEADER + axis * AXIS_COLUMNS
            i = lines[line + LINE_J + axis] + geometry[offsets + axis]
            inside = inside and 0 <= i < geometry[row + SIZE]
            source += i * geometry[row + PITCH]
        i = lines[line + LINE_J + axes - 1] + geometry[offsets + axes - 1]
        start, end = lines[line + LINE_START], lines[line + LINE_START] + lines[line + LINE_LENGTH]
        while start < end:
            length = min(width - start % width, end - start)
            low = min(max(-i, 0), length) if inside else length
            high = max(min(geometry[last + SIZE] - i, length), low)
            piece = found * PIECE_COLUMNS
            pieces[piece + PIECE_START], pieces[piece + PIECE_LENGTH] = start, length
            pieces[piece + PIECE_LOW], pieces[piece + PIECE_HIGH] = low, high
            pieces[piece + PIECE_SOURCE] = source + i
            found, start, i = found + 1, start + length, i + length
    return found


@njit
def fill_panel(tile: Any, x: int, geometry: Any, here: int, group: int, count: int, lines: Any, line_count: int, pieces: Any, panel: int) -> None:
    """Copy to the panel what a class needs of x, tile by tile, and in a tile term by term."""
    size, width, single, vector = number_bytes(tile), tile_columns(tile), one_lane(tile), lanes_of_register(tile)
    zero = splat(single, 0.0)
    channels, terms = geometry[CHANNELS], geometry[CHANNELS] * geometry[here + OFFSETS]
    axes = geometry[AXES]
    for k in range(geometry[here + OFFSETS]):
        offsets = geometry[here + OFFSET_LIST] + k * axes
        found = find_pieces(geometry, lines, line_count, offsets, group, width, pieces)
        if count % width:  # the rest of the last tile
            piece = found * PIECE_COLUMNS
            pieces[piece + PIECE_START], pieces[piece + PIECE_LENGTH] = count, width - count % width
            pieces[piece + PIECE_LOW] = pieces[piece + PIECE_HIGH] = width - count % width
            pieces[piece + PIECE_SOURCE] = 0
            found += 1
        for c in range(channels):
            plane = x + c * geometry[PLANE] * size
            for number in range(found):
                piece = number * PIECE_COLUMNS
                start, length = pieces[piece + PIECE_START], pieces[piece + PIECE_LENGTH]
                low, high = pieces[piece + PIECE_LOW], pieces[piece + PIECE_HIGH]
                source = plane + pieces[piece + PIECE_SOURCE] * size
                target = panel + ((start // width * terms + c * geometry[here + OFFSETS] + k) * width + start % width) * size
                if high - low == width:
                    for q in range(0, width, vector):
                        store(load(tile, source + q * size), target + q * size)
                else:
                    for q in range(low):
                        store(zero, target + q * size)
                    for q in range(low, high):
                        store(load(single, source + q * size), target + q * size)
                    for q in range(high, length):
                        store(zero, target + q * size)


# ------------------------------------------------------------------------------------------------------------- results


@njit
def store_line(tile: Any, b: int, sums: int, target: int, stride: int, first: int, out_size: int, j: int, length: int, together: int, step: int) -> None:
    """Add the bias to a line of sums and store it: number k of row p goes to ``(j + k) stride + first + p``, where that lies in 0 … out_size − 1.

    sums: `together` rows, `step` bytes apart; target: the output line.
    """
    size, vector, single = number_bytes(tile), lanes_of_register(tile), one_lane(tile)
    bias = load(single, b) if b else splat(single, 0.0)
    origin = target + (j * stride + first) * size
    # Where all rows lie in the output; -(-a // s) is a / s rounded up.
    low = max(0, -(first // stride) - j)
    high = min(length, (out_size - first - together) // stride + 1 - j)
    k = low
    if together == stride and stride <= 2:
        biases = broadcast(tile, b) if b else splat(tile, 0.0)
        while k + vector <= high:
            if stride == 1:
                store(load(tile, sums + k * size) + biases, origin + k * size)
            else:
                even, odd = load(tile, sums + k * size) + biases, load(tile, sums + step + k * size) + biases
                store_pairs(even, odd, origin + 2 * k * size)
            k += vector
    for p in range(together):
        start = min(low, max(0, -((first + p) // stride) - j))
        end = min(length, (out_size - 1 - first - p) // stride + 1 - j)
        for q in range(start, low):
            store(load(single, sums + p * step + q * size) + bias, origin + (q * stride + p) * size)
        for q in range(k, end):
            store(load(single, sums + p * step + q * size) + bias, origin + (q * stride + p) * size)


@njit
def store_results(
    tile: Any, b: int, y: int, geometry: Any, here: int, group: int, begin: int, end: int, lines: Any, line_count: int, sums: int
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
        for number in range(line_count):
            line = number * (LINE_J + axes)
            target, inside = (lines[line + LINE_IMAGE] * geometry[GROUPS] * geometry[OUT_CHANNELS] + m) * geometry[OUT_PLANE], True
            for axis in range(axes - 1):
                column = HEADER + axis * AXIS_COLUMNS
                o = lines[line + LINE_J + axis] * geometry[column + STRIDE] + geometry[phase + axis] - geometry[column + SHIFT]
                inside = inside and 0 <= o < geometry[column + OUT_SIZE]
                target += o * geometry[column + OUT_PITCH]
            if inside:
                first = geometry[phase + axes - 1] - geometry[last + SHIFT]
                source = sums + (row - begin) * step + lines[line + LINE_START] * size
                j, length = lines[line + LINE_J + axes - 1], lines[line + LINE_LENGTH]
                store_line(tile, bias, source, y + target * size, stride, first, geometry[last + OUT_SIZE], j, length, together, step)


# -------------------------------------------------------------------------------------------------------------- blocks


@njit
def sum_rows(tile: Any, weights: int, panel: int, terms: int, tiles: int, sums: int, step: int) -> None:
    """Sums of one block of rows at all positions of the panel, `step` bytes from row to row."""
    size = number_bytes(tile)
    across, down = tile_columns(tile) * size, tile_rows(tile) * size
    for number in range(tiles):
        total = zero_tile(tile)
        column, row = weights, panel + number * terms * across
        for _ in range(terms):
            total = add_products(tile, total, column, row)
            column, row = column + down, row + across
        store_rows(tile, total, sums + number * across, step)


def transpose_blocks(tile: Any, x: int, w: int, b: int, y: int, geometry: Any, scratch: int, begin: int, end: int, parts: int) -> None:
    """Work items begin … end − 1: each is one block of positions of one group, and one of `parts` parts of the rows of every class.

    x, w, b, y: addresses, w of packed weights, b 0 for none; geometry: CPointer(int64); scratch: address, of one worker.
    """
    size, width, height = number_bytes(tile), tile_columns(tile), tile_rows(tile)
    axes, block, together = geometry[AXES], geometry[BLOCK], geometry[ROWS_TOGETHER]
    panel = (scratch + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    sums = panel + block * geometry[TERMS] * size
    tables = (sums + together * block * size + 7) // 8 * 8
    lines, pieces = pointer(tables), pointer(tables + 8 * block * (LINE_J + axes))
    for item in range(begin, end):
        part, number, group = item % parts, item // parts % geometry[BLOCKS], item // parts // geometry[BLOCKS]
        first = number * block
        count = min(block, geometry[POSITIONS] - first)
        line_count = find_lines(geometry, first, count, lines)
        for index in range(geometry[CLASSES]):
            here = geometry[FIRST_CLASS] + index * CLASS_COLUMNS
            terms, rows = geometry[CHANNELS] * geometry[here + OFFSETS], geometry[here + ROWS]
            batches = (rows + together - 1) // together
            if batches * part // parts == batches * (part + 1) // parts:
                continue
            fill_panel(tile, x, geometry, here, group, count, lines, line_count, pieces, panel)
            weights = w + (group * geometry[PACKED] + geometry[here + WEIGHTS]) * size
            for batch in range(batches * part // parts, batches * (part + 1) // parts):
                row, row_end = batch * together, min((batch + 1) * together, rows)
                for top in range(row, row_end, height):
                    sum_rows(
                        tile,
                        weights + top * terms * size,
                        panel,
                        terms,
                        (count + width - 1) // width,
                        sums + (top - row) * block * size,
                        block * size,
                    )
                store_results(tile, b, y, geometry, here, group, row, row_end, lines, line_count, sums)


@njit
def conv_transpose_blocks(x: int, w: int, b: int, y: int, geometry: Any, scratch: Any) -> None:
    """All blocks, one after another.  x, w, b, y: addresses, w of packed weights; scratch: (1, scratch_words(…)) int64."""
    items = geometry[GROUPS] * geometry[BLOCKS]
    arguments = (0, x, w, b, y, geometry.ctypes.data, scratch.ctypes.data, 0, items, 1)
    call_address(geometry[EXECUTOR], arguments)
    scratch[0, 0] = 0  # a use behind the call, for Numba frees an array after the last use that it sees


@njit(parallel=True)
def conv_transpose_blocks_parallel(x: int, w: int, b: int, y: int, geometry: Any, scratch: Any) -> None:
    """`conv_transpose_blocks` with the work shared among as many workers as `scratch` has rows."""
    workers = scratch.shape[0]
    # At least four items for each worker, so that their shares differ by a quarter at most.
    parts = max(1, 4 * workers // (geometry[GROUPS] * geometry[BLOCKS]))
    items = geometry[GROUPS] * geometry[BLOCKS] * parts
    for worker in prange(workers):
        begin, end = items * worker // workers, items * (worker + 1) // workers
        arguments = (0, x, w, b, y, geometry.ctypes.data, scratch[worker].ctypes.data, begin, end, parts)
        call_address(geometry[EXECUTOR], arguments)
    scratch[0, 0] = 0


# -------------------------------------------------------------------------------------------------- by the definition


@njit
def direct_lines(x: Any, w: Any, b: Any, y: Any, geometry: Any, begin: int, end: int) -> None:
    """Output lines begin … end − 1 along the innermost axis, from the taps and inputs that exist and nothing else.  x, w, b, y: flat."""
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
            y[line * length + o] = total + b[group * out_channels + m]


@njit
def output_lines(geometry: Any) -> int:
    """Number of output lines along the innermost axis."""
    length = geometry[HEADER + (geometry[AXES] - 1) * AXIS_COLUMNS + OUT_SIZE]
    return geometry[IMAGES] * geometry[GROUPS] * geometry[OUT_CHANNELS] * geometry[OUT_PLANE] // length


@njit
def conv_transpose_direct(x: Any, w: Any, b: Any, y: Any, geometry: Any) -> None:
    """The whole output by the definition: slow, and right for weights that are not finite and for extreme strides and dilations."""
    direct_lines(x, w, b, y, geometry, 0, output_lines(geometry))


@njit(parallel=True)
def conv_transpose_direct_parallel(x: Any, w: Any, b: Any, y: Any, geometry: Any, workers: int) -> None:
    """`conv_transpose_direct` with the lines shared among workers."""
    lines = output_lines(geometry)
    for worker in prange(workers):
        direct_lines(x, w, b, y, geometry, lines * worker // workers, lines * (worker + 1) // workers)
