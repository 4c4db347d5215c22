"""Kernels compiled ahead of their first use, which puts them into the disk cache: for images of containers, and where a first call must not wait."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from fastspectral.ops._lines import dense_strides, lines_of
from fastspectral.ops._shapes import dft_rule
from fastspectral.ops.conv_transpose import conv_transpose
from fastspectral.ops.dft import dft
from fastspectral.ops.stft import stft
from fastspectral.ops.windows import hann_window
from fastspectral.plans import Half, line_transform

FORMATS: dict[str, tuple[int, Half]] = {
    "float32": (4, ""),
    "float64": (8, ""),
    "float16": (2, "float16"),
    "bfloat16": (2, "bfloat16"),
}
# Parts of a point, inverse, onesided.
KINDS = {
    "complex": (2, False, False),
    "inverse": (2, True, False),
    "real": (1, False, False),
    "real inverse": (1, True, False),
    "one-sided": (1, False, True),
    "one-sided inverse": (2, True, True),
}
# Where lines of n points lie: their shape without the parts, and their axis.  11 lines fill groups of every width and leave some over.
LAYOUTS: dict[str, Callable[[int], tuple[tuple[int, ...], int]]] = {
    "one line": lambda n: ((1, n), 1),
    "lines": lambda n: ((11, n), 1),
    "columns": lambda n: ((1, n, 11), 1),
}
# All short lengths, longer ones of ever other passes, and one in sweeps.
LENGTHS = (*range(1, 129), *range(136, 1025, 8), 1009, 1 << 17)


def compile_all() -> Iterator[tuple[str, float]]:
    """Compile the kernels of all formats; after each kind of call, give its name and the seconds that it took.

    What is in the disk cache is loaded instead.  Left out are kernels that only rare lengths use.
    """
    for name, work in _kinds_of_calls():
        start = time.perf_counter()
        work()
        yield name, time.perf_counter() - start


def _kinds_of_calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    for dtype, (size, half) in FORMATS.items():
        for kind, (parts, inverse, onesided) in KINDS.items():
            for layout, shape_of in LAYOUTS.items():
                work = partial(_plan, size, half, parts, inverse, onesided, shape_of)
                yield f"dft, {dtype}, {kind}, {layout}", work
    for dtype in ("float32", "float64", "float16"):
        yield f"stft, {dtype}", partial(_stft, np.dtype(dtype))
        for workers in (1, -1):
            name = "one worker" if workers == 1 else "all workers"
            yield f"dft, {dtype}, {name}", partial(_dft, np.dtype(dtype), workers)
            yield f"conv_transpose, {dtype}, {name}", partial(_conv_transpose, np.dtype(dtype), workers)
    yield "windows", partial(hann_window, 8)


def _plan(size: int, half: Half, parts: int, inverse: bool, onesided: bool, shape_of: Any) -> None:
    """Plan transforms of all lengths, which compiles their kernels."""
    dtype = np.dtype(f"f{size}")
    for n in LENGTHS:
        outer, axis = shape_of(n // 2 + 1 if inverse and onesided else n)
        if inverse and onesided and n < 2:
            continue
        shape = (*outer, parts)
        spec = dft_rule(shape, n, axis, inverse, onesided)
        sides = [lines_of(side, dense_strides(side, size), axis, dtype) for side in (shape, spec.output_shape)]
        source, target = (side._replace(half=half) for side in sides if side is not None)
        line_transform(spec.kind, spec.n, spec.keep, inverse, max(32, 8 * size), source, target)


def _dft(dtype: np.dtype[Any], workers: int) -> None:
    dft(np.ones((1 << 11, 64, 2), dtype), workers=workers)
    dft(np.ones((1, 1 << 17, 2), dtype), workers=workers)


def _stft(dtype: np.dtype[Any]) -> None:
    """Frames with and without a window, of the lengths of speech and music."""
    for n in (*range(16, 513, 16), 320, 400, 512, 640, 800, 1024, 2048, 4096):
        for signal in (np.ones((1, 2 * n), dtype), np.ones((1, 12 * n, 2), dtype)):
            stft(signal, n, np.ones(n), workers=1)


def _conv_transpose(dtype: np.dtype[Any], workers: int) -> None:
    """Every tile, strides of few and of many phases, with and without pairs, and the definition."""
    for channels, out_channels, stride in ((1, 1, 1), (16, 2, 2), (32, 3, 4), (32, 16, 1), (64, 32, 8), (3, 5, 3)):
        for axes in (1, 2):
            x = np.ones((1, channels, *[40 // axes] * axes), dtype)
            w = np.ones((channels, out_channels, *[2 * stride] * axes), dtype)
            conv_transpose(x, w, strides=[stride] * axes, workers=workers)
    conv_transpose(np.ones((1, 2, 9), dtype), np.full((2, 2, 3), np.inf, dtype), workers=workers)
