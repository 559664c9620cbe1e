/* SPDX-License-Identifier: Apache-2.0 */
/* The gradients that a recorded case expects: made, run and compared. */
#include "tools/recorded_case.h"

#include "tools/differentiate.h"
#include "tools/request.h"

#include "eddy/lower.h"

#include <stdlib.h>
#include <string.h>

/* One of them, while it is under way. */
typedef struct recorded_gradient {
    json_t *spec;
    const char *label;
    eddy_graph *graph; /* lowered, with the gradients */
    eddy_output *ys, *xs, *grad_ys, *stop;
    size_t n_ys, n_xs, n_stop;
    eddy_output *results; /* one an x */
    eddy__request request;
    eddy_plan *plan;
    eddy_run *run;
    eddy_error err;
} recorded_gradient;

static json_t *list_of(const recorded_gradient *r, const char *name)
{
    return json_object_get(r->spec, name);
}

static bool are_texts_or_null(const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);

        if (!json_is_string(item) && !json_is_null(item))
            return false;
    }
    return json_is_array(list);
}

static bool is_well_formed(const recorded_gradient *r)
{
    const json_t *grad_ys = list_of(r, "grad_ys");
    const json_t *stop = list_of(r, "stop_gradients");

    return eddy__case_json_are_texts(list_of(r, "ys")) &&
           eddy__case_json_are_texts(list_of(r, "xs")) &&
           eddy__case_json_are_named_texts(list_of(r, "feeds")) &&
           are_texts_or_null(list_of(r, "expect")) &&
           json_array_size(list_of(r, "expect")) ==
               json_array_size(list_of(r, "xs")) &&
           (grad_ys == NULL ||
            (are_texts_or_null(grad_ys) &&
             json_array_size(grad_ys) == json_array_size(list_of(r, "ys")))) &&
           (stop == NULL || eddy__case_json_are_texts(stop)) &&
           eddy__case_json_has_tolerances(r->spec) &&
           eddy__case_json_is_order(list_of(r, "order"));
}

/* The outputs that a list names; null is no output. */
static eddy_status look_up(recorded_gradient *r, const char *name,
                           eddy_output **out, size_t *out_n)
{
    const json_t *list = list_of(r, name);
    const size_t n = json_array_size(list);
    eddy_status status = EDDY_OK;

    *out_n = 0;
    *out = calloc(n + 1, sizeof **out);
    if (*out == NULL)
        return eddy__message_raise_memory(&r->err);
    for (size_t i = 0; i < n && status == EDDY_OK; i++) {
        const char *text = json_string_value(json_array_get(list, i));

        (*out)[i].node = EDDY_NO_NODE;
        if (text != NULL)
            status =
                eddy_graph_find_output(r->graph, text, &(*out)[i], &r->err);
    }
    *out_n = n;
    return status;
}

static eddy_status look_up_all(recorded_gradient *r)
{
    size_t n_grad_ys = 0;
    eddy_status status = look_up(r, "ys", &r->ys, &r->n_ys);

    if (status == EDDY_OK)
        status = look_up(r, "xs", &r->xs, &r->n_xs);
    if (status == EDDY_OK && list_of(r, "grad_ys") != NULL)
        status = look_up(r, "grad_ys", &r->grad_ys, &n_grad_ys);
    if (status == EDDY_OK)
        status = look_up(r, "stop_gradients", &r->stop, &r->n_stop);
    return status;
}

/*
 * TensorFlow gives zeros and not None for what a functional loop has among its
 * variables, though no y depends on it.  Where that is recorded the answer is
 * zeros too, so that it is compared.
 */
static eddy_status fill_in_zeros(recorded_gradient *r)
{
    eddy_status status = EDDY_OK;

    for (size_t i = 0; i < r->n_xs && status == EDDY_OK; i++) {
        const eddy_node_spec zeros = {.size = sizeof zeros,
                                      .op = "ZerosLike",
                                      .inputs = &r->xs[i],
                                      .n_inputs = 1};

        if (r->results[i].node == EDDY_NO_NODE &&
            json_is_string(json_array_get(list_of(r, "expect"), i)))
            status =
                eddy_graph_add(r->graph, &zeros, &r->results[i].node, &r->err);
    }
    return status;
}

