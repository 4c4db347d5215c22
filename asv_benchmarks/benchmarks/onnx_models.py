"""Real models, whole: the front end of Whisper as the package onnx-asr ships it."""

import importlib.resources

import numpy as np

from .common import make_input


def session(runner, model):
    """Give an inference session on one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    if runner == "onnxruntime":
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    from fastspectral.onnx import InferenceSession

    return InferenceSession(model, options)


class Whisper:
    """whisper80.onnx, from samples to log-mel features."""

    params = ((3, 30), ("fastspectral", "onnxruntime"))
    param_names = ("seconds", "runner")

    def setup(self, seconds, runner):
        try:
            model = importlib.resources.files("onnx_asr.preprocessors") / "data" / "whisper80.onnx"
            self.session = session(runner, str(model))
        except ImportError as error:
            raise NotImplementedError(str(error)) from error
        samples = make_input((1, 16000 * seconds), np.float32) / 10
        self.feeds = {"waveforms": samples, "waveforms_lens": np.array([samples.shape[1]])}
        self.session.run(None, self.feeds)

    def time_run(self, *_):
        self.session.run(None, self.feeds)
