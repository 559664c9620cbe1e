# SPDX-License-Identifier: Apache-2.0
"""Loops of scalars: the cost of control flow and little else.

Each program stands here twice, for TensorFlow (whose graph eddy runs) and for
JAX; torch_programs.py has those that TorchScript can be given.
"""

from pathlib import Path

import numpy as np
import tensorflow as tf

from .program import Program
from .written import write_program

v1 = tf.compat.v1

SIDE = 300  # trips of inner loops
NEWTON_TRIPS = 10
MANY = 100  # variables of one loop


def count(trips, body, *state):
    """TensorFlow's loop of `trips`, whose body gets the counter and state."""
    done = v1.while_loop(
        lambda i, *s: i < trips,
        lambda i, *s: [i + 1, *body(i, *s)],
        [tf.constant(0), *state],
        return_same_structure=True,
    )
    return done[1:]


def jax_count(trips, body, *state):
    """The same for JAX."""
    from jax import lax
    from jax import numpy as jnp

    done = lax.while_loop(
        lambda s: s[0] < trips,
        lambda s: (s[0] + 1, *body(*s)),
        (jnp.int32(0), *state),
    )
    return done[1:]


# ---- a counter ----


def counter(n, one):
    """By a step that is fed: LLVM knows the end of a loop that adds 1."""
    return [
        v1.while_loop(lambda i: i < n, lambda i: i + one, [tf.constant(0)])
    ]


def jax_counter(n, one):
    from jax import lax
    from jax import numpy as jnp

    return lax.while_loop(lambda i: i < n, lambda i: i + one, jnp.int32(0))


# ---- arithmetic ----


def muladds(x, a, b, times):
    for _ in range(times):
        x = x * a + b
    return [x]


def counter_acc(n, a, b):
    return count(n, lambda i, x: muladds(x, a, b, 1), tf.constant(0.0))


def jax_counter_acc(n, a, b):
    return jax_count(n, lambda i, x: muladds(x, a, b, 1), np.float32(0))


def muladds8(n, a, b):
    return count(n, lambda i, x: muladds(x, a, b, 8), tf.constant(0.0))


def jax_muladds8(n, a, b):
    return jax_count(n, lambda i, x: muladds(x, a, b, 8), np.float32(0))


def variables(n, a, b):
    start = [tf.constant(float(k)) for k in range(MANY)]
    return count(n, lambda i, *v: [x * a + b for x in v], *start)


def jax_variables(n, a, b):
    start = [np.float32(k) for k in range(MANY)]
    return jax_count(n, lambda i, *v: [x * a + b for x in v], *start)


def newton(n, v):
    return count(n, lambda i, x: [0.5 * (x + v / x)], tf.constant(1.0))


def jax_newton(n, v):
    return jax_count(n, lambda i, x: [0.5 * (x + v / x)], np.float32(1))


# ---- loops in loops, branches ----


def nested(n, b):
    def row(i, x):
        return count(SIDE, lambda j, y: [y + b], x)

    return count(n, row, tf.constant(0.0))


def jax_nested(n, b):
    def row(i, x):
        return jax_count(SIDE, lambda j, y: [y + b], x)

    return jax_count(n, row, np.float32(0))


def cond_in_loop(n, a, b):
    def body(i, x):
        is_even = tf.equal(i % 2, 0)
        return [v1.cond(is_even, lambda: x + b, lambda: x * a)]

    return count(n, body, tf.constant(0.0))


def jax_cond_in_loop(n, a, b):
    from jax import lax

    def body(i, x):
        return [lax.cond(i % 2 == 0, lambda x: x + b, lambda x: x * a, x)]

    return jax_count(n, body, np.float32(0))


def escape(x, y, p, q):
    return [x * x - y * y + p, 2.0 * x * y + q]


def mandelbrot(n, p, q):
    """One point, until it escapes; this one never does."""
    return v1.while_loop(
        lambda i, x, y: tf.logical_and(i < n, x * x + y * y < 4.0),
        lambda i, x, y: [i + 1, *escape(x, y, p, q)],
        [tf.constant(0), tf.constant(0.0), tf.constant(0.0)],
        return_same_structure=True,
    )


def jax_mandelbrot(n, p, q):
    from jax import lax
    from jax import numpy as jnp

    return lax.while_loop(
        lambda s: (s[0] < n) & (s[1] * s[1] + s[2] * s[2] < 4.0),
        lambda s: (s[0] + 1, *escape(s[1], s[2], p, q)),
        (jnp.int32(0), jnp.float32(0), jnp.float32(0)),
    )


# ---- an array that is written and read ----


def is_other(i, j):
    """Two texts, by a rule for each of their letters."""
    return (i * 7 % 5) != (j * 3 % 5)


