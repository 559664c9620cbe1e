/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/random_loop.h"

#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define VARIABLES RANDOM_LOOP_VARIABLES
#define MOST_DEPTH 3
#define NAME 24

typedef char name[NAME];

typedef struct generator {
    random_loop *r;
    uint64_t state;
    size_t length;
    unsigned n_names;
    unsigned n_loops;
    /* What constants made here wait for: empty outside of loops. */
    name pivot;
    int dtype[VARIABLES];
    uint32_t switched; /* variables of all branches around, a bit each */
} generator;

typedef struct dtype {
    const char *text; /* of a constant */
    bool is_float, is_signed;
} dtype;

static const dtype dtypes[] = {
    {"int8", false, true},       {"int32", false, true},
    {"int64", false, true},      {"uint8", false, false},
    {"uint32", false, false},    {"float32", true, true},
    {"float64", true, true},     {"float32[3]", true, true},
    {"int64[2]", false, true},   {"float32[20]", true, true},
    {"int32[8,8]", false, true},
};

#define N_DTYPES (sizeof dtypes / sizeof dtypes[0])
#define IS_VECTOR(d) ((d) >= 7)

static uint32_t below(generator *g, uint32_t n)
{
    /* Knuth's, of MMIX. */
    g->state = g->state * UINT64_C(6364136223846793005) +
               UINT64_C(1442695040888963407);
    return (uint32_t)(g->state >> 33) % n;
}

