/*
 * Laying a plan out: steps in plan order, slots and local numbers by frame,
 * then edges, counters and frames.  Each pass fills what the next one reads.
 */
#include "runtime/plan/plan.h"

#include "runtime/base/status.h"
#include "runtime/plan/layout.h"

#include <string.h>

static void *scratch(eddy__layout *l, size_t n, size_t size)
{
    return eddy__arena_allocate_zeroed(&l->scratch, n, size);
}

static void *keep(eddy__layout *l, size_t n, size_t size)
{
    return eddy__arena_allocate_zeroed(&l->plan->arena, n, size);
}

/* ---- producers and consumers, one way for nodes, feeds and fetches ---- */

static eddy__source source_of(const eddy__layout *l, eddy_output output)
{
    uint32_t feed = eddy__feed_of(l->selection, output);

    if (feed != EDDY__NOT_FOUND)
        return (eddy__source){.step = feed, .output = 0};
    return (eddy__source){.step = l->step_of[output.node],
                          .output = output.index};
}

const eddy__node *eddy__layout_node(const eddy__layout *l, uint32_t step)
{
    return l->node_of[step] == EDDY_NO_NODE
               ? NULL
               : eddy__graph_node(l->selection->graph, l->node_of[step]);
}

uint32_t eddy__layout_inputs(const eddy__layout *l, uint32_t step)
{
    const eddy__node *node = eddy__layout_node(l, step);

    if (node)
        return node->n_inputs;
    return step < l->n_feeds ? 0 : 1;
}

eddy__source eddy__layout_input(const eddy__layout *l, uint32_t step,
                                uint32_t i)
{
    const eddy__node *node = eddy__layout_node(l, step);

    if (node)
        return source_of(l, node->inputs[i]);
    return source_of(l, l->options->fetches[step - l->first_fetch]);
}

static uint32_t n_controls(const eddy__layout *l, uint32_t step)
{
    const eddy__node *node = eddy__layout_node(l, step);

    return node ? node->n_controls : 0;
}

static uint32_t control(const eddy__layout *l, uint32_t step, uint32_t i)
{
    return l->step_of[eddy__layout_node(l, step)->controls[i]];
}

static uint32_t n_outputs(const eddy__layout *l, uint32_t step)
{
    const eddy__node *node = eddy__layout_node(l, step);

    if (node)
        return node->n_outputs;
    return step < l->n_feeds ? 1 : 0;
}

static uint32_t output_frame(const eddy__layout *l, uint32_t step)
{
    return l->node_of[step] == EDDY_NO_NODE
               ? 0
               : l->analysis->output_frame[l->node_of[step]];
}

const eddy_shape *eddy__layout_shape(const eddy__layout *l, eddy__source from)
{
    if (from.step < l->n_feeds)
        return &l->plan->feeds[from.step].shape;
    return eddy__shape_at(
        l->shapes,
        (eddy_output){.node = l->node_of[from.step], .index = from.output});
}

static eddy_dtype dtype_of(const eddy__layout *l, eddy__source from)
{
    if (from.step < l->n_feeds)
        return l->plan->feeds[from.step].dtype;
    return (eddy_dtype)eddy__layout_node(l, from.step)
        ->output_dtypes[from.output];
}

/* Can the value be nothing but a scalar inside its slot? */
bool eddy__layout_is_inline(const eddy__layout *l, eddy__source from)
{
    return eddy__layout_shape(l, from)->rank == 0 &&
           eddy__dtype_is_inline(dtype_of(l, from));
}

/* ---- plan order ---- */

static bool is_back_edge(const eddy__node *from)
{
    return eddy__node_role(from) == EDDY__ROLE_NEXT_ITERATION;
}

