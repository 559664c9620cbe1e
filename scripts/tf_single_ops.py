#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls single ops with random arguments in TensorFlow and in eddy.

    scripts/tf_single_ops.py [--eddy build/eddy] [--only REGEX] [--each N]
                             [--seed S] [--keep DIR] [-- OPTIONS]

Takes every op that both have and that has no state, and calls it N times with
random dtypes, attributes, shapes and values, among them special ones and some
that don't fit.  Each call is written as a recorded case (tests/conformance)
with what TensorFlow gave, or the class of its error, and `eddy verify` runs
them.  What TensorFlow itself can't build is left out.  The exit code is 1 if
something differs that is not in KNOWN.  OPTIONS are for `eddy verify`.

It needs the package tensorflow or tensorflow-cpu; without it nothing is done.
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import numpy as np
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry
except ImportError:
    print("tf_single_ops: TensorFlow is not there, nothing was run")
    sys.exit(0)

tf1 = tf.compat.v1
HERE = os.path.dirname(os.path.abspath(__file__))

# Ops whose differences docs/reliability.md states, or that are random.
LEFT_OUT = re.compile(
    "^_|Random|Multinomial|Collective|Device|Assert|Abort|Print|Svd|Qr|Eig|"
    "Lu$|TensorList|TensorMap|Optional|ShardedFile|MergeV2|SaveV2|RestoreV2|"
    "Fingerprint|NextIteration|Empty$|CheckNumerics|HorovodRank|FakeParam")

# op -> what is known to differ, in the words of docs/reliability.md
SLIP = "a slip of TensorFlow's own"

KNOWN = {
    "Round": SLIP,
    "TruncateDiv": SLIP,
    "TruncateMod": SLIP,
}

# ---- random values ---------------------------------------------------------

FLOATS = (tf.float32, tf.float64, tf.float16, tf.bfloat16)
COMPLEX = (tf.complex64, tf.complex128)
PLAIN = FLOATS + COMPLEX + (
    tf.bool, tf.string, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8,
    tf.uint16, tf.uint32, tf.uint64)
TEXTS = ["", "a", "ab c", " x ", "1.5", "-7", "caf\u00e9", "a,b,,c", "YWJj",
         "The quick brown fox jumps over the lazy dog, twice and once more"]


def dims(r, rank=None):
    rank = r.choice([0, 1, 1, 2, 2, 3]) if rank is None else rank
    return [r.choice([1, 2, 3, 3, 4, 0] if r.random() < 0.2 else [1, 2, 3, 4])
            for _ in range(rank)]


def numbers(r, shape, dtype, special):
    n = int(np.prod(shape, dtype=np.int64))
    rng = np.random.default_rng(r.randrange(1 << 30))
    if dtype == tf.string:
        return np.array([r.choice(TEXTS) for _ in range(n)],
                        dtype=object).reshape(shape)
    if dtype == tf.bool:
        return rng.integers(0, 2, n).astype(bool).reshape(shape)
    if dtype in FLOATS or dtype in COMPLEX:
        v = rng.standard_normal(n) * r.choice([0.4, 1, 4])
        if dtype in COMPLEX:
            v = v + 1j * rng.standard_normal(n)
        elif special:
            for i in range(n):
                if r.random() < 0.3:
                    v[i] = r.choice([np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0,
                                     -1.0, 1e30, 1e-30])
        return v.astype(dtype.as_numpy_dtype).reshape(shape)
    low = 0 if dtype.is_unsigned else -4
    v = rng.integers(low, 6, n)
    if special:
        for i in range(n):
            if r.random() < 0.2:
                v[i] = r.choice([0, dtype.max, dtype.min
                                 if dtype.min > -(1 << 62) else 0]) \
                    if dtype.max < (1 << 62) else 0
    return v.astype(dtype.as_numpy_dtype).reshape(shape)


def strings(r, n):
    return np.array([r.choice(TEXTS) for _ in range(n)], dtype=object)


