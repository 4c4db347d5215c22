"""Fourier transforms inside your own compiled loop: the loudest frequency of every frame, with nothing allocated in the loop.

python examples/own_njit.py
"""

import numpy as np
from numba import njit

from fastspectral import fft_plan, kernels

RATE, FRAME, STEP = 16000, 512, 256


@njit(cache=True)
def loudest_bins(signal, window, step, plan):
    """Bin of the largest magnitude in each windowed frame."""
    frames = 1 + (signal.size - window.size) // step
    frame = np.empty((1, plan.n), signal.dtype)
    spectrum = np.empty((1, plan.n // 2 + 1), np.complex64)
    bins = np.empty(frames, np.int64)
    for t in range(frames):
        frame[0] = signal[t * step : t * step + window.size] * window
        kernels.rfft_lines(frame, spectrum, 1.0, plan)
        bins[t] = np.argmax(np.abs(spectrum[0]))
    return bins


def main():
    """Follow a tone that rises from 500 to 3000 Hz."""
    seconds = np.arange(2 * RATE) / RATE
    signal = np.sin(2 * np.pi * (500 + 625 * seconds) * seconds).astype(np.float32)
    plan = fft_plan(FRAME, np.float32)
    print(plan)
    bins = loudest_bins(signal, np.hanning(FRAME).astype(np.float32), STEP, plan)
    for t in range(0, len(bins), 15):
        heard, true = bins[t] * RATE / FRAME, 500 + 1250 * (t * STEP + FRAME / 2) / RATE
        print(f"{t * STEP / RATE:5.2f} s   heard {heard:7.1f} Hz   true {true:7.1f} Hz")


if __name__ == "__main__":
    main()
