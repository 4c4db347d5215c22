"""Between the caller's lines and the planes of a group: the loads and stores at the rim of every transform.

A line of complex points is a run of pairs (re, im).  A line of real points of even length is read and written as half as many pairs too: what makes a
real transform of it is a step (`real.py`).  Real lines of odd length are loaded and stored as single numbers (`…_reals`).

Layouts: *line*, one line with its points in the lanes; with one line in each lane: *tiled*, the pairs of every line are dense in memory; *natural*, the
lines are dense neighbours of one another, point by point; *neighbours*, the same for real lines; *gathered*, anything else.

Points are `step` bytes apart, the two parts of a pair `part` bytes; layouts that know either do not look at it.
Loads: lines CPointer(int64), addresses of the group's lines; `keep` numbers of each line are read, the rest of `fill` points is zero.
Stores: `count` points of each line, times the sum of the two numbers at the address `scale`: the factor, and what it loses where it is rounded.
"""

from typing import Any

from fastspectral.kernels.lanes import (
    broadcast_point,
    gather,
    lanes,
    load,
    load_pairs,
    load_point,
    load_tile,
    number_bytes,
    one_lane,
    scaled,
    scatter,
    splat,
    store,
    store_pairs,
    store_point,
    store_tile,
)


def load_line(variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int) -> None:
    """One dense line of pairs."""
    size, width, single = number_bytes(variant), lanes(variant), one_lane(variant)
    source, whole = lines[0], keep // 2
    full = whole - whole % width
    for j in range(0, full, width):
        re, im = load_pairs(variant, source + 2 * j * size)
        store_point(re, im, target + j * size, distance)
    for j in range(full, whole):
        point = source + 2 * j * size
        store_point(load(single, point), load(single, point + size), target + j * size, distance)
    for j in range(whole, fill):
        store_point(splat(single, 0.0), splat(single, 0.0), target + j * size, distance)
    if keep % 2:
        store(load(single, source + 2 * whole * size), target + whole * size)


def load_tiled(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Dense lines of pairs, one in each lane."""
    size, width = number_bytes(variant), lanes(variant)
    vector = width * size
    full = keep - keep % width
    for k in range(0, full, width):
        load_tile(variant, lines, k * size, target + k // 2 * vector, distance)
    for k in range(full, keep):
        store(gather(variant, lines, k * size), target + k // 2 * vector + k % 2 * distance)
    zero = splat(variant, 0.0)
    for k in range(keep, 2 * fill):
        store(zero, target + k // 2 * vector + k % 2 * distance)


def load_natural(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Lines of pairs that are dense neighbours of one another."""
    vector = lanes(variant) * number_bytes(variant)
    source, whole = lines[0], keep // 2
    for _ in range(whole):
        re, im = load_pairs(variant, source)
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
    vector = lanes(variant) * number_bytes(variant)
    source = lines[0]
    for _ in range(keep // 2):
        store_point(load(variant, source), load(variant, source + part), target, distance)
        source += step
        target += vector
    for _ in range(keep // 2, fill):
        store_point(splat(variant, 0.0), splat(variant, 0.0), target, distance)
        target += vector
    if keep % 2:
        store(load(variant, source), target - (fill - keep // 2) * vector)


def load_gathered(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Lines of pairs anywhere."""
    vector, offset = lanes(variant) * number_bytes(variant), 0
    for _ in range(keep // 2):
        store_point(gather(variant, lines, offset), gather(variant, lines, offset + part), target, distance)
        offset += step
        target += vector
    for _ in range(keep // 2, fill):
        store_point(splat(variant, 0.0), splat(variant, 0.0), target, distance)
        target += vector
    if keep % 2:
        store(gather(variant, lines, offset), target - (fill - keep // 2) * vector)


def load_reals(
    variant: Any, lines: Any, target: int, distance: int, step: int, part: int, keep: int, fill: int
) -> None:
    """Lines of real numbers anywhere."""
    vector = lanes(variant) * number_bytes(variant)
    for j in range(keep):
        store_point(gather(variant, lines, j * step), splat(variant, 0.0), target, distance)
        target += vector
    for _ in range(keep, fill):
        store_point(splat(variant, 0.0), splat(variant, 0.0), target, distance)
        target += vector


def store_line(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """One dense line of pairs."""
    size, width, single = number_bytes(variant), lanes(variant), one_lane(variant)
    target, factor, factor1 = lines[0], broadcast_point(variant, scale, size), broadcast_point(single, scale, size)
    full = count - count % width
    for j in range(0, full, width):
        re, im = load_point(variant, source + j * size, distance)
        store_pairs(scaled(re, factor), scaled(im, factor), target + 2 * j * size)
    for j in range(full, count):
        store(scaled(load(single, source + j * size), factor1), target + 2 * j * size)
        store(scaled(load(single, source + j * size + distance), factor1), target + (2 * j + 1) * size)


def store_tiled(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Dense lines of pairs, one in each lane."""
    size, width, factor = number_bytes(variant), lanes(variant), broadcast_point(variant, scale, number_bytes(variant))
    vector = width * size
    full = 2 * count - 2 * count % width
    for k in range(0, full, width):
        store_tile(variant, source + k // 2 * vector, distance, factor, lines, k * size)
    for k in range(full, 2 * count):
        scatter(scaled(load(variant, source + k // 2 * vector + k % 2 * distance), factor), lines, k * size)


def store_natural(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Lines of pairs that are dense neighbours of one another."""
    vector, factor = lanes(variant) * number_bytes(variant), broadcast_point(variant, scale, number_bytes(variant))
    target = lines[0]
    for _ in range(count):
        store_pairs(scaled(load(variant, source), factor), scaled(load(variant, source + distance), factor), target)
        source += vector
        target += step


def store_neighbours(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Pairs of consecutive points of real lines that are dense neighbours of one another."""
    vector, factor = lanes(variant) * number_bytes(variant), broadcast_point(variant, scale, number_bytes(variant))
    target = lines[0]
    for _ in range(count):
        store(scaled(load(variant, source), factor), target)
        store(scaled(load(variant, source + distance), factor), target + part)
        source += vector
        target += step


def store_gathered(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Lines of pairs anywhere."""
    factor = broadcast_point(variant, scale, number_bytes(variant))
    for j in range(count):
        scatter(scaled(load(variant, source), factor), lines, j * step)
        scatter(scaled(load(variant, source + distance), factor), lines, j * step + part)
        source += lanes(variant) * number_bytes(variant)


def store_reals(
    variant: Any, lines: Any, source: int, distance: int, step: int, part: int, count: int, scale: int
) -> None:
    """Lines of real numbers anywhere: the real parts of the points."""
    factor = broadcast_point(variant, scale, number_bytes(variant))
    for j in range(count):
        scatter(scaled(load(variant, source), factor), lines, j * step)
        source += lanes(variant) * number_bytes(variant)


LAYOUTS = {
    "line": (load_line, store_line),
    "tiled": (load_tiled, store_tiled),
    "natural": (load_natural, store_natural),
    "neighbours": (load_neighbours, store_neighbours),
    "gathered": (load_gathered, store_gathered),
    "reals": (load_reals, store_reals),
}
