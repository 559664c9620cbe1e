/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops have gradients, read from the two tables; for docs and tests. */
#include "autodiff/coverage.h"

#include <stddef.h>
#include <string.h>

static const char *const with_rules[] = {
#define GRAD(op, rule) op,
#include "autodiff/grads.def"
#undef GRAD
};

static const struct {
    const char *op;
    eddy__no_grad reason;
} without[] = {
#define NO_GRAD(op, reason) {op, EDDY__NO_GRAD_##reason},
#include "autodiff/no_grads.def"
#undef NO_GRAD
};

static const struct {
    bool is_differentiable;
    const char *text;
} reasons[] = {
#define NO_GRAD_REASON(reason, is_differentiable, text)                        \
    {is_differentiable, text},
#define NO_GRAD(op, reason)
#include "autodiff/no_grads.def"
#undef NO_GRAD_REASON
#undef NO_GRAD
};

bool eddy__coverage_has_rule(const char *op)
{
    for (size_t i = 0; i < sizeof with_rules / sizeof *with_rules; i++)
        if (strcmp(with_rules[i], op) == 0)
            return true;
    return false;
}

bool eddy__coverage_has_no_rule(const char *op, eddy__no_grad *out_reason)
{
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (strcmp(without[i].op, op) == 0) {
            *out_reason = without[i].reason;
            return true;
        }
    return false;
}

bool eddy__coverage_is_differentiable(eddy__no_grad reason)
{
    return reasons[reason].is_differentiable;
}

const char *eddy__coverage_words(const char *op)
{
    eddy__no_grad reason;

    if (eddy__coverage_has_rule(op))
        return "yes";
    return eddy__coverage_has_no_rule(op, &reason) ? reasons[reason].text
                                                   : NULL;
}