def random_bytes(r, n):
    """UTF-8, some of it damaged, without a NUL."""
    out = []
    for _ in range(n):
        b = bytearray("".join(r.choice("ab\u00e9\u20ac\U0001f600\x7f\x01")
                              for _ in range(r.randrange(6))).encode())
        for _ in range(r.randrange(3)):
            if b:
                b[r.randrange(len(b))] = r.randrange(1, 256)
        out.append(bytes(b))
    return np.array(out, dtype=object)


# ---- arguments of ops of which the plain ones would not do ------------------

HINTS = {}


def hint(*ops):
    def add(f):
        for op in ops:
            HINTS[op] = f
        return f
    return add


def number_text(r):
    return r.choice(["1", "-2", "1.5", " 3 ", "1e3", "x", "", "0x1", "inf",
                     "99999999999", "nan", "+4", "- 1"])


@hint("StringToNumber")
def _(r, op):
    return [np.array([number_text(r) for _ in range(r.randrange(3))],
                     dtype=object)], {}


@hint("DecodeRaw", "DecodePaddedRaw")
def _(r, op):
    length = r.choice([0, 4, 8, 16, 3])
    n = r.randrange(1, 4)
    texts = [bytes(r.randrange(1, 256) for _ in range(
        length if r.random() < 0.9 else 4)) for _ in range(n)]
    texts = [t.replace(b"\x7f", b"\x01").replace(b"\xff", b"\x02")
             for t in texts]
    more = {} if op == "DecodeRaw" else {
        "fixed_length": np.int32(r.choice([0, 4, 8, 16, 5]))}
    return [np.array(texts, dtype=object)], dict(
        out_type=r.choice([tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8,
                           tf.uint16, tf.bool, tf.complex64, tf.float64]),
        little_endian=r.random() < 0.5, **more)


@hint("DecodeBase64")
def _(r, op):
    return [np.array(["".join(r.choice("ABCyz019-_" + ("=+ " if bad else ""))
                              for _ in range(r.randrange(7))) +
                      r.choice(["", "", "=", "=="])
                      for bad in [r.random() < 0.3]], dtype=object)], {}


@hint("StringSplit", "StringSplitV2")
def _(r, op):
    texts = np.array(["".join(r.choice("ab ,; ") for _ in range(r.randrange(8)))
                      for _ in range(r.randrange(4))], dtype=object)
    sep = np.array(r.choice(["", " ", ",", ",;", ", "]), dtype=object)
    return [texts, sep], {"skip_empty": r.random() < 0.5} \
        if op == "StringSplit" else {"maxsplit": r.choice([-1, 0, 1, 2])}


@hint("UnicodeDecode", "UnicodeDecodeWithOffsets")
def _(r, op):
    return [random_bytes(r, r.randrange(4))], dict(
        input_encoding="UTF-8",
        errors=r.choice(["replace", "replace", "ignore", "strict"]),
        replacement_char=r.choice([65533, 63]),
        replace_control_characters=r.random() < 0.5,
        Tsplits=r.choice([tf.int32, tf.int64]))


@hint("UnicodeEncode")
def _(r, op):
    n = r.randrange(6)
    values = [r.choice([97, 233, 0x20ac, 0x1f600, 0xd800, 0xffff, 0x10000, -1,
                        0x10ffff, 0x110000]) for _ in range(n)]
    middle = sorted(r.randrange(n + 1) for _ in range(r.randrange(3)))
    splits = [r.choice([0] * 9 + [1])] + middle + [n]
    return [np.array(values, np.int32), np.array(splits, np.int64)], dict(
        errors=r.choice(["replace", "ignore", "strict"]),
        output_encoding="UTF-8")


@hint("Substr")
def _(r, op):
    shape = r.choice([[], [2]])
    t = r.choice([np.int32, np.int64])
    return [strings(r, 2),
            np.array(np.random.default_rng(r.randrange(99)).integers(
                -3, 4, shape), t), np.full(shape, r.randrange(-1, 4), t)], \
        {"unit": r.choice(["BYTE", "UTF8_CHAR"])}


@hint("StringFormat")
def _(r, op):
    t = r.choice([tf.float32, tf.int32, tf.complex64, tf.complex128, tf.bool,
                  tf.float64])
    return [[numbers(r, dims(r), t, False)]], \
        {"template": "%s and", "placeholder": "%s",
         "summarize": r.choice([3, -1, 1])}


