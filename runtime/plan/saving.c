/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pass for a plan with checkpoints (eddy/checkpoint.h): which loop is saved,
 * and what has a state in it.  Where a checkpoint is gone on from, a node
 * _Resume comes before the loop, which is entered with what that gives:
 *
 *     x -> Enter            x -> _Resume -> Enter
 *     y -> Enter(constant)  y -> ControlTrigger ..> _Resume
 *
 * It waits for all that the loop is entered with, so what is done to variables
 * on the way there does not undo what it restores.  Handles of what else the
 * loop changes (saving_state.c) go to it, too, which puts back what was behind
 * them.
 */
#include "runtime/plan/saving.h"

#include "core/base/status.h"
#include "core/carrier.h"
#include "core/context.h"
#include "core/graph/edit.h"
#include "core/graph/names.h"
#include "core/value/dtype.h"
#include "core/value/generator.h"
#include "runtime/plan/saving_state.h"

#include <assert.h>
#include <string.h>

typedef struct saving {
    eddy__plan_build *b;
    const eddy_graph *graph;
    eddy__plan_saving *out;
    uint32_t loop;    /* its frame */
    uint8_t *is_in;   /* a frame: the loop, or in it */
    eddy_node *enter; /* those that are not constant */
    eddy_node *next;  /* a NextIteration each */
    eddy_output *merge;
    uint32_t n;
    eddy__saving_state state;
} saving;

static const eddy__node *node_of(const saving *s, eddy_node v)
{
    return eddy__graph_node(s->graph, v);
}

static bool is_selected(const saving *s, eddy_node v)
{
    return eddy__selected(s->b->selection, v);
}

/* ---- which loop ---- */

static eddy_status find_loop(saving *s, const char *name)
{
    const eddy_analysis *analysis = s->b->analysis;
    uint32_t n = 0;

    for (uint32_t f = 1; f < analysis->n_frames; f++) {
        if (analysis->frames[f].parent != 0 ||
            (name && strcmp(analysis->frames[f].name, name) != 0))
            continue;
        s->loop = f;
        n++;
    }
    if (n == 0)
        return eddy__fail(s->b->err, EDDY_FAILED_PRECONDITION,
                          EDDY_E_CHECKPOINT, "%s%.200s%s to save",
                          name ? "there is no loop '" : "there is no loop",
                          name ? name : "", name ? "'" : "");
    if (n > 1)
        return eddy__fail(s->b->err, EDDY_FAILED_PRECONDITION,
                          EDDY_E_CHECKPOINT,
                          "%u loops are in no other, '%.200s' among them: "
                          "which is saved must be said",
                          (unsigned)n, analysis->frames[s->loop].name);
    for (uint32_t f = s->loop; f < analysis->n_frames; f++)
        s->is_in[f] = f == s->loop || s->is_in[analysis->frames[f].parent];
    return EDDY_OK;
}

static eddy_status refuse(const saving *s, eddy_node v, const char *why)
{
    return eddy__saving_refuse(s->b, v, why);
}

/* ---- what it carries ---- */

static bool is_entry(const saving *s, eddy_node v)
{
    return eddy__node_role(node_of(s, v)) == EDDY__ROLE_ENTER &&
           s->b->analysis->output_frame[v] == s->loop;
}

static bool is_constant_entry(const saving *s, eddy_node v)
{
    return is_entry(s, v) && eddy__node_bool(node_of(s, v), "is_constant");
}

/* A Merge of the loop: its Enter and its NextIteration, one each. */
static eddy_status read_merge(saving *s, eddy_node v)
{
    const eddy__node *merge = node_of(s, v);
    eddy_node next;

    if (!is_entry(s, merge->inputs[0].node) || merge->n_inputs != 2)
        return refuse(s, v, "its Merge is not of an Enter and a NextIteration");
    next = merge->inputs[1].node;
    if (eddy__node_role(node_of(s, next)) != EDDY__ROLE_NEXT_ITERATION)
        return refuse(s, v, "its Merge is not of an Enter and a NextIteration");
    s->enter[s->n] = merge->inputs[0].node;
    s->next[s->n] = next;
    s->merge[s->n++] = (eddy_output){v, 0};
    return EDDY_OK;
}

/* Does the Merge get what comes around the loop? */
static bool is_loop_merge(const saving *s, eddy_node v)
{
    const eddy__node *node = node_of(s, v);

    if (eddy__node_role(node) != EDDY__ROLE_MERGE ||
        s->b->analysis->node_frame[v] != s->loop)
        return false;
    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (eddy__node_role(node_of(s, node->inputs[i].node)) ==
            EDDY__ROLE_NEXT_ITERATION)
            return true;
    return false;
}