/* How many of the node's in-edges come from nodes, back edges left out. */
static uint32_t count_predecessors(const eddy__layout *l,
                                   const eddy__node *node)
{
    const eddy_graph *graph = l->selection->graph;
    uint32_t n = 0;

    for (uint32_t i = 0; i < node->n_inputs; i++)
        n += eddy__feed_of(l->selection, node->inputs[i]) == EDDY__NOT_FOUND &&
             !is_back_edge(eddy__graph_node(graph, node->inputs[i].node));
    for (uint32_t i = 0; i < node->n_controls; i++)
        n += !is_back_edge(eddy__graph_node(graph, node->controls[i]));
    return n;
}

/* Successors of each node, as lists in one array: first[n]..first[n + 1]. */
typedef struct successors {
    uint32_t *first;
    eddy_node *nodes;
} successors;

static void count_or_add(const eddy__layout *l, successors *s, eddy_node from,
                         eddy_node to)
{
    if (is_back_edge(eddy__graph_node(l->selection->graph, from)))
        return;
    if (s->nodes)
        s->nodes[s->first[from]++] = to;
    else
        s->first[from + 1]++;
}

static void walk_edges(const eddy__layout *l, successors *s)
{
    const eddy_graph *graph = l->selection->graph;

    for (eddy_node id = 0; id < graph->n_nodes; id++) {
        const eddy__node *node = eddy__graph_node(graph, id);

        if (!eddy__selected(l->selection, id))
            continue;
        for (uint32_t i = 0; i < node->n_inputs; i++)
            if (eddy__feed_of(l->selection, node->inputs[i]) == EDDY__NOT_FOUND)
                count_or_add(l, s, node->inputs[i].node, id);
        for (uint32_t i = 0; i < node->n_controls; i++)
            count_or_add(l, s, node->controls[i], id);
    }
}

static eddy_status find_successors(eddy__layout *l, successors *s)
{
    size_t n = l->selection->graph->n_nodes;
    uint32_t *ends;

    s->nodes = NULL;
    s->first = scratch(l, n + 2, sizeof *s->first);
    if (!s->first)
        return eddy__fail_memory(l->err);
    ends = s->first + 1;
    walk_edges(l, s);
    for (size_t i = 1; i <= n; i++)
        s->first[i] += s->first[i - 1];
    s->nodes = scratch(l, s->first[n], sizeof *s->nodes);
    if (!s->nodes)
        return eddy__fail_memory(l->err);
    /* Adding moves first[n] up to where first[n + 1] was. */
    walk_edges(l, s);
    memmove(ends, s->first, n * sizeof *ends);
    s->first[0] = 0;
    return EDDY_OK;
}

static void take(eddy__layout *l, eddy_node id, uint32_t *n)
{
    l->step_of[id] = *n;
    l->node_of[(*n)++] = id;
}

/* Kahn's algorithm, first in first out, from the roots in graph order. */
static eddy_status order_steps(eddy__layout *l)
{
    const eddy_graph *graph = l->selection->graph;
    uint32_t *missing = scratch(l, graph->n_nodes, sizeof *missing);
    uint32_t n = l->n_feeds;
    successors s;

    if (!missing)
        return eddy__fail_memory(l->err);
    EDDY_TRY(find_successors(l, &s));
    for (eddy_node id = 0; id < graph->n_nodes; id++) {
        if (!eddy__selected(l->selection, id))
            continue;
        missing[id] = count_predecessors(l, eddy__graph_node(graph, id));
        if (missing[id] == 0)
            take(l, id, &n);
    }
    for (uint32_t i = l->n_feeds; i < n; i++) {
        eddy_node from = l->node_of[i];

        for (uint32_t e = s.first[from]; e < s.first[from + 1]; e++)
            if (--missing[s.nodes[e]] == 0)
                take(l, s.nodes[e], &n);
    }
    if (n != l->first_fetch)
        return eddy__fail(l->err, EDDY_INVALID_ARGUMENT, EDDY_E_CYCLE,
                          "%u nodes are in or behind a cycle",
                          l->first_fetch - n);
    return EDDY_OK;
}

