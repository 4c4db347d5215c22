"""What all benchmarks share: their inputs, and a base class that times a call and measures its error."""

from abc import ABC, abstractmethod

import numpy as np

from fastspectral.cli.libraries import LIBRARIES, library


def make_input(shape, dtype):
    """Noise, the same in every run."""
    rng = np.random.default_rng(7)
    noise = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        noise = noise + 1j * rng.standard_normal(shape)
    return noise.astype(dtype)


def complex_type(dtype):
    """Complex dtype of the precision of a real one."""
    return np.result_type(dtype, np.complex64)


def error_eps(actual, exact):
    """Relative L2 error in eps of the dtype of `actual`, which holds complex numbers as such or as pairs."""
    actual = np.asarray(actual)
    eps = np.finfo(actual.dtype).eps
    if np.iscomplexobj(exact) and not np.iscomplexobj(actual):
        actual = actual[..., 0] + 1j * actual[..., 1]
    actual = actual.reshape(exact.shape)
    return float(np.linalg.norm(actual - exact) / np.linalg.norm(exact) / eps)


class Benchmark(ABC):
    """Workloads in some precisions and every library; time and error of a call.

    `workloads` names them; `case` takes what a name stands for and gives a function from a library to its call, and the
    exact result in float64.
    """

    workloads = {}
    dtypes = ("float32", "float64")
    param_names = ("workload", "dtype", "library")

    def __init_subclass__(cls):
        cls.params = (list(cls.workloads), list(cls.dtypes), list(LIBRARIES))

    @abstractmethod
    def case(self, dtype, *workload):
        """Give (library -> call, exact result)."""

    def setup(self, workload, dtype, name):
        prepare, self.exact = self.case(dtype, *self.workloads[workload])
        self.call = prepare(library(name))
        self.call()  # compile and plan, which is not timed here but in first_call.py

    def time_call(self, *_):
        self.call()

    def track_error_eps(self, *_):
        return error_eps(self.call(), self.exact)

    track_error_eps.unit = "eps"
