# SPDX-License-Identifier: Apache-2.0
"""Conway's game of life on a torus, in one loop.

    python life.py

A glider goes on until the board is the one that it began with; the loop ends
when that is so, after as many generations as it takes.
"""
import numpy as np

import eddy

SIZE = 8
start = np.zeros((SIZE, SIZE), "i4")
for row, column in [(0, 1), (1, 2), (2, 0), (2, 1), (2, 2)]:
    start[row, column] = 1

g = eddy.Graph()
first = g.constant(start)


def generation(n, board):
    around = [g.ops.Roll(board, g.constant([down, right]), g.constant([0, 1]))
              for down in (-1, 0, 1) for right in (-1, 0, 1) if down or right]
    neighbours = g.ops.AddN(around)
    three = eddy.equal(neighbours, 3)
    two = eddy.equal(neighbours, 2) & (board > 0)
    return n + 1, g.ops.Cast(three | two, DstT="int32")


def is_going_on(n, board):
    changed = g.ops.Any(g.ops.NotEqual(board, first), g.constant([0, 1]))
    return changed | (n < 1)


def show(n, board):
    print(f"generation {n}")
    for line in board:
        print("  " + " ".join(".#"[cell] for cell in line))


limit = g.placeholder("int32", [], name="limit")
n, board = eddy.while_loop(
    lambda n, board: (n < limit) & is_going_on(n, board), generation,
    [g.constant(0), first])
play = g.plan(feeds=[limit], fetches=[n, board])
for generations in (0, 10, 1000):
    show(*play(generations))
