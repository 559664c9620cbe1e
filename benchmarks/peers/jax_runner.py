# SPDX-License-Identifier: Apache-2.0
"""XLA by JAX: the program's function, compiled for its arguments."""

import os
import time
from functools import partial

import numpy as np

from .program import Program, Unavailable
from .timing import time_block

# Read when JAX is imported.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")


class JaxRunner:
    """A compiled function and the arguments that it is called with."""

    def __init__(self, program: Program) -> None:
        if program.jax is None:
            raise Unavailable("-", "")
        try:
            import jax
        except ImportError as problem:
            raise Unavailable("not installed", "") from problem
        function, arguments = program.jax()
        arguments = jax.device_put(arguments)
        jax.clear_caches()  # else it remembers what it has compiled
        begun = time.process_time_ns()
        self._compiled = jax.jit(function).lower(*arguments).compile()
        self._run = partial(self._call, jax.block_until_ready, arguments)
        self._run()
        self.first_ns = time.process_time_ns() - begun

    def _call(self, wait, arguments):
        return wait(self._compiled(*arguments))

    def values(self) -> list[np.ndarray]:
        results = self._run()
        if not isinstance(results, tuple | list):
            results = [results]
        return [np.asarray(value) for value in results]

    def block(self, repeat: int, cpu: bool) -> float:
        return time_block(self._run, repeat, cpu)

    def close(self) -> None:
        del self._compiled
