/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the code of a recorded region tells of its nodes: the records that the
 * dynamic executor writes of the same tokens, in the order of the row.
 */
#include "runtime/exec/linear/linear.h"
#include "runtime/exec/trace/record.h"

/* It hands on what it reads. */
static void add_passed(eddy_run *run, eddy__linear_run *l,
                       const eddy__linear_call *call, uint32_t output)
{
    eddy__trace_add(run, &run->steps[call->step], &l->places[call->frame],
                    EDDY_TRACE_LIVE, l->registers, call->in, 1, output, 0);
}

static void add_chosen(eddy_run *run, eddy__linear_run *l,
                       const eddy__linear_call *call)
{
    add_passed(run, l, call, l->registers[call->in[1]].as.u8 ? 1 : 0);
}

static void add_merged(eddy_run *run, eddy__linear_run *l,
                       const eddy__linear_call *call,
                       const eddy__linear_code *c)
{
    add_passed(run, l, call, l->places[call->frame].index == 0 ? c->to : c->b);
}

static void add_made(eddy_run *run, eddy__linear_run *l,
                     const eddy__linear_call *call)
{
    uint64_t resource;

    /* The registers of its inputs are as they were before it ran. */
    eddy__trace_before(run, l->registers, call->in, call->n_in, &resource);
    eddy__trace_add(run, &run->steps[call->step], &l->places[call->frame],
                    EDDY_TRACE_LIVE, l->registers, call->out, call->n_out,
                    EDDY_TRACE_NONE, resource);
}

static void add_constant(eddy_run *run, eddy__linear_run *l,
                         const eddy__linear_call *call)
{
    static const uint32_t first = 0;
    const eddy__step *step = &run->steps[call->step];

    eddy__trace_add(run, step, &l->places[call->frame], EDDY_TRACE_LIVE,
                    &run->plan->constants[step->aux], &first, 1,
                    EDDY_TRACE_NONE, 0);
}

static void add_dead(eddy_run *run, eddy__linear_run *l,
                     const eddy__linear_code *c)
{
    eddy__trace_add(run, &run->steps[c->a], &l->places[c->to], EDDY_TRACE_DEAD,
                    NULL, NULL, 0, EDDY_TRACE_NONE, 0);
}

/* The frames have just been counted. */
static void begin_frames(const eddy_run *run, eddy__linear_run *l, uint32_t n,
                         uint32_t first)
{
    for (uint32_t i = 0; i < n; i++) {
        l->instances[first + i].number = run->stats.frames - (n - 1 - i);
        l->places[first + i].index = 0;
    }
}

/* They are counted as dead: none of their iterations has begun for `l`. */
static void end_frames(eddy__linear_run *l, uint32_t n, uint32_t first)
{
    for (uint32_t i = 0; i < n; i++)
        l->places[first + i].index = -1;
}

bool eddy__linear_tell(eddy_run *run, eddy__linear_run *l,
                       const eddy__linear_code *c)
{
    const eddy__linear_call *const calls = l->region->calls;

    switch ((eddy__linear_tale)c->aux) {
    case EDDY__TALE_MADE:
        add_made(run, l, &calls[c->a]);
        break;
    case EDDY__TALE_PASSED:
        add_passed(run, l, &calls[c->a], c->b);
        break;
    case EDDY__TALE_CHOSE:
        add_chosen(run, l, &calls[c->a]);
        break;
    case EDDY__TALE_MERGED:
        add_merged(run, l, &calls[c->a], c);
        break;
    case EDDY__TALE_CONSTANT:
        add_constant(run, l, &calls[c->a]);
        break;
    case EDDY__TALE_DEAD:
        add_dead(run, l, c);
        break;
    case EDDY__TALE_BEGIN:
        begin_frames(run, l, c->to, c->a);
        return true;
    case EDDY__TALE_END:
        end_frames(l, c->to, c->a);
        return true;
    }
    eddy__trace_done(run);
    return !run->failed;
}

void eddy__linear_tell_failure(eddy_run *run, eddy__linear_run *l)
{
    const eddy__linear_code *c = &l->region->code[l->at];
    const eddy__linear_call *call;

    if (c->op != EDDY__LINEAR_SCALARS && !eddy__linear_has_aux_call(c->op))
        return; /* no kernel's, or told of already */
    call = &l->region->calls[c->op == EDDY__LINEAR_SCALARS ? c->a : c->aux];
    eddy__linear_watch_end(
        run, l, call, EDDY_INTERNAL,
        call->n_in > 0 ? eddy__trace_resource(&l->registers[call->in[0]]) : 0);
    eddy__trace_done(run);
}

/* ---- kernels that are called ---- */

void eddy__linear_watch_begin(eddy_run *run, eddy__linear_run *l,
                              const eddy__linear_call *call,
                              uint64_t *out_resource)
{
    eddy__trace_may_last(run);
    eddy__trace_before(run, l->registers, call->in, call->n_in, out_resource);
}

void eddy__linear_watch_end(eddy_run *run, eddy__linear_run *l,
                            const eddy__linear_call *call, eddy_status status,
                            uint64_t resource)
{
    const bool is_live = status == EDDY_OK;

    eddy__trace_add(run, &run->steps[call->step], &l->places[call->frame],
                    is_live ? EDDY_TRACE_LIVE : EDDY_TRACE_FAILED, l->registers,
                    call->out, is_live ? call->n_out : 0, EDDY_TRACE_NONE,
                    resource);
}

void eddy__linear_watch_done(eddy_run *run)
{
    eddy__trace_done(run);
}
