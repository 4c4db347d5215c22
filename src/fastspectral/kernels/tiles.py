"""Register tiles for Numba: `rows` × `vectors` registers that a kernel carries through a loop as one value.

The second file that speaks LLVM; `lanes.py` says how.  A tile holds sums of products of one number for each row and one
register for each vector.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

from fastspectral.kernels.lanes import (
    Lane,
    Variant,
    constant,
    emit_broadcast,
    emit_load,
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


@intrinsic  # type: ignore[untyped-decorator]
def store_rows(typingctx: Any, tile: Any, sums: Any, address: Any, step: Any) -> Any:
    """Store the rows of the tile, `step` bytes apart."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        for k, value in enumerate(cgutils.unpack_tuple(builder, args[1])):
            r, v = divmod(k, tile.vectors)
            row = moved(builder, args[2], times(builder, args[3], r))
            emit_store(builder, value, moved(builder, row, v * tile.lanes * tile.bytes))
        return context.get_dummy_value()

    return types.void(tile, sums, address, step), emit


def emit_copies(builder: Any, integer: Any, count: int) -> Any:
    """Make a register with an integer in every lane."""
    undefined = ir.Constant(ir.VectorType(integer.type, count), ir.Undefined)
    return shuffled(builder, builder.insert_element(undefined, integer, constant(0)), undefined, [0] * count)


@intrinsic  # type: ignore[untyped-decorator]
def window(typingctx: Any, vector: Any, low: Any, high: Any) -> Any:
    """Lanes low … high − 1 of a register, zero in the others."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        number = ir.IntType(vector.bits)
        lanes = ir.Constant(ir.VectorType(number, vector.lanes), list(range(vector.lanes)))
        first, end = (
            emit_copies(builder, builder.trunc(limit, number) if vector.bits < 64 else limit, vector.lanes)
            for limit in args[1:]
        )
        inside = builder.and_(builder.icmp_signed(">=", lanes, first), builder.icmp_signed("<", lanes, end))
        return builder.select(inside, args[0], ir.Constant(vector.llvm, [0.0] * vector.lanes))

    return vector(vector, low, high), emit


@intrinsic  # type: ignore[untyped-decorator]
def merged(typingctx: Any, a: Any, b: Any) -> Any:
    """Two registers in one, where each lane is zero in one of them."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        integers = ir.VectorType(ir.IntType(a.bits), a.lanes)
        bits = [builder.bitcast(value, integers) for value in args]
        return builder.bitcast(builder.or_(*bits), a.llvm)

    return a(a, b), emit


@intrinsic  # type: ignore[untyped-decorator]
def store_transposed(
    typingctx: Any, tile: Any, source: Any, step: Any, addend: Any, target: Any, target_step: Any
) -> Any:
    """Store the transpose of as many rows as a register has lanes, each plus `addend`; its rows are `target_step` apart."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows = [
            Lane(builder, emit_load(builder, moved(builder, args[1], times(builder, args[2], k)), tile.vector))
            for k in range(tile.lanes)
        ]
        sums = [(row + Lane(builder, args[3])).value for row in rows]
        for k, value in enumerate(emit_transpose(builder, sums)):
            emit_store(builder, value, moved(builder, args[4], times(builder, args[5], k)))
        return context.get_dummy_value()

    return types.void(tile, source, step, addend, target, target_step), emit
