# SPDX-License-Identifier: Apache-2.0
"""Loops of tensors: recurrent cells, chains, products, grids.

Each program stands here twice, for TensorFlow (whose graph eddy runs) and for
JAX; torch_programs.py has those that TorchScript can be given.
"""

from pathlib import Path

import numpy as np
import tensorflow as tf

from .program import Program
from .scalar_programs import count, jax_count
from .written import write_program

v1 = tf.compat.v1

# Each system sums products in its own order.
LOOSE = 1e-3


def drawn(*shape: int, scale: float = 1.0) -> np.ndarray:
    """Numbers that are the same in every run."""
    numbers = np.random.default_rng(list(shape)).standard_normal(shape)
    return (numbers * scale).astype(np.float32)


# ---- recurrent cells ----


def cell(lib, z, c):
    """The state of an LSTM from its gates before their functions."""
    sigmoid, tanh, split = lib
    i, g, f, o = split(z)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def lstm_total(n, xs, w, b):
    batch, units = xs.shape[1], b.shape[0] // 4
    steps = tf.TensorArray(tf.float32, xs.shape[0], element_shape=xs.shape[1:])
    steps = steps.unstack(xs)
    lib = tf.sigmoid, tf.tanh, lambda z: tf.split(z, 4, 1)

    def body(t, h, c, total):
        z = tf.matmul(tf.concat([steps.read(t), h], 1), w) + b
        h, c = cell(lib, z, c)
        return [h, c, total + tf.reduce_sum(h)]

    zeros = tf.zeros([batch, units])
    return count(n, body, zeros, zeros, tf.constant(0.0))[2]


def lstm(n, xs, w, b):
    return [lstm_total(n, xs, w, b)]


def lstm_gradient(n, xs, w, b):
    total = lstm_total(n, xs, w, b)
    return [total, *v1.gradients(total, [w, b])]


