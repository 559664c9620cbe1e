/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of the graph for each rank.  A collective becomes an Identity of its
 * name, which reads what the collective gives:
 *
 *     rank 0                                      rank 1
 *     x0 ----------> AddV2 ---> sum -> Identity   x1 -> _Send
 *     _Recv (x1) ->               \-> _Send       _Recv (sum) -> Identity
 *
 * Rank 0 joins the values in the order of ranks, so that bits are the same
 * however messages come, and the same on all ranks.  A pair's messages are told
 * apart by frame and iteration as those of any edge are, so nothing need be
 * issued in an order.  What is fed is fed on rank 0 and sent to the others.
 */
#include "frames/partition/replicate.h"

#include "core/base/status.h"
#include "core/graph/names.h"
#include "frames/lower/collective.h"
#include "frames/partition/pair.h"

#include <string.h>

typedef struct replicating {
    eddy__partitioning *p;
    uint32_t n_ranks;
    size_t n;                /* nodes of the whole graph */
    eddy_node *copy;         /* a rank and a node of it */
    eddy__emitter *emitters; /* a rank */
    eddy_node **ends;        /* a rank: its _Sends and _Recvs */
    size_t *n_ends, *ends_capacity;
    eddy__flow flow; /* of the whole graph */
} replicating;

bool eddy__replicate_is_collective(const eddy__node *node)
{
    return eddy__collective_join(node) != EDDY__JOIN_NONE;
}

static const eddy__node *node_of(const replicating *r, eddy_node v)
{
    return eddy__partition_node(r->p, v);
}

static eddy_output on(const replicating *r, uint32_t rank, eddy_output of)
{
    return (eddy_output){r->copy[rank * r->n + of.node], of.index};
}

/* Where nodes of a collective are added on a rank. */
static eddy__joining joining_on(const replicating *r, uint32_t rank,
                                eddy_node of)
{
    return (eddy__joining){.emitter = &r->emitters[rank],
                           .arena = &r->p->arena,
                           .of = node_of(r, of)};
}

/* ---- pairs ---- */

/* An edge between two copies. */
typedef struct pair {
    eddy_node of; /* of the whole graph */
    const char *role;
    uint32_t from, to;
    eddy_dtype dtype;
    bool is_even; /* what starts the receiver is dead when the tensor is */
} pair;

static bool describe(const replicating *r, const pair *c, eddy__pair *out)
{
    eddy__arena *arena = &r->p->arena;

    *out = (eddy__pair){
        .name = eddy__names_print(arena, "%s/%s_%u_%u", node_of(r, c->of)->name,
                                  c->role, (unsigned)c->from, (unsigned)c->to),
        .send_device =
            eddy__names_print(arena, "/job:eddy/task:%u", (unsigned)c->from),
        .recv_device =
            eddy__names_print(arena, "/job:eddy/task:%u", (unsigned)c->to),
        .dtype = c->dtype,
        .is_known_dead = c->is_even};
    return out->name && out->send_device && out->recv_device;
}

static const char *name_end(const replicating *r, const pair *c,
                            const char *suffix)
{
    return eddy__names_print(&r->p->arena, "%s/%s", node_of(r, c->of)->name,
                             suffix);
}

static eddy_status keep_end(const replicating *r, uint32_t rank, eddy_node end)
{
    if (!eddy__grow(&r->p->budget->allocator, (void **)&r->ends[rank],
                    &r->ends_capacity[rank], r->n_ends[rank] + 1,
                    sizeof **r->ends))
        return eddy__fail_memory(r->p->err);
    r->ends[rank][r->n_ends[rank]++] = end;
    return EDDY_OK;
}

/*
 * Sends `x`.  The receiver asks for it once in each iteration, when `start`
 * comes, which is on its own rank; EDDY_NO_NODE: at once.
 */
static eddy_status carry(const replicating *r, const pair *c, eddy_output x,
                         eddy_node start, eddy_output *out)
{
    eddy__pair ends;

    if (!describe(r, c, &ends))
        return eddy__fail_memory(r->p->err);
    EDDY_TRY(
        keep_end(r, c->from,
                 eddy__pair_send(&r->emitters[c->from], name_end(r, c, "send"),
                                 &ends, x, EDDY_NO_NODE)
                     .node));
    *out = eddy__pair_receive(&r->emitters[c->to], name_end(r, c, "recv"),
                              &ends, start);
    EDDY_TRY(keep_end(r, c->to, out->node));
    r->p->result->counts[c->from].n_sends++;
    r->p->result->counts[c->to].n_recvs++;
    EDDY_TRY(r->emitters[c->from].status);
    return r->emitters[c->to].status;
}

