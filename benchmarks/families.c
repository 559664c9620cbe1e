/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The families: what is long, what is wide, what is deep, of every construct.
 */
#include "benchmarks/families.h"

#include <stdlib.h>
#include <string.h>

#define F EDDY_FLOAT32
#define I EDDY_INT32
#define B EDDY_BOOL

static void add_x(graph_writer *w, const char *name)
{
    node_begin(w, "Placeholder", name);
    node_dtype(w, "dtype", F);
    node_scalar_shape(w, "shape");
    node_end(w);
}

static void add_end(graph_writer *w, const char *from)
{
    add_unary(w, "Identity", F, "y", from);
}

/* A sum of `format` % 0 to n - 1, as y. */
static void add_sum(graph_writer *w, const char *prefix, const char *suffix,
                    size_t n)
{
    node_begin(w, "AddN", "y");
    for (size_t i = 0; i < n; i++)
        node_input(w, textf("%s%zu%s", prefix, i, suffix).s);
    node_int(w, "N", (int64_t)n);
    node_dtype(w, "T", F);
    node_end(w);
}

/* ---- ordinary nodes ---- */

static void write_chain(graph_writer *w, size_t n)
{
    add_x(w, "x");
    add_unary(w, "Sin", F, "a0", "x");
    for (size_t i = 1; i < n; i++)
        add_unary(w, "Sin", F, textf("a%zu", i).s, textf("a%zu", i - 1).s);
    add_end(w, textf("a%zu", n - 1).s);
}

static void write_fan(graph_writer *w, size_t n)
{
    add_x(w, "x");
    for (size_t i = 0; i < n; i++)
        add_unary(w, "Sin", F, textf("a%zu", i).s, "x");
    add_sum(w, "a", "", n);
}

static void write_diamonds(graph_writer *w, size_t n)
{
    add_x(w, "x");
    add_unary(w, "Sin", F, "a0", "x");
    for (size_t i = 1; i < n; i++)
        add_binary(w, "Mul", F, textf("a%zu", i).s, textf("a%zu", i - 1).s,
                   textf("a%zu", i / 2).s);
    add_end(w, textf("a%zu", n - 1).s);
}

static void write_add_n(graph_writer *w, size_t n)
{
    add_x(w, "x");
    node_begin(w, "AddN", "y");
    for (size_t i = 0; i < n; i++)
        node_input(w, "x");
    node_int(w, "N", (int64_t)n);
    node_dtype(w, "T", F);
    node_end(w);
}

/* Every value of a chain is a fetch. */
static void write_outputs(graph_writer *w, size_t n)
{
    add_x(w, "x");
    add_unary(w, "Sin", F, "y0", "x");
    for (size_t i = 1; i < n; i++)
        add_unary(w, "Sin", F, textf("y%zu", i).s, textf("y%zu", i - 1).s);
}

static void write_inputs(graph_writer *w, size_t n)
{
    add_x(w, "x0");
    add_unary(w, "Sin", F, "a0", "x0");
    for (size_t i = 1; i < n; i++) {
        add_x(w, textf("x%zu", i).s);
        add_binary(w, "AddV2", F, textf("a%zu", i).s, textf("a%zu", i - 1).s,
                   textf("x%zu", i).s);
    }
    add_end(w, textf("a%zu", n - 1).s);
}

static void write_inputs_outputs(graph_writer *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        add_x(w, textf("x%zu", i).s);
        add_unary(w, "Sin", F, textf("y%zu", i).s, textf("x%zu", i).s);
    }
}

/* One value to n parts, and one sum of them. */
static void write_unpack(graph_writer *w, size_t n)
{
    add_x(w, "x");
    node_begin(w, "Pack", "pack");
    for (size_t i = 0; i < n; i++)
        node_input(w, "x");
    node_int(w, "N", (int64_t)n);
    node_dtype(w, "T", F);
    node_end(w);
    node_begin(w, "Unpack", "part");
    node_input(w, "pack");
    node_int(w, "num", (int64_t)n);
    node_dtype(w, "T", F);
    node_end(w);
    add_sum(w, "part:", "", n);
}