static void put(generator *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(generator *g, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(g->r->text + g->length, RANDOM_LOOP_TEXT - g->length, format,
                  args);
    va_end(args);
    ck_assert(n >= 0 && (size_t)n < RANDOM_LOOP_TEXT - g->length);
    g->length += (size_t)n;
}

static void new_name(generator *g, name to)
{
    snprintf(to, NAME, "t%u", g->n_names++);
}

static void put_constant(generator *g, int d, name to)
{
    new_name(g, to);
    put(g, "%s %s=%u", to, dtypes[d].text, 1 + below(g, 5));
    if (dtypes[d].is_float)
        put(g, ".25");
    if (g->pivot[0])
        put(g, " ^%s", g->pivot);
    put(g, "\n");
}

/* A variable of that dtype, or now and then a constant. */
static void pick(generator *g, name *vars, int d, name to)
{
    for (int tries = 0; tries < 4; tries++) {
        const uint32_t v = below(g, VARIABLES);

        if (g->dtype[v] == d) {
            memcpy(to, vars[v], NAME);
            return;
        }
    }
    put_constant(g, d, to);
}

static const char *pick_op(generator *g, int d)
{
    static const char *const any[] = {"AddV2",   "Sub",     "Mul",
                                      "Maximum", "Minimum", "AddV2"};
    static const char *const integer[] = {"BitwiseAnd", "BitwiseXor",
                                          "BitwiseOr", "FloorMod"};

    if (!dtypes[d].is_float && below(g, 3) == 0)
        return integer[below(g, 4)];
    return any[below(g, 6)];
}

static void assign(generator *g, name *vars)
{
    const uint32_t v = below(g, VARIABLES);
    const int d = g->dtype[v];
    name b, to;
    const char *op = pick_op(g, d);

    if (strcmp(op, "FloorMod") == 0 || below(g, 3) == 0)
        put_constant(g, d, b);
    else
        pick(g, vars, d, b);
    if (!dtypes[d].is_float && !IS_VECTOR(d) && !g->r->has_fault &&
        below(g, 10) == 0) {
        op = "FloorDiv";
        memcpy(b, vars[below(g, VARIABLES)], NAME);
        for (uint32_t i = 0; i < VARIABLES; i++)
            if (g->dtype[i] == d)
                memcpy(b, vars[i], NAME);
        g->r->has_fault = true;
    }
    new_name(g, to);
    if (dtypes[d].is_signed && below(g, 6) == 0)
        put(g, "%s %s %s\n", to, below(g, 2) == 0 ? "Neg" : "Abs", vars[v]);
    else
        put(g, "%s %s %s %s\n", to, op, vars[v], b);
    memcpy(vars[v], to, NAME);
}

/* From one dtype of scalars to another. */
static void convert(generator *g, name *vars)
{
    const uint32_t v = below(g, VARIABLES), from = below(g, VARIABLES);
    name to;

    /* What comes from outside of a branch would be live on both sides. */
    if (!(g->switched >> from & 1) || IS_VECTOR(g->dtype[v]) ||
        IS_VECTOR(g->dtype[from]))
        return;
    new_name(g, to);
    put(g, "%s Cast %s SrcT=%s DstT=%s Truncate=false\n", to, vars[from],
        dtypes[g->dtype[from]].text, dtypes[g->dtype[v]].text);
    memcpy(vars[v], to, NAME);
}

/* A comparison of two scalars. */
static void compare(generator *g, name *vars, name to)
{
    static const char *const ops[] = {"Less",  "LessEqual", "Greater",
                                      "Equal", "NotEqual",  "GreaterEqual"};
    const uint32_t v = below(g, VARIABLES);
    const int d = IS_VECTOR(g->dtype[v]) ? 1 : g->dtype[v];
    name a, b;

    pick(g, vars, d, a);
    pick(g, vars, d, b);
    new_name(g, to);
    put(g, "%s %s %s %s\n", to, ops[below(g, 6)], a, b);
}

/* One of two values by a comparison, or the sum of some. */
static void choose(generator *g, name *vars)
{
    const uint32_t v = below(g, VARIABLES);
    const int d = g->dtype[v];
    const uint32_t n = below(g, 4);
    name pred, b, c, to;

    pick(g, vars, d, b);
    pick(g, vars, d, c);
    if (n < 2)
        compare(g, vars, pred);
    new_name(g, to);
    if (n < 2)
        put(g, "%s SelectV2 %s %s %s\n", to, pred, n == 0 ? b : vars[v],
            n == 0 ? vars[v] : b);
    else if (n == 2)
        put(g, "%s AddN %s %s\n", to, b, vars[v]);
    else
        put(g, "%s AddN %s %s %s\n", to, vars[v], b, c);
    memcpy(vars[v], to, NAME);
}

/* NOLINTBEGIN(misc-no-recursion): as deep as MOST_DEPTH */
static void block(generator *g, name *vars, int depth, uint32_t n);

/* Both sides change some variables, and may read the others as they are. */
static void branch(generator *g, name *vars, int depth)
{
    const uint32_t mask = 1 + below(g, (1 << VARIABLES) - 1);
    const uint32_t around = g->switched;
    name sides[2][VARIABLES], pred, outer;

    compare(g, vars, pred);
    memcpy(outer, g->pivot, NAME);
    g->switched = mask & around;
    for (int side = 0; side < 2; side++)
        for (uint32_t v = 0; v < VARIABLES; v++)
            memcpy(sides[side][v], vars[v], NAME);
    new_name(g, g->pivot);
    put(g, "%s Switch %s %s\n", g->pivot, pred, pred);
    {
        name at;

        memcpy(at, g->pivot, NAME);
        for (uint32_t v = 0; v < VARIABLES; v++) {
            name s;

            if (!(mask >> v & 1))
                continue;
            new_name(g, s);
            put(g, "%s Switch %s %s\n", s, vars[v], pred);
            put(g, "%s/f Identity %s\n%s/t Identity %s:1\n", s, s, s, s);
            snprintf(sides[0][v], NAME, "%.20s/f", s);
            snprintf(sides[1][v], NAME, "%.20s/t", s);
        }
        put(g, "%s/f Identity %s\n%s/t Identity %s:1\n", at, at, at, at);
        for (int side = 0; side < 2; side++) {
            name before[VARIABLES];

            memcpy(before, sides[side], sizeof before);
            snprintf(g->pivot, NAME, "%.20s/%c", at, side ? 't' : 'f');
            block(g, sides[side], depth, 1 + below(g, 3));
            /* Only what was switched can be merged. */
            for (uint32_t v = 0; v < VARIABLES; v++)
                if (!(mask >> v & 1))
                    memcpy(sides[side][v], before[v], NAME);
        }
    }
    memcpy(g->pivot, outer, NAME);
    g->switched = around;
    for (uint32_t v = 0; v < VARIABLES; v++) {
        if (!(mask >> v & 1))
            continue;
        new_name(g, vars[v]);
        put(g, "%s Merge %s %s\n", vars[v], sides[0][v], sides[1][v]);
    }
}

static void loop(generator *g, name *vars, int depth)
{
    const unsigned id = g->n_loops++;
    const uint32_t early = below(g, 3), captured = below(g, VARIABLES);
    name inner[VARIABLES], cond, outer, trips, zero;

    put_constant(g, 1, trips);
    new_name(g, zero);
    put(g, "%s int32=%u", zero, below(g, 4));
    if (g->pivot[0])
        put(g, " ^%s", g->pivot);
    put(g, "\nl%u/n Enter@l%u! %s\nl%u/e Enter@l%u %s\n", id, id, trips, id, id,
        zero);
    put(g, "l%u/i Merge l%u/e l%u/next\n", id, id, id);
    put(g, "l%u/c Enter@l%u! %s\n", id, id, vars[captured]);
    for (uint32_t v = 0; v < VARIABLES; v++) {
        put(g, "l%u/e%u Enter@l%u %s\n", id, v, id, vars[v]);
        put(g, "l%u/m%u Merge l%u/e%u l%u/n%u\n", id, v, id, v, id, v);
        snprintf(inner[v], NAME, "l%u/m%u", id, v);
    }
    put(g, "l%u/less Less l%u/i l%u/n\n", id, id, id);
    snprintf(cond, NAME, "l%u/less", id);
    memcpy(outer, g->pivot, NAME);
    snprintf(g->pivot, NAME, "l%u/i", id);
    if (early == 0) {
        name other;

        compare(g, inner, other);
        put(g, "l%u/and LogicalAnd %s %s\n", id, cond, other);
        snprintf(cond, NAME, "l%u/and", id);
    }
    put(g, "l%u/cond LoopCond %s\nl%u/s Switch l%u/i l%u/cond\n", id, cond, id,
        id, id);
    put(g, "l%u/b Identity l%u/s:1\n", id, id);
    for (uint32_t v = 0; v < VARIABLES; v++) {
        put(g, "l%u/s%u Switch l%u/m%u l%u/cond\n", id, v, id, v, id);
        put(g, "l%u/b%u Identity l%u/s%u:1\n", id, v, id, v);
        put(g, "l%u/x%u Exit l%u/s%u\n", id, v, id, v);
        snprintf(inner[v], NAME, "l%u/b%u", id, v);
    }
    snprintf(g->pivot, NAME, "l%u/b", id);
    block(g, inner, depth - 1, 1 + below(g, 4));
    put(g, "l%u/one int32=1 ^%s\n", id, g->pivot);
    put(g, "l%u/add AddV2 l%u/b l%u/one\nl%u/next NextIteration l%u/add\n", id,
        id, id, id, id);
    put(g, "l%u/sum AddV2 %s l%u/c\n", id, inner[captured], id);
    snprintf(inner[captured], NAME, "l%u/sum", id);
    /* Two of the same dtype may change places. */
    for (uint32_t v = 0; v + 1 < VARIABLES; v++)
        if (g->dtype[v] == g->dtype[v + 1] && below(g, 3) == 0) {
            name t;

            memcpy(t, inner[v], NAME);
            memcpy(inner[v], inner[v + 1], NAME);
            memcpy(inner[v + 1], t, NAME);
        }
    for (uint32_t v = 0; v < VARIABLES; v++) {
        put(g, "l%u/n%u NextIteration %s\n", id, v, inner[v]);
        snprintf(vars[v], NAME, "l%u/x%u", id, v);
    }
    memcpy(g->pivot, outer, NAME);
}

static void block(generator *g, name *vars, int depth, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t what = below(g, 10);

        if (what < 2 && depth > 0 && g->length < RANDOM_LOOP_TEXT / 2)
            loop(g, vars, depth);
        else if (what < 4 && depth > 0 && g->length < RANDOM_LOOP_TEXT / 2)
            branch(g, vars, depth - 1);
        else if (what < 5)
            convert(g, vars);
        else if (what < 6)
            choose(g, vars);
        else
            assign(g, vars);
    }
}
/* NOLINTEND(misc-no-recursion) */

