/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic executor: takes ready nodes from the queue, first in first out,
 * runs each as its kind says, and sends tokens to its consumers.
 *
 * What a node does when it is live is in the functions run_*; a dead node runs
 * no kernel and sends dead tokens, but for Enter, Exit, NextIteration, Fetch
 * and ControlTrigger (TensorFlow's rules; frames/liveness.h has the firing
 * rule).
 */
#include "runtime/exec/dynamic/same.h"
#include "runtime/exec/dynamic/token.h"

#include "core/base/status.h"
#include "runtime/exec/trace/trace.h"

#include <stddef.h>
#include <string.h>

/*
 * What has a parameter `recorded` is there twice: the loop of a run that nobody
 * records has no test for it.
 */
#define EDDY__TWICE static inline __attribute__((always_inline))

/* ---- the queue and the rarer edges ---- */

bool eddy__queue_grow(eddy_run *run)
{
    eddy__queue *q = &eddy__dynamic_of(run)->queue;
    size_t n = (size_t)(q->end - q->base), head = (size_t)(q->head - q->base);
    size_t size = (n == 0 ? 64 : 2 * n) * sizeof(eddy__token);
    eddy__token *tokens = eddy__heap_allocate(&run->heap, size, &size);

    if (!tokens) {
        eddy__run_raise_memory(run, NULL, NULL);
        return false;
    }
    if (q->base) {
        memcpy(tokens, q->head, (n - head) * sizeof *tokens);
        memcpy(tokens + n - head, q->base, head * sizeof *tokens);
        eddy__heap_recycle(&run->heap, q->base, n * sizeof *tokens);
    }
    *q = (eddy__queue){.base = tokens,
                       .end = tokens + size / sizeof *tokens,
                       .head = tokens,
                       .tail = tokens + n};
    return true;
}

/* Is it certain that the value of input `a`, which was first, wins? */
static bool is_decided(const eddy_run *run, const eddy__step *merge, uint32_t a,
                       uint32_t b)
{
    const uint64_t *behind =
        merge->aux > 0 ? run->plan->contests[merge->aux - 1] : NULL;

    return behind && (behind[b] >> a & 1) != 0;
}

/* A second live token is dropped where it makes no difference. */
static eddy__verdict merge_second(eddy_run *run, const eddy__step *merge,
                                  const eddy__edge *edge, eddy__iteration *it)
{
    const uint32_t first = it->liveness[edge->local].dead;
    eddy__value *slot = &it->values[merge->in[edge->port]];

    if (is_decided(run, merge, first, edge->port) ||
        ((merge->flags & EDDY__STEP_COMPARED) != 0 &&
         eddy__value_same(&it->values[merge->in[first]], slot)))
        eddy__consume(run, slot);
    else
        eddy__run_raise(
            run, EDDY_INVALID_ARGUMENT, EDDY_E_MERGE_TWO_LIVE, merge,
            &it->place,
            "inputs %u and %u are both live, and which comes first is a race; "
            "at most one may be, unless they are equal and value_index is not "
            "read",
            first, edge->port);
    return EDDY__WAIT;
}

/*
 * A live token moves its value into the Merge's output at once: the Merge has
 * nothing left to do but to pass it on.
 */
static eddy__verdict merge_live(eddy_run *run, const eddy__step *merge,
                                const eddy__edge *edge, eddy__iteration *it)
{
    eddy__verdict verdict =
        eddy__merge_arrive_live(&it->liveness[edge->local], edge->port);
    eddy__value *slot = &it->values[merge->in[edge->port]];

    if (verdict == EDDY__TWO_LIVE)
        return merge_second(run, merge, edge, it);
    if (it->liveness[edge->local].dead == EDDY__MERGE_FIRED) {
        eddy__consume(run, slot);
        return EDDY__WAIT;
    }
    if (merge->flags & EDDY__STEP_COMPARED)
        eddy__put(run, merge, 0, it, eddy__value_copy(slot));
    else
        eddy__pass(run, merge, 0, slot, it);
    eddy__out_scalar(&it->values[merge->out[1]], EDDY_INT32, edge->port);
    return verdict;
}

/* The value of another input is certain to win. */
static void drop_late(eddy_run *run, const eddy__step *merge,
                      const eddy__edge *edge, eddy__iteration *it, bool dead)
{
    if (!dead)
        eddy__consume(run,
                      &it->values[merge->in[edge->port & ~EDDY__LATE_PORT]]);
}

static eddy__verdict arrive_special(eddy_run *run, const eddy__step *from,
                                    const eddy__edge *edge, eddy__iteration *it,
                                    bool dead)
{
    const eddy__step *to = &run->steps[edge->step];
    eddy__liveness *l = &it->liveness[edge->local];

    if (to->kind == EDDY__STEP_CONTROL_TRIGGER)
        return eddy__arrive(l, false) ? EDDY__FIRE_LIVE : EDDY__WAIT;
    if (edge->port == EDDY__CONTROL_PORT)
        return eddy__merge_arrive_control(l, to->node->n_in);
    if (edge->port & EDDY__LATE_PORT) {
        drop_late(run, to, edge, it, dead);
        return EDDY__WAIT;
    }
    if (!dead)
        return merge_live(run, to, edge, it);
    return eddy__merge_arrive_dead(l, to->node->n_in,
                                   from->kind == EDDY__STEP_ENTER);
}

