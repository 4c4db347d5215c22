"""``compile``: the kernels, ahead of their first use."""

import argparse

from fastspectral._compile import compile_all
from fastspectral.cli.info_verb import cache_folder
from fastspectral.cli.terminal import fail, progress, say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what the verb takes."""
    parser.add_argument("--quiet", action="store_true", help="only the sum of the times")


def act(arguments: argparse.Namespace) -> int:
    """Compile, and tell how long each kind of call took."""
    folder = cache_folder()
    if folder is None:
        fail("no cache folder can be written, so that nothing would be kept: set NUMBA_CACHE_DIR to one that can")
    total, count = 0.0, 0
    calls = compile_all()
    for name, seconds in progress(calls, "compile") if arguments.quiet else calls:
        total, count = total + seconds, count + 1
        if not arguments.quiet:
            say(f"{seconds:8.2f} s  {name}")
    say(f"{total:8.2f} s  {count} kinds of calls, into {folder}")
    return 0
