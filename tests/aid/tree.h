/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs as trees: assignments, branches and loops in each other over
 * variables of many dtypes, with stacks and TensorArrays, captured values,
 * early exits, branches that are not nested, and at most one statement that may
 * fail.  An interpreter that walks the tree says what comes out, or which
 * statement fails where; it shares nothing with eddy.  The same tree is written
 * as the text of a graph (tests/aid/program.h), for any executor.
 */
#ifndef EDDY_TESTS_TREE_H
#define EDDY_TESTS_TREE_H

#include "eddy.h"

#define TREE_DATA 6u
#define TREE_STORES 4u /* two stacks, then two TensorArrays */
#define TREE_VARIABLES (TREE_DATA + 2 * TREE_STORES)
#define TREE_STATEMENTS 48
#define TREE_NONE UINT32_MAX
#define TREE_TEXT (1 << 17)
#define TREE_FETCHES 4096

/* Of a store: what orders its uses, and how many items it has. */
#define TREE_FLOW(store) (TREE_DATA + 2 * (store))
#define TREE_COUNT(store) (TREE_DATA + 2 * (store) + 1)
#define TREE_IS_ARRAY(store) ((store) >= TREE_STORES / 2)

typedef enum tree_class { TREE_INT, TREE_FLOAT, TREE_BOOL } tree_class;

typedef struct tree_dtype {
    const char *name, *shape; /* of a constant: "float32", "[3]" */
    eddy_dtype dtype;
    tree_class class;
    bool is_signed;
    uint32_t size, count; /* bytes of an element; elements */
} tree_dtype;

extern const tree_dtype tree_dtypes[];
extern const uint32_t tree_n_dtypes;
#define TREE_INT32 2u /* its row */
#define TREE_BOOLS 10u
#define TREE_SCALARS 11u /* rows below are scalars */

typedef enum tree_op {
    TREE_ADD,
    TREE_SUB,
    TREE_MUL,
    TREE_MAX,
    TREE_MIN,
    TREE_AND,
    TREE_OR,
    TREE_XOR,
    TREE_MOD,
    TREE_DIV,
    TREE_NEG, /* of a alone, as the next two */
    TREE_ABS,
    TREE_NOT,
    TREE_LESS,
    TREE_LESS_EQUAL,
    TREE_GREATER,
    TREE_GREATER_EQUAL,
    TREE_EQUAL,
    TREE_NOT_EQUAL,
} tree_op;

static inline bool tree_is_unary(tree_op op)
{
    return op >= TREE_NEG && op <= TREE_NOT;
}

typedef enum tree_kind {
    TREE_ASSIGN,  /* target = op(a, b) */
    TREE_CAST,    /* target = a, of another dtype */
    TREE_COMPARE, /* target = op(a, b), a bool */
    TREE_BRANCH,  /* if op(a, b): block 0, else block 1 */
    TREE_TANGLE,  /* target = target + c where op(a, b) and op(b, a), else as
                     it is; by Switches of which none is in the other */
    TREE_LOOP,    /* at most `trips` times, while op(a, b): block 0 */
    TREE_PUSH,    /* store: a */
    TREE_POP,     /* target = op(target, the last item of store) */
    TREE_WRITE,   /* store, behind its last item: a */
    TREE_READ,    /* target = op(target, item `index` of store) */
} tree_kind;

typedef enum tree_source {
    TREE_VARIABLE,
    TREE_CONSTANT,
    TREE_INDEX, /* of the loop around, an int32 */
} tree_source;

typedef struct tree_operand {
    tree_source source;
    uint32_t variable;
    int32_t value;
    uint32_t dtype; /* a row */
} tree_operand;

typedef struct tree_statement {
    tree_kind kind;
    uint32_t next; /* in its block */
    tree_op op;
    uint32_t target, store;
    tree_operand a, b, c;
    bool is_cut;        /* trips, index: taken modulo 4, or the store's count */
    bool has_condition; /* of a loop */
    bool carries_all;   /* a loop: what it reads are loop variables too */
    int64_t parallel_iterations;
    uint32_t blocks[2]; /* their first statements */
} tree_statement;

typedef struct tree {
    uint64_t seed;
    uint32_t first, n;
    uint32_t fault; /* the statement that may fail, or TREE_NONE */
    uint32_t dtypes[TREE_VARIABLES];
    int32_t starts[TREE_VARIABLES];
    uint32_t store_dtypes[TREE_STORES];
    bool by_index; /* branches are written as those of an index, with a third
                      side that is never taken */
    tree_statement statements[TREE_STATEMENTS];
} tree;

void tree_generate(tree *t, uint64_t seed);

/* Variables that a block assigns, or reads, a bit each. */
uint32_t tree_assigned(const tree *t, uint32_t first);
uint32_t tree_read(const tree *t, uint32_t first);

/* ---- what comes out ---- */

typedef union tree_element {
    uint64_t bits; /* of an integer: as wide as it goes */
    float f32;
    double f64;
} tree_element;

#define TREE_ELEMENTS 64 /* of a variable, at most */

typedef struct tree_value {
    tree_element at[TREE_ELEMENTS];
} tree_value;

typedef struct tree_result {
    tree_value values[TREE_VARIABLES];
    uint64_t iterations, frames;
    /* If the fault has come true: */
    eddy_detail detail; /* else EDDY_E_NONE */
    char frame[256];    /* where, as an error says it */
} tree_result;

/* False: it takes more steps than is worth waiting for. */
bool tree_interpret(const tree *t, tree_result *result);

/* Is that what a tensor with these elements is?  NaNs are alike. */
bool tree_same(const tree *t, uint32_t variable, const tree_value *value,
               const void *data);

/* An element as text. */
void tree_print_element(const tree *t, uint32_t variable,
                        const tree_element *element, char *to, size_t size);

/* ---- as a graph ---- */

typedef struct tree_text {
    char text[TREE_TEXT];
    char fetches[TREE_FETCHES]; /* all variables, then targets */
    char fault[24];             /* the node that may fail, or "" */
} tree_text;

void tree_write(const tree *t, tree_text *out);

/* ---- what is wrong with it ---- */

/*
 * Takes away what can go while `fails` says that it fails as before, until
 * nothing more can.
 */
void tree_shrink(tree *t, bool (*fails)(void *user, const tree *t), void *user);

/* Prints it as a test of its own. */
void tree_print_test(const tree *t);

#endif
