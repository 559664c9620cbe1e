/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which small tensors of loops are spread: have a register an element in place
 * of a tensor (linear_spread.h).
 *
 * Values between which elements go from register to register are one set: what
 * a step that computes elements reads and makes, a loop variable with what
 * comes in and comes back, the sides of a branch.  All of a set are spread or
 * none.  A set gains a call wherever elements are computed without one, and
 * loses where a kernel that has to be called reads its values, which are joined
 * to a tensor first, or makes them, and the tensor is split.  What is lent, as
 * constants are, can be both at once and so is of no set.
 */
#include "runtime/plan/linear_spread.h"

#include "core/base/status.h"
#include "core/value/shape.h"

/*
 * What a kernel's call, joining and splitting take, in the time of so many
 * instructions.  Where a loop is interpreted at first, and code later, it
 * should not be much slower at first.  Machine code has vectors, and joins and
 * splits element by element.
 */
typedef struct costs {
    int64_t call, join, split;
    bool is_code;
} costs;

static const costs interpreted = {64, 24, 10, false};
static const costs native_later = {90, 32, 14, false};
static const costs native = {160, 80, 40, true};

/* The form that is made, and the one that code may be made of later. */
#define N_FORMS 2

/* What an iteration of a loop counts more than one of the loop around. */
#define DEEPER 8
#define MOST_DEEP 5

/* Instructions that spreading may make in all loops of a plan together. */
#define MOST_IN_ALL 8000

typedef struct set {
    uint32_t parent;
    bool is_bad; /* one of it has no parts, or other ones */
    int64_t gains[N_FORMS];
} set;

typedef struct spreading {
    eddy__linear_build *w;
    set *sets; /* a value */
    const costs *costs[N_FORMS];
} spreading;

/* ---- values ---- */

static bool is_apart(const eddy__linear_build *w, uint32_t v)
{
    return !w->values[v].is_raw && !w->values[v].is_lent;
}

/* Elements of output `i` of a step, if they may have registers. */
static uint8_t parts_of(const eddy__linear_build *w, uint32_t id, uint32_t i)
{
    const eddy__layout_source from = {.step = id, .output = i};
    const eddy_shape *shape = eddy__layout_shape(w->l, from);
    const uint32_t v = eddy__linear_output(w, id, i);
    int64_t n = 0;

    if (w->values[v].is_raw || !eddy__shape_is_known(shape) ||
        !eddy__shape_count(shape, 1, &n) || n < 1 || n > EDDY__MOST_PARTS ||
        shape->rank == 0 ||
        eddy__linear_find_cast((eddy_dtype)w->values[v].dtype, EDDY_BOOL) ==
            EDDY__LINEAR_DONE)
        return 0;
    return (uint8_t)n;
}

static void count_parts(eddy__linear_build *w)
{
    for (uint32_t id = 0; id < w->plan->n_steps; id++) {
        const eddy__node *node = eddy__layout_node(w->l, id);
        const bool is_in = w->plan->steps[id].frame != 0 ||
                           w->plan->steps[id].kind == EDDY__STEP_ENTER;

        for (uint32_t i = 0; node && is_in && i < node->n_outputs; i++)
            if (w->plan->steps[id].kind != EDDY__STEP_EXIT ||
                w->plan->frames[w->plan->steps[id].frame].parent != 0)
                w->values[eddy__linear_output(w, id, i)].n_parts =
                    parts_of(w, id, i);
    }
    for (uint32_t v = 0; v < w->n_values; v++)
        if (w->values[v].n_parts != w->values[w->values[v].alias].n_parts)
            w->values[v].n_parts = 0;
}

/* ---- sets ---- */

static set *set_of(spreading *s, uint32_t v)
{
    while (s->sets[v].parent != v) {
        s->sets[v].parent = s->sets[s->sets[v].parent].parent;
        v = s->sets[v].parent;
    }
    return &s->sets[v];
}

static void join_sets(spreading *s, uint32_t a, uint32_t b)
{
    set *x = set_of(s, a), *y = set_of(s, b);

    if (x == y)
        return;
    y->parent = x->parent;
    for (uint32_t f = 0; f < N_FORMS; f++)
        x->gains[f] += y->gains[f];
    x->is_bad = x->is_bad || y->is_bad;
}

