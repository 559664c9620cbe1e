# SPDX-License-Identifier: Apache-2.0
"""The package as one uses it: graphs, plans, control flow, gradients, ops."""
import pathlib
import threading
from xml.etree import ElementTree

import numpy as np
import pytest

import eddy

ROOT = pathlib.Path(__file__).resolve().parents[1] / "conformance"


def counter(n=None):
    g = eddy.Graph()
    limit = g.placeholder("int32", [], name="n") if n is None else n
    i, total = eddy.while_loop(lambda i, t: i < limit,
                               lambda i, t: (i + 1, t + i),
                               [g.constant(0), g.constant(0)])
    return g, total


def test_a_loop_counts_and_says_so():
    g, total = counter()
    plan = g.plan(fetches=total)
    assert plan(n=10) == 45
    assert plan.stats.iterations == 11
    assert [f.name for f in plan.feeds] == ["n:0"]
    assert len(plan) > 10


def test_a_loop_is_an_object():
    g, _ = counter(7)
    loop, = g.loops
    assert loop.trips == 7 and loop.parent is None and loop.depth == 1
    assert loop.variables[0].exit.type == "Exit"
    assert [o.op.type for o in g.outputs] == ["Exit", "Exit"]


def test_a_branch_is_an_object():
    g = eddy.Graph()
    x = g.placeholder("float32", [], name="x")
    y = eddy.cond(x > 0, lambda: x * 2, lambda: -x)
    assert {b.side for b in g.branches} == {0, 1}
    plan = g.plan(fetches=y)
    assert plan(3.0) == 6 and plan(-3.0) == 3


def test_constructs_as_context_managers():
    g = eddy.Graph()
    with eddy.While(g, [g.constant(0), g.constant(1)]) as loop:
        i, p = loop.variables
        i, p = loop.body(i < 5)
        with eddy.Cond(p > 4) as cond:
            cond.otherwise(p + 1)
            cond.end(p * 2)
        loop.next(i + 1, cond.results[0])
    # 1, 2, 4, 8, 9, 10
    assert g.plan(fetches=loop.results[1])() == 10


def test_a_construct_that_fails_is_taken_back():
    g = eddy.Graph()
    size = len(g)
    with pytest.raises(ZeroDivisionError):
        with eddy.While(g, [1]) as loop:
            with eddy.Cond(loop.variables[0] < 3):
                1 / 0
    with pytest.raises(RuntimeError, match="not ended"):
        with eddy.While(g, [1]):
            pass
    with pytest.raises(TypeError, match="no value until"):
        eddy.while_loop(lambda i: i < 3 and i > 1, lambda i: i + 1,
                        g.constant(0))
    assert len(g) <= size + 4  # the constants outside
    assert eddy.lib.eddy_construct_depth(g._ptr) == 0


def test_scan_foldl_map_fn_foreach():
    g = eddy.Graph()
    x = g.placeholder("float32", [None, 2], name="x")
    value = np.arange(6, dtype="f4").reshape(3, 2)
    sums = eddy.scan(lambda a, item: a + item, x)
    last = eddy.foldl(lambda a, item: a + item, x, g.constant([0., 0.]))
    first = eddy.foldr(lambda a, item: item, x)
    twice = eddy.map_fn(lambda item: item * 2, x)
    steps, state = eddy.foreach(lambda item, s: (item * s, s + 1), x,
                                g.constant(1.0))
    got = g.plan(fetches=[sums, last, first, twice, steps, state])(value)
    np.testing.assert_array_equal(got[0], np.cumsum(value, 0))
    np.testing.assert_array_equal(got[1], value.sum(0))
    np.testing.assert_array_equal(got[2], value[0])
    np.testing.assert_array_equal(got[3], 2 * value)
    np.testing.assert_array_equal(got[4], value * [[1], [2], [3]])
    assert got[5] == 4


def test_an_exception_in_a_step_comes_out_as_it_is():
    g = eddy.Graph()
    x = g.placeholder("float32", [3])
    with pytest.raises(KeyError, match="lost"):
        eddy.map_fn(lambda item: {}["lost"], x)


@pytest.mark.parametrize("tape", ["keep", "recompute", "spill", "auto"])
def test_tapes_by_policy(tape, tmp_path):
    g = eddy.Graph()
    x = g.placeholder("float64", [3])
    _, y = eddy.while_loop(lambda i, v: i < 50, lambda i, v: (i + 1, v * x),
                           [g.constant(0), x], name="w")
    plan = g.plan(fetches=g.gradients(y, x, tape=tape), spill_above=1,
                  max_spill_bytes=1 << 20, spill_folder=tmp_path)
    np.testing.assert_allclose(plan([1, 1.01, 0.9])[0],
                               51 * np.array([1, 1.01, 0.9]) ** 50)
    assert not list(tmp_path.iterdir())
    with pytest.raises(eddy.InvalidArgumentError, match="'none'"):
        g.gradients(y, x, tape={"none": "keep", None: tape})


