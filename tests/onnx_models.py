"""Small models, and float64 definitions of what their spectral nodes compute."""

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper


def tensor(name, shape=None, element_type=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element_type, shape)


def make_model(nodes, inputs, outputs, initializers=None, *, opset=20, ir_version=9, functions=(), domains=()):
    """Give a model; outputs that are plain names get no type, `initializers` maps names to arrays."""
    graph = helper.make_graph(
        nodes,
        "test",
        inputs,
        [onnx.ValueInfoProto(name=output) if isinstance(output, str) else output for output in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in (initializers or {}).items()],
    )
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version, functions=functions)


def run_onnxruntime(model, feeds, output_names=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options).run(output_names, feeds)


def dft(x, dft_length=None, axis=-2, *, inverse=False, onesided=False, out=None, workers=None):
    """DFT in float64, rounded once."""
    axis = int(np.asarray(axis).item()) % x.ndim
    values = x.astype(np.float64)
    line = values[..., 0] if x.shape[-1] == 1 else values[..., 0] + 1j * values[..., 1]
    n = None if dft_length is None else int(np.asarray(dft_length).item())
    if inverse and onesided:
        return np.fft.irfft(line, n, axis)[..., np.newaxis].astype(x.dtype)
    transform = np.fft.ifft if inverse else np.fft.rfft if onesided else np.fft.fft
    return _pairs(transform(line, n, axis), x.dtype)


def stft(signal, frame_step, window=None, frame_length=None, *, onesided=True, out=None, workers=None):
    """STFT of a real signal in float64, rounded once."""
    samples = signal.astype(np.float64).reshape(signal.shape[:2])
    length = len(window) if frame_length is None else int(np.asarray(frame_length).item())
    step = int(np.asarray(frame_step).item())
    frames = np.lib.stride_tricks.sliding_window_view(samples, length, axis=1)[:, ::step]
    if window is not None:
        frames = frames * window.astype(np.float64)
    return _pairs(np.fft.rfft(frames) if onesided else np.fft.fft(frames), signal.dtype)


def _pairs(spectrum, dtype):
    return np.stack([spectrum.real, spectrum.imag], axis=-1).astype(dtype)
