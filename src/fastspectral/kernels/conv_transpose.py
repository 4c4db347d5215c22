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

The geometry, an int64 table, says what to do: see `conv_geometry.py`.
"""

from typing import Any

import numpy as np

from fastspectral._jit import njit, prange
from fastspectral.kernels.conv_geometry import (
    ALIGNMENT,
    AXIS_BYTES,
    CLASS_BYTES,
    COPY_BYTES,
    COUNT_BYTES,
    HEADER_BYTES,
    LINE_BYTES,
    NO_BIAS,
    OUTSIDE,
    PACKING_BYTES,
    TILE_BYTES,
    ZEROS,
    axis_at,
    class_at,
    copy_at,
    header_at,
    line_at,
    packing_at,
    tile_at,
)
from fastspectral.kernels.lanes import (
    call_address,
    copy_bytes,
    larger,
    load,
    number_bytes,
    one_lane,
    pointer,
    smaller,
    splat,
    store,
)
from fastspectral.kernels.lanes import lanes as lanes_of_register
from fastspectral.kernels.tiles import (
    add_products,
    add_rows,
    add_scaled,
    copy_columns,
    list_walk,
    load_even,
    magnitudes_below,
    prefetch_line,
    prefetch_write,
    store_positions,
    store_rows,
    tile_columns,
    tile_rows,
    zero_tile,
)

PACKED_TOGETHER = 8  # channels


# ------------------------------------------------------------------------------------------------------------- weights


@njit
def all_below(numbers: Any, limit: float) -> bool:
    """Tell whether the magnitudes of a flat array are all below a limit."""
    below: bool = magnitudes_below(numbers, limit)
    return below


def pack_tiles(tile: Any, w: int, table: int, packed: int, slots: int, begin: int, end: int) -> None:
    """Do packings begin … end − 1, numbered through all groups: weights as a tile reads them, by term and row.

    w, table, packed, slots: addresses, the last one of slot_words words.
    """
    size, head = number_bytes(tile), header_at(table)
    channels, step = head.channels, tile_rows(tile) * size
    channel_size = head.out_channels * head.taps * size
    # Eight channels at a time: w is read in its order, eight streams of it, whose distance is often a power of two, and a
    # cache set holds eight lines.
    for first in range(0, channels, PACKED_TOGETHER):
        together = smaller(PACKED_TOGETHER, channels - first)
        for number in range(begin, end):
            group = number // head.packings
            packing = packing_at(table + head.first_packing + number % head.packings * PACKING_BYTES)
            source = w + (group * channels + first) * channel_size
            to, slot = slots, table + packing.slot_list
            for _ in range(packing.slots):
                place = source + pointer(slot)[0] * size
                copy_columns(tile, place, channel_size, table + packing.row_list, packing.dense, to, together)
                to, slot = to + together * step, slot + 8
            here = table + packing.first_tile
            for _ in range(packing.tiles):
                entry = tile_at(here)
                target = packed + (group * head.packed + entry.weights) * size + first * step
                slot, taps, factors = table + entry.slot_list, entry.taps, pointer(table + entry.factor_list)
                for k in range(entry.terms):
                    to = target + k * channels * step
                    for tap in range(taps):
                        numbers = slots + pointer(slot)[0] * together * step
                        add_scaled(tile, numbers, factors[tap] / head.unit, to, together, tap > 0)
                        slot += 8
                here += packing.step


@njit
def pack_weights(w: Any, packed: Any, geometry: Any, slots: Any) -> None:
    """Pack all weights, which must be finite.

    w, packed: flat; slots: scratch, (1, slot_words) int64.
    """
    table = geometry.ctypes.data
    head = header_at(table)
    addresses = w.ctypes.data, table, packed.ctypes.data, slots.ctypes.data
    call_address(head.packer, (0, *addresses, 0, head.groups * head.packings))


@njit(parallel=True)
def pack_weights_parallel(w: Any, packed: Any, geometry: Any, slots: Any) -> None:
    """Do `pack_weights` with the packings shared among as many workers as `slots` has rows."""
    table, workers = geometry.ctypes.data, slots.shape[0]
    head = header_at(table)
    packer, packings, addresses = head.packer, head.groups * head.packings, (w.ctypes.data, table, packed.ctypes.data)
    for worker in prange(workers):
        begin, end = packings * worker // workers, packings * (worker + 1) // workers
        call_address(packer, (0, *addresses, slots[worker].ctypes.data, begin, end))


# --------------------------------------------------------------------------------------------------------------- panel


def find_lines(table: int, first: int, count: int, everywhere: int, line_table: int) -> None:
    """Write the lines of the positions first … first + count − 1, and how many.

    everywhere: whether also of positions that have no outputs; the tables: addresses.
    """
    head = header_at(table)
    last, here, done = axis_at(table + head.last_axis), line_table, 0
    while done < count:
        line, j = line_at(here), pointer(here + LINE_BYTES)
        rest, inside = first + done, True
        for number in range(head.axes - 1, -1, -1):
            axis = axis_at(table + HEADER_BYTES + number * AXIS_BYTES)
            j[number] = rest % axis.numbered
            inside = inside and j[number] < axis.count
            rest //= axis.numbered
        at = j[head.axes - 1]
        there = smaller(last.numbered - at, count - done)
        if inside or everywhere:
            length = there if everywhere else smaller(last.count - at, there)
            output = at * last.stride - last.shift
            low = 1 if output < 0 else 0
            line.start, line.length, line.image, line.output, line.low = done, length, rest, output, low
            line.high = larger(low, smaller(length, (last.out_size - output) // last.stride))
            here += head.line_bytes
        done += there
    pointer(line_table - COUNT_BYTES)[0] = (here - line_table) // head.line_bytes


def find_copies(
    table: int, class_address: int, size: int, vector: int, end: int, line_table: int, group: int, copy_table: int
) -> None:
    """Find the registers that fill the rows of a channel up to position `end`, at all offsets of a class, and how many.

    They are to be stored in their order, each over what the one before wrote too far.  Lines that are neighbours in x as
    well are copied as one.  vector: numbers in a register; copies: in bytes, for the first channel of a group; behind the
    last one, how far they read.
    """
    head, here = header_at(table), class_at(class_address)
    axes, step, copies, reach = head.axes, vector * size, copy_table, 0
    last, lines = axis_at(table + head.last_axis), pointer(line_table - COUNT_BYTES)[0]
    apart = last.step  # inputs that are copied
    distance = head.pitch * (1 if here.mixes else head.channels)  # of offsets
    for k in range(here.offsets):
        offsets, row = pointer(table + here.offset_list + 8 * k * axes), k * distance
        # Where in the panel the copies end, and their registers; what x has behind them.
        filled, at, follows = row, row, ZEROS
        for number in range(lines):
            line = line_at(line_table + number * head.line_bytes)
            j = pointer(line_table + number * head.line_bytes + LINE_BYTES)
            source, inside = (line.image * head.groups + group) * head.channels * head.plane, True
            for outer in range(axes - 1):
                axis = axis_at(table + HEADER_BYTES + outer * AXIS_BYTES)
                i = j[outer] * axis.step + offsets[outer]
                inside = inside and 0 <= i < axis.size
                source += i * axis.pitch
            i = j[axes - 1] * apart + offsets[axes - 1]
            low = (larger(-i, 0) + apart - 1) // apart
            high = smaller((last.size - i + apart - 1) // apart, line.length)
            if inside and low < high:
                begin, source = row + (line.start + low) * size, (source + i + low * apart) * size
                stop, ahead = begin + (high - low) * size, source - begin * apart
                if begin != filled or source != follows:
                    copies, _ = list_walk(copies, filled, begin, step, ZEROS, 0)
                    at = begin
                copies, at = list_walk(copies, at, stop, step, at * apart + ahead, step * apart)
                filled, follows, reach = stop, stop * apart + ahead, larger(reach, at * apart + ahead)
        copies, _ = list_walk(copies, filled, row + end * size, step, ZEROS, 0)
    copy_at(copies).source = reach
    pointer(copy_table - COUNT_BYTES)[0] = copies


def mix_rows(variant: Any, table: int, class_address: int, staged: int, panel: int, width: int) -> None:
    """Make the panel's rows of a channel from those that are staged, by sums and differences.

    panel: address of the first row; width: bytes of a row that are needed.
    """
    head, here = header_at(table), class_at(class_address)
    pitch, step, count = head.pitch, lanes_of_register(variant) * number_bytes(variant), here.staged
    for number in range(here.mixes):
        mix = pointer(table + here.mix_list + 32 * number)
        row, sign = mix[0], mix[3]
        target = staged + row * pitch if row < count else panel + (row - count) * head.channels * pitch
        a, b = staged + mix[1] * pitch, staged + mix[2] * pitch
        if sign == 0:
            copy_bytes(a, target, width)
        else:
            factor = splat(variant, float(sign))
            for at in range(0, width, step):
                store(load(variant, a + at) + load(variant, b + at) * factor, target + at)


def fill_panel(
    variant: Any,
    x: int,
    table: int,
    class_address: int,
    groups: int,
    copy_table: int,
    panel: int,
    staged: int,
    width: int,
) -> None:
    """Write to the panel what a class needs of x for some groups: by group, read and channel.

    A channel is copied for all offsets while it is in the first-level cache.  width: bytes of a row.
    """
    head, here, end = header_at(table), class_at(class_address), pointer(copy_table - COUNT_BYTES)[0]
    size, step, zero = number_bytes(variant), lanes_of_register(variant) * number_bytes(variant), splat(variant, 0.0)
    channels, offsets, single, mixes = head.channels, here.offsets, one_lane(variant), here.mixes
    apart, next_plane, reach = axis_at(table + head.last_axis).step, head.plane * size, copy_at(end).source
    memory = x + head.images * head.groups * channels * next_plane
    for g in range(groups):
        for c in range(channels):
            plane = x + (g * channels + c) * next_plane
            row = panel + (g * offsets * channels + c) * head.pitch
            to = staged if mixes else row
            inside = plane + reach <= memory  # everywhere but in the last channel of x
            for place in range(copy_table, end, COPY_BYTES):
                copy = copy_at(place)
                target, source = to + copy.target, plane + copy.source
                if copy.source == ZEROS:
                    store(zero, target)
                elif inside or source + step * apart <= memory:
                    prefetch_line(source + next_plane)
                    if apart == 1:
                        store(load(variant, source), target)
                    else:
                        store(load_even(variant, source), target)
                else:
                    while source < memory and target < to + copy.target + step:
                        store(load(single, source), target)
                        source, target = source + apart * size, target + size
            if mixes:
                call_address(head.row_mixer, (0, table, class_address, staged, row, width))


# ---------------------------------------------------------------------------------------------------------------- sums


def sum_tiles(
    tile: Any, weights: int, panel: int, pitch: int, sums: int, table: int, first: int, count: int, columns: int
) -> None:
    """Sum the tiles of one batch at the positions of `columns` tiles.

    weights, panel, sums, table: addresses; pitch: bytes from row to row of the panel; first: address of the batch's tiles.
    """
    size = number_bytes(tile)
    down, across = tile_rows(tile) * size, tile_columns(tile) * size
    for column in range(columns):
        for number in range(count):
            here = tile_at(first + number * TILE_BYTES)
            total, weight = zero_tile(tile), weights + here.weights * size
            for k in range(here.runs):
                run = pointer(table + here.run_list + 16 * k)
                row = panel + run[0] + column * across
                for _ in range(run[1]):
                    total = add_products(tile, total, weight, row)
                    weight, row = weight + down, row + pitch
            result, target = table + here.result_list, sums + column * across
            for _ in range(here.results):
                sign, rows = pointer(result)[0], result + 8
                if sign == 0:
                    store_rows(tile, total, target, rows)
                else:
                    add_rows(tile, total, float(sign), target, rows)
                result = rows + 8 * tile_rows(tile)


# ------------------------------------------------------------------------------------------------------------- results


def find_targets(table: int, class_address: int, line_table: int, target_table: int) -> None:
    """Find where the lines are in the output of the first channel, for every outer phase of a class."""
    head, here, lines = header_at(table), class_at(class_address), pointer(line_table - COUNT_BYTES)[0]
    outer = head.axes - 1
    for p in range(here.phases):
        phases = pointer(table + here.phase_list + 8 * p * outer)
        targets = pointer(target_table + 8 * p * head.most_lines)
        for number in range(lines):
            j = pointer(line_table + number * head.line_bytes + LINE_BYTES)
            image = line_at(line_table + number * head.line_bytes).image
            target, inside = image * head.groups * head.out_channels * head.out_plane, True
            for k in range(outer):
                axis = axis_at(table + HEADER_BYTES + k * AXIS_BYTES)
                o = j[k] * axis.stride + phases[k] - axis.shift
                inside = inside and 0 <= o < axis.out_size
                target += o * axis.out_pitch
            targets[number] = target if inside else OUTSIDE


@njit(inner=True)
def store_line(
    variant: Any, bias: int, sums: int, pitch: int, target: int, stride: int, line: Any, out_size: int
) -> None:
    """Store the outputs of a line that exist, plus the number at `bias`.

    target: where the output line begins; line: its record.
    """
    size, single = number_bytes(variant), one_lane(variant)
    low, high, length, output = line.low, line.high, line.length, line.output
    stored = store_positions(variant, bias, sums, pitch, target + output * size, stride, low, high)
    behind = high if stored else low
    # The positions at both ends, one number after another: those of their phases that are in the output.
    q = 0 if low else behind
    while q < length:
        o = output + q * stride
        for p in range(larger(0, -o), smaller(stride, out_size - o)):
            store(load(single, sums + p * pitch + q * size) + load(single, bias), target + (o + p) * size)
        q = behind if q + 1 == low else q + 1


@njit(inner=True)
def store_line_of_two(variant: Any, bias: int, sums: int, pitch: int, target: int, line: Any, out_size: int) -> None:
    """`store_line` of two phases: also where the first output is of phase 1, or the last of phase 0, by whole registers.

    Behind a number of phase 0 comes that of phase 1, `pitch` bytes on; behind one of phase 1 the next one of phase 0.
    """
    size, single = number_bytes(variant), one_lane(variant)
    cropped = 1 if line.output < 0 else 0
    source, first = sums + cropped * pitch, target + (line.output + cropped) * size
    after = size - pitch if cropped else pitch
    outputs = smaller(2 * line.length, out_size - line.output) - cropped
    pairs, others, least = outputs // 2, (outputs - 1) // 2, (lanes_of_register(variant) + 1) // 2
    done = 2 * pairs if store_positions(variant, bias, source, after, first, 2, 0, pairs) else 0
    if done < outputs and others >= least:  # the last numbers, all but one once more
        store_positions(variant, bias, source + after, size - after, first + size, 2, others - least, others)
        return
    for o in range(done, outputs):
        number = load(single, source + o % 2 * after + o // 2 * size)
        store(number + load(single, bias), first + o * size)


def store_batch(
    variant: Any,
    of_two: Any,
    b: int,
    y: int,
    sums: int,
    table: int,
    class_address: int,
    unit: int,
    end: int,
    line_table: int,
    target_table: int,
) -> None:
    """Store the sums of units unit … end − 1 of a class, plus the bias.

    of_two: of type None, or where there are two phases a literal: Numba prunes the branch that is not needed.  b, y: addresses
    of a group's first channel, b 0 for none; the other tables: addresses.
    """
    size, head, last = number_bytes(variant), header_at(table), axis_at(table + header_at(table).last_axis)
    pitch, stride, out_size, line_bytes = head.pitch, last.stride, last.out_size, head.line_bytes
    phases, most, lines_ahead = class_at(class_address).phases, head.most_lines, head.lines_ahead
    targets, lines = pointer(target_table), pointer(line_table - COUNT_BYTES)[0]
    for number in range(unit, end):
        m, phase = number // phases, number % phases
        bias = b + m * size if b else table + NO_BIAS
        plane, rows = y + m * head.out_plane * size, sums + (number - unit) * stride * pitch
        for index in range(lines):
            target = targets[phase * most + index]
            if target == OUTSIDE:
                continue
            line = line_at(line_table + index * line_bytes)
            if lines_ahead:
                ahead, coming, later = index + lines_ahead, plane, phase
                if ahead >= lines and number + 1 < end:
                    ahead, later = ahead - lines, (number + 1) % phases
                    coming = y + (number + 1) // phases * head.out_plane * size
                if ahead < lines:
                    coming += (targets[later * most + ahead] + line.output) * size
                    for at in range(0, line.length * stride * size, ALIGNMENT):
                        prefetch_write(coming + at)
            source, target = rows + line.start * size, plane + target * size
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
    size, vector, head = number_bytes(variant), lanes_of_register(variant), header_at(table)
    panel = (scratch + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    staged = panel + head.panel_bytes
    sums = staged + head.staged_bytes
    lines = sums + head.sums_bytes + COUNT_BYTES
    targets = lines + head.most_lines * head.line_bytes
    copies = targets + 8 * head.most_lines * head.most_outer + COUNT_BYTES
    for item in range(begin, end):
        part, rest = item % parts, item // parts
        start, group = rest % head.blocks * head.block, rest // head.blocks * head.groups_together
        count = smaller(head.block, head.positions - start)
        groups = smaller(head.groups_together, head.groups - group)
        columns = (count + head.tile_width - 1) // head.tile_width
        read = columns * head.tile_width
        call_address(head.line_finder, (table, start, count, 0, lines))
        # Behind the last plane of x there is nothing that a tile could read.
        direct = head.direct != 0 and start + read <= head.plane
        filled, pitch = direct, head.plane * size if direct else head.pitch
        for index in range(head.classes):
            place = table + head.first_class + index * CLASS_BYTES
            here = class_at(place)
            batches, units = here.batches, head.out_channels * here.phases
            first, behind = batches * part // parts, batches * (part + 1) // parts
            if first == behind:
                continue
            if not filled:
                read += head.reach
                if head.shared:
                    call_address(head.line_finder, (table, start, smaller(read, head.positions - start), 1, lines))
                call_address(head.copy_finder, (table, place, size, vector, read, lines, group, copies))
                call_address(head.panel_filler, (0, x, table, place, groups, copies, panel, staged, read * size))
                if head.shared:
                    call_address(head.line_finder, (table, start, count, 0, lines))
                    filled = True
            call_address(head.target_finder, (table, place, lines, targets))
            terms = head.channels * here.offsets
            for g in range(groups):
                rows, weights = panel + g * terms * pitch, w + (group + g) * head.packed * size
                if direct:
                    rows = x + ((group + g) * head.channels * head.plane + start) * size
                channel = (group + g) * head.out_channels
                bias, target = b + channel * size if b else 0, y + channel * head.out_plane * size
                for batch in range(first, behind):
                    done = batch * here.batch_tiles
                    # the last batch has fewer units, and may have more tiles
                    tiles = here.batch_tiles if batch + 1 < batches else here.tiles - done
                    tile = table + here.tile_list + done * TILE_BYTES
                    call_address(head.summer, (0, weights, rows, pitch, sums, table, tile, tiles, columns))
                    unit = batch * here.batch_units
                    unit_end = smaller(unit + here.batch_units, units)
                    call_address(head.storer, (0, 0, bias, target, sums, table, place, unit, unit_end, lines, targets))


@njit
def conv_transpose_blocks(x: Any, packed: Any, b: Any, y: Any, geometry: Any, scratch: Any) -> None:
    """Fill y.

    x, packed, b, y: flat, packed by `pack_weights`, b empty for none; geometry: int64; scratch: (1, scratch_words(…))
    int64.
    """
    bias, table = np.intp(b.ctypes.data) if b.size else 0, geometry.ctypes.data
    source, weights, target, head = x.ctypes.data, packed.ctypes.data, y.ctypes.data, header_at(table)
    call_address(head.executor, (0, source, weights, bias, target, table, scratch.ctypes.data, 0, head.items, 1))


@njit(parallel=True)
def conv_transpose_blocks_parallel(x: Any, packed: Any, b: Any, y: Any, geometry: Any, scratch: Any) -> None:
    """Do `conv_transpose_blocks` with the work shared among as many workers as `scratch` has rows."""
    workers, table = scratch.shape[0], geometry.ctypes.data
    head = header_at(table)
    # At least four items for each worker, so that their shares differ by a quarter at most.
    executor, parts = head.executor, larger(1, 4 * workers // head.items)
    items = head.items * parts
    bias = np.intp(b.ctypes.data) if b.size else 0
    source, weights, target = x.ctypes.data, packed.ctypes.data, y.ctypes.data
    for worker in prange(workers):
        begin, end = items * worker // workers, items * (worker + 1) // workers
        call_address(
            executor, (0, source, weights, bias, target, table, scratch[worker].ctypes.data, begin, end, parts)
        )


# -------------------------------------------------------------------------------------------------- by the definition


@njit(inner=True)
def direct_lines(x: Any, w: Any, b: Any, y: Any, table: int, begin: int, end: int) -> None:
    """Fill output lines begin … end − 1 along the innermost axis, from the taps and inputs that exist and nothing else.

    x, w, b, y: flat, b empty for none; table: address of the geometry.
    """
    head = header_at(table)
    axes, channels, plane, out_channels = head.axes, head.channels, head.plane, head.out_channels
    length = axis_at(table + head.last_axis).out_size
    lines = head.out_plane // length
    for line in range(begin, end):
        m = line // lines % out_channels
        group = line // lines // out_channels % head.groups
        image = line // lines // out_channels // head.groups
        x_plane = (image * head.groups + group) * channels * plane
        for o in range(length):
            total = y.dtype.type(0)
            for tap in range(head.taps):
                place, rest, outer = x_plane, tap, line % lines
                meets = True
                for number in range(axes - 1, -1, -1):
                    axis = axis_at(table + HEADER_BYTES + number * AXIS_BYTES)
                    if number == axes - 1:
                        at = o
                    else:
                        at = outer % axis.out_size
                        outer //= axis.out_size
                    reach = at + axis.begin - rest % axis.kernel * axis.dilation
                    rest //= axis.kernel
                    stride = axis.stride // axis.step
                    i = reach // stride
                    meets = meets and i * stride == reach and 0 <= i < axis.size
                    place += i * axis.pitch
                if meets:
                    for c in range(channels):
                        weight = ((group * channels + c) * out_channels + m) * head.taps + tap
                        total += x[place + c * plane] * w[weight]
            y[line * length + o] = total + b[group * out_channels + m] if b.size else total


@njit(inner=True)
def output_lines(table: int) -> int:
    """Give the number of output lines along the innermost axis."""
    head = header_at(table)
    numbers: int = head.images * head.groups * head.out_channels * head.out_plane
    lines: int = numbers // axis_at(table + head.last_axis).out_size
    return lines


@njit
def conv_transpose_direct(x: Any, w: Any, b: Any, y: Any, geometry: Any) -> None:
    """Fill the output by the definition: slow, and right for weights that are not finite and for extreme strides."""
    table = geometry.ctypes.data
    direct_lines(x, w, b, y, table, 0, output_lines(table))


@njit(parallel=True)
def conv_transpose_direct_parallel(x: Any, w: Any, b: Any, y: Any, geometry: Any, workers: int) -> None:
    """Do `conv_transpose_direct` with the lines shared among workers."""
    table = geometry.ctypes.data
    lines = output_lines(table)
    for worker in prange(workers):
        direct_lines(x, w, b, y, table, lines * worker // workers, lines * (worker + 1) // workers)


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
