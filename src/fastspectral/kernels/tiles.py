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
    constant,
    emit_broadcast,
    emit_load,
    emit_splat,
    emit_store,
    emit_transpose,
    moved,
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
def one_column(typingctx: Any, tile: Any) -> Any:
    """Make a variant whose registers hold a number for each row of the tile."""
    variant = Variant(tile.bits, tile.rows)
    return variant(tile), lambda context, builder, sig, args: context.get_constant_null(variant)


@intrinsic  # type: ignore[untyped-decorator]
def gather_rows(typingctx: Any, tile: Any, address: Any, rows: Any) -> Any:
    """Load a number for each row of the tile; rows: where it is listed how far behind `address`."""
    vector = Variant(tile.bits, tile.rows).vector

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        result = ir.Constant(vector.llvm, ir.Undefined)
        for r, place in enumerate(_row_places(builder, tile, args[1], args[2])):
            number = builder.load(builder.inttoptr(place, SCALARS[tile.bits].as_pointer()))
            result = builder.insert_element(result, number, ir.Constant(I32, r))
        return result

    return vector(tile, address, rows), emit


@intrinsic  # type: ignore[untyped-decorator]
def load_even(typingctx: Any, variant: Any, address: Any) -> Any:
    """Load every other number of two registers."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        low = emit_load(builder, args[1], variant.vector)
        high = emit_load(builder, moved(builder, args[1], variant.lanes * variant.bytes), variant.vector)
        return shuffled(builder, low, high, list(range(0, 2 * low.type.count, 2)))

    return variant.vector(variant, address), emit


def _prefetch(write: int) -> Any:
    """Make the intrinsic that asks for a cache line."""

    def prefetch(typingctx: Any, address: Any) -> Any:
        """Ask for the cache line at an address, which need not exist."""

        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            byte = ir.IntType(8).as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            flags = [ir.Constant(I32, flag) for flag in (write, 3, 1)]  # to all caches, data
            builder.call(function, [builder.inttoptr(args[0], byte), *flags])
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


@intrinsic  # type: ignore[untyped-decorator]
def phases_stored(typingctx: Any, variant: Any) -> Any:
    """Phases that `store_phases` stores, a constant of the compiled code."""
    return types.intp(variant), lambda context, builder, sig, args: constant(variant.phases)


@intrinsic  # type: ignore[untyped-decorator]
def half(typingctx: Any, variant: Any) -> Any:
    """The same variant with half the lanes, or with one."""
    lanes = max(1, variant.lanes // 2)
    narrow = Phases(variant.bits, lanes, min(variant.phases, lanes))
    return narrow(variant), lambda context, builder, sig, args: context.get_constant_null(narrow)


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


@intrinsic  # type: ignore[untyped-decorator]
def store_phases(
    typingctx: Any, variant: Any, source: Any, step: Any, addend: Any, target: Any, target_step: Any
) -> Any:
    """Store the phases of a register of positions, each plus `addend`.

    source: where the sums of the first phase are, those of the next one `step` bytes on; target: where the first position's phases go, those of the next one
    `target_step` bytes on, which is right behind if there are fewer phases than lanes.
    """

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows = [
            Lane(builder, emit_load(builder, moved(builder, args[1], times(builder, args[2], p)), variant.vector))
            for p in range(variant.phases)
        ]
        sums = [(row + Lane(builder, args[3])).value for row in rows]
        if variant.phases < variant.lanes:
            for k, value in enumerate(emit_phases(builder, sums)):
                emit_store(builder, value, moved(builder, args[4], k * variant.lanes * variant.bytes))
        else:
            for k, value in enumerate(emit_transpose(builder, sums)):
                emit_store(builder, value, moved(builder, args[4], times(builder, args[5], k)))
        return context.get_dummy_value()

    return types.void(variant, source, step, addend, target, target_step), emit
