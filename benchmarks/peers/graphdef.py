# SPDX-License-Identifier: Apache-2.0
"""Reads a constant of a recorded GraphDef, or puts another in its place."""

from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2


def load(graph: Path) -> graph_pb2.GraphDef:
    return graph_pb2.GraphDef.FromString(graph.read_bytes())


def find_constant(
    definition: graph_pb2.GraphDef, name: str
) -> node_def_pb2.NodeDef:
    """The Const node called `name`."""
    for node in definition.node:
        if node.name == name and node.op == "Const":
            return node
    raise ValueError(f"no Const named {name}")


def read_constant(graph: Path, name: str) -> np.ndarray:
    """The value of the Const node `name`."""
    node = find_constant(load(graph), name)
    return tf.make_ndarray(node.attr["value"].tensor)


def replace_constant(
    graph: Path, name: str, value: int, copy: Path
) -> None:
    """Writes `copy`: `graph` with another value in its Const `name`."""
    definition = load(graph)
    attribute = find_constant(definition, name).attr["value"].tensor
    dtype = tf.make_ndarray(attribute).dtype
    attribute.CopyFrom(tf.make_tensor_proto(np.asarray(value, dtype)))
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(definition.SerializeToString())
