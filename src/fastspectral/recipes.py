"""Which algorithm computes a transform of n points: pure functions from integers to a recipe.

The cost of a pass is counted in vector instructions a point: the arithmetic of its codelet and twiddles, its loads and stores, and a charge for what does
not fit the registers.  The weights were fitted once to times of single passes and of whole transforms (AVX2, 32 KiB L1).  The choice rests on the
counts alone, so that a plan, and with it every bit of a result, is the same from run to run.
"""

import math
from functools import cache, lru_cache
from typing import NamedTuple

from fastspectral.kernels.codelets import CODELETS, Split

__all__ = ["LONGEST", "RADICES", "Group", "Recipe", "choose_group", "recipe"]

RADICES = tuple(sorted(CODELETS))
LONGEST = 1 << 26  # points: the tables and scratch of a longer transform pass the memory of most machines
LOAD_STORE = 3.0  # of one point in one pass, beside its arithmetic
SPILL = 8.0  # of one point of a codelet that does not fit the registers: its parts are stored and loaded once more
TRANSPOSE = 30.0  # of one point in the first pass of a line
TILE = 18.0  # of one point on its way between the caller's line and the lanes
GATHER = 5.0  # the same for one number that is on its own
L1_BYTES, L2_BYTES = 32 << 10, 512 << 10  # of the smallest caches in wide use
LARGEST_DIRECT = 127  # prime whose sums are taken as they stand: their error grows with its square root
SHORTEST_CONVOLUTION = 100  # over fewer points its error does not average out and may pass 0.6 eps sqrt(log2 n)
CONVOLUTION = 1.6  # what a convolution must save to be worth its error, which is half as large again
LARGEST_RADER = 1 << 20  # prime whose convolution is taken: the plan computes its spectrum in extended precision
PERMUTATION = 5.0  # of one point of a sweep that moves rows
PRODUCT = 8.0  # of one point of a sweep that multiplies by a table


class Recipe(NamedTuple):
    """How n points are transformed: by passes of `factors` in this order, or, where `padded` is not 0, as a convolution of that length."""

    factors: tuple[int, ...]
    padded: int
    cost: float


class _Count:
    """An operand that counts the operations done with it and its descendants."""

    total = 0

    def _operation(self, *_: object) -> "_Count":
        _Count.total += 1
        return self

    __add__ = __sub__ = __mul__ = _operation

    def __neg__(self) -> "_Count":
        return self


@cache
def operations(radix: int) -> int:
    """Additions and multiplications of the codelet."""
    _Count.total = 0
    list(CODELETS[radix](*[Split(_Count(), _Count()) for _ in range(radix)]))
    return _Count.total


@cache
def pass_cost(radix: int, registers: int) -> float:
    """Cost a point of a pass with twiddles."""
    if radix in CODELETS:
        spilled = SPILL if 2 * radix + 5 > registers else 0.0
        return (operations(radix) + 6 * (radix - 1)) / radix + LOAD_STORE + spilled
    return rader_cost(radix, registers) if convolves(radix, registers) else sums_cost(radix)


def sums_cost(prime: int) -> float:
    """Cost a point of a pass that takes the sums of a prime radix as they stand."""
    if prime > LARGEST_DIRECT:
        return math.inf
    half = (prime - 1) // 2
    return (6 * half * half + 20 * half) / prime + 3 * LOAD_STORE


def rader_cost(prime: int, registers: int) -> float:
    """The same by a convolution of one point less: two transforms, the product, and a sweep before and behind that permutes the rows."""
    if prime > LARGEST_RADER:
        return math.inf
    cost, inner = passes(prime - 1, registers)
    # A convolution within a convolution has 2 eps where others have 1.5, and Bluestein's is mostly faster (347, 503, 863, 1523 points: 0.63 to 0.93).
    nested = any(radix not in CODELETS and convolves(radix, registers) for radix in inner)
    return math.inf if nested else 2 * cost + PRODUCT + PERMUTATION + PRODUCT


def convolves(prime: int, registers: int) -> bool:
    """Whether a pass of a prime radix is done by Rader's convolution, whose error is larger by a half: not for a saving of a tenth or two (61, 73, 89)."""
    return 1.2 * rader_cost(prime, registers) < sums_cost(prime)


