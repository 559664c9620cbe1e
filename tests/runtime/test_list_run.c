/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists in programs, through ops that are registered here with kernels of the
 * inside:
 *
 *     NewList -> list                  `n` unset items
 *     Push list, item -> list
 *     Put list, i, item -> list
 *     Get list, i -> item              int64; -1 if it is unset
 *     Inner list, i -> list            a list in a list
 *     Length list -> int64
 *     Busy list, x -> list             large work on `x`; appends its size
 *     Later list -> list               comes back from a thread; appends 1
 */
#include "core/base/thread.h"
#include "core/kernel.h"
#include "core/value/list.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdatomic.h>
#include <string.h>

static const eddy_shape scalar = {.rank = 0};

/* Nothing that the shape functions here say of a list. */
static const eddy_shape of_items = {.rank = 2, .dims = {-1, 3}};

/* How often a list was not changed where it is. */
static atomic_uint n_moves;

/* ---- ops ---- */

static eddy_status infer_scalar(eddy_infer *infer)
{
    eddy_infer_set_output(infer, 0, &scalar);
    return EDDY_OK;
}

static eddy_status run_new(eddy_kernel *k)
{
    eddy__list *list;
    eddy_attr n;

    ck_assert(eddy_kernel_attr(k, "n", &n));
    return eddy__output_list(k, 0, EDDY_INT64, &of_items, n.as.ints[0], &list);
}

/* Output 0 is input 0, to be changed. */
static eddy_status begin_change(eddy_kernel *k, int64_t room,
                                eddy__list **out_list)
{
    const eddy__list *before = eddy__in_list(k, 0);
    eddy_status status = eddy__output_list_reusing(k, 0, 0, room, out_list);

    if (status == EDDY_OK && *out_list != before)
        atomic_fetch_add(&n_moves, 1);
    return status;
}

/* A reference of its own to input `i`. */
static eddy__value item_of(const eddy_kernel *k, uint32_t i)
{
    eddy__value item = eddy__value_copy(eddy__in(k, i));

    eddy__value_keep(&item);
    return item;
}

static eddy_status run_push(eddy_kernel *k)
{
    eddy__list *list;
    eddy_status status = begin_change(k, 1, &list);

    if (status == EDDY_OK)
        eddy__list_push(list, item_of(k, 1));
    return status;
}

/* Item input 1 of a list that has it, else NULL and the status. */
static const eddy__value *find_item(eddy_kernel *k, eddy_status *status)
{
    const eddy__list *list = eddy__in_list(k, 0);
    int64_t i = *(const int64_t *)eddy__in_view(k, 1).data;

    *status = EDDY_OK;
    if (i >= 0 && i < list->count)
        return eddy__list_get(list, i);
    *status = eddy__kfail(k, EDDY_INVALID_ARGUMENT, EDDY_E_INDEX,
                          "there is no such item");
    return NULL;
}

static eddy_status run_put(eddy_kernel *k)
{
    int64_t i = *(const int64_t *)eddy__in_view(k, 1).data;
    eddy__list *list;
    eddy_status status;

    if (!find_item(k, &status))
        return status;
    status = begin_change(k, 0, &list);
    if (status == EDDY_OK)
        eddy__list_set(k->heap, list, i, item_of(k, 2));
    return status;
}

static eddy_status run_get(eddy_kernel *k)
{
    eddy_status status;
    const eddy__value *item = find_item(k, &status);

    if (item)
        eddy__out_scalar(eddy__out(k, 0), EDDY_INT64,
                         item->kind == EDDY__SCALAR ? item->as.bits
                                                    : UINT64_MAX);
    return status;
}

static eddy_status run_inner(eddy_kernel *k)
{
    eddy_status status;
    const eddy__value *item = find_item(k, &status);

    if (item)
        *eddy__out(k, 0) = eddy__value_copy(item);
    return status;
}

