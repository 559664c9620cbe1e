/* SPDX-License-Identifier: Apache-2.0 */
/* What the specification of a recurrent network says, checked and looked up. */
#include "frontends/caffe2/caffe2.h"

#include "core/base/status.h"
#include "frames/build/builder.h"
#include "frontends/shared/net_copy.h"

#include <string.h>

/* ---- names ---- */

static bool is_same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

eddy_status eddy__recurrent_find(const eddy__recurrent *n, const char *name,
                                 eddy__joint *j, eddy_error *err)
{
    const eddy_caffe2_spec *spec = n->spec;

    for (j->external = 0; j->external < spec->n_inputs; j->external++)
        if (is_same(spec->inputs[j->external].name, name))
            return EDDY_OK;
    j->is_state = true;
    for (j->external = 0; j->external < spec->n_states; j->external++)
        if (is_same(spec->states[j->external].name, name))
            return EDDY_OK;
    return eddy__fail_node(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, name, NULL,
                           "'%.64s' has neither an input nor a state '%.64s'",
                           n->name, name);
}

/* ---- links ---- */

static eddy_status fail_link(const eddy__recurrent *n,
                             const eddy_caffe2_link *link, eddy_detail detail,
                             const char *problem, eddy_error *err)
{
    return eddy__fail_node(
        err, EDDY_INVALID_ARGUMENT, detail, link->internal, NULL,
        "the link of '%.64s' to '%.64s', offset %lld, window "
        "%zu, of '%.64s' %s",
        link->internal, link->external, (long long)link->offset, link->window,
        n->name, problem);
}

static eddy_status check_read(const eddy__recurrent *n,
                              const eddy_caffe2_link *link, eddy__joint *j,
                              eddy_error *err)
{
    const size_t rows = link->window > 0 ? link->window : 1;
    const size_t before =
        j->is_state ? eddy__caffe2_initial_rows(&n->spec->states[j->external])
                    : 0;
    const size_t most = j->is_state ? before + 1 : EDDY__MAX_AHEAD + 1;

    if (link->offset < 0 || (size_t)link->offset >= most ||
        rows > most - (size_t)link->offset)
        return fail_link(n, link, EDDY_E_INDEX,
                         j->is_state
                             ? "reads rows that no step has made by then"
                         : link->offset < 0 ? "reads rows before the step"
                                            : "reads rows too far ahead",
                         err);
    j->is_late = j->is_state && (size_t)link->offset + rows > before;
    return EDDY_OK;
}

static eddy_status check_write(eddy__recurrent *n, const eddy_caffe2_link *link,
                               const eddy__joint *j, eddy_error *err)
{
    if (!j->is_state)
        return fail_link(n, link, EDDY_E_ARGUMENT, "writes to an input", err);
    if (n->writes[j->external] != EDDY__NO_LINK)
        return fail_link(n, link, EDDY_E_ARGUMENT,
                         "is the second that writes to the state", err);
    if (link->window > 1 || link->offset < 0 ||
        (size_t)link->offset !=
            eddy__caffe2_initial_rows(&n->spec->states[j->external]))
        return fail_link(n, link, EDDY_E_INDEX,
                         "does not write the row behind those that there are",
                         err);
    n->writes[j->external] = (size_t)(link - n->spec->links);
    return EDDY_OK;
}

static eddy_status join_link(eddy__recurrent *n, size_t i, eddy_error *err)
{
    const eddy_caffe2_link *link = &n->spec->links[i];
    eddy__joint *j = &n->joints[i];

    EDDY_TRY(eddy_graph_find_output(n->net, link->internal, &j->internal, err));
    EDDY_TRY(eddy__recurrent_find(n, link->external, j, err));
    j->is_read = eddy__net_is_argument(n->net, j->internal.node);
    return j->is_read ? check_read(n, link, j, err)
                      : check_write(n, link, j, err);
}

