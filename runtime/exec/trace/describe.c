/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan as a reader of traces sees it: nodes with what they read.
 *
 * A plan knows its edges from producer to consumer, and slots.  A data input is
 * found by its slot, which in a frame is one output's alone; a control input by
 * the edge.
 */
#include "runtime/exec/trace/trace.h"

#include "core/base/status.h"

#include <string.h>

/* A slot of a frame: whose output is there. */
typedef struct owners {
    eddy_trace_input **of; /* a frame: its slots */
} owners;

static eddy_trace_kind kind_of(const eddy__step *step)
{
    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_CONST:
        return EDDY_TRACE_CONST;
    case EDDY__STEP_SWITCH:
        return EDDY_TRACE_SWITCH;
    case EDDY__STEP_MERGE:
        return EDDY_TRACE_MERGE;
    case EDDY__STEP_ENTER:
        return EDDY_TRACE_ENTER;
    case EDDY__STEP_EXIT:
        return EDDY_TRACE_EXIT;
    case EDDY__STEP_NEXT_ITERATION:
        return EDDY_TRACE_NEXT_ITERATION;
    case EDDY__STEP_CONTROL_TRIGGER:
        return EDDY_TRACE_CONTROL_TRIGGER;
    case EDDY__STEP_FEED:
        return EDDY_TRACE_FEED;
    case EDDY__STEP_FETCH:
        return EDDY_TRACE_FETCH;
    default:
        return step->node->op_name &&
                       strcmp(step->node->op_name, "LoopCond") == 0
                   ? EDDY_TRACE_LOOP_COND
                   : EDDY_TRACE_OP;
    }
}

static uint32_t output_frame(const eddy_plan *plan, const eddy__step *step)
{
    if (step->kind == EDDY__STEP_ENTER)
        return step->aux;
    if (step->kind == EDDY__STEP_EXIT)
        return plan->frames[step->frame].parent;
    return step->frame;
}

static void describe_node(const eddy_plan *plan, uint32_t id,
                          eddy_trace_node *node)
{
    const eddy__step *step = &plan->steps[id];

    *node = (eddy_trace_node){
        .name = step->node->name,
        .op = step->node->op_name ? step->node->op_name : "",
        .frame = step->frame,
        .output_frame = output_frame(plan, step),
        .is_constant = step->kind == EDDY__STEP_ENTER &&
                       (step->flags & EDDY__STEP_CONSTANT) != 0,
        .is_dissolved = (step->flags & EDDY__STEP_DISSOLVED) != 0,
        .n_inputs = step->node->n_in,
        .n_outputs = step->node->n_out};
    if (step->kind == EDDY__STEP_FETCH) {
        node->name = plan->fetches[step->aux].name;
        node->n_inputs = 1;
        node->n_outputs = 0;
        node->op = "";
    } else if (step->kind == EDDY__STEP_FEED) {
        node->name = plan->feeds[step->aux].name;
        node->n_inputs = 0;
        node->n_outputs = 1;
        node->op = "";
    }
    node->kind = kind_of(step);
}

static bool is_control(const eddy__edge *edge)
{
    return edge->output == EDDY__CONTROL_PORT;
}

static bool make_owners(const eddy_trace *trace, eddy__arena *scratch,
                        owners *o)
{
    const eddy_plan *plan = trace->plan;

    o->of = eddy__arena_allocate(scratch, plan->n_frames,
                                 sizeof(eddy_trace_input *));
    if (!o->of)
        return false;
    for (uint32_t f = 0; f < plan->n_frames; f++) {
        o->of[f] = eddy__arena_allocate_zeroed(scratch, plan->frames[f].n_slots,
                                               sizeof **o->of);
        if (!o->of[f])
            return false;
    }
    for (uint32_t id = 0; id < plan->n_steps; id++)
        for (uint32_t k = 0; k < trace->nodes[id].n_outputs; k++)
            o->of[trace->nodes[id].output_frame][plan->steps[id].out[k]] =
                (eddy_trace_input){.node = id, .output = k};
    return true;
}

/* How many controls each node has, and room for all of its inputs. */
static bool make_inputs(eddy_trace *trace)
{
    const eddy_plan *plan = trace->plan;

    for (uint32_t id = 0; id < plan->n_steps; id++)
        for (uint32_t e = 0; e < plan->steps[id].n_edges; e++) {
            eddy_trace_node *to = &trace->nodes[plan->steps[id].edges[e].step];

            to->n_controls += is_control(&plan->steps[id].edges[e]);
        }
    for (uint32_t id = 0; id < plan->n_steps; id++) {
        eddy_trace_node *node = &trace->nodes[id];

        node->inputs = eddy__arena_allocate_zeroed(
            &trace->arena, (size_t)node->n_inputs + node->n_controls,
            sizeof *node->inputs);
        if (!node->inputs)
            return false;
        node->n_controls = 0;
    }
    return true;
}

static eddy_trace_input *inputs_of(const eddy_trace_node *node)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the trace's own arena. */
    return (eddy_trace_input *)(uintptr_t)node->inputs;
}

static void fill_inputs(eddy_trace *trace, const owners *o)
{
    const eddy_plan *plan = trace->plan;

    for (uint32_t id = 0; id < plan->n_steps; id++) {
        const eddy__step *step = &plan->steps[id];
        const eddy_trace_node *node = &trace->nodes[id];

        for (uint32_t k = 0; k < node->n_inputs; k++)
            inputs_of(node)[k] = o->of[step->frame][step->in[k]];
        for (uint32_t e = 0; e < step->n_edges; e++) {
            eddy_trace_node *to = &trace->nodes[step->edges[e].step];

            if (is_control(&step->edges[e]))
                inputs_of(to)[to->n_inputs + to->n_controls++] =
                    (eddy_trace_input){.node = id, .output = EDDY_TRACE_NONE};
        }
    }
}

static eddy_status join_nodes(eddy_trace *trace, eddy_error *err)
{
    eddy__arena scratch = {.allocator = trace->allocator};
    owners o = {.of = NULL};
    const bool is_made = make_owners(trace, &scratch, &o) && make_inputs(trace);

    if (is_made)
        fill_inputs(trace, &o);
    eddy__arena_destroy(&scratch);
    return is_made ? EDDY_OK : eddy__fail_memory(err);
}

eddy_status eddy__trace_describe(eddy_trace *trace, eddy_error *err)
{
    const eddy_plan *plan = trace->plan;

    trace->n_nodes = plan->n_steps;
    trace->n_static_frames = plan->n_frames;
    trace->nodes = eddy__arena_allocate_zeroed(&trace->arena, plan->n_steps,
                                               sizeof *trace->nodes);
    trace->static_frames = eddy__arena_allocate(&trace->arena, plan->n_frames,
                                                sizeof *trace->static_frames);
    trace->wanted =
        eddy__arena_allocate_zeroed(&trace->arena, plan->n_steps, 1);
    if (!trace->nodes || !trace->static_frames || !trace->wanted)
        return eddy__fail_memory(err);
    for (uint32_t f = 0; f < plan->n_frames; f++)
        trace->static_frames[f] = (eddy_trace_static_frame){
            .name = plan->frames[f].name,
            .parent = plan->frames[f].parent,
            .parallel_iterations = plan->frames[f].parallel_iterations};
    for (uint32_t id = 0; id < plan->n_steps; id++)
        describe_node(plan, id, &trace->nodes[id]);
    return join_nodes(trace, err);
}
