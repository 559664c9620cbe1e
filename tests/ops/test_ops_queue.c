/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: order, room, waiting, closing, and how waiting ends. */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <check.h>
#include <string.h>

static program p;

static void begin(void)
{
    program_init(&p, 0);
}

static void end(void)
{
    program_deinit(&p);
}

#define QUEUE "q FIFOQueueV2 component_types=[float32] shared_name='q'\n"
#define ENQUEUE(name, x) name " QueueEnqueueV2 q " x " Tcomponents=[float32]\n"
#define DEQUEUE(name) name " QueueDequeueV2 q component_types=[float32]\n"

/* A queue of float32 of that shape, with one more attribute, as node "q". */
static void add_queue_of(const char *op, const eddy_shape *shape,
                         eddy_attr attr)
{
    const eddy_dtype dtype = EDDY_FLOAT32;
    const eddy_attr attrs[] = {{.name = "component_types",
                                .kind = EDDY_ATTR_TYPE,
                                .is_list = true,
                                .n = 1,
                                .as.types = &dtype},
                               {.name = "shapes",
                                .kind = EDDY_ATTR_SHAPE,
                                .is_list = true,
                                .n = 1,
                                .as.shapes = shape},
                               attr};
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .name = "q",
                                 .attrs = attrs,
                                 .n_attrs = 3};
    eddy_node node;

    ck_assert_int_eq(eddy_graph_add(p.graph, &spec, &node, &p.err), EDDY_OK);
}

static const eddy_shape scalar = {.rank = 0};

/* A queue of scalars, of that capacity. */
static void add_queue(int64_t capacity)
{
    add_queue_of("FIFOQueueV2", &scalar, eddy_attr_int("capacity", &capacity));
}

START_TEST(what_was_put_in_first_comes_out_first)
{
    program_build(&p, QUEUE "a float32=1\nb float32=2\n"
                            "ea QueueEnqueueV2 q a Tcomponents=[float32]\n"
                            "eb QueueEnqueueV2 q b Tcomponents=[float32] ^ea\n"
                            "s QueueSizeV2 q ^eb\n"
                            "c QueueIsClosedV2 q ^eb\n"
                            "da QueueDequeueV2 q component_types=[float32] ^s\n"
                            "db QueueDequeueV2 q component_types=[float32] "
                            "^da\n");
    program_plan(&p, NULL, "s da db c");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 2);
        ck_assert(program_fetch_float(&p, 1) == 1);
        ck_assert(program_fetch_float(&p, 2) == 2);
        ck_assert_int_eq(program_fetch_int(&p, 3), 0);
    }
}
END_TEST

/* A program of TensorFlow 1 has references in place of handles. */
START_TEST(old_queues_are_queues)
{
    program_build(&p, "q FIFOQueue component_types=[int32,string]\n"
                      "a int32=1\nb string=x\n"
                      "e QueueEnqueue q a b Tcomponents=[int32,string]\n"
                      "d QueueDequeue q component_types=[int32,string] ^e\n"
                      "s QueueSize q ^d\n");
    program_plan(&p, NULL, "d d:1 s");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 1);
    ck_assert_str_eq(eddy_tensor_string(eddy_run_fetch(p.run, 1), 0).data, "x");
    ck_assert_int_eq(program_fetch_int(&p, 2), 0);
}
END_TEST

/* Ten elements are put in by a loop and stand in a row. */
START_TEST(loops_put_elements_in)
{
    add_queue(-1);
    program_build(&p, "i0 float32=0\nn float32=10\none float32=1\n"
                      "ie Enter@f i0\nqe Enter@f! q\nne Enter@f! n\n"
                      "oe Enter@f! one\n"
                      "m Merge ie in\nl Less m ne\nc LoopCond l\n"
                      "s Switch m c\n"
                      "e QueueEnqueueV2 qe s:1 Tcomponents=[float32]\n"
                      "a AddV2 s:1 oe ^e\n"
                      "in NextIteration a\nx Exit s\n"
                      "k int32=10\n"
                      "d QueueDequeueManyV2 q k component_types=[float32] ^x\n"
                      "size QueueSizeV2 q ^d\n");
    program_plan(&p, NULL, "d size");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(10),
                       PROGRAM_NUMBERS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    ck_assert_int_eq(program_fetch_int(&p, 1), 0);
}
END_TEST

