/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sides of a predicate as an If, those of an index as Ifs in Ifs.  Its
 * outputs are the Merges of one group (study.c) and the items of the stacks
 * that its nodes push on or pop from.
 */
#include "core/base/status.h"
#include "interop/graphdef/writer.h"
#include "interop/onnx/write/writer.h"

#include <string.h>

typedef struct choice {
    eddy__onnx_writer *w;
    eddy__onnx_place *around;
    uint32_t first_side, n_sides;
    eddy_node group;
    const eddy_node *merges;
    size_t n_merges;
    eddy__onnx_written *results; /* by side and result: merges, indices of
                                    those that ask for them, stacks */
    eddy__onnx_place *sides;
    eddy__onnx_net *nets;
    size_t *stacks;
    size_t n_stacks;
    size_t n_results;
} choice;

static eddy__onnx_written *result(const choice *c, uint32_t side, size_t i)
{
    return &c->results[side * c->n_results + i];
}

/* The input of a Merge that comes from that side; its number, or n_inputs. */
static uint32_t input_of_side(const choice *c, const eddy__node *merge,
                              uint32_t side)
{
    uint32_t i = 0;

    while (i < merge->n_inputs &&
           eddy_analysis_output_branch(c->w->analysis, merge->inputs[i]) !=
               c->first_side + side)
        i++;
    return i;
}

/* Has the Merge an input from each of the sides, and no other? */
static bool is_whole(const choice *c, eddy_node id)
{
    const eddy__node *merge = &c->w->graph->nodes[id];

    if (merge->n_inputs != c->n_sides)
        return false;
    for (uint32_t s = 0; s < c->n_sides; s++)
        if (input_of_side(c, merge, s) == merge->n_inputs)
            return false;
    return true;
}

/* Which sides the Merge chooses from; false: it does something else. */
static bool find_sides(choice *c, eddy_node merge)
{
    const eddy_analysis *analysis = c->w->analysis;
    const eddy__node *node = &c->w->graph->nodes[merge];
    const uint32_t side =
        node->n_inputs > 0
            ? eddy_analysis_output_branch(analysis, node->inputs[0])
            : 0;
    const eddy_branch_info *branch = eddy_analysis_branch(analysis, side);

    if (side == 0 ||
        branch->outer != eddy_analysis_node_branch(analysis, merge))
        return false;
    c->first_side = side - branch->side;
    c->n_sides = branch->n_sides;
    return is_whole(c, merge);
}

/* The Merges of the group, the one that is asked for among them. */
static void find_merges(choice *c, eddy_node merge)
{
    eddy__onnx_writer *w = c->w;
    const eddy__onnx_groups *groups =
        &w->groups[w->region_depth[c->first_side]];
    const eddy_node root = groups->parent[merge];
    eddy_node *merges;
    size_t n = 0;

    for (eddy_node at = groups->first[root]; at != EDDY_NO_NODE;
         at = groups->next[at])
        n++;
    merges = eddy__onnx_take(w, n, sizeof *merges);
    if (!merges)
        return;
    c->merges = merges;
    c->group = root;
    for (eddy_node at = groups->first[root]; at != EDDY_NO_NODE;
         at = groups->next[at]) {
        const eddy__node *node = &w->graph->nodes[at];

        if (eddy__node_role(node) == EDDY__ROLE_MERGE &&
            w->variable_of[at] == 0 &&
            eddy_analysis_node_branch(w->analysis, at) == c->around->branch &&
            eddy_analysis_node_frame(w->analysis, at) == c->around->frame &&
            is_whole(c, at))
            merges[c->n_merges++] = at;
    }
}

/* ---- the sides ---- */

static eddy__onnx_written index_of(choice *c, uint32_t input)
{
    return (eddy__onnx_written){
        .name = eddy__onnx_const_like(c->w, EDDY_INT32, (double)input),
        .dtype = EDDY_INT32,
    };
}

/* Results: each Merge's value and index, then stacks. */
static void write_side(choice *c, uint32_t side)
{
    eddy__onnx_writer *w = c->w;
    eddy__onnx_place *place = &c->sides[side];

    *place = (eddy__onnx_place){.outer = c->around,
                                .net = &c->nets[side],
                                .frame = c->around->frame,
                                .branch = c->first_side + side,
                                .depth = c->around->depth + 1 + side,
                                .group = c->group};
    for (size_t i = 0; i < c->n_merges && eddy__onnx_well(w); i++) {
        const eddy__node *merge = &w->graph->nodes[c->merges[i]];
        const uint32_t k = input_of_side(c, merge, side);

        *result(c, side, 2 * i) =
            *eddy__onnx_demand(w, place, merge->inputs[k]);
        *result(c, side, 2 * i + 1) = index_of(c, k);
    }
    eddy__onnx_force_pushes(w, place);
    for (size_t i = 0; i < c->n_stacks && eddy__onnx_well(w); i++)
        *result(c, side, 2 * c->n_merges + i) =
            eddy__onnx_state_in(w, place, c->stacks[i]);
}

