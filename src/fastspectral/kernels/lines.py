"""The executor: runs a program on every group of lines, serially or shared among threads.

A rim kernel loads a group into a buffer, the steps of the program take it from buffer to buffer, and a rim kernel stores it; where the program itself
reads or writes the lines, that rim kernel is left out.  Groups do not depend on one another, and what is done to one does not depend on who does it:
results are the same in every bit for any number of threads.

Arguments: source, target, 1-D arrays that start where the caller's data start; geometry, (GEOMETRY_SIZE,) int64, see `program.py`; scratch,
(workers, at least scratch_words(…)) int64.
"""

from typing import Any

from fastspectral._jit import njit, prange
from fastspectral.kernels.lanes import call_address, copy_bytes, pointer, prefetch
from fastspectral.kernels.program import (
    ADDRESS,
    AHEAD,
    BLOCK,
    BLOCK_BYTES,
    BLOCK_RESULTS,
    BOTH_SIDES,
    BUFFER_BYTES,
    EXECUTOR,
    FAR_RUN,
    FILL,
    INNER,
    KEEP,
    LANES,
    LINES,
    LOAD,
    LOAD_IMAGINARY,
    LOAD_REAL,
    NUMBERED,
    OVERLAP,
    PROGRAM,
    PROGRAM_COLUMNS,
    RAGGED,
    RUN,
    SCALE,
    SOURCE,
    SOURCE_FAR_BYTES,
    SOURCE_INNER_BYTES,
    SOURCE_OUTER_BYTES,
    SOURCE_PART_BYTES,
    SOURCE_ROW_BYTES,
    SOURCE_ROWS,
    SOURCE_STEP_BYTES,
    STEPS,
    STORE,
    STORE_IMAGINARY,
    STORE_REAL,
    STORED,
    SWEEP,
    TARGET,
    TARGET_FAR_BYTES,
    TARGET_INNER_BYTES,
    TARGET_OUTER_BYTES,
    TARGET_PART_BYTES,
    TARGET_ROW_BYTES,
    TARGET_ROWS,
    TARGET_STEP_BYTES,
    UNITS,
    WITHIN,
)

ROWS_AHEAD = 2
ALIGNMENT = 64  # a cache line and the widest register


def scratch_words(buffer_bytes: int, lanes: int) -> int:
    """Scratch of one worker: two buffers, the addresses of a group's lines to read and to write, and the number of the first of them in its run."""
    return (2 * buffer_bytes + ALIGNMENT) // 8 + 2 * lanes + 1


@njit(inner=True)
def load_group(geometry: Any, way: int, lines: Any, buffer: int) -> None:
    """Call the rim kernel that loads."""
    step, part = geometry[SOURCE_STEP_BYTES], geometry[SOURCE_PART_BYTES]
    y, distance = buffer + geometry[LOAD_REAL], geometry[LOAD_IMAGINARY]
    call_address(geometry[way + LOAD], (0, lines, y, distance, step, part, geometry[KEEP], geometry[FILL]))


@njit(inner=True)
def store_group(geometry: Any, way: int, lines: Any, buffer: int) -> None:
    """Call the rim kernel that stores."""
    step, part = geometry[TARGET_STEP_BYTES], geometry[TARGET_PART_BYTES]
    x, distance = buffer + geometry[STORE_REAL], geometry[STORE_IMAGINARY]
    call_address(geometry[way + STORE], (0, lines, x, distance, step, part, geometry[STORED], geometry[SCALE]))


