#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a test file of TensorFlow's own, and all that it runs in eddy as well.

    make wheel
    scripts/tf_test_files.py [--mode v1|graph|eager] [--workers N] [--executor X] [--keep DIR] FILE [TEST ...]

FILE is a test of TensorFlow's that its package can import, unchanged: `control_flow_ops_py_test.py`, `list_ops_test.py`.  Each
Session.run, and each call of a tf.function from outside, is done by TensorFlow first and then by eddy, with the
same graph, feeds and, in a session of its own, state; the test goes on with TensorFlow's results.  Told is each
run that differs: another value, another code of the error, one that eddy refuses, one that only eddy takes.

--mode  v1: TensorFlow 1's behaviour; graph: graphs, with TensorFlow 2's control flow; eager (the default)
--keep  a folder for the graphs of runs that differ

The last line is `N agree, N differ`.  Random numbers without a seed differ, and so does what threads decide.
"""
import argparse
import collections
import os
import runpy
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.environ.get(
    "EDDY_PYTHON", os.path.join(HERE, "..", "build", "wheel", "site")))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import eddy
    import numpy as np
    import tensorflow as tf
    from tensorflow.core.framework import graph_pb2
    from tensorflow.python.client import session as tf_session
    from tensorflow.python.eager import context as tf_context
    from tensorflow.python.eager.polymorphic_function import atomic_function
    from tensorflow.python.framework import errors
except ImportError as missing:
    print(f"tf_test_files: {missing}; nothing was run")
    sys.exit(0)

HANDLES = (tf.resource, tf.variant)
SECONDS = 5  # for a run in eddy
CODES = {getattr(errors, name): name for name in (
    "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "UNAUTHENTICATED",
    "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
    "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS")}


# ---- what is told ----

class Report:
    def __init__(self, keep):
        self.keep, self.test = keep, None
        self.agree, self.differ = 0, 0
        self.left_out = collections.Counter()

    def tell(self, what, graph):
        self.differ += 1
        print(f"{self.test}: {what}"[:600], flush=True)
        if self.keep:
            name = f"{self.test.split('.')[-1]}_{self.differ}.pb"
            os.makedirs(self.keep, exist_ok=True)
            with open(os.path.join(self.keep, name), "wb") as out:
                out.write(graph.SerializeToString())

    def compare(self, wanted, error, run, graph):
        """`wanted` or `error` is TensorFlow's; run() gives eddy's."""
        try:
            got, failed = run(), None
        except eddy.Error as e:
            got, failed = None, e
        if error is not None and failed is not None:
            code = CODES.get(error.error_code, str(error.error_code))
            what = None if code == failed.code else (
                f"{code} ({error.message[:200]}) against eddy's {failed}")
        elif error is not None:
            what = f"eddy takes what is {error.message[:300]}"
        elif failed is not None:
            what = f"eddy refuses: {failed}"
        else:
            what = next(filter(None, map(difference, wanted, got)), None)
        if what is None:
            self.agree += 1
        else:
            self.tell(what, graph)


def texts(values):
    return [v.encode() if isinstance(v, str) else v for v in values.ravel()]


def of_16_bits(values, like):
    """eddy has bfloat16 as the bits; TensorFlow has a dtype for it."""
    wide = values.dtype == np.uint16 and like.dtype == tf.bfloat16.as_numpy_dtype
    return values.view(like.dtype) if wide else values


def difference(wanted, got):
    wanted, got = np.asarray(wanted), np.asarray(got)
    got = of_16_bits(got, wanted)
    if wanted.shape != got.shape:
        return f"shape {wanted.shape} against eddy's {got.shape}"
    if wanted.dtype.kind in "OSU" or got.dtype.kind in "OSU":
        same = texts(wanted) == texts(got)
    elif wanted.dtype.kind in "fcV":
        near = 1e-2 if wanted.dtype.itemsize <= 2 else 2e-5
        same = np.allclose(wanted.astype(complex), got.astype(complex),
                           rtol=near, atol=near, equal_nan=True)
    else:
        same = np.array_equal(wanted, got)
    return None if same else f"{wanted.ravel()[:8]} against eddy's {got.ravel()[:8]}"


# ---- sessions ----

class Sessions:
    """Does in eddy what a tf.Session does."""

    def __init__(self, report, context, options):
        self.report, self.context, self.options = report, context, options
        self.lock = threading.Lock()
        self.plain = tf_session.BaseSession._do_run

        def run(session, handle, targets, fetches, feeds, *rest):
            return self.run(session, handle, targets, fetches, feeds, *rest)
        tf_session.BaseSession._do_run = run

    def run(self, session, handle, targets, fetches, feeds, *rest):
        out = error = None
        try:
            out = self.plain(session, handle, targets, fetches, feeds, *rest)
        except errors.OpError as e:
            error = e
        if handle is None and self.report.test:
            with self.lock:
                self.compare(session, targets, fetches, feeds, out, error)
        if error is not None:
            raise error
        return out

    def compare(self, session, targets, fetches, feeds, out, error):
        graph = session.graph.as_graph_def()
        shown = [t.dtype.base_dtype not in HANDLES for t in fetches]
        names = [t.name for t, is_shown in zip(fetches, shown) if is_shown]
        more = [t.op.name for t, is_shown in zip(fetches, shown) if not is_shown]
        fed = {t.deref().name: value for t, value in feeds.items()}
        wanted = None if out is None else [
            value for value, is_shown in zip(out, shown) if is_shown]
        state = session.__dict__.get("_eddy")
        if state is None:
            state = session.__dict__["_eddy"] = eddy.Session(self.context)
        self.report.compare(wanted, error, lambda: eddy.load(
            graph, context=self.context).plan(
                feeds=list(fed), fetches=names,
                targets=[t.name for t in targets] + more, timeout=SECONDS,
                **self.options).run(fed, session=state), graph)


# ---- calls of functions from outside ----

class Call:
    """A function that was called, and what with."""

    def __init__(self, name, args):
        self.name, self.args = name, args


class Unlike(Exception):
    """A call that can't be done again."""


