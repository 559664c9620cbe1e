# SPDX-License-Identifier: Apache-2.0
"""Loops and branches, recovered from the primitives alone, as objects."""
from dataclasses import dataclass, field

from ._base import check, ffi, lib, new_error, text_of


@dataclass(frozen=True)
class LoopVariable:
    """The five nodes of a loop variable; None where one is missing."""
    enter: object
    merge: object
    switch: object
    next_iteration: object
    exit: object


@dataclass(frozen=True)
class Loop:
    """A loop: its frame, variables, invariants, and what is known of its trips.

    trips  how often the body runs if the graph says so, else None
    """
    name: str
    depth: int
    parent: "Loop | None"
    parallel_iterations: int
    condition: object
    variables: tuple
    invariants: tuple
    trips: "int | None"
    number: int = field(repr=False, default=0)

    def __repr__(self):
        return (f"<eddy.Loop {self.name!r} of {len(self.variables)} variables, "
                f"{'?' if self.trips is None else self.trips} trips>")


@dataclass(frozen=True)
class Branch:
    """Side `side` of the `n_sides` that a predicate chooses from."""
    predicate: object
    side: int
    n_sides: int
    outer: "Branch | None"
    number: int = field(repr=False, default=0)

    def __repr__(self):
        return (f"<eddy.Branch {self.side} of {self.n_sides} by "
                f"{self.predicate.name!r}>")


class Structure:
    """A snapshot of what the primitives of a graph say."""

    def __init__(self, graph):
        out, err = ffi.new("eddy_analysis **"), new_error()
        check(lib.eddy_analysis_create(graph._ptr, out, err), err)
        self._graph = graph
        # The graph's memory is held by what frees the analysis: so it goes
        # after it, in whatever order the collector takes the two.
        self._ptr = ffi.gc(out[0], lambda p, held=graph._held,
                           free=lib.eddy_analysis_destroy: free(p))
        self._frames = [None]
        for i in range(1, lib.eddy_analysis_frames(self._ptr)):
            self._frames.append(None)
        for i in range(1, len(self._frames)):
            self._frame(i)
        self.loops = tuple(self._frames[1:])
        self._branches = [None]
        for i in range(1, lib.eddy_analysis_branches(self._ptr)):
            self._branches.append(self._branch(i))
        self.branches = tuple(self._branches[1:])

    def _op(self, node):
        from ._graph import Operation
        return None if node == lib.EDDY_NO_NODE else Operation(self._graph,
                                                               node)

    def _frame(self, i):
        """Frame `i` and those around it, outermost first."""
        way = []
        while i != 0 and self._frames[i] is None:
            way.append(i)
            i = lib.eddy_analysis_frame(self._ptr, i).parent
        for number in reversed(way):
            self._frames[number] = self._loop(number)

    def _loop(self, i):
        frame = lib.eddy_analysis_frame(self._ptr, i)
        variables = []
        for k in range(frame.n_variables):
            v = frame.variables[k]
            variables.append(LoopVariable(*(self._op(node) for node in (
                v.enter, v.merge, v.switch_, v.next_iteration, v.exit))))
        counter = frame.trip_counter
        trips = counter.trips if counter != ffi.NULL else -1
        return Loop(text_of(frame.name), frame.depth,
                    self._frames[frame.parent], frame.parallel_iterations,
                    self._op(frame.loop_cond), tuple(variables),
                    tuple(self._op(frame.invariants[k])
                          for k in range(frame.n_invariants)),
                    trips if trips >= 0 else None, i)

    def _branch(self, i):
        from ._graph import Output
        info = lib.eddy_analysis_branch(self._ptr, i)
        return Branch(Output(self._graph, info.predicate.node,
                             info.predicate.index), info.side, info.n_sides,
                      self._branches[info.outer], i)

    def frame_of(self, op):
        """The Loop that a node runs in; None outside of all."""
        return self._frames[lib.eddy_analysis_node_frame(self._ptr, op.node)]

    def branch_of(self, op):
        """The Branch that a node runs in; None if it runs always."""
        return self._branches[lib.eddy_analysis_node_branch(self._ptr,
                                                            op.node)]

    @property
    def warnings(self):
        """What is odd but legal."""
        found, i = [], 0
        while (w := lib.eddy_analysis_warning(self._ptr, i)) != ffi.NULL:
            found.append(text_of(w))
            i += 1
        return found


@ffi.def_extern(onerror=lambda *_: False)
def eddy_py_write(user, text, length):
    ffi.from_handle(user).append(ffi.buffer(text, length)[:])
    return True


def _written_by(write, graph):
    pieces, err = [], new_error()
    handle = ffi.new_handle(pieces)
    structure = graph.structure
    check(write(graph._ptr, structure._ptr, lib.eddy_py_write, handle, err),
          err)
    return b"".join(pieces).decode("utf-8", "replace")


def write_dot(graph):
    return _written_by(lib.eddy_dot_write, graph)


def write_svg(graph):
    return _written_by(lib.eddy_py_draw, graph)