/* What is `from` in another place: `to` is of its set, unless it is lent. */
static void hand_on(spreading *s, uint32_t from, uint32_t to)
{
    const eddy__linear_build *w = s->w;
    const uint8_t n = w->values[from].n_parts;

    if (!is_apart(w, to))
        return;
    if (n == 0 || n != w->values[to].n_parts ||
        w->values[from].dtype != w->values[to].dtype)
        set_of(s, to)->is_bad = true;
    if (is_apart(w, from))
        join_sets(s, to, from);
}

static int64_t weight_of(const eddy__linear_build *w, uint32_t frame)
{
    int64_t weight = 1;

    for (uint32_t i = 0; i < MOST_DEEP && frame != 0; i++) {
        weight *= DEEPER;
        frame = w->plan->frames[frame].parent;
    }
    return weight;
}

/* Value `v` is joined to a tensor, or a tensor is split. */
static void count_change(spreading *s, uint32_t v, int64_t weight, bool is_join)
{
    set *of = set_of(s, v);

    for (uint32_t f = 0; f < N_FORMS; f++) {
        const costs *c = s->costs[f];
        const int64_t parts = c->is_code ? s->w->values[v].n_parts : 0;

        of->gains[f] -= weight * (parts + (is_join ? c->join : c->split));
    }
}

/* A kernel that is called reads and makes tensors. */
static void count_call(spreading *s, uint32_t id)
{
    const eddy__linear_build *w = s->w;
    const eddy__step *step = &w->plan->steps[id];
    const int64_t weight = weight_of(w, step->frame);

    for (uint32_t i = 0; i < step->node->n_in; i++)
        if (is_apart(w, eddy__linear_input(w, id, i)))
            count_change(s, eddy__linear_input(w, id, i), weight, true);
    for (uint32_t i = 0; i < step->node->n_out; i++)
        if (is_apart(w, eddy__linear_output(w, id, i)) &&
            eddy__step_uses(step, i) > 0)
            count_change(s, eddy__linear_output(w, id, i), weight, false);
}

/* One of its values that is of a set; EDDY__NO: none is. */
static uint32_t join_values(spreading *s, uint32_t id)
{
    const eddy__linear_build *w = s->w;
    const eddy__kernel_node *node = w->plan->steps[id].node;
    uint32_t one = EDDY__NO;

    for (uint32_t i = 0; i < node->n_in + node->n_out; i++) {
        const bool is_in = i < node->n_in;
        const uint32_t v = is_in ? eddy__linear_input(w, id, i)
                                 : eddy__linear_output(w, id, i - node->n_in);

        if (!is_apart(w, v) || (is_in && !eddy__spread_reads(w, id, i)))
            continue;
        if (one != EDDY__NO)
            join_sets(s, one, v);
        one = v;
    }
    return one;
}

static void count_kernel(spreading *s, uint32_t id)
{
    const eddy__linear_build *w = s->w;
    const eddy__spread *spread = w->spreads[id];
    const int64_t weight = weight_of(w, w->plan->steps[id].frame);
    uint32_t one;
    int64_t members = 1;

    if (!spread) {
        count_call(s, id);
        return;
    }
    one = join_values(s, id);
    if (spread->way == EDDY__SPREAD_CHAIN)
        members = 1 + (int64_t)spread->n_members / 4;
    if (spread->way == EDDY__SPREAD_PRODUCT)
        members = 2;
    for (uint32_t f = 0; f < N_FORMS && one != EDDY__NO; f++)
        set_of(s, one)->gains[f] +=
            weight *
            (s->costs[f]->call * members -
             (int64_t)(s->costs[f]->is_code ? spread->n_done : spread->n_code));
}

