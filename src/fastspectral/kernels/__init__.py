"""Compiled kernels, for the user's own @njit code.

The contract of every kernel: arguments are arrays and numbers, the last array is the output, nothing is returned, nothing is allocated that the caller
sees, nothing is checked and nothing is raised.  Shapes are in the docstrings.
"""

from fastspectral.kernels.conv_transpose import conv_transpose_planned
from fastspectral.kernels.plan_lines import fft_lines, ifft_lines, irfft_lines, rfft_lines, stft_frames

__all__ = ["conv_transpose_planned", "fft_lines", "ifft_lines", "irfft_lines", "rfft_lines", "stft_frames"]
