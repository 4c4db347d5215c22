"""The packaged cases: ``test.json``, small ones with bounds of their errors, and ``bench.json``, workloads that people run.

An input of a case is a number, or noise of a shape and a seed, so that a file holds no arrays; what is expected comes from the definitions in float64.
"""

import importlib.resources
import json
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastspectral.contract.definitions import DEFINITIONS
from fastspectral.contract.kernels import Kernel, get_kernel
from fastspectral.ops._datatypes import as_datatype

Array = npt.NDArray[Any]

EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


class Case(NamedTuple):
    """A call of a kernel.

    Attributes
    ----------
    name : str
        What is computed.
    id : str
        The kernel.
    opset : int
        Its opset.
    inputs : dict
        Of each input its ``dtype``, and its ``value`` or the ``shape`` and ``seed`` of its noise.
    attributes : dict
        Attributes by name.
    bound : float or None
        The largest relative L2 error, in eps of the output's dtype; 0 for integers, which are exact.
    """

    name: str
    id: str
    opset: int
    inputs: dict[str, dict[str, Any]]
    attributes: dict[str, Any]
    bound: float | None

    @property
    def kernel(self) -> Kernel:
        """The kernel of the case."""
        return get_kernel(self.id, self.opset)

    def arrays(self) -> dict[str, Array]:
        """Make the inputs.

        Raises
        ------
        ValueError
            If one is of bfloat16 and the package ml_dtypes is missing.
        """
        return {name: _made(**given) for name, given in self.inputs.items()}

    def expected(self, arrays: dict[str, Array]) -> Array:
        """Give the result for `arrays` by the definition, in float64."""
        operator = self.kernel.operator
        inputs = [arrays.get(value.name) for value in operator.inputs]
        return DEFINITIONS[operator.op_type](*inputs, **{**operator.defaults, **self.attributes})


def _made(dtype: str, value: Any = None, shape: Any = None, seed: int = 0) -> Array:
    number = as_datatype(dtype)
    if shape is None:
        return np.array(value, number)
    noise: Array = np.random.default_rng(seed).standard_normal(shape)
    return noise.astype(number)


@cache
def cases(kind: str) -> tuple[Case, ...]:
    """Read the cases of kind "test" or "bench"."""
    text = (importlib.resources.files("fastspectral.contract") / f"{kind}.json").read_text(encoding="utf-8")
    return tuple(
        Case(
            entry["name"],
            entry["id"],
            entry["opset"],
            entry["inputs"],
            entry.get("attributes", {}),
            entry.get("bound"),
        )
        for entry in json.loads(text)
    )


def error_eps(actual: Array, exact: Array) -> float:
    """Relative L2 error of `actual` in eps of its dtype; of integers, the number of those that are not `exact` cut."""
    if actual.dtype.name not in EPS:
        return float(np.count_nonzero(actual != exact.astype(actual.dtype)))
    norm, difference = np.linalg.norm(exact), np.linalg.norm(actual.astype(np.float64) - exact)
    if not difference:
        return 0.0
    return float(difference / norm / EPS[actual.dtype.name]) if norm else float("inf")
