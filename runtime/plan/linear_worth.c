/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether machine code of a region pays: what making it takes, what an
 * iteration takes by the interpreter and as code, and how many iterations there
 * will be.
 *
 * Times are estimates, in nanoseconds of a processor of 2020 or so.  Their
 * ratios are what counts, and change little from one to another.
 */
#include "runtime/plan/linear_build.h"

/* Of an instruction: to interpret, to make code for, and a call by either. */
#define INTERPRETED 2
#define MADE 130
#define CALLED 60

/* What making code takes, however short it is. */
#define MADE_AT_LEAST 5000

/* Code that is made sooner than this need not be weighed. */
#define SHORT 10000

/* Making code may take that part of what interpreting has, if it is unknown
 * how many iterations are left. */
#define PATIENCE 8

/* ---- how often ---- */

/* Is `op` a test at the way back of a loop that counts, or would be? */
static bool read_test(uint32_t op, eddy__linear_trips *out)
{
    switch (op) {
    case EDDY__LINEAR_BACK_IF_Less_I32:
    case EDDY__LINEAR_BACK_IF_Less_I64:
        *out = (eddy__linear_trips){.is_known = true};
        return true;
    case EDDY__LINEAR_BACK_IF_LessEqual_I32:
    case EDDY__LINEAR_BACK_IF_LessEqual_I64:
        *out = (eddy__linear_trips){.is_known = true, .has_last = true};
        return true;
    case EDDY__LINEAR_BACK_IF_Greater_I32:
    case EDDY__LINEAR_BACK_IF_Greater_I64:
        *out = (eddy__linear_trips){.is_known = true, .is_down = true};
        return true;
    case EDDY__LINEAR_BACK_IF_GreaterEqual_I32:
    case EDDY__LINEAR_BACK_IF_GreaterEqual_I64:
        *out = (eddy__linear_trips){
            .is_known = true, .is_down = true, .has_last = true};
        return true;
    default:
        return false;
    }
}

/* Is `op` a sum, or a difference, of what may count? */
static bool read_step(uint32_t op, bool *out_is_less)
{
    *out_is_less = op == EDDY__LINEAR_Sub_I32 || op == EDDY__LINEAR_Sub_I64;
    return *out_is_less || op == EDDY__LINEAR_AddV2_I32 ||
           op == EDDY__LINEAR_AddV2_I64;
}

static uint32_t number_of(uint32_t offset)
{
    return offset / (uint32_t)sizeof(eddy__value);
}

static bool writes(const eddy__linear *linear, uint32_t i, uint32_t number)
{
    const eddy__linear_code *c = &linear->code[i];
    const eddy__linear_call *call = NULL;

    if (eddy__linear_operands(c->op)[0] == 'w' && number_of(c->to) == number)
        return true;
    if (eddy__linear_is_call(c->op))
        call = &linear->calls[c->a];
    else if (eddy__linear_has_aux_call(c->op))
        call = &linear->calls[c->aux];
    for (uint32_t j = 0; call && j < call->n_out; j++)
        if (call->out[j] == number)
            return true;
    return false;
}

/* The one instruction that writes a register; EDDY__NO: none, or several. */
static uint32_t find_writer(const eddy__linear *linear, uint32_t number,
                            uint32_t *out_n)
{
    uint32_t found = EDDY__NO;

    *out_n = 0;
    for (uint32_t i = 0; i < linear->n_code; i++)
        if (writes(linear, i, number)) {
            found = i;
            ++*out_n;
        }
    return *out_n == 1 ? found : EDDY__NO;
}

/*
 * The comparison by which code `i` jumps out of a loop; NULL: there is none
 * that counts.
 */
static const eddy__linear_code *read_jump(const eddy__linear *linear,
                                          uint32_t i, eddy__linear_trips *out)
{
    const eddy__linear_code *c = &linear->code[i];
    uint32_t unless = c->op, n = 0;

    if (c->op == EDDY__LINEAR_UNLESS) {
        i = find_writer(linear, number_of(c->a), &n);
        if (i == EDDY__NO)
            return NULL;
        c = &linear->code[i];
        unless = eddy__linear_unless(c->op);
    }
    return read_test(eddy__linear_back_if(unless), out) ? c : NULL;
}