/* ---- collectives ---- */

/* A collective, its tensor on each rank, and what it gives there. */
typedef struct meeting {
    eddy_node of;
    eddy__join how;
    uint32_t root; /* where values are joined, or come from */
    bool is_even;  /* the tensor is dead on all ranks or on none */
    eddy_output *x, *y;
    eddy_output *given; /* on the root: what each rank is to get */
} meeting;

/*
 * Which node starts a _Recv on `rank`: in a loop, or where the tensor may be
 * dead, what brings it there.
 */
static eddy_node start_of(const replicating *r, const meeting *m, uint32_t rank)
{
    if (r->p->placed[m->of].frame == 0 && !m->is_even)
        return EDDY_NO_NODE;
    return m->x[rank].node;
}

static eddy_status collect(const replicating *r, meeting *m)
{
    const eddy__node *node = node_of(r, m->of);
    const eddy__joining at_root = joining_on(r, m->root, m->of);
    eddy_output *here =
        eddy__arena_allocate(&r->p->arena, r->n_ranks, sizeof *here);
    eddy__joined of = {.how = m->how, .n = r->n_ranks, .home = m->root};

    if (!here)
        return eddy__fail_memory(r->p->err);
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        const pair up = {
            m->of,     "up", i, m->root, (eddy_dtype)node->output_dtypes[0],
            m->is_even};

        const eddy__joining on_rank = joining_on(r, i, m->of);

        here[i] = eddy__collective_scaled(&on_rank, m->x[i], "prescale_factor");
        if (i != m->root)
            EDDY_TRY(carry(r, &up, here[i], start_of(r, m, m->root), &here[i]));
    }
    of.x = here;
    eddy__collective_share(&at_root, &of, m->given);
    m->y[m->root] = m->given[m->root];
    return r->emitters[m->root].status;
}

static eddy_status spread(const replicating *r, meeting *m)
{
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        const pair down = {m->of,
                           "down",
                           m->root,
                           i,
                           (eddy_dtype)node_of(r, m->of)->output_dtypes[0],
                           m->is_even};

        if (i != m->root)
            EDDY_TRY(carry(r, &down, m->given[i], start_of(r, m, i), &m->y[i]));
    }
    return EDDY_OK;
}

static eddy_status refuse(const replicating *r, eddy_node v, const char *why)
{
    return eddy__graph_fail_at(r->p->err, EDDY_INVALID_ARGUMENT, EDDY_E_PLACE,
                               node_of(r, v), "%s", why);
}

/* A group that is some of the ranks, or others, is none of these copies. */
static eddy_status check(const replicating *r, const meeting *m)
{
    const eddy__node *node = node_of(r, m->of);
    const eddy_attr *set = eddy__node_attr(node, "process_set_id");
    const eddy_attr *root = eddy__node_attr(node, "root_rank");
    const eddy_dtype dtype = (eddy_dtype)node->output_dtypes[0];

    if (m->how == EDDY__JOIN_UNKNOWN)
        return refuse(r, m->of, "no such reduction is known");
    if (set && set->as.ints[0] != 0)
        return refuse(r, m->of, "only the set of all ranks is known");
    if (m->how == EDDY__JOIN_MEAN && eddy__dtype_in(dtype, EDDY__INTEGERS))
        return refuse(r, m->of, "integers have no mean that is one");
    if (m->how == EDDY__JOIN_ROOT && (!root || root->as.ints[0] < 0 ||
                                      root->as.ints[0] >= (int64_t)r->n_ranks))
        return refuse(r, m->of, "there is no such rank as its root");
    return EDDY_OK;
}

/* The sender that a receiver gets its value from, by their keys. */
static eddy_status find_sender(const replicating *r, eddy_node receiver,
                               eddy_node *out)
{
    size_t n = 0;

    *out = eddy__collective_sender(&r->flow, receiver, &n);
    if (n > 1)
        return refuse(r, receiver, "two nodes send by its keys");
    if (n == 0)
        return refuse(r, receiver, "no node is known to send by its keys");
    if (r->p->placed[*out].frame != r->p->placed[receiver].frame)
        return refuse(r, receiver, "its sender is in another loop");
    if (node_of(r, *out)->output_dtypes[0] !=
        node_of(r, receiver)->output_dtypes[0])
        return refuse(r, receiver, "its sender has another dtype");
    return EDDY_OK;
}

