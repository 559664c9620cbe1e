/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies by name: options put them into the graph, and all else reads them
 * from there, so that a graph from a file and copies of its loops have theirs.
 */
#include "autodiff/policy.h"

#include "core/base/status.h"
#include "core/graph/edit.h"

#include <string.h>

#define ATTR "_eddy_tape"
#define BOUND_ATTR "_eddy_tape_bound"

/* What TensorFlow's loops are built with; the builder notes it. */
#define SWAP_ATTR "_swap_memory"

#define USUAL_BYTES (UINT64_C(64) << 20)

/* By value of the enum; the default has no name. */
static const char *const names[] = {NULL, "keep", "recompute", "auto", "spill"};

#define N_POLICIES (sizeof names / sizeof names[0])

void eddy__policy_note(eddy__gradient_emitter *e, eddy_node loop_cond,
                       eddy_tape_policy policy)
{
    eddy_graph *graph = e->core.graph;
    eddy_string text, *kept;
    eddy_attr attr;

    if (e->core.status != EDDY_OK || policy == EDDY_TAPE_DEFAULT)
        return;
    text =
        (eddy_string){.data = names[policy], .length = strlen(names[policy])};
    kept = eddy__arena_copy(&graph->arena, &text, 1, sizeof text);
    if (kept) {
        attr = eddy_attr_string(ATTR, kept);
        if (eddy__edit_adopt_attr(graph, loop_cond, &attr))
            return;
    }
    e->core.status = eddy__fail_memory(e->core.err);
}

static eddy_tape_policy usual(const eddy__node *loop_cond)
{
    const eddy_attr *attr = eddy__node_attr(loop_cond, SWAP_ATTR);

    return attr && attr->kind == EDDY_ATTR_BOOL && attr->n == 1 &&
                   attr->as.bools[0]
               ? EDDY_TAPE_SPILL
               : EDDY_TAPE_KEEP;
}

eddy_tape_policy eddy__policy_of(const eddy_graph *graph, eddy_node loop_cond)
{
    const eddy__node *node;
    const eddy_attr *attr;
    eddy_string text;

    if (loop_cond == EDDY_NO_NODE)
        return EDDY_TAPE_KEEP;
    node = eddy__graph_node(graph, loop_cond);
    attr = eddy__node_attr(node, ATTR);
    if (!attr || attr->kind != EDDY_ATTR_STRING || attr->n != 1)
        return usual(node);
    text = attr->as.strings[0];
    for (size_t i = 1; i < N_POLICIES; i++)
        if (strlen(names[i]) == text.length &&
            memcmp(names[i], text.data, text.length) == 0)
            return (eddy_tape_policy)i;
    return EDDY_TAPE_KEEP;
}

eddy__tape_bound eddy__policy_bound(const eddy_graph *graph,
                                    eddy_node loop_cond)
{
    const eddy_attr *attr =
        eddy__node_attr(eddy__graph_node(graph, loop_cond), BOUND_ATTR);
    const int64_t *ints;

    if (!attr || attr->kind != EDDY_ATTR_INT || attr->n != 2)
        return (eddy__tape_bound){0};
    ints = attr->as.ints;
    if (ints[0] < 2 || ints[0] > EDDY__MOST_STATES || ints[1] < 1 ||
        ints[1] > INT32_MAX)
        return (eddy__tape_bound){0};
    return (eddy__tape_bound){.states = (int32_t)ints[0],
                              .trips = (int32_t)ints[1]};
}

bool eddy__policy_spills(const eddy_graph *graph, eddy_node loop_cond)
{
    const eddy_tape_policy policy = eddy__policy_of(graph, loop_cond);

    return policy == EDDY_TAPE_SPILL || policy == EDDY_TAPE_AUTO;
}

static eddy_status check(eddy__gradient_emitter *e, eddy_tape_policy policy)
{
    if ((size_t)policy < N_POLICIES)
        return EDDY_OK;
    return eddy__emit_fail(e, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                           EDDY_NO_NODE, "%d is no policy of tapes",
                           (int)policy);
}

static const eddy_frame *find_loop(const eddy__study *study, const char *name)
{
    const eddy_analysis *analysis = study->analysis;

    for (size_t f = 1; name && f < analysis->n_frames; f++)
        if (strcmp(analysis->frames[f].name, name) == 0 &&
            analysis->frames[f].loop_cond != EDDY_NO_NODE)
            return &analysis->frames[f];
    return NULL;
}

