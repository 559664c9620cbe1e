# SPDX-License-Identifier: Apache-2.0
"""Recorded runs from Python: what is recorded, and what it answers."""
import gc
import json

import pytest

import eddy


def doubling():
    """i counts to n; v doubles above 3, and else gains 3."""
    g = eddy.Graph()
    n = g.placeholder("int32", [], name="n")
    x = g.placeholder("float32", [], name="x")
    _, v = eddy.while_loop(
        lambda i, v: i < n,
        lambda i, v: (i + 1, eddy.cond(v > 3, lambda: v * 2, lambda: v + 3)),
        [g.constant(0), x], name="w")
    return g, v


FRAME, ADD, MUL = "w/while_context", "w/cond/AddV2", "w/cond/Mul"


def place(i):
    return f"{FRAME}[{i}]"


def of_op(trace, op):
    return [r for r in trace if r.op == op]


def test_a_run_is_recorded_as_it_runs_unrecorded():
    g, v = doubling()
    trace = eddy.trace(g, {"n": 4, "x": 1.0}, v)
    assert trace.error is None
    assert trace.results == g.plan(fetches=v)(n=4, x=1.0) == 32
    assert trace.dropped == 0
    assert trace.stats.iterations == 5
    counted = sum(r.op != "" for r in trace)
    assert counted == (trace.stats.live_executions
                       + trace.stats.dead_executions)
    assert [r.number for r in trace] == list(range(len(trace)))
    assert trace[-1].number == len(trace) - 1
    with pytest.raises(IndexError):
        trace[len(trace)]


def test_records_say_where_and_what():
    g, v = doubling()
    trace = eddy.trace(g, {"n": 2, "x": 1.0}, v)
    first = trace.at(ADD, place(0))
    assert (first.state, first.iteration) == ("live", 0)
    assert first.values[0].mean == 4 and str(first.values[0]) == "4"
    assert trace.at(ADD, place(1)).state == "dead"
    assert "live, 4" in str(first)
    assert [r.values[0].mean for r in trace.inputs(first)] == [1, 3]
    assert [r.at for r in trace.of(ADD)] == [place(i) for i in range(3)]
    with pytest.raises(eddy.NotFoundError):
        trace.of("nobody")
    with pytest.raises(eddy.NotFoundError):
        trace.at(ADD, place(9))


def test_a_dead_node_has_its_switch():
    g, v = doubling()
    trace = eddy.trace(g, {"n": 1, "x": 1.0}, v)
    mul = trace.at(MUL, place(0))
    chain, end = trace.why_dead(mul)
    assert end == "switch" and chain[0] == mul
    assert chain[-1].op == "Switch" and chain[-1].state == "live"
    assert chain[-1].output == 0
    text = trace.explain(MUL, place(0))
    assert "that Switch took output 0" in text and "false" in text
    assert trace.why_dead(chain[-1]) == ([], "no reason")


def test_an_infinity_has_its_origin():
    g, v = doubling()
    trace = eddy.trace(g, {"n": 9, "x": 1e38}, v)
    last = [r for r in trace if r.is_non_finite][-1]
    chain, end = trace.origin(last)
    assert end == "source"
    assert (chain[-1].op, chain[-1].at) == ("Mul", place(1))
    assert "where the NaN or infinity comes from" in trace.explain(last.node)


def test_a_run_that_fails_is_asked_too():
    g, v = doubling()
    plan = g.plan(fetches=v, optimize="none")
    trace = plan.trace({"n": 9, "x": 1e38}, check_numerics=True)
    assert isinstance(trace.error, eddy.InvalidArgumentError)
    assert trace.error.detail == "EDDY_E_NUMERICS"
    assert trace.error.frame == place(1) and trace.results is None
    assert trace.error.message in trace.explain()
    trace = eddy.trace(g, {"n": 1000, "x": 0.0}, v, max_iterations=20)
    assert isinstance(trace.error, eddy.ResourceExhaustedError)
    assert trace.stats.iterations == 20
    for wait in trace.waiting():
        assert wait.node and isinstance(str(wait), str)


def test_what_a_failed_run_was_waiting_for():
    g = eddy.Graph()
    x = g.placeholder("int32", [], name="x")
    more = x + 1
    bad = g.ops.FloorDiv(x, more, name="bad")
    total = g.ops.AddV2(bad, more, name="total")
    trace = eddy.trace(g, {"x": -1}, total)
    assert trace.error.node == "bad"
    assert [(w.node, w.missing) for w in trace.waiting()] == [("total", "bad")]
    assert "total: no token from bad" in trace.explain()


def test_only_what_is_asked_is_recorded():
    g, v = doubling()
    plan = g.plan(fetches=v, optimize="none")
    feeds = {"n": 9, "x": 1.0}
    some = plan.trace(feeds, values=False, frame=FRAME, iterations=(3, 4))
    assert {r.iteration for r in some} == {3, 4}
    assert not any(r.values for r in some)
    last = plan.trace(feeds, max_records=7, keep_last=True)
    assert len(last) == 7 and last.dropped == last[-1].number - 6
    some = plan.trace(feeds, nodes=["w/cond/*", "w/Less"])
    assert {r.node for r in some} > {ADD, MUL, "w/Less"}
    assert all(r.node.startswith(("w/cond/", "w/Less")) for r in some)
    with pytest.raises(eddy.NotFoundError):
        plan.trace(feeds, nodes=["nobody"])
    with pytest.raises(eddy.NotFoundError):
        plan.trace(feeds, frame="nobody")
    with pytest.raises(TypeError):
        plan.trace({"n": 9})


def test_the_longest_chain():
    g, v = doubling()
    trace = eddy.trace(g, {"n": 6, "x": 1.0}, v)
    chain, ns = trace.critical()
    assert 0 < ns == sum(r.duration_ns for r in chain)
    assert trace.critical(FRAME, 1)[1] >= ns
    with pytest.raises(eddy.NotFoundError):
        trace.critical("nobody")


def test_pushes_meet_their_pops():
    g = eddy.Graph()
    w = g.placeholder("float32", [], name="w")
    _, y = eddy.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * w),
                           [g.constant(0), w], name="power")
    grad, = g.gradients(y, [w])
    trace = eddy.trace(g, {"w": 2.0}, grad)
    assert trace.results == 32  # w^4
    pairs = trace.pairs()
    assert len(pairs) >= 3
    for push, pop in pairs:
        assert "Push" in push.op and pop is not None and push.number < pop.number


def test_files(tmp_path):
    g, v = doubling()
    trace = eddy.trace(g, {"n": 3, "x": 1.0}, v)
    for name in ("a.html", "a.json", "a.pftrace"):
        trace.save(str(tmp_path / name))
    events = json.loads((tmp_path / "a.json").read_text())
    assert sum(e["ph"] == "X" for e in events["traceEvents"]) == len(trace)
    assert b"<html" in (tmp_path / "a.html").read_bytes()
    with pytest.raises(ValueError):
        trace.save(str(tmp_path / "a.txt"))


def test_a_trace_outlives_graph_and_plan():
    def make():
        context = eddy.Context()
        g = eddy.Graph(context)
        x = g.placeholder("float32", [], name="x")
        return eddy.trace(g, {"x": 2.0}, x * x)
    traces = [make() for _ in range(5)]
    gc.collect()
    for trace in traces:
        assert trace.results == 4
        assert of_op(trace, "Mul")[0].values[0].mean == 4