/* A step is read as one cache line; the array has one step to spare for it. */
static eddy__step *align_to_line(eddy__step *steps)
{
    size_t past = (uintptr_t)steps % EDDY__CACHE_LINE;

    return past == 0 ? steps
                     : (eddy__step *)(void *)((char *)steps +
                                              (EDDY__CACHE_LINE - past));
}

static eddy_status number_steps(eddy__layout *l)
{
    size_t n_graph = l->selection->graph->n_nodes;
    eddy_plan *plan = l->plan;

    l->n_feeds = (uint32_t)plan->n_feeds;
    l->first_fetch = l->n_feeds + plan->n_nodes;
    plan->n_steps = l->first_fetch + (uint32_t)plan->n_fetches;
    plan->steps = keep(l, (size_t)plan->n_steps + 1, sizeof *plan->steps);
    l->infos = keep(l, plan->n_steps, sizeof *l->infos);
    l->outs = scratch(l, plan->n_steps, sizeof(uint32_t *));
    l->step_of = scratch(l, n_graph, sizeof *l->step_of);
    l->node_of = scratch(l, plan->n_steps, sizeof *l->node_of);
    l->n_in_edges = scratch(l, plan->n_steps, sizeof *l->n_in_edges);
    if (!plan->steps || !l->infos || !l->outs || !l->step_of || !l->node_of ||
        !l->n_in_edges)
        return eddy__fail_memory(l->err);
    plan->steps = align_to_line(plan->steps);
    memset(l->node_of, 0xff, plan->n_steps * sizeof *l->node_of);
    return order_steps(l);
}

/* ---- frames ---- */

static eddy_status make_frames(eddy__layout *l)
{
    eddy_plan *plan = l->plan;
    int64_t parallel = l->options->parallel_iterations;

    plan->n_frames = (uint32_t)l->analysis->n_frames;
    plan->frames = keep(l, plan->n_frames, sizeof *plan->frames);
    if (!plan->frames)
        return eddy__fail_memory(l->err);
    for (uint32_t i = 0; i < plan->n_frames; i++) {
        const eddy_frame *from = &l->analysis->frames[i];
        eddy__plan_frame *frame = &plan->frames[i];
        int64_t p = parallel > 0 ? parallel : from->parallel_iterations;

        frame->name =
            eddy__arena_text(&plan->arena, from->name, strlen(from->name));
        if (!frame->name)
            return eddy__fail_memory(l->err);
        frame->parent = from->parent;
        frame->n_enters = l->analysis->n_enters[i];
        if (p > EDDY__MAX_PARALLEL_ITERATIONS)
            p = EDDY__MAX_PARALLEL_ITERATIONS;
        frame->parallel_iterations = p < 1 ? 1 : (uint32_t)p;
        if (i > 0)
            frame->child = plan->frames[frame->parent].n_children++;
    }
    return EDDY_OK;
}

/* ---- kinds, flags and slots ---- */

static eddy__step_kind kind_of(eddy__role role)
{
    switch (role) {
    case EDDY__ROLE_SWITCH:
        return EDDY__STEP_SWITCH;
    case EDDY__ROLE_MERGE:
        return EDDY__STEP_MERGE;
    case EDDY__ROLE_ENTER:
        return EDDY__STEP_ENTER;
    case EDDY__ROLE_EXIT:
        return EDDY__STEP_EXIT;
    case EDDY__ROLE_NEXT_ITERATION:
        return EDDY__STEP_NEXT_ITERATION;
    case EDDY__ROLE_LOOP_COND:
    case EDDY__ROLE_FORWARD:
        return EDDY__STEP_FORWARD;
    case EDDY__ROLE_CONTROL_TRIGGER:
        return EDDY__STEP_CONTROL_TRIGGER;
    case EDDY__ROLE_CONST:
        return EDDY__STEP_CONST;
    case EDDY__ROLE_PLACEHOLDER:
    case EDDY__ROLE_NONE:
        break;
    }
    return EDDY__STEP_KERNEL;
}

