/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of building constructs of control flow in a graph (the public side
 * is eddy/control_flow.h).
 *
 * A level is where nodes live: the root, a loop, or one branch.  Levels form a
 * tree; a level's number is larger than its parent's.  The open constructs are
 * a stack, each in a level of the one below, so the levels being built form a
 * path of the tree.  Of every node the builder knows the level in which its
 * outputs live; nodes from before it came are in the root, number 0.
 *
 * What a call adds it takes back if it fails (eddy__builder_rollback): nodes,
 * levels and captures are all kept in the order in which they were made, and
 * the stack of constructs changes only once nothing can fail any more.
 */
#ifndef EDDY_FRAMES_BUILDER_H
#define EDDY_FRAMES_BUILDER_H

#include "core/graph/graph.h"
#include "eddy/control_flow.h"

typedef enum eddy__level_kind {
    EDDY__LEVEL_ROOT,
    EDDY__LEVEL_LOOP,
    EDDY__LEVEL_BRANCH,
} eddy__level_kind;

typedef struct eddy__level {
    eddy__level_kind kind;
    uint32_t parent;   /* its own number in the root */
    const char *scope; /* of its construct; in the graph's arena */
    eddy_node pivot;   /* controls nodes that nothing else holds back */

    /* A loop: what its Enters say. */
    const char *frame_name;
    int64_t parallel_iterations;
    const eddy_node *controls; /* in the parent's level */
    size_t n_controls;

    /* A branch: side `side` of Switches by `selector`, in the parent's level.
     */
    eddy_output selector;
    uint32_t side;
    uint32_t n_sides;    /* of _SwitchN; 0: of Switch */
    uint32_t first_side; /* the level of side 0, for _SwitchN */
} eddy__level;

/* `from`, as it is seen in a level that it was captured for. */
typedef struct eddy__captured {
    uint32_t level;
    eddy_output from, to;
    uint32_t next; /* in its chain */
} eddy__captured;

/* Where captures are found: chains, the youngest first. */
typedef struct eddy__captures {
    eddy__captured *items;
    size_t n, capacity;
    uint32_t *chains;
    size_t n_chains; /* a power of two, or 0 */
} eddy__captures;

typedef enum eddy__construct_kind {
    EDDY__WHILE,
    EDDY__COND,
    EDDY__CASE,      /* its conds lie above it on the stack, */
    EDDY__CASE_COND, /* each in the branch not taken of the one below */
    EDDY__SWITCH_CASE,
} eddy__construct_kind;

/* One that is open.  Its arrays are in the graph's arena. */
typedef struct eddy__construct {
    eddy__construct_kind kind;
    const char *scope;
    size_t first_node;    /* those from here on belong to it */
    uint32_t first_level; /* likewise */
    uint32_t outer;       /* the level in which it stands */
    uint32_t level;       /* the one that is being built */

    /* A while; variable 0 is the counter if it has one. */
    size_t n_variables;
    eddy_output *merges, *switches;
    const eddy_shape *invariants; /* of all but the counter, or NULL */
    bool has_counter, in_body;
    bool no_back_prop, swap_memory;
    eddy_output below_maximum; /* counter < maximum_iterations */
    eddy_output next_count;

    /* Branches, in the order in which they are built. */
    size_t n_branches, branch;

    /* A cond or switch_case. */
    eddy_output selector;
    eddy_node *pivots;           /* by side */
    const eddy_output **results; /* of the branches that have ended */
    const eddy_output *like;     /* results that others agree with, or NULL */
    size_t n_results;            /* of them */

    /* A case. */
    const eddy_output *predicates;
    size_t n_predicates;
    bool has_default;
    eddy_node last_check; /* the Assert in a last branch without default */
} eddy__construct;

/*
 * Identities whose inputs come once a loop has ended.  What stands in has their
 * shape and dtype.
 */
typedef struct eddy__deferred {
    uint32_t level;            /* of the loop */
    const eddy_output *places; /* the Identities, in the graph's arena */
    size_t n_places;
    eddy_output *stand_ins; /* what they read until then */
    /*
     * Makes what the Identities are to read, NO_NODE where that is what stands
     * in; or, where it needs another that is deferred, sets the level of the
     * loop for which that one waits.
     */
    eddy_status (*ask)(eddy_graph *graph, const void *data,
                       eddy_output *out_answers, uint32_t *out_waits_for,
                       eddy_error *err);
    const void *data; /* in the graph's arena */
    bool is_done;
} eddy__deferred;

typedef struct eddy__builder {
    eddy_graph *graph;
    const eddy_allocator *allocator;
    eddy__level *levels;
    size_t n_levels, levels_capacity;
    uint32_t *level_of; /* of a node's outputs; 0 beyond n_known */
    size_t n_known, known_capacity;
    eddy__captures captures;
    eddy__construct *open;
    size_t n_open, open_capacity;
    eddy__deferred *deferred;
    size_t n_deferred, deferred_capacity;
    eddy__map suffixes; /* a name: the number to try next behind it */
    char *text;         /* the last name that was made */
    size_t text_capacity;
    uint32_t *path; /* scratch of a capture */
    size_t path_capacity;
} eddy__builder;