/* The dequeues are ready before there is anything to take. */
START_TEST(dequeues_wait_for_elements)
{
    program_build(&p, QUEUE DEQUEUE("d") "x float32=3\ny Exp x\nz Log y\n"
                                         "w Mul z z\n" ENQUEUE("e", "w"));
    program_plan(&p, NULL, "d ^e");
    program_run(&p);
    ck_assert_float_eq_tol(program_fetch_float(&p, 0), 9.0F, 1e-5F);
    ck_assert_uint_eq(program_stats(&p).peak_suspended, 1);
}
END_TEST

START_TEST(enqueues_wait_for_room)
{
    add_queue(1);
    program_build(&p, "x float32[5]=1,2,3,4,5\n"
                      "e QueueEnqueueManyV2 q x Tcomponents=[float32]\n"
                      "k int32=3\ntwo int32=2\n"
                      "a QueueDequeueManyV2 q k component_types=[float32]\n"
                      "b QueueDequeueUpToV2 q two component_types=[float32] "
                      "^a\n"
                      "s QueueSizeV2 q ^b ^e\n");
    program_plan(&p, NULL, "a b s");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(3), PROGRAM_NUMBERS(1, 2, 3));
    program_want_fetch(&p, 1, PROGRAM_DIMS(2), PROGRAM_NUMBERS(4, 5));
    ck_assert_int_eq(program_fetch_int(&p, 2), 0);
}
END_TEST

START_TEST(a_run_that_would_wait_for_ever_says_so)
{
    program_build(&p, QUEUE DEQUEUE("d"));
    program_plan(&p, NULL, "d");
    for (int round = 0; round < 2; round++)
        program_want(&p, program_execute(&p), EDDY_FAILED_PRECONDITION,
                     EDDY_E_STUCK);
    ck_assert_str_eq(p.err.node, "d");
}
END_TEST

START_TEST(waiting_ends_when_another_node_fails)
{
    program_build(&p, QUEUE DEQUEUE("d") "no bool=0\nwhy string=why\n"
                                         "a Assert no why T=[string]\n");
    program_plan(&p, NULL, "d ^a");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ASSERTION);
}
END_TEST

START_TEST(waiting_ends_at_the_deadline)
{
    program_renew_session(&p);
    p.run_options.timeout_ns = UINT64_C(20) * 1000 * 1000;
    program_build(&p, QUEUE DEQUEUE("d"));
    program_plan(&p, NULL, "d");
    program_want(&p, program_execute(&p), EDDY_DEADLINE_EXCEEDED,
                 EDDY_E_DEADLINE);
}
END_TEST

START_TEST(waiting_ends_with_a_cancel)
{
    program_renew_session(&p);
    program_build(&p, QUEUE DEQUEUE("d"));
    program_plan(&p, NULL, "d");
    program_make_run(&p);
    ck_assert_int_eq(eddy_run_start(p.run, &p.err), EDDY_OK);
    for (int i = 0; i < 3; i++)
        ck_assert(!eddy_run_poll(p.run));
    eddy_run_cancel(p.run);
    program_want(&p, eddy_run_wait(p.run, &p.err), EDDY_CANCELLED,
                 EDDY_E_CANCELLED);
}
END_TEST

/* A session's queue is one for all its runs, and outlives them. */
START_TEST(one_run_waits_for_another)
{
    eddy_plan *taker;
    eddy_run *waiting;

    program_renew_session(&p);
    program_build(&p, QUEUE "x float32=7\n" ENQUEUE("e", "x") DEQUEUE("d"));
    program_plan(&p, NULL, "d");
    taker = p.plan;
    p.plan = NULL;
    ck_assert_int_eq(eddy_run_create(taker, &p.run_options, &waiting, &p.err),
                     EDDY_OK);
    ck_assert_int_eq(eddy_run_start(waiting, &p.err), EDDY_OK);
    ck_assert(!eddy_run_poll(waiting));
    program_plan(&p, NULL, "^e");
    program_run(&p);
    ck_assert_int_eq(eddy_run_wait(waiting, &p.err), EDDY_OK);
    ck_assert(*(const float *)eddy_tensor_data(eddy_run_fetch(waiting, 0)) ==
              7);
    program_run(&p);
    ck_assert_int_eq(eddy_run_execute(waiting, &p.err), EDDY_OK);
    eddy_run_destroy(waiting);
    eddy_plan_release(taker);
}
END_TEST

