"""SIMD registers for Numba; this file and `tiles.py` are the only ones that speak LLVM.

Numba's loop vectoriser leaves codelets scalar, so the kernels say themselves what a register holds.  A `Vector` is one register; in a kernel it is an
ordinary local value with + − ×.  A `Variant` is a value without content whose *type* says what the kernel is compiled for: the number format, the lanes
of a register and the codelet.  Numba compiles a kernel once for each variant, as it does for any other argument type.

Addresses are plain integers and distances are bytes, so that no index is tested for wraparound.  Complex data inside a transform lie in planes of one
register each, the real parts and right behind them the imaginary parts: the second address is the first one plus a constant, and the addresses of a
codelet's operands fit the integer registers (with two planes of all points they did not, and passes took twice the time).  Loads and stores assume the
alignment of one number only.

Lane i of a register holds line, or point, number `lane_order(...)[i]` of those that it holds.  That is the order in which pairs come apart and together
again by one shuffle a register; the natural order takes a second one across the 128-bit halves of wider registers, at both ends of every transform.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import lower_builtin
from numba.core.registry import cpu_target
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, register_model

from fastspectral.kernels.codelets import CODELETS, REAL_CODELETS, Split, at_hand

INDEX, I32 = ir.IntType(64), ir.IntType(32)
SCALARS = {16: ir.IntType(16), 32: ir.FloatType(), 64: ir.DoubleType()}  # halves, which nothing computes with, are bits


def _target() -> tuple[str, set[str]]:
    """Triple and enabled features of the machine that Numba compiles for, which the user may have narrowed (NUMBA_CPU_NAME)."""
    triple, _, features = cpu_target.target_context.codegen().magic_tuple()
    return triple, set(features.split(","))


def cpu() -> tuple[str, set[str]]:
    """Name and features of the CPU that Numba compiles for."""
    _, name, features = cpu_target.target_context.codegen().magic_tuple()
    return name, {feature[1:] for feature in features.split(",") if feature.startswith("+")}


@cache
def register_bytes() -> int:
    """Bytes of a SIMD register of Numba's target; 0 where the project knows of none."""
    triple, features = _target()
    for feature, size in (("+avx512f", 64), ("+avx", 32)):
        if feature in features:
            return size
    return 16 if triple.startswith(("x86_64", "aarch64", "arm64")) else 0