/* ---- control edges ---- */

static void add_no_op(graph_writer *w, const char *name, const char *control)
{
    node_begin(w, "NoOp", name);
    node_input(w, control);
    node_end(w);
}

static void add_after(graph_writer *w, const char *x, const char *control)
{
    node_begin(w, "Identity", "y");
    node_input(w, x);
    node_input(w, control);
    node_dtype(w, "T", F);
    node_end(w);
}

static void write_controls(graph_writer *w, size_t n)
{
    add_x(w, "x");
    add_no_op(w, "c0", "^x");
    for (size_t i = 1; i < n; i++)
        add_no_op(w, textf("c%zu", i).s, textf("^c%zu", i - 1).s);
    add_after(w, "x", textf("^c%zu", n - 1).s);
}

static void write_control_fan(graph_writer *w, size_t n)
{
    add_x(w, "x");
    for (size_t i = 0; i < n; i++)
        add_no_op(w, textf("c%zu", i).s, "^x");
    node_begin(w, "Identity", "y");
    node_input(w, "x");
    for (size_t i = 0; i < n; i++)
        node_input(w, textf("^c%zu", i).s);
    node_dtype(w, "T", F);
    node_end(w);
}

/* ---- Switch and Merge ---- */

static void add_switch(graph_writer *w, const char *name, const char *x,
                       const char *p)
{
    add_binary(w, "Switch", F, name, x, p);
}

static void add_merge(graph_writer *w, const char *name, const char *x,
                      const char *y)
{
    node_begin(w, "Merge", name);
    node_input(w, x);
    node_input(w, y);
    node_int(w, "N", 2);
    node_dtype(w, "T", F);
    node_end(w);
}

/* Predicate i: one for all, or each its own. */
static text add_predicate(graph_writer *w, size_t i, bool is_own)
{
    const text own = textf("p%zu", i), p = textf("q%zu", i);

    if (i == 0 || is_own)
        add_bool(w, own.s, true);
    add_unary(w, "Identity", B, p.s, is_own ? own.s : "p0");
    return p;
}

/* a[i] = Sin(a[i - 1]) or itself, one cond after another. */
static void write_conds_of(graph_writer *w, size_t n, bool is_own)
{
    add_x(w, "x");
    add_unary(w, "Sin", F, "a0", "x");
    for (size_t i = 1; i < n; i++) {
        const text s = textf("s%zu", i), t = textf("t%zu", i);
        const text p = add_predicate(w, i - 1, is_own);

        add_switch(w, s.s, textf("a%zu", i - 1).s, p.s);
        add_unary(w, "Sin", F, t.s, textf("s%zu:1", i).s);
        add_merge(w, textf("a%zu", i).s, s.s, t.s);
    }
    add_end(w, textf("a%zu", n - 1).s);
}

static void write_conds(graph_writer *w, size_t n)
{
    write_conds_of(w, n, false);
}

static void write_conds_own(graph_writer *w, size_t n)
{
    write_conds_of(w, n, true);
}

/* Each of n conds is in the one before. */
static void write_deep_conds(graph_writer *w, size_t n)
{
    add_x(w, "x");
    for (size_t i = 0; i < n; i++) {
        const text from = i == 0 ? textf("x") : textf("t%zu", i - 1);
        const text p = add_predicate(w, i, true);

        add_switch(w, textf("s%zu", i).s, from.s, p.s);
        add_unary(w, "Sin", F, textf("t%zu", i).s, textf("s%zu:1", i).s);
    }
    for (size_t i = n; i-- > 0;)
        add_merge(w, textf("m%zu", i).s, textf("s%zu", i).s,
                  i + 1 == n ? textf("t%zu", i).s : textf("m%zu", i + 1).s);
    add_end(w, "m0");
}

