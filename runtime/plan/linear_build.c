/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code for a region: the steps of an outermost frame are put into a row
 * (linear_order.c), written here, and tidied up (linear_tidy.c).
 *
 * A raw value that is another one
 * (of Switch, Identity, Enter, Exit) has its register.  Values that may hold
 * references keep to the rule of the dynamic executor: an output has a count of
 * readers, each reader takes or consumes it, and so does a reader that is dead,
 * on the sides of branches on which it is.
 */
#include "runtime/plan/linear_write.h"

#include "core/base/cpu.h"
#include "core/base/status.h"

/* A region has at most so many instructions and registers. */
#define MOST_CODE 100000
#define MOST_REGISTERS 100000

/* ---- branches ---- */

/* May a reader have to drop a reference to it? */
static bool is_counted(const eddy__held *v)
{
    return !v->is_raw && !v->is_lent && !v->is_spread;
}

/*
 * A side of `p` begins: what stands between events `from` and `to`, on the
 * other side, is dead, and consumes what has come live.
 */
static eddy_status begin_side(eddy__linear_writer *r, uint32_t p, uint32_t from,
                              uint32_t to)
{
    eddy__linear_build *w = r->w;
    const uint32_t around = w->predicates[p].guard;
    uint32_t n_loops = 0, first = 0;

    for (uint32_t e = from + 1; e < to; e++) {
        const eddy__event *event = &w->events[e];
        const eddy__step *step;

        if (event->kind == EDDY__EVENT_LOOP && n_loops++ == 0)
            first = w->loops[event->at].number;
        if (event->kind != EDDY__EVENT_STEP)
            continue;
        step = &w->plan->steps[event->step];
        if (step->kind == EDDY__STEP_MERGE)
            continue;
        for (uint32_t i = 0; i < step->node->n_in; i++) {
            const uint32_t v = eddy__linear_input(w, event->step, i);
            uint32_t a;

            if (!is_counted(&w->values[v]) ||
                !eddy__linear_is_within(w, around, w->values[v].guard))
                continue;
            EDDY_TRY(eddy__linear_offset(r, v, &a));
            EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_CONSUME, 0, a, 0));
        }
    }
    if (n_loops > 0)
        EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_SKIP, n_loops, first, 0));
    return eddy__linear_tell_side(r, from, to, n_loops);
}

static eddy_status emit_true(eddy__linear_writer *r, uint32_t e)
{
    eddy__linear_build *w = r->w;
    const uint32_t p = w->events[e].at, other = w->events[e].next;
    uint32_t a;

    EDDY_TRY(eddy__linear_offset(r, w->predicates[p].value, &a));
    EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_UNLESS, 0, a, 0));
    w->events[e].step = (uint32_t)r->text.n - 1; /* to be told its target */
    r->guard = w->predicates[p].sides[1];
    if (w->predicates[p].counter == EDDY__NO) {
        w->predicates[p].counter = r->n_counters++;
        EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_COUNT,
                                    w->predicates[p].counter, 0, 0));
    }
    return begin_side(r, p, other, w->events[other].next);
}

static eddy_status emit_false(eddy__linear_writer *r, uint32_t e,
                              uint32_t begin)
{
    eddy__linear_build *w = r->w;
    const uint32_t p = w->events[e].at;

    EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_JUMP, 0, 0, 0));
    r->text.code[w->events[begin].step].to = (uint32_t)r->text.n;
    w->events[e].step = (uint32_t)r->text.n - 1;
    r->guard = w->predicates[p].sides[0];
    return begin_side(r, p, begin, e);
}

/* ---- loops ---- */

typedef struct move {
    uint32_t to, from; /* registers */
    uint32_t uses;
    bool is_raw, is_done;
} move;

static eddy_status emit_move(eddy__linear_writer *r, const move *m)
{
    return eddy__linear_emit3(r,
                              m->is_raw ? EDDY__LINEAR_MOVE : EDDY__LINEAR_PASS,
                              eddy__linear_offset_of(m->to),
                              eddy__linear_offset_of(m->from), m->uses);
}

/* Does a move that is not done, but `i`, read what `i` would write? */
static bool is_read(const move *moves, uint32_t n, uint32_t i)
{
    for (uint32_t j = 0; j < n; j++)
        if (j != i && !moves[j].is_done && moves[j].from == moves[i].to)
            return true;
    return false;
}