static bool is_special(const eddy__step *consumer)
{
    return consumer->kind == EDDY__STEP_MERGE ||
           consumer->kind == EDDY__STEP_CONTROL_TRIGGER;
}

static void classify(eddy__layout *l, uint32_t id)
{
    eddy__step *step = &l->plan->steps[id];
    const eddy__node *node = eddy__layout_node(l, id);
    eddy__plan_frame *frame;

    step->frame = 0;
    if (!node) {
        bool is_feed = id < l->n_feeds;

        step->kind = is_feed ? EDDY__STEP_FEED : EDDY__STEP_FETCH;
        step->aux = is_feed ? id : id - l->first_fetch;
        if (!is_feed)
            step->frame = output_frame(l, eddy__layout_input(l, id, 0).step);
    } else {
        step->kind = (uint16_t)kind_of(eddy__node_role(node));
        step->frame = l->analysis->node_frame[l->node_of[id]];
    }
    frame = &l->plan->frames[step->frame];
    step->local = frame->n_steps++;
    if (step->kind == EDDY__STEP_EXIT)
        step->aux = frame->n_exits++;
    frame->n_nexts += step->kind == EDDY__STEP_NEXT_ITERATION;
    if (step->kind == EDDY__STEP_ENTER) {
        step->aux = output_frame(l, id);
        if (eddy__node_bool(node, "is_constant"))
            step->flags |= EDDY__STEP_CONSTANT | EDDY__STEP_PREAPPLIED;
    }
}

/* A constant Enter that feeds a Merge or a ControlTrigger is replayed. */
static void find_replayed(eddy__layout *l, uint32_t id)
{
    eddy__step *steps = l->plan->steps;

    if (!is_special(&steps[id]))
        return;
    for (uint32_t i = 0; i < eddy__layout_inputs(l, id); i++)
        steps[eddy__layout_input(l, id, i).step].flags &=
            (uint16_t)~EDDY__STEP_PREAPPLIED;
    for (uint32_t i = 0; i < n_controls(l, id); i++)
        steps[control(l, id, i)].flags &= (uint16_t)~EDDY__STEP_PREAPPLIED;
}

static eddy_status give_slots(eddy__layout *l, uint32_t id)
{
    eddy__step *step = &l->plan->steps[id];
    eddy__plan_frame *frame = &l->plan->frames[output_frame(l, id)];
    uint32_t n = n_outputs(l, id), *out = keep(l, 2 * (size_t)n, sizeof *out);

    if (!out)
        return eddy__fail_memory(l->err);
    out += n;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = frame->n_slots++;
        if (!(step->flags & EDDY__STEP_PREAPPLIED) &&
            !eddy__layout_is_inline(l, (eddy__source){.step = id, .output = i}))
            frame->has_counted = true;
    }
    l->outs[id] = out;
    step->out = out;
    l->infos[id].out = out;
    l->infos[id].n_out = n;
    return EDDY_OK;
}

/* Slots of pre-applied Enters come first in their frame. */
static eddy_status give_all_slots(eddy__layout *l)
{
    eddy_plan *plan = l->plan;

    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t id = 0; id < plan->n_steps; id++) {
            bool first = (plan->steps[id].flags & EDDY__STEP_PREAPPLIED) != 0;

            if (first != (pass == 0))
                continue;
            EDDY_TRY(give_slots(l, id));
        }
        for (uint32_t f = 0; f < plan->n_frames && pass == 0; f++)
            plan->frames[f].n_invariants = plan->frames[f].n_slots;
    }
    return EDDY_OK;
}

/* ---- edges ---- */

static uint32_t *uses_of(eddy__layout *l, eddy__source from)
{
    return &l->outs[from.step][-1 - (ptrdiff_t)from.output];
}

