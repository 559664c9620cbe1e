#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loops of scalars in eddy, in C by the compiler, and in JAX (XLA), in one run.

    EDDY=build/eddy python3 benchmarks/native_peers.py [REPEATS]

Prints nanoseconds an iteration, the least of REPEATS, of one thread. What is
not installed is left out: JAX, and TensorFlow, which writes the graphs that are
not in benchmarks/graphs.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
GRAPHS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "graphs")
EDDY = os.environ.get("EDDY", "build/eddy")

# Name: iterations, and the body in C; a barrier keeps what is computed.
C_TEXT = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define KEEP(x) __asm__ volatile("" : "+r"(x))
#define KEEP_FLOAT(x) __asm__ volatile("" : "+x"(x))

static int32_t n_counter = 100000, n_side = 300, n_cond = 30000, n_grad = 10000;
static int32_t one = 1, two = 2;
static float a = 0.999f, b = 0.5f, y0 = 1.0f;
static float tape[10000];
static int32_t n_many = 10000, n_text = 200, n_outer = 300, n_inner = 10;
static float hundred[100], zs[3000], ys[300], start = 1.0f, two_f = 2.0f, x0 = 2.0f;
static float cx = -0.5f, cy = 0.25f, half = 0.5f, four = 4.0f;
static int32_t costs[201 * 201];

static void counter(void)
{
    int32_t n = n_counter, i = 0;
    while (i < n) { KEEP(i); i += one; }
    KEEP(i);
}

static void counter_acc(void)
{
    int32_t n = n_counter, i = 0;
    float x = 0, p = a, q = b;
    while (i < n) { KEEP(i); x = x * p + q; i += one; }
    KEEP_FLOAT(x);
}

static void nested2(void)
{
    int32_t n = n_side;
    float x = 0, q = b;
    for (int32_t i = 0; i < n; i += one)
        for (int32_t j = 0; j < n; j += one) { KEEP(j); x += q; }
    KEEP_FLOAT(x);
}

static void cond_in_loop(void)
{
    int32_t n = n_cond, d = two, i = 0;
    float x = 0, p = a, q = b;
    KEEP(d);
    while (i < n) {
        int32_t r = i % d;
        if (r != 0 && (r ^ d) < 0) r += d;
        if (r == 0) x += q; else x *= p;
        KEEP(i);
        i += one;
    }
    KEEP_FLOAT(x);
}

static void grad_loop(void)
{
    int32_t n = n_grad;
    float y = y0, x = a, dy = 1, dx = 0;
    for (int32_t i = 0; i < n; i += one) { KEEP(i); tape[i] = y; y *= x; }
    for (int32_t i = n; i > 0; i -= one) { KEEP(i); dx += dy * tape[i - 1]; dy *= x; }
    KEEP_FLOAT(y); KEEP_FLOAT(dx);
}

static void mandelbrot(void)
{
    int32_t n = n_counter, i = 0;
    float x = 0, y = 0, p = cx, q = cy, d = two_f, most = four;
    KEEP_FLOAT(d);
    while (i < n && x * x + y * y < most) {
        float t = x * x - y * y + p;
        y = d * x * y + q;
        x = t;
        KEEP(i);
        i += one;
    }
    KEEP_FLOAT(x); KEEP_FLOAT(y);
}

static void newton(void)
{
    int32_t n = n_counter, i = 0;
    float x = start, v = x0, h = half;
    KEEP_FLOAT(h);
    while (i < n) { KEEP(i); x = h * (x + v / x); i += one; }
    KEEP_FLOAT(x);
}

#define ADD8 x += q; x += q; x += q; x += q; x += q; x += q; x += q; x += q;
static void adds8(void)
{
    int32_t n = n_many, i = 0;
    float x = 0, q = b;
    while (i < n) { KEEP(i); ADD8 i += one; }
    KEEP_FLOAT(x);
}

static void adds32(void)
{
    int32_t n = n_many, i = 0;
    float x = 0, q = b;
    while (i < n) { KEEP(i); ADD8 ADD8 ADD8 ADD8 i += one; }
    KEEP_FLOAT(x);
}

static void variables100(void)
{
    int32_t n = n_many, i = 0;
    float v[100], p = a, q = b;
    for (int k = 0; k < 100; k++) v[k] = hundred[k];
    while (i < n) {
        KEEP(i);
        for (int k = 0; k < 100; k++) v[k] = v[k] * p + q;
        i += one;
    }
    for (int k = 0; k < 100; k++) hundred[k] = v[k] * 1e-30f;
}

