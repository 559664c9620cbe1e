/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host stands behind eddy/gradients.h while the rule of a node runs.
 *
 * A rule sees the rule API alone.  Who calls it is its host: the walk, where
 * forward values are brought to where gradients are computed and what is set is
 * summed; or the transposition of forward mode, where all is in one place.
 */
#ifndef EDDY_AUTODIFF_RULE_HOST_H
#define EDDY_AUTODIFF_RULE_HOST_H

#include "autodiff/value_shapes.h"
#include "eddy/gradients.h"

/*
 * Indices have been checked, and nothing has failed, when one of these is
 * called; `v` is an input or output of the node.
 */
typedef struct eddy__rule_host {
    /* A value, its shape, and the length of a list, where the rule is. */
    eddy_output (*value)(eddy_gradient *g, eddy_output v);
    eddy_output (*shape_of)(eddy_gradient *g, eddy_output v);
    eddy_output (*length_of)(eddy_gradient *g, eddy_output v);
    /* A constant of the base frame brought there. */
    eddy_output (*bring)(eddy_gradient *g, eddy_output constant);
    /* The gradient of output `y`; zeros if it is not given. */
    bool (*is_given)(const eddy_gradient *g, eddy_output y);
    eddy_output (*given)(eddy_gradient *g, eddy_output y);
    /* Is a gradient of input `x` of use?  Then it may be set. */
    bool (*is_wanted)(const eddy_gradient *g, eddy_output x);
    void (*set)(eddy_gradient *g, uint32_t i, eddy_output gradient);
    /* The gradient of item `index` of input `i`, a list. */
    void (*set_item)(eddy_gradient *g, uint32_t i, eddy_output index,
                     eddy_output gradient);
    /* The gradient of what a receiver of a broadcast gets; or NULL. */
    void (*set_sent)(eddy_gradient *g, eddy_output gradient);
} eddy__rule_host;

struct eddy_gradient {
    const eddy__rule_host *host;
    void *self; /* the host's own state */
    eddy__gradient_emitter *e;
    const eddy__value_shapes *shapes;
    const char *source; /* that gives the call TensorArrays of its own */
    eddy_node node;
};

static inline const eddy__node *eddy__rule_host_node(const eddy_gradient *g)
{
    return eddy__graph_node(g->e->core.graph, g->node);
}

/* A text that no other call has for the graph, which has so many nodes. */
enum { EDDY__SOURCE_SIZE = 64 };
void eddy__rule_host_source(char out_text[EDDY__SOURCE_SIZE], size_t n_nodes);

#endif