/* n conds beside each other on one value. */
static void write_wide_conds(graph_writer *w, size_t n)
{
    add_x(w, "x");
    for (size_t i = 0; i < n; i++) {
        const text s = textf("s%zu", i), t = textf("t%zu", i);
        const text p = add_predicate(w, i, true);

        add_switch(w, s.s, "x", p.s);
        add_unary(w, "Sin", F, t.s, textf("s%zu:1", i).s);
        add_merge(w, textf("m%zu", i).s, s.s, t.s);
    }
    add_sum(w, "m", "", n);
}

/* A chain, each link joined with a Switch of x on another predicate. */
static void write_crossed_of(graph_writer *w, size_t n, bool is_own)
{
    add_x(w, "x");
    add_unary(w, "Sin", F, "a0", "x");
    for (size_t i = 1; i < n; i++) {
        const text p = add_predicate(w, i - 1, is_own);

        add_switch(w, textf("s%zu", i).s, textf("a%zu", i - 1).s, p.s);
        add_switch(w, textf("t%zu", i).s, "x",
                   textf("q%zu", (7 * i + 3) % (n - 1)).s);
        add_binary(w, "AddV2", F, textf("a%zu", i).s, textf("s%zu:1", i).s,
                   textf("t%zu:1", i).s);
    }
    add_end(w, textf("a%zu", n - 1).s);
}

static void write_crossed(graph_writer *w, size_t n)
{
    write_crossed_of(w, n, false);
}

static void write_crossed_own(graph_writer *w, size_t n)
{
    write_crossed_of(w, n, true);
}

/* A sum of what n Switches on n predicates let through. */
static void write_joined_of(graph_writer *w, size_t n, bool is_own)
{
    add_x(w, "x");
    for (size_t i = 0; i < n; i++) {
        const text p = add_predicate(w, i, is_own);

        add_switch(w, textf("s%zu", i).s, "x", p.s);
    }
    add_sum(w, "s", ":1", n);
}

static void write_joined(graph_writer *w, size_t n)
{
    write_joined_of(w, n, false);
}

static void write_joined_own(graph_writer *w, size_t n)
{
    write_joined_of(w, n, true);
}

/* One _SwitchN of n outputs, one Merge of them. */
static void write_switch_n(graph_writer *w, size_t n)
{
    add_x(w, "x");
    add_int(w, "which", 0);
    node_begin(w, "_SwitchN", "s");
    node_input(w, "x");
    node_input(w, "which");
    node_int(w, "num_outs", (int64_t)n);
    node_dtype(w, "T", F);
    node_end(w);
    for (size_t i = 0; i < n; i++)
        add_unary(w, "Sin", F, textf("t%zu", i).s, textf("s:%zu", i).s);
    node_begin(w, "Merge", "m");
    for (size_t i = 0; i < n; i++)
        node_input(w, textf("t%zu", i).s);
    node_int(w, "N", (int64_t)n);
    node_dtype(w, "T", F);
    node_end(w);
    add_end(w, "m");
}

/* ---- loops ---- */

#define TRIPS 2

/* A loop of two trips over `from`; its body is Sin of `body` % 1. */
static void add_counter(graph_writer *w, size_t k)
{
    const text frame = textf("f%zu", k);

    add_enter(w, I, textf("ei%zu", k).s, "zero", frame.s, false);
    add_enter(w, I, textf("el%zu", k).s, "limit", frame.s, true);
    add_enter(w, I, textf("eo%zu", k).s, "one", frame.s, true);
    node_begin(w, "Merge", textf("mi%zu", k).s);
    node_input(w, textf("ei%zu", k).s);
    node_input(w, textf("ni%zu", k).s);
    node_int(w, "N", 2);
    node_dtype(w, "T", I);
    node_end(w);
    add_binary(w, "Less", I, textf("lt%zu", k).s, textf("mi%zu", k).s,
               textf("el%zu", k).s);
    node_begin(w, "LoopCond", textf("lc%zu", k).s);
    node_input(w, textf("lt%zu", k).s);
    node_end(w);
    add_binary(w, "Switch", I, textf("si%zu", k).s, textf("mi%zu", k).s,
               textf("lc%zu", k).s);
    add_binary(w, "AddV2", I, textf("ai%zu", k).s, textf("si%zu:1", k).s,
               textf("eo%zu", k).s);
    add_unary(w, "NextIteration", I, textf("ni%zu", k).s, textf("ai%zu", k).s);
}

