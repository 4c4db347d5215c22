"""Fixtures and settings of all tests."""

import os

import numpy as np
import pytest
from hypothesis import settings

# No deadline: the first example of a property compiles its kernel.
settings.register_profile("quick", max_examples=40, deadline=None)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture
def rng():
    """Random numbers, the same in every run and for every test by itself."""
    return np.random.default_rng(20260117)