/* All at once: those first whose target nobody reads, and round by a spare. */
static eddy_status emit_moves(eddy__linear_writer *r, move *moves, uint32_t n)
{
    uint32_t n_done = 0;

    while (n_done < n) {
        uint32_t first = n, before = n_done;

        for (uint32_t i = 0; i < n; i++) {
            if (moves[i].is_done)
                continue;
            if (is_read(moves, n, i)) {
                first = first == n ? i : first;
                continue;
            }
            EDDY_TRY(emit_move(r, &moves[i]));
            moves[i].is_done = true;
            n_done++;
        }
        if (n_done == before) {
            /* What `first` reads waits in a spare register. */
            move m = moves[first];

            EDDY_TRY(eddy__linear_new_register(r, m.is_raw,
                                               r->start[m.from].dtype, &m.to));
            m.uses = 1;
            EDDY_TRY(emit_move(r, &m));
            moves[first].from = m.to;
        }
    }
    return EDDY_OK;
}

/* Of a loop variable: one move, or one an element. */
static eddy_status list_moves(eddy__linear_writer *r, uint32_t id, move *moves,
                              uint32_t *n)
{
    eddy__linear_build *w = r->w;
    const uint32_t merge = w->plan->steps[id].edges[0].step;
    const uint32_t v = eddy__linear_output(w, merge, 0);
    const uint32_t from = eddy__linear_input(w, id, 0);
    const uint32_t *tos = NULL, *froms = NULL;
    move one = {.is_raw = w->values[v].is_raw,
                .uses = eddy__step_uses(&w->plan->steps[merge], 0)};

    if (!eddy__linear_is_only_spread(w, v)) {
        EDDY_TRY(eddy__linear_register_of(r, v, &one.to));
        EDDY_TRY(eddy__linear_register_of(r, from, &one.from));
        if (!one.is_raw || one.to != one.from)
            moves[(*n)++] = one;
        return EDDY_OK;
    }
    EDDY_TRY(eddy__linear_parts_of(r, v, &tos));
    EDDY_TRY(eddy__linear_parts_of(r, from, &froms));
    for (uint32_t i = 0; i < w->values[v].n_parts; i++)
        if (tos[i] != froms[i])
            moves[(*n)++] =
                (move){.to = tos[i], .from = froms[i], .is_raw = true};
    return EDDY_OK;
}

/* From what the NextIterations read to the Merges. */
static eddy_status emit_back_moves(eddy__linear_writer *r, uint32_t frame)
{
    eddy__linear_build *w = r->w;
    const eddy__plan_frame *plan = &w->plan->frames[frame];
    move *moves;
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->n_steps; i++)
        if (w->is_loop_merge[plan->steps[i]])
            n += 1 +
                 w->values[eddy__linear_output(w, plan->steps[i], 0)].n_parts;
    moves = eddy__arena_allocate(&w->scratch, n, sizeof *moves);
    if (!moves)
        return eddy__fail_memory(w->err);
    n = 0;
    for (uint32_t i = 0; i < plan->n_steps; i++)
        if (w->plan->steps[plan->steps[i]].kind == EDDY__STEP_NEXT_ITERATION)
            EDDY_TRY(list_moves(r, plan->steps[i], moves, &n));
    return emit_moves(r, moves, n);
}

static eddy_status emit_loop(eddy__linear_writer *r, uint32_t e)
{
    eddy__linear_build *w = r->w;
    eddy__linear_build_loop *loop = &w->loops[w->events[e].at];

    EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_ENTER, loop->number, 0, 0));
    EDDY_TRY(eddy__linear_tell_entry(r, w->events[e].at));
    w->events[e].step = (uint32_t)r->text.n; /* where it goes back to */
    r->guard = loop->root;
    return eddy__linear_tell_iteration(r, w->events[e].at);
}

static eddy_status emit_test(eddy__linear_writer *r, uint32_t e)
{
    eddy__linear_build *w = r->w;
    const uint32_t p = w->loops[w->events[e].at].predicate;
    const uint32_t end = w->events[e].next;
    uint32_t a;

    EDDY_TRY(eddy__linear_offset(r, w->predicates[p].value, &a));
    EDDY_TRY(eddy__linear_emit3(r, EDDY__LINEAR_UNLESS, 0, a, 0));
    w->events[e].step = (uint32_t)r->text.n - 1;
    r->guard = w->predicates[p].sides[1];
    return begin_side(r, p, end, w->events[end].next);
}

