"""The ONNX operator DFT."""

from typing import Any

import numpy.typing as npt

from fastspectral._arrays import as_float, deliver, output
from fastspectral.ops._lines import transform
from fastspectral.ops._shapes import dft_spec


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
        Threads; -1 for all.  Default: see `set_workers`.

    Returns
    -------
    ndarray, shape of `input` with n (one-sided spectra: n // 2 + 1) along `axis` and a last axis of size 2 (real results: 1)
        Same dtype as `input`.  Half precisions are computed in float32 and rounded once.  The result is the same in
        every bit for any number of workers.  For real input the imaginary part of bin 0, and of bin n/2, is exactly 0.

    Raises
    ------
    ValueError
        If `axis` is out of range, ``dft_length < 1``, the last axis has another size than 1 or 2, or its size does not
        suit `onesided`; if `out` does not fit.
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
    x = as_float(input, "input")
    spec = dft_spec(x.shape, dft_length, axis, inverse, onesided)
    y = output(out, spec.output_shape, x.dtype, x, in_place=True)
    if spec.keep == 0:
        y[...] = 0
    elif y.size:
        transform(x, y, spec, bool(inverse), workers)
    return deliver(y, out)
