"""``compare``: every served node of a model by itself, beside onnxruntime and float64."""

import argparse
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastspectral.cli.models import add_model_arguments, attempt, load, read_inputs, reported
from fastspectral.cli.terminal import milliseconds, progress, say, table
from fastspectral.contract.cases import error_eps
from fastspectral.contract.definitions import DEFINITIONS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Tell the parser what the verb takes."""
    add_model_arguments(parser)


def act(arguments: argparse.Namespace) -> int:
    """Print a table of the nodes; errors are relative L2 errors in eps of the result's dtype."""
    session, _ = load(arguments.model, arguments.threads)
    feeds = read_inputs(session, arguments.input)
    import onnx

    from fastspectral.onnx.operators import default_opset, node_name

    served = {record.node for record in session.report() if record.runner == "fastspectral"}
    if not served:
        say("fastspectral serves no node of this model")
        return 0
    with reported(f"{arguments.model} cannot be run by onnxruntime"):
        model = onnx.load_model(arguments.model)
        nodes = [node for node in model.graph.node if node_name(node) in served]
        values = _values(model, nodes, feeds)
    opset = default_opset(model.opset_import)
    rows: list[tuple[str, ...]] = [("node", "ms", "onnxruntime ms", "ratio", "error eps", "onnxruntime eps")]
    for node in progress(nodes, "compare", len(nodes)):
        inputs = [values[name] if name else None for name in node.input]
        with reported(f"{node.op_type} node {node_name(node)!r}"):
            rows.append((f"{node.op_type} {node_name(node)}", *_row(node, inputs, opset, arguments.threads)))
    say(table(rows))
    return 0


def _values(model: Any, nodes: list[Any], feeds: Mapping[str, Any]) -> dict[str, Any]:
    """What the nodes read, as onnxruntime computes it."""
    import onnx
    import onnxruntime

    values = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    values.update(feeds)
    wanted = list(dict.fromkeys(name for node in nodes for name in node.input if name and name not in values))
    if wanted:
        known = {output.name for output in model.graph.output}
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted if name not in known)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        values.update(zip(wanted, session.run(wanted, dict(feeds)), strict=True))
    return values


def _row(node: Any, inputs: list[Any], opset: int, threads: int | None) -> tuple[str, ...]:
    """Times and errors of one node as a model of its own, whose first input is fed and whose others are constants."""
    import onnx
    import onnxruntime

    from fastspectral.onnx import InferenceSession
    from fastspectral.onnx.operators import bind

    imports = [onnx.helper.make_opsetid("", opset)]
    first = inputs[0]
    fed = onnx.helper.make_tensor_value_info(
        node.input[0], onnx.helper.np_dtype_to_tensor_dtype(first.dtype), first.shape
    )
    constants = {
        name: value for name, value in zip(node.input[1:], inputs[1:], strict=True) if name and name != node.input[0]
    }
    graph = onnx.helper.make_graph(
        [node],
        node.op_type,
        [fed],
        [onnx.ValueInfoProto(name=name) for name in node.output],
        [onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    ir_version = onnx.helper.find_min_ir_version_for(imports)
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=ir_version).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, threads or 0
    feeds = {node.input[0]: first}

    keywords = {name: value for name, value in bind(node, opset).keywords.items() if name != "workers"}
    exact = DEFINITIONS[node.op_type](*inputs, **keywords)
    times, errors = [], []
    for kind in (InferenceSession, onnxruntime.InferenceSession):
        results, seconds, why = attempt(functools.partial(kind, model, options), feeds)
        times.append(seconds)
        if why:
            errors.append("fails")
        elif results[0].shape != exact.shape:
            errors.append("other shape")
        else:
            errors.append(f"{error_eps(results[0], exact):.3g}")
    ratio = "-" if np.isnan(times[1]) else f"{times[1] / times[0]:.2f}"
    return milliseconds(times[0]), milliseconds(times[1]), ratio, *errors
