# SPDX-License-Identifier: Apache-2.0
"""Graphs: built op by op with arithmetic, loaded, looked at, differentiated."""
import os
import re

import numpy as np

from ._base import (CLASSES, NAMES, Context, Error, check, default_context,
                    dtype_number, ffi, from_shape, lib, new_error, no_memory,
                    text_of, to_exception, to_shape)
from ._tensor import Tensor, box_tensor, to_array, to_box


class Output:
    """One output of a node: what a plan feeds and fetches, and ops take.

    Arithmetic on it adds nodes; a number or an array beside it becomes a
    constant of its dtype.  `==` tells whether two are the same output; for
    values there is eddy.equal().
    """
    __slots__ = ("graph", "node", "index")
    __array_ufunc__ = None  # so that array + output comes to __radd__

    def __init__(self, graph, node, index):
        self.graph, self.node, self.index = graph, node, index

    @property
    def op(self):
        return Operation(self.graph, self.node)

    @property
    def name(self):
        return f"{self.op.name}:{self.index}"

    @property
    def dtype(self):
        """Its dtype's name; None where the graph does not say."""
        return NAMES.get(lib.eddy_graph_output_dtype(
            self.graph._ptr, {"node": self.node, "index": self.index}))

    @property
    def shape(self):
        """What is known of its shape: None, or dimensions of which some are."""
        return from_shape(lib.eddy_graph_output_shape(
            self.graph._ptr, {"node": self.node, "index": self.index}))

    def __eq__(self, other):
        return (isinstance(other, Output) and self.graph is other.graph
                and (self.node, self.index) == (other.node, other.index))

    def __hash__(self):
        return hash((id(self.graph), self.node, self.index))

    def __repr__(self):
        shape = self.shape
        dims = "?" if shape is None else ", ".join(
            "?" if d is None else str(d) for d in shape)
        return f"<eddy.Output {self.name!r} {self.dtype}[{dims}]>"

    def __bool__(self):
        raise TypeError("an output has no value until the graph runs; "
                        "use eddy.cond or eddy.while_loop")

    def __iter__(self):
        raise TypeError("an output can't be gone over; use eddy.foreach, "
                        "eddy.map_fn or eddy.scan")

    def __getitem__(self, key):
        return _strided_slice(self, key)

    def _logical(self, other, logical, bitwise, swap=False):
        op = logical if self.dtype == "bool" else bitwise
        return _binary(op, self, other, swap)

    def __and__(self, other):
        return self._logical(other, "LogicalAnd", "BitwiseAnd")

    def __rand__(self, other):
        return self._logical(other, "LogicalAnd", "BitwiseAnd", True)

    def __or__(self, other):
        return self._logical(other, "LogicalOr", "BitwiseOr")

    def __ror__(self, other):
        return self._logical(other, "LogicalOr", "BitwiseOr", True)

    def __xor__(self, other):
        return self._logical(other, "NotEqual", "BitwiseXor")

    def __invert__(self):
        op = "LogicalNot" if self.dtype == "bool" else "Invert"
        return self.graph.add(op, self)

    def __neg__(self):
        return self.graph.add("Neg", self)

    def __abs__(self):
        return self.graph.add("Abs", self)


def _binary(op, left, right, swap=False):
    right = left.graph.convert(right, like=left)
    pair = (right, left) if swap else (left, right)
    return left.graph.add(op, *pair)


def _install_arithmetic():
    def make(op, swap):
        return lambda self, other: _binary(op, self, other, swap)

    for name, op in (("add", "AddV2"), ("sub", "Sub"), ("mul", "Mul"),
                     ("truediv", "RealDiv"), ("floordiv", "FloorDiv"),
                     ("mod", "FloorMod"), ("pow", "Pow"),
                     ("matmul", "MatMul")):
        setattr(Output, f"__{name}__", make(op, False))
        setattr(Output, f"__r{name}__", make(op, True))
    for name, op in (("lt", "Less"), ("le", "LessEqual"), ("gt", "Greater"),
                     ("ge", "GreaterEqual")):
        setattr(Output, f"__{name}__", make(op, False))


_install_arithmetic()