static void edit_distance(void)
{
    int32_t n = n_text, w = n + 1;
    for (int32_t j = 0; j <= n; j++) costs[j] = j;
    for (int32_t i = 1; i <= n; i++) {
        costs[i * w] = i;
        for (int32_t j = 1; j <= n; j++) {
            int32_t same = i * 7 % 5 == j * 3 % 5 ? 0 : 1, k = i * w + j;
            int32_t c = costs[k - w - 1] + same, u = costs[k - w] + 1, l = costs[k - 1] + 1;
            c = u < c ? u : c;
            costs[k] = l < c ? l : c;
            KEEP(j);
        }
    }
}

static void newton_grad(void)
{
    float y = start, x = x0, dy = 1, dx = 0, h = half;
    int32_t n = n_outer, m = n_inner;
    KEEP_FLOAT(h);
    for (int32_t i = 0; i < n; i++) {
        float z = y + start, s = y + x;
        ys[i] = s;
        for (int32_t j = 0; j < m; j++) { KEEP(j); zs[i * 10 + j] = z; z = h * (z + s / z); }
        y = z;
    }
    for (int32_t i = n; i-- > 0;) {
        float dz = dy, ds = 0;
        for (int32_t j = m; j-- > 0;) {
            float z = zs[i * 10 + j], g = h * dz;
            KEEP(j);
            ds += g / z;
            dz = g - g * (ys[i] / z) / z;
        }
        dx += ds;
        dy = dz + ds;
    }
    KEEP_FLOAT(y); KEEP_FLOAT(dx);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*run)(void); double n; } all[] = {
        {"counter", counter, 1e5}, {"counter_acc", counter_acc, 1e5},
        {"nested2", nested2, 9e4}, {"cond_in_loop", cond_in_loop, 3e4},
        {"grad_loop", grad_loop, 2e4}, {"mandelbrot", mandelbrot, 1e5},
        {"newton", newton, 1e5}, {"adds8", adds8, 1e4}, {"adds32", adds32, 1e4},
        {"variables100", variables100, 1e4}, {"edit_distance", edit_distance, 4e4},
        {"newton_grad", newton_grad, 6e3}};
    int repeats = argc > 1 ? atoi(argv[1]) : 50;
    for (unsigned k = 0; k < sizeof all / sizeof all[0]; k++) {
        double least = 1e30;
        for (int r = 0; r < repeats; r++) {
            double begun = now();
            all[k].run();
            if (now() - begun < least) least = now() - begun;
        }
        printf("%s %.4f\n", all[k].name, least / all[k].n);
    }
    return 0;
}
"""


def measure_c(repeats):
    with tempfile.TemporaryDirectory() as folder:
        source, program = folder + "/loops.c", folder + "/loops"
        with open(source, "w") as out:
            out.write(C_TEXT)
        subprocess.run([os.environ.get("CC", "gcc").split()[-1], "-O2",
                        "-ffp-contract=off", source, "-o", program], check=True)
        text = subprocess.run([program, str(repeats)], check=True,
                              capture_output=True, text=True).stdout
    return {k: float(v) for k, v in (line.split() for line in text.split("\n") if line)}


# By TensorFlow, which writes this file into a folder; fetches are r0, r1, ...
WRITE_TEXT = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
tf.disable_control_flow_v2()
N = 100000

def loop(n, body, *state):
    return tf.while_loop(lambda i, *s: i < n, lambda i, *s: [i + 1] + list(body(i, *s)),
                         [tf.constant(0)] + [tf.constant(s) for s in state])[1:]

def mandelbrot():
    return tf.while_loop(
        lambda i, x, y: tf.logical_and(i < N, x * x + y * y < 4.0),
        lambda i, x, y: [i + 1, x * x - y * y + -0.5, 2.0 * x * y + 0.25],
        [tf.constant(0), tf.constant(0.0), tf.constant(0.0)])

def newton():
    return loop(N, lambda i, x: [0.5 * (x + 2.0 / x)], 1.0)

def adds(k):
    def body(i, x):
        for _ in range(k):
            x = x + 0.5
        return [x]
    return loop(10000, body, 0.0)

def adds8():
    return adds(8)

def adds32():
    return adds(32)

def variables100():
    return loop(10000, lambda i, *v: [x * 0.999 + 0.5 for x in v],
                *[float(k) for k in range(100)])

def edit_distance():
    n, w = 200, 201
    ta = tf.TensorArray(tf.int32, w * w, clear_after_read=False)
    _, ta = tf.while_loop(lambda j, t: j <= n, lambda j, t: [j + 1, t.write(j, j)],
                          [tf.constant(0), ta])
    def row(i, t):
        t = t.write(i * w, i)
        def cell(j, t):
            same = tf.where(tf.equal(i * 7 % 5, j * 3 % 5), 0, 1)
            k = i * w + j
            c = tf.minimum(t.read(k - w - 1) + same, t.read(k - w) + 1)
            return [j + 1, t.write(k, tf.minimum(c, t.read(k - 1) + 1))]
        return [i + 1, tf.while_loop(lambda j, t: j <= n, cell, [tf.constant(1), t])[1]]
    _, ta = tf.while_loop(lambda i, t: i <= n, row, [tf.constant(1), ta])
    return [ta.read(w * w - 1)]

def newton_grad():
    x = tf.constant(2.0)
    def outer(i, y):
        s = y + x
        return [i + 1, tf.while_loop(
            lambda j, z: j < 10, lambda j, z: [j + 1, 0.5 * (z + s / z)],
            [tf.constant(0), y + 1.0])[1]]
    y = tf.while_loop(lambda i, y: i < 300, outer, [tf.constant(0), tf.constant(1.0)])[1]
    return [y, tf.gradients(y, x)[0]]

for make in (mandelbrot, newton, adds8, adds32, variables100, edit_distance, newton_grad):
    with tf.Graph().as_default() as graph:
        results = make()
        for k, r in enumerate(results):
            tf.identity(r, name="r%d" % k)
        with open(sys.argv[1] + "/" + make.__name__ + ".pb", "wb") as out:
            out.write(graph.as_graph_def().SerializeToString())
"""
N_FETCHES = {"mandelbrot": 3, "newton": 1, "adds8": 1, "adds32": 1,
             "variables100": 100, "edit_distance": 1, "newton_grad": 2}


