"""``run``: a model, beside plain onnxruntime."""

import argparse
import urllib.parse
from pathlib import Path
from typing import Any

import numpy as np

from fastspectral.cli.models import add_model_arguments, attempt, best_time, load, read_inputs, reported
from fastspectral.cli.terminal import milliseconds, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what the verb takes."""
    add_model_arguments(parser)
    parser.add_argument("--output-dir", default=".", metavar="FOLDER", help="where each output goes, as NAME.npy")


def act(arguments: argparse.Namespace) -> int:
    """Run the model, tell which node ran where, and save the outputs."""
    session, plain = load(arguments.model, arguments.threads)
    feeds = read_inputs(session, arguments.input)
    with reported(f"{arguments.model} cannot be run"):
        results = session.run(None, feeds)
        seconds = best_time(lambda: session.run(None, feeds))
    say(str(session.report()))
    _, others, why = attempt(plain, feeds)
    if why:
        say(f"{milliseconds(seconds)} ms; onnxruntime alone fails: {why}")
    else:
        say(
            f"{milliseconds(seconds)} ms; onnxruntime alone {milliseconds(others)} ms, {others / seconds:.2f} times as long"
        )
    folder = Path(arguments.output_dir)
    with reported(f"the outputs cannot be saved in {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        for output, value in zip(session.get_outputs(), results, strict=True):
            say(_save(folder, output.name, value))
    return 0


def _save(folder: Path, name: str, value: Any) -> str:
    """Save an output, and give a line about it."""
    if not isinstance(value, np.ndarray):
        return f"{name}: not saved, as it is no tensor but a {type(value).__name__}"
    if value.dtype == object:
        value = value.astype(str)  # else it would be pickled
    elif value.dtype.kind == "V":
        value = value.astype(np.float32)  # bfloat16, which .npy files do not know
    path = folder / f"{urllib.parse.quote(name, safe=' ')}.npy"
    np.save(path, value, allow_pickle=False)
    return f"{name}: {value.dtype}, shape {value.shape}, saved as {path}"