START_TEST(nothing_goes_into_a_closed_queue)
{
    program_build(
        &p, QUEUE "x float32=7\n" ENQUEUE(
                "e", "x") "c QueueCloseV2 q ^e\n"
                          "k QueueIsClosedV2 q ^c\n"
                          "d QueueDequeueV2 q component_types=[float32] ^c\n"
                          "more QueueDequeueV2 q component_types=[float32] ^d\n"
                          "late QueueEnqueueV2 q x Tcomponents=[float32] ^c\n"
                          "again QueueCloseV2 q ^c\n");
    program_plan(&p, NULL, "d k");
    program_run(&p);
    ck_assert(program_fetch_float(&p, 0) == 7);
    ck_assert_int_eq(program_fetch_int(&p, 1), 1);
    program_plan(&p, NULL, "more");
    program_want(&p, program_execute(&p), EDDY_OUT_OF_RANGE, EDDY_E_CLOSED);
    program_plan(&p, NULL, "^late");
    program_want(&p, program_execute(&p), EDDY_CANCELLED, EDDY_E_CLOSED);
    program_plan(&p, NULL, "^again");
    program_want(&p, program_execute(&p), EDDY_CANCELLED, EDDY_E_CLOSED);
}
END_TEST

/* Of three that are wanted two come, which stay when all three can't. */
START_TEST(a_close_ends_waiting)
{
    add_queue(-1);
    program_build(&p, "x float32[2]=1,2\nk int32=3\n"
                      "e QueueEnqueueManyV2 q x Tcomponents=[float32]\n"
                      "c QueueCloseV2 q ^e\n"
                      "u QueueDequeueUpToV2 q k component_types=[float32]\n"
                      "m QueueDequeueManyV2 q k component_types=[float32]\n");
    program_plan(&p, NULL, "u ^c");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 2));
    program_plan(&p, NULL, "m ^c");
    program_want(&p, program_execute(&p), EDDY_OUT_OF_RANGE, EDDY_E_CLOSED);
}
END_TEST

START_TEST(a_close_may_cancel_who_waits_for_room)
{
    add_queue(1);
    program_build(&p, "x float32[2]=1,2\none float32=1\n"
                      "f QueueEnqueueV2 q one Tcomponents=[float32]\n"
                      "e QueueEnqueueManyV2 q x Tcomponents=[float32] ^f\n"
                      "y Exp one ^f\nz Log y\n"
                      "c QueueCloseV2 q cancel_pending_enqueues=true ^z\n");
    program_plan(&p, NULL, "^e ^c");
    program_want(&p, program_execute(&p), EDDY_CANCELLED, EDDY_E_CLOSED);
}
END_TEST

START_TEST(elements_must_be_the_queue_s)
{
    program_renew_session(&p);
    add_queue(-1);
    program_build(&p, "i int32=1\nv float32[2]=1,2\nx float32=1\n"
                      "minus int32=-1\nzero int32=0\n"
                      "dtype QueueEnqueueV2 q i Tcomponents=[int32]\n"
                      "shape QueueEnqueueV2 q v Tcomponents=[float32]\n"
                      "rows QueueEnqueueManyV2 q x Tcomponents=[float32]\n"
                      "count QueueEnqueueV2 q x x "
                      "Tcomponents=[float32,float32]\n"
                      "out QueueDequeueV2 q component_types=[int32]\n"
                      "less QueueDequeueManyV2 q minus "
                      "component_types=[float32]\n"
                      "none QueueDequeueManyV2 q zero "
                      "component_types=[float32]\n"
                      "r FIFOQueueV2 component_types=[float32]\n"
                      "many QueueDequeueManyV2 r zero "
                      "component_types=[float32]\n"
                      "other FIFOQueueV2 component_types=[int32] "
                      "shared_name='q'\n"
                      "h FIFOQueueV2 component_types=[resource]\n"
                      "size QueueSizeV2 h\n");
    static const struct {
        const char *what;
        eddy_detail detail;
    } cases[] = {{"^dtype", EDDY_E_DTYPE}, {"^shape", EDDY_E_SHAPE},
                 {"^rows", EDDY_E_SHAPE},  {"^count", EDDY_E_INPUT_COUNT},
                 {"out", EDDY_E_DTYPE},    {"less", EDDY_E_VALUE},
                 {"many", EDDY_E_SHAPE},   {"^other", EDDY_E_DTYPE}};

    program_plan(&p, NULL, "none");
    program_run(&p);
    ck_assert_int_eq(eddy_tensor_count(eddy_run_fetch(p.run, 0)), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        program_plan(&p, NULL, cases[i].what);
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     cases[i].detail);
    }
    program_want(&p, program_try_plan(&p, NULL, "size"), EDDY_UNIMPLEMENTED,
                 EDDY_E_NO_KERNEL);
}
END_TEST

