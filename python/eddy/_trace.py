# SPDX-License-Identifier: Apache-2.0
"""Recorded runs: what every node did in every iteration, and questions to it."""
import os
from collections.abc import Sequence
from dataclasses import dataclass

from ._base import (CLASSES, NAMES, Error, check, ffi, from_shape, lib,
                    new_error, no_memory, text_of)
from ._graph import Operation, Output
from . import _structure  # noqa: F401  (writes for the library)

_NONE, _MISSING = 2**32 - 1, ffi.cast("size_t", -1)
_STATES = {lib.EDDY_TRACE_LIVE: "live", lib.EDDY_TRACE_DEAD: "dead",
           lib.EDDY_TRACE_FAILED: "failed"}
_FORMATS = {".html": lib.EDDY_TRACE_PAGE, ".json": lib.EDDY_TRACE_JSON,
            ".pftrace": lib.EDDY_TRACE_PERFETTO}
_ENDS = {lib.EDDY_TRACE_END_SWITCH: "switch",
         lib.EDDY_TRACE_END_SOURCE: "source",
         lib.EDDY_TRACE_END_UNKNOWN: "unknown",
         lib.EDDY_TRACE_END_NO_REASON: "no reason",
         lib.EDDY_TRACE_END_CUT: "cut"}


@dataclass(frozen=True)
class Value:
    """What is kept of an output: str() is a scalar itself, or its sum.

    min, max, mean  of the finite elements
    hash            of dtype, shape and elements: the same value, the same hash
    """
    dtype: "str | None"
    shape: tuple
    count: int
    min: float
    max: float
    mean: float
    n_nan: int
    n_infinite: int
    hash: int
    text: str

    def __str__(self):
        return self.text


@dataclass(frozen=True)
class Record:
    """One execution of a node.

    at        where, as "outer[3]/inner[17]"; "" in the root
    state     "live", "dead" or "failed"
    output    which a Switch took, or the input that a Merge had; else None
    start_ns  since the run began; duration_ns has the scheduling in it
    values    of its outputs, if they were asked for; a Switch: the one it took
    """
    number: int
    node: str
    op: str
    at: str
    iteration: int
    state: str
    output: "int | None"
    worker: int
    start_ns: int
    duration_ns: int
    bytes: int
    is_non_finite: bool
    values: tuple
    index: int

    def __str__(self):
        place = f" in {self.at}" if self.at else ""
        values = ", ".join(map(str, self.values))
        return (f"{self.node} ({self.op}){place}: {self.state}"
                + (f", {values}" if values else ""))


@dataclass(frozen=True)
class Wait:
    """A node that had got some of what it reads, and what it had not."""
    node: str
    at: str
    missing: "str | None"

    def __str__(self):
        place = f" in {self.at}" if self.at else ""
        return f"{self.node}{place}" + (
            f": no token from {self.missing}" if self.missing else "")


