# SPDX-License-Identifier: Apache-2.0
"""Loops and branches: as functions of functions, and as context managers."""
import threading

from ._base import check, ffi, lib, new_error, to_shape
from ._graph import Operation, Output

_failed = threading.local()


def _as_list(values):
    if values is None:
        return []
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _like(values, structure):
    """Results in the form of what was given: one for one, a list for a list."""
    if isinstance(structure, (list, tuple)):
        return type(structure)(values)
    return values[0]


def _graph_of(values):
    for v in values:
        if isinstance(v, Output):
            return v.graph
    raise TypeError("at least one value must be an Output")


def _controls(controls):
    nodes = [c.node if isinstance(c, (Output, Operation)) else c
             for c in controls]
    return ffi.new("eddy_node[]", nodes or 1), len(nodes)


class While:
    """A loop that is built between the lines of a `with`.

        with eddy.While(g, [i, total]) as loop:
            i, total = loop.variables             # of the condition
            i, total = loop.body(i < 10)          # from here on: the body
            loop.next(i + 1, total + i)
        i, total = loop.results
    """

    def __init__(self, graph, initial, *, name=None, parallel_iterations=0,
                 maximum_iterations=None, shape_invariants=None, controls=(),
                 back_prop=True, swap_memory=False):
        self.graph = graph
        self._initial = [graph.convert(v) for v in _as_list(initial)]
        self.results = self.variables = None
        self._stage = "new"
        spec = self._spec = ffi.new("eddy_while_spec *")
        spec.size = ffi.sizeof("eddy_while_spec")
        self._kept = kept = [ffi.new("char[]", (name or "").encode()),
                             graph.outputs_array(self._initial)]
        spec.name, spec.initial = kept
        spec.n_variables = len(self._initial)
        spec.parallel_iterations = parallel_iterations
        spec.no_back_prop, spec.swap_memory = not back_prop, swap_memory
        if maximum_iterations is not None:
            kept.append(graph.outputs_array(
                [graph.convert(maximum_iterations)]))
            spec.maximum_iterations = kept[-1]
        if shape_invariants is not None:
            kept.append(ffi.new("eddy_shape[]", [
                to_shape(s)[0] for s in shape_invariants]))
            spec.shape_invariants = kept[-1]
        waits, n = _controls(controls)
        kept.append(waits)
        spec.controls, spec.n_controls = waits, n

    def _values(self, out):
        return self.graph.wrap_outputs(out, len(self._initial))

    def _room(self):
        return self.graph.outputs_array(self._initial)

    def __enter__(self):
        out, err = self._room(), new_error()
        check(lib.eddy_while_begin(self.graph._ptr, self._spec, out, err), err)
        self._depth = lib.eddy_construct_depth(self.graph._ptr)
        self._stage, self.variables = "condition", self._values(out)
        return self

    def body(self, condition):
        """Ends the condition; gives the variables as the body has them."""
        out, err = self._room(), new_error()
        condition = self.graph.convert(condition)
        check(lib.eddy_while_body(
            self.graph._ptr, {"node": condition.node,
                              "index": condition.index}, out, err), err)
        self._stage, self.variables = "body", self._values(out)
        return self.variables

    def next(self, *values):
        """Ends the loop with the variables' next values."""
        if len(values) == 1 and isinstance(values[0], (list, tuple)):
            values = values[0]
        given = [self.graph.convert(v, like) for v, like in
                 zip(values, self._initial)]
        given += [self.graph.convert(v) for v in values[len(given):]]
        out, err = self._room(), new_error()
        check(lib.eddy_while_end(
            self.graph._ptr, self.graph.outputs_array(given), len(given), out,
            err), err)
        self._stage, self.results = "done", self._values(out)
        return self.results

    def __exit__(self, kind, value, traceback):
        if self._stage != "done":
            _abort(self.graph, self._depth)
            if kind is None:
                raise RuntimeError("the loop was not ended: loop.next(...)")


def _abort(graph, depth):
    """Gives up the construct at `depth`, and all in it."""
    while lib.eddy_construct_depth(graph._ptr) >= depth:
        lib.eddy_construct_abort(graph._ptr)