/* What comes in at the Merge of a loop, and what comes back. */
static void join_variable(spreading *s, uint32_t id)
{
    const eddy__linear_build *w = s->w;
    const eddy__layout *l = w->l;
    const uint32_t to = eddy__linear_output(w, id, 0);

    for (size_t e = l->in_first[id]; e < l->in_first[id + 1]; e++) {
        const uint32_t from = l->in_edges[e].from;
        const eddy__step *step = &w->plan->steps[from];

        if (step->kind == EDDY__STEP_NEXT_ITERATION || step->frame != 0)
            hand_on(s, eddy__linear_input(w, from, 0), to);
        else if (w->values[eddy__linear_output(w, from, 0)].n_parts !=
                 w->values[to].n_parts)
            set_of(s, to)->is_bad = true;
    }
}

static void join_step(spreading *s, uint32_t id)
{
    const eddy__linear_build *w = s->w;
    const eddy__step *step = &w->plan->steps[id];

    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_KERNEL:
        count_kernel(s, id);
        break;
    case EDDY__STEP_SWITCH:
    case EDDY__STEP_FORWARD:
        for (uint32_t i = 0; i < step->node->n_out; i++)
            hand_on(s, eddy__linear_input(w, id, 0),
                    eddy__linear_output(w, id, i));
        break;
    case EDDY__STEP_MERGE:
        if (w->is_loop_merge[id])
            join_variable(s, id);
        for (uint32_t i = 0; !w->is_loop_merge[id] && i < step->node->n_in; i++)
            hand_on(s, eddy__linear_input(w, id, i),
                    eddy__linear_output(w, id, 0));
        break;
    case EDDY__STEP_ENTER:
        if ((step->flags & EDDY__STEP_CONSTANT) &&
            is_apart(w, eddy__linear_input(w, id, 0)))
            count_change(s, eddy__linear_input(w, id, 0),
                         weight_of(w, step->frame), true);
        break;
    case EDDY__STEP_EXIT:
        if (w->plan->frames[step->frame].parent != 0)
            hand_on(s, eddy__linear_input(w, id, 0),
                    eddy__linear_output(w, id, 0));
        break;
    default:
        break;
    }
}

/* ---- what is spread ---- */

static bool is_gain(spreading *s, uint32_t v, uint32_t form)
{
    const set *of = set_of(s, v);

    return s->w->values[v].n_parts > 0 && !of->is_bad && of->gains[form] > 0;
}

static bool is_in_loop(const eddy__linear_build *w, uint32_t id)
{
    const uint32_t frame = w->plan->steps[id].frame;

    return frame != 0 && !w->is_skipped[id] && !w->loops[frame].doubt.why;
}

/* A step computes elements if all its values that are of sets are spread. */
static void settle_kernel(spreading *s, uint32_t id, uint64_t *n_code)
{
    eddy__linear_build *w = s->w;
    const eddy__kernel_node *node = w->plan->steps[id].node;

    for (uint32_t i = 0; i < node->n_in + node->n_out && w->spreads[id]; i++) {
        const bool is_in = i < node->n_in;
        const uint32_t v = is_in ? eddy__linear_input(w, id, i)
                                 : eddy__linear_output(w, id, i - node->n_in);

        if (is_apart(w, v) && (!is_in || eddy__spread_reads(w, id, i)) &&
            !w->values[v].is_spread)
            w->spreads[id] = NULL;
    }
    if (w->spreads[id])
        *n_code += w->spreads[id]->n_code;
}

/* What is lent has registers as well where elements are read. */
static void want(eddy__linear_build *w, uint32_t v, bool is_spread)
{
    eddy__held *root = &w->values[w->values[v].alias];

    if (!w->values[v].is_lent || w->values[v].is_raw)
        return;
    if (is_spread)
        root->is_spread = true;
    else
        root->is_whole = true;
}

/* Is what it puts out, of which there is one, spread? */
static bool makes_spread(const eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];

    if (step->kind == EDDY__STEP_NEXT_ITERATION)
        id = step->edges[0].step;
    if (step->kind == EDDY__STEP_ENTER && !(step->flags & EDDY__STEP_CONSTANT))
        id = step->edges[0].step;
    if (step->kind == EDDY__STEP_EXIT &&
        w->plan->frames[step->frame].parent == 0)
        return false;
    return w->values[eddy__linear_output(w, id, 0)].is_spread;
}

