/* SPDX-License-Identifier: Apache-2.0 */
/* What a tree does, told by walking it. */
#include "tests/aid/tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_STEPS 20000
#define MOST_ITEMS 256
#define MOST_LOOPS 8

typedef struct items {
    tree_value at[MOST_ITEMS];
    uint32_t n;
} items;

typedef struct interpreter {
    const tree *t;
    tree_result *result;
    items stores[TREE_STORES];
    uint32_t loops[MOST_LOOPS]; /* around: their statements ... */
    int32_t indices[MOST_LOOPS];
    uint32_t n_loops;
    uint32_t n_steps;
    bool has_failed, is_invalid;
} interpreter;

/* ---- elements ---- */

/* As wide as it goes, with the sign that the dtype has. */
static uint64_t wrap(const tree_dtype *d, uint64_t bits)
{
    const uint32_t unused = 64 - 8 * d->size;

    if (d->class == TREE_BOOL)
        return bits != 0;
    bits <<= unused;
    return d->is_signed ? (uint64_t)((int64_t)bits >> unused) : bits >> unused;
}

static uint64_t floor_divide(const tree_dtype *d, uint64_t x, uint64_t y,
                             bool is_rest)
{
    const int64_t a = (int64_t)x, b = (int64_t)y;
    uint64_t q, r;

    if (!d->is_signed)
        return is_rest ? x % y : x / y;
    if (b == -1)
        return is_rest ? 0 : 0 - x;
    q = (uint64_t)(a / b);
    r = (uint64_t)(a % b);
    if (r != 0 && (a % b < 0) != (b < 0)) {
        q--;
        r += y;
    }
    return is_rest ? r : q;
}

static bool less(const tree_dtype *d, uint64_t x, uint64_t y)
{
    return d->is_signed ? (int64_t)x < (int64_t)y : x < y;
}

static uint64_t apply_int(const tree_dtype *d, tree_op op, uint64_t x,
                          uint64_t y)
{
    switch (op) {
    case TREE_ADD:
        return x + y;
    case TREE_SUB:
        return x - y;
    case TREE_MUL:
        return x * y;
    case TREE_MAX:
        return less(d, y, x) ? x : y;
    case TREE_MIN:
        return less(d, x, y) ? x : y;
    case TREE_AND:
        return x & y;
    case TREE_OR:
        return x | y;
    case TREE_XOR:
        return x ^ y;
    case TREE_MOD:
    case TREE_DIV:
        return floor_divide(d, x, y, op == TREE_MOD);
    case TREE_NEG:
        return 0 - x;
    case TREE_ABS:
        return d->is_signed && (int64_t)x < 0 ? 0 - x : x;
    case TREE_NOT:
        return x == 0;
    default:
        return 0;
    }
}

/* Of float32 and float64; NaNs go on, as in TensorFlow. */
#define APPLY_FLOAT(name, T, absolute)                                         \
    static T name(tree_op op, T x, T y)                                        \
    {                                                                          \
        switch (op) {                                                          \
        case TREE_ADD:                                                         \
            return x + y;                                                      \
        case TREE_SUB:                                                         \
            return x - y;                                                      \
        case TREE_MUL:                                                         \
            return x * y;                                                      \
        case TREE_MAX:                                                         \
            return x > y || isnan(x) ? x : y;                                  \
        case TREE_MIN:                                                         \
            return x < y || isnan(x) ? x : y;                                  \
        case TREE_NEG:                                                         \
            return -x;                                                         \
        default:                                                               \
            return absolute(x);                                                \
        }                                                                      \
    }

APPLY_FLOAT(apply_f32, float, fabsf)
APPLY_FLOAT(apply_f64, double, fabs)

static tree_element apply(const tree_dtype *d, tree_op op, tree_element x,
                          tree_element y)
{
    tree_element z = {.bits = 0};

    if (d->class != TREE_FLOAT)
        z.bits = wrap(d, apply_int(d, op, x.bits, y.bits));
    else if (d->size == 4)
        z.f32 = apply_f32(op, x.f32, y.f32);
    else
        z.f64 = apply_f64(op, x.f64, y.f64);
    return z;
}

/* -1, 0, 1; 2 if one is a NaN. */
static int order(const tree_dtype *d, tree_element x, tree_element y)
{
    double a, b;

    if (d->class != TREE_FLOAT)
        return less(d, x.bits, y.bits) ? -1 : x.bits != y.bits;
    a = d->size == 4 ? (double)x.f32 : x.f64;
    b = d->size == 4 ? (double)y.f32 : y.f64;
    if (isnan(a) || isnan(b))
        return 2;
    return a < b ? -1 : a > b;
}

/* ---- operands ---- */

static tree_value number(uint32_t dtype, int32_t value)
{
    const tree_dtype *d = &tree_dtypes[dtype];
    tree_value v = {{{0}}};

    for (uint32_t i = 0; i < d->count; i++) {
        if (d->class != TREE_FLOAT)
            v.at[i].bits = wrap(d, (uint64_t)(int64_t)value);
        else if (d->size == 4)
            v.at[i].f32 = (float)value + 0.25f;
        else
            v.at[i].f64 = value + 0.25;
    }
    return v;
}