/* A variable of loop `k`: s<name>:1 is read, `next` goes round, x<name>. */
static void add_variable(graph_writer *w, size_t k, const char *name,
                         const char *first, const char *next)
{
    const text m = textf("m%s", name), s = textf("s%s", name);

    add_enter(w, F, textf("e%s", name).s, first, textf("f%zu", k).s, false);
    add_merge(w, m.s, textf("e%s", name).s, textf("n%s", name).s);
    add_switch(w, s.s, m.s, textf("lc%zu", k).s);
    add_unary(w, "NextIteration", F, textf("n%s", name).s, next);
    add_unary(w, "Exit", F, textf("x%s", name).s, s.s);
}

static void add_loop_ends(graph_writer *w)
{
    add_int(w, "zero", 0);
    add_int(w, "one", 1);
    add_int(w, "limit", TRIPS);
    add_x(w, "x");
}

static void add_loop(graph_writer *w, size_t k, const char *from)
{
    const text v = textf("v%zu", k), body = textf("b%zu", k);

    add_counter(w, k);
    add_variable(w, k, v.s, from, body.s);
    add_unary(w, "Sin", F, body.s, textf("sv%zu:1", k).s);
}

static void write_loops(graph_writer *w, size_t n)
{
    add_loop_ends(w);
    for (size_t i = 0; i < n; i++)
        add_loop(w, i, "x");
    add_sum(w, "xv", "", n);
}

static void write_loops_in_sequence(graph_writer *w, size_t n)
{
    add_loop_ends(w);
    for (size_t i = 0; i < n; i++)
        add_loop(w, i, i == 0 ? "x" : textf("xv%zu", i - 1).s);
    add_end(w, textf("xv%zu", n - 1).s);
}

/* What a loop has around it comes in through constant Enters. */
static void add_outer(graph_writer *w, size_t k, const char *name,
                      eddy_dtype dtype)
{
    const text in = textf("%s_%zu", name, k);

    add_enter(w, dtype, in.s, k == 0 ? name : textf("%s_%zu", name, k - 1).s,
              textf("f%zu", k).s, true);
}

/* Each of n loops is in the body of the one before. */
static void write_deep_loops(graph_writer *w, size_t n)
{
    add_loop_ends(w);
    for (size_t k = 0; k < n; k++) {
        const text v = textf("v%zu", k), frame = textf("f%zu", k);
        const text zero = k == 0 ? textf("zero") : textf("zero_%zu", k - 1);

        add_outer(w, k, "zero", I);
        add_outer(w, k, "one", I);
        add_outer(w, k, "limit", I);
        add_enter(w, I, textf("ei%zu", k).s, zero.s, frame.s, false);
        node_begin(w, "Merge", textf("mi%zu", k).s);
        node_input(w, textf("ei%zu", k).s);
        node_input(w, textf("ni%zu", k).s);
        node_int(w, "N", 2);
        node_dtype(w, "T", I);
        node_end(w);
        add_binary(w, "Less", I, textf("lt%zu", k).s, textf("mi%zu", k).s,
                   textf("limit_%zu", k).s);
        node_begin(w, "LoopCond", textf("lc%zu", k).s);
        node_input(w, textf("lt%zu", k).s);
        node_end(w);
        add_binary(w, "Switch", I, textf("si%zu", k).s, textf("mi%zu", k).s,
                   textf("lc%zu", k).s);
        add_binary(w, "AddV2", I, textf("ai%zu", k).s, textf("si%zu:1", k).s,
                   textf("one_%zu", k).s);
        add_unary(w, "NextIteration", I, textf("ni%zu", k).s,
                  textf("ai%zu", k).s);
        add_variable(w, k, v.s, k == 0 ? "x" : textf("sv%zu:1", k - 1).s,
                     k + 1 == n ? "b" : textf("xv%zu", k + 1).s);
    }
    add_unary(w, "Sin", F, "b", textf("sv%zu:1", n - 1).s);
    add_end(w, "xv0");
}

