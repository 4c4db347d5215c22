"""What the scripts that write tables into README.md share."""

import datetime as dt
import importlib.metadata
from pathlib import Path

import fastspectral
from fastspectral.kernels.lanes import lanes_of, register_bytes

README = Path(__file__).parents[1] / "README.md"
REGISTERS = {64: "AVX-512", 32: "AVX or AVX2", 16: "SSE2 or NEON", 0: "no vector"}


def circumstances(command, names):
    """Give the sentences that tell when and how a table was made, on what, beside which versions of the libraries `names`."""
    versions = [f"{name} {importlib.metadata.version(name)}" for name in [*names, "numba"] if name != "fastspectral"]
    return (
        f"{dt.datetime.now(dt.UTC):%Y-%m-%d}, by `{command}`. "
        f"Numba's registers here: {REGISTERS[register_bytes()]}, {lanes_of(32)} float32 lanes. "
        f"fastspectral {fastspectral.__version__} beside {', '.join(versions)}."
    )


def replace(name, lines):
    """Put the lines between the two comments of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = README.read_text(encoding="utf-8").split(begin)
    after = rest.split(end)[1]
    README.write_text("\n".join([before + begin, *lines, end + after]), encoding="utf-8")