def row_ends(r, n):
    """Ends of rows of `n` things; some are wrong."""
    ends = [0] + sorted(r.randrange(n + 1) for _ in range(r.randrange(4))) + [n]
    if r.random() < 0.15:
        ends[r.randrange(len(ends))] += r.choice([-1, 1])
    return ends


@hint("StringNGrams")
def _(r, op):
    n = r.randrange(6)
    ends = row_ends(r, n) if r.random() < 0.95 else []
    return [strings(r, n), np.array(ends, r.choice([np.int32, np.int64]))], dict(
        separator=r.choice(["", " ", "--"]), left_pad=r.choice(["", "L"]),
        right_pad=r.choice(["", "R"]), pad_width=r.choice([-1, 0, 1, 2, 5]),
        preserve_short_sequences=r.random() < 0.5,
        ngram_widths=[r.choice([1, 2, 3, 4] + [0] * (r.random() < 0.1))
                      for _ in range(r.randrange(3))])


@hint("DenseCountSparseOutput", "RaggedCountSparseOutput",
      "SparseCountSparseOutput")
def _(r, op):
    n = r.randrange(7)
    shape = r.choice([[n], [n], [2, n], [n, 1], []]) \
        if op.startswith("Dense") else [n]
    of = r.choice([np.int32, np.int64])
    values = np.array([r.choice([0, 1, 1, 2, 3, 7] + [-1] * (r.random() < 0.02))
                       for _ in range(int(np.prod(shape)))], of).reshape(shape)
    t = r.choice([tf.int32, tf.int64, tf.float32, tf.float64])
    weights = numbers(r, shape if r.random() < 0.5 else r.choice([[0], [2]]),
                      t, False)
    attrs = dict(binary_output=r.random() < 0.3)
    for name in ("minlength", "maxlength"):
        if r.random() < 0.5:
            attrs[name] = r.choice([-1, 0, 2, 3, 9])
    if op.startswith("Dense"):
        return [values, weights], attrs
    if op.startswith("Ragged"):
        return [np.array(row_ends(r, n), np.int64), values, weights], attrs
    d = [r.choice([1, 2, 3]) for _ in range(r.choice([1, 2, 2, 3]))]
    at = [[r.randrange(x + (r.random() < 0.03)) for x in d] for _ in range(n)]
    return [np.array(at, np.int64).reshape([n, len(d)]), values,
            np.array(d, np.int64), weights], attrs


@hint("ParseTensor")
def _(r, op):
    """Tensors, some of them with elements one by one, some damaged."""
    t = r.choice([x for x in PLAIN if x not in (tf.bfloat16, tf.float16)])
    shape = dims(r)
    proto = tf.make_tensor_proto(numbers(r, shape, t, True), t, shape)
    text = proto.SerializeToString()
    if r.random() < 0.5:
        text = tf.io.serialize_tensor(tf.constant(
            numbers(r, shape, t, True), t, shape)).numpy()
    elif r.random() < 0.3:
        proto.tensor_shape.Clear()
        proto.tensor_shape.dim.add().size = r.choice([1, 2, 5, 0, -1])
        text = proto.SerializeToString()
    if r.random() < 0.2 and text:
        at = r.randrange(len(text))
        text = text[:at] + bytes([r.randrange(256)]) * (
            r.random() < 0.8) + text[at + 1:]
    return [np.array(text + b"", dtype=object)], dict(
        out_type=t if r.random() < 0.9 else tf.int32)


def set_elements(r, shape, t):
    n = int(np.prod(shape, dtype=np.int64))
    if t == tf.string:
        return strings(r, n).reshape(shape)
    return np.array([r.choice([0, 1, 2, 3, 5, 100]) for _ in range(n)],
                    t.as_numpy_dtype).reshape(shape)


def sparse_sets(r, groups, t):
    """Coordinates, elements and a shape; some are wrong."""
    shape = groups + [r.choice([1, 2, 3])]
    places = [p for p in np.ndindex(*shape) if r.random() < 0.5]
    if r.random() < 0.1:
        r.shuffle(places)
    at = np.array(places, np.int64).reshape([len(places), len(shape)])
    if r.random() < 0.05 and len(places):
        at[r.randrange(len(places)), r.randrange(len(shape))] += r.choice([1, -9])
    return [at, set_elements(r, [len(places)], t), np.array(shape, np.int64)]


