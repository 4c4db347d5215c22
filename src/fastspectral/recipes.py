"""Which algorithm computes a transform of n points: pure functions from integers to a recipe.

Costs are nanoseconds for one register of points (as many points as it has lanes).  Those of passes and sweeps were measured once on a machine with
16 registers of 32 bytes, 32 KiB of first-level and 512 KiB of second-level cache.  The choice rests on these constants alone, so that a plan, and with it
every bit of a result, is the same from run to run.
"""

import math
from functools import cache, lru_cache
from typing import NamedTuple

from fastspectral.kernels.codelets import CODELETS, Split

__all__ = ["LONGEST", "RADICES", "Group", "Recipe", "choose_group", "recipe"]

RADICES = tuple(sorted(CODELETS))
LONGEST = 1 << 26  # points: the tables and scratch of a longer transform pass the memory of most machines
# Of a pass from first-level cache to first-level cache with twiddles, and of one without, which is the last one.
TWIDDLED = {
    2: 0.9,
    3: 1.1,
    4: 1.1,
    5: 1.7,
    6: 1.7,
    7: 2.5,
    8: 2.0,
    9: 2.6,
    10: 2.6,
    11: 3.8,
    12: 2.7,
    13: 4.3,
    15: 3.2,
    16: 2.6,
}
LAST = {
    2: 0.7,
    3: 0.8,
    4: 0.8,
    5: 1.4,
    6: 1.2,
    7: 2.3,
    8: 1.3,
    9: 1.9,
    10: 2.1,
    11: 3.7,
    12: 1.9,
    13: 4.0,
    15: 2.7,
    16: 2.0,
}
ROOMY = 32  # registers with which no codelet of up to 12 points goes to the stack: there the work is what counts
WORK, STEP = 0.042, 0.7  # of one operation a point, and of the loads and stores of a point
CALL = 4.0  # of one step of a program, nanoseconds in all
TRANSPOSE = 0.65  # of the first pass of a line, for every doubling of the lanes
TWICE = 1.2  # of a first pass whose radix is more than the lanes
UNZIP, UNZIP_LINE = (
    1.0,
    100.0,
)  # of the step to or from real points; and of a line of it, nanoseconds in all, with neighbouring points in the lanes
TILE = 1.4  # of a way between the caller's lines and one line in each lane
GATHER = 0.5  # the same for one number that is on its own
TURN = 4.8  # of the middle between two sweeps
PRODUCT = 1.0  # of a sweep that multiplies by a table
PERMUTATIONS = 5.0  # of the two sweeps that move rows
SUM, SUMS = 0.13, 6.0  # of one operation a point in the sums of a prime, and of the rest of that pass
# Of every stream that a pass reads beyond so many, if they are all from the same sets of the cache.
CONFLICT, WAYS, SETS_BYTES = 0.15, 6, 4096
# Of every pass whose two buffers, in bytes, are larger; NEAR where they are in the second-level cache.
NEAR = 0.4
AWAY = ((24 << 10, NEAR), (384 << 10, 0.6), (4 << 20, 1.8), (16 << 20, 5.0))
LARGEST_WHOLE = (
    2 << 20
)  # bytes of a line for whose passes there is room: two more buffers, and twiddles as many as points
LARGEST_DIRECT = 127  # prime whose sums are taken as they stand: their error grows with its square root
SHORTEST_CONVOLUTION = 100  # over fewer points its error does not average out and may pass 0.6 eps sqrt(log2 n)
CONVOLUTION = 1.6  # what a convolution must save to be worth its error, which is half as large again
LARGEST_RADER = 1 << 20  # prime whose convolution is taken: the plan computes its spectrum in extended precision


class Group(NamedTuple):
    """What a register holds: `lanes` neighbouring points of one line, if `line`, else one point each of `lanes` lines."""

    line: bool
    lanes: int


class Recipe(NamedTuple):
    """How n points are transformed.

    By passes of `factors` in this order; or, where `padded` is not 0, as a convolution of that length; or, where `split` is not 0, in two sweeps, of
    transforms of `split` points and of n / `split` points.
    """

    factors: tuple[int, ...]
    padded: int
    split: int
    cost: float


class _Count:
    """An operand that counts the operations done with it, which give it again."""

    def __init__(self) -> None:
        self.total = 0

    def _operation(self, *_: object) -> "_Count":
        self.total += 1
        return self

    __add__ = __sub__ = __mul__ = _operation

    def __neg__(self) -> "_Count":
        return self


@cache
def operations(radix: int) -> int:
    """Additions and multiplications of the codelet."""
    count = _Count()
    list(CODELETS[radix](*[Split(count, count)] * radix))
    return count.total