uint32_t eddy__send_special(eddy_run *run, const eddy__step *step,
                            eddy__iteration *it, bool dead, uint32_t taken,
                            eddy__outlet *outlet)
{
    uint32_t n = 0;

    for (uint32_t i = step->n_plain; i < step->n_edges; i++) {
        const eddy__edge *edge = &step->edges[i];
        bool edge_dead = dead || (taken != EDDY__ALL_OUTPUTS &&
                                  edge->output != EDDY__CONTROL_PORT &&
                                  edge->output != taken);
        eddy__verdict verdict = arrive_special(run, step, edge, it, edge_dead);

        if (verdict == EDDY__WAIT)
            continue;
        eddy__make_ready(run, &run->steps[edge->step], it,
                         verdict == EDDY__FIRE_DEAD, outlet);
        n++;
    }
    return n;
}

/* A node of `it` that puts its outputs there is done; what comes next. */
static inline eddy__token go_on(eddy_run *run, const eddy__step *step,
                                eddy__iteration *it, bool dead)
{
    eddy__outlet outlet;

    if (step->flags & EDDY__STEP_CHAINED) {
        const eddy__step *consumer = &run->steps[step->edges[0].step];

        return eddy__token_of(consumer, it, dead);
    }
    outlet = eddy__outlet_open(run);
    eddy__leave(run, it, eddy__send_all(run, step, it, dead, &outlet));
    return outlet.next;
}

/* Nothing comes next in `it`. */
static inline eddy__token stop_here(eddy_run *run, eddy__iteration *it)
{
    eddy__leave(run, it, 0);
    return (eddy__token){0};
}

/* A node has failed, or is under way elsewhere. */
static const eddy__token no_token = {0};

/* ---- frames: Enter, Exit, NextIteration ---- */

/* Where in the frame's list the replayed Enter stands. */
static uint32_t replay_number(const eddy_run *run, const eddy__frame *frame,
                              const eddy__step *step)
{
    uint32_t id = (uint32_t)(step - run->plan->steps), i = 0;

    while (frame->plan->replayed[i] != id)
        i++;
    return i;
}

/* Keeps the value for later iterations and sends it to those that live. */
static void enter_replayed(eddy_run *run, const eddy__step *step,
                           eddy__frame *frame, eddy__value value, bool dead)
{
    uint32_t i = replay_number(run, frame, step);

    frame->replayed[i] = value;
    frame->replay_state[i] = dead ? EDDY__CAME_DEAD : EDDY__CAME_LIVE;
    for (eddy__iteration *it = frame->oldest; it; it = it->next) {
        if (!dead)
            eddy__put(run, step, 0, it, eddy__value_copy(&value));
        eddy__send(run, step, it, dead);
    }
}

/* Takes the token off the counters with which further iterations start. */
static void apply_invariant(eddy_run *run, const eddy__step *step,
                            eddy__frame *frame, bool dead)
{
    for (uint32_t i = 0; i < step->n_plain; i++) {
        const eddy__edge *edge = &step->edges[i];
        eddy__liveness *l = &frame->applied[edge->local];

        if (eddy__arrive(l, dead))
            frame->starters[frame->n_starters++] = (eddy__starter){
                .step = &run->plan->steps[edge->step], .dead = l->dead != 0};
    }
}

/*
 * The frame owns the value; its iterations borrow it, so that an invariant
 * costs no reference count an iteration.
 */
static void enter_invariant(eddy_run *run, const eddy__step *step,
                            eddy__frame *frame, eddy__value value, bool dead)
{
    uint32_t slot = step->out[0];

    if (!dead && !eddy__check_value(run, step, 0, &value,
                                    eddy__iteration_place(frame->oldest)))
        eddy__value_clear(&run->heap, &value);
    if (!dead) {
        frame->held[slot] = value;
        frame->invariants[slot] = eddy__value_lend(&value);
    }
    for (eddy__iteration *it = frame->oldest; it; it = it->next) {
        it->values[slot] = frame->invariants[slot];
        eddy__send(run, step, it, dead);
    }
    apply_invariant(run, step, frame, dead);
}

/* False: raised. */
static bool enter_frame(eddy_run *run, const eddy__step *step,
                        eddy__iteration *it, bool dead)
{
    eddy__frame *frame = eddy__frame_enter(run, it, step);
    eddy__value value = {.kind = EDDY__NONE};

    if (!frame)
        return false;
    if (dead)
        eddy__consume(run, &it->values[step->in[0]]);
    else
        value = eddy__take(&it->values[step->in[0]]);
    if (step->flags & EDDY__STEP_PREAPPLIED) {
        enter_invariant(run, step, frame, value, dead);
    } else if (step->flags & EDDY__STEP_CONSTANT) {
        enter_replayed(run, step, frame, value, dead);
    } else {
        if (!dead)
            eddy__put(run, step, 0, frame->oldest, value);
        eddy__send(run, step, frame->oldest, dead);
    }
    if (--frame->pending_enters == 0)
        eddy__frame_retire(run, frame);
    return true;
}

/* ---- regions: loop nests that the linear executor runs ---- */

