/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first pass of lowering: from the root inwards, instances of routines and
 * the calls in them.
 */
#include "core/base/status.h"
#include "frames/lower/functional.h"
#include "frames/lower/lowering.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* What is still to do: enter an instance, or leave it. */
typedef struct task {
    eddy__instance *instance;
    bool is_leaving;
} task;

typedef struct tasks {
    task *items;
    size_t n, capacity;
} tasks;

/* ---- calls ---- */

/*
 * In the root a call leaves a node of its name, for fetches and targets.  It
 * reads what the call gives.
 */
static eddy_status add_stand_in(eddy__lowering *l, eddy__call *call)
{
    const eddy_attr list = {.name = "T",
                            .kind = EDDY_ATTR_TYPE,
                            .is_list = true,
                            .n = call->n_out,
                            .as.types = call->out};
    const char *ops[] = {"NoOp", "Identity", "IdentityN"};
    eddy_attr attr = call->n_out == 1 ? eddy_attr_type("T", call->out) : list;
    const eddy__make make = {
        .op = ops[call->n_out < 2 ? call->n_out : 2],
        .name = call->name,
        .attrs = &attr,
        .n_attrs = call->n_out > 0,
        .n_inputs = call->n_out,
    };

    EDDY_TRY(eddy__lower_make(l, &make, &call->stand_in));
    call->host->made[call->node] = call->stand_in;
    for (uint32_t i = 0; i < call->n_out; i++)
        EDDY_TRY(eddy__lower_input(l, call->stand_in, i,
                                   (eddy__ref){call->host, {call->node, i}}));
    return call->n_out == 0
               ? eddy__lower_control(l, call->stand_in, call->host, call->node)
               : EDDY_OK;
}

static eddy_status lower_call(eddy__lowering *l, eddy__call *call)
{
    switch (call->role) {
    case EDDY__ROLE_WHILE:
        return eddy__call_is_for(call) ? eddy__lower_for(l, call)
                                       : eddy__lower_while(l, call);
    case EDDY__ROLE_BRANCH:
        return eddy__lower_branch(l, call);
    default:
        return eddy__lower_plain_call(l, call);
    }
}

/* Does TensorFlow inline the call, so that what nobody needs is pruned? */
static bool is_inlined(const eddy__call *call)
{
    const eddy_attr *attr =
        eddy__node_attr(eddy__call_node(call), "_lower_using_switch_merge");

    return call->role != EDDY__ROLE_CALL &&
           call->host->keeping != EDDY__KEEP_ALL && attr &&
           attr->kind == EDDY_ATTR_BOOL && attr->n == 1 && attr->as.bools[0];
}

static eddy_status make_call(eddy__lowering *l, eddy__instance *host,
                             eddy_node node, eddy__call **out_call)
{
    const eddy__node *from = eddy__graph_node(host->routine->graph, node);
    eddy__call *call = eddy__arena_allocate_zeroed(&l->arena, 1, sizeof *call);
    const size_t length = strlen(host->scope) + strlen(from->name) + 2;
    char *name = eddy__arena_allocate(&l->arena, length, 1);

    if (!call || !name ||
        !eddy__grow(l->arena.allocator, (void **)&l->calls, &l->calls_capacity,
                    l->n_calls + 1, sizeof(eddy__call *)))
        return eddy__fail_memory(l->err);
    (void)snprintf(name, length, "%s%s%s", host->scope, *host->scope ? "/" : "",
                   from->name);
    call->role = eddy__functional_role(l->graph, from);
    call->host = host;
    call->node = node;
    call->name = name;
    call->is_inlined = is_inlined(call);
    call->gate = call->stand_in = call->loop_cond = call->done = EDDY_NO_NODE;
    l->calls[l->n_calls++] = call;
    *out_call = call;
    return EDDY_OK;
}

/* ---- instances ---- */

/* "a -> b -> a": from `routine` down to `last`, and around. */
static eddy_status fail_recursion(const eddy__lowering *l,
                                  const eddy__instance *last)
{
    const eddy__routine *routine = last->routine;
    const eddy__instance *in = last;
    char way[400];
    size_t at = sizeof way - 1;

    way[at] = '\0';
    do {
        const char *name = in->routine->name;
        size_t length = strlen(name);

        if (length + 16 > at) {
            at -= 7;
            memcpy(way + at, " -> ...", 7);
            break;
        }
        at -= length;
        memcpy(way + at, name, length);
        at -= 4;
        memcpy(way + at, " -> ", 4);
        assert(in->call); /* The root is nobody's part. */
        in = in->call->host;
    } while (in->routine != routine);
    return eddy__lower_fail(l, last->call, EDDY_INVALID_ARGUMENT,
                            EDDY_E_RECURSION,
                            "function '%.64s' calls itself: %.64s%s",
                            routine->name, routine->name, way + at);
}