static eddy_status emit_back(eddy__linear_writer *r, uint32_t e, uint32_t test,
                             uint32_t begin)
{
    eddy__linear_build *w = r->w;
    const eddy__linear_build_loop *loop = &w->loops[w->events[e].at];
    eddy__linear_code back = {.op = EDDY__LINEAR_BACK,
                              .aux = (uint16_t)loop->number,
                              .to = w->events[begin].step};

    EDDY_TRY(emit_back_moves(r, w->events[e].at));
    EDDY_TRY(eddy__linear_emit(r, back));
    r->text.code[w->events[test].step].to = (uint32_t)r->text.n;
    r->guard = w->predicates[loop->predicate].sides[0];
    return begin_side(r, loop->predicate, test, e);
}

/*
 * What the outermost loop holds stays until its Exits have been read: they may
 * have it lent.
 */
static eddy_status emit_end(eddy__linear_writer *r, uint32_t frame,
                            uint32_t top)
{
    if (frame != top)
        EDDY_TRY(eddy__linear_drop_held(r, frame));
    return eddy__linear_emit3(r, EDDY__LINEAR_LEAVE, r->w->loops[frame].number,
                              0, 0);
}

/* ---- the events of a region ---- */

typedef struct nesting {
    uint32_t *begins; /* events that are open */
    size_t n, room;
} nesting;

static eddy_status emit_input(eddy__linear_writer *r, const eddy__event *event)
{
    const eddy__step *merge = &r->w->plan->steps[event->step];

    return eddy__linear_emit_pass(
        r, EDDY__LINEAR_PASS, eddy__linear_output(r->w, event->step, 0),
        eddy__linear_input(r->w, event->step, event->at),
        eddy__step_uses(merge, 0));
}

/* The guard of what stands around the part that has just ended. */
static uint32_t guard_around(const eddy__linear_writer *r, uint32_t guard)
{
    const eddy__linear_build *w = r->w;

    return w->guards[guard].parent != EDDY__NO
               ? w->guards[guard].parent
               : w->loops[w->guards[guard].frame].entered;
}

static eddy_status emit_event(eddy__linear_writer *r, nesting *open, uint32_t e,
                              uint32_t top)
{
    eddy__linear_build *w = r->w;
    const eddy__event *event = &w->events[e];
    const uint32_t begin = open->n > 0 ? open->begins[open->n - 1] : 0;

    r->step =
        event->kind == EDDY__EVENT_STEP || event->kind == EDDY__EVENT_INPUT
            ? event->step
            : EDDY__NO;
    switch ((eddy__event_kind)event->kind) {
    case EDDY__EVENT_STEP:
        EDDY_TRY(eddy__linear_tell_before(r, event->step));
        EDDY_TRY(eddy__linear_emit_step(r, event->step, top));
        return eddy__linear_tell_after(r, event->step);
    case EDDY__EVENT_INPUT:
        EDDY_TRY(eddy__linear_tell_input(r, event->step, event->at));
        return emit_input(r, event);
    case EDDY__EVENT_LOOP:
        open->begins[open->n++] = e;
        return emit_loop(r, e);
    case EDDY__EVENT_TEST:
        return emit_test(r, e);
    case EDDY__EVENT_BACK:
        return emit_back(r, e, w->events[begin].next, begin);
    case EDDY__EVENT_END:
        open->n--;
        EDDY_TRY(emit_end(r, event->at, top));
        r->guard = w->loops[event->at].entered;
        return EDDY_OK;
    case EDDY__EVENT_TRUE:
        open->begins[open->n++] = e;
        return emit_true(r, e);
    case EDDY__EVENT_FALSE:
        return emit_false(r, e, begin);
    case EDDY__EVENT_CLOSE:
        open->n--;
        r->text.code[w->events[w->events[begin].next].step].to =
            (uint32_t)r->text.n;
        r->guard = guard_around(r, r->guard);
        return EDDY_OK;
    }
    return EDDY_OK;
}

/* Constants stand in their registers from the start. */
static eddy_status write_code(eddy__linear_writer *r, uint32_t top)
{
    eddy__linear_build *w = r->w;
    nesting open = {.room = w->n_events};
    eddy_status status = EDDY_OK;

    open.begins =
        eddy__allocate(w->scratch.allocator, open.room, sizeof *open.begins);
    if (!open.begins)
        return eddy__fail_memory(w->err);
    for (uint32_t e = 0; e < w->n_events && status == EDDY_OK; e++)
        status = emit_event(r, &open, e, top);
    eddy__free(w->scratch.allocator, open.begins, open.room,
               sizeof *open.begins);
    EDDY_TRY(status);
    return eddy__linear_emit3(r, EDDY__LINEAR_DONE, 0, 0, 0);
}

/* ---- as a whole ---- */