/* Where the Enters of a region wait for each other, in an iteration. */
struct eddy__gate {
    eddy__gate *next, *previous; /* of all in the run */
    eddy__iteration *it;
    const eddy__linear *region;
    eddy__linear_run *l; /* NULL: some Enter has not come */
    uint32_t n_pending;
    bool any_dead;
    size_t block_size;
};

static eddy__gate **gate_of(eddy_run *run, const eddy__linear *region,
                            eddy__iteration *it)
{
    const uint32_t child = run->plan->frames[region->step.aux].child;

    return (eddy__gate **)(void *)&it->children[child];
}

static eddy__gate *open_gate(eddy_run *run, const eddy__linear *region,
                             eddy__iteration *it)
{
    eddy__gate **at = gate_of(run, region, it), *gate = *at;
    size_t size = sizeof *gate;

    if (gate)
        return gate;
    gate = eddy__heap_allocate(&run->heap, size, &size);
    if (!gate) {
        eddy__run_raise_memory(run, NULL, &it->place);
        return NULL;
    }
    *gate = (eddy__gate){.next = eddy__dynamic_of(run)->gates,
                         .it = it,
                         .region = region,
                         .n_pending = region->n_entries,
                         .block_size = size};
    if (gate->next)
        gate->next->previous = gate;
    eddy__dynamic_of(run)->gates = gate;
    it->n_children++;
    return *at = gate;
}

static void close_gate(eddy_run *run, eddy__gate *gate)
{
    if (gate->l)
        eddy__linear_destroy(run, gate->l);
    if (gate->previous)
        gate->previous->next = gate->next;
    else
        eddy__dynamic_of(run)->gates = gate->next;
    if (gate->next)
        gate->next->previous = gate->previous;
    *gate_of(run, gate->region, gate->it) = NULL;
    gate->it->n_children--;
    eddy__heap_recycle(&run->heap, gate, gate->block_size);
}

/* All Enters have come live: their values go in, and the region is ready. */
static void start_region(eddy_run *run, eddy__gate *gate)
{
    const eddy__linear *region = gate->region;
    eddy__iteration *it = gate->it;

    gate->l = eddy__linear_create(run, region, &it->place);
    for (uint32_t i = 0; gate->l && i < region->n_entries; i++) {
        const eddy__step *enter = &run->steps[region->entries[i].step];

        eddy__linear_enter(run, gate->l, i,
                           eddy__take(&it->values[enter->in[0]]));
    }
    if (!gate->l || run->failed)
        return;
    eddy__push(run, &region->step, it, false);
    it->outstanding++;
}

/* Some of them are dead: the frame is run a node at a time. */
static void enter_all(eddy_run *run, eddy__gate *gate)
{
    const eddy__linear *region = gate->region;
    eddy__iteration *it = gate->it;

    close_gate(run, gate);
    for (uint32_t i = 0; i < region->n_entries; i++) {
        const eddy__step *enter = &run->steps[region->entries[i].step];

        if (!enter_frame(run, enter, it, it->liveness[enter->local].dead != 0))
            return;
    }
}

/* An Enter of a region has come; which are dead, their counters tell. */
static void arrive_at_gate(eddy_run *run, const eddy__step *step,
                           eddy__iteration *it, bool dead)
{
    eddy__gate *gate = open_gate(run, run->plan->frames[step->aux].linear, it);

    if (!gate)
        return;
    it->liveness[step->local].dead = dead;
    gate->any_dead = gate->any_dead || dead;
    if (--gate->n_pending > 0)
        return;
    if (gate->any_dead)
        enter_all(run, gate);
    else
        start_region(run, gate);
}

/* Its Exits are live, in the iteration around it. */
static void leave_region(eddy_run *run, eddy__gate *gate)
{
    const eddy__linear *region = gate->region;
    eddy__iteration *it = gate->it;

    for (uint32_t i = 0; i < region->n_exits; i++) {
        const eddy__step *exit = &run->steps[region->exits[i].step];

        eddy__put(run, exit, 0, it, eddy__linear_take_exit(gate->l, i));
        eddy__send(run, exit, it, false);
    }
    close_gate(run, gate);
}

static eddy__token run_region(eddy_run *run, const eddy__step *step,
                              eddy__iteration *it)
{
    eddy__gate *gate = *gate_of(run, run->plan->frames[step->aux].linear, it);

    run->stats.live_executions--; /* it is no node of the plan */
    switch (
        eddy__linear_run_on(run, gate->l, &eddy__dynamic_of(run)->allowance)) {
    case EDDY__LINEAR_ENDED:
        leave_region(run, gate);
        return stop_here(run, it);
    case EDDY__LINEAR_PAUSED:
        eddy__push(run, step, it, false);
        return no_token;
    case EDDY__LINEAR_FAILED:
    case EDDY__LINEAR_WARM: /* not said to others */
        break;
    }
    return no_token;
}

EDDY__TWICE eddy__token run_enter(eddy_run *run, const eddy__step *step,
                                  eddy__iteration *it, bool dead, bool recorded)
{
    if (!recorded && run->plan->frames[step->aux].linear)
        arrive_at_gate(run, step, it, dead);
    else if (!enter_frame(run, step, it, dead))
        return no_token;
    if (run->failed)
        return no_token;
    return stop_here(run, it);
}

