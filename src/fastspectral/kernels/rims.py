"""Between the caller's lines and a group's buffer: the loads and stores of lines that no step reads or writes itself.

A line of complex points is a run of pairs (re, im).  A line of real points of even length is read and written as half as many pairs too: what makes a
real transform of it is a step (`real.py`).  Other real lines, those of odd length and those of an inverse, are taken as single numbers (`…_reals`).

Layouts: *line*, one line, copied in pairs as it is; with one line in each lane: *tiled*, the pairs of every line are dense in memory; *natural*, the
lines are dense neighbours of one another, point by point; *neighbours*, the same for real lines; *scattered*, the two numbers of every pair are dense;
*gathered*, anything else.  *Turned* is the middle between the two sweeps of a long line (`sweeps` in plans.py): x[j₁ n₂ + j₂], transformed over j₁, in
planes with points j₂ in the lanes: [group of j₂][k₁][parts][lanes].  It is stored times exp(−2πi j₂ k₁ / n), and loaded with k₁ in the lanes.

The lines may hold halves, float16 or bfloat16: these are loaded as float32 and stored rounded once.  No step knows of them.

In the lines, points are `step` bytes apart, the two parts of a pair `part` bytes; layouts that know either do not look at it.  In the buffer, imaginary
parts are `distance` bytes behind real ones.
Loads: lines CPointer(int64), addresses of the group's lines; `keep` numbers of each line are read, the rest of `fill` points is zero.
Stores: `count` points of each line; if the variant's target is scaled, times the sum of the two numbers at the address `scale`: the factor, and what it
loses where it is rounded.
"""

from typing import Any

from fastspectral.kernels.lanes import (
    addresses,
    broadcast_point,
    gather,
    gather_pairs,
    lanes,
    load,
    load_ordered,
    load_parts,
    load_point,
    load_tile,
    number_bytes,
    one_lane,
    prefetch,
    read_numbers,
    scaled,
    scatter,
    scatter_pairs,
    splat,
    store,
    store_ordered,
    store_parts,
    store_point,
    store_tile,
    stored_bytes,
    turn_tile,
    write_numbers,
)

CACHE_LINE = 64


def load_line(variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int) -> None:
    """One dense line of pairs, to pairs."""
    size, stored, single = number_bytes(variant), stored_bytes(variant), one_lane(variant)
    source, full = lines[0], keep - keep % lanes(variant)
    for k in range(0, full, lanes(variant)):
        store(read_numbers(variant, source + k * stored), target + k * size)
    for k in range(full, keep):
        store(read_numbers(single, source + k * stored), target + k * size)
    for k in range(keep, 2 * fill):
        store(splat(single, 0.0), target + k * size)