static eddy_status differentiate(const eddy__recorded_case *c,
                                 recorded_gradient *r)
{
    const eddy__differentiation asked = {
        .ys = r->ys,
        .n_ys = r->n_ys,
        .xs = r->xs,
        .n_xs = r->n_xs,
        .grad_ys = r->grad_ys,
        .stop = r->stop,
        .n_stop = r->n_stop,
        .order = (uint64_t)json_integer_value(list_of(r, "order")),
        .options = c->options};
    eddy_status status;

    r->results = calloc(r->n_xs + 1, sizeof *r->results);
    if (r->results == NULL)
        return eddy__message_raise_memory(&r->err);
    status = eddy__differentiate(r->graph, &asked, r->results, &r->err);
    return status == EDDY_OK ? fill_in_zeros(r) : status;
}

static eddy_status load_feeds(const eddy__recorded_case *c,
                              recorded_gradient *r)
{
    json_t *feeds = list_of(r, "feeds");
    size_t n_results = 0, i = 0;
    eddy_status status;

    for (size_t x = 0; x < r->n_xs; x++)
        n_results += r->results[x].node != EDDY_NO_NODE;
    status = eddy__request_init(&r->request, json_object_size(feeds), n_results,
                                0, &r->err);
    for (void *at = json_object_iter(feeds); at != NULL && status == EDDY_OK;
         at = json_object_iter_next(feeds, at), i++) {
        status = eddy_graph_find_output(r->graph, json_object_iter_key(at),
                                        &r->request.feeds[i], &r->err);
        if (status == EDDY_OK)
            status = eddy__recorded_tensor(
                c, json_string_value(json_object_iter_value(at)),
                &r->request.values[i], &r->err);
    }
    n_results = 0;
    for (size_t x = 0; x < r->n_xs && status == EDDY_OK; x++)
        if (r->results[x].node != EDDY_NO_NODE)
            r->request.fetches[n_results++] = r->results[x];
    return status;
}

static eddy_status attempt(const eddy__recorded_case *c, recorded_gradient *r)
{
    const eddy_limits limits = eddy__options_limits(c->options);
    const eddy_lower_options how = {.size = sizeof how, .limits = &limits};
    eddy_status status = EDDY_OK;

    if (c->graph == NULL) {
        r->err = c->load_error;
        return r->err.code;
    }
    status = eddy_graph_lower(c->graph, &how, &r->graph, &r->err);
    if (status == EDDY_OK)
        status = look_up_all(r);
    if (status == EDDY_OK)
        status = differentiate(c, r);
    if (status == EDDY_OK)
        status = load_feeds(c, r);
    if (status == EDDY_OK)
        status = eddy__request_plan(&r->request, r->graph, c->options, &r->plan,
                                    &r->err);
    if (status == EDDY_OK)
        status = eddy__request_execute(&r->request, r->graph, r->plan,
                                       c->options, &r->run, &r->err);
    return status;
}

static bool judge(const eddy__recorded_case *c, const recorded_gradient *r)
{
    bool is_right = true;
    size_t n = 0;

    for (size_t i = 0; i < r->n_xs; i++) {
        const char *x = json_string_value(json_array_get(list_of(r, "xs"), i));
        const char *file =
            json_string_value(json_array_get(list_of(r, "expect"), i));
        const bool is_there = r->results[i].node != EDDY_NO_NODE;
        char label[256];

        snprintf(label, sizeof label, "%s: %s", r->label, x);
        if (is_there != (file != NULL)) {
            fprintf(c->report, "    %s: %s\n", label,
                    is_there ? "a gradient, want none"
                             : "no gradient, want one");
            is_right = false;
        } else if (is_there &&
                   !eddy__recorded_compare(c, label, eddy_run_fetch(r->run, n),
                                           file, r->spec)) {
            is_right = false;
        }
        n += is_there;
    }
    return is_right;
}

bool eddy__verify_gradient(const eddy__recorded_case *c, const char *label,
                           json_t *spec)
{
    recorded_gradient r = {.spec = spec, .label = label};
    bool is_right = false;

    if (!is_well_formed(&r)) {
        fprintf(c->report, "    %s: not as the format says\n", label);
        return false;
    }
    if (attempt(c, &r) == EDDY_OK) {
        is_right = judge(c, &r);
    } else {
        fprintf(c->report, "    %s: ", label);
        eddy__message_write_error(c->report, &r.err);
        fputc('\n', c->report);
    }
    eddy_run_destroy(r.run);
    eddy_plan_release(r.plan);
    eddy__request_deinit(&r.request);
    eddy_graph_destroy(r.graph);
    free(r.ys);
    free(r.xs);
    free(r.grad_ys);
    free(r.stop);
    free(r.results);
    return is_right;
}
