/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code for several elementwise ops at once: a kernel that runs them one
 * after the other, a strip at a time (ops/math/chain.c), may ask for a loop in
 * which all of them are done to some elements in registers.
 *
 * Who makes it (runtime/native) comes with the services of a run; where it may
 * hang, with what prepare sees of a plan.  Either is NULL where there is to be
 * no machine code, and everything stays as it is.
 */
#ifndef EDDY_CORE_VECTOR_CODE_H
#define EDDY_CORE_VECTOR_CODE_H

#include "eddy/context.h"
#include "eddy/tensor.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define EDDY__VECTOR_MEMBERS 16
#define EDDY__VECTOR_OPERANDS 3
#define EDDY__VECTOR_INPUTS (EDDY__VECTOR_OPERANDS * EDDY__VECTOR_MEMBERS)

typedef struct eddy__vector_member {
    const char *op;
    eddy_dtype type; /* of all operands but a condition */
    eddy_dtype result;
    uint32_t n_in;
    /* i >= 0 is an input, -1 - i what member i gave, which comes before. */
    int32_t in[EDDY__VECTOR_OPERANDS];
    bool is_output;
} eddy__vector_member;

typedef struct eddy__vector_input {
    eddy_dtype dtype;
    bool is_one; /* one element for all */
} eddy__vector_input;

typedef struct eddy__vector_program {
    eddy__vector_member members[EDDY__VECTOR_MEMBERS];
    uint32_t n_members;
    eddy__vector_input inputs[EDDY__VECTOR_INPUTS];
    uint32_t n_inputs;
} eddy__vector_program;

/*
 * `n` elements each, one behind the other; `out` of members that are outputs.
 * An output may be an input with elements as long, if no member behind the
 * output's reads that.
 */
typedef struct eddy__vector_call {
    int64_t n;
    const void *in[EDDY__VECTOR_INPUTS];
    void *out[EDDY__VECTOR_MEMBERS];
} eddy__vector_call;

/* @thread any, any number at once */
typedef void (*eddy__vector_fn)(const eddy__vector_call *call);

typedef struct eddy__vector_code {
    eddy__vector_fn run;
    size_t n_bytes;
    void (*release)(struct eddy__vector_code *code);
} eddy__vector_code;

/* @thread any */
typedef struct eddy__vector_maker {
    /* Has it code for the op at these dtypes? */
    bool (*takes)(const char *op, eddy_dtype type, eddy_dtype result);
    /*
     * Every member is one that it takes.  The result does to each element what
     * the loops of the ops do, with the same bits but for a NaN's payload. NULL
     * without memory, where the system gives no pages that can be executed, or
     * the processor's registers are too few.  `allocator` outlives the code.
     */
    eddy__vector_code *(*make)(const eddy__vector_program *program,
                               const eddy_allocator *allocator);
} eddy__vector_maker;

/* What a kernel has made of its members, and hangs on its plan. */
typedef struct eddy__vector_machine {
    void (*release)(struct eddy__vector_machine *machine);
} eddy__vector_machine;

/* A place for it: one a node that asks, in the plan's list
 * (core/graph/infer.h).
 */
typedef struct eddy__vector_tier {
    struct eddy__vector_tier *next;
    const eddy_allocator *allocator; /* lives as long as the plan */
    /* atomic: set once, released to whoever reads it; NULL: not yet. */
    _Atomic(eddy__vector_machine *) machine;
    /* atomic, relaxed: elements of members so far; a guess is enough. */
    atomic_uint_fast64_t spent;
    /* atomic, relaxed: nobody need try, or try again. */
    atomic_bool is_refused;
    atomic_uint_fast64_t compile_ns, n_bytes; /* of the code */
    uint64_t threshold;                       /* elements before it is made */
} eddy__vector_tier;

/* The tiers of a plan. */
typedef struct eddy__vector_tiers {
    eddy__vector_tier *first;
    const eddy_allocator *allocator;
    uint64_t threshold;
} eddy__vector_tiers;

#endif
