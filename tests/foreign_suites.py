"""A pytest plugin that runs the tests of SciPy, or of NumPy, on `fastspectral.fft`.

With this folder in PYTHONPATH:

python -m pytest -p foreign_suites --pyargs scipy.fft.tests
FFT_IN_PLACE_OF=numpy python -m pytest -p foreign_suites --pyargs numpy.fft.tests.test_pocketfft

DESELECT: names of tests to leave out, separated by commas; a name without parameters stands for all of them.
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


def pytest_collection_modifyitems(config, items):
    names = set(filter(None, os.environ.get("DESELECT", "").split(",")))
    gone = [item for item in items if {item.name, item.name.split("[")[0]} & names]
    if gone:
        config.hook.pytest_deselected(items=gone)
        items[:] = [item for item in items if item not in gone]
        for name in names:
            assert any(name in (item.name, item.name.split("[")[0]) for item in gone), f"{name}: there is no such test"
