"""Speech out of noise: STFT, a Wiener gain in every bin, and back by the inverse STFT.

    python examples/denoise.py [picture.png]

The power of the noise is taken from the quietest frames; bins that hold little more than it are turned down.  Prints the signal-to-noise
ratio before and after, and how far the round trip without a gain is from its input.
"""

import argparse
from pathlib import Path

import numpy as np
from _speech import SPEECH, draw_spectrogram, new_figure, read_wave

import fastspectral

FRAME, STEP = 512, 128
NOISE = 2.5  # times its mean power is taken away: it varies by as much from bin to bin
FLOOR = 0.05  # gain of bins that hold noise alone: a little of it sounds better than holes


def ratio(clean, heard):
    """Signal-to-noise ratio in dB."""
    return 10 * np.log10(np.sum(clean**2) / np.sum((heard - clean) ** 2))


def smooth(power):
    """Mean of the 5 frames around each and the 3 bins: the power of a single bin of noise varies by its own size."""
    padded = np.pad(power, ((0, 0), (2, 2), (1, 1)), mode="edge")
    return np.lib.stride_tricks.sliding_window_view(padded, (5, 3), axis=(1, 2)).mean(axis=(-2, -1))


def wiener_gain(spectrum):
    """Share of each bin that is signal, for stationary noise; spectrum is (batch, frames, bins, 2)."""
    power = smooth(np.square(spectrum).sum(axis=-1))
    quietest = np.argsort(power.sum(axis=2), axis=1)[:, : power.shape[1] // 8]
    noise = np.take_along_axis(power, quietest[..., np.newaxis], axis=1).mean(axis=1, keepdims=True)
    return np.maximum(1 - NOISE * noise / power, FLOOR)[..., np.newaxis].astype(spectrum.dtype)


def main():
    """Add noise, take it away, print what came of it and save the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("picture", nargs="?", type=Path, default=Path("denoise.png"), help="where to save it")
    picture = parser.parse_args().picture

    clean, rate = read_wave(SPEECH)
    noise = np.random.default_rng(0).standard_normal(len(clean)).astype(np.float32)
    noisy = clean + noise * np.std(clean) * np.float32(10 ** (-5 / 20))  # 5 dB

    window = fastspectral.hann_window(FRAME)
    padded = np.pad(noisy, FRAME // 2)[np.newaxis]
    spectrum = fastspectral.stft(padded, STEP, window)

    def back(spectrum):
        return fastspectral.istft(spectrum, STEP, window, length=padded.size)[0, FRAME // 2 : -FRAME // 2, 0]

    denoised = back(spectrum * wiener_gain(spectrum))

    print(f"noisy     {ratio(clean, noisy):5.1f} dB")
    print(f"denoised  {ratio(clean, denoised):5.1f} dB")
    covered = STEP * (spectrum.shape[1] - 1)  # samples that whole frames cover
    print(f"round trip without a gain: largest error {np.max(np.abs(back(spectrum) - noisy)[:covered]):.1e}")

    figure, rows = new_figure(3, (9, 7))
    for axes, signal, name in zip(
        rows,
        [noisy, denoised, clean],
        [f"noisy, {ratio(clean, noisy):.1f} dB", f"denoised, {ratio(clean, denoised):.1f} dB", "clean"],
        strict=True,
    ):
        image = draw_spectrogram(axes, signal, rate, 32, window, name)
        image.set_clim(-100, -30)
    rows[-1].set(xlabel="time in s")
    figure.colorbar(image, ax=rows, label="dB", pad=0.01)
    figure.savefig(picture, dpi=100)
    print(f"picture: {picture}")


if __name__ == "__main__":
    main()
