"""Kernels compiled ahead of their first use."""

import json
import os
import subprocess
import sys

import pytest

# Printed: how many functions each step compiled, by its name; then what first calls did that follow.
CODE = """
import json
import numpy as np
from numba.core import event
import fastspectral
from fastspectral._compile import compile_all

def compiled(recorder):
    passes = [recorded.data for _, recorded in recorder.buffer]
    return len({data["qualname"] for data in passes if data["module"].startswith("fastspectral.")})

with event.install_recorder("numba:run_pass") as ahead:
    names = [name for name, seconds in compile_all() if seconds >= 0]
rng = np.random.default_rng(0)
with event.install_recorder("numba:run_pass") as afterwards:
    for dtype in (np.float32, np.float64, np.float16):
        for workers in (1, -1):
            for n in (2, 20, 64, 100, 127, 400, 512, 1000, 1009):
                for shape, axis in (((1, n), 1), ((11, n), 1), ((1, n, 11), 1), ((200, n), 1)):
                    fastspectral.dft(rng.standard_normal((*shape, 2)).astype(dtype), axis=axis, workers=workers)
                    fastspectral.dft(rng.standard_normal((*shape, 1)).astype(dtype), axis=axis, onesided=True, workers=workers)
            signal = rng.standard_normal((1, 16000)).astype(dtype)
            for n in (256, 400, 512):
                fastspectral.stft(signal, 160, np.hanning(n), workers=workers)
            x, w = np.ones((1, 16, 16, 16), dtype), np.ones((16, 16, 4, 4), dtype)
            fastspectral.conv_transpose(x, w, strides=[2, 2], workers=workers)
            fastspectral.conv_transpose(x[:, :, 0], w[:, :, 0], strides=[2], workers=workers)
    for window in (fastspectral.hann_window, fastspectral.hamming_window, fastspectral.blackman_window):
        window(400)
print(json.dumps([len(names), len(set(names)), compiled(ahead), compiled(afterwards)]))
"""


@pytest.mark.slow
def test_compiling_ahead_leaves_nothing_to_compile(tmp_path):
    """Twice in new processes: the second one loads everything, and neither have first calls to compile anything."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run():
        done = subprocess.run(
            [sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, timeout=3000, check=True
        )
        return json.loads(done.stdout)

    steps, different, ahead, afterwards = run()
    assert steps == different > 70
    assert ahead > 30
    assert afterwards == 0
    assert run() == [steps, different, 0, 0]