static eddy_status run_length(eddy_kernel *k)
{
    eddy__out_scalar(eddy__out(k, 0), EDDY_INT64,
                     (uint64_t)eddy__in_list(k, 0)->count);
    return EDDY_OK;
}

static eddy_status push_number(eddy_kernel *k, int64_t number)
{
    eddy__value item = {.kind = EDDY__SCALAR, .dtype = EDDY_INT64};
    eddy__list *list;
    eddy_status status = begin_change(k, 1, &list);

    item.as.i64 = number;
    if (status == EDDY_OK)
        eddy__list_push(list, item);
    return status;
}

static eddy_status run_busy(eddy_kernel *k)
{
    return push_number(k, eddy__in_view(k, 1).count);
}

/* Threads that completed a Later; joined at the end of a test. */
static eddy__thread threads[16];
static uint32_t n_threads;

static void come_back(void *arg)
{
    eddy_kernel *k = arg;

    eddy_kernel_complete(k, push_number(k, 1));
}

static eddy_status run_later(eddy_kernel *k)
{
    eddy_kernel *suspended = eddy_kernel_suspend(k);

    ck_assert_ptr_nonnull(suspended);
    ck_assert_uint_lt(n_threads, 16);
    ck_assert_int_eq(eddy__thread_start(&threads[n_threads++], 0, come_back,
                                        suspended, NULL),
                     EDDY_OK);
    return EDDY_OK;
}

#define OP(name, in, out, attrs, infer, run, flags)                            \
    {                                                                          \
        sizeof(eddy_op_spec), name, in, out, attrs, infer, run, NULL, flags    \
    }

static const eddy_op_spec ops[] = {
    OP("NewList", "", "list: variant", "n: int", infer_scalar, run_new, 0),
    OP("Push", "list: variant, item: T", "out: variant", "T: type",
       infer_scalar, run_push, 0),
    OP("Put", "list: variant, i: int64, item: T", "out: variant", "T: type",
       infer_scalar, run_put, 0),
    OP("Get", "list: variant, i: int64", "out: int64", "", infer_scalar,
       run_get, 0),
    OP("Inner", "list: variant, i: int64", "out: variant", "", infer_scalar,
       run_inner, 0),
    OP("Length", "list: variant", "out: int64", "", infer_scalar, run_length,
       0),
    OP("Busy", "list: variant, x: float32", "out: variant", "", infer_scalar,
       run_busy, 0),
    OP("Later", "list: variant", "out: variant", "", infer_scalar, run_later,
       EDDY_OP_ASYNC),
};

static void start(program *p, uint32_t n_workers)
{
    program_init(p, n_workers);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        ck_assert_int_eq(eddy_op_register(p->ctx, &ops[i], &p->err), EDDY_OK);
    atomic_store(&n_moves, 0);
    n_threads = 0;
}

/* ---- loops ---- */

/* `list` carried round with the counter `si:1` while it is below `n`. */
#define LOOP                                                                   \
    "zero int64=0\n"                                                           \
    "one int64=1\n"                                                            \
    "i Enter@f zero\n"                                                         \
    "l Enter@f list\n"                                                         \
    "limit Enter@f! n\n"                                                       \
    "step Enter@f! one\n"                                                      \
    "mi Merge i ni\n"                                                          \
    "ml Merge l nl\n"                                                          \
    "less Less mi limit\n"                                                     \
    "cond LoopCond less\n"                                                     \
    "si Switch mi cond\n"                                                      \
    "sl Switch ml cond\n"                                                      \
    "bi Add si:1 step\n"                                                       \
    "ni NextIteration bi\n"                                                    \
    "out Exit sl\n"                                                            \
    "length Length out\n"

#define PUSH_LOOP                                                              \
    LOOP "bl Push sl:1 si:1\n"                                                 \
         "nl NextIteration bl\n"

