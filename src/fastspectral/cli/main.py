"""The parser, and the way from a verb to its module."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import numba

import fastspectral
from fastspectral._jit import COMPILED_ONLY
from fastspectral.cli.terminal import fail

VERBS = {
    "info": "versions, CPU, threads and cache: what a bug report needs",
    "compile": "compile all kernels into the disk cache",
    "run": "run a model, beside plain onnxruntime",
    "compare": "error and speed of every served node of a model, beside onnxruntime's and float64",
    "bench": "measure this machine beside the libraries that are installed",
    "selftest": "compute the packaged cases by every variant and check their errors",
    "ops": "the contract of the operators",
}
UNCOMPILED = ("info", "ops")  # verbs that no kernel is needed for


class Parser(argparse.ArgumentParser):
    """A parser that says of bad arguments what the verbs say of all bad use: one line."""

    def error(self, message: str) -> NoReturn:
        """End with the message."""
        fail(f"{message} (see {self.prog} --help)")


def parser() -> Parser:
    """Give the parser of all verbs."""
    made = Parser(prog="python -m fastspectral", description="ONNX's DFT, STFT, windows and ConvTranspose on CPUs.")
    made.add_argument("--version", action="version", version=f"fastspectral {fastspectral.__version__}")
    verbs = made.add_subparsers(dest="verb", required=True, metavar="verb")
    for verb, text in VERBS.items():
        module = importlib.import_module(f"fastspectral.cli.{verb}_verb")
        verb_parser = verbs.add_parser(verb, help=text, description=f"{text[0].upper()}{text[1:]}.")
        module.add_arguments(verb_parser)
        verb_parser.set_defaults(act=module.act)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what a verb says and give the exit code: 0, 1 where a check failed, 2 for bad use, 130 where the user interrupted, 141 where nobody reads on."""
    parsed = parser().parse_args(arguments)
    if numba.config.DISABLE_JIT and parsed.verb not in UNCOMPILED:
        fail(f"{parsed.verb} {COMPILED_ONLY}")
    try:
        code: int = parsed.act(parsed)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # of `| head`; what is still buffered must not meet the pipe when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return code