void random_loop_generate(random_loop *r, uint64_t seed)
{
    generator g = {
        .r = r, .state = seed * 2 + 1, .switched = (1 << VARIABLES) - 1};
    name vars[VARIABLES];
    size_t n = 0;

    memset(r, 0, sizeof *r);
    for (uint32_t v = 0; v < VARIABLES; v++) {
        g.dtype[v] = (int)below(&g, N_DTYPES);
        if (v > 0 && below(&g, 2) == 0)
            g.dtype[v] = g.dtype[v - 1];
        put_constant(&g, g.dtype[v], vars[v]);
    }
    block(&g, vars, MOST_DEPTH, 1);
    loop(&g, vars, MOST_DEPTH);
    for (uint32_t v = 0; v < VARIABLES; v++)
        n += (size_t)snprintf(r->fetches + n, sizeof r->fetches - n, "%s%s",
                              v > 0 ? " " : "", vars[v]);
}

/* ---- what comes out ---- */

static bool are_nan(const void *x, const void *y, eddy_dtype type)
{
    float f[2];
    double d[2];

    if (type == EDDY_FLOAT32) {
        memcpy(&f[0], x, sizeof f[0]);
        memcpy(&f[1], y, sizeof f[1]);
        return isnan(f[0]) && isnan(f[1]);
    }
    if (type != EDDY_FLOAT64)
        return false;
    memcpy(&d[0], x, sizeof d[0]);
    memcpy(&d[1], y, sizeof d[1]);
    return isnan(d[0]) && isnan(d[1]);
}

bool random_loop_is_same(const eddy_tensor *x, const eddy_tensor *y)
{
    const eddy_dtype type = eddy_tensor_dtype(x);
    const size_t size = eddy_dtype_size(type), n = eddy_tensor_bytes(x);
    const char *a = eddy_tensor_data(x), *b = eddy_tensor_data(y);

    if (type != eddy_tensor_dtype(y) || n != eddy_tensor_bytes(y))
        return false;
    for (size_t at = 0; at < n; at += size)
        if (memcmp(a + at, b + at, size) != 0 && !are_nan(a + at, b + at, type))
            return false;
    return true;
}
