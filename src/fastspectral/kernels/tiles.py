"""Register tiles for Numba: `rows` × `vectors` registers that a kernel carries through a loop as one value.

The second file that speaks LLVM; `lanes.py` says how.  A tile holds sums of products of one number for each row and one
register for each vector.  The rows of sums are stored interleaved.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

from fastspectral.kernels.lanes import (
    I32,
    INDEX,
    SCALARS,
    Lane,
    Variant,
    Vector,
    constant,
    emit_broadcast,
    emit_load,
    emit_prefetch,
    emit_splat,
    emit_store,
    emit_transpose,
    lanes_of,
    moved,
    rounds,
    shuffled,
    times,
)


class Tile(Variant):
    """A variant whose kernels work on tiles of `rows` × `vectors` registers."""

    def __init__(self, bits: int, lanes: int, rows: int, vectors: int) -> None:
        super().__init__(bits, lanes, f"tile {rows} x {vectors}")
        self.rows, self.vectors = rows, vectors

    @property
    def sums(self) -> Any:
        """Type of the sums."""
        return types.UniTuple(self.vector, self.rows * self.vectors)


register_model(Tile)(models.OpaqueModel)


@intrinsic  # type: ignore[untyped-decorator]
def tile_rows(typingctx: Any, tile: Any) -> Any:
    """Rows of the tile, a constant of the compiled code."""
    return types.intp(tile), lambda context, builder, sig, args: constant(tile.rows)


@intrinsic  # type: ignore[untyped-decorator]
def tile_columns(typingctx: Any, tile: Any) -> Any:
    """Numbers in a row of the tile, a constant of the compiled code."""
    return types.intp(tile), lambda context, builder, sig, args: constant(tile.vectors * tile.lanes)


@intrinsic  # type: ignore[untyped-decorator]
def zero_tile(typingctx: Any, tile: Any) -> Any:
    """Make a tile of zeros."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        zero = ir.Constant(tile.vector.llvm, [0.0] * tile.lanes)
        return context.make_tuple(builder, tile.sums, [zero] * (tile.rows * tile.vectors))

    return tile.sums(tile), emit


@intrinsic  # type: ignore[untyped-decorator]
def add_products(typingctx: Any, tile: Any, sums: Any, column: Any, row: Any) -> Any:
    """Add to the tile the outer product of the numbers at `column`, one for each row, and those at `row`."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        total = [Lane(builder, value) for value in cgutils.unpack_tuple(builder, args[1])]
        width = tile.lanes * tile.bytes
        across = [
            Lane(builder, emit_load(builder, moved(builder, args[3], v * width), tile.vector))
            for v in range(tile.vectors)
        ]
        for r in range(tile.rows):
            factor = Lane(builder, emit_broadcast(builder, moved(builder, args[2], r * tile.bytes), tile.vector))
            for v in range(tile.vectors):
                total[r * tile.vectors + v] = total[r * tile.vectors + v] + factor * across[v]
        return context.make_tuple(builder, tile.sums, [lane.value for lane in total])

    return tile.sums(tile, sums, column, row), emit


def _row_places(builder: Any, tile: Tile, address: Any, rows: Any) -> list[Any]:
    """Find the rows of the tile, which are listed at `rows` in bytes, behind `address`."""
    pointer = builder.inttoptr(rows, INDEX.as_pointer())
    return [builder.add(address, builder.load(builder.gep(pointer, [constant(r)]))) for r in range(tile.rows)]


def _places(builder: Any, tile: Tile, address: Any, rows: Any) -> list[Any]:
    """Find the registers of the tile."""
    starts = _row_places(builder, tile, address, rows)
    width = tile.lanes * tile.bytes
    return [moved(builder, starts[r], v * width) for r in range(tile.rows) for v in range(tile.vectors)]


@intrinsic  # type: ignore[untyped-decorator]
def store_rows(typingctx: Any, tile: Any, sums: Any, address: Any, rows: Any) -> Any:
    """Store the rows of the tile; rows: where it is listed how far behind `address`."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        places = _places(builder, tile, args[2], args[3])
        for value, place in zip(cgutils.unpack_tuple(builder, args[1]), places, strict=True):
            emit_store(builder, value, place)
        return context.get_dummy_value()

    return types.void(tile, sums, address, rows), emit


