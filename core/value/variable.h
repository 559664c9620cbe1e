/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables: a value with a name, which many runs may read and change at once.
 *
 * A value that somebody else holds is never changed: a read gives out a
 * reference, and an update makes a new value unless the variable has the only
 * reference.  Each read and each update is done under `mu`, so each is atomic.
 *
 * What is destroyed stays in its table without a value, so that a handle need
 * not look for its variable again: "does not exist" and "has no value" are one.
 */
#ifndef EDDY_CORE_VARIABLE_H
#define EDDY_CORE_VARIABLE_H

#include "core/value/resource.h"

typedef struct eddy__variable {
    eddy__resource base;
    eddy__mutex mu;
    eddy__value value; /* guarded by mu; EDDY__NONE: uninitialised */
    /*
     * What the nodes that made handles say of the value, guarded by mu: where
     * they disagree, EDDY_INVALID and unknown dimensions.
     */
    eddy_dtype dtype;
    eddy_shape shape;
    bool is_declared; /* guarded by mu: some node has said so */
    char name[];      /* immutable */
} eddy__variable;

/*
 * The variable of that name, made without a value if there is none; a reference
 * of the caller's.  @thread any
 */
eddy_status eddy__variable_find(eddy__resource_table *table, const char *name,
                                eddy__variable **out_variable, eddy_error *err);

/*
 * A variable that is in no table, with one reference; NULL without memory or
 * without a lock.  @thread any
 */
eddy__variable *eddy__variable_create(const eddy_allocator *allocator,
                                      const char *name);

/* Says what the values of a variable are to be.  @thread any */
void eddy__variable_declare(eddy__variable *variable, eddy_dtype dtype,
                            const eddy_shape *shape);

/* A reference to the value; EDDY__NONE if there is none.  @thread any */
eddy__value eddy__variable_get(eddy__variable *variable);

/*
 * Makes `value`, which borrows nothing and is taken over, the variable's and
 * gives back the one that it had.  @thread holds mu
 */
eddy__value eddy__variable_exchange(eddy__variable *variable,
                                    eddy__value value);

/* What a value must be to be assigned. */
typedef enum eddy__misfit {
    EDDY__FITS,
    EDDY__OTHER_DTYPE,
    EDDY__OTHER_SHAPE,
} eddy__misfit;

/*
 * May a value of `dtype` and, as far as that is known, `shape` be assigned?  It
 * must have the dtype of the value that there is, else that which nodes have
 * declared, and the shape that they have.  @thread holds mu
 */
eddy__misfit eddy__variable_check(const eddy__variable *variable,
                                  eddy_dtype dtype, const eddy_shape *shape);

/* The shape of a value; of a handle or a list, rank 0. */
eddy_shape eddy__value_shape(const eddy__value *value);

extern const eddy__resource_type eddy__variable_type;

#endif
