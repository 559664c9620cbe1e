#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program of examples/python/char_lstm.py in TensorFlow.

    python scripts/char_lstm_tensorflow.py > examples/char_lstm_tensorflow.txt

Recorded with TensorFlow 2.21 on a CPU.
"""
import numpy as np
import tensorflow as tf

TEXT = "the quick brown fox jumps over the lazy dog. "
LETTERS = sorted(set(TEXT))
SIZE, STEPS, RATE = 32, 200, 0.5
V, N = len(LETTERS), len(TEXT) - 1


def weights(rows, columns, seed):
    k = np.arange(rows * columns, dtype="f8").reshape(rows, columns)
    return (0.3 * np.sin(k * k * 0.7 + k + seed)).astype("f8")


ids = np.array([LETTERS.index(c) for c in TEXT], "i4")
letters = tf.constant(np.eye(V, dtype="f8")[ids[:-1]])
targets = tf.constant(ids[1:])


def loss_of(w_x, w_h, b, w_y, b_y):
    inputs = letters @ w_x + b
    outputs = tf.TensorArray(tf.float64, N, element_shape=(1, SIZE))

    def cell(t, h, c, outputs):
        z = inputs[t][None] + h @ w_h
        i, f, o, u = tf.split(z, 4, axis=1)
        c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(u)
        h = tf.sigmoid(o) * tf.tanh(c)
        return t + 1, h, c, outputs.write(t, h)

    zero = tf.zeros((1, SIZE), tf.float64)
    *_, outputs = tf.while_loop(lambda t, *_: t < N, cell,
                                (0, zero, zero, outputs))
    hs = tf.reshape(outputs.stack(), (N, SIZE))
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        targets, hs @ w_y + b_y))


@tf.function
def train():
    first = [weights(V, 4 * SIZE, 1), weights(SIZE, 4 * SIZE, 2),
             np.zeros(4 * SIZE, "f8"), weights(SIZE, V, 3),
             np.zeros(V, "f8")]

    def step(k, curve, *w):
        with tf.GradientTape() as tape:
            tape.watch(w)
            loss = loss_of(*w)
        moved = [x - RATE * dx for x, dx in zip(w, tape.gradient(loss, w))]
        return [k + 1, curve + loss * tf.one_hot(k, STEPS, dtype=tf.float64), *moved]

    return tf.while_loop(lambda k, *_: k < STEPS, step,
                         [0, tf.zeros(STEPS, tf.float64), *map(tf.constant, first)])[1]


np.savetxt("/dev/stdout", train().numpy(), fmt="%.9f")
