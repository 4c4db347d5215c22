"""The geometry of a transposed convolution: an int64 table that tells its kernels what to do, and the records that it is made of.

It begins with the header; then come an `AXIS` for each axis, a `CLASS` for each class, a `TILE` for each tile, a `PACKING` for each packing, and the lists that
these point at.  Places are in bytes from the table's beginning.  What the words mean is told in `conv_transpose.py`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastspectral.kernels.lanes import record_at


def _words(names: str) -> np.dtype[Any]:
    """A record of integers."""
    return np.dtype([(name, np.int64) for name in names.split()], align=True)


# Of the whole: the addresses of the compiled parts; sizes of the problem, channels and out_channels being those of a group; how it is cut.
HEADER = _words(
    # As functions that it calls, the executor's parts would be compiled twice, in themselves and in it, and one that a plan does not need as well: a first
    # call took 1.4 times as long.
    "executor packer summer storer line_finder copy_finder panel_filler row_mixer target_finder "
    "axes last_axis line_bytes images groups channels out_channels plane out_plane taps "
    # `block` positions of `groups_together` groups at a time, which are `items` of work for all; packed: numbers in a group's packed weights
    "positions block blocks groups_together items packed "
    "classes first_class packings first_packing tile_width "
    # lines_ahead: how many lines of y are filled while one comes to the caches, 0 to let them come when they are filled
    "lines_ahead "
    # Bytes from row to row of the panel and of the sums, and what a worker's scratch consists of.
    "pitch panel_bytes staged_bytes sums_bytes most_lines most_outer most_copies "
    # shared: whether the panel has one row for a channel, read at all offsets; reach: how many positions such a row reaches over the block's
    "shared reach "
    # direct: whether x itself is the panel: positions are the numbers of a plane, at one offset, and every number is read once
    "direct "
    # unit: what the factors of taps are multiples of one part in
    "unit "
    # slot_words: the memory for the slots of one worker that packs weights, in words of 8 bytes
    "slot_words "
    # no_bias: zero, in any format of numbers
    "no_bias"
)
# An axis: sizes, and the distance of its neighbours in a plane of x and of y.  count: how many positions there are, step:
# how many inputs from one to the next, stride: how many outputs.  numbered: how many positions are numbered: behind those
# there are, where rows are shared, as many more as the offsets differ by, which have no outputs.
AXIS = _words("size stride shift out_size count pitch out_pitch kernel dilation begin step numbered")
# A class: its offsets, one number for each axis; its outer phases, one number for each outer axis; its batches of
# batch_units units and batch_tiles tiles, and where its tiles are; how its panel is made of pairs: so many staged rows, then
# mixes of a target, two sources and the sign of the second one.
CLASS = _words(
    "offsets offset_list phases phase_list batches batch_units batch_tiles tiles tile_list staged mixes mix_list"
)
# A tile: where its packed weights begin; what the tiles of a product share: its terms, the taps that are combined, each at a
# slot for every term and with a factor, and its runs of terms of the panel, each where the first one is and a count; the
# results, each a sign and the rows of sums.
TILE = _words("weights terms taps slot_list factor_list runs run_list results result_list")
# A packing: the tiles of all products that have the same rows, from one to the next `step` bytes; the places of the rows in a
# channel of w, and whether these are neighbours; the slots: the taps that any of the tiles needs.
PACKING = _words("first_tile step tiles row_list dense slots slot_list")
# A line of positions, neighbours along the innermost axis: its first position in the block, its length, its image, where
# phase 0 of its first position is in the output, the positions low … high − 1 whose phases all are; behind it stands j along
# every axis.
LINE = _words("start length image output low high")
# A register that is copied: where to in the panel, and where from in x.
COPY = _words("target source")
ZEROS = -1  # in place of where in x, for zeros
OUTSIDE = -1  # in place of the output line of a line, where there is none
# In front of a list of lines stands how many there are, of one of copies where it ends.
COUNT_BYTES = 8

HEADER_BYTES, AXIS_BYTES, CLASS_BYTES, TILE_BYTES = HEADER.itemsize, AXIS.itemsize, CLASS.itemsize, TILE.itemsize
PACKING_BYTES, LINE_BYTES, COPY_BYTES = PACKING.itemsize, LINE.itemsize, COPY.itemsize
header_at, axis_at, class_at, tile_at = record_at(HEADER), record_at(AXIS), record_at(CLASS), record_at(TILE)
packing_at, line_at, copy_at = record_at(PACKING), record_at(LINE), record_at(COPY)

NO_BIAS: int = HEADER.fields["no_bias"][1]  # type: ignore[index]

ALIGNMENT = 64


def records(geometry: npt.NDArray[np.int64], kind: np.dtype[Any], place: int = 0, count: int = 1) -> Any:
    """View so many records of the table, the first one at `place`."""
    return geometry.view(np.uint8)[place : place + count * kind.itemsize].view(kind)


def scratch_words(geometry: npt.NDArray[np.int64]) -> int:
    """Give the scratch of one worker, in words of 8 bytes."""
    head = records(geometry, HEADER)[0]
    lines = head["most_lines"] * (LINE_BYTES + 8 * (head["axes"] + head["most_outer"]))
    numbers = head["panel_bytes"] + head["staged_bytes"] + head["sums_bytes"] + ALIGNMENT
    return int(numbers + lines + head["most_copies"] * COPY_BYTES + 2 * COUNT_BYTES) // 8
