# SPDX-License-Identifier: Apache-2.0
"""Draws one ONNX model with nested control flow; see onnx_programs.py.

A Type is what is known of a value: its dtype and its dimensions, None for one
that only a run knows.  A Block is a graph, a body or a function while it is
drawn: it sees its own values and, unless it is a function, those of the blocks
around it.  Whatever is drawn runs without an error: divisors are positive
constants, indices are reduced modulo a length that is not 0, loops end, and
what grows is cut.
"""

import collections

import numpy
from onnx import AttributeProto, TensorProto, helper, numpy_helper

FLOAT, DOUBLE = TensorProto.FLOAT, TensorProto.DOUBLE
INT32, INT64, BOOL = TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
OPSETS = (8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25)
MAX_LENGTH = 9  # of what grows
MAX_DEPTH = 4

# What an optional value holds.
HELD = {"optional": "tensor", "optional sequence": "sequence"}

Type = collections.namedtuple("Type", "dtype shape kind", defaults=["tensor"])
Value = collections.namedtuple("Value", "name type")


def vector(dtype):
    return Type(dtype, (None,))


def scalar(dtype):
    return Type(dtype, ())


def is_float(dtype):
    return dtype in (FLOAT, DOUBLE)


def is_int(dtype):
    return dtype in (INT32, INT64)


def type_proto(kind, declared):
    """The TypeProto; `declared`: with the dimensions, or without a shape."""
    shape = None
    if declared:
        shape = list(kind.shape)
    tensor = helper.make_tensor_type_proto(kind.dtype, shape)
    if kind.kind == "sequence":
        return helper.make_sequence_type_proto(tensor)
    if kind.kind == "optional":
        return helper.make_optional_type_proto(tensor)
    if kind.kind == "optional sequence":
        return helper.make_optional_type_proto(
            helper.make_sequence_type_proto(tensor))
    return tensor


def info(value, declared):
    return helper.make_value_info(value.name, type_proto(value.type, declared))


class Names:
    """Names along a path of blocks differ; those of siblings need not."""

    def __init__(self):
        self.next = 0

    def new(self, stem="v"):
        self.next += 1
        return f"{stem}{self.next}"