def write_graphs(folder):
    """Names that have graphs now."""
    done = subprocess.run([sys.executable, "-c", WRITE_TEXT, folder],
                          capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr.strip().split("\n")[-1], file=sys.stderr)
    return [n for n in N_FETCHES if os.path.exists(f"{folder}/{n}.pb")]


def measure_eddy(repeats, executor, folder):
    with open(GRAPHS + "/benchmarks.json") as rows:
        rows = json.load(rows)
    found = {}
    for name in NAMES:
        path = f"{folder if name in N_FETCHES else GRAPHS}/{name}.pb"
        fetches = ([f"r{k}" for k in range(N_FETCHES[name])] if name in N_FETCHES
                   else rows[name]["fetches"])
        if not os.path.exists(path):
            continue
        command = [EDDY, "bench", path, "--json",
                   "--executor", executor, "--repeat", str(repeats)]
        for fetch in fetches:
            command += ["--fetch", fetch]
        figures = json.loads(subprocess.run(
            command, check=True, capture_output=True, text=True).stdout)
        found[name] = figures["min_ns"] / TURNS[name]
        found[name + " compile"] = figures["compile_ns"] / 1000
    return found


def measure_jax(repeats):
    try:
        import jax
        from jax import lax
        import jax.numpy as jnp
    except ImportError:
        return {}

    # The step is an argument, or LLVM finds the result without the loop.
    def counter(n, one, d, a, b):
        return lax.while_loop(lambda i: i < n, lambda i: i + one, jnp.int32(0))

    def counter_acc(n, one, d, a, b):
        return lax.while_loop(lambda s: s[0] < n,
                              lambda s: (s[0] + one, s[1] * a + b),
                              (jnp.int32(0), jnp.float32(0)))

    def nested2(n, one, d, a, b):
        def row(s):
            return (s[0] + 1, lax.while_loop(
                lambda t: t[0] < 300, lambda t: (t[0] + 1, t[1] + b),
                (jnp.int32(0), s[1]))[1])
        return lax.while_loop(lambda s: s[0] < 300, row,
                              (jnp.int32(0), jnp.float32(0)))

    def cond_in_loop(n, one, d, a, b):
        def body(s):
            return (s[0] + 1, lax.cond(s[0] % d == 0, lambda x: x + b,
                                       lambda x: x * a, s[1]))
        return lax.while_loop(lambda s: s[0] < 30000, body,
                              (jnp.int32(0), jnp.float32(0)))

    def grad_loop(n, one, d, a, b):
        def last(x):
            return lax.scan(lambda y, _: (y * x, None), jnp.float32(1), None,
                            length=10000)[0]
        return jax.value_and_grad(last)(a)

    def mandelbrot(n, one, d, a, b):
        return lax.while_loop(
            lambda s: (s[0] < n) & (s[1] * s[1] + s[2] * s[2] < 4),
            lambda s: (s[0] + one, s[1] * s[1] - s[2] * s[2] - b, 2 * s[1] * s[2] + b / 2),
            (jnp.int32(0), jnp.float32(0), jnp.float32(0)))

    def newton(n, one, d, a, b):
        return lax.while_loop(lambda s: s[0] < n,
                              lambda s: (s[0] + one, b * (s[1] + 2 / s[1])),
                              (jnp.int32(0), jnp.float32(1)))

    def adds(k, n, one, b):
        def body(s):
            x = s[1]
            for _ in range(k):
                x = x + b
            return s[0] + one, x
        return lax.while_loop(lambda s: s[0] < 10000, body,
                              (jnp.int32(0), jnp.float32(0)))

    def adds8(n, one, d, a, b):
        return adds(8, n, one, b)

    def adds32(n, one, d, a, b):
        return adds(32, n, one, b)

    def variables100(n, one, d, a, b):
        return lax.while_loop(
            lambda s: s[0] < 10000,
            lambda s: (s[0] + one,) + tuple(x * a + b for x in s[1:]),
            (jnp.int32(0),) + tuple(jnp.float32(k) for k in range(100)))

    def edit_distance(n, one, d, a, b):
        w = 201

        def cell(s):
            i, j, t = s
            same = jnp.where(i * 7 % 5 == j * 3 % 5, 0, one)
            k = i * w + j
            c = jnp.minimum(t[k - w - 1] + same, t[k - w] + 1)
            return i, j + 1, t.at[k].set(jnp.minimum(c, t[k - 1] + 1))

        def row(s):
            i, t = s
            t = t.at[i * w].set(i)
            return i + 1, lax.while_loop(lambda s: s[1] < w, cell,
                                         (i, jnp.int32(1), t))[2]
        t = jnp.zeros(w * w, jnp.int32).at[:w].set(jnp.arange(w))
        return lax.while_loop(lambda s: s[0] < w, row, (jnp.int32(1), t))[1][-1]

    def newton_grad(n, one, d, a, b):
        def last(x):
            def outer(y, _):
                s = y + x
                return lax.scan(lambda z, _: (b * (z + s / z), None), y + 1,
                                None, length=10)[0], None
            return lax.scan(outer, jnp.float32(1), None, length=300)[0]
        return jax.value_and_grad(last)(2 * one.astype(jnp.float32))

    found = {}
    arguments = (jnp.int32(100000), jnp.int32(1), jnp.int32(2), jnp.float32(0.999),
                 jnp.float32(0.5))
    for f in (counter, counter_acc, nested2, cond_in_loop, grad_loop, mandelbrot,
              newton, adds8, adds32, variables100, edit_distance, newton_grad):
        begun = time.perf_counter()
        compiled = jax.jit(f).lower(*arguments).compile()
        found[f.__name__ + " compile"] = (time.perf_counter() - begun) * 1e6
        least = 1e30
        for _ in range(repeats):
            begun = time.perf_counter_ns()
            jax.block_until_ready(compiled(*arguments))
            least = min(least, time.perf_counter_ns() - begun)
        found[f.__name__] = least / TURNS[f.__name__]
    return found