/*
 * What bytes decide is noted as it was decided.  Of a loop whose tape does not
 * fit it shows only later whether its trips can be made again.
 */
static eddy_status choose_all(const eddy__study *study,
                              eddy__gradient_emitter *e, uint32_t base,
                              const eddy_gradient_options *options)
{
    const eddy_analysis *analysis = study->analysis;
    const uint64_t limit =
        options->tape_bytes > 0 ? options->tape_bytes : USUAL_BYTES;
    const uint8_t *fits = NULL;

    if (options->tape == EDDY_TAPE_AUTO) {
        fits = eddy__tape_size_fit(study, e, base, limit);
        if (!fits)
            return e->core.status;
    }
    for (size_t f = 1; f < analysis->n_frames; f++)
        if (analysis->frames[f].loop_cond != EDDY_NO_NODE)
            eddy__policy_note(e, analysis->frames[f].loop_cond,
                              !fits     ? options->tape
                              : fits[f] ? EDDY_TAPE_KEEP
                                        : EDDY_TAPE_AUTO);
    return e->core.status;
}

static void note_bound(eddy__gradient_emitter *e, eddy_node loop_cond,
                       eddy__tape_bound bound)
{
    eddy_graph *graph = e->core.graph;
    const int64_t ints[] = {bound.states, bound.trips};
    int64_t *kept;
    eddy_attr attr;

    if (e->core.status != EDDY_OK ||
        (bound.states == 0 &&
         !eddy__node_attr(eddy__graph_node(graph, loop_cond), BOUND_ATTR)))
        return;
    kept = eddy__arena_copy(&graph->arena, ints, 2, sizeof *ints);
    attr = eddy_attr_int(BOUND_ATTR, kept);
    attr.is_list = true;
    attr.n = 2;
    if (!kept || !eddy__edit_adopt_attr(graph, loop_cond, &attr))
        e->core.status = eddy__fail_memory(e->core.err);
}

static bool makes_again(const eddy__study *study, const eddy_frame *frame)
{
    return eddy__policy_of(study->graph, frame->loop_cond) ==
           EDDY_TAPE_RECOMPUTE;
}

/*
 * What the loops that make trips again may hold, where options say what they
 * do; without bytes, as much as they need.  Where bytes decide whether they do
 * (EDDY_TAPE_AUTO) there is no bound, so that their gradients have gradients.
 */
static eddy_status bound_all(const eddy__study *study,
                             eddy__gradient_emitter *e, uint32_t base,
                             const eddy_gradient_options *options)
{
    const eddy_analysis *analysis = study->analysis;
    const size_t n = analysis->n_frames;
    uint8_t *again = eddy__emit_zeroed_room(e, n, 1);
    const eddy__tape_bound *bounds;

    if (!again)
        return e->core.status;
    for (size_t f = 1; f < n; f++)
        again[f] = makes_again(study, &analysis->frames[f]);
    bounds = eddy__tape_size_bounds(study, e, base, again, options->tape_bytes);
    if (!bounds)
        return e->core.status;
    for (size_t f = 1; f < n; f++)
        if (again[f])
            note_bound(e, analysis->frames[f].loop_cond, bounds[f]);
    return e->core.status;
}

eddy_status eddy__policy_choose(const eddy__study *study,
                                eddy__gradient_emitter *e, uint32_t base,
                                const eddy_gradient_options *options,
                                bool must_exist)
{
    EDDY_TRY(check(e, options->tape));
    EDDY_TRY(choose_all(study, e, base, options));
    for (size_t i = 0; i < options->n_loop_tapes; i++) {
        const eddy_loop_tape *tape = &options->loop_tapes[i];
        const eddy_frame *loop = find_loop(study, tape->frame);

        EDDY_TRY(check(e, tape->policy));
        if (tape->policy == EDDY_TAPE_AUTO)
            return eddy__emit_fail(
                e, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, EDDY_NO_NODE,
                "tape %zu is auto, which is for all loops", i);
        if (loop)
            eddy__policy_note(e, loop->loop_cond, tape->policy);
        else if (must_exist)
            return eddy__emit_fail(
                e, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, EDDY_NO_NODE,
                "tape %zu is for the loop '%s', but the ys depend on no loop "
                "of that name",
                i, tape->frame ? tape->frame : "");
    }
    if (options->tape == EDDY_TAPE_DEFAULT && options->n_loop_tapes == 0)
        return e->core.status;
    return bound_all(study, e, base, options);
}