class Block:
    def __init__(self, program, outer=None, depth=0):
        self.program = program
        self.outer = outer
        self.depth = depth
        self.nodes, self.constants = [], []
        self.values = []  # its own
        self.inputs = []
        self.made_here = set()
        self.rng = program.rng
        self.opset = program.opset
        self.names = program.names

    # ---- values ----

    def visible(self):
        block, values = self, []
        while block:
            values += block.values
            block = block.outer
        return values

    def find(self, test):
        found = [v for v in self.visible() if test(v.type)]
        if not found:
            return None
        # What is near is drawn more often.
        return found[min(int(self.rng.expovariate(0.15)), len(found) - 1)] \
            if self.rng.random() < 0.5 else self.rng.choice(found)

    def tensor(self, test):
        return self.find(lambda t: t.kind == "tensor" and test(t))

    def of(self, kind):
        return self.find(lambda t: t == kind)

    def add(self, value):
        self.values.insert(0, value)
        return value

    def emit(self, op, inputs, kinds, domain="", **attrs):
        """A node; one Value, or a list of them where `kinds` is a list."""
        names = ["" if i is None else i.name if isinstance(i, Value) else i
                 for i in inputs]
        while names and names[-1] == "" and not (op == "Loop" and
                                                 len(names) == 2):
            names.pop()
        wanted = kinds if isinstance(kinds, list) else [kinds]
        outputs = [Value(self.names.new() if k else "", k) for k in wanted]
        node = helper.make_node(op, names, [o.name for o in outputs],
                                domain=domain, **attrs)
        if self.rng.random() < 0.3:
            node.name = self.names.new("n")
        self.nodes.append(node)
        for value in outputs:
            if value.type:
                self.made_here.add(value.name)
                self.add(value)
        return outputs if isinstance(kinds, list) else outputs[0]

    def constant(self, array, kind=None):
        array = numpy.asarray(array)
        name = self.names.new("c")
        dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
        value = Value(name, kind or Type(dtype, array.shape))
        tensor = numpy_helper.from_array(array, name)
        if self.program.in_function or self.rng.random() < 0.5:
            self.nodes.append(helper.make_node("Constant", [], [name],
                                               value=tensor))
        else:
            self.constants.append(tensor)
        self.made_here.add(name)
        return value

    def ints(self, *numbers):
        return self.constant(numpy.array(numbers, numpy.int64))

    def int(self, number, dtype=INT64):
        return self.constant(numpy.array(
            number, helper.tensor_dtype_to_np_dtype(dtype)))

    def random_array(self, dtype, shape):
        rng = self.rng
        np_dtype = helper.tensor_dtype_to_np_dtype(dtype)
        n = int(numpy.prod(shape)) if shape else 1
        if is_float(dtype):
            flat = [rng.randint(-16, 16) / 8 for _ in range(n)]
        elif dtype == BOOL:
            flat = [rng.random() < 0.5 for _ in range(n)]
        else:
            flat = [rng.randint(-6, 6) for _ in range(n)]
        return numpy.array(flat, np_dtype).reshape(shape)

    def fresh(self, kind):
        """A constant of a type; a dimension that is free has a length."""
        if kind.kind == "sequence":
            item = Type(kind.dtype, kind.shape)
            items = [self.need(item) for _ in range(self.rng.randint(1, 3))]
            return self.emit("SequenceConstruct", items, kind)
        if kind.kind in HELD:
            inside = Type(kind.dtype, kind.shape, HELD[kind.kind])
            if self.rng.random() < 0.3:
                return self.emit("Optional", [], kind,
                                 type=type_proto(inside, False))
            return self.emit("Optional", [self.need(inside)], kind)
        free = self.rng.randint(0 if kind.shape == (None,) and
                                self.rng.random() < 0.2 else 1, 4)
        shape = tuple(free if d is None else d for d in kind.shape)
        value = self.constant(self.random_array(kind.dtype, shape), kind)
        return self.add(value)

    def need(self, kind):
        """A value of a type: one that there is, or a constant."""
        if self.rng.random() < 0.85:
            found = self.of(kind)
            if not found and kind.kind == "tensor":
                found = self.convert(kind)
            if found:
                return found
        return self.fresh(kind)

    def convert(self, kind):
        """From a value of another dtype or shape; None if there is none."""
        if kind.shape == (None,):
            other = self.tensor(lambda t: t.dtype == kind.dtype)
            if other:
                return self.cut(self.emit("Reshape", [other, self.ints(-1)],
                                          kind))
        if kind.dtype == BOOL:
            return None
        other = self.tensor(lambda t: t.shape == kind.shape and
                            (is_int(t.dtype) or is_float(kind.dtype)))
        if other:
            return self.emit("Cast", [other], kind, to=kind.dtype)
        return None

    # ---- small helpers ----

    def cut(self, value):
        """At most MAX_LENGTH of the first axis."""
        if self.opset >= 10:
            return self.emit("Slice", [value, self.ints(0),
                                       self.ints(MAX_LENGTH)], value.type)
        return self.emit("Slice", [value], value.type, starts=[0],
                         ends=[MAX_LENGTH])

    def reduce(self, op, x, axes, keep, kind):
        since = 13 if op == "ReduceSum" else 18
        if self.opset >= since:
            return self.emit(op, [x, None if axes is None else
                                  self.ints(*axes)], kind, keepdims=keep)
        if axes is None:
            return self.emit(op, [x], kind, keepdims=keep)
        return self.emit(op, [x], kind, axes=axes, keepdims=keep)

    def squeezed(self, op, x, axes, kind):
        if self.opset >= 13:
            return self.emit(op, [x, self.ints(*axes)], kind)
        return self.emit(op, [x], kind, axes=axes)

    def modulo(self, x, n):
        """Integers as 0 to n - 1; `n` a number or an int64 value > 0."""
        if isinstance(n, int):
            n = self.int(n, x.type.dtype)
        if self.opset >= 10:
            return self.emit("Mod", [x, n], x.type)
        down = self.emit("Div", [x, n], x.type)
        rest = self.emit("Sub", [x, self.emit("Mul", [down, n], x.type)],
                         x.type)
        # What Div leaves of a negative number is negative.
        return self.emit("Abs", [rest], x.type)

    def truth(self):
        """A bool scalar, of an integer."""
        rng = self.rng
        found = self.of(scalar(BOOL))
        if found and rng.random() < 0.4:
            return found
        x = self.need(scalar(INT64))
        if rng.random() < 0.5:
            x = self.modulo(x, rng.randint(2, 5))
        if self.opset < 9:
            return self.emit("Equal", [x, self.int(rng.randint(-1, 2))],
                             scalar(BOOL))
        return self.emit(rng.choice(["Less", "Greater", "Equal"]),
                         [x, self.int(rng.randint(-2, 3))], scalar(BOOL))

    def shrunk(self, value):
        """So that values stay small: floats in -1..1, integers by a modulus."""
        if is_float(value.type.dtype):
            return self.emit(self.rng.choice(["Tanh", "Sigmoid"]), [value],
                             value.type)
        if is_int(value.type.dtype):
            return self.modulo(value, self.rng.choice([7, 11, 13]))
        return value

    def step(self):
        rng = self.rng
        productions = self.program.productions
        for _ in range(8):
            since, _, make = rng.choices(
                productions, [p[1] for p in productions])[0]
            if self.opset < since or (make in self.program.deep and (
                    self.depth >= MAX_DEPTH or
                    rng.random() < self.depth * 0.18)):
                continue
            if make(self) is not None:
                return

    def fill(self, n):
        for _ in range(n):
            if self.program.budget <= 0:
                break
            self.program.budget -= 1
            self.step()

    def result(self, kind):
        """A value of this block's own to give out."""
        value = self.need(kind)
        if value.name in self.made_here:
            return value
        if kind.kind == "sequence" and self.opset < 14:
            return self.emit("SequenceInsert", [value, self.need(
                Type(kind.dtype, kind.shape))], kind)
        if kind.kind in HELD and self.opset < 16:
            return self.fresh(kind)
        return self.emit("Identity", [value], kind)

    def finish(self, name, results, declared, n_declared=0):
        """The GraphProto; the first `n_declared` inputs have a shape anyway."""
        outputs, seen = [], set()
        for value in results:
            if value.name in seen:
                value = self.emit("Identity", [value], value.type)
            seen.add(value.name)
            outputs.append(value)
        return helper.make_graph(
            self.nodes, name,
            [info(v, declared or i < n_declared)
             for i, v in enumerate(self.inputs)],
            [info(v, declared) for v in outputs], self.constants)

    def body(self, kinds):
        """A block inside this one, with inputs of these types."""
        block = Block(self.program, self, self.depth + 1)
        for kind in kinds:
            value = Value(self.names.new("b"), kind)
            block.inputs.append(value)
            block.add(value)
        return block


# ---- elementwise ----

def unary(b):
    x = b.tensor(lambda t: True)
    if not x:
        return None
    if is_float(x.type.dtype):
        op = b.rng.choice(["Neg", "Abs", "Tanh", "Sigmoid", "Relu", "Floor",
                           "Softplus", "Identity"])
        if x.type.dtype == DOUBLE and op in ("Softplus",):
            op = "Tanh"
    elif is_int(x.type.dtype):
        op = b.rng.choice(["Neg", "Abs", "Identity"])
    else:
        op = b.rng.choice(["Not", "Identity"])
    return b.emit(op, [x], x.type)


def partner(b, x):
    """What broadcasts with x to x's type."""
    def fits(t):
        return t.dtype == x.type.dtype and (
            t.shape == () or (None not in x.type.shape and
                              t.shape == x.type.shape) or
            (None not in x.type.shape and t.shape == x.type.shape[1:]))
    y = b.tensor(fits)
    return y or (x if b.rng.random() < 0.3 else b.fresh(scalar(x.type.dtype)))