typedef struct eddy__mark {
    size_t n_nodes, n_levels;
} eddy__mark;

/* The builder of `graph`, made if there is none. */
eddy_status eddy__builder_of(eddy_graph *graph, eddy__builder **out_builder,
                             eddy_error *err);

eddy__mark eddy__builder_mark(const eddy__builder *b);
void eddy__builder_rollback(eddy__builder *b, eddy__mark mark);

/* The innermost open construct, or NULL; the level that is being built. */
static inline eddy__construct *eddy__builder_top(const eddy__builder *b)
{
    return b->n_open > 0 ? &b->open[b->n_open - 1] : NULL;
}

static inline uint32_t eddy__builder_level(const eddy__builder *b)
{
    return b->n_open > 0 ? b->open[b->n_open - 1].level : 0;
}

static inline uint32_t eddy__level_of(const eddy__builder *b, eddy_node node)
{
    return node < b->n_known ? b->level_of[node] : 0;
}

/* Sets where the outputs of a node that the builder placed live. */
static inline void eddy__set_level(eddy__builder *b, eddy_node node,
                                   uint32_t level)
{
    b->level_of[node] = level;
}

/*
 * Nodes from `first` on that were added with nothing standing before live in
 * `level`, unless the builder knows of them; false without memory.
 */
bool eddy__builder_note(eddy__builder *b, size_t first, uint32_t level);

/* The loop that `level` is in, past branches, or the root. */
uint32_t eddy__loop_level(const eddy__builder *b, uint32_t level);

eddy_status eddy__builder_add_level(eddy__builder *b, const eddy__level *level,
                                    uint32_t *out_level, eddy_error *err);

/* Makes room on the stack, so that the push below cannot fail. */
eddy_status eddy__builder_reserve(eddy__builder *b, size_t n, eddy_error *err);
void eddy__builder_push(eddy__builder *b, const eddy__construct *construct);

/*
 * The place on the stack where the innermost construct begins: a case has its
 * conditionals above it.  Requires one that is open.
 */
size_t eddy__builder_bottom(const eddy__builder *b);

/* A scope in the current one that nothing has, in the graph's arena. */
eddy_status eddy__builder_scope(eddy__builder *b, const char *name,
                                const char *otherwise, const char **out_scope,
                                eddy_error *err);

/*
 * Where a node goes, and its name: `hint` (NULL: the op's) in `scope`, with a
 * number if that is taken and the name is not exact.
 */
typedef struct eddy__site {
    uint32_t level;
    const char *scope, *hint;
    bool is_exact;
} eddy__site;

static inline eddy_node_spec
eddy__builder_spec(const char *op, const eddy_output *inputs, size_t n)
{
    return (eddy_node_spec){.size = sizeof(eddy_node_spec),
                            .op = op,
                            .inputs = inputs,
                            .n_inputs = n};
}

/* ---- builder_place.c ---- */

/*
 * Notes of the first `length` bytes of `name` that `next` is the number to try
 * behind it; which also keeps it from being a scope.  False without memory.
 */
bool eddy__builder_note_name(eddy__builder *b, const char *name, size_t length,
                             uint32_t next);

/* Adds a node as it stands, whose outputs live in the level of the site. */
eddy_status eddy__builder_place(eddy__builder *b, eddy__site site,
                                const eddy_node_spec *spec, eddy_node *out_node,
                                eddy_error *err);

/* ---- builder_capture.c ---- */

/* Fails with EDDY_E_VALUE_SCOPE unless `node` lives in a level around `level`.
 */
eddy_status eddy__builder_want_around(const eddy__builder *b, uint32_t level,
                                      eddy_node node, eddy_error *err);

/*
 * `value` as it is seen in `level`, with the Enters and Switches that it takes.
 * Fails as eddy__builder_want_around does.
 */
eddy_status eddy__capture(eddy__builder *b, uint32_t level, eddy_output value,
                          eddy_output *out, eddy_error *err);

/* Forgets the captures whose nodes have been taken back. */
void eddy__captures_truncate(eddy__captures *captures, size_t n_nodes);
void eddy__captures_deinit(eddy__captures *captures,
                           const eddy_allocator *allocator);

/*
 * Adds a node to a level as an ordinary call means it: inputs and controls from
 * outside are brought in, and it gets the level's pivot as a control if nothing
 * else holds it back.
 */
eddy_status eddy__builder_adopt(eddy__builder *b, eddy__site site,
                                const eddy_node_spec *spec, eddy_node *out_node,
                                eddy_error *err);

/* A node of `level` that stands for control node `from` there. */
eddy_status eddy__builder_bring_control(eddy__builder *b, uint32_t level,
                                        eddy_node from, eddy_node *out_node,
                                        eddy_error *err);

