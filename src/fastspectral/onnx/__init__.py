"""ONNX adapters: run fastspectral's operators in onnxruntime sessions, the reference evaluator and the Backend API.

`InferenceSession` is a drop-in for onnxruntime's, `new_ops` goes to ``onnx.reference.ReferenceEvaluator``, `backend` is
a module with the ONNX Backend API.  Each is imported when it is first used: this module alone loads neither onnx nor
onnxruntime.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastspectral.onnx import backend
    from fastspectral.onnx.reference import new_ops
    from fastspectral.onnx.report import Record, Report
    from fastspectral.onnx.session import InferenceSession

__all__ = ["InferenceSession", "Record", "Report", "backend", "new_ops"]

_HOMES = {"InferenceSession": "session", "Record": "report", "Report": "report", "new_ops": "reference"}


def __getattr__(name: str) -> Any:
    if name != "backend" and name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"fastspectral.onnx.{_HOMES.get(name, name)}")
    except ModuleNotFoundError as error:
        if error.name not in ("onnx", "onnxruntime", "ml_dtypes"):
            raise
        raise ModuleNotFoundError(
            f'{error.name} is not installed: pip install "fastspectral[onnx]"', name=error.name
        ) from error
    value = module if name == "backend" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
