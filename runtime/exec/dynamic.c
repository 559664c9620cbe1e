/*
 * The dynamic executor: takes ready nodes from the queue, first in first out,
 * runs each as its kind says, and sends tokens to its consumers.
 *
 * What a node does when it is live is in the functions run_*; a dead node runs
 * no kernel and sends dead tokens, but for Enter, Exit, NextIteration, Fetch and
 * ControlTrigger (TensorFlow's rules; frames/liveness.h has the firing rule).
 */
#include "runtime/exec/token.h"

#include "runtime/base/status.h"

#include <string.h>

/* ---- the queue and the rarer edges ---- */

bool eddy__queue_grow(eddy_run *run)
{
    eddy__queue *q = &run->queue;
    uint32_t capacity = q->capacity == 0 ? 64 : q->capacity * 2;
    eddy__token *tokens;

    if (capacity == 0) {
        eddy__run_raise_memory(run, NULL, NULL);
        return false;
    }
    tokens = eddy__account_allocate(run->heap.account,
                                    capacity * sizeof *tokens);
    if (!tokens) {
        eddy__run_raise_memory(run, NULL, NULL);
        return false;
    }
    for (uint32_t i = q->head; i != q->tail; i++)
        tokens[i - q->head] = q->tokens[i & (q->capacity - 1)];
    eddy__account_free(run->heap.account, q->tokens,
                       q->capacity * sizeof *tokens);
    *q = (eddy__queue){.tokens = tokens,
                       .tail = q->tail - q->head,
                       .capacity = capacity};
    return true;
}

/*
 * A live token moves its value into the Merge's output at once: the Merge has
 * nothing left to do but to pass it on.
 */
static eddy__verdict merge_live(eddy_run *run, const eddy__step *merge,
                                const eddy__edge *edge, eddy__iteration *it)
{
    eddy__verdict verdict =
        eddy__merge_arrive_live(&it->liveness[edge->local]);
    eddy__value *slot = &it->values[merge->in[edge->port]];

    if (verdict == EDDY__TWO_LIVE) {
        eddy__run_raise(run, EDDY_INVALID_ARGUMENT, EDDY_E_MERGE_TWO_LIVE,
                        merge, it,
                        "input %u is live, but another input was live before",
                        edge->port);
        return EDDY__WAIT;
    }
    if (it->liveness[edge->local].dead == EDDY__MERGE_FIRED) {
        eddy__consume(run, slot);
        return EDDY__WAIT;
    }
    eddy__put(run, merge, 0, it->values, eddy__take(slot));
    eddy__out_scalar(&it->values[merge->out[1]], EDDY_INT32, edge->port);
    return verdict;
}

static eddy__verdict arrive_special(eddy_run *run, const eddy__step *from,
                                    const eddy__edge *edge,
                                    eddy__iteration *it, bool dead)
{
    const eddy__step *to = &run->plan->steps[edge->step];
    eddy__liveness *l = &it->liveness[edge->local];

    if (to->kind == EDDY__STEP_CONTROL_TRIGGER)
        return eddy__arrive(l, false) ? EDDY__FIRE_LIVE : EDDY__WAIT;
    if (edge->port == EDDY__CONTROL_PORT)
        return eddy__merge_arrive_control(l, to->node->n_in);
    if (!dead)
        return merge_live(run, to, edge, it);
    return eddy__merge_arrive_dead(l, to->node->n_in,
                                   from->kind == EDDY__STEP_ENTER);
}

uint32_t eddy__send_special(eddy_run *run, const eddy__step *step,
                            eddy__iteration *it, bool dead, uint32_t taken)
{
    uint32_t n = 0;

    for (uint32_t i = step->n_plain; i < step->n_edges; i++) {
        const eddy__edge *edge = &step->edges[i];
        bool edge_dead = dead || (taken != UINT32_MAX &&
                                  edge->output != EDDY__CONTROL_PORT &&
                                  edge->output != taken);
        eddy__verdict verdict = arrive_special(run, step, edge, it, edge_dead);

        if (verdict == EDDY__WAIT)
            continue;
        eddy__push(run, &run->plan->steps[edge->step], it,
                   verdict == EDDY__FIRE_DEAD);
        n++;
    }
    return n;
}

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
            eddy__put(run, step, 0, it->values, eddy__value_copy(&value));
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
            frame->starters[frame->n_starters++] =
                (eddy__starter){.step = &run->plan->steps[edge->step],
                                .dead = l->dead != 0};
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

    if (!dead) {
        if (eddy__value_is_counted(&value)) {
            frame->held[slot] = value.as.tensor;
            value.kind = EDDY__CONSTANT;
        }
        frame->invariants[slot] = value;
    }
    for (eddy__iteration *it = frame->oldest; it; it = it->next) {
        it->values[slot] = frame->invariants[slot];
        eddy__send(run, step, it, dead);
    }
    apply_invariant(run, step, frame, dead);
}

