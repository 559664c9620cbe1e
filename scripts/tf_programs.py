#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs small programs of ops with state, of texts and of ragged rows in TensorFlow and in eddy.

    scripts/tf_programs.py [--eddy build/eddy] [--only TEXT] [--keep DIR] [-- OPTIONS]

A family is a function that builds one graph and gives a list of runs: each is
a list of tensors and operations, which are fetched and run by themselves in a
session of their own.  TensorFlow runs each, without rewrites, and what it gives, or
the class of its error, is written as a recorded case (tests/conformance),
which `eddy verify` then runs.  OPTIONS are for `eddy verify`.

The cases tests/conformance/findings/programs_* were recorded so.

It needs the package tensorflow or tensorflow-cpu; without it nothing is done.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import numpy as np
    import tensorflow as tf
except ImportError:
    print("tf_programs: TensorFlow is not there, nothing was run")
    sys.exit(0)

tf1 = tf.compat.v1
raw = tf.raw_ops
FAMILIES = []


def family(f):
    FAMILIES.append(f)
    return f


def after(*ops):
    return tf.control_dependencies([o for o in ops if o is not None])


def fed(value, dtype=None):
    """A value that the shape functions of TensorFlow can't see."""
    value = tf.constant(value, dtype)
    return tf1.placeholder_with_default(value, None)


# ---- generators in variables ---------------------------------------------------


def state_variable(value, dtype=tf.int64):
    """Its handle, and the op that sets it."""
    value = np.array(value, dtype.as_numpy_dtype)
    handle = raw.VarHandleOp(dtype=dtype, shape=value.shape)
    return handle, raw.AssignVariableOp(resource=handle, value=value)


def drawn(state, call, dtype=tf.int64):
    """What `call` of a generator gives, and the state that it leaves."""
    handle, init = state_variable(state, dtype)
    with after(init):
        y = call(handle)
    with after(y if isinstance(y, tf.Operation) else y.op):
        left = raw.ReadVariableOp(resource=handle, dtype=dtype)
    return [left] if isinstance(y, tf.Operation) else [y, left]


ONE = np.int64(1)
STATE = [2**63 - 5, -1, 77]


@family
def generators():
    runs = []
    for op in ("StatefulUniform", "StatefulStandardNormalV2",
               "StatefulTruncatedNormal"):
        for dtype in (tf.float32, tf.float64, tf.float16):
            runs.append(drawn(STATE, lambda h: getattr(raw, op)(
                resource=h, algorithm=ONE, shape=[3, 5], dtype=dtype)))
    for dtype in (tf.int32, tf.int64):
        runs.append(drawn(STATE, lambda h: raw.StatefulUniformInt(
            resource=h, algorithm=ONE, shape=[11],
            minval=tf.constant(-7, dtype), maxval=tf.constant(1000, dtype))))
    for dtype in (tf.int32, tf.int64, tf.uint32, tf.uint64):
        runs.append(drawn(STATE, lambda h: raw.StatefulUniformFullInt(
            resource=h, algorithm=np.int64(3), shape=[7], dtype=dtype)))
    for delta in (0, 5, -5, 2**62):
        runs.append(drawn(STATE, lambda h: raw.RngSkip(
            resource=h, algorithm=ONE, delta=np.int64(delta))))
    for delta in (0, 5, 2**64 - 5):
        runs.append(drawn(STATE, lambda h: raw.RngReadAndSkip(
            resource=h, alg=1, delta=np.uint64(delta))))
    return runs


@family
def generator_mistakes():
    def uniform(state, dtype=tf.int64, algorithm=ONE, shape=(3,)):
        return drawn(state, lambda h: raw.StatefulUniform(
            resource=h, algorithm=fed(algorithm, tf.int64),
            shape=fed(shape, tf.int32)), dtype)

    h = raw.VarHandleOp(dtype=tf.int64, shape=[3], shared_name="none")

    def between(low, high, shape):
        return drawn(STATE, lambda h: raw.StatefulUniformInt(
            resource=h, algorithm=ONE, shape=shape, minval=fed(low),
            maxval=fed(high)))

    return [
        uniform([1, 2]), uniform([1, 2, 3, 4]), uniform([[1, 2, 3]]),
        uniform([1, 2, 3], tf.int32), uniform(STATE, algorithm=2),
        uniform(STATE, algorithm=3), uniform(STATE, algorithm=9),
        uniform(STATE, algorithm=[1]), uniform(STATE, shape=[-1]),
        uniform(STATE, shape=[0, 2]), between(5, 5, [2]), between(5, 4, [0]),
        between([1], 4, [2]), [raw.StatefulUniform(
            resource=h, algorithm=ONE, shape=[3])],
    ]