static tree_value read(const interpreter *in, const tree_operand *o)
{
    if (o->source == TREE_VARIABLE)
        return in->result->values[o->variable];
    if (o->source == TREE_INDEX)
        return (tree_value){
            {{in->n_loops > 0 ? (uint64_t)(int64_t)in->indices[in->n_loops - 1]
                              : 0}}};
    return number(o->dtype, o->value);
}

static bool holds(const interpreter *in, tree_op op, const tree_operand *a,
                  const tree_operand *b)
{
    const tree_value x = read(in, a), y = read(in, b);
    const int o = order(&tree_dtypes[a->dtype], x.at[0], y.at[0]);

    switch (op) {
    case TREE_LESS:
        return o == -1;
    case TREE_LESS_EQUAL:
        return o == -1 || o == 0;
    case TREE_GREATER:
        return o == 1;
    case TREE_GREATER_EQUAL:
        return o == 1 || o == 0;
    case TREE_EQUAL:
        return o == 0;
    default:
        return o != 0;
    }
}

static void combine(interpreter *in, const tree_statement *s, tree_value x,
                    tree_value y)
{
    const tree_dtype *d = &tree_dtypes[in->t->dtypes[s->target]];
    tree_value *to = &in->result->values[s->target];

    for (uint32_t i = 0; i < d->count; i++)
        to->at[i] = apply(d, s->op, x.at[i], y.at[i]);
}

/* ---- statements ---- */

/* The statement that may fail does; another one must not. */
static void fail(interpreter *in, const tree_statement *s, eddy_detail detail)
{
    const uint32_t id = (uint32_t)(s - in->t->statements);
    char *frame = in->result->frame;
    size_t n = 0;

    in->has_failed = true;
    in->is_invalid = in->is_invalid || id != in->t->fault;
    in->result->detail = detail;
    frame[0] = '\0';
    for (uint32_t i = 0; i < in->n_loops; i++)
        n += (size_t)snprintf(frame + n, sizeof in->result->frame - n,
                              "%sl%u[%d]", i > 0 ? "/" : "", in->loops[i],
                              in->indices[i]);
}

static void convert(interpreter *in, const tree_statement *s)
{
    const tree_dtype *from = &tree_dtypes[s->a.dtype];
    const tree_dtype *to = &tree_dtypes[in->t->dtypes[s->target]];
    const tree_element x = read(in, &s->a).at[0];
    tree_element y = {.bits = 0};
    double f;

    if (to->class != TREE_FLOAT) {
        y.bits = wrap(to, x.bits);
    } else if (from->class != TREE_FLOAT && to->size == 4) {
        y.f32 = from->is_signed ? (float)(int64_t)x.bits : (float)x.bits;
    } else if (from->class != TREE_FLOAT) {
        y.f64 = from->is_signed ? (double)(int64_t)x.bits : (double)x.bits;
    } else {
        f = from->size == 4 ? (double)x.f32 : x.f64;
        if (to->size == 4)
            y.f32 = (float)f;
        else
            y.f64 = f;
    }
    in->result->values[s->target] = (tree_value){{y}};
}

static void count_up(interpreter *in, uint32_t store, int by)
{
    in->stores[store].n = (uint32_t)((int)in->stores[store].n + by);
    in->result->values[TREE_COUNT(store)] =
        (tree_value){{{in->stores[store].n}}};
}

static void put_in(interpreter *in, const tree_statement *s)
{
    items *store = &in->stores[s->store];

    if (store->n == MOST_ITEMS) {
        in->is_invalid = true;
        return;
    }
    store->at[store->n] = read(in, &s->a);
    count_up(in, s->store, 1);
}

static void take_out(interpreter *in, const tree_statement *s)
{
    items *store = &in->stores[s->store];
    const tree_value x = in->result->values[s->target];
    int64_t i = (int64_t)read(in, &s->c).at[0].bits;

    if (s->kind == TREE_POP && store->n == 0) {
        fail(in, s, EDDY_E_EMPTY);
    } else if (s->kind == TREE_POP) {
        count_up(in, s->store, -1);
        combine(in, s, x, store->at[store->n]);
    } else if (s->is_cut && store->n == 0) {
        fail(in, s, EDDY_E_DIVISION_BY_ZERO);
    } else {
        if (s->is_cut)
            i = (int64_t)floor_divide(&tree_dtypes[TREE_INT32], (uint64_t)i,
                                      store->n, true);
        if (i < 0 || i >= store->n)
            fail(in, s, EDDY_E_INDEX);
        else
            combine(in, s, x, store->at[i]);
    }
}

