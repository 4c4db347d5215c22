"""A model as a sequence of steps that run one after another, and how it is made from the model."""

import copy
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import onnx
import onnxruntime
from onnx import numpy_helper

from fastspectral.onnx.operators import DEFAULT_DOMAINS, default_opset, is_served, node_name, output_element_type
from fastspectral.onnx.partition import Step, bodies, constant_nodes, cut, needed_nodes, read_graph
from fastspectral.onnx.parts import SEPARABLE, Part, Runner, ServedNode, as_array, part_model
from fastspectral.onnx.report import Record
from fastspectral.onnx.signature import element_type, tensor_type, type_string

CreateSession = Callable[[onnx.ModelProto], onnxruntime.InferenceSession]
Functions = Mapping[tuple[str, str], onnx.FunctionProto]

_INSEPARABLE = "a value that is no tensor would have to leave onnxruntime and come back"


class Program:
    """Steps in the order in which they run, and the values that are there before the first.

    Attributes
    ----------
    records : list of Record
        What runs where; the seconds are not filled in.
    types : dict of str to str
        Types of the values that go in or come out of steps.
    """

    def __init__(
        self, runners: Sequence[Runner], constants: Mapping[str, Any], types: Mapping[str, str], records: list[Record]
    ) -> None:
        self.types = types
        self.records = records
        self._runners = runners
        self._constants = constants
        last_reader = {name: k for k, runner in enumerate(runners) for name in runner.inputs}
        self._released: list[list[str]] = [[] for _ in runners]
        for name, k in last_reader.items():
            self._released[k].append(name)

    def run(
        self, feeds: Mapping[str, Any], names: Sequence[str], run_options: onnxruntime.RunOptions | None = None
    ) -> tuple[list[Any], dict[int, float]]:
        """Give the values `names`, and the seconds of the steps that they needed, by number."""
        wanted = set(names)
        active = []
        for k in reversed(range(len(self._runners))):
            if not wanted.isdisjoint(self._runners[k].outputs):
                active.append(k)
                wanted.update(self._runners[k].inputs)

        values = {**self._constants, **feeds}
        seconds = {}
        for k in reversed(active):
            start = time.perf_counter()
            self._runners[k].run(values, wanted, run_options)
            seconds[k] = time.perf_counter() - start
            for name in self._released[k]:
                if name not in names:
                    values.pop(name, None)
        return [self._own(name, values[name], feeds) for name in names], seconds

    def _own(self, name: str, value: Any, feeds: Mapping[str, Any]) -> Any:
        """Give a result that the user may write into: of a constant or of what was fed, a copy."""
        if name in feeds or name in self._constants:
            return copy.deepcopy(as_array(value) if isinstance(value, onnxruntime.OrtValue) else value)
        return value


def whole(session: onnxruntime.InferenceSession, model: onnx.ModelProto | None) -> Program:
    """Give the program of a model in which nothing is cut; of a model in onnxruntime's own format, `model` is None."""
    part = Part(session)
    if model is None:
        records = [Record("the whole model", "", "onnxruntime", 0, None, "in onnxruntime's format, which is not cut")]
    else:
        opset, functions = default_opset(model.opset_import), _functions(model)
        records = _part_records(model.graph.node, 0, opset, functions, {})
    return Program([part], {}, part.types, records)


def has_served_nodes(model: onnx.ModelProto) -> bool:
    """Tell whether the main graph of `model` has a node to cut at."""
    opset, functions = default_opset(model.opset_import), _functions(model)
    return any(is_served(node, opset) and _function_of(node, functions) is None for node in model.graph.node)


def build(model: onnx.ModelProto, folder: str, create_session: CreateSession, workers: int | None) -> Program:
    """Give the program of a model that is cut at its served nodes.

    Parameters
    ----------
    model : onnx.ModelProto
        The model, external data not loaded; it stays as it is.
    folder : str
        Where its external data is.
    create_session : callable
        Gives an onnxruntime session for a part.
    workers : int or None
        Threads for fastspectral's operators.

    Raises
    ------
    ValueError
        As `fastspectral.onnx.operators.bind` does, and as operators do that depend on constants only.
    """
    return _Builder(model, folder, create_session, workers).build()


