/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions go on by the interpreter until they are warm, then as machine code,
 * from where the next iteration begins.
 *
 * Code is made in the thread that runs, once a plan; where it can't be made,
 * the region stays with the interpreter, and the plan's statistics say so.
 */
#include "runtime/exec/linear/linear.h"

#include "core/base/thread.h"
#include "core/context.h"

#include <stdio.h>
#include <string.h>

/* ---- what code asks for ---- */

static void read_state(eddy__linear_runner *r)
{
    r->tank->fuel = r->state.fuel;
    r->run->stats.frames = r->state.frames;
}

static uint32_t write_state(eddy__linear_runner *r,
                            eddy__linear_verdict verdict)
{
    static const uint32_t verdicts[] = {
        [EDDY__LINEAR_ENDED] = EDDY__NATIVE_ENDED,
        [EDDY__LINEAR_PAUSED] = EDDY__NATIVE_PAUSED,
        [EDDY__LINEAR_FAILED] = EDDY__NATIVE_FAILED,
        [EDDY__LINEAR_WARM] = EDDY__NATIVE_GO_ON,
    };

    r->state.fuel = r->tank->fuel;
    r->state.frames = r->run->stats.frames;
    return verdicts[verdict];
}

static uint32_t refuel(eddy__native_state *state, uint32_t at)
{
    eddy__linear_runner *r = (eddy__linear_runner *)(void *)state;

    read_state(r);
    return write_state(r, eddy__linear_refuel(r->run, r->l, r->tank, at,
                                              r->l->region->tier->chunk,
                                              r->budget));
}

static uint32_t perform(eddy__native_state *state, uint32_t at)
{
    eddy__linear_runner *r = (eddy__linear_runner *)(void *)state;

    read_state(r);
    return write_state(
        r, eddy__linear_perform(r->run, r->l, r->tank, at, r->budget));
}

/* ---- when code is made ---- */

/* Executions of the plan that never paid, one by one, before one does. */
#define OFTEN 4

/*
 * Code that takes long is made where the iterations that are left pay for it,
 * and half as much again, since that is an estimate.  Where nobody knows how
 * many are left, it waits until interpreting has taken several times as long;
 * and where there are never enough at a time, until there have been many.
 */
static bool must_wait(eddy__linear_run *l)
{
    const eddy__linear *region = l->region;
    const eddy__linear_tier *tier = region->tier;
    const uint64_t spent =
        atomic_load_explicit(&tier->spent, memory_order_relaxed);
    uint64_t left;

    if (tier->patience == 0 ||
        atomic_load_explicit(&tier->machine, memory_order_relaxed))
        return false;
    left = eddy__linear_trips_left(region, l->registers);
    if (left == UINT64_MAX) {
        l->wanted = tier->patience;
        return spent < tier->patience;
    }
    if (tier->saved_ns > 0 && left >= tier->made_ns * 3 / 2 / tier->saved_ns)
        return false;
    l->wanted = UINT64_MAX;
    return region->code[l->at].op != EDDY__LINEAR_ENTER ||
           spent < OFTEN * tier->patience;
}

/* ---- code is made ---- */

static eddy__native_code *make_code(const eddy_plan *plan,
                                    const eddy__linear *region)
{
    const eddy__native_provider *provider = eddy__native_provider_here();
    const eddy__linear *form = eddy__linear_code_form(region);
    eddy__linear_tier *tier = region->tier;
    const uint64_t begun = eddy__clock_now_ns();
    eddy__native_code *code = NULL;
    eddy__linear_machine *expected = NULL;

    if (!provider ||
        provider->compile(
            &(eddy__native_request){.linear = form,
                                    .layout = eddy__linear_layout(form),
                                    .allocator = &plan->ctx->allocator,
                                    .vectors = (eddy__vectors)tier->vectors},
            &code) != EDDY_OK) {
        atomic_store_explicit(&tier->is_refused, true, memory_order_relaxed);
        return NULL;
    }
    /* Whoever comes second takes what the first has made. */
    if (!atomic_compare_exchange_strong_explicit(
            &tier->machine, &expected, &code->machine, memory_order_acq_rel,
            memory_order_acquire)) {
        code->machine.release(&code->machine);
        return (eddy__native_code *)(void *)expected;
    }
    atomic_store_explicit(&tier->compile_ns, eddy__clock_now_ns() - begun,
                          memory_order_relaxed);
    atomic_store_explicit(&tier->n_bytes, code->n_bytes, memory_order_relaxed);
    return code;
}

/* NULL: there is none, and won't be. */
static eddy__native_code *find_code(const eddy_plan *plan,
                                    const eddy__linear *region)
{
    eddy__linear_machine *machine =
        atomic_load_explicit(&region->tier->machine, memory_order_acquire);

    return machine ? (eddy__native_code *)(void *)machine
                   : make_code(plan, region);
}

/* ---- running ---- */

static eddy__linear_verdict run_code(eddy_run *run, eddy__linear_run *l,
                                     const eddy__native_code *code,
                                     eddy__tank *tank, int64_t *budget)
{
    eddy__linear_runner *r = l->runner;
    const uint64_t most = run->options.max_frames;

    *r = (eddy__linear_runner){
        .state = {.fuel = tank->fuel,
                  .frames = run->stats.frames,
                  .most_frames = most > 0 ? most : UINT64_MAX,
                  .refuel = refuel,
                  .perform = perform,
                  .functions = eddy__linear_functions},
        .run = run,
        .l = l,
        .tank = tank,
        .budget = budget};
    switch (eddy__native_enter(code, l->registers, l->at)) {
    case EDDY__NATIVE_PAUSED:
        read_state(r);
        return EDDY__LINEAR_PAUSED;
    case EDDY__NATIVE_FAILED:
        read_state(r);
        return EDDY__LINEAR_FAILED;
    default:
        read_state(r);
        return EDDY__LINEAR_ENDED;
    }
}

