/* SPDX-License-Identifier: Apache-2.0 */
/* Random trees, and what is to be known of one without running it. */
#include "tests/aid/tree.h"

#include <string.h>

#define MOST_DEPTH 4

const tree_dtype tree_dtypes[] = {
    {"int8", "", EDDY_INT8, TREE_INT, true, 1, 1},
    {"int16", "", EDDY_INT16, TREE_INT, true, 2, 1},
    {"int32", "", EDDY_INT32, TREE_INT, true, 4, 1},
    {"int64", "", EDDY_INT64, TREE_INT, true, 8, 1},
    {"uint8", "", EDDY_UINT8, TREE_INT, false, 1, 1},
    {"uint16", "", EDDY_UINT16, TREE_INT, false, 2, 1},
    {"uint32", "", EDDY_UINT32, TREE_INT, false, 4, 1},
    {"uint64", "", EDDY_UINT64, TREE_INT, false, 8, 1},
    {"float32", "", EDDY_FLOAT32, TREE_FLOAT, true, 4, 1},
    {"float64", "", EDDY_FLOAT64, TREE_FLOAT, true, 8, 1},
    {"bool", "", EDDY_BOOL, TREE_BOOL, false, 1, 1},
    {"float32", "[3]", EDDY_FLOAT32, TREE_FLOAT, true, 4, 3},
    {"int64", "[2]", EDDY_INT64, TREE_INT, true, 8, 2},
    {"float32", "[20]", EDDY_FLOAT32, TREE_FLOAT, true, 4, 20},
    {"int32", "[64]", EDDY_INT32, TREE_INT, true, 4, 64},
};

const uint32_t tree_n_dtypes = sizeof tree_dtypes / sizeof tree_dtypes[0];

typedef struct generator {
    tree *t;
    uint64_t state;
    uint32_t n_loops; /* around */
    bool may_fail;
} generator;

static uint32_t below(generator *g, uint32_t n)
{
    uint64_t z = g->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ z >> 31) % n);
}

/* ---- operands ---- */

static tree_operand constant(generator *g, uint32_t dtype)
{
    return (tree_operand){.source = TREE_CONSTANT,
                          .dtype = dtype,
                          .value = tree_dtypes[dtype].class == TREE_BOOL
                                       ? (int32_t)below(g, 2)
                                       : 1 + (int32_t)below(g, 5)};
}

static tree_operand variable(const generator *g, uint32_t v)
{
    return (tree_operand){
        .source = TREE_VARIABLE, .variable = v, .dtype = g->t->dtypes[v]};
}

/* A variable of that dtype, a loop's index, or now and then a constant. */
static tree_operand pick(generator *g, uint32_t dtype)
{
    if (dtype == TREE_INT32 && g->n_loops > 0 && below(g, 3) == 0)
        return (tree_operand){.source = TREE_INDEX, .dtype = dtype};
    for (int tries = 0; tries < 5; tries++) {
        const uint32_t v =
            tries < 4 ? below(g, TREE_DATA) : TREE_COUNT(below(g, TREE_STORES));

        if (g->t->dtypes[v] == dtype)
            return variable(g, v);
    }
    return constant(g, dtype);
}

static tree_op pick_op(generator *g, uint32_t dtype)
{
    static const tree_op any[] = {TREE_ADD, TREE_SUB, TREE_MUL, TREE_MAX,
                                  TREE_MIN, TREE_ADD, TREE_SUB};
    static const tree_op integer[] = {TREE_AND, TREE_XOR, TREE_OR};

    if (tree_dtypes[dtype].class == TREE_BOOL)
        return below(g, 2) == 0 ? TREE_AND : TREE_OR;
    if (tree_dtypes[dtype].class == TREE_INT && below(g, 4) == 0)
        return integer[below(g, 3)];
    return any[below(g, 7)];
}

static void compare(generator *g, tree_statement *s)
{
    const uint32_t v = below(g, TREE_DATA);
    const uint32_t d = g->t->dtypes[v];

    s->op = (tree_op)(TREE_LESS + (int)below(g, 6));
    s->a = d < TREE_BOOLS ? pick(g, d) : pick(g, TREE_INT32);
    s->b = pick(g, s->a.dtype);
}

/* ---- statements ---- */

static uint32_t block(generator *g, uint32_t depth, uint32_t n);

static uint32_t add(generator *g, tree_kind kind)
{
    tree_statement *s = &g->t->statements[g->t->n];

    *s = (tree_statement){.kind = kind,
                          .next = TREE_NONE,
                          .store = TREE_NONE,
                          .blocks = {TREE_NONE, TREE_NONE}};
    return g->t->n++;
}

/* May the statement with that number be the one that fails? */
static bool may_fail(generator *g, uint32_t id)
{
    if (!g->may_fail || g->t->fault != TREE_NONE || below(g, 2) != 0)
        return false;
    g->t->fault = id;
    return true;
}

