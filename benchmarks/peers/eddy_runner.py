# SPDX-License-Identifier: Apache-2.0
"""eddy: the command, started anew for every block of runs.

Its exit status says what happened: 0 done, 1 the program failed, 2 wrong
use.  The sub-code in the message tells an op that is not there yet from all
other failures.
"""

import functools
import json
import resource
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .program import Program, Unavailable

NOT_BUILT = "not built"
UNSUPPORTED = "unsupported"
FAILED = "failed"

DONE = 0
PROGRAM_FAILED = 1
MISSING_OP = ("EDDY_E_UNKNOWN_OP", "EDDY_E_NO_KERNEL")
TIMEOUT_SECONDS = 600
PLAIN = frozenset(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
)


def file_name(fetch: str) -> str:
    """The file that `eddy run --out` writes for a fetch."""
    encoded = "".join(
        chr(byte) if byte in PLAIN else f"%{byte:02X}"
        for byte in fetch.encode()
    )
    return encoded + ".npy"


def last_line(text: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def lacks_op(errors: str) -> bool:
    """Whether a failed program needs an op that eddy does not have."""
    return any(code in last_line(errors) for code in MISSING_OP)


def arguments_of(program: Program) -> list[str]:
    """What the command is given; feeds are written beside the graph."""
    arguments = [str(program.graph)]
    for fetch in program.fetches:
        arguments += ["--fetch", fetch]
    for name, value in program.feeds.items():
        path = program.graph.with_name(f"{program.name}.{name}.npy")
        np.save(path, value)
        arguments += ["--feed", f"{name}=@{path}"]
    return arguments


class EddyRunner:
    """The program's GraphDef, given to the command by name."""

    def __init__(
        self, program: Program, binary: Path, options: Sequence[str]
    ) -> None:
        if not binary.is_file():
            raise Unavailable(
                NOT_BUILT, f"{binary}: not found; build it first: make"
            )
        self._program = program
        self._binary = binary
        graph, *rest = arguments_of(program)
        self._arguments = [graph, *options, *rest]

    def values(self) -> list[np.ndarray]:
        with tempfile.TemporaryDirectory() as folder:
            status, _, errors = self._call("run", "--out", folder)
            if status == PROGRAM_FAILED and lacks_op(errors):
                raise Unavailable(UNSUPPORTED, last_line(errors))
            self._require_done(status, errors)
            return [self._load(Path(folder), f) for f in self._program.fetches]

    def block(self, repeat: int, cpu: bool) -> float:
        if not cpu:
            return self._bench(repeat)
        # The command counts no such time, so what it takes to load and plan
        # is taken off by a call with one run.
        few = self._cpu_of_bench(1)
        many = self._cpu_of_bench(1 + repeat)
        return max(many - few, 0.0) / repeat

    @functools.cached_property
    def first_ns(self) -> float:
        """The context, loading, planning and the first run of a process."""
        return self._figures(1)["first_cpu_ns"]

    def _cpu_of_bench(self, repeat: int) -> float:
        """Nanoseconds that processors have spent on a call."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._bench(repeat)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        user = after.ru_utime - before.ru_utime
        return (user + after.ru_stime - before.ru_stime) * 1e9

    def _bench(self, repeat: int) -> float:
        return float(self._figures(repeat)["median_ns"])

    def _figures(self, repeat: int) -> dict[str, float]:
        """What `bench --json` prints."""
        status, output, errors = self._call(
            "bench", "--json", "--repeat", str(repeat)
        )
        self._require_done(status, errors)
        wanted = ("first_cpu_ns", "median_ns")
        try:
            figures = json.loads(output)
            return {name: float(figures[name]) for name in wanted}
        except (ValueError, KeyError, TypeError) as problem:
            raise Unavailable(
                FAILED, f"bench --json printed no such figures: {problem!r}"
            ) from problem

    def close(self) -> None:
        """Nothing outlives a call."""

    def _call(self, verb: str, *extra: str) -> tuple[int, str, str]:
        command = [str(self._binary), verb, *self._arguments, *extra]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as problem:
            raise Unavailable(
                FAILED, f"{verb}: not done in {TIMEOUT_SECONDS} s"
            ) from problem
        except OSError as problem:
            raise Unavailable(FAILED, str(problem)) from problem
        return done.returncode, done.stdout, done.stderr

    @staticmethod
    def _require_done(status: int, errors: str) -> None:
        if status < 0:
            raise Unavailable(FAILED, f"killed by signal {-status}")
        if status != DONE:
            raise Unavailable(
                FAILED, f"exit status {status}: {last_line(errors)}"
            )

    @staticmethod
    def _load(folder: Path, fetch: str) -> np.ndarray:
        try:
            return np.load(folder / file_name(fetch), allow_pickle=False)
        except (OSError, ValueError) as problem:
            raise Unavailable(
                FAILED, f"run --out gave no value of {fetch}: {problem}"
            ) from problem
