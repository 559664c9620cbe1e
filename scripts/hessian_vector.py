#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a saved Hessian-vector product many times in TensorFlow.

usage: hessian_vector.py GRAPH.pb Y PRODUCT [RUNS]

Fails unless every run gives what differences of the gradient of the same
function give.  scripts/hessian_vector.sh makes the graph.
"""
import math
import sys

import tensorflow as tf

TRIPS = 60


def gradient(x):
    """That of the sum of squares of v = sin(v x), by the chain rule."""
    v, dv, total = x, 1.0, 0.0
    for _ in range(TRIPS):
        v, dv = math.sin(v * x), math.cos(v * x) * (dv * x + v)
        total += 2 * v * dv
    return total


def main():
    """Imports the graph and runs it."""
    path, y, product = sys.argv[1:4]
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 200
    graph = tf.compat.v1.GraphDef()
    with open(path, "rb") as file:
        graph.ParseFromString(file.read())
    at, step = 1.1, 1e-5
    wanted = (gradient(at + step) - gradient(at - step)) / (2 * step) * at
    failed = 0
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.import_graph_def(graph, name="")
        for _ in range(runs):
            try:
                got = session.run([y + ":0", product + ":0"], {"x:0": at})[1]
                if abs(got - wanted) > 1e-5 * (1 + abs(wanted)):
                    print("got", got, "wanted", wanted)
                    failed += 1
            except tf.errors.OpError as error:
                if failed == 0:
                    print(error.message)
                failed += 1
    print(f"{runs} runs, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
