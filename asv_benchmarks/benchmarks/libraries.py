"""The libraries that are compared, behind one face.

A method takes the arrays of a workload, plans what the library lets its users plan, and gives a function without
arguments: the call that is timed.  Where a library lacks an operation the method raises NotImplementedError, and so
does `library` where it is not installed: asv shows both as n/a.
"""

import importlib

import numpy as np


class Library:
    """A library that has nothing."""

    def __init__(self, module):
        self.module = importlib.import_module(module)

    def fft(self, z, axis):
        """DFT of complex `z` along `axis`."""
        raise NotImplementedError

    def ifft(self, z):
        """Inverse DFT of the rows of complex `z`."""
        raise NotImplementedError

    def full(self, x):
        """All bins of the DFT of the rows of real `x`."""
        raise NotImplementedError

    def rfft(self, x):
        """One-sided DFT of the rows of real `x`."""
        raise NotImplementedError

    def irfft(self, z, n):
        """Rows of n real values from their one-sided DFT."""
        raise NotImplementedError

    def stft(self, signal, step, window):
        """One-sided DFT of the windowed frames of real `signal`, of shape (batch, length)."""
        raise NotImplementedError

    def window(self, size):
        """Periodic Hann window in float32."""
        raise NotImplementedError

    def conv_transpose(self, x, w, stride, pad, group):
        """ConvTranspose with the same stride and pad along every axis."""
        raise NotImplementedError

    def packed_conv_transpose(self, x, w, stride, pad, group):
        """ConvTranspose with the same stride and pad along every axis, by what holds packed weights."""
        raise NotImplementedError


class Fastspectral(Library):
    def fft(self, z, axis):
        pairs = as_pairs(z)
        return lambda: self.module.dft(pairs, None, axis)

    def ifft(self, z):
        pairs = as_pairs(z)
        return lambda: self.module.dft(pairs, inverse=True)

    def full(self, x):
        return lambda: self.module.dft(x[..., np.newaxis])

    def rfft(self, x):
        return lambda: self.module.dft(x[..., np.newaxis], onesided=True)

    def irfft(self, z, n):
        pairs = as_pairs(z)
        return lambda: self.module.dft(pairs, n, inverse=True, onesided=True)

    def stft(self, signal, step, window):
        return lambda: self.module.stft(signal, step, window)

    def window(self, size):
        return lambda: self.module.hann_window(size)

    def conv_transpose(self, x, w, stride, pad, group):
        axes = x.ndim - 2
        options = {"strides": [stride] * axes, "pads": [pad] * 2 * axes, "group": group}
        return lambda: self.module.conv_transpose(x, w, **options)

    def packed_conv_transpose(self, x, w, stride, pad, group):
        axes = x.ndim - 2
        plan = self.module.conv_transpose_plan(w, strides=[stride] * axes, pads=[pad] * 2 * axes, group=group)
        return lambda: plan(x)


class NumPyLike(Library):
    """numpy.fft and what has its functions."""

    def fft(self, z, axis):
        return lambda: self.module.fft(z, axis=axis)

    def ifft(self, z):
        return lambda: self.module.ifft(z)

    def full(self, x):
        return lambda: self.module.fft(x)

    def rfft(self, x):
        return lambda: self.module.rfft(x)

    def irfft(self, z, n):
        return lambda: self.module.irfft(z, n)

    def stft(self, signal, step, window):
        frames = np.lib.stride_tricks.sliding_window_view(signal, window.size, axis=1)[:, ::step]
        return lambda: self.module.rfft(frames * window)


class SciPy(NumPyLike):
    def window(self, size):
        from scipy.signal import windows

        return lambda: windows.hann(size, sym=False)


class PyFFTW(Library):
    """Planned by measuring, as those do who take FFTW for its speed."""

    def _plan(self, function, *arguments, **options):
        return getattr(self.module.builders, function)(*arguments, planner_effort="FFTW_MEASURE", threads=1, **options)

    def fft(self, z, axis):
        return self._plan("fft", z, axis=axis)

    def ifft(self, z):
        return self._plan("ifft", z)

    def rfft(self, x):
        return self._plan("rfft", x)

    def irfft(self, z, n):
        return self._plan("irfft", z, n)