@cache
def pass_cost(radix: int, registers: int, twiddled: bool = True) -> float:
    """Cost of a pass from first-level cache to first-level cache."""
    if radix not in CODELETS:
        return rader_cost(radix, registers) if convolves(radix, registers) else sums_cost(radix)
    if registers >= ROOMY:
        return STEP + WORK * (operations(radix) + (6 * (radix - 1) if twiddled else 0)) / radix
    return TWIDDLED[radix] if twiddled else LAST[radix]


def sums_cost(prime: int) -> float:
    """Cost of a pass that takes the sums of a prime radix as they stand."""
    if prime > LARGEST_DIRECT:
        return math.inf
    half = (prime - 1) // 2
    return SUM * (6 * half * half + 20 * half) / prime + SUMS


def rader_cost(prime: int, registers: int) -> float:
    """The same by a convolution of one point less: two transforms, the product, and a sweep before and behind that permutes the rows."""
    if prime > LARGEST_RADER:
        return math.inf
    cost, inner = passes(prime - 1, registers, FREE)
    # A convolution within a convolution has 2 eps where others have 1.5, and Bluestein's is mostly faster (347, 503, 863, 1523 points: 0.63 to 0.93).
    nested = any(radix not in CODELETS and convolves(radix, registers) for radix in inner)
    return math.inf if nested else 2 * cost + 2 * PRODUCT + PERMUTATIONS


def convolves(prime: int, registers: int) -> bool:
    """Whether a pass of a prime radix is done by Rader's convolution, whose error is larger by a half: not to save a tenth (41, 67)."""
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
    """Passes of large primes come first, for they work on planes only."""
    return radix in CODELETS, radix


class Way(NamedTuple):
    """What the passes over a buffer cost beside their work: each one, and more if the points that it combines, `size` / radix bytes apart, are in conflict."""

    cost: float
    size: int

    def of(self, radix: int) -> float:
        return self.cost + (
            CONFLICT * (radix - WAYS) if radix > WAYS and self.size % (radix * SETS_BYTES) == 0 else 0.0
        )


FREE = Way(0.0, 1)