class Cond:
    """A conditional that is built between the lines of a `with`.

        with eddy.Cond(x > 0) as cond:
            cond.otherwise(x * 2)     # ends what is done if it holds
            cond.end(-x)              # ends the other
        y, = cond.results
    """

    def __init__(self, predicate, *, name=None, controls=()):
        self.graph, self.results = predicate.graph, None
        spec = self._spec = ffi.new("eddy_cond_spec *")
        spec.size = ffi.sizeof("eddy_cond_spec")
        self._kept = ffi.new("char[]", (name or "").encode())
        self._waits, spec.n_controls = _controls(controls)
        spec.name, spec.controls = self._kept, self._waits
        spec.predicate = {"node": predicate.node, "index": predicate.index}
        self._n, self._stage = 0, "new"

    def __enter__(self):
        err = new_error()
        check(lib.eddy_cond_begin(self.graph._ptr, self._spec, err), err)
        self._depth = lib.eddy_construct_depth(self.graph._ptr)
        self._stage = "then"
        return self

    def otherwise(self, *results):
        """Ends the branch that is taken if the predicate holds."""
        given, err = [self.graph.convert(r) for r in results], new_error()
        check(lib.eddy_cond_else(self.graph._ptr,
                                 self.graph.outputs_array(given), len(given),
                                 err), err)
        self._then, self._stage = given, "otherwise"

    def end(self, *results):
        """Ends the other branch: as many results, of the same dtypes."""
        given = [self.graph.convert(r, like) for r, like in
                 zip(results, self._then)]
        given += [self.graph.convert(r) for r in results[len(given):]]
        out, err = self.graph.outputs_array(given), new_error()
        check(lib.eddy_cond_end(self.graph._ptr,
                                self.graph.outputs_array(given), len(given),
                                out, err), err)
        self.results = self.graph.wrap_outputs(out, len(given))
        self._stage = "done"
        return self.results

    def __exit__(self, kind, value, traceback):
        if self._stage != "done":
            _abort(self.graph, self._depth)
            if kind is None:
                raise RuntimeError("the conditional was not ended: "
                                   "cond.end(...)")


def while_loop(condition, body, initial, *, graph=None, **options):
    """body again and again while condition holds; both take the variables.

        i, total = eddy.while_loop(lambda i, t: i < n,
                                   lambda i, t: (i + 1, t + i), [i0, t0])
    """
    first = _as_list(initial)
    graph = graph or _graph_of(first)
    with While(graph, first, **options) as loop:
        held = loop.body(condition(*loop.variables))
        loop.next(*_as_list(body(*held)))
    return _like(loop.results, initial)


def cond(predicate, then, otherwise, *, name=None):
    """then() if the predicate holds, else otherwise(); one value or a list."""
    with Cond(predicate, name=name) as construct:
        results = then()
        construct.otherwise(*_as_list(results))
        construct.end(*_as_list(otherwise()))
    return _like(construct.results, results)


# ---- what the library builds by calling back ----

class _Part:
    def __init__(self, graph, build):
        self.graph, self.build, self.exception = graph, build, None


@ffi.def_extern(onerror=lambda *_: None, error=13)
def eddy_py_part(graph, user, inputs, n, out_results, err):
    part = ffi.from_handle(user)
    try:
        given = part.graph.wrap_outputs(inputs, n) if inputs else []
        results = _as_list(part.build(*given))
        if len(results) != part.n_results:
            raise ValueError(f"{len(results)} results, {part.n_results} "
                             "were announced")
        for i, value in enumerate(results):
            value = part.graph.convert(value)
            out_results[i].node, out_results[i].index = value.node, value.index
        return lib.EDDY_OK
    except BaseException as e:  # handed on by whoever began this
        part.exception = e
        err.code, err.detail = lib.EDDY_INTERNAL, lib.EDDY_E_NONE
        return lib.EDDY_INTERNAL


def _call(part, call, *args):
    err = new_error()
    status = call(part.graph._ptr, *args, err)
    if part.exception is not None:
        raise part.exception
    check(status, err)


def _fold(call, fn, elems, initializer, reverse, name, options):
    items = _as_list(elems)
    graph = _graph_of(items)
    first = None if initializer is None else [
        graph.convert(v) for v in _as_list(initializer)]
    many_items = isinstance(elems, (list, tuple))
    form = elems if initializer is None else initializer
    n = len(items) if first is None else len(first)

    def step(*values):
        state, item = values[:n], values[n:]
        return fn(list(state) if isinstance(form, (list, tuple)) else state[0],
                  list(item) if many_items else item[0])
    part = _Part(graph, step)
    part.n_results = n
    handle, spec = ffi.new_handle(part), ffi.new("eddy_fold_spec *")
    kept = [graph.outputs_array(items), graph.outputs_array(first or []),
            ffi.new("char[]", (name or "").encode())]
    spec.size = ffi.sizeof("eddy_fold_spec")
    spec.name, spec.elems, spec.n_elems = kept[2], kept[0], len(items)
    if first is not None:
        spec.initializer, spec.n_initializers = kept[1], n
    spec.step, spec.user, spec.reverse = lib.eddy_py_part, handle, reverse
    spec.options.parallel_iterations = options.pop("parallel_iterations", 0)
    if options:
        raise TypeError(f"unknown options: {', '.join(options)}")
    out = ffi.new("eddy_output[]", n)
    _call(part, call, spec, out)
    return _like(graph.wrap_outputs(out, n), form)


