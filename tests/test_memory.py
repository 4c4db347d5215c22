"""Memory does not grow with the number of calls, of ever the same shapes and of ever new ones."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import fastspectral

STATUS = Path("/proc/self/statm")
CALLS, WARM = 100_000, 20_000
GROWTH = 8 << 20  # bytes; a leak of 128 bytes a call would pass it


def resident():
    return int(STATUS.read_text().split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="Linux tells what memory a process has")
def test_a_hundred_thousand_calls(rng):
    lines, image = rng.standard_normal((2, 900, 2)).astype(np.float32), rng.standard_normal((1, 4, 300))
    signal, taps, window = rng.standard_normal((1, 400)), rng.standard_normal((4, 2, 5)), np.hanning(64)
    plan = fastspectral.conv_transpose_plan(taps, strides=[2])
    lengths = itertools.cycle(range(2, 900))
    for number in range(CALLS):
        n = next(lengths)
        match number % 8:
            case 0:
                fastspectral.dft(lines[:, :n])
            case 1:
                fastspectral.stft(signal, 7 + n % 50, window)
            case 2:
                fastspectral.conv_transpose(image[:, :, : 1 + n % 300], taps, strides=[2])
            case 3:
                plan(image[:, :, : 1 + n % 300])
            case 4:
                fastspectral.hann_window(n)
            case 5:
                fastspectral.dft(lines, 400, workers=2)
            case _:
                fastspectral.dft(lines, 64)
        if number == WARM:
            before = resident()
    assert resident() - before < GROWTH
