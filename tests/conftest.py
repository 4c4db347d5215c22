"""Fixtures and settings of all tests."""

import os
import sys
import threading

import numpy as np
import pytest
from hypothesis import settings

from fastspectral.ops import _lines

# No deadline: the first example of a property compiles its kernel.  The ordinary run is the same every time; a thorough one
# looks elsewhere every time.
settings.register_profile("quick", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1700, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture
def rng():
    """Random numbers, the same in every run and for every test by itself."""
    return np.random.default_rng(20260117)


@pytest.fixture(autouse=True)
def _share_the_smallest_work(monkeypatch):
    """Tests that ask for several threads get them, however small their arrays."""
    for operator in (_lines, sys.modules["fastspectral.ops.conv_transpose"]):  # whose name the function's hides
        monkeypatch.setattr(operator, "ALONE", 0)


@pytest.fixture
def race():
    """Give a function that runs functions at a time, each in a thread, which are switched as often as Python can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def run(*works):
        threads = [threading.Thread(target=work) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    yield run
    sys.setswitchinterval(interval)
