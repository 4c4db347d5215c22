"""ONNX's DFT, STFT, windows, mel weights and ConvTranspose as fast, exact Numba kernels for CPUs."""

import importlib
from typing import TYPE_CHECKING, Any

from fastspectral import fft
from fastspectral._threads import get_workers, set_workers
from fastspectral.ops.conv_transpose import ConvTransposePlan, conv_transpose, conv_transpose_plan
from fastspectral.ops.dft import dft
from fastspectral.ops.istft import istft
from fastspectral.ops.mel import mel_weight_matrix
from fastspectral.ops.shapes import conv_transpose_shape, dft_shape, stft_shape
from fastspectral.ops.stft import stft, stft_plan
from fastspectral.ops.windows import blackman_window, hamming_window, hann_window
from fastspectral.plans import FFTPlan, STFTPlan, fft_plan

if TYPE_CHECKING:
    from fastspectral.contract import get_kernel

__version__ = "0.1.0"

__all__ = [
    "ConvTransposePlan",
    "FFTPlan",
    "STFTPlan",
    "blackman_window",
    "conv_transpose",
    "conv_transpose_plan",
    "conv_transpose_shape",
    "dft",
    "dft_shape",
    "fft",
    "fft_plan",
    "get_kernel",
    "get_workers",
    "hamming_window",
    "hann_window",
    "istft",
    "mel_weight_matrix",
    "set_workers",
    "stft",
    "stft_plan",
    "stft_shape",
]


def __getattr__(name: str) -> Any:
    if name != "get_kernel":  # whose contract takes 5 ms to load, which few calls need
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = importlib.import_module("fastspectral.contract").get_kernel
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
