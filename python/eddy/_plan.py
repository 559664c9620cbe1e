# SPDX-License-Identifier: Apache-2.0
"""Plans and sessions: a graph compiled, and run from any number of threads."""
import weakref
from collections import deque
from collections.abc import MutableMapping
from dataclasses import dataclass

import numpy as np

from ._base import (CLASSES, NAMES, NUMPY, check, default_context, ffi,
                    from_shape, lib, new_error, no_memory, text_of,
                    to_exception)
from ._graph import Operation, Output
from ._options import PlanOptions, RunOptions
from ._tensor import Tensor, own, to_box, to_numpy


class Session(MutableMapping):
    """What outlives runs: variables, by name, and other resources.

        session = eddy.Session()
        step = graph.plan(fetches=["loss"], targets=["train"], session=session)
        session["w"] = numpy.zeros((4, 3), "f4")
    """

    def __init__(self, context=None):
        self.context = context or default_context()
        out, err = ffi.new("eddy_session **"), new_error()
        check(lib.eddy_session_create(self.context._ptr, out, err), err)
        held = lib.eddy_py_session_new(self.context._ptr, out[0])
        if held == ffi.NULL:
            lib.eddy_session_release(out[0])
            raise no_memory()
        self._held = ffi.gc(held, lib.eddy_py_session_free)
        self._ptr = held.session
        self._pools = weakref.WeakKeyDictionary()  # idle runs of each plan

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other

    def __getitem__(self, name):
        out, err = ffi.new("eddy_tensor **"), new_error()
        status = lib.eddy_session_get_variable(self._ptr, name.encode(), out,
                                               err)
        if status == lib.EDDY_NOT_FOUND:
            raise KeyError(name)
        check(status, err)
        box = lib.eddy_py_box_new(self.context._ptr, out[0])
        if box == ffi.NULL:
            lib.eddy_tensor_release(out[0])
            raise no_memory()
        return to_numpy(own(box))

    def __setitem__(self, name, value):
        """Copies the value: an update may write the variable in place."""
        if not isinstance(value, Tensor):
            declared = {n: d for n, _, d in self._each()}.get(name, 0)
            value = np.array(value) if isinstance(value, np.ndarray) else value
        else:
            declared = 0
        err, box = new_error(), to_box(self.context, value, declared)
        check(lib.eddy_session_set_variable(self._ptr, name.encode(),
                                            box.tensor, err), err)

    def __delitem__(self, name):
        raise TypeError("a variable stays until the session is cleared")

    def _each(self):
        info = ffi.new("eddy_variable_info *")
        i = 0
        while lib.eddy_session_variable(self._ptr, i, info):
            yield text_of(info.name), bool(info.is_initialized), info.dtype
            i += 1

    def __iter__(self):
        """The names of the variables that have a value."""
        return iter([name for name, is_there, _ in self._each() if is_there])

    def __len__(self):
        return sum(1 for _ in self)

    def clear(self):
        lib.eddy_session_clear(self._ptr)

    def __repr__(self):
        return f"<eddy.Session of {len(self)} variables>"


@dataclass(frozen=True)
class Stats:
    """What an execution counted."""
    live_executions: int
    dead_executions: int
    iterations: int
    frames: int
    peak_bytes: int
    allocations: int


class _Slot:
    """A run with room for all that a call hands over."""
    __slots__ = ("held", "run", "call", "objects", "as_dtypes", "boxes")

    def __init__(self, plan, session, recorder=ffi.NULL):
        out, err = ffi.new("eddy_run **"), new_error()
        options = ffi.new("eddy_run_options *", plan._run_options[0])
        # A session without variables has no length, and is one all the same.
        options.session = ffi.NULL if session is None else session._ptr
        options.recorder = recorder
        check(lib.eddy_run_create(plan._ptr, options, out, err), err)
        ctx = plan.graph_context._ptr
        held = lib.eddy_py_run_new(ctx, out[0])
        if held == ffi.NULL:
            lib.eddy_run_destroy(out[0])
            raise no_memory()
        self.held = ffi.gc(held, lib.eddy_py_run_free)
        self.run = out[0]
        n_feeds, n_fetches = len(plan.feeds), len(plan.fetches)
        self.objects = ffi.new("uintptr_t[]", max(n_feeds, 1))
        self.as_dtypes = ffi.new("int32_t[]", max(n_feeds, 1))
        self.boxes = ffi.new("eddy_py_box *[]", max(n_fetches, 1))
        self.call = ffi.new("eddy_py_call *", {
            "ctx": ctx, "run": self.run, "n_feeds": n_feeds,
            "objects": self.objects, "as_dtypes": self.as_dtypes,
            "n_fetches": n_fetches, "boxes": self.boxes,
            "ndarray": id(np.ndarray), "dtypes": id(plan._result_dtypes)})

    def stats(self):
        s = lib.eddy_run_stats(self.run)
        return Stats(s.live_executions, s.dead_executions, s.iterations,
                     s.frames, s.peak_bytes, s.allocations)