/* A Const that holds `value`, and waits for `after` of its level or NO_NODE. */
eddy_status eddy__adopt_const(eddy__builder *b, eddy__site site,
                              eddy_tensor *value, eddy_node after,
                              eddy_output *out, eddy_error *err);

/* One that is a scalar of an integer dtype. */
eddy_status eddy__builder_adopt_scalar(eddy__builder *b, eddy__site site,
                                       eddy_dtype dtype, int64_t value,
                                       eddy_output *out, eddy_error *err);

/* A Const of the site that is true, and waits for `node`. */
eddy_status eddy__builder_sign_of(eddy__builder *b, eddy__site site,
                                  eddy_node node, eddy_output *out,
                                  eddy_error *err);

/* ---- builder_deferred.c ---- */

/* `stand_ins` of it are noted here. */
eddy_status eddy__builder_defer(eddy__builder *b,
                                const eddy__deferred *deferred,
                                eddy_error *err);

/* Forgets those whose nodes have been taken back. */
void eddy__deferred_truncate(eddy__builder *b, size_t n_nodes);

/* What `node` waits for, or NULL. */
const eddy__deferred *eddy__deferred_of(const eddy__builder *b, eddy_node node);

/* Answers those that wait for the loop of `level`, which has its back edges. */
eddy_status eddy__builder_answer(eddy__builder *b, uint32_t level,
                                 eddy_error *err);

/* ---- builder_shape.c ---- */

/* Shapes that are taken as given: those of `merges`, one each. */
typedef struct eddy__assumed {
    const eddy_output *merges;
    const eddy_shape *shapes;
    size_t n;
} eddy__assumed;

/*
 * What is certain of the shape of `output` so far, in the first iteration of
 * the loops that are open; found from the nodes before it, or from some of them
 * if there are very many.  Unknown without memory.
 */
eddy_shape eddy__known_shape(const eddy_graph *graph,
                             const eddy__assumed *assumed, eddy_output output);

/*
 * What is certain in every iteration of the loops that are open: of a variable
 * its shape invariant, or, without one, that it stays a scalar if it starts as
 * one, and nothing else.
 */
eddy_shape eddy__open_shape(const eddy_graph *graph, eddy_output output);

/*
 * The same of `values` in the body of the innermost loop, if it is to be ended
 * with `next`: where that loop has no shape invariants, its variables have what
 * they have in every iteration.  Unknown without memory.
 */
void eddy__settled_shapes(const eddy_graph *graph, const eddy_output *next,
                          const eddy_output *values, size_t n,
                          eddy_shape *out_shapes);

/* ---- what the constructs share ---- */

/*
 * The innermost open construct if it is of `kind`; else fails, naming the call
 * that wanted it.
 */
eddy_status eddy__want_construct(const eddy_graph *graph,
                                 eddy__construct_kind kind, const char *call,
                                 eddy__construct **out_construct,
                                 eddy_error *err);

/* Fails unless it is a shape: one of `what`, for the error. */
eddy_status eddy__builder_want_valid_shape(const char *what,
                                           const eddy_shape *shape,
                                           eddy_error *err);

/* So that what a function leaves unset is no node of the graph. */
static inline void eddy__builder_forget_outputs(eddy_output *outputs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        outputs[i] = (eddy_output){EDDY_NO_NODE, 0};
}

/* Fails unless the values are in the graph. */
eddy_status eddy__builder_want_values(const eddy_graph *graph,
                                      const eddy_output *values, size_t n,
                                      eddy_error *err);

/* Fails if it is no bool, or known to be something else than a scalar. */
eddy_status eddy__builder_want_predicate(const eddy_graph *graph,
                                         const char *scope,
                                         eddy_output predicate,
                                         eddy_error *err);

/* Pushes a cond, or a part of a case. */
eddy_status eddy__cond_open(eddy__builder *b, const eddy_cond_spec *spec,
                            eddy__construct_kind kind, eddy_error *err);

/* The level of branch `branch` of `c`, which is to be built next. */
eddy_status eddy__builder_open_branch(eddy__builder *b,
                                      const eddy__construct *c, size_t branch,
                                      uint32_t *out_level, eddy_error *err);

/*
 * The results of the branch that is being built, as they are seen in it, in the
 * graph's arena; checks that they agree with those of an earlier branch.
 */
eddy_status eddy__builder_collect_results(eddy__builder *b,
                                          const eddy__construct *c,
                                          const eddy_output *results, size_t n,
                                          const eddy_output **out_collected,
                                          eddy_error *err);

/*
 * Has a function build a part of the innermost construct from `n` inputs; fails
 * if there are then more or less constructs open than before.
 */
eddy_status eddy__build_part(eddy_graph *graph, const eddy_branch *part,
                             const eddy_output *inputs, size_t n,
                             eddy_output *out_results, eddy_error *err);

/* The Merges, when `last` are the results of the last branch. */
eddy_status eddy__builder_merge_results(eddy__builder *b,
                                        const eddy__construct *c,
                                        const eddy_output *last,
                                        eddy_output *out_results,
                                        eddy_error *err);

#endif