/* One loop of n variables, each the Sin of the one beside it. */
static void write_variables_of_a_loop(graph_writer *w, size_t n)
{
    add_loop_ends(w);
    add_counter(w, 0);
    for (size_t i = 0; i < n; i++) {
        add_variable(w, 0, textf("v%zu", i).s, "x", textf("b%zu", i).s);
        add_unary(w, "Sin", F, textf("b%zu", i).s,
                  textf("sv%zu:1", (i + 1) % n).s);
    }
    add_sum(w, "xv", "", n);
}

/* One loop with a body that is a chain of n nodes. */
static void write_long_body(graph_writer *w, size_t n)
{
    add_loop_ends(w);
    add_counter(w, 0);
    add_variable(w, 0, "v", "x", textf("b%zu", n - 1).s);
    add_unary(w, "Sin", F, "b0", "sv:1");
    for (size_t i = 1; i < n; i++)
        add_unary(w, "Sin", F, textf("b%zu", i).s, textf("b%zu", i - 1).s);
    add_end(w, "xv");
}

/* One loop that multiplies by n invariants. */
static void write_invariants(graph_writer *w, size_t n)
{
    add_loop_ends(w);
    add_counter(w, 0);
    add_variable(w, 0, "v", "x", textf("b%zu", n - 1).s);
    for (size_t i = 0; i < n; i++) {
        add_enter(w, F, textf("i%zu", i).s, "x", "f0", true);
        add_binary(w, "Mul", F, textf("b%zu", i).s,
                   i == 0 ? "sv:1" : textf("b%zu", i - 1).s,
                   textf("i%zu", i).s);
    }
    add_end(w, "xv");
}

/* One loop with n conds in its body, one after the other. */
static void write_conds_in_loop(graph_writer *w, size_t n)
{
    add_loop_ends(w);
    add_bool(w, "p", true);
    add_enter(w, B, "q", "p", "f0", true);
    add_counter(w, 0);
    add_variable(w, 0, "v", "x", textf("b%zu", n - 1).s);
    for (size_t i = 0; i < n; i++) {
        const text s = textf("s%zu", i), t = textf("t%zu", i);

        add_switch(w, s.s, i == 0 ? "sv:1" : textf("b%zu", i - 1).s, "q");
        add_unary(w, "Sin", F, t.s, textf("s%zu:1", i).s);
        add_merge(w, textf("b%zu", i).s, s.s, t.s);
    }
    add_end(w, "xv");
}

/* ---- functions ---- */

/* A function f<i> of x; `callee` NULL: Sin. */
static void add_function(graph_writer *w, size_t i, const char *callee)
{
    function_begin(w, textf("f%zu", i).s, "r", F);
    if (callee) {
        node_begin(w, "PartitionedCall", "c");
        node_input(w, "x");
        node_dtypes(w, "Tin", F, 1);
        node_dtypes(w, "Tout", F, 1);
        node_function(w, "f", callee);
        node_end(w);
        function_end(w, "r", "c:output:0");
        return;
    }
    add_unary(w, "Sin", F, "c", "x");
    function_end(w, "r", "c:y:0");
}

static void add_call(graph_writer *w, const char *name, const char *x,
                     const char *function)
{
    node_begin(w, "PartitionedCall", name);
    node_input(w, x);
    node_dtypes(w, "Tin", F, 1);
    node_dtypes(w, "Tout", F, 1);
    node_function(w, "f", function);
    node_end(w);
}

static void write_functions(graph_writer *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_function(w, i, NULL);
    add_x(w, "x");
    for (size_t i = 0; i < n; i++)
        add_call(w, textf("c%zu", i).s, i == 0 ? "x" : textf("c%zu", i - 1).s,
                 textf("f%zu", i).s);
    add_end(w, textf("c%zu", n - 1).s);
}