/* Rows of several elements are as long as the longest. */
START_TEST(rows_are_filled_up)
{
    const eddy_shape some = {.rank = 1, .dims = {-1}};
    const int64_t none = -1;

    add_queue_of("PaddingFIFOQueueV2", &some, eddy_attr_int("capacity", &none));
    program_build(&p, "a float32[1]=1\nb float32[3]=2\nk int32=2\n"
                      "ea QueueEnqueueV2 q a Tcomponents=[float32]\n"
                      "eb QueueEnqueueV2 q b Tcomponents=[float32] ^ea\n"
                      "d QueueDequeueManyV2 q k component_types=[float32] "
                      "^eb\n");
    program_plan(&p, NULL, "d");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2, 3),
                       PROGRAM_NUMBERS(1, 0, 0, 2, 2, 2));
}
END_TEST

START_TEST(a_queue_without_ranks_fills_nothing_up)
{
    program_build(&p, "q PaddingFIFOQueueV2 component_types=[float32]\n"
                      "s QueueSizeV2 q\n");
    ck_assert_int_eq(program_try_plan(&p, NULL, "s"), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(p.err.detail, EDDY_E_ATTR_VALUE);
}
END_TEST

START_TEST(the_least_number_comes_first)
{
    const int64_t none = -1;

    add_queue_of("PriorityQueueV2", &scalar, eddy_attr_int("capacity", &none));
    program_build(&p, "n int64[5]=4,2,9,2,-7\nv float32[5]=0,1,2,3,4\n"
                      "k int32=5\n"
                      "e QueueEnqueueManyV2 q n v "
                      "Tcomponents=[int64,float32]\n"
                      "d QueueDequeueManyV2 q k "
                      "component_types=[int64,float32] ^e\n");
    program_plan(&p, NULL, "d d:1");
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(5), PROGRAM_NUMBERS(-7, 2, 2, 4, 9));
    program_want_fetch(&p, 1, PROGRAM_DIMS(5), PROGRAM_NUMBERS(4, 1, 3, 0, 2));
}
END_TEST

/* While it is open three elements stay; a fourth is there to be taken. */
START_TEST(a_random_queue_keeps_some)
{
    const int64_t kept = 3;

    add_queue_of("RandomShuffleQueueV2", &scalar,
                 eddy_attr_int("min_after_dequeue", &kept));
    program_build(&p, "v float32[3]=0,1,2\nw float32=3\nk int32=3\n"
                      "em QueueEnqueueManyV2 q v Tcomponents=[float32]\n"
                      "e QueueEnqueueV2 q w Tcomponents=[float32] ^em\n"
                      "d QueueDequeueV2 q component_types=[float32] ^em\n"
                      "s QueueSizeV2 q ^d ^e\n"
                      "c QueueCloseV2 q ^s\n"
                      "r QueueDequeueManyV2 q k component_types=[float32] "
                      "^c\n");
    program_plan(&p, NULL, "d");
    ck_assert_int_ne(program_execute(&p), EDDY_OK);
    ck_assert_int_eq(p.err.detail, EDDY_E_STUCK);
    program_plan(&p, NULL, "d s r");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 1), 3);
}
END_TEST

TCase *ops_queue_tests(void)
{
    TCase *tests = tcase_create("ops_queue");

    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, what_was_put_in_first_comes_out_first);
    tcase_add_test(tests, rows_are_filled_up);
    tcase_add_test(tests, a_queue_without_ranks_fills_nothing_up);
    tcase_add_test(tests, the_least_number_comes_first);
    tcase_add_test(tests, a_random_queue_keeps_some);
    tcase_add_test(tests, old_queues_are_queues);
    tcase_add_test(tests, loops_put_elements_in);
    tcase_add_test(tests, dequeues_wait_for_elements);
    tcase_add_test(tests, enqueues_wait_for_room);
    tcase_add_test(tests, a_run_that_would_wait_for_ever_says_so);
    tcase_add_test(tests, waiting_ends_when_another_node_fails);
    tcase_add_test(tests, waiting_ends_at_the_deadline);
    tcase_add_test(tests, waiting_ends_with_a_cancel);
    tcase_add_test(tests, one_run_waits_for_another);
    tcase_add_test(tests, nothing_goes_into_a_closed_queue);
    tcase_add_test(tests, a_close_ends_waiting);
    tcase_add_test(tests, a_close_may_cancel_who_waits_for_room);
    tcase_add_test(tests, elements_must_be_the_queue_s);
    return tests;
}