def _strided_slice(value, key):
    """x[1], x[a:b], x[::2, None, ...], with numbers or integer outputs."""
    graph, keys = value.graph, key if isinstance(key, tuple) else (key,)
    begin, end, stride = [], [], []
    masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask",
                           "new_axis_mask", "shrink_axis_mask"), 0)
    for i, item in enumerate(keys):
        parts = (0, 0, 1)
        if item is Ellipsis:
            masks["ellipsis_mask"] |= 1 << i
        elif item is None:
            masks["new_axis_mask"] |= 1 << i
        elif isinstance(item, slice):
            masks["begin_mask"] |= (item.start is None) << i
            masks["end_mask"] |= (item.stop is None) << i
            parts = (0 if item.start is None else item.start,
                     0 if item.stop is None else item.stop,
                     1 if item.step is None else item.step)
        else:
            masks["shrink_axis_mask"] |= 1 << i
            parts = (item, item + 1, 1)
        for to, part in zip((begin, end, stride), parts):
            to.append(part)
    return graph.add("StridedSlice", value, *(
        graph._pack_index(x) for x in (begin, end, stride)), **masks)


class Operation:
    """A node of a graph."""
    __slots__ = ("graph", "node")

    def __init__(self, graph, node):
        self.graph, self.node = graph, node

    @property
    def name(self):
        return text_of(lib.eddy_graph_node_name(self.graph._ptr, self.node))

    @property
    def type(self):
        return text_of(lib.eddy_graph_node_op(self.graph._ptr, self.node))

    @property
    def inputs(self):
        n = ffi.new("size_t *")
        array = lib.eddy_graph_node_inputs(self.graph._ptr, self.node, n)
        return tuple(Output(self.graph, array[i].node, array[i].index)
                     for i in range(n[0]))

    @property
    def controls(self):
        n = ffi.new("size_t *")
        array = lib.eddy_graph_node_controls(self.graph._ptr, self.node, n)
        return tuple(Operation(self.graph, array[i]) for i in range(n[0]))

    @property
    def outputs(self):
        n = lib.eddy_graph_node_outputs(self.graph._ptr, self.node)
        return tuple(Output(self.graph, self.node, i) for i in range(n))

    def attr(self, name):
        """The value of an attribute; KeyError if there is none."""
        attr = ffi.new("eddy_attr *")
        if not lib.eddy_graph_node_attr(self.graph._ptr, self.node,
                                        name.encode(), attr):
            raise KeyError(name)
        values = [_read_attr(self.graph.context, attr, i)
                  for i in range(attr.n)]
        return values if attr.is_list else values[0]

    def __eq__(self, other):
        return (isinstance(other, Operation) and self.graph is other.graph
                and self.node == other.node)

    def __hash__(self):
        return hash((id(self.graph), self.node))

    def __repr__(self):
        return f"<eddy.Operation {self.name!r} {self.type}>"


def _read_attr(context, attr, i):
    kind, value = attr.kind, getattr(attr, "as")
    if kind == lib.EDDY_ATTR_INT:
        return value.ints[i]
    if kind == lib.EDDY_ATTR_FLOAT:
        return value.floats[i]
    if kind == lib.EDDY_ATTR_BOOL:
        return bool(value.bools[i])
    if kind == lib.EDDY_ATTR_TYPE:
        return NAMES.get(value.types[i])
    if kind == lib.EDDY_ATTR_SHAPE:
        return from_shape(value.shapes[i])
    if kind == lib.EDDY_ATTR_TENSOR:
        return Tensor(box_tensor(
            context, lib.eddy_tensor_retain(value.tensors[i])))
    text = value.strings[i]
    found = ffi.buffer(text.data, text.length)[:] if text.length else b""
    return found.decode() if kind == lib.EDDY_ATTR_FUNCTION else found


class _Ops:
    """graph.ops.MatMul(a, b): every op of the context by its name."""
    __slots__ = ("_graph",)

    def __init__(self, graph):
        self._graph = graph

    def __getattr__(self, op):
        if op.startswith("_"):
            raise AttributeError(op)
        if not _signature(self._graph.context, op):
            raise AttributeError(f"no op is named {op!r}")

        def add(*inputs, **attrs):
            return self._graph.add(op, *inputs, **attrs)
        add.__name__, add.__doc__ = op, describe_op(op, self._graph.context)
        return add

    def __dir__(self):
        return [n for n in self._graph.context.ops if n.isidentifier()]