def load_tiled(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Dense lines of pairs, one in each lane."""
    size, width = stored_bytes(variant), lanes(variant)
    vector = 2 * width * number_bytes(variant)
    full = keep - keep % width
    # To the lines of the next group. Asked for early they save 8 % (1000 x 400, 4096 x 60 from the third-level cache).
    ahead = width * (lines[1] - lines[0])
    starts = addresses(variant, lines)
    for k in range(0, full, width):
        if k * size % CACHE_LINE == 0:
            prefetch(starts, ahead + k * size)
        load_tile(variant, starts, k * size, target + k // 2 * vector, distance)
    for k in range(full, keep):
        store(gather(variant, lines, k * size), target + k // 2 * vector + k % 2 * distance)
    zero = splat(variant, 0.0)
    for k in range(keep, 2 * fill):
        store(zero, target + k // 2 * vector + k % 2 * distance)


def load_natural(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Lines of pairs that are dense neighbours of one another."""
    vector = 2 * lanes(variant) * number_bytes(variant)
    source, whole = lines[0], keep // 2
    for _ in range(whole):
        re, im = load_parts(variant, source)
        store_point(re, im, target, distance)
        source += step
        target += vector
    for _ in range(whole, fill):
        store_point(splat(variant, 0.0), splat(variant, 0.0), target, distance)
        target += vector


def load_neighbours(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Pairs of consecutive points of real lines that are dense neighbours of one another."""
    vector = 2 * lanes(variant) * number_bytes(variant)
    source = lines[0]
    for _ in range(keep // 2):
        store_point(load_ordered(variant, source), load_ordered(variant, source + part), target, distance)
        source += step
        target += vector
    for _ in range(keep // 2, fill):
        store_point(splat(variant, 0.0), splat(variant, 0.0), target, distance)
        target += vector
    if keep % 2:
        store(load_ordered(variant, source), target - (fill - keep // 2) * vector)


def load_gathered(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Lines of pairs anywhere."""
    vector, offset = 2 * lanes(variant) * number_bytes(variant), 0
    for _ in range(keep // 2):
        store_point(gather(variant, lines, offset), gather(variant, lines, offset + part), target, distance)
        offset += step
        target += vector
    for _ in range(keep // 2, fill):
        store_point(splat(variant, 0.0), splat(variant, 0.0), target, distance)
        target += vector
    if keep % 2:
        store(gather(variant, lines, offset), target - (fill - keep // 2) * vector)


def load_scattered(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Lines of dense pairs anywhere."""
    vector, offset = 2 * lanes(variant) * number_bytes(variant), 0
    for _ in range(keep // 2):
        re, im = gather_pairs(variant, lines, offset)
        store_point(re, im, target, distance)
        offset += step
        target += vector
    for _ in range(keep // 2, fill):
        store_point(splat(variant, 0.0), splat(variant, 0.0), target, distance)
        target += vector


def load_tiled_reals(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Dense real lines, one in each lane."""
    size, width = stored_bytes(variant), lanes(variant)
    vector, full = 2 * width * number_bytes(variant), keep - keep % width
    starts = addresses(variant, lines)
    for k in range(0, full, width):
        load_tile(variant, starts, k * size, target + k * vector, distance)
    for k in range(full, keep):
        store_point(gather(variant, lines, k * size), splat(variant, 0.0), target + k * vector, distance)
    for k in range(keep, fill):
        store_point(splat(variant, 0.0), splat(variant, 0.0), target + k * vector, distance)


def load_reals(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Lines of real numbers anywhere."""
    vector = 2 * lanes(variant) * number_bytes(variant)
    for j in range(keep):
        store_point(gather(variant, lines, j * step), splat(variant, 0.0), target, distance)
        target += vector
    for _ in range(keep, fill):
        store_point(splat(variant, 0.0), splat(variant, 0.0), target, distance)
        target += vector


def store_line(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """One dense line of pairs, from pairs that have their factor already."""
    size, stored, single = number_bytes(variant), stored_bytes(variant), one_lane(variant)
    target, full = lines[0], 2 * count - 2 * count % lanes(variant)
    for k in range(0, full, lanes(variant)):
        write_numbers(variant, load(variant, source + k * size), target + k * stored)
    for k in range(full, 2 * count):
        write_numbers(single, load(single, source + k * size), target + k * stored)


def store_tiled(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Dense lines of pairs, one in each lane."""
    size, width, factor = stored_bytes(variant), lanes(variant), broadcast_point(variant, scale, number_bytes(variant))
    vector = 2 * width * number_bytes(variant)
    full = 2 * count - 2 * count % width
    ahead = width * (lines[1] - lines[0])  # as in `load_tiled`: 9 % in float64
    starts = addresses(variant, lines)
    for k in range(0, full, width):
        if k * size % CACHE_LINE == 0:
            prefetch(starts, ahead + k * size)
        store_tile(variant, source + k // 2 * vector, distance, factor, starts, k * size)
    for k in range(full, 2 * count):
        scatter(
            variant,
            scaled(variant, load(variant, source + k // 2 * vector + k % 2 * distance), factor),
            lines,
            k * size,
        )


def store_natural(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Lines of pairs that are dense neighbours of one another."""
    vector, factor = 2 * lanes(variant) * number_bytes(variant), broadcast_point(variant, scale, number_bytes(variant))
    target = lines[0]
    for _ in range(count):
        re, im = load_point(variant, source, distance)
        store_parts(variant, scaled(variant, re, factor), scaled(variant, im, factor), target)
        source += vector
        target += step


def store_neighbours(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Pairs of consecutive points of real lines that are dense neighbours of one another."""
    vector, factor = 2 * lanes(variant) * number_bytes(variant), broadcast_point(variant, scale, number_bytes(variant))
    target = lines[0]
    for _ in range(count):
        store_ordered(variant, scaled(variant, load(variant, source), factor), target)
        store_ordered(variant, scaled(variant, load(variant, source + distance), factor), target + part)
        source += vector
        target += step


def store_gathered(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Lines of pairs anywhere."""
    factor = broadcast_point(variant, scale, number_bytes(variant))
    for j in range(count):
        scatter(variant, scaled(variant, load(variant, source), factor), lines, j * step)
        scatter(variant, scaled(variant, load(variant, source + distance), factor), lines, j * step + part)
        source += 2 * lanes(variant) * number_bytes(variant)


def store_scattered(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Lines of dense pairs anywhere."""
    factor = broadcast_point(variant, scale, number_bytes(variant))
    for j in range(count):
        re, im = (
            scaled(variant, load(variant, source), factor),
            scaled(variant, load(variant, source + distance), factor),
        )
        scatter_pairs(variant, re, im, lines, j * step)
        source += 2 * lanes(variant) * number_bytes(variant)


def store_tiled_reals(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Dense real lines, one in each lane: the real parts of the points."""
    size, width, factor = stored_bytes(variant), lanes(variant), broadcast_point(variant, scale, number_bytes(variant))
    vector, full = 2 * width * number_bytes(variant), count - count % width
    starts = addresses(variant, lines)
    for k in range(0, full, width):
        store_tile(variant, source + k * vector, distance, factor, starts, k * size)
    for k in range(full, count):
        scatter(variant, scaled(variant, load(variant, source + k * vector), factor), lines, k * size)


def store_reals(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Lines of real numbers anywhere: the real parts of the points."""
    factor = broadcast_point(variant, scale, number_bytes(variant))
    for j in range(count):
        scatter(variant, scaled(variant, load(variant, source), factor), lines, j * step)
        source += 2 * lanes(variant) * number_bytes(variant)


def load_turned(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Points j₂ = 0..fill−1 of as many neighbours k₁ as there are lanes; the last group of j₂ begins early."""
    plane = lanes(variant) * number_bytes(variant)
    source = lines[0]
    for start in range(0, fill, lanes(variant)):
        y = target + 2 * min(start, fill - lanes(variant)) * plane
        turn_tile(variant, source, y)
        turn_tile(variant, source + plane, y + distance)
        source += step


def store_turned(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Points k₁ = 0..count−1 of a group of neighbours j₂, whose first one follows the addresses in `lines`.

    scale: address of the factors exp(−2πi i k₁ / n), (k₁, parts, lanes i), and `step` bytes on exp(−2πi j₂ k₁ / n), (groups, k₁, parts), j₂ a first one.
    """
    size, plane, width = number_bytes(variant), lanes(variant) * number_bytes(variant), lanes(variant)
    first, target = lines[width], lines[0]
    group = scale + step + (first + width - 1) // width * count * 2 * size
    for _ in range(count):
        re, im = load_point(variant, source, distance)
        a, b = load_point(variant, scale, plane)
        c, s = broadcast_point(variant, group, size)
        a, b = a * c - b * s, a * s + b * c
        store_point(re * a - im * b, re * b + im * a, target, plane)
        source += 2 * plane
        target += 2 * plane
        scale += 2 * plane
        group += 2 * size


LAYOUTS = {
    "line": (load_line, store_line),
    "tiled": (load_tiled, store_tiled),
    "natural": (load_natural, store_natural),
    "neighbours": (load_neighbours, store_neighbours),
    "gathered": (load_gathered, store_gathered),
    "scattered": (load_scattered, store_scattered),
    "tiled reals": (load_tiled_reals, store_tiled_reals),
    "reals": (load_reals, store_reals),
    "turned": (load_turned, store_turned),
}