def binary(b):
    x = b.tensor(lambda t: t.dtype != BOOL)
    if not x:
        return None
    y = partner(b, x)
    ops = ["Add", "Sub", "Mul", "Add", "Sub"]
    if is_float(x.type.dtype) or b.opset >= 12:
        ops += ["Min", "Max"]
    pair = [x, y] if b.rng.random() < 0.7 else [y, x]
    op = b.rng.choice(ops)
    out = b.emit(op, pair, x.type)
    if op == "Mul":
        return b.shrunk(out)
    if b.rng.random() < 0.4 and b.depth:
        return b.shrunk(out)
    return out


def divide(b):
    x = b.tensor(lambda t: t.dtype != BOOL)
    if not x:
        return None
    n = b.rng.choice([2, 3, 4])
    if is_int(x.type.dtype) and b.rng.random() < 0.5:
        return b.modulo(x, n)
    return b.emit("Div", [x, b.int(n, x.type.dtype)], x.type)


def compare(b):
    x = b.tensor(lambda t: is_int(t.dtype) or (t.dtype == FLOAT and
                                               b.opset >= 7))
    if not x:
        return None
    kind = Type(BOOL, x.type.shape)
    y = partner(b, x)
    if is_float(x.type.dtype) or b.opset < 9:
        if is_float(x.type.dtype):
            return b.emit(b.rng.choice(["Less", "Greater"]),
                          [x, b.int(b.rng.choice([0.0625, 0.3, -0.7]),
                                    x.type.dtype)], kind)
        return b.emit("Equal", [x, y], kind)
    ops = ["Less", "Greater", "Equal"]
    if b.opset >= 12:
        ops += ["LessOrEqual", "GreaterOrEqual"]
    return b.emit(b.rng.choice(ops), [x, y], kind)


def logical(b):
    x = b.tensor(lambda t: t.dtype == BOOL)
    if not x:
        return None
    return b.emit(b.rng.choice(["And", "Or", "Xor"]), [x, partner(b, x)],
                  x.type)


def where(b):
    x = b.tensor(lambda t: t.dtype != BOOL)
    if not x:
        return None
    return b.emit("Where", [b.truth(), x, partner(b, x)], x.type)


def cast(b):
    x = b.tensor(lambda t: not is_float(t.dtype))
    if not x:
        return None
    to = b.rng.choice([INT64, INT32, b.program.real])
    return b.emit("Cast", [x], Type(to, x.type.shape), to=to)


def clip(b):
    x = b.tensor(lambda t: t.dtype == FLOAT or (b.opset >= 12 and
                                                t.dtype != BOOL))
    if not x:
        return None
    if b.opset < 11:
        return b.emit("Clip", [x], x.type, min=-1.5, max=1.25)
    return b.emit("Clip", [x, b.int(-2, x.type.dtype) if b.rng.random() < 0.7
                           else None, b.int(3, x.type.dtype)], x.type)


# ---- shapes ----

def concat(b):
    x = b.tensor(lambda t: t.dtype != BOOL and len(t.shape) == 1)
    if not x:
        return None
    y = b.tensor(lambda t: t.dtype == x.type.dtype and len(t.shape) == 1)
    more = [y] if b.rng.random() < 0.6 else [y, x]
    return b.cut(b.emit("Concat", [x, *more], vector(x.type.dtype), axis=0))


def to_vector(b):
    x = b.tensor(lambda t: t.dtype != BOOL)
    if not x:
        return None
    return b.cut(b.emit("Reshape", [x, b.ints(-1)], vector(x.type.dtype)))


def slice_vector(b):
    x = b.tensor(lambda t: t.shape == (None,) and t.dtype != BOOL)
    if not x or b.opset < 10:
        return None
    n = b.modulo(b.need(scalar(INT64)), b.rng.randint(2, 5))
    start = b.emit("Reshape", [n, b.ints(1)], Type(INT64, (1,)))
    if b.rng.random() < 0.3:
        return b.emit("Slice", [x, b.ints(-1), b.ints(-100), b.ints(0),
                                b.ints(-b.rng.randint(1, 2))], x.type)
    if b.rng.random() < 0.5:
        return b.emit("Slice", [x, b.ints(0), start, b.ints(0)], x.type)
    return b.emit("Slice", [x, start, b.ints(MAX_LENGTH), b.ints(0)], x.type)


def not_empty(b, x):
    """x with one element more in front."""
    return b.emit("Concat", [b.emit("Reshape", [b.need(scalar(x.type.dtype)),
                                                b.ints(1)],
                                    Type(x.type.dtype, (1,))), x], x.type,
                  axis=0)


def length_of(b, x):
    shape = b.emit("Shape", [x], Type(INT64, (len(x.type.shape),)))
    return b.emit("Gather", [shape, b.int(0)], scalar(INT64), axis=0)


def gather(b):
    x = b.tensor(lambda t: t.shape == (None,) and t.dtype != BOOL)
    if not x:
        return None
    x = not_empty(b, x)
    i = b.modulo(b.emit("Abs", [b.need(scalar(INT64))], scalar(INT64)),
                 length_of(b, x))
    if b.opset >= 11 and b.rng.random() < 0.3:
        i = b.emit("Neg", [b.emit("Add", [i, b.int(1)], scalar(INT64))],
                   scalar(INT64))
        i = b.emit("Max", [i, b.int(-1)], scalar(INT64)) \
            if b.opset >= 12 else i
    return b.emit("Gather", [x, i], scalar(x.type.dtype), axis=0)


def gather_fixed(b):
    x = b.tensor(lambda t: t.shape and t.shape[0] and t.dtype != BOOL)
    if not x:
        return None
    picks = [b.rng.randrange(x.type.shape[0])
             for _ in range(b.rng.randint(1, 3))]
    return b.emit("Gather", [x, b.ints(*picks)],
                  Type(x.type.dtype, (len(picks), *x.type.shape[1:])), axis=0)


def transpose(b):
    x = b.tensor(lambda t: len(t.shape) >= 2 and t.dtype != BOOL)
    if not x:
        return None
    order = list(range(len(x.type.shape)))
    b.rng.shuffle(order)
    return b.emit("Transpose", [x], Type(x.type.dtype, tuple(
        x.type.shape[i] for i in order)), perm=order)


