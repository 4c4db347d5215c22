"""Transforms of lengths with a large prime factor, as a convolution (Bluestein).

With c[j] = exp(−πi j² / n) and nk = (n² + k² − (k − n)²) / 2,

    X[k] = c[k] Σ_j (x[j] c[j]) c*[k − j],

a convolution that transforms of any length M ≥ 2n − 1 compute.  The spectrum of c*, divided by M, is part of the plan; the transforms are ordinary passes,
the second one in the opposite direction.  What is left are products, with c and with the spectrum.  `weigh_lanes` multiplies real and imaginary parts by
numbers of their own: the window of a short-time transform.

`product_line` has neighbouring points in the lanes of a register, the kernels ending in `_lanes` one line in each lane.
Rows: TABLE address of the factors, real parts first; COUNT their number; SPAN bytes from a real to an imaginary part; POINTS, in products, how many
points to write: those after COUNT become zero; WINDOW, for weighted lines, the address of the weights.

Source: Bluestein, "A linear filtering approach to the computation of discrete Fourier transform" (1970).
"""

from typing import Any

from fastspectral.kernels.lanes import (
    broadcast_point,
    lanes,
    load_point,
    number_bytes,
    one_lane,
    read_point,
    reads_planes,
    splat,
    store_point,
    write_point,
    writes_planes,
)
from fastspectral.kernels.program import (
    COUNT,
    POINTS,
    SCALE,
    SOURCE_VECTOR_BYTES,
    SPAN,
    TABLE,
    TARGET_VECTOR_BYTES,
    WINDOW,
)


def product_line(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """Every point times its own complex factor; whole registers first, then (in pairs) one by one."""
    size, width, single, scale = number_bytes(variant), lanes(variant), one_lane(variant), geometry[SCALE]
    full, window = row[COUNT] // width * width, row[WINDOW] - source
    for k in range(0, full, width):
        re, im = read_point(variant, source + 2 * k * size, window)
        c, s = load_point(variant, row[TABLE] + k * size, row[SPAN])
        write_point(variant, re * c - im * s, re * s + im * c, target + 2 * k * size, scale)
    for k in range(full, row[COUNT]):
        re1, im1 = read_point(single, source + 2 * k * size, window)
        c1, s1 = load_point(single, row[TABLE] + k * size, row[SPAN])
        write_point(single, re1 * c1 - im1 * s1, re1 * s1 + im1 * c1, target + 2 * k * size, scale)
    for k in range(row[COUNT], row[POINTS]):
        write_point(single, splat(single, 0.0), splat(single, 0.0), target + 2 * k * size, scale)


def product_lanes(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """Every point times its own complex factor; one line in each lane."""
    size, scale, vector = number_bytes(variant), geometry[SCALE], 2 * lanes(variant) * number_bytes(variant)
    x_bytes = vector if reads_planes(variant) else geometry[SOURCE_VECTOR_BYTES]
    y_bytes = vector if writes_planes(variant) else geometry[TARGET_VECTOR_BYTES]
    for k in range(row[COUNT]):
        re, im = read_point(variant, source + k * x_bytes, 0)
        c, s = broadcast_point(variant, row[TABLE] + k * size, row[SPAN])
        write_point(variant, re * c - im * s, re * s + im * c, target + k * y_bytes, scale)
    for k in range(row[COUNT], row[POINTS]):
        write_point(variant, splat(variant, 0.0), splat(variant, 0.0), target + k * y_bytes, scale)


def weigh_lanes(variant: Any, source: int, target: int, row: Any, geometry: Any) -> None:
    """Real and imaginary part of every point each times a number; one line in each lane."""
    size, plane = number_bytes(variant), lanes(variant) * number_bytes(variant)
    for k in range(row[COUNT]):
        re, im = load_point(variant, source + 2 * k * plane, plane)
        a, b = broadcast_point(variant, row[TABLE] + k * size, row[SPAN])
        store_point(re * a, im * b, target + 2 * k * plane, plane)
