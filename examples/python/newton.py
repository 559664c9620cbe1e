# SPDX-License-Identifier: Apache-2.0
"""Kepler's equation by Newton's method, differentiated twice.

Where a planet is at mean anomaly M on an orbit of eccentricity e says E in

    E - e sin E = M

The loop ends when a step no longer moves E, so how many trips it takes depends
on the data.  dE/dM and its derivative come out of the loop itself; the formulas
that implicit differentiation gives stand beside them.

    python newton.py
"""
import math

import eddy

g = eddy.Graph()
m = g.placeholder("float64", [], name="m")
e = g.placeholder("float64", [], name="e")


def improve(trips, x, step):
    step = (x - e * g.ops.Sin(x) - m) / (1 - e * g.ops.Cos(x))
    return trips + 1, x - step, step


trips, x, _ = eddy.while_loop(lambda trips, x, step: abs(step) > 1e-12, improve,
                              [g.constant(0), m, m * 0 + 1])
first, = g.gradients(x, [m])
second, = g.gradients(x, [m], order=2)
solve = g.plan(feeds=[m, e], fetches=[trips, x, first, second])

print("   M     e  trips         E     dE/dM   by hand   d2E/dM2   by hand")
for mean, eccentricity in [(0.5, 0.1), (0.5, 0.9), (0.1, 0.97), (3.0, 0.5)]:
    trips, x, first, second = (v.item() for v in solve(mean, eccentricity))
    slope = 1 / (1 - eccentricity * math.cos(x))
    curve = -eccentricity * math.sin(x) * slope ** 3
    print(f"{mean:4.1f} {eccentricity:5.2f} {trips:6d} {x:9.6f} {first:9.5f} "
          f"{slope:9.5f} {second:9.3f} {curve:9.3f}")
