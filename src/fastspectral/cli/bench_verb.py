"""``bench``: the packaged workloads on this machine, beside the libraries that are installed."""

import argparse
import importlib.util
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fastspectral
from fastspectral.cli.libraries import LIBRARIES, Call, Library, library
from fastspectral.cli.models import reported
from fastspectral.cli.terminal import fail, progress, say, table
from fastspectral.contract.cases import Case, cases, error_eps

Array = npt.NDArray[Any]

LARGEST_ERROR = 100  # eps; beyond, the error stands beside the time
REPEATED_SECONDS = 1e-3  # calls are repeated until so long, that the clock does not count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what the verb takes."""
    parser.add_argument("--match", default="", metavar="TEXT", help="only workloads whose names have this")
    parser.add_argument("--seconds", type=_seconds, default=0.5, help="of rounds for each workload and library")
    parser.add_argument("--plot", metavar="FILE.png", help="draw the times as well, as multiples of fastspectral's")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0, got {text}")
    return seconds


def act(arguments: argparse.Namespace) -> int:
    """Print the table; one thread, the shortest of rounds in which every library has its turn."""
    chosen = [case for case in cases("bench") if arguments.match in case.name]
    if not chosen:
        all_names = ", ".join(repr(case.name) for case in cases("bench"))
        fail(f"--match must be a part of one of {all_names}, got {arguments.match!r}")
    if arguments.plot:
        _check_plot(arguments.plot)
    for name in ("OMP", "MKL", "OPENBLAS"):  # before the libraries are imported, which read them once
        os.environ.setdefault(f"{name}_NUM_THREADS", "1")
    times: dict[str, dict[str, float]] = {}
    cells: dict[str, dict[str, str]] = {}
    with fastspectral.set_workers(1):
        for case in progress(chosen, "bench", len(chosen)):
            times[case.name], cells[case.name] = _measured(case, arguments.seconds)
    names = [name for name in LIBRARIES if any(name in row for row in times.values())]
    rows = [["", *names, "fastest other / fastspectral"]]
    for label, row in times.items():
        others = {name: seconds for name, seconds in row.items() if name != "fastspectral"}
        rival = min(others, key=lambda name: others[name]) if others else ""
        ratio = f"{others[rival] / row['fastspectral']:.2f} ({rival})" if others else "-"
        rows.append([label, *(cells[label].get(name, "-") for name in names), ratio])
    say(table(rows))
    if arguments.plot:
        with reported(f"{arguments.plot} cannot be written"):
            _plot(arguments.plot, times, names)
    return 0


def _measured(case: Case, seconds: float) -> tuple[dict[str, float], dict[str, str]]:
    """Times of a workload by library, and what the table says of them."""
    arrays = case.arrays()
    exact = case.expected(arrays)
    calls: dict[str, Call] = {}
    errors = {}
    for name in LIBRARIES:
        try:
            calls[name] = call_of(library(name), case, arrays)
            errors[name] = _error(calls[name](), exact)
        except NotImplementedError:
            calls.pop(name, None)
    best = shortest_times(calls, seconds)
    return best, {name: cell(best[name], errors[name]) for name in best}


def call_of(library: Library, case: Case, arrays: Mapping[str, Array]) -> Call:
    """Give the call by which a library does what a case says.

    Raises
    ------
    NotImplementedError
        If it has none.
    """
    flags = {**case.kernel.operator.defaults, **case.attributes}
    match case.kernel.operator.op_type:
        case "DFT":
            x = arrays["input"]
            line = x[..., 0] if x.shape[-1] == 1 else x.view(np.result_type(x.dtype, np.complex64))[..., 0]
            if flags["inverse"] and flags["onesided"]:
                return library.irfft(line, int(arrays["dft_length"]))
            if flags["inverse"]:
                return library.ifft(line)
            if flags["onesided"]:
                return library.rfft(line)
            return library.fft(line, int(arrays.get("axis", -2)) % x.ndim)
        case "STFT":
            return library.stft(arrays["signal"], int(arrays["frame_step"]), arrays["window"])
        case "ConvTranspose":
            pads, strides = case.attributes["pads"], case.attributes["strides"]
            return library.conv_transpose(arrays["X"], arrays["W"], strides[0], pads[0], flags["group"])
        case "HannWindow":
            return library.window(int(arrays["size"]))
    raise NotImplementedError(f"no library is asked for {case.id}")


def shortest_times(calls: Mapping[str, Call], seconds: float) -> dict[str, float]:
    """Shortest time of each call, in rounds whose order rotates; each call comes after an untimed one that fills the caches."""
    repeats = {
        name: max(1, min(500, round(REPEATED_SECONDS / max(_timed(call, 1), 1e-9)))) for name, call in calls.items()
    }
    best: dict[str, float] = {}
    order = list(calls)
    finish, rounds = time.perf_counter() + seconds * len(calls), 0
    while time.perf_counter() < finish or rounds < 3:
        order, rounds = order[1:] + order[:1], rounds + 1
        for name in order:
            calls[name]()
            best[name] = min(_timed(calls[name], repeats[name]), best.get(name, float("inf")))
    return {name: best[name] for name in calls}


def _timed(call: Call, repeats: int) -> float:
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def _error(result: Any, exact: Array) -> float:
    actual = np.asarray(result)
    if np.iscomplexobj(actual):
        actual = np.stack([actual.real, actual.imag], axis=-1)
    return error_eps(actual.reshape(exact.shape), exact)


def cell(seconds: float, error: float) -> str:
    """Give a time, with its error if that is large."""
    text = f"{1e6 * seconds:.3g} µs" if seconds < 1e-3 else f"{1e3 * seconds:.3g} ms"
    return text if error < LARGEST_ERROR else f"{text} (error {error:.0f} eps)"


def _check_plot(path: str) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        fail("--plot needs matplotlib, which is not installed")
    if not path.endswith(".png"):
        fail(f"--plot must name a .png file, got {path!r}")
    if not Path(path).resolve().parent.is_dir():
        fail(f"--plot must name a file in a folder that exists, got {path!r}")


def _plot(path: str, times: dict[str, dict[str, float]], names: list[str]) -> None:
    """Bars of the times as multiples of fastspectral's."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 1.5 + 0.6 * len(times)), layout="constrained")
    axes = figure.add_subplot()
    height = 0.8 / len(names)
    for k, name in enumerate(names):
        places = [
            (i + k * height, row[name] / row["fastspectral"]) for i, row in enumerate(times.values()) if name in row
        ]
        axes.barh([place for place, _ in places], [multiple for _, multiple in places], height, label=name)
    axes.set_yticks([i + 0.4 - height / 2 for i in range(len(times))], list(times))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("time / time of fastspectral (one thread)")
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=120)
