"""Transforms of lengths with a large prime factor, as a convolution (Bluestein).

With c[j] = exp(−πi j² / n) and nk = (n² + k² − (k − n)²) / 2,

    X[k] = c[k] Σ_j (x[j] c[j]) c*[k − j],

a convolution that transforms of any length M ≥ 2n − 1 compute.  The spectrum of c*, divided by M, is part of the plan; the transforms are ordinary passes,
the second one in the opposite direction.  What is left is `product`, used for c and for the spectrum.  `weigh` multiplies real and imaginary parts by
numbers of their own: the window of a short-time transform.

Kernels ending in `_line` have neighbouring points in the lanes of a register, those in `_lanes` one line in each lane.  Both work in place as well.
Rows: TABLE address of the factors, real parts first, padded to whole registers; COUNT their number; SPAN bytes from a real to an imaginary
part; POINTS, in `product`, how many points to write: those after COUNT become zero.

Source: Bluestein, "A linear filtering approach to the computation of discrete Fourier transform" (1970).
"""

from typing import Any

from fastspectral.kernels.lanes import broadcast_point, lanes, load_point, number_bytes, one_lane, splat, store_point
from fastspectral.kernels.program import COUNT, POINTS, SPAN, TABLE


def product_line(variant: Any, source: int, target: int, distance: int, row: Any, geometry: Any) -> None:
    """Every point times its own complex factor; neighbouring points in the lanes."""
    size, width, single, count = number_bytes(variant), lanes(variant), one_lane(variant), row[COUNT]
    for k in range(0, count, width):
        re, im = load_point(variant, source + k * size, distance)
        c, s = load_point(variant, row[TABLE] + k * size, row[SPAN])
        store_point(re * c - im * s, re * s + im * c, target + k * size, distance)
    for k in range(count, row[POINTS]):
        store_point(splat(single, 0.0), splat(single, 0.0), target + k * size, distance)


def product_lanes(variant: Any, source: int, target: int, distance: int, row: Any, geometry: Any) -> None:
    """Every point times its own complex factor; one line in each lane."""
    size = number_bytes(variant)
    vector = lanes(variant) * size
    for k in range(row[COUNT]):
        re, im = load_point(variant, source + k * vector, distance)
        c, s = broadcast_point(variant, row[TABLE] + k * size, row[SPAN])
        store_point(re * c - im * s, re * s + im * c, target + k * vector, distance)
    for k in range(row[COUNT], row[POINTS]):
        store_point(splat(variant, 0.0), splat(variant, 0.0), target + k * vector, distance)


def weigh_line(variant: Any, source: int, target: int, distance: int, row: Any, geometry: Any) -> None:
    """Real and imaginary part of every point each times a number; neighbouring points in the lanes."""
    size = number_bytes(variant)
    for k in range(0, row[COUNT] * size, lanes(variant) * size):
        re, im = load_point(variant, source + k, distance)
        a, b = load_point(variant, row[TABLE] + k, row[SPAN])
        store_point(re * a, im * b, target + k, distance)


def weigh_lanes(variant: Any, source: int, target: int, distance: int, row: Any, geometry: Any) -> None:
    """Real and imaginary part of every point each times a number; one line in each lane."""
    size = number_bytes(variant)
    for k in range(row[COUNT]):
        point = k * lanes(variant) * size
        re, im = load_point(variant, source + point, distance)
        a, b = broadcast_point(variant, row[TABLE] + k * size, row[SPAN])
        store_point(re * a, im * b, target + point, distance)