def _signature(context, op):
    info = ffi.new("eddy_op_info *")
    return info if lib.eddy_op_find(context._ptr, op.encode(), info) else None


def describe_op(op, context=None):
    """The signature of an op and what it computes."""
    info = _signature(context or default_context(), op)
    if info is None:
        raise CLASSES["NOT_FOUND"](f"no op is named {op!r}", "NOT_FOUND",
                                   "EDDY_E_UNKNOWN_OP")
    lines = [f"{op}({text_of(info.inputs)}) -> {text_of(info.outputs)}"]
    if text_of(info.attrs):
        lines.append(f"attributes: {text_of(info.attrs)}")
    if info.doc:
        lines.append(text_of(info.doc))
    return "\n".join(lines)


_ATTR = re.compile(r"(\w+): *(list\()?(\w+|\{)")
_KINDS = {"int": ("INT", "ints", "int64_t"), "float": ("FLOAT", "floats",
                                                       "float"),
          "bool": ("BOOL", "bools", "bool"),
          "string": ("STRING", "strings", "eddy_string"),
          "type": ("TYPE", "types", "eddy_dtype"),
          "shape": ("SHAPE", "shapes", "eddy_shape"),
          "tensor": ("TENSOR", "tensors", "eddy_tensor *"),
          "func": ("FUNCTION", "strings", "eddy_string")}


def _attr_kinds(context, op):
    """The kind of each attribute as the op's signature has it."""
    info, kinds = _signature(context, op), {}
    if info is None:
        return kinds
    text = text_of(info.attrs)
    types = {text_of(info.types[i].attr): info.types[i].is_list
             for i in range(info.n_types)}
    for name, is_list, kind in _ATTR.findall(text):
        if name in types:
            kinds[name] = ("type", types[name])
        elif kind in _KINDS:
            kinds[name] = (kind, bool(is_list))
    return kinds


def _guess_kind(value):
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, np.integer)):
        return "int"
    if isinstance(value, float):
        return "float"
    if isinstance(value, (str, bytes)):
        return "string"
    if isinstance(value, (np.ndarray, Tensor)):
        return "tensor"
    return "type"


class _Attrs:
    """Attributes for one call, with all that they borrow."""

    def __init__(self, context, op, attrs):
        self._kept = []
        self.array = ffi.new("eddy_attr[]", max(len(attrs), 1))
        self.n = len(attrs)
        kinds = _attr_kinds(context, op) if attrs else {}
        for i, (name, value) in enumerate(attrs.items()):
            kind, is_list = kinds.get(name, (None, None))
            if kind is None:
                is_list = isinstance(value, (list, tuple))
                first = value[0] if is_list and value else value
                kind = "int" if is_list and not value else _guess_kind(first)
            self._set(context, self.array[i], name, kind, is_list, value)

    def _keep(self, value):
        self._kept.append(value)
        return value

    def _set(self, context, attr, name, kind, is_list, value):
        number, member, ctype = _KINDS[kind]
        values = list(value) if is_list else [value]
        array = self._keep(ffi.new(f"{ctype}[]", max(len(values), 1)))
        for i, item in enumerate(values):
            if kind in ("string", "func"):
                data = item.encode() if isinstance(item, str) else item
                array[i].data = self._keep(ffi.from_buffer(data))
                array[i].length = len(data)
            elif kind == "type":
                array[i] = dtype_number(item)
            elif kind == "shape":
                array[i] = to_shape(item)[0]
            elif kind == "tensor":
                array[i] = self._keep(to_box(context, item)).tensor
            else:
                array[i] = item
        attr.name = self._keep(ffi.new("char[]", name.encode()))
        attr.kind = getattr(lib, f"EDDY_ATTR_{number}")
        attr.is_list, attr.n = is_list, len(values)
        setattr(getattr(attr, "as"), member, array)


_TAPES = {None: lib.EDDY_TAPE_DEFAULT, "keep": lib.EDDY_TAPE_KEEP,
          "recompute": lib.EDDY_TAPE_RECOMPUTE, "spill": lib.EDDY_TAPE_SPILL,
          "auto": lib.EDDY_TAPE_AUTO}