/*
 * What ends the one loop of a region: a test at its way back, or, where it
 * carries whole tensors, at its head.
 */
static const eddy__linear_code *find_test(const eddy__linear *linear,
                                          eddy__linear_trips *out)
{
    const eddy__linear_code *code = linear->code;
    uint32_t back = EDDY__NO;

    for (uint32_t i = 0; i < linear->n_code; i++) {
        if (read_test(code[i].op, out))
            return &code[i];
        if (code[i].op == EDDY__LINEAR_BACK)
            back = i;
    }
    for (uint32_t i = back == EDDY__NO ? back : code[back].to; i < back; i++)
        if (eddy__linear_operands(code[i].op)[0] == 't' && code[i].to > back)
            return read_jump(linear, i, out);
    return NULL;
}

/* Of the one loop of a region: what it counts, up to what, by how much. */
static void find_trips(eddy__linear *linear)
{
    eddy__linear_trips t = {.is_known = false};
    const eddy__linear_code *test, *step;
    uint32_t at, n = 0, n_limit = 0, n_step = 0;

    if (linear->n_frames != 1)
        return;
    test = find_test(linear, &t);
    if (!test)
        return;
    t.counter = number_of(test->a);
    t.limit = number_of(test->b);
    at = find_writer(linear, t.counter, &n);
    if (at == EDDY__NO || !read_step(linear->code[at].op, &t.is_less))
        return;
    step = &linear->code[at];
    t.step = number_of(step->b);
    (void)find_writer(linear, t.limit, &n_limit);
    (void)find_writer(linear, t.step, &n_step);
    if (number_of(step->a) == t.counter && n_limit == 0 && n_step == 0)
        linear->trips = t;
}

static int64_t integer_of(const eddy__value *value)
{
    return value->dtype == EDDY_INT32 ? value->as.i32 : value->as.i64;
}

uint64_t eddy__linear_trips_left(const eddy__linear *linear,
                                 const eddy__value *registers)
{
    const eddy__linear_trips *t = &linear->trips;
    int64_t from, to, step;
    uint64_t far;

    if (!t->is_known)
        return UINT64_MAX;
    from = integer_of(&registers[t->counter]);
    to = integer_of(&registers[t->limit]);
    step = integer_of(&registers[t->step]);
    if (t->is_down) {
        const int64_t lower = to;

        to = from;
        from = lower;
    }
    /* What goes the other way round has no end that can be told. */
    if ((t->is_down != t->is_less) != (step < 0) || step == 0 ||
        step == INT64_MIN)
        return UINT64_MAX;
    if (from > to || (from == to && !t->has_last))
        return 0;
    far = (uint64_t)to - (uint64_t)from - (t->has_last ? 0 : 1);
    far /= (uint64_t)(step < 0 ? -step : step);
    return far == UINT64_MAX ? far : far + 1;
}

/* ---- how long ---- */

static uint64_t count_calls(const eddy__linear *linear)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < linear->n_code; i++)
        n += eddy__linear_is_call(linear->code[i].op);
    return n;
}

void eddy__linear_weigh(eddy__linear *linear)
{
    const eddy__linear *form = eddy__linear_code_form(linear);
    const uint64_t n_calls = count_calls(linear), n = linear->n_code - n_calls;
    eddy__linear_tier *tier = linear->tier;
    uint64_t interpreted = n * INTERPRETED + n_calls * CALLED, code, wait;

    find_trips(linear);
    if (!tier || tier->threshold == 0)
        return;
    tier->made_ns = MADE_AT_LEAST + MADE * (uint64_t)form->n_code;
    if (tier->made_ns <= SHORT)
        return;
    /* Vectors do several at once. */
    code = count_calls(form) * CALLED + (form == linear ? n * 3 / 4 : n / 8);
    tier->saved_ns = interpreted > code ? interpreted - code : 0;
    /* Of a nest, it is the iterations of all loops that are counted. */
    wait = PATIENCE * tier->made_ns / (1 + interpreted / linear->n_frames);
    tier->patience = wait > tier->threshold ? wait : tier->threshold;
}
