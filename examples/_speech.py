"""What the examples about sound share: the speech, and how a spectrogram is drawn."""

import wave
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import fastspectral

SPEECH = Path(__file__).parent / "data" / "speech.wav"


def read_wave(path):
    """Give the samples of a 16-bit mono file as float32 between -1 and 1, and the sample rate."""
    with wave.open(str(path)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return samples.astype(np.float32) / 32768, file.getframerate()


def new_figure(rows, size):
    """Give a figure and its axes, one above the other; no display is needed."""
    plt.switch_backend("Agg")
    return plt.subplots(rows, figsize=size, layout="constrained", sharex=True)


def decibels(signal, step, window):
    """Squared magnitudes of the STFT in dB, 0 for a sine of full scale, (bins, frames); the first frame is around the first sample."""
    frames = fastspectral.stft(np.pad(signal, len(window) // 2)[np.newaxis], step, window)[0]
    power = np.square(frames).sum(axis=-1) / (window.sum() / 2) ** 2
    return 10 * np.log10(np.maximum(power, 1e-12)).T


def draw_spectrogram(axes, signal, rate, step, window, title):
    """Draw the 70 dB below the loudest bin, and give the image."""
    levels = decibels(signal, step, window)
    extent = (0, levels.shape[1] * step / rate, 0, rate / 2000)
    axes.set(ylabel="frequency in kHz", title=title)
    return axes.imshow(
        levels, origin="lower", aspect="auto", extent=extent, cmap="magma", vmin=levels.max() - 70, vmax=levels.max()
    )