@hint("DenseToDenseSetOperation", "DenseToSparseSetOperation",
      "SparseToSparseSetOperation", "SetSize")
def _(r, op):
    t = r.choice([tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16,
                  tf.string])
    inputs, groups = [], [r.choice([1, 2, 3]) for _ in range(r.choice([1, 1, 2]))]
    kinds = ["Sparse"] if op == "SetSize" else \
        op.replace("SetOperation", "").split("To")
    for kind in kinds:
        if r.random() < 0.05:
            groups = groups + [1] if r.random() < 0.5 else groups[1:]
        if kind == "Dense":
            inputs.append(set_elements(r, groups + [r.choice([0, 1, 2, 4])], t))
        else:
            inputs += sparse_sets(r, groups, t)
    return inputs, {} if op == "SetSize" else {"set_operation": r.choice(
        ["a-b", "b-a", "intersection", "union", "Union"])}


@hint("UnsortedSegmentJoin")
def _(r, op):
    shape, n = dims(r, r.choice([1, 2, 2, 3])), r.choice([0, 1, 2, 3, 3])
    ids = shape[:r.choice([1, 1, 2])] if r.random() < 0.95 else dims(r, 1)
    ids = np.array([r.randrange(max(n, 1)) if r.random() < 0.98 else -1
                    for _ in range(int(np.prod(ids, dtype=np.int64)))],
                   r.choice([np.int32, np.int64])).reshape(ids)
    return [strings(r, int(np.prod(shape, dtype=np.int64))).reshape(shape), ids,
            np.array(n, r.choice([np.int32, np.int64]))], \
        {"separator": r.choice(["", "-", ", "])}


@hint("NonMaxSuppression", "NonMaxSuppressionV2", "NonMaxSuppressionV3",
      "NonMaxSuppressionV4", "NonMaxSuppressionV5",
      "NonMaxSuppressionWithOverlaps")
def _(r, op):
    n, t = r.randrange(9), np.float32
    if op.startswith("NonMaxSuppressionV") and r.random() < 0.4:
        t = np.float16
    rng = np.random.default_rng(r.randrange(1 << 30))
    boxes = np.round(rng.random([n, 4]) * 4, 1).astype(t)
    if op.endswith("Overlaps"):
        boxes = rng.random([n, n]).astype(t)
    scores = np.round(rng.random(n + (r.random() < 0.05)), 1).astype(t)
    inputs = [boxes, scores, np.int32(r.choice([0, 1, 2, 5, 20, -1])
                                      if r.random() < 0.5 else 5)]
    at_most = r.choice([0.0, 0.1, 0.3, 0.5, 1.0] + [1.5] * (r.random() < 0.1))
    if op == "NonMaxSuppression":
        return inputs, {"iou_threshold": at_most}
    inputs.append(t(at_most))
    if not op.endswith("V2"):
        inputs.append(t(r.choice([-1.0, 0.0, 0.3, 0.5])))
    if op.endswith("V5"):
        inputs.append(t(r.choice([0.0, 0.0, 0.5, 2.0, 0.1])))
    return inputs, {"pad_to_max_output_size": r.random() < 0.5} \
        if op[-2:] in ("V4", "V5") else {}


@hint("RGBToHSV", "HSVToRGB", "AdjustHue", "AdjustSaturation",
      "AdjustContrastv2")
def _(r, op):
    adjusts, t = op.startswith("Adjust"), r.choice(FLOATS)
    shape = dims(r, r.choice([2, 3] if adjusts else [0, 1, 2])) + [
        3 if r.random() < 0.95 else 2]
    images = numbers(r, shape, tf.float32 if adjusts else t, False)
    return [images] + [np.float32(r.choice([0.0, 0.3, 1.0, 1.7, -0.6]))] * \
        adjusts, {}


