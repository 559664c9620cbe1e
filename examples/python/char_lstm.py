# SPDX-License-Identifier: Apache-2.0
"""An LSTM that learns a sentence letter by letter, trained inside one loop.

    python char_lstm.py [FILE.svg [FILE.txt]]

Each trip of the training loop runs the LSTM over the sentence, which is a loop
in its body, takes the gradient of the loss through that loop, and moves the
weights against it.  One call of the plan does all of the training.  The losses
go to FILE.txt and their curve to FILE.svg; char_lstm_tensorflow.txt has what
the same program in TensorFlow gives (scripts/char_lstm_tensorflow.py).
"""
import sys

import numpy as np

import eddy

TEXT = "the quick brown fox jumps over the lazy dog. "
LETTERS = sorted(set(TEXT))
SIZE, STEPS, RATE = 32, 200, 0.5
V, N = len(LETTERS), len(TEXT) - 1


def weights(rows, columns, seed):
    """Numbers of either sign, the same everywhere."""
    k = np.arange(float(rows * columns)).reshape(rows, columns)
    return 0.3 * np.sin(k * k * 0.7 + k + seed)


ids = np.array([LETTERS.index(c) for c in TEXT], "i4")
g = eddy.Graph()
letters = g.constant(np.eye(V)[ids[:-1]])
targets = g.constant(ids[1:])
nothing = g.constant(np.zeros((1, SIZE)))
zero, one = g.constant(0.0, "float64"), g.constant(1.0, "float64")


def loss_of(w_x, w_h, b, w_y, b_y):
    """The mean surprise at the next letter."""
    def cell(state, x):
        h, c = state
        z = g.ops.ExpandDims(x, g.constant(0)) + h @ w_h
        i, f, o, u = g.ops.Split(g.constant(1), z, num_split=4)
        c = (g.ops.Sigmoid(f + 1.0) * c
             + g.ops.Sigmoid(i) * g.ops.Tanh(u))
        return [g.ops.Sigmoid(o) * g.ops.Tanh(c), c]

    hs, _ = eddy.scan(cell, letters @ w_x + b, [nothing, nothing])
    hs = g.ops.Reshape(hs, g.constant([N, SIZE]))
    losses, _ = g.ops.SparseSoftmaxCrossEntropyWithLogits(hs @ w_y + b_y,
                                                          targets)
    return g.ops.Mean(losses, g.constant([0]))


def train(k, curve, *w):
    loss = loss_of(*w)
    moved = [x - RATE * dx for x, dx in zip(w, g.gradients(loss, w))]
    curve = curve + loss * g.ops.OneHot(k, g.constant(STEPS), one, zero)
    return [k + 1, curve, *moved]


first = [weights(V, 4 * SIZE, 1), weights(SIZE, 4 * SIZE, 2),
         np.zeros(4 * SIZE), weights(SIZE, V, 3), np.zeros(V)]
_, curve, *_ = eddy.while_loop(
    lambda k, *_: k < STEPS, train,
    [g.constant(0), g.constant(np.zeros(STEPS)),
     *map(g.constant, first)])
found = g.plan(fetches=curve)()


def draw(curve):
    top = max(curve)
    points = " ".join(f"{40 + 2.8 * i:.1f},{20 + 240 * (1 - y / top):.1f}"
                      for i, y in enumerate(curve))
    return ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 620 300" '
            'width="620" height="300" font-family="sans-serif" '
            'font-size="12">\n'
            '<path d="M40 20V260H600" fill="none" stroke="#888"/>\n'
            f'<text x="4" y="24">{top:.2f}</text><text x="24" y="264">0</text>'
            f'<text x="590" y="278">{STEPS}</text>'
            '<text x="290" y="284">steps of training</text>\n'
            f'<polyline fill="none" stroke="#1f6fc9" stroke-width="2" '
            f'points="{points}"/>\n</svg>\n')


for k in range(0, STEPS, 25):
    print(f"step {k:3d}  loss {found[k]:.3f}")
print(f"step {STEPS - 1:3d}  loss {found[-1]:.3f}")
if len(sys.argv) > 1:
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(draw(found))
if len(sys.argv) > 2:
    np.savetxt(sys.argv[2], found, fmt="%.9f")