def unsqueeze(b):
    x = b.tensor(lambda t: len(t.shape) <= 2 and t.dtype != BOOL and
                 None not in t.shape)
    if not x:
        return None
    if x.type.shape and x.type.shape[0] == 1:
        return b.squeezed("Squeeze", x, [0], Type(x.type.dtype,
                                                  x.type.shape[1:]))
    axis = b.rng.randint(0, len(x.type.shape))
    shape = list(x.type.shape)
    shape.insert(axis, 1)
    return b.squeezed("Unsqueeze", x, [axis], Type(x.type.dtype,
                                                   tuple(shape)))


def expand(b):
    x = b.tensor(lambda t: t.shape in ((), (3,)) and t.dtype != BOOL)
    if not x:
        return None
    to = [2, 3] if b.rng.random() < 0.5 or x.type.shape else [3]
    return b.emit("Expand", [x, b.ints(*to)], Type(x.type.dtype, tuple(to)))


def reduced(b):
    x = b.tensor(lambda t: t.dtype != BOOL and t.dtype != INT32 and t.shape)
    if not x:
        return None
    op = b.rng.choice(["ReduceSum", "ReduceSum", "ReduceMax", "ReduceMin"])
    if op != "ReduceSum":
        if None in x.type.shape:
            if len(x.type.shape) > 1:
                return None
            x = not_empty(b, x)
        if x.type.dtype == DOUBLE and b.opset < 11:
            op = "ReduceSum"
        if x.type.dtype == INT64 and b.opset < 12:
            op = "ReduceSum"
    if b.rng.random() < 0.6:
        out = b.reduce(op, x, None, 0, scalar(x.type.dtype))
    else:
        axis = b.rng.randrange(len(x.type.shape))
        keep = b.rng.randint(0, 1)
        shape = list(x.type.shape)
        shape[axis:axis + 1] = [1] if keep else []
        out = b.reduce(op, x, [axis], keep, Type(x.type.dtype, tuple(shape)))
    return b.shrunk(out) if b.depth else out


def shape_of(b):
    x = b.tensor(lambda t: True)
    if not x:
        return None
    if b.rng.random() < 0.4:
        return b.emit("Size", [x], scalar(INT64))
    return b.emit("Shape", [x], Type(INT64, (len(x.type.shape),))) \
        if x.type.shape else None


def matmul(b):
    x = b.tensor(lambda t: len(t.shape) == 2 and is_float(t.dtype) and
                 t.shape[1] is not None)
    if not x:
        return None
    w = b.need(Type(x.type.dtype, (x.type.shape[1], 3)))
    return b.shrunk(b.emit("MatMul", [x, w], Type(x.type.dtype, (
        x.type.shape[0], 3))))


def cumsum(b):
    x = b.tensor(lambda t: len(t.shape) >= 1 and t.dtype != BOOL)
    if not x:
        return None
    return b.shrunk(b.emit(
        "CumSum", [x, b.int(b.rng.randrange(len(x.type.shape)))], x.type,
        exclusive=b.rng.randint(0, 1), reverse=b.rng.randint(0, 1)))


def top_k(b):
    x = b.tensor(lambda t: len(t.shape) >= 1 and t.dtype in (FLOAT, INT64) and
                 t.shape[-1])
    if not x or b.opset < 11:
        return None
    k = b.rng.randint(1, x.type.shape[-1])
    shape = x.type.shape[:-1] + (k,)
    return b.emit("TopK", [x, b.ints(k)], [Type(x.type.dtype, shape),
                                           Type(INT64, shape)],
                  largest=b.rng.randint(0, 1))


def arg_max(b):
    x = b.tensor(lambda t: len(t.shape) >= 1 and t.shape[0] and
                 t.dtype in (FLOAT, INT32))
    if not x:
        return None
    return b.emit(b.rng.choice(["ArgMax", "ArgMin"]), [x],
                  Type(INT64, x.type.shape[1:]), axis=0, keepdims=0)


def to_range(b):
    n = b.modulo(b.need(scalar(INT64)), 5)
    return b.emit("Range", [b.int(0), n, b.int(b.rng.randint(1, 2))],
                  vector(INT64))


def non_zero(b):
    x = b.tensor(lambda t: t.shape == (None,) and t.dtype != DOUBLE)
    if not x:
        return None
    found = b.emit("NonZero", [x], Type(INT64, (1, None)))
    return b.emit("Reshape", [found, b.ints(-1)], vector(INT64))


def compress(b):
    x = b.tensor(lambda t: t.shape == (3,) and t.dtype != BOOL)
    if not x:
        return None
    return b.emit("Compress", [x, b.need(Type(BOOL, (3,)))],
                  vector(x.type.dtype), axis=0)


def scatter(b):
    x = b.tensor(lambda t: len(t.shape) == 1 and t.shape[0] and
                 t.dtype != BOOL)
    if not x:
        return None
    i = b.modulo(b.emit("Abs", [b.need(Type(INT64, (1,)))], Type(
        INT64, (1,))), x.type.shape[0])
    new = b.need(Type(x.type.dtype, (1,)))
    attrs = {}
    if b.opset >= 16 and b.rng.random() < 0.6:
        attrs["reduction"] = b.rng.choice(["add", "none"] if b.opset < 18
                                          else ["add", "max", "min", "none"])
    if b.rng.random() < 0.5:
        return b.emit("ScatterElements", [x, i, new], x.type, axis=0, **attrs)
    at = b.emit("Reshape", [i, b.ints(1, 1)], Type(INT64, (1, 1)))
    return b.emit("ScatterND", [x, at, new], x.type, **attrs)


def pad(b):
    x = b.tensor(lambda t: t.shape == (None,) and t.dtype in (FLOAT, DOUBLE) or
                 t.shape == (None,) and t.dtype == INT64 and b.opset >= 13)
    if not x:
        return None
    if b.opset < 11:
        out = b.emit("Pad", [x], x.type, pads=[1, 0], value=0.5)
    else:
        out = b.emit("Pad", [x, b.ints(b.rng.randint(0, 2), 1),
                             b.int(3, x.type.dtype)], x.type)
    return b.cut(out)


