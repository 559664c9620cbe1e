/* SPDX-License-Identifier: Apache-2.0 */
/* The one place where a _Send and a _Recv are made. */
#include "frames/partition/pair.h"

#include "core/edge.h"

#include <string.h>

#define MOST_ATTRS 7

typedef struct pair_attrs {
    eddy_string texts[3];
    eddy_attr attrs[MOST_ATTRS];
    size_t n;
} pair_attrs;

static eddy_string text_of(const char *text)
{
    return (eddy_string){text, text ? strlen(text) : 0};
}

/* `type` is what an end calls the attribute that holds its dtype. */
static void describe(const eddy__pair *pair, const char *type, pair_attrs *a)
{
    static const int64_t incarnation = 1;
    static const bool is_client = false, is_known_dead = true;

    a->texts[0] = text_of(pair->name);
    a->texts[1] = text_of(pair->send_device);
    a->texts[2] = text_of(pair->recv_device);
    a->n = 0;
    a->attrs[a->n++] = eddy_attr_type(type, &pair->dtype);
    a->attrs[a->n++] = eddy_attr_string("tensor_name", &a->texts[0]);
    a->attrs[a->n++] = eddy_attr_string("send_device", &a->texts[1]);
    a->attrs[a->n++] = eddy_attr_string("recv_device", &a->texts[2]);
    a->attrs[a->n++] = eddy_attr_int("send_device_incarnation", &incarnation);
    a->attrs[a->n++] = eddy_attr_bool("client_terminated", &is_client);
    if (pair->is_known_dead)
        a->attrs[a->n++] = eddy_attr_bool(EDDY__KNOWN_DEAD, &is_known_dead);
}

eddy_output eddy__pair_send(eddy__emitter *e, const char *name,
                            const eddy__pair *pair, eddy_output x,
                            eddy_node start)
{
    pair_attrs a;
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = EDDY__SEND,
                           .inputs = &x,
                           .n_inputs = 1,
                           .controls = &start,
                           .n_controls = start != EDDY_NO_NODE};

    describe(pair, "T", &a);
    spec.attrs = a.attrs;
    spec.n_attrs = a.n;
    return eddy__emitter_add_as(e, name, &spec);
}

eddy_output eddy__pair_receive(eddy__emitter *e, const char *name,
                               const eddy__pair *pair, eddy_node start)
{
    pair_attrs a;
    eddy_node_spec spec = {.size = sizeof spec,
                           .op = EDDY__RECV,
                           .controls = &start,
                           .n_controls = start != EDDY_NO_NODE};

    describe(pair, "tensor_type", &a);
    spec.attrs = a.attrs;
    spec.n_attrs = a.n;
    return eddy__emitter_add_as(e, name, &spec);
}
