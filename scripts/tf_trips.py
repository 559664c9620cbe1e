#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trips of a loop over two ranks, by turns with TensorFlow over two devices.

    scripts/tf_trips.py [--bench build/benchmarks/bench_ranks] [--rounds 3]

The loops are those of bench_ranks: one sends its counter and its predicate one
way, one sends a value there and back in each trip.  TensorFlow cuts them over
two CPU devices of one process.  Each round measures TensorFlow and then eddy;
a line has the least microseconds a trip of all rounds, and how many times as
many trips eddy makes.

Both want two processors for themselves.  Where others want them, too, give
all of it a real-time priority: chrt -f 20 scripts/tf_trips.py

It needs the package tensorflow or tensorflow-cpu; without it nothing is done,
and the exit status is 77.
"""
import argparse
import os
import subprocess
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import tensorflow as tf
except ImportError:
    print("tf_trips: TensorFlow is not there, nothing was run")
    sys.exit(77)

tf1 = tf.compat.v1
TRIPS = 2000
REPEATS = 12
WAYS = ("one_way", "round_trip")


def on(device):
    return tf.device(f"/cpu:{device}")


def build(way):
    """The loop's results, and the placeholder of how many trips it makes."""
    trips = tf1.placeholder(tf.int32, [])
    far = 0 if way == "round_trip" else 1

    def body(i, x):
        with on(0):
            count = i + 1
        with on(1):
            y = -x if way == "round_trip" else x + i
        with on(far):
            return count, tf.identity(y)

    with on(0):
        first = tf.constant(0)
    with on(far):
        x = tf.constant(1)
    with on(0):
        results = tf1.while_loop(lambda i, _: i < trips, body, [first, x])
    return results, trips


def time_tensorflow(way):
    config = tf1.ConfigProto(device_count={"CPU": 2})
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default():
        results, trips = build(way)
        with tf1.Session(config=config) as session:
            times = []
            for _ in range(REPEATS):
                begin = time.perf_counter()
                session.run(results, {trips: TRIPS})
                times.append(time.perf_counter() - begin)
    return min(times) / TRIPS * 1e6


def time_eddy(bench):
    """Microseconds a trip, by the name of bench_ranks's row."""
    out = subprocess.run(
        [bench, "--tsv"], check=True, capture_output=True, text=True
    ).stdout
    fields = [line.split("\t") for line in out.splitlines()]
    return {
        f[0].removesuffix("/best"): float(f[1])
        for f in fields
        if f[0].endswith("/best")
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", default="build/benchmarks/bench_ranks")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    tf1.disable_eager_execution()
    tf1.disable_control_flow_v2()

    theirs, ours = {}, {}
    for _ in range(args.rounds):
        for way in WAYS:
            took = time_tensorflow(way)
            theirs[way] = min(theirs.get(way, took), took)
        for name, took in time_eddy(args.bench).items():
            ours[name] = min(ours.get(name, took), took)
    for name, took in ours.items():
        way = next(w for w in WAYS if name.startswith(w))
        print(
            f"{name:22} {took:6.2f} us a trip, TensorFlow {theirs[way]:6.2f}: "
            f"{theirs[way] / took:.1f} times as many"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