static eddy_status connect_inputs(eddy__layout *l, uint32_t id)
{
    eddy__step *steps = l->plan->steps;
    uint32_t n = eddy__layout_inputs(l, id), *in = keep(l, n, sizeof *in);
    bool special = is_special(&steps[id]), all_inline = true;

    if (!in)
        return eddy__fail_memory(l->err);
    for (uint32_t i = 0; i < n; i++) {
        eddy__source from = eddy__layout_input(l, id, i);

        in[i] = l->infos[from.step].out[from.output];
        ++*uses_of(l, from);
        all_inline = all_inline && eddy__layout_is_inline(l, from);
        steps[from.step].n_edges++;
        steps[from.step].n_plain += !special;
    }
    for (uint32_t i = 0; i < n_controls(l, id); i++) {
        steps[control(l, id, i)].n_edges++;
        steps[control(l, id, i)].n_plain += !special;
    }
    if (all_inline)
        steps[id].flags |= EDDY__STEP_INLINE_IN;
    steps[id].in = in;
    l->infos[id].in = in;
    l->infos[id].n_in = n;
    l->n_in_edges[id] = n + n_controls(l, id);
    return EDDY_OK;
}

static void add_edge(eddy__layout *l, uint32_t from, eddy__edge edge)
{
    bool special = is_special(&l->plan->steps[edge.step]);
    size_t at = special ? l->next_special[from]++ : l->next_plain[from]++;

    if (!special && l->n_in_edges[edge.step] == 1)
        edge.port = EDDY__SOLE_PORT;
    l->edges[at] = edge;
}

static void add_edges(eddy__layout *l, uint32_t id)
{
    eddy__edge edge = {.step = id, .local = l->plan->steps[id].local};

    for (uint32_t i = 0; i < eddy__layout_inputs(l, id); i++) {
        eddy__source from = eddy__layout_input(l, id, i);

        edge.output = from.output;
        edge.port = i;
        add_edge(l, from.step, edge);
    }
    edge.output = edge.port = EDDY__CONTROL_PORT;
    for (uint32_t i = 0; i < n_controls(l, id); i++)
        add_edge(l, control(l, id, i), edge);
}

/* Steps whose outputs appear in another iteration do not qualify. */
static void find_chained(eddy__layout *l, uint32_t id)
{
    eddy__step *step = &l->plan->steps[id];

    if (step->n_edges == 1 && step->n_plain == 1 &&
        step->edges[0].port == EDDY__SOLE_PORT &&
        step->kind != EDDY__STEP_ENTER && step->kind != EDDY__STEP_EXIT &&
        step->kind != EDDY__STEP_NEXT_ITERATION &&
        step->kind != EDDY__STEP_SWITCH)
        step->flags |= EDDY__STEP_CHAINED;
}

static eddy_status connect_all(eddy__layout *l)
{
    eddy_plan *plan = l->plan;
    size_t n_edges = 0;

    for (uint32_t id = 0; id < plan->n_steps; id++)
        EDDY_TRY(connect_inputs(l, id));
    l->next_plain = scratch(l, plan->n_steps, sizeof *l->next_plain);
    l->next_special = scratch(l, plan->n_steps, sizeof *l->next_special);
    for (uint32_t id = 0; id < plan->n_steps; id++)
        n_edges += plan->steps[id].n_edges;
    l->edges = keep(l, n_edges, sizeof *l->edges);
    if (!l->next_plain || !l->next_special || !l->edges)
        return eddy__fail_memory(l->err);
    n_edges = 0;
    for (uint32_t id = 0; id < plan->n_steps; id++) {
        plan->steps[id].edges = l->edges + n_edges;
        l->next_plain[id] = n_edges;
        l->next_special[id] = n_edges + plan->steps[id].n_plain;
        n_edges += plan->steps[id].n_edges;
    }
    for (uint32_t id = 0; id < plan->n_steps; id++)
        add_edges(l, id);
    for (uint32_t id = 0; id < plan->n_steps; id++)
        find_chained(l, id);
    return EDDY_OK;
}

