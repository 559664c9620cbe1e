/* SPDX-License-Identifier: Apache-2.0 */
/* Which rule is that of a node: a program's own go before those of the table.
 */
#include "autodiff/rule_table.h"

#include "autodiff/custom.h"
#include "autodiff/rule.h"
#include "core/base/map.h"
#include "core/base/thread.h"

#include <string.h>

typedef struct rule {
    const char *op;
    eddy_gradient_fn gradient;
} rule;

static const rule rules[] = {
#define GRAD(op, rule) {op, eddy__grad_##rule},
#include "autodiff/grads.def"
#undef GRAD
};

#define N_RULES (sizeof rules / sizeof rules[0])
#define N_SLOTS 1024 /* a power of two */

_Static_assert(2 * N_RULES <= N_SLOTS, "probes of the index are short");

/* By the hash of the op's name, then onwards: 1 + the rule, or 0 for none. */
static uint16_t index_of_rules[N_SLOTS];
static eddy__once index_is_made = EDDY__ONCE_INIT;

/* The slot of the op's rule, or the empty one where it would be. */
static uint16_t *seek_rule(const char *op)
{
    size_t at = eddy__map_hash(op, strlen(op)) % N_SLOTS;

    while (index_of_rules[at] > 0 &&
           strcmp(rules[index_of_rules[at] - 1].op, op) != 0)
        at = (at + 1) % N_SLOTS;
    return &index_of_rules[at];
}

/* The first of several rules of an op is the one that holds. */
static void make_index(void)
{
    for (size_t i = 0; i < N_RULES; i++) {
        uint16_t *slot = seek_rule(rules[i].op);

        if (*slot == 0)
            *slot = (uint16_t)(i + 1);
    }
}

static eddy_gradient_fn find_rule(const char *op)
{
    uint16_t found;

    eddy__once_call(&index_is_made, make_index);
    found = *seek_rule(op);
    return found > 0 ? rules[found - 1].gradient : NULL;
}

eddy_gradient_fn eddy__rule_table_find(const eddy_graph *graph,
                                       const eddy__node *node)
{
    const eddy_string custom = eddy__custom_name(node);

    if (custom.length > 0)
        return eddy__custom_find(graph->ctx, custom);
    if (node->op && node->op->gradient)
        return node->op->gradient;
    return find_rule(node->op_name);
}
