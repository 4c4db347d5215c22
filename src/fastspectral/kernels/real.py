"""Steps that make a transform of real lines out of one of half as many complex points, and back.

A real line of even length N = 2h is read as h complex points z[j] = x[2j] + i x[2j+1] with transform Z.  With Z[h] = Z[0] and w = exp(−2πi/N),

    X[k] = (Z[k] + Z*[h−k]) / 2 − i w^k (Z[k] − Z*[h−k]) / 2,      k = 0..h          (`unzip`)
    Z[k] = (X[k] + X*[h−k]) / 2 + i w^−k (X[k] − X*[h−k]) / 2,     k = 0..h−1        (`rezip`)

Both treat the bins k and h − k together.  The imaginary parts of X[0] and X[h] come out as exact zeros in `unzip` and are not read in `rezip`.
`mirror` completes a one-sided spectrum in place, X[N−k] = X*[k], and makes the bins real that mirror themselves, 0 and N/2.  If CONJUGATE, it leaves the
conjugate of all: a real line is the forward transform of its conjugate spectrum, and the inverse of a real line the conjugate of its transform.

A line of odd length N = R m, with R the radix of a codelet, has its real end in one pass.  Of the R points that a first pass gives for every p < m, those
numbered k and R − k are conjugates: h = (R + 1)/2 of them are worked out and go through the passes of length m (`real_pass`),

    Z[k + h j] = X[k + R j],    X[R j − k] = Z*[k + h (m − j)],      k < h          (`unfold`, the other way round `fold`)

and backwards a last pass takes h points and gives R real ones (`hermitian_pass`).

Kernels ending in `_line` have neighbouring points in the lanes of a register, in pairs; those in `_lanes` one line in each lane, in planes or in the
caller's lines.
Rows: TABLE address of w^k / 2 for k = 0..h/2, real parts first; COUNT h; in `unzip_line` MIRROR, not 0 where all N bins are wanted.  For mirror: COUNT
the bins to add, MIRROR N, CONJUGATE.  For odd lengths: COUNT or GROUPS m, TABLE the twiddles, MIRROR the bins of a line, or those wanted, CONJUGATE.

Source: Cooley, Lewis & Welch, "The fast Fourier transform algorithm: programming considerations in the calculation of sine, cosine and Laplace
transforms" (1970).
"""

from typing import Any

from fastspectral.kernels.lanes import (
    broadcast_point,
    codelet,
    hermitian_butterfly,
    lanes,
    load_point,
    number_bytes,
    one_lane,
    radix,
    read_point,
    read_point_reversed,
    reads_planes,
    real_butterfly,
    splat,
    store_point,
    write_point,
    write_point_reversed,
    writes_planes,
)
from fastspectral.kernels.program import (
    CONJUGATE,
    COUNT,
    GROUPS,
    MIRROR,
    SCALE,
    SOURCE_VECTOR_BYTES,
    TABLE,
    TARGET_VECTOR_BYTES,
)


