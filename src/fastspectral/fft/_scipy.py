"""The package as a backend of `scipy.fft` (uarray's protocol, which needs no import of SciPy here)."""

import os
import sys
from collections.abc import Callable
from typing import Any

from fastspectral.fft import _one_axis, _several_axes

FUNCTIONS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        *(_one_axis.fft, _one_axis.ifft, _one_axis.rfft, _one_axis.irfft, _one_axis.hfft, _one_axis.ihfft),
        *(_several_axes.fft2, _several_axes.ifft2, _several_axes.rfft2, _several_axes.irfft2),
        *(_several_axes.fftn, _several_axes.ifftn, _several_axes.rfftn, _several_axes.irfftn),
    )
}


def ua_function(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Give the result of one of scipy.fft's functions, or NotImplemented, which sends SciPy to its next backend.

    In SciPy's signatures `overwrite_x` and `workers` follow on `norm`, where NumPy's have `out`.
    """
    function = FUNCTIONS.get(method.__name__)
    if function is None:
        return NotImplemented
    names = ("overwrite_x", "workers")
    given = dict(zip(names, args[4:], strict=False)) | kwargs
    return function(*args[:4], **(given | {"workers": workers_of(given.get("workers"))}))


def workers_of(workers: Any) -> Any:
    """SciPy's count of workers as this package's: -2 is all but one; 1 by default, which leaves the choice to the size of the call."""
    if workers is None:
        by_default = sys.modules["scipy.fft"].get_workers()
        return None if by_default == 1 else by_default
    cpus = os.cpu_count() or 1
    if workers == 0:
        raise ValueError("workers must not be zero")
    if workers < -cpus:
        raise ValueError(f"workers value out of range; must not be less than {-cpus}, got {workers}")
    return workers if workers > 0 else workers + 1 + cpus
