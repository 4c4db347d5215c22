"""Passes of the mixed-radix Fourier transform, in Stockham (self-sorting) order.

With N = R·m·s, where s is the product of the radices done before, a pass computes for every p < m and q < s

    y[q + s (R p + k)] = w^(p k) · Σ_r x[q + s (p + m r)] · exp(−2πi rk / R),   w = exp(−2πi / (R m)).

Each pass reads one buffer and writes the other, so there is no bit reversal; the last one (m = 1) has no twiddles.  Lanes run along q, so that one
twiddle serves a whole register and, over all q, a whole group p.  In the first pass of a single line s is 1: there lanes run along p, and the results are
transposed on their way to memory (`first_pass`).  s is a multiple of the lanes in all others.

The first pass may read the caller's lines and the last one may write them; VECTOR_BYTES of the geometry says how they lie.

Rows: TABLE address of the twiddles, GROUPS m, SPAN bytes of s points; WINDOW, in the first pass of weighted lines, the address of the weights.

Sources: Stockham (1966); Swarztrauber, "FFT algorithms for vector computers" (1984); Van Loan (1992), §1.7.
"""

from typing import Any

from fastspectral.kernels.lanes import (
    add_point,
    broadcast_point,
    butterflies,
    butterflies_of_run,
    first_butterfly,
    lanes,
    load_point,
    number_bytes,
    radix,
    reads_planes,
    splat,
    store_point,
    writes_planes,
)
from fastspectral.kernels.program import (
    GROUPS,
    NEIGHBOURS,
    POINTS_AHEAD,
    RADIX,
    ROOTS,
    SCALE,
    SOURCE_VECTOR_BYTES,
    SPAN,
    TABLE,
    TARGET_VECTOR_BYTES,
    WINDOW,
)

BLOCK = 16  # terms of a sum in `prime_pass`


