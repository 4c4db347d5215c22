"""Steps that make a transform of real lines out of one of half as many complex points, and back.

A real line of even length N = 2h is read as h complex points z[j] = x[2j] + i x[2j+1] with transform Z.  With Z[h] = Z[0] and w = exp(−2πi/N),

    X[k] = (Z[k] + Z*[h−k]) / 2 − i w^k (Z[k] − Z*[h−k]) / 2,      k = 0..h          (`unzip`)
    Z[k] = (X[k] + X*[h−k]) / 2 + i w^−k (X[k] − X*[h−k]) / 2,     k = 0..h−1        (`rezip`)

Both treat the bins k and h − k together.  The imaginary parts of X[0] and X[h] come out as exact zeros in `unzip` and are not read in `rezip`.
`mirror` completes a one-sided spectrum in place: X[N−k] = X*[k]; the bins that mirror themselves, 0 and N/2, become real.

Kernels ending in `_line` have neighbouring points in the lanes of a register, those in `_lanes` one line in each lane.  `unzip` may write the caller's
lines and `rezip` may read them.
Rows: TABLE address of w^k / 2 for k = 0..h/2, real parts first; COUNT h.  For mirror: COUNT the bins to add, MIRROR N.

Source: Cooley, Lewis & Welch, "The fast Fourier transform algorithm: programming considerations in the calculation of sine, cosine and Laplace
transforms" (1970).
"""

from typing import Any

from fastspectral.kernels.lanes import (
    broadcast_point,
    codelet,
    lanes,
    load_point,
    number_bytes,
    one_lane,
    read_point,
    read_point_reversed,
    reads_planes,
    splat,
    store,
    store_point,
    store_point_reversed,
    write_point,
    write_point_reversed,
    writes_planes,
)
from fastspectral.kernels.program import COUNT, MIRROR, SCALE, SOURCE_VECTOR_BYTES, TABLE, TARGET_VECTOR_BYTES


