"""``ops``: the contract of the operators."""

import argparse
import json

from fastspectral.cli.terminal import say
from fastspectral.contract import OPERATORS
from fastspectral.contract.kernels import CONTRACT_VERSION


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what the verb takes."""
    parser.add_argument("--json", action="store_true", help="as JSON")


def act(arguments: argparse.Namespace) -> int:
    """Print the contract."""
    operators = [operator for versions in OPERATORS.values() for operator in versions]
    if arguments.json:
        contract = {"version": CONTRACT_VERSION, "operators": [operator.as_dict() for operator in operators]}
        say(json.dumps(contract, indent=2))
        return 0
    for operator in operators:
        inputs = ", ".join(f"{v.name}: {v.type}" if v.required else f"[{v.name}: {v.type}]" for v in operator.inputs)
        say(f"{operator.op_type}-{operator.since}({inputs}) -> {operator.output.name}: {operator.output.type}")
        for name, dtypes in operator.types.items():
            say(f"    {name}: {', '.join(dtypes)}")
        attributes = (
            f"{a.name} ({a.kind}) = {a.default}" if a.default is not None else f"{a.name} ({a.kind})"
            for a in operator.attributes
        )
        say(f"    attributes: {', '.join(attributes)}")
        say(f"    shape: {operator.shape_rule}")
        say(f"    variants: {', '.join(operator.variants)}")
    return 0
