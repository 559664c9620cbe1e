/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of the front ends' writer: what is known of their items. */
#include "frontends/shared/writer.h"
#include "tests/aid/construct.h"
#include "tests/suites.h"

static program p;
static eddy_emitter w;

static void setup(void)
{
    program_init(&p, 0);
    w = eddy_emitter_of(p.graph, &p.err);
}

static void teardown(void)
{
    program_deinit(&p);
}

static void want_shape(const eddy_shape *shape, int32_t rank,
                       const int64_t *dims)
{
    ck_assert_int_eq(shape->rank, rank);
    for (int32_t d = 0; d < rank; d++)
        ck_assert_int_eq(shape->dims[d], dims[d]);
}

static eddy_output feed_floats(const char *name, int32_t rank,
                               const int64_t *dims)
{
    eddy_shape shape = {.rank = rank};
    eddy_output out;

    for (int32_t d = 0; d < rank; d++)
        shape.dims[d] = dims[d];
    ck_assert_int_eq(eddy_graph_add_placeholder(p.graph, name, EDDY_FLOAT32,
                                                &shape, &out, &p.err),
                     EDDY_OK);
    return out;
}

/* Feeds the placeholder that is feed `i` with rows of `width`. */
static void feed_rows(size_t i, int64_t n, int64_t width, const float *values)
{
    const eddy_shape shape = {.rank = 2, .dims = {n, width}};
    eddy_tensor *tensor = program_tensor(&p, EDDY_FLOAT32, &shape, values);

    program_make_run(&p);
    ck_assert_int_eq(eddy_run_feed(p.run, i, tensor, &p.err), EDDY_OK);
    eddy_tensor_release(tensor);
}

/* A loop over the items of `value` that is begun, with its flow of results. */
typedef struct pass {
    eddy__sequence in, out;
    eddy_output n, now[2], item;
} pass;

static pass begin_pass(eddy_output value)
{
    pass a = {.in = eddy__sequence_of(&w, value)};
    eddy_output initial[2];

    a.n = eddy__write_length(&w, value);
    a.out = eddy__sequence_new(&w, EDDY_FLOAT32, a.n, false);
    initial[0] = eddy_emit_int32(&w, 0);
    initial[1] = a.out.flow;
    construct_while(&p, initial, 2, a.now);
    construct_body(&p, eddy_emit_binary(&w, "Less", a.now[0], a.n), a.now);
    a.item = eddy__sequence_read(&w, &a.in, a.now[0]);
    return a;
}

static eddy_output end_pass(pass *a, eddy_output result)
{
    const eddy_shape item = eddy__writer_shape_of(&w, result);
    const eddy_output next[] = {
        eddy_emit_binary(&w, "AddV2", a->now[0], eddy_emit_int32(&w, 1)),
        eddy__sequence_write(&w, &a->out, a->now[1], a->now[0], result),
    };

    construct_end(&p, next, 2, a->now);
    return eddy__sequence_stack(&w, &a->out, a->now[1], a->n, &item);
}

/* Twice every item: rows of 3, as many as are fed. */
START_TEST(no_trips_stack_to_no_items)
{
    const eddy_output x = feed_floats("x", 2, (const int64_t[]){-1, 3});
    pass a = begin_pass(x);
    const eddy_output y =
        end_pass(&a, eddy_emit_binary(&w, "AddV2", a.item, a.item));
    const int64_t n = _i;
    const float values[6] = {1, 2, 3, 4, 5, 6};
    const double twice[6] = {2, 4, 6, 8, 10, 12};

    ck_assert_int_eq(w.status, EDDY_OK);
    construct_plan(&p, y, &x, 1);
    want_shape(eddy_plan_fetch_shape(p.plan, 0), 2, (const int64_t[]){-1, 3});
    feed_rows(0, n, 3, values);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(n, 3), twice);
}
END_TEST

START_TEST(an_item_has_the_shape_of_a_slice)
{
    const eddy_output x = feed_floats("x", 3, (const int64_t[]){4, 2, -1});
    pass a = begin_pass(x);
    const eddy_shape item = eddy__writer_shape_of(&w, a.item);

    want_shape(&item, 2, (const int64_t[]){2, -1});
}
END_TEST

/* What is seen in a branch of the loop came through Enter and Switch. */
START_TEST(an_item_read_in_a_branch_has_it_too)
{
    const eddy_output x = feed_floats("x", 2, (const int64_t[]){4, 5});
    pass a = begin_pass(x);
    eddy_shape item;
    eddy_output again;

    construct_cond(&p, eddy_emit_bool(&w, true));
    again = eddy__sequence_read(&w, &a.in, a.now[0]);
    item = eddy__writer_shape_of(&w, again);
    want_shape(&item, 1, (const int64_t[]){5});
    construct_else(&p, again);
    again = construct_end_cond(&p, eddy__sequence_read(&w, &a.in, a.now[0]));
    item = eddy__writer_shape_of(&w, again);
    want_shape(&item, 1, (const int64_t[]){5});
}
END_TEST

/* A loop in each iteration, over a variable that grows, announced or not. */
START_TEST(a_variable_is_known_by_its_invariant)
{
    const eddy_output x = feed_floats("x", 2, (const int64_t[]){2, 1});
    const eddy_output trips = construct_feed(&p, "trips", EDDY_INT32);
    const eddy_shape invariants[] = {{.rank = 0}, {.rank = 2, .dims = {2, -1}}};
    const eddy_output initial[] = {eddy_emit_int32(&w, 0), x};
    const eddy_while_spec spec = {.size = sizeof spec,
                                  .initial = initial,
                                  .n_variables = 2,
                                  .shape_invariants = _i ? invariants : NULL};
    eddy_output now[2], same, joined[3];
    eddy_shape item;
    pass a;

    construct_while_with(&p, &spec, now);
    construct_body(&p, eddy_emit_binary(&w, "Less", now[0], trips), now);
    a = begin_pass(now[1]);
    item = eddy__writer_shape_of(&w, a.item);
    if (_i)
        want_shape(&item, 1, (const int64_t[]){-1});
    else
        ck_assert_int_eq(item.rank, -1);
    same = end_pass(&a, a.item);
    joined[0] = same;
    joined[1] = same;
    joined[2] = eddy_emit_int32(&w, 1);
    now[1] = eddy_emit_op(&w, "ConcatV2", joined, 3, NULL, 0);
    now[0] = eddy_emit_binary(&w, "AddV2", now[0], eddy_emit_int32(&w, 1));
    construct_end(&p, now, 2, now);
    ck_assert_int_eq(w.status, EDDY_OK);
    construct_plan(&p, now[1], (const eddy_output[]){x, trips}, 2);
    feed_rows(0, 2, 1, (const float[]){1, 2});
    program_feed_int32(&p, 1, 2);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2, 4),
                       PROGRAM_NUMBERS(1, 1, 1, 1, 2, 2, 2, 2));
}
END_TEST

TCase *sequence_tests(void)
{
    TCase *tests = tcase_create("sequence");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, no_trips_stack_to_no_items, 0, 3);
    tcase_add_test(tests, an_item_has_the_shape_of_a_slice);
    tcase_add_test(tests, an_item_read_in_a_branch_has_it_too);
    tcase_add_loop_test(tests, a_variable_is_known_by_its_invariant, 0, 2);
    return tests;
}