def unzip_lanes(variant: Any, source: int, target: int, distance: int, row: Any, geometry: Any) -> None:
    """Z to X, one line in each lane."""
    size, half, scale, zero = number_bytes(variant), row[COUNT], geometry[SCALE], splat(variant, 0.0)
    vector, roots, imaginary = lanes(variant) * size, row[TABLE], (half // 2 + 1) * size
    point = vector if writes_planes(variant) else geometry[TARGET_VECTOR_BYTES]
    re, im = read_point(variant, source, distance)
    write_point(variant, re + im, zero, target, distance, scale)
    write_point(variant, re - im, zero, target + half * point, distance, scale)
    for k in range(1, half // 2 + 1):
        z = read_point(variant, source + k * vector, distance) + read_point(
            variant, source + (half - k) * vector, distance
        )
        x = codelet(variant, z + broadcast_point(variant, roots + k * size, imaginary))
        write_point(variant, x[0], x[1], target + k * point, distance, scale)
        write_point(variant, x[2], x[3], target + (half - k) * point, distance, scale)


def unzip_line(variant: Any, source: int, target: int, distance: int, row: Any, geometry: Any) -> None:
    """Z to X, neighbouring points in the lanes: whole registers first, then one by one."""
    size, half, width, single, scale = (
        number_bytes(variant),
        row[COUNT],
        lanes(variant),
        one_lane(variant),
        geometry[SCALE],
    )
    roots, imaginary, pairs, zero = row[TABLE], (half // 2 + 1) * size, half // 2, splat(single, 0.0)
    point = size if writes_planes(variant) else 2 * size
    re, im = read_point(single, source, distance)
    write_point(single, re + im, zero, target, distance, scale)
    write_point(single, re - im, zero, target + half * point, distance, scale)
    full = pairs - pairs % width
    for k in range(1, full + 1, width):
        mirrored = half - k - width + 1
        z = read_point(variant, source + k * size, distance) + read_point_reversed(
            variant, source + mirrored * size, distance
        )
        x = codelet(variant, z + load_point(variant, roots + k * size, imaginary))
        write_point(variant, x[0], x[1], target + k * point, distance, scale)
        write_point_reversed(variant, x[2], x[3], target + mirrored * point, distance, scale)
    for k in range(full + 1, pairs + 1):
        z1 = read_point(single, source + k * size, distance) + read_point(single, source + (half - k) * size, distance)
        x1 = codelet(single, z1 + load_point(single, roots + k * size, imaginary))
        write_point(single, x1[0], x1[1], target + k * point, distance, scale)
        write_point(single, x1[2], x1[3], target + (half - k) * point, distance, scale)


def rezip_lanes(variant: Any, source: int, target: int, distance: int, row: Any, geometry: Any) -> None:
    """X to Z, one line in each lane."""
    size, half, one_half = number_bytes(variant), row[COUNT], splat(variant, 0.5)
    vector, roots, imaginary = lanes(variant) * size, row[TABLE], (half // 2 + 1) * size
    point = vector if reads_planes(variant) else geometry[SOURCE_VECTOR_BYTES]
    first, last = read_point(variant, source, distance)[0], read_point(variant, source + half * point, distance)[0]
    store_point((first + last) * one_half, (first - last) * one_half, target, distance)
    for k in range(1, half // 2 + 1):
        x = read_point(variant, source + k * point, distance) + read_point(
            variant, source + (half - k) * point, distance
        )
        z = codelet(variant, x + broadcast_point(variant, roots + k * size, imaginary))
        store_point(z[0], z[1], target + k * vector, distance)
        store_point(z[2], z[3], target + (half - k) * vector, distance)


def rezip_line(variant: Any, source: int, target: int, distance: int, row: Any, geometry: Any) -> None:
    """X to Z, neighbouring points in the lanes: whole registers first, then one by one."""
    size, half, width, single = number_bytes(variant), row[COUNT], lanes(variant), one_lane(variant)
    roots, imaginary, pairs, one_half = row[TABLE], (half // 2 + 1) * size, half // 2, splat(single, 0.5)
    point = size if reads_planes(variant) else 2 * size
    first, last = read_point(single, source, distance)[0], read_point(single, source + half * point, distance)[0]
    store_point((first + last) * one_half, (first - last) * one_half, target, distance)
    full = pairs - pairs % width
    for k in range(1, full + 1, width):
        mirrored = half - k - width + 1
        x = read_point(variant, source + k * point, distance) + read_point_reversed(
            variant, source + mirrored * point, distance
        )
        z = codelet(variant, x + load_point(variant, roots + k * size, imaginary))
        store_point(z[0], z[1], target + k * size, distance)
        store_point_reversed(z[2], z[3], target + mirrored * size, distance)
    for k in range(full + 1, pairs + 1):
        x1 = read_point(single, source + k * point, distance) + read_point(
            single, source + (half - k) * point, distance
        )
        z1 = codelet(single, x1 + load_point(single, roots + k * size, imaginary))
        store_point(z1[0], z1[1], target + k * size, distance)
        store_point(z1[2], z1[3], target + (half - k) * size, distance)


def mirror_lanes(variant: Any, source: int, target: int, distance: int, row: Any, geometry: Any) -> None:
    """X[N−k] = X*[k] for k = 1..COUNT, one line in each lane."""
    vector, zero = lanes(variant) * number_bytes(variant), splat(variant, 0.0)
    store(zero, target + distance)
    if row[MIRROR] % 2 == 0:
        store(zero, target + row[MIRROR] // 2 * vector + distance)
    for k in range(1, row[COUNT] + 1):
        re, im = load_point(variant, source + k * vector, distance)
        store_point(re, zero - im, target + (row[MIRROR] - k) * vector, distance)


def mirror_line(variant: Any, source: int, target: int, distance: int, row: Any, geometry: Any) -> None:
    """X[N−k] = X*[k] for k = 1..COUNT, neighbouring points in the lanes."""
    size, width, single, bins = number_bytes(variant), lanes(variant), one_lane(variant), row[COUNT]
    zero, zero1 = splat(variant, 0.0), splat(single, 0.0)
    store(zero1, target + distance)
    if row[MIRROR] % 2 == 0:
        store(zero1, target + row[MIRROR] // 2 * size + distance)
    full = bins - bins % width
    for k in range(1, full + 1, width):
        re, im = load_point(variant, source + k * size, distance)
        store_point_reversed(re, zero - im, target + (row[MIRROR] - k - width + 1) * size, distance)
    for k in range(full + 1, bins + 1):
        re1, im1 = load_point(single, source + k * size, distance)
        store_point(re1, zero1 - im1, target + (row[MIRROR] - k) * size, distance)