def lanes_of(bits: int) -> int:
    """Numbers of `bits` bits in a register of Numba's target; 1 where there are no registers to speak of."""
    return max(1, register_bytes() * 8 // bits)


@cache
def converts_halves() -> bool:
    """Whether Numba's target converts float16 by an instruction: a transform takes 0.9 to 1.1 times as long as of float32, by integers 1.5 to 1.8 times.

    Elsewhere LLVM would call functions that Numba does not have.
    """
    triple, features = _target()
    return "+f16c" in features or triple.startswith(("aarch64", "arm64"))


@cache
def registers() -> int:
    """SIMD registers of Numba's target."""
    return 32 if register_bytes() == 64 or _target()[0].startswith(("aarch64", "arm64")) else 16


# ---------------------------------------------------------------------------------------------------------------- types


class Vector(types.Type):  # type: ignore[misc]
    """A register of `lanes` numbers of `bits` bits; or, of 16, as many halves as they are stored."""

    def __init__(self, bits: int, lanes: int) -> None:
        self.bits, self.lanes = bits, lanes
        super().__init__(name=f"Vector(float{bits} x {lanes})")

    @property
    def llvm(self) -> Any:
        return ir.VectorType(SCALARS[self.bits], self.lanes)


class Variant(types.Type):  # type: ignore[misc]
    """What a kernel is compiled for: numbers of `bits` bits, `lanes` in a register, its codelet (a radix or a name; 0 for none), and its two ends.

    An end is "planes" (a register of real parts, then one of imaginary parts) or "pairs" (re, im, re, im, …), either "swapped", with the parts
    exchanged, which turns a transform into its inverse.  Pairs are "weighted" where they are read times a window, and "scaled" where they are written
    times the factor of the transform.  For the kernels of `rims.py`, loads and stores alike, the source is what the caller's lines hold: "pairs" or "reals",
    "float16" or "bfloat16" where these are not numbers of `bits` bits.
    """

    def __init__(
        self,
        bits: int,
        lanes: int,
        codelet: int | str = 0,
        source: str = "planes",
        target: str = "planes",
        twiddled: bool = False,
    ) -> None:
        self.bits, self.lanes, self.codelet = bits, lanes, codelet
        self.source, self.target, self.twiddled = source, target, twiddled
        what = f"codelet {codelet}, {source} to {target}{', twiddled' if twiddled else ''}"
        super().__init__(name=f"Variant(float{bits} x {lanes}, {what})")

    @property
    def vector(self) -> Vector:
        return Vector(self.bits, self.lanes)

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def half(self) -> str:
        """Format of the numbers in the caller's lines where it is one of 16 bits, else nothing."""
        return next((word for word in self.source.split() if word in ("float16", "bfloat16")), "")

    @property
    def stored(self) -> Vector:
        """What a register is in the caller's lines."""
        return Vector(16 if self.half else self.bits, self.lanes)


@register_model(Vector)
class VectorModel(models.PrimitiveModel):  # type: ignore[misc]
    """A Vector is an LLVM vector."""

    def __init__(self, dmm: Any, fe_type: Vector) -> None:
        super().__init__(dmm, fe_type, fe_type.llvm)


register_model(Variant)(models.OpaqueModel)


# ---------------------------------------------------------------------------------------------- emission: LLVM from Python


class Lane:
    """A register while code is emitted; its arithmetic emits one instruction, and a product may fuse with the sum that takes it."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def __add__(self, other: "Lane") -> "Lane":
        return Lane(self.builder, self.builder.fadd(self.value, other.value, flags=["contract"]))

    def __sub__(self, other: "Lane") -> "Lane":
        return Lane(self.builder, self.builder.fsub(self.value, other.value, flags=["contract"]))

    def __mul__(self, other: "Lane | float") -> "Lane":
        value = (
            other.value if isinstance(other, Lane) else ir.Constant(self.value.type, [other] * self.value.type.count)
        )
        return Lane(self.builder, self.builder.fmul(self.value, value, flags=["contract"]))

    def __neg__(self) -> "Lane":
        return Lane(self.builder, self.builder.fneg(self.value))


class Zero(Lane):
    """A register of zeros; arithmetic with it emits nothing.  Being a subclass, it is asked first from the right, too."""

    __slots__ = ()

    def __init__(self, builder: Any, vector: "Vector") -> None:
        super().__init__(builder, ir.Constant(vector.llvm, [0.0] * vector.lanes))

    def __add__(self, other: Lane) -> Lane:
        return other

    def __radd__(self, other: Lane) -> Lane:
        return other

    def __sub__(self, other: Lane) -> Lane:
        return -other

    def __rsub__(self, other: Lane) -> Lane:
        return other

    def __mul__(self, other: Lane | float) -> Lane:
        return self

    def __rmul__(self, other: Lane | float) -> Lane:
        return self

    def __neg__(self) -> Lane:
        return self


def constant(value: int) -> Any:
    return ir.Constant(INDEX, value)


def moved(builder: Any, address: Any, *terms: Any) -> Any:
    """`address` plus integers, each an LLVM value or a Python int."""
    for term in terms:
        if not isinstance(term, int):
            address = builder.add(address, term)
        elif term:
            address = builder.add(address, constant(term))
    return address


def times(builder: Any, step: Any, count: int) -> Any:
    """`step` × `count` with the trivial products left out."""
    if count == 0:
        return 0
    return step if count == 1 else builder.mul(step, constant(count))


def emit_load(builder: Any, address: Any, vector: Vector) -> Any:
    value = builder.load(builder.inttoptr(address, vector.llvm.as_pointer()))
    value.align = vector.bits // 8
    return value


def emit_store(builder: Any, value: Any, address: Any) -> None:
    instruction = builder.store(value, builder.inttoptr(address, value.type.as_pointer()))
    instruction.align = next(bits for bits, scalar in SCALARS.items() if scalar == value.type.element) // 8


def emit_splat(builder: Any, scalar: Any, vector: Vector) -> Any:
    undefined = ir.Constant(vector.llvm, ir.Undefined)
    return shuffled(
        builder, builder.insert_element(undefined, scalar, ir.Constant(I32, 0)), undefined, [0] * vector.lanes
    )


def emit_broadcast(builder: Any, address: Any, vector: Vector) -> Any:
    pointer = builder.inttoptr(address, SCALARS[vector.bits].as_pointer())
    return emit_splat(builder, builder.load(pointer), vector)


def shuffled(builder: Any, a: Any, b: Any, mask: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(I32, len(mask)), mask))


@cache
def lane_order(bits: int, lanes: int) -> tuple[int, ...]:
    """Which of its points the lanes of a register hold: block by block of 128 bits, those of the first register of pairs, then those of the second."""
    block = min(lanes, 128 // bits)
    half = block // 2
    starts = range(0, lanes // 2, half) if half else ()
    order = [side + start + i for start in starts for side in (0, lanes // 2) for i in range(half)]
    return tuple(order) or tuple(range(lanes))


def emit_part(builder: Any, a: Any, b: Any, bits: int) -> tuple[Any, Any]:
    """Two registers of pairs → real parts, imaginary parts, in lane order."""
    n = a.type.count
    even = [2 * k for k in lane_order(bits, n)]
    return shuffled(builder, a, b, even), shuffled(builder, a, b, [k + 1 for k in even])


def emit_join(builder: Any, re: Any, im: Any, bits: int) -> tuple[Any, Any]:
    """The reverse of `emit_part`."""
    n = re.type.count
    order = lane_order(bits, n)
    mask = [order.index(k // 2) + k % 2 * n for k in range(2 * n)]
    return shuffled(builder, re, im, mask[:n]), shuffled(builder, re, im, mask[n:])


def emit_transpose(builder: Any, rows: list[Any]) -> list[Any]:
    """Transpose n registers of n lanes, in log2(n) rounds that exchange ever larger squares."""
    n, half = len(rows), 1
    while half < n:
        low = [k if not k & half else n + (k ^ half) for k in range(n)]
        high = [k | half if not k & half else n + k for k in range(n)]
        rows = [
            shuffled(builder, rows[i], rows[i | half], low)
            if not i & half
            else shuffled(builder, rows[i ^ half], rows[i], high)
            for i in range(n)
        ]
        half *= 2
    return rows


def emit_reverse(builder: Any, value: Any) -> Any:
    return shuffled(builder, value, value, list(reversed(range(value.type.count))))


def emit_integers(kind: Any, value: int) -> Any:
    return ir.Constant(kind, [value] * kind.count)


def emit_widened(builder: Any, variant: Variant, value: Any) -> Any:
    """Numbers of the caller's lines as those of a register."""
    if not variant.half:
        return value
    vector = Vector(32, value.type.count).llvm
    if variant.half == "float16" and converts_halves():
        return builder.fpext(builder.bitcast(value, ir.VectorType(ir.HalfType(), vector.count)), vector)
    words = ir.VectorType(I32, vector.count)
    bits = partial(emit_integers, words)
    word = builder.zext(value, words)
    if variant.half == "bfloat16":
        return builder.bitcast(builder.shl(word, bits(16)), vector)
    # The bits of a half, moved, are a float32 times 2^-112, subnormal ones too; infinity and NaN have the largest exponent.
    shifted = builder.shl(builder.and_(word, bits(0x7FFF)), bits(13))
    scale = ir.Constant(vector, [2.0**112] * vector.count)
    number = builder.bitcast(builder.fmul(builder.bitcast(shifted, vector), scale), words)
    special = builder.icmp_unsigned(">=", shifted, bits(31 << 23))
    number = builder.select(special, builder.or_(shifted, bits(255 << 23)), number)
    sign = builder.shl(builder.and_(word, bits(0x8000)), bits(16))
    return builder.bitcast(builder.or_(number, sign), vector)


def emit_narrowed(builder: Any, variant: Variant, value: Any) -> Any:
    """The reverse of `emit_widened`, rounded to nearest, ties to even; what is beyond the range becomes infinite."""
    if not variant.half:
        return value
    stored = Vector(16, value.type.count).llvm
    if variant.half == "float16" and converts_halves():
        return builder.bitcast(builder.fptrunc(value, ir.VectorType(ir.HalfType(), stored.count)), stored)
    words = ir.VectorType(I32, stored.count)
    bits = partial(emit_integers, words)
    word = builder.bitcast(value, words)
    dropped = 16 if variant.half == "bfloat16" else 13
    magnitude, sign = builder.and_(word, bits(0x7FFFFFFF)), builder.and_(word, bits(1 << 31))
    odd = builder.and_(builder.lshr(word, bits(dropped)), bits(1))
    number = builder.lshr(builder.add(builder.add(magnitude, bits((1 << dropped - 1) - 1)), odd), bits(dropped))
    if variant.half == "float16":
        number = builder.sub(number, bits(112 << 10))
        # In a sum with 1/2, whose last bit is the smallest half, the adder rounds.
        half = ir.Constant(value.type, [0.5] * stored.count)
        subnormal = builder.bitcast(builder.fadd(builder.bitcast(magnitude, value.type), half), words)
        small = builder.icmp_unsigned("<", magnitude, bits(113 << 23))
        number = builder.select(small, builder.sub(subnormal, bits(126 << 23)), number)
        large = builder.icmp_unsigned(">=", magnitude, bits(143 << 23))
        number = builder.select(large, bits(0x7C00), number)
    number = builder.select(builder.fcmp_unordered("uno", value, value), bits(0x7FFF), number)
    return builder.trunc(builder.or_(number, builder.lshr(sign, bits(16))), stored)


def emit_read_numbers(builder: Any, variant: Variant, address: Any) -> Any:
    """Register from consecutive numbers of the caller's lines."""
    return emit_widened(builder, variant, emit_load(builder, address, variant.stored))


def emit_write_numbers(builder: Any, variant: Variant, value: Any, address: Any) -> None:
    """Register to consecutive numbers of the caller's lines."""
    emit_store(builder, emit_narrowed(builder, variant, value), address)


def points_of(builder: Any, tuple_value: Any) -> list[Split]:
    """The complex operands of a codelet out of a tuple (re, im, re, im, …)."""
    values = [Lane(builder, v) for v in cgutils.unpack_tuple(builder, tuple_value)]
    return [Split(values[k], values[k + 1]) for k in range(0, len(values), 2)]


def tuple_of(context: Any, builder: Any, tuple_type: Any, points: Any) -> Any:
    return context.make_tuple(builder, tuple_type, [part.value for z in points for part in (z.re, z.im)])


# -------------------------------------------------------------------------------------------------- arithmetic on registers


def _register_operator(operation: Any, emit: Any) -> None:
    @infer_global(operation)
    class VectorOperation(AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            if len(args) == 2 and isinstance(args[0], Vector) and args[0] == args[1] and not kws:
                return signature(args[0], *args)
            return None

    @lower_builtin(operation, Vector, Vector)  # type: ignore[untyped-decorator]
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return emit(Lane(builder, args[0]), Lane(builder, args[1])).value


def _register_operators() -> None:
    import operator

    for operation in (operator.add, operator.sub, operator.mul):
        _register_operator(operation, operation)


_register_operators()


@intrinsic  # type: ignore[untyped-decorator]
def splat(typingctx: Any, variant: Any, value: Any) -> Any:
    """Register with `value`, a float, in every lane."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        scalar = context.cast(builder, args[1], sig.args[1], types.float32 if variant.bits == 32 else types.float64)
        return emit_splat(builder, scalar, variant.vector)

    return variant.vector(variant, value), emit


def emit_scaled(builder: Any, value: Any, factor: Any) -> Any:
    high, low = (Lane(builder, part) for part in cgutils.unpack_tuple(builder, factor))
    return (Lane(builder, value) * high + Lane(builder, value) * low).value


@intrinsic  # type: ignore[untyped-decorator]
def scaled(typingctx: Any, variant: Any, vector: Any, factor: Any) -> Any:
    """`vector` times a factor that is the sum of two registers, the second one small; as it is where the variant's target is not scaled."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return emit_scaled(builder, args[1], args[2]) if "scaled" in variant.target else args[1]

    return vector(variant, vector, factor), emit


@intrinsic  # type: ignore[untyped-decorator]
def lanes(typingctx: Any, variant: Any) -> Any:
    """Lanes of the variant's register, a constant of the compiled code."""
    return types.intp(variant), lambda context, builder, sig, args: constant(variant.lanes)


@intrinsic  # type: ignore[untyped-decorator]
def number_bytes(typingctx: Any, variant: Any) -> Any:
    """Bytes of one number, a constant of the compiled code."""
    return types.intp(variant), lambda context, builder, sig, args: constant(variant.bytes)


@intrinsic  # type: ignore[untyped-decorator]
def stored_bytes(typingctx: Any, variant: Any) -> Any:
    """Bytes of one number in the caller's lines, a constant of the compiled code."""
    return types.intp(variant), lambda context, builder, sig, args: constant(variant.stored.bits // 8)


@intrinsic  # type: ignore[untyped-decorator]
def one_lane(typingctx: Any, variant: Any) -> Any:
    """The same variant with one number in a register, for the ends of ragged lines."""
    single = Variant(variant.bits, 1, variant.codelet, variant.source, variant.target, variant.twiddled)
    return single(variant), lambda context, builder, sig, args: context.get_constant_null(single)


# ---------------------------------------------------------------------------------------------------------- memory


@intrinsic  # type: ignore[untyped-decorator]
def load(typingctx: Any, variant: Any, address: Any) -> Any:
    """Register from consecutive numbers."""
    return variant.vector(variant, address), lambda context, builder, sig, args: emit_load(
        builder, args[1], variant.vector
    )


@intrinsic  # type: ignore[untyped-decorator]
def broadcast(typingctx: Any, variant: Any, address: Any) -> Any:
    """Register with the one number at `address` in every lane."""
    return variant.vector(variant, address), lambda context, builder, sig, args: emit_broadcast(
        builder, args[1], variant.vector
    )


@intrinsic  # type: ignore[untyped-decorator]
def integer(typingctx: Any, variant: Any, address: Any) -> Any:
    """The one number at `address`, which is whole, as an integer."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = builder.inttoptr(args[1], SCALARS[variant.bits].as_pointer())
        return builder.fptosi(builder.load(pointer), INDEX)

    return types.intp(variant, address), emit


@intrinsic  # type: ignore[untyped-decorator]
def store(typingctx: Any, vector: Any, address: Any) -> Any:
    """Store a register to consecutive numbers."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        emit_store(builder, args[0], args[1])
        return context.get_dummy_value()

    return types.void(vector, address), emit


def _pair(variant: Variant) -> Any:
    return types.UniTuple(variant.vector, 2)


@intrinsic  # type: ignore[untyped-decorator]
def load_point(typingctx: Any, variant: Any, address: Any, distance: Any) -> Any:
    """Real and imaginary parts, `distance` bytes apart."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        addresses = args[1], builder.add(args[1], args[2])
        return context.make_tuple(builder, sig.return_type, [emit_load(builder, a, variant.vector) for a in addresses])

    return _pair(variant)(variant, address, distance), emit


@intrinsic  # type: ignore[untyped-decorator]
def broadcast_point(typingctx: Any, variant: Any, address: Any, distance: Any) -> Any:
    """Real and imaginary part of one point, `distance` bytes apart, in every lane."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        addresses = args[1], builder.add(args[1], args[2])
        return context.make_tuple(
            builder, sig.return_type, [emit_broadcast(builder, a, variant.vector) for a in addresses]
        )

    return _pair(variant)(variant, address, distance), emit


@intrinsic  # type: ignore[untyped-decorator]
def add_point(typingctx: Any, re: Any, im: Any, address: Any, distance: Any) -> Any:
    """Add real and imaginary parts to those in memory, `distance` bytes apart."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        for value, a in ((args[0], args[2]), (args[1], builder.add(args[2], args[3]))):
            emit_store(builder, (Lane(builder, value) + Lane(builder, emit_load(builder, a, re))).value, a)
        return context.get_dummy_value()

    return types.void(re, im, address, distance), emit


@intrinsic  # type: ignore[untyped-decorator]
def store_point(typingctx: Any, re: Any, im: Any, address: Any, distance: Any) -> Any:
    """Store real and imaginary parts `distance` bytes apart."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        emit_store(builder, args[0], args[2])
        emit_store(builder, args[1], builder.add(args[2], args[3]))
        return context.get_dummy_value()

    return types.void(re, im, address, distance), emit


@intrinsic  # type: ignore[untyped-decorator]
def read_numbers(typingctx: Any, variant: Any, address: Any) -> Any:
    """Register from consecutive numbers of the caller's lines."""
    return variant.vector(variant, address), lambda context, builder, sig, args: emit_read_numbers(
        builder, variant, args[1]
    )


@intrinsic  # type: ignore[untyped-decorator]
def write_numbers(typingctx: Any, variant: Any, vector: Any, address: Any) -> Any:
    """Store a register as consecutive numbers of the caller's lines."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        emit_write_numbers(builder, variant, args[1], args[2])
        return context.get_dummy_value()

    return types.void(variant, vector, address), emit


@intrinsic  # type: ignore[untyped-decorator]
def load_parts(typingctx: Any, variant: Any, address: Any) -> Any:
    """Registers of the real and of the imaginary parts, in lane order, from consecutive pairs of the caller's lines."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        first = emit_read_numbers(builder, variant, args[1])
        second = emit_read_numbers(builder, variant, moved(builder, args[1], variant.lanes * variant.stored.bits // 8))
        return context.make_tuple(builder, sig.return_type, emit_part(builder, first, second, variant.bits))

    return _pair(variant)(variant, address), emit


@intrinsic  # type: ignore[untyped-decorator]
def store_parts(typingctx: Any, variant: Any, re: Any, im: Any, address: Any) -> Any:
    """The reverse of `load_parts`."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        size = variant.lanes * variant.stored.bits // 8
        for k, pairs in enumerate(emit_join(builder, args[1], args[2], variant.bits)):
            emit_write_numbers(builder, variant, pairs, moved(builder, args[3], k * size))
        return context.get_dummy_value()

    return types.void(variant, re, im, address), emit


@intrinsic  # type: ignore[untyped-decorator]
def load_ordered(typingctx: Any, variant: Any, address: Any) -> Any:
    """Register from consecutive numbers of the caller's lines, in lane order."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = emit_read_numbers(builder, variant, args[1])
        return shuffled(builder, value, value, list(lane_order(variant.bits, variant.lanes)))

    return variant.vector(variant, address), emit


@intrinsic  # type: ignore[untyped-decorator]
def store_ordered(typingctx: Any, variant: Any, vector: Any, address: Any) -> Any:
    """The reverse of `load_ordered`."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        order = lane_order(variant.bits, variant.lanes)
        value = shuffled(builder, args[1], args[1], [order.index(k) for k in range(len(order))])
        emit_write_numbers(builder, variant, value, args[2])
        return context.get_dummy_value()

    return types.void(variant, vector, address), emit


@intrinsic  # type: ignore[untyped-decorator]
def gather(typingctx: Any, variant: Any, table: Any, offset: Any) -> Any:
    """Register whose line i, in lane order, is the number at ``table[i] + offset``; table: CPointer(int64) of addresses."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = ir.Constant(variant.stored.llvm, ir.Undefined)
        for lane, i in enumerate(lane_order(variant.bits, variant.lanes)):
            address = builder.add(builder.load(builder.gep(args[1], [constant(i)])), args[2])
            scalar = builder.load(builder.inttoptr(address, SCALARS[variant.stored.bits].as_pointer()))
            value = builder.insert_element(value, scalar, ir.Constant(I32, lane))
        return emit_widened(builder, variant, value)

    return variant.vector(variant, table, offset), emit


@intrinsic  # type: ignore[untyped-decorator]
def scatter(typingctx: Any, variant: Any, vector: Any, table: Any, offset: Any) -> Any:
    """The reverse of `gather`."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        value = emit_narrowed(builder, variant, args[1])
        for lane, i in enumerate(lane_order(variant.bits, variant.lanes)):
            address = builder.add(builder.load(builder.gep(args[2], [constant(i)])), args[3])
            scalar = builder.extract_element(value, ir.Constant(I32, lane))
            builder.store(scalar, builder.inttoptr(address, scalar.type.as_pointer()))
        return context.get_dummy_value()

    return types.void(variant, vector, table, offset), emit


@intrinsic  # type: ignore[untyped-decorator]
def gather_pairs(typingctx: Any, variant: Any, table: Any, offset: Any) -> Any:
    """Registers of real and imaginary parts whose line i, in lane order, is the pair at ``table[i] + offset``: half as many loads as number by number."""
    two = Vector(variant.stored.bits, 2)

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        rows = []
        for i in range(variant.lanes):
            address = builder.add(builder.load(builder.gep(args[1], [constant(i)])), args[2])
            rows.append(emit_load(builder, address, two))
        while len(rows) > 2:
            n = rows[0].type.count
            rows = [shuffled(builder, rows[i], rows[i + 1], list(range(2 * n))) for i in range(0, len(rows), 2)]
        first, second = (emit_widened(builder, variant, row) for row in rows)
        return context.make_tuple(builder, sig.return_type, emit_part(builder, first, second, variant.bits))

    return _pair(variant)(variant, table, offset), emit


@intrinsic  # type: ignore[untyped-decorator]
def scatter_pairs(typingctx: Any, variant: Any, re: Any, im: Any, table: Any, offset: Any) -> Any:
    """The reverse of `gather_pairs`."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pairs = [emit_narrowed(builder, variant, a) for a in emit_join(builder, args[1], args[2], variant.bits)]
        for i in range(variant.lanes):
            row, place = pairs[2 * i // variant.lanes], 2 * i % variant.lanes
            address = builder.add(builder.load(builder.gep(args[3], [constant(i)])), args[4])
            emit_store(builder, shuffled(builder, row, row, [place, place + 1]), address)
        return context.get_dummy_value()

    return types.void(variant, re, im, table, offset), emit


@intrinsic  # type: ignore[untyped-decorator]
def addresses(typingctx: Any, variant: Any, table: Any) -> Any:
    """The integers in a CPointer(int64), one for each lane: read once before a loop they stay in registers, which stores in the loop would forbid."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        values = [builder.load(builder.gep(args[1], [constant(i)])) for i in range(variant.lanes)]
        return context.make_tuple(builder, sig.return_type, values)

    return types.UniTuple(types.int64, variant.lanes)(variant, table), emit


def emit_prefetch(builder: Any, address: Any, write: int = 0) -> None:
    """Ask for the cache line at an address, which need not exist; write: 1 if it will be written to."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, I32, I32, I32])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    flags = [ir.Constant(I32, flag) for flag in (write, 3, 1)]  # to all caches, data
    builder.call(function, [builder.inttoptr(address, byte), *flags])


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typingctx: Any, lines: Any, offset: Any) -> Any:
    """Ask for the cache lines at ``lines[i] + offset``; lines: tuple of addresses, which need not exist."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        for line in cgutils.unpack_tuple(builder, args[0]):
            emit_prefetch(builder, builder.add(line, args[1]))
        return context.get_dummy_value()

    return types.void(lines, offset), emit


@intrinsic  # type: ignore[untyped-decorator]
def load_tile(typingctx: Any, variant: Any, lines: Any, offset: Any, target: Any, distance: Any) -> Any:
    """One register of pairs, or of reals, from ``lines[i] + offset`` of every line into planes, the lines in lane order.  The lanes are an even number.

    lines: tuple of addresses; target: where the real parts go; the imaginary parts, of reals zeros, go `distance` bytes on.
    """

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lines = cgutils.unpack_tuple(builder, args[1])
        order = lane_order(variant.bits, variant.lanes)
        rows = [emit_read_numbers(builder, variant, builder.add(lines[i], args[2])) for i in order]
        parts = 1 if "reals" in variant.source else 2
        for k, number in enumerate(emit_transpose(builder, rows)):
            point = moved(builder, args[3], k // parts * 2 * variant.lanes * variant.bytes)
            emit_store(builder, number, builder.add(point, args[4]) if k % parts else point)
            if parts == 1:
                zero = ir.Constant(variant.vector.llvm, [0.0] * variant.lanes)
                emit_store(builder, zero, builder.add(point, args[4]))
        return context.get_dummy_value()

    return types.void(variant, lines, offset, target, distance), emit


@intrinsic  # type: ignore[untyped-decorator]
def store_tile(typingctx: Any, variant: Any, source: Any, distance: Any, factor: Any, lines: Any, offset: Any) -> Any:
    """The reverse of `load_tile`, with every number `scaled` by the factor if the target is scaled."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        lines = cgutils.unpack_tuple(builder, args[4])
        numbers, parts = [], 1 if "reals" in variant.source else 2
        for k in range(variant.lanes):
            point = moved(builder, args[1], k // parts * 2 * variant.lanes * variant.bytes)
            number = emit_load(builder, builder.add(point, args[2]) if k % parts else point, variant.vector)
            numbers.append(emit_scaled(builder, number, args[3]) if "scaled" in variant.target else number)
        order = lane_order(variant.bits, variant.lanes)
        for i, row in zip(order, emit_transpose(builder, numbers), strict=True):
            emit_write_numbers(builder, variant, row, builder.add(lines[i], args[5]))
        return context.get_dummy_value()

    return types.void(variant, source, distance, factor, lines, offset), emit


@intrinsic  # type: ignore[untyped-decorator]
def turn_tile(typingctx: Any, variant: Any, source: Any, target: Any) -> Any:
    """As many registers as they have lanes, transposed; registers and lanes are in lane order, and every other register is left out on both sides."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        order, step = lane_order(variant.bits, variant.lanes), 2 * variant.lanes * variant.bytes
        rows = [emit_load(builder, moved(builder, args[1], i * step), variant.vector) for i in order]
        for i, row in zip(order, emit_transpose(builder, rows), strict=True):
            emit_store(builder, row, moved(builder, args[2], i * step))
        return context.get_dummy_value()

    return types.void(variant, source, target), emit


# ------------------------------------------------------------------------------- points at either end of a step


class Waiting(Split):
    """A point in memory that is loaded when it is first used: all operands of a codelet at once do not fit the registers."""

    __slots__ = ("loaded", "make")

    def __init__(self, make: Any) -> None:
        self.make, self.loaded = make, None

    def part(self, name: str) -> Any:
        if self.loaded is None:
            self.loaded = self.make()
        return getattr(self.loaded, name)

    re = property(lambda self: self.part("re"))
    im = property(lambda self: self.part("im"))


def emit_read(builder: Any, variant: Variant, address: Any, window: Any, reverse: bool = False) -> Split:
    """Point at the source end; window: distance from a weighted pair to its weights."""
    vector, width = variant.vector, variant.lanes * variant.bytes
    parts = [emit_load(builder, moved(builder, address, k * width), vector) for k in range(2)]
    if "weighted" in variant.source:
        weights = moved(builder, address, window)
        parts = [
            builder.fmul(part, emit_load(builder, moved(builder, weights, k * width), vector))
            for k, part in enumerate(parts)
        ]
    if "pairs" in variant.source:
        parts = list(emit_part(builder, parts[0], parts[1], variant.bits))
    if reverse:
        parts = [emit_reverse(builder, part) for part in parts]
    if "swapped" in variant.source:
        parts.reverse()
    return Split(*(Lane(builder, part) for part in parts))


def emit_write(builder: Any, variant: Variant, z: Split, address: Any, scale: Any, reverse: bool = False) -> None:
    """Point to the target end; scale: address of the factor of scaled ones, the sum of two numbers of which the second is small."""
    parts = [z.re.value, z.im.value]
    if "swapped" in variant.target:
        parts.reverse()
    if reverse:
        parts = [emit_reverse(builder, part) for part in parts]
    if "scaled" in variant.target:
        high, low = (
            Lane(builder, emit_broadcast(builder, moved(builder, scale, k * variant.bytes), variant.vector))
            for k in range(2)
        )
        parts = [(Lane(builder, part) * high + Lane(builder, part) * low).value for part in parts]
    if "pairs" in variant.target:
        parts = list(emit_join(builder, parts[0], parts[1], variant.bits))
    for k, part in enumerate(parts):
        emit_store(builder, part, moved(builder, address, k * variant.lanes * variant.bytes))


@intrinsic  # type: ignore[untyped-decorator]
def reads_planes(typingctx: Any, variant: Any) -> Any:
    """Whether the source is planes, a constant of the compiled code."""
    flag = ir.Constant(ir.IntType(1), "planes" in variant.source)
    return types.boolean(variant), lambda context, builder, sig, args: flag


@intrinsic  # type: ignore[untyped-decorator]
def writes_planes(typingctx: Any, variant: Any) -> Any:
    """Whether the target is planes, a constant of the compiled code."""
    flag = ir.Constant(ir.IntType(1), "planes" in variant.target)
    return types.boolean(variant), lambda context, builder, sig, args: flag


def _reader(reverse: bool) -> Any:
    def read(typingctx: Any, variant: Any, address: Any, window: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            z = emit_read(builder, variant, args[1], args[2], reverse)
            return context.make_tuple(builder, sig.return_type, [z.re.value, z.im.value])

        return _pair(variant)(variant, address, window), emit

    return read


def _writer(reverse: bool) -> Any:
    def write(typingctx: Any, variant: Any, re: Any, im: Any, address: Any, scale: Any) -> Any:
        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            z = Split(Lane(builder, args[1]), Lane(builder, args[2]))
            emit_write(builder, variant, z, args[3], args[4], reverse)
            return context.get_dummy_value()

        return types.void(variant, re, im, address, scale), emit

    return write


# (variant, address, window) → registers of points at the variant's source end; reversed: the last point in the first lane.
read_point, read_point_reversed = intrinsic(_reader(reverse=False)), intrinsic(_reader(reverse=True))
# (variant, re, im, address, scale): registers of points to its target end.
write_point, write_point_reversed = intrinsic(_writer(reverse=False)), intrinsic(_writer(reverse=True))


# ---------------------------------------------------------------------------------------------------------- codelets


@intrinsic  # type: ignore[untyped-decorator]
def radix(typingctx: Any, variant: Any) -> Any:
    """Points of the variant's codelet, a constant of the compiled code."""
    return types.intp(variant), lambda context, builder, sig, args: constant(variant.codelet)


@intrinsic  # type: ignore[untyped-decorator]
def codelet(typingctx: Any, variant: Any, points: Any) -> Any:
    """The variant's codelet, one in each lane, on a tuple (re, im, re, im, …) of its operands."""
    function = REAL_CODELETS[variant.codelet]
    results = function(*[Split(0.0, 0.0)] * (len(points) // 2))
    returned = types.UniTuple(variant.vector, 2 * len(results))

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return tuple_of(context, builder, returned, function(*points_of(builder, args[1])))

    return returned(variant, points), emit


class Kept(Split):
    """A point on the stack between two halves of a codelet, loaded when it is first used.

    Left to itself LLVM computes the halves in an order of its own and moves more registers to the stack and back than there are points: a pass of
    radix 16 with twiddles took twice the time, of radix 9, 10, 12 or 15 half as much again (16 registers).  Volatile accesses stay where they are.
    """

    __slots__ = ("loaded", "slots")

    def __init__(self, z: Split) -> None:
        self.slots, self.loaded = [self.stored(part) for part in (z.re, z.im)], dict[int, Lane]()

    @staticmethod
    def stored(part: Lane) -> tuple[Any, Any]:
        slot = cgutils.alloca_once(part.builder, part.value.type)
        insert_volatile(part.builder, VolatileStore(part.builder.block, part.value, slot))
        return part.builder, slot

    def part(self, k: int) -> Lane:
        if k not in self.loaded:
            builder, slot = self.slots[k]
            self.loaded[k] = Lane(builder, insert_volatile(builder, VolatileLoad(builder.block, slot)))
        return self.loaded[k]

    re = property(lambda self: self.part(0))
    im = property(lambda self: self.part(1))


class VolatileStore(ir.instructions.StoreInstr):  # type: ignore[misc]
    """A store that LLVM may neither move nor leave out; llvmlite has none."""

    def descr(self, buf: list[str]) -> None:
        super().descr(buf)
        buf[-1] = buf[-1].replace("store ", "store volatile ", 1)


class VolatileLoad(ir.instructions.LoadInstr):  # type: ignore[misc]
    """The same for a load."""

    def descr(self, buf: list[str]) -> None:
        super().descr(buf)
        buf[-1] = buf[-1].replace("load ", "load volatile ", 1)


def insert_volatile(builder: Any, instruction: Any) -> Any:
    """Put one of the two into the code."""
    instruction.align = None  # that of the type
    builder._insert(instruction)
    return instruction


def emit_butterfly(
    builder: Any, variant: Variant, source: Any, step: Any, window: Any, twiddled: bool
) -> Iterator[tuple[int, Split]]:
    """The codelet on points `step` bytes apart, each read when it is needed; twiddled: what it gives is yet to be multiplied."""

    def waiting(k: int) -> Waiting:
        return Waiting(lambda: emit_read(builder, variant, moved(builder, source, times(builder, step, k)), window))

    keep = Kept if twiddled and 2 * int(variant.codelet) > registers() else at_hand
    return CODELETS[int(variant.codelet)](*map(waiting, range(int(variant.codelet))), keep=keep)


def emit_twiddle(builder: Any, variant: Variant, factors: Any, k: int) -> Split:
    """The factor of point k, the same in every lane, out of those of all points but 0."""
    re = moved(builder, factors, 2 * (k - 1) * variant.bytes)
    parts = [emit_broadcast(builder, a, variant.vector) for a in (re, moved(builder, re, variant.bytes))]
    return Split(*(Lane(builder, part) for part in parts))


@contextmanager
def rounds(builder: Any, count: Any, *walks: tuple[Any, Any]) -> Iterator[list[Any]]:
    """A loop of `count` rounds, at least one; gives the value in this round of every walk, which is a start and a step.

    Loops are emitted where kernels are compiled for many variants: as `range` a loop takes Numba 0.03 s each time, so 0.005 s.
    """
    before, body = builder.block, builder.append_basic_block()
    builder.branch(body)
    builder.position_at_end(body)
    walks = ((count, constant(-1)), *walks)
    values = [builder.phi(INDEX) for _ in walks]
    yield values[1:]
    nexts = [builder.add(value, step, flags=["nsw"]) for value, (_, step) in zip(values, walks, strict=True)]
    for value, (start, _), following in zip(values, walks, nexts, strict=True):
        value.add_incoming(start, before)
        value.add_incoming(following, builder.block)
    behind = builder.append_basic_block()
    builder.cbranch(builder.icmp_signed("!=", nexts[0], constant(0)), body, behind)
    builder.position_at_end(behind)


def emit_rows(
    builder: Any,
    variant: Variant,
    counts: Any,
    places: Any,
    steps: Any,
    twiddles: Any,
    scale: Any,
    ahead: tuple[Any, ...] = (),
) -> None:
    """The codelet on rows of registers of points.

    counts: of rows, and of registers of one; places: of source and target; steps: of either, from register to register, from row to row, and between the
    points that are combined; twiddles: of the first row, and from row to row; ahead: how far behind either to ask for memory, 0 for nothing.
    """
    (x_bytes, x_row, x_step), (y_bytes, y_row, y_step) = steps
    (rows, width), (x, y) = counts, places
    with (
        rounds(builder, rows, (x, x_row), (y, y_row), twiddles) as (x, y, factors),
        rounds(builder, width, (x, x_bytes), (y, y_bytes)) as (x, y),
    ):
        for place, step, distance in zip((x, y), (x_step, y_step), ahead, strict=False):
            with builder.if_then(builder.icmp_signed("!=", distance, constant(0))):
                coming = builder.add(place, distance)
                for k in range(int(variant.codelet)):
                    emit_prefetch(builder, moved(builder, coming, times(builder, step, k)))
        for k, z in emit_butterfly(builder, variant, x, x_step, constant(0), variant.twiddled):
            if k and variant.twiddled:
                z = z * emit_twiddle(builder, variant, factors, k)
            emit_write(builder, variant, z, moved(builder, y, times(builder, y_step, k)), scale)


@intrinsic  # type: ignore[untyped-decorator]
def butterflies(
    typingctx: Any,
    variant: Any,
    groups: Any,
    span: Any,
    source: Any,
    source_bytes: Any,
    target: Any,
    target_bytes: Any,
    twiddles: Any,
    scale: Any,
) -> Any:
    """The codelet on all points of a pass: of every group, whose results lie together, the registers side by side that fill `span` bytes of planes.

    source_bytes, target_bytes: from a register of points in the caller's lines to the next one; twiddles: address of the factors (re, im, re, im, …) of
    points 1, 2, … of every group, the same in every lane, used if the variant is twiddled.
    """

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _, groups, span, x, x_bytes, y, y_bytes, factors, scale = args
        radix, plane = int(variant.codelet), variant.lanes * variant.bytes
        x_bytes = constant(2 * plane) if "planes" in variant.source else x_bytes
        y_bytes = constant(2 * plane) if "planes" in variant.target else y_bytes
        width = builder.sdiv(span, constant(2 * plane), flags=["exact"])
        x_row, y_row = (builder.mul(width, step, flags=["nsw"]) for step in (x_bytes, y_bytes))
        x_step = builder.mul(groups, x_row, flags=["nsw"])
        steps = (x_bytes, x_row, x_step), (y_bytes, times(builder, y_row, radix), y_row)
        emit_rows(
            builder,
            variant,
            (groups, width),
            (x, y),
            steps,
            (factors, constant(2 * (radix - 1) * variant.bytes)),
            scale,
        )
        return context.get_dummy_value()

    arguments = variant, groups, span, source, source_bytes, target, target_bytes, twiddles, scale
    return types.void(*arguments), emit


@intrinsic  # type: ignore[untyped-decorator]
def butterflies_of_run(
    typingctx: Any,
    variant: Any,
    count: Any,
    source: Any,
    step: Any,
    target: Any,
    target_step: Any,
    twiddles: Any,
    scale: Any,
    source_ahead: Any,
    target_ahead: Any,
) -> Any:
    """The codelet on `count` registers side by side, of points `step` bytes apart; the results go `target_step` bytes apart.

    source_ahead, target_ahead: how far behind each point to ask for memory, 0 for nothing.
    """

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _, count, x, x_step, y, y_step, factors, scale, *ahead = args
        plane, none = constant(2 * variant.lanes * variant.bytes), constant(0)
        steps = (plane, none, x_step), (plane, none, y_step)
        emit_rows(builder, variant, (constant(1), count), (x, y), steps, (factors, none), scale, tuple(ahead))
        return context.get_dummy_value()

    arguments = variant, count, source, step, target, target_step, twiddles, scale, source_ahead, target_ahead
    return types.void(*arguments), emit


@intrinsic  # type: ignore[untyped-decorator]
def real_butterfly(
    typingctx: Any, variant: Any, source: Any, step: Any, target: Any, target_step: Any, twiddles: Any
) -> Any:
    """The codelet, of odd radix R, from registers of real numbers `step` bytes apart to points 0, …, (R − 1)/2 in planes; the others are their conjugates."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _, x, x_step, y, y_step, factors = args
        n, zero = int(variant.codelet), Zero(builder, variant.vector)

        def waiting(k: int) -> Waiting:
            a = moved(builder, x, times(builder, x_step, k))
            return Waiting(lambda: Split(Lane(builder, emit_load(builder, a, variant.vector)), zero))

        done = set[int]()
        for k, z in CODELETS[n](*map(waiting, range(n))):
            # The first one of each pair: in a codelet that is composed of two, rows of the inner one can then be left out altogether.
            if n - k in done:
                continue
            done.add(k)
            if k > n // 2:
                k, z = n - k, z.conjugate()
            if k and variant.twiddled:
                z = z * emit_twiddle(builder, variant, factors, k)
            emit_write(builder, variant, z, moved(builder, y, times(builder, y_step, k)), constant(0))
        return context.get_dummy_value()

    return types.void(variant, source, step, target, target_step, twiddles), emit


@intrinsic  # type: ignore[untyped-decorator]
def hermitian_butterfly(typingctx: Any, variant: Any, source: Any, step: Any, target: Any, target_step: Any) -> Any:
    """The codelet, of odd radix R, from points 0, …, (R − 1)/2 in planes, whose conjugates the others are, to the real parts of its results, which are real.

    The first point is taken as real.
    """

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _, x, x_step, y, y_step = args
        n = int(variant.codelet)

        def waiting(k: int) -> Waiting:
            return Waiting(
                lambda: emit_read(builder, variant, moved(builder, x, times(builder, x_step, k)), constant(0))
            )

        half = [waiting(k) for k in range(n // 2 + 1)]
        half[0] = Waiting(lambda first=half[0]: Split(first.re, Zero(builder, variant.vector)))
        mirrored = [Waiting(z.conjugate) for z in half[:0:-1]]
        for k, z in CODELETS[n](*half, *mirrored):
            emit_store(builder, z.re.value, moved(builder, y, times(builder, y_step, k)))
        return context.get_dummy_value()

    return types.void(variant, source, step, target, target_step), emit


@intrinsic  # type: ignore[untyped-decorator]
def first_butterfly(
    typingctx: Any, variant: Any, source: Any, step: Any, target: Any, twiddles: Any, window: Any
) -> Any:
    """The codelet on points `step` bytes apart, to planes, transposed: the point p in a lane of point k becomes point ``p · radix + k``.

    twiddles: registers of factors in lane order, real parts and imaginary parts of point 1, of point 2, …; window: distance from a weighted point to its
    weights.  The radix is a multiple of the lanes.
    """

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        _, x, x_step, y, factors, weights = args
        n, order = variant.lanes, lane_order(variant.bits, variant.lanes)
        z = dict(emit_butterfly(builder, variant, x, x_step, weights, True))
        for k in range(1, len(z)):
            registers = [moved(builder, factors, (2 * (k - 1) + part) * n * variant.bytes) for part in range(2)]
            z[k] = z[k] * Split(*(Lane(builder, emit_load(builder, a, variant.vector)) for a in registers))
        for k in range(0, len(z), n):
            for part, name in enumerate(("re", "im")):
                values = [getattr(z[k + i], name).value for i in order]
                for p, row in zip(order, emit_transpose(builder, values), strict=True):
                    emit_store(builder, row, moved(builder, y, (2 * (p * len(z) + k) + part * n) * variant.bytes))
        return context.get_dummy_value()

    return types.void(variant, source, step, target, twiddles, window), emit


@intrinsic  # type: ignore[untyped-decorator]
def pointer(typingctx: Any, address: Any) -> Any:
    """CPointer(int64) to the integers at an address."""
    integers = types.CPointer(types.int64)
    return integers(address), lambda context, builder, sig, args: builder.inttoptr(args[0], ir.IntType(64).as_pointer())


def _chosen(comparison: str) -> Any:
    """Make the intrinsic that gives the one of two integers for which a comparison with the other one holds.

    Of `min` and `max` Numba compiles a function for every pair of types, 0.03 s, and every use takes 4 ms; of these it takes 1 ms.
    """

    def chosen(typingctx: Any, a: Any, b: Any) -> Any:
        """One of two integers."""

        def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.select(builder.icmp_signed(comparison, *args), *args)

        return types.intp(types.intp, types.intp), emit

    return intrinsic(chosen)


smaller, larger = _chosen("<"), _chosen(">")


record_type = cache(from_dtype)


def record_at(kind: np.dtype[Any]) -> Any:
    """Make the intrinsic that gives the record of a kind at an address.

    To read a record's field takes Numba 1.5 ms less to compile than to read an integer of a table at an index that is a sum.
    """

    def at(typingctx: Any, address: Any) -> Any:
        """Record at an address."""
        record = record_type(kind)  # here, for of all kinds it takes a tenth of the package's import
        return record(address), lambda context, builder, sig, args: builder.inttoptr(
            args[0], context.get_value_type(record)
        )

    return intrinsic(at)


@intrinsic(prefer_literal=True)  # type: ignore[untyped-decorator]
def static_words(typingctx: Any, count: Any) -> Any:
    """Address of `count` words, a constant, that are part of the compiled code: zero where it is loaded, and kept from call to call."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        memory = ir.ArrayType(INDEX, count.literal_value)
        words = cgutils.add_global_variable(builder.module, memory, builder.module.get_unique_name("static_words"))
        words.linkage, words.initializer, words.align = "internal", ir.Constant(memory, None), 8
        return builder.ptrtoint(words, INDEX)

    return types.intp(count), emit


@intrinsic  # type: ignore[untyped-decorator]
def copy_bytes(typingctx: Any, source: Any, target: Any, size: Any) -> Any:
    """Copy `size` bytes from address to address."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        x, y = (builder.inttoptr(address, ir.IntType(8).as_pointer()) for address in args[:2])
        cgutils.raw_memcpy(builder, y, x, args[2], 1)
        return context.get_dummy_value()

    return types.void(source, target, size), emit


@intrinsic  # type: ignore[untyped-decorator]
def call_address(typingctx: Any, function: Any, arguments: Any) -> Any:
    """Call the C function at an address with a tuple of integers, floats and pointers; it returns nothing."""

    def emit(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        values = cgutils.unpack_tuple(builder, args[1])
        target = ir.FunctionType(ir.VoidType(), [v.type for v in values])
        builder.call(builder.inttoptr(args[0], target.as_pointer()), values)
        return context.get_dummy_value()

    return types.void(function, arguments), emit
