"""Measure the errors in README.md's table, beside the libraries that are installed, and write it there.

    python asv_benchmarks/accuracy_table.py

Each is the relative L2 error of the DFT of complex noise in eps of its type, against NumPy's in extended precision (float64 for
float32).  The same input gives the same table on the same machine; no clock is read.
"""

import numpy as np
import readme
from benchmarks import common

from fastspectral.cli import libraries

COMMAND = "python asv_benchmarks/accuracy_table.py"
# powers of two, the frames of audio, primes small and large, powers of primes, a long one
LENGTHS = [256, 400, 441, 512, 1009, 1000, 2187, 4096, 16381, 65536, 100003, 1 << 20]
EXACT = {"float32": np.complex128, "float64": np.clongdouble}


def errors(n, dtype):
    """Error of every library that can, by its name."""
    z = common.make_input((4, n), common.complex_type(dtype))
    exact = np.fft.fft(z.astype(EXACT[dtype]))
    found = {}
    for name in libraries.LIBRARIES:
        try:
            call = libraries.library(name).fft(z, 1)
        except NotImplementedError:
            continue
        found[name] = common.error_eps(call(), exact)
    return found


def main():
    """Measure, and replace what is between the two comments."""
    rows = {}
    for dtype in EXACT:
        for n in LENGTHS:
            rows[f"{dtype}, {n}"] = errors(n, dtype)
            print(dtype, n, {name: round(error, 2) for name, error in rows[f"{dtype}, {n}"].items()}, flush=True)
    names = list(next(iter(rows.values())))
    lines = [["", *names], ["---", *["---:" for _ in names]]]
    lines += [
        [label, *(f"{found[name]:.3g}" if name in found else "-" for name in names)] for label, found in rows.items()
    ]
    note = f"Relative L2 error of `fft` in eps, {readme.circumstances(COMMAND, names)}"
    readme.replace("accuracy", [note, "", *("| " + " | ".join(line) + " |" for line in lines)])


if __name__ == "__main__":
    main()
