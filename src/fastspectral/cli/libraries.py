"""The libraries that are compared, behind one face.

A method takes the arrays of a workload, plans what the library lets its users plan, and gives a function without
arguments: the call that is timed.  Where a library lacks an operation the method raises NotImplementedError, and so
does `library` where it is not installed: asv shows both as n/a.
"""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Call = Callable[[], Any]


class Library:
    """A library that has nothing."""

    def __init__(self, module: str) -> None:
        self.module = importlib.import_module(module)

    def fft(self, z: Array, axis: int) -> Call:
        """DFT of complex `z` along `axis`."""
        raise NotImplementedError

    def ifft(self, z: Array) -> Call:
        """Inverse DFT of the rows of complex `z`."""
        raise NotImplementedError

    def full(self, x: Array) -> Call:
        """All bins of the DFT of the rows of real `x`."""
        raise NotImplementedError

    def rfft(self, x: Array) -> Call:
        """One-sided DFT of the rows of real `x`."""
        raise NotImplementedError

    def irfft(self, z: Array, n: int) -> Call:
        """Rows of n real values from their one-sided DFT."""
        raise NotImplementedError

    def stft(self, signal: Array, step: int, window: Array) -> Call:
        """One-sided DFT of the windowed frames of real `signal`, of shape (batch, length)."""
        raise NotImplementedError

    def window(self, size: int) -> Call:
        """Periodic Hann window in float32."""
        raise NotImplementedError

    def conv_transpose(self, x: Array, w: Array, stride: int, pad: int, group: int) -> Call:
        """ConvTranspose with the same stride and pad along every axis."""
        raise NotImplementedError

    def packed_conv_transpose(self, x: Array, w: Array, stride: int, pad: int, group: int) -> Call:
        """ConvTranspose with the same stride and pad along every axis, by what holds packed weights."""
        raise NotImplementedError


class Fastspectral(Library):
    def fft(self, z: Array, axis: int) -> Call:
        pairs = as_pairs(z)
        return lambda: self.module.dft(pairs, None, axis)

    def ifft(self, z: Array) -> Call:
        pairs = as_pairs(z)
        return lambda: self.module.dft(pairs, inverse=True)

    def full(self, x: Array) -> Call:
        return lambda: self.module.dft(x[..., np.newaxis])

    def rfft(self, x: Array) -> Call:
        return lambda: self.module.dft(x[..., np.newaxis], onesided=True)

    def irfft(self, z: Array, n: int) -> Call:
        pairs = as_pairs(z)
        return lambda: self.module.dft(pairs, n, inverse=True, onesided=True)

    def stft(self, signal: Array, step: int, window: Array) -> Call:
        return lambda: self.module.stft(signal, step, window)

    def window(self, size: int) -> Call:
        return lambda: self.module.hann_window(size)

    def conv_transpose(self, x: Array, w: Array, stride: int, pad: int, group: int) -> Call:
        axes = x.ndim - 2
        options = {"strides": [stride] * axes, "pads": [pad] * 2 * axes, "group": group}
        return lambda: self.module.conv_transpose(x, w, **options)

    def packed_conv_transpose(self, x: Array, w: Array, stride: int, pad: int, group: int) -> Call:
        axes = x.ndim - 2
        plan = self.module.conv_transpose_plan(w, strides=[stride] * axes, pads=[pad] * 2 * axes, group=group)
        return lambda: plan(x)


class NumPyLike(Library):
    """numpy.fft and what has its functions."""

    def fft(self, z: Array, axis: int) -> Call:
        return lambda: self.module.fft(z, axis=axis)

    def ifft(self, z: Array) -> Call:
        return lambda: self.module.ifft(z)

    def full(self, x: Array) -> Call:
        return lambda: self.module.fft(x)

    def rfft(self, x: Array) -> Call:
        return lambda: self.module.rfft(x)

    def irfft(self, z: Array, n: int) -> Call:
        return lambda: self.module.irfft(z, n)

    def stft(self, signal: Array, step: int, window: Array) -> Call:
        frames = np.lib.stride_tricks.sliding_window_view(signal, window.size, axis=1)[:, ::step]
        return lambda: self.module.rfft(frames * window)


class SciPy(NumPyLike):
    def window(self, size: int) -> Call:
        from scipy.signal import windows

        return lambda: windows.hann(size, sym=False)


class PyFFTW(Library):
    """Planned by measuring, as those do who take FFTW for its speed."""

    def _plan(self, function: str, *arguments: Any, **options: Any) -> Call:
        build: Callable[..., Call] = getattr(self.module.builders, function)
        return build(*arguments, planner_effort="FFTW_MEASURE", threads=1, **options)

    def fft(self, z: Array, axis: int) -> Call:
        return self._plan("fft", z, axis=axis)

    def ifft(self, z: Array) -> Call:
        return self._plan("ifft", z)

    def rfft(self, x: Array) -> Call:
        return self._plan("rfft", x)

    def irfft(self, z: Array, n: int) -> Call:
        return self._plan("irfft", z, n)


class Ducc0(Library):
    def fft(self, z: Array, axis: int) -> Call:
        return lambda: self.module.fft.c2c(z, axes=(axis,))

    def ifft(self, z: Array) -> Call:
        return lambda: self.module.fft.c2c(z, axes=(1,), forward=False, inorm=2)

    def rfft(self, x: Array) -> Call:
        return lambda: self.module.fft.r2c(x, axes=(1,))

    def irfft(self, z: Array, n: int) -> Call:
        return lambda: self.module.fft.c2r(z, axes=(1,), lastsize=n, forward=False, inorm=2)