def test_gradients_of_every_order():
    g = eddy.Graph()
    x = g.placeholder("float64", [], name="x")
    y = x ** 3
    for order, want in ((1, 12), (2, 12), (3, 6)):
        assert g.plan(fetches=g.gradients(y, x, order=order))(2.0)[0] == want
    assert g.plan(fetches=g.jvp(y, [x]))(2.0)[0] == 12
    assert g.plan(fetches=g.gradients(y, x, forward=True))(2.0)[0] == 12
    assert g.plan(fetches=g.hvp(y, [x]))(2.0)[0] == 12
    assert g.gradients(g.constant(1.0), x) == [None]
    assert g.plan(fetches=g.gradients(g.constant(1.0), x, zeros=True))(2.)[0] \
        == 0


def test_a_gradient_through_a_loop():
    g = eddy.Graph()
    x = g.placeholder("float64", [], name="x")
    _, y = eddy.while_loop(lambda i, v: i < 4, lambda i, v: (i + 1, v * x),
                           [g.constant(0), g.constant(1.0, "float64")])
    assert g.plan(fetches=g.gradients(y, x))(3.0)[0] == 4 * 3.0 ** 3
    assert g.plan(fetches=g.gradients(y, x, order=2))(3.0)[0] == 12 * 9


def test_errors_say_what_and_where():
    g, total = counter()
    with pytest.raises(eddy.NotFoundError) as e:
        g["nope"]
    assert e.value.code == "NOT_FOUND"
    assert e.value.detail == "EDDY_E_UNKNOWN_NAME"
    x = g.placeholder("int32", [], name="d")
    _, y = eddy.while_loop(lambda i, v: i < 5,
                           lambda i, v: (i + 1, g.constant(6) // (i - x)),
                           [g.constant(0), g.constant(0)], name="w")
    with pytest.raises(eddy.InvalidArgumentError) as e:
        g.plan(fetches=y)(3)
    assert e.value.op == "FloorDiv" and "[3]" in e.value.frame
    assert e.value.detail == "EDDY_E_DIVISION_BY_ZERO"
    # The plan goes on after it.
    plan = g.plan(fetches=y)
    with pytest.raises(eddy.Error):
        plan(2)
    assert plan(100) == -1


def test_feeds_by_name_by_order_and_what_is_wrong_with_them():
    g = eddy.Graph()
    a, b = (g.placeholder("float32", [], name=n) for n in "ab")
    plan = g.plan(feeds=["a", "b:0"], fetches={"sum": a + b, "a": a})
    for result in (plan(1, 2), plan(b=2, a=1), plan({"a:0": 1, b: 2})):
        assert result == {"sum": 3, "a": 1}
    with pytest.raises(TypeError, match="missing: b:0"):
        plan(1)
    with pytest.raises(TypeError, match="no feed 'c'"):
        plan(1, c=2)
    with pytest.raises(TypeError, match="3 feeds"):
        plan(1, 2, 3)
    with pytest.raises(eddy.Error, match="FEED_DTYPE"):
        plan(np.int32(1), np.float32(1))


def test_variables_live_in_a_session():
    g = eddy.Graph()
    v = g.ops.VarHandleOp(dtype="float32", shape=[2], shared_name="v")
    add = g.ops.AssignAddVariableOp(v, g.placeholder("float32", [2], name="x"))
    session, other = eddy.Session(), eddy.Session()
    session["v"] = start = np.ones(2, "f4")
    plan = g.plan(fetches=[], targets=[add], session=session)
    plan([1, 2])
    plan([1, 2])
    np.testing.assert_array_equal(session["v"], [3, 5])
    np.testing.assert_array_equal(start, [1, 1])  # what was set is not written
    with pytest.raises(KeyError):
        other["v"]
    other["v"] = np.zeros(2, "f4")
    plan.run({"x": [7, 7]}, session=other)
    np.testing.assert_array_equal(other["v"], [7, 7])
    assert list(session) == ["v"] and len(session) == 1
    session.clear()
    assert dict(session) == {}


def test_what_a_run_initialises_lives_in_an_empty_session():
    g = eddy.Graph()
    v = g.ops.VarHandleOp(dtype="float32", shape=[2], shared_name="v")
    start = g.ops.AssignVariableOp(v, g.constant(np.float32([3, 5])))
    read = g.ops.ReadVariableOp(v, dtype="float32")
    session, other = eddy.Session(), eddy.Session()
    g.plan(fetches=[], targets=[start], session=session)()
    np.testing.assert_array_equal(session["v"], [3, 5])
    plan = g.plan(fetches=[read], session=session)
    np.testing.assert_array_equal(plan()[0], [3, 5])
    with pytest.raises(eddy.Error, match="UNINITIALIZED"):
        plan.run(session=other)


def test_an_op_of_a_programs_own():
    ctx = eddy.Context()
    calls = []

    def kernel(x):
        calls.append(threading.get_ident())
        return 2 * x
    eddy.register("Twice", "x: T", "y: T", "T: {float32, float64}",
                  kernel=kernel, shape=lambda s: s, context=ctx,
                  gradient=lambda n: n.set(0, n.add("Twice", n.given())))
    g = eddy.Graph(ctx)
    x = g.placeholder("float32", [3], name="x")
    y = g.ops.Twice(g.ops.Twice(x))
    assert y.shape == (3,)
    dx, = g.gradients(y, x)
    got = g.plan(fetches=[y, dx])([1, 2, 3])
    np.testing.assert_array_equal(got, [[4, 8, 12], [4, 4, 4]])
    assert calls
    with pytest.raises(eddy.AlreadyExistsError):
        eddy.register("Twice", "x: T", "y: T", "T: type", kernel=kernel,
                      context=ctx)


def test_an_exception_in_a_kernel_is_the_cause():
    ctx = eddy.Context()
    eddy.register("Bad", "x: T", "y: T", "T: type", context=ctx,
                  kernel=lambda x: {}["lost"])
    g = eddy.Graph(ctx)
    with pytest.raises(eddy.InternalError, match="KeyError: 'lost'") as e:
        g.plan(fetches=g.ops.Bad(g.placeholder("int8", name="x")))(x=1)
    assert isinstance(e.value.__cause__, KeyError) and e.value.node == "Bad"


def test_attributes_of_every_kind():
    g = eddy.Graph()
    x = g.placeholder("float32", [2, 2], name="x")
    y = g.ops.MatMul(x, x, transpose_b=True, name="m")
    assert y.op.attr("transpose_b") is True and y.op.attr("T") == "float32"
    assert g.ops.Cast(x, DstT="int32").dtype == "int32"
    with pytest.raises(KeyError):
        y.op.attr("nope")
    with pytest.raises(AttributeError):
        g.ops.NoSuchOp
    assert "transpose_a" in g.ops.MatMul.__doc__
    assert y.op.inputs == (x, x) and g.operation("m") == y.op


def test_arithmetic_and_slices():
    g = eddy.Graph()
    x = g.placeholder("float32", [3, 4], name="x")
    i = g.placeholder("int32", [4], name="i")
    b = x > 5
    value, whole = np.arange(12, dtype="f4").reshape(3, 4), np.arange(1, 5)
    wants = {
        "a": (1 - x / 2 + 3 * x % 5, 1 - value / 2 + 3 * value % 5),
        "b": (-abs(x - 6), -abs(value - 6)),
        "c": (b & ~(x > 9), (value > 5) & ~(value > 9)),
        "d": ((i | 8) ^ 3, (whole | 8) ^ 3), "e": (7 // i, 7 // whole),
        "f": (x[1], value[1]), "g": (x[..., 1:3], value[..., 1:3]),
        "h": (x[::2, None, -1], value[::2, None, -1]),
        "j": (x[i[0]], value[1]),
        "k": (eddy.equal(x, 3), value == 3),
    }
    got = g.plan(fetches={k: v for k, (v, _) in wants.items()})(
        x=value, i=whole.astype("i4"))
    for key, (_, want) in wants.items():
        np.testing.assert_allclose(got[key], want, err_msg=key)


def test_a_graph_goes_to_a_file_and_back(tmp_path):
    g, total = counter()
    g.save(tmp_path / "g.pb")
    for source in (tmp_path / "g.pb", str(tmp_path / "g.pb"), g.to_bytes()):
        again = eddy.load(source)
        assert again.plan(fetches=total.name)(n=5) == 10

    class Proto:  # as TensorFlow's GraphDef and Graph have them
        def SerializeToString(self):
            return g.to_bytes()

        def as_graph_def(self):
            return self
    assert len(eddy.load(Proto())) == len(g)
    with pytest.raises(eddy.InvalidArgumentError):
        eddy.load(b"\xff\xff nothing")
    with pytest.raises(eddy.Error):
        eddy.load(tmp_path / "none.pb")


def test_onnx_models_are_read():
    if not hasattr(eddy.lib, "eddy_onnx_load"):
        pytest.skip("this eddy reads no ONNX models")
    found = sorted((ROOT / "onnx").rglob("model.onnx"))
    assert found
    loaded = 0
    for path in found[:20]:
        try:
            g = eddy.load(path)
        except eddy.Error:
            continue
        loaded += 1
        assert len(g.outputs) >= 1
        assert len(eddy.load(path.read_bytes())) == len(g)
    if not loaded:
        pytest.skip("no operators of these models are there yet")


def test_a_saved_model_is_called_by_its_signature():
    folder = ROOT / "savedmodel"
    model = eddy.load_saved_model(folder / "nested")
    x, y = (np.load(folder / "nested" / f"{n}.npy") for n in "xy")
    got = model(x=x, n=5)
    assert got["i"] == 5
    np.testing.assert_allclose(got["y"], y, atol=1e-6)
    signature = model["serving_default"]
    assert list(signature.inputs) == ["n", "x"]
    np.testing.assert_allclose(signature(5, x)["y"], y, atol=1e-6)
    with pytest.raises(eddy.NotFoundError, match="serving_default"):
        model["other"]
    # The graph alone has its variables too.
    graph = eddy.load(folder / "lstm")
    x, y = (np.load(folder / "lstm" / f"{n}.npy") for n in "xy")
    plan = graph.plan(feeds=["serving_default_keras_tensor"],
                      fetches="StatefulPartitionedCall_1:0")
    np.testing.assert_allclose(plan(x), y, atol=1e-6)
    assert graph.loops


def test_a_graph_draws_itself():
    g, _ = counter()
    bundle = g._repr_mimebundle_()
    assert "text/plain" in bundle
    assert bundle["image/svg+xml"] == g.to_svg()
    assert ElementTree.fromstring(g.to_svg()).tag.endswith("svg")
    for name in ("NextIteration", "while_context"):
        assert name in g.to_svg() and name in g.to_dot()
    assert "image/svg+xml" not in eddy.Graph()._repr_mimebundle_()


def test_limits_end_a_run():
    g = eddy.Graph()
    i = eddy.while_loop(lambda i: i >= 0, lambda i: i * 1, g.constant(0))
    with pytest.raises(eddy.ResourceExhaustedError):
        g.plan(fetches=i, max_iterations=1000)()
    with pytest.raises(eddy.DeadlineExceededError) as e:
        g.plan(fetches=i, timeout=0.05)()
    assert isinstance(e.value, TimeoutError)


def test_values_are_compared_as_tensorflow_would_give_them():
    from eddy._verify import same
    assert same(np.float32(1), np.float32(1 + 1e-7), 1e-5, 0)
    assert not same(np.float32(1), np.float32(1.1), 1e-5, 0)
    assert not same(np.float32(1), np.float64(1), 1e-5, 0)
    assert not same(np.zeros(2), np.zeros((2, 1)), 1, 1)
    assert same(np.array([np.nan]), np.array([np.nan]), 0, 0)
    assert same(np.array([b"a"], object), np.array([b"a"], object), 0, 0)
    assert not same(np.array([1]), np.array([2]), 1, 9)


def test_a_graph_is_held_against_tensorflow():
    pytest.importorskip("tensorflow")
    g = eddy.Graph()
    x = g.placeholder("float32", [None], name="x")
    _, y = eddy.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x),
                           [g.constant(0), x])
    dy, = g.gradients(y, [x])
    found = eddy.verify(g, {"x": np.array([1, 2], "f4")}, [y, dy])
    assert found and found.compared == 2 and not found.first

    # An op that TensorFlow has too, and does otherwise.
    context = eddy.Context()
    op = next(n for n in ("Dawsn", "Expint", "FresnelSin", "Spence")
              if n not in dir(eddy.Graph(context).ops))
    eddy.register(op, "x: T", "y: T", "T: {float32}",
                  kernel=lambda v: v + 1, shape=lambda s: s, context=context)
    g = eddy.Graph(context)
    x = g.placeholder("float32", [], name="x")
    odd = g.add(op, x + 0.25, name="odd")
    g.add("Neg", odd * 2, name="last")
    found = eddy.verify(g, {"x": 0.25}, ["last"])
    assert not found and found.differing == ("last:0",)
    assert found.first == "odd:0" and "odd:0" in repr(found)


def test_without_tensorflow_verify_says_so(monkeypatch):
    import sys
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    g = eddy.Graph()
    g.constant(1.0, name="c")
    with pytest.raises(ImportError):
        eddy.verify(g, fetches=["c"])