def softmax(b):
    x = b.tensor(lambda t: len(t.shape) >= 1 and is_float(t.dtype) and
                 None not in t.shape)
    if not x:
        return None
    axis = len(x.type.shape) - 1
    if b.opset >= 13:
        axis = b.rng.randrange(len(x.type.shape))
    return b.emit(b.rng.choice(["Softmax", "LogSoftmax"]), [x], x.type,
                  axis=axis)


def split(b):
    x = b.tensor(lambda t: t.shape and t.shape[0] in (2, 3) and
                 t.dtype != BOOL)
    if not x:
        return None
    parts = [1, x.type.shape[0] - 1]
    kinds = [Type(x.type.dtype, (p, *x.type.shape[1:])) for p in parts]
    if b.opset >= 13:
        return b.emit("Split", [x, b.ints(*parts)], kinds, axis=0)
    return b.emit("Split", [x], kinds, axis=0, split=parts)


# ---- sequences and optional values ----

def a_sequence(b):
    return b.find(lambda t: t.kind == "sequence")


def item_type(x):
    return Type(x.type.dtype, x.type.shape)


def new_sequence(b):
    rng = b.rng
    item = Type(rng.choice([INT64, b.program.real, FLOAT]),
                rng.choice([(), (None,), (2, 3), (3,)]))
    kind = Type(item.dtype, item.shape, "sequence")
    if rng.random() < 0.3:
        return b.emit("SequenceEmpty", [], kind, dtype=item.dtype)
    return b.emit("SequenceConstruct",
                  [b.need(item) for _ in range(rng.randint(1, 3))], kind)


def sequence_insert(b):
    x = a_sequence(b)
    if not x:
        return None
    place = None
    if b.rng.random() < 0.5:
        place = b.int(0)
    if b.rng.random() < 0.3:
        n = b.emit("SequenceLength", [x], scalar(INT64))
        place = b.modulo(b.emit("Abs", [b.need(scalar(INT64))],
                                scalar(INT64)),
                         b.emit("Add", [n, b.int(1)], scalar(INT64)))
    grown = b.emit("SequenceInsert", [x, b.need(item_type(x)), place], x.type)
    return shorten(b, grown) if b.depth and b.opset >= 13 else grown


def shorten(b, x):
    """Not more than five."""
    n = b.emit("SequenceLength", [x], scalar(INT64))
    long = b.emit("Greater", [n, b.int(5)], scalar(BOOL))
    start = b.names.next
    then = b.body([])
    cut = then.emit("SequenceErase", [x, then.int(b.rng.choice([0, -1, 2]))],
                    x.type)
    last = b.names.next
    b.names.next = start
    other = b.body([])
    kept = other.emit("Identity", [x], x.type) if b.opset >= 14 else \
        other.emit("SequenceErase", [other.emit(
            "SequenceInsert", [x, other.need(item_type(x))], x.type)], x.type)
    b.names.next = max(last, b.names.next)
    return b.emit("If", [long], x.type,
                  then_branch=then.finish("t", [cut], False),
                  else_branch=other.finish("e", [kept], False))


def sequence_one(b):
    """A sequence that is not empty."""
    x = a_sequence(b)
    if not x:
        return None
    return b.emit("SequenceInsert", [x, b.need(item_type(x))], x.type)


def sequence_at(b):
    x = sequence_one(b)
    if not x:
        return None
    n = b.emit("SequenceLength", [x], scalar(INT64))
    i = b.modulo(b.emit("Abs", [b.need(scalar(INT64))], scalar(INT64)), n)
    if b.rng.random() < 0.3:
        i = b.emit("Sub", [i, n], scalar(INT64))
    return b.emit("SequenceAt", [x, i], item_type(x))


def sequence_erase(b):
    x = sequence_one(b)
    if not x:
        return None
    place = b.rng.choice([None, 0, -1])
    return b.emit("SequenceErase", [x, None if place is None else
                                    b.int(place)], x.type)


def sequence_length(b):
    x = a_sequence(b)
    return b.emit("SequenceLength", [x], scalar(INT64)) if x else None


def sequence_join(b):
    x = b.find(lambda t: t.kind == "sequence" and t.shape in (
        (None,), (2, 3), (3,), ()))
    if not x:
        return None
    x = b.emit("SequenceInsert", [x, b.need(item_type(x))], x.type)
    if x.type.shape == (None,):
        return b.cut(b.emit("ConcatFromSequence", [x], vector(x.type.dtype),
                            axis=0))
    r = len(x.type.shape)
    axis = b.rng.randint(-r - 1, r)
    shape = list(x.type.shape)
    shape.insert(axis if axis >= 0 else r + 1 + axis, None)
    if x.type.shape == (2, 3) and b.rng.random() < 0.5:
        axis = b.rng.randint(0, 1)
        joined = b.emit("ConcatFromSequence", [x], Type(
            x.type.dtype, (None, 3) if axis == 0 else (2, None)), axis=axis)
    else:
        joined = b.emit("ConcatFromSequence", [x], Type(
            x.type.dtype, tuple(shape)), axis=axis, new_axis=1)
    return b.cut(b.emit("Reshape", [joined, b.ints(-1)],
                        vector(x.type.dtype)))


def sequence_split(b):
    x = b.tensor(lambda t: len(t.shape) >= 1 and t.dtype in (
        FLOAT, DOUBLE, INT64, INT32))
    if not x:
        return None
    if x.type.shape[0] is None or b.rng.random() < 0.4:
        if x.type.shape[0] is None:
            x = not_empty(b, x) if x.type.shape == (None,) else None
            if not x:
                return None
        part = b.int(b.rng.randint(1, 3))
        return b.emit("SplitToSequence", [x, part], Type(
            x.type.dtype, (None, *x.type.shape[1:]), "sequence"), axis=0)
    if b.rng.random() < 0.5:
        return b.emit("SplitToSequence", [x], Type(
            x.type.dtype, x.type.shape[1:], "sequence"), axis=0, keepdims=0)
    n = x.type.shape[0]
    parts = [1, n - 1] if n > 1 else [1]
    return b.emit("SplitToSequence", [x, b.ints(*parts)], Type(
        x.type.dtype, (None, *x.type.shape[1:]), "sequence"), axis=0)