def primitive_root(prime: int) -> int:
    """The smallest number whose powers run through 1, …, prime − 1."""
    divisors = set(prime_factors(prime - 1))
    return next(g for g in range(1, prime) if all(pow(g, (prime - 1) // d, prime) > 1 for d in divisors))


def prime_factors(n: int) -> list[int]:
    """Prime factors in ascending order, repeated."""
    found, p = [], 2
    while p * p <= n:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 1
    return found + [n] * (n > 1)


def order(radix: int) -> tuple[bool, int]:
    """Passes of large primes come first, for they work on planes only; of the others the largest comes last, where no twiddles are."""
    return radix in CODELETS, radix


@lru_cache(maxsize=4096)
def passes(n: int, registers: int) -> tuple[float, tuple[int, ...]]:
    """Cheapest passes for n points: their cost a point and their radices, in the order of `order`."""
    if n == 1:
        return 0.0, ()
    candidates = [radix for radix in RADICES if n % radix == 0] or [prime_factors(n)[0]]
    best: tuple[float, tuple[int, ...]] = (math.inf, ())
    for radix in candidates:
        cost, rest = passes(n // radix, registers)
        best = min(best, (cost + pass_cost(radix, registers), tuple(sorted((radix, *rest), key=order))))
    return best


def line_passes(n: int, lanes: int, registers: int) -> tuple[float, tuple[int, ...]]:
    """The same with neighbouring points in the lanes: the first radix is the lanes and leaves at least as many groups."""
    if lanes == 1:
        return passes(n, registers)
    if n % lanes or n // lanes < lanes:
        return math.inf, ()
    cost, rest = passes(n // lanes, registers)
    if rest and rest[-1] not in CODELETS:
        return math.inf, ()
    return cost + pass_cost(lanes, registers) + TRANSPOSE, (lanes, *rest)


@lru_cache(maxsize=4096)
def recipe(n: int, lanes: int, registers: int) -> Recipe:
    """Recipe for n points, with `lanes` neighbouring points in a register; 1: whole lines side by side in the lanes.  Its cost is a point's."""
    cost, factors = line_passes(n, lanes, registers)
    direct = Recipe(factors, 0, cost)
    if n < SHORTEST_CONVOLUTION or (factors and max(factors) <= max(RADICES)):
        return direct
    shortest = 2 * n - 1
    padded_lengths = [odd << max(math.ceil(math.log2(shortest / odd)), 2 * (lanes.bit_length() - 1)) for odd in (1, 5)]
    costs = [
        ((2 * line_passes(m, lanes, registers)[0] + PRODUCT) * m / n + 2 * PRODUCT, m)
        for m in padded_lengths
        if m >= shortest
    ]
    cost, padded = min(costs)
    return direct if direct.cost <= CONVOLUTION * cost else Recipe((), padded, CONVOLUTION * cost)


class Group(NamedTuple):
    """What a register holds: `lanes` neighbouring points of one line, if `line`, else one point each of `lanes` lines."""

    line: bool
    lanes: int


def choose_group(n: int, lines: int, lanes: int, registers: int, number_bytes: int, dense: bool) -> Group:
    """Cheapest group for `lines` transforms of n points on registers of `lanes` numbers; dense: the points of a line are neighbours in memory."""

    def cost(group: Group) -> float:
        buffers = 4 * n * number_bytes * (1 if group.line else group.lanes)
        memory = 1.0 if buffers < 2 * L1_BYTES else 1.5 if buffers <= L2_BYTES // 2 else 1.9
        if group.line:
            return lines * (recipe(n, group.lanes, registers).cost * memory + 2 * LOAD_STORE) / group.lanes
        groups = -(-lines // group.lanes)
        rim = 2 * TILE if dense else 2 * GATHER * group.lanes
        return groups * (recipe(n, 1, registers).cost * memory + rim)

    candidates = [Group(False, lanes)]
    while dense and lanes > 1:
        candidates.append(Group(True, lanes))
        lanes //= 2
    if candidates[0].lanes > 1:
        candidates.append(Group(False, 1))
    return min(candidates, key=cost)
