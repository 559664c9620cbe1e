/*
 * Is a loop counted?  From the primitives: a variable whose next value is its
 * own with a constant added, and a predicate that compares it with what does
 * not change.
 */
#include "frames/unrolling.h"
#include "runtime/base/status.h"
#include "runtime/core/dtype.h"
#include "runtime/core/tensor.h"

#include <string.h>

/* Ways are followed over so many nodes. */
#define MOST_STEPS 4096

/* Node `v` passes input 0 on, in an iteration that is not the last. */
static bool is_pass(const eddy__unrolling *u, eddy_output v)
{
    const eddy__role role = (eddy__role)u->flow.role[v.node];

    if (role == EDDY__ROLE_FORWARD)
        return eddy__unroll_node(u, v.node)->n_inputs == 1;
    return role == EDDY__ROLE_SWITCH && v.index == 1 &&
           eddy__unroll_node(u, v.node)->inputs[1].node == u->frame->loop_cond;
}

static eddy_output pass(const eddy__unrolling *u, eddy_output v)
{
    for (size_t i = 0; i < MOST_STEPS && is_pass(u, v); i++)
        v = eddy__unroll_node(u, v.node)->inputs[0];
    return v;
}

/* The variable whose Merge `v` is in the end, or EDDY__NOT_FOUND. */
static uint32_t variable_at(const eddy__unrolling *u, eddy_output v)
{
    v = pass(u, v);
    for (uint32_t i = 0; v.index == 0 && i < u->frame->n_variables; i++)
        if (u->frame->variables[i].merge == v.node)
            return i;
    return EDDY__NOT_FOUND;
}

/* An integer scalar; false if it is something else. */
static bool read_integer(const eddy_tensor *t, int64_t *out)
{
    const void *data = eddy_tensor_data(t);

    if (eddy_tensor_count(t) != 1)
        return false;
    switch (eddy_tensor_dtype(t)) {
    case EDDY_INT8:
        *out = *(const int8_t *)data;
        return true;
    case EDDY_INT16:
        *out = *(const int16_t *)data;
        return true;
    case EDDY_INT32:
        *out = *(const int32_t *)data;
        return true;
    case EDDY_INT64:
        *out = *(const int64_t *)data;
        return true;
    default:
        return false;
    }
}

/* Is it a constant, brought in from however far out? */
static bool is_known(const eddy__unrolling *u, eddy_output v, int64_t *out)
{
    for (size_t i = 0; i < MOST_STEPS; i++) {
        const eddy__node *node = eddy__unroll_node(u, v.node);
        const eddy__role role = (eddy__role)u->flow.role[v.node];

        if (role == EDDY__ROLE_CONST)
            return read_integer(eddy__node_attr(node, "value")->as.tensors[0],
                                out);
        if (role != EDDY__ROLE_ENTER && role != EDDY__ROLE_SWITCH &&
            !is_pass(u, v))
            return false;
        if (role == EDDY__ROLE_ENTER && !u->flow.is_constant[v.node])
            return false;
        v = node->inputs[0];
    }
    return false;
}

/*
 * The Enter by which `v`, of the loop, comes in, if it is the same in every
 * iteration: that of an invariant, or of a variable that never changes.
 */
static eddy_node invariant_enter(const eddy__unrolling *u, eddy_output v)
{
    const uint32_t variable = variable_at(u, v);

    v = pass(u, v);
    if (variable != EDDY__NOT_FOUND) {
        const eddy_loop_variable *var = &u->frame->variables[variable];

        if (var->next_iteration == EDDY_NO_NODE ||
            variable_at(u,
                        eddy__unroll_node(u, var->next_iteration)->inputs[0]) !=
                variable)
            return EDDY_NO_NODE;
        return var->enter;
    }
    if (u->flow.role[v.node] == EDDY__ROLE_ENTER &&
        u->flow.is_constant[v.node] &&
        u->analysis->output_frame[v.node] == u->frame_id)
        return v.node;
    return EDDY_NO_NODE;
}

/* The number that `v`, of the loop, is in every iteration. */
static bool is_constant(const eddy__unrolling *u, eddy_output v, int64_t *out)
{
    const eddy_node enter = invariant_enter(u, v);

    if (enter != EDDY_NO_NODE)
        v = eddy__unroll_node(u, enter)->inputs[0];
    return is_known(u, v, out);
}

