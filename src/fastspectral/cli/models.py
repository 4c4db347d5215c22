"""Models and their inputs, from files."""

import argparse
import contextlib
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastspectral.cli.terminal import fail, reason_of

RUNS, SECONDS = 3, 1.0  # of which a time is the shortest: at least so many, until so long


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what every verb takes that runs a model."""
    parser.add_argument("model", help="path of an .onnx file")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=FILE.npy",
        help="an input; without, floats of fixed shape are noise",
    )
    parser.add_argument("--threads", type=_threads, help="for onnxruntime and fastspectral; by default all that pay")


def _threads(text: str) -> int:
    cpus = os.cpu_count() or 1
    if not text.isdecimal() or not 1 <= int(text) <= cpus:
        raise argparse.ArgumentTypeError(f"must be from 1 to {cpus}, the number of CPUs, got {text}")
    return int(text)


@contextlib.contextmanager
def reported(text: str) -> Iterator[None]:
    """End with one line where anything is raised inside: models fail in every way that onnx and onnxruntime know."""
    try:
        yield
    except Exception as error:
        fail(f"{text}: {reason_of(error)}")


def require_onnx() -> None:
    """End with one line where onnx or onnxruntime is missing; else make onnxruntime silent, whose errors are told once."""
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError as error:
        fail(f'{error.name} is not installed: pip install "fastspectral[onnx]"')
    onnxruntime.set_default_logger_severity(4)


def load(path: str, threads: int | None) -> tuple[Any, Callable[[], Any]]:
    """Give the session of a model, and a function that gives onnxruntime's own."""
    require_onnx()
    import onnxruntime

    from fastspectral.onnx import InferenceSession

    if not Path(path).is_file():
        fail(f"{path} is a folder, not an .onnx file" if Path(path).is_dir() else f"there is no file {path}")

    def options() -> Any:
        chosen = onnxruntime.SessionOptions()
        chosen.log_severity_level = 4
        chosen.intra_op_num_threads = threads or 0
        return chosen

    with reported(f"{path} cannot be loaded as an ONNX model"):
        session = InferenceSession(path, options())
    return session, lambda: onnxruntime.InferenceSession(path, options())


def read_inputs(session: Any, given: Sequence[str]) -> dict[str, Any]:
    """Read the arrays of ``name=file.npy``; inputs of floats and fixed shape that are not given are noise."""
    feeds: dict[str, Any] = {}
    for text in given:
        name, _, file = text.partition("=")
        if not name or not file:
            fail(f"--input must be NAME=FILE.npy, got {text!r}")
        with reported(f"{file} cannot be read as an .npy file"), Path(file).open("rb") as stream:
            feeds[name] = np.lib.format.read_array(stream, allow_pickle=False)
    known = {argument.name: argument for argument in [*session.get_inputs(), *session.get_overridable_initializers()]}
    for name in feeds:
        if name not in known:
            fail(f"--input must name inputs of the model, which are {', '.join(known)}, got {name!r}")
    for argument in session.get_inputs():
        if argument.name not in feeds:
            feeds[argument.name] = _noise(argument)
    return feeds


def _noise(argument: Any) -> Any:
    dtype = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}.get(
        argument.type
    )
    if dtype is None or not all(isinstance(size, int) for size in argument.shape):
        fail(
            f"input {argument.name!r} of type {argument.type} and shape {argument.shape} must be given: "
            f"--input {argument.name}=FILE.npy"
        )
    return np.random.default_rng(0).standard_normal(argument.shape).astype(dtype)


def best_time(call: Callable[[], Any]) -> float:
    """Shortest time of a call that was made before."""
    best, start, runs = float("inf"), time.perf_counter(), 0
    while runs < RUNS or (time.perf_counter() - start < SECONDS and runs < 100):
        begin = time.perf_counter()
        call()
        best, runs = min(best, time.perf_counter() - begin), runs + 1
    return best


def attempt(create: Callable[[], Any], feeds: Mapping[str, Any]) -> tuple[Any, float, str]:
    """Results and time of a session that may fail, and why it did."""
    try:
        session = create()
        results = session.run(None, dict(feeds))
        return results, best_time(lambda: session.run(None, dict(feeds))), ""
    except Exception as error:  # what onnxruntime raises has no common kind
        return None, float("nan"), reason_of(error)