def transform_groups(source: int, target: int, geometry: Any, scratch: int, begin: int, end: int) -> None:
    """Groups begin..end−1, with the scratch of one worker.  source, target, scratch: addresses; geometry: CPointer(int64)."""
    width, inner, run = geometry[LANES], geometry[INNER], geometry[RUN]
    base = (scratch + 16 * width + 8 + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    buffers = (base, base + geometry[BUFFER_BYTES])
    more_scratch = base + 2 * geometry[BUFFER_BYTES]
    lines, out_lines, number = pointer(scratch), pointer(scratch + 8 * width), pointer(scratch + 16 * width)
    source_bytes, target_bytes = geometry[SOURCE_INNER_BYTES], geometry[TARGET_INNER_BYTES]
    # from the last line of a row of inner ones to the first of the next row
    source_jump = geometry[SOURCE_OUTER_BYTES] - inner * source_bytes
    target_jump = geometry[TARGET_OUTER_BYTES] - inner * target_bytes
    overlap = 0 if source == target else geometry[OVERLAP]  # in place a line would be transformed twice
    groups_a_run = (run + width - 1) // width
    first = begin % groups_a_run * width
    line = begin // groups_a_run * run + first
    j = line % inner
    source += line * source_bytes + line // inner * source_jump
    target += line * target_bytes + line // inner * target_jump
    for _ in range(begin, end):
        missing = max(first + width - run, 0)
        way = RAGGED if missing and not overlap else 0
        if missing and overlap:
            first -= missing
            j -= missing
            source -= missing * source_bytes
            if overlap == BOTH_SIDES:
                target -= missing * target_bytes
        number[0] = first
        for lane in range(width):
            lines[lane], out_lines[lane] = source, target
            first += 1
            if first < run or lane == width - 1:
                source += source_bytes
                target += target_bytes
                j += 1
                if j == inner:
                    j = 0
                    source += source_jump
                    target += target_jump
        if first >= run:
            first = 0
        for k in range(geometry[AHEAD]):
            prefetch((source, target), k * ALIGNMENT)
        if geometry[way + LOAD]:
            load_group(geometry, way, lines, buffers[0])
        last = 0
        address = geometry[way + PROGRAM]
        for _ in range(geometry[way + STEPS]):
            row = pointer(address)
            last = row[TARGET]
            places = (buffers[0], buffers[1], lines[0], out_lines[0])
            x, y = places[row[SOURCE]], out_lines[0] if last == LINES else buffers[last]
            if row[ADDRESS]:
                call_address(row[ADDRESS], (0, x, y, row, geometry))
            else:
                sweep = pointer(row[SWEEP])
                call_address(sweep[EXECUTOR], (x, y, sweep, more_scratch, 0, sweep[UNITS]))
            address += PROGRAM_COLUMNS * 8
        if geometry[way + STORE]:
            store_group(geometry, way, out_lines, buffers[last])


@njit(inner=True)
def copy_rows(source: int, source_bytes: int, target: int, target_bytes: int, rows: int, size: int) -> None:
    """Rows of `size` bytes."""
    for k in range(rows):
        x, y = source + k * source_bytes, target + k * target_bytes
        for i in range(0, size, ALIGNMENT):
            prefetch((x + ROWS_AHEAD * source_bytes, y + ROWS_AHEAD * target_bytes), i)
        copy_bytes(x, y, size)


def transform_blocks(source: int, target: int, geometry: Any, scratch: int, begin: int, end: int) -> None:
    """Blocks begin..end−1: of as many neighbouring lines as several groups have, copied to memory of their own and back.

    Where points of a line are far apart, each of them is in another page and, for powers of two, in the same few sets of a cache.  Visited for one register
    of lines they cost a miss of both: 2^20 points, in rows of 2^10, were read eight lines at a time at 1 GB/s, 32 at a time at 5 GB/s.
    """
    width, run = geometry[LANES] * geometry[BLOCK], geometry[FAR_RUN]
    blocks_a_run = (run + width - 1) // width
    memory = (scratch + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    results, within = memory + geometry[BLOCK_RESULTS], memory + geometry[BLOCK_BYTES]
    for block in range(begin, end):
        i, first = block // blocks_a_run, block % blocks_a_run * width
        count = min(width, run - first)
        first_group, groups, start = 0, (count + geometry[LANES] - 1) // geometry[LANES], first
        x, y = source + i * geometry[SOURCE_OUTER_BYTES], target + i * geometry[TARGET_OUTER_BYTES]
        if geometry[NUMBERED]:
            # groups find their lines by themselves, and the last one of all begins early
            first_group, start = first // geometry[LANES], min(first, run - geometry[LANES])
        source_shift, target_shift = start * geometry[SOURCE_INNER_BYTES], start * geometry[TARGET_INNER_BYTES]
        far_x, far_y = x + source_shift, y + target_shift
        if geometry[SOURCE_ROWS]:
            size, rows = (first + count - start) * geometry[SOURCE_INNER_BYTES], geometry[SOURCE_ROWS]
            copy_rows(far_x, geometry[SOURCE_FAR_BYTES], memory, geometry[SOURCE_ROW_BYTES], rows, size)
            x = memory - source_shift if geometry[NUMBERED] else memory
        if geometry[TARGET_ROWS]:
            y = results - target_shift if geometry[NUMBERED] else results
        call_address(geometry[WITHIN], (x, y, geometry, within, first_group, first_group + groups))
        if geometry[TARGET_ROWS]:
            size, rows = (first + count - start) * geometry[TARGET_INNER_BYTES], geometry[TARGET_ROWS]
            copy_rows(results, geometry[TARGET_ROW_BYTES], far_y, geometry[TARGET_FAR_BYTES], rows, size)


@njit(inner=True)
def share_memory(source: Any, target: Any) -> bool:
    """Tell whether two dense arrays share memory without being the same."""
    a, b = source.ctypes.data, target.ctypes.data
    a_end, b_end = a + source.size * source.itemsize, b + target.size * target.itemsize
    return a < b_end and b < a_end and not (a == b and a_end == b_end)


@njit
def transform_lines(source: Any, target: Any, geometry: int, scratch: int) -> bool:
    """All groups, one after another.  Does nothing and gives False where source and target overlap.

    geometry, scratch: addresses, for an array costs 0.07 us more to hand over; the caller holds the arrays.
    """
    if share_memory(source, target):
        return False
    columns = pointer(geometry)
    call_address(columns[EXECUTOR], (source.ctypes.data, target.ctypes.data, geometry, scratch, 0, columns[UNITS]))
    return True


@njit(parallel=True)
def transform_lines_parallel(source: Any, target: Any, geometry: Any, scratch: Any) -> bool:
    """`transform_lines` with the groups shared among as many workers as `scratch` has rows."""
    if share_memory(source, target):
        return False
    units, workers = geometry[UNITS], scratch.shape[0]
    for worker in prange(workers):
        begin, end = units * worker // workers, units * (worker + 1) // workers
        addresses = (source.ctypes.data, target.ctypes.data, geometry.ctypes.data, scratch[worker].ctypes.data)
        call_address(geometry[EXECUTOR], (*addresses, begin, end))
    scratch[0, 0] = 0
    return True


@njit(parallel=True)
def transform_line_parallel(source: Any, target: Any, geometry: Any, scratch: Any, buffers: Any) -> bool:
    """`transform_lines` for one line, with the work of its sweeps shared among as many workers as `scratch` has rows.

    buffers: (2, at least BUFFER_BYTES / 8) int64, what the line is in between its steps.
    """
    if share_memory(source, target):
        return False
    places = (buffers[0].ctypes.data, buffers[1].ctypes.data, source.ctypes.data, target.ctypes.data)
    workers, address, last = scratch.shape[0], geometry[PROGRAM], 0
    if geometry[LOAD]:
        scratch[0, 0] = source.ctypes.data
        load_group(geometry, 0, pointer(scratch.ctypes.data), places[0])
    for _ in range(geometry[STEPS]):
        row = pointer(address)
        last = row[TARGET]
        x = places[row[SOURCE]]
        y = target.ctypes.data if last == LINES else places[last]
        if row[ADDRESS]:
            call_address(row[ADDRESS], (0, x, y, row, geometry.ctypes.data))
        else:
            sweep = pointer(row[SWEEP])
            units = sweep[UNITS]
            for worker in prange(workers):
                begin, end = units * worker // workers, units * (worker + 1) // workers
                call_address(sweep[EXECUTOR], (x, y, row[SWEEP], scratch[worker].ctypes.data, begin, end))
        address += PROGRAM_COLUMNS * 8
    if geometry[STORE]:
        scratch[0, 0] = target.ctypes.data
        store_group(geometry, 0, pointer(scratch.ctypes.data), places[last])
    scratch[0, 0], buffers[0, 0] = 0, 0
    return True
