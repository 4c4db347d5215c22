"""The ONNX operator DFT."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fastspectral._arrays import as_float, as_index, checked_dtype, deliver, output
from fastspectral._plan_caches import plan_cache
from fastspectral.ops._lines import dense_strides, flat, lines_of, run
from fastspectral.ops._shapes import DFTSpec, dft_rule
from fastspectral.plans import LineTransform, line_transform


def dft(
    input: npt.ArrayLike,  # noqa: A002 - ONNX's name
    dft_length: Any = None,
    axis: Any = -2,
    *,
    inverse: bool = False,
    onesided: bool = False,
    out: npt.NDArray[Any] | None = None,
    workers: int | None = None,
) -> npt.NDArray[Any]:
    """Discrete Fourier transform along one axis, as the ONNX operator DFT (opset 20).

    ``output[k] = Σ_j input[j] · exp(−2πi jk / n)``, and with ``inverse=True``
    ``output[j] = (1/n) Σ_k input[k] · exp(+2πi jk / n)``, where n is the transform length.

    Parameters
    ----------
    input : array_like of float16, bfloat16, float32 or float64, shape (..., 1) or (..., 2), rank 2 or more
        The last axis holds the real part, or the real and imaginary parts.  Any strides, read-only or byte-swapped
        memory are welcome.  Lists of floats become float64.
    dft_length : int > 0, optional
        Transform length n.  The axis is cut to n values or continued with zeros.  Default: its size; for the inverse of
        a one-sided spectrum ``2 * (size - 1)``, which is always even: give n for a signal of odd length.
    axis : int in [-rank, -2] or [0, rank - 2]
        Axis to transform; never the last one.  Opset 17's operator has 1 for its default.
    inverse : bool
        Transform back, and divide by n.
    onesided : bool
        Forward: the input is real and only the first ``n // 2 + 1`` bins are given, the others being their mirror image.
        Inverse: the input is such a half spectrum, of which at most ``n // 2 + 1`` bins are read, and the result is
        real; the imaginary parts of bin 0 and, for even n, of bin n/2 are ignored.
    out : ndarray, optional
        Where to put the result: exact shape and dtype, any strides.  It may be `input` itself, where shape and dtype
        allow; it may not overlap it otherwise.
    workers : int, optional
        Threads at most; -1 for all.  Default: see `set_workers`.

    Returns
    -------
    ndarray, shape of `input` with n (one-sided spectra: n // 2 + 1) along `axis` and a last axis of size 2 (real results: 1)
        Same dtype as `input`.  Half precisions are computed in float32 and rounded once.  The result is the same in
        every bit for any number of workers.  For real input the imaginary part of bin 0, and of bin n/2, is exactly 0.

    Raises
    ------
    ValueError
        If `axis` is out of range, n is below 1 or above 2^26, the last axis has another size than 1 or 2, or its size
        does not suit `onesided`; if `out` does not fit.
    TypeError
        If `input` is of another dtype than the four, or an argument of another kind.

    Notes
    -----
    Cost O(n log n) for every n, primes included.  Relative L2 error below ``0.6 · eps · sqrt(log2 n)`` for most n, with
    eps = 2^-23 or 2^-52.  onnxruntime 1.32 gives other values for a one-sided inverse whose bins are not the natural
    ``n // 2 + 1``; these are the ones that NumPy, SciPy and the ONNX reference give.

    See Also
    --------
    dft_shape : the shape of the result, without computing.
    stft : transforms of the frames of a signal.

    References
    ----------
    ONNX operator DFT-20.

    Examples
    --------
    >>> import fastspectral, numpy as np
    >>> fastspectral.dft(np.array([[[1.0], [2.0], [3.0], [4.0]]]), onesided=True)[0]
    array([[10.,  0.],
           [-2.,  2.],
           [-2.,  0.]])
    """
    # What most calls bring is looked up as it is; `general` takes all else.  A call of 64 points takes 2 us, so that tenths of one count.
    x = input if type(input) is np.ndarray and input.flags.aligned else as_float(input, "input")
    n = dft_length if dft_length is None or type(dft_length) is int else as_index(dft_length, "dft_length")
    if type(axis) is not int:
        axis = as_index(axis, "axis")
    spec, plan, dense = planned(x.shape, x.strides, x.dtype, n, axis, bool(inverse), bool(onesided))
    if plan is None:
        return general(x, spec, bool(inverse), out, workers)
    if out is None:
        y = np.empty(spec.output_shape, x.dtype)
    elif type(out) is np.ndarray and out.dtype == x.dtype and out.shape == spec.output_shape and out.flags.carray:
        # The compiled code sees by itself whether two dense arrays of one shape overlap; of others it does not know where they end.
        if not (dense and x.shape == out.shape) and np.may_share_memory(x, out):
            return general(x, spec, bool(inverse), out, workers)
        y = out
    else:
        return general(x, spec, bool(inverse), out, workers)
    if not run(plan, x.ravel() if dense else flat(x), y, workers):
        output(out, spec.output_shape, x.dtype, x, in_place=True)  # raises: they overlap
    return y


@plan_cache(1024)
def planned(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype[Any],
    dft_length: int | None,
    axis: int,
    inverse: bool,
    onesided: bool,
) -> tuple[DFTSpec, LineTransform | None, bool]:
    """What is to be done, the plan of it where the data can be used as they lie, and whether they are dense."""
    checked_dtype(dtype, "input")
    spec = dft_rule(shape, dft_length, axis, inverse, onesided)
    if not dtype.isnative or not math.prod(spec.output_shape) or not spec.keep:
        return spec, None, False
    dense = strides == dense_strides(shape, dtype.itemsize)
    return spec, plan_of(spec, inverse, shape, strides, dtype), dense


def plan_of(
    spec: DFTSpec, inverse: bool, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]
) -> LineTransform | None:
    """Plan of a transform into dense memory, or None where the input must be copied first."""
    source = lines_of(shape, strides, spec.axis, dtype)
    if source is None:
        return None
    target = lines_of(spec.output_shape, dense_strides(spec.output_shape, dtype.itemsize), spec.axis, dtype)
    assert target is not None
    return line_transform(spec.kind, spec.n, spec.keep, inverse, max(32, 8 * dtype.itemsize), source, target)


def general(
    x: npt.NDArray[Any], spec: DFTSpec, inverse: bool, out: npt.NDArray[Any] | None, workers: Any
) -> npt.NDArray[Any]:
    """Any strides, byte order and `out`: what must be copied first is."""
    x = as_float(x, "input")
    y = output(out, spec.output_shape, x.dtype, x, in_place=True)
    if spec.keep == 0:
        y[...] = 0
    elif y.size:
        used = x[(slice(None),) * spec.axis + (slice(spec.keep),)]  # a copy need not be larger than what is read
        source = np.ascontiguousarray(used)
        if out is not None and np.may_share_memory(source, y):
            source = source.copy()  # they may be the same memory in another order
        plan = plan_of(spec, inverse, source.shape, source.strides, x.dtype)
        assert plan is not None
        run(plan, flat(source), y, workers)
    return deliver(y, out)