/* Every loop in a block that is not run is entered dead, once. */
static void skip(interpreter *in, uint32_t first)
{
    for (uint32_t id = first; id != TREE_NONE;
         id = in->t->statements[id].next) {
        const tree_statement *s = &in->t->statements[id];

        in->result->frames += s->kind == TREE_LOOP;
        in->result->iterations += s->kind == TREE_LOOP;
        skip(in, s->blocks[0]);
        skip(in, s->blocks[1]);
    }
}

static void run_block(interpreter *in, uint32_t first);

static void run_loop(interpreter *in, const tree_statement *s)
{
    const uint32_t at = in->n_loops;
    int64_t trips = (int64_t)read(in, &s->c).at[0].bits;

    if (s->is_cut)
        trips = (int64_t)floor_divide(&tree_dtypes[TREE_INT32], (uint64_t)trips,
                                      4, true);
    in->result->frames++;
    in->result->iterations++;
    in->loops[at] = (uint32_t)(s - in->t->statements);
    in->n_loops++;
    for (in->indices[at] = 0;
         in->indices[at] < trips &&
         (!s->has_condition || holds(in, s->op, &s->a, &s->b));
         in->indices[at]++) {
        run_block(in, s->blocks[0]);
        if (in->has_failed || in->is_invalid)
            return;
        in->result->iterations++;
    }
    in->n_loops--;
    skip(in, s->blocks[0]);
}

static void run_statement(interpreter *in, const tree_statement *s)
{
    tree_value x = read(in, &s->a), y = read(in, &s->b);
    const tree_value old = in->result->values[s->target];
    uint32_t taken;

    switch (s->kind) {
    case TREE_ASSIGN:
        if (s->op == TREE_DIV && y.at[0].bits == 0)
            fail(in, s, EDDY_E_DIVISION_BY_ZERO);
        else
            combine(in, s, x, y);
        return;
    case TREE_CAST:
        convert(in, s);
        return;
    case TREE_COMPARE:
        in->result->values[s->target] =
            (tree_value){{{holds(in, s->op, &s->a, &s->b)}}};
        return;
    case TREE_BRANCH:
        taken = holds(in, s->op, &s->a, &s->b) ? 0 : 1;
        skip(in, s->blocks[1 - taken]);
        run_block(in, s->blocks[taken]);
        return;
    case TREE_TANGLE:
        if (holds(in, s->op, &s->a, &s->b) && holds(in, s->op, &s->b, &s->a)) {
            tree_statement sum = *s;

            sum.op = TREE_ADD;
            combine(in, &sum, old, read(in, &s->c));
        }
        return;
    case TREE_LOOP:
        run_loop(in, s);
        return;
    case TREE_PUSH:
    case TREE_WRITE:
        put_in(in, s);
        return;
    case TREE_POP:
    case TREE_READ:
        take_out(in, s);
        return;
    }
}

static void run_block(interpreter *in, uint32_t first)
{
    for (uint32_t id = first;
         id != TREE_NONE && !in->has_failed && !in->is_invalid;
         id = in->t->statements[id].next) {
        run_statement(in, &in->t->statements[id]);
        if (++in->n_steps > MOST_STEPS)
            in->is_invalid = true;
    }
}

bool tree_interpret(const tree *t, tree_result *result)
{
    static interpreter in;

    memset(&in, 0, sizeof in);
    memset(result, 0, sizeof *result);
    in.t = t;
    in.result = result;
    for (uint32_t v = 0; v < TREE_VARIABLES; v++)
        result->values[v] = number(t->dtypes[v], t->starts[v]);
    run_block(&in, t->first);
    return !in.is_invalid;
}

/* ---- comparing ---- */

static tree_element element_at(const tree_dtype *d, const void *data,
                               uint32_t i)
{
    tree_element e = {.bits = 0};

    /* The machine's bytes, the least first. */
    memcpy(&e, (const char *)data + (size_t)i * d->size, d->size);
    if (d->class != TREE_FLOAT)
        e.bits = wrap(d, e.bits);
    return e;
}

bool tree_same(const tree *t, uint32_t variable, const tree_value *value,
               const void *data)
{
    const tree_dtype *d = &tree_dtypes[t->dtypes[variable]];

    for (uint32_t i = 0; i < d->count; i++) {
        const tree_element e = element_at(d, data, i);

        if (memcmp(&e, &value->at[i], d->class == TREE_FLOAT ? d->size : 8) !=
                0 &&
            !(order(d, e, e) == 2 && order(d, value->at[i], value->at[i]) == 2))
            return false;
    }
    return true;
}

void tree_print_element(const tree *t, uint32_t variable,
                        const tree_element *element, char *to, size_t size)
{
    const tree_dtype *d = &tree_dtypes[t->dtypes[variable]];

    if (d->class == TREE_FLOAT)
        snprintf(to, size, "%.17g",
                 d->size == 4 ? (double)element->f32 : element->f64);
    else if (d->is_signed)
        snprintf(to, size, "%" PRId64, (int64_t)element->bits);
    else
        snprintf(to, size, "%" PRIu64, element->bits);
}