static void write_function_nest(graph_writer *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_function(w, i, i == 0 ? NULL : textf("f%zu", i - 1).s);
    add_x(w, "x");
    add_call(w, "c", "x", textf("f%zu", n - 1).s);
    add_end(w, "c");
}

static void write_case(graph_writer *w, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_function(w, i, NULL);
    add_x(w, "x");
    add_int(w, "which", 0);
    node_begin(w, "StatelessCase", "c");
    node_input(w, "which");
    node_input(w, "x");
    node_dtypes(w, "Tin", F, 1);
    node_dtypes(w, "Tout", F, 1);
    node_functions(w, "branches", "f", n);
    node_end(w);
    add_end(w, "c");
}

static void add_if(graph_writer *w, const char *name, const char *p,
                   const char *x, const char *then, const char *or_else)
{
    node_begin(w, "StatelessIf", name);
    node_input(w, p);
    node_input(w, x);
    node_dtype(w, "Tcond", B);
    node_dtypes(w, "Tin", F, 1);
    node_dtypes(w, "Tout", F, 1);
    node_function(w, "then_branch", then);
    node_function(w, "else_branch", or_else);
    node_end(w);
}

static void write_ifs(graph_writer *w, size_t n)
{
    add_function(w, 0, NULL);
    add_x(w, "x");
    add_bool(w, "p", true);
    for (size_t i = 0; i < n; i++)
        add_if(w, textf("c%zu", i).s, "p",
               i == 0 ? "x" : textf("c%zu", i - 1).s, "f0", "f0");
    add_end(w, textf("c%zu", n - 1).s);
}

static void write_deep_ifs(graph_writer *w, size_t n)
{
    add_function(w, 0, NULL);
    for (size_t i = 1; i < n; i++) {
        function_begin(w, textf("f%zu", i).s, "r", F);
        add_bool(w, "p", true);
        add_if(w, "c", "p:output:0", "x", textf("f%zu", i - 1).s, "f0");
        function_end(w, "r", "c:output:0");
    }
    add_x(w, "x");
    add_bool(w, "p", true);
    add_if(w, "c", "p", "x", textf("f%zu", n - 1).s, "f0");
    add_end(w, "c");
}

static void write_whiles(graph_writer *w, size_t n)
{
    function_begin(w, "test", "r", B);
    add_float(w, "half", 0.5F);
    add_binary(w, "Greater", F, "g", "x", "half:output:0");
    function_end(w, "r", "g:z:0");
    add_function(w, 0, NULL);
    add_x(w, "x");
    for (size_t i = 0; i < n; i++) {
        node_begin(w, "StatelessWhile", textf("c%zu", i).s);
        node_input(w, i == 0 ? "x" : textf("c%zu", i - 1).s);
        node_dtypes(w, "T", F, 1);
        node_function(w, "cond", "test");
        node_function(w, "body", "f0");
        node_end(w);
    }
    add_end(w, textf("c%zu", n - 1).s);
}

/* ---- state ---- */

static void write_variables(graph_writer *w, size_t n)
{
    add_x(w, "x");
    for (size_t i = 0; i < n; i++) {
        const text v = textf("v%zu", i), a = textf("a%zu", i);

        node_begin(w, "VarHandleOp", v.s);
        node_dtype(w, "dtype", F);
        node_scalar_shape(w, "shape");
        node_string(w, "shared_name", v.s);
        node_end(w);
        node_begin(w, "AssignVariableOp", a.s);
        node_input(w, v.s);
        node_input(w, "x");
        node_dtype(w, "dtype", F);
        node_end(w);
        node_begin(w, "ReadVariableOp", textf("r%zu", i).s);
        node_input(w, v.s);
        node_input(w, textf("^a%zu", i).s);
        node_dtype(w, "dtype", F);
        node_end(w);
    }
    add_sum(w, "r", "", n);
}

static void add_array(graph_writer *w, const char *name, const char *size)
{
    node_begin(w, "TensorArrayV3", name);
    node_input(w, size);
    node_dtype(w, "dtype", F);
    node_end(w);
}