static eddy_status list_owned(eddy__linear_writer *r)
{
    uint32_t *owned =
        eddy__arena_allocate(&r->w->plan->arena, r->n_registers, sizeof *owned);
    uint32_t n = 0;

    if (!owned)
        return eddy__fail_memory(r->w->err);
    for (uint32_t i = 0; i < r->n_registers; i++)
        if (r->start[i].kind == EDDY__NONE)
            owned[n++] = i;
    r->out->owned = owned;
    r->out->n_owned = n;
    return EDDY_OK;
}

/* Iterations after which what interpreting cost is about what code costs. */
#define WARM 1024

/* Iterations of machine code between two looks, however little they do. */
#define MOST_CHUNK 8192

uint64_t eddy__linear_work(const eddy__linear *linear)
{
    uint64_t work = 1 + (uint64_t)linear->n_code;

    for (uint32_t i = 0; i < linear->n_code; i++)
        if (eddy__linear_is_call(linear->code[i].op))
            work += EDDY__LINEAR_CALL_WORK;
    return work;
}

static int64_t chunk_of(const eddy__linear *linear)
{
    const uint64_t n = EDDY__LINEAR_MOST_WORK / eddy__linear_work(linear);

    return n < 1 ? 1 : n > MOST_CHUNK ? MOST_CHUNK : (int64_t)n;
}

static eddy_status add_tier(eddy__linear_writer *r)
{
    const eddy_plan_options *options = r->w->l->options;
    eddy__linear_tier *tier;

    if (options->executor == EDDY_EXECUTOR_LINEAR || options->no_native ||
        r->w->is_recorded)
        return EDDY_OK;
    tier = eddy__arena_allocate_zeroed(&r->w->plan->arena, 1, sizeof *tier);
    if (!tier)
        return eddy__fail_memory(r->w->err);
    atomic_init(&tier->machine, NULL);
    atomic_init(&tier->spent, 0);
    atomic_init(&tier->is_refused, false);
    atomic_init(&tier->compile_ns, 0);
    atomic_init(&tier->n_bytes, 0);
    tier->vectors = (uint32_t)eddy__cpu_vectors();
    tier->threshold = options->executor == EDDY_EXECUTOR_NATIVE ? 0 : WARM;
    tier->chunk = chunk_of(r->out);
    r->out->tier = tier;
    return EDDY_OK;
}

void eddy__linear_release(eddy_plan *plan)
{
    for (uint32_t f = 1; plan->frames && f < plan->n_frames; f++) {
        const eddy__linear *linear = plan->frames[f].linear;
        eddy__linear_machine *machine =
            linear && linear->tier
                ? atomic_load_explicit(&linear->tier->machine,
                                       memory_order_acquire)
                : NULL;

        if (machine)
            machine->release(machine);
    }
}

static eddy_status keep_all(eddy__linear_writer *r)
{
    eddy__arena *arena = &r->w->plan->arena;
    eddy__linear *out = r->out;
    const eddy__linear_text *t = &r->text;

    out->n_code = (uint32_t)t->n;
    out->n_calls = (uint32_t)t->n_calls;
    out->n_exits = t->n_exits;
    out->n_registers = (uint32_t)r->n_registers;
    out->n_counters = r->n_counters;
    out->code = eddy__arena_copy(arena, t->code, t->n, sizeof *t->code);
    out->calls =
        eddy__arena_copy(arena, t->calls, t->n_calls, sizeof *t->calls);
    out->exits =
        eddy__arena_copy(arena, t->exits, t->n_exits, sizeof *t->exits);
    out->start =
        eddy__arena_copy(arena, r->start, r->n_registers, sizeof *r->start);
    out->step_of =
        eddy__arena_copy(arena, t->step_of, t->n, sizeof *t->step_of);
    if (!out->code || !out->calls || !out->exits || !out->start ||
        !out->step_of)
        return eddy__fail_memory(r->w->err);
    EDDY_TRY(add_tier(r));
    return list_owned(r);
}

static eddy_status write_region(eddy__linear_writer *r, uint32_t top)
{
    eddy__linear_build *w = r->w;

    r->text.exits = eddy__arena_allocate_zeroed(
        &w->scratch, w->plan->frames[top].n_exits, sizeof *r->text.exits);
    if (!r->text.exits)
        return eddy__fail_memory(w->err);
    r->guard = w->loops[top].root;
    EDDY_TRY(eddy__linear_number_loops(r));
    EDDY_TRY(eddy__linear_list_entries(r, top));
    EDDY_TRY(write_code(r, top));
    if (r->text.n > MOST_CODE || r->n_registers > MOST_REGISTERS ||
        r->out->n_frames > UINT16_MAX) {
        eddy__linear_refuse(w, top, EDDY__NO, "it is too large");
        return EDDY_OK;
    }
    if (!w->is_recorded)
        EDDY_TRY(
            eddy__linear_tidy(&w->scratch, &r->text, r->n_registers, w->err));
    EDDY_TRY(eddy__linear_list_guards(r));
    return keep_all(r);
}

