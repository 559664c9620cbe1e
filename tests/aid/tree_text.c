/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree as the text of a graph.  What a block reads or assigns comes into a
 * loop as a constant or a variable, and through Switches into a branch; what is
 * made inside waits for a node there, the pivot.
 */
#include "tests/aid/tree.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME 24

typedef char name[NAME];

typedef struct writer {
    const tree *t;
    tree_text *out;
    size_t length, n_fetches;
    unsigned n_names;
    name vars[TREE_VARIABLES];
    name handles[TREE_STORES];
    name pivot; /* empty outside of loops and branches */
    name index; /* of the loop around */
} writer;

static const char *const op_names[] = {
    "AddV2",      "Sub",          "Mul",        "Maximum",  "Minimum",
    "BitwiseAnd", "BitwiseOr",    "BitwiseXor", "FloorMod", "FloorDiv",
    "Neg",        "Abs",          "LogicalNot", "Less",     "LessEqual",
    "Greater",    "GreaterEqual", "Equal",      "NotEqual",
};

/* ---- lines ---- */

static void put(writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(writer *w, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(w->out->text + w->length, TREE_TEXT - w->length, format,
                  args);
    va_end(args);
    /* An assertion that holds costs a write of Check's to a file. */
    if (n < 0 || (size_t)n >= TREE_TEXT - w->length)
        ck_abort_msg("the text is too long");
    w->length += (size_t)n;
}

static void add_fetch(writer *w, const char *before, const char *fetch)
{
    const int n =
        snprintf(w->out->fetches + w->n_fetches, TREE_FETCHES - w->n_fetches,
                 "%s%s%s", w->n_fetches > 0 ? " " : "", before, fetch);

    if (n < 0 || (size_t)n >= TREE_FETCHES - w->n_fetches)
        ck_abort_msg("there are too many targets");
    w->n_fetches += (size_t)n;
}

static void new_name(writer *w, name to)
{
    snprintf(to, NAME, "t%u", w->n_names++);
}

static void put_pivot(writer *w)
{
    if (w->pivot[0])
        put(w, " ^%s", w->pivot);
    put(w, "\n");
}

static void put_constant(writer *w, uint32_t dtype, int32_t value, name to)
{
    const tree_dtype *d = &tree_dtypes[dtype];

    new_name(w, to);
    put(w, "%s %s%s=", to, d->name, d->shape);
    put(w, "%d%s", value, d->class == TREE_FLOAT ? ".25" : "");
    put_pivot(w);
}

static void put_operand(writer *w, const tree_operand *o, name to)
{
    if (o->source == TREE_VARIABLE)
        memcpy(to, w->vars[o->variable], NAME);
    else if (o->source == TREE_INDEX && w->index[0])
        memcpy(to, w->index, NAME);
    else
        put_constant(w, o->dtype, o->source == TREE_INDEX ? 0 : o->value, to);
}

static const char *op_name(tree_op op, uint32_t dtype)
{
    if (tree_dtypes[dtype].class == TREE_BOOL && op == TREE_AND)
        return "LogicalAnd";
    if (tree_dtypes[dtype].class == TREE_BOOL && op == TREE_OR)
        return "LogicalOr";
    return op_names[op];
}

/* A node of one or two inputs. */
static void put_op(writer *w, tree_op op, uint32_t dtype, const name a,
                   const name b, name to)
{
    new_name(w, to);
    put(w, "%s %s %s %s", to, op_name(op, dtype), a,
        tree_is_unary(op) ? "" : b);
    /* Of constants alone it must not run where nothing around it does. */
    if (op >= TREE_LESS || op == TREE_DIV || op == TREE_MOD)
        put_pivot(w);
    else
        put(w, "\n");
}

static void put_comparison(writer *w, tree_op op, const tree_operand *x,
                           const tree_operand *y, name to)
{
    name a, b;

    put_operand(w, x, a);
    put_operand(w, y, b);
    put_op(w, op, x->dtype, a, b, to);
}

/* The node that may fail is a target, so that it is there. */
static void note_fault(writer *w, const tree_statement *s, const name node)
{
    if (w->t->fault != (uint32_t)(s - w->t->statements))
        return;
    memcpy(w->out->fault, node, NAME);
    add_fetch(w, "^", node);
}

/* ---- simple statements ---- */

static void put_assign(writer *w, const tree_statement *s)
{
    name a, b, to;

    put_operand(w, &s->a, a);
    put_operand(w, &s->b, b);
    put_op(w, s->op, w->t->dtypes[s->target], a, b, to);
    note_fault(w, s, to);
    memcpy(w->vars[s->target], to, NAME);
}

static void put_cast(writer *w, const tree_statement *s)
{
    name a, to;

    put_operand(w, &s->a, a);
    new_name(w, to);
    put(w, "%s Cast %s SrcT=%s DstT=%s Truncate=false\n", to, a,
        tree_dtypes[s->a.dtype].name,
        tree_dtypes[w->t->dtypes[s->target]].name);
    memcpy(w->vars[s->target], to, NAME);
}

/* Of two Switches none is in the other; a third has the rest. */
static void put_tangle(writer *w, const tree_statement *s)
{
    name p, q, both, c, left, right, rest, sum, to;
    const char *old = w->vars[s->target];

    put_comparison(w, s->op, &s->a, &s->b, p);
    put_comparison(w, s->op, &s->b, &s->a, q);
    put_operand(w, &s->c, c);
    new_name(w, both);
    put(w, "%s LogicalAnd %s %s\n", both, p, q);
    new_name(w, left);
    new_name(w, right);
    new_name(w, rest);
    put(w, "%s Switch %s %s\n%s Switch %s %s\n%s Switch %s %s\n", left, old, p,
        right, c, q, rest, old, both);
    new_name(w, sum);
    put(w, "%s AddV2 %s:1 %s:1\n", sum, left, right);
    new_name(w, to);
    put(w, "%s Merge %s %s\n", to, rest, sum);
    memcpy(w->vars[s->target], to, NAME);
}

/* ---- stores ---- */

static void put_created(writer *w, uint32_t store)
{
    const tree_dtype *d = &tree_dtypes[w->t->store_dtypes[store]];
    name size;
    char *handle = w->handles[store];

    put_constant(w, TREE_INT32, 0, size);
    new_name(w, handle);
    if (!TREE_IS_ARRAY(store)) {
        put(w, "%s/n int32=-1\n%s StackV2 %s/n elem_type=%s\n", handle, handle,
            handle, d->name);
        put_constant(w, TREE_INT32, 0, w->vars[TREE_FLOW(store)]);
        return;
    }
    put(w,
        "%s TensorArrayV3 %s dtype=%s dynamic_size=true "
        "clear_after_read=false\n",
        handle, size, d->name);
    snprintf(w->vars[TREE_FLOW(store)], NAME, "%.20s:1", handle);
}

/* The flow of a stack waits for what has used it. */
static void move_flow(writer *w, uint32_t store, const name after)
{
    name to;

    new_name(w, to);
    put(w, "%s Identity %s ^%s\n", to, w->vars[TREE_FLOW(store)], after);
    memcpy(w->vars[TREE_FLOW(store)], to, NAME);
}

static void count_up(writer *w, uint32_t store, int32_t by)
{
    name one, to;

    put_constant(w, TREE_INT32, by, one);
    put_op(w, TREE_ADD, TREE_INT32, w->vars[TREE_COUNT(store)], one, to);
    memcpy(w->vars[TREE_COUNT(store)], to, NAME);
}

/* A node on a stack comes after what came before it. */
static void put_ordered(writer *w, uint32_t store, name to)
{
    name after;

    new_name(w, after);
    put(w, "%s Identity %s\n", after, w->vars[TREE_FLOW(store)]);
    new_name(w, to);
    memcpy(w->vars[TREE_FLOW(store)], after, NAME);
}

static void put_push(writer *w, const tree_statement *s)
{
    name a, push;

    put_operand(w, &s->a, a);
    put_ordered(w, s->store, push);
    put(w, "%s StackPushV2 %s %s ^%s\n", push, w->handles[s->store], a,
        w->vars[TREE_FLOW(s->store)]);
    move_flow(w, s->store, push);
    count_up(w, s->store, 1);
}

static void put_write(writer *w, const tree_statement *s)
{
    char *flow = w->vars[TREE_FLOW(s->store)];
    name a, write;

    put_operand(w, &s->a, a);
    new_name(w, write);
    put(w, "%s TensorArrayWriteV3 %s %s %s %s\n", write, w->handles[s->store],
        w->vars[TREE_COUNT(s->store)], a, flow);
    memcpy(flow, write, NAME);
    count_up(w, s->store, 1);
}

static void put_taken(writer *w, const tree_statement *s, const name item)
{
    name to;

    put_op(w, s->op, w->t->dtypes[s->target], w->vars[s->target], item, to);
    memcpy(w->vars[s->target], to, NAME);
}

static void put_pop(writer *w, const tree_statement *s)
{
    name pop;

    put_ordered(w, s->store, pop);
    put(w, "%s StackPopV2 %s elem_type=%s ^%s\n", pop, w->handles[s->store],
        tree_dtypes[w->t->store_dtypes[s->store]].name,
        w->vars[TREE_FLOW(s->store)]);
    note_fault(w, s, pop);
    move_flow(w, s->store, pop);
    count_up(w, s->store, -1);
    put_taken(w, s, pop);
}

static void put_read(writer *w, const tree_statement *s)
{
    name index, item;

    put_operand(w, &s->c, index);
    if (s->is_cut) {
        name cut;

        put_op(w, TREE_MOD, TREE_INT32, index, w->vars[TREE_COUNT(s->store)],
               cut);
        memcpy(index, cut, NAME);
        note_fault(w, s, index);
    }
    new_name(w, item);
    put(w, "%s TensorArrayReadV3 %s %s %s dtype=%s\n", item,
        w->handles[s->store], index, w->vars[TREE_FLOW(s->store)],
        tree_dtypes[w->t->store_dtypes[s->store]].name);
    if (!s->is_cut)
        note_fault(w, s, item);
    move_flow(w, s->store, item);
    put_taken(w, s, item);
}

/* ---- branches ---- */

static void put_block(writer *w, uint32_t first);

/* Which stores a block uses, a bit each. */
static uint32_t stores_of(uint32_t mask)
{
    uint32_t stores = 0;

    for (uint32_t s = 0; s < TREE_STORES; s++)
        if (mask >> TREE_FLOW(s) & 1)
            stores |= 1u << s;
    return stores;
}

/* The sides of true and false, and one that is not taken. */
static void put_switch(writer *w, const name value, const name pred,
                       name sides[3])
{
    name s;

    new_name(w, s);
    if (w->t->by_index)
        put(w, "%s _SwitchN %s %s num_outs=3\n", s, value, pred);
    else
        put(w, "%s Switch %s %s\n", s, value, pred);
    for (int side = 0; side < (w->t->by_index ? 3 : 2); side++) {
        snprintf(sides[side], NAME, "%.20s/%c", s, "tfn"[side]);
        put(w, "%s Identity %s%s\n", sides[side], s,
            (const char *[]){":1", "", ":2"}[side]);
    }
}

/* What a block sees under names of its own. */
typedef struct scope {
    name vars[TREE_VARIABLES], handles[TREE_STORES], pivot, index;
} scope;

static void keep_scope(const writer *w, scope *s)
{
    memcpy(s->vars, w->vars, sizeof s->vars);
    memcpy(s->handles, w->handles, sizeof s->handles);
    memcpy(s->pivot, w->pivot, NAME);
    memcpy(s->index, w->index, NAME);
}

static void set_scope(writer *w, const scope *s)
{
    memcpy(w->vars, s->vars, sizeof s->vars);
    memcpy(w->handles, s->handles, sizeof s->handles);
    memcpy(w->pivot, s->pivot, NAME);
    memcpy(w->index, s->index, NAME);
}

/* One value, to all sides. */
static void part(writer *w, const name value, const name pred,
                 char *const to[3])
{
    name all[3] = {"", "", ""};

    put_switch(w, value, pred, all);
    for (int side = 0; side < 3; side++)
        memcpy(to[side], all[side], NAME);
}

#define TO(field) ((char *[]){sides[0].field, sides[1].field, sides[2].field})

/* What all blocks see, parted. */
static void part_scope(writer *w, uint32_t seen, const name pred,
                       scope sides[3])
{
    const scope outer = sides[0];

    part(w, outer.pivot, pred, TO(pivot));
    if (w->index[0])
        part(w, outer.index, pred, TO(index));
    for (uint32_t v = 0; v < TREE_VARIABLES; v++)
        if (seen >> v & 1)
            part(w, outer.vars[v], pred, TO(vars[v]));
    for (uint32_t k = 0; k < TREE_STORES; k++)
        if (stores_of(seen) >> k & 1)
            part(w, outer.handles[k], pred, TO(handles[k]));
}

static void put_branch(writer *w, const tree_statement *s)
{
    const uint32_t assigned =
        tree_assigned(w->t, s->blocks[0]) | tree_assigned(w->t, s->blocks[1]);
    const uint32_t seen = assigned | tree_read(w->t, s->blocks[0]) |
                          tree_read(w->t, s->blocks[1]);
    scope outer, sides[3];
    name pred, by;

    put_comparison(w, s->op, &s->a, &s->b, pred);
    keep_scope(w, &outer);
    sides[0] = sides[1] = sides[2] = outer;
    memcpy(sides[0].pivot, pred, NAME);
    memcpy(by, pred, NAME);
    if (w->t->by_index) {
        new_name(w, by);
        put(w, "%s Cast %s DstT=int32\n", by, pred);
    }
    part_scope(w, seen, by, sides);
    for (uint32_t side = 0; side < 2; side++) {
        set_scope(w, &sides[side]);
        put_block(w, s->blocks[side]);
        keep_scope(w, &sides[side]);
    }
    set_scope(w, &outer);
    for (uint32_t v = 0; v < TREE_VARIABLES; v++) {
        if (!(assigned >> v & 1))
            continue;
        new_name(w, w->vars[v]);
        put(w, "%s Merge %s %s %s\n", w->vars[v], sides[1].vars[v],
            sides[0].vars[v], w->t->by_index ? sides[2].vars[v] : "");
    }
}

/* ---- loops ---- */

typedef struct loop_part {
    uint32_t id;
    uint32_t carried, constant; /* variables, a bit each */
    uint32_t stores;
    name trips;
    scope outer;
} loop_part;

/* How often at most, in the frame around. */
static void put_trips(writer *w, const tree_statement *s, name to)
{
    name four, cut;

    put_operand(w, &s->c, to);
    if (!s->is_cut)
        return;
    put_constant(w, TREE_INT32, 4, four);
    put_op(w, TREE_MOD, TREE_INT32, to, four, cut);
    memcpy(to, cut, NAME);
}

/* Enters and Merges; then `vars` are what the condition reads. */
static void enter_loop(writer *w, const tree_statement *s, loop_part *l)
{
    const uint32_t id = l->id;
    name zero;

    put_constant(w, TREE_INT32, 0, zero);
    put(w, "l%u/n Enter@l%u!#%d %s\nl%u/e Enter@l%u#%d %s\n", id, id,
        (int)s->parallel_iterations, l->trips, id, id,
        (int)s->parallel_iterations, zero);
    put(w, "l%u/i Merge l%u/e l%u/next\n", id, id, id);
    snprintf(w->index, NAME, "l%u/i", id);
    for (uint32_t v = 0; v < TREE_VARIABLES; v++) {
        if (l->constant >> v & 1) {
            put(w, "l%u/k%u Enter@l%u!#%d %s\n", id, v, id,
                (int)s->parallel_iterations, l->outer.vars[v]);
            snprintf(w->vars[v], NAME, "l%u/k%u", id, v);
        }
        if (!(l->carried >> v & 1))
            continue;
        put(w, "l%u/e%u Enter@l%u#%d %s\nl%u/m%u Merge l%u/e%u l%u/n%u\n", id,
            v, id, (int)s->parallel_iterations, l->outer.vars[v], id, v, id, v,
            id, v);
        snprintf(w->vars[v], NAME, "l%u/m%u", id, v);
    }
    for (uint32_t k = 0; k < TREE_STORES; k++) {
        if (!(l->stores >> k & 1))
            continue;
        put(w, "l%u/h%u Enter@l%u!#%d %s\n", id, k, id,
            (int)s->parallel_iterations, l->outer.handles[k]);
        snprintf(w->handles[k], NAME, "l%u/h%u", id, k);
    }
}

static void put_condition(writer *w, const tree_statement *s, uint32_t id)
{
    name other;

    snprintf(w->pivot, NAME, "l%u/i", id);
    put(w, "l%u/less Less l%u/i l%u/n\n", id, id, id);
    if (s->has_condition) {
        put_comparison(w, s->op, &s->a, &s->b, other);
        put(w, "l%u/and LogicalAnd l%u/less %s\n", id, id, other);
    }
    put(w, "l%u/cond LoopCond l%u/%s\nl%u/s Switch l%u/i l%u/cond\n", id, id,
        s->has_condition ? "and" : "less", id, id, id);
    put(w, "l%u/b Identity l%u/s:1\nl%u/xi Exit l%u/s\n", id, id, id, id);
    snprintf(w->pivot, NAME, "l%u/b", id);
    snprintf(w->index, NAME, "l%u/b", id);
}

static void leave_loop(writer *w, const loop_part *l)
{
    const uint32_t id = l->id;

    put(w, "l%u/one int32=1 ^l%u/b\n", id, id);
    put(w, "l%u/add AddV2 l%u/b l%u/one\nl%u/next NextIteration l%u/add\n", id,
        id, id, id, id);
    for (uint32_t v = 0; v < TREE_VARIABLES; v++)
        if (l->carried >> v & 1)
            put(w, "l%u/n%u NextIteration %s ^l%u/b\n", id, v, w->vars[v], id);
    set_scope(w, &l->outer);
    for (uint32_t v = 0; v < TREE_VARIABLES; v++)
        if (l->carried >> v & 1)
            snprintf(w->vars[v], NAME, "l%u/x%u", id, v);
}

static uint32_t bit_of(const tree_operand *o)
{
    return o->source == TREE_VARIABLE ? 1u << o->variable : 0;
}

static void put_loop(writer *w, const tree_statement *s)
{
    loop_part l = {.id = (uint32_t)(s - w->t->statements)};
    uint32_t read = tree_read(w->t, s->blocks[0]);
    name target;

    if (s->has_condition)
        read |= bit_of(&s->a) | bit_of(&s->b);
    put_trips(w, s, l.trips);
    l.carried = tree_assigned(w->t, s->blocks[0]);
    l.stores = stores_of(l.carried | read);
    if (s->carries_all)
        l.carried |= read;
    l.constant = read & ~l.carried;
    keep_scope(w, &l.outer);
    enter_loop(w, s, &l);
    put_condition(w, s, l.id);
    for (uint32_t v = 0; v < TREE_VARIABLES; v++) {
        if (!(l.carried >> v & 1))
            continue;
        put(w, "l%u/s%u Switch l%u/m%u l%u/cond\n", l.id, v, l.id, v, l.id);
        put(w, "l%u/b%u Identity l%u/s%u:1\nl%u/x%u Exit l%u/s%u\n", l.id, v,
            l.id, v, l.id, v, l.id, v);
        snprintf(w->vars[v], NAME, "l%u/b%u", l.id, v);
    }
    put_block(w, s->blocks[0]);
    leave_loop(w, &l);
    snprintf(target, NAME, "l%u/xi", l.id);
    add_fetch(w, "^", target);
}

/* ---- the whole ---- */

static void put_statement(writer *w, const tree_statement *s)
{
    name to;

    switch (s->kind) {
    case TREE_ASSIGN:
        put_assign(w, s);
        return;
    case TREE_CAST:
        put_cast(w, s);
        return;
    case TREE_COMPARE:
        put_comparison(w, s->op, &s->a, &s->b, to);
        memcpy(w->vars[s->target], to, NAME);
        return;
    case TREE_BRANCH:
        put_branch(w, s);
        return;
    case TREE_TANGLE:
        put_tangle(w, s);
        return;
    case TREE_LOOP:
        put_loop(w, s);
        return;
    case TREE_PUSH:
        put_push(w, s);
        return;
    case TREE_POP:
        put_pop(w, s);
        return;
    case TREE_WRITE:
        put_write(w, s);
        return;
    case TREE_READ:
        put_read(w, s);
        return;
    }
}

static void put_block(writer *w, uint32_t first)
{
    for (uint32_t id = first; id != TREE_NONE; id = w->t->statements[id].next)
        put_statement(w, &w->t->statements[id]);
}

void tree_write(const tree *t, tree_text *out)
{
    writer w = {.t = t, .out = out};
    char targets[TREE_FETCHES];

    out->text[0] = out->fetches[0] = out->fault[0] = '\0';
    for (uint32_t v = 0; v < TREE_DATA; v++)
        put_constant(&w, t->dtypes[v], t->starts[v], w.vars[v]);
    for (uint32_t s = 0; s < TREE_STORES; s++) {
        put_created(&w, s);
        put_constant(&w, TREE_INT32, 0, w.vars[TREE_COUNT(s)]);
    }
    put_block(&w, t->first);
    /* Variables come first. */
    memcpy(targets, out->fetches, sizeof targets);
    w.n_fetches = 0;
    for (uint32_t v = 0; v < TREE_VARIABLES; v++)
        add_fetch(&w, "", w.vars[v]);
    if (targets[0])
        add_fetch(&w, "", targets);
}