static eddy_status find_carried(saving *s)
{
    uint32_t n_enters = 0, n_nexts = 0;

    for (eddy_node v = 0; v < s->graph->n_nodes; v++) {
        if (!is_selected(s, v))
            continue;
        n_enters += is_entry(s, v) && !is_constant_entry(s, v);
        n_nexts +=
            eddy__node_role(node_of(s, v)) == EDDY__ROLE_NEXT_ITERATION &&
            s->b->analysis->node_frame[v] == s->loop;
        if (is_loop_merge(s, v))
            EDDY_TRY(read_merge(s, v));
    }
    if (n_enters != s->n || n_nexts != s->n)
        return eddy__fail(s->b->err, EDDY_UNIMPLEMENTED, EDDY_E_CHECKPOINT,
                          "the loop '%.200s' can't be saved: its Enters, "
                          "Merges and NextIterations are no triples",
                          s->b->analysis->frames[s->loop].name);
    return EDDY_OK;
}

/* ---- variables and generators ---- */

static eddy_string text_of(const eddy__node *node, const char *name)
{
    const eddy_attr *attr = eddy__node_attr(node, name);

    return attr ? attr->as.strings[0] : (eddy_string){"", 0};
}

/* As the op names its state: CONTAINER:SHARED_NAME, or the node's name. */
static const char *name_shared(const saving *s, const eddy__node *node)
{
    const eddy_string container = text_of(node, "container");
    eddy_string name = text_of(node, "shared_name");

    if (name.length == 0)
        name = (eddy_string){node->name, strlen(node->name)};
    return eddy__names_print(
        &s->b->plan->arena, "%.*s%s%.*s", (int)container.length, container.data,
        container.length > 0 ? ":" : "", (int)name.length, name.data);
}

static const char *name_generator(const saving *s, const eddy__node *node)
{
    const size_t size = strlen(node->name) + EDDY__GENERATOR_KEY_ROOM;
    char *key = eddy__arena_allocate(&s->b->plan->arena, size, 1);

    if (key)
        eddy__generator_key(key, size, node->name, eddy__node_int(node, "seed"),
                            eddy__node_int(node, "seed2"));
    return key;
}

static bool is_random(const eddy__node *node)
{
    const eddy_attr *seed = eddy__node_attr(node, "seed");
    const eddy_attr *seed2 = eddy__node_attr(node, "seed2");

    return node->op && node->op->flags & EDDY_OP_STATEFUL && seed && seed2 &&
           seed->kind == EDDY_ATTR_INT && seed2->kind == EDDY_ATTR_INT;
}

static eddy_status add_text(const saving *s, const char **texts, size_t *n,
                            const char *text)
{
    size_t i = 0;

    if (!text)
        return eddy__fail_memory(s->b->err);
    while (i < *n && strcmp(texts[i], text) != 0)
        i++;
    if (i == *n)
        texts[(*n)++] = text;
    return EDDY_OK;
}

static eddy_status find_states(const saving *s)
{
    eddy__plan_saving *out = s->out;

    for (eddy_node v = 0; v < s->graph->n_nodes; v++) {
        const eddy__node *node = node_of(s, v);

        if (!is_selected(s, v))
            continue;
        if (eddy__saving_is_variable(node))
            EDDY_TRY(add_text(s, out->variables, &out->n_variables,
                              name_shared(s, node)));
        if (is_random(node))
            EDDY_TRY(add_text(s, out->generators, &out->n_generators,
                              name_generator(s, node)));
    }
    return EDDY_OK;
}

/* What the loop changes besides: by the node that makes it, or by its name. */
static eddy_status name_makers(const saving *s)
{
    eddy__plan_saving *out = s->out;

    for (size_t i = 0; i < s->state.n_makers; i++) {
        const eddy__node *node = node_of(s, s->state.makers[i]);
        const char *name = node->name;

        if (eddy__saving_is_shared(node))
            EDDY_TRY(
                add_text(s, out->shared, &out->n_shared, name_shared(s, node)));
        else
            EDDY_TRY(add_text(
                s, out->makers, &out->n_makers,
                eddy__arena_text(&s->b->plan->arena, name, strlen(name))));
    }
    return EDDY_OK;
}

/* ---- which loop it is ---- */

