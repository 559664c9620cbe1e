# SPDX-License-Identifier: Apache-2.0
"""Beam search over a model of letters, in one loop.

    python beam_search.py

The model says how likely a letter is after another, as counted in some words;
the search keeps the BEAMS likeliest beginnings and goes on until all of them
have come to their ends.
"""
import numpy as np

import eddy

WORDS = ("loop switch merge enter exit frame graph tensor value branch while "
         "gradient iteration eddy stream flow").split()
LETTERS = " abcdefghijklmnopqrstuvwxyz"  # the first is a word's begin and end
BEAMS, LONGEST = 4, 12

counts = np.full((27, 27), 0.01, "f4")
for word in WORDS:
    for a, b in zip(" " + word, word + " "):
        counts[LETTERS.index(a), LETTERS.index(b)] += 1
counts[0, 0] = 0.01
model = np.log(counts / counts.sum(1, keepdims=True)).astype("f4")
# A word that has ended goes on with its end, at no cost.
model = np.vstack([model, np.full((1, 27), -1e9, "f4")])
model[27, 0] = 0

g = eddy.Graph()
table = g.constant(model)
places = g.constant(np.arange(LONGEST, dtype="i4").reshape(1, LONGEST))


def extend(n, scores, texts, last):
    each = g.ops.ExpandDims(scores, g.constant(1)) + g.ops.GatherV2(
        table, last, g.constant(0))
    best, at = g.ops.TopKV2(g.ops.Reshape(each, g.constant([-1])),
                            g.constant(BEAMS))
    beam, letter = g.ops.FloorDiv(at, g.constant(27)), at % 27
    texts = g.ops.SelectV2(
        eddy.equal(places, n), g.ops.ExpandDims(letter, g.constant(1)),
        g.ops.GatherV2(texts, beam, g.constant(0)))
    ended = eddy.equal(letter, 0)
    return n + 1, best, texts, g.ops.SelectV2(ended, g.constant(27), letter)


def is_going_on(n, scores, texts, last):
    is_open = g.ops.NotEqual(last, g.constant(27))
    return (n < LONGEST) & g.ops.Any(is_open, g.constant([0]))


n, scores, texts, _ = eddy.while_loop(
    is_going_on, extend,
    [g.constant(0), g.constant(np.array([0] + [-1e9] * (BEAMS - 1), "f4")),
     g.constant(np.zeros((BEAMS, LONGEST), "i4")),
     g.constant(np.zeros(BEAMS, "i4"))])
n, scores, texts = g.plan(fetches=[n, scores, texts])()

print(f"{n} letters")
for score, text in zip(scores, texts):
    print(f"{score:8.3f}  {''.join(LETTERS[i] for i in text).rstrip()}")