/*
 * Whether the tensors are dead together.  A control edge from a Switch says
 * nothing of its sides, so they are read by an Identity.  Of the tensor of a
 * broadcast other ranks make no use, which need not be there.
 */
static eddy_status take_evenly(const replicating *r, meeting *m,
                               eddy_output tensor)
{
    const bool is_broadcast =
        m->how == EDDY__JOIN_ROOT || m->how == EDDY__JOIN_RECEIVE;

    m->is_even = !r->p->is_uneven[tensor.node] &&
                 (r->p->placed[m->of].frame != 0 || !is_broadcast);
    if (!m->is_even ||
        eddy__node_role(node_of(r, tensor.node)) != EDDY__ROLE_SWITCH)
        return EDDY_OK;
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        const eddy_node_spec spec = {.size = sizeof spec,
                                     .op = "Identity",
                                     .inputs = &m->x[i],
                                     .n_inputs = 1};

        m->x[i] =
            eddy__emitter_add_as(&r->emitters[i],
                                 eddy__names_print(&r->p->arena, "%s/tensor",
                                                   node_of(r, m->of)->name),
                                 &spec);
        EDDY_TRY(r->emitters[i].status);
    }
    return EDDY_OK;
}

/* The tensors of all ranks, of a receiver those of its sender. */
static eddy_status find_tensors(const replicating *r, meeting *m)
{
    eddy_node from = m->of;

    m->x = eddy__arena_allocate(&r->p->arena, r->n_ranks, sizeof *m->x);
    m->y = eddy__arena_allocate(&r->p->arena, r->n_ranks, sizeof *m->y);
    m->given = eddy__arena_allocate(&r->p->arena, r->n_ranks, sizeof *m->given);
    if (!m->x || !m->y || !m->given)
        return eddy__fail_memory(r->p->err);
    if (m->how == EDDY__JOIN_RECEIVE)
        EDDY_TRY(find_sender(r, m->of, &from));
    for (uint32_t i = 0; i < r->n_ranks; i++)
        m->x[i] = on(r, i, node_of(r, from)->inputs[0]);
    if (m->how == EDDY__JOIN_ROOT)
        m->root = (uint32_t)eddy__node_attr(node_of(r, m->of), "root_rank")
                      ->as.ints[0];
    m->y[m->root] = m->x[m->root];
    for (uint32_t i = 0; i < r->n_ranks; i++)
        m->given[i] = m->x[m->root];
    return take_evenly(r, m, node_of(r, from)->inputs[0]);
}

/*
 * What each rank gets.  A sender has its own, also where it is not the root:
 * there it is in a branch that is not taken, or what it has is the same.
 */
static eddy_status meet(const replicating *r, eddy_node v)
{
    meeting m = {.of = v, .how = eddy__collective_join(node_of(r, v))};

    EDDY_TRY(check(r, &m));
    EDDY_TRY(find_tensors(r, &m));
    if (m.how == EDDY__JOIN_SEND)
        m.y = m.x;
    else if (m.how != EDDY__JOIN_ROOT && m.how != EDDY__JOIN_RECEIVE)
        EDDY_TRY(collect(r, &m));
    if (m.how != EDDY__JOIN_SEND)
        EDDY_TRY(spread(r, &m));
    for (uint32_t i = 0; i < r->n_ranks; i++)
        EDDY_TRY(eddy__graph_connect(r->p->result->graphs[i],
                                     r->copy[i * r->n + v], 0, m.y[i],
                                     r->p->err));
    return EDDY_OK;
}

/* ---- copies ---- */

static bool is_number(const eddy__node *node, bool *out_is_rank)
{
    *out_is_rank = strcmp(node->op_name, EDDY__RANK) == 0;
    return *out_is_rank || strcmp(node->op_name, EDDY__SIZE) == 0;
}

static bool is_fed(const replicating *r, eddy_node v)
{
    for (size_t i = 0; i < r->p->options->n_feeds; i++)
        if (r->p->feeds[i].node == v)
            return true;
    return false;
}

/* What the collective gives, which is not known yet. */
static eddy_status add_result(const replicating *r, uint32_t rank, eddy_node v,
                              eddy_node *out)
{
    const eddy__joining on_rank = joining_on(r, rank, v);
    const bool receives =
        eddy__collective_join(node_of(r, v)) == EDDY__JOIN_RECEIVE;
    const eddy_shape shape = receives ? eddy__collective_shape(&r->flow, v)
                                      : (eddy_shape){.rank = -1};

    *out = eddy__collective_result(&on_rank, node_of(r, v)->name, NULL, &shape);
    return r->emitters[rank].status;
}