static eddy__token run_exit(eddy_run *run, const eddy__step *step,
                            eddy__iteration *it)
{
    eddy__frame *frame = it->frame;
    eddy__iteration *parent = frame->parent;

    if (frame->exited[step->aux]) {
        eddy__run_raise(run, EDDY_INVALID_ARGUMENT, EDDY_E_EXIT_TWICE, step,
                        &it->place,
                        "the Exit is live in a second iteration; it must read "
                        "output 0 of a Switch on the LoopCond");
        return no_token;
    }
    frame->exited[step->aux] = 1;
    eddy__put(run, step, 0, parent, eddy__take_out(&it->values[step->in[0]]));
    eddy__send(run, step, parent, false);
    return stop_here(run, it);
}

/* Does `step` feed nothing but a Merge that waits for one live token? */
static inline bool is_lone_merge(const eddy_run *run, const eddy__step *step,
                                 const eddy__iteration *it)
{
    const eddy__edge *edge = step->edges;

    return step->n_edges == 1 && step->n_plain == 0 &&
           run->steps[edge->step].kind == EDDY__STEP_MERGE &&
           edge->port != EDDY__CONTROL_PORT &&
           it->liveness[edge->local].pending == 1;
}

/* What eddy__send_special comes to then: the commonest back edge. */
static inline void arrive_first(eddy_run *run, const eddy__edge *edge,
                                eddy__iteration *it, eddy__outlet *outlet)
{
    const eddy__step *merge = &run->steps[edge->step];

    it->liveness[edge->local].pending = EDDY__MERGE_FIRED;
    eddy__pass(run, merge, 0, &it->values[merge->in[edge->port]], it);
    eddy__out_scalar(&it->values[merge->out[1]], EDDY_INT32, edge->port);
    eddy__make_ready(run, merge, it, false, outlet);
    it->outstanding++;
}

static eddy__token run_next_iteration(eddy_run *run, const eddy__step *step,
                                      eddy__iteration *it)
{
    eddy__frame *frame = it->frame;
    eddy__value *slot = &it->values[step->in[0]];
    eddy__iteration *after = it->next;
    eddy__outlet outlet;

    if (!after && frame->n_outstanding >= frame->plan->parallel_iterations) {
        frame->parked[frame->n_parked++] =
            (eddy__parked){.step = step, .value = eddy__take(slot)};
        return stop_here(run, it);
    }
    if (!after)
        after = eddy__frame_iterate(run, frame);
    if (!after)
        return no_token;
    eddy__pass(run, step, 0, slot, after);
    outlet = eddy__outlet_open(run);
    if (is_lone_merge(run, step, after))
        arrive_first(run, step->edges, after, &outlet);
    else
        after->outstanding += eddy__send_all(run, step, after, false, &outlet);
    eddy__leave(run, it, 0);
    return outlet.next;
}

/* ---- Switch, feeds, fetches ---- */

/* The live output, or UINT32_MAX when that has been refused. */
static inline uint32_t choose_output(eddy_run *run, const eddy__step *step,
                                     eddy__iteration *it)
{
    const eddy__value *pred = &it->values[step->in[1]];
    uint32_t last = step->node->n_out - 1;

    if (pred->kind != EDDY__SCALAR) {
        eddy_shape shape = pred->as.tensor->shape;

        eddy__run_raise(run, EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE, step,
                        &it->place,
                        "the predicate has shape %s; it must be a scalar",
                        eddy__shape_print(&shape).text);
        return UINT32_MAX;
    }
    if (pred->dtype == EDDY_BOOL)
        return pred->as.b ? 1 : 0;
    if (pred->as.i32 < 0 || (uint32_t)pred->as.i32 > last)
        return last;
    return (uint32_t)pred->as.i32;
}

/*
 * The Exit of a loop dies in every iteration but the last: it is done with at
 * once, without a token.
 */
static inline bool is_exit_done(eddy_run *run, const eddy__step *consumer)
{
    if (consumer->kind != EDDY__STEP_EXIT)
        return false;
    run->stats.dead_executions++;
    run->n_executed++;
    return true;
}

/* Of a live Switch only output `taken` and the control edges are live. */
EDDY__TWICE eddy__token switch_as(eddy_run *run, const eddy__step *step,
                                  eddy__iteration *it, bool recorded)
{
    const eddy__edge *edge = step->edges, *end = edge + step->n_plain;
    uint32_t taken = choose_output(run, step, it), n = 0;
    eddy__outlet outlet = eddy__outlet_open(run);

    if (taken == EDDY__ALL_OUTPUTS)
        return no_token;
    if (recorded)
        eddy__trace_add(run, step, &it->place, EDDY_TRACE_LIVE, it->values,
                        step->in, 1, taken, 0);
    eddy__pass(run, step, taken, &it->values[step->in[0]], it);
    for (; edge < end; edge++) {
        const eddy__step *consumer = &run->steps[edge->step];
        bool dead = edge->output != taken && edge->output != EDDY__CONTROL_PORT;

        if (!eddy__arrive_plain(it, edge, &dead) ||
            (dead && !recorded && is_exit_done(run, consumer)))
            continue;
        eddy__make_ready(run, consumer, it, dead, &outlet);
        n++;
    }
    if (step->n_edges > step->n_plain) {
        eddy__outlet copy = outlet;

        n += eddy__send_special(run, step, it, false, taken, &copy);
        outlet = copy;
    }
    eddy__leave(run, it, n);
    return outlet.next;
}

