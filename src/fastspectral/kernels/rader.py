"""A pass whose radix is a large prime, as a cyclic convolution (Rader).

The powers of a primitive root g run through 1, …, R − 1.  With x_r for the row of points that share r, in the terms of `mixed_radix.py`,

    X[g^−k] = x_0 + Σ_q x[g^q] b[k − q],     b[j] = exp(−2πi g^−j / R),     k, q = 0..R − 2,

a convolution of length R − 1, whose transforms are ordinary passes over whole rows: `gather_rows`, the passes, `convolve_rows`, the passes, `scatter_rows`.
The spectrum B of b, divided by R − 1, is part of the plan; the second transform is an inverse by an exchange of real and imaginary parts on the way in and
out.  Bin 0 of the first one is the sum of all rows but x_0: with x_0 it is X[0], and x_0 added to bin 0 of the product is added to every result.

Row R − 1, which the passes leave alone, holds x_0 and then X[0].  The passes are as many in either direction, so that they end in the buffer where the
first one began, where that row is.

Rows: TABLE address of the factors; COUNT rows; SPAN bytes of a row.  ROOTS address of the row numbers as floats, exact below 2^24.

Source: Rader, "Discrete Fourier transforms when the number of data samples is prime" (1968).
"""

from typing import Any

from fastspectral.kernels.lanes import (
    broadcast_point,
    integer,
    lanes,
    load_point,
    number_bytes,
    read_point,
    store_point,
    write_point,
)
from fastspectral.kernels.program import BUFFER_BYTES, COUNT, POINTS, ROOTS, SCALE, SPAN, TABLE


def gather_rows(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """Row q from row ROOTS[q]."""
    size, plane, row_bytes = number_bytes(variant), lanes(variant) * number_bytes(variant), row[SPAN]
    numbers, y, width = row[ROOTS], target, row_bytes // (2 * plane)
    for _ in range(row[COUNT]):
        x = source + integer(variant, numbers) * row_bytes
        numbers += size
        for _ in range(width):
            re, im = load_point(variant, x, plane)
            store_point(re, im, y, plane)
            x += 2 * plane
            y += 2 * plane


def convolve_rows(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """In place, row k times B[k], with x_0 added to row 0; POINTS: how many buffers further on the row of x_0 is, which becomes X[0]."""
    size, plane, scale = number_bytes(variant), lanes(variant) * number_bytes(variant), geometry[SCALE]
    x, last = source, source + row[COUNT] * row[SPAN] + row[POINTS] * geometry[BUFFER_BYTES]
    spectrum, width = row[TABLE], row[SPAN] // (2 * plane)
    b, _ = broadcast_point(variant, spectrum, size)
    for _ in range(width):
        x0_re, x0_im = load_point(variant, last, plane)
        re, im = load_point(variant, x, plane)
        write_point(variant, x0_re + re, x0_im + im, last, scale)
        write_point(variant, x0_re + re * b, x0_im + im * b, x, scale)
        last += 2 * plane
        x += 2 * plane
    for _ in range(1, row[COUNT]):
        spectrum += 2 * size
        cosine, sine = broadcast_point(variant, spectrum, size)
        for _ in range(width):
            re, im = load_point(variant, x, plane)
            write_point(variant, re * cosine - im * sine, re * sine + im * cosine, x, scale)
            x += 2 * plane


def scatter_rows(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """Row q to the bins k = ROOTS[q] of all groups p, times w^(p k); POINTS the groups."""
    size, plane, row_bytes = number_bytes(variant), lanes(variant) * number_bytes(variant), row[SPAN]
    count, span, twiddles = row[COUNT], row_bytes // row[POINTS], row[TABLE]
    width, group = span // (2 * plane), target
    for p in range(row[POINTS]):
        begin, numbers = source + p * span, row[ROOTS]
        for _ in range(count):
            x, y = begin, group + integer(variant, numbers) * span
            cosine, sine = broadcast_point(variant, twiddles, size)
            for _ in range(width):
                re, im = read_point(variant, x, 0)
                store_point(re * cosine - im * sine, re * sine + im * cosine, y, plane)
                x += 2 * plane
                y += 2 * plane
            begin += row_bytes
            numbers += size
            twiddles += 2 * size
        group += count * span