def edit_distance(n):
    w = n + 1

    def row(i, t):
        t = t.write(i * w, i)

        def cell(j, t):
            k = i * w + j
            differ = tf.cast(tf.not_equal(i * 7 % 5, j * 3 % 5), tf.int32)
            cost = tf.minimum(t.read(k - w - 1) + differ, t.read(k - w) + 1)
            return [j + 1, t.write(k, tf.minimum(cost, t.read(k - 1) + 1))]

        return [
            i + 1,
            v1.while_loop(
                lambda j, t: j <= n, cell, [tf.constant(1), t]
            )[1],
        ]

    table = tf.TensorArray(tf.int32, w * w, clear_after_read=False)
    _, table = v1.while_loop(
        lambda j, t: j <= n,
        lambda j, t: [j + 1, t.write(j, j)],
        [tf.constant(0), table],
    )
    _, table = v1.while_loop(lambda i, t: i <= n, row, [tf.constant(1), table])
    return [table.read(w * w - 1)]


def jax_edit_distance(n):
    from jax import lax
    from jax import numpy as jnp

    w = n + 1

    def cell(s):
        i, j, t = s
        k = i * w + j
        differ = is_other(i, j).astype(jnp.int32)
        cost = jnp.minimum(t[k - w - 1] + differ, t[k - w] + 1)
        return i, j + 1, t.at[k].set(jnp.minimum(cost, t[k - 1] + 1))

    def row(s):
        i, t = s
        t = t.at[i * w].set(i)
        done = lax.while_loop(lambda s: s[1] < w, cell, (i, jnp.int32(1), t))
        return i + 1, done[2]

    t = jnp.zeros(w * w, jnp.int32).at[:w].set(jnp.arange(w, dtype=jnp.int32))
    return lax.while_loop(lambda s: s[0] < w, row, (jnp.int32(1), t))[1][-1]


# ---- gradients ----


def power(n, x):
    y = count(n, lambda i, y: [y * x], tf.constant(1.0))[0]
    return [y, v1.gradients(y, x)[0]]


def jax_power(n, x):
    import jax
    from jax import lax

    def last(x):
        return lax.scan(
            lambda y, _: (y * x, None), np.float32(1), None, length=n
        )[0]

    return jax.value_and_grad(last)(x)


def newton_gradient(n, x):
    def outer(i, y):
        s = y + x
        return count(NEWTON_TRIPS, lambda j, z: [0.5 * (z + s / z)], y + 1.0)

    y = count(n, outer, tf.constant(1.0))[0]
    return [y, v1.gradients(y, x)[0]]


def jax_newton_gradient(n, x):
    import jax
    from jax import lax

    def last(x):
        def outer(y, _):
            s = y + x

            def step(z, _):
                return 0.5 * (z + s / z), None

            done = lax.scan(step, y + 1.0, None, length=NEWTON_TRIPS)
            return done[0], None

        return lax.scan(outer, np.float32(1), None, length=n)[0]

    return jax.value_and_grad(last)(x)


# ---- the table ----

A, B = np.float32(0.999), np.float32(0.5)
LOOSE = 1e-4  # XLA may contract a product and a sum


def load_scalars(folder: Path) -> list[Program]:
    """Writes every program into `folder`."""

    def program(name, build, jax, trips, feeds, **more):
        fed = {"n": np.int32(trips), **feeds}
        return write_program(
            folder, name, "scalars", build, fed, jax=jax, **more
        )

    ab, n = {"a": A, "b": B}, 100_000
    side = {"inner": SIDE, "tolerance": LOOSE, "torch": "nested"}
    point = {"p": np.float32(-0.5), "q": np.float32(0.25)}
    two = np.float32(2)
    loose = {"tolerance": LOOSE}
    static = {"tolerance": 1e-3, "static": True}
    length = {"static": True, "inner": 200, "divisor": 1}
    return [
        program("counter", counter, jax_counter, n, {"one": np.int32(1)},
                torch="counter"),
        program("counter_acc", counter_acc, jax_counter_acc, n, ab,
                torch="counter_acc", **loose),
        program("muladds8", muladds8, jax_muladds8, 10_000, ab,
                torch="muladds8", **loose),
        program("nested", nested, jax_nested, SIDE, {"b": B}, **side),
        program("cond_in_loop", cond_in_loop, jax_cond_in_loop, 30_000, ab,
                torch="cond_in_loop", **loose),
        program("mandelbrot", mandelbrot, jax_mandelbrot, n, point,
                torch="mandelbrot", **loose),
        program("newton", newton, jax_newton, n, {"v": two},
                torch="newton", **loose),
        program("variables100", variables, jax_variables, 10_000, ab,
                **loose),
        program("edit_distance", edit_distance, jax_edit_distance, 200, {},
                **length),
        program("power_gradient", power, jax_power, 10_000,
                {"x": np.float32(0.9999)}, torch="power_gradient", **static),
        program("newton_gradient", newton_gradient, jax_newton_gradient, 300,
                {"x": two}, inner=NEWTON_TRIPS, torch="newton_gradient",
                **static),
    ]