static void run_enter(eddy_run *run, const eddy__step *step,
                      eddy__iteration *it, bool dead)
{
    eddy__frame *frame = eddy__frame_enter(run, it, step);
    eddy__value value = {.kind = EDDY__NONE};

    if (!frame)
        return;
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
            eddy__put(run, step, 0, frame->oldest->values, value);
        eddy__send(run, step, frame->oldest, dead);
    }
    if (--frame->pending_enters == 0)
        eddy__frame_retire(run, frame);
    eddy__leave(run, it);
}

static void run_exit(eddy_run *run, const eddy__step *step,
                     eddy__iteration *it)
{
    eddy__frame *frame = it->frame;
    eddy__iteration *parent = frame->parent;

    if (frame->exited[step->aux]) {
        eddy__run_raise(run, EDDY_INVALID_ARGUMENT, EDDY_E_EXIT_TWICE, step,
                        it,
                        "the Exit is live in a second iteration; it must read "
                        "output 0 of a Switch on the LoopCond");
        return;
    }
    frame->exited[step->aux] = 1;
    eddy__put(run, step, 0, parent->values,
              eddy__take_out(&it->values[step->in[0]]));
    eddy__send(run, step, parent, false);
    eddy__leave(run, it);
}

/* Only the Exits that die in the last iteration matter, at the frame's end. */
static void die_exit(eddy_run *run, const eddy__step *step,
                     eddy__iteration *it)
{
    eddy__frame *frame = it->frame;

    eddy__consume(run, &it->values[step->in[0]]);
    if (it == frame->newest)
        frame->dead_exits[frame->n_dead_exits++] = step;
    eddy__leave(run, it);
}

static void run_next_iteration(eddy_run *run, const eddy__step *step,
                               eddy__iteration *it)
{
    eddy__frame *frame = it->frame;
    eddy__value value = eddy__take(&it->values[step->in[0]]);
    eddy__iteration *next = it->next;

    if (!next && frame->n_outstanding >= frame->plan->parallel_iterations) {
        frame->parked[frame->n_parked++] =
            (eddy__parked){.step = step, .value = value};
        eddy__leave(run, it);
        return;
    }
    if (!next)
        next = eddy__frame_iterate(run, frame);
    if (!next) {
        eddy__value_clear(&run->heap, &value);
        return;
    }
    eddy__put(run, step, 0, next->values, value);
    eddy__send(run, step, next, false);
    eddy__leave(run, it);
}

/* ---- Switch, feeds, fetches ---- */

