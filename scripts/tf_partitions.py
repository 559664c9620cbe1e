#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Graphs over two devices, as TensorFlow cuts them and as eddy does.

    scripts/tf_partitions.py [--eddy build/eddy] [--only NAME] [--write DIR]

Each graph is built in TensorFlow with loops and branches of the first form,
its nodes on two CPU devices.  TensorFlow runs it and gives the graphs of its
devices (RunMetadata.partition_graphs); `eddy partition --literal` cuts the
same graph.  Of both a list is made: the nodes of a device with what they read
and wait for, the pairs of _Send and _Recv with what starts them, the control
loops.  The lists must be the same.  Then the parts that eddy has made, to the
letter and as by default, are put into one graph on two devices, which
TensorFlow runs: the values must be the same, too.

--write puts the graphs and TensorFlow's lists into a folder: tests/partitions,
which the suite tensorflow_partitions holds eddy to without TensorFlow.

It needs the package tensorflow or tensorflow-cpu; without it nothing is done,
and the exit status is 77.
"""
import argparse
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import numpy as np
    import tensorflow as tf
except ImportError:
    print("tf_partitions: TensorFlow is not there, nothing was run")
    sys.exit(77)

tf1 = tf.compat.v1
DEVICE = "/job:localhost/replica:0/task:0/device:CPU:"
TIMEOUT_MS = 10000

# ---- graphs: each gives what is fetched ----------------------------------


def on(device):
    return tf.device(DEVICE + str(device))


def straight():
    a = tf.constant([1.0, 2.0])
    with on(1):
        b = a * 3.0
        with tf.control_dependencies([a]):
            c = tf.constant([5.0, 6.0]) + b
    return [b + c, c - a]


def cond():
    a = tf.constant(2.0)

    def yes():
        with on(1):
            return a * 3.0

    def no():
        return a - 1.0

    return [tf1.cond(a > 1.0, yes, no), tf1.cond(a > 5.0, yes, no)]


def loop():
    n = tf.constant(5)

    def body(i, x):
        with on(1):
            y = x * 0.5
        return i + 1, y + 1.0

    return tf1.while_loop(lambda i, x: i < n, body, [0, 1.0])


def loop_one_way():
    n = tf.constant(5)
    scale = tf.constant(0.25)

    def body(i, x):
        with on(1):
            y = x * scale + tf.cast(i, tf.float32)
        return i + 1, y

    def test(i, x):
        with on(1):
            return tf.logical_and(i < n, x < 100.0)

    return tf1.while_loop(test, body, [0, 1.0])


def loop_on_one_device():
    def body(i, x):
        return i + 1, x * 0.5

    with on(1):
        a = tf.constant(8.0) * 2.0
    _, x = tf1.while_loop(lambda i, x: i < 3, body, [0, a])
    with on(1):
        return [x + 1.0]


def nested():
    def inner_body(j, y):
        with on(1):
            z = y * 0.5
        return j + 1, z + 1.0

    def body(i, x):
        _, y = tf1.while_loop(lambda j, y: j < i, inner_body, [0, x],
                              name="inner")
        return i + 1, y - 1.0

    return tf1.while_loop(lambda i, x: i < 4, body, [0, 1.0], name="outer")


def nested_on_the_other():
    def inner_body(j, y):
        return j + 1, y * 0.5

    def body(i, x):
        with on(1):
            _, y = tf1.while_loop(lambda j, y: j < 2, inner_body, [0, x],
                                  name="inner")
        return i + 1, y - 1.0

    return tf1.while_loop(lambda i, x: i < 4, body, [0, 1.0], name="outer")


def loop_with_cond():
    def body(i, x):
        def yes():
            with on(1):
                return x * 0.5

        return i + 1, tf1.cond(x > 3.0, yes, lambda: x + 2.5)

    return tf1.while_loop(lambda i, x: i < 6, body, [0, 1.0])


def gradient():
    # Of a small constant TensorFlow would make a copy for each device.
    x = tf.identity(tf.constant(1.5))

    def body(i, y):
        with on(1):
            z = y * x
        return i + 1, tf.sin(z)

    _, y = tf1.while_loop(lambda i, y: i < 4, body, [0, x])
    return [y] + tf1.gradients(y, x)


def invariant_alone():
    """Device 1 has of the loop what reads an invariant alone."""
    scale = tf.identity(tf.constant(0.5))

    def body(i, x):
        with on(1):
            y = tf.negative(scale)
        return i + 1, x * y

    return tf1.while_loop(lambda i, x: i < 3, body, [0, 1.0])


GRAPHS = [straight, cond, loop, loop_one_way, loop_on_one_device, nested,
          nested_on_the_other, loop_with_cond, gradient]


def build(make):
    """The graph with a device at every node, and the names of the fetches."""
    with tf.Graph().as_default() as graph:
        fetches = [tf.identity(f).name for f in make()]
        graph_def = graph.as_graph_def()
    for node in graph_def.node:
        node.device = node.device or DEVICE + "0"
        # Where a node is says its device alone.
        if "_class" in node.attr:
            del node.attr["_class"]
    return graph_def, fetches


# ---- running --------------------------------------------------------------


def run(graph_def, fetches, targets=(), partitions=False):
    config = tf1.ConfigProto(device_count={"CPU": 2})
    config.allow_soft_placement = True
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    options = tf1.RunOptions(output_partition_graphs=partitions,
                             timeout_in_ms=TIMEOUT_MS)
    metadata = tf1.RunMetadata()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf1.Session(graph=graph, config=config) as session:
            values, _ = session.run(
                (list(fetches), [graph.get_operation_by_name(t)
                                 for t in targets]),
                options=options, run_metadata=metadata)
    return values, metadata.partition_graphs


def device_of(graph_def):
    """Of which device TensorFlow's part is: all its nodes say so."""
    return int(graph_def.node[0].device.rsplit(":", 1)[1])


