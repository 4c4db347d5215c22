"""A pytest plugin that runs the tests of SciPy, or of NumPy, on `fastspectral.fft`.

python -m pytest -p foreign_suites --pyargs scipy.fft.tests                              (with this folder in PYTHONPATH)
FFT_IN_PLACE_OF=numpy python -m pytest -p foreign_suites --pyargs numpy.fft.tests.test_pocketfft
"""

import os

import numpy as np

import fastspectral


def pytest_configure():
    if os.environ.get("FFT_IN_PLACE_OF") == "numpy":
        for name in np.fft.__all__:
            if hasattr(fastspectral.fft, name):
                setattr(np.fft, name, getattr(fastspectral.fft, name))
    else:
        import scipy.fft

        scipy.fft.set_global_backend(fastspectral.fft, only=False)
        scipy.fft.register_backend("scipy")  # for what the other one lacks: it was the global one
