/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small tensors of known shapes in loops: their elements are raw registers, and
 * what is computed of them is typed operations, an element each, in the order
 * that the kernel has.  So all that is done with scalars is done with them.
 *
 * What only brings elements to other places, of one tensor or several, costs
 * nothing: the registers have a second name.
 */
#ifndef EDDY_PLAN_LINEAR_SPREAD_H
#define EDDY_PLAN_LINEAR_SPREAD_H

#include "runtime/plan/linear_build.h"

/* Elements of a tensor that may be spread. */
#define EDDY__MOST_PARTS 64

typedef enum eddy__spread_way {
    EDDY__SPREAD_EACH,   /* an elementwise op of one or two operands */
    EDDY__SPREAD_SELECT, /* likewise of three */
    EDDY__SPREAD_SUM,    /* AddN */
    EDDY__SPREAD_CHAIN,  /* _Chain: members of these */
    EDDY__SPREAD_REDUCE,
    EDDY__SPREAD_PRODUCT,
    EDDY__SPREAD_MOVE,
} eddy__spread_way;

/* How a reduction goes on: its accumulator and one more element. */
typedef struct eddy__spread_fold {
    uint32_t op, finish; /* `finish`: by the count, or DONE */
    bool has_start;
    bool is_swapped; /* the element is the first operand */
    uint64_t start;  /* bits */
    uint32_t axes;   /* a bit each */
} eddy__spread_fold;

/* An element of a step's output: which one of which input; or 0 bits. */
typedef struct eddy__spread_source {
    uint32_t input; /* or EDDY__NO */
    uint32_t element;
} eddy__spread_source;

/* A member of a chain. */
typedef struct eddy__spread_member {
    uint32_t op; /* SELECT_8 and the like, too */
    uint32_t n_in;
    uint8_t from;      /* dtype of the operands */
    uint8_t dtype;     /* of the result */
    const int64_t *in; /* i: an input; -1 - i: what member i gave */
    uint32_t output;   /* or EDDY__NO: nobody outside reads it */
} eddy__spread_member;

struct eddy__spread {
    uint32_t way;    /* eddy__spread_way */
    uint32_t n_code; /* instructions */
    uint32_t n_done; /* the same where some are done at once, in vectors */
    uint32_t op;     /* of EACH, SELECT, SUM; the product's sum */
    uint32_t times;  /* the product's other one */
    eddy__spread_fold fold;
    const eddy__spread_source *sources; /* of MOVE: outputs in a row */
    const eddy__spread_member *members;
    uint32_t n_members;
};

/* Element `i` of a result of shape `out` meets this one of an operand. */
uint32_t eddy__spread_under(const eddy_shape *in, const eddy_shape *out,
                            uint32_t i);

/* What chooses among values of a dtype: SELECT_8 and the like. */
uint32_t eddy__spread_select_of(eddy_dtype dtype);

/* Inputs that are read as elements; of the others constants are looked at. */
bool eddy__spread_reads(const eddy__linear_build *w, uint32_t id, uint32_t i);

/*
 * How a step computes its elements; NULL in `*out_spread`: it has to be called.
 * Values know their parts by now.  (linear_spread_ways.c)
 */
eddy_status eddy__spread_find(eddy__linear_build *w, uint32_t id,
                              eddy__spread **out_spread);

/*
 * The same of what moves elements, by its kernel, which is run here on numbers.
 * (linear_spread_moves.c)
 */
bool eddy__spread_is_move(const char *op);
bool eddy__spread_move_reads(const eddy__kernel_node *node, uint32_t i);
eddy_status eddy__spread_find_move(eddy__linear_build *w, uint32_t id,
                                   eddy__spread **out_spread);

#endif