def sequence_map(b):
    x = a_sequence(b)
    if not x:
        return None
    extra = b.tensor(lambda t: True) if b.rng.random() < 0.5 else None
    block = b.body([item_type(x)] + ([extra.type] if extra else []))
    block.fill(b.rng.randint(1, 4))
    kinds = [Type(b.rng.choice([INT64, b.program.real]),
                  b.rng.choice([(), (None,), (3,)]))
             for _ in range(b.rng.randint(1, 2))]
    results = [block.result(k) for k in kinds]
    return b.emit("SequenceMap", [x] + ([extra] if extra else []),
                  [Type(k.dtype, k.shape, "sequence") for k in kinds],
                  body=block.finish("m", results, False))


def new_optional(b):
    x = b.find(lambda t: t.dtype != BOOL and t.kind in ("tensor", "sequence"))
    if not x:
        return None
    return b.fresh(Type(x.type.dtype, x.type.shape, "optional" if
                        x.type.kind == "tensor" else "optional sequence"))


def optional_has(b):
    x = b.find(lambda t: t.kind in HELD or (
        b.opset >= 18 and t.kind == "tensor"))
    return b.emit("OptionalHasElement", [x], scalar(BOOL)) if x else None


def optional_get(b):
    x = b.find(lambda t: t.kind in HELD)
    if not x:
        return None
    kind = Type(x.type.dtype, x.type.shape, HELD[x.type.kind])
    has = b.emit("OptionalHasElement", [x], scalar(BOOL))
    start = b.names.next
    then = b.body([])
    got = then.emit("OptionalGetElement", [x], kind)
    last = b.names.next
    b.names.next = start
    other = b.body([])
    missing = other.result(kind)
    b.names.next = max(last, b.names.next)
    return b.emit("If", [has], kind, then_branch=then.finish("t", [got], False),
                  else_branch=other.finish("e", [missing], False))


# ---- control flow ----

def draw_type(b, fixed=False):
    rng = b.rng
    dtype = rng.choice([INT64, INT64, b.program.real, b.program.real, INT32,
                        BOOL])
    if fixed:
        return Type(dtype, rng.choice([(), (), (3,), (2, 3), (1,)]))
    if dtype != BOOL and rng.random() < 0.45:
        return vector(dtype)
    return Type(dtype, rng.choice([(), (), (3,), (2, 3)]))


def draw_held(b, since):
    """A sequence or an optional value that there is, where it may be one."""
    if b.opset >= since and b.rng.random() < 0.35:
        found = b.find(lambda t: t.kind == "sequence" or (
            t.kind in HELD and b.opset >= 16))
        if found:
            return found.type
    return None


def make_if(b):
    cond = b.truth()
    if b.rng.random() < 0.3:
        cond = b.emit("Reshape", [cond, b.ints(1)], Type(BOOL, (1,)))
    kinds = [draw_held(b, 13) or draw_type(b)
             for _ in range(b.rng.randint(1, 4))]
    start, last, graphs = b.names.next, b.names.next, []
    declared = b.rng.random() < 0.5
    for name in ("then", "else"):
        b.names.next = start
        block = b.body([])
        block.fill(b.rng.randint(0, 6))
        graphs.append(block.finish(name, [block.result(k) for k in kinds],
                                   declared))
        last = max(last, b.names.next)
    b.names.next = last
    return b.emit("If", [cond], list(kinds), then_branch=graphs[0],
                  else_branch=graphs[1])


def trip_count(b):
    if b.depth == 0 and b.rng.random() < 0.3:
        n = b.int(b.rng.randint(5, 40))
    elif b.rng.random() < 0.4:
        n = b.int(b.rng.choice([0, 1, 2, 3, 4, -2]))
    else:
        n = b.modulo(b.need(scalar(INT64)), b.rng.randint(2, 5))
    if b.rng.random() < 0.3:
        return b.emit("Reshape", [n, b.ints(1)], Type(INT64, (1,)))
    return n


def loop_condition(b, block, mode):
    """What the body gives as its condition."""
    rng = b.rng
    if mode == "M":
        return block.emit("GreaterOrEqual", [block.inputs[0], block.int(0)],
                          scalar(BOOL)) if b.opset >= 12 and \
            rng.random() < 0.5 else block.constant(numpy.array(True))
    test = block.truth() if rng.random() < 0.4 else None
    end = block.int(rng.randint(0, 3) if b.depth else rng.randint(0, 12))
    if b.opset >= 9:
        under = block.emit("Less", [block.inputs[0], end], scalar(BOOL))
    else:
        same = block.emit("Equal", [block.inputs[0], end], scalar(BOOL))
        under = block.emit("Not", [same], scalar(BOOL))
    if mode == "both" and test and rng.random() < 0.5:
        return block.emit("Or", [under, test], scalar(BOOL))
    if test and test.type == scalar(BOOL):
        return block.emit("And", [under, test], scalar(BOOL))
    return under


def make_loop(b):
    rng = b.rng
    mode = rng.choice(["M", "M", "cond", "both", "both"])
    kinds = [draw_held(b, 13 if rng.random() < 0.9 else 16) or draw_type(b)
             for _ in range(rng.randint(0 if b.opset >= 11 else 1, 4))]
    stacked = [draw_type(b, True) for _ in range(
        rng.randint(0 if kinds else 1, 2))]
    count = trip_count(b) if mode != "cond" else None
    start = None
    if mode != "M":
        start = b.truth() if rng.random() < 0.6 else \
            b.constant(numpy.array(True))
    initial = [b.need(k) for k in kinds]
    block = b.body([scalar(INT64), scalar(BOOL), *kinds])
    block.fill(rng.randint(1, 7))
    results = [loop_condition(b, block, mode)]
    if results[0].name not in block.made_here:
        results[0] = block.emit("Identity", [results[0]], scalar(BOOL))
    results += [block.result(k) for k in kinds]
    for kind in stacked:
        value = block.result(kind)
        if value.name == block.inputs[0].name:
            value = block.emit("Add", [value, block.int(1)], kind)
        results.append(value)
    # ONNX Runtime wants the iteration number's shape.
    graph = block.finish("loop", results, bool(stacked) or
                         rng.random() < 0.5, 2)
    return b.emit("Loop", [count, start, *initial],
                  [*kinds, *(Type(k.dtype, (None, *k.shape))
                             for k in stacked)], body=graph)


