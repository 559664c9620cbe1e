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
    few_block: int = 0
    few_samples: list[float] = field(default_factory=list)
    first_ns: float | None = None
    values: list[np.ndarray] | None = None

    @property
    def median_ns(self) -> float | None:
        """Nanoseconds a run, or None when it was not measured."""
        if self.label or not self.samples:
            return None
        return statistics.median(self.samples)

    @property
    def few_ns(self) -> float | None:
        """The same of the program's smaller twin."""
        if self.label or not self.few_samples:
            return None
        return statistics.median(self.few_samples)


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
        """What one more iteration takes, where there is a smaller twin.

        Else the whole run by its iterations; so too where the twin took
        longer than the run, as happens on a busy machine.
        """
        outcome, few = self.outcomes[system], self.program.smaller
        if outcome.median_ns is None:
            return None
        if few and few.iterations < self.program.iterations:
            more_ns = outcome.median_ns - (outcome.few_ns or 0.0)
            if outcome.few_ns and more_ns > 0:
                return more_ns / (self.program.iterations - few.iterations)
        return outcome.median_ns / self.program.iterations

    def fixed_ns(self, system: str) -> float | None:
        """What a run takes without its iterations."""
        outcome = self.outcomes[system]
        an_iteration = self.ns_per_iteration(system)
        if an_iteration is None or not outcome.few_ns:
            return None
        rest = outcome.median_ns - an_iteration * self.program.iterations
        return max(rest, 0.0)

    def ratio(self, system: str, base: str) -> float | None:
        """How many times the time of `base` an iteration takes."""
        ours = self.ns_per_iteration(base)
        theirs = self.ns_per_iteration(system)
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


def prepare(
    outcome: Outcome, program: Program, load: Callable[[Program], Runner]
) -> dict[str, Runner]:
    """The system's runners of the program, and of its twin as "few"."""
    runners = {}
    try:
        outcome.values = take_values(program, load)
        runners["full"] = full = load(program)
        outcome.block = block_size(full.block(MIN_BLOCK, False))
        outcome.first_ns = full.first_ns
        if program.smaller:
            runners["few"] = few = load(program.smaller)
            outcome.few_block = block_size(few.block(MIN_BLOCK, False))
    except BaseException:
        for runner in runners.values():
            runner.close()
        raise
    return runners


def take_turn(outcome: Outcome, runners: dict[str, Runner], cpu: bool) -> None:
    """A block of the program, and one of its twin."""
    outcome.samples.append(runners["full"].block(outcome.block, cpu))
    if "few" in runners:
        outcome.few_samples.append(
            runners["few"].block(outcome.few_block, cpu)
        )


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
    runners: dict[str, dict[str, Runner]] = {}
    try:
        for name, load in systems.items():
            with giving_up(outcomes[name]):
                runners[name] = prepare(outcomes[name], program, load)
        for _ in range(rounds):
            for name, of_system in runners.items():
                if not outcomes[name].label:
                    with giving_up(outcomes[name]):
                        take_turn(outcomes[name], of_system, cpu)
    finally:
        for of_system in runners.values():
            for runner in of_system.values():
                runner.close()
    given = [o.values for o in outcomes.values() if o.values is not None]
    empty = any(is_empty(value) for values in given for value in values)
    agree = None if empty else all_agree(given, program.tolerance)
    return Result(program, outcomes, agree, empty)