@hint("CombinedNonMaxSuppression")
def _(r, op):
    rng = np.random.default_rng(r.randrange(1 << 30))
    batch, n, classes = r.choice([1, 2]), r.randrange(7), r.choice([1, 2, 3])
    boxes = np.round(rng.random([batch, n, r.choice([1, classes]), 4]) * 1.5, 1)
    scores = rng.random([batch, n + (r.random() < 0.03), classes])
    return [boxes.astype(np.float32), scores.astype(np.float32),
            np.int32(r.choice([1, 2, 9])), np.int32(r.choice([1, 3, 20])),
            np.float32(r.choice([0.1, 0.5] + [1.5] * (r.random() < 0.05))),
            np.float32(r.choice([-1.0, 0.0, 0.5]))], \
        {"pad_per_class": r.random() < 0.5, "clip_boxes": r.random() < 0.5}


@hint("CropAndResize", "CropAndResizeGradImage", "CropAndResizeGradBoxes")
def _(r, op):
    n, size = r.randrange(4), [r.choice([1, 2, 5]), r.choice([1, 3])]
    shape = [r.choice([1, 2]), r.choice([1, 2, 5]), r.choice([1, 4]),
             r.choice([1, 3])]
    t = r.choice([tf.float32, tf.float64, tf.float16] +
                 [tf.uint8, tf.int32] * (not op.endswith("GradImage")))
    rng = np.random.default_rng(r.randrange(1 << 30))
    image = numbers(r, shape, t, False)
    boxes = np.round(rng.random([n, 4]) * 1.4 - 0.2, 2).astype(np.float32)
    of = np.array([r.randrange(shape[0] + (r.random() < 0.03))
                   for _ in range(n)], np.int32)
    dy = rng.random([n, *size, shape[3]]).astype(np.float32)
    method = {"method": r.choice(["bilinear", "nearest"])}
    if op == "CropAndResize":
        return [image, boxes, of, np.array(size, np.int32)], dict(
            method, extrapolation_value=r.choice([0.0, -2.5]))
    if op == "CropAndResizeGradBoxes":
        return [dy, image, boxes, of], {}
    return [dy, boxes, of, np.array(shape, np.int32)], dict(method, T=t)


@hint("ExtractImagePatches")
def _(r, op):
    images = numbers(r, [r.choice([1, 2]), r.randrange(1, 5), r.randrange(1, 5),
                         r.choice([1, 3])], r.choice(FLOATS), False)
    return [images], {
        "ksizes": [1, r.choice([1, 2, 3]), r.choice([1, 2]), 1],
        "strides": [1, r.choice([1, 2]), r.choice([1, 3]), 1],
        "rates": [1, r.choice([1, 2]), r.choice([1, 2]), 1],
        "padding": r.choice(["SAME", "VALID"])}


# ---- regular expressions ---------------------------------------------------

ATOMS = ["a", "b", "c", ".", "\\d", "\\w", "\\s", "\\W", "[ab]", "[^a]", "[a-c ]", "[[:punct:]]",
         "[^\\d,]", "[\\s\\S]", "^", "$", "\\b", "\\B", "\u00e9", "[\u00e0-\u00ff]", "\\x61", "\\.",
         "(?i)", "(?i:B)", "(?s).", "(?m)^", "(?m)$", "(?U)a*", "\\A", "\\z",
         "\\Qa.b\\E", "[[:^alpha:]]", "[a\\-]", "{", "]", "\\x{e9}",
         "[]a]", "[a-]", "\\07", "(?i:[^k-s])", "(?i)[\\W_]", "-"]
TIMES = ["", "", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{0,2}",
         "{1,}", "{2,3}?", "{0}", "**", "{2,1}", "{,2}", "{1001}", "{0,}?"]


def expression(r, depth=0):
    """Most are well formed."""
    parts = []
    for _ in range(r.randrange(4 - depth) + (depth < 2)):
        kind = r.random()
        if kind < 0.25 and depth < 3:
            inner = expression(r, depth + 1)
            part = r.choice(["(%s)", "(%s)", "(?:%s)", "(?P<n%d>%%s)" %
                             r.randrange(99), "(?i:%s)"]) % inner
        elif kind < 0.35:
            part = "%s|%s" % (expression(r, depth + 1), expression(
                r, depth + 1)) if depth < 3 else "|"
            part = part if r.random() < 0.5 else "(" + part + ")"
        else:
            part = r.choice(ATOMS[:8] if r.random() < 0.5 else ATOMS)
        parts.append(part + r.choice(TIMES[:13] if r.random() < 0.95
                                     else TIMES))
    text = "".join(parts)
    if r.random() < 0.02:
        i = r.randrange(len(text) + 1)
        text = text[:i] + r.choice("()[]|*+?{}\\-^$") + text[i:]
    return text


