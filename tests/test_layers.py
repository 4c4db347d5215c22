"""Rules of the code base that a reader relies on."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fastspectral

PACKAGE = Path(fastspectral.__file__).parent
KERNELS = [
    path
    for path in sorted((PACKAGE / "kernels").glob("*.py"))
    if path.name not in ("__init__.py", "lanes.py", "tiles.py")
]


def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(node):
    for statement in ast.walk(node):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            yield statement.module


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_kernels_import_little_and_never_raise(path):
    allowed = {"functools", "math", "typing", "numpy", "numpy.typing", "collections.abc", "fastspectral._jit"}
    modules = {name for name in imported(tree(path)) if not name.startswith("fastspectral.kernels")}
    assert modules <= allowed
    assert not [node for node in ast.walk(tree(path)) if isinstance(node, (ast.Raise, ast.Try))]


def test_numba_is_decorated_in_one_place():
    for path in PACKAGE.rglob("*.py"):
        if path.name == "_jit.py":
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ImportFrom) and node.module == "numba":
                assert not {alias.name for alias in node.names} & {
                    "njit",
                    "jit",
                    "cfunc",
                    "vectorize",
                    "guvectorize",
                    "prange",
                }, path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("exec", "eval"), f"{path}: nothing is made of text"
                # njit(parallel=True) decorates; njit(function) would build a second code under the cache entry of the first
                assert node.func.id != "njit" or not node.args, f"{path}: nothing is jitted twice"


def test_only_two_files_speak_llvm():
    speakers = {
        path.name for path in PACKAGE.rglob("*.py") if any(name.startswith("llvmlite") for name in imported(tree(path)))
    }
    assert speakers <= {"lanes.py", "tiles.py"}


def test_every_function_and_module_is_described():
    for path in PACKAGE.rglob("*.py"):
        module = tree(path)
        assert ast.get_docstring(module), path
        for node in module.body:
            if (
                isinstance(node, (ast.FunctionDef, ast.ClassDef))
                and not node.name.startswith("_")
                and path.parent.name == "kernels"
            ):
                if path.name in ("lanes.py", "tiles.py") and node.name.startswith("emit"):
                    continue
                assert ast.get_docstring(node) or len(node.body) <= 2, f"{path.name}: {node.name}"


def test_import_loads_no_heavy_package():
    code = (
        "import sys, numba; before = set(sys.modules); import fastspectral;"
        "print([m for m in ('scipy', 'onnx', 'onnxruntime', 'ml_dtypes') if m in set(sys.modules) - before])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_import_layers_hold():
    run = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"],
        cwd=PACKAGE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