@intrinsic  # type: ignore[untyped-decorator]
def add_rows(typingctx: Any, tile: Any, sums: Any, factor: Any, address: Any, rows: Any) -> Any:
    """Add the rows of the tile, times a factor, to what is stored where `store_rows` would store them."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        scalar = context.cast(builder, args[2], sig.args[2], types.float32 if tile.bits == 32 else types.float64)
        by = Lane(builder, emit_splat(builder, scalar, tile.vector))
        places = _places(builder, tile, args[3], args[4])
        for value, place in zip(cgutils.unpack_tuple(builder, args[1]), places, strict=True):
            before = Lane(builder, emit_load(builder, place, tile.vector))
            emit_store(builder, (before + Lane(builder, value) * by).value, place)
        return context.get_dummy_value()

    return types.void(tile, sums, factor, address, rows), emit


@intrinsic  # type: ignore[untyped-decorator]
def copy_columns(
    typingctx: Any, tile: Any, source: Any, step: Any, rows: Any, dense: Any, target: Any, count: Any
) -> Any:
    """Copy a number for each row of the tile from `count` places, `step` bytes apart, to columns side by side.

    rows: where it is listed how far behind a place the rows are; dense: whether they are neighbours.
    """
    column, bytes_of_column = Variant(tile.bits, tile.rows).vector, constant(tile.rows * tile.bytes)

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _, source, step, rows, dense, target, count = args
        starts, walks = _row_places(builder, tile, constant(0), rows), ((source, step), (target, bytes_of_column))
        neighbours = builder.icmp_signed("!=", dense, constant(0))
        with builder.if_else(neighbours) as (together, apart):
            with together, rounds(builder, count, *walks) as (place, to):
                emit_store(builder, emit_load(builder, builder.add(place, starts[0]), column), to)
            with apart, rounds(builder, count, *walks) as (place, to):
                result = ir.Constant(column.llvm, ir.Undefined)
                for row, start in enumerate(starts):
                    number = builder.load(builder.inttoptr(builder.add(place, start), SCALARS[tile.bits].as_pointer()))
                    result = builder.insert_element(result, number, ir.Constant(I32, row))
                emit_store(builder, result, to)
        return context.get_dummy_value()

    return types.void(tile, source, step, rows, dense, target, count), emit


@intrinsic  # type: ignore[untyped-decorator]
def load_even(typingctx: Any, variant: Any, address: Any) -> Any:
    """Load every other number of two registers."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        low = emit_load(builder, args[1], variant.vector)
        high = emit_load(builder, moved(builder, args[1], variant.lanes * variant.bytes), variant.vector)
        return shuffled(builder, low, high, list(range(0, 2 * low.type.count, 2)))

    return variant.vector(variant, address), emit


@intrinsic  # type: ignore[untyped-decorator]
def list_walk(typingctx: Any, table: Any, first: Any, end: Any, step: Any, second: Any, second_step: Any) -> Any:
    """Write to a table the pairs of integers that begin with `first` and `second` and grow by their steps, while the first one is below `end`.

    Returns the address behind them, and the first integer of the next pair.
    """
    result = types.UniTuple(types.intp, 2)

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        table, first, end, step, second, second_step = args
        room = builder.sub(builder.add(builder.sub(end, first), step), constant(1))
        count = builder.sdiv(room, step)  # at least 0: `first` is less than a step behind `end`
        with (
            builder.if_then(builder.icmp_signed(">", count, constant(0))),
            rounds(builder, count, (table, constant(16)), (first, step), (second, second_step)) as (place, *pair),
        ):
            # As a vector: of single integers LLVM would make one, and of every loop three.
            both = ir.Constant(ir.VectorType(INDEX, 2), ir.Undefined)
            for lane, number in enumerate(pair):
                both = builder.insert_element(both, number, ir.Constant(I32, lane))
            builder.store(both, builder.inttoptr(place, both.type.as_pointer()), align=8)
        behind = builder.add(table, builder.mul(count, constant(16)))
        return context.make_tuple(builder, result, [behind, builder.add(first, builder.mul(count, step))])

    return result(*[types.intp] * 6), emit