class Graph:
    """Nodes and edges, for one thread at a time while it is built.

    A plan does not follow later changes of the graph that it was made from.
    """

    def __init__(self, context=None, _ptr=None):
        self.context = context or default_context()
        if _ptr is None:
            out, err = ffi.new("eddy_graph **"), new_error()
            check(lib.eddy_graph_create(self.context._ptr, out, err), err)
            _ptr = out[0]
        held = lib.eddy_py_graph_new(self.context._ptr, _ptr)
        if held == ffi.NULL:
            lib.eddy_graph_destroy(_ptr)
            raise no_memory()
        self._held = ffi.gc(held, lib.eddy_py_graph_free)
        self._ptr = held.graph
        self.session = None  # a SavedModel's, with its variables
        self.ports = None  # of an ONNX model: its inputs and outputs

    # ---- building ----

    @property
    def ops(self):
        """Every op by its name: graph.ops.MatMul(a, b, transpose_b=True)."""
        return _Ops(self)

    def add(self, op, *inputs, name=None, controls=(), **attrs):
        """Adds a node: an Output, a tuple of them, or an Operation if it has
        none.  An input may be a list of inputs, and a number or an array,
        which becomes a constant."""
        flat, like = [], None
        for x in inputs:
            flat.extend(x if isinstance(x, (list, tuple)) else (x,))
        for x in flat:
            like = x if isinstance(x, Output) and like is None else like
        flat = [x if isinstance(x, Output) else self.convert(x) for x in flat]
        made = _Attrs(self.context, op, attrs)
        spec, out, err = (ffi.new("eddy_node_spec *"), ffi.new("eddy_node *"),
                          new_error())
        texts = [ffi.new("char[]", (t or "").encode()) for t in (op, name)]
        waits = ffi.new("eddy_node[]", [c.node if isinstance(
            c, (Output, Operation)) else c for c in controls] or 1)
        given = self.outputs_array(flat)
        spec.size = ffi.sizeof("eddy_node_spec")
        spec.op, spec.name = texts
        spec.inputs, spec.n_inputs = given, len(flat)
        spec.controls, spec.n_controls = waits, len(controls)
        spec.attrs, spec.n_attrs = made.array, made.n
        check(lib.eddy_graph_add(self._ptr, spec, out, err), err)
        outputs = Operation(self, out[0]).outputs
        if not outputs:
            return Operation(self, out[0])
        return outputs[0] if len(outputs) == 1 else outputs

    def constant(self, value, dtype=None, name=None):
        """A Const of an array, a number or texts."""
        number = dtype_number(dtype) if dtype is not None else 0
        if number and isinstance(value, np.ndarray):
            value = value.astype(to_array(0, number).dtype)
        elif not number and isinstance(value, (float, list, tuple)):
            # Python's own numbers are float32 as they are in TensorFlow.
            array = np.asarray(value)
            value = array.astype({"f": np.float32, "i": np.int32}.get(
                array.dtype.kind, array.dtype))
        elif not number and type(value) is int:
            value = np.asarray(value, np.int32)
        box = to_box(self.context, value, number)
        out, err = ffi.new("eddy_output *"), new_error()
        text = ffi.new("char[]", (name or "").encode())
        check(lib.eddy_graph_add_const(self._ptr, text, box.tensor, out, err),
              err)
        return Output(self, out.node, out.index)

    def placeholder(self, dtype="float32", shape=None, name=None):
        """A value to be fed; dimensions that are not known are None."""
        out, err = ffi.new("eddy_output *"), new_error()
        text = ffi.new("char[]", (name or "").encode())
        given = ffi.NULL if shape is None else to_shape(shape)
        check(lib.eddy_graph_add_placeholder(
            self._ptr, text, dtype_number(dtype), given, out, err), err)
        return Output(self, out.node, out.index)

    def convert(self, value, like=None):
        """An output as it is; anything else as a constant, of like's dtype."""
        if isinstance(value, Output):
            return value
        if like is not None and not isinstance(value, (np.ndarray, Tensor)):
            return self.constant(value, like.dtype)
        return self.constant(value)

    def _pack_index(self, items):
        if not any(isinstance(x, Output) for x in items):
            return self.constant(np.array(items, np.int32))
        like = next(x for x in items if isinstance(x, Output))
        return self.add("Pack", [self.convert(x, like) for x in items])

    @staticmethod
    def outputs_array(outputs):
        array = ffi.new("eddy_output[]", max(len(outputs), 1))
        for i, o in enumerate(outputs):
            array[i].node, array[i].index = o.node, o.index
        return array

    def wrap_outputs(self, array, n):
        return [Output(self, array[i].node, array[i].index)
                if array[i].node != lib.EDDY_NO_NODE else None
                for i in range(n)]

    # ---- looking ----

    def __len__(self):
        return lib.eddy_graph_size(self._ptr)

    def __iter__(self):
        return (Operation(self, i) for i in range(len(self)))

    def __getitem__(self, name):
        """The output `node` or `node:index`."""
        if isinstance(name, Output):
            return name
        out, err = ffi.new("eddy_output *"), new_error()
        check(lib.eddy_graph_find_output(self._ptr, name.encode(), out, err),
              err)
        return Output(self, out.node, out.index)

    def __contains__(self, name):
        return lib.eddy_graph_find(self._ptr,
                                   name.encode()) != lib.EDDY_NO_NODE

    def operation(self, name):
        """The node of that name."""
        if isinstance(name, Operation):
            return name
        if isinstance(name, Output):
            return name.op
        node = lib.eddy_graph_find(self._ptr, name.encode())
        return Operation(self, node) if node != lib.EDDY_NO_NODE \
            else self[name].op

    @property
    def inputs(self):
        """What is to be fed: the placeholders."""
        if self.ports:
            return self.ports[0]
        return tuple(op.outputs[0] for op in self
                     if op.type in ("Placeholder", "PlaceholderV2"))

    @property
    def outputs(self):
        """What nothing in the graph uses, and that can be fetched."""
        if self.ports:
            return self.ports[1]
        used, found, structure = set(), [], self.structure
        for op in self:
            used.update((o.node, o.index) for o in op.inputs)
        for op in self:
            if op.type not in ("NextIteration", "Assert", "NoOp"):
                found.extend(o for o in op.outputs
                             if (o.node, o.index) not in used)
        return tuple(o for o in found if self._is_outside(o.op, structure))

    def _is_outside(self, op, structure):
        """Are the outputs of a node outside of all loops?"""
        loop = structure.frame_of(op)
        if loop is not None and op.type in ("Exit", "RefExit"):
            loop = loop.parent
        return loop is None

    @property
    def structure(self):
        """Loops and branches as they are in the primitives of the graph."""
        from ._structure import Structure
        return Structure(self)

    @property
    def loops(self):
        """The loops of the graph, functions lowered, as objects."""
        return self._lowered_if_needed().structure.loops

    @property
    def branches(self):
        return self._lowered_if_needed().structure.branches

    @property
    def functions(self):
        names, i = [], 0
        while (name := lib.eddy_graph_function_name(self._ptr, i)) != ffi.NULL:
            names.append(text_of(name))
            i += 1
        return tuple(names)

    # ---- rewriting ----

    def lowered(self):
        """The graph with calls, If, Case and While made of primitives."""
        out, err = ffi.new("eddy_graph **"), new_error()
        check(lib.eddy_graph_lower(self._ptr, ffi.NULL, out, err), err)
        return Graph(self.context, out[0])

    def _lowered_if_needed(self):
        return self.lowered() if self.functions else self

    def _many(self, names):
        if isinstance(names, (str, Output)):
            names = [names]
        return [self[n] for n in names]

    def _gradient_options(self, grad_ys, stop, prefix, zeros, tape=None,
                          tape_bytes=0):
        options = ffi.new("eddy_gradient_options *")
        options.size = ffi.sizeof("eddy_gradient_options")
        kept = [options]
        if grad_ys is not None:
            array = self.outputs_array([
                Output(self, lib.EDDY_NO_NODE, 0) if y is None else self[y]
                for y in grad_ys])
            options.grad_ys = array
            kept.append(array)
        stopped = self._many(stop)
        array = self.outputs_array(stopped)
        options.stop, options.n_stop = array, len(stopped)
        kept.append(array)
        if prefix:
            kept.append(ffi.new("char[]", prefix.encode()))
            options.prefix = kept[-1]
        options.zeros_if_unconnected = zeros
        options.tape_bytes = tape_bytes
        by_loop = tape if isinstance(tape, dict) else {None: tape}
        loops = [name for name in by_loop if name is not None]
        array = ffi.new("eddy_loop_tape[]", max(len(loops), 1))
        for i, name in enumerate(loops):
            kept.append(ffi.new("char[]", name.encode()))
            array[i].frame = kept[-1]
            array[i].policy = _TAPES[by_loop[name]]
        options.loop_tapes, options.n_loop_tapes = array, len(loops)
        kept.append(array)
        options.tape = _TAPES[by_loop.get(None)]
        return options, kept

    def gradients(self, ys, xs, grad_ys=None, *, order=1, stop=(), prefix=None,
                  zeros=False, forward=False, directions=None, tape=None,
                  tape_bytes=0):
        """Adds the gradients of the sum of all elements of `ys` with respect to
        each of `xs`: a list with an Output, or None where nothing leads to it.

        order    2 and more: of the sum of the gradients before
        forward  the tangents of the ys along `directions` instead, one a y
        zeros    zeros in place of None
        tape     what loops do for the values of their trips: "keep",
                 "recompute", "spill" or "auto", or a dict from the frame names
                 of loops, and None for all others, to that
        tape_bytes  what "auto" keeps (0: 64 MiB), or "recompute" holds
        """
        if forward:
            return self.jvp(ys, xs, directions, stop=stop, prefix=prefix)
        ys, xs = self._many(ys), self._many(xs)
        out, err = self.outputs_array(xs), new_error()
        given = self.outputs_array(xs)
        for step in range(order):
            options, kept = self._gradient_options(
                grad_ys if step == 0 else None, stop, prefix, zeros, tape,
                tape_bytes if step + 1 == order or tape == "auto" else 0)
            check(lib.eddy_gradients(
                self._ptr, self.outputs_array(ys), len(ys), given, len(xs),
                options, out, err), err)
            del kept
            results = self.wrap_outputs(out, len(xs))
            ys = [r for r in results if r is not None]
            if not ys:
                break
        return results

    def jvp(self, ys, xs, tangents=None, *, stop=(), prefix=None):
        """Forward mode: the derivative of each y along the tangents, one an x,
        None for ones."""
        return self._forward(lib.eddy_jvp, ys, xs, tangents, stop, prefix,
                             False)

    def hvp(self, ys, xs, vectors=None, *, stop=(), prefix=None):
        """The product of the Hessian of the sum of the ys with vectors."""
        return self._forward(lib.eddy_hvp, ys, xs, vectors, stop, prefix, True)

    def _forward(self, call, ys, xs, given, stop, prefix, is_one_an_x):
        ys, xs = self._many(ys), self._many(xs)
        n = len(xs) if is_one_an_x else len(ys)
        out, err = ffi.new("eddy_output[]", max(n, 1)), new_error()
        along = ffi.NULL
        if given is not None:
            along = self.outputs_array([
                Output(self, lib.EDDY_NO_NODE, 0) if t is None else self[t]
                for t in given])
        options, kept = self._gradient_options(None, stop, prefix, False)
        check(call(self._ptr, self.outputs_array(ys), len(ys),
                   self.outputs_array(xs), len(xs), along, options, out, err),
              err)
        del kept
        return self.wrap_outputs(out, n)

    # ---- running ----

    def plan(self, feeds=None, fetches=None, targets=(), **options):
        """Compiles what the fetches need; see eddy.Plan."""
        from ._plan import Plan
        options.setdefault("session", self.session)
        return Plan(self, feeds, fetches, targets, **options)

    # ---- files and pictures ----

    def to_bytes(self):
        """The graph as a binary GraphDef, which TensorFlow reads too."""
        out, n, err = ffi.new("void **"), ffi.new("size_t *"), new_error()
        check(lib.eddy_graphdef_write(self._ptr, out, n, err), err)
        try:
            return ffi.buffer(out[0], n[0])[:]
        finally:
            lib.eddy_graphdef_free(self._ptr, out[0], n[0])

    def save(self, path):
        err = new_error()
        check(lib.eddy_graphdef_save(self._ptr, os.fsencode(path), err), err)

    def to_dot(self):
        """The graph for Graphviz: frames as boxes, branches as colours."""
        from ._structure import write_dot
        return write_dot(self._lowered_if_needed())

    def to_svg(self):
        """The graph as a drawing: frames as boxes, at most 5,000 nodes."""
        from ._structure import write_svg
        return write_svg(self._lowered_if_needed())

    def _repr_mimebundle_(self, include=None, exclude=None):
        """In a notebook: a drawing, unless it would be a jungle."""
        bundle = {"text/plain": repr(self)}
        if 0 < len(self) <= 500:
            try:
                bundle["image/svg+xml"] = self.to_svg()
            except Error:  # One that is being built may not be whole yet.
                pass
        return bundle

    def __repr__(self):
        loops = f", functions {len(self.functions)}" if self.functions else ""
        return f"<eddy.Graph of {len(self)} nodes{loops}>"


