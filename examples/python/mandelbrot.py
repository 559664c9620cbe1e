# SPDX-License-Identifier: Apache-2.0
"""The Mandelbrot set: a loop over scalars, in a loop, in a loop.

    python mandelbrot.py [FILE.svg]

The outer two go over rows and columns; the inner one takes as many trips as it
takes z = z^2 + c to leave the circle of radius 2, at most LIMIT.
"""
import sys

import numpy as np

import eddy

COLUMNS, ROWS, LIMIT = 72, 48, 200
SHADES = ["#0b1640", "#143a8c", "#1f6fc9", "#52b6e8", "#b8e6f0", "#ffe08a",
          "#f5a142", "#000000"]

g = eddy.Graph()


def escape(cx, cy):
    """How many trips it takes z to leave."""
    zero = g.constant(0.0, "float64")
    k, _, _ = eddy.while_loop(
        lambda k, x, y: (x * x + y * y <= 4) & (k < LIMIT),
        lambda k, x, y: (k + 1, x * x - y * y + cx, 2 * x * y + cy),
        [g.constant(0), zero, zero])
    return k


def shade(trips):
    """Twice as many trips are one shade further."""
    if trips == LIMIT:
        return len(SHADES) - 1
    return min(max(int(trips), 1).bit_length() - 1, len(SHADES) - 2)


def draw(counts):
    """A path a shade, with a line for each run of equal neighbours."""
    paths = [""] * len(SHADES)
    for row, line in enumerate(counts):
        start = 0
        for column in range(1, COLUMNS + 1):
            if column == COLUMNS or shade(line[column]) != shade(line[start]):
                paths[shade(line[start])] += (f"M{start} {row}h"
                                              f"{column - start}")
                start = column
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -0.5 '
             f'{COLUMNS} {ROWS}" width="{COLUMNS * 8}" height="{ROWS * 8}" '
             'shape-rendering="crispEdges">']
    lines += [f'<path stroke="{colour}" d="{path}"/>'
              for colour, path in zip(SHADES, paths) if path]
    return "\n".join(lines) + "\n</svg>\n"


xs = g.constant(-2.25 + 3.0 * np.arange(COLUMNS) / (COLUMNS - 1))
ys = g.constant(1.0 - 2.0 * np.arange(ROWS) / (ROWS - 1))
counts = eddy.map_fn(
    lambda y: eddy.map_fn(lambda x: escape(x, y), xs, dtypes="int32"), ys,
    dtypes="int32")
plan = g.plan(fetches=counts)
found = plan()

for line in found[::3]:
    print("".join(" .:-=+*#"[shade(trips)] for trips in line).rstrip())
print(f"{int(found.sum())} trips of the inner loop")
if len(sys.argv) > 1:
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(draw(found))
