"""Fourier transforms with the names and signatures of `numpy.fft` and `scipy.fft`, on the kernels of this package.

Real and complex arrays of any layout are transformed as they lie.  float32 stays float32, float16 is computed and returned in single precision, integers
become float64, and longdouble is handed to `numpy.fft`.

The module is a backend of SciPy: with ``scipy.fft.set_backend(fastspectral.fft)`` all of scipy.signal that calls scipy.fft runs on it, and functions that
it lacks run on SciPy's own.  `overwrite_x` is harmless there, `workers` and `scipy.fft.set_workers` are honoured; where they say 1 by default, the size of
the call decides.

`fft`, `ifft`, `rfft` and `irfft` may be called in @njit code too, with x, n, axis and norm.
"""

from numpy.fft import fftfreq, fftshift, ifftshift, rfftfreq

from fastspectral.fft import _nopython as _nopython  # registers what it holds with Numba
from fastspectral.fft._lengths import next_fast_len, prev_fast_len
from fastspectral.fft._one_axis import fft, hfft, ifft, ihfft, irfft, rfft
from fastspectral.fft._scipy import ua_function as __ua_function__
from fastspectral.fft._several_axes import fft2, fftn, ifft2, ifftn, irfft2, irfftn, rfft2, rfftn

__ua_domain__ = "numpy.scipy.fft"

__all__ = [
    "__ua_domain__",
    "__ua_function__",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "next_fast_len",
    "prev_fast_len",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]