START_TEST(a_loop_that_appends_copies_no_list)
{
    program p;

    start(&p, 0);
    program_build(&p, "n int64=20000\n"
                      "list NewList n=0\n"
                      "at int64=19999\n" PUSH_LOOP "last Get out at\n");
    program_plan(&p, NULL, "length last");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 20000);
    ck_assert_int_eq(program_fetch_int(&p, 1), 19999);
    /* It moves when its room has doubled. */
    ck_assert_uint_lt(atomic_load(&n_moves), 16);
    ck_assert_uint_lt(program_stats(&p).allocations, 100);
    program_deinit(&p);
}
END_TEST

START_TEST(a_loop_that_writes_copies_no_list)
{
    program p;

    start(&p, 0);
    program_build(&p, "n int64=1000\n"
                      "list NewList n=1001\n"
                      "at int64=999\n" LOOP "bl Put sl:1 si:1 si:1\n"
                      "nl NextIteration bl\n"
                      "last Get out at\n"
                      "beyond Get out n\n");
    program_plan(&p, NULL, "last beyond");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 999);
    ck_assert_int_eq(program_fetch_int(&p, 1), -1);
    ck_assert_uint_eq(atomic_load(&n_moves), 0);
    program_deinit(&p);
}
END_TEST

/* A second reader of the list must not see what is appended to it. */
START_TEST(readers_do_not_see_later_writes)
{
    program p;

    start(&p, (uint32_t)_i);
    program_build(&p, "n int64=10\n"
                      "list NewList n=3\n"
                      "before Identity list\n" PUSH_LOOP "more Push out n\n"
                      "old Length before\n"
                      "new Length more\n");
    program_plan(&p, NULL, "old length new");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 3);
        ck_assert_int_eq(program_fetch_int(&p, 1), 13);
        ck_assert_int_eq(program_fetch_int(&p, 2), 14);
    }
    program_deinit(&p);
}
END_TEST

#define SUM_LOOP                                                               \
    LOOP "s Enter@f zero\n"                                                    \
         "ms Merge s ns\n"                                                     \
         "ss Switch ms cond\n"                                                 \
         "nl NextIteration sl:1\n"                                             \
         "sum Exit ss\n"

/* A frame lends an invariant list to its iterations, which may not change it.
 */
START_TEST(an_invariant_list_stays_as_it_is)
{
    program p;

    start(&p, 0);
    program_build(&p, "n int64=100\n"
                      "list NewList n=0\n"
                      "other NewList n=5\n" SUM_LOOP "inv Enter@f! other\n"
                      "longer Push inv si:1\n"
                      "len Length longer\n"
                      "len2 Length inv\n"
                      "a Add ss:1 len\n"
                      "b Add a len2\n"
                      "ns NextIteration b\n");
    program_plan(&p, NULL, "sum");
    for (int round = 0; round < 2; round++) {
        program_run(&p);
        /* 6 and 5 each time. */
        ck_assert_int_eq(program_fetch_int(&p, 0), 1100);
    }
    program_deinit(&p);
}
END_TEST

/* A ControlTrigger makes the executor replay the Enter in each iteration. */
START_TEST(a_replayed_list_stays_as_it_is)
{
    program p;

    start(&p, 0);
    program_build(&p, "n int64=100\n"
                      "list NewList n=0\n"
                      "other NewList n=5\n" SUM_LOOP "inv Enter@f! other\n"
                      "t ControlTrigger ^inv\n"
                      "longer Push inv si:1\n"
                      "len Length longer\n"
                      "a Add ss:1 len ^t\n"
                      "ns NextIteration a\n");
    program_plan(&p, NULL, "sum");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 600);
    program_deinit(&p);
}
END_TEST

/*
 * What a frame lent leaves it through an Exit and inside another list.  Its
 * readers wait for so long that the frame is over.
 */