static eddy_status add_number(const replicating *r, uint32_t rank, eddy_node v,
                              int32_t number, eddy_node *out)
{
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .name = node_of(r, v)->name};

    *out = eddy__emitter_scalar(&r->emitters[rank], &spec, EDDY_INT32, &number)
               .node;
    return r->emitters[rank].status;
}

/* What is fed comes from rank 0. */
static eddy_status add_feed(const replicating *r, uint32_t rank, eddy_node v,
                            eddy_node *out)
{
    const pair feed = {
        v, "fed", 0, rank, (eddy_dtype)node_of(r, v)->output_dtypes[0], false};
    eddy_output received = EDDY__NO_OUTPUT;

    if (feed.dtype == EDDY_RESOURCE)
        return refuse(r, v, "a handle that is fed can't be sent to all ranks");
    EDDY_TRY(
        carry(r, &feed, (eddy_output){r->copy[v], 0}, EDDY_NO_NODE, &received));
    *out = received.node;
    return EDDY_OK;
}

static eddy_status copy_node(const replicating *r, uint32_t rank, eddy_node v)
{
    const eddy__node *node = node_of(r, v);
    const eddy__node_copy copy = {.of = node, .drops_class = true};
    eddy_node *out = &r->copy[rank * r->n + v];
    bool is_rank;

    if (eddy__replicate_is_collective(node))
        return add_result(r, rank, v, out);
    if (is_number(node, &is_rank))
        return add_number(r, rank, v, (int32_t)(is_rank ? rank : r->n_ranks),
                          out);
    if (rank > 0 && is_fed(r, v))
        return add_feed(r, rank, v, out);
    return eddy__copy_add(&r->p->copier, r->p->result->graphs[rank], &copy, out,
                          r->p->err);
}

static eddy_status connect(const replicating *r, uint32_t rank, eddy_node v)
{
    const eddy__node *node = node_of(r, v);
    eddy_graph *graph = r->p->result->graphs[rank];
    const eddy_node to = r->copy[rank * r->n + v];

    for (uint32_t i = 0; i < node->n_inputs; i++)
        if (!eddy__replicate_is_collective(node))
            EDDY_TRY(eddy__graph_connect(
                graph, to, i, on(r, rank, node->inputs[i]), r->p->err));
    for (uint32_t i = 0; i < node->n_controls; i++)
        EDDY_TRY(eddy__graph_add_control(
            graph, to, r->copy[rank * r->n + node->controls[i]], r->p->err));
    return EDDY_OK;
}

static eddy_status copy_all(const replicating *r)
{
    for (uint32_t i = 0; i < r->n_ranks; i++)
        for (eddy_node v = 0; v < r->n; v++)
            if (r->p->placed[v].is_needed)
                EDDY_TRY(copy_node(r, i, v));
    for (uint32_t i = 0; i < r->n_ranks; i++)
        for (eddy_node v = 0; v < r->n; v++)
            if (r->p->placed[v].is_needed)
                EDDY_TRY(connect(r, i, v));
    for (eddy_node v = 0; v < r->n; v++)
        if (r->p->placed[v].is_needed &&
            eddy__replicate_is_collective(node_of(r, v)))
            EDDY_TRY(meet(r, v));
    return EDDY_OK;
}

/* ---- what was asked for ---- */

static eddy_status place_outputs(const replicating *r, const eddy_output *of,
                                 size_t n, eddy__part_of **out)
{
    eddy__part_of *parts =
        eddy__arena_allocate(&r->p->result->arena, n, sizeof *parts);

    if (!parts)
        return eddy__fail_memory(r->p->err);
    for (size_t i = 0; i < n; i++)
        parts[i] = (eddy__part_of){
            .rank = r->p->placed[of[i].node].is_needed ? 0 : EDDY__NOT_FOUND,
            .output = on(r, 0, of[i])};
    *out = parts;
    return EDDY_OK;
}

/* Each rank runs all targets, sends, and receives, also what it has no use for.
 */