def to_match(r):
    text = "".join(r.choice("aaabbcABkS  ,.1\n\u00e9\u20ac_-")
                   for _ in range(r.randrange(9))).encode()
    if r.random() < 0.1:
        at = r.randrange(len(text) + 1)
        text = text[:at] + bytes([r.choice([0x80, 0xc3, 0xe2, 0xff])]) + \
            text[at:]
    return text


@hint("RegexReplace", "StaticRegexReplace", "RegexFullMatch",
      "StaticRegexFullMatch")
def _(r, op):
    texts = np.array([to_match(r) for _ in range(r.randrange(1, 6))],
                     dtype=object)
    pattern, attrs = expression(r), {}
    if "(?i" in pattern:  # Case is that of ASCII, as docs/limits.md says.
        pattern = re.sub("\u00e9|\\\\x{e9}|\u00e0-\u00ff", "k", pattern)
    rewrite = r.choice(["", "-", "<\\0>", "\\1", "[\\1\\2]", "\\\\", "x\\", "y\\q",
                        "\\9"])
    if op.startswith("Static"):
        attrs["pattern"] = pattern
    if op.endswith("Replace"):
        attrs["replace_global"] = r.random() < 0.7
    if op == "StaticRegexReplace":
        attrs["rewrite"] = rewrite
    inputs = [texts] + [np.array(t, dtype=object) for t in (
        [] if op.startswith("Static") else
        [pattern, rewrite] if op.endswith("Replace") else [pattern])]
    return inputs, attrs


# ---- any op ----------------------------------------------------------------

INDICES = re.compile("axis|dim|indices|shape|size|begin|end|strides|perm|shift|"
                     "depth|^n$|^k$|num|multiples|paddings|segment|pos|len|"
                     "lower|upper|diag_index|offset|repeats|steps")


def dtypes_of(op_def, r):
    """A dtype for each type attribute."""
    found = {}
    for a in op_def.attr:
        if a.type != "type":
            continue
        allowed = [tf.dtypes.as_dtype(t) for t in a.allowed_values.list.type] \
            or [tf.float32, tf.float64, tf.int32, tf.int64, tf.bool, tf.string,
                tf.complex64, tf.uint8, tf.float16]
        allowed = [t for t in allowed if t in PLAIN]
        found[a.name] = r.choice(allowed)
    return found


def other_attrs(op_def, r):
    found = {}
    for a in op_def.attr:
        if a.type == "bool" and r.random() < 0.5:
            found[a.name] = r.random() < 0.5
        elif a.type == "string" and a.allowed_values.list.s:
            found[a.name] = r.choice(list(a.allowed_values.list.s)).decode()
        elif a.type == "int" and not any(
                i.number_attr == a.name for i in op_def.input_arg):
            if not a.HasField("default_value") or r.random() < 0.3:
                found[a.name] = r.choice([0, 1, 1, 2, 3, -1])
        elif a.type == "list(int)" and not a.HasField("default_value"):
            found[a.name] = [r.choice([1, 1, 2])
                             for _ in range(r.choice([3, 4, 4, 5]))]
        elif a.type == "float" and not a.HasField("default_value"):
            found[a.name] = r.choice([0.5, 0.0, 2.0])
    return found


