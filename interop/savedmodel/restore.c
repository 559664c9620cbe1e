/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of a SavedModel: TensorFlow has put nodes into the graph that read
 * the files and assign, and says which one is to be run and what tells it where
 * the files are.  So they are run, and nothing here knows what a variable is.
 */
#include "interop/savedmodel/model.h"

#include "core/base/status.h"
#include "eddy/plan.h"
#include "eddy/run.h"
#include "eddy/session.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A node by its name, or by that of one of its outputs. */
static eddy_status find_node(const eddy_graph *graph, const char *name,
                             eddy_node *out_node, eddy_error *err)
{
    eddy_output output;

    *out_node = eddy_graph_find(graph, name);
    if (*out_node != EDDY_NO_NODE)
        return EDDY_OK;
    EDDY_TRY(eddy_graph_find_output(graph, name, &output, err));
    *out_node = output.node;
    return EDDY_OK;
}

/* Runs a node in the session, fed with `value` unless that is NULL. */
static eddy_status run_target(const eddy_savedmodel *model, const char *target,
                              eddy_tensor *value, eddy_session *session,
                              const eddy_limits *limits, eddy_error *err)
{
    const eddy_run_options how = {.size = sizeof how, .session = session};
    eddy_plan_options options = {.size = sizeof options, .limits = limits};
    eddy_plan *plan = NULL;
    eddy_output feed;
    eddy_node node;
    eddy_status status;

    EDDY_TRY(find_node(model->graph, target, &node, err));
    options.targets = &node;
    options.n_targets = 1;
    if (value) {
        EDDY_TRY(
            eddy_graph_find_output(model->graph, model->filename, &feed, err));
        options.feeds = &feed;
        options.n_feeds = 1;
    }
    EDDY_TRY(eddy_plan_create(model->graph, &options, &plan, err));
    status = eddy_plan_run(plan, &how, &value, NULL, err);
    eddy_plan_release(plan);
    return status;
}

static bool has_variables(const eddy_savedmodel *model)
{
    char path[4096];
    struct stat info;
    const int n = snprintf(path, sizeof path, "%s.index", model->variables);

    return model->restore[0] != '\0' && n > 0 && (size_t)n < sizeof path &&
           stat(path, &info) == 0;
}

static eddy_status restore(const eddy_savedmodel *model, eddy_session *session,
                           const eddy_limits *limits, eddy_error *err)
{
    const eddy_shape scalar = {.rank = 0};
    const eddy_string text = {model->variables, strlen(model->variables)};
    eddy_tensor *prefix = NULL;
    eddy_status status;

    EDDY_TRY(
        eddy_tensor_from_strings(model->ctx, &scalar, &text, 1, &prefix, err));
    status = run_target(model, model->restore, prefix, session, limits, err);
    eddy_tensor_release(prefix);
    return status;
}

/* ---- variables that are saved as copies ---- */

/* What the nodes of a variable are called in a session. */
#define MAX_NAME 1024

static bool is_op(const eddy_graph *graph, eddy_node node, const char *op)
{
    const char *found = eddy_graph_node_op(graph, node);

    return found && strcmp(found, op) == 0;
}

static bool name_of(const eddy_graph *graph, eddy_node node, char *out_name)
{
    eddy_string text = {.data = eddy_graph_node_name(graph, node)};
    eddy_attr shared;
    int n;

    text.length = strlen(text.data);
    if (eddy_graph_node_attr(graph, node, "shared_name", &shared) &&
        shared.kind == EDDY_ATTR_STRING && shared.n == 1 &&
        shared.as.strings[0].length > 0)
        text = shared.as.strings[0];
    n = text.length < MAX_NAME
            ? snprintf(out_name, MAX_NAME, "%.*s", (int)text.length, text.data)
            : -1;
    return n > 0;
}

/*
 * True if `node` is "V/Assign", which began V with the value of another
 * variable: V = X.  TensorFlow has such pairs for variables that a function
 * made: V is what is saved and restored, X is what the signatures read.
 */
static bool is_copy(const eddy_graph *graph, eddy_node node, eddy_node *out_v,
                    eddy_node *out_x)
{
    const char *name = eddy_graph_node_name(graph, node), *v;
    const eddy_output *in;
    size_t n = 0, length;

    if (!is_op(graph, node, "AssignVariableOp"))
        return false;
    in = eddy_graph_node_inputs(graph, node, &n);
    if (n != 2 || !is_op(graph, in[0].node, "VarHandleOp") ||
        !is_op(graph, in[1].node, "ReadVariableOp"))
        return false;
    v = eddy_graph_node_name(graph, in[0].node);
    length = strlen(v);
    if (strncmp(name, v, length) != 0 || strcmp(name + length, "/Assign") != 0)
        return false;
    *out_v = in[0].node;
    in = eddy_graph_node_inputs(graph, in[1].node, &n);
    *out_x = n == 1 ? in[0].node : *out_v;
    return *out_x != *out_v && is_op(graph, *out_x, "VarHandleOp");
}

/* Gives X what V has, unless X has a value or V has none. */
static eddy_status give_back(const eddy_graph *graph, eddy_node v, eddy_node x,
                             eddy_session *session, eddy_error *err)
{
    char from[MAX_NAME], to[MAX_NAME];
    eddy_tensor *value = NULL;
    eddy_error why = EDDY_ERROR_INIT;
    eddy_status status;

    if (!name_of(graph, v, from) || !name_of(graph, x, to))
        return EDDY_OK;
    status = eddy_session_get_variable(session, to, &value, &why);
    if (status == EDDY_NOT_FOUND) {
        status = eddy_session_get_variable(session, from, &value, &why);
        if (status == EDDY_OK)
            status = eddy_session_set_variable(session, to, value, &why);
    }
    eddy_tensor_release(value);
    if (status == EDDY_OK || status == EDDY_NOT_FOUND)
        return EDDY_OK;
    if (err)
        *err = why;
    return status;
}

static eddy_status give_back_all(const eddy_graph *graph, eddy_session *session,
                                 eddy_error *err)
{
    const size_t n = eddy_graph_size(graph);
    eddy_node v, x;

    for (size_t i = 0; i < n; i++)
        if (is_copy(graph, (eddy_node)i, &v, &x))
            EDDY_TRY(give_back(graph, v, x, session, err));
    return EDDY_OK;
}

eddy_status eddy_savedmodel_restore(const eddy_savedmodel *model,
                                    eddy_session *session,
                                    const eddy_limits *limits, eddy_error *err)
{
    EDDY_REFUSE_IF(!model, err, "no model");
    EDDY_REFUSE_IF(!session, err, "no session");
    if (has_variables(model)) {
        EDDY_TRY(restore(model, session, limits, err));
        EDDY_TRY(give_back_all(model->graph, session, err));
    }
    if (model->initial[0] == '\0')
        return EDDY_OK;
    return run_target(model, model->initial, NULL, session, limits, err);
}
