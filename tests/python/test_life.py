# SPDX-License-Identifier: Apache-2.0
"""Threads, the end of the process, and a collector that is out for trouble."""
import gc
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import eddy


def heavy(n):
    """A loop of n trips, as a plan of n."""
    g = eddy.Graph()
    limit = g.placeholder("int32", [], name="n")
    i = eddy.while_loop(lambda i: i < limit, lambda i: i + 1, g.constant(0))
    return g.plan(fetches=i)


def in_process(code, check=True):
    path = os.pathsep.join(sys.path)
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)],
                          env={**os.environ, "PYTHONPATH": path}, check=check,
                          timeout=100, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)


def test_any_number_of_threads_call_one_plan():
    plan, wrong = heavy(0), []

    def work(k):
        for n in range(k, k + 100):
            if plan(n) != n:
                wrong.append(n)
    threads = [threading.Thread(target=work, args=(50 * k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_pythons_lock_is_free_while_a_plan_runs():
    plan, done, ticks = heavy(0), threading.Event(), []

    def work():
        plan(100_000_000)  # a tenth of a second as machine code
        done.set()
    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    thread.join()
    assert len(ticks) > 5  # this thread went on meanwhile


def test_a_signal_ends_a_run():
    g = eddy.Graph()
    i = eddy.while_loop(lambda i: i >= 0, lambda i: i * 1, g.constant(0))
    plan = g.plan(fetches=i, timeout=60)
    # A process that a shell started in the background ignores this signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            plan()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begin < 30
    with pytest.raises(eddy.DeadlineExceededError):
        g.plan(fetches=i, timeout=0.01)()


def test_python_kernels_run_on_workers():
    ctx = eddy.Context(workers=2)
    eddy.register("Half", "x: T", "y: T", "T: {float32}",
                  kernel=lambda x: x / np.float32(2), context=ctx)
    g = eddy.Graph(ctx)
    x = g.placeholder("float32", name="x")
    parts = [g.ops.Half(x * float(k)) for k in range(4)]
    big = np.ones(100_000, "f4")
    for got, k in zip(g.plan(fetches=parts)(big), range(4)):
        np.testing.assert_array_equal(got, big * k / 2)


END = """
    import gc, {first}
    import numpy as np, eddy
    gc.set_threshold({threshold})
    class Loop: pass
    def make():
        keep = Loop()
        keep.self = keep                     # only the collector frees it
        keep.ctx = eddy.Context(workers=2)
        keep.g = eddy.Graph(keep.ctx)
        x = keep.g.placeholder("float32", [None], name="x")
        keep.session = eddy.Session(keep.ctx)
        i, y = eddy.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * x),
                               [keep.g.constant(0), x])
        keep.plan = keep.g.plan(fetches=[y, *keep.g.gradients(y, x)],
                                session=keep.session)
        keep.results = keep.plan(np.ones(70000, "f4"))
        keep.structure = keep.g.structure
        keep.tensor = eddy.tensor(np.ones(3), context=keep.ctx)
        return keep
    kept = [make() for _ in range({times})]
    {last}
    print("end")
"""


@pytest.mark.parametrize("last", [
    "pass", "del kept; gc.collect()", "gc.disable()",
    "import atexit; atexit.register(lambda: kept[0].plan(np.ones(3, 'f4')))",
    "global held; held = kept[0].results[0]; kept = None"])
@pytest.mark.parametrize("threshold", ["1", "700"])
def test_objects_end_in_any_order(last, threshold):
    code = END.format(first="atexit", threshold=threshold, times=3, last=last)
    done = in_process(code, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "end\n" and "Exception" not in done.stderr


def test_nothing_is_left_behind_by_calls():
    g = eddy.Graph()
    x = g.placeholder("float32", name="x")
    plan = g.plan(fetches=[x * 2.0, x + 1.0])
    value = np.ones(20_000, "f4")

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(500):
        plan(value)
    gc.collect()
    before = peak()
    for _ in range(10_000):
        plan(value)
    assert peak() - before < 20_000  # KiB; a leak of a result were 780,000


def test_many_objects_are_made_and_forgotten():
    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for k in range(60):
        if k == 20:
            before = peak()
        g = eddy.Graph()
        x = g.constant(np.zeros(100_000))
        g.plan(fetches=x * 2.0, session=eddy.Session())()
        g.to_bytes()
    assert peak() - before < 40_000
