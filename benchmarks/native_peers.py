#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loops of scalars in eddy, in C by the compiler, and in JAX (XLA), in one run.

    EDDY=build/eddy python3 benchmarks/native_peers.py [REPEATS]

Prints nanoseconds an iteration, the least of REPEATS, of one thread. What is
not installed is left out.
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
        {"grad_loop", grad_loop, 2e4}};
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


def measure_eddy(repeats, executor):
    with open(GRAPHS + "/benchmarks.json") as rows:
        rows = json.load(rows)
    found = {}
    for name in NAMES:
        command = [EDDY, "bench", f"{GRAPHS}/{name}.pb", "--json",
                   "--executor", executor, "--repeat", str(repeats)]
        for fetch in rows[name]["fetches"]:
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

    found = {}
    arguments = (jnp.int32(100000), jnp.int32(1), jnp.int32(2), jnp.float32(0.999),
                 jnp.float32(0.5))
    for f in (counter, counter_acc, nested2, cond_in_loop, grad_loop):
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
         "cond_in_loop": 3e4, "grad_loop": 2e4}
NAMES = list(TURNS)


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    linear = measure_eddy(repeats, "linear")
    native = measure_eddy(repeats, "auto")
    c = measure_c(repeats)
    jax = measure_jax(repeats)
    print("| loop | linear | machine code | C, -O2 | XLA | of C | of XLA "
          "| compile us | XLA's |")
    print("|" + "---|" * 9)
    for name in NAMES:
        x, xc = jax.get(name), jax.get(name + " compile")
        print(f"| {name} | {linear[name]:.2f} | {native[name]:.2f} "
              f"| {c[name]:.2f} | {'-' if x is None else f'{x:.2f}'} "
              f"| {native[name] / c[name]:.2f} "
              f"| {'-' if x is None else f'{native[name] / x:.2f}'} "
              f"| {native[name + ' compile']:.0f} "
              f"| {'-' if xc is None else f'{xc:.0f}'} |")


if __name__ == "__main__":
    main()
