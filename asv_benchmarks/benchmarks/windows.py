"""Windows: a short one, where the call counts, and a long one."""

import numpy as np

from .common import Benchmark


class HannWindow(Benchmark):
    workloads = {"400": (400,), "2^20": (1 << 20,)}
    dtypes = ("float32",)

    def case(self, dtype, size):
        return (lambda library: library.window(size)), np.sin(np.pi / size * np.arange(size)) ** 2