class _Builder:
    def __init__(self, model: onnx.ModelProto, folder: str, create_session: CreateSession, workers: int | None) -> None:
        self.model = model
        self.folder = folder
        self.create_session = create_session
        self.workers = workers
        self.opset = default_opset(model.opset_import)
        self.functions = _functions(model)
        self.graph = read_graph(model)
        self.folded: dict[str, Any] = {}
        self.records: list[Record] = []
        self.types = {name: type_string(value.type) for name, value in self.graph.inputs.items()}
        for name, tensor in self.graph.initializers.items():
            self.types.setdefault(name, tensor_type(tensor.data_type))

    def build(self) -> Program:
        self._fold()
        served = self._served()
        everything = range(len(self.graph.nodes))
        constant = constant_nodes(self.graph, self.opset, self.functions.keys())
        steps, runners, notes = self._separate(everything, self.graph.outputs, served, constant)
        for part, step in enumerate(steps):
            if step.served:
                self.records.append(_record(step.nodes[0], "fastspectral", part, ""))
            else:
                self.records += _part_records(step.nodes, part, self.opset, self.functions, notes)
        read = {name for runner in runners for name in runner.inputs}
        return Program(runners, self._constants(read | set(self.graph.outputs)), self.types, self.records)

    def _served(self) -> set[int]:
        graph = self.graph
        return {
            i
            for i, node in enumerate(graph.nodes)
            if is_served(node, self.opset)
            and _function_of(node, self.functions) is None
            and graph.sparse.keys().isdisjoint(node.input)
        }

    def _fold(self) -> None:
        """Compute the constant nodes that are served, or that a served node or the user reads, and make them constants.

        The other constant nodes stay as they are: onnxruntime folds them itself.
        """
        graph = self.graph
        served = self._served()
        constant = constant_nodes(graph, self.opset, self.functions.keys())
        read = {name for i in served - constant for name in graph.nodes[i].input}.union(graph.outputs)
        folded = {i for i in constant if i in served or not read.isdisjoint(graph.nodes[i].output)}
        names = [name for i in sorted(folded) for name in graph.nodes[i].output if name]
        closure = needed_nodes(graph, names)
        steps, runners, _ = self._separate(closure, names, served & closure)
        needed = {name for runner in runners for name in runner.inputs}
        values, _ = Program(runners, self._constants(needed), {}, []).run({}, names)
        self.folded = dict(zip(names, values, strict=True))
        for name, value in self.folded.items():
            graph.initializers[name] = numpy_helper.from_array(value, name)
        for step in steps:
            if step.served:
                self.records.append(_record(step.nodes[0], "fastspectral", None, "constant"))
        graph.nodes = [node for i, node in enumerate(graph.nodes) if i not in folded]

    def _separate(
        self, nodes: Collection[int], outputs: Collection[str], served: Collection[int], constant: Collection[int] = ()
    ) -> tuple[list[Step], list[Runner], dict[str, str]]:
        """Cut `nodes` and give steps, their runners and, by node name, why a served node stays with onnxruntime.

        Which values are no tensors is known once onnxruntime has loaded the part that gives them; if one would have to
        leave it, the graph is cut anew.
        """
        inseparable: set[str] = set()
        while True:
            steps, kept = cut(self.graph, nodes, outputs, served, constant, inseparable)
            runners: list[Runner] = []
            found: set[str] = set()
            for step in steps:
                runners.append(self._runner(step))
                crossing = {name for other in steps for name in other.inputs}.intersection(step.outputs)
                found = {name for name in crossing if self.types[name] not in SEPARABLE}
                if found:
                    break
            if not found:
                return steps, runners, {node_name(self.graph.nodes[i]): _INSEPARABLE for i in kept}
            inseparable |= found

    def _runner(self, step: Step) -> Runner:
        if step.served:
            (node,) = step.nodes
            # An initialiser that is an input as well may be replaced in a run.
            constants = self.graph.initializers.keys() - self.graph.inputs.keys()
            runner = ServedNode(node, self.opset, self.workers, constants)
            first = element_type(self.types[node.input[0]])
            self.types[node.output[0]] = tensor_type(output_element_type(node, first))
            return runner
        ir_version = max(4, self.model.ir_version)  # from 4 on, an initialiser need not be an input
        part = Part(self.create_session(part_model(self.model, self.graph, step, self.types, ir_version)))
        self.types.update(part.types)
        return part

    def _constants(self, names: Iterable[str]) -> dict[str, Any]:
        """Give those of `names` that are constants or defaults as arrays."""
        found = {}
        for name in names:
            if name in self.folded:
                found[name] = self.folded[name]
            elif name in self.graph.initializers:
                found[name] = numpy_helper.to_array(self.graph.initializers[name], self.folder)
        return found


def _functions(model: onnx.ModelProto) -> dict[tuple[str, str], onnx.FunctionProto]:
    return {(_domain(function.domain), function.name): function for function in model.functions}


def _function_of(node: onnx.NodeProto, functions: Functions) -> onnx.FunctionProto | None:
    return functions.get((_domain(node.domain), node.op_type))


def _domain(domain: str) -> str:
    return "" if domain in DEFAULT_DOMAINS else domain


def _record(node: onnx.NodeProto, runner: str, part: int | None, note: str) -> Record:
    return Record(node_name(node), node.op_type, runner, part, None, note)


def _part_records(
    nodes: Iterable[onnx.NodeProto], part: int, opset: int, functions: Functions, notes: Mapping[str, str]
) -> list[Record]:
    """Give the records of nodes that onnxruntime runs, with the nodes inside them that would be served outside."""
    records = []
    for node in nodes:
        note = notes.get(node_name(node), "")
        if not note and is_served(node, opset) and _function_of(node, functions) is None:
            note = "reads a sparse initialiser"
        records.append(_record(node, "onnxruntime", part, note))
        for inner, place in _inner_nodes(node, functions):
            if is_served(inner, opset) and _function_of(inner, functions) is None:
                records.append(_record(inner, "onnxruntime", part, f"inside {place}"))
    return records


def _inner_nodes(node: onnx.NodeProto, functions: Functions) -> Iterator[tuple[onnx.NodeProto, str]]:
    """Give the nodes in the bodies of `node` and in the function that it calls, with the place where they are."""
    function = _function_of(node, functions)
    within = [(inner, f"{node.op_type} {node_name(node)}") for body in bodies(node) for inner in body.node]
    if function is not None:
        within += [(inner, f"function {function.name}") for inner in function.node]
    for inner, place in within:
        yield inner, place
        yield from _inner_nodes(inner, functions)
