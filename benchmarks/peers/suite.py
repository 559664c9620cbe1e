# SPDX-License-Identifier: Apache-2.0
"""The recorded programs: those that benchmarks.json lists."""

import dataclasses
import json
from pathlib import Path

from .graphdef import replace_constant
from .onnx_models import LIMIT, MODELS
from .program import Program

# Products of matrices may be summed in another order by each system, and
# errors of rounding grow over thousands of trips.  Everything else has one
# result in IEEE arithmetic and must agree to the bit.
LOOSE_OPS = {"MatMul"}
LOOSE_TOLERANCE = 1e-4

# Programs whose values fade to zero long before the end, with the number of
# trips after which there is still something to compare.
CHECK_AFTER = {"matmul64": 8}


def shortened(program: Program, trips: int, scratch: Path) -> Program:
    """The same program with fewer trips, as a GraphDef in `scratch`."""
    name = f"{program.name}_trips{trips}"
    copy = scratch / f"{name}.pb"
    replace_constant(program.graph, LIMIT, trips, copy)
    return dataclasses.replace(
        program, name=name, graph=copy, iterations=trips
    )


def load_suite(folder: Path, scratch: Path) -> list[Program]:
    """The programs of `folder`; what has to be generated is in `scratch`."""
    listing = json.loads((folder / "benchmarks.json").read_text())
    programs = []
    for name, entry in listing.items():
        loose = LOOSE_OPS & set(entry["ops"])
        program = Program(
            name=name,
            group="suite",
            graph=folder / f"{name}.pb",
            fetches=tuple(entry["fetches"]),
            iterations=entry["iterations"],
            tolerance=LOOSE_TOLERANCE if loose else 0.0,
            onnx_model=MODELS.get(name),
        )
        if name in CHECK_AFTER:
            checked = shortened(program, CHECK_AFTER[name], scratch)
            program = dataclasses.replace(program, checked=checked)
        programs.append(program)
    return programs