# ---- lists ----------------------------------------------------------------


class Part:
    """The nodes of one device, told apart by what a cut has added."""

    def __init__(self, graph_def):
        self.nodes = {n.name: n for n in graph_def.node}

    def is_control(self, send):
        source = self.nodes[send.input[0].split(":")[0]]
        return source.op == "Const" and "/ctrl" in source.name

    def source(self, send):
        """What a _Send sends, as a reader of it says it."""
        if self.is_control(send):
            return self.nodes[send.input[0]].input[0]
        return send.input[0]


def key(node):
    return node.attr["tensor_name"].s


def is_send(node):
    return node.op in ("_Send", "_HostSend")


def is_recv(node):
    return node.op in ("_Recv", "_HostRecv")


def summary(graph_defs):
    """Sorted lines that say how a graph was cut."""
    parts = [Part(g) for g in graph_defs]
    sent = {key(n): (rank, part.source(n)) for rank, part in enumerate(parts)
            for n in part.nodes.values() if is_send(n)}
    lines = []
    for rank, part in enumerate(parts):
        lines += part_lines(rank, part, sent)
    return sorted(lines)


def part_lines(rank, part, sent):
    added = {n.name for n in part.nodes.values()
             if is_send(n) or is_recv(n) or "_cloop" in n.name or
             n.op in ("_Retval", "_Arg")}
    for node in part.nodes.values():
        if is_send(node) and part.is_control(node):
            added.add(node.input[0])
        if "_cloop" in node.name and node.op == "Enter":
            outer = part.nodes[node.input[0]]
            if outer.op == "Const":
                added.add(outer.name)

    def read(name):
        """What an input is, past what a cut has added."""
        node = part.nodes.get(name.lstrip("^").split(":")[0])
        if is_recv(node):
            source = sent[key(node)][1]
            return f"from{sent[key(node)][0]}({source})"
        if node.op == "Identity" and is_recv(part.nodes[
                node.input[0].lstrip("^").split(":")[0]]):
            received = part.nodes[node.input[0]]
            if sent[key(received)][1].startswith("^"):
                added.add(node.name)
                return "^" + read(node.input[0])
        return name

    for node in list(part.nodes.values()):
        for name in node.input:
            read(name)
    frames = control_frames(part)
    lines = []
    for node in part.nodes.values():
        if node.name not in added:
            inputs = [read(i) for i in node.input if i[0] != "^"] + \
                sorted(read(i) for i in node.input if i[0] == "^")
            lines.append(" ".join([str(rank), node.op, node.name] + inputs))
        elif is_recv(node):
            start = [frames[i[1:]] for i in node.input]
            lines.append(" ".join([str(rank), "receives", read(node.name),
                                   "in"] + (start or ["-"])))
        elif is_send(node) and len(node.input) > 1:
            lines.append(" ".join([str(rank), "sends", part.source(node),
                                   "in"] + [frames[i[1:]]
                                            for i in node.input[1:]]))
        elif node.op == "Switch":
            frame = frames[node.input[0]]
            lines.append(" ".join([str(rank), "loop", frame, "within",
                                   outer_of(part, node, frames), "while",
                                   read(node.input[1])]))
    return lines


def control_frames(part):
    """The frame of each control loop, by the name of its Merge."""
    return {n.name: part.nodes[n.input[0]].attr["frame_name"].s.decode()
            for n in part.nodes.values()
            if n.op == "Merge" and "_cloop" in n.name}


def outer_of(part, turn, frames):
    """The frame that a control loop stands in: what its Enter reads."""
    merge = part.nodes[turn.input[0]]
    return frames.get(part.nodes[merge.input[0]].input[0], "-")


# ---- eddy -----------------------------------------------------------------