class Torch(Library):
    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.module.set_num_threads(1)

    def _call(self, function: Callable[..., Any], *arrays: Array, **options: Any) -> Call:
        tensors = [self.module.from_numpy(array) for array in arrays]

        def call() -> Any:
            with self.module.inference_mode():
                return function(*tensors, **options)

        return call

    def fft(self, z: Array, axis: int) -> Call:
        return self._call(self.module.fft.fft, z, dim=axis)

    def ifft(self, z: Array) -> Call:
        return self._call(self.module.fft.ifft, z)

    def full(self, x: Array) -> Call:
        return self._call(self.module.fft.fft, x)

    def rfft(self, x: Array) -> Call:
        return self._call(self.module.fft.rfft, x)

    def irfft(self, z: Array, n: int) -> Call:
        return self._call(self.module.fft.irfft, z, n=n)

    def stft(self, signal: Array, step: int, window: Array) -> Call:
        def frames_last(signal: Any, window: Any) -> Any:
            options = {"window": window, "center": False, "return_complex": True}
            return self.module.stft(signal, window.numel(), step, **options).mT

        return self._call(frames_last, signal, window)

    def window(self, size: int) -> Call:
        return lambda: self.module.hann_window(size)

    def conv_transpose(self, x: Array, w: Array, stride: int, pad: int, group: int) -> Call:
        function = getattr(self.module.nn.functional, f"conv_transpose{x.ndim - 2}d")
        return self._call(function, x, w, stride=stride, padding=pad, groups=group)


class ONNXRuntime(Library):
    """Models of one node, which the package onnx makes."""

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.onnx = importlib.import_module("onnx")

    def _call(
        self,
        op_type: str,
        opset: int,
        attributes: dict[str, Any],
        *inputs: Array | None,
        constant: Callable[[Array], bool] = lambda array: array.ndim < 2,
    ) -> Call:
        assert inputs[0] is not None
        helper = self.onnx.helper
        element = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
        names = ["" if array is None else f"input_{i}" for i, array in enumerate(inputs)]
        # arrays of one dimension or none are constants, as they are in the models that people run
        constants = [
            self.onnx.numpy_helper.from_array(array, name)
            for name, array in zip(names, inputs, strict=True)
            if array is not None and constant(array)
        ]
        feeds = {
            name: array for name, array in zip(names, inputs, strict=True) if array is not None and not constant(array)
        }
        output = self.onnx.TensorProto.FLOAT if op_type == "HannWindow" else element
        graph = helper.make_graph(
            [helper.make_node(op_type, names, ["output"], **attributes)],
            op_type,
            [helper.make_tensor_value_info(name, element, array.shape) for name, array in feeds.items()],
            [helper.make_tensor_value_info("output", output, None)],
            constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        options = self.module.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        options.graph_optimization_level = (
            self.module.GraphOptimizationLevel.ORT_DISABLE_ALL
        )  # else a constant is timed
        session = self.module.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return lambda: session.run(None, feeds)[0]

    def fft(self, z: Array, axis: int) -> Call:
        return self._call("DFT", 20, {}, as_pairs(z), None, np.array(axis))

    def rfft(self, x: Array) -> Call:
        return self._call("DFT", 20, {"onesided": 1}, x[..., np.newaxis])

    def irfft(self, z: Array, n: int) -> Call:
        return self._call("DFT", 20, {"onesided": 1, "inverse": 1}, as_pairs(z), np.array(n))

    def stft(self, signal: Array, step: int, window: Array) -> Call:
        return self._call("STFT", 17, {"onesided": 1}, signal[..., np.newaxis], np.array(step), window)

    def window(self, size: int) -> Call:
        return self._call("HannWindow", 17, {}, np.array(size))

    def conv_transpose(self, x: Array, w: Array, stride: int, pad: int, group: int) -> Call:
        axes = x.ndim - 2
        return self._call(
            "ConvTranspose", 11, {"strides": [stride] * axes, "pads": [pad] * 2 * axes, "group": group}, x, w
        )

    def packed_conv_transpose(self, x: Array, w: Array, stride: int, pad: int, group: int) -> Call:
        attributes = {"strides": [stride] * (x.ndim - 2), "pads": [pad] * 2 * (x.ndim - 2), "group": group}
        return self._call("ConvTranspose", 11, attributes, x, w, constant=lambda array: array is w)


LIBRARIES = {
    "fastspectral": (Fastspectral, "fastspectral"),
    "numpy": (NumPyLike, "numpy.fft"),
    "scipy": (SciPy, "scipy.fft"),
    "pyfftw": (PyFFTW, "pyfftw"),
    "mkl_fft": (NumPyLike, "mkl_fft"),
    "ducc0": (Ducc0, "ducc0"),
    "torch": (Torch, "torch"),
    "onnxruntime": (ONNXRuntime, "onnxruntime"),
}


def library(name: str) -> Library:
    """Give the library of that name."""
    kind, module = LIBRARIES[name]
    try:
        return kind(module)
    except ImportError as error:
        raise NotImplementedError(f"{name} is not installed") from error


def as_pairs(z: Array) -> Array:
    """Real and imaginary parts on a last axis of their own, on the same memory."""
    return z.view(z.real.dtype).reshape(*z.shape, 2)