static eddy__token run_switch(eddy_run *run, const eddy__step *step,
                              eddy__iteration *it)
{
    return switch_as(run, step, it, false);
}

static eddy__token record_switch(eddy_run *run, const eddy__step *step,
                                 eddy__iteration *it)
{
    return switch_as(run, step, it, true);
}

static eddy__token run_fetch(eddy_run *run, const eddy__step *step,
                             eddy__iteration *it, bool dead)
{
    run->stats.live_executions--; /* it is no node of the plan */
    if (dead) {
        eddy__consume(run, &it->values[step->in[0]]);
        run->fetch_state[step->aux] = EDDY__CAME_DEAD;
    } else {
        run->fetched[step->aux] = eddy__take_out(&it->values[step->in[0]]);
        run->fetch_state[step->aux] = EDDY__CAME_LIVE;
    }
    return stop_here(run, it);
}

/* ---- kernels ---- */

/* Has something outside asked the run to stop, or its time run out? */
static inline bool must_stop(eddy_run *run)
{
    int stop = atomic_load_explicit(&run->stop, memory_order_relaxed);

    if (__builtin_expect(stop == EDDY__GO, 1))
        return false;
    eddy__run_raise_stop(run);
    return true;
}

/*
 * The same before a kernel that may take long: the driver itself looks at the
 * clock once in so many nodes, which is rare if each of them takes a while.
 */
static inline bool must_stop_now(eddy_run *run)
{
    if (run->deadline_ns > 0 && eddy__recent_ns() >= run->deadline_ns)
        atomic_store_explicit(&run->stop, EDDY__STOP_DEADLINE,
                              memory_order_relaxed);
    return must_stop(run);
}

static bool settle_outputs(eddy_run *run, const eddy__step *step,
                           eddy__iteration *it)
{
    for (uint32_t i = 0; i < step->node->n_out; i++)
        if (!eddy__settle_output(run, step, i, &it->values[step->out[i]],
                                 &it->place))
            return false;
    return true;
}

static void consume_inputs(eddy_run *run, const eddy__step *step,
                           eddy__iteration *it)
{
    for (uint32_t i = 0; i < step->node->n_in; i++)
        eddy__consume(run, &it->values[step->in[i]]);
}

static inline void aim_kernel(eddy_kernel *k, const eddy__step *step,
                              eddy__iteration *it)
{
    k->values = it->values;
    k->in = step->in;
    k->out = step->out;
    k->node = step->node;
}

/* Is nothing else under way or ready? */
static bool is_alone(eddy_run *run)
{
    const eddy__queue *q = &eddy__dynamic_of(run)->queue;

    return run->n_tasks == 0 && q->head == q->tail;
}

/* What a kernel in the driver's thread has done. */
static void record_kernel(eddy_run *run, const eddy__step *step,
                          eddy__iteration *it, eddy_status status,
                          uint64_t resource)
{
    eddy__trace_add(run, step, &it->place,
                    status == EDDY_OK ? EDDY_TRACE_LIVE : EDDY_TRACE_FAILED,
                    it->values, step->out,
                    status == EDDY_OK ? step->node->n_out : 0, EDDY_TRACE_NONE,
                    resource);
}

/* The general case: references are counted, and the kernel may suspend. */
EDDY__TWICE eddy__token kernel_as(eddy_run *run, const eddy__step *step,
                                  eddy__iteration *it, bool recorded)
{
    eddy_kernel *k = &run->kernel;
    uint64_t resource = 0;
    eddy_status status;

    if (run->failed || must_stop_now(run))
        return no_token;
    run->stats.live_executions += step->aux;
    if (recorded)
        eddy__trace_before(run, step, it->values, &resource);
    if ((step->flags & EDDY__STEP_OFFLOAD) && run->may_offload &&
        eddy__task_offload(run, step, it->values, &it->place, is_alone(run)))
        return no_token;
    aim_kernel(k, step, it);
    k->iteration = &it->place;
    run->current = step;
    run->suspended = NULL;
    for (uint32_t i = 0; i < step->node->n_out; i++)
        it->values[step->out[i]].kind = EDDY__NONE;
    status = step->kernel(k);
    if (run->suspended)
        return no_token;
    if (recorded)
        record_kernel(run, step, it, status, resource);
    if (status != EDDY_OK) {
        eddy__run_raise_kernel(run, status, k->err, step, &it->place);
        return no_token;
    }
    if (must_stop(run)) /* the kernel may have given up half way */
        return no_token;
    if (recorded && run->failed)
        return no_token;
    if (!(step->flags & EDDY__STEP_INLINE_IN))
        consume_inputs(run, step, it);
    if (!settle_outputs(run, step, it))
        return no_token;
    return go_on(run, step, it, false);
}

static eddy__token run_kernel(eddy_run *run, const eddy__step *step,
                              eddy__iteration *it)
{
    return kernel_as(run, step, it, false);
}

static eddy__token run_recorded_kernel(eddy_run *run, const eddy__step *step,
                                       eddy__iteration *it)
{
    return kernel_as(run, step, it, true);
}

