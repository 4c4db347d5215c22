"""Cutting an ONNX graph at the nodes that fastspectral serves.

Between the served nodes lie the parts that stay with onnxruntime.  Let the depth of a value be the number of served
nodes on the longest path to it: a served node that reads values of depth d runs after part d and gives a value of depth
d + 1, so one part for each depth is enough, and no cut needs fewer.  Within these bounds every node goes to the latest
part that is early enough for all its readers, where its result most likely need not leave the part.
"""

import graphlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import numpy_helper

from fastspectral.onnx.operators import DEFAULT_DOMAINS

# Their results differ from run to run, so they are no constants even if all their inputs are.
_RANDOM = {
    "Bernoulli",
    "Dropout",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}

_CONSTANT_DTYPES = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_string": object,
    "value_strings": object,
}


@dataclass
class Graph:
    """The main graph of a model, ready to be cut.

    `nodes` are those that the outputs depend on, every one after those that it reads from; Constant nodes are among the
    `initializers` instead.  `overridable` are the initialisers that are inputs as well: defaults that a feed replaces.
    """

    nodes: list[onnx.NodeProto]
    inputs: dict[str, onnx.ValueInfoProto]
    outputs: list[str]
    initializers: dict[str, onnx.TensorProto]
    overridable: set[str]
    sparse: dict[str, onnx.SparseTensorProto] = field(default_factory=dict)

    @property
    def constants(self) -> set[str]:
        """Names of the values that are the same in every run."""
        return (self.initializers.keys() | self.sparse.keys()) - self.overridable


