"""Which variant of an operator computes a call, and why."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from fastspectral._arrays import as_index
from fastspectral._threads import resolve_workers
from fastspectral.contract.manifest import Operator
from fastspectral.ops import _lines, _shapes
from fastspectral.ops import conv_transpose as convolution
from fastspectral.ops.dft import planned
from fastspectral.ops.stft import frames_of
from fastspectral.plans import Kind, LineTransform, describe, line_transform

Array = npt.NDArray[Any]


class Explanation(NamedTuple):
    """How a call is computed.

    Attributes
    ----------
    variant : str
        The variant that is taken.
    reason : str
        Why that one.
    threads : int
        Threads at most.
    plan : str
        What the variant does: radices of a transform, blocks of a convolution.
    """

    variant: str
    reason: str
    threads: int
    plan: str


def explain(
    operator: Operator, inputs: Sequence[Any], attributes: Mapping[str, Any], variant: str | None, workers: int | None
) -> Explanation:
    """Tell how a call with these inputs and attributes is computed, if `variant` may choose."""
    explained: Callable[..., Explanation] = _EXPLAINED.get(operator.op_type, _one_way)
    return explained(inputs, attributes, variant, workers)


def _one_way(
    inputs: Sequence[Any],  # noqa: ARG001 (all have these)
    attributes: Mapping[str, Any],  # noqa: ARG001
    variant: str | None,  # noqa: ARG001
    workers: int | None,  # noqa: ARG001
) -> Explanation:
    return Explanation("serial", "there is no other variant", 1, "the formula, in float64")


def _dft(inputs: Sequence[Any], attributes: Mapping[str, Any], variant: str | None, workers: int | None) -> Explanation:
    x = inputs[0]
    length, axis = inputs[1], inputs[2] if len(inputs) > 2 else attributes["axis"]
    n = None if length is None else as_index(length, "dft_length")
    axis = -2 if axis is None else as_index(axis, "axis")
    inverse, onesided = bool(attributes["inverse"]), bool(attributes["onesided"])
    dense = _lines.dense_strides(x.shape, x.itemsize)
    spec, plan, _ = planned(x.shape, dense, x.dtype, n, axis, inverse, onesided)
    if plan is None:
        return Explanation("serial", "there is nothing to transform", 1, "zeros")
    return _threaded(plan, spec.kind, spec.n, inverse, x.itemsize, variant, workers)


def _stft(
    inputs: Sequence[Any], attributes: Mapping[str, Any], variant: str | None, workers: int | None
) -> Explanation:
    x, step, window, length = inputs
    w_shape = None if window is None else window.shape
    spec = _shapes.stft_spec(x.shape, step, w_shape, length, bool(attributes["onesided"]))
    if not spec.batch or not spec.frames:
        return Explanation("serial", "there is nothing to transform", 1, "zeros")
    stride = spec.length * x.itemsize * (2 if spec.is_complex else 1)
    windowed = window is not None
    how = frames_of(spec, stride, x.dtype, windowed=windowed)
    return _threaded(line_transform(*how), how[0], spec.frame_length, False, x.itemsize, variant, workers, windowed)


def _threaded(
    plan: LineTransform,
    kind: Kind,
    n: int,
    inverse: bool,
    itemsize: int,
    variant: str | None,
    workers: int | None,
    windowed: bool = False,
) -> Explanation:
    wanted = {"serial": 1, "parallel": -1}.get(variant or "", workers)
    limits = _lines.PARALLEL_THRESHOLD, _lines.ALONE
    threads = resolve_workers(wanted, plan.work, *limits)
    reason = _reason(threads, plan.work, *limits, "points")
    if threads == 1 and wanted == 1:
        reason = "it was asked for"
    text = describe(plan, kind, n, inverse, max(32, 8 * itemsize), whole=windowed)
    return Explanation("serial" if threads == 1 else "parallel", reason, threads, text)


def _reason(threads: int, work: int, threshold: int, alone: int, unit: str) -> str:
    if threads > 1:
        return f"{work} {unit} are worth {threads} threads" if work >= threshold else "it was asked for"
    if work < alone:
        return f"{work} {unit} are less than the {alone} from which on there may be several threads"
    if work < threshold:
        return f"{work} {unit} are less than the {threshold} from which on threads pay"
    return "one thread is allowed or available"


def conv_transpose_plan(
    inputs: Sequence[Any], attributes: Mapping[str, Any], variant: str | None
) -> convolution.ConvTransposePlan:
    """Plan of a ConvTranspose by a variant; None is the cheapest one."""
    way = cast(convolution.Way | None, variant)
    return convolution.ConvTransposePlan(inputs[1], inputs[2], _shapes.conv_transpose_attributes(**attributes), way)


def _conv_transpose(
    inputs: Sequence[Any], attributes: Mapping[str, Any], variant: str | None, workers: int | None
) -> Explanation:
    way, reason, text = conv_transpose_plan(inputs, attributes, variant).way(inputs[0])
    taps = int(np.prod(inputs[1].shape[1:]))
    threads = resolve_workers(workers, inputs[0].size * taps, convolution.PARALLEL_THRESHOLD, convolution.ALONE)
    return Explanation(way, reason, threads, text)


_EXPLAINED: dict[str, Callable[..., Explanation]] = {"ConvTranspose": _conv_transpose, "DFT": _dft, "STFT": _stft}