# ---- loading ----

def load(source, context=None, untrusted=False):
    """A Graph of a file, a SavedModel's folder, bytes, or TensorFlow's graphs.

    source     a path, bytes of a GraphDef or an ONNX model, a tf.Graph, a
               GraphDef, or whatever serialises itself as one
    untrusted  with limits fit for files of unknown origin
    """
    context = context or default_context()
    if hasattr(source, "as_graph_def"):
        source = source.as_graph_def()
    if hasattr(source, "SerializeToString"):
        source = source.SerializeToString()
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _read(context, bytes(source), untrusted)
    path = os.fspath(source)
    if os.path.isdir(path):
        from ._saved import load_saved_model
        return load_saved_model(path, context).graph
    if str(path).endswith(".onnx"):
        return _read_onnx(context, path, None)
    out, err = ffi.new("eddy_graph **"), new_error()
    check(lib.eddy_graphdef_load(context._ptr, os.fsencode(path),
                                 _load_options(untrusted), out, err), err)
    return Graph(context, out[0])


def _load_options(untrusted):
    options = ffi.new("eddy_graphdef_options *")
    options.size = ffi.sizeof("eddy_graphdef_options")
    if untrusted:
        lib.eddy_graphdef_options_untrusted(options)
    return options


def _read(context, data, untrusted):
    out, err = ffi.new("eddy_graph **"), new_error()
    status = lib.eddy_graphdef_read(context._ptr, data, len(data),
                                    _load_options(untrusted), out, err)
    if status == lib.EDDY_OK:
        return Graph(context, out[0])
    if hasattr(lib, "eddy_onnx_read") and "ONNX" in text_of(err.message):
        return _read_onnx(context, None, data)
    raise to_exception(err)


