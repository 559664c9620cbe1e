# SPDX-License-Identifier: Apache-2.0
"""The command line of the comparison; scripts/bench_peers.sh calls it."""

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path

from .eddy_runner import UNSUPPORTED, EddyRunner, arguments_of
from .jax_runner import JaxRunner
from .measure import Result, measure
from .onnx_programs import load_models
from .onnx_runner import OnnxRunner
from .plot import draw
from .program import Program
from .report import (
    EDDY,
    ONNX,
    TENSORFLOW,
    TORCH,
    XLA,
    as_json,
    environment,
    table,
)
from .scalar_programs import load_scalars
from .scaling import load_scaling
from .suite import load_suite
from .tensor_programs import load_tensors
from .tensorflow_runner import TensorFlowRunner
from .torch_runner import TorchRunner

DONE = 0
COMPARISON_FAILED = 1
WRONG_USE = 2
LOADERS = {
    "suite": lambda o: load_suite(o.graphs, o.scratch),
    "scaling": lambda o: load_scaling(o.scratch),
    "onnx": lambda o: load_models(o.scratch),
    "scalars": lambda o: load_scalars(o.scratch / "scalars"),
    "tensors": lambda o: load_tensors(o.scratch / "tensors"),
}


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench_peers.sh",
        description="eddy, TensorFlow, ONNX Runtime, XLA and TorchScript on "
        "the same programs, by turns, one thread each.",
    )
    parser.add_argument(
        "programs", nargs="*", help="names of programs; all when none is given"
    )
    parser.add_argument(
        "--group", choices=LOADERS, action="append",
        help="this group only; repeated for more",
    )
    parser.add_argument(
        "--plot", type=Path, metavar="FILE.svg", help="draw the ratios, too"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--rounds", type=int, default=5, help="turns of each system (5)"
    )
    parser.add_argument(
        "--cpu",
        action="store_true",
        help="time on processors, means of blocks, in place of the clock's",
    )
    parser.add_argument(
        "--arguments", type=Path, metavar="FILE",
        help="measure nothing, but write what eddy is given for each program "
        "and its smaller twin, for scripts/compare_choices.py",
    )
    parser.add_argument(
        "--eddy-option",
        action="append",
        default=[],
        metavar="OPTION",
        help="passed on to eddy, as in --eddy-option=--executor=dynamic; "
        "repeated for more",
    )
    for place in ("--eddy", "--graphs", "--scratch"):
        parser.add_argument(
            place, type=Path, required=True, help=argparse.SUPPRESS
        )
    options = parser.parse_args(arguments)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    return options


def choose(options: argparse.Namespace) -> list[Program]:
    """The programs asked for; ends with a message if there are none."""
    groups = options.group or LOADERS
    programs = [p for group in groups for p in LOADERS[group](options)]
    unknown = set(options.programs) - {p.name for p in programs}
    chosen = [
        p
        for p in programs
        if not options.programs or p.name in options.programs
    ]
    if unknown or not chosen:
        wanted = " ".join(sorted(unknown) or options.programs)
        known = "\n  ".join(f"{p.name} ({p.group})" for p in programs)
        print(
            f"bench_peers.sh: no such program: {wanted}; there are\n"
            f"  {known}",
            file=sys.stderr,
        )
        sys.exit(WRONG_USE)
    return chosen


def report_progress(done: int, total: int, name: str) -> None:
    """One line that is overwritten, and only when someone is looking."""
    if sys.stderr.isatty():
        line = f"[{done}/{total}] {name}" if name else ""
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def succeeded(results: list[Result]) -> bool:
    """eddy was there, broke on nothing, and all values agree.

    An op that eddy does not have yet is no failure: the table shows it.
    """
    accepted = ("", UNSUPPORTED)
    return all(
        result.outcomes[EDDY].label in accepted and result.agree is not False
        for result in results
    )


def write_arguments(programs: list[Program], path: Path) -> None:
    """By name; a smaller twin ends with "_few"."""
    given = {}
    for program in programs:
        given[program.name] = arguments_of(program)
        if program.smaller:
            given[program.smaller.name] = arguments_of(program.smaller)
    path.write_text(json.dumps(given, indent=1))


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    programs = choose(options)
    if options.arguments:
        write_arguments(programs, options.arguments)
        return DONE
    if not options.eddy.is_file():
        print(
            f"{options.eddy}: not found; build it first: make. "
            "Measuring its peers alone.",
            file=sys.stderr,
        )
    # One processor for all, or a peer's idle threads would help it.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    eddy_options = ["--workers", "0", *options.eddy_option]
    systems = {
        EDDY: partial(EddyRunner, binary=options.eddy, options=eddy_options),
        TENSORFLOW: TensorFlowRunner,
        ONNX: OnnxRunner,
        XLA: JaxRunner,
        TORCH: TorchRunner,
    }
    results = []
    for done, program in enumerate(programs):
        report_progress(done + 1, len(programs), program.name)
        results.append(measure(program, systems, options.rounds, options.cpu))
    report_progress(len(programs), len(programs), "")
    about = environment(options.rounds, eddy_options, options.cpu)
    print((as_json if options.json else table)(results, about))
    if options.plot:
        options.plot.write_text(draw(results))
    return DONE if succeeded(results) else COMPARISON_FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