TURNS = {"counter": 1e5, "counter_acc": 1e5, "nested2": 9e4,
         "cond_in_loop": 3e4, "grad_loop": 2e4, "mandelbrot": 1e5, "newton": 1e5,
         "adds8": 1e4, "adds32": 1e4, "variables100": 1e4,
         "edit_distance": 4e4, "newton_grad": 6e3}
NAMES = list(TURNS)


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    with tempfile.TemporaryDirectory() as folder:
        write_graphs(folder)
        linear = measure_eddy(repeats, "linear", folder)
        native = measure_eddy(repeats, "auto", folder)
    c = measure_c(repeats)
    jax = measure_jax(repeats)
    print("| loop | linear | machine code | C, -O2 | XLA | of C | of XLA "
          "| compile us | XLA's |")
    print("|" + "---|" * 9)
    for name in (name for name in NAMES if name in native):
        x, xc = jax.get(name), jax.get(name + " compile")
        print(f"| {name} | {linear[name]:.2f} | {native[name]:.2f} "
              f"| {c[name]:.2f} | {'-' if x is None else f'{x:.2f}'} "
              f"| {native[name] / c[name]:.2f} "
              f"| {'-' if x is None else f'{native[name] / x:.2f}'} "
              f"| {native[name + ' compile']:.0f} "
              f"| {'-' if xc is None else f'{xc:.0f}'} |")


if __name__ == "__main__":
    main()