/* By how much the variable changes; false if that is no constant. */
static bool find_step(const eddy__unrolling *u, uint32_t variable,
                      int64_t *out_step)
{
    const eddy_node next = u->frame->variables[variable].next_iteration;
    const eddy__node *node;
    eddy_output v;
    bool is_sub;

    if (next == EDDY_NO_NODE)
        return false;
    v = pass(u, eddy__unroll_node(u, next)->inputs[0]);
    node = eddy__unroll_node(u, v.node);
    is_sub = strcmp(node->op_name, "Sub") == 0;
    if (!is_sub && strcmp(node->op_name, "Add") != 0 &&
        strcmp(node->op_name, "AddV2") != 0)
        return false;
    for (uint32_t i = 0; i < (is_sub ? 1 : 2); i++)
        if (variable_at(u, node->inputs[i]) == variable &&
            is_constant(u, node->inputs[1 - i], out_step)) {
            if (*out_step < -INT32_MAX || *out_step > INT32_MAX)
                return false;
            *out_step = is_sub ? -*out_step : *out_step;
            return *out_step != 0;
        }
    return false;
}

/* ---- the predicate ---- */

typedef struct comparison {
    const char *op;
    int direction; /* of the step with which its left side ends a loop */
    bool is_inclusive;
} comparison;

static const comparison comparisons[] = {
    {"Less", 1, false},
    {"LessEqual", 1, true},
    {"Greater", -1, false},
    {"GreaterEqual", -1, true},
};

static const comparison *find_comparison(const char *op)
{
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++)
        if (strcmp(comparisons[i].op, op) == 0)
            return &comparisons[i];
    return NULL;
}

static bool find_limit(eddy__unrolling *u, eddy_output v)
{
    eddy__counting *c = &u->counting;

    c->limit_enter = invariant_enter(u, v);
    c->limit = c->limit_enter != EDDY_NO_NODE
                   ? eddy__unroll_node(u, c->limit_enter)->inputs[0]
                   : v;
    c->is_limit_known = is_constant(u, v, &c->known_limit);
    return c->is_limit_known || c->limit_enter != EDDY_NO_NODE;
}

/* Does input `side` of the predicate count, and the other one limit? */
static bool find_counter(eddy__unrolling *u, const eddy__node *predicate,
                         const comparison *op, uint32_t side)
{
    eddy__counting *c = &u->counting;
    const int direction = side == 0 ? op->direction : -op->direction;

    c->variable = variable_at(u, predicate->inputs[side]);
    if (c->variable == EDDY__NOT_FOUND ||
        !find_step(u, c->variable, &c->step) ||
        (c->step > 0) != (direction > 0) ||
        !find_limit(u, predicate->inputs[1 - side]))
        return false;
    c->is_inclusive = op->is_inclusive;
    c->dtype = (eddy_dtype)predicate->input_dtypes[side];
    return true;
}

/* How often the loop's body runs, if it begins with `first`. */
static void find_trips(eddy__counting *c, int64_t first)
{
    const int64_t to = c->known_limit;
    const uint64_t step =
        c->step > 0 ? (uint64_t)c->step : (uint64_t)0 - (uint64_t)c->step;
    const bool any = c->step > 0 ? first < to : first > to;
    uint64_t way;

    c->are_trips_known = true;
    c->trips = 0;
    if (!any && !(c->is_inclusive && first == to))
        return;
    way = c->step > 0 ? (uint64_t)to - (uint64_t)first
                      : (uint64_t)first - (uint64_t)to;
    if (c->is_inclusive)
        c->trips = way / step + 1;
    else
        c->trips = way / step + (way % step != 0);
}

eddy_status eddy__unroll_count(eddy__unrolling *u)
{
    eddy__counting *c = &u->counting;
    const comparison *op = NULL;
    const eddy__node *predicate = NULL;
    int64_t first;

    *c = (eddy__counting){.variable = EDDY__NOT_FOUND};
    if (u->frame->loop_cond == EDDY_NO_NODE)
        return eddy__unroll_fail(u, EDDY_NO_NODE, "it has no LoopCond");
    predicate = eddy__unroll_node(u, u->frame->loop_cond);
    predicate = eddy__unroll_node(u, pass(u, predicate->inputs[0]).node);
    op = find_comparison(predicate->op_name);
    if (!op || !(find_counter(u, predicate, op, 0) ||
                 find_counter(u, predicate, op, 1)))
        return eddy__unroll_fail(
            u, u->frame->loop_cond,
            "its predicate does not compare an integer variable, which goes "
            "up or down by a constant, with a limit that stays the same");
    if (c->is_limit_known &&
        is_known(u,
                 eddy__unroll_node(u, u->frame->variables[c->variable].enter)
                     ->inputs[0],
                 &first))
        find_trips(c, first);
    return EDDY_OK;
}