static eddy_status check_depth(const eddy__lowering *l,
                               const eddy__instance *in)
{
    if (in->routine->is_open)
        return fail_recursion(l, in);
    if (in->depth <= EDDY__MAX_CALL_DEPTH)
        return EDDY_OK;
    return eddy__lower_fail(
        l, in->call, EDDY_RESOURCE_EXHAUSTED, EDDY_E_TOO_DEEP,
        "functions call each other more than %d deep", EDDY__MAX_CALL_DEPTH);
}

static void await(eddy__instance *in, eddy_node node)
{
    if (in->routine->kind[node] == EDDY__CALLED)
        in->calls[in->routine->number[node]]->is_awaited = true;
}

/* Which calls does something in the instance wait for? */
static void mark_awaited(eddy__instance *in)
{
    const eddy__routine *r = in->routine;

    for (size_t i = 0; r->function && i < r->function->n_control_results; i++)
        await(in, r->function->control_results[i]);
    for (eddy_node id = 0; r->n_calls > 0 && id < r->graph->n_nodes; id++) {
        const eddy__node *node = eddy__graph_node(r->graph, id);

        if (r->kind[id] == EDDY__DROPPED)
            continue;
        for (uint32_t i = 0; i < node->n_controls; i++)
            await(in, node->controls[i]);
    }
}

/* Likewise of the root's, what is fetched or a target. */
static void mark_asked(const eddy__lowering *l, eddy__instance *root)
{
    const eddy__lower_request *request = l->request;

    for (size_t i = 0; i < request->n_fetches; i++)
        if (eddy__selection_feed_of(request->selection, request->fetches[i]) ==
            EDDY__NOT_FOUND)
            await(root, request->fetches[i].node);
    for (size_t i = 0; i < request->n_targets; i++)
        await(root, request->targets[i]);
}

static eddy_status push(const eddy__lowering *l, tasks *t, task item)
{
    if (!eddy__grow(l->arena.allocator, (void **)&t->items, &t->capacity,
                    t->n + 1, sizeof *t->items))
        return eddy__fail_memory(l->err);
    t->items[t->n++] = item;
    return EDDY_OK;
}

/* All parts are entered, the first one first, before the instance is left. */
static eddy_status push_parts(const eddy__lowering *l, tasks *t,
                              eddy__instance *in)
{
    EDDY_TRY(push(l, t, (task){in, true}));
    for (uint32_t i = in->routine->n_calls; i-- > 0;)
        for (size_t k = in->calls[i]->n_parts; k-- > 0;)
            EDDY_TRY(push(l, t, (task){in->calls[i]->parts[k], false}));
    return EDDY_OK;
}

static eddy_status enter(eddy__lowering *l, tasks *t, eddy__instance *in)
{
    const eddy__routine *r = in->routine;

    EDDY_TRY(check_depth(l, in));
    in->routine->is_open = true;
    EDDY_TRY(eddy__lower_copy(l, in));
    for (uint32_t i = 0; i < r->n_calls; i++)
        EDDY_TRY(make_call(l, in, r->calls[i], &in->calls[i]));
    for (uint32_t i = 0; i < r->n_calls; i++)
        EDDY_TRY(eddy__lower_parse(l, in->calls[i]));
    for (uint32_t i = 0; !in->call && i < r->n_calls; i++)
        EDDY_TRY(add_stand_in(l, in->calls[i]));
    for (uint32_t i = 0; i < r->n_calls; i++)
        EDDY_TRY(lower_call(l, in->calls[i]));
    mark_awaited(in);
    if (!in->call)
        mark_asked(l, in);
    return push_parts(l, t, in);
}

static eddy_status expand(eddy__lowering *l, tasks *t)
{
    eddy__instance *root = NULL;

    EDDY_TRY(eddy__routine_root(l));
    EDDY_TRY(eddy__lower_count(l));
    EDDY_TRY(eddy__lower_add_instance(l, NULL, "", &l->root, &root));
    assert(root);
    root->guard = EDDY__GUARD_KNOWN;
    EDDY_TRY(push(l, t, (task){root, false}));
    while (t->n > 0) {
        const task next = t->items[--t->n];

        if (next.is_leaving)
            next.instance->routine->is_open = false;
        else
            EDDY_TRY(enter(l, t, next.instance));
    }
    return EDDY_OK;
}

eddy_status eddy__lower_expand(eddy__lowering *l)
{
    tasks t = {.items = NULL};
    eddy_status status = expand(l, &t);

    eddy__free(l->arena.allocator, t.items, t.capacity, sizeof *t.items);
    return status;
}