static void assign(generator *g, uint32_t id)
{
    tree_statement *s = &g->t->statements[id];
    const tree_dtype *d;

    s->target = below(g, TREE_DATA);
    s->a = variable(g, s->target);
    d = &tree_dtypes[s->a.dtype];
    s->op = pick_op(g, s->a.dtype);
    s->b = pick(g, s->a.dtype);
    if (below(g, 3) == 0)
        s->a = pick(g, s->a.dtype);
    if (d->class == TREE_BOOL && below(g, 3) == 0) {
        s->op = TREE_NOT;
    } else if (d->class != TREE_BOOL && d->is_signed && below(g, 8) == 0) {
        s->op = below(g, 2) == 0 ? TREE_NEG : TREE_ABS;
    } else if (d->class == TREE_INT && below(g, 8) == 0) {
        s->op = TREE_MOD;
        s->b = constant(g, s->b.dtype);
    } else if (d->class == TREE_INT && d->count == 1 && may_fail(g, id)) {
        s->op = TREE_DIV;
        s->a = variable(g, s->target);
    }
    /* Vectors come of at least one. */
    if (d->count > 1 && s->a.source == TREE_CONSTANT)
        s->a = variable(g, s->target);
}

/* Between scalars, but not from floats to integers. */
static void convert(generator *g, uint32_t id)
{
    tree_statement *s = &g->t->statements[id];
    const uint32_t v = below(g, TREE_DATA);
    const uint32_t from = below(g, 5) == 0 ? TREE_COUNT(below(g, TREE_STORES))
                                           : below(g, TREE_DATA);
    const uint32_t to = g->t->dtypes[v];

    if (to >= TREE_BOOLS || g->t->dtypes[from] > TREE_BOOLS ||
        (tree_dtypes[g->t->dtypes[from]].class == TREE_FLOAT &&
         tree_dtypes[to].class != TREE_FLOAT)) {
        s->kind = TREE_ASSIGN;
        assign(g, id);
        return;
    }
    s->kind = TREE_CAST;
    s->target = v;
    s->a = variable(g, from);
}

static void tangle(generator *g, uint32_t id)
{
    tree_statement *s = &g->t->statements[id];
    const uint32_t v = below(g, TREE_DATA);

    if (tree_dtypes[g->t->dtypes[v]].class == TREE_BOOL) {
        s->kind = TREE_ASSIGN;
        assign(g, id);
        return;
    }
    compare(g, s);
    s->target = v;
    s->c = pick(g, g->t->dtypes[v]);
}

static void loop(generator *g, uint32_t id, uint32_t depth)
{
    tree_statement *s = &g->t->statements[id];
    uint32_t first;

    compare(g, s);
    s->has_condition = below(g, 3) == 0;
    s->carries_all = below(g, 4) == 0;
    s->c = pick(g, TREE_INT32);
    s->is_cut = s->c.source != TREE_CONSTANT;
    if (s->c.source == TREE_CONSTANT)
        s->c.value = (int32_t)below(g, 5);
    s->parallel_iterations = 1 + below(g, 5);
    g->n_loops++;
    first = block(g, depth + 1, 1 + below(g, 4));
    g->n_loops--;
    g->t->statements[id].blocks[0] = first;
}

static void branch(generator *g, uint32_t id, uint32_t depth)
{
    compare(g, &g->t->statements[id]);
    for (uint32_t side = 0; side < 2; side++) {
        const uint32_t first = block(g, depth + 1, 1 + below(g, 3));

        g->t->statements[id].blocks[side] = first;
    }
}

/* ---- stores ---- */

static uint32_t put_in(generator *g, uint32_t store)
{
    const uint32_t id = add(g, TREE_IS_ARRAY(store) ? TREE_WRITE : TREE_PUSH);
    tree_statement *s = &g->t->statements[id];

    s->store = store;
    s->a = pick(g, g->t->store_dtypes[store]);
    return id;
}

/* A POP, or a READ, into a variable of the store's dtype. */
static uint32_t take_out(generator *g, uint32_t store)
{
    const uint32_t id = add(g, TREE_IS_ARRAY(store) ? TREE_READ : TREE_POP);
    const uint32_t dtype = g->t->store_dtypes[store];
    tree_statement *s = &g->t->statements[id];

    s->store = store;
    s->op = pick_op(g, dtype);
    s->target = below(g, TREE_DATA);
    while (g->t->dtypes[s->target] != dtype)
        s->target = (s->target + 1) % TREE_DATA;
    s->c = pick(g, TREE_INT32);
    s->is_cut = true;
    return id;
}

/* Where the store has something; or else it fails. */
static void take_one(generator *g, uint32_t id, uint32_t store)
{
    uint32_t inner;

    inner = take_out(g, store);
    g->t->statements[id].kind = TREE_BRANCH;
    g->t->statements[id].op = TREE_GREATER;
    g->t->statements[id].a = variable(g, TREE_COUNT(store));
    g->t->statements[id].b =
        (tree_operand){.source = TREE_CONSTANT,
                       .dtype = TREE_INT32,
                       .value = may_fail(g, inner) ? -1 : 0};
    g->t->statements[id].blocks[0] = inner;
}