@lru_cache(maxsize=8192)
def twiddled_passes(n: int, registers: int, way: Way) -> tuple[float, tuple[int, ...]]:
    """Cheapest passes of radices whose product is n, all with twiddles: their cost and the radices, in the order of `order`."""
    if n == 1:
        return 0.0, ()
    candidates = [radix for radix in RADICES if n % radix == 0] or [prime_factors(n)[0]]
    best: tuple[float, tuple[int, ...]] = (math.inf, ())
    for radix in candidates:
        cost, rest = twiddled_passes(n // radix, registers, way)
        cost += pass_cost(radix, registers) + way.of(radix)
        if cost <= best[0]:
            best = min(best, (cost, tuple(sorted((radix, *rest), key=order))))
    return best


@lru_cache(maxsize=8192)
def passes(n: int, registers: int, way: Way) -> tuple[float, tuple[int, ...]]:
    """Cheapest passes for n points.  The last one has no twiddles."""
    best: tuple[float, tuple[int, ...]] = (math.inf, ())
    for radix in (radix for radix in RADICES if n % radix == 0):
        cost, rest = twiddled_passes(n // radix, registers, way)
        best = min(best, (cost + pass_cost(radix, registers, twiddled=False) + way.of(radix), (*rest, radix)))
    return best if best[1] else twiddled_passes(n, registers, way)


@cache
def odd_factors(n: int, registers: int, inverse: bool) -> tuple[int, ...]:
    """Radices for a line of n real points, an odd number: first, or in an inverse last, that of the real end, behind which little more than half is left.

    None where n is even or has no such radix.
    """

    def cost(radix: int) -> float:
        share = 0.7 if radix in (9, 15) else 0.5  # of a pass of complex points; a composed codelet does some work twice
        return share * pass_cost(radix, registers) + passes(n // radix, registers, FREE)[0] * (radix // 2 + 1) / radix

    candidates = [radix for radix in RADICES if n % 2 and n % radix == 0 and cost(radix) < math.inf]
    if not candidates:
        return ()
    radix = min(candidates, key=cost)
    if inverse:
        return (*twiddled_passes(n // radix, registers, FREE)[1], radix)
    return (radix, *passes(n // radix, registers, FREE)[1])


def line_passes(n: int, lanes: int, registers: int, way: Way) -> tuple[float, tuple[int, ...]]:
    """The same with neighbouring points in the lanes: the first radix is a multiple of the lanes and leaves at least as many groups."""
    best: tuple[float, tuple[int, ...]] = (math.inf, ())
    for radix in (radix for radix in RADICES if radix % lanes == 0 and n % radix == 0 and n // radix >= lanes):
        cost, rest = passes(n // radix, registers, way)
        if rest and rest[-1] in CODELETS:
            first = pass_cost(radix, registers) + TRANSPOSE * math.log2(lanes) + TWICE * (radix > lanes) + way.of(radix)
            best = min(best, (cost + first, (radix, *rest)))
    return best


def way_of(n: int, group: Group, number_bytes: int) -> Way:
    """The way of a group's points."""
    size = 2 * n * number_bytes * (1 if group.line else group.lanes)
    cost = max([0.0, *(cost for limit, cost in AWAY if 2 * size > limit)])
    return Way(round(cost + CALL * (group.lanes if group.line else 1) / n, 2), size)


def passes_of(n: int, group: Group, registers: int, number_bytes: int) -> Recipe:
    """Recipe by passes alone."""
    way = way_of(n, group, number_bytes)
    cost, factors = line_passes(n, group.lanes, registers, way) if group.line else passes(n, registers, way)
    return Recipe(factors, 0, 0, cost)


def sweeps_of(n: int, group: Group, registers: int, number_bytes: int) -> Recipe:
    """Recipe of one line by two sweeps, of transforms whose lengths are as close to one another as pays."""
    root = math.isqrt(n)
    lengths = [m for m in range(max(group.lanes, root // 4), min(n // group.lanes, 4 * root) + 1) if n % m == 0]
    best = Recipe((), 0, 0, math.inf)
    for first in lengths:
        cost = sum(side_by_side(m, group.lanes, registers, number_bytes) for m in (first, n // first))
        best = min(best, Recipe((), 0, first, cost), key=lambda how: how.cost)
    # Read and written twice, each time by way of a block.
    return best._replace(cost=best.cost + 4 * way_of(n, group, number_bytes).cost + TURN)


@lru_cache(maxsize=8192)
def side_by_side(n: int, lanes: int, registers: int, number_bytes: int) -> float:
    """Cost of the passes of as many lines as there are lanes, roughly: without a search for every length and buffer."""
    cost, factors = passes(n, registers, FREE)
    return cost + len(factors) * way_of(n, Group(False, lanes), number_bytes).cost


@lru_cache(maxsize=8192)
def direct(n: int, group: Group, registers: int, number_bytes: int, whole: bool) -> Recipe:
    """Recipe without a convolution of the whole; whole: not in sweeps."""
    best = passes_of(n, group, registers, number_bytes)
    if not group.line or whole:
        return best
    sweeps = sweeps_of(n, group, registers, number_bytes)
    return sweeps if (2 * n * number_bytes > LARGEST_WHOLE and sweeps.split) or sweeps.cost < best.cost else best


@lru_cache(maxsize=8192)
def recipe(n: int, group: Group, registers: int, number_bytes: int, whole: bool = False) -> Recipe:
    """Recipe for n points in a group; whole: not in sweeps."""
    best = direct(n, group, registers, number_bytes, whole)
    if n < SHORTEST_CONVOLUTION or max(best.factors, default=RADICES[-1] + 1) in RADICES:
        return best
    shortest, least = 2 * n - 1, 2 * (group.lanes.bit_length() - 1) if group.line else 0
    padded_lengths = [odd << max(math.ceil(math.log2(shortest / odd)), least) for odd in (1, 5)]
    cost, padded = min(
        ((2 * direct(m, group, registers, number_bytes, whole).cost + PRODUCT) * m / n + 2 * PRODUCT, m)
        for m in padded_lengths
        if m >= shortest
    )
    return best if best.cost <= CONVOLUTION * cost else Recipe((), padded, 0, CONVOLUTION * cost)


def choose_group(
    n: int,
    lines: int,
    lanes: int,
    registers: int,
    number_bytes: int,
    dense: bool,
    whole: bool = False,
    unzips: bool = False,
) -> Group:
    """Cheapest group for `lines` transforms of n points on registers of `lanes` numbers.

    dense: the points of a line are neighbours in memory; whole: as in `recipe`; unzips: the points are pairs of real ones.
    """

    def cost(group: Group) -> float:
        one = recipe(n, group, registers, number_bytes, whole).cost * n
        if group.line:
            return lines * ((one + unzips * UNZIP * n) / group.lanes + unzips * UNZIP_LINE + CALL)
        rim = 2 * TILE if dense and group.lanes > 1 else 4 * GATHER * group.lanes
        return -(-lines // group.lanes) * (one + (rim + unzips * UNZIP) * n + CALL)

    candidates = [Group(False, lanes)]
    if lanes > 1:
        candidates.append(Group(False, 1))
        candidates += [Group(True, width) for width in (lanes, lanes // 2) if dense and width > 1]
    return min(candidates, key=cost)
