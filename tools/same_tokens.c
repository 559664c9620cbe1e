/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of two traces, compared as sets: a node has one token in an iteration
 * at most, so it is enough that each of one is found in the other, and that
 * there are as many.
 */
#include "tools/same_tokens.h"

#include "tools/message.h"

#include <stdlib.h>
#include <string.h>

/* A frame of `b`, by what it is found by. */
typedef struct entered {
    uint32_t static_frame, parent;
    int64_t iteration;
    uint32_t frame;
} entered;

typedef struct pair {
    eddy_trace *a, *b;
    uint32_t *node_of;  /* a node of `a`: that of `b` of its name, or NONE */
    uint32_t *frame_of; /* likewise of a frame, by its path */
    entered *frames;    /* of `b`, sorted */
    size_t n_frames;
    eddy_error *err;
} pair;

static eddy_status refuse(const pair *p, size_t i, const char *what)
{
    const eddy_trace_record *r = eddy_trace_record_at(p->a, i);
    char path[256];

    eddy_trace_path(p->a, r->frame, r->iteration, path, sizeof path);
    return eddy__message_raise(
        p->err, EDDY_INTERNAL, EDDY_E_NONE, "the token of '%s' in '%s' %s",
        eddy_trace_node_at(p->a, r->node)->name, path, what);
}

/* ---- frames ---- */

static int compare(const void *left, const void *right)
{
    const entered *x = left, *y = right;

    if (x->static_frame != y->static_frame)
        return x->static_frame < y->static_frame ? -1 : 1;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return x->iteration < y->iteration ? -1 : x->iteration > y->iteration;
}

static void list_frames(pair *p)
{
    for (uint32_t f = 1; f < eddy_trace_frames(p->b); f++) {
        const eddy_trace_frame *frame = eddy_trace_frame_at(p->b, f);

        if (frame->is_known)
            p->frames[p->n_frames++] =
                (entered){.static_frame = frame->static_frame,
                          .parent = frame->parent,
                          .iteration = frame->parent_iteration,
                          .frame = f};
    }
    qsort(p->frames, p->n_frames, sizeof *p->frames, compare);
}

/* The static frame of `b` that has the name of one of `a`. */
static uint32_t find_static(const pair *p, uint32_t id)
{
    const char *name = eddy_trace_static_frame_at(p->a, id)->name;
    const size_t n = eddy_trace_static_frames(p->b);
    uint32_t at = id; /* nearly always */

    for (size_t i = 0; i < n; i++, at++)
        if (strcmp(eddy_trace_static_frame_at(p->b, at % n)->name, name) == 0)
            return (uint32_t)(at % n);
    return EDDY_TRACE_NONE;
}

/* A frame has a greater number than the one that it was entered from. */
static void match_frames(pair *p)
{
    p->frame_of[0] = 0;
    for (uint32_t f = 1; f < eddy_trace_frames(p->a); f++) {
        const eddy_trace_frame *frame = eddy_trace_frame_at(p->a, f);
        const entered *found = NULL;
        entered wanted;

        p->frame_of[f] = EDDY_TRACE_NONE;
        if (!frame->is_known)
            continue;
        wanted = (entered){.static_frame = find_static(p, frame->static_frame),
                           .parent = p->frame_of[frame->parent],
                           .iteration = frame->parent_iteration};
        if (p->n_frames > 0)
            found = bsearch(&wanted, p->frames, p->n_frames, sizeof wanted,
                            compare);
        if (found)
            p->frame_of[f] = found->frame;
    }
}

static void match_nodes(pair *p)
{
    for (uint32_t i = 0; i < eddy_trace_nodes(p->a); i++) {
        const char *name = eddy_trace_node_at(p->a, i)->name;
        const eddy_trace_node *same = eddy_trace_node_at(p->b, i);

        p->node_of[i] = same && strcmp(same->name, name) == 0
                            ? i
                            : eddy_trace_find_node(p->b, name);
    }
}

/* ---- tokens ---- */

static bool same_shape(const eddy_shape *x, const eddy_shape *y)
{
    return x->rank == y->rank &&
           (x->rank <= 0 ||
            memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims) == 0);
}

static bool same_values(const pair *p, size_t i, size_t k)
{
    const uint16_t n = eddy_trace_record_at(p->a, i)->n_values;

    if (eddy_trace_record_at(p->b, k)->n_values != n)
        return false;
    for (uint16_t v = 0; v < n; v++) {
        const eddy_trace_value *x = eddy_trace_value_at(p->a, i, v);
        const eddy_trace_value *y = eddy_trace_value_at(p->b, k, v);

        if (x->dtype != y->dtype || x->count != y->count ||
            x->hash != y->hash || x->n_nan != y->n_nan ||
            x->n_infinite != y->n_infinite || !same_shape(&x->shape, &y->shape))
            return false;
    }
    return true;
}

static eddy_status check_token(const pair *p, size_t i)
{
    const eddy_trace_record *x = eddy_trace_record_at(p->a, i), *y;
    const size_t k = eddy_trace_find(p->b, p->node_of[x->node],
                                     p->frame_of[x->frame], x->iteration);

    if (k == EDDY_TRACE_NOT_FOUND)
        return refuse(p, i, "is not there");
    y = eddy_trace_record_at(p->b, k);
    if (x->state != y->state)
        return refuse(
            p, i, x->state == EDDY_TRACE_DEAD ? "is not dead" : "is not live");
    if (x->output != y->output)
        return refuse(p, i, "is of another output");
    if (x->n_nodes != y->n_nodes)
        return refuse(p, i, "stands for other nodes");
    return same_values(p, i, k) ? EDDY_OK : refuse(p, i, "has another value");
}

static eddy_status check_tokens(pair *p)
{
    const size_t n = eddy_trace_records(p->a);

    list_frames(p);
    match_frames(p);
    match_nodes(p);
    for (size_t i = 0; i < n; i++) {
        const eddy_status status = check_token(p, i);

        if (status != EDDY_OK)
            return status;
    }
    return eddy_trace_records(p->b) == n
               ? EDDY_OK
               : eddy__message_raise(p->err, EDDY_INTERNAL, EDDY_E_NONE,
                                     "there are %zu tokens, not %zu", n,
                                     eddy_trace_records(p->b));
}

eddy_status eddy__same_tokens(eddy_trace *a, eddy_trace *b, eddy_error *err)
{
    pair p = {.a = a, .b = b, .err = err};
    eddy_status status = eddy_trace_index(a, err);

    if (status == EDDY_OK)
        status = eddy_trace_index(b, err);
    if (status != EDDY_OK)
        return status;
    p.node_of = calloc(eddy_trace_nodes(a) + 1, sizeof *p.node_of);
    p.frame_of = calloc(eddy_trace_frames(a) + 1, sizeof *p.frame_of);
    p.frames = calloc(eddy_trace_frames(b) + 1, sizeof *p.frames);
    status = p.node_of && p.frame_of && p.frames
                 ? check_tokens(&p)
                 : eddy__message_raise_memory(err);
    free(p.node_of);
    free(p.frame_of);
    free(p.frames);
    return status;
}