static eddy_status join_links(eddy__recurrent *n, eddy_error *err)
{
    const eddy_caffe2_spec *spec = n->spec;

    n->joints = eddy__arena_allocate_zeroed(&n->arena, spec->n_links,
                                            sizeof *n->joints);
    n->writes = eddy__arena_allocate_zeroed(&n->arena, spec->n_states,
                                            sizeof *n->writes);
    if (!n->joints || !n->writes)
        return eddy__fail_memory(err);
    for (size_t i = 0; i < spec->n_states; i++)
        n->writes[i] = EDDY__NO_LINK;
    for (size_t i = 0; i < spec->n_links; i++)
        EDDY_TRY(join_link(n, i, err));
    for (size_t i = 0; i < spec->n_states; i++)
        if (n->writes[i] == EDDY__NO_LINK)
            return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,
                                   spec->states[i].name, NULL,
                                   "no link of '%.64s' writes to state '%.64s'",
                                   n->name, spec->states[i].name);
    return EDDY_OK;
}

static eddy_status find_timestep(eddy__recurrent *n, eddy_error *err)
{
    static const char usual[] = "timestep";
    const char *name = n->spec->timestep;
    eddy_dtype dtype;

    n->timestep = EDDY_NO_NODE;
    if (name)
        EDDY_TRY(eddy__net_find_argument(n->net, name, &n->timestep, err));
    else if (eddy_graph_find(n->net, usual) != EDDY_NO_NODE &&
             eddy__net_is_argument(n->net, eddy_graph_find(n->net, usual)))
        n->timestep = eddy_graph_find(n->net, usual);
    if (n->timestep == EDDY_NO_NODE)
        return EDDY_OK;
    dtype = eddy_graph_output_dtype(n->net, (eddy_output){n->timestep, 0});
    if (dtype == EDDY_INT32 || dtype == EDDY_INT64)
        return EDDY_OK;
    return eddy__graph_fail_at(
        err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_DTYPE,
        &n->net->nodes[n->timestep],
        "the number of the step of '%.64s' is %s, int32 or "
        "int64 is wanted",
        n->name, eddy_dtype_name(dtype));
}

eddy_status eddy__recurrent_join(eddy__recurrent *n, eddy_error *err)
{
    EDDY_TRY(join_links(n, err));
    return find_timestep(n, err);
}

/* ---- checks ---- */

static eddy_status fail_spec(const eddy__recurrent *n, const char *problem,
                             eddy_error *err)
{
    return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT, n->name,
                           NULL, "'%.64s' has %s", n->name, problem);
}

static eddy_status check_blobs(const eddy_graph *graph,
                               const eddy__recurrent *n, bool are_inputs,
                               const eddy_caffe2_blob *blobs, size_t count,
                               eddy_error *err)
{
    if (count > 0 && !blobs)
        return fail_spec(
            n, are_inputs ? "NULL for its inputs" : "NULL for its parameters",
            err);
    for (size_t i = 0; i < count; i++) {
        if (!blobs[i].name)
            return fail_spec(n,
                             are_inputs ? "an input without a name"
                                        : "a parameter without a name",
                             err);
        EDDY_TRY(eddy__builder_want_values(graph, &blobs[i].value, 1, err));
    }
    return EDDY_OK;
}

static eddy_status check_states(const eddy_graph *graph,
                                const eddy__recurrent *n, eddy_error *err)
{
    const eddy_caffe2_spec *spec = n->spec;

    if (spec->n_states == 0 || !spec->states)
        return fail_spec(n, "no states", err);
    for (size_t i = 0; i < spec->n_states; i++) {
        const eddy_caffe2_state *state = &spec->states[i];

        if (!state->name)
            return fail_spec(n, "a state without a name", err);
        if (state->n_initial > EDDY__MAX_PAST)
            return fail_spec(n, "a state with too many initial rows", err);
        if (state->n_initial > 0 && !state->initial)
            return fail_spec(
                n, "a state with a number of initial rows and none", err);
        if (state->initial)
            EDDY_TRY(eddy__builder_want_values(graph, state->initial, 1, err));
    }
    return EDDY_OK;
}

