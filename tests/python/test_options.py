# SPDX-License-Identifier: Apache-2.0
"""Each option of plans and runs that C has, from Python."""
import inspect

import numpy as np
import pytest

import eddy


def loop(n=None):
    g = eddy.Graph()
    limit = g.placeholder("int32", [], name="n") if n is None else n
    i, x = eddy.while_loop(lambda i, x: i < limit,
                           lambda i, x: (i + 1, x * 0.5 + 1.0),
                           [g.constant(0), g.constant(3.0)])
    return g, x


def fields(type_):
    return {name for name, _ in eddy.ffi.typeof(type_).fields}


def test_each_member_of_the_options_in_c_is_a_keyword():
    # What has another name here, and what is no option in Python.
    plan = {"size", "feeds", "n_feeds", "fetches", "n_fetches", "targets",
            "n_targets", "user", "n_without", "no_native", "limits"}
    run = {"size", "user", "done", "timeout_ns", "recorder", "session",
           "progress_ns", "progress_user", "spill_cipher"}
    limits = {"size", "user", "max_nodes", "max_bytes", "timeout_ns"}
    of_plans = set(inspect.signature(eddy.Plan).parameters)
    of_runs = set(inspect.signature(eddy._options.RunOptions).parameters)
    assert fields("eddy_plan_options") - plan <= of_plans
    assert fields("eddy_limits") - limits <= of_plans
    assert fields("eddy_run_options") - run <= of_runs
    assert {"native", "plan_bytes", "plan_timeout"} <= of_plans


@pytest.mark.parametrize("executor", ["auto", "dynamic", "linear", "native"])
@pytest.mark.parametrize("optimize", ["none", "exact", "full"])
def test_executors_and_levels_agree(executor, optimize):
    g, x = loop()
    want = 3.0
    for _ in range(7):
        want = want * 0.5 + 1.0
    plan = g.plan(fetches=x, executor=executor, optimize=optimize)
    assert plan(n=7) == want and plan.stats.iterations == 8
    assert g.plan(fetches=x, executor=executor, native=False)(n=7) == want


def test_what_is_no_executor_is_refused_with_those_that_are():
    g, x = loop(3)
    with pytest.raises(ValueError, match="'warp'.*'auto', 'dynamic'"):
        g.plan(fetches=x, executor="warp")
    with pytest.raises(ValueError, match="'most'.*'none', 'exact'"):
        g.plan(fetches=x, optimize="most")
    with pytest.raises(TypeError, match="speed"):
        g.plan(fetches=x, speed=11)


def test_passes_are_left_out():
    g = eddy.Graph()
    x = g.placeholder("float32", [], name="x")
    y = g.ops.Identity(x) + g.ops.Identity(x)
    assert len(g.plan(fetches=y)) < len(g.plan(fetches=y, without="identities"))
    assert g.plan(fetches=y, without=["identities", "common"])(x=3.0) == 6
    with pytest.raises(eddy.Error, match="no_such_pass"):
        g.plan(fetches=y, without="no_such_pass")


def test_each_pass_is_observed():
    g, x = loop(3)
    g.constant(1.0, name="unused")
    seen = []
    plan = g.plan(fetches=x, observe=lambda *what: seen.append(what))
    names = [name for name, _, _ in seen]
    assert "fold" in names and names.index("prune") < names.index("fold")
    graph, needed = next(s[1:] for s in seen if s[0] == "prune")
    assert seen[0][2] is None and "unused" not in needed
    assert {n for n in needed} <= {op.name for op in graph}
    assert plan() == 3 * 0.125 + 1.75


def test_an_observer_that_raises_ends_planning_with_what_it_raised():
    g, x = loop(3)
    seen = []

    def look(name, graph, needed):
        seen.append(name)
        raise KeyError("seen")
    with pytest.raises(KeyError, match="seen"):
        g.plan(fetches=x, observe=look)
    assert len(seen) == 1


def test_planning_is_limited_and_given_up():
    g, x = loop(3)
    for limits in ({"max_nodes": 4}, {"plan_bytes": 100}):
        with pytest.raises(eddy.ResourceExhaustedError):
            g.plan(fetches=x, **limits)
    with pytest.raises(eddy.DeadlineExceededError):
        g.plan(fetches=x, plan_timeout=1e-9)
    with pytest.raises(eddy.CancelledError):
        g.plan(fetches=x, is_cancelled=lambda: True)

    def fail():
        raise ZeroDivisionError("asked")
    with pytest.raises(ZeroDivisionError, match="asked"):
        g.plan(fetches=x, is_cancelled=fail)
    asked = []
    plan = g.plan(fetches=x, is_cancelled=lambda: asked.append(1),
                  max_nodes=1000, plan_bytes=1 << 20, plan_timeout=60)
    assert asked and plan() == 3 * 0.125 + 1.75


def test_an_execution_has_its_limits():
    g, x = loop()
    with pytest.raises(eddy.ResourceExhaustedError, match="iterations"):
        g.plan(fetches=x, max_iterations=3)(n=100)
    outer = eddy.Graph()
    y = eddy.while_loop(
        lambda i: i < 5, lambda i: i + eddy.while_loop(
            lambda k: k < 1, lambda k: k + 1, outer.constant(0)),
        outer.constant(0))
    assert outer.plan(fetches=y)() == 5
    with pytest.raises(eddy.ResourceExhaustedError, match="frames"):
        outer.plan(fetches=y, max_frames=3)()


def test_files_are_refused():
    g = eddy.Graph()
    value = g.ops.RestoreV2(b"/nowhere/model",
                            np.array([b"x"], object), np.array([b""], object),
                            dtypes=["float32"])
    with pytest.raises(eddy.PermissionDeniedError):
        g.plan(fetches=value, no_files=True)()
    with pytest.raises(eddy.NotFoundError):
        g.plan(fetches=value)()


def test_progress_is_told_and_may_end_the_run():
    g, x = loop()
    seen = []
    plan = g.plan(fetches=x, progress=seen.append, progress_seconds=0.001,
                  executor="dynamic")
    plan(n=300000)
    assert seen and seen[-1].iterations > 0 and seen[-1].elapsed > 0
    assert "while" in seen[-1].frame and seen[-1].node

    def enough(now):
        raise StopIteration("enough")
    plan = g.plan(fetches=x, progress=enough, progress_seconds=0.001)
    with pytest.raises(StopIteration, match="enough"):
        plan(n=2000000000)
    assert plan(n=1) == 2.5


def test_a_loop_is_saved_and_gone_on_with(tmp_path):
    folder = tmp_path / "saved"
    g, x = loop()
    want = g.plan(fetches=x)(n=30)
    first = g.plan(fetches=x, max_iterations=20,
                   checkpoint=eddy.Checkpoint(folder, every=6))
    with pytest.raises(eddy.Error, match="20 iterations"):
        first(n=30)
    with pytest.raises(eddy.Error, match="of trip 18"):
        g.plan(fetches=x, checkpoint=eddy.Checkpoint(folder, every=6))
    rest = g.plan(fetches=x, checkpoint=eddy.Checkpoint(folder, resume=True))
    assert rest(n=30) == want and rest.stats.iterations == 13