/* Both sides of an array must have it in one form. */
static void fix_forms(choice *c)
{
    for (size_t i = 0; i < c->n_results; i++) {
        bool is_same = true;

        for (uint32_t s = 0; s < c->n_sides; s++)
            is_same = is_same &&
                      result(c, s, i)->form == result(c, 0, i)->form &&
                      result(c, s, i)->form != EDDY__ONNX_FRESH;
        for (uint32_t s = 0; s < c->n_sides && !is_same; s++) {
            c->w->place = &c->sides[s];
            *result(c, s, i) = eddy__onnx_as_items(c->w, result(c, s, i));
        }
    }
}

static Eddy__OnnxPb__GraphProto *start_graph(choice *c, const char *name)
{
    Eddy__OnnxPb__GraphProto *to = eddy__onnx_take(c->w, 1, sizeof *to);

    if (!to)
        return NULL;
    eddy__onnx_pb__graph_proto__init(to);
    to->name = eddy__graphdef_borrow_text(eddy__onnx_print(c->w, "%s", name));
    to->output = eddy__onnx_take(c->w, c->n_results, sizeof(void *));
    return eddy__onnx_well(c->w) ? to : NULL;
}

/* What a side gives, as outputs of a graph. */
static void put_results(choice *c, Eddy__OnnxPb__GraphProto *to,
                        eddy__onnx_place *place,
                        const eddy__onnx_written *results)
{
    for (size_t i = 0; i < c->n_results && eddy__onnx_well(c->w); i++)
        to->output[to->n_output++] = eddy__onnx_info_message(
            c->w, eddy__onnx_as_result(c->w, place, &results[i]),
            results[i].form == EDDY__ONNX_ITEMS, (eddy_dtype)results[i].dtype,
            NULL);
    to->node = place->net->items;
    to->n_node = place->net->n_items;
}

static void put_if(choice *c, eddy__onnx_place *place, const char *condition,
                   Eddy__OnnxPb__GraphProto *then_graph,
                   Eddy__OnnxPb__GraphProto *else_graph, const char **outputs)
{
    const eddy__onnx_attr attrs[] = {
        {.name = "then_branch", .type = EDDY__ONNX_ATTR_GRAPH, .g = then_graph},
        {.name = "else_branch", .type = EDDY__ONNX_ATTR_GRAPH, .g = else_graph},
    };
    const eddy__onnx_node_spec call = {.type = "If",
                                       .inputs = &condition,
                                       .n_inputs = 1,
                                       .attrs = attrs,
                                       .n_attrs = 2,
                                       .outputs = outputs,
                                       .n_outputs = c->n_results};

    c->w->place = place;
    if (eddy__onnx_well(c->w))
        eddy__onnx_put(c->w, &call);
}

static Eddy__OnnxPb__GraphProto *side_graph(choice *c, uint32_t side)
{
    Eddy__OnnxPb__GraphProto *to =
        start_graph(c, eddy__onnx_print(c->w, "%s/side_%u",
                                        c->w->graph->nodes[c->merges[0]].name,
                                        (unsigned)side));

    if (to)
        put_results(c, to, &c->sides[side], result(c, side, 0));
    return to;
}

/* An If in `around` whose outputs are given; of a bool, side 1 is taken. */
static void choose_of_two(choice *c, const char *predicate,
                          const char **outputs)
{
    Eddy__OnnxPb__GraphProto *then_graph = side_graph(c, 1);
    Eddy__OnnxPb__GraphProto *else_graph = side_graph(c, 0);

    put_if(c, c->around, predicate, then_graph, else_graph, outputs);
}

/*
 * Of an index: is it 0?  Else, is it 1? ...  The last side is taken where no
 * other is.  Made from the inside out.
 */