/* An initial value must have as many rows as is said. */
static eddy_status check_rows(eddy_graph *graph, const eddy__recurrent *n,
                              eddy_error *err)
{
    const eddy_emitter w = eddy_emitter_of(graph, err);

    for (size_t i = 0; i < n->spec->n_states; i++) {
        const eddy_caffe2_state *state = &n->spec->states[i];
        eddy_shape shape;

        if (state->n_initial == 0)
            continue;
        shape = eddy__writer_shape_of(&w, *state->initial);
        if (shape.rank == 0 || (shape.rank > 0 && shape.dims[0] >= 0 &&
                                (size_t)shape.dims[0] != state->n_initial))
            return eddy__graph_fail_at(err, EDDY_INVALID_ARGUMENT, EDDY_E_SHAPE,
                                       &graph->nodes[state->initial->node],
                                       "the initial value of state '%.64s' of "
                                       "'%.64s' does not have %zu rows",
                                       state->name, n->name, state->n_initial);
    }
    return EDDY_OK;
}

static eddy_status check_links(const eddy__recurrent *n, eddy_error *err)
{
    const eddy_caffe2_spec *spec = n->spec;

    if (spec->n_links > 0 && !spec->links)
        return fail_spec(n, "NULL for its links", err);
    if (spec->n_aliases > 0 && !spec->aliases)
        return fail_spec(n, "NULL for its aliases", err);
    for (size_t i = 0; i < spec->n_links; i++)
        if (!spec->links[i].internal || !spec->links[i].external)
            return fail_spec(n, "a link without a name", err);
    for (size_t i = 0; i < spec->n_aliases; i++) {
        eddy__joint j = {.is_state = false};

        if (!spec->aliases[i].src)
            return fail_spec(n, "an alias of nothing", err);
        if (spec->aliases[i].offset > INT32_MAX ||
            spec->aliases[i].offset < -INT32_MAX)
            return fail_spec(n, "an alias too far off", err);
        EDDY_TRY(eddy__recurrent_find(n, spec->aliases[i].src, &j, err));
        if (!j.is_state)
            return fail_spec(n, "an alias of an input", err);
    }
    for (size_t i = 0; i < spec->n_outputs_with_grads; i++)
        if (!spec->outputs_with_grads ||
            spec->outputs_with_grads[i] >= spec->n_aliases)
            return fail_spec(n, "gradients for an output that there is not",
                             err);
    return EDDY_OK;
}

static eddy_status check_net(const eddy_graph *graph, const eddy__recurrent *n,
                             eddy_error *err)
{
    const eddy_graph *net = n->spec->step_net;

    if (!net)
        return fail_spec(n, "no step net", err);
    if (net == graph)
        return fail_spec(n, "the graph itself as its step net", err);
    if (net->ctx != graph->ctx)
        return fail_spec(n, "a step net of another context", err);
    if (n->spec->parallel_iterations < 0)
        return eddy__fail_node(err, EDDY_INVALID_ARGUMENT,
                               EDDY_E_PARALLEL_ITERATIONS, n->name, NULL,
                               "parallel_iterations of '%.64s' is %lld, it "
                               "must be at least 1",
                               n->name,
                               (long long)n->spec->parallel_iterations);
    return eddy__graph_check_closed(net, err);
}

eddy_status eddy__recurrent_check(eddy_graph *graph, const eddy__recurrent *n,
                                  eddy_error *err)
{
    const eddy_caffe2_spec *spec = n->spec;

    EDDY_TRY(check_net(graph, n, err));
    EDDY_TRY(check_blobs(graph, n, true, spec->inputs, spec->n_inputs, err));
    EDDY_TRY(check_blobs(graph, n, false, spec->params, spec->n_params, err));
    EDDY_TRY(check_states(graph, n, err));
    EDDY_TRY(check_rows(graph, n, err));
    EDDY_TRY(check_links(n, err));
    if (spec->n_inputs > 0)
        return EDDY_OK;
    return eddy__fail_node(err, EDDY_INVALID_ARGUMENT, EDDY_E_INPUT_COUNT,
                           n->name, NULL,
                           "'%.64s' has no inputs, of which the first says how "
                           "many steps there are",
                           n->name);
}
