# SPDX-License-Identifier: Apache-2.0
"""The benchmark programs as ONNX models, one Loop for each while loop.

A loop `while i < trips` has no trip count in ONNX either: its condition is
computed in the body, so that each system does the same arithmetic per trip.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper
from onnx import numpy_helper

from .graphdef import read_constant

OPSET = 21
IR_VERSION = 10

INT = TensorProto.INT32
FLOAT = TensorProto.FLOAT
BOOL = TensorProto.BOOL
INT64 = TensorProto.INT64

# The Const of the recorded graphs that ends their outermost loop.
LIMIT = "while/Less/y"

# Nodes, and the names of the values that they are made for.
Piece = tuple[list[NodeProto], list[str]]

# Makes what one trip does of the names of the counter and of the values.
Step = Callable[[str, list[str]], Piece]


def floats(
    names: list[str], shape: tuple[int, ...] = ()
) -> list[ValueInfoProto]:
    """Declares one value of floats for each name."""
    return [
        helper.make_tensor_value_info(name, FLOAT, shape) for name in names
    ]


def scalar(name: str, kind: int) -> ValueInfoProto:
    """Declares a scalar."""
    return helper.make_tensor_value_info(name, kind, ())


class ModelBuilder:
    """Collects the constants of a model; they are shared by all its loops."""

    def __init__(self) -> None:
        self.constants: list[TensorProto] = []
        self.nodes: list[NodeProto] = []

    def constant(self, name: str, value: np.ndarray | np.generic) -> str:
        """Adds a constant unless it is there, and returns its name."""
        if all(known.name != name for known in self.constants):
            array = np.asarray(value)
            self.constants.append(numpy_helper.from_array(array, name))
        return name

    def finish(self, outputs: list[ValueInfoProto]) -> bytes:
        """The checked model, in bytes."""
        graph = helper.make_graph(
            self.nodes, "program", [], outputs, self.constants
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        onnx.checker.check_model(model, full_check=True)
        return model.SerializeToString()


def while_below(
    builder: ModelBuilder,
    level: str,
    trips: int,
    carried: list[str],
    step: Step,
    shape: tuple[int, ...] = (),
) -> Piece:
    """`while i < trips: i += 1; carried = step(i, carried)`.

    `carried` names the initial values, all floats of the one `shape`.  The
    names of the loop's own values end in `level`, because a body may not
    use a name of a graph around it.  Returns the nodes that make up the
    loop, and the names of the last counter and of the last carried values.
    """
    zero = builder.constant("zero", np.int32(0))
    one = builder.constant("one", np.int32(1))
    limit = builder.constant(f"limit{level}", np.int32(trips))
    inside = [f"x{k}{level}" for k in range(len(carried))]
    nodes, results = step(f"i{level}", inside)
    nodes = nodes + [
        helper.make_node("Add", [f"i{level}", one], [f"next{level}"]),
        helper.make_node("Less", [f"next{level}", limit], [f"go_on{level}"]),
    ]
    body = helper.make_graph(
        nodes,
        f"body{level}",
        [scalar(f"trip{level}", INT64), scalar(f"going{level}", BOOL)]
        + [scalar(f"i{level}", INT)]
        + floats(inside, shape),
        [scalar(f"go_on{level}", BOOL), scalar(f"next{level}", INT)]
        + floats(results, shape),
    )
    last = [f"last{level}"] + [f"last_{name}" for name in inside]
    initial = [zero] + carried
    return [
        helper.make_node("Less", [zero, limit], [f"start{level}"]),
        helper.make_node(
            "Loop", ["", f"start{level}"] + initial, last, body=body
        ),
    ], last


def nest(depth: int, trips: int, steps: list[float]) -> bytes:
    """`depth` loops of `trips` trips; the innermost adds steps[k] to x[k]."""
    builder = ModelBuilder()

    def innermost(_: str, inside: list[str]) -> Piece:
        results = [f"sum{k}" for k in range(len(inside))]
        nodes = []
        for k, name in enumerate(inside):
            step = builder.constant(f"step{k}", np.float32(steps[k]))
            nodes.append(helper.make_node("Add", [name, step], [results[k]]))
        return nodes, results

    def loop(level: int, carried: list[str]) -> Piece:
        def outer(_: str, inside: list[str]) -> Piece:
            nodes, last = loop(level + 1, inside)
            return nodes, last[1:]

        step = innermost if level == depth else outer
        return while_below(builder, f"_{level}", trips, carried, step)

    start = builder.constant("start_x", np.float32(0))
    builder.nodes, last = loop(1, [start] * len(steps))
    return builder.finish([scalar(last[0], INT)] + floats(last[1:]))


def recorded_trips(graph: Path) -> int:
    """The trip count of the outermost loop of a recorded graph."""
    return int(read_constant(graph, LIMIT))


def counter(graph: Path) -> bytes:
    """i + 1 while i < trips."""
    return nest(1, recorded_trips(graph), [])


def nested2(graph: Path) -> bytes:
    """Two loops of as many trips, one add in the inner body."""
    return nest(2, recorded_trips(graph), [1.0])


def counter_acc(graph: Path) -> bytes:
    """The counter with x * 1.0001 + 0.5 carried beside it."""
    builder = ModelBuilder()
    factor = builder.constant("factor", np.float32(1.0001))
    half = builder.constant("half", np.float32(0.5))

    def step(_: str, inside: list[str]) -> Piece:
        return [
            helper.make_node("Mul", [inside[0], factor], ["product"]),
            helper.make_node("Add", ["product", half], ["sum"]),
        ], ["sum"]

    start = builder.constant("start_x", np.float32(1))
    trips = recorded_trips(graph)
    builder.nodes, last = while_below(builder, "_1", trips, [start], step)
    return builder.finish([scalar(last[0], INT), scalar(last[1], FLOAT)])


def cond_in_loop(graph: Path) -> bytes:
    """x + 1 or x * 0.5 in each trip, by the parity of the counter."""
    builder = ModelBuilder()
    two = builder.constant("two", np.int32(2))
    zero = builder.constant("zero", np.int32(0))
    unit = builder.constant("unit", np.float32(1))
    half = builder.constant("half", np.float32(0.5))

    def branch(op: str, operand: str, other: str) -> GraphProto:
        result = f"{op.lower()}_result"
        node = helper.make_node(op, [operand, other], [result])
        return helper.make_graph([node], op, [], [scalar(result, FLOAT)])

    def step(i: str, inside: list[str]) -> Piece:
        return [
            helper.make_node("Mod", [i, two], ["parity"]),
            helper.make_node("Equal", ["parity", zero], ["even"]),
            helper.make_node(
                "If",
                ["even"],
                ["chosen"],
                then_branch=branch("Add", inside[0], unit),
                else_branch=branch("Mul", inside[0], half),
            ),
        ], ["chosen"]

    start = builder.constant("start_x", np.float32(0))
    trips = recorded_trips(graph)
    builder.nodes, last = while_below(builder, "_1", trips, [start], step)
    return builder.finish([scalar(last[0], INT), scalar(last[1], FLOAT)])


def matmul64(graph: Path) -> bytes:
    """A 64x64 matmul in each trip, by the constant that `graph` holds."""
    builder = ModelBuilder()
    weights = builder.constant("weights", read_constant(graph, "Const"))
    shape = (64, 64)
    start = builder.constant("ones", np.ones(shape, np.float32))

    def step(_: str, inside: list[str]) -> Piece:
        node = helper.make_node("MatMul", [inside[0], weights], ["product"])
        return [node], ["product"]

    trips = recorded_trips(graph)
    builder.nodes, last = while_below(
        builder, "_1", trips, [start], step, shape
    )
    return builder.finish([scalar(last[0], INT)] + floats([last[1]], shape))


MODELS: dict[str, Callable[[Path], bytes]] = {
    "counter": counter,
    "counter_acc": counter_acc,
    "nested2": nested2,
    "cond_in_loop": cond_in_loop,
    "matmul64": matmul64,
}
