"""Benchmarks of fastspectral and of the libraries that its users would take instead, on one thread."""

import os

# Before NumPy and the libraries are imported, for they read these once.
for _name in ("OMP", "MKL", "OPENBLAS", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"