class Trace(Sequence):
    """A recorded run: a sequence of its Records, in the order they were done.

        t = graph.plan(fetches="loss", optimize="none").trace(x=x, n=5)
        print(t.explain("while/cond/mul"))
        t.save("run.html")

    results  what a call gives; None if the run failed
    error    why it failed, or None: a run that fails can be asked too
    stats    what it counted
    """

    def __init__(self, plan, how):
        options = ffi.new("eddy_trace_options *")
        options.size = ffi.sizeof("eddy_trace_options")
        keep = _fill(options, **how)
        out, err = ffi.new("eddy_trace **"), new_error()
        check(lib.eddy_trace_create(plan._ptr, options, out, err), err)
        del keep  # the library has what it needs of them
        held = lib.eddy_py_trace_new(plan.graph_context._ptr, out[0])
        if held == ffi.NULL:
            lib.eddy_trace_destroy(out[0])
            raise no_memory()
        self._held = ffi.gc(held, lib.eddy_py_trace_free)
        self._ptr = out[0]
        self.results = self.error = self.stats = None

    def _index(self):
        err = new_error()
        check(lib.eddy_trace_index(self._ptr, err), err)

    # ---- records ----

    def __len__(self):
        return lib.eddy_trace_records(self._ptr)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return [self._record(k) for k in range(*i.indices(len(self)))]
        if i < 0:
            i += len(self)
        if not 0 <= i < len(self):
            raise IndexError(i)
        return self._record(i)

    def _record(self, i):
        r = lib.eddy_trace_record_at(self._ptr, i)
        node = lib.eddy_trace_node_at(self._ptr, r.node)
        return Record(
            r.number, text_of(node.name), text_of(node.op),
            self._path(r.frame, r.iteration), r.iteration, _STATES[r.state],
            None if r.output == _NONE else r.output, r.worker, r.start_ns,
            r.duration_ns, r.bytes, bool(r.is_non_finite),
            tuple(_value(lib.eddy_trace_value_at(self._ptr, i, k))
                  for k in range(r.n_values)), int(i))

    def _path(self, frame, iteration):
        size = lib.eddy_trace_path(self._ptr, frame, iteration, ffi.NULL, 0) + 1
        text = ffi.new("char[]", size)
        lib.eddy_trace_path(self._ptr, frame, iteration, text, size)
        return text_of(text)

    def _node(self, name):
        name = _name_of(name)
        node = lib.eddy_trace_find_node(self._ptr, name.encode())
        if node == _NONE:
            raise CLASSES["NOT_FOUND"](
                f"the recorded plan has no node '{name}'", "NOT_FOUND",
                "EDDY_E_UNKNOWN_NAME")
        return node

    def of(self, node):
        """The Records of a node, by frame and iteration."""
        places = ffi.new("const uint32_t **")
        n = lib.eddy_trace_node_records(self._ptr, self._node(node), places)
        return [self._record(places[0][k]) for k in range(n)]

    def at(self, node, path=""):
        """The Record of a node in an iteration, "outer[3]/inner[17]"."""
        for record in self.of(node):
            if record.at == path:
                return record
        raise CLASSES["NOT_FOUND"](
            f"there is no record of '{node}' in '{path}'", "NOT_FOUND",
            "EDDY_E_UNKNOWN_NAME")

    def inputs(self, record):
        """The Records of what it read, None where there is none."""
        r = lib.eddy_trace_record_at(self._ptr, record.index)
        node = lib.eddy_trace_node_at(self._ptr, r.node)
        found = []
        for k in range(node.n_inputs):
            i = lib.eddy_trace_producer(self._ptr, record.index, k)
            found.append(None if i == int(_MISSING) else self._record(i))
        return found

    @property
    def dropped(self):
        """How many were seen and not kept."""
        return lib.eddy_trace_total(self._ptr).n_dropped

    # ---- questions ----

    def _chain(self, ask, record):
        room, end = 64, ffi.new("eddy_trace_end *")
        while True:
            links = ffi.new("eddy_trace_link[]", room)
            n = ask(self._ptr, record.index, links, room, end)
            if end[0] != lib.EDDY_TRACE_END_CUT or room >= len(self):
                break
            room *= 4
        return ([self._record(links[k].record) for k in range(min(n, room))],
                _ENDS[end[0]])

    def why_dead(self, record):
        """From a dead Record back to the live Switch that took another output.

        Gives the Records and how they end: "switch", "source", "unknown" (what
        comes before was not recorded), "no reason" (it is not dead) or "cut".
        """
        return self._chain(lib.eddy_trace_why_dead, record)

    def origin(self, record):
        """From a NaN or infinity back to the first op with finite inputs."""
        return self._chain(lib.eddy_trace_origin, record)

    def waiting(self):
        """What a run that did not come to its end was waiting for."""
        n = lib.eddy_trace_waiting(self._ptr, ffi.NULL, 0)
        waits = ffi.new("eddy_trace_wait[]", max(n, 1))
        lib.eddy_trace_waiting(self._ptr, waits, n)
        found = []
        for w in waits[0:n]:
            node = lib.eddy_trace_node_at(self._ptr, w.node)
            missing = None if w.input == _NONE else text_of(
                lib.eddy_trace_node_at(self._ptr,
                                       node.inputs[w.input].node).name)
            found.append(Wait(text_of(node.name),
                              self._path(w.frame, w.iteration), missing))
        return found

    def critical(self, frame=None, parallel_iterations=0):
        """The longest chain of work, its last Record first, and its time in ns.

        With the name of a frame: with as many parallel_iterations in it.
        """
        number = _NONE
        if frame is not None:
            names = [text_of(lib.eddy_trace_static_frame_at(self._ptr, i).name)
                     for i in range(lib.eddy_trace_static_frames(self._ptr))]
            if frame not in names:
                raise CLASSES["NOT_FOUND"](
                    f"the recorded plan has no frame '{frame}'", "NOT_FOUND",
                    "EDDY_E_UNKNOWN_NAME")
            number = names.index(frame)
        room, err = max(len(self), 1), new_error()
        links = ffi.new("eddy_trace_link[]", room)
        n, ns = ffi.new("size_t *"), ffi.new("uint64_t *")
        check(lib.eddy_trace_critical(self._ptr, number, parallel_iterations,
                                      links, room, n, ns, err), err)
        return ([self._record(links[k].record) for k in range(min(n[0], room))],
                ns[0])

    def pairs(self):
        """The tape: each push with its pop, None for one that is missing."""
        found = []
        for i in range(lib.eddy_trace_pairs(self._ptr)):
            p = lib.eddy_trace_pair_at(self._ptr, i)
            found.append(tuple(None if k == int(_MISSING) else self._record(k)
                               for k in (p.push, p.pop)))
        return found

    def explain(self, node=None, at=None):
        """In words, as `eddy explain`: what a node did and why, or the run.

        Without `at` of its dead or non-finite Records the first is taken.
        """
        if node is None:
            return self._explain_run()
        records = self.of(node)
        if at is not None:
            chosen = self.at(node, at)
        else:
            odd = [r for r in records if r.state != "live" or r.is_non_finite]
            chosen = (odd or records or [None])[0]
        if chosen is None:
            return f"{node}: no executions are recorded"
        dead = sum(r.state == "dead" for r in records)
        lines = [f"{chosen.node} ({chosen.op}): {len(records)} executions, "
                 f"{dead} dead", str(chosen)]
        if chosen.state == "dead":
            lines += self._explain_chain("why it is dead",
                                         *self.why_dead(chosen))
        elif chosen.is_non_finite:
            chain, end = self.origin(chosen)
            lines += self._explain_chain("where the NaN or infinity comes from",
                                         chain[-1:], end)
        else:
            lines += [f"  reads {r}" for r in self.inputs(chosen) if r]
        return "\n".join(lines)

    def _explain_chain(self, title, chain, end):
        lines = [f"{title}:", *(f"  {r}" for r in chain)]
        if end == "switch":
            lines.append(f"  that Switch took output {chain[-1].output}, so "
                         "what reads another is dead")
        if end in ("switch", "source") and chain:
            lines += [f"    reads {r}" for r in self.inputs(chain[-1]) if r]
        if end == "unknown":
            lines.append("  what comes before was not recorded")
        return lines

    def _explain_run(self):
        s = self.stats
        lines = [str(self.error)] if self.error else []
        lines.append(f"{s.live_executions} live, {s.dead_executions} dead, "
                     f"{s.iterations} iterations, {s.frames} frames")
        if self.error:
            lines += [f"  {w}" for w in self.waiting()]
        chain, ns = self.critical()
        lines.append(f"longest chain: {len(chain)} executions, "
                     f"{ns / 1000:.1f} us; its last ones:")
        return "\n".join(lines + [f"  {r}" for r in chain[:5]])

    # ---- files ----

    def save(self, path):
        """Writes .html (a page), .json (Chrome's) or .pftrace (Perfetto's)."""
        suffix = os.path.splitext(path)[1]
        if suffix not in _FORMATS:
            raise ValueError(f"{path!r} ends in none of "
                             f"{', '.join(_FORMATS)}")
        pieces, err = [], new_error()
        handle = ffi.new_handle(pieces)
        check(lib.eddy_trace_write(self._ptr, _FORMATS[suffix],
                                   lib.eddy_py_write, handle, err), err)
        with open(path, "wb") as file:
            file.writelines(pieces)

    def __repr__(self):
        how = f", {type(self.error).__name__}" if self.error else ""
        return f"<eddy.Trace of {len(self)} records{how}>"


