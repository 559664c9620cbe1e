#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the signatures of eddy's ops against those of TensorFlow's registry: how
many inputs and outputs an op has, what they are called, its attributes and
their defaults, which a SavedModel leaves out.

    usage: tf_op_defs.py [docs/ops.md]

Prints a line for each difference that EXPECTED does not name, and fails if
there is one; needs tensorflow.
"""

import os
import re
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow  # noqa: F401, E402 (fills the registry)
from tensorflow.core.framework import types_pb2  # noqa: E402
from tensorflow.python.framework import op_def_registry  # noqa: E402

# What differs on purpose, and why.
EXPECTED = {
    ("MutableDenseHashTable", "inputs"):
        "TensorFlow's kernel reads the second input, its signature lacks it",
    ("PrintV2", "default of end"): "a line's end, which the page escapes",
}


def split(text):
    """The parts between commas that stand in no brackets."""
    parts, depth, part = [], 0, ""
    for c in text.strip("`"):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return parts + [part.strip()] if part.strip() else parts


def names(text):
    return [part.split(":")[0].strip() for part in split(text)]


def read_page(path):
    """Of each op the columns of its row."""
    rows = {}
    with open(path, encoding="utf-8") as page:
        for line in page:
            columns = [c.strip() for c in re.split(r"(?<!\\)\|", line)]
            if len(columns) > 9 and re.match(r"_?[A-Z]\w*$", columns[1]):
                rows[columns[1]] = columns
    return rows


def default_of(attr):
    """As the page writes it; None for shapes and lists."""
    value = attr.default_value
    kind = value.WhichOneof("value")
    if kind == "type":
        name = types_pb2.DataType.Name(value.type)[3:].lower()
        return {"float": "float32", "double": "float64"}.get(name, name)
    if kind == "s":
        return "'%s'" % value.s.decode()
    if kind == "b":
        return str(value.b).lower()
    return {"i": value.i, "f": value.f}.get(kind)


def same(ours, theirs):
    if isinstance(theirs, (int, float)):
        return abs(float(ours) - theirs) <= 1e-6 * abs(theirs)
    return theirs is None or ours == theirs


def differences(columns, op_def):
    ours = dict(a.split(":", 1) for a in split(columns[4]))
    for what, text, args in (("inputs", columns[2], op_def.input_arg),
                             ("outputs", columns[3], op_def.output_arg)):
        theirs = [a.name for a in args]
        if names(text) != theirs:
            yield what, names(text), theirs
    for attr in op_def.attr:
        text = ours.get(attr.name, "").replace(">=", "")
        default = text.split("=", 1)[1].strip() if "=" in text else None
        if not text:
            yield "attribute " + attr.name, "none", "there"
        elif attr.HasField("default_value") != (default is not None):
            yield "default of " + attr.name, default, default_of(attr)
        elif default is not None and not same(default, default_of(attr)):
            yield "default of " + attr.name, default, default_of(attr)
    for name in ours.keys() - {a.name for a in op_def.attr}:
        yield "attribute " + name, "there", "none"


def main(argv):
    rows = read_page(argv[1] if len(argv) > 1 else "docs/ops.md")
    n = n_differ = 0
    for op, columns in sorted(rows.items()):
        op_def = op_def_registry.get(op)
        if op_def is None:
            continue
        n += 1
        for what, ours, theirs in differences(columns, op_def):
            if (op, what) not in EXPECTED:
                n_differ += 1
                print(f"{op}: {what}: {ours}, TensorFlow: {theirs}")
    print(f"{n} ops, {n_differ} differences")
    return n_differ > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
