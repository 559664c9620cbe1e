/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels on variables share.
 *
 * A handle (of dtype resource, or what stands for a reference: see
 * frames/lower/references.h) is input 0.  A kernel that updates looks at
 * everything that can go wrong before it changes anything, so a variable is
 * updated wholly or not at all.
 */
#ifndef EDDY_OPS_VARIABLE_H
#define EDDY_OPS_VARIABLE_H

#include "core/value/variable.h"
#include "ops/math/elements.h"

/* The variable whose handle input `i` is, borrowed. */
eddy_status eddy__in_variable(eddy_kernel *k, uint32_t i,
                              eddy__variable **out_variable);

/*
 * Fails with `code` since the variable has no value.  TensorFlow's codes:
 * FAILED_PRECONDITION where a value or a reference is read, NOT_FOUND where a
 * handle is.
 */
eddy_status eddy__variable_fail_uninitialized(eddy_kernel *k,
                                              const eddy__variable *variable,
                                              eddy_status code);

eddy_status eddy__variable_fail_dtype(eddy_kernel *k,
                                      const eddy__variable *variable,
                                      eddy_dtype found, eddy_dtype wanted);

/* Makes output `i` what the variable holds, which must be of its dtype. */
eddy_status eddy__output_variable(eddy_kernel *k, uint32_t i,
                                  eddy__variable *variable,
                                  eddy_status missing);

/*
 * Runs the kernel `run`, of one output, on the value of the variable in place
 * of input 0.  `dtype` is what the value must be, EDDY_INVALID anything.
 */
eddy_status eddy__variable_run_on_value(eddy_kernel *k, eddy_dtype dtype,
                                        eddy_kernel_fn run);

/*
 * Fails with UNIMPLEMENTED if a value of dtype variant has lists whose items
 * are handles: those of a run must not get out of it.
 */
eddy_status eddy__variable_check_lists(eddy_kernel *k,
                                       const eddy__value *value);

/* ---- updates ---- */

/* A value that is being updated, of a movable dtype or of lists. */
typedef struct eddy__update {
    eddy__variable *variable;
    eddy_dtype dtype;
    const eddy_shape *shape;
    int64_t count;
    const unsigned char *from; /* its elements */
    unsigned char *to;         /* eddy__update_make: `from` if in place */
    eddy__value made;          /* what will be the value; NONE if in place */
    eddy__value old;           /* to be dropped when the lock is given up */
} eddy__update;

/*
 * The steps of an update, with the variable locked: open it; make the elements
 * that are to be written, after which nothing may fail but what sets strings;
 * close it, or abandon it; and when the lock is given up, drop what is left.
 */
eddy_status eddy__update_open(eddy_kernel *k, eddy__variable *variable,
                              eddy_dtype dtype, eddy_status missing,
                              eddy__update *update);

/* `copied`: with the elements that there are, not with any. */
eddy_status eddy__update_make(eddy_kernel *k, eddy__update *update,
                              bool copied);
void eddy__update_close(eddy__update *update);
void eddy__update_abandon(eddy_kernel *k, eddy__update *update);

/*
 * All of that for the variable of input 0: `change` is called between opening
 * and closing.  Output 0, if there is one, is the handle.
 */
typedef eddy_status (*eddy__change_fn)(eddy_kernel *k, eddy__update *update,
                                       const void *arg);

eddy_status eddy__update_variable(eddy_kernel *k, eddy_dtype dtype,
                                  eddy__change_fn change, const void *arg);

/* Does the node take a reference, and hand it on, rather than a handle? */
static inline bool eddy__variable_is_reference_op(const eddy_kernel *k)
{
    return k->node->n_out > 0;
}

#endif
