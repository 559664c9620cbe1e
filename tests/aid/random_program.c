/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/random_program.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 3
#define LIMIT 1000.0f

/* ---- generating ---- */

typedef struct generator {
    random_program *r;
    uint64_t state;
} generator;

static uint64_t draw(generator *g)
{
    uint64_t z = g->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint32_t below(generator *g, uint32_t n)
{
    return (uint32_t)(draw(g) % n);
}

/* A variable of the dtype, vectors too if they may be. */
static uint32_t pick_variable(generator *g, bool is_float, bool may_be_vector)
{
    const uint32_t n = RANDOM_VARIABLES / (may_be_vector ? 2 : 4);

    return 2 * below(g, n) + is_float;
}

static random_operand pick_operand(generator *g, bool is_float,
                                   bool may_be_vector)
{
    random_operand operand = {.is_constant = below(g, 3) == 0};

    operand.value = (int64_t)below(g, 9) - 4;
    operand.variable = pick_variable(g, is_float, may_be_vector);
    return operand;
}

static void generate_assign(generator *g, random_statement *s)
{
    static const char *const ops[] = {"AddV2",   "Sub",     "Mul",  "Maximum",
                                      "Minimum", "AddV2",   "Sub",  "Neg",
                                      "AddV2",   "Maximum", "Later"};
    const uint32_t n = sizeof ops / sizeof ops[0] - !g->r->is_async;
    bool is_vector;

    s->op = ops[below(g, n)];
    s->target = below(g, RANDOM_VARIABLES);
    s->is_float = random_is_float(s->target);
    is_vector = random_is_vector(s->target);
    s->a = pick_operand(g, s->is_float, is_vector);
    s->b = pick_operand(g, s->is_float, is_vector);
    /* A vector comes of at least one vector. */
    if (is_vector) {
        s->a.is_constant = false;
        s->a.variable = s->a.variable % 4 + RANDOM_VARIABLES / 2;
    }
}

static uint32_t generate_block(generator *g, uint32_t depth, uint32_t n);

static void generate_branch(generator *g, random_statement *s, uint32_t depth)
{
    s->is_float = below(g, 2) != 0;
    s->a = pick_operand(g, s->is_float, false);
    s->b = pick_operand(g, s->is_float, false);
    s->a.is_constant = false;
    s->blocks[0] = generate_block(g, depth + 1, 1 + below(g, 3));
    s->blocks[1] = generate_block(g, depth + 1, 1 + below(g, 3));
}

static void generate_loop(generator *g, random_statement *s, uint32_t depth)
{
    s->is_float = below(g, 2) != 0;
    s->a = pick_operand(g, s->is_float, false);
    s->b = pick_operand(g, s->is_float, false);
    s->has_condition = below(g, 2) != 0;
    s->trips = pick_operand(g, false, false);
    s->trips.value = below(g, 5);
    s->parallel_iterations = 1 + below(g, 5);
    s->blocks[0] = generate_block(g, depth + 1, 1 + below(g, 4));
}

/* Nested blocks are made before the statement after them gets its number. */
static uint32_t generate_statement(generator *g, uint32_t depth)
{
    const uint32_t id = g->r->n++;
    const uint32_t what =
        depth < MAX_DEPTH && g->r->n < RANDOM_STATEMENTS / 2 ? below(g, 10) : 0;
    random_statement s = {.next = NO_STATEMENT,
                          .blocks = {NO_STATEMENT, NO_STATEMENT}};

    if (what < 5) {
        s.kind = RANDOM_ASSIGN;
        generate_assign(g, &s);
    } else if (what < 7) {
        s.kind = RANDOM_BRANCH;
        generate_branch(g, &s, depth);
    } else {
        s.kind = RANDOM_LOOP;
        generate_loop(g, &s, depth);
    }
    g->r->statements[id] = s;
    return id;
}

static uint32_t generate_block(generator *g, uint32_t depth, uint32_t n)
{
    uint32_t first = NO_STATEMENT, last = NO_STATEMENT;

    for (uint32_t i = 0; i < n && g->r->n < RANDOM_STATEMENTS; i++) {
        const uint32_t id = generate_statement(g, depth);

        if (last == NO_STATEMENT)
            first = id;
        else
            g->r->statements[last].next = id;
        last = id;
    }
    return first;
}

void random_program_generate(random_program *r, uint64_t seed, int64_t width,
                             bool is_async)
{
    generator g = {.r = r, .state = seed};

    *r = (random_program){.seed = seed, .width = width, .is_async = is_async};
    r->first = generate_block(&g, 0, 3 + below(&g, 6));
}

uint32_t random_program_assigned(const random_program *r, uint32_t first)
{
    uint32_t assigned = 0;

    for (uint32_t id = first; id != NO_STATEMENT; id = r->statements[id].next) {
        const random_statement *s = &r->statements[id];

        if (s->kind == RANDOM_ASSIGN)
            assigned |= 1u << s->target;
        for (int i = 0; i < 2; i++)
            assigned |= random_program_assigned(r, s->blocks[i]);
    }
    return assigned;
}

int64_t random_program_start(uint32_t variable, int64_t i)
{
    return (variable * 7 + i * 3) % 11 - 5;
}

/* ---- interpreting ---- */

typedef struct interpreter {
    const random_program *r;
    random_result *result;
} interpreter;

static int64_t count_of(const random_program *r, uint32_t variable)
{
    return random_is_vector(variable) ? r->width : 1;
}

static int64_t read_int(const interpreter *in, random_operand o, int64_t i)
{
    if (o.is_constant)
        return o.value;
    return in->result->ints[o.variable][random_is_vector(o.variable) ? i : 0];
}

static float read_float(const interpreter *in, random_operand o, int64_t i)
{
    if (o.is_constant)
        return (float)o.value;
    return in->result->floats[o.variable][random_is_vector(o.variable) ? i : 0];
}

static bool is_op(const random_statement *s, const char *op)
{
    return strcmp(s->op, op) == 0;
}

static int64_t apply_int(const random_statement *s, int64_t a, int64_t b)
{
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;

    if (is_op(s, "AddV2"))
        return (int64_t)(x + y);
    if (is_op(s, "Sub"))
        return (int64_t)(x - y);
    if (is_op(s, "Mul"))
        return (int64_t)(x * y);
    if (is_op(s, "Maximum"))
        return a > b ? a : b;
    if (is_op(s, "Minimum"))
        return a < b ? a : b;
    return is_op(s, "Neg") ? (int64_t)(0 - x) : a;
}

/* Cut to a range, so that there is neither an infinity nor a NaN. */
static float apply_float(const random_statement *s, float a, float b)
{
    float y = a;

    if (is_op(s, "AddV2"))
        y = a + b;
    else if (is_op(s, "Sub"))
        y = a - b;
    else if (is_op(s, "Mul"))
        y = a * b;
    else if (is_op(s, "Maximum"))
        y = a > b ? a : b;
    else if (is_op(s, "Minimum"))
        y = a < b ? a : b;
    else if (is_op(s, "Neg"))
        y = -a;
    y = y > LIMIT ? LIMIT : y;
    return y < -LIMIT ? -LIMIT : y;
}

/* Element by element, so that a target may be an operand too. */
static void assign(interpreter *in, const random_statement *s)
{
    for (int64_t i = 0; i < count_of(in->r, s->target); i++) {
        if (s->is_float)
            in->result->floats[s->target][i] = apply_float(
                s, read_float(in, s->a, i), read_float(in, s->b, i));
        else
            in->result->ints[s->target][i] =
                apply_int(s, read_int(in, s->a, i), read_int(in, s->b, i));
    }
}

static bool is_less(const interpreter *in, const random_statement *s)
{
    return s->is_float ? read_float(in, s->a, 0) < read_float(in, s->b, 0)
                       : read_int(in, s->a, 0) < read_int(in, s->b, 0);
}

/* Every loop in a block that is not run is entered dead, once. */
static void skip(interpreter *in, uint32_t first)
{
    for (uint32_t id = first; id != NO_STATEMENT;
         id = in->r->statements[id].next) {
        const random_statement *s = &in->r->statements[id];

        if (s->kind == RANDOM_LOOP) {
            in->result->frames++;
            in->result->iterations++;
        }
        skip(in, s->blocks[0]);
        skip(in, s->blocks[1]);
    }
}

static void run_block(interpreter *in, uint32_t first);

static void run_loop(interpreter *in, const random_statement *s)
{
    int64_t trips =
        s->trips.is_constant ? s->trips.value : read_int(in, s->trips, 0);

    if (!s->trips.is_constant)
        trips = trips < 0 ? 0 : trips > 3 ? 3 : trips;
    in->result->frames++;
    in->result->iterations++;
    for (int64_t i = 0; i < trips && (!s->has_condition || is_less(in, s));
         i++) {
        run_block(in, s->blocks[0]);
        in->result->iterations++;
    }
    skip(in, s->blocks[0]);
}

static void run_block(interpreter *in, uint32_t first)
{
    for (uint32_t id = first; id != NO_STATEMENT;
         id = in->r->statements[id].next) {
        const random_statement *s = &in->r->statements[id];
        int taken;

        switch (s->kind) {
        case RANDOM_ASSIGN:
            assign(in, s);
            break;
        case RANDOM_BRANCH:
            taken = is_less(in, s) ? 0 : 1;
            run_block(in, s->blocks[taken]);
            skip(in, s->blocks[1 - taken]);
            break;
        case RANDOM_LOOP:
            run_loop(in, s);
            break;
        }
    }
}

void random_program_interpret(const random_program *r, random_result *result)
{
    interpreter in = {.r = r, .result = result};

    memset(result, 0, sizeof *result);
    for (uint32_t v = 0; v < RANDOM_VARIABLES; v++) {
        const int64_t n = count_of(r, v);

        result->ints[v] = calloc((size_t)n, sizeof(int64_t));
        result->floats[v] = calloc((size_t)n, sizeof(float));
        ck_assert(result->ints[v] && result->floats[v]);
        for (int64_t i = 0; i < n; i++) {
            result->ints[v][i] = random_program_start(v, i);
            result->floats[v][i] = (float)random_program_start(v, i);
        }
    }
    run_block(&in, r->first);
}

void random_result_deinit(random_result *result)
{
    for (uint32_t v = 0; v < RANDOM_VARIABLES; v++) {
        free(result->ints[v]);
        free(result->floats[v]);
    }
}
