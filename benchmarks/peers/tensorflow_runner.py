# SPDX-License-Identifier: Apache-2.0
"""TensorFlow: a v1 session, one thread, nothing rewritten."""

import time
from functools import partial

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.core.protobuf import config_pb2

from .program import Program, Unavailable
from .timing import time_block

v1 = tf.compat.v1


def single_thread_config() -> config_pb2.ConfigProto:
    """One thread of each kind; neither grappler nor the old optimiser."""
    config = config_pb2.ConfigProto(
        intra_op_parallelism_threads=1,
        inter_op_parallelism_threads=1,
        use_per_session_threads=True,
    )
    options = config.graph_options
    options.rewrite_options.disable_meta_optimizer = True
    options.optimizer_options.opt_level = config_pb2.OptimizerOptions.L0
    return config


class TensorFlowRunner:
    """The program's GraphDef in a session of its own."""

    def __init__(self, program: Program) -> None:
        if program.group == "onnx":
            raise Unavailable("-", "")
        definition = graph_pb2.GraphDef.FromString(program.graph.read_bytes())
        begun = time.process_time_ns()
        graph = tf.Graph()
        with graph.as_default():
            v1.import_graph_def(definition, name="")
        self._session = v1.Session(graph=graph, config=single_thread_config())
        call = self._session.make_callable(
            list(program.fetches), [f"{name}:0" for name in program.feeds]
        )
        self._run = partial(call, *program.feeds.values())
        self._run()
        self.first_ns = time.process_time_ns() - begun

    def values(self) -> list[np.ndarray]:
        return [np.asarray(value) for value in self._run()]

    def block(self, repeat: int, cpu: bool) -> float:
        return time_block(self._run, repeat, cpu)

    def close(self) -> None:
        self._session.close()
