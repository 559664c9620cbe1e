# SPDX-License-Identifier: Apache-2.0
"""ONNX models that eddy and ONNX Runtime both load, as they are.

Loops of scalars that differ in how much a trip does, a loop in a loop, a
branch in a loop, and an LSTM as the body of a Scan, as exporters write it.
"""

from pathlib import Path

import numpy as np
from onnx import helper

from .onnx_models import (
    BOOL,
    FLOAT,
    INT64,
    ModelBuilder,
    floats,
    scalar,
)
from .program import Program

TRIPS = 10_000
NEST = 100
ADDS = (1, 4, 16)

# Hidden units, steps, rows of a batch.
LSTMS = ((64, 100, 1), (64, 100, 16), (256, 50, 16))

# Sigmoid, Tanh and products round otherwise in each system.
LSTM_TOLERANCE = 1e-5


def loop(builder: ModelBuilder, level: str, trips: int, nodes, result: str):
    """A Loop over a float that starts as `x` of the level around it."""
    count = builder.constant(f"trips{trips}", np.int64(trips))
    yes = builder.constant("yes", np.bool_(True))
    nodes = nodes + [
        helper.make_node("Identity", [f"going{level}"], [f"go_on{level}"])
    ]
    body = helper.make_graph(
        nodes,
        f"body{level}",
        [scalar(f"trip{level}", INT64), scalar(f"going{level}", BOOL)]
        + [scalar(f"x{level}", FLOAT)],
        [scalar(f"go_on{level}", BOOL), scalar(result, FLOAT)],
    )
    return lambda start, last: helper.make_node(
        "Loop", [count, yes, start], [last], body=body
    )


def adds(n: int) -> bytes:
    """`n` additions a trip, each of what the one before it gave."""
    builder = ModelBuilder()
    step = builder.constant("step", np.float32(0.25))
    names = ["x_1"] + [f"sum{k}" for k in range(n)]
    nodes = [
        helper.make_node("Add", [names[k], step], [names[k + 1]])
        for k in range(n)
    ]
    make = loop(builder, "_1", TRIPS, nodes, names[-1])
    start = builder.constant("start_x", np.float32(0))
    builder.nodes = [make(start, "last")]
    return builder.finish([scalar("last", FLOAT)])


def nested() -> bytes:
    """A loop in a loop, of as many trips, with one addition."""
    builder = ModelBuilder()
    step = builder.constant("step", np.float32(0.25))
    add = helper.make_node("Add", ["x_2", step], ["sum"])
    inner = loop(builder, "_2", NEST, [add], "sum")
    outer = loop(builder, "_1", NEST, [inner("x_1", "inside")], "inside")
    start = builder.constant("start_x", np.float32(0))
    builder.nodes = [outer(start, "last")]
    return builder.finish([scalar("last", FLOAT)])


def branch() -> bytes:
    """x + 1 or x * 0.5 in each trip, by the parity of its number."""
    builder = ModelBuilder()
    two = builder.constant("two", np.int64(2))
    zero = builder.constant("zero", np.int64(0))
    unit = builder.constant("unit", np.float32(1))
    half = builder.constant("half", np.float32(0.5))

    def side(op: str, other: str):
        node = helper.make_node(op, ["x_1", other], [f"{op}_result"])
        return helper.make_graph(
            [node], op, [], [scalar(f"{op}_result", FLOAT)]
        )

    nodes = [
        helper.make_node("Mod", ["trip_1", two], ["parity"]),
        helper.make_node("Equal", ["parity", zero], ["even"]),
        helper.make_node(
            "If",
            ["even"],
            ["chosen"],
            then_branch=side("Add", unit),
            else_branch=side("Mul", half),
        ),
    ]
    make = loop(builder, "_1", TRIPS, nodes, "chosen")
    start = builder.constant("start_x", np.float32(0))
    builder.nodes = [make(start, "last")]
    return builder.finish([scalar("last", FLOAT)])


def cell(weights: str, recurrent: str, bias: str):
    """The nodes of an LSTM cell, all gates in one product of each kind."""
    make = helper.make_node
    gates = ["in_gate", "out_of_gate", "new_gate", "shown_gate"]
    return [
        make("MatMul", ["x_t", weights], ["of_x"]),
        make("MatMul", ["h_t", recurrent], ["of_h"]),
        make("Add", ["of_x", "of_h"], ["sums"]),
        make("Add", ["sums", bias], ["gates"]),
        make("Split", ["gates"], gates, axis=1, num_outputs=4),
        make("Sigmoid", ["in_gate"], ["let_in"]),
        make("Sigmoid", ["out_of_gate"], ["kept"]),
        make("Tanh", ["new_gate"], ["new"]),
        make("Sigmoid", ["shown_gate"], ["shown"]),
        make("Mul", ["kept", "c_t"], ["old_part"]),
        make("Mul", ["let_in", "new"], ["new_part"]),
        make("Add", ["old_part", "new_part"], ["c_next"]),
        make("Tanh", ["c_next"], ["bounded"]),
        make("Mul", ["shown", "bounded"], ["h_next"]),
        make("Identity", ["h_next"], ["y_t"]),
    ]


def scan_lstm(units: int, steps: int, rows: int) -> bytes:
    """An LSTM over a sequence, as the body of a Scan."""
    builder = ModelBuilder()
    numbers = np.random.default_rng(1)

    def random(name: str, *shape: int) -> str:
        values = numbers.standard_normal(shape) * 0.1
        return builder.constant(name, values.astype(np.float32))

    weights = random("weights", units, 4 * units)
    recurrent = random("recurrent", units, 4 * units)
    bias = random("bias", 4 * units)
    shape = (rows, units)
    body = helper.make_graph(
        cell(weights, recurrent, bias),
        "cell",
        floats(["h_t", "c_t", "x_t"], shape),
        floats(["h_next", "c_next", "y_t"], shape),
    )
    inputs = [random(name, rows, units) for name in ("h_0", "c_0")]
    inputs.append(random("x", steps, rows, units))
    builder.nodes = [
        helper.make_node(
            "Scan", inputs, ["h", "c", "y"], body=body, num_scan_inputs=1
        )
    ]
    return builder.finish(
        floats(["h"], shape) + floats(["y"], (steps, rows, units))
    )


def load_models(folder: Path) -> list[Program]:
    """Writes every model into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    made = [(f"onnx_loop_adds{n}", adds(n), TRIPS, ("last",)) for n in ADDS]
    made.append(("onnx_nested", nested(), NEST * NEST, ("last",)))
    made.append(("onnx_branch", branch(), TRIPS, ("last",)))
    for units, steps, rows in LSTMS:
        made.append(
            (
                f"onnx_lstm{units}_rows{rows}",
                scan_lstm(units, steps, rows),
                steps,
                ("h", "y"),
            )
        )
    programs = []
    for name, model, iterations, fetches in made:
        path = folder / f"{name}.onnx"
        path.write_bytes(model)
        programs.append(
            Program(
                name=name,
                group="onnx",
                graph=path,
                fetches=fetches,
                iterations=iterations,
                tolerance=LSTM_TOLERANCE if "lstm" in name else 0.0,
                onnx_model=lambda path: path.read_bytes(),
            )
        )
    return programs
