"""The contract of the kernels: which operators there are, what they take and give, and kernels that are called by it."""

from fastspectral.contract.kernels import Kernel, Metadata, get_kernel
from fastspectral.contract.manifest import OPERATORS, Attribute, Operator, Value
from fastspectral.contract.variants import Explanation

__all__ = ["OPERATORS", "Attribute", "Explanation", "Kernel", "Metadata", "Operator", "Value", "get_kernel"]
