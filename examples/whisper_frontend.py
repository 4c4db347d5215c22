"""Speech to the log-mel features of Whisper: the real model of the package onnx-asr, on 2.7 s of speech.

    python examples/whisper_frontend.py [picture.png]

Runs whisper80.onnx with onnxruntime alone and with fastspectral computing the STFT, prints both times and both errors
against the same model around a float64 STFT in onnx's reference evaluator, and saves the features as a picture.
"""

import argparse
import importlib.resources
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from _speech import SPEECH, read_wave
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

from fastspectral.onnx import InferenceSession


def best_run(session, feeds, runs):
    """Give the features and the shortest time in seconds, without the first run, which compiles."""
    session.run(None, feeds)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        features = session.run(["features"], feeds)[0]
        times.append(time.perf_counter() - start)
    return features, min(times)


class STFT(OpRun):
    """STFT of a real signal, computed in float64 and rounded once, for onnx's reference evaluator."""

    def _run(self, signal, frame_step, window, onesided):  # noqa: ARG002 (1, the default)
        frames = np.lib.stride_tricks.sliding_window_view(signal, len(window), axis=1)[:, ::frame_step]
        spectrum = np.fft.rfft(frames * window.astype(np.float64))
        return (np.stack([spectrum.real, spectrum.imag], axis=-1).astype(np.float32),)


def save_picture(features, seconds, path):
    """Draw the part of the features that has speech in it."""
    frames = int(100 * seconds)  # one every 10 ms
    plt.switch_backend("Agg")  # no display needed
    figure, axes = plt.subplots(figsize=(8, 3), layout="constrained")
    axes.imshow(features[0, :, :frames], origin="lower", aspect="auto", extent=(0, seconds, 0, features.shape[1]))
    axes.set(xlabel="time in s", ylabel="mel band", title="log-mel features of whisper80.onnx")
    figure.savefig(path, dpi=120)


def main():
    """Run the model both ways, print what came of it and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", type=Path, default=Path("whisper_features.png"), help="where to save it")
    picture = parser.parse_args().picture

    speech, rate = read_wave(SPEECH)
    model = importlib.resources.files("onnx_asr.preprocessors") / "data" / "whisper80.onnx"
    feeds = {"waveforms": speech[np.newaxis], "waveforms_lens": np.array([len(speech)])}

    session = InferenceSession(model)
    slow, slow_time = best_run(onnxruntime.InferenceSession(model), feeds, runs=3)
    fast, fast_time = best_run(session, feeds, runs=10)
    exact = ReferenceEvaluator(str(model), new_ops=[STFT]).run(["features"], feeds)[0]

    print(f"{len(speech) / rate:.2f} s of speech, features {fast.shape}")
    for name, features, seconds in [("onnxruntime", slow, slow_time), ("fastspectral", fast, fast_time)]:
        print(f"{name:12}  {1e3 * seconds:7.2f} ms   largest error {np.max(np.abs(features - exact)):.1e}")
    print(f"{slow_time / fast_time:.1f} times as fast")
    print()
    print(session.report())
    save_picture(fast, len(speech) / rate, picture)
    print(f"\npicture: {picture}")


if __name__ == "__main__":
    main()
