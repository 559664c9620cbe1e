#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is what eddy chooses by itself the best of what it could be told?

For every program: the time of --executor auto by the least of dynamic, linear
and native, with and without workers; and with --passes the time as it is by
the time without each pass that a plan can do without.  Choices take turns,
each in a process of its own, and a time is the least of all runs of all turns,
so what else the machine does meets all alike and counts little.  Without
workers it is processor time, with workers the clock's, which says something
only of a run that is done before another program has its turn.

    scripts/compare_choices.py [--workers 0,2] [--passes] [--rounds 5]
                               [--programs FILE] [--cases FOLDER]...
                               [--at-least US] [--above RATIO] [NAME...]

Programs are those of benchmarks/graphs; with --programs also those of the file
that `scripts/bench_peers.sh --arguments FILE` writes; with --cases the recorded
cases beneath a folder whose runs take long enough (--at-least, 300 us).  EDDY
names the command.  Exit status: 0; 1 where a ratio is above --above (1.1) in
a second measurement of three times as many turns, too; 2 on wrong use.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXECUTORS = ("dynamic", "linear", "native")
PASSES = (
    "identities", "fold", "powers", "invariants", "panels", "common", "overlap",
    "ahead", "gates", "rolls", "fuse", "chains",
)  # fmt: skip
BLOCK_NS = 40e6
TIMEOUT_SECONDS = 300


def suite():
    folder = ROOT / "benchmarks" / "graphs"
    listing = json.loads((folder / "benchmarks.json").read_text())
    for name, entry in listing.items():
        arguments = [str(folder / f"{name}.pb")]
        for fetch in entry["fetches"]:
            arguments += ["--fetch", fetch]
        yield name, arguments


def recorded(folder):
    """Runs of recorded cases that give values."""
    for path in sorted(Path(folder).rglob("case.json")):
        case = json.loads(path.read_text())
        for number, run in enumerate(case.get("runs", [])):
            if "error" in run or not run["fetches"]:
                continue
            arguments = [str(path.parent / "graph.pb")]
            for name, file in run["feeds"].items():
                arguments += ["--feed", f"{name}=@{path.parent / file}"]
            for fetch in run["fetches"]:
                arguments += ["--fetch", fetch]
            for target in run["targets"]:
                arguments += ["--target", target]
            yield f"{path.parent.relative_to(folder)}:{number}", arguments


def bench(eddy, arguments, repeat, time="cpu_ns"):
    """The least time of a run, or None if it fails."""
    done = subprocess.run(
        [eddy, "bench", "--json", "--repeat", str(repeat), *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    return json.loads(done.stdout)[time] if done.returncode == 0 else None


def repeats(ns):
    """How many runs a block has, of a program whose run takes so long."""
    return max(3, min(2000, int(BLOCK_NS / max(ns, 1))))


def choices(options):
    """Of each comparison: its name, what is as it is, and the others."""
    for workers in options.workers:
        with_workers = ["--workers", str(workers)]
        if options.passes:
            others = {
                p: [*with_workers, "--without", p] for p in options.passes
            }
        else:
            others = {
                e: [*with_workers, "--executor", e] for e in EXECUTORS
            }
        yield workers, with_workers, others


def measure(eddy, arguments, rounds, choice):
    """The least times, by name; '' is what eddy chooses."""
    workers, chosen, others = choice
    least = {}
    for turn in range(rounds):
        for name, extra in {"": chosen, **others}.items():
            if turn > 0 and name not in least:
                continue
            ns = bench(
                eddy,
                [*arguments, *extra],
                repeats(least[name]) if turn > 0 else 3,
                "min_ns" if workers > 0 else "cpu_ns",
            )
            if ns is not None:
                least[name] = min(ns, least.get(name, ns))
    return least


def ratio(least):
    best = min((v for k, v in least.items() if k), default=None)
    return least[""] / best if best and "" in least else 0.0


def show(name, workers, least, is_again):
    best = min((k for k in least if k), key=lambda k: least[k])
    times = " ".join(f"{k or 'auto'} {v / 1e3:.1f}" for k, v in least.items())
    print(
        f"{ratio(least):6.2f}  {workers} workers  {name}  "
        f"best {best}  us: {times}{'  (again)' if is_again else ''}",
        flush=True,
    )


def compare(eddy, programs, options):
    """Prints a line a program and number of workers; how many are above."""
    above = 0
    for name, arguments in programs:
        alone = bench(eddy, arguments, 3)
        if alone is None or alone < options.at_least * 1e3:
            continue
        for choice in choices(options):
            least = measure(eddy, arguments, options.rounds, choice)
            if len(least) < 2:
                continue
            show(name, choice[0], least, False)
            if ratio(least) <= options.above:
                continue
            least = measure(eddy, arguments, 3 * options.rounds, choice)
            show(name, choice[0], least, True)
            above += ratio(least) > options.above
    return above


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="compare_choices.py", description=__doc__.splitlines()[0]
    )
    parser.add_argument("names", nargs="*", help="programs; all without any")
    parser.add_argument(
        "--workers", default="0,2", help="numbers of workers (0,2)"
    )
    parser.add_argument(
        "--passes", nargs="?", const=",".join(PASSES), default="",
        help="passes in place of executors; all, or those named",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5, help="turns (5)")
    parser.add_argument("--programs", type=Path, help="of bench_peers.sh")
    parser.add_argument(
        "--cases", action="append", default=[], help="recorded cases"
    )
    parser.add_argument(
        "--at-least", type=float, default=300, help="us of a case (300)"
    )
    parser.add_argument(
        "--above", type=float, default=1.1, help="what is too much (1.1)"
    )
    options = parser.parse_args(arguments)
    options.workers = [int(n) for n in options.workers.split(",")]
    options.passes = [p for p in options.passes.split(",") if p]
    return options


def main(arguments):
    options = parse(arguments)
    eddy = os.environ.get("EDDY", str(ROOT / "build" / "eddy"))
    programs = list(suite())
    if options.programs:
        programs += json.loads(options.programs.read_text()).items()
    for folder in options.cases:
        programs += recorded(folder)
    if options.names:
        programs = [p for p in programs if p[0] in options.names]
    if not programs:
        print("compare_choices.py: no such programs", file=sys.stderr)
        return 2
    if not options.cases:
        options.at_least = 0
    return 1 if compare(eddy, programs, options) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
