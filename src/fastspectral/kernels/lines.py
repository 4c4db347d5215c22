"""The executor: runs a program on every group of lines, serially or shared among threads.

A group is loaded into the planes, goes through the steps of the program and is stored.  Groups do not depend on one another, and what is done to one does
not depend on who does it: results are the same in every bit for any number of threads.

Arguments of all: source, target, addresses of the caller's data; scale, factor of all results; program, (steps, PROGRAM_COLUMNS) int64, and geometry,
(GEOMETRY_SIZE,) int64, see `program.py`; scratch, (workers, scratch_words(…)) int64.
"""

from typing import Any

from fastspectral._jit import njit, prange
from fastspectral.kernels.lanes import call_address
from fastspectral.kernels.program import (
    ADDRESS,
    FILL,
    INNER,
    INVERSE,
    KEEP,
    LANES,
    LOAD,
    LOAD_RAGGED,
    OUTER,
    PLANE_BYTES,
    PROGRAM_COLUMNS,
    RUN,
    SOURCE,
    SOURCE_INNER_BYTES,
    SOURCE_OUTER_BYTES,
    SOURCE_PART_BYTES,
    SOURCE_STEP_BYTES,
    STORE,
    STORE_RAGGED,
    STORED,
    TARGET,
    TARGET_INNER_BYTES,
    TARGET_OUTER_BYTES,
    TARGET_PART_BYTES,
    TARGET_STEP_BYTES,
    VIEW,
)

ALIGNMENT = 64  # a cache line and the widest register


def scratch_words(plane_bytes: int, lanes: int) -> int:
    """Scratch of one worker: two buffers of two planes, and the addresses of a group's lines to read and to write."""
    return (4 * plane_bytes + 2 * ALIGNMENT) // 8 + 2 * lanes


@njit
def transform_groups(source: int, target: int, scale: float, program: Any, geometry: Any, scratch: Any, begin: int, end: int) -> None:
    """Groups begin..end−1, with the scratch of one worker, (words,) int64."""
    plane, width, inner, run = geometry[PLANE_BYTES], geometry[LANES], geometry[INNER], geometry[RUN]
    base = (scratch.ctypes.data + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    # Half a cache line more than two planes between the buffers: the same point of both must not fall on the same cache set.
    buffers = (base, base + 2 * plane + ALIGNMENT)
    addresses = scratch[scratch.size - 2 * width :]
    lines, out_lines = addresses.ctypes.data, addresses.ctypes.data + 8 * width
    groups_a_run = (run + width - 1) // width
    for group in range(begin, end):
        first = group % groups_a_run * width
        for lane in range(width):
            line = group // groups_a_run * run + min(first + lane, run - 1)
            i, j = line // inner, line % inner
            addresses[lane] = source + i * geometry[SOURCE_OUTER_BYTES] + j * geometry[SOURCE_INNER_BYTES]
            addresses[width + lane] = target + i * geometry[TARGET_OUTER_BYTES] + j * geometry[TARGET_INNER_BYTES]
        ragged = first + width > run
        load = geometry[LOAD_RAGGED] if ragged else geometry[LOAD]
        call_address(load, (0, lines, buffers[0], plane, geometry[SOURCE_STEP_BYTES], geometry[SOURCE_PART_BYTES], geometry[KEEP], geometry[FILL]))
        last = 0
        for step in range(program.shape[0]):
            # Exchanging the planes of real and imaginary parts turns a transform into its inverse.
            swapped = program[step, VIEW] != 0 and (program[step, VIEW] < 0) != (geometry[INVERSE] != 0)
            shift, distance = (plane, -plane) if swapped else (0, plane)
            last = program[step, TARGET]
            row = program.ctypes.data + step * PROGRAM_COLUMNS * 8
            x, y = buffers[program[step, SOURCE]] + shift, buffers[last] + shift
            call_address(program[step, ADDRESS], (0, x, y, distance, row))
        store = geometry[STORE_RAGGED] if ragged else geometry[STORE]
        call_address(store, (0, out_lines, buffers[last], plane, geometry[TARGET_STEP_BYTES], geometry[TARGET_PART_BYTES], geometry[STORED], scale))


@njit
def transform_lines(source: int, target: int, scale: float, program: Any, geometry: Any, scratch: Any) -> None:
    """All groups, one after another."""
    groups = geometry[OUTER] * geometry[INNER] // geometry[RUN] * ((geometry[RUN] + geometry[LANES] - 1) // geometry[LANES])
    transform_groups(source, target, scale, program, geometry, scratch[0], 0, groups)


@njit(parallel=True)
def transform_lines_parallel(source: int, target: int, scale: float, program: Any, geometry: Any, scratch: Any) -> None:
    """`transform_lines` with the groups shared among as many workers as `scratch` has rows."""
    groups = geometry[OUTER] * geometry[INNER] // geometry[RUN] * ((geometry[RUN] + geometry[LANES] - 1) // geometry[LANES])
    workers = scratch.shape[0]
    for worker in prange(workers):
        begin, end = groups * worker // workers, groups * (worker + 1) // workers
        transform_groups(source, target, scale, program, geometry, scratch[worker], begin, end)