static uint64_t mix(uint64_t hash, uint64_t number)
{
    return (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
}

/*
 * Of the names, ops, dtypes and edges of the loop's nodes: constants may be
 * others, such as a limit of trips.
 */
static uint64_t hash_loop(const saving *s)
{
    uint64_t hash = 0;

    for (eddy_node v = 0; v < s->graph->n_nodes; v++) {
        const eddy__node *node = node_of(s, v);

        if (!is_selected(s, v) || !s->is_in[s->b->analysis->node_frame[v]])
            continue;
        hash = mix(hash, eddy__carrier_edge_hash(node->name));
        hash = mix(hash, eddy__carrier_edge_hash(node->op_name));
        for (uint32_t i = 0; i < node->n_outputs; i++)
            hash = mix(hash, node->output_dtypes[i]);
        for (uint32_t i = 0; i < node->n_inputs; i++) {
            const eddy_output from = node->inputs[i];

            hash =
                mix(hash, eddy__carrier_edge_hash(node_of(s, from.node)->name));
            hash = mix(hash, from.index);
        }
    }
    return hash;
}

/* Is the newest checkpoint of this loop? */
static eddy_status check_hash(const saving *s, const char *prefix)
{
    const eddy_allocator *allocator = &s->b->budget->allocator;
    const eddy_string text = {prefix, strlen(prefix)};
    const eddy_shape scalar = {.rank = 0};
    const eddy__bundle_entry *entry;
    eddy_tensor *tensor = NULL;
    eddy_status status;
    eddy__bundle bundle;

    EDDY_TRY(eddy__bundle_open(allocator, text, &bundle, s->b->err));
    entry = eddy__bundle_find(
        &bundle, (eddy_string){EDDY__SAVED_LOOP, strlen(EDDY__SAVED_LOOP)});
    status = EDDY_OK;
    if (!entry || entry->size != sizeof(uint64_t))
        status = eddy__fail(s->b->err, EDDY_DATA_LOSS, EDDY_E_TENSOR_DATA,
                            "'%.200s' is no checkpoint of a loop", prefix);
    if (status == EDDY_OK)
        status = eddy_tensor_create(s->graph->ctx, EDDY_INT64, &scalar, &tensor,
                                    s->b->err);
    if (status == EDDY_OK)
        status = eddy__bundle_read(&bundle, entry, tensor, s->b->err);
    if (status == EDDY_OK &&
        *(const uint64_t *)eddy_tensor_data(tensor) != s->out->hash)
        status =
            eddy__fail(s->b->err, EDDY_FAILED_PRECONDITION, EDDY_E_CHECKPOINT,
                       "'%.200s' is a checkpoint of another loop, or of "
                       "one that was cut otherwise",
                       prefix);
    eddy_tensor_release(tensor);
    eddy__bundle_close(&bundle);
    return status;
}

/* ---- _Resume ---- */

/* Once each, what the loop's Enters wait for besides the values it carries. */
static eddy_status find_awaited(const saving *s, eddy_node **out, size_t *out_n)
{
    eddy__arena *scratch = &s->b->scratch;
    const size_t n = s->graph->n_nodes;
    eddy_node *nodes = eddy__arena_allocate(scratch, n, sizeof *nodes);
    uint8_t *is_there = eddy__arena_allocate_zeroed(scratch, n, 1);

    if (!nodes || !is_there)
        return eddy__fail_memory(s->b->err);
    *out_n = 0;
    for (eddy_node v = 0; v < n; v++) {
        const eddy__node *node = node_of(s, v);

        if (!is_selected(s, v) || !is_entry(s, v))
            continue;
        /* What is fed is there, and its node does not run. */
        if (is_constant_entry(s, v) &&
            eddy__selection_feed_of(s->b->selection, node->inputs[0]) ==
                EDDY__NOT_FOUND)
            is_there[node->inputs[0].node] = 1;
        for (uint32_t i = 0; i < node->n_controls; i++)
            is_there[node->controls[i]] = 1;
    }
    for (eddy_node v = 0; v < n; v++)
        if (is_there[v])
            nodes[(*out_n)++] = v;
    *out = nodes;
    return EDDY_OK;
}

static eddy_status add(const saving *s, eddy_graph *copy, const char *op,
                       eddy_node_spec *spec, eddy_node *out)
{
    const eddy__names names = eddy__names_of_nodes(copy);
    const eddy__add_options options = {.strict = false};

    spec->size = sizeof *spec;
    spec->op = op;
    spec->name =
        eddy__names_free(&names, &copy->arena, op + (*op == '_'), NULL);
    if (!spec->name)
        return eddy__fail_memory(s->b->err);
    return eddy__graph_add(copy, spec, &options, out, s->b->err);
}

/* What _Resume gives, in the order of s->enter; it has handles, too. */
typedef struct restored {
    eddy_output *values; /* and handles */
    eddy_string *names, *makers;
    eddy_dtype *dtypes;
    eddy_shape *shapes;
} restored;

static eddy_status describe(const saving *s, restored *r)
{
    eddy__arena *scratch = &s->b->scratch;
    const eddy__saving_state *state = &s->state;

    r->values = eddy__arena_allocate(scratch, s->n + state->n_makers,
                                     sizeof *r->values);
    r->makers =
        eddy__arena_allocate(scratch, state->n_makers, sizeof *r->makers);
    r->names = eddy__arena_allocate(scratch, s->n, sizeof *r->names);
    r->dtypes = eddy__arena_allocate(scratch, s->n, sizeof *r->dtypes);
    r->shapes = eddy__arena_allocate(scratch, s->n, sizeof *r->shapes);
    if (!r->values || !r->names || !r->makers || !r->dtypes || !r->shapes)
        return eddy__fail_memory(s->b->err);
    for (uint32_t i = 0; i < s->n; i++) {
        const char *name = eddy__names_print(scratch, EDDY__SAVED_NEXT "%s",
                                             node_of(s, s->next[i])->name);

        if (!name)
            return eddy__fail_memory(s->b->err);
        r->values[i] = node_of(s, s->enter[i])->inputs[0];
        r->names[i] = (eddy_string){name, strlen(name)};
        r->dtypes[i] =
            (eddy_dtype)node_of(s, s->merge[i].node)->output_dtypes[0];
        r->shapes[i] = *eddy__shape_at(&s->b->shapes, s->merge[i]);
    }
    for (size_t i = 0; i < state->n_makers; i++) {
        const char *name = node_of(s, state->makers[i])->name;

        r->values[s->n + i] = (eddy_output){state->makers[i], 0};
        r->makers[i] = (eddy_string){name, strlen(name)};
    }
    return EDDY_OK;
}

static eddy_status add_resume(const saving *s, eddy_graph *copy,
                              const char *prefix)
{
    const eddy_string text = {prefix, strlen(prefix)};
    const int64_t n_handles = (int64_t)s->state.n_makers;
    eddy_node *awaited = NULL, trigger = EDDY_NO_NODE, resume = EDDY_NO_NODE;
    eddy_node_spec spec = {.size = sizeof spec};
    restored r;

    EDDY_TRY(find_awaited(s, &awaited, &spec.n_controls));
    EDDY_TRY(describe(s, &r));
    spec.controls = awaited;
    EDDY_TRY(add(s, copy, "ControlTrigger", &spec, &trigger));
    {
        const eddy_attr attrs[] = {
            {"T", EDDY_ATTR_TYPE, true, s->n, {.types = r.dtypes}},
            {"shapes", EDDY_ATTR_SHAPE, true, s->n, {.shapes = r.shapes}},
            {"names", EDDY_ATTR_STRING, true, s->n, {.strings = r.names}},
            {"makers",
             EDDY_ATTR_STRING,
             true,
             s->state.n_makers,
             {.strings = r.makers}},
            eddy_attr_int("N", &n_handles),
            eddy_attr_string("prefix", &text)};

        spec = (eddy_node_spec){.inputs = r.values,
                                .n_inputs = s->n + s->state.n_makers,
                                .controls = &trigger,
                                .n_controls = 1,
                                .attrs = attrs,
                                .n_attrs = sizeof attrs / sizeof *attrs};
        EDDY_TRY(add(s, copy, "_Resume", &spec, &resume));
    }
    for (uint32_t i = 0; i < s->n; i++)
        eddy__edit_input(copy, s->enter[i], 0, (eddy_output){resume, i});
    return EDDY_OK;
}

static eddy_status resume(const saving *s, eddy_graph **out_graph)
{
    char prefix[EDDY__SAVED_ROOM];
    eddy_graph *copy = NULL;
    eddy_status status;

    eddy__saved_prefix(&s->out->place, s->out->place.part, s->out->first,
                       prefix);
    EDDY_TRY(check_hash(s, prefix));
    EDDY_TRY(eddy__graph_clone(s->graph, s->b->budget, &copy, s->b->err));
    status = add_resume(s, copy, prefix);
    if (status == EDDY_OK)
        *out_graph = copy;
    else
        eddy_graph_destroy(copy);
    return status;
}

/* ---- the pass ---- */

static eddy_status read_options(eddy__plan_build *b, eddy_checkpoint *to)
{
    const eddy_checkpoint *from = b->asked->checkpoint;

    EDDY_REFUSE_IF(from->size == 0 || from->size > sizeof *to, b->err,
                   "the options of checkpoints have the wrong size");
    memcpy(to, from, from->size);
    EDDY_REFUSE_IF(!to->folder || to->folder[0] == '\0' ||
                       strlen(to->folder) > EDDY__SAVED_MOST_FOLDER,
                   b->err, "no folder for checkpoints, or too long a name");
    EDDY_REFUSE_IF(to->every < 0, b->err, "checkpoints every %lld trips",
                   (long long)to->every);
    EDDY_REFUSE_IF(to->n_parts > 0 && to->part >= to->n_parts, b->err,
                   "part %u of %u", (unsigned)to->part, (unsigned)to->n_parts);
    return EDDY_OK;
}

static eddy_status begin(saving *s, const eddy_checkpoint *how)
{
    eddy__arena *arena = &s->b->plan->arena;
    eddy__arena *scratch = &s->b->scratch;
    const size_t n = s->graph->n_nodes;
    eddy__plan_saving *out = eddy__arena_allocate_zeroed(arena, 1, sizeof *out);

    assert(how->folder); /* read_options */
    s->is_in =
        eddy__arena_allocate_zeroed(scratch, s->b->analysis->n_frames, 1);
    s->enter = eddy__arena_allocate_zeroed(scratch, n, sizeof *s->enter);
    s->next = eddy__arena_allocate_zeroed(scratch, n, sizeof *s->next);
    s->merge = eddy__arena_allocate_zeroed(scratch, n, sizeof *s->merge);
    if (!out || !s->is_in || !s->enter || !s->next || !s->merge)
        return eddy__fail_memory(s->b->err);
    s->out = out;
    out->every = how->every;
    out->place = (eddy__saved_place){
        .folder = eddy__arena_text(arena, how->folder, strlen(how->folder)),
        .part = how->part,
        .n_parts = how->n_parts > 0 ? how->n_parts : 1};
    out->variables = eddy__arena_allocate(arena, n, sizeof *out->variables);
    out->generators = eddy__arena_allocate(arena, n, sizeof *out->generators);
    out->makers = eddy__arena_allocate(arena, n, sizeof *out->makers);
    out->shared = eddy__arena_allocate(arena, n, sizeof *out->shared);
    if (!out->place.folder || !out->variables || !out->generators ||
        !out->makers || !out->shared)
        return eddy__fail_memory(s->b->err);
    return EDDY_OK;
}

/* What is newer than the trip that is gone on from is of no use any more. */
static eddy_status look(const saving *s, bool resumes)
{
    eddy__plan_saving *out = s->out;
    int64_t trip;

    EDDY_TRY(eddy__saved_find(&out->place, &trip, s->b->err));
    if (trip >= 0 && !resumes)
        return eddy__fail(s->b->err, EDDY_FAILED_PRECONDITION,
                          EDDY_E_CHECKPOINT,
                          "there is a checkpoint in %.200s already, of trip "
                          "%lld: go on from it, or remove it",
                          out->place.folder, (long long)trip);
    out->first = trip > 0 ? trip : 0;
    eddy__saved_drop(&out->place, 0, out->first);
    return EDDY_OK;
}

eddy_status eddy__plan_save_loop(eddy__plan_build *b, eddy_graph **out_graph)
{
    saving s = {.b = b, .graph = b->selection->graph};
    eddy_checkpoint how = {.size = sizeof how};

    *out_graph = NULL;
    if (!b->asked->checkpoint)
        return EDDY_OK;
    EDDY_TRY(read_options(b, &how));
    EDDY_TRY(begin(&s, &how));
    assert(s.out);
    EDDY_TRY(find_loop(&s, how.loop));
    s.out->loop =
        eddy__arena_text(&b->plan->arena, b->analysis->frames[s.loop].name,
                         strlen(b->analysis->frames[s.loop].name));
    if (!s.out->loop)
        return eddy__fail_memory(b->err);
    EDDY_TRY(find_carried(&s));
    s.state = (eddy__saving_state){
        .build = b, .scratch = &b->scratch, .loop = s.loop, .is_in = s.is_in};
    EDDY_TRY(eddy__saving_state_find(&s.state));
    EDDY_TRY(find_states(&s));
    EDDY_TRY(name_makers(&s));
    s.out->hash = hash_loop(&s);
    EDDY_TRY(look(&s, how.resume));
    b->plan->saving = s.out;
    return s.out->first > 0 ? resume(&s, out_graph) : EDDY_OK;
}