/* All that the store has, in a loop. */
static void take_all(generator *g, uint32_t id, uint32_t store)
{
    tree_statement *s = &g->t->statements[id];
    uint32_t inner;

    s->kind = TREE_LOOP;
    s->c = variable(g, TREE_COUNT(store));
    compare(g, s);
    s->has_condition = below(g, 4) == 0;
    s->parallel_iterations = 1 + below(g, 5);
    inner = take_out(g, store);
    if (TREE_IS_ARRAY(store)) {
        g->t->statements[inner].is_cut = false;
        g->t->statements[inner].c =
            (tree_operand){.source = TREE_INDEX, .dtype = TREE_INT32};
    }
    g->t->statements[id].blocks[0] = inner;
}

static void use_store(generator *g, uint32_t id)
{
    const uint32_t store = below(g, TREE_STORES), what = below(g, 6);

    if (what < 3 || g->t->n + 2 >= TREE_STATEMENTS) {
        g->t->n--;
        (void)put_in(g, store);
    } else if (what < 5) {
        take_one(g, id, store);
    } else {
        take_all(g, id, store);
    }
}

/* ---- blocks ---- */

static uint32_t statement(generator *g, uint32_t depth)
{
    const bool is_deep =
        depth >= MOST_DEPTH || g->t->n > TREE_STATEMENTS * 2 / 3;
    const uint32_t what = below(g, is_deep ? 11 : 16);
    const uint32_t id = add(g, TREE_ASSIGN);

    if (what < 5) {
        assign(g, id);
    } else if (what < 6) {
        convert(g, id);
    } else if (what < 7) {
        g->t->statements[id].kind = TREE_TANGLE;
        tangle(g, id);
    } else if (what < 11) {
        use_store(g, id);
    } else if (what < 13) {
        g->t->statements[id].kind = TREE_BRANCH;
        branch(g, id, depth);
    } else {
        g->t->statements[id].kind = TREE_LOOP;
        loop(g, id, depth);
    }
    return id;
}

static uint32_t block(generator *g, uint32_t depth, uint32_t n)
{
    uint32_t first = TREE_NONE, last = TREE_NONE;

    for (uint32_t i = 0; i < n && g->t->n < TREE_STATEMENTS; i++) {
        const uint32_t id = statement(g, depth);

        if (last == TREE_NONE)
            first = id;
        else
            g->t->statements[last].next = id;
        last = id;
    }
    return first;
}

void tree_generate(tree *t, uint64_t seed)
{
    generator g = {.t = t, .state = seed * 0x2545f4914f6cdd1du};

    memset(t, 0, sizeof *t);
    t->seed = seed;
    t->fault = TREE_NONE;
    g.may_fail = below(&g, 3) == 0;
    for (uint32_t v = 0; v < TREE_DATA; v++) {
        t->dtypes[v] = below(&g, tree_n_dtypes);
        if (v > 0 && below(&g, 2) == 0)
            t->dtypes[v] = t->dtypes[v - 1];
        t->starts[v] = constant(&g, t->dtypes[v]).value;
    }
    for (uint32_t v = TREE_DATA; v < TREE_VARIABLES; v++)
        t->dtypes[v] = TREE_INT32;
    for (uint32_t s = 0; s < TREE_STORES; s++)
        t->store_dtypes[s] = t->dtypes[below(&g, TREE_DATA)];
    t->first = block(&g, 0, 3 + below(&g, 5));
}

/* ---- what a block does ---- */

static uint32_t bit_of(const tree_operand *o)
{
    return o->source == TREE_VARIABLE ? 1u << o->variable : 0;
}

uint32_t tree_assigned(const tree *t, uint32_t first)
{
    uint32_t mask = 0;

    for (uint32_t id = first; id != TREE_NONE; id = t->statements[id].next) {
        const tree_statement *s = &t->statements[id];

        if (s->store != TREE_NONE)
            mask |= 1u << TREE_FLOW(s->store);
        if (s->kind == TREE_PUSH || s->kind == TREE_POP ||
            s->kind == TREE_WRITE)
            mask |= 1u << TREE_COUNT(s->store);
        if (s->kind != TREE_BRANCH && s->kind != TREE_LOOP &&
            s->kind != TREE_PUSH && s->kind != TREE_WRITE)
            mask |= 1u << s->target;
        mask |= tree_assigned(t, s->blocks[0]);
        mask |= tree_assigned(t, s->blocks[1]);
    }
    return mask;
}

uint32_t tree_read(const tree *t, uint32_t first)
{
    uint32_t mask = 0;

    for (uint32_t id = first; id != TREE_NONE; id = t->statements[id].next) {
        const tree_statement *s = &t->statements[id];

        mask |= bit_of(&s->a) | bit_of(&s->b) | bit_of(&s->c);
        if (s->store != TREE_NONE)
            mask |= 3u << TREE_FLOW(s->store);
        if (s->kind == TREE_TANGLE || s->kind == TREE_POP ||
            s->kind == TREE_READ)
            mask |= 1u << s->target;
        mask |= tree_read(t, s->blocks[0]) | tree_read(t, s->blocks[1]);
    }
    return mask;
}
