/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops have gradients: what grads.def and no_grads.def say. */
#ifndef EDDY_AUTODIFF_COVERAGE_H
#define EDDY_AUTODIFF_COVERAGE_H

#include <stdbool.h>

typedef enum eddy__no_grad {
#define NO_GRAD_REASON(reason, is_differentiable, text) EDDY__NO_GRAD_##reason,
#define NO_GRAD(op, reason)
#include "autodiff/no_grads.def"
#undef NO_GRAD_REASON
#undef NO_GRAD
} eddy__no_grad;

/* Is there a rule of autodiff/grads.def for it? */
bool eddy__coverage_has_rule(const char *op);

/* Is there a row for it in autodiff/no_grads.def? */
bool eddy__coverage_has_no_rule(const char *op, eddy__no_grad *out_reason);

/* Does a gradient flow through ops of that reason all the same? */
bool eddy__coverage_is_differentiable(eddy__no_grad reason);

/* The words of docs/ops.md for an op; NULL if it is in neither table. */
const char *eddy__coverage_words(const char *op);

#endif