/* ---- counters, roots, starters ---- */

static bool only_invariants_feed(const eddy__layout *l, uint32_t id)
{
    const eddy__step *steps = l->plan->steps;

    if (is_special(&steps[id]) || l->n_in_edges[id] == 0)
        return false;
    for (uint32_t i = 0; i < eddy__layout_inputs(l, id); i++)
        if (!(steps[eddy__layout_input(l, id, i).step].flags &
              EDDY__STEP_PREAPPLIED))
            return false;
    for (uint32_t i = 0; i < n_controls(l, id); i++)
        if (!(steps[control(l, id, i)].flags & EDDY__STEP_PREAPPLIED))
            return false;
    return true;
}

static eddy_status fill_frames(eddy__layout *l)
{
    eddy_plan *plan = l->plan;

    for (uint32_t f = 0; f < plan->n_frames; f++) {
        eddy__plan_frame *frame = &plan->frames[f];

        frame->start = keep(l, frame->n_steps, sizeof *frame->start);
        frame->steps = keep(l, frame->n_steps, sizeof *frame->steps);
        frame->replayed = keep(l, frame->n_enters, sizeof *frame->replayed);
        if (!frame->start || !frame->steps || !frame->replayed)
            return eddy__fail_memory(l->err);
    }
    for (uint32_t id = 0; id < plan->n_steps; id++) {
        const eddy__step *step = &plan->steps[id];
        eddy__plan_frame *frame = &plan->frames[step->frame];

        frame->start[step->local] =
            eddy__liveness_start(step->kind == EDDY__STEP_MERGE,
                                 eddy__layout_inputs(l, id), n_controls(l, id));
        frame->steps[step->local] = id;
        frame->n_starters += only_invariants_feed(l, id);
        if ((step->flags & EDDY__STEP_CONSTANT) &&
            !(step->flags & EDDY__STEP_PREAPPLIED)) {
            eddy__plan_frame *child = &plan->frames[step->aux];

            child->replayed[child->n_replayed++] = id;
        }
    }
    return EDDY_OK;
}

static eddy_status find_roots(eddy__layout *l)
{
    eddy_plan *plan = l->plan;
    uint32_t n = 0, *roots;

    for (uint32_t id = 0; id < plan->n_steps; id++)
        n += l->n_in_edges[id] == 0;
    roots = keep(l, n, sizeof *roots);
    if (!roots)
        return eddy__fail_memory(l->err);
    plan->n_roots = n;
    plan->roots = roots;
    for (uint32_t id = 0; id < plan->n_steps; id++)
        if (l->n_in_edges[id] == 0)
            *roots++ = id;
    return EDDY_OK;
}

static eddy_status lay_out(eddy__layout *l)
{
    eddy_plan *plan = l->plan;

    EDDY_TRY(number_steps(l));
    EDDY_TRY(make_frames(l));
    for (uint32_t id = 0; id < plan->n_steps; id++)
        classify(l, id);
    for (uint32_t id = 0; id < plan->n_steps; id++)
        find_replayed(l, id);
    EDDY_TRY(give_all_slots(l));
    EDDY_TRY(connect_all(l));
    EDDY_TRY(fill_frames(l));
    EDDY_TRY(find_roots(l));
    return eddy__layout_kernels(l);
}

eddy_status eddy__plan_lay_out(const eddy__plan_build *build)
{
    eddy__layout l = {.plan = build->plan,
                      .selection = build->selection,
                      .options = build->options,
                      .analysis = build->analysis,
                      .shapes = build->shapes,
                      .scratch = {.allocator = build->plan->arena.allocator},
                      .err = build->err};
    eddy_status status = lay_out(&l);

    eddy__arena_destroy(&l.scratch);
    return status;
}