static void free_writer(eddy__linear_writer *r)
{
    const eddy_allocator *a = r->w->scratch.allocator;

    for (size_t i = 0; i < r->n_touched; i++) {
        r->w->values[r->touched[i]].reg = EDDY__NO;
        r->w->values[r->touched[i]].parts = NULL;
    }
    eddy__free(a, r->start, r->registers_room, sizeof *r->start);
    eddy__free(a, r->touched, r->touched_room, sizeof *r->touched);
    eddy__free(a, r->constants, r->constants_room, sizeof *r->constants);
    eddy__free(a, r->guards, r->guards_room, sizeof *r->guards);
    eddy__free(a, r->text.code, r->text.room, sizeof *r->text.code);
    eddy__free(a, r->text.guard_of, r->text.guards_room,
               sizeof *r->text.guard_of);
    eddy__free(a, r->text.step_of, r->text.steps_room, sizeof *r->text.step_of);
    eddy__free(a, r->text.calls, r->text.calls_room, sizeof *r->text.calls);
}

/* Puts a step on the stack of a search, unless it has been there. */
static void reach(eddy__linear_build *w, uint32_t step, uint32_t *n)
{
    if (w->seen_by[step] == w->n_searches)
        return;
    w->seen_by[step] = w->n_searches;
    w->stack[(*n)++] = step;
}

/*
 * Is `frame` reached again from its own Exits, without leaving the iteration
 * around it?  Its Enters could not wait for each other then.  `*budget` steps
 * may be looked at.
 */
static bool reaches_itself(eddy__linear_build *w, uint32_t frame,
                           uint64_t *budget)
{
    const eddy_plan *plan = w->plan;
    const uint32_t around = plan->frames[frame].parent;
    uint32_t n = 0;

    w->n_searches++;
    for (uint32_t i = 0; i < plan->frames[frame].n_exits; i++)
        reach(w, plan->frames[frame].exits[i], &n);
    while (n > 0) {
        const eddy__step *step = &plan->steps[w->stack[--n]];
        const bool is_inside = step->kind == EDDY__STEP_ENTER;
        const eddy__plan_frame *child =
            is_inside ? &plan->frames[step->aux] : NULL;
        const uint32_t n_next = is_inside ? child->n_exits : step->n_edges;

        if ((is_inside && step->aux == frame) || *budget < n_next)
            return true;
        *budget -= n_next;
        for (uint32_t i = 0; i < n_next; i++) {
            const uint32_t to =
                is_inside ? child->exits[i] : step->edges[i].step;
            const eddy__step *next = &plan->steps[to];

            /* The next iteration around, and what is around that, is past. */
            if (next->frame != around ||
                (next->kind != EDDY__STEP_NEXT_ITERATION &&
                 next->kind != EDDY__STEP_EXIT))
                reach(w, to, &n);
        }
    }
    return false;
}

eddy_status eddy__linear_make_region(eddy__linear_build *w, uint32_t frame,
                                     uint64_t *budget,
                                     eddy__linear **out_region)
{
    eddy__linear_writer r = {.w = w};
    bool is_done = false;
    eddy_status status;

    *out_region = NULL;
    if (reaches_itself(w, frame, budget)) {
        eddy__linear_refuse(w, frame, EDDY__NO,
                            "what it puts out may come in again");
        return EDDY_OK;
    }
    EDDY_TRY(eddy__linear_order(w, frame, &is_done));
    if (!is_done)
        return EDDY_OK;
    r.out = eddy__arena_allocate_zeroed(&w->plan->arena, 1, sizeof *r.out);
    if (!r.out)
        return eddy__fail_memory(w->err);
    r.out->step.kind = EDDY__STEP_REGION;
    r.out->step.frame = w->plan->frames[frame].parent;
    r.out->step.aux = frame;
    status = write_region(&r, frame);
    if (status == EDDY_OK && !w->loops[frame].doubt.why)
        *out_region = r.out;
    for (size_t i = 0; i < w->n_predicates && w->loops[frame].doubt.why; i++)
        w->predicates[i].counter = EDDY__NO;
    free_writer(&r);
    return status;
}
