"""STFT: the frames of speech recognisers, and of music."""

import numpy as np

from .common import Benchmark, make_input


class STFT(Benchmark):
    workloads = {
        "30 s of speech, frames of 400": (1, 480000, 400, 160),
        "16 x 3 s of speech, frames of 512": (16, 48000, 512, 128),
        "30 s of music, frames of 2048": (1, 1323000, 2048, 512),
    }

    def case(self, dtype, batch, length, frame, step):
        signal = make_input((batch, length), dtype)
        window = np.hanning(frame).astype(dtype)
        frames = np.lib.stride_tricks.sliding_window_view(signal.astype(float), frame, axis=1)[:, ::step]
        return (lambda library: library.stft(signal, step, window)), np.fft.rfft(frames * window)
