/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The op registry: parsed op definitions, by name.  One per context.
 *
 * Definitions are parsed from eddy_op_spec when they are registered; nodes
 * point at them, so they never move.  The registry is not locked: ops are
 * registered before graphs of the context are shared.
 */
#ifndef EDDY_CORE_REGISTRY_H
#define EDDY_CORE_REGISTRY_H

#include "core/base/map.h"
#include "core/base/memory.h"
#include "core/value/dtype.h"
#include "eddy/op.h"

/*
 * How an op takes part in control flow.  The executor and the analysis look at
 * this, not at names; the reference forms have the role of the plain ones.
 */
typedef enum eddy__role {
    EDDY__ROLE_NONE,
    EDDY__ROLE_SWITCH, /* Switch, RefSwitch, _SwitchN */
    EDDY__ROLE_MERGE,
    EDDY__ROLE_ENTER,
    EDDY__ROLE_EXIT,
    EDDY__ROLE_NEXT_ITERATION,
    EDDY__ROLE_LOOP_COND,
    EDDY__ROLE_CONTROL_TRIGGER,
    EDDY__ROLE_CONST,
    EDDY__ROLE_PLACEHOLDER,
    EDDY__ROLE_FORWARD, /* Identity and its like: input 0 is output 0 */
    /* Calls of functions; no plan has these: see frames/lower/lower.h. */
    EDDY__ROLE_CALL,
    EDDY__ROLE_BRANCH, /* If, Case */
    EDDY__ROLE_WHILE,
} eddy__role;

/* Does a node of that role put out its input 0, if anything? */
static inline bool eddy__op_hands_on(eddy__role role)
{
    switch (role) {
    case EDDY__ROLE_SWITCH:
    case EDDY__ROLE_ENTER:
    case EDDY__ROLE_EXIT:
    case EDDY__ROLE_NEXT_ITERATION:
    case EDDY__ROLE_LOOP_COND:
    case EDDY__ROLE_FORWARD:
        return true;
    case EDDY__ROLE_NONE:
    case EDDY__ROLE_MERGE:
    case EDDY__ROLE_CONTROL_TRIGGER:
    case EDDY__ROLE_CONST:
    case EDDY__ROLE_PLACEHOLDER:
    case EDDY__ROLE_CALL:
    case EDDY__ROLE_BRANCH:
    case EDDY__ROLE_WHILE:
        break;
    }
    return false;
}

/* Among eddy_op_flags: one of eddy's own ops, whose kernel can be trusted. */
#define EDDY__OP_BUILTIN (1u << 30)

/*
 * Among them too: what the op does in one iteration must come after what it did
 * in all before, so frames that hold it run one iteration at a time.
 */
#define EDDY__OP_ORDERED (1u << 29)

/*
 * Among them too: the op calls the host.  Its nodes are not saved, and none is
 * made of what a file says.
 */
#define EDDY__OP_HOST (1u << 28)

/*
 * Among them too: the op carries values between ranks.  Its kernel runs when
 * its inputs are dead, too, and may give dead outputs when they are live.
 */
#define EDDY__OP_TRANSFER (1u << 27)

/* All that an op registered by a program can't have. */
#define EDDY__OP_INTERNAL                                                      \
    (EDDY__OP_BUILTIN | EDDY__OP_ORDERED | EDDY__OP_HOST | EDDY__OP_TRANSFER)

/* An op has at most this many attributes. */
#define EDDY__MAX_ATTRS 64

/* One item of the inputs or outputs of a signature. */
typedef struct eddy__arg {
    const char *name;
    eddy_dtype dtype;  /* fixed, or EDDY_INVALID */
    int16_t type_attr; /* index in attrs, or -1 */
    int16_t number_attr;
    int16_t list_attr; /* a list(type) attr: one tensor an element */
    bool is_ref;
} eddy__arg;

typedef struct eddy__attr_def {
    const char *name;
    eddy_attr_kind kind;
    bool is_list;
    bool has_default;
    bool has_minimum;        /* of an int, or of a list's length */
    eddy__dtype_set allowed; /* for TYPE */
    int64_t minimum;
    eddy_attr value; /* the default; arrays in the registry's arena */
} eddy__attr_def;

typedef struct eddy__op {
    const char *name;
    eddy__role role;
    uint32_t flags;      /* eddy_op_flags */
    bool has_references; /* among its inputs and outputs */
    uint32_t n_inputs, n_outputs, n_attrs;
    const eddy__arg *inputs, *outputs;
    const eddy__attr_def *attrs;
    eddy_infer_fn infer;
    eddy_kernel_fn kernel;
    eddy_prepare_fn prepare;
    eddy_op_info info; /* for people; its `name` and `flags` are set too */
    void *user;
    eddy_gradient_fn gradient;
} eddy__op;

typedef struct eddy__registry {
    eddy__arena arena;
    eddy__map names; /* to an index in ops */
    eddy__op **ops;
    size_t n_ops, capacity;
    const char **sorted; /* names in order */
    size_t sorted_capacity;
} eddy__registry;

void eddy__registry_init(eddy__registry *registry,
                         const eddy_allocator *allocator);
void eddy__registry_deinit(eddy__registry *registry);

/*
 * Adds one of eddy's own ops, with EDDY__OP_BUILTIN; '_' may start its name. On
 * failure the registry has the ops that it had.
 */
eddy_status eddy__registry_add(eddy__registry *registry,
                               const eddy_op_spec *spec, eddy__role role,
                               eddy_error *err);

/* NULL if there is none. */
const eddy__op *eddy__registry_find(const eddy__registry *registry,
                                    const char *name);

/* The name of the op that comes closest to `name`; NULL if none is close. */
const char *eddy__registry_closest(const eddy__registry *registry,
                                   const char *name);

/* A family of ops: what a table in ops/ and frames/ hands to the context. */
typedef struct eddy__op_table {
    const eddy_op_spec *specs;
    const eddy__role *roles; /* NULL: all EDDY__ROLE_NONE */
    size_t n;
} eddy__op_table;

/* Adds all of them, or those before the first that fails. */
eddy_status eddy__registry_add_table(eddy__registry *registry,
                                     const eddy__op_table *table,
                                     eddy_error *err);

#endif
