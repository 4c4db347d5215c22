"""Plans: recipes turned into programs of kernels with their tables, and the geometry of the lines they work on.

A plan is plain arrays.  Building one costs its tables; kernels are compiled on first use and serve every length.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from fastspectral._jit import compiled_address
from fastspectral._plan_caches import note_tables, plan_cache
from fastspectral.kernels import bluestein, mixed_radix, rader, real
from fastspectral.kernels import program as layout
from fastspectral.kernels.lanes import Variant, lane_order, lanes_of, registers
from fastspectral.kernels.lines import scratch_words, transform_blocks, transform_groups
from fastspectral.kernels.plan_lines import OWN_WORDS, run_lines
from fastspectral.kernels.rims import CACHE_LINE, LAYOUTS
from fastspectral.kernels.roots import roots_of_one
from fastspectral.recipes import (
    FREE,
    LONGEST,
    NEAR,
    RADICES,
    Group,
    Recipe,
    Way,
    choose_group,
    convolves,
    odd_factors,
    passes,
    primitive_root,
    recipe,
)

Kind = Literal["complex", "real", "onesided", "inverse_onesided"]
Half = Literal[
    "", "float16", "bfloat16"
]  # format of numbers of 16 bits, which are computed with in float32; "" for others
FAR, BEYOND = 256 << 10, 16 << 20  # bytes of all lines that do not stay in the second-level cache, in any cache
# Lines, of at most so many bytes, of which the next one is asked for while one is worked on, if both sides together have so many: from far memory 1024 x 256
# points take 0.85 of the time then, 256 x 512 0.6 (float32); from the caches up to 1.05.
LONGEST_AHEAD, FROM_AHEAD = 16 << 10, 1 << 20
CRITICAL = 2048  # bytes between points whose multiples fall on few sets of a cache
BLOCK_BYTES = 512 << 10
# Bytes of lines side by side from which on several registers of them are worked on together wherever they lie, and the next points are asked for:
# 100 x 400 x 20 points take 0.57 of the time (float64); 256 x 1000, less than that, 1.1.
FROM_ABREAST = 6 << 20
MOST_ABREAST = 8
ROOTS_AT_A_TIME = 1 << 14  # a multiple of the lanes: temporaries of a long table would pass the table by far
INTEGER, ROW = types.intp, types.CPointer(types.int64)


class Program(NamedTuple):
    """Steps of a transform (see `kernels/program.py`), the tables that they point into, the points that a buffer must hold, and its sweeps."""

    steps: npt.NDArray[np.int64]
    tables: npt.NDArray[Any]
    points: int
    sweeps: tuple["LineTransform", ...]


def aligned(count: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Empty array that starts on a cache line."""
    size = np.dtype(dtype).itemsize
    raw = np.empty(count + 64 // size, dtype)
    start = -raw.ctypes.data % 64 // size
    return raw[start : start + count]


def in_pairs(w: npt.NDArray[np.complex128]) -> npt.NDArray[np.float64]:
    """Real and imaginary parts beside one another."""
    return np.stack([w.real, w.imag], -1)


@cache  # a look-up by types, which must be made first, takes ten times as long, and a plan has many steps
def step_address(
    kernel: Callable[..., None], bits: int, lanes: int, codelet: int | str, source: str, target: str, twiddled: bool
) -> int:
    """Address of a step compiled for a variant."""
    variant = Variant(bits, lanes, codelet, source, target, twiddled)
    return compiled_address(kernel, variant, INTEGER, INTEGER, ROW, ROW)


@cache
def rim_address(
    name: str, direction: Literal["load", "store"], bits: int, lanes: int, half: Half, scaled: bool = False
) -> int:
    """Address of the load or the store of a layout."""
    load, store = LAYOUTS[name]
    numbers, target = "reals" if "reals" in name else "pairs", "scaled" if scaled else "planes"
    variant = Variant(bits, lanes, source=f"{numbers} {half}".rstrip(), target=target)
    return compiled_address(load if direction == "load" else store, variant, ROW, *[INTEGER] * 6)


@cache
def executor_address(executor: Callable[..., None]) -> int:
    """Address of an executor."""
    return compiled_address(executor, INTEGER, INTEGER, ROW, INTEGER, INTEGER, INTEGER)


class Ends(NamedTuple):
    """Whether the program itself reads the caller's lines, and whether it writes them; else rim kernels do.

    Of halves only the rim kernels know, those of sweeps included.
    """

    reads: bool
    writes: bool


class ProgramBuilder:
    """Collects steps; the data move from one buffer to the other and back."""

    def __init__(
        self,
        bits: int,
        group: Group,
        ends: Ends,
        scale: Fraction | None,
        whole: bool = False,
        halves: tuple[Half, Half] = ("", ""),
    ) -> None:
        self.bits, self.group, self.ends = bits, group, ends
        self.scale, self.whole, self.halves = scale, whole, halves
        self.rows: list[list[int]] = []
        self.sweeps: list[LineTransform] = []
        self.known: dict[tuple[Any, ...], int] = {}
        self.tables: list[npt.NDArray[Any]] = []
        self.numbers = 0
        self.buffer = 0
        self.points = 0
        self.point_bytes = 2 * bits // 8 * (1 if group.line else group.lanes)
        # What a line is in outside the passes, and how the results leave: in the caller's lines, or where a rim kernel takes them.
        self.rim = "pairs" if group.line else "planes"
        form = "pairs results" if scale is None else "pairs scaled results"
        self.results = form if group.line or ends.writes else "planes"

    def table(self, *parts: npt.NDArray[np.float64]) -> int:
        """Keep the parts, one after the other, and return their offset in the program's tables."""
        offset = self.numbers * self.bits // 8
        # whole cache lines, and a register more: the last load of a ragged table may reach over its end
        kept = [part.astype(f"f{self.bits // 8}").ravel() for part in parts]
        size = sum(part.size for part in kept)
        padding = -size % 16 + self.group.lanes
        padding += -(padding + size) % 16
        self.tables += [*kept, np.zeros(padding, kept[0].dtype)]
        self.numbers += size + padding
        return offset

    def program(self, points: int) -> Program:
        """Finish: put the tables into one array, in the precision of the transform, and turn offsets into addresses."""
        tables = aligned(self.numbers, f"f{self.bits // 8}")
        note_tables(tables.nbytes)
        if self.tables:
            np.concatenate(self.tables, out=tables)
        steps = np.array(self.rows, np.int64).reshape(-1, layout.PROGRAM_COLUMNS)
        steps[:, [layout.TABLE, layout.ROOTS]] += tables.ctypes.data
        return Program(steps, tables, max(points, self.points), tuple(self.sweeps))

    def step(
        self,
        kernel: Callable[..., None],
        *arguments: int,
        codelet: int | str = 0,
        source: str = "planes",
        target: str = "planes",
        twiddled: bool = False,
        in_place: bool = False,
    ) -> None:
        """Append a step; `arguments` from column TABLE on; source and target as in `Variant`, and the target of the last one says that it is results."""
        reads, writes = self.places(target, in_place)
        if reads == layout.LINES:
            source = source.replace("planes", "pairs")
        form = target.replace(" results", "")
        address = step_address(kernel, self.bits, self.group.lanes, codelet, source, form, twiddled)
        self.append(address, reads, writes, *arguments)

    def places(self, target: str, in_place: bool = False) -> tuple[int, int]:
        """Where the next step reads and where it writes."""
        if self.ends.reads and not self.rows:
            reads, free = layout.LINES, 0
        elif self.buffer == layout.LINES:
            reads, free = layout.RESULTS, 0
        else:
            reads, free = self.buffer, self.buffer if in_place else 1 - self.buffer
        return reads, layout.LINES if self.ends.writes and "results" in target else free

    def append(self, *row: int) -> None:
        """Append a row of the program."""
        self.rows.append([*row] + [0] * (layout.PROGRAM_COLUMNS - len(row)))
        self.buffer = row[layout.TARGET]

    def transform(self, how: Recipe, n: int, source: str, target: str) -> None:
        """Append the complex transform of n points."""
        if how.padded:
            self.convolution(n, how.padded, source, target)
        elif how.split:
            swapped = ("swapped" in source, "swapped" in target)
            scale = self.scale if "scaled" in target else None
            halves = [
                half if place == layout.LINES else ""
                for half, place in zip(self.halves, self.places(target), strict=True)
            ]
            for sweep, end in zip(
                sweeps(n, how.split, self.bits, self.group.lanes, swapped, scale, halves),
                ("planes", target),
                strict=True,
            ):
                self.append(0, *self.places(end), 0, sweep.geometry.ctypes.data)
                self.sweeps.append(sweep)
            self.points = max(self.points, -(-n // how.split // self.group.lanes) * self.group.lanes * how.split)
        else:
            self.passes(n, how.factors, source, target)

    def passes(
        self, n: int, factors: tuple[int, ...], source: str, target: str, width: int = 1, part: tuple[int, int] = (1, 1)
    ) -> None:
        """Append Stockham passes over rows of `width` points; part (h, R): of the groups p only those with p mod R < h, where the last R are left."""
        left, done = n, width
        for number, radix in enumerate(factors):
            left //= radix
            p = np.arange(left)
            p = p[p % part[1] < part[0]]
            groups, span = len(p), done * self.point_bytes
            begin, end = source if number == 0 else "planes", target if groups == 1 else "planes"

            def twiddles(p: Any = p, radix: int = radix, left: int = left) -> npt.NDArray[np.complex128]:
                # exponents p k of exp(−2πi / (radix · left)), 1 ≤ k < radix
                return self.roots(np.outer(p, np.arange(1, radix)) % (radix * left), radix * left)

            if done == 1 and self.group.line:
                table = self.once(("first", radix, groups), lambda: self.first_twiddles(radix, groups))  # noqa: B023 - called at once
                self.step(mixed_radix.first_pass, table, groups, codelet=radix, source=begin, target=end)
            elif radix in RADICES:
                table = self.once((radix, left, *part), lambda: [in_pairs(twiddles())]) if groups > 1 else 0
                at_lines = layout.LINES in self.places(end)
                self.step(
                    mixed_radix.row_pass if at_lines and width > 1 else mixed_radix.later_pass,
                    table,
                    groups,
                    span,
                    width,
                    codelet=radix,
                    source=begin,
                    target=end,
                    twiddled=groups > 1,
                )
            elif convolves(radix, registers()):
                self.rader(radix, groups, done, twiddles())
            else:
                half = np.arange(1, radix // 2 + 1)
                roots = self.roots(np.outer(half, half) % radix, radix)
                table = self.table(in_pairs(twiddles()))
                roots_table = self.table(in_pairs(roots.conj()))
                self.step(mixed_radix.prime_pass, table, groups, span, radix, roots_table)
            done *= radix

    def roots(self, numerators: npt.NDArray[np.int64], n: int) -> npt.NDArray[np.complex128]:
        """exp(−2πi numerators / n), as exactly as the precision asks."""
        w: npt.NDArray[np.complex128] = roots_of_one(numerators, n, self.bits)
        return w

    def once(self, key: tuple[Any, ...], parts: Callable[[], Iterable[npt.NDArray[np.float64]]]) -> int:
        """Offset of a table that several passes may use: those of the two transforms of a convolution do."""
        if key not in self.known:
            self.known[key] = self.table(*parts())
        return self.known[key]

    def first_twiddles(self, radix: int, groups: int) -> Iterator[npt.NDArray[np.float64]]:
        """Twiddles (p, k) of a first pass as its registers take them, (registers of p, k, parts, lanes); some at a time, for they are as many as points."""
        lanes = self.group.lanes
        starts = np.minimum(np.arange(0, groups, lanes), groups - lanes)
        for some in np.array_split(starts, -(-starts.size // 256)):
            p = some[:, np.newaxis] + np.array(lane_order(self.bits, lanes))
            w = self.roots(p[:, np.newaxis] * np.arange(1, radix)[:, np.newaxis] % (radix * groups), radix * groups)
            yield np.stack([w.real, w.imag], 2)

    def in_lane_order(self, factors: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
        """Factors of the points of one line as whole registers take them; those of points behind the last whole one stay where they are."""
        if not self.group.line:
            return factors
        end = factors.size - factors.size % self.group.lanes
        registers = factors[:end].reshape(-1, self.group.lanes)[:, lane_order(self.bits, self.group.lanes)]
        return np.concatenate([registers.ravel(), factors[end:]])

    def odd_real(self, name: str, n: int, bins: int, conjugate: bool, results: str) -> None:
        """Append the transform of an odd number n of real points to so many bins, or the one back ("fold")."""
        factors = odd_factors(n, registers(), name == "fold")
        if name == "fold":
            radix = factors[-1]
            self.step(real.fold_lanes, 0, n // radix, n, codelet=radix)
            self.passes(n, factors[:-1], "planes", "planes", part=(radix // 2 + 1, radix))
            self.step(real.hermitian_pass, 0, n // radix, codelet=radix)
        else:
            radix, m = factors[0], n // factors[0]
            w = self.roots(np.outer(np.arange(m), np.arange(1, radix // 2 + 1)), n)
            table = self.table(np.stack([w.real, w.imag], -1))
            self.step(real.real_pass, table, m, codelet=radix, twiddled=m > 1)
            self.passes(m, factors[1:], "planes", "planes", width=radix // 2 + 1)
            self.step(real.unfold_lanes, 0, m, bins, conjugate, codelet=radix, target=results)

    def rader(self, radix: int, groups: int, done: int, w: npt.NDArray[np.complex128]) -> None:
        """Append a pass of a prime radix as a cyclic convolution (Rader); w: the twiddles of all bins but 0."""
        length, row_bytes, root = radix - 1, groups * done * self.point_bytes, primitive_root(radix)
        powers = np.array([*itertools.accumulate(range(length - 1), lambda power, _: power * root % radix, initial=1)])
        inverses = np.roll(powers[::-1], 1)
        spectrum = np.fft.fft(self.roots(inverses, radix).astype(np.clongdouble)) / length
        spectrum[0] = -1 / np.longdouble(length)  # exact, as it meets the mean of the data
        factors = passes(length, registers(), FREE)[1]
        self.step(rader.gather_rows, 0, radix, row_bytes, 0, self.table(np.append(powers, 0)))
        first = self.buffer
        self.passes(length, factors, "planes", "planes", groups * done)
        table = self.table(np.stack([spectrum.real, spectrum.imag], -1).astype(np.float64))
        away = first - self.buffer
        self.step(rader.convolve_rows, table, length, row_bytes, away, target="planes swapped", in_place=True)
        self.passes(length, factors, "planes", "planes", groups * done)
        bins = np.append(inverses, 0)
        twiddles = np.pad(w, ((0, 0), (1, 0)), constant_values=1)[:, bins]
        table = self.table(np.stack([twiddles.real, twiddles.imag], -1))
        self.step(rader.scatter_rows, table, radix, row_bytes, groups, self.table(bins), source="planes swapped")

    def convolution(self, n: int, padded: int, source: str, target: str) -> None:
        """Append Bluestein's convolution."""
        squares = np.arange(n // 2 + 1, dtype=np.int64) ** 2
        half = self.roots(squares % (2 * n), 2 * n)
        chirp = np.append(
            half, half[(n - 1) // 2 : 0 : -1] * (-1) ** n
        )  # exp(−πi k² / n), as (n − k)² = k² + n² mod 2n
        # In float64 the transform of the kernel would add a third to the error of a float64 result; a long one has the larger bound and needs the memory.
        kernel = np.zeros(padded, np.clongdouble if self.bits == 64 and padded <= 1 << 20 else np.complex128)
        kernel[:n] = chirp.conj()
        kernel[padded - n + 1 :] = chirp[:0:-1].conj()
        spectrum = (np.fft.fft(kernel) / padded).astype(np.complex128)
        inner = recipe_of(padded, self.group, self.bits, self.whole)
        between = self.rim if inner.split else "planes"
        self.product(chirp, padded, source, self.rim)
        self.transform(inner, padded, self.rim, between)
        # exchanged on the way into the second transform and out of it: an inverse
        self.product(spectrum, padded, between, f"{self.rim} swapped")
        self.transform(inner, padded, self.rim, self.rim)
        self.product(chirp, n, f"{self.rim} swapped", target)

    def product(self, factors: npt.NDArray[np.complex128], points: int, source: str, target: str) -> None:
        """Append a multiplication of every point by its factor, with zeros behind up to `points`."""
        count = factors.size
        kernel = bluestein.product_line if self.group.line else bluestein.product_lanes
        w = self.in_lane_order(factors)
        address = self.table(w.real, w.imag)
        self.step(kernel, address, count, count * self.bits // 8, points, source=source, target=target)

    def half_roots(self, n: int) -> int:
        """Table of exp(−2πi k/n) / 2 for k = 0..n/4."""
        starts = [0, *range(1, n // 4 + 1, ROOTS_AT_A_TIME), n // 4 + 1]
        pieces = [
            self.in_lane_order(self.roots(np.arange(begin, end), n) / 2) for begin, end in itertools.pairwise(starts)
        ]
        return self.table(*(w.real for w in pieces), *(w.imag for w in pieces))


class Shape(NamedTuple):
    """What an algorithm reads and writes: the length of its complex transform, points loaded and stored, and how real data are taken."""

    length: int
    fill: int
    stored: int
    source: Literal["pairs", "reals as pairs", "reals"]
    target: Literal["pairs", "reals as pairs", "reals"]


def algorithm(kind: Kind, n: int, inverse: bool) -> str:
    """How a transform is brought back to a complex one."""
    if kind == "complex":
        return "complex"
    if kind == "inverse_onesided":
        return "rezip" if n % 2 == 0 else "fold" if odd_factors(n, registers(), True) else "hermitian"
    if odd_factors(n, registers(), False):
        return "unfold" if kind == "onesided" else "unfold_full"
    if n % 2 or inverse:
        return "reals" if kind == "onesided" else "reals_full"
    return "unzip" if kind == "onesided" else "unzip_full"


def shape_of(name: str, n: int) -> Shape:
    """Shape of an algorithm for n points."""
    half, bins = n // 2, n // 2 + 1
    shapes: dict[str, Shape] = {
        "complex": Shape(n, n, n, "pairs", "pairs"),
        "unzip": Shape(half, half, bins, "reals as pairs", "pairs"),
        "unzip_full": Shape(half, half, n, "reals as pairs", "pairs"),
        "reals": Shape(n, n, bins, "reals", "pairs"),
        "reals_full": Shape(n, n, n, "reals", "pairs"),
        "rezip": Shape(half, bins, half, "pairs", "reals as pairs"),
        "hermitian": Shape(n, n, n, "pairs", "reals"),
        "unfold": Shape(n, bins, bins, "reals as pairs", "pairs"),
        "unfold_full": Shape(n, bins, n, "reals as pairs", "pairs"),
        "fold": Shape(n, bins, n, "pairs", "reals"),
    }
    return shapes[name]


def recipe_of(length: int, group: Group, bits: int, whole: bool = False) -> Recipe:
    """Recipe of a complex transform in a group; whole: without sweeps."""
    return recipe(length, group, registers(), bits // 8, whole)


def possible_ends(name: str, how: Recipe, windowed: bool, group: Group, halves: tuple[Half, Half] = ("", "")) -> Ends:
    """Which ends of a program can be at the caller's lines, if they are dense and whole."""
    elsewhere = how.padded > 0 or how.split > 0
    reads = name in ("rezip", "fold") or (
        name in ("complex", "unzip", "unzip_full") and (how.factors[0] in RADICES if how.factors else elsewhere)
    )
    writes = name in ("unzip", "unfold", "unfold_full") or (name == "unzip_full" and group.line)
    writes = writes or (name in ("complex", "rezip") and (how.factors[-1] in RADICES if how.factors else elsewhere))
    if halves[0]:
        reads = how.split > 0 and name in ("complex", "unzip", "unzip_full")
    if halves[1]:
        writes = how.split > 0 and name in ("complex", "rezip")
    return Ends(reads and (not windowed or group.line), writes)


@plan_cache(256)
def program(
    name: str,
    n: int,
    bits: int,
    group: Group,
    ends: Ends,
    inverse: bool,
    scale: Fraction | None,
    windowed: bool,
    whole: bool,
    halves: tuple[Half, Half] = ("", ""),
) -> Program:
    """Program of an algorithm; scale: the factor of its results, if any; whole: without sweeps; halves: of the lines that the program reads and writes.

    If `windowed`, the window's address is to be put into its first step: WINDOW for one line, TABLE for several.
    """
    shape, build = shape_of(name, n), ProgramBuilder(bits, group, ends, scale, whole, halves)
    how = recipe_of(shape.length, group, bits, whole)
    half_roots = build.half_roots(n) if "zip" in name else 0
    swapped = " swapped" if inverse and name in ("complex", "rezip") else ""
    # Planes are swapped by the rim kernels, so that steps see them in order.
    entry, results = (
        end + swapped if "pairs" in end or ends_at_lines else end
        for end, ends_at_lines in ((build.rim, ends.reads), (build.results, ends.writes))
    )
    if windowed and group.line:
        entry += " weighted"
    elif windowed:
        build.step(bluestein.weigh_lanes, 0, shape.fill, shape.fill * bits // 8, in_place=True)
    # A long line is in the caller's memory in between, too, where there is room for it: one buffer less.
    between = "pairs results" if how.split and ends.writes and not halves[1] else build.rim
    if name == "complex":
        build.transform(how, n, entry, results)
    elif name in ("unzip", "unzip_full"):
        build.transform(how, n // 2, entry, between)
        mirror = n if name == "unzip_full" and group.line else 0
        unzip = real.unzip_line if group.line else real.unzip_lanes
        build.step(
            unzip,
            half_roots,
            n // 2,
            mirror,
            codelet="unzip",
            source=build.rim,
            target=build.results if name == "unzip" or group.line else "planes",
        )
    elif name == "rezip":
        rezip = real.rezip_line if group.line else real.rezip_lanes
        build.step(rezip, half_roots, n // 2, codelet="rezip", source=build.rim, target=f"{between}{swapped}")
        build.transform(how, n // 2, build.rim, results)
    elif "fold" in name:
        build.odd_real(name, n, shape.stored, inverse, build.results)
    if name == "hermitian":
        build.step(real.mirror_lanes, 0, n // 2, n, True, in_place=True)
    if shape.source == "reals" or name == "hermitian":
        build.transform(how, n, "planes", "planes")
    if name in ("reals", "reals_full") or (name == "unzip_full" and not group.line):
        build.step(real.mirror_lanes, 0, 0 if name == "reals" else (n - 1) // 2, n, inverse, in_place=True)
    return build.program(max(shape.length, shape.fill, shape.stored, how.padded) + group.lanes)


class Lines(NamedTuple):
    """Where lines lie: line (i, j) of outer × inner starts at i × outer_bytes + j × inner_bytes, its points are step_bytes apart.  And whether of halves."""

    outer: int
    inner: int
    outer_bytes: int
    inner_bytes: int
    step_bytes: int
    half: Half = ""

    def dense_bytes(self, form: str, bits: int) -> int:
        """Bytes of what stands for a point in dense lines of a form (see `Shape`): a number, or a pair of them."""
        return (2 if self.half else bits // 8) * (2 if form == "pairs" else 1)


class LineTransform(NamedTuple):
    """All that the executor needs but the addresses of the data."""

    geometry: npt.NDArray[np.int64]
    address: int  # of the geometry
    scratch_words: int
    buffer_words: (
        int  # of the scratch, where the transform is one line whose sweeps can be shared among threads, else 0
    )
    work: int  # points of all lines
    # For full and for ragged groups; these and the next keep alive what the geometry points at.
    programs: tuple[Program, Program]
    scale: npt.NDArray[Any]


def describe(plan: LineTransform, kind: Kind, n: int, inverse: bool, bits: int, *, whole: bool = False) -> str:
    """Say in a line how transforms of n points are done; whole: without sweeps, as with a window."""
    name = algorithm(kind, n, inverse)
    length = shape_of(name, n).length
    lanes, point_lanes = int(plan.geometry[layout.LANES]), int(plan.geometry[layout.POINT_LANES])
    group = Group(point_lanes > 1, point_lanes if point_lanes > 1 else lanes)
    how = recipe_of(length, group, bits, whole)
    odd = odd_factors(n, registers(), inverse) if "fold" in name else ()
    if how.padded and not odd:
        text = f"a convolution of {how.padded} points"
    elif how.split:
        text = f"two sweeps, of {how.split} and {length // how.split} points"
    else:
        text = f"{length} = {' · '.join(map(str, odd or how.factors)) or '1'}"
    return f"{text}, {f'{lanes} lines at a time' if lanes > 1 else 'line by line'}"


def far_apart(shape: "Shape", sides: tuple[Lines, Lines], bits: int, group: Group) -> bool:
    """Whether lines side by side are worked on in blocks.

    Where their points fall on few sets of the cache (512 x 512: 0.8 of the time), or all are beyond the caches (30 x 128 x 1000: 0.7); else the copies cost up
    to a quarter more.
    """
    if group.line or group.lanes == 1:
        return False
    for form, lines in zip((shape.source, shape.target), sides, strict=True):
        if lines.inner < group.lanes or lines.inner_bytes != lines.dense_bytes(form, bits):
            return False
    size = sides[0].outer * sides[0].inner * shape.length * sides[0].dense_bytes("pairs", bits)
    return size > BEYOND or (size > FAR and any(lines.step_bytes % CRITICAL == 0 for lines in sides))


def rim(form: str, lines: Lines, bits: int, group: Group, blocks: bool = False) -> tuple[str, str, int, int]:
    """Layouts for full and for ragged groups, and the bytes between points and between the parts of a pair; blocks: there are no ragged groups."""
    point = lines.dense_bytes(form, bits)
    if form == "reals":
        name = "tiled reals" if lines.step_bytes == point and group.lanes > 1 else "reals"
        return name, name, lines.step_bytes, 0
    step, part = lines.step_bytes, point // 2
    if form == "reals as pairs":
        step, part = 2 * lines.step_bytes, lines.step_bytes
    if lines.step_bytes == point and (group.line or group.lanes > 1):
        dense = "line" if group.line else "tiled"
        return dense, dense, step, part
    anywhere = "scattered" if form == "pairs" and group.lanes > 1 else "gathered"
    if lines.inner_bytes == point and lines.inner >= group.lanes > 1:
        near = "natural" if form == "pairs" else "neighbours"
        return near, near if blocks else anywhere, step, part
    return anywhere, anywhere, step, part


@lru_cache(maxsize=256)
def two_numbers(factor: Fraction, bits: int) -> npt.NDArray[Any]:
    """A positive factor as the sum of two numbers: one alone would be off by up to half an eps, and every result with it.

    Both have one sign, and the second one is not 0: inf − inf and 0 × inf are NaN.  At 2^-17 eps of the first it is lost in rounding.
    """
    real = np.dtype(f"f{bits // 8}").type
    first = real(float(factor))
    if Fraction(float(first)) > factor:
        first = np.nextafter(first, real(0))
    second = float(factor - Fraction(float(first)))
    numbers = np.array([first, second or first * np.finfo(real).eps * 2.0**-17], real)
    numbers.flags.writeable = False  # plans share it
    return numbers


@plan_cache(256)
def line_transform(
    kind: Kind,
    n: int,
    keep: int,
    inverse: bool,
    bits: int,
    source: Lines,
    target: Lines,
    windowed: bool = False,
    stored: int = 0,
    scale: Fraction | None = None,
    rescaled: bool = False,
) -> LineTransform:
    """Plan a transform of all lines of `source` into those of `target`.

    keep: points of each line that are read; bits: 32 or 64; stored: points of each line that are written where not all are wanted; scale: the factor of the
    results, by default 1/n of an inverse; rescaled: the geometry will be given other ones.
    """
    name = algorithm(kind, n, inverse)
    if scale is None and inverse:
        scale = Fraction(1, n)
    if name == "complex" and not (windowed or stored or rescaled):
        sides = (n, keep, inverse, bits, source, target, scale)
        bundle = abreast(*sides) or bundled(*sides)
        if bundle is not None:
            return bundle
    shape = shape_of(name, n)
    dense = all(
        form != "reals" and lines.step_bytes == lines.dense_bytes(form, bits)
        for form, lines in ((shape.source, source), (shape.target, target))
    )
    lines = source.outer * source.inner
    # A window is put into the first step; the factor of a plan for the user's own code into the last one.
    whole = windowed or rescaled
    dense = dense and "fold" not in name  # whose lines stand side by side
    group = choose_group(shape.length, lines, lanes_of(bits), registers(), bits // 8, dense, whole, "zip" in name)
    blocks = not dense and far_apart(shape, (source, target), bits, group)
    load, load_ragged, source_step, source_part = rim(shape.source, source, bits, group, blocks)
    store, store_ragged, target_step, target_part = rim(shape.target, target, bits, group, blocks)
    run = source.inner if blocks or load != load_ragged or store != store_ragged else lines
    written = (stored or shape.stored) * (2 if shape.target == "reals as pairs" else 1)
    halves = (source.half, target.half)
    complete = keep == {"pairs": shape.fill, "reals as pairs": 2 * shape.fill, "reals": 0}[shape.source]
    possible = possible_ends(name, recipe_of(shape.length, group, bits, whole), windowed, group, halves)
    ends = Ends(
        possible.reads and complete and load in ("line", "natural"),
        possible.writes and not stored and store in ("line", "natural"),
    )
    ragged_ends = Ends(ends.reads and load_ragged == load, ends.writes and store_ragged == store)
    if scale is not None and name == "rezip":
        scale *= 2  # of n real points as n / 2 complex ones
    programs = [
        program(name, n, bits, group, which, inverse, scale, windowed, whole, halves) for which in (ends, ragged_ends)
    ]
    exchanged = not group.line and inverse  # the steps of one line exchange by themselves
    return assembled(
        programs,
        (ends, ragged_ends),
        Side(source, (load, load_ragged), source_step, source_part, exchanged and name == "complex", blocks * keep),
        Side(
            target,
            (store, store_ragged),
            target_step,
            target_part,
            exchanged and name in ("complex", "rezip"),
            blocks * written,
        ),
        bits=bits,
        group=group,
        run=run,
        counts=(2 * keep if shape.source == "pairs" else keep, shape.fill, stored or shape.stored),
        scale=two_numbers(scale or Fraction(1), bits),
        scaled=scale is not None,
        overlap=layout.BOTH_SIDES if load != load_ragged and store != store_ragged else 0,
    )


def abreast(
    n: int, keep: int, inverse: bool, bits: int, source: Lines, target: Lines, scale: Fraction | None
) -> LineTransform | None:
    """Plan of complex lines side by side, several registers of which are worked on together; None where that is not possible or does not pay.

    The first pass reads and the last one writes whole runs of neighbours, so that nothing is copied: 512 x 512 take 0.75 of the time of blocks.
    """
    group, point = Group(False, lanes_of(bits)), source.dense_bytes("pairs", bits)
    size = source.outer * source.inner * n * point
    critical = any(lines.step_bytes % CRITICAL == 0 for lines in (source, target))
    if keep < n or source.half or target.half or size <= (FAR if critical else FROM_ABREAST):
        return None
    if any(lines.inner_bytes != point or lines.step_bytes < source.inner * point for lines in (source, target)):
        return None
    most = min(MOST_ABREAST, BLOCK_BYTES // (2 * n * group.lanes * point))
    widths = [width for width in range(2, most + 1) if source.inner % (width * group.lanes) == 0]
    factors = passes(n, registers(), Way(NEAR, n * source.step_bytes))[1]
    if not widths or group.lanes == 1 or not all(end in RADICES for end in factors[:1] + factors[-1:]):
        return None
    ends, width, swapped = Ends(True, True), widths[-1], " swapped" if inverse else ""
    build = ProgramBuilder(bits, group, ends, scale)
    build.passes(n, factors, build.rim + swapped, build.results + swapped, width)
    sides = (Side(lines, ("natural",) * 2, lines.step_bytes, point // 2, False) for lines in (source, target))
    return assembled(
        (build.program(n * width + group.lanes),) * 2,
        (ends,) * 2,
        *sides,
        bits=bits,
        group=group,
        run=source.inner,
        counts=(2 * n, n, n),
        scale=two_numbers(scale or Fraction(1), bits),
        scaled=scale is not None,
        overlap=0,
        abreast=width,
        points_ahead=size > FROM_ABREAST,
    )


def bundled(
    n: int, keep: int, inverse: bool, bits: int, source: Lines, target: Lines, scale: Fraction | None
) -> LineTransform | None:
    """Plan of complex lines that lie interleaved, fewer of them than lanes; None where lines lie otherwise.

    All lines of a bundle are taken as one line of so many times as many points, of which each pass takes that many neighbours at a time; in the lanes are
    several bundles.  Line by line every number would have to be fetched by itself (1000 x 64 x 3: 1.4 times the time).
    """
    lanes, point, width = lanes_of(bits), source.dense_bytes("pairs", bits), source.inner
    group = Group(False, lanes)
    if not (1 < width < lanes <= source.outer and n * width * lanes * 2 * bits // 8 <= BLOCK_BYTES):
        return None
    if any(lines.inner_bytes != point or lines.step_bytes != width * point for lines in (source, target)):
        return None
    how = recipe_of(n, group, bits)
    if not how.factors:
        return None
    ends = Ends(False, False)
    build = ProgramBuilder(bits, group, ends, scale)
    build.passes(n, how.factors, "planes", "planes", width)
    program = build.program(n * width + lanes)
    sides = (
        Side(Lines(1, lines.outer, 0, lines.outer_bytes, point, lines.half), ("tiled",) * 2, point, point // 2, inverse)
        for lines in (source, target)
    )
    return assembled(
        (program,) * 2,
        (ends,) * 2,
        *sides,
        bits=bits,
        group=group,
        run=source.outer,
        counts=(2 * keep * width, n * width, n * width),
        scale=two_numbers(scale or Fraction(1), bits),
        scaled=scale is not None,
        overlap=0,
    )


class Side(NamedTuple):
    """Lines that are read or written: their layout in full and in ragged groups, the bytes between points and between parts, and whether parts are exchanged.

    copied: points of each line if blocks of lines are copied to memory of their own, else 0.
    """

    lines: Lines
    layouts: tuple[str, str]
    step: int
    part: int
    exchanged: bool
    copied: int = 0


def assembled(
    programs: Sequence[Program],
    ends: tuple[Ends, Ends],
    source: Side,
    target: Side,
    *,
    bits: int,
    group: Group,
    run: int,
    counts: tuple[int, int, int],
    scale: npt.NDArray[Any],
    scaled: bool,
    overlap: int,
    numbered: bool = False,
    abreast: int = 1,
    points_ahead: bool = False,
) -> LineTransform:
    """Programs, for full and for ragged groups, and sides put together; counts: numbers that are read, points that are loaded and stored.

    overlap, numbered, points_ahead: as in the geometry; abreast: registers of lines that are worked on together.
    """
    width = (1 if group.line else group.lanes) * abreast
    blocks = block_of((source, target), run, group)
    # an odd number of cache lines, so that the same point of both buffers does not fall on the same cache set
    buffer_bytes = (programs[0].points * (width // abreast) * 2 * bits // 8 // CACHE_LINE | 1) * CACHE_LINE + 128
    words = [0] * layout.GEOMETRY_SIZE  # a list, for to set a number of an array takes ten times as long
    for number, way in enumerate((0, layout.RAGGED)):
        if not ends[number].reads:
            words[way + layout.LOAD] = rim_address(source.layouts[number], "load", bits, group.lanes, source.lines.half)
        if not ends[number].writes:
            words[way + layout.STORE] = rim_address(
                target.layouts[number], "store", bits, group.lanes, target.lines.half, scaled
            )
        steps = programs[number].steps
        words[way + layout.PROGRAM], words[way + layout.STEPS] = steps.ctypes.data, len(steps)
    words[layout.OUTER : layout.LANES + 1] = source.lines.outer, source.lines.inner, run, width
    plane = group.lanes * bits // 8
    for first, parts, side in (
        (layout.SOURCE_OUTER_BYTES, layout.LOAD_REAL, source),
        (layout.TARGET_OUTER_BYTES, layout.STORE_REAL, target),
    ):
        step, part = side.step, side.part
        if side.copied:
            row = block_row(side, group, blocks)
            step, part = step // side.lines.step_bytes * row, row if part == side.lines.step_bytes else part
        register = 2 * plane if group.line else step
        words[first : first + 5] = side.lines.outer_bytes, side.lines.inner_bytes, step, part, register
        words[parts : parts + 2] = (plane, -plane) if side.exchanged else (0, plane)
    words[layout.KEEP : layout.BUFFER_BYTES + 1] = *counts, buffer_bytes
    executor = executor_address(transform_groups)
    words[layout.EXECUTOR], words[layout.SCALE] = executor, scale.ctypes.data
    words[layout.POINT_LANES] = group.lanes if group.line else 1
    words[layout.OVERLAP] = overlap
    line_bytes = counts[1] * 2 * bits // 8
    words[layout.POINTS_AHEAD] = points_ahead
    if (
        group.line
        and line_bytes <= LONGEST_AHEAD
        and 2 * line_bytes * source.lines.outer * source.lines.inner > FROM_AHEAD
    ):
        words[layout.AHEAD] = -(-line_bytes // CACHE_LINE)
    scratch = scratch_words(buffer_bytes, width) + max((sweep.scratch_words for sweep in programs[0].sweeps), default=0)
    work = source.lines.outer * source.lines.inner * counts[1]
    words[layout.UNITS] = source.lines.outer * source.lines.inner // run * -(-run // width)
    if blocks:
        sizes = [block_row(side, group, blocks) * side.copied for side in (source, target)]
        # A group may put its results where it came from if they have the same form.
        apart = 0 if source.lines.inner_bytes == target.lines.inner_bytes else sizes[0]
        size = max(sizes[0], apart + sizes[1])
        words[layout.UNITS] = source.lines.outer * -(-run // (blocks * width))
        words[layout.BLOCK], words[layout.FAR_RUN], words[layout.WITHIN] = blocks, run, executor
        words[layout.EXECUTOR] = executor_address(transform_blocks)
        words[layout.BLOCK_BYTES], words[layout.BLOCK_RESULTS] = size, apart
        for first, side in ((layout.SOURCE_ROWS, source), (layout.TARGET_ROWS, target)):
            words[first : first + 3] = side.copied, side.lines.step_bytes, block_row(side, group, blocks)
        words[layout.NUMBERED] = numbered
        if not numbered:
            words[layout.INNER] = words[layout.RUN] = blocks * width
        scratch += size // 8 + CACHE_LINE // 8 - 1  # which it begins with a whole one of
    shared = programs[0].sweeps and words[layout.UNITS] == 1
    buffer_words = buffer_bytes // 8 if shared else 0
    geometry = np.array(words, np.int64)
    return LineTransform(geometry, geometry.ctypes.data, scratch, buffer_words, work, (programs[0], programs[1]), scale)


def block_row(side: Side, group: Group, blocks: int) -> int:
    """Bytes between points of the lines of a block: an odd number of cache lines."""
    return (-(-blocks * group.lanes * side.lines.inner_bytes // CACHE_LINE) | 1) * CACHE_LINE


def block_of(sides: tuple[Side, Side], run: int, group: Group) -> int:
    """Groups in a block, 0 if nothing is copied: as many as memory of BLOCK_BYTES takes, two to eight."""
    size = max(group.lanes * side.lines.inner_bytes * side.copied for side in sides)
    return min(max(2, min(8, BLOCK_BYTES // size)), -(-run // group.lanes)) if size else 0


def sweeps(
    n: int,
    first: int,
    bits: int,
    lanes: int,
    swapped: tuple[bool, bool],
    scale: Fraction | None,
    halves: Sequence[Half],
) -> tuple[LineTransform, LineTransform]:
    """The two sweeps of one line of n = first · second points (Gentleman & Sande 1966; Bailey, "FFTs in external or hierarchical memory", 1990).

    With j = j₁ · second + j₂ and k = k₁ + first · k₂: transforms over j₁, for neighbours j₂ side by side, times exp(−2πi j₂ k₁ / n); then over j₂, for
    neighbours k₁ side by side.  Far memory is read and written twice, whatever n.  swapped: parts are exchanged where pairs are read, where they are written;
    halves: which ones these pairs are of.
    """
    second, group = n // first, Group(False, lanes)
    starts = np.minimum(np.arange(0, second, lanes), second - lanes)
    k = np.arange(first)
    of_lanes = roots_of_one(np.outer(k, lane_order(bits, lanes)) % n, n, bits)
    of_groups = roots_of_one(np.outer(starts, k) % n, n, bits)
    near, far = np.stack([of_lanes.real, of_lanes.imag], 1), np.stack([of_groups.real, of_groups.imag], -1)
    factors = aligned(near.size + far.size, f"f{bits // 8}")
    factors[: near.size], factors[near.size :] = near.ravel(), far.ravel()
    point = 2 * bits // 8
    block = lanes * point
    x, y = (4 if half else point for half in halves)
    columns, rows = Lines(1, second, 0, x, second * x, halves[0]), Lines(1, first, 0, y, first * y, halves[1])
    middle, middle_rows = Lines(1, second, 0, first * point, 0), Lines(1, first, 0, block, 0)
    reads = possible_ends("complex", recipe_of(first, group, bits), False, group).reads and not halves[0]
    writes = possible_ends("complex", recipe_of(second, group, bits), False, group).writes and not halves[1]
    down, up = Ends(reads, False), Ends(False, writes)
    in_blocks = n * point > FAR
    return (
        assembled(
            (program("complex", first, bits, group, down, swapped[0], None, False, True),) * 2,
            (down, down),
            Side(columns, ("natural",) * 2, columns.step_bytes, x // 2, swapped[0], in_blocks * first),
            Side(middle, ("turned",) * 2, near.size * bits // 8, 0, False),
            bits=bits,
            group=group,
            run=second,
            counts=(2 * first, first, first),
            scale=factors,
            scaled=False,
            overlap=layout.SOURCE_SIDE,
            numbered=True,
        ),
        assembled(
            (program("complex", second, bits, group, up, swapped[1], scale, False, True),) * 2,
            (up, up),
            Side(middle_rows, ("turned",) * 2, first * block, 0, False),
            Side(rows, ("natural",) * 2, rows.step_bytes, y // 2, swapped[1], in_blocks * second),
            bits=bits,
            group=group,
            run=first,
            counts=(2 * second, second, second),
            scale=two_numbers(scale or Fraction(1), bits),
            scaled=scale is not None,
            overlap=layout.BOTH_SIDES,
            numbered=True,
        ),
    )


def window_table(plan: LineTransform, w: npt.NDArray[Any], dtype: np.dtype[Any], size: int) -> npt.NDArray[Any]:
    """The window for the first step of a plan of frames, which are all alike, in numbers of `size` bytes.

    The factors stand as the numbers of a frame do (two real samples are a point, if so planned; else each counts twice), or, where several frames are side
    by side, those of the real parts of all points in front of those of the imaginary parts.
    """
    points = int(plan.geometry[layout.FILL])
    factors = np.zeros(2 * points, dtype)
    with np.errstate(over="ignore"):
        numbers = np.repeat(w.astype(dtype, copy=False), 1 if points < w.size else 2)
    factors[: numbers.size] = numbers
    table = aligned(factors.size, f"f{size}")
    if window_column(plan) == layout.WINDOW:
        table[...] = factors
    else:
        table.reshape(2, -1)[...] = factors.reshape(-1, 2).T
    return table


def window_column(plan: LineTransform) -> int:
    """Where the first step has the address of the window."""
    return layout.WINDOW if plan.geometry[layout.POINT_LANES] > 1 else layout.TABLE


def with_steps(plan: LineTransform, steps: npt.NDArray[np.int64], tables: npt.NDArray[Any]) -> LineTransform:
    """The plan with other steps, for full and for ragged groups."""
    geometry = plan.geometry.copy()
    geometry[[layout.PROGRAM, layout.RAGGED + layout.PROGRAM]] = steps.ctypes.data
    programs = (plan.programs[0]._replace(steps=steps, tables=tables),) * 2
    return plan._replace(geometry=geometry, address=geometry.ctypes.data, programs=programs)


def with_window(plan: LineTransform, w: npt.NDArray[Any], dtype: np.dtype[Any], size: int) -> LineTransform:
    """The plan of frames with the window put into its first step."""
    table, steps = window_table(plan, w, dtype, size), plan.programs[0].steps.copy()
    steps[0, window_column(plan)] = table.ctypes.data
    windowed = with_steps(plan, steps, table)
    return windowed._replace(programs=(windowed.programs[0], plan.programs[0]))  # which holds the other tables


def with_window_inside(plan: LineTransform, w: npt.NDArray[Any]) -> LineTransform:
    """The same, with the window behind the other tables: a plan that needs no other one."""
    old = plan.programs[0]
    table = window_table(plan, w, w.dtype, w.itemsize)
    tables = aligned(old.tables.size + table.size, w.dtype)
    tables[: old.tables.size], tables[old.tables.size :] = old.tables, table
    steps = old.steps.copy()
    steps[:, [layout.TABLE, layout.ROOTS]] += tables.ctypes.data - old.tables.ctypes.data
    steps[0, window_column(plan)] = tables.ctypes.data + old.tables.nbytes
    return with_steps(plan, steps, tables)


class FFTPlan(NamedTuple):
    """Transforms of n points, for calls from the user's own @njit code; its Numba type is the same for all.

    Made by `fft_plan`.  Holds addresses, which are of no use to another process: a pickled plan is made anew where it is unpickled.
    """

    n: int
    bits: int
    entry: int  # address of `run_lines`
    # Complex, its inverse, one-sided, its inverse; for one line, then for many: (8, GEOMETRY_SIZE).
    geometries: npt.NDArray[np.int64]
    scratch_words: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _fft_plan, (self.n, self.bits)

    def __repr__(self) -> str:
        names = [
            f"{kind}, {count}"
            for count in ("one line", "many")
            for kind in ("complex", "inverse", "real", "inverse real")
        ]
        lines = []
        for name, geometry in zip(names, self.geometries, strict=True):
            length = self.n if not name.split(",")[0].endswith("real") or self.n % 2 else self.n // 2
            lanes = int(geometry[layout.LANES])
            group = Group(
                geometry[layout.POINT_LANES] > 1,
                int(geometry[layout.POINT_LANES]) if geometry[layout.POINT_LANES] > 1 else lanes,
            )
            how = recipe_of(length, group, self.bits, whole=True)
            odd = odd_factors(length, registers(), "inverse" in name) if "real" in name else ()
            text = " · ".join(map(str, odd or how.factors)) or "copy"
            if how.padded and not odd:
                text = f"convolution of {how.padded} points"
            lines.append(f"{name}: {length} = {text}, " + (f"{lanes} lines at a time" if lanes > 1 else "line by line"))
        return f"FFTPlan of {self.n} points, float{self.bits}\n  " + "\n  ".join(lines)


@plan_cache(256)
def _fft_plan(n: int, bits: int) -> FFTPlan:
    size = bits // 8
    transforms = []
    for count in (1, 64):
        points, real = Lines(1, count, 0, n * 2 * size, 2 * size), Lines(1, count, 0, n * size, size)
        spectrum = Lines(1, count, 0, (n // 2 + 1) * 2 * size, 2 * size)
        transforms += [
            line_transform("complex", n, n, False, bits, points, points, scale=Fraction(1), rescaled=True),
            line_transform("complex", n, n, True, bits, points, points, rescaled=True),
            line_transform("onesided", n, n, False, bits, real, spectrum, scale=Fraction(1), rescaled=True),
            line_transform("inverse_onesided", n, n // 2 + 1, True, bits, spectrum, real, rescaled=True),
        ]
    return FFTPlan(n, bits, entry_address(bits), in_one_piece(transforms), words_of(transforms))


def entry_address(bits: int) -> int:
    """Address of `run_lines` for numbers of so many bits."""
    factor = types.CPointer(types.float32 if bits == 32 else types.float64)
    return compiled_address(run_lines, ROW, factor, *[INTEGER] * 9, types.float64)


def words_of(transforms: list[LineTransform]) -> int:
    """Scratch that `run_lines` needs for any of the transforms."""
    return OWN_WORDS + max(t.scratch_words for t in transforms)


class STFTPlan(NamedTuple):
    """Short-time Fourier transforms of real signals, for calls from the user's own @njit code; its Numba type depends on the precision only.

    Made by `stft_plan`.  Holds addresses, which are of no use to another process: a pickled plan is made anew where it is unpickled.
    """

    frame_length: int
    frame_step: int
    bins: int
    window: npt.NDArray[Any]
    entry: int  # address of `run_lines`
    geometries: npt.NDArray[np.int64]  # for one frame, then for many: (2, GEOMETRY_SIZE)
    scratch_words: int

    def __reduce__(self) -> tuple[Any, ...]:
        return windowed_plan, (self.frame_step, self.window, self.bins < self.frame_length)

    def __repr__(self) -> str:
        frames = f"frames of {self.frame_length} samples, a step of {self.frame_step}, {self.bins} bins"
        return f"STFTPlan of {frames}, {self.window.dtype}"


def windowed_plan(frame_step: int, window: npt.NDArray[Any], onesided: bool) -> STFTPlan:
    """Plan of the frames under a window of float32 or float64."""
    n, size = window.size, window.itemsize
    bins, transforms = n // 2 + 1 if onesided else n, []
    for count in (1, 64):
        frames = Lines(1, count, 0, frame_step * size if count > 1 else 0, size)
        spectra = Lines(1, count, 0, bins * 2 * size, 2 * size)
        kind: Kind = "onesided" if onesided else "real"
        plan = line_transform(kind, n, n, False, 8 * size, frames, spectra, windowed=True)
        transforms.append(with_window_inside(plan, window))
    entry = entry_address(8 * size)
    return STFTPlan(n, frame_step, bins, window, entry, in_one_piece(transforms), words_of(transforms))


def in_one_piece(transforms: list[LineTransform]) -> npt.NDArray[np.int64]:
    """The geometries of the transforms, copied together with their programs and tables, so that who holds the array holds them all."""
    pieces: dict[int, Program] = {}  # by the address of the steps: a program may serve several times
    for t in transforms:
        pieces |= {p.steps.ctypes.data: p for p in t.programs}
    start = -(-len(transforms) * layout.GEOMETRY_SIZE // 8) * 8  # in words; every piece on a cache line of its own
    sizes = [-(-a.nbytes // 64) * 8 for p in pieces.values() for a in (p.steps, p.tables)]
    memory = aligned(start + sum(sizes), np.int64)
    note_tables(memory.nbytes)
    geometries = memory[: len(transforms) * layout.GEOMETRY_SIZE].reshape(-1, layout.GEOMETRY_SIZE)
    geometries[...] = [t.geometry for t in transforms]
    columns = geometries[:, [layout.PROGRAM, layout.RAGGED + layout.PROGRAM]]
    for old, piece, steps_size, tables_size in zip(pieces, pieces.values(), sizes[::2], sizes[1::2], strict=True):
        steps = memory[start : start + piece.steps.size].reshape(piece.steps.shape)
        tables = memory[start + steps_size : start + steps_size + tables_size].view(piece.tables.dtype)
        tables[: piece.tables.size] = piece.tables
        steps[...] = piece.steps
        steps[:, [layout.TABLE, layout.ROOTS]] += tables.ctypes.data - piece.tables.ctypes.data
        columns[columns == old] = steps.ctypes.data
        start += steps_size + tables_size
    geometries[:, [layout.PROGRAM, layout.RAGGED + layout.PROGRAM]] = columns
    return geometries


def fft_plan(n: int, dtype: npt.DTypeLike) -> FFTPlan:
    """Plan of transforms of n points, to be handed to the kernels in `fastspectral.kernels` from @njit code.

    Parameters
    ----------
    n : int > 0
        Transform length.
    dtype : dtype
        float32 or complex64, float64 or complex128: the precision.

    Returns
    -------
    FFTPlan
        Cached; ``print(plan)`` shows how the transforms are done.

    Raises
    ------
    ValueError
        If ``n < 1`` or n is above 2^26, where tables pass the memory of most machines.
    TypeError
        If `n` is no integer or `dtype` another one.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import njit
    >>> from fastspectral import fft_plan, kernels
    >>> @njit
    ... def spectra(frames, plan):
    ...     out = np.empty((frames.shape[0], plan.n // 2 + 1), np.complex64)
    ...     kernels.rfft_lines(frames, out, 1.0, plan)
    ...     return out
    >>> spectra(np.ones((2, 4), np.float32), fft_plan(4, np.float32))
    array([[4.+0.j, 0.+0.j, 0.+0.j],
           [4.+0.j, 0.+0.j, 0.+0.j]], dtype=complex64)
    """
    if isinstance(n, (bool, np.bool)) or not isinstance(n, (int, np.integer)):
        raise TypeError(f"n must be an integer, got {n!r}")
    length = int(n)
    if not 1 <= length <= LONGEST:
        raise ValueError(f"n must be at least 1 and at most {LONGEST}, got {length}")
    bits = {"f": 32, "F": 32, "d": 64, "D": 64}.get(np.dtype(dtype).char)
    if bits is None:
        raise TypeError(f"dtype must be float32, complex64, float64 or complex128, got {np.dtype(dtype)}")
    return _fft_plan(length, bits)