static void choose_of_many(choice *c, const char *predicate,
                           const char **outputs)
{
    eddy__onnx_writer *w = c->w;
    Eddy__OnnxPb__GraphProto *rest = side_graph(c, c->n_sides - 1);

    for (uint32_t s = c->n_sides - 1; s-- > 0 && eddy__onnx_well(w);) {
        eddy__onnx_net *net = eddy__onnx_take(w, 1, sizeof *net);
        eddy__onnx_place place = *c->around;
        const char *sides[2];
        const char *is_it;

        if (!net)
            return;
        if (s > 0)
            place.net = net;
        w->place = &place;
        sides[0] = predicate;
        sides[1] = eddy__onnx_const_like(w, EDDY_INT32, (double)s);
        is_it = eddy__onnx_node(w, "Equal", sides, 2, NULL, 0);
        put_if(c, &place, is_it, side_graph(c, s), rest, outputs);
        if (s > 0) {
            eddy__onnx_written *values =
                eddy__onnx_take(w, c->n_results, sizeof *values);

            rest = start_graph(c, is_it);
            if (!values || !rest)
                return;
            for (size_t i = 0; i < c->n_results; i++) {
                values[i] = *result(c, 0, i);
                values[i].name = outputs[i];
            }
            put_results(c, rest, &place, values);
        }
    }
}

/* ---- the whole ---- */

static void find_stacks(choice *c)
{
    eddy__onnx_writer *w = c->w;

    c->stacks = eddy__onnx_take(w, w->n_stacks, sizeof *c->stacks);
    if (!c->stacks)
        return;
    for (size_t i = 0; i < w->n_stacks; i++) {
        bool is_touched = false;

        for (uint32_t s = 0; s < c->n_sides; s++)
            is_touched =
                is_touched || eddy__onnx_touches(w, i, c->around->frame,
                                                 c->first_side + s, c->group);
        if (!is_touched)
            continue;
        /* The empty sequence must be there before the sides are. */
        (void)eddy__onnx_state_in(w, c->around, i);
        c->stacks[c->n_stacks++] = i;
    }
}

static void bind_results(choice *c, const char **outputs)
{
    eddy__onnx_writer *w = c->w;

    for (size_t i = 0; i < c->n_merges; i++) {
        eddy__onnx_binding *b =
            eddy__onnx_binding_in(w, c->around, c->merges[i]);

        if (!b)
            return;
        b->is_done = true;
        b->values[0] = *result(c, 0, 2 * i);
        b->values[0].name = outputs[2 * i];
        b->values[1] = *result(c, 0, 2 * i + 1);
        b->values[1].name = outputs[2 * i + 1];
    }
    for (size_t i = 0; i < c->n_stacks; i++) {
        eddy__onnx_written value = *result(c, 0, 2 * c->n_merges + i);

        value.name = outputs[2 * c->n_merges + i];
        eddy__onnx_set_state(w, c->around, c->stacks[i], &value);
    }
}

static void write_sides(choice *c)
{
    eddy__onnx_writer *w = c->w;

    c->n_results = 2 * c->n_merges + c->n_stacks;
    c->results =
        eddy__onnx_take(w, c->n_results * c->n_sides, sizeof *c->results);
    c->sides = eddy__onnx_take(w, c->n_sides, sizeof *c->sides);
    c->nets = eddy__onnx_take(w, c->n_sides, sizeof *c->nets);
    for (uint32_t s = 0; s < c->n_sides && eddy__onnx_well(w); s++)
        write_side(c, s);
    if (eddy__onnx_well(w))
        fix_forms(c);
}

void eddy__onnx_write_if(eddy__onnx_writer *w, eddy__onnx_place *place,
                         eddy_node merge)
{
    choice *c = eddy__onnx_take(w, 1, sizeof *c);
    const char **outputs;
    const char *predicate;

    if (!c)
        return;
    c->w = w;
    c->around = place;
    if (!find_sides(c, merge)) {
        eddy__onnx_decline(w, "of other values than the sides of a predicate");
        return;
    }
    if (place->depth + c->n_sides > EDDY__ONNX_WRITE_MAX_DEPTH) {
        eddy__onnx_decline(w, "of %u sides %u deep", (unsigned)c->n_sides,
                           (unsigned)place->depth);
        return;
    }
    find_merges(c, merge);
    find_stacks(c);
    predicate = eddy__onnx_demand(
                    w, place,
                    eddy_analysis_branch(w->analysis, c->first_side)->predicate)
                    ->name;
    if (!eddy__onnx_well(w))
        return;
    write_sides(c);
    outputs = eddy__onnx_take(w, c->n_results, sizeof *outputs);
    if (!eddy__onnx_well(w))
        return;
    if (c->n_sides == 2 &&
        eddy_graph_output_dtype(
            w->graph,
            eddy_analysis_branch(w->analysis, c->first_side)->predicate) ==
            EDDY_BOOL)
        choose_of_two(c, predicate, outputs);
    else
        choose_of_many(c, predicate, outputs);
    if (eddy__onnx_well(w))
        bind_results(c, outputs);
    w->place = place;
}
