"""What the verbs write: lines, tables, errors and progress."""

import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn, TypeVar

T = TypeVar("T")

BAD_USE = 2  # exit code: a broken or foreign model, a bad argument, a missing file


def say(text: str = "") -> None:
    """Write a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def fail(text: str) -> NoReturn:
    """End with one line and the exit code of bad use."""
    sys.stderr.write(f"fastspectral: {text}\n")
    raise SystemExit(BAD_USE)


def reason_of(error: BaseException) -> str:
    """First line of an error, or its kind where it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows of cells as aligned lines, the first column to the left."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "  ".join(
            cell.rjust(width) if k else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def milliseconds(seconds: float) -> str:
    """A time in ms, by three digits."""
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:.0f}"


def progress(items: Iterable[T], text: str, total: int | None = None) -> Iterable[T]:
    """Give `items`, with a bar on a terminal where they take longer than two seconds and tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    bar: Iterable[T] = tqdm(items, desc=text, total=total, delay=2, leave=False, disable=None)
    return bar