static void want_inputs(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];

    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_SWITCH:
    case EDDY__STEP_FORWARD: /* another name of what is lent */
        break;
    case EDDY__STEP_MERGE:
        for (uint32_t i = 0; !w->is_loop_merge[id] && i < step->node->n_in; i++)
            want(w, eddy__linear_input(w, id, i), makes_spread(w, id));
        break;
    case EDDY__STEP_ENTER:
        if (!(step->flags & EDDY__STEP_CONSTANT))
            want(w, eddy__linear_input(w, id, 0), makes_spread(w, id));
        break;
    case EDDY__STEP_EXIT:
    case EDDY__STEP_NEXT_ITERATION:
        want(w, eddy__linear_input(w, id, 0), makes_spread(w, id));
        break;
    default:
        for (uint32_t i = 0; i < step->node->n_in; i++)
            want(w, eddy__linear_input(w, id, i),
                 w->spreads[id] && eddy__spread_reads(w, id, i));
        break;
    }
}

/* What is spread and handed on has the registers that it had. */
static void name_again(eddy__linear_build *w, uint32_t id)
{
    const eddy__step *step = &w->plan->steps[id];

    if (step->kind != EDDY__STEP_SWITCH && step->kind != EDDY__STEP_FORWARD &&
        (step->kind != EDDY__STEP_EXIT ||
         w->plan->frames[step->frame].parent == 0))
        return;
    for (uint32_t i = 0; i < step->node->n_out; i++) {
        const uint32_t v = eddy__linear_output(w, id, i);

        if (eddy__linear_is_only_spread(w, v))
            w->values[v].alias = w->values[eddy__linear_input(w, id, 0)].alias;
    }
}

static void settle(spreading *s)
{
    eddy__linear_build *w = s->w;
    uint64_t n_code = 0;

    for (uint32_t v = 0; v < w->n_values; v++) {
        w->values[v].is_spread = is_apart(w, v) && is_gain(s, v, 0);
        w->has_more = w->has_more || (is_apart(w, v) && is_gain(s, v, 1) &&
                                      !w->values[v].is_spread);
    }
    for (uint32_t id = 0; id < w->plan->n_steps; id++)
        if (w->spreads[id])
            settle_kernel(s, id, &n_code);
    if (n_code > MOST_IN_ALL) {
        for (uint32_t v = 0; v < w->n_values; v++)
            w->values[v].is_spread = false;
        for (uint32_t id = 0; id < w->plan->n_steps; id++)
            w->spreads[id] = NULL;
        return;
    }
    for (uint32_t id = 0; id < w->plan->n_steps; id++) {
        if (is_in_loop(w, id) || (w->plan->steps[id].kind == EDDY__STEP_ENTER &&
                                  w->plan->steps[id].frame != 0))
            want_inputs(w, id);
        if (is_in_loop(w, id))
            name_again(w, id);
    }
}

/* ---- all of it ---- */

static const costs *costs_of(const eddy__linear_build *w)
{
    const eddy_plan_options *options = w->l->options;

    if (options->executor == EDDY_EXECUTOR_LINEAR || options->no_native)
        return &interpreted;
    return options->executor == EDDY_EXECUTOR_NATIVE || w->is_later
               ? &native
               : &native_later;
}

eddy_status eddy__linear_find_spread(eddy__linear_build *w)
{
    const costs *first = costs_of(w);
    spreading s = {.w = w,
                   .costs = {first, first == &native_later ? &native : first}};

    s.sets =
        eddy__arena_allocate_zeroed(&w->scratch, w->n_values, sizeof *s.sets);
    if (!s.sets)
        return eddy__fail_memory(w->err);
    for (uint32_t v = 0; v < w->n_values; v++)
        s.sets[v].parent = v;
    count_parts(w);
    for (uint32_t id = 0; id < w->plan->n_steps; id++)
        if (w->plan->steps[id].kind == EDDY__STEP_KERNEL && is_in_loop(w, id) &&
            w->store_op[id] == EDDY__LINEAR_DONE)
            EDDY_TRY(eddy__spread_find(w, id, &w->spreads[id]));
    for (uint32_t id = 0; id < w->plan->n_steps; id++)
        if (w->plan->steps[id].frame != 0 && !w->is_skipped[id])
            join_step(&s, id);
    settle(&s);
    return EDDY_OK;
}
