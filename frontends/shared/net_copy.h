/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of what a graph computes into the construct that is being built in
 * another: a net that stands for a function, whose Placeholders are its
 * arguments.
 *
 * Only what is asked for is copied, once, loops included; its frames get names
 * of their own.  A Placeholder that is bound to nothing is looked up by its
 * name in the graph that is copied into.
 */
#ifndef EDDY_FRONTENDS_NET_COPY_H
#define EDDY_FRONTENDS_NET_COPY_H

#include "core/graph/copy.h"
#include "frontends/shared/writer.h"

typedef struct eddy__net_copy {
    eddy_emitter *w;
    eddy__arena *arena;
    eddy__copier copier;
    const eddy_graph *net;
    eddy_output *values; /* what stands for output 0 of a Placeholder */
    /*
     * For a Placeholder that is made of another output of the net, that one;
     * once it is copied, `bind_late` binds the Placeholder.
     */
    eddy_output *made_of;
    void (*bind_late)(struct eddy__net_copy *c, eddy_node placeholder,
                      eddy_output copied);
    const void *user;  /* of bind_late */
    eddy_node *copies; /* of the other nodes; EDDY_NO_NODE: not yet */
    struct eddy__net_visit *stack;
    eddy_node *merges;         /* copied, in this order, */
    size_t n_merges, n_closed; /* of which so many have their back edges */
} eddy__net_copy;

/*
 * Begins to copy from `net`, which must stay as it is and has no functions.
 * Everything is of the arena; the writer has the first failure.
 */
void eddy__net_copy_begin(eddy__net_copy *c, eddy_emitter *w,
                          eddy__arena *arena, const eddy_graph *net);

/* Is it one that can be bound? */
bool eddy__net_is_argument(const eddy_graph *net, eddy_node node);

/* The one of that name. */
eddy_status eddy__net_find_argument(const eddy_graph *net, const char *name,
                                    eddy_node *out, eddy_error *err);

/* Binds a Placeholder; fails if the value does not have its dtype and shape. */
void eddy__net_bind(eddy__net_copy *c, eddy_node placeholder,
                    eddy_output value);

/* The copy of an output of the net, made with all that it needs. */
eddy_output eddy__net_copy_output(eddy__net_copy *c, eddy_output output);

#endif