/* The end of a transfer whose outputs are there, or dead. */
static bool settle_transfer(eddy_run *run, const eddy__step *step,
                            eddy__iteration *it, bool is_dead)
{
    return is_dead || settle_outputs(run, step, it);
}

/* A value that goes to another rank, or comes from one. */
static eddy__token run_transfer(eddy_run *run, const eddy__step *step,
                                eddy__iteration *it, bool dead)
{
    eddy_kernel *k = &run->kernel;
    eddy_status status;

    if (run->failed || must_stop_now(run))
        return no_token;
    aim_kernel(k, step, it);
    k->iteration = &it->place;
    k->is_dead = dead;
    run->current = step;
    run->suspended = NULL;
    for (uint32_t i = 0; i < step->node->n_out; i++)
        it->values[step->out[i]].kind = EDDY__NONE;
    status = step->kernel(k);
    if (run->suspended)
        return no_token;
    if (run->trace && !dead)
        record_kernel(run, step, it, status, 0);
    if (status != EDDY_OK) {
        eddy__run_raise_kernel(run, status, k->err, step, &it->place);
        return no_token;
    }
    if (run->trace && run->failed)
        return no_token;
    consume_inputs(run, step, it);
    if (!settle_transfer(run, step, it, k->is_dead))
        return no_token;
    return go_on(run, step, it, k->is_dead);
}

/* In checked builds: the kernel is to set its outputs anew. */
static void forget_scalars(const eddy__step *step, eddy__iteration *it)
{
    for (uint32_t i = 0; i < step->node->n_out; i++)
        it->values[step->out[i]].kind = EDDY__NONE;
}

/* In checked builds: has the kernel kept to scalars? */
static bool are_scalars(eddy_run *run, const eddy__step *step,
                        eddy__iteration *it)
{
    for (uint32_t i = 0; i < step->node->n_out; i++)
        if (!eddy__check_value(run, step, i, &it->values[step->out[i]],
                               &it->place)) {
            eddy__value_clear(&run->heap, &it->values[step->out[i]]);
            return false;
        }
    return true;
}

/* Scalars in, scalars out, by one of eddy's own kernels. */
EDDY__TWICE eddy__token run_scalar(eddy_run *run, const eddy__step *step,
                                   eddy__iteration *it, bool recorded)
{
    eddy_kernel *k = &run->kernel;
    uint64_t resource = 0;
    eddy_status status;

    aim_kernel(k, step, it);
    if (recorded)
        eddy__trace_before(run, step, it->values, &resource);
    if (EDDY__IS_CHECKED)
        forget_scalars(step, it);
    status = step->kernel(k);
    if (recorded)
        record_kernel(run, step, it, status, resource);
    if (__builtin_expect(status != EDDY_OK, 0)) {
        eddy__run_raise_kernel(run, status, k->err, step, &it->place);
        return no_token;
    }
    if (EDDY__IS_CHECKED && !are_scalars(run, step, it))
        return no_token;
    if (recorded && run->failed)
        return no_token;
    return go_on(run, step, it, false);
}

/* ---- the loop ---- */

/*
 * A live node whose output is what it reads or has been put where it belongs;
 * kernels and Switches are recorded by what runs them.
 */
static void record_live(eddy_run *run, const eddy__step *step,
                        eddy__iteration *it)
{
    const eddy__value *values = it->values;
    static const uint32_t first[1] = {0};
    const uint32_t *slots = step->in;
    uint32_t n = 1, output = EDDY_TRACE_NONE;

    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_FEED:
        values = &run->feed_values[step->aux];
        slots = first;
        break;
    case EDDY__STEP_CONST:
        values = &run->plan->constants[step->aux];
        slots = first;
        break;
    case EDDY__STEP_MERGE:
        slots = step->out;
        output = (uint32_t)it->values[step->out[1]].as.i32;
        break;
    case EDDY__STEP_CONTROL_TRIGGER:
        n = 0;
        break;
    case EDDY__STEP_SCALAR:
    case EDDY__STEP_KERNEL:
    case EDDY__STEP_TRANSFER:
    case EDDY__STEP_SWITCH:
    case EDDY__STEP_REGION:
        return;
    case EDDY__STEP_FORWARD:
    case EDDY__STEP_ENTER:
    case EDDY__STEP_EXIT:
    case EDDY__STEP_NEXT_ITERATION:
    case EDDY__STEP_FETCH:
        break;
    }
    eddy__trace_add(run, step, &it->place, EDDY_TRACE_LIVE, values, slots, n,
                    output, 0);
}