# Looked up once: they are on the way of every call.
_ndarray, _execute = np.ndarray, lib.eddy_py_execute
_DONE, _CONVERT = lib.EDDY_PY_DONE, lib.EDDY_PY_CONVERT


class Plan:
    """A graph compiled for given feeds and fetches; call it to run it.

        step = graph.plan(feeds=["x", "w"], fetches=["loss"])
        loss, = step(x=x, w=w)          # or step(x, w), or step({"x:0": x, ...})

    feeds    names or Outputs; None: the placeholders that the fetches need
    fetches  one, a list, or a dict; a call gives values in the same form; None:
             all outputs of the graph
    targets  nodes that must run beside
    executor auto, dynamic, linear or native: who runs loops; native=False: no
             machine code
    optimize none, exact or full; `without`: names of passes that are left out
    parallel_iterations
             above 0: in place of those of the graph's loops
    observe  called as f(pass, graph, needed) after each pass of planning, with
             a copy of the graph and the names of the nodes that are needed,
             or None before anything is pruned
    max_nodes, plan_bytes, plan_timeout, is_cancelled
             of planning: nodes, bytes, seconds, and a function that says
             whether to give up
    checkpoint
             an eddy.Checkpoint: the loop that is in no other is saved
    record   trace() goes by the linear executor where a call does; else by the
             dynamic one, unless the linear one is asked for
    timeout, max_iterations, max_bytes, max_frames
             of an execution: seconds, iterations of all loops, bytes, loops
    progress called as f(eddy.Progress) each `progress_seconds` of a run, which
             ends if it raises
    no_files nodes that read or write files fail
    keep_denormals
             they are not taken as zeros
    untrusted
             with limits fit for graphs of unknown origin
    tensors  results are eddy.Tensor
    spill_above, max_spill_bytes, spill_folder
             of tapes that spill: bytes in memory and in the file, and where
             that is

    Any number of threads may call a plan at once; each call has a run of its
    own, kept for the next.  Arrays that are C-contiguous are fed without a copy,
    and results are arrays over eddy's memory, which are not to be written.
    Python's lock is let go of while a plan runs.  Without workers Ctrl-C ends a
    run.
    """

    def __init__(self, graph, feeds=None, fetches=None, targets=(), *,
                 session=None, tensors=False, untrusted=False,
                 optimize="exact", executor="auto", parallel_iterations=0,
                 native=True, without=(), observe=None, max_nodes=0,
                 plan_bytes=0, plan_timeout=0, is_cancelled=None,
                 checkpoint=None, record=False, **of_runs):
        self.graph_context = graph.context
        self.session, self._tensors = session, tensors
        if fetches is None and not targets:
            fetches = list(graph.outputs)
        self._form, wanted = _form_of(fetches)
        self.fetches = tuple(_find(graph, f) for f in wanted)
        self._targets = [graph.operation(t) for t in targets]
        if feeds is None:
            feeds = _needed(graph, self.fetches, self._targets)
        elif isinstance(feeds, (str, Output)):
            feeds = [feeds]
        self.feeds = tuple(_find(graph, f) for f in feeds)
        self._dtypes = [lib.eddy_graph_output_dtype(
            graph._ptr, {"node": f.node, "index": f.index})
            for f in self.feeds]
        self._index = {}
        for i, (asked, feed) in enumerate(zip(feeds, self.feeds)):
            self._index[feed.name] = i
            if feed.index == 0:
                self._index[feed.op.name] = i
            if isinstance(asked, str):
                self._index[asked] = i
        options = PlanOptions(
            graph.context, untrusted=untrusted, optimize=optimize,
            executor=executor, parallel_iterations=parallel_iterations,
            native=native, without=without, observe=observe,
            max_nodes=max_nodes, plan_bytes=plan_bytes,
            plan_timeout=plan_timeout, is_cancelled=is_cancelled,
            checkpoint=checkpoint, record=record)
        self._of_runs = RunOptions(untrusted=untrusted, **of_runs)
        self._run_options = self._of_runs.options
        self._compile(graph, options)
        self._idle = deque()  # runs without a session, or in the plan's own

    def _compile(self, graph, how):
        options = how.options
        feeds = graph.outputs_array(self.feeds)
        fetches = graph.outputs_array(self.fetches)
        targets = ffi.new("eddy_node[]", [t.node for t in self._targets] or 1)
        options.feeds, options.n_feeds = feeds, len(self.feeds)
        options.fetches, options.n_fetches = fetches, len(self.fetches)
        options.targets, options.n_targets = targets, len(self._targets)
        out, err = ffi.new("eddy_plan **"), new_error()
        status = lib.eddy_plan_create(graph._ptr, options, out, err)
        exception = how.calls.take_exception()
        if exception is not None:
            lib.eddy_plan_release(out[0])
            raise exception
        check(status, err)
        held = lib.eddy_py_plan_new(graph.context._ptr, out[0])
        if held == ffi.NULL:
            lib.eddy_plan_release(out[0])
            raise no_memory()
        self._held = ffi.gc(held, lib.eddy_py_plan_free)
        self._ptr = held.plan
        self._as_dtypes = [d if d == lib.EDDY_BFLOAT16 else 0
                           for d in self._dtypes]
        found = [lib.eddy_plan_fetch_dtype(self._ptr, i)
                 for i in range(len(self.fetches))]
        # Arrays are made in C, but of texts, and where tensors are wanted.
        self._result_dtypes = None
        if not self._tensors and all(d in NUMPY and d != lib.EDDY_STRING
                                     for d in found):
            self._result_dtypes = [NUMPY[d] for d in found]

    # ---- calling ----

    def __call__(self, *args, **feeds):
        """Runs it.  Feeds in order, by name, or in one dict."""
        return self._shape(self._execute(self._gather(args, feeds),
                                         self.session))

    def run(self, feeds=None, session=None):
        """Runs it with a dict of feeds, in a session if one is given."""
        return self._shape(self._execute(self._gather((feeds or {},), {}),
                                         self._session_of(session)))

    def trace(self, feeds=None, *, session=None, **how):
        """Runs it with a dict of feeds, recorded; see eddy.Trace.

        values          keep sums of what nodes put out (True)
        max_records     0 is a million; keep_last: beyond that the last ones
        check_numerics  fail at the first NaN or infinity of finite inputs
        frame           only of the loop of that name, and of loops in it
        iterations      a pair: only these, of that frame or of any
        nodes           only these; "name*" is all that begin so

        With optimize="none" a plan has each node as it stands in the graph.  A
        run that fails is recorded too: Trace.error says how.  Loops go by the
        dynamic executor, unless the plan was made with record=True.
        """
        from ._trace import record
        return record(self, self._gather((feeds or {},), {}),
                      self._session_of(session), how)

    def _session_of(self, session):
        return self.session if session is None else session

    def _gather(self, args, named):
        n, index = len(self._dtypes), self._index
        if len(args) == 1 and isinstance(args[0], dict):
            named, args = {**args[0], **named}, ()
        if len(args) > n:
            raise TypeError(f"{len(args)} feeds, the plan has {n}")
        values = list(args) + [None] * (n - len(args))
        filled = len(args)
        for name, value in named.items():
            i = index.get(name.name if isinstance(name, Output) else name)
            if i is None:
                raise TypeError(f"the plan has no feed {name!r}; it has "
                                f"{', '.join(f.name for f in self.feeds)}")
            if values[i] is None:
                filled += 1
            values[i] = value
        if filled < n:
            missing = [f.name for f, v in zip(self.feeds, values) if v is None]
            raise TypeError(f"feeds are missing: {', '.join(missing)}")
        return values

    def _slot(self, session, recorder):
        return _Slot(self, session, recorder)

    def _execute(self, values, session, pool=None):
        if pool is None:
            pool = self._idle
            if session is not self.session:
                pool = session._pools.setdefault(self, deque())
        try:
            slot = pool.pop()
        except IndexError:
            slot = _Slot(self, session)
        objects, as_dtypes, call = slot.objects, slot.as_dtypes, slot.call
        held, results = [], None
        if self._result_dtypes is not None:
            results = [None] * len(self.fetches)
            call.results = id(results)
        for i, value in enumerate(values):
            if type(value) is _ndarray:
                objects[i] = id(value)
                as_dtypes[i] = self._as_dtypes[i]
            else:
                box = to_box(self.graph_context, value, self._dtypes[i])
                held.append(box)
                objects[i] = int(ffi.cast("uintptr_t", box))
                as_dtypes[i] = -1
        how = _execute(call)
        while how == _CONVERT:
            i = call.bad
            box = to_box(self.graph_context, values[i], self._dtypes[i])
            held.append(box)
            objects[i] = int(ffi.cast("uintptr_t", box))
            as_dtypes[i] = -1
            how = _execute(call)
        if how != _DONE:
            exception = (KeyboardInterrupt() if how == lib.EDDY_PY_INTERRUPTED
                         else to_exception(ffi.addressof(call, "err")))
            pool.append(slot)
            raise self._with_cause(exception, slot)
        if results is None:
            boxes = [own(slot.boxes[i]) for i in range(len(self.fetches))]
            results = [Tensor(b) if self._tensors else to_numpy(b)
                       for b in boxes]
        pool.append(slot)
        return results

    def _with_cause(self, exception, slot):
        """A kernel in Python leaves its own exception behind; that of a
        function that heard of progress is what ended the run."""
        raised = self._of_runs.raised.pop(slot.run, None)
        if raised is not None:
            return raised
        for op in self.graph_context._ops:
            cause = op.take_exception(exception)
            if cause is not None:
                exception.__cause__ = cause
        return exception

    def _shape(self, values):
        if self._form is list:
            return values
        if self._form is None:
            return values[0]
        return dict(zip(self._form, values))

    # ---- looking ----

    @property
    def stats(self):
        """What the last call counted; of one thread's, if several call."""
        if not self._idle:
            return None
        return self._idle[-1].stats()

    @property
    def warnings(self):
        found, i = [], 0
        while (w := lib.eddy_plan_warning(self._ptr, i)) != ffi.NULL:
            found.append(text_of(w))
            i += 1
        return found

    @property
    def fetch_shapes(self):
        return tuple(from_shape(lib.eddy_plan_fetch_shape(self._ptr, i)[0])
                     for i in range(len(self.fetches)))

    @property
    def fetch_dtypes(self):
        return tuple(NAMES.get(lib.eddy_plan_fetch_dtype(self._ptr, i))
                     for i in range(len(self.fetches)))

    def __len__(self):
        """Nodes of the final plan."""
        return lib.eddy_plan_nodes(self._ptr)

    def __repr__(self):
        feeds = ", ".join(f.name for f in self.feeds)
        fetches = ", ".join(f.name for f in self.fetches)
        return f"<eddy.Plan ({feeds}) -> ({fetches}), {len(self)} nodes>"


def _form_of(fetches):
    """How results are given, and what is to be fetched."""
    if fetches is None:
        return list, []
    if isinstance(fetches, (str, Output)):
        return None, [fetches]
    if isinstance(fetches, dict):
        return tuple(fetches), list(fetches.values())
    return list, list(fetches)


def _find(graph, what):
    names = getattr(graph, "names", None)
    if names and isinstance(what, str) and what in names:
        return names[what]
    if what is None:
        raise CLASSES["INVALID_ARGUMENT"](
            "None can't be fetched: no gradient leads there",
            "INVALID_ARGUMENT", "EDDY_E_NO_GRADIENT")
    if isinstance(what, Operation):
        return what.outputs[0]
    return graph[what]


def _needed(graph, fetches, targets):
    """The placeholders on the way to what is wanted, in the graph's order."""
    todo = [f.node for f in fetches] + [t.node for t in targets]
    seen = set(todo)
    while todo:
        op = Operation(graph, todo.pop())
        for node in [o.node for o in op.inputs] + [c.node for c in op.controls]:
            if node not in seen:
                seen.add(node)
                todo.append(node)
    return [p for p in graph.inputs if p.node in seen]