static void add_array_write(graph_writer *w, const char *name,
                            const char *array, const char *index,
                            const char *flow)
{
    node_begin(w, "TensorArrayWriteV3", name);
    node_input(w, array);
    node_input(w, index);
    node_input(w, "x");
    node_input(w, flow);
    node_dtype(w, "T", F);
    node_end(w);
}

static void add_array_read(graph_writer *w, const char *name, const char *array,
                           const char *index, const char *flow)
{
    node_begin(w, "TensorArrayReadV3", name);
    node_input(w, array);
    node_input(w, index);
    node_input(w, flow);
    node_dtype(w, "dtype", F);
    node_end(w);
}

static void write_arrays(graph_writer *w, size_t n)
{
    add_x(w, "x");
    add_int(w, "zero", 0);
    add_int(w, "one", 1);
    for (size_t i = 0; i < n; i++) {
        const text t = textf("t%zu", i), v = textf("w%zu", i);

        add_array(w, t.s, "one");
        add_array_write(w, v.s, t.s, "zero", textf("t%zu:1", i).s);
        add_array_read(w, textf("r%zu", i).s, t.s, "zero", v.s);
    }
    add_sum(w, "r", "", n);
}

static void write_items_of_an_array(graph_writer *w, size_t n)
{
    add_x(w, "x");
    add_int(w, "n", (int32_t)n);
    add_array(w, "t", "n");
    for (size_t i = 0; i < n; i++) {
        add_int(w, textf("i%zu", i).s, (int32_t)i);
        add_array_write(w, textf("w%zu", i).s, "t", textf("i%zu", i).s,
                        i == 0 ? "t:1" : textf("w%zu", i - 1).s);
    }
    for (size_t i = 0; i < n; i++)
        add_array_read(w, textf("r%zu", i).s, "t", textf("i%zu", i).s,
                       textf("w%zu", n - 1).s);
    add_sum(w, "r", "", n);
}

/* Pushes onto a list, and pops from it. */
static void write_list(graph_writer *w, size_t n)
{
    add_x(w, "x");
    add_int(w, "most", -1);
    add_int(w, "shape", -1);
    node_begin(w, "EmptyTensorList", "l0");
    node_input(w, "shape");
    node_input(w, "most");
    node_dtype(w, "element_dtype", F);
    node_dtype(w, "shape_type", I);
    node_end(w);
    for (size_t i = 0; i < n; i++) {
        node_begin(w, "TensorListPushBack", textf("l%zu", i + 1).s);
        node_input(w, textf("l%zu", i).s);
        node_input(w, "x");
        node_dtype(w, "element_dtype", F);
        node_end(w);
    }
    for (size_t i = 0; i < n; i++) {
        node_begin(w, "TensorListPopBack", textf("r%zu", i).s);
        node_input(w, i == 0 ? textf("l%zu", n).s : textf("r%zu", i - 1).s);
        node_input(w, "shape");
        node_dtype(w, "element_dtype", F);
        node_end(w);
    }
    add_sum(w, "r", ":1", n);
}

/* ---- texts and rows ---- */

/* Texts of half the file, as many as there are bytes in the other half. */
static void write_joined_texts(graph_writer *w, size_t n)
{
    char *separator = malloc(8 * n + 1);

    if (!separator)
        abort();
    memset(separator, 's', 8 * n);
    separator[8 * n] = 0;
    add_x(w, "x");
    add_unary(w, "AsString", F, "t", "x");
    node_begin(w, "StringJoin", "j");
    for (size_t i = 0; i < n; i++)
        node_input(w, "t");
    node_int(w, "N", (int64_t)n);
    node_string(w, "separator", separator);
    node_end(w);
    node_begin(w, "StringLength", "l");
    node_input(w, "j");
    node_end(w);
    node_begin(w, "Cast", "y");
    node_input(w, "l");
    node_dtype(w, "SrcT", I);
    node_dtype(w, "DstT", F);
    node_end(w);
    free(separator);
}