EDDY__TWICE eddy__token execute_live(eddy_run *run, const eddy__step *step,
                                     eddy__iteration *it, bool recorded)
{
    if (recorded)
        record_live(run, step, it);
    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_SCALAR:
        return run_scalar(run, step, it, recorded);
    case EDDY__STEP_KERNEL:
        return recorded ? run_recorded_kernel(run, step, it)
                        : run_kernel(run, step, it);
    case EDDY__STEP_TRANSFER:
        return run_transfer(run, step, it, false);
    case EDDY__STEP_FORWARD:
        eddy__pass(run, step, 0, &it->values[step->in[0]], it);
        break;
    case EDDY__STEP_SWITCH:
        return recorded ? record_switch(run, step, it)
                        : run_switch(run, step, it);
    case EDDY__STEP_ENTER:
        return run_enter(run, step, it, false, recorded);
    case EDDY__STEP_EXIT:
        return run_exit(run, step, it);
    case EDDY__STEP_NEXT_ITERATION:
        return run_next_iteration(run, step, it);
    case EDDY__STEP_FETCH:
        return run_fetch(run, step, it, false);
    case EDDY__STEP_REGION:
        return run_region(run, step, it);
    case EDDY__STEP_FEED:
        run->stats.live_executions--; /* it is no node of the plan */
        eddy__put(run, step, 0, it, run->feed_values[step->aux]);
        break;
    case EDDY__STEP_CONST:
        eddy__put(run, step, 0, it, run->plan->constants[step->aux]);
        break;
    case EDDY__STEP_MERGE: /* its value has been put where it belongs */
    case EDDY__STEP_CONTROL_TRIGGER:
        break;
    }
    return go_on(run, step, it, false);
}

EDDY__TWICE eddy__token dead_as(eddy_run *run, const eddy__step *step,
                                eddy__iteration *it, bool recorded)
{
    if (recorded)
        eddy__trace_add(run, step, &it->place, EDDY_TRACE_DEAD, NULL, NULL, 0,
                        EDDY_TRACE_NONE, 0);
    if (step->kind == EDDY__STEP_FETCH)
        return run_fetch(run, step, it, true);
    run->stats.dead_executions++;
    if (step->kind == EDDY__STEP_KERNEL) {
        run->stats.dead_executions += step->aux;
        run->n_executed += step->aux;
    }
    if (step->kind == EDDY__STEP_TRANSFER)
        return run_transfer(run, step, it, true);
    if (step->kind == EDDY__STEP_ENTER)
        return run_enter(run, step, it, true, recorded);
    if (step->kind != EDDY__STEP_MERGE) /* whose dead inputs hold nothing */
        consume_inputs(run, step, it);
    /* Of a dead Exit the parent hears when the frame ends. */
    if (step->kind == EDDY__STEP_NEXT_ITERATION ||
        step->kind == EDDY__STEP_EXIT)
        return stop_here(run, it);
    return go_on(run, step, it, true);
}

static eddy__token execute_dead(eddy_run *run, const eddy__step *step,
                                eddy__iteration *it)
{
    return dead_as(run, step, it, false);
}

static eddy__token record_dead(eddy_run *run, const eddy__step *step,
                               eddy__iteration *it)
{
    return dead_as(run, step, it, true);
}

static void begin(eddy_run *run)
{
    run->n_executed = 0;
    if (!eddy__dynamic_of(run)->queue.base && !eddy__queue_grow(run))
        return;
    eddy__dynamic_of(run)->root = eddy__frame_root(run);
    if (!eddy__dynamic_of(run)->root)
        return;
    for (uint32_t i = 0; i < run->plan->n_roots; i++)
        eddy__push(run, &run->steps[run->plan->roots[i]],
                   eddy__dynamic_of(run)->root->oldest, false);
    eddy__dynamic_of(run)->root->oldest->outstanding = run->plan->n_roots;
}

#ifdef EDDY_CHECKED

void eddy__drive_shuffle(eddy_run *run, uint64_t seed)
{
    eddy__dynamic_of(run)->shuffle = seed;
}

/* Lets any of the ready nodes be the next one. */
static void shuffle_next(eddy_run *run)
{
    eddy__queue *q = &eddy__dynamic_of(run)->queue;
    const size_t room = (size_t)(q->end - q->base);
    const size_t n = (size_t)(q->tail - q->head + (ptrdiff_t)room) % room;
    eddy__token *other, token = *q->head;

    /* The multiplier and increment are Knuth's, of MMIX. */
    eddy__dynamic_of(run)->shuffle =
        eddy__dynamic_of(run)->shuffle * UINT64_C(6364136223846793005) +
        UINT64_C(1442695040888963407);
    other = q->base + ((size_t)(q->head - q->base) +
                       (size_t)(eddy__dynamic_of(run)->shuffle >> 33) % n) %
                          room;
    *q->head = *other;
    *other = token;
}

#endif

/* Nodes between two looks at the clock: some microseconds of cheap ones. */
#define CLOCK_PERIOD 256

/*
 * Runs ready nodes until there are none, `n` have run, or the run has failed;
 * returns how many it was.
 */
EDDY__TWICE uint64_t drive_as(eddy_run *run, uint64_t n, bool recorded)
{
    eddy__queue *q = &eddy__dynamic_of(run)->queue;
    eddy__token token = {0};

    for (uint64_t i = 0; i < n; i++) {
        const eddy__step *step;

        /* A value that was refused is not there for whom it was meant. */
        if (EDDY__IS_CHECKED && run->failed)
            return i;
        if (!token.step) {
            if (q->head == q->tail || run->failed)
                return i;
#ifdef EDDY_CHECKED
            if (eddy__dynamic_of(run)->shuffle != 0)
                shuffle_next(run);
#endif
            token = eddy__pop(q);
        }
        step = eddy__token_step(token);
        if (eddy__token_is_dead(token))
            token = recorded ? record_dead(run, step, token.iteration)
                             : execute_dead(run, step, token.iteration);
        else
            token = execute_live(run, step, token.iteration, recorded);
        if (recorded)
            eddy__trace_done(run);
    }
    if (token.step)
        eddy__unpop(run, token);
    return n;
}