eddy__linear_verdict eddy__linear_run_on(eddy_run *run, eddy__linear_run *l,
                                         int64_t *budget)
{
    eddy__tank tank = {0};
    const eddy__native_code *code = NULL;
    eddy__linear_verdict verdict;

    l->is_on = true;
    run->kernel.values = l->registers;
    if (*budget <= 0)
        return EDDY__LINEAR_PAUSED;
    do
        verdict = eddy__linear_interpret(run, l, &tank, budget, true);
    while (verdict == EDDY__LINEAR_WARM && must_wait(l));
    if (verdict == EDDY__LINEAR_WARM) {
        code = find_code(run->plan, l->region);
        if (code) {
            eddy__linear_go_over(run, l);
            verdict = run_code(run, l, code, &tank, budget);
        } else {
            verdict = eddy__linear_interpret(run, l, &tank, budget, false);
        }
    }
    eddy__linear_drain(run, l, &tank);
    if (verdict == EDDY__LINEAR_FAILED && run->trace)
        eddy__linear_tell_failure(run, l);
    return verdict;
}

/* ---- what there is ---- */

static void add_chain(const eddy__vector_tier *tier, eddy_native_stats *all)
{
    all->chains++;
    all->compiled_chains +=
        atomic_load_explicit(&tier->machine, memory_order_relaxed) != NULL;
    all->refused_chains +=
        atomic_load_explicit(&tier->is_refused, memory_order_relaxed);
    all->compile_ns +=
        atomic_load_explicit(&tier->compile_ns, memory_order_relaxed);
    all->code_bytes +=
        atomic_load_explicit(&tier->n_bytes, memory_order_relaxed);
}

void eddy_plan_native_stats(const eddy_plan *plan, eddy_native_stats *out_stats)
{
    const size_t size = out_stats->size;
    eddy_native_stats all = {.size = size};

    for (uint32_t f = 1; f < plan->n_frames; f++) {
        const eddy__linear_tier *tier =
            plan->frames[f].linear ? plan->frames[f].linear->tier : NULL;

        all.linear += plan->frames[f].linear != NULL;
        if (!tier)
            continue;
        all.regions++;
        all.compiled +=
            atomic_load_explicit(&tier->machine, memory_order_relaxed) != NULL;
        all.refused +=
            atomic_load_explicit(&tier->is_refused, memory_order_relaxed);
        all.compile_ns +=
            atomic_load_explicit(&tier->compile_ns, memory_order_relaxed);
        all.code_bytes +=
            atomic_load_explicit(&tier->n_bytes, memory_order_relaxed);
    }
    for (const eddy__vector_tier *t = plan->tiers.first; t; t = t->next)
        add_chain(t, &all);
    memcpy(out_stats, &all, size < sizeof all ? size : sizeof all);
}

const char *eddy_native_machine(void)
{
    const eddy__native_provider *provider = eddy__native_provider_here();

    return provider ? provider->name : NULL;
}

/* An instruction, and whose it is. */
static void describe(const eddy_plan *plan, const eddy__linear *region,
                     uint32_t i, char *line, size_t size)
{
    const uint32_t op = region->code[i].op;
    const eddy__kernel_node *node = region->step_of[i] == EDDY__LINEAR_NONE
                                        ? NULL
                                        : plan->steps[region->step_of[i]].node;

    snprintf(line, size, "%u %s%s%s", i, eddy__linear_name(op), node ? " " : "",
             node ? node->name : "");
}

typedef bool (*see_fn)(void *user, const char *line, const void *bytes,
                       size_t n_bytes);

static bool see_code(const eddy_plan *plan, const eddy__linear *region,
                     const eddy__native_code *code, see_fn see, void *user)
{
    char line[256];

    if (!see(user, "enter", code->bytes, code->starts[0]))
        return false;
    for (uint32_t i = 0; i < region->n_code; i++) {
        describe(plan, region, i, line, sizeof line);
        if (!see(user, line, code->bytes + code->starts[i],
                 code->starts[i + 1] - code->starts[i]))
            return false;
    }
    return see(user, "fuel, faults and the end",
               code->bytes + code->starts[region->n_code],
               code->n_bytes - code->starts[region->n_code]);
}

bool eddy_plan_each_native(const eddy_plan *plan, see_fn see, void *user)
{
    for (uint32_t f = 1; f < plan->n_frames; f++) {
        const eddy__plan_frame *frame = &plan->frames[f];
        const eddy__native_code *code = frame->linear && frame->linear->tier
                                            ? find_code(plan, frame->linear)
                                            : NULL;
        char line[256];

        if (!frame->linear)
            continue;
        snprintf(line, sizeof line, "frame '%s': %s", frame->name,
                 code                  ? "machine code"
                 : frame->linear->tier ? "interpreted: refused"
                                       : "interpreted, as the options want it");
        if (!see(user, line, NULL, 0) ||
            (code && !see_code(plan, eddy__linear_code_form(frame->linear),
                               code, see, user)))
            return false;
    }
    return true;
}
