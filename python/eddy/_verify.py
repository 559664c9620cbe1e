# SPDX-License-Identifier: Apache-2.0
"""A graph's values held against TensorFlow's, where that is installed."""
from dataclasses import dataclass

import numpy as np

from ._base import Error, dtype_number
from ._tensor import to_array


@dataclass(frozen=True)
class Verification:
    """What verify() found; true if nothing differs.

    differing   the fetches whose values are not TensorFlow's
    first       the first node on their way, outside of loops and branches, with
                a value that is not TensorFlow's; "" if all are, or none is seen
    compared    how many values were compared
    """
    differing: tuple
    first: str
    compared: int

    def __bool__(self):
        return not self.differing

    def __repr__(self):
        if self:
            return f"<eddy.Verification: {self.compared} values agree>"
        where = f", first at {self.first}" if self.first else ""
        return f"<eddy.Verification: {', '.join(self.differing)} differ{where}>"


def same(got, want, rtol, atol):
    """Shape and dtype, and values as close as wanted."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return False
    if want.dtype.kind in "OSU":
        return [bytes(x) for x in got.reshape(-1).tolist()] == [
            x if isinstance(x, bytes) else str(x).encode()
            for x in want.reshape(-1).tolist()]
    if want.dtype.name == "bfloat16":
        got, want = got.view(np.uint16), want.view(np.uint16)
    if got.dtype != want.dtype:
        return False
    if want.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            return np.allclose(got, want, rtol, atol, equal_nan=True)
    return np.array_equal(got, want)


class _Both:
    """Runs one graph here and there."""

    def __init__(self, graph, feeds):
        import tensorflow as tf
        self._tf, self.graph = tf, graph
        self.feeds = {}
        for name, value in feeds.items():
            feed = graph[name] if isinstance(name, str) else name
            self.feeds[feed] = to_array(value, dtype_number(feed.dtype))
        definition = tf.compat.v1.GraphDef.FromString(graph.to_bytes())
        with tf.Graph().as_default() as there:
            tf.import_graph_def(definition, name="")
        self._session = tf.compat.v1.Session(graph=there)
        self._fed = {f.name: v for f, v in self.feeds.items()}

    def run(self, outputs):
        """The values of both, in pairs."""
        plan = self.graph.plan(list(self.feeds), list(outputs))
        there = self._session.run([o.name for o in outputs], self._fed)
        return zip(plan(*self.feeds.values()), there)

    def close(self):
        self._session.close()


def _upstream(fetches):
    """The operations on the way, inputs before what reads them."""
    order, seen, todo = [], set(), [(f.op, False) for f in reversed(fetches)]
    while todo:
        op, done = todo.pop()
        if done:
            order.append(op)
        elif op.node not in seen:
            seen.add(op.node)
            todo.append((op, True))
            todo += [(i.op, False) for i in reversed(op.inputs)]
    return order


def _first_that_differs(both, fetches, rtol, atol):
    tf = both._tf
    for op in _upstream(fetches):
        for output in op.outputs:
            if output in both.feeds:
                continue
            try:
                (got, want), = both.run([output])
            except (Error, tf.errors.OpError, TypeError, ValueError):
                continue  # dead, in a loop, or no value that can be fetched
            if not same(got, want, rtol, atol):
                return output.name
    return ""


def verify(graph, feeds=None, fetches=None, *, rtol=1e-5, atol=1e-6):
    """Runs a graph here and in TensorFlow, and compares what is fetched.

        assert eddy.verify(g, {"x": x}, ["loss"])

    feeds    values by name or Output; fetches as of a plan, a list.
    ImportError where TensorFlow is not installed.
    """
    graph = graph._lowered_if_needed()
    both = _Both(graph, feeds or {})
    try:
        wanted = [graph[f] if isinstance(f, str) else f
                  for f in (graph.outputs if fetches is None else fetches)]
        pairs = list(both.run(wanted))
        differing = tuple(f.name for f, (got, want) in zip(wanted, pairs)
                          if not same(got, want, rtol, atol))
        first = _first_that_differs(both, wanted, rtol, atol) if differing \
            else ""
        return Verification(differing, first, len(pairs))
    finally:
        both.close()