class Ducc0(Library):
    def fft(self, z, axis):
        return lambda: self.module.fft.c2c(z, axes=(axis,))

    def ifft(self, z):
        return lambda: self.module.fft.c2c(z, axes=(1,), forward=False, inorm=2)

    def rfft(self, x):
        return lambda: self.module.fft.r2c(x, axes=(1,))

    def irfft(self, z, n):
        return lambda: self.module.fft.c2r(z, axes=(1,), lastsize=n, forward=False, inorm=2)


class Torch(Library):
    def __init__(self, module):
        super().__init__(module)
        self.module.set_num_threads(1)

    def _call(self, function, *arrays, **options):
        tensors = [self.module.from_numpy(array) for array in arrays]

        def call():
            with self.module.inference_mode():
                return function(*tensors, **options)

        return call

    def fft(self, z, axis):
        return self._call(self.module.fft.fft, z, dim=axis)

    def ifft(self, z):
        return self._call(self.module.fft.ifft, z)

    def full(self, x):
        return self._call(self.module.fft.fft, x)

    def rfft(self, x):
        return self._call(self.module.fft.rfft, x)

    def irfft(self, z, n):
        return self._call(self.module.fft.irfft, z, n=n)

    def stft(self, signal, step, window):
        def frames_last(signal, window):
            options = {"window": window, "center": False, "return_complex": True}
            return self.module.stft(signal, window.numel(), step, **options).mT

        return self._call(frames_last, signal, window)

    def window(self, size):
        return lambda: self.module.hann_window(size)

    def conv_transpose(self, x, w, stride, pad, group):
        function = getattr(self.module.nn.functional, f"conv_transpose{x.ndim - 2}d")
        return self._call(function, x, w, stride=stride, padding=pad, groups=group)


class ONNXRuntime(Library):
    """Models of one node."""

    def _call(self, op_type, opset, attributes, *inputs, constant=lambda array: array.ndim < 2):
        from onnx import TensorProto, helper, numpy_helper

        element = helper.np_dtype_to_tensor_dtype(inputs[0].dtype)
        names = ["" if array is None else f"input_{i}" for i, array in enumerate(inputs)]
        # arrays of one dimension or none are constants, as they are in the models that people run
        constants = [
            numpy_helper.from_array(array, name)
            for name, array in zip(names, inputs, strict=True)
            if array is not None and constant(array)
        ]
        feeds = {
            name: array for name, array in zip(names, inputs, strict=True) if array is not None and not constant(array)
        }
        output = TensorProto.FLOAT if op_type == "HannWindow" else element
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

    def fft(self, z, axis):
        return self._call("DFT", 20, {}, as_pairs(z), None, np.array(axis))

    def rfft(self, x):
        return self._call("DFT", 20, {"onesided": 1}, x[..., np.newaxis])

    def irfft(self, z, n):
        return self._call("DFT", 20, {"onesided": 1, "inverse": 1}, as_pairs(z), np.array(n))

    def stft(self, signal, step, window):
        return self._call("STFT", 17, {"onesided": 1}, signal[..., np.newaxis], np.array(step), window)

    def window(self, size):
        return self._call("HannWindow", 17, {}, np.array(size))

    def conv_transpose(self, x, w, stride, pad, group):
        axes = x.ndim - 2
        return self._call(
            "ConvTranspose", 11, {"strides": [stride] * axes, "pads": [pad] * 2 * axes, "group": group}, x, w
        )

    def packed_conv_transpose(self, x, w, stride, pad, group):
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


def library(name):
    """Give the library of that name."""
    kind, module = LIBRARIES[name]
    try:
        return kind(module)
    except ImportError as error:
        raise NotImplementedError(f"{name} is not installed") from error


def as_pairs(z):
    """Real and imaginary parts on a last axis of their own, on the same memory."""
    return z.view(z.real.dtype).reshape(*z.shape, 2)
