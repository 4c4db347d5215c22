"""The ONNX operator ConvTranspose, and plans of it that hold packed weights."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from fastspectral._arrays import as_float, deliver, output
from fastspectral._jit import entry_of
from fastspectral._threads import resolve_workers, shared
from fastspectral.conv_plans import LEAST_PAIRED_CHANNELS, Axis, BlockPlan, Choice, block_plan, describe, same_sums
from fastspectral.kernels.conv_geometry import HEADER, records
from fastspectral.kernels.conv_transpose import (
    all_below,
    conv_transpose_blocks,
    conv_transpose_blocks_parallel,
    conv_transpose_direct,
    conv_transpose_direct_parallel,
    pack_weights,
    pack_weights_parallel,
)
from fastspectral.ops._lines import narrow, scratch_of, wide
from fastspectral.ops._shapes import ConvTransposeAttributes, as_shape, conv_transpose_attributes, conv_transpose_rule

Array = npt.NDArray[Any]

PARALLEL_THRESHOLD = 1 << 20  # multiplications; below, starting threads costs more than it saves
# Multiplications that one thread does whatever `workers` allows: 16 us of work, a fifth of what waking a thread may take.
ALONE = 1 << 19
LITTLE_BYTES = 8 << 10  # of weights
MOST_SHAPES = 64  # that a plan remembers; audio has ever new lengths
# Below, in inputs and weights, no sum that is a part of several outputs overflows where theirs do not.
PAIRED_LIMITS = {32: 2.0**40, 64: 2.0**480}


# How outputs are summed: by pairs, one by one in blocks, or by the definition.
Way = Literal["pairs", "blocks", "direct"]


class _Prepared(NamedTuple):
    """What is known of the inputs of one shape; `weights` are packed, None where the definition is taken."""

    output_shape: tuple[int, ...]
    plan: BlockPlan
    weights: Array | None


class _Packed(NamedTuple):
    """Weights as they are packed for a way to sum, and what tells that they are packed so (see `BlockPlan`)."""

    choice: Choice
    packing: bytes
    weights: Array


class _Arrays(NamedTuple):
    output_shape: npt.NDArray[np.int64]  # a tuple could not go into a prange
    weights: Array
    bias: Array
    geometry: npt.NDArray[np.int64]
    scratch_words: int
    entry: int  # address of the executor
    items: int  # of its work

    def __repr__(self) -> str:
        return f"ConvTransposeArrays of outputs of shape {tuple(self.output_shape.tolist())}, {self.weights.dtype}"


class ConvTransposeArrays(_Arrays):
    """Transposed convolutions of x of one shape, for calls from the user's own @njit code; made by `ConvTransposePlan.for_njit`.

    Its Numba type depends on the dtype only.  It holds addresses, which are of no use to another process: a pickled one is made anew where it is unpickled.
    """

    # And the shape of x.  It is no field, for Numba's types know no such object.
    made_of: tuple["ConvTransposePlan", tuple[int, ...]]

    def __reduce__(self) -> tuple[Any, ...]:
        return ConvTransposePlan.for_njit, self.made_of


class ConvTransposePlan:
    """Transposed convolutions with the same weights and attributes; made by `conv_transpose_plan`, which says more.

    The arrays are as `as_float` gives them and of one dtype; with a `way`, that one is taken where it is possible and not the cheapest one.
    """

    def __init__(self, w: Array, b: Array | None, attributes: ConvTransposeAttributes, way: Way | None = None) -> None:
        self._w, self._b, self._attributes = w, b, attributes
        self._weights = np.ascontiguousarray(wide(w)).reshape(-1)
        self._limit = PAIRED_LIMITS[8 * self._weights.itemsize]
        self._way = way
        self._pairs = way in (None, "pairs") and all_below(self._weights, self._limit)
        self._finite = self._pairs or all_below(self._weights, np.inf)
        self._unpaired: ConvTransposePlan | None = None  # for x beyond the limit
        self._bias = np.empty(0, self._weights.dtype) if b is None else np.ascontiguousarray(wide(b))
        self._packed: tuple[_Packed, ...] = ()  # of ways that give the same bits, one
        self._prepared: dict[tuple[int, ...], _Prepared] = {}

    def __call__(self, x: npt.ArrayLike, out: Array | None = None, workers: int | None = None) -> Array:
        """Give ``conv_transpose(x, w, b, ..., out=out, workers=workers)``."""
        return self.beside([self._w] if self._b is None else [self._w, self._b], x, out, workers)

    def beside(self, arrays: list[Array], x: npt.ArrayLike, out: Array | None, workers: int | None) -> Array:
        """The call, where the result must be apart from these arrays, too."""
        x = as_float(x, "x")
        check_dtypes(x, self._w, None)
        output_shape, plan, weights = self._prepared.get(x.shape) or self._prepare(x.shape, workers)
        source = np.ascontiguousarray(wide(x)).reshape(-1)
        if weights is not None and plan.paired and not all_below(source, self._limit):
            if self._unpaired is None:
                self._unpaired = ConvTransposePlan(self._w, self._b, self._attributes, "blocks")
            return self._unpaired.beside(arrays, x, out, workers)
        y = output(out, output_shape, x.dtype, x, *arrays)
        if y.size:
            target = wide(y)
            result = target.reshape(-1)
            threads = resolve_workers(workers, plan.work, PARALLEL_THRESHOLD, ALONE)
            shared(threads, self._sum, source, result, plan, weights)
            narrow(target, y)
        return deliver(y, out)

    def _sum(self, threads: int, x: Array, y: Array, plan: BlockPlan, weights: Array | None) -> None:
        """Fill y, on so many threads.  x, y: flat."""
        if weights is not None:
            arguments = (weights, self._bias, y, plan.geometry, scratch_of(threads, plan.scratch_words))
            if threads == 1:
                blocks = _entries.get(y.itemsize) or _entry(*arguments)
                blocks(x, *arguments)
            else:
                conv_transpose_blocks_parallel(x, *arguments)
        elif threads == 1:
            conv_transpose_direct(x, self._weights, self._bias, y, plan.geometry)
        else:
            conv_transpose_direct_parallel(x, self._weights, self._bias, y, plan.geometry, threads)

    def _pack(self, threads: int, packed: Array, plan: BlockPlan) -> None:
        """Pack the weights, on so many threads."""
        pack = pack_weights if threads == 1 else pack_weights_parallel
        slots = np.empty((threads, records(plan.geometry, HEADER)[0]["slot_words"]), np.int64)
        pack(self._weights, packed, plan.geometry, slots)

    def for_njit(self, x_shape: Sequence[int]) -> ConvTransposeArrays:
        """Give what `fastspectral.kernels.conv_transpose_planned` needs to convolve an x of float32 or float64 of this shape in @njit code.

        Outputs are summed one by one there, never by pairs: nothing in compiled code looks at the magnitude of x.

        Raises
        ------
        ValueError
            As `conv_transpose`; if weights are not finite, or strides so large that only the definition is left.
        TypeError
            If w is of a half precision, or a size is no integer.
        """
        if self._w.itemsize == 2:
            raise TypeError(f"w must be float32 or float64 for @njit code, got {self._w.dtype}")
        sizes = as_shape(x_shape, "x_shape")
        plan = ConvTransposePlan(self._w, self._b, self._attributes, "blocks")
        output_shape, blocks, weights = plan._prepare(sizes, 1)
        if weights is None:
            raise ValueError("w must be finite and not empty, and strides below 2^14 together, for @njit code")
        shape, geometry = np.array(output_shape, np.int64), blocks.geometry
        head = records(geometry, HEADER)[0]
        entry, items = int(head["executor"]), int(head["items"])
        arrays = ConvTransposeArrays(shape, weights, self._bias, geometry, blocks.scratch_words, entry, items)
        arrays.made_of = plan, sizes
        return arrays

    def _prepare(self, x_shape: tuple[int, ...], workers: int | None) -> _Prepared:
        """Plan for a shape of x, and pack the weights if they are not yet packed in its way."""
        b_shape = None if self._b is None else self._b.shape
        held = self._packed
        choices = tuple([packed.choice for packed in held])
        bits, singles = 8 * self._weights.itemsize, self._way != "pairs"
        output_shape, plan = planned(
            x_shape, self._w.shape, b_shape, self._attributes, bits, self._pairs, choices, singles
        )
        if plan.choice is None or not self._w.size or not self._finite or self._way == "direct":
            weights = None
        else:
            weights = next((packed.weights for packed in held if packed.packing == plan.packing), None)
            if weights is None:
                weights = np.empty(plan.packed, self._weights.dtype)
                threads = resolve_workers(workers, weights.size, PARALLEL_THRESHOLD, ALONE)
                shared(threads, self._pack, weights, plan)
                others = [packed for packed in held if not same_sums(packed.choice, plan.choice)]
                self._packed = *others, _Packed(plan.choice, plan.packing, weights)
                self._prepared.clear()  # with the weights packed in another way
        if len(self._prepared) >= MOST_SHAPES:
            self._prepared.clear()
        prepared = self._prepared[x_shape] = _Prepared(output_shape, plan, weights)
        return prepared

    def way(self, x: Array) -> tuple[Way, str, str]:
        """Give how `x` is summed, why so, and the plan in words."""
        _, plan, weights = self._prepare(x.shape, None)
        text = describe(plan)
        if weights is None:
            if self._way == "direct":
                return "direct", "it was asked for", "the definition"
            reason = "a weight is not finite" if plan.choice and self._w.size else "there is nothing to put into blocks"
            return "direct", reason, text if plan.choice is None else "the definition"
        if plan.paired and all_below(np.ascontiguousarray(wide(x)).reshape(-1), self._limit):
            return "pairs", "it was asked for" if self._way else "it takes the fewest products", text
        if plan.paired:
            text = ConvTransposePlan(self._w, self._b, self._attributes, "blocks").way(x)[2]
            return "blocks", "X has numbers so large that sums of pairs could overflow", text
        if self._way == "blocks":
            return "blocks", "it was asked for", text
        if not self._pairs:
            return "blocks", "W has numbers so large that sums of pairs could overflow", text
        if self._w.shape[0] // self._attributes.group < LEAST_PAIRED_CHANNELS:
            return "blocks", f"sums of pairs need {LEAST_PAIRED_CHANNELS} channels in a group", text
        return "blocks", "pairs are not possible or cost more", text

    def __reduce__(self) -> tuple[Any, ...]:
        return ConvTransposePlan, (self._w, self._b, self._attributes, self._way)

    def __str__(self) -> str:
        given = {name: value for name, value in self._attributes._asdict().items() if value not in (None, "NOTSET")}
        text = ", ".join(f"{name} {value}" for name, value in given.items())
        lines = [f"ConvTransposePlan of w {self._w.shape}, {self._w.dtype}, {text}"]
        for x_shape, prepared in list(self._prepared.items()):  # which another thread may add to
            plan = prepared.plan
            direct = "the definition, as a weight is not finite"
            how = direct if prepared.weights is None and plan.choice and self._w.size else describe(plan)
            lines.append(f"x {x_shape} -> {prepared.output_shape}: {how}")
        return "\n  ".join(lines)


_entries: dict[int, Callable[..., Any]] = {}  # of `conv_transpose_blocks`, by the bytes of a number


def _entry(*arguments: Array) -> Callable[..., Any]:
    numbers = arguments[0]
    return _entries.setdefault(numbers.itemsize, entry_of(conv_transpose_blocks, numbers, *arguments))


@lru_cache(maxsize=256)
def planned(
    x_shape: tuple[int, ...],
    w_shape: tuple[int, ...],
    b_shape: tuple[int, ...] | None,
    attributes: ConvTransposeAttributes,
    bits: int,
    pairs: bool,
    held: tuple[Choice, ...],
    singles: bool,
) -> tuple[tuple[int, ...], BlockPlan]:
    """Give the shape of the output, and the plan; raises as `conv_transpose`."""
    spec = conv_transpose_rule(x_shape, w_shape, b_shape, *attributes)
    axes = zip(spec.input, spec.kernel, spec.strides, spec.dilations, spec.begins, spec.output, strict=True)
    channels, out_channels = spec.in_channels // spec.group, spec.out_channels // spec.group
    sizes = tuple([Axis(*axis) for axis in axes])
    plan = block_plan(spec.batch, spec.group, channels, out_channels, sizes, bits, pairs, held, singles)
    return spec.output_shape, plan


def check_dtypes(x: Array | None, w: Array, b: Array | None) -> None:
    """Raise TypeError where arrays are not of one dtype, which is that of x if there is one."""
    dtype, whose = (w.dtype, "w") if x is None else (x.dtype, "x")
    for name, array in (("w", w), ("b", b)):
        if array is not None and array.dtype != dtype:
            raise TypeError(f"{name} must have the float dtype of {whose}, {dtype}, got {array.dtype}")


def conv_transpose(
    x: npt.ArrayLike,
    w: npt.ArrayLike,
    b: npt.ArrayLike | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: Any = 1,
    kernel_shape: Any = None,
    output_padding: Any = None,
    output_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
    out: npt.NDArray[Any] | None = None,
    workers: int | None = None,
) -> npt.NDArray[Any]:
    """Transposed convolution, as the ONNX operator ConvTranspose (opset 22; the same rules for 1 and 11).

    ``y[n, m, o] = b[m] + Σ_c Σ_i Σ_q x[n, c, i] · w[c, m, q]`` over all input positions i and taps q with
    ``o = i · strides + q · dilations − begin`` along every spatial axis; c runs over the input channels of m's group,
    and w's second axis counts the output channels inside the group.

    Parameters
    ----------
    x : array_like of float16, bfloat16, float32 or float64, shape (batch, channels, size, ...)
        Input with one spatial axis or more.  Any strides, read-only or byte-swapped memory are welcome.
    w : array_like, same dtype, shape (channels, out_channels / group, taps, ...)
        Kernel, one axis of taps for each spatial axis.
    b : array_like, same dtype, shape (out_channels,), optional
        Bias.  Outputs that no tap reaches hold the bias alone.
    auto_pad : {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}
        NOTSET: `pads` are used.  SAME_UPPER, SAME_LOWER: the output has ``size * strides``; an odd crop takes one more
        from the end (UPPER) or the beginning (LOWER), and what is missing is appended at the end.  VALID: nothing is
        cropped.
    dilations, strides : sequence of int > 0, one for each spatial axis, optional
        Distance of taps, and of inputs, in the output.  Default: 1.
    group : int > 0
        Groups that the channels are split into; it divides the channels.
    kernel_shape : sequence of int, optional
        Shape of the taps; no other than w's is allowed.
    output_padding : sequence of int, one for each spatial axis, optional
        Outputs to append at the end of an axis; less than its stride or its dilation.  Default: 0.
    output_shape : sequence of int, one for each spatial axis, optional
        Spatial shape of the output.  `pads` are then ignored, and an odd crop takes one more from the beginning unless
        auto_pad is SAME_UPPER.
    pads : sequence of int >= 0, all begins, then all ends, optional
        Outputs to crop.  Default: 0.
    out : ndarray, optional
        Where to put the result: exact shape and dtype, any strides, no memory shared with the inputs.
    workers : int, optional
        Threads; -1 for all.  Default: see `set_workers`.

    Returns
    -------
    ndarray, shape (batch, out_channels, out_size, ...)
        In the dtype of `x`.  With `pads`,
        ``out_size = strides · (size − 1) + dilations · (taps − 1) + 1 + output_padding − begin − end``.
        Half precisions are summed in float32 and rounded once.  The result is the same in every bit for any number of
        workers.

    Raises
    ------
    ValueError
        If shapes or attributes do not fit together or the output would be empty along a spatial axis; if `out` does
        not fit.
    TypeError
        If x, w and b are not of one dtype among the four, or an argument is of another kind.

    Warns
    -----
    UserWarning
        If `auto_pad` replaces pads that are not all 0.

    Notes
    -----
    Every output is one sum over the taps and inputs that meet there, in a fixed order, and is written once.  Where
    channels are many, neighbouring outputs are summed by pairs, by fewer products (Winograd's minimal filtering): an
    output's error is then that of sums over its neighbours' inputs too.  Sums of pairs are not used where x or w
    reaches 2^40 (2^480 in float64) or is not finite.  NaN and infinity reach exactly the outputs that the definition
    gives them; weights that are not finite take a slow path.  Beside the result and the packed weights, which are up to
    three times as many as w has, it takes at most 4 MiB for each thread.

    See Also
    --------
    conv_transpose_shape : the shape of the result, without computing.

    References
    ----------
    ONNX operator ConvTranspose-22.

    Examples
    --------
    >>> import fastspectral, numpy as np
    >>> fastspectral.conv_transpose([[[1.0, 2.0]]], [[[1.0, 10.0, 100.0]]], strides=[2])
    array([[[  1.,  10., 102.,  20., 200.]]])
    """
    x, w = as_float(x, "x"), as_float(w, "w")
    bias = None if b is None else as_float(b, "b")
    check_dtypes(x, w, bias)
    attributes = conv_transpose_attributes(
        auto_pad, dilations, group, kernel_shape, output_padding, output_shape, pads, strides
    )
    if 0 < w.nbytes <= LITTLE_BYTES and (bias is None or bias.size):
        arrays = [w] if bias is None else [w, bias]
        contents = tuple([(array.tobytes(), array.shape) for array in arrays])
        return plan_of_little(contents, w.dtype, attributes).beside(arrays, x, out, workers)
    return ConvTransposePlan(w, bias, attributes)(x, out, workers)


@lru_cache(maxsize=64)
def plan_of_little(
    arrays: tuple[tuple[bytes, tuple[int, ...]], ...], dtype: np.dtype[Any], attributes: ConvTransposeAttributes
) -> ConvTransposePlan:
    """Plan for weights, and a bias, that are sooner compared than packed anew: 8 x 8 x 3 x 3 take 2 us instead of 7."""
    # Not read-only, for which Numba would compile the kernels that see them once more.
    w, *bias = (np.frombuffer(bytearray(content), np.uint8).view(dtype).reshape(shape) for content, shape in arrays)
    return ConvTransposePlan(w, bias[0] if bias else None, attributes)


def conv_transpose_plan(
    w: npt.ArrayLike,
    b: npt.ArrayLike | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Any = None,
    group: Any = 1,
    kernel_shape: Any = None,
    output_padding: Any = None,
    output_shape: Any = None,
    pads: Any = None,
    strides: Any = None,
) -> ConvTransposePlan:
    """Plan of transposed convolutions with the same weights: ``plan(x)`` is ``conv_transpose(x, w, b, ...)``.

    The weights are packed once, by the first call, and once more if an x of another shape is better done in another way.

    Parameters
    ----------
    w : array_like of float16, bfloat16, float32 or float64, shape (channels, out_channels / group, taps, ...)
        Kernel.  The plan refers to it, and to `b`: they must not change while it is in use.
    b : array_like, same dtype, shape (out_channels,), optional
        Bias.
    auto_pad, dilations, group, kernel_shape, output_padding, output_shape, pads, strides
        As of `conv_transpose`.

    Returns
    -------
    ConvTransposePlan
        Called with `x`, and with `out` and `workers` if wanted, it gives the result, bit for bit that of `conv_transpose`.
        ``print(plan)`` shows how the shapes that it has met are computed.  Several threads may call it at once.  A pickled
        plan packs its weights anew.

    Raises
    ------
    ValueError, TypeError
        As `conv_transpose`; what depends on the shape of x, when it is called.

    Warns
    -----
    UserWarning
        If `auto_pad` replaces pads that are not all 0.

    See Also
    --------
    conv_transpose : the same without a plan.

    Examples
    --------
    >>> import fastspectral, numpy as np
    >>> plan = fastspectral.conv_transpose_plan([[[1.0, 10.0, 100.0]]], strides=[2])
    >>> plan(np.array([[[1.0, 2.0]]]))
    array([[[  1.,  10., 102.,  20., 200.]]])
    """
    weights = as_float(w, "w")
    bias = None if b is None else as_float(b, "b")
    check_dtypes(None, weights, bias)
    attributes = conv_transpose_attributes(
        auto_pad, dilations, group, kernel_shape, output_padding, output_shape, pads, strides
    )
    return ConvTransposePlan(weights, bias, attributes)
