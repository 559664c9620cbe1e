# SPDX-License-Identifier: Apache-2.0
"""Prints what was measured: a table to read, or one JSON object."""

import json
import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from .eddy_runner import NOT_BUILT
from .measure import Result

EDDY = "eddy"
TENSORFLOW = "tensorflow"
ONNX = "onnxruntime"

HEADER = (
    "program",
    "iterations",
    "eddy",
    "TensorFlow",
    "ONNX RT",
    "TF/eddy",
    "ORT/eddy",
    "agree",
)
AGREE = {True: "yes", False: "NO", None: "-"}
PEERS_AGREE = {True: "(yes)", False: "(NO)", None: "-"}


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    listing = Path("/proc/cpuinfo")
    if listing.is_file():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def environment(
    rounds: int, eddy_options: list[str], cpu: bool
) -> dict[str, object]:
    """All that figures depend on and that the reader cannot see."""
    return {
        "processor": processor(),
        "python": platform.python_version(),
        TENSORFLOW: metadata.version("tensorflow-cpu"),
        ONNX: metadata.version("onnxruntime"),
        "threads": 1,
        "rounds": rounds,
        "time": "cpu" if cpu else "clock",
        "eddy_options": eddy_options,
    }


def time_cell(result: Result, system: str) -> str:
    value = result.ns_per_iteration(system)
    if value is None:
        return result.outcomes[system].label
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def ratio_cell(result: Result, system: str) -> str:
    value = result.ratio(system, EDDY)
    return "-" if value is None else f"{value:.1f}"


def agree_cell(result: Result) -> str:
    """In brackets where eddy has no values and only its peers compare."""
    words = PEERS_AGREE if result.outcomes[EDDY].values is None else AGREE
    return words[result.agree]


def row(result: Result) -> tuple[str, ...]:
    """The cells of one program."""
    return (
        result.program.name,
        f"{result.program.iterations:,}",
        time_cell(result, EDDY),
        time_cell(result, TENSORFLOW),
        time_cell(result, ONNX),
        ratio_cell(result, TENSORFLOW),
        ratio_cell(result, ONNX),
        agree_cell(result),
    )


def notes(results: list[Result]) -> Iterator[str]:
    """One line for each program that a system could not run, and why."""
    for result in results:
        for system, outcome in result.outcomes.items():
            if outcome.reason and outcome.label != NOT_BUILT:
                yield (
                    f"{result.program.name}: {system}: {outcome.label}: "
                    f"{outcome.reason}"
                )
        if result.empty:
            yield f"{result.program.name}: values too empty to compare"


def table(results: list[Result], about: dict[str, object]) -> str:
    """The whole report as text, the groups parted by a rule."""
    rows = [HEADER] + [row(result) for result in results]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("-" * width for width in widths)

    def align(cells: tuple[str, ...]) -> str:
        first = cells[0].ljust(widths[0])
        rest = [c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True)]
        return "  ".join([first, *rest])

    lines = [
        f"Nanoseconds ({about['time']}) an iteration of the innermost loop, "
        f"one thread, median of {about['rounds']} rounds.",
        f"TensorFlow {about[TENSORFLOW]}, ONNX Runtime {about[ONNX]}, "
        f"{about['processor']}.",
        "",
        align(HEADER),
    ]
    group = None
    for result, cells in zip(results, rows[1:], strict=True):
        if result.program.group != group:
            lines.append(rule)
            group = result.program.group
        lines.append(align(cells))
    explained = list(notes(results))
    return "\n".join(lines + [""] * bool(explained) + explained)


def as_json(results: list[Result], about: dict[str, object]) -> str:
    """The whole report for a machine."""
    programs = []
    for result in results:
        program = result.program
        systems = {}
        for name, outcome in result.outcomes.items():
            systems[name] = {
                "status": outcome.label or "measured",
                "reason": outcome.reason,
                "runs_a_round": outcome.block,
                "round_ns": outcome.samples,
                "median_ns": outcome.median_ns,
                "ns_per_iteration": result.ns_per_iteration(name),
            }
        programs.append(
            {
                "program": program.name,
                "group": program.group,
                "iterations": program.iterations,
                "systems": systems,
                "tensorflow_over_eddy": result.ratio(TENSORFLOW, EDDY),
                "onnxruntime_over_eddy": result.ratio(ONNX, EDDY),
                "values_agree": result.agree,
                "values_empty": result.empty,
            }
        )
    return json.dumps({"environment": about, "programs": programs}, indent=1)