static uint64_t drive_some(eddy_run *run, uint64_t n)
{
    return drive_as(run, n, false);
}

static uint64_t drive_recorded(eddy_run *run, uint64_t n)
{
    return drive_as(run, n, true);
}

/* The deepest iteration that a region is in. */
static const eddy__place *place_in_region(eddy__gate *gate)
{
    const eddy__place *at = &gate->it->place;

    for (uint32_t f = 0; gate->l && f < gate->region->n_frames; f++)
        if (gate->l->places[f].index >= 0)
            at = &gate->l->places[f];
    return at;
}

static bool at(const eddy_run *run, const eddy__step **out_step,
               const eddy__place **out_place)
{
    const eddy__dynamic *d = (const eddy__dynamic *)(const void *)run;
    const eddy__step *step;

    if (d->queue.head == d->queue.tail)
        return false;
    step = eddy__token_step(*d->queue.head);
    *out_step = step;
    *out_place = &d->queue.head->iteration->place;
    if (step->kind != EDDY__STEP_REGION)
        return true;
    *out_step = NULL;
    for (eddy__gate *gate = d->gates; gate; gate = gate->next)
        if (&gate->region->step == step && gate->it == d->queue.head->iteration)
            *out_place = place_in_region(gate);
    return true;
}

static bool drive(eddy_run *run, uint64_t budget)
{
    eddy__dynamic *d = eddy__dynamic_of(run);
    eddy__queue *q = &d->queue;
    uint64_t (*some)(eddy_run *, uint64_t) =
        run->trace ? drive_recorded : drive_some;

    if (run->trace)
        eddy__trace_resume(run);
    while (!run->failed && !must_stop(run) && q->head != q->tail) {
        uint64_t n = budget < CLOCK_PERIOD ? budget : CLOCK_PERIOD;

        if (n == 0)
            return false;
        d->allowance = (int64_t)budget;
        n = some(run, n);
        run->n_executed += n;
        budget -= n;
        if (d->allowance < (int64_t)budget)
            budget = d->allowance > 0 ? (uint64_t)d->allowance : 0;
        if (run->deadline_ns > 0 && eddy__now_ns() >= run->deadline_ns)
            atomic_store_explicit(&run->stop, EDDY__STOP_DEADLINE,
                                  memory_order_relaxed);
    }
    return true;
}

static void end(eddy_run *run)
{
    eddy__dynamic_of(run)->queue.head = eddy__dynamic_of(run)->queue.tail =
        eddy__dynamic_of(run)->queue.base;
    while (eddy__dynamic_of(run)->gates)
        close_gate(run, eddy__dynamic_of(run)->gates);
    while (eddy__dynamic_of(run)->frames)
        eddy__frame_destroy(run, eddy__dynamic_of(run)->frames);
    eddy__dynamic_of(run)->root = NULL;
    run->stats.live_executions += run->n_executed - run->stats.dead_executions;
}

/* Moves the outputs to their slots and sends them on. */
static void settle(eddy_run *run, eddy__task *task)
{
    const eddy__step *step = task->step;
    eddy__iteration *it = eddy__iteration_at(task->at);
    eddy__value *outputs = task->values + step->node->n_in;
    bool is_dead;

    if (run->trace)
        eddy__trace_add_task(run, task, EDDY_TRACE_LIVE);
    if (run->failed)
        return;
    for (uint32_t i = 0; i < step->node->n_out; i++) {
        it->values[step->out[i]] = outputs[i];
        outputs[i].kind = EDDY__NONE;
    }
    is_dead = step->kind == EDDY__STEP_TRANSFER && task->kernel.is_dead;
    if (!settle_transfer(run, step, it, is_dead))
        return;
    eddy__send(run, step, it, is_dead);
    eddy__leave(run, it, 0);
}

/* ---- between executions ---- */

static bool init(eddy_run *run)
{
    const eddy_allocator *a = &run->ctx->allocator;
    const size_t n = run->plan->n_frames;
    eddy__dynamic *d = eddy__dynamic_of(run);

    d->spare_frames = eddy__allocate_zeroed(a, n, sizeof(void *));
    d->spare_iterations = eddy__allocate_zeroed(a, n, sizeof(void *));
    return d->spare_frames && d->spare_iterations;
}

static void deinit(eddy_run *run)
{
    const eddy_allocator *a = &run->ctx->allocator;
    const size_t n = run->plan->n_frames;
    eddy__dynamic *d = eddy__dynamic_of(run);
    eddy__queue *q = &d->queue;

    if (d->spare_frames && d->spare_iterations)
        eddy__frame_free_spares(run);
    if (q->base)
        eddy__heap_recycle(&run->heap, q->base,
                           (size_t)(q->end - q->base) * sizeof *q->base);
    eddy__free(a, d->spare_frames, n, sizeof(void *));
    eddy__free(a, d->spare_iterations, n, sizeof(void *));
}

const eddy__engine eddy__dynamic_engine = {
    .name = "dynamic",
    .run_size = sizeof(eddy__dynamic),
    .init = init,
    .deinit = deinit,
    .begin = begin,
    .drive = drive,
    .settle = settle,
    .end = end,
    .where = eddy__dynamic_where,
    .at = at,
};