def cut(eddy, graph_def, fetches, literal):
    """The graphs that eddy makes, and where the fetches are."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "graph.pb")
        with open(path, "wb") as f:
            f.write(graph_def.SerializeToString())
        with open(folder + "/places", "w", encoding="ascii") as f:
            f.writelines(f"{n.name} rank {n.device[-1]}\n"
                         for n in graph_def.node)
        command = [eddy, "partition", path, "-o", folder + "/parts",
                   "--place", folder + "/places"]
        for name in fetches:
            command += ["--fetch", name]
        out = subprocess.run(command + (["--literal"] if literal else []),
                             check=True, stdout=subprocess.PIPE, text=True)
        parts = []
        for rank in range(2):
            part = tf1.GraphDef()
            with open(f"{folder}/parts/rank{rank}.pb", "rb") as f:
                part.ParseFromString(f.read())
            parts.append(part)
    places = [line.split("\t") for line in out.stdout.splitlines()
              if line.startswith("fetch\t")]
    return parts, [(int(p[2].split()[1]), p[3]) for p in places]


def join(parts):
    """One graph of the parts, the names of each with its rank before them."""
    whole = tf1.GraphDef()
    whole.versions.producer = 1
    for rank, part in enumerate(parts):
        whole.versions.producer = max(whole.versions.producer,
                                      part.versions.producer)
        for node in part.node:
            new = whole.node.add()
            new.CopyFrom(node)
            new.name = f"r{rank}/{node.name}"
            new.device = DEVICE + str(rank)
            del new.input[:]
            new.input.extend("^" + f"r{rank}/{i[1:]}" if i[0] == "^"
                             else f"r{rank}/{i}" for i in node.input)
            # In one graph a frame has one LoopCond; the predicates that the
            # other ranks compute for themselves say that they are no others.
            if node.op == "LoopCond" and rank > 0:
                new.op = "Identity"
                new.attr["T"].type = tf.bool.as_datatype_enum
    return whole


def run_parts(parts, places):
    whole = join(parts)
    return run(whole, [f"r{rank}/{name}" for rank, name in places],
               [n.name for n in whole.node if is_send(n)])[0]


# ---- all of it ------------------------------------------------------------


def try_endless(arguments):
    """
    Where TensorFlow waits for ever, and eddy has one control loop more.  Its
    builder of loops leaves no such node without an edge from the loop, so that
    edge is taken away.
    """
    graph_def, fetches = build(invariant_alone)
    for node in graph_def.node:
        if node.op == "Neg":
            del node.input[1:]
    try:
        run(graph_def, fetches)
        waits = False
    except tf.errors.DeadlineExceededError:
        waits = True
    values = run_parts(*cut(arguments.eddy, graph_def, fetches, True))
    print("invariant_alone: TensorFlow "
          f"{'waits for ever' if waits else 'ENDS'}, with eddy's parts it gives "
          f"{values[1]}, wanted -0.125")
    return waits and values[1] == -0.125


def compare_lists(ours, theirs):
    for line in sorted(set(theirs) - set(ours)):
        print(f"    TensorFlow alone: {line}")
    for line in sorted(set(ours) - set(theirs)):
        print(f"    eddy alone:       {line}")
    return ours == theirs


def try_graph(make, arguments):
    graph_def, fetches = build(make)
    want, partitions = run(graph_def, fetches, partitions=True)
    theirs = summary(sorted(partitions, key=device_of))
    if arguments.write:
        stem = os.path.join(arguments.write, make.__name__)
        with open(stem + ".pb", "wb") as f:
            f.write(graph_def.SerializeToString(deterministic=True))
        with open(stem + ".txt", "w", encoding="ascii") as f:
            f.writelines(line + "\n" for line in
                         [" ".join(["fetch"] + fetches)] + theirs)
    parts, places = cut(arguments.eddy, graph_def, fetches, True)
    is_same = compare_lists(summary(parts), theirs)
    values = [run_parts(parts, places),
              run_parts(*cut(arguments.eddy, graph_def, fetches, False))]
    runs = [all(np.array_equal(a, b) for a, b in zip(want, got))
            for got in values]
    print(f"{make.__name__}: {len(theirs)} lines, "
          f"{'the same' if is_same else 'OTHERS'}; run in TensorFlow: "
          f"to the letter {'the same' if runs[0] else 'OTHER'} values, "
          f"as by default {'the same' if runs[1] else 'OTHER'}")
    return is_same and all(runs)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--eddy", default="build/eddy")
    p.add_argument("--only", default="")
    p.add_argument("--write", help="write graphs and lists to this folder")
    arguments = p.parse_args()
    tf1.disable_control_flow_v2()
    results = [try_graph(make, arguments) for make in GRAPHS
               if arguments.only in make.__name__]
    if arguments.only in "invariant_alone":
        results.append(try_endless(arguments))
    print(f"{sum(results)} of {len(results)} graphs, "
          f"TensorFlow {tf.__version__}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