START_TEST(a_lent_list_may_outlive_its_frame)
{
    program p;

    start(&p, 0);
    program_build(&p, "n int64=4\n"
                      "list NewList n=0\n"
                      "other NewList n=7\n" LOOP "inv Enter@f! other\n"
                      "again Identity inv\n"
                      "sv Switch again cond\n"
                      "bl Push sl:1 sv:1\n"
                      "nl NextIteration bl\n"
                      "left Exit sv\n"
                      "w1 Identity length\n"
                      "w2 Identity w1\n"
                      "w3 Identity w2\n"
                      "w4 Identity w3\n"
                      "w5 Identity w4\n"
                      "w6 Identity w5\n"
                      "a Push left w6\n"
                      "b Inner out zero\n"
                      "c Push b n\n"
                      "len_a Length a\n"
                      "len_b Length b\n"
                      "len_c Length c\n");
    program_plan(&p, NULL, "length len_a len_b len_c");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 4);
    ck_assert_int_eq(program_fetch_int(&p, 1), 8);
    ck_assert_int_eq(program_fetch_int(&p, 2), 7);
    ck_assert_int_eq(program_fetch_int(&p, 3), 8);
    program_deinit(&p);
}
END_TEST

/* The outer list goes through an inner frame that appends to it. */
START_TEST(lists_go_through_nested_frames)
{
    program p;

    start(&p, 0);
    program_build(&p, "n int64=50\n"
                      "list NewList n=0\n" LOOP "jl Enter@g sl:1\n"
                      "ji Enter@g si:1\n"
                      "jn Enter@g! limit\n"
                      "jstep Enter@g! step\n"
                      "kl Merge jl ol\n"
                      "ki Merge ji oi\n"
                      "kless Less ki jn\n"
                      "kcond LoopCond kless\n"
                      "tl Switch kl kcond\n"
                      "ti Switch ki kcond\n"
                      "pl Push tl:1 ti:1\n"
                      "pi Add ti:1 jstep\n"
                      "ol NextIteration pl\n"
                      "oi NextIteration pi\n"
                      "bl Exit tl\n"
                      "nl NextIteration bl\n"
                      "at int64=1274\n"
                      "last Get out at\n");
    program_plan(&p, NULL, "length last");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 1275);
    ck_assert_int_eq(program_fetch_int(&p, 1), 49);
    ck_assert_uint_lt(atomic_load(&n_moves), 16);
    program_deinit(&p);
}
END_TEST

START_TEST(lists_go_down_one_branch)
{
    program p;

    start(&p, 0);
    program_build(&p, "list NewList n=2\n"
                      "seven int64=7\n"
                      "pred ?bool\n"
                      "s Switch list pred\n"
                      "then Push s:1 seven\n"
                      "m Merge s then\n"
                      "length Length m\n");
    program_plan(&p, "pred", "length");
    for (int round = 0; round < 2; round++) {
        const bool taken = round == 1;
        eddy_tensor *pred = program_tensor(&p, EDDY_BOOL, &scalar, &taken);

        program_make_run(&p);
        ck_assert_int_eq(eddy_run_feed(p.run, 0, pred, &p.err), EDDY_OK);
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 2 + round);
        eddy_tensor_release(pred);
    }
    program_deinit(&p);
}
END_TEST

/* ---- what is outside of lists ---- */

START_TEST(a_list_can_not_leave_its_run)
{
    program p;
    char byte;

    start(&p, 0);
    program_build(&p, "n int64=10\n"
                      "list NewList n=0\n" PUSH_LOOP);
    program_plan(&p, NULL, "length out");
    for (int round = 0; round < 2; round++) {
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_DTYPE);
        ck_assert_str_eq(p.err.message,
                         "fetch 1 is a list, which can't leave its run");
        ck_assert_ptr_null(eddy_run_fetch(p.run, 0));
        ck_assert_ptr_null(eddy_run_fetch(p.run, 1));
    }
    program_want(&p, eddy_run_fetch_into(p.run, 1, &byte, 1, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    program_deinit(&p);
}
END_TEST

START_TEST(ops_on_anything_take_lists)
{
    program p;

    start(&p, 0);
    program_build(&p, "list NewList n=3\n"
                      "shape Shape list\n"
                      "n Size shape\n"
                      "size Size list\n"
                      "rank Rank list\n"
                      "same Identity list\n"
                      "stop StopGradient same\n"
                      "length Length stop\n");
    program_plan(&p, NULL, "n size rank length");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 0);
    ck_assert_int_eq(program_fetch_int(&p, 1), 1);
    ck_assert_int_eq(program_fetch_int(&p, 2), 0);
    ck_assert_int_eq(program_fetch_int(&p, 3), 3);
    program_deinit(&p);
}
END_TEST

