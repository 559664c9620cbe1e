# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime: one thread, one node at a time, on the CPU.

Its graph optimisations stay at their default, which is all of them: they can
only help it.
"""

import time
from functools import partial

import numpy as np
import onnxruntime

from .program import Program, Unavailable
from .timing import time_block


class OnnxRunner:
    """The program's ONNX model in a session of its own."""

    def __init__(self, program: Program) -> None:
        if program.onnx_model is None:
            raise Unavailable("-", "")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 3
        model = program.onnx_model(program.graph)
        begun = time.process_time_ns()
        self._session = onnxruntime.InferenceSession(
            model,
            options,
            providers=["CPUExecutionProvider"],
        )
        self._session.run(None, {})
        self.first_ns = time.process_time_ns() - begun

    def values(self) -> list[np.ndarray]:
        return [np.asarray(value) for value in self._session.run(None, {})]

    def block(self, repeat: int, cpu: bool) -> float:
        run = partial(self._session.run, None, {})
        return time_block(run, repeat, cpu)

    def close(self) -> None:
        del self._session