class Program:
    """The graph of a call, and of the calls whose lists it was given."""

    def __init__(self, call):
        self.graph = graph_pb2.GraphDef()
        self.graph.versions.producer = 2000
        self.feeds, self.first, self.names = {}, [], {}
        self.last = self.add(call)

    def node(self, op, name=None, **types):
        node = self.graph.node.add()
        node.op, node.name = op, name or f"node{len(self.graph.node)}"
        for attr, dtype in types.items():
            node.attr[attr].type = dtype
        return node

    def value(self, value, dtype):
        node = self.node("Placeholder", dtype=dtype)
        node.attr["shape"].shape.unknown_rank = True
        self.feeds[node.name + ":0"] = value
        return node.name

    def variable(self, key, value, dtype):
        name = f"variable{key}"
        if all(n.name != name for n in self.graph.node):
            node = self.node("VarHandleOp", name, dtype=dtype)
            node.attr["shape"].shape.unknown_rank = True
            node.attr["shared_name"].s = name.encode()
            if value is not None:
                initial = self.value(value, dtype)
                assign = self.node("AssignVariableOp", dtype=dtype)
                assign.input.extend([name, initial])
                del self.feeds[initial + ":0"]
                self.first.append((assign.name, initial + ":0", value))
        return name

    def add_library(self, name):
        names, there = [name], {f.signature.name
                                for f in self.graph.library.function}
        while names:
            name = names.pop()
            if name in there or not tf_context.context().has_function(name):
                continue
            there.add(name)
            made = tf_context.context().get_function_def(name)
            self.graph.library.function.append(made)
            for node in made.node_def:
                for attr in node.attr.values():
                    names += [f.name for f in attr.list.func]
                    names += [attr.func.name] if attr.HasField("func") else []

    def add(self, call):
        if call in self.names:
            return self.names[call]
        inputs = []
        for kind, *what in call.args:
            if kind == "made":
                inputs.append(f"{self.add(what[0])}:{what[1]}")
            else:
                inputs.append(getattr(self, kind)(*what))
        self.add_library(call.name)
        signature = tf_context.context().get_function_def(call.name).signature
        node = self.node("StatefulPartitionedCall")
        node.input.extend(inputs)
        node.attr["f"].func.name = call.name
        node.attr["Tin"].list.type.extend(a.type for a in signature.input_arg)
        node.attr["Tout"].list.type.extend(a.type for a in signature.output_arg)
        self.names[call] = node.name
        return node.name


