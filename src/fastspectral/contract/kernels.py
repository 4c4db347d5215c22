"""Kernels that are called by the names of the ONNX standard."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import fastspectral
from fastspectral._arrays import as_float, as_index, deliver, output
from fastspectral._jit import source_digest
from fastspectral.contract.manifest import DOMAIN, FLOATS, OPERATORS, Operator, version_of
from fastspectral.contract.variants import Explanation, conv_transpose_plan, explain

Array = npt.NDArray[Any]

CONTRACT_VERSION = 1


class Metadata(NamedTuple):
    """What a kernel is: operator, opset from which on it holds, contract version, and the package that it is of."""

    id: str
    since: int
    version: int
    package_version: str
    source_digest: str


class Kernel:
    """An operator of one opset, called with inputs and attributes by name; made by `get_kernel`.

    Attributes
    ----------
    metadata : Metadata
        Which kernel it is.
    operator : Operator
        Its contract: types, inputs, output, attributes, shape rule and variants.

    Examples
    --------
    >>> import fastspectral
    >>> kernel = fastspectral.get_kernel("ai.onnx.HannWindow", opset=17)
    >>> kernel(size=4)
    {'output': array([0. , 0.5, 1. , 0.5], dtype=float32)}
    """

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        identity = f"{DOMAIN}.{operator.op_type}"
        self.metadata = Metadata(identity, operator.since, CONTRACT_VERSION, fastspectral.__version__, source_digest())

    def __call__(
        self,
        *,
        outputs: Mapping[str, Array] | None = None,
        variant: str | None = None,
        workers: int | None = None,
        **values: Any,
    ) -> dict[str, Array]:
        """Compute.

        Parameters
        ----------
        outputs : mapping of str to ndarray, optional
            Where to put the output: exact shape and dtype.  Default: new memory, by the shape rule.
        variant : str, optional
            The variant to take, one of ``operator.variants``.  Default: the one that `explain` tells.
        workers : int, optional
            Threads at most; -1 for all.  Default: see `set_workers`.
        **values
            Inputs and attributes by their names in the standard; None is as if it were not given.

        Returns
        -------
        dict of str to ndarray
            The output by its name.

        Raises
        ------
        ValueError
            If a required input is missing, the variant is unknown or not possible for these inputs, and as the operator does.
        TypeError
            If a name is unknown, an input has a dtype that the contract does not list, and as the operator does.
        """
        operator = self.operator
        inputs, attributes = self._bound(values)
        name = operator.output.name
        unknown = [given for given in outputs or {} if given != name]
        if unknown:
            raise ValueError(f"outputs of {self.metadata.id} must be among ['{name}'], got {unknown}")
        out = (outputs or {}).get(name)
        if variant is not None:
            how = self._explained(inputs, attributes, variant, workers)
            if how.variant != variant:
                raise ValueError(f"variant {variant!r} is not possible: it is {how.variant!r}, as {how.reason}")
        if not operator.threaded:
            result = operator.compute(*inputs, **attributes)
            if out is not None:
                written = output(out, result.shape, result.dtype)
                written[...] = result
                result = deliver(written, out)
        elif variant is not None and operator.op_type == "ConvTranspose":
            result = conv_transpose_plan(inputs, attributes, variant)(inputs[0], out, workers)
        else:
            workers = {"serial": 1, "parallel": -1}.get(variant or "", workers)
            result = operator.compute(*inputs, **attributes, out=out, workers=workers)
        return {name: result}

    def explain(self, *, variant: str | None = None, workers: int | None = None, **values: Any) -> Explanation:
        """Tell which variant a call with these inputs and attributes takes, and why; nothing is computed.

        Parameters, but for `outputs`, and errors are those of the call.
        """
        inputs, attributes = self._bound(values)
        self.operator.shape(*inputs, **attributes)
        return self._explained(inputs, attributes, variant, workers)

    def shape(self, **values: Any) -> tuple[int, ...]:
        """Give the shape of the output for these inputs and attributes, by the shape rule alone."""
        inputs, attributes = self._bound(values)
        return self.operator.shape(*inputs, **attributes)

    def __repr__(self) -> str:
        return f"<kernel {self.metadata.id}, opset {self.metadata.since}, contract version {self.metadata.version}>"

    def _explained(
        self, inputs: list[Any], attributes: dict[str, Any], variant: str | None, workers: int | None
    ) -> Explanation:
        if variant is not None and variant not in self.operator.variants:
            raise ValueError(
                f"variant of {self.metadata.id} must be one of {list(self.operator.variants)}, got {variant!r}"
            )
        if variant in ("serial", "parallel") and workers is not None:
            raise ValueError(f"workers must not be given beside variant {variant!r}, got {workers}")
        return explain(self.operator, inputs, attributes, variant, workers)

    def _bound(self, values: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Inputs in order, None where one is absent, and all attributes; a None that is given is as none."""
        operator = self.operator
        values = {name: value for name, value in values.items() if value is not None}
        names = [value.name for value in operator.inputs]
        attributes = {name: value for name, value in values.items() if name not in names}
        unknown = [name for name in attributes if name not in operator.defaults]
        if unknown:
            known = [*names, *operator.defaults]
            raise TypeError(f"inputs and attributes of {self.metadata.id} must be among {known}, got {unknown}")
        for attribute in operator.attributes:
            if attribute.kind == "int" and not hasattr(attributes.get(attribute.name, 0), "__index__"):
                given = attributes[attribute.name]
                raise TypeError(f"attribute {attribute.name!r} of {self.metadata.id} must be an integer, got {given!r}")
        missing = [value.name for value in operator.inputs if value.required and value.name not in values]
        if missing:
            raise ValueError(f"inputs of {self.metadata.id} must give {missing[0]!r}, got {list(values)}")
        inputs = [
            self._input(value.name, values[value.name], operator.dtypes(value)) if value.name in values else None
            for value in operator.inputs
        ]
        return inputs, {**operator.defaults, **attributes}

    def _input(self, name: str, given: Any, dtypes: tuple[str, ...]) -> Array:
        array = as_float(given, name) if dtypes == FLOATS and not np.isscalar(given) else np.asarray(given)
        if array.dtype.name not in dtypes:
            raise TypeError(f"input {name!r} of {self.metadata.id} must be one of {list(dtypes)}, got {array.dtype}")
        return array