@family
def generator_in_loop():
    g = tf.random.Generator.from_seed(12)
    init = g.state.initializer
    with after(init):
        start = [tf.constant(0), tf.zeros([3])]
    y = tf.while_loop(lambda i, v: i < 4,
                      lambda i, v: [i + 1, v * 0.5 + g.normal([3])], start)[1]
    with after(y):
        return [[y, g.state.read_value()]]


# ---- running them in TensorFlow -------------------------------------------


def configuration():
    c = tf1.ConfigProto(intra_op_parallelism_threads=1,
                        inter_op_parallelism_threads=1)
    c.graph_options.optimizer_options.opt_level = tf1.OptimizerOptions.L0
    c.graph_options.rewrite_options.disable_meta_optimizer = True
    return c


def savable(value):
    value = np.asarray(value)
    if value.dtype == object:
        flat = [v if isinstance(v, bytes) else str(v).encode()
                for v in value.ravel()]
        return np.array(flat, dtype="S").reshape(value.shape)
    return value


TOLERANCE = {"f": {2: 2e-3, 4: 1e-5, 8: 1e-9}, "c": {8: 1e-5, 16: 1e-9}}


def tolerance(values):
    return max([TOLERANCE.get(v.dtype.kind, {}).get(v.dtype.itemsize, 0)
                for v in values] or [0])


def one_run(graph, number, wanted, folder):
    """A run of the case, done in TensorFlow."""
    fetches = [t for t in wanted if isinstance(t, tf.Tensor)]
    targets = [o for o in wanted if isinstance(o, tf.Operation)]
    run = dict(feeds={}, fetches=[t.name for t in fetches],
               targets=[o.name for o in targets])
    try:
        with tf1.Session(graph=graph, config=configuration()) as session:
            values = [savable(v)
                      for v in session.run([fetches, targets])[0]]
    except tf.errors.OpError as e:
        run["error"] = {"class": type(e).__name__, "stage": "run",
                        "text": e.message[:300]}
        return run
    run["expect"] = []
    for i, value in enumerate(values):
        file = "want%d_%d.npy" % (number, i)
        np.save(os.path.join(folder, file), value)
        run["expect"].append(file)
    run["rtol"] = run["atol"] = tolerance(values)
    return run


def record(f, root):
    folder = os.path.join(root, "programs_" + f.__name__)
    os.makedirs(folder, exist_ok=True)
    graph = tf.Graph()
    with graph.as_default():
        runs = f()
    case = dict(
        name=f.__name__, group="programs",
        about="Made by scripts/tf_programs.py.",
        ops=sorted({n.op for n in graph.as_graph_def().node}),
        runs=[one_run(graph, i, wanted, folder)
              for i, wanted in enumerate(runs)])
    with open(os.path.join(folder, "graph.pb"), "wb") as out:
        out.write(graph.as_graph_def().SerializeToString())
    with open(os.path.join(folder, "case.json"), "w") as out:
        json.dump(case, out, indent=1)
        out.write("\n")


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--eddy", default="build/eddy")
    options.add_argument("--only", default="")
    options.add_argument("--keep", help="the folder for the cases")
    options.add_argument("options", nargs="*", help="of eddy verify")
    args = options.parse_args()
    chosen = [f for f in FAMILIES if args.only in f.__name__]
    with tempfile.TemporaryDirectory() as temporary:
        root = args.keep or temporary
        for f in chosen:
            record(f, root)
        folders = [os.path.join(root, "programs_" + f.__name__)
                   for f in chosen]
        return subprocess.run([args.eddy, "verify", *args.options, *folders],
                              check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