def scan(fn, elems, initializer=None, *, reverse=False, name=None, **options):
    """a = fn(a, item) for each item along the first dimension; all a, stacked."""
    return _fold(lib.eddy_scan, fn, elems, initializer, reverse, name, options)


def foldl(fn, elems, initializer=None, *, name=None, **options):
    """As scan, but only the last a."""
    return _fold(lib.eddy_foldl, fn, elems, initializer, False, name, options)


def foldr(fn, elems, initializer=None, *, name=None, **options):
    """As foldl, from the last item to the first."""
    return _fold(lib.eddy_foldr, fn, elems, initializer, False, name, options)


def map_fn(fn, elems, *, dtypes=None, name=None):
    """fn of each item along the first dimension, stacked."""
    from ._base import dtype_number
    items = _as_list(elems)
    graph = _graph_of(items)
    many = isinstance(elems, (list, tuple))
    kinds = None if dtypes is None else [dtype_number(d)
                                         for d in _as_list(dtypes)]
    n = len(items) if kinds is None else len(kinds)
    part = _Part(graph, lambda *v: fn(list(v) if many else v[0]))
    part.n_results = n
    handle, spec = ffi.new_handle(part), ffi.new("eddy_map_spec *")
    kept = [graph.outputs_array(items), ffi.new("eddy_dtype[]", kinds or 1),
            ffi.new("char[]", (name or "").encode())]
    spec.size = ffi.sizeof("eddy_map_spec")
    spec.name, spec.elems, spec.n_elems = kept[2], kept[0], len(items)
    if kinds is not None:
        spec.dtypes, spec.n_results = kept[1], n
    spec.step, spec.user = lib.eddy_py_part, handle
    out = ffi.new("eddy_output[]", n)
    _call(part, lib.eddy_map_fn, spec, out)
    return _like(graph.wrap_outputs(out, n),
                 elems if dtypes is None else dtypes)


def foreach(body, data, states, *, n_outputs=1, name=None,
            parallel_iterations=0):
    """outputs, states = body(item, states) for each item along the first
    dimension of the data: all outputs, stacked, and the last states, as MXNet
    has it.  `n_outputs` says how many outputs a step has."""
    items, first = _as_list(data), _as_list(states)
    graph = _graph_of(items + first)
    first = [graph.convert(s) for s in first]
    many_items, many = (isinstance(x, (list, tuple)) for x in (data, states))

    def step(*values):
        item, state = values[:len(items)], values[len(items):]
        outputs, after = body(
            list(item) if many_items else item[0],
            list(state) if many else (state[0] if state else None))
        step.is_list = isinstance(outputs, (list, tuple))
        return _as_list(outputs) + _as_list(after)
    part = _Part(graph, step)
    part.n_results = n_outputs + len(first)
    handle, spec = ffi.new_handle(part), ffi.new("eddy_mxnet_foreach_spec *")
    kept = [graph.outputs_array(items), graph.outputs_array(first),
            ffi.new("char[]", (name or "").encode())]
    spec.size = ffi.sizeof("eddy_mxnet_foreach_spec")
    spec.name, spec.inputs, spec.n_inputs = kept[2], kept[0], len(items)
    spec.states, spec.n_states = kept[1], len(first)
    spec.n_outputs, spec.parallel_iterations = n_outputs, parallel_iterations
    spec.body, spec.user = lib.eddy_py_part, handle
    stacked = ffi.new("eddy_output[]", max(n_outputs, 1))
    last = ffi.new("eddy_output[]", max(len(first), 1))
    _call(part, lib.eddy_mxnet_foreach, spec, stacked, last)
    outputs = graph.wrap_outputs(stacked, n_outputs)
    after = graph.wrap_outputs(last, len(first))
    return (outputs if step.is_list else outputs[0] if outputs else None,
            _like(after, states) if first else [])
