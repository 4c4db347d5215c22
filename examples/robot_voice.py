"""A robot says it: a channel vocoder, whose frames become samples by transposed convolutions.

    python examples/robot_voice.py [picture.png] [--sound robot.wav]

The STFT gives the amplitude of each harmonic of a monotonous voice, 100 times a second.  Three transposed convolutions of strides 8, 5 and 4, one group
for each harmonic, bring them to 16000 times a second, as the layers of a neural vocoder do; the harmonics are summed.
"""

import argparse
import wave
from pathlib import Path

import numpy as np
from _speech import SPEECH, draw_spectrogram, new_figure, read_wave

import fastspectral

PITCH = 100.0  # Hz
STRIDES = (8, 5, 4)


def upsample(amplitudes, stride):
    """Straight lines between the values of each row: a transposed convolution with a triangle."""
    triangle = 1 - np.abs(np.arange(1 - stride, stride)) / stride
    weights = np.broadcast_to(triangle.astype(np.float32), (amplitudes.shape[1], 1, triangle.size))
    return fastspectral.conv_transpose(
        amplitudes,
        weights,
        group=amplitudes.shape[1],
        strides=[stride],
        pads=[stride - 1, 0],
    )


def main():
    """Speak, and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", type=Path, default=Path("robot_voice.png"), help="where to save it")
    parser.add_argument("--sound", type=Path, help="where to save the voice")
    arguments = parser.parse_args()

    speech, rate = read_wave(SPEECH)
    step = int(np.prod(STRIDES))
    window = fastspectral.hann_window(320)
    frames = fastspectral.stft(np.pad(speech, window.size // 2)[np.newaxis], step, window)[0]
    magnitudes = np.hypot(frames[..., 0], frames[..., 1]) / (window.sum() / 2)

    harmonics = PITCH * np.arange(1, int(rate / 2 / PITCH))
    bins = np.rint(harmonics * window.size / rate).astype(int)
    amplitudes = layers = np.ascontiguousarray(magnitudes[:, bins].T[np.newaxis])  # (1, harmonics, frames)
    for stride in STRIDES:
        layers = upsample(layers, stride)
        print(f"stride {stride}: {layers.shape}")
    seconds = np.arange(layers.shape[2]) / rate
    phases = np.pi * np.arange(harmonics.size) ** 2 / harmonics.size  # Schroeder's: the harmonics do not peak together
    tones = np.cos(2 * np.pi * np.outer(harmonics, seconds) + phases[:, np.newaxis])
    robot = np.sum(layers[0] * tones, axis=0, dtype=np.float32)

    figure, rows = new_figure(3, (9, 7))
    view = fastspectral.hann_window(640)
    draw_spectrogram(rows[0], speech, rate, 40, view, "speech")
    levels = 20 * np.log10(amplitudes[0] + 1e-6)
    rows[1].imshow(
        levels,
        origin="lower",
        aspect="auto",
        extent=(0, levels.shape[1] * step / rate, 0, rate / 2000),
        cmap="magma",
        vmin=levels.max() - 70,
    )
    rows[1].set(ylabel="frequency in kHz", title=f"amplitudes of {harmonics.size} harmonics, {rate // step} a second")
    draw_spectrogram(rows[2], robot, rate, 40, view, f"the robot, {rate} samples a second")
    rows[2].set(xlabel="time in s", xlim=(0, len(speech) / rate))
    for axes in rows:
        axes.set_ylim(0, 4)  # where its harmonics can be told apart
    figure.savefig(arguments.picture, dpi=100)
    print(f"picture: {arguments.picture}")

    if arguments.sound:
        with wave.open(str(arguments.sound), "wb") as file:
            file.setparams((1, 2, rate, 0, "NONE", ""))
            file.writeframes((robot / np.abs(robot).max() * 32767).astype("<i2").tobytes())
        print(f"sound: {arguments.sound}")


if __name__ == "__main__":
    main()