/* Whether the graph or the plan refuses it. */
static bool is_refused(program *p, const char *op, size_t n_inputs)
{
    const eddy_output list = program_output(p, "list");
    const eddy_output inputs[] = {list, list};
    const eddy_node_spec spec = {.size = sizeof spec,
                                 .op = op,
                                 .name = "made",
                                 .inputs = inputs,
                                 .n_inputs = n_inputs};
    eddy_node node;

    return eddy_graph_add(p->graph, &spec, &node, &p->err) != EDDY_OK ||
           program_try_plan(p, NULL, "made") != EDDY_OK;
}

START_TEST(ops_on_elements_refuse_lists)
{
    static const char *const unary[] = {"OnesLike", "Neg", "Where", "Abs"};
    static const char *const binary[] = {"AddV2", "Equal", "Less", "MatMul"};
    program p;

    start(&p, 0);
    for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) {
        program_build(&p, "list NewList n=3\n");
        ck_assert_msg(is_refused(&p, unary[i], 1), "%s", unary[i]);
        program_clear(&p);
    }
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++) {
        program_build(&p, "list NewList n=3\n");
        ck_assert_msg(is_refused(&p, binary[i], 2), "%s", binary[i]);
        program_clear(&p);
    }
    program_deinit(&p);
}
END_TEST

START_TEST(messages_show_that_it_is_a_list)
{
    program p;

    start(&p, 0);
    program_build(&p, "list NewList n=3\n"
                      "no bool=0\n"
                      "assert Assert no list\n");
    program_plan(&p, NULL, "^assert");
    program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                 EDDY_E_ASSERTION);
    ck_assert_ptr_nonnull(strstr(p.err.message, "[<list>]"));
    program_deinit(&p);
}
END_TEST

/* ---- other threads ---- */

/* 80,000 bytes are worth a hand-over while there is something else to do. */
START_TEST(workers_change_copies_of_a_shared_list)
{
    program p;

    start(&p, (uint32_t)_i);
    program_build(&p, "list NewList n=2\n"
                      "x float32[20000]=1\n"
                      "a Busy list x\n"
                      "b Busy list x\n"
                      "c Busy list x\n"
                      "d Busy a x\n"
                      "at int64=2\n"
                      "ga Get a at\n"
                      "lb Length b\n"
                      "lc Length c\n"
                      "ld Length d\n"
                      "old Length list\n");
    program_plan(&p, NULL, "ga lb lc ld old");
    for (int round = 0; round < 20; round++) {
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 20000);
        ck_assert_int_eq(program_fetch_int(&p, 1), 3);
        ck_assert_int_eq(program_fetch_int(&p, 2), 3);
        ck_assert_int_eq(program_fetch_int(&p, 3), 4);
        ck_assert_int_eq(program_fetch_int(&p, 4), 2);
    }
    program_deinit(&p);
}
END_TEST

START_TEST(a_suspended_kernel_keeps_its_list)
{
    program p;

    start(&p, (uint32_t)_i);
    program_build(&p, "n int64=5\n"
                      "list NewList n=0\n" LOOP "bl Later sl:1\n"
                      "nl NextIteration bl\n"
                      "last Get out zero\n");
    program_plan(&p, NULL, "length last");
    program_run(&p);
    ck_assert_int_eq(program_fetch_int(&p, 0), 5);
    ck_assert_int_eq(program_fetch_int(&p, 1), 1);
    ck_assert_uint_eq(n_threads, 5);
    while (n_threads > 0)
        eddy__thread_join(&threads[--n_threads]);
    program_deinit(&p);
}
END_TEST