/* Nodes that hand on all of many values. */
static void write_identities(graph_writer *w, size_t n)
{
    add_x(w, "x");
    node_begin(w, "IdentityN", "a");
    for (size_t i = 0; i < n; i++)
        node_input(w, "x");
    node_dtypes(w, "T", F, n);
    node_end(w);
    node_begin(w, "IdentityN", "b");
    for (size_t i = 0; i < n; i++)
        node_input(w, textf("a:%zu", n - 1 - i).s);
    node_dtypes(w, "T", F, n);
    node_end(w);
    add_sum(w, "b:", "", n);
}

#define PARTS 1000 /* of each row */

/* Rows of very many parts each. */
static void write_rows(graph_writer *w, size_t n)
{
    const size_t n_rows = n / 256 + 1;

    add_x(w, "x");
    for (size_t r = 0; r < n_rows; r++) {
        node_begin(w, "Pack", textf("p%zu", r).s);
        for (size_t i = 0; i < PARTS; i++)
            node_input(w, "x");
        node_int(w, "N", PARTS);
        node_dtype(w, "T", F);
        node_end(w);
    }
    add_sum(w, "p", "", n_rows);
}

/* ---- all of them ---- */

const family families[] = {
    {.name = "chain", .write = write_chain},
    {.name = "fan", .write = write_fan},
    {.name = "diamonds", .write = write_diamonds},
    {.name = "add_n", .write = write_add_n},
    {.name = "unpack", .write = write_unpack},
    {.name = "many_ys", .write = write_outputs, .has_many_ys = true},
    {.name = "many_xs", .write = write_inputs, .has_many_xs = true},
    {.name = "many_xs_ys",
     .write = write_inputs_outputs,
     .has_many_xs = true,
     .has_many_ys = true},
    {.name = "controls", .write = write_controls},
    {.name = "control_fan", .write = write_control_fan},
    {.name = "conds", .write = write_conds},
    {.name = "conds_own", .write = write_conds_own},
    {.name = "deep_conds", .write = write_deep_conds},
    {.name = "wide_conds", .write = write_wide_conds},
    {.name = "crossed", .write = write_crossed},
    {.name = "crossed_own", .write = write_crossed_own},
    {.name = "joined", .write = write_joined},
    {.name = "joined_own", .write = write_joined_own},
    {.name = "switch_n", .write = write_switch_n},
    {.name = "loops", .write = write_loops},
    {.name = "loop_sequence", .write = write_loops_in_sequence},
    {.name = "deep_loops", .write = write_deep_loops},
    {.name = "loop_variables", .write = write_variables_of_a_loop},
    {.name = "long_body", .write = write_long_body},
    {.name = "invariants", .write = write_invariants},
    {.name = "conds_in_loop", .write = write_conds_in_loop},
    {.name = "functions", .write = write_functions},
    {.name = "function_nest", .write = write_function_nest},
    {.name = "case", .write = write_case},
    {.name = "ifs", .write = write_ifs},
    {.name = "deep_ifs", .write = write_deep_ifs},
    {.name = "whiles", .write = write_whiles},
    {.name = "variables", .write = write_variables},
    {.name = "arrays", .write = write_arrays},
    {.name = "array_items", .write = write_items_of_an_array},
    {.name = "list", .write = write_list},
    {.name = "joined_texts",
     .write = write_joined_texts,
     .has_no_gradient = true},
    {.name = "identities", .write = write_identities},
    {.name = "rows", .write = write_rows},
};

const size_t n_families = sizeof families / sizeof families[0];

#define TRIAL_SIZE 512 /* from which the size of a whole file follows */

size_t family_size(const family *f, double bytes)
{
    graph_writer w = {.n_nodes = 0};
    double n = TRIAL_SIZE;

    for (int i = 0; i < 3; i++) {
        f->write(&w, (size_t)n);
        n *= bytes / (double)w.out.length;
        graph_writer_deinit(&w);
    }
    return (size_t)(n * 0.99) / 8 * 8;
}
