"""Measure the table of README.md on this machine, beside the libraries that are installed, and write it there.

    python asv_benchmarks/readme_table.py

One thread on one core.  In every round each library has its turn, in an order that rotates, after an untimed call that
fills the caches; a time is the shortest of all rounds.
"""

import os

import readme
from benchmarks import common, conv_transpose, fft, stft

from fastspectral.cli import libraries
from fastspectral.cli.bench_verb import cell, shortest_times

COMMAND = "python asv_benchmarks/readme_table.py"
SECONDS = 2.0  # of rounds for each row and library
ROWS = [
    ("fft", fft.FFT, "256 x 512"),
    ("fft", fft.FFT, "one of 2^20"),
    ("fft", fft.FFT, "1000 x 400"),
    ("fft", fft.FFT, "64 x 2187"),
    ("fft", fft.FFT, "64 x 1009, prime"),
    ("fft", fft.FFT, "512 x 512 along columns"),
    ("rfft", fft.RFFT, "1000 x 400"),
    ("rfft", fft.RFFT, "64 x 4096"),
    ("irfft", fft.IRFFT, "1000 x 400"),
    ("stft", stft.STFT, "30 s of speech, frames of 400"),
    ("stft", stft.STFT, "30 s of music, frames of 2048"),
    ("conv_transpose", conv_transpose.ConvTranspose, "vocoder, 16 taps, stride 8"),
    ("conv_transpose", conv_transpose.ConvTranspose, "U-Net, 2 x 2 taps, stride 2"),
    ("conv_transpose_plan", conv_transpose.PackedConvTranspose, "vocoder, 16 taps, stride 8"),
    ("conv_transpose_plan", conv_transpose.PackedConvTranspose, "generator, 4 x 4 taps, stride 2"),
]


def measure(benchmark, workload, dtype):
    """Shortest time and error of every library that has the operation, by its name."""
    prepare, exact = benchmark().case(dtype, *benchmark.workloads[workload])
    calls, errors = {}, {}
    for name in libraries.LIBRARIES:
        try:
            calls[name] = prepare(libraries.library(name))
        except NotImplementedError:
            continue
        errors[name] = common.error_eps(calls[name](), exact)
    return shortest_times(calls, SECONDS), errors


def table(dtype="float32"):
    """Give the lines of the table."""
    rows = []
    for operation, benchmark, workload in ROWS:
        best, errors = measure(benchmark, workload, dtype)
        rival = min((name for name in best if name != "fastspectral"), key=best.get)
        ratio = best[rival] / best["fastspectral"]
        rows.append((f"{operation}, {workload}", best, errors, f"{ratio:.2f} ({rival})"))
        print(rows[-1][0], rows[-1][3], flush=True)
    names = [name for name in libraries.LIBRARIES if any(name in best for _, best, *_ in rows)]
    lines = [["", *names, "fastest other / fastspectral"], ["---", *["---:" for _ in names], "---:"]]
    for label, best, errors, ratio in rows:
        lines.append([label, *(cell(best[name], errors[name]) if name in best else "-" for name in names), ratio])
    return ["| " + " | ".join(line) + " |" for line in lines], names


def main():
    """Measure, and replace what is between the two comments."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    lines, names = table()
    note = f"float32, one thread, {readme.circumstances(COMMAND, names)} A ratio above 1 means that fastspectral is the fastest."
    readme.replace("speed", [note, "", *lines])


if __name__ == "__main__":
    main()
