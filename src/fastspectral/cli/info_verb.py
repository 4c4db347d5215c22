"""``info``: what a bug report needs."""

import argparse
import importlib.metadata
import json
import os
import platform
from typing import Any

import numba
from numba.np.ufunc import parallel as numba_parallel

import fastspectral
from fastspectral._jit import source_digest
from fastspectral.cli.terminal import say
from fastspectral.kernels.lanes import cpu, lanes_of, register_bytes, registers
from fastspectral.kernels.lines import transform_lines

PACKAGES = ("numba", "llvmlite", "numpy", "tbb", "onnx", "onnxruntime", "ml_dtypes", "scipy")
# Those that choose code; a CPU names some eighty.
FEATURES = ("sse2", "avx", "avx2", "fma", "f16c", "avx512f", "neon", "sve")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what the verb takes."""
    parser.add_argument("--json", action="store_true", help="as JSON")


def act(arguments: argparse.Namespace) -> int:
    """Print what is known of this machine."""
    found = information()
    if arguments.json:
        say(json.dumps(found, indent=2))
    else:
        rows = [
            (name, ", ".join(map(str, value)) if isinstance(value, list) else value) for name, value in _flat(found)
        ]
        width = max(len(name) for name, _ in rows)
        for name, value in rows:
            say(f"{name.ljust(width)}  {value}")
    return 0


def information() -> dict[str, Any]:
    """Versions, CPU, threads and cache."""
    name, features = cpu()
    workers = fastspectral.get_workers()  # starts Numba's threading layer, if there is use for one
    started = numba_parallel._is_initialized
    return {
        "fastspectral": fastspectral.__version__,
        "source_digest": source_digest(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "versions": {name: _version(name) for name in PACKAGES},
        "cpu": {
            "name": name,
            "features": [feature for feature in FEATURES if feature in features],
            "register_bytes": register_bytes(),
            "registers": registers(),
            "float32_lanes": lanes_of(32),
            "float64_lanes": lanes_of(64),
        },
        "threads": {
            "cpus": os.cpu_count(),
            "numba_threads": numba.config.NUMBA_NUM_THREADS,
            "layer": numba.threading_layer() if started else "not started: one thread",
            "workers": workers,
        },
        "cache_folder": cache_folder() or f"none: {_why_none()}",
        "read_only_cache_folder": _read_only_folder(),
    }


def cache_folder() -> str | None:
    """The folder of the kernels' machine code, None where no folder can be written or nothing is compiled."""
    dispatcher: Any = transform_lines
    path = None if numba.config.DISABLE_JIT else dispatcher.stats.cache_path
    return str(path) if path else None


def _why_none() -> str:
    return "NUMBA_DISABLE_JIT is set" if numba.config.DISABLE_JIT else "no folder can be written"


def _read_only_folder() -> str | None:
    dispatcher: Any = transform_lines
    path = None if numba.config.DISABLE_JIT else dispatcher._cache.read_only_path
    return str(path) if path else None


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _flat(found: dict[str, Any]) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in found.items():
        if isinstance(value, dict):
            rows += [(f"{name}.{inner}" if name != "versions" else inner, text) for inner, text in value.items()]
        else:
            rows.append((name, value))
    return [(name, "-" if value is None else value) for name, value in rows]