def _read_onnx(context, path, data):
    if not hasattr(lib, "eddy_onnx_read"):
        raise CLASSES["UNIMPLEMENTED"]("this eddy reads no ONNX models",
                                       "UNIMPLEMENTED")
    out, err = ffi.new("eddy_onnx_model **"), new_error()
    options = ffi.new("eddy_onnx_options *")
    options.size = ffi.sizeof("eddy_onnx_options")
    if path is None:
        status = lib.eddy_onnx_read(context._ptr, data, len(data), options,
                                    out, err)
    else:
        options.external_data = True
        status = lib.eddy_onnx_load(context._ptr, os.fsencode(path), options,
                                    out, err)
    check(status, err)
    try:
        graph = Graph(context, lib.eddy_onnx_model_take_graph(out[0]))
        graph.ports = tuple(_ports(graph, out[0], end) for end in (
            lib.eddy_onnx_model_inputs, lib.eddy_onnx_model_outputs))
        graph.names = {text_of(p.name): Output(graph, p.output.node,
                                               p.output.index)
                       for end in (lib.eddy_onnx_model_inputs,
                                   lib.eddy_onnx_model_outputs)
                       for p in _each_port(out[0], end)}
    finally:
        lib.eddy_onnx_model_destroy(out[0])
    return graph


def _each_port(model, end):
    n = ffi.new("size_t *")
    array = end(model, n)
    return [array[i] for i in range(n[0])]


def _ports(graph, model, end):
    return tuple(Output(graph, p.output.node, p.output.index)
                 for p in _each_port(model, end))


__all__ = ["Graph", "Output", "Operation", "Context", "load", "describe_op"]