/* ---- when it goes wrong ---- */

START_TEST(a_run_that_fails_frees_its_lists)
{
    program p;

    start(&p, 0);
    program_build(&p, "n int64=10\n"
                      "list NewList n=3\n"
                      "other NewList n=0\n" LOOP "inv Enter@f! other\n"
                      "in Push sl:1 inv\n"
                      "bl Put in si:1 si:1\n"
                      "bad Get inv si:1\n"
                      "also Put bl bad bad\n"
                      "nl NextIteration also\n");
    program_plan(&p, NULL, "length");
    for (int round = 0; round < 2; round++)
        program_want(&p, program_execute(&p), EDDY_INVALID_ARGUMENT,
                     EDDY_E_INDEX);
    program_deinit(&p);
}
END_TEST

START_TEST(the_limit_on_bytes_stops_a_list)
{
    program p;

    start(&p, 0);
    p.run_options.max_bytes = 1 << 20;
    program_build(&p, "n int64=1000000\n"
                      "list NewList n=0\n" PUSH_LOOP);
    program_plan(&p, NULL, "length");
    for (int round = 0; round < 2; round++) {
        program_want(&p, program_execute(&p), EDDY_RESOURCE_EXHAUSTED,
                     EDDY_E_LIMIT_BYTES);
        ck_assert_str_eq(p.err.node, "bl");
        ck_assert_uint_le(program_stats(&p).peak_bytes, 1 << 20);
        /* Half of what the limit has room for can be had at least. */
        ck_assert_uint_gt(program_stats(&p).iterations, 16000);
    }
    program_deinit(&p);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    int n;

    for (n = 0;; n++) {
        eddy_status status;
        program p;

        start(&p, 0);
        program_build(&p, "n int64=40\n"
                          "list NewList n=0\n" PUSH_LOOP "more Push out list\n"
                          "len Length more\n");
        program_plan(&p, NULL, "len");
        program_make_run(&p);
        counting_allocator_allow(&p.counting, n);
        status = program_execute(&p);
        counting_allocator_allow(&p.counting, -1);
        if (status != EDDY_OK)
            program_want(&p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
        /* It can be used again. */
        program_run(&p);
        ck_assert_int_eq(program_fetch_int(&p, 0), 41);
        program_deinit(&p);
        if (status == EDDY_OK)
            break;
    }
    ck_assert_int_gt(n, 5);
}
END_TEST

TCase *list_run_tests(void)
{
    TCase *tests = tcase_create("list_run");

    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_loop_that_appends_copies_no_list);
    tcase_add_test(tests, a_loop_that_writes_copies_no_list);
    tcase_add_loop_test(tests, readers_do_not_see_later_writes, 0, 3);
    tcase_add_test(tests, an_invariant_list_stays_as_it_is);
    tcase_add_test(tests, a_replayed_list_stays_as_it_is);
    tcase_add_test(tests, a_lent_list_may_outlive_its_frame);
    tcase_add_test(tests, lists_go_through_nested_frames);
    tcase_add_test(tests, lists_go_down_one_branch);
    tcase_add_test(tests, a_list_can_not_leave_its_run);
    tcase_add_test(tests, ops_on_anything_take_lists);
    tcase_add_test(tests, ops_on_elements_refuse_lists);
    tcase_add_test(tests, messages_show_that_it_is_a_list);
    tcase_add_loop_test(tests, workers_change_copies_of_a_shared_list, 0, 5);
    tcase_add_loop_test(tests, a_suspended_kernel_keeps_its_list, 0, 3);
    tcase_add_test(tests, a_run_that_fails_frees_its_lists);
    tcase_add_test(tests, the_limit_on_bytes_stops_a_list);
    tcase_add_test(tests, every_allocation_may_fail);
    return tests;
}