def _name_of(what):
    """The name of a node, given so, as an Operation or as its Output."""
    what = what.op if isinstance(what, Output) else what
    return what.name if isinstance(what, Operation) else what


def _fill(options, values=True, max_records=0, keep_last=False,
          check_numerics=False, frame=None, iterations=None, nodes=()):
    """The options in C; gives what has to live until they are read."""
    names = [ffi.new("char[]", _name_of(n).encode()) for n in nodes]
    array = ffi.new("const char *[]", names or 1)
    name = ffi.NULL if frame is None else ffi.new("char[]", frame.encode())
    options.values, options.check_numerics = values, check_numerics
    options.max_records, options.keep_last = max_records, keep_last
    options.frame = name
    if iterations is not None:
        options.first_iteration, options.last_iteration = iterations
    options.nodes, options.n_nodes = array, len(names)
    return names, array, name


def _value(v):
    text = ffi.new("char[]", 192)
    lib.eddy_trace_value_format(v, text, 192)
    return Value(NAMES.get(v.dtype), from_shape(v.shape) or (), v.count, v.min,
                 v.max, v.mean, v.n_nan, v.n_infinite, v.hash, text_of(text))


def record(plan, values, session, how):
    """One recorded execution of a plan, with the values of its feeds."""
    trace = Trace(plan, how)
    slot = plan._slot(session, trace._ptr)
    try:
        trace.results = plan._shape(plan._execute(values, session, [slot]))
    except Error as error:
        trace.error = error
    finally:
        trace.stats = slot.stats()
        ffi.release(slot.held)  # a trace outlives the run that fills it
    trace._index()
    return trace


def trace(graph, feeds=None, fetches=None, targets=(), *, optimize="none",
          session=None, executor="auto", parallel_iterations=0, timeout=0,
          max_iterations=0, max_bytes=0, **how):
    """Runs a graph recorded, by itself with every node as it stands in it.

        t = eddy.trace(graph, {"x": 0.6, "n": 5}, "loss")

    executor  who runs loops, as of a Plan; the dynamic one has tokens that may
              overlap

    `feeds` is a dict; what else there is to say of recording, Plan.trace has.
    """
    feeds, options = feeds or {}, {} if session is None else {"session": session}
    plan = graph.plan(feeds=list(feeds), fetches=fetches, targets=targets,
                      optimize=optimize, timeout=timeout, executor=executor,
                      record=True, parallel_iterations=parallel_iterations,
                      max_iterations=max_iterations, max_bytes=max_bytes,
                      **options)
    return plan.trace(feeds, **how)