def unzip_lanes(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """Z to X, one line in each lane."""
    size, half, scale, zero = number_bytes(variant), row[COUNT], geometry[SCALE], splat(variant, 0.0)
    vector, roots, imaginary = 2 * lanes(variant) * size, row[TABLE], (half // 2 + 1) * size
    point = vector if writes_planes(variant) else geometry[TARGET_VECTOR_BYTES]
    re, im = read_point(variant, source, 0)
    write_point(variant, re + im, zero, target, scale)
    write_point(variant, re - im, zero, target + half * point, scale)
    for k in range(1, half // 2 + 1):
        z = read_point(variant, source + k * vector, 0) + read_point(variant, source + (half - k) * vector, 0)
        x = codelet(variant, z + broadcast_point(variant, roots + k * size, imaginary))
        write_point(variant, x[0], x[1], target + k * point, scale)
        write_point(variant, x[2], x[3], target + (half - k) * point, scale)


def unzip_line(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """Z to X, neighbouring points in the lanes: whole registers first, then one by one.  If MIRROR, with the mirrored bins as well."""
    size, half, width, single, scale = (
        number_bytes(variant),
        row[COUNT],
        lanes(variant),
        one_lane(variant),
        geometry[SCALE],
    )
    roots, imaginary, pairs, point = row[TABLE], (half // 2 + 1) * size, half // 2, 2 * size
    zero, zero1 = splat(variant, 0.0), splat(single, 0.0)
    re1, im1 = read_point(single, source, 0)
    write_point(single, re1 + im1, zero1, target, scale)
    write_point(single, re1 - im1, zero1, target + half * point, scale)
    full = pairs - pairs % width
    for k in range(1, full + 1, width):
        mirrored = half - k - width + 1
        z = read_point(variant, source + k * point, 0) + read_point_reversed(variant, source + mirrored * point, 0)
        x = codelet(variant, z + load_point(variant, roots + k * size, imaginary))
        write_point(variant, x[0], x[1], target + k * point, scale)
        write_point_reversed(variant, x[2], x[3], target + mirrored * point, scale)
        if row[MIRROR]:
            write_point_reversed(variant, x[0], zero - x[1], target + (half + mirrored) * point, scale)
            write_point(variant, x[2], zero - x[3], target + (half + k) * point, scale)
    for k in range(full + 1, pairs + 1):
        z1 = read_point(single, source + k * point, 0) + read_point(single, source + (half - k) * point, 0)
        x1 = codelet(single, z1 + load_point(single, roots + k * size, imaginary))
        write_point(single, x1[0], x1[1], target + k * point, scale)
        write_point(single, x1[2], x1[3], target + (half - k) * point, scale)
        if row[MIRROR]:
            write_point(single, x1[0], zero1 - x1[1], target + (2 * half - k) * point, scale)
            write_point(single, x1[2], zero1 - x1[3], target + (half + k) * point, scale)


def rezip_lanes(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """X to Z, one line in each lane."""
    size, half, scale, one_half = number_bytes(variant), row[COUNT], geometry[SCALE], splat(variant, 0.5)
    vector, roots, imaginary = 2 * lanes(variant) * size, row[TABLE], (half // 2 + 1) * size
    point = vector if reads_planes(variant) else geometry[SOURCE_VECTOR_BYTES]
    first, last = read_point(variant, source, 0)[0], read_point(variant, source + half * point, 0)[0]
    write_point(variant, (first + last) * one_half, (first - last) * one_half, target, scale)
    for k in range(1, half // 2 + 1):
        x = read_point(variant, source + k * point, 0) + read_point(variant, source + (half - k) * point, 0)
        z = codelet(variant, x + broadcast_point(variant, roots + k * size, imaginary))
        write_point(variant, z[0], z[1], target + k * vector, scale)
        write_point(variant, z[2], z[3], target + (half - k) * vector, scale)


def rezip_line(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """X to Z, neighbouring points in the lanes: whole registers first, then one by one."""
    size, half, width, single, scale = (
        number_bytes(variant),
        row[COUNT],
        lanes(variant),
        one_lane(variant),
        geometry[SCALE],
    )
    roots, imaginary, pairs, point, one_half = (
        row[TABLE],
        (half // 2 + 1) * size,
        half // 2,
        2 * size,
        splat(single, 0.5),
    )
    first, last = read_point(single, source, 0)[0], read_point(single, source + half * point, 0)[0]
    write_point(single, (first + last) * one_half, (first - last) * one_half, target, scale)
    full = pairs - pairs % width
    for k in range(1, full + 1, width):
        mirrored = half - k - width + 1
        x = read_point(variant, source + k * point, 0) + read_point_reversed(variant, source + mirrored * point, 0)
        z = codelet(variant, x + load_point(variant, roots + k * size, imaginary))
        write_point(variant, z[0], z[1], target + k * point, scale)
        write_point_reversed(variant, z[2], z[3], target + mirrored * point, scale)
    for k in range(full + 1, pairs + 1):
        x1 = read_point(single, source + k * point, 0) + read_point(single, source + (half - k) * point, 0)
        z1 = codelet(single, x1 + load_point(single, roots + k * size, imaginary))
        write_point(single, z1[0], z1[1], target + k * point, scale)
        write_point(single, z1[2], z1[3], target + (half - k) * point, scale)


def mirror_lanes(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """X[N−k] = X*[k] for k = 1..COUNT, one line in each lane."""
    plane, zero = lanes(variant) * number_bytes(variant), splat(variant, 0.0)
    sign = splat(variant, -1.0 if row[CONJUGATE] else 1.0)
    store_point(load_point(variant, source, plane)[0], zero, target, plane)
    if row[MIRROR] % 2 == 0:
        middle = row[MIRROR] * plane  # N/2 points of two registers each
        store_point(load_point(variant, source + middle, plane)[0], zero, target + middle, plane)
    for k in range(1, row[COUNT] + 1):
        re, im = load_point(variant, source + 2 * k * plane, plane)
        store_point(re, im * sign, target + 2 * k * plane, plane)
        store_point(re, zero - im * sign, target + 2 * (row[MIRROR] - k) * plane, plane)


def real_pass(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """First pass of an odd number of real points, which lie register by register; one line in each lane."""
    plane, groups, kept = lanes(variant) * number_bytes(variant), row[GROUPS], radix(variant) // 2 + 1
    x, y, twiddles = source, target, row[TABLE]
    for _ in range(groups):
        real_butterfly(variant, x, groups * plane, y, 2 * plane, twiddles)
        x += plane
        y += kept * 2 * plane
        twiddles += 2 * (kept - 1) * number_bytes(variant)


def hermitian_pass(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """Last pass to an odd number of real points, the real parts of the results; one line in each lane."""
    vector, groups = 2 * lanes(variant) * number_bytes(variant), row[GROUPS]
    x, y = source, target
    for _ in range(groups):
        hermitian_butterfly(variant, x, groups * vector, y, groups * vector)
        x += vector
        y += vector


def unfold_lanes(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """Z to the first MIRROR bins X; if CONJUGATE, to their conjugates."""
    vector, scale, zero = 2 * lanes(variant) * number_bytes(variant), geometry[SCALE], splat(variant, 0.0)
    sign = splat(variant, -1.0 if row[CONJUGATE] else 1.0)
    point = vector if writes_planes(variant) else geometry[TARGET_VECTOR_BYTES]
    kept, left, y = radix(variant) // 2 + 1, row[MIRROR], target
    forwards, backwards = source, source + (row[COUNT] * kept - 1) * vector
    while left > 0:
        for _ in range(min(kept, left)):
            re, im = read_point(variant, forwards, 0)
            write_point(variant, re, im * sign, y, scale)
            forwards += vector
            y += point
        for _ in range(min(kept - 1, left - kept)):
            re, im = read_point(variant, backwards, 0)
            write_point(variant, re, zero - im * sign, y, scale)
            backwards -= vector
            y += point
        backwards -= vector
        left -= radix(variant)
    write_point(variant, read_point(variant, source, 0)[0], zero, target, scale)


def fold_lanes(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """The conjugates of the bins X, MIRROR of a whole line of which the first half is given, to Z."""
    vector, zero, scale = 2 * lanes(variant) * number_bytes(variant), splat(variant, 0.0), geometry[SCALE]
    point = vector if reads_planes(variant) else geometry[SOURCE_VECTOR_BYTES]
    bins, kept, y = row[MIRROR], radix(variant) // 2 + 1, target
    for f in range(0, bins, radix(variant)):
        given = max(0, min(kept, bins // 2 + 1 - f))
        for k in range(given):
            re, im = read_point(variant, source + (f + k) * point, 0)
            write_point(variant, re, zero - im, y, scale)
            y += vector
        for k in range(given, kept):
            re, im = read_point(variant, source + (bins - f - k) * point, 0)
            write_point(variant, re, im, y, scale)
            y += vector
    write_point(variant, read_point(variant, source, 0)[0], zero, target, scale)