def _prefetch(write: int) -> Any:
    """Make the intrinsic that asks for a cache line."""

    def prefetch(typingctx: Any, address: Any) -> Any:
        """Ask for the cache line at an address, which need not exist."""

        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            emit_prefetch(builder, args[0], write)
            return context.get_dummy_value()

        return types.void(address), emit

    return intrinsic(prefetch)


prefetch_line, prefetch_write = _prefetch(0), _prefetch(1)


class Phases(Variant):
    """A variant whose kernels store so many phases of a position together; where they are as many as a register has lanes, more are stored by parts."""

    def __init__(self, bits: int, lanes: int, phases: int) -> None:
        super().__init__(bits, lanes, f"{phases} phases")
        self.phases = phases


register_model(Phases)(models.OpaqueModel)


def emit_phases(builder: Any, rows: list[Any]) -> list[Any]:
    """Interleave registers: number k of row p becomes number ``k · rows + p`` of what the results hold, one behind another."""
    count, lanes = len(rows), rows[0].type.count
    results = []
    for first in range(0, count * lanes, lanes):
        result = ir.Constant(rows[0].type, ir.Undefined)
        for p, row in enumerate(rows):
            here = [(first + lane) % count == p for lane in range(lanes)]
            mask = [lanes + (first + lane) // count if here[lane] else lane for lane in range(lanes)]
            result = shuffled(builder, result, row, mask)
        results.append(result)
    return results


def emit_positions(
    builder: Any, variant: Phases, addend: Any, source: Any, pitch: Any, target: Any, stride: Any, begin: Any, end: Any
) -> None:
    """Store positions begin … end − 1, which are at least as many as the lanes: `variant.phases` phases of a register of positions at a time."""
    size, lanes, phases = variant.bytes, variant.lanes, variant.phases
    last, last_phase = builder.sub(end, constant(lanes)), builder.sub(stride, constant(phases))
    step = builder.mul(stride, constant(size))

    def pieces(count: Any, piece: int) -> Any:
        return builder.udiv(builder.add(count, constant(piece - 1)), constant(piece))

    def smaller(a: Any, b: Any) -> Any:
        return builder.select(builder.icmp_signed("<", a, b), a, b)

    # What is left over at the end, of positions and of phases, is stored with some before it once more.
    with (
        rounds(builder, pieces(builder.sub(end, begin), lanes), (begin, constant(lanes))) as (position,),
        rounds(builder, pieces(stride, phases), (constant(0), constant(phases))) as (phase,),
    ):
        k, p = smaller(position, last), smaller(phase, last_phase)
        row = moved(builder, source, builder.mul(p, pitch), builder.mul(k, constant(size)))
        place = moved(builder, target, builder.mul(k, step), builder.mul(p, constant(size)))
        loaded = [
            Lane(builder, emit_load(builder, moved(builder, row, times(builder, pitch, n)), variant.vector))
            for n in range(phases)
        ]
        sums = [(one + Lane(builder, addend)).value for one in loaded]
        if phases < lanes:
            for n, value in enumerate(emit_phases(builder, sums)):
                emit_store(builder, value, moved(builder, place, n * lanes * size))
        else:
            for n, value in enumerate(emit_transpose(builder, sums)):
                emit_store(builder, value, moved(builder, place, times(builder, step, n)))


@intrinsic  # type: ignore[untyped-decorator]
def store_positions(
    typingctx: Any,
    variant: Any,
    bias: Any,
    sums: Any,
    pitch: Any,
    target: Any,
    stride: Any,
    begin: Any,
    end: Any,
) -> Any:
    """Store all phases of positions begin … end − 1, each plus the number at `bias`, if they fill half a register; tell whether they do.

    sums: where the sums of the first phase are, those of the next one `pitch` bytes on; target: where position 0 and phase 0 goes.
    """

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _, bias, sums, pitch, target, stride, begin, end = args
        count = builder.sub(end, begin)
        half = max(1, variant.lanes // 2)
        narrow = Phases(variant.bits, half, min(variant.phases, half))
        wide = builder.icmp_signed(">=", count, constant(variant.lanes))
        fills = builder.icmp_signed(">=", count, constant(half))
        for kind, condition in ((variant, wide), (narrow, builder.and_(fills, builder.not_(wide)))):
            with builder.if_then(condition):
                addend = emit_broadcast(builder, bias, kind.vector)
                emit_positions(builder, kind, addend, sums, pitch, target, stride, begin, end)
        return fills

    return types.boolean(variant, bias, sums, pitch, target, stride, begin, end), emit


@intrinsic  # type: ignore[untyped-decorator]
def add_scaled(typingctx: Any, tile: Any, source: Any, factor: Any, target: Any, count: Any, adds: Any) -> Any:
    """Multiply `count` columns of the tile, and add them to those at the target, or put them there."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _, source, factor, target, count, adds = args
        scalar = context.cast(builder, factor, sig.args[2], types.float32 if tile.bits == 32 else types.float64)
        size = builder.mul(count, constant(tile.rows * tile.bytes))
        whole = builder.icmp_unsigned("==", builder.urem(size, constant(tile.lanes * tile.bytes)), constant(0))
        with builder.if_else(whole) as (by_registers, by_columns):
            for branch, lanes in ((by_registers, tile.lanes), (by_columns, tile.rows)):
                vector, step = Variant(tile.bits, lanes).vector, constant(lanes * tile.bytes)
                nothing = ir.Constant(vector.llvm, [-0.0] * lanes)  # which leaves zeros their sign
                with branch, rounds(builder, builder.udiv(size, step), (source, step), (target, step)) as (place, to):
                    by = Lane(builder, emit_splat(builder, scalar, vector))
                    before = Lane(builder, builder.select(adds, emit_load(builder, to, vector), nothing))
                    emit_store(builder, (before + Lane(builder, emit_load(builder, place, vector)) * by).value, to)
        return context.get_dummy_value()

    return types.void(tile, source, factor, target, count, types.boolean), emit


@intrinsic  # type: ignore[untyped-decorator]
def magnitudes_below(typingctx: Any, numbers: Any, limit: Any) -> Any:
    """Tell whether the magnitudes of a flat array are all below a limit, which its format holds exactly."""
    bits = numbers.dtype.bitwidth

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array = context.make_array(numbers)(context, builder, args[0])
        limit = context.cast(builder, args[1], sig.args[1], numbers.dtype)
        address, found = builder.ptrtoint(array.data, INDEX), ir.IntType(1)(0)
        wide = 4 * lanes_of(bits)  # four registers: one alone would wait for its last result
        whole, rest = builder.udiv(array.nitems, constant(wide)), builder.urem(array.nitems, constant(wide))
        behind = moved(builder, address, builder.mul(whole, constant(wide * bits // 8)))
        for lanes, at, count in ((wide, address, whole), (1, behind, rest)):
            vector, truths = Vector(bits, lanes), ir.VectorType(ir.IntType(1), lanes)
            outside = cgutils.alloca_once_value(builder, ir.Constant(truths, [0] * lanes))
            bounds = [emit_splat(builder, bound, vector) for bound in (limit, builder.fneg(limit))]
            with (
                builder.if_then(builder.icmp_signed(">", count, constant(0))),
                rounds(builder, count, (at, constant(lanes * bits // 8))) as (place,),
            ):
                value = emit_load(builder, place, vector)
                for comparison, bound in zip((">=", "<="), bounds, strict=True):
                    test = builder.fcmp_unordered(comparison, value, bound)
                    builder.store(builder.or_(builder.load(outside), test), outside)
            some = builder.bitcast(builder.load(outside), ir.IntType(lanes))
            found = builder.or_(found, builder.icmp_unsigned("!=", some, some.type(0)))
        return builder.not_(found)

    return types.boolean(numbers, limit), emit
