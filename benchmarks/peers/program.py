# SPDX-License-Identifier: Apache-2.0
"""What is measured: a program, and the three things each system must do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np


@dataclass(frozen=True)
class Program:
    """One GraphDef and, where it can be put so, the same thing elsewhere.

    `onnx_model` makes the model from the path of the GraphDef, `jax` a
    function of arrays and its arguments, and `torch` names a function of
    torch_programs.py, which takes the feeds in their order.  Values of floats
    agree within `tolerance` of the largest of them.  They are taken from the
    program `checked` where the full one leaves none to compare.  `smaller` is
    the same program with fewer iterations, from which the cost of an
    iteration follows without that of a call.
    """

    name: str
    group: str
    graph: Path
    fetches: tuple[str, ...]
    iterations: int
    tolerance: float
    onnx_model: Callable[[Path], bytes] | None
    checked: "Program | None" = None
    feeds: Mapping[str, np.ndarray] = field(default_factory=dict)
    jax: Callable[[], tuple[Callable, tuple]] | None = None
    torch: str = ""
    smaller: "Program | None" = None


class Unavailable(Exception):
    """A system cannot run a program; `label` stands in its column."""

    def __init__(self, label: str, reason: str) -> None:
        super().__init__(reason)
        self.label = label
        self.reason = reason


class Runner(Protocol):
    """A program loaded into one system, ready to run any number of times."""

    first_ns: float
    """Time on processors from the graph, or the function, in memory to the
    first values."""

    def values(self) -> list[np.ndarray]:
        """The fetched values of one run, in the order of the fetches."""

    def block(self, repeat: int, cpu: bool) -> float:
        """What one of `repeat` runs takes, in nanoseconds.

        The median by the clock, or with `cpu` the mean of the time that
        processors have spent on it.
        """

    def close(self) -> None:
        """Frees what the system holds for the program."""