def get_kernel(id: str, opset: int | None = None, version: int = CONTRACT_VERSION) -> Kernel:  # noqa: A002 (the name in the contract)
    """Give the kernel of an operator.

    Parameters
    ----------
    id : str
        ``"ai.onnx."`` and the name of the operator, such as ``"ai.onnx.DFT"``.
    opset : int, optional
        Version of the default domain, as a model imports it.  Default: the newest that the operator has.
    version : int
        Version of the contract: how kernels are called.  There is 1.

    Returns
    -------
    Kernel
        A callable with the names of the standard.

    Raises
    ------
    ValueError
        If there is no such operator at this opset, or no such version.
    TypeError
        If `opset` is no integer.

    Examples
    --------
    >>> import fastspectral, numpy as np
    >>> dft = fastspectral.get_kernel("ai.onnx.DFT", opset=20, version=1)
    >>> dft(input=np.array([[[1.0], [2.0], [3.0], [4.0]]]), onesided=1)["output"].shape
    (1, 3, 2)
    >>> dft.explain(input=np.ones((1, 400, 2), np.float32)).variant
    'serial'
    """
    if version != CONTRACT_VERSION:
        raise ValueError(f"version must be {CONTRACT_VERSION}, got {version!r}")
    known = {f"{DOMAIN}.{name}": versions for name, versions in OPERATORS.items()}
    if id not in known:
        raise ValueError(f"id must be one of {', '.join(known)}, got {id!r}")
    versions = known[id]
    operator = versions[0] if opset is None else version_of(versions[0].op_type, as_index(opset, "opset"))
    if operator is None:
        raise ValueError(f"opset of {id} must be at least {versions[-1].since}, got {opset}")
    return Kernel(operator)