def any_arguments(r, op_def):
    dtypes, attrs = dtypes_of(op_def, r), other_attrs(op_def, r)
    base = dims(r)
    special = r.random() < 0.3
    n = r.choice([1, 2, 2, 3])
    inputs = []

    def one(arg, dtype):
        if INDICES.search(arg.name) and dtype.is_integer:
            shape = r.choice([[], [], [1], [2], [len(base)], [3]])
            if arg.name in ("paddings", "crops"):
                shape = [len(base), 2]
            return numbers(r, shape, dtype, False)
        kind = r.random()
        if kind < 0.75:
            shape = base
        elif kind < 0.85:
            shape = [1 if r.random() < 0.5 else d for d in base]
        else:
            shape = dims(r)
        return numbers(r, shape, dtype, special)

    for arg in op_def.input_arg:
        if arg.type_list_attr:
            inputs.append([numbers(r, dims(r), r.choice(
                [tf.float32, tf.int32, tf.bool]), False) for _ in range(n)])
            continue
        dtype = dtypes[arg.type_attr] if arg.type_attr else \
            tf.dtypes.as_dtype(arg.type)
        if arg.number_attr:
            inputs.append([one(arg, dtype) for _ in range(n)])
        else:
            inputs.append(one(arg, dtype))
    given = {a.type_attr for a in op_def.input_arg if a.type_attr}
    attrs.update({k: v for k, v in dtypes.items() if k not in given})
    return inputs, attrs


# ---- running them ----------------------------------------------------------


def build(op, inputs, attrs, r):
    """The graph of one op, its feeds and its outputs."""
    graph, feeds = tf.Graph(), {}

    def source(value):
        if value.dtype == object:
            return tf.constant(value.tolist(), tf.string, value.shape)
        known = r.random() < 0.5
        if known and r.random() < 0.5:
            return tf.constant(value)
        p = tf1.placeholder(value.dtype, value.shape if known else None,
                            name="p%d" % len(feeds))
        feeds[p.name] = value
        return p

    with graph.as_default():
        op_def = op_def_registry.get(op)
        arguments = dict(attrs)
        for arg, value in zip(op_def.input_arg, inputs):
            arguments[arg.name] = [source(v) for v in value] \
                if isinstance(value, list) else source(np.asarray(value))
        for name, value in list(arguments.items()):
            if isinstance(value, np.generic):
                arguments[name] = tf.constant(value)
        y = getattr(tf.raw_ops, op)(**arguments)
    if isinstance(y, (tf.Tensor, tf.Operation)):
        outputs = [y] if isinstance(y, tf.Tensor) else []
    else:
        outputs = [t for t in tf.nest.flatten(list(y))]
    return graph, feeds, outputs


def configuration():
    c = tf1.ConfigProto(intra_op_parallelism_threads=1,
                        inter_op_parallelism_threads=1)
    c.graph_options.optimizer_options.opt_level = tf1.OptimizerOptions.L0
    c.graph_options.rewrite_options.disable_meta_optimizer = True
    return c


TOLERANCE = {np.dtype(np.float32): 2e-4, np.dtype(np.complex64): 2e-4,
             np.dtype(np.float64): 1e-8, np.dtype(np.complex128): 1e-8}


def tolerance(values):
    return max([TOLERANCE.get(v.dtype, 2e-2 if v.dtype.kind in "fV" else 0)
                for v in values] or [0])


def savable(value):
    value = np.array(value, object) if isinstance(value, bytes) \
        else np.asarray(value)
    if value.dtype == object:
        flat = [v if isinstance(v, bytes) else str(v).encode()
                for v in value.ravel()]
        if any(v.endswith(b"\0") for v in flat):
            return None
        return np.array(flat, dtype="S").reshape(value.shape)
    if value.dtype.name == "bfloat16":
        return None
    return value


