# SPDX-License-Identifier: Apache-2.0
"""The options of plans and runs in C, as keywords, and what they call back."""
import os
from dataclasses import dataclass

from ._base import check, ffi, lib, new_error, text_of
from ._graph import Graph

_LEVELS = {"none": lib.EDDY_OPTIMIZE_NONE, "exact": lib.EDDY_OPTIMIZE_EXACT,
           "full": lib.EDDY_OPTIMIZE_FULL}
_EXECUTORS = {"auto": lib.EDDY_EXECUTOR_AUTO,
              "dynamic": lib.EDDY_EXECUTOR_DYNAMIC,
              "linear": lib.EDDY_EXECUTOR_LINEAR,
              "native": lib.EDDY_EXECUTOR_NATIVE}


@dataclass(frozen=True)
class Progress:
    """How far an execution is."""
    elapsed: float
    iterations: int
    bytes: int
    node: str
    frame: str


@dataclass(frozen=True)
class Checkpoint:
    """Where a loop is saved: every so many trips, and whether to go on."""
    folder: str
    every: int = 0
    resume: bool = False
    loop: str | None = None


class Calls:
    """Functions that C calls, and what one of them raised first."""

    def __init__(self, context, **functions):
        self.context, self.exception = context, None
        self.functions = functions
        self.handle = ffi.new_handle(self)

    def ask(self, name, *args):
        """What the function says; None once one has raised."""
        if self.exception is not None:
            return None
        try:
            return self.functions[name](*args)
        except BaseException as e:  # handed on by whoever began this
            self.exception = e
            return None

    def take_exception(self):
        exception, self.exception = self.exception, None
        return exception


def _choice(what, choices, value):
    if value not in choices:
        raise ValueError(f"{what} is {value!r}; it may be "
                         f"{', '.join(map(repr, choices))}")
    return choices[value]


# ---- plans ----

@ffi.def_extern(onerror=lambda *_: None)
def eddy_py_observe(user, name, graph, keep):
    calls = ffi.from_handle(user)
    if calls.functions["observe"] is None or calls.exception is not None:
        return
    n = lib.eddy_graph_size(graph)
    needed = None if keep == ffi.NULL else [
        text_of(lib.eddy_graph_node_name(graph, i))
        for i in range(n) if keep[i]]
    calls.ask("observe", text_of(name), _copy(calls.context, graph), needed)


@ffi.def_extern(onerror=lambda *_: False)
def eddy_py_is_cancelled(user):
    calls = ffi.from_handle(user)
    stop = calls.functions["is_cancelled"]
    if calls.exception is not None:
        return True
    return stop is not None and bool(calls.ask("is_cancelled"))


def _copy(context, graph):
    bytes_, n, err = ffi.new("void **"), ffi.new("size_t *"), new_error()
    check(lib.eddy_graphdef_write(graph, bytes_, n, err), err)
    try:
        out = ffi.new("eddy_graph **")
        check(lib.eddy_graphdef_read(context._ptr, bytes_[0], n[0], ffi.NULL,
                                     out, err), err)
    finally:
        lib.eddy_graphdef_free(graph, bytes_[0], n[0])
    return Graph(context, out[0])


class PlanOptions:
    """An eddy_plan_options but for its ends, with all that it points to."""

    def __init__(self, context, *, optimize="exact", executor="auto",
                 parallel_iterations=0, native=True, without=(), max_nodes=0,
                 plan_bytes=0, plan_timeout=0, is_cancelled=None, observe=None,
                 checkpoint=None, record=False, untrusted=False):
        self.options = o = ffi.new("eddy_plan_options *")
        o.size = ffi.sizeof("eddy_plan_options")
        if untrusted:
            lib.eddy_plan_options_untrusted(o)
        o.optimize = _choice("optimize", _LEVELS, optimize)
        o.executor = _choice("executor", _EXECUTORS, executor)
        o.parallel_iterations = parallel_iterations
        o.record = record
        o.no_native = bool(o.no_native) or not native
        o.max_nodes = max_nodes or o.max_nodes
        self.calls = Calls(context, observe=observe, is_cancelled=is_cancelled)
        self._leave_out([without] if isinstance(without, str) else without)
        if checkpoint is not None:
            self._save(checkpoint)
        if observe is not None:
            o.observe, o.user = lib.eddy_py_observe, self.calls.handle
        if plan_bytes or plan_timeout or observe or is_cancelled:
            self._limit(plan_bytes, plan_timeout)

    def _leave_out(self, names):
        self._names = [ffi.new("char[]", name.encode()) for name in names]
        self._without = ffi.new("char *[]", self._names or 1)
        self.options.without = self._without
        self.options.n_without = len(self._names)

    def _save(self, checkpoint):
        self._folder = ffi.new("char[]", os.fsencode(checkpoint.folder))
        self._checkpoint = c = ffi.new("eddy_checkpoint *")
        c.size = ffi.sizeof("eddy_checkpoint")
        c.folder, c.every = self._folder, checkpoint.every
        c.resume = checkpoint.resume
        if checkpoint.loop is not None:
            self._loop = ffi.new("char[]", checkpoint.loop.encode())
            c.loop = self._loop
        self.options.checkpoint = c

    def _limit(self, max_bytes, timeout):
        self._limits = limits = ffi.new("eddy_limits *")
        if self.options.limits != ffi.NULL:
            limits[0] = self.options.limits[0]
        limits.size = ffi.sizeof("eddy_limits")
        limits.max_bytes = max_bytes or limits.max_bytes
        if timeout:
            limits.timeout_ns = int(timeout * 1e9)
        limits.is_cancelled = lib.eddy_py_is_cancelled
        limits.user = self.calls.handle
        self.options.limits = limits


# ---- runs ----

@ffi.def_extern(onerror=lambda *_: None)
def eddy_py_progress(run, now, user):
    of_runs = ffi.from_handle(user)
    try:
        of_runs.progress(Progress(now.elapsed_ns / 1e9, now.iterations,
                                  now.bytes, text_of(now.node),
                                  text_of(now.frame)))
    except BaseException as e:  # what the call of the plan raises
        of_runs.raised.setdefault(run, e)
        lib.eddy_run_cancel(run)


class RunOptions:
    """An eddy_run_options but for its session and recorder."""

    def __init__(self, *, timeout=0, max_iterations=0, max_bytes=0,
                 max_frames=0, keep_denormals=False, no_files=False,
                 progress=None, progress_seconds=1.0, spill_above=0,
                 max_spill_bytes=0, spill_folder=None, untrusted=False):
        self.options = o = ffi.new("eddy_run_options *")
        o.size = ffi.sizeof("eddy_run_options")
        if untrusted:
            lib.eddy_run_options_untrusted(o)
        if timeout:
            o.timeout_ns = int(timeout * 1e9)
        o.max_iterations = max_iterations or o.max_iterations
        o.max_bytes = max_bytes or o.max_bytes
        o.max_frames = max_frames or o.max_frames
        o.keep_denormals = keep_denormals
        o.no_files = bool(o.no_files) or no_files
        o.spill_above = spill_above
        o.max_spill_bytes = max_spill_bytes or o.max_spill_bytes
        if spill_folder is not None:
            self._folder = ffi.new("char[]", os.fsencode(spill_folder))
            o.spill_folder = self._folder
        self.progress, self.raised = progress, {}  # by run
        self._handle = ffi.new_handle(self)
        if progress is not None:
            o.progress = lib.eddy_py_progress
            o.progress_ns = int(progress_seconds * 1e9)
            o.progress_user = self._handle