def scan_input(b, length):
    """A tensor with an axis of a length, and the axis."""
    x = b.tensor(lambda t: length in t.shape and None not in t.shape)
    if not x:
        x = b.fresh(Type(b.program.real, b.rng.choice(
            [(length,), (2, length), (length, 3)])))
    axes = [i for i, d in enumerate(x.type.shape) if d == length]
    return x, b.rng.choice(axes)


def without(shape, axis):
    return shape[:axis] + shape[axis + 1:]


def signed(b, axis, rank):
    return axis - rank if b.opset >= 11 and b.rng.random() < 0.4 else axis


def make_scan(b):
    rng = b.rng
    states = [draw_type(b, True) for _ in range(rng.randint(0, 2))]
    length, inputs = rng.choice([2, 3]), []
    for _ in range(rng.randint(1, 2)):
        inputs.append(scan_input(b, length))
    kinds = [Type(x.type.dtype, without(x.type.shape, a)) for x, a in inputs]
    initial = [b.need(k) for k in states]
    block = b.body([*states, *kinds])
    block.fill(rng.randint(1, 6))
    outputs = [draw_type(b, True) for _ in range(
        rng.randint(0 if states else 1, 2))]
    results = [block.result(k) for k in [*states, *outputs]]
    axes = [rng.randint(0, len(k.shape)) for k in outputs]
    attrs = {
        "scan_input_axes": [signed(b, a, len(x.type.shape))
                            for x, a in inputs],
        "scan_input_directions": [rng.randint(0, 1) for _ in inputs],
        "scan_output_axes": [signed(b, a, len(k.shape) + 1)
                             for a, k in zip(axes, outputs)],
        "scan_output_directions": [rng.randint(0, 1) for _ in outputs],
    }
    attrs = {k: v for k, v in attrs.items() if v and (
        rng.random() < 0.8 or any(v) and k.endswith("input_axes"))}
    if "scan_output_axes" not in attrs:
        axes = [0] * len(outputs)
    given = [Type(k.dtype, (*k.shape[:a], length, *k.shape[a:]))
             for a, k in zip(axes, outputs)]
    graph = block.finish("scan", results, True)
    return b.emit("Scan", [*initial, *(x for x, _ in inputs)],
                  [*states, *given], body=graph, num_scan_inputs=len(inputs),
                  **attrs)


def make_scan_8(b):
    rng = b.rng
    if b.opset != 8:
        return None
    batch, length = 2, 3
    outer = [Type(b.program.real, (batch, length, *rng.choice([(), (2,)])))
             for _ in range(rng.randint(1, 2))]
    states = [draw_type(b, True) for _ in range(rng.randint(0, 2))]
    initial = [b.need(Type(k.dtype, (batch, *k.shape))) for k in states]
    inputs = [b.need(k) for k in outer]
    lengths = None
    if rng.random() < 0.5:
        lengths = b.ints(*(rng.randint(1, length) for _ in range(batch)))
    block = b.body([*states, *(Type(k.dtype, k.shape[2:]) for k in outer)])
    block.fill(rng.randint(1, 5))
    outputs = [draw_type(b, True) for _ in range(
        rng.randint(0 if states else 1, 2))]
    results = [block.result(k) for k in [*states, *outputs]]
    graph = block.finish("scan", results, True)
    return b.emit("Scan", [lengths or "", *initial, *inputs],
                  [*(v.type for v in initial),
                   *(Type(k.dtype, (batch, length, *k.shape))
                     for k in outputs)], body=graph,
                  num_scan_inputs=len(inputs),
                  directions=[rng.randint(0, 1) for _ in inputs])