def record(op, number, r, root):
    """Writes the case, unless TensorFlow could not build it."""
    op_def = op_def_registry.get(op)
    inputs, attrs = HINTS[op](r, op) if op in HINTS else any_arguments(
        r, op_def)
    try:
        graph, feeds, outputs = build(op, inputs, attrs, r)
    except Exception:  # whatever TensorFlow raises: not its runtime
        return
    if not outputs or any(t.dtype in (tf.variant, tf.resource)
                          for t in outputs):
        return
    run = dict(fetches=[t.name for t in outputs], targets=[])
    try:
        with tf1.Session(graph=graph, config=configuration()) as session:
            # Some kernels write into what they are fed.
            given = {n: np.array(v) for n, v in feeds.items()}
            values = [savable(v) for v in session.run(outputs, given)]
        if any(v is None for v in values):
            return
    except tf.errors.OpError as e:
        # One of the two has no kernel for the dtypes: nothing is said of it.
        if "No OpKernel" in e.message:
            return
        run["error"] = {"class": type(e).__name__, "text": e.message[-300:],
                        "stage": "run"}
        values = []
    except Exception:
        return
    if any(v.dtype.name == "bfloat16" for v in feeds.values()):
        return
    folder = os.path.join(root, "%s_%d" % (op, number))
    os.makedirs(folder)

    def save(file, value):
        np.save(os.path.join(folder, file), value)
        return file

    with open(os.path.join(folder, "graph.pb"), "wb") as f:
        f.write(graph.as_graph_def().SerializeToString())
    fed = {}
    for i, (name, value) in enumerate(feeds.items()):
        fed[name] = save("feed%d.npy" % i, value)
    run["feeds"] = fed
    if values:
        run["expect"] = [save("want%d.npy" % i, v)
                         for i, v in enumerate(values)]
        run["rtol"] = run["atol"] = tolerance(values)
    case = dict(name=os.path.basename(folder), group="tf",
                about="Made by scripts/tf_single_ops.py.",
                ops=sorted({n.op for n in graph.as_graph_def().node}),
                runs=[run])
    with open(os.path.join(folder, "case.json"), "w") as f:
        json.dump(case, f, indent=1)


def record_all(op, each, seed, root):
    """
    The cases of an op; how many, and how often TensorFlow ended its process,
    which is one of its own for that.
    """
    ends, first = 0, 0
    while first < each:
        done, told = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(2)
            for i in range(first, each):
                r = random.Random("%s %d %d" % (op, seed, i))
                record(op, i, r, root)
                os.write(told, b".")
            os._exit(0)
        os.close(told)
        with os.fdopen(done, "rb") as f:
            first += len(f.read()) + 1
        ends += os.waitpid(child, 0)[1] != 0
    return len([f for f in os.listdir(root) if f.rsplit("_", 1)[0] == op]), ends


def ops_of_both():
    with open(os.path.join(HERE, "..", "docs", "ops.md")) as f:
        here = re.findall(r"^\| (\w+) \|", f.read(), re.M)
    found = []
    for op in sorted(set(here)):
        op_def = op_def_registry.get(op)
        if op_def is None or op_def.is_stateful or LEFT_OUT.search(op) or \
                not hasattr(tf.raw_ops, op):
            continue
        if any(a.is_ref or a.type in (20, 21) for a in op_def.input_arg) or \
                any(a.type == "func" for a in op_def.attr):
            continue
        found.append(op)
    return found


def report(lines):
    """Prints what differs; how many of it are unknown."""
    unknown, last, of = 0, "", collections.Counter()
    name = None
    for line in lines:
        if line.startswith("FAILED"):
            name = os.path.basename(line.split()[1]).rsplit("_", 1)[0]
            unknown += name not in KNOWN
            of[name] += 1
            print(line)
        elif line.startswith(" ") and name:
            print(line)
        else:
            last = line
    for op, n in of.most_common():
        print("%5d %s%s" % (n, op, ": " + KNOWN[op] if op in KNOWN else ""))
    print(last)
    return unknown


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--eddy", default="build/eddy")
    options.add_argument("--only", default="", help="ops whose name matches")
    options.add_argument("--each", type=int, default=10)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--keep", help="the folder for the cases")
    options.add_argument("options", nargs="*", help="of eddy verify")
    args = options.parse_args()
    n, ends = 0, 0
    with tempfile.TemporaryDirectory() as temporary:
        root = args.keep or temporary
        os.makedirs(root, exist_ok=True)
        ops = [op for op in ops_of_both() if re.search(args.only, op)]
        for op in ops:
            made, ended = record_all(op, args.each, args.seed, root)
            n, ends = n + made, ends + ended
        done = subprocess.run([args.eddy, "verify", *args.options, root],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
    unknown = report(done.stdout.splitlines())
    print("%d ops, %d calls, %d of others ended TensorFlow, %d differ and are "
          "not known" % (len(ops), n, ends, unknown))
    return 1 if unknown or done.returncode not in (0, 1) else 0


if __name__ == "__main__":
    sys.exit(main())
