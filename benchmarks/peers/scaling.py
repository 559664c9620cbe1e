# SPDX-License-Identifier: Apache-2.0
"""The same kind of loop at other depths, trip counts and widths.

TensorFlow's own front end writes the GraphDefs, in v1 form and unoptimised,
so that they are graphs of the sort that eddy has to run in practice.
"""

from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from .onnx_models import nest
from .program import Program

v1 = tf.compat.v1

# Each depth has about 10,000 trips of the innermost body.
DEPTHS = ((1, 10_000), (2, 100), (3, 22), (4, 10))
TRIPS = (10, 100, 1_000, 10_000)
WIDTHS = (1, 2, 4, 8, 16, 32, 64)
WIDTH_TRIPS = 1_000


@dataclass(frozen=True)
class Shape:
    """A nest of `depth` loops, each of `trips` trips and `width` variables.

    The first variable of a loop is its counter; the others are floats that
    pass through every level and are added to in the innermost body.
    """

    depth: int
    trips: int
    width: int

    @property
    def name(self) -> str:
        return f"depth{self.depth}_trips{self.trips}_vars{self.width}"

    @property
    def steps(self) -> list[float]:
        """What is added to each float; exact, and different for each."""
        return [0.25 * (k + 1) for k in range(self.width - 1)]


def shapes() -> list[Shape]:
    """All shapes of the three sweeps, each once, in the order of a table."""
    found = [Shape(depth, trips, 2) for depth, trips in DEPTHS]
    found += [Shape(1, trips, 2) for trips in TRIPS]
    found += [Shape(1, WIDTH_TRIPS, width) for width in WIDTHS]
    return list(dict.fromkeys(found))


def build_loop(
    shape: Shape, level: int, floats: list[tf.Tensor]
) -> list[tf.Tensor]:
    """The loops from `level` inwards, as nodes of the default graph."""

    def body(i: tf.Tensor, *inside: tf.Tensor) -> list[tf.Tensor]:
        if level < shape.depth:
            results = build_loop(shape, level + 1, list(inside))[1:]
        else:
            results = [
                x + step for x, step in zip(inside, shape.steps, strict=True)
            ]
        return [i + 1] + results

    last = v1.while_loop(
        lambda i, *_: i < shape.trips,
        body,
        [tf.constant(0)] + floats,
        return_same_structure=True,
    )
    return list(last)


def generate(shape: Shape, folder: Path) -> Program:
    """Writes the GraphDef of `shape` into `folder`."""
    v1.disable_control_flow_v2()
    with tf.Graph().as_default() as graph:
        start = [tf.constant(0.0) for _ in shape.steps]
        fetches = tuple(x.name for x in build_loop(shape, 1, start))
    path = folder / f"{shape.name}.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return Program(
        name=shape.name,
        group="scaling",
        graph=path,
        fetches=fetches,
        iterations=shape.trips**shape.depth,
        tolerance=0.0,
        onnx_model=lambda _: nest(shape.depth, shape.trips, shape.steps),
    )


def load_scaling(folder: Path) -> list[Program]:
    """Generates every shape into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    return [generate(shape, folder) for shape in shapes()]