@dataclass(frozen=True)
class Step:
    """One served node, or the nodes of one part for onnxruntime, with the values that go in and come out."""

    served: bool
    nodes: tuple[onnx.NodeProto, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def read_graph(model: onnx.ModelProto) -> Graph:
    """Give the main graph of `model` as a `Graph`.

    Raises
    ------
    ValueError
        If the nodes read from one another in a circle.
    """
    proto = model.graph
    initializers = {tensor.name: tensor for tensor in proto.initializer}
    sparse = {tensor.values.name: tensor for tensor in proto.sparse_initializer}
    nodes = []
    for node in proto.node:
        tensor = _constant(node)
        if tensor is None:
            nodes.append(node)
        else:
            initializers[tensor.name] = tensor
    given = initializers.keys() | sparse.keys()
    # Before IR version 4, every initialiser had to be listed among the inputs and none could be fed.
    overridable = {value.name for value in proto.input if value.name in given} if model.ir_version >= 4 else set()
    inputs = {value.name: value for value in proto.input if value.name not in given or value.name in overridable}
    outputs = [value.name for value in proto.output]
    return Graph(_sorted(nodes, outputs), inputs, outputs, initializers, overridable, sparse)


def reads(node: onnx.NodeProto) -> list[str]:
    """Give the names of the values that `node` reads, those that only the bodies inside it read among them."""
    names = dict.fromkeys(name for name in node.input if name)
    for body in bodies(node):
        names.update(dict.fromkeys(_captures(body)))
    return list(names)


def bodies(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """Give the graphs inside `node`, such as the branches of an If."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def constant_nodes(graph: Graph, opset: int, functions: Collection[tuple[str, str]]) -> set[int]:
    """Give the indices of the nodes that depend on nothing but constants and give nothing but tensors.

    `opset` is the version of the default domain; `functions` are the domains and names of the model's own.
    """
    constants = graph.constants
    indices = set()
    for i, node in enumerate(graph.nodes):
        standard = node.domain in DEFAULT_DOMAINS and (node.domain, node.op_type) not in functions
        if not standard or node.op_type in _RANDOM or any(bodies(node)):
            continue
        if constants.issuperset(reads(node)) and _gives_tensors(node, opset):
            indices.add(i)
            constants.update(name for name in node.output if name)
    return indices


def needed_nodes(graph: Graph, names: Iterable[str]) -> set[int]:
    """Give the indices of the nodes that the values `names` depend on."""
    return _needed(graph.nodes, names)


def cut(
    graph: Graph,
    nodes: Collection[int],
    outputs: Collection[str],
    served: Collection[int],
    constant: Collection[int] = (),
    inseparable: Collection[str] = (),
) -> tuple[list[Step], set[int]]:
    """Cut `nodes` into steps that give `outputs`.

    Parameters
    ----------
    graph : Graph
        The graph; nodes are given by their indices in it.
    nodes : collection of int
        Nodes to run.
    outputs : collection of str
        Values that must leave the steps.
    served : collection of int
        Nodes that fastspectral computes, as far as no inseparable value hinders it.
    constant : collection of int
        Nodes that are not served and depend on constants only.  Every part that reads one gets a copy of it, so that
        onnxruntime can fold it there.
    inseparable : collection of str
        Values that cannot leave onnxruntime: whoever reads one runs in the part of the node that gives it.

    Returns
    -------
    steps : list of Step
        In the order in which they run.
    kept : set of int
        Nodes of `served` that read an inseparable value or lie between two nodes that one holds together: they stay
        with onnxruntime.
    """
    moving = [i for i in sorted(nodes) if i not in constant]
    producer = {name: i for i in moving for name in graph.nodes[i].output if name}
    sources = {i: [producer[name] for name in reads(graph.nodes[i]) if name in producer] for i in moving}
    group = _groups(graph, moving, producer, inseparable)
    kept: set[int] = set()
    if inseparable:
        # A malformed node reads such a value itself: onnxruntime will say so.
        kept = {i for i in served if not set(inseparable).isdisjoint(reads(graph.nodes[i]))}
        kept |= _on_cycles(moving, sources, group, set(served) - kept)
    mine = set(served) - kept
    part = _latest_parts(moving, sources, group, mine)

    constant_producer = {name: i for i in constant for name in graph.nodes[i].output if name}
    steps = []
    for depth in range(max(part.values(), default=-1) + 1):
        held = {i for i in moving if i not in mine and part[i] == depth}
        if held:
            pulled = _needed_constants(graph, held, constant_producer)
            steps.append(_step(graph, sorted(held | pulled), served=False))
        steps += [_step(graph, [i], served=True) for i in moving if i in mine and part[i] == depth]
    return _without_inner_outputs(steps, outputs), kept


def _constant(node: onnx.NodeProto) -> onnx.TensorProto | None:
    """Give the tensor of a Constant node; None for other nodes and for the sparse kind."""
    if node.op_type != "Constant" or node.domain not in DEFAULT_DOMAINS or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    if attribute.name == "value":
        tensor = onnx.TensorProto()
        tensor.CopyFrom(attribute.t)
        tensor.name = node.output[0]
        return tensor
    if attribute.name not in _CONSTANT_DTYPES:
        return None
    value = onnx.helper.get_attribute_value(attribute)
    return numpy_helper.from_array(np.array(value, _CONSTANT_DTYPES[attribute.name]), node.output[0])


def _gives_tensors(node: onnx.NodeProto, opset: int) -> bool:
    """Tell whether the outputs of a standard node without bodies are tensors, if its inputs are."""
    try:
        schema = onnx.defs.get_schema(node.op_type, opset)
    except onnx.defs.SchemaError:
        return False
    return all(any(kind.startswith("tensor(") for kind in output.types) for output in schema.outputs)


def _captures(body: onnx.GraphProto) -> list[str]:
    """Give the names that `body` reads from the graphs around it."""
    inner = {value.name for value in body.input}
    inner.update(tensor.name for tensor in body.initializer)
    inner.update(tensor.values.name for tensor in body.sparse_initializer)
    inner.update(name for node in body.node for name in node.output)
    outside = [name for node in body.node for name in reads(node)] + [value.name for value in body.output]
    return [name for name in outside if name not in inner]


def _sorted(nodes: Sequence[onnx.NodeProto], outputs: Sequence[str]) -> list[onnx.NodeProto]:
    """Sort `nodes` topologically and leave out those that no output depends on."""
    producer = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    needed = _needed(nodes, outputs)
    sources = {i: [producer[name] for name in reads(nodes[i]) if name in producer] for i in sorted(needed)}
    try:
        return [nodes[i] for i in graphlib.TopologicalSorter(sources).static_order()]
    except graphlib.CycleError as error:
        circle = " -> ".join(nodes[i].name or nodes[i].op_type for i in error.args[1])
        raise ValueError(f"the nodes of a graph must not read from one another in a circle, got {circle}") from None


def _needed(nodes: Sequence[onnx.NodeProto], names: Iterable[str]) -> set[int]:
    producer = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    needed: set[int] = set()
    waiting = list(names)
    while waiting:
        i = producer.get(waiting.pop())
        if i is not None and i not in needed:
            needed.add(i)
            waiting += reads(nodes[i])
    return needed


def _groups(
    graph: Graph, moving: Sequence[int], producer: dict[str, int], inseparable: Collection[str]
) -> dict[int, int]:
    """Give for every node a number that it shares with the nodes that inseparable values hold to it."""
    group = {i: i for i in moving}
    for i in moving:
        for name in reads(graph.nodes[i]):
            if name in inseparable and name in producer and group[producer[name]] != group[i]:
                joined, left = group[producer[name]], group[i]
                group.update({j: joined for j, g in group.items() if g == left})
    return group


def _on_cycles(
    moving: Sequence[int], sources: dict[int, list[int]], group: dict[int, int], served: Collection[int]
) -> set[int]:
    """Give the nodes of `served` that depend on themselves once every group counts as one node."""
    before: defaultdict[int, set[int]] = defaultdict(set)
    for i in moving:
        before[group[i]].update(group[j] for j in sources[i] if group[j] != group[i])
    found = set()
    for i in served:
        seen: set[int] = set()
        waiting = list(before[group[i]])
        while waiting:
            g = waiting.pop()
            if g not in seen:
                seen.add(g)
                waiting += before[g]
        if group[i] in seen:
            found.add(i)
    return found


def _latest_parts(
    moving: Sequence[int], sources: dict[int, list[int]], group: dict[int, int], served: Collection[int]
) -> dict[int, int]:
    """Give for every node the part in which it runs, or for a served one the part after which it does."""
    earliest = dict.fromkeys(group.values(), 0)
    changed = True
    while changed:  # again only where a group pulled up a node that another had read already
        changed = False
        for i in moving:
            depth = max((earliest[group[j]] + (j in served) for j in sources[i]), default=0)
            if depth > earliest[group[i]]:
                earliest[group[i]] = depth
                changed = True

    read = {j for i in moving for j in sources[i]}
    latest = {g: len(moving) for g in earliest}  # more than any part
    # A served node runs as soon as it can, and so does a node that no other reads.
    latest.update({group[i]: earliest[group[i]] for i in moving if i in served or i not in read})
    changed = True
    while changed:
        changed = False
        for i in reversed(moving):
            for j in sources[i]:
                if j not in served and latest[group[i]] < latest[group[j]]:
                    latest[group[j]] = latest[group[i]]
                    changed = True
    return {i: latest[group[i]] for i in moving}


def _needed_constants(graph: Graph, held: Iterable[int], producer: dict[str, int]) -> set[int]:
    needed: set[int] = set()
    waiting = [name for i in held for name in reads(graph.nodes[i])]
    while waiting:
        i = producer.get(waiting.pop())
        if i is not None and i not in needed:
            needed.add(i)
            waiting += reads(graph.nodes[i])
    return needed


def _step(graph: Graph, indices: Sequence[int], *, served: bool) -> Step:
    nodes = tuple(graph.nodes[i] for i in indices)
    made = dict.fromkeys(name for node in nodes for name in node.output if name)
    within = made.keys() if served else made.keys() | graph.constants
    inputs = tuple(dict.fromkeys(name for node in nodes for name in reads(node) if name not in within))
    return Step(served, nodes, inputs, tuple(made))


def _without_inner_outputs(steps: Sequence[Step], outputs: Collection[str]) -> list[Step]:
    """Give `steps` with only those outputs that another step reads or that must leave.

    A value of a copied constant node never leaves: where it does not stay inside one part, it is folded beforehand.
    """
    wanted = {name for step in steps for name in step.inputs} | set(outputs)
    return [
        Step(step.served, step.nodes, step.inputs, tuple(name for name in step.outputs if name in wanted))
        for step in steps
    ]
