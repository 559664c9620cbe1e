# SPDX-License-Identifier: Apache-2.0
"""Runs one program on every system in turn and compares what they give."""

import math
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from .program import Program, Runner, Unavailable

# A block of runs is long enough that its median means something, and short
# enough that the systems take turns while the machine's mood lasts.
BLOCK_NS = 50_000_000
MIN_BLOCK = 3
MAX_BLOCK = 20_000


@dataclass
class Outcome:
    """What one system did with one program."""

    label: str = ""
    reason: str = ""
    block: int = 0
    samples: list[float] = field(default_factory=list)
    values: list[np.ndarray] | None = None

    @property
    def median_ns(self) -> float | None:
        """Nanoseconds a run, or None when it was not measured."""
        if self.label or not self.samples:
            return None
        return statistics.median(self.samples)


@dataclass
class Result:
    """A program and its outcome on each system, by the system's name.

    `agree` is None where there are not two sets of values to compare.
    `empty` says that the values would agree whatever was computed.
    """

    program: Program
    outcomes: dict[str, Outcome]
    agree: bool | None
    empty: bool

    def ns_per_iteration(self, system: str) -> float | None:
        median = self.outcomes[system].median_ns
        return None if median is None else median / self.program.iterations

    def ratio(self, system: str, base: str) -> float | None:
        """How many times the time of `base` the system took."""
        ours = self.outcomes[base].median_ns
        theirs = self.outcomes[system].median_ns
        return None if not ours or theirs is None else theirs / ours


def same_values(
    found: list[np.ndarray], wanted: list[np.ndarray], tolerance: float
) -> bool:
    """Same dtypes and shapes, and floats within the tolerance.

    The tolerance is relative to the largest of `wanted`, since an element
    that is small because others cancel has no accuracy of its own.
    """
    if len(found) != len(wanted):
        return False
    for a, b in zip(found, wanted, strict=True):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        if np.issubdtype(a.dtype, np.inexact):
            largest = np.max(np.abs(b[np.isfinite(b)]), initial=0.0)
            slack = tolerance * float(largest)
            if not np.allclose(a, b, 0.0, slack, equal_nan=True):
                return False
        elif not np.array_equal(a, b):
            return False
    return True


def all_agree(
    given: list[list[np.ndarray]], tolerance: float
) -> bool | None:
    """Whether all values are the same; None if there are not two sets."""
    if len(given) < 2:
        return None
    return all(
        same_values(a, b, tolerance)
        for k, a in enumerate(given)
        for b in given[k + 1 :]
    )


def is_empty(value: np.ndarray) -> bool:
    """Whether wrong arithmetic could easily have given the same floats."""
    return bool(
        np.issubdtype(value.dtype, np.inexact)
        and not np.any(np.isfinite(value) & (value != 0))
    )


def block_size(run_ns: float) -> int:
    """How many runs make a block, given what one takes."""
    fitting = math.ceil(BLOCK_NS / max(run_ns, 1.0))
    return min(max(fitting, MIN_BLOCK), MAX_BLOCK)


@contextmanager
def giving_up(outcome: Outcome) -> Iterator[None]:
    """Turns Unavailable into the end of this system's part."""
    try:
        yield
    except Unavailable as problem:
        outcome.label = problem.label
        outcome.reason = problem.reason


def take_values(
    program: Program, load: Callable[[Program], Runner]
) -> list[np.ndarray]:
    """The values by which systems are compared."""
    runner = load(program.checked or program)
    try:
        return runner.values()
    finally:
        runner.close()


def measure(
    program: Program,
    systems: dict[str, Callable[[Program], Runner]],
    rounds: int,
    cpu: bool = False,
) -> Result:
    """Interleaves the systems: a block of each, `rounds` times over.

    How many runs a block has is found by the clock.
    """
    outcomes = {name: Outcome() for name in systems}
    runners: dict[str, Runner] = {}
    try:
        for name, load in systems.items():
            with giving_up(outcomes[name]):
                outcomes[name].values = take_values(program, load)
                runners[name] = runner = load(program)
                outcomes[name].block = block_size(
                    runner.block(MIN_BLOCK, False)
                )
        for _ in range(rounds):
            for name, runner in runners.items():
                outcome = outcomes[name]
                if not outcome.label:
                    with giving_up(outcome):
                        ns = runner.block(outcome.block, cpu)
                        outcome.samples.append(ns)
    finally:
        for runner in runners.values():
            runner.close()
    given = [o.values for o in outcomes.values() if o.values is not None]
    empty = any(is_empty(value) for values in given for value in values)
    agree = None if empty else all_agree(given, program.tolerance)
    return Result(program, outcomes, agree, empty)