def first_pass(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """First pass of one line, from pairs: lanes along p.  The radix is a multiple of the lanes, m at least the lanes.

    A last register that reaches over m overlaps its predecessor and does some p twice.
    """
    groups, size, twiddles = row[GROUPS], number_bytes(variant), row[TABLE]
    for start in range(0, groups, lanes(variant)):
        p = min(start, groups - lanes(variant))
        x, y = source + 2 * p * size, target + 2 * p * radix(variant) * size
        first_butterfly(variant, x, 2 * groups * size, y, twiddles, row[WINDOW] - source)
        twiddles += 2 * (radix(variant) - 1) * lanes(variant) * size


def later_pass(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """Any other pass."""
    source_bytes, target_bytes = geometry[SOURCE_VECTOR_BYTES], geometry[TARGET_VECTOR_BYTES]
    groups, span, twiddles, scale = row[GROUPS], row[SPAN], row[TABLE], geometry[SCALE]
    butterflies(variant, groups, span, source, source_bytes, target, target_bytes, twiddles, scale)


def row_pass(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """`later_pass` of lines that stand side by side, NEIGHBOURS registers of them, from or to the caller's memory.

    There a point of all these lines is a run, of which every page and every cache line is visited once.
    """
    vector = 2 * lanes(variant) * number_bytes(variant)
    groups, run = row[GROUPS], row[NEIGHBOURS] * vector
    points = row[SPAN] // run
    x_bytes = run if reads_planes(variant) else geometry[SOURCE_VECTOR_BYTES]
    y_bytes = run if writes_planes(variant) else geometry[TARGET_VECTOR_BYTES]
    x_step, y_step = groups * points * x_bytes, points * y_bytes
    x_ahead = x_bytes if geometry[POINTS_AHEAD] and not reads_planes(variant) else 0
    y_ahead = y_bytes if geometry[POINTS_AHEAD] and not writes_planes(variant) else 0
    x, y, twiddles = source, target, row[TABLE]
    for _ in range(groups):
        for _ in range(points):
            butterflies_of_run(
                variant, row[NEIGHBOURS], x, x_step, y, y_step, twiddles, geometry[SCALE], x_ahead, y_ahead
            )
            x += x_bytes
            y += y_bytes
        y += (radix(variant) - 1) * y_step
        twiddles += 2 * (radix(variant) - 1) * number_bytes(variant)


def prime_pass(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """A pass of any odd radix R by symmetric pairs; RADIX R, ROOTS address of (cos, sin)(2πjk/R) for k, j = 1..h, h = (R − 1)/2.

    The sums and differences of the pairs replace the points in the source, which is scratch.  Two k at a time share their loads: one at a time the
    loop is bound by its loads, not by its arithmetic.  BLOCK terms are summed by themselves: the error of one long sum would be half as large again
    (measured at 89 to 127 points).  The twiddles follow in a sweep of their own.
    """
    groups, span, points = row[GROUPS], row[SPAN], row[RADIX]
    size, step, half, plane = (
        number_bytes(variant),
        groups * span,
        (points - 1) // 2,
        lanes(variant) * number_bytes(variant),
    )
    twiddles = row[TABLE]
    for p in range(groups):
        for q in range(0, span, 2 * plane):
            x = source + p * span + q
            y = target + p * points * span + q
            x0_re, x0_im = load_point(variant, x, plane)
            re, im = x0_re, x0_im
            for j in range(1, half + 1):
                a, b = x + j * step, x + (points - j) * step
                a_re, a_im = load_point(variant, a, plane)
                b_re, b_im = load_point(variant, b, plane)
                re, im = re + (a_re + b_re), im + (a_im + b_im)
                store_point(a_re + b_re, a_im + b_im, a, plane)
                store_point(a_re - b_re, a_im - b_im, b, plane)
            store_point(re, im, y, plane)
            for k in range(1, points):
                store_point(x0_re, x0_im, y + k * span, plane)
            for begin in range(1, half + 1, BLOCK):
                for k in range(1, half + 1, 2):
                    k2 = min(k + 1, half)
                    roots = row[ROOTS] + ((k - 1) * half + begin - 1) * 2 * size
                    roots2 = row[ROOTS] + ((k2 - 1) * half + begin - 1) * 2 * size
                    zero = splat(variant, 0.0)
                    even_re, even_im, odd_re, odd_im = zero, zero, zero, zero
                    even2_re, even2_im, odd2_re, odd2_im = zero, zero, zero, zero
                    for j in range(begin, min(begin + BLOCK, half + 1)):
                        s_re, s_im = load_point(variant, x + j * step, plane)
                        d_re, d_im = load_point(variant, x + (points - j) * step, plane)
                        cosine, sine = broadcast_point(variant, roots, size)
                        even_re, even_im = even_re + s_re * cosine, even_im + s_im * cosine
                        odd_re, odd_im = odd_re + d_re * sine, odd_im + d_im * sine
                        cosine, sine = broadcast_point(variant, roots2, size)
                        even2_re, even2_im = even2_re + s_re * cosine, even2_im + s_im * cosine
                        odd2_re, odd2_im = odd2_re + d_re * sine, odd2_im + d_im * sine
                        roots += 2 * size
                        roots2 += 2 * size
                    add_point(even_re + odd_im, even_im - odd_re, y + k * span, plane)
                    add_point(even_re - odd_im, even_im + odd_re, y + (points - k) * span, plane)
                    if k2 > k:
                        add_point(even2_re + odd2_im, even2_im - odd2_re, y + k2 * span, plane)
                        add_point(even2_re - odd2_im, even2_im + odd2_re, y + (points - k2) * span, plane)
            for k in range(1, points):
                re, im = load_point(variant, y + k * span, plane)
                cosine, sine = broadcast_point(variant, twiddles + (k - 1) * 2 * size, size)
                store_point(re * cosine - im * sine, re * sine + im * cosine, y + k * span, plane)
        twiddles += 2 * (points - 1) * size