static eddy_status place_targets(const replicating *r)
{
    const eddy__partitioning *p = r->p;
    eddy_partition *result = p->result;

    result->n_targets = eddy__arena_allocate_zeroed(&result->arena, r->n_ranks,
                                                    sizeof *result->n_targets);
    result->targets = eddy__arena_allocate_zeroed(&result->arena, r->n_ranks,
                                                  sizeof *result->targets);
    if (!result->n_targets || !result->targets)
        return eddy__fail_memory(p->err);
    for (uint32_t i = 0; i < r->n_ranks; i++) {
        eddy_node *targets = eddy__arena_allocate(
            &result->arena, p->n_targets + r->n_ends[i], sizeof *targets);

        if (!targets)
            return eddy__fail_memory(p->err);
        for (size_t k = 0; k < p->n_targets; k++)
            targets[k] = r->copy[i * r->n + p->targets[k]];
        for (size_t k = 0; k < r->n_ends[i]; k++)
            targets[p->n_targets + k] = r->ends[i][k];
        result->targets[i] = targets;
        result->n_targets[i] = p->n_targets + r->n_ends[i];
    }
    return EDDY_OK;
}

static eddy_status find_flow(replicating *r)
{
    const eddy_graph *whole = r->p->whole;
    uint8_t *keep = eddy__arena_allocate(&r->p->arena, r->n, 1);
    eddy__selection *selection =
        eddy__arena_allocate_zeroed(&r->p->arena, 1, sizeof *selection);

    if (!keep || !selection)
        return eddy__fail_memory(r->p->err);
    for (eddy_node v = 0; v < r->n; v++)
        keep[v] = r->p->placed[v].is_needed;
    *selection =
        (eddy__selection){.graph = whole, .keep = keep, .budget = r->p->budget};
    return eddy__flow_build(&r->flow, selection, &r->p->arena, r->p->err);
}

static eddy_status fill(replicating *r)
{
    eddy_partition *result = r->p->result;

    EDDY_TRY(find_flow(r));

    for (uint32_t i = 0; i < r->n_ranks; i++) {
        EDDY_TRY(eddy__graph_clone_empty(r->p->whole, r->p->budget,
                                         &result->graphs[i], r->p->err));
        r->emitters[i] = (eddy__emitter){.graph = result->graphs[i],
                                         .err = r->p->err,
                                         .options = {.forward_edges = true}};
    }
    EDDY_TRY(copy_all(r));
    result->n_feeds = r->p->options->n_feeds;
    result->n_fetches = r->p->options->n_fetches;
    EDDY_TRY(place_outputs(r, r->p->feeds, result->n_feeds, &result->feeds));
    EDDY_TRY(
        place_outputs(r, r->p->fetches, result->n_fetches, &result->fetches));
    EDDY_TRY(place_targets(r));
    for (uint32_t i = 0; i < r->n_ranks; i++)
        result->counts[i].n_nodes = result->graphs[i]->n_nodes;
    return EDDY_OK;
}

eddy_status eddy__partition_replicate(eddy__partitioning *p)
{
    eddy__arena *arena = &p->arena;
    const uint32_t n_ranks = p->options->n_ranks;
    replicating r = {
        .p = p,
        .n_ranks = n_ranks,
        .n = p->whole->n_nodes,
        .copy = eddy__arena_allocate(arena, n_ranks * p->whole->n_nodes,
                                     sizeof *r.copy),
        .emitters =
            eddy__arena_allocate_zeroed(arena, n_ranks, sizeof *r.emitters),
        .ends = eddy__arena_allocate_zeroed(arena, n_ranks, sizeof *r.ends),
        .n_ends = eddy__arena_allocate_zeroed(arena, n_ranks, sizeof *r.n_ends),
        .ends_capacity = eddy__arena_allocate_zeroed(arena, n_ranks,
                                                     sizeof *r.ends_capacity),
    };
    eddy_status status;

    p->result->graphs = eddy__arena_allocate_zeroed(&p->result->arena, n_ranks,
                                                    sizeof(eddy_graph *));
    p->result->counts = eddy__arena_allocate_zeroed(&p->result->arena, n_ranks,
                                                    sizeof *p->result->counts);
    if (!r.copy || !r.emitters || !r.ends || !r.n_ends || !r.ends_capacity ||
        !p->result->graphs || !p->result->counts)
        return eddy__fail_memory(p->err);
    status = fill(&r);
    for (uint32_t i = 0; i < n_ranks; i++)
        eddy__free(&p->budget->allocator, r.ends[i], r.ends_capacity[i],
                   sizeof *r.ends[i]);
    return status;
}
