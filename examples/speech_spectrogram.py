"""Speech seen through a long and a short window: the harmonics of the voice, and the single beats of the vocal folds.

    python examples/speech_spectrogram.py [picture.png]

A window of 40 ms tells frequencies apart, one of 5 ms tells moments apart; no window does both.
"""

import argparse
from pathlib import Path

import numpy as np
from _speech import SPEECH, draw_spectrogram, new_figure, read_wave

import fastspectral


def main():
    """Draw the signal and both spectrograms."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "picture", nargs="?", type=Path, default=Path("speech_spectrogram.png"), help="where to save it"
    )
    picture = parser.parse_args().picture

    speech, rate = read_wave(SPEECH)
    seconds = len(speech) / rate
    figure, (wave, long, short) = new_figure(3, (9, 7))
    wave.plot(np.arange(len(speech)) / rate, speech, color="#3b0f70", linewidth=0.4)
    wave.set(title=f"{seconds:.2f} s of speech", ylabel="amplitude", xlim=(0, seconds))
    for axes, milliseconds in [(long, 40), (short, 5)]:
        window = fastspectral.hann_window(rate * milliseconds // 1000)
        image = draw_spectrogram(
            axes, speech, rate, 16, window, f"Hann window of {milliseconds} ms, a frame every 1 ms"
        )
        figure.colorbar(image, ax=axes, label="dB", pad=0.01)
    short.set(xlabel="time in s")
    figure.savefig(picture, dpi=100)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
