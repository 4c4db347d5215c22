"""The ONNX operator ConvTranspose."""

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from fastspectral._arrays import as_float, deliver, output
from fastspectral._threads import resolve_workers
from fastspectral.conv_plans import Axis, ConvTransposePlan, conv_transpose_plan
from fastspectral.kernels.conv_transpose import (
    conv_transpose_blocks,
    conv_transpose_blocks_parallel,
    conv_transpose_direct,
    conv_transpose_direct_parallel,
)
from fastspectral.ops._lines import narrow, wide
from fastspectral.ops._shapes import ConvTransposeSpec, conv_transpose_spec

PARALLEL_THRESHOLD = 1 << 20  # multiplications; below, starting threads costs more than it saves


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
    Every output is one sum over the taps and inputs that meet there, in a fixed order, and is written once.  NaN and
    infinity reach exactly the outputs that the definition gives them; weights that are not finite take a slow path.
    Beside the result and one copy of the weights it takes about 4 MiB for each thread.

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
    x = as_float(x, "x")
    w = as_float(w, "w")
    bias = None if b is None else as_float(b, "b")
    for name, array in (("w", w), ("b", bias)):
        if array is not None and array.dtype != x.dtype:
            raise TypeError(f"{name} must have the float dtype of x, {x.dtype}, got {array.dtype}")
    spec = conv_transpose_spec(
        x.shape,
        w.shape,
        None if bias is None else bias.shape,
        auto_pad,
        dilations,
        group,
        kernel_shape,
        output_padding,
        output_shape,
        pads,
        strides,
    )
    y = output(out, spec.output_shape, x.dtype, *((x, w) if bias is None else (x, w, bias)))
    if y.size:
        target = wide(y)
        kernel_bias = None if bias is None else np.ascontiguousarray(wide(bias))
        run(
            plan_of(spec, 8 * target.itemsize),
            np.ascontiguousarray(wide(x)),
            np.ascontiguousarray(wide(w)),
            kernel_bias,
            target,
            workers,
        )
        narrow(target, y)
    return deliver(y, out)


@lru_cache(maxsize=256)
def plan_of(spec: ConvTransposeSpec, bits: int) -> ConvTransposePlan:
    """Plan what a spec asks for."""
    axes = zip(spec.input, spec.kernel, spec.strides, spec.dilations, spec.begins, spec.output, strict=True)
    channels, out_channels = spec.in_channels // spec.group, spec.out_channels // spec.group
    return conv_transpose_plan(
        spec.batch, spec.group, channels, out_channels, tuple([Axis(*axis) for axis in axes]), bits
    )


def run(
    plan: ConvTransposePlan,
    x: npt.NDArray[Any],
    w: npt.NDArray[Any],
    b: npt.NDArray[Any] | None,
    y: npt.NDArray[Any],
    workers: Any,
) -> None:
    """Fill `y`; all arrays are C-contiguous and of one dtype, float32 or float64."""
    threads = resolve_workers(workers, plan.work, PARALLEL_THRESHOLD)
    source, weights, target = x.reshape(-1), w.reshape(-1), y.reshape(-1)
    bias = np.empty(0, y.dtype) if b is None else b
    if plan.tile_rows:
        packed, scratch = np.empty(plan.packed, y.dtype), np.empty((threads, plan.scratch_words), np.int64)
        kernel = conv_transpose_blocks if threads == 1 else conv_transpose_blocks_parallel
        if kernel(source, weights, packed, bias, target, plan.geometry, scratch):
            return
    if threads == 1:
        conv_transpose_direct(source, weights, bias, target, plan.geometry)
    else:
        conv_transpose_direct_parallel(source, weights, bias, target, plan.geometry, threads)