def recurrent(b):
    rng = b.rng
    op = rng.choice(["LSTM", "GRU", "RNN"])
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    seq, batch, size, hidden = rng.randint(1, 4), 2, 3, rng.randint(1, 3)
    direction = rng.choice(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1

    def weights(*shape):
        return b.constant(b.random_array(FLOAT, shape) / numpy.float32(2))

    x = b.need(Type(FLOAT, (seq, batch, size)))
    inputs = [x, weights(d, gates * hidden, size),
              weights(d, gates * hidden, hidden),
              weights(d, 2 * gates * hidden) if rng.random() < 0.6 else None,
              b.constant(numpy.array([rng.randint(1, seq), seq], numpy.int32))
              if rng.random() < 0.4 else None,
              b.need(Type(FLOAT, (d, batch, hidden)))
              if rng.random() < 0.5 else None]
    attrs = {"hidden_size": hidden, "direction": direction}
    if op == "LSTM":
        inputs.append(weights(d, batch, hidden) if rng.random() < 0.5
                      else None)
        inputs.append(weights(d, 3 * hidden) if rng.random() < 0.4 else None)
        if rng.random() < 0.2:
            attrs["input_forget"] = 1
    if op == "GRU" and rng.random() < 0.5:
        attrs["linear_before_reset"] = 1
    if rng.random() < 0.3:
        n = {"LSTM": 3, "GRU": 2, "RNN": 1}[op] * d
        attrs["activations"] = [rng.choice(["Tanh", "Sigmoid", "Relu"])
                                for _ in range(n)]
    last = Type(FLOAT, (d, batch, hidden))
    kinds = [Type(FLOAT, (seq, d, batch, hidden)), last]
    if op == "LSTM":
        kinds.append(last)
    return b.emit(op, inputs, kinds, **attrs)


# ---- functions ----

def make_function(b):
    """A function of the model's own, called here."""
    program = b.program
    if program.in_function or len(program.functions) >= 3:
        return None
    rng = b.rng
    names, program.names = program.names, Names()
    program.in_function = True
    block = Block(program, None, 2)
    kinds = [draw_type(b) for _ in range(rng.randint(1, 3))]
    for kind in kinds:
        value = Value(program.names.new("p"), kind)
        block.inputs.append(value)
        block.add(value)
    attrs, fallback = [], []
    number = Value(program.names.new("a"), scalar(INT64))
    block.nodes.append(helper.make_node("Constant", [], [number.name]))
    ref = AttributeProto()
    ref.name, ref.ref_attr_name, ref.type = "value_int", "number", \
        AttributeProto.INT
    block.nodes[-1].attribute.append(ref)
    block.made_here.add(number.name)
    block.add(number)
    if rng.random() < 0.5:
        attrs.append("number")
    else:
        fallback.append(helper.make_attribute("number", rng.randint(-3, 5)))
    block.fill(rng.randint(2, 7))
    results = [block.result(draw_type(b)) for _ in range(rng.randint(1, 2))]
    program.in_function = False
    program.names = names
    results = [v if v.name not in {i.name for i in block.inputs} and
               v.name not in {r.name for r in results[:k]}
               else block.emit("Identity", [v], v.type)
               for k, v in enumerate(results)]
    name = f"F{len(program.functions)}"
    function = helper.make_function(
        "own", name, [v.name for v in block.inputs],
        [v.name for v in results], block.nodes,
        [helper.make_opsetid("", b.opset), helper.make_opsetid("own", 1)],
        attributes=attrs, attribute_protos=fallback)
    program.functions.append((function, kinds, [v.type for v in results],
                              attrs))
    return call_function(b)


def call_function(b):
    program = b.program
    if not program.functions:
        return None
    function, kinds, results, attrs = b.rng.choice(program.functions)
    given = {"number": b.rng.randint(-3, 5)} if attrs or \
        b.rng.random() < 0.3 else {}
    return b.emit(function.name, [b.need(k) for k in kinds], list(results),
                  domain="own", **given)


# ---- the whole ----

PRODUCTIONS = (
    (1, 4, unary), (7, 10, binary), (7, 4, divide), (7, 4, compare),
    (7, 2, logical), (9, 3, where), (6, 3, cast), (6, 2, clip),
    (4, 4, concat), (5, 2, to_vector), (10, 3, slice_vector), (1, 3, gather),
    (1, 2, gather_fixed), (1, 2, transpose), (1, 2, unsqueeze),
    (8, 2, expand), (7, 3, reduced), (1, 2, shape_of), (1, 1, matmul),
    (11, 1, cumsum), (11, 1, top_k), (7, 1, arg_max), (11, 2, to_range),
    (9, 1, non_zero), (9, 1, compress), (11, 2, scatter), (2, 2, pad),
    (11, 1, softmax), (2, 1, split),
    (11, 2, new_sequence), (11, 3, sequence_insert), (11, 3, sequence_at),
    (11, 2, sequence_erase), (11, 2, sequence_length), (11, 2, sequence_join),
    (11, 2, sequence_split), (17, 2, sequence_map),
    (15, 1, new_optional), (15, 1, optional_has), (15, 2, optional_get),
    (7, 5, make_if), (8, 7, make_loop), (9, 4, make_scan),
    (8, 12, make_scan_8), (7, 1, recurrent),
    (15, 2, make_function), (15, 2, call_function),
)
DEEP = {make_if, make_loop, make_scan, make_scan_8, sequence_map}


class Program:
    productions = PRODUCTIONS
    deep = DEEP

    def __init__(self, rng, opset=0):
        self.rng = rng
        self.opset = opset or rng.choice(OPSETS)
        self.real = FLOAT if self.opset < 11 or rng.random() < 0.3 else DOUBLE
        self.names = Names()
        self.functions = []
        self.in_function = False
        self.budget = rng.choice([15, 30, 60, 100])

    def feed(self, block, kind):
        if kind.kind == "sequence":
            return [self.feed(block, Type(kind.dtype, kind.shape))
                    for _ in range(self.rng.randint(1, 3))]
        free = self.rng.randint(1, 4)
        return block.random_array(kind.dtype, tuple(
            free if d is None else d for d in kind.shape))

    def inputs(self, block):
        """The model's inputs, and what they are fed."""
        feeds = {}
        kinds = [scalar(INT64), draw_type(block), vector(self.real),
                 Type(self.real, (2, 3))]
        kinds += [draw_type(block) for _ in range(self.rng.randint(0, 2))]
        if self.opset >= 11 and self.rng.random() < 0.3:
            kinds.append(Type(self.real, (None,), "sequence"))
        for kind in kinds:
            value = Value(self.names.new("x"), kind)
            block.inputs.append(value)
            block.add(value)
            feeds[value.name] = self.feed(block, kind)
        return feeds

    def outputs(self, block):
        """Everything that is made at the top, or most of it."""
        own = [v for v in block.values if v.name in block.made_here and
               v.name[0] == "v" and v.type.kind not in HELD]
        kept = [v for v in own if self.rng.random() < 0.9]
        return kept or own or [block.emit("Identity", [block.inputs[0]],
                                          block.inputs[0].type)]

    def make(self):
        block = Block(self)
        feeds = self.inputs(block)
        while self.budget > 0:
            self.budget -= 1
            block.step()
        outputs = self.outputs(block)
        declared = self.rng.random() < 0.6
        graph = helper.make_graph(
            block.nodes, "program",
            [info(v, declared) for v in block.inputs],
            [info(v, False) for v in outputs], block.constants)
        imports = [helper.make_opsetid("", self.opset)]
        if self.functions:
            imports.append(helper.make_opsetid("own", 1))
        model = helper.make_model(
            graph, opset_imports=imports,
            functions=[f[0] for f in self.functions])
        model.ir_version = 8 if self.opset < 20 else 10
        return model, feeds