/* The live output, or UINT32_MAX when that has been refused. */
static uint32_t choose_output(eddy_run *run, const eddy__step *step,
                              eddy__iteration *it)
{
    const eddy__value *pred = &it->values[step->in[1]];
    uint32_t last = step->node->n_out - 1;

    if (pred->kind != EDDY__SCALAR) {
        eddy_shape shape = pred->as.tensor->shape;

        eddy__run_raise(run, EDDY_INVALID_ARGUMENT, EDDY_E_PREDICATE, step, it,
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

static void run_switch(eddy_run *run, const eddy__step *step,
                       eddy__iteration *it)
{
    uint32_t taken = choose_output(run, step, it);

    if (taken == UINT32_MAX)
        return;
    eddy__put(run, step, taken, it->values,
              eddy__take(&it->values[step->in[0]]));
    eddy__send_taken(run, step, it, taken);
    eddy__leave(run, it);
}

static void run_fetch(eddy_run *run, const eddy__step *step,
                      eddy__iteration *it, bool dead)
{
    if (dead) {
        eddy__consume(run, &it->values[step->in[0]]);
        run->fetch_state[step->aux] = EDDY__CAME_DEAD;
    } else {
        run->fetched[step->aux] = eddy__take_out(&it->values[step->in[0]]);
        run->fetch_state[step->aux] = EDDY__CAME_LIVE;
    }
    eddy__leave(run, it);
}

static void run_forward(eddy_run *run, const eddy__step *step,
                        eddy__iteration *it)
{
    eddy__put(run, step, 0, it->values,
              eddy__take(&it->values[step->in[0]]));
    eddy__send(run, step, it, false);
    eddy__leave(run, it);
}

/* ---- kernels ---- */

/* NULL if output `i` is as the plan says it must be, else what is wrong. */
static const char *find_fault(const eddy__kernel_node *node, uint32_t i,
                              const eddy__value *value)
{
    eddy_view view;
    eddy_shape shape;

    if (value->kind == EDDY__NONE)
        return "not set";
    if (value->dtype != node->out_dtypes[i])
        return "set a wrong dtype for";
    if (!node->out_shapes || value->kind == EDDY__RESOURCE)
        return NULL;
    view = eddy__view(value);
    shape = eddy__view_shape(&view);
    return eddy__shape_compatible(&shape, &node->out_shapes[i])
               ? NULL
               : "set a shape that its shape function excludes for";
}

bool eddy__settle_outputs(eddy_run *run, const eddy__step *step,
                          eddy__iteration *it)
{
    const eddy__kernel_node *node = step->node;

    for (uint32_t i = 0; i < node->n_out; i++) {
        eddy__value *slot = &it->values[step->out[i]];
        uint32_t uses = step->out[node->n_out + i];
        const char *fault;

        if (slot->kind == EDDY__NONE && uses == 0)
            continue;
        fault = find_fault(node, i, slot);
        if (fault) {
            eddy__run_raise(run, EDDY_INTERNAL, EDDY_E_OUTPUT_MISSING, step,
                            it, "the kernel has %s output %u", fault, i);
            return false;
        }
        slot->uses = uses;
        if (uses == 0)
            eddy__value_clear(&run->heap, slot);
    }
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
    k->iteration = it;
}

/* The general case: references are counted, and the kernel may suspend. */
static void run_kernel(eddy_run *run, const eddy__step *step,
                       eddy__iteration *it)
{
    eddy_kernel *k = &run->kernel;
    eddy_status status;

    if ((step->flags & EDDY__STEP_OFFLOAD) && run->may_offload &&
        eddy__task_offload(run, step, it))
        return;
    aim_kernel(k, step, it);
    run->current = step;
    run->suspended = NULL;
    for (uint32_t i = 0; i < step->node->n_out; i++)
        it->values[step->out[i]].kind = EDDY__NONE;
    status = step->kernel(k);
    if (run->suspended)
        return;
    if (status != EDDY_OK) {
        eddy__run_raise_kernel(run, status, k->err, step, it);
        return;
    }
    if (!(step->flags & EDDY__STEP_INLINE_IN))
        consume_inputs(run, step, it);
    if (!eddy__settle_outputs(run, step, it))
        return;
    eddy__send(run, step, it, false);
    eddy__leave(run, it);
}

/* Scalars in, scalars out, by one of eddy's own kernels. */
static void run_scalar_kernel(eddy_run *run, const eddy__step *step,
                              eddy__iteration *it)
{
    eddy_kernel *k = &run->kernel;
    eddy_status status;

    aim_kernel(k, step, it);
    status = step->kernel(k);
    if (__builtin_expect(status != EDDY_OK, 0)) {
        eddy__run_raise_kernel(run, status, k->err, step, it);
        return;
    }
    eddy__send(run, step, it, false);
    eddy__leave(run, it);
}

/* ---- the loop ---- */

static void execute_live(eddy_run *run, const eddy__step *step,
                         eddy__iteration *it)
{
    const unsigned scalar = EDDY__STEP_INLINE_IN | EDDY__STEP_INLINE_OUT;

    run->stats.live_executions++;
    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_KERNEL:
        if ((step->flags & scalar) == scalar)
            run_scalar_kernel(run, step, it);
        else
            run_kernel(run, step, it);
        return;
    case EDDY__STEP_FORWARD:
        run_forward(run, step, it);
        return;
    case EDDY__STEP_SWITCH:
        run_switch(run, step, it);
        return;
    case EDDY__STEP_ENTER:
        run_enter(run, step, it, false);
        return;
    case EDDY__STEP_EXIT:
        run_exit(run, step, it);
        return;
    case EDDY__STEP_NEXT_ITERATION:
        run_next_iteration(run, step, it);
        return;
    case EDDY__STEP_FETCH:
        run->stats.live_executions--;
        run_fetch(run, step, it, false);
        return;
    case EDDY__STEP_FEED:
        run->stats.live_executions--;
        eddy__put(run, step, 0, it->values, run->feed_values[step->aux]);
        break;
    case EDDY__STEP_CONST:
        eddy__put(run, step, 0, it->values, run->plan->constants[step->aux]);
        break;
    case EDDY__STEP_MERGE: /* its value has been put where it belongs */
    case EDDY__STEP_CONTROL_TRIGGER:
        break;
    }
    eddy__send(run, step, it, false);
    eddy__leave(run, it);
}

static void execute_dead(eddy_run *run, const eddy__step *step,
                         eddy__iteration *it)
{
    run->stats.dead_executions++;
    switch ((eddy__step_kind)step->kind) {
    case EDDY__STEP_ENTER:
        run_enter(run, step, it, true);
        return;
    case EDDY__STEP_EXIT:
        die_exit(run, step, it);
        return;
    case EDDY__STEP_NEXT_ITERATION:
        eddy__consume(run, &it->values[step->in[0]]);
        eddy__leave(run, it);
        return;
    case EDDY__STEP_FETCH:
        run->stats.dead_executions--;
        run_fetch(run, step, it, true);
        return;
    case EDDY__STEP_MERGE: /* dead inputs hold nothing */
        break;
    default:
        consume_inputs(run, step, it);
        break;
    }
    eddy__send(run, step, it, true);
    eddy__leave(run, it);
}

void eddy__drive_begin(eddy_run *run)
{
    run->root = eddy__frame_root(run);
    if (!run->root)
        return;
    for (uint32_t i = 0; i < run->plan->n_roots; i++)
        eddy__push(run, &run->plan->steps[run->plan->roots[i]],
                   run->root->oldest, false);
    run->root->oldest->outstanding = run->plan->n_roots;
}

/* Has something outside asked the run to stop, or its time run out? */
static bool must_stop(eddy_run *run)
{
    int stop = atomic_load_explicit(&run->stop, memory_order_relaxed);

    if (stop == EDDY__STOP_CANCEL)
        eddy__run_raise(run, EDDY_CANCELLED, EDDY_E_CANCELLED, NULL, NULL,
                        "the run was cancelled");
    else if (stop == EDDY__STOP_DEADLINE)
        eddy__run_raise(run, EDDY_DEADLINE_EXCEEDED, EDDY_E_DEADLINE, NULL,
                        NULL, "the run took longer than %llu ns",
                        (unsigned long long)run->options.timeout_ns);
    return run->failed;
}

/* Nodes between two looks at the clock: some microseconds of cheap ones. */
#define CLOCK_PERIOD 256

/* Runs ready nodes until there are none, a failure, or `n` have run. */
static uint64_t drive_some(eddy_run *run, uint64_t n)
{
    eddy__queue *q = &run->queue;

    while (n > 0 && q->head != q->tail) {
        eddy__token token;
        const eddy__step *step;

        if (__builtin_expect(atomic_load_explicit(&run->stop,
                                                  memory_order_relaxed),
                             0) &&
            must_stop(run))
            return n;
        token = q->tokens[q->head++ & (q->capacity - 1)];
        step = (const eddy__step *)(token.step & ~(uintptr_t)1);
        if (token.step & 1)
            execute_dead(run, step, token.iteration);
        else
            execute_live(run, step, token.iteration);
        if (__builtin_expect(run->failed, 0))
            return n;
        n--;
    }
    return n;
}

bool eddy__drive(eddy_run *run, uint64_t budget)
{
    eddy__queue *q = &run->queue;

    while (!run->failed && !must_stop(run) && q->head != q->tail) {
        uint64_t n = budget < CLOCK_PERIOD ? budget : CLOCK_PERIOD;

        if (n == 0)
            return false;
        budget -= n - drive_some(run, n);
        if (run->deadline_ns > 0 && eddy__now_ns() >= run->deadline_ns)
            atomic_store_explicit(&run->stop, EDDY__STOP_DEADLINE,
                                  memory_order_relaxed);
    }
    return true;
}

void eddy__drive_end(eddy_run *run)
{
    run->queue.head = run->queue.tail = 0;
    while (run->frames)
        eddy__frame_destroy(run, run->frames);
    run->root = NULL;
}