class Calls:
    """Does in eddy what functions do that are called eagerly."""

    def __init__(self, report, context, options):
        self.report, self.context, self.options = report, context, options
        self.made = {}  # id of a list: the call that made it, and the list
        self.inside = threading.local()
        self.plain = atomic_function.AtomicFunction.call_flat

        def call_flat(function, *args):
            return self.call(function, *args)
        atomic_function.AtomicFunction.call_flat = call_flat

    def argument(self, value, dtype):
        if dtype == tf.resource:
            data = getattr(value, "_handle_data", None)
            if data is None or not data.is_set or not data.shape_and_type:
                raise Unlike("a handle of no variable")
            dtype = data.shape_and_type[0].dtype
            try:
                held = tf.raw_ops.ReadVariableOp(resource=value,
                                                 dtype=dtype).numpy()
            except errors.FailedPreconditionError:
                held = None
            return "variable", id(value), held, dtype
        if dtype == tf.variant:
            if id(value) not in self.made:
                raise Unlike("a list that no call made")
            return "made", *self.made[id(value)][:2]
        value = tf.convert_to_tensor(value)
        return "value", value.numpy(), value.dtype.as_datatype_enum

    def call(self, function, *args):
        if (not self.report.test or getattr(self.inside, "is_set", False) or
                not tf.executing_eagerly()):
            return self.plain(function, *args)
        self.inside.is_set = True
        try:
            return self.call_both(function, args)
        finally:
            self.inside.is_set = False

    def call_both(self, function, args):
        signature = function.definition.signature
        again = out = error = None
        try:
            again = Call(function.name.decode(), [
                self.argument(value, tf.as_dtype(arg.type))
                for value, arg in zip(args, signature.input_arg)])
        except Unlike as why:
            self.report.left_out[str(why)] += 1
        try:
            out = self.plain(function, *args)
        except errors.OpError as e:
            error = e
        if again is not None:
            self.compare(again, [tf.as_dtype(a.type)
                                 for a in signature.output_arg], out, error)
        if error is not None:
            raise error
        return out

    def compare(self, call, dtypes, out, error):
        program = Program(call)
        shown = [i for i, d in enumerate(dtypes) if d not in HANDLES]
        wanted = None if out is None else [out[i].numpy() for i in shown]
        for i, dtype in enumerate(dtypes if out is not None else ()):
            if dtype == tf.variant:
                self.made[id(out[i])] = call, i, out[i]

        def run():
            state = eddy.Session(self.context)
            graph = eddy.load(program.graph, context=self.context)
            for assign, feed, value in program.first:
                graph.plan(feeds=[feed], fetches=[], targets=[assign]).run(
                    {feed: value}, session=state)
            return graph.plan(
                feeds=list(program.feeds), targets=[program.last],
                fetches=[f"{program.last}:{i}" for i in shown],
                timeout=SECONDS, **self.options).run(program.feeds,
                                                     session=state)
        self.report.compare(wanted, error, run, program.graph)


# ---- tests ----

def watch_tests(report, calls):
    plain = unittest.TestCase.run

    def run(test, result=None):
        report.test = test.id()
        try:
            return plain(test, result)
        finally:
            report.test = None
            if calls:
                calls.made.clear()
    unittest.TestCase.run = run


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--mode", choices=("v1", "graph", "eager"),
                         default="eager")
    options.add_argument("--workers", type=int, default=0)
    options.add_argument("--executor", default="auto")
    options.add_argument("--keep")
    options.add_argument("file")
    options.add_argument("tests", nargs="*")
    args = options.parse_args()
    if args.mode == "v1":
        tf.compat.v1.disable_v2_behavior()
    elif args.mode == "graph":
        tf.compat.v1.disable_eager_execution()
    report = Report(args.keep)
    context = eddy.Context(workers=args.workers, log=False)
    how = {"executor": args.executor}
    Sessions(report, context, how)
    calls = Calls(report, context, how) if args.mode == "eager" else None
    watch_tests(report, calls)
    sys.argv = [args.file, *args.tests]
    sys.path.insert(0, os.path.dirname(os.path.abspath(args.file)))
    code = 0
    try:
        runpy.run_path(args.file, run_name="__main__")
    except SystemExit as e:
        code = e.code or 0
    for why, n in report.left_out.items():
        print(f"left out: {n} calls with {why}")
    print(f"{report.agree} agree, {report.differ} differ")
    return 1 if report.differ or code else 0


if __name__ == "__main__":
    sys.exit(main())
