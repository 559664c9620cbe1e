/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code for regions of the linear form (runtime/plan/linear.h).
 *
 * A provider makes code of a region.  State is the file of registers alone, as
 * the interpreter has it: code is entered at an instruction that begins an
 * iteration, loads what is live there into registers of the processor, and
 * puts it back wherever anybody else may look.  What it does not do itself it
 * asks its runner for, through eddy__native_state, one instruction at a time.
 *
 * Nothing is both writable and executable at any time, and no address stands in
 * code: it finds all it needs by its distance from the registers.
 */
#ifndef EDDY_NATIVE_NATIVE_H
#define EDDY_NATIVE_NATIVE_H

#include "core/base/cpu.h"
#include "core/vector_code.h"
#include "runtime/plan/linear.h"

/* Left out by `make NATIVE=0`. */
#ifndef EDDY_NATIVE
#define EDDY_NATIVE 1
#endif

/* The version of all that stands here; a provider of another is not used. */
#define EDDY__NATIVE_VERSION 1

typedef enum eddy__native_verdict {
    EDDY__NATIVE_GO_ON,
    EDDY__NATIVE_ENDED,  /* at DONE */
    EDDY__NATIVE_PAUSED, /* as the runner asked for */
    EDDY__NATIVE_FAILED, /* likewise */
} eddy__native_verdict;

typedef struct eddy__native_state eddy__native_state;

/* All registers, counters and places are as the interpreter would have them. */
typedef uint32_t (*eddy__native_helper)(eddy__native_state *state, uint32_t at);

/* A typed operation as a function in C; `b` is `a` where it has one operand. */
typedef void (*eddy__native_function)(eddy__value *to, const eddy__value *a,
                                      const eddy__value *b);

/* What code and its runner share; the runner has more behind it. */
struct eddy__native_state {
    int64_t fuel; /* iterations that may begin */
    uint64_t frames, most_frames;
    /* No fuel for instruction `at`: fills up, or says how to end. */
    eddy__native_helper refuel;
    /* Does instruction `at`, which does not jump. */
    eddy__native_helper perform;
    const eddy__native_function *functions; /* by operation */
};

/* Where things stand, in bytes from the first register. */
typedef struct eddy__native_layout {
    int32_t state;      /* eddy__native_state */
    int32_t counters;   /* uint64_t, by number */
    int32_t iterations; /* uint64_t, a frame: of loops that have ended */
    int32_t indexes;    /* int64_t, a frame: of the iteration that is on */
    int32_t index_stride;
} eddy__native_layout;

typedef struct eddy__native_request {
    const eddy__linear *linear;
    eddy__native_layout layout;
    const eddy_allocator *allocator; /* lives as long as the code */
    eddy__vectors vectors;           /* that code may use */
} eddy__native_request;

typedef struct eddy__native_provider eddy__native_provider;

typedef struct eddy__native_code {
    eddy__linear_machine machine;
    const eddy_allocator *allocator;
    uint8_t *bytes; /* executable */
    size_t n_bytes, n_mapped;
    uint32_t n_code;
    /* Where the code of an instruction begins, n_code + 1; and, where an
     * iteration begins, what enters it there, else 0. */
    uint32_t *starts, *entries;
} eddy__native_code;

/*
 * @thread any.  `compile` fails with RESOURCE_EXHAUSTED for memory, UNAVAILABLE
 * if the system refuses pages that can be executed, UNIMPLEMENTED for a region
 * that it has no code for; the region is interpreted then.
 */
struct eddy__native_provider {
    uint32_t version;
    const char *name; /* of the processor, as objdump knows it */
    eddy_status (*compile)(const eddy__native_request *request,
                           eddy__native_code **out_code);
};

/* The provider of this processor; NULL if there is none. */
const eddy__native_provider *eddy__native_provider_here(void);

/* Code for chains of elementwise ops; NULL if this processor has none. */
const eddy__vector_maker *eddy__native_vector_maker(void);

/* Does an iteration begin there? */
static inline bool eddy__native_can_enter(const eddy__native_code *code,
                                          uint32_t at)
{
    return at < code->n_code && code->entries[at] != 0;
}

/*
 * Runs from instruction `at`, which can be entered.  Fuel is left in the state.
 */
eddy__native_verdict eddy__native_enter(const eddy__native_code *code,
                                        eddy__value *registers, uint32_t at);

#endif