def jax_lstm(n, xs, w, b):
    import jax
    from jax import lax
    from jax import numpy as jnp

    lib = jax.nn.sigmoid, jnp.tanh, lambda z: jnp.split(z, 4, 1)

    def body(state, x):
        h, c, total = state
        z = jnp.concatenate([x, h], 1) @ w + b
        h, c = cell(lib, z, c)
        return (h, c, total + h.sum()), None

    zeros = jnp.zeros((xs.shape[1], b.shape[0] // 4), jnp.float32)
    return lax.scan(body, (zeros, zeros, jnp.float32(0)), xs[:n])[0][2]


def jax_lstm_gradient(n, xs, w, b):
    import jax

    total, (dw, db) = jax.value_and_grad(
        lambda w, b: jax_lstm(n, xs, w, b), (0, 1)
    )(w, b)
    return total, dw, db


def layers(n, xs, ws):
    """Layers of tanh, each of which waits only for the one below it."""
    steps = tf.TensorArray(tf.float32, xs.shape[0], element_shape=xs.shape[1:])
    steps = steps.unstack(xs)
    weights = tf.unstack(ws)

    def body(t, *h):
        below, after = steps.read(t), []
        for state, w in zip(h, weights, strict=True):
            below = tf.tanh(tf.matmul(tf.concat([below, state], 1), w))
            after.append(below)
        return after

    zeros = tf.zeros(xs.shape[1:])
    return [count(n, body, *[zeros] * len(weights))[-1]]


def jax_layers(n, xs, ws):
    from jax import lax
    from jax import numpy as jnp

    def body(h, x):
        after = []
        for k, state in enumerate(h):
            x = jnp.tanh(jnp.concatenate([x, state], 1) @ ws[k])
            after.append(x)
        return tuple(after), None

    zeros = jnp.zeros(xs.shape[1:], jnp.float32)
    return lax.scan(body, (zeros,) * ws.shape[0], xs[:n])[0][-1]


# ---- chains and products ----


def chain(n, x):
    """Six operations an element; numbers of 0 to 1 stay what they are."""
    return count(
        n,
        lambda i, x: [tf.maximum((x * 1.5 + 0.25) * x - 2.0, 0.0) + x],
        x,
    )


def jax_chain(n, x):
    from jax import numpy as jnp

    return jax_count(
        n,
        lambda i, x: [jnp.maximum((x * 1.5 + 0.25) * x - 2.0, 0.0) + x],
        x,
    )


def products(n, xs, ws):
    """Four products that do not wait for each other."""
    w = tf.unstack(ws)
    done = count(
        n,
        lambda i, *x: [tf.matmul(a, b) for a, b in zip(x, w, strict=True)],
        *tf.unstack(xs),
    )
    return [tf.stack(done)]


def jax_products(n, xs, ws):
    from jax import numpy as jnp

    done = jax_count(
        n, lambda i, *x: [a @ b for a, b in zip(x, ws, strict=True)], *xs
    )
    return jnp.stack(done)


# ---- grids ----


def life(n, grid):
    """Conway's game on a torus; cells are 0 or 1."""

    def rolled(x, shift, axis):
        a, b = (x[-shift:], x[:-shift]) if axis == 0 else (
            x[:, -shift:], x[:, :-shift])
        return tf.concat([a, b], axis)

    def body(i, g):
        rows = g + rolled(g, 1, 0) + rolled(g, -1, 0)
        near = rows + rolled(rows, 1, 1) + rolled(rows, -1, 1) - g
        lives = tf.logical_or(
            tf.equal(near, 3.0),
            tf.logical_and(tf.equal(near, 2.0), tf.equal(g, 1.0)),
        )
        return [tf.cast(lives, tf.float32)]

    return count(n, body, grid)


def jax_life(n, grid):
    from jax import numpy as jnp

    def body(i, g):
        rows = g + jnp.roll(g, 1, 0) + jnp.roll(g, -1, 0)
        near = rows + jnp.roll(rows, 1, 1) + jnp.roll(rows, -1, 1) - g
        lives = (near == 3.0) | ((near == 2.0) & (g == 1.0))
        return [lives.astype(jnp.float32)]

    return jax_count(n, body, grid)


def mandelbrot_grid(n, p, q):
    """How many steps a point stays within the circle, on average.

    Which ones leave at which step is up to the last digit.
    """

    def body(i, x, y, steps):
        inside = x * x + y * y < 4.0
        return [
            tf.where(inside, x * x - y * y + p, x),
            tf.where(inside, 2.0 * x * y + q, y),
            steps + tf.cast(inside, tf.float32),
        ]

    zeros = tf.zeros_like(p)
    return [tf.reduce_mean(count(n, body, zeros, zeros, zeros)[2])]


def jax_mandelbrot_grid(n, p, q):
    from jax import numpy as jnp

    def body(i, x, y, steps):
        inside = x * x + y * y < 4.0
        return [
            jnp.where(inside, x * x - y * y + p, x),
            jnp.where(inside, 2.0 * x * y + q, y),
            steps + inside.astype(jnp.float32),
        ]

    zeros = jnp.zeros_like(p)
    return jax_count(n, body, zeros, zeros, zeros)[2].mean()


# ---- the table ----


def lstm_feeds(rows: int, units: int, steps: int) -> dict[str, np.ndarray]:
    return {
        "n": np.int32(steps),
        "xs": drawn(steps, rows, units),
        "w": drawn(2 * units, 4 * units, scale=0.5 / units**0.5),
        "b": drawn(4 * units, scale=0.1),
    }


def points() -> dict[str, np.ndarray]:
    x, y = np.linspace(-2.0, 0.6, 256), np.linspace(-1.2, 1.2, 256)
    return {
        "n": np.int32(50),
        "p": np.tile(x, (256, 1)).astype(np.float32),
        "q": np.tile(y[:, None], (1, 256)).astype(np.float32),
    }


def rotations(n: int, side: int) -> np.ndarray:
    """Products by these keep the norm."""
    made = [np.linalg.qr(drawn(side, side + k))[0][:, :side] for k in range(n)]
    return np.stack(made).astype(np.float32)


def load_tensors(folder: Path) -> list[Program]:
    """Writes every program into `folder`."""

    def program(name, build, jax, feeds, **more):
        more = {"tolerance": LOOSE, **more}
        return write_program(
            folder, name, "tensors", build, feeds, jax=jax, **more
        )

    made = []
    for rows, units, steps in ((16, 128, 200), (64, 512, 20), (1, 128, 200)):
        feeds = lstm_feeds(rows, units, steps)
        size = f"b{rows}_h{units}"
        made.append(program(f"lstm_{size}", lstm, jax_lstm, feeds,
                            static=True, torch="lstm"))
        made.append(program(f"lstm_gradient_{size}", lstm_gradient,
                            jax_lstm_gradient, feeds, static=True,
                            torch="lstm_gradient"))
    made.append(program("rnn4", layers, jax_layers, {
        "n": np.int32(200), "xs": drawn(200, 16, 128),
        "ws": drawn(4, 256, 128, scale=0.06)}, static=True, torch="layers"))
    for size, trips in ((1_000, 2_000), (100_000, 200), (1_000_000, 20)):
        feeds = {"n": np.int32(trips),
                 "x": np.linspace(0, 1, size, dtype=np.float32)}
        made.append(program(f"chain6_{size}", chain, jax_chain, feeds,
                            torch="chain"))
    made.append(program("products4_128", products, jax_products, {
        "n": np.int32(100), "xs": rotations(4, 128), "ws": rotations(4, 128)},
        torch="products"))
    grid = (drawn(256, 256) > 0.8).astype(np.float32)
    made.append(program("life_256", life, jax_life,
                        {"n": np.int32(100), "grid": grid}))
    made.append(program("mandelbrot_256", mandelbrot_grid,
                        jax_mandelbrot_grid, points(), tolerance=1e-2))
    return made
