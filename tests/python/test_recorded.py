# SPDX-License-Identifier: Apache-2.0
"""Every case that was recorded from TensorFlow, through Python."""
import json
import pathlib

import numpy as np
import pytest

import eddy

ROOT = pathlib.Path(__file__).resolve().parents[1] / "conformance"
CASES = sorted(p.parent for kind in ("tf", "findings")
               for p in (ROOT / kind).rglob("case.json"))

#: TensorFlow's classes as eddy's codes; the rest go by their names.
CLIENT = {"ValueError": {"INVALID_ARGUMENT", "NOT_FOUND"}, "TypeError": {"INVALID_ARGUMENT"},
          "KeyError": {"NOT_FOUND", "INVALID_ARGUMENT"}}


def codes_of(name):
    if name in CLIENT:
        return CLIENT[name]
    words = name.removesuffix("Error")
    return {"".join("_" + c if c.isupper() and i else c
                    for i, c in enumerate(words)).upper()}


def load(case, name):
    array = np.load(case / name, allow_pickle=False)
    # A dtype that NumPy has no name for stands as its bytes.
    return array.view(np.uint16) if array.dtype == np.dtype("V2") else array


def same(got, want, rtol, atol):
    if want.dtype.kind in "SUO":
        flat = [x.encode() if isinstance(x, str) else x
                for x in want.reshape(-1).tolist()]
        # NumPy drops NULs at the end of texts of a fixed length.
        mine = [x.rstrip(b"\0") for x in got.reshape(-1).tolist()]
        return got.shape == want.shape and mine == flat
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if want.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            wide = complex if want.dtype.kind == "c" else float
            return np.allclose(got.astype(wide), want.astype(wide), rtol, atol,
                               equal_nan=True)
    return np.array_equal(got, want)


def as_fetched(plan, i, got, case, name):
    """bfloat16 is recorded as its bits, which are no numbers to compare."""
    want = load(case, name)
    if plan.fetch_dtypes[i] == "bfloat16":
        got, want = (np.left_shift(x, 16, dtype=np.uint32).view(np.float32)
                     for x in (got, want))
    return got, want


def compare(case, plan, results, run):
    for i, (got, name) in enumerate(zip(results, run["expect"])):
        got, want = as_fetched(plan, i, got, case, name)
        assert same(got, want, run["rtol"], run["atol"]), (
            f"{plan.fetches[i].name}: {got!r}, wanted {want!r}")


def execute(case, run):
    """As one step of a session of its own."""
    graph = eddy.load(case / "graph.pb")
    plan = graph.plan(feeds=list(run["feeds"]), fetches=run["fetches"],
                      targets=run.get("targets", ()),
                      session=eddy.Session())
    return plan, plan(*[load(case, f) for f in run["feeds"].values()])


def check_gradients(case, want):
    graph = eddy.load(case / "graph.pb")
    if graph.functions:
        graph = graph.lowered()
    found = graph.gradients(
        want["ys"], want["xs"], grad_ys=want.get("grad_ys"),
        stop=want.get("stop_gradients", ()), order=want["order"])
    pairs = []
    for gradient, name in zip(found, want["expect"]):
        if name is None:
            assert gradient is None
        elif gradient is None:  # nothing leads there: TensorFlow has zeros
            assert not load(case, name).any()
        else:
            pairs.append((gradient, name))
    if not pairs:
        return
    plan = graph.plan(feeds=list(want["feeds"]), fetches=[g for g, _ in pairs],
                      session=eddy.Session())
    results = plan(*[load(case, f) for f in want["feeds"].values()])
    compare(case, plan, results, {**want, "expect": [e for _, e in pairs]})


@pytest.mark.parametrize("case", CASES,
                         ids=lambda c: f"{c.parent.name}/{c.name}")
def test_case(case):
    about = json.loads((case / "case.json").read_text())
    for run in about["runs"]:
        if "error" in run:
            with pytest.raises(eddy.Error) as found:
                execute(case, run)
            assert found.value.code in codes_of(run["error"]["class"])
            continue
        plan, results = execute(case, run)
        compare(case, plan, results, run)
    for want in filter(None, [about.get("gradients"),
                              *about.get("more_gradients", [])]):
        if "error" not in want:
            check_gradients(case, want)


def test_there_are_cases():
    assert len(CASES) >= 388
