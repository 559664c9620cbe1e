#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A graph in TensorFlow and in eddy, node by node, iteration by iteration.

    scripts/tf_compare.py GRAPH.pb --feed NAME=@FILE.npy --fetch NAME ...

Wants Python with tensorflow (tensorflow-cpu will do) and numpy; exits with 77
where there is none.  Every output 0 of what the fetches need is handed to a
function in TensorFlow's own run, loops at one iteration at a time, and written
as NAME.K.npy for the K-th time; `eddy trace` records the same graph, and `eddy
diff` says where the two part.  EDDY names the command (build/eddy).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

PLAIN = ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
         "0123456789._-")


def file_name(name):
    return "".join(chr(b) if chr(b) in PLAIN else f"%{b:02X}"
                   for b in name.encode())


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("graph")
    p.add_argument("--feed", action="append", default=[])
    p.add_argument("--fetch", action="append", required=True)
    p.add_argument("--keep", help="keep values and trace in this folder")
    return p.parse_args()


def needed(graph_def, fetches):
    """Names of the nodes that the fetches need."""
    by_name = {n.name: n for n in graph_def.node}
    found, left = set(), [f.split(":")[0] for f in fetches]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left += [i.lstrip("^").split(":")[0] for i in by_name[name].input]
    return found


def value_of(text, np):
    if text.startswith("@"):
        return np.load(text[1:], allow_pickle=False)
    return np.array(json.loads(text))


def run_tensorflow(tf, np, arguments, folder):
    graph_def = tf.compat.v1.GraphDef()
    with open(arguments.graph, "rb") as f:
        graph_def.ParseFromString(f.read())
    for node in graph_def.node:
        if node.op == "Enter":
            node.attr["parallel_iterations"].i = 1
    names = needed(graph_def, arguments.fetch)
    turns = {}

    def keep(name):
        def write(value):
            turn = turns.get(name, 0)
            turns[name] = turn + 1
            np.save(f"{folder}/{file_name(name)}.{turn}.npy", value)
        return write

    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        sinks = []
        for op in graph.get_operations():
            # A Switch is live at one output a time: its readers tell.
            if op.name not in names or not op.outputs or \
                    op.type in ("Switch", "RefSwitch", "_SwitchN"):
                continue
            dtype = op.outputs[0].dtype.base_dtype
            if dtype in (tf.resource, tf.variant, tf.string) or \
                    op.outputs[0].dtype._is_ref_dtype:
                continue
            sinks.append(tf.numpy_function(keep(op.name), [op.outputs[0]], []))
        rewrite = tf.compat.v1.ConfigProto()
        rewrite.graph_options.rewrite_options.disable_meta_optimizer = True
        rewrite.graph_options.optimizer_options.opt_level = -1
        feeds = {}
        for feed in arguments.feed:
            name, _, text = feed.partition("=")
            tensor = graph.get_tensor_by_name(
                name if ":" in name else name + ":0")
            feeds[tensor] = value_of(text, np).astype(
                tensor.dtype.as_numpy_dtype)
        fetches = [graph.get_tensor_by_name(f if ":" in f else f + ":0")
                   for f in arguments.fetch]
        with tf.compat.v1.Session(config=rewrite) as session:
            session.run(fetches + sinks, feeds)
    return sum(turns.values())


def main():
    arguments = parse()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        import numpy as np
        import tensorflow as tf
    except ImportError as error:
        print(f"tf_compare: {error}", file=sys.stderr)
        return 77
    eddy = os.environ.get("EDDY", "build/eddy")
    with tempfile.TemporaryDirectory() as scratch:
        folder = arguments.keep or scratch
        os.makedirs(folder, exist_ok=True)
        n = run_tensorflow(tf, np, arguments, folder)
        print(f"TensorFlow {tf.__version__}: {n} values")
        trace = os.path.join(folder, "eddy.json")
        command = [eddy, "trace", arguments.graph, "-o", trace]
        for feed in arguments.feed:
            command += ["--feed", feed]
        for fetch in arguments.fetch:
            command += ["--fetch", fetch]
        subprocess.run(command, check=True)
        return subprocess.run([eddy, "diff", trace, folder],
                              check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
