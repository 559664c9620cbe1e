# SPDX-License-Identifier: Apache-2.0
"""Prints what was measured: a table to read, or one JSON object."""

import json
import platform
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from .eddy_runner import NOT_BUILT
from .measure import Result

EDDY = "eddy"
TENSORFLOW = "tensorflow"
ONNX = "onnxruntime"
XLA = "xla"
TORCH = "torchscript"

# The systems as the columns of a table are headed.
TITLES = {
    EDDY: "eddy",
    TENSORFLOW: "TensorFlow",
    ONNX: "ONNX RT",
    XLA: "XLA",
    TORCH: "TorchScript",
}
# The packages whose versions figures depend on.
PACKAGES = {TENSORFLOW: "tensorflow-cpu", ONNX: "onnxruntime", XLA: "jaxlib"}

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


def version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def environment(
    rounds: int, eddy_options: list[str], cpu: bool
) -> dict[str, object]:
    """All that figures depend on and that the reader cannot see."""
    versions = {name: version_of(p) for name, p in PACKAGES.items()}
    return {
        "processor": processor(),
        "python": platform.python_version(),
        **versions,
        "threads": 1,
        "rounds": rounds,
        "time": "cpu" if cpu else "clock",
        "eddy_options": eddy_options,
    }


def number(value: float) -> str:
    return f"{value:,.2f}" if value < 10 else f"{value:,.0f}"


def time_cell(result: Result, system: str) -> str:
    value = result.ns_per_iteration(system)
    if value is None:
        return result.outcomes[system].label or "-"
    return number(value)


def ratio_cell(result: Result, system: str) -> str:
    value = result.ratio(system, EDDY)
    return "-" if value is None else f"{value:.2f}"


def agree_cell(result: Result) -> str:
    """In brackets where eddy has no values and only its peers compare."""
    words = PEERS_AGREE if result.outcomes[EDDY].values is None else AGREE
    return words[result.agree]


def us_cell(value: float | None) -> str:
    return "-" if value is None else number(value / 1000)


Row = tuple[str, ...]


def iteration_rows(results: list[Result], systems: Sequence[str]) -> list[Row]:
    """An iteration's cost on each system, and by eddy's."""
    peers = [s for s in systems if s != EDDY]
    rows = [
        ("program", "iterations", *(TITLES[s] for s in systems))
        + (*(f"{TITLES[s]}/eddy" for s in peers), "agree")
    ]
    for result in results:
        cells = [result.program.name, f"{result.program.iterations:,}"]
        cells += [time_cell(result, s) for s in systems]
        cells += [ratio_cell(result, s) for s in peers]
        rows.append((*cells, agree_cell(result)))
    return rows


def first_rows(results: list[Result], systems: Sequence[str]) -> list[Row]:
    """What comes before iterations: the first result, and a call."""
    heads = [TITLES[s] for s in systems]
    rows = [("program", *(f"{h} first" for h in heads))
            + tuple(f"{h} call" for h in heads)]
    for result in results:
        cells = [result.program.name]
        cells += [us_cell(result.outcomes[s].first_ns) for s in systems]
        cells += [us_cell(result.fixed_ns(s)) for s in systems]
        rows.append(tuple(cells))
    return rows


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


def aligned(rows: list[Row], groups: Sequence[str]) -> list[str]:
    """Lines of text; a rule stands before each group."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = "  ".join("-" * width for width in widths)

    def align(cells: Row) -> str:
        first = cells[0].ljust(widths[0])
        rest = [c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True)]
        return "  ".join([first, *rest])

    lines = [align(rows[0])]
    before = None
    for group, cells in zip(groups, rows[1:], strict=True):
        lines += [rule] * (group != before)
        lines.append(align(cells))
        before = group
    return lines


def used_systems(results: list[Result]) -> list[str]:
    """eddy, and the systems for which some program is written."""
    return [
        system
        for system in results[0].outcomes
        if system == EDDY
        or any(r.outcomes[system].label != "-" for r in results)
    ]


def table(results: list[Result], about: dict[str, object]) -> str:
    """The whole report as text, the groups parted by a rule."""
    systems = used_systems(results)
    groups = [result.program.group for result in results]
    versions = [
        f"{TITLES[s]} {about[s]}" for s in systems if s in about
    ]
    lines = [
        f"Nanoseconds ({about['time']}) an iteration of the innermost loop, "
        f"one thread, median of {about['rounds']} rounds.",
        ", ".join([*versions, str(about["processor"])]) + ".",
        "",
        *aligned(iteration_rows(results, systems), groups),
        "",
        "Microseconds from the graph in memory to the first result (on "
        "processors), and of a",
        "call without its iterations.",
        "",
        *aligned(first_rows(results, systems), groups),
    ]
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
                "first_ns": outcome.first_ns,
                "fixed_ns": result.fixed_ns(name),
                "ns_per_iteration": result.ns_per_iteration(name),
                "by_eddy": result.ratio(name, EDDY),
            }
        programs.append(
            {
                "program": program.name,
                "group": program.group,
                "iterations": program.iterations,
                "systems": systems,
                "values_agree": result.agree,
                "values_empty": result.empty,
            }
        )
    return json.dumps({"environment": about, "programs": programs}, indent=1)
