/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds in place of what a node of an unknown op puts out: no node says of what
 * dtype they are, so those that read them do.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include "eddy/graphdef.h"

#include <stdio.h>
#include <string.h>

/* TensorFlow's numbers of dtypes, in a GraphDef. */
#define TF_FLOAT 1
#define TF_DOUBLE 2
#define TF_INT32 3

static program p;
static char bytes[1024];
static size_t length;

static void setup(void)
{
    program_init(&p, 0);
    length = 0;
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ---- graphs as bytes: the API adds no node of an unknown op ---- */

static size_t put_text(char *to, char field, const char *text, size_t n)
{
    to[0] = field;
    to[1] = (char)n;
    memcpy(to + 2, text, n);
    return n + 2;
}

/* A NodeDef with up to one input and one attribute that is a dtype. */
static void put_node(const char *name, const char *op, const char *input,
                     const char *attr, char dtype)
{
    char node[120], entry[40];
    size_t n = 0, m = 0;

    n += put_text(node + n, 0x0a, name, strlen(name));
    n += put_text(node + n, 0x12, op, strlen(op));
    if (input)
        n += put_text(node + n, 0x1a, input, strlen(input));
    if (attr) {
        const char value[] = {0x30, dtype};

        m += put_text(entry + m, 0x0a, attr, strlen(attr));
        m += put_text(entry + m, 0x12, value, sizeof value);
        n += put_text(node + n, 0x2a, entry, m);
    }
    length += put_text(bytes + length, 0x0a, node, n);
}

static void load(void)
{
    eddy_graph_destroy(p.graph);
    p.graph = NULL;
    ck_assert_msg(eddy_graphdef_read(p.ctx, bytes, length, NULL, &p.graph,
                                     &p.err) == EDDY_OK,
                  "%s", p.err.message);
}

/* Plans with output 0 of node u fed, of the unknown op. */
static eddy_status try_plan(const char *const *fetches, size_t n)
{
    const eddy_output fed = {.node = eddy_graph_find(p.graph, "u")};
    eddy_output outputs[4];
    const eddy_plan_options options = {.size = sizeof options,
                                       .feeds = &fed,
                                       .n_feeds = 1,
                                       .fetches = outputs,
                                       .n_fetches = n};

    for (size_t i = 0; i < n; i++)
        outputs[i] = (eddy_output){eddy_graph_find(p.graph, fetches[i]), 0};
    return eddy_plan_create(p.graph, &options, &p.plan, &p.err);
}

static eddy_status feed(eddy_dtype dtype, const void *elements)
{
    const eddy_shape shape = {.rank = 1, .dims = {2}};
    eddy_tensor *tensor = program_tensor(&p, dtype, &shape, elements);
    eddy_status status;

    program_make_run(&p);
    status = eddy_run_feed(p.run, 0, tensor, &p.err);
    eddy_tensor_release(tensor);
    return status;
}

START_TEST(the_readers_of_a_feed_say_its_dtype)
{
    static const char *const fetches[] = {"y", "z", "u"};
    const float floats[] = {4, 9};
    const int8_t bytes_fed[] = {4, 9};

    put_node("u", "Nonsense", NULL, NULL, 0);
    put_node("y", "Sqrt", "u", "T", TF_FLOAT);
    put_node("z", "Softmax", "u", "T", TF_FLOAT);
    load();
    ck_assert_int_eq(try_plan(fetches, 3), EDDY_OK);
    ck_assert_int_eq(eddy_plan_fetch_dtype(p.plan, 2), EDDY_FLOAT32);
    program_want(&p, feed(EDDY_INT8, bytes_fed), EDDY_INVALID_ARGUMENT,
                 EDDY_E_FEED_DTYPE);
    ck_assert_int_eq(feed(EDDY_FLOAT32, floats), EDDY_OK);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(2, 3));
    program_want_fetch(&p, 2, PROGRAM_DIMS(2), PROGRAM_NUMBERS(4, 9));
}
END_TEST

/* Only what is needed has a say. */
START_TEST(readers_that_disagree_are_refused)
{
    static const char *const fetches[] = {"z", "y"};

    put_node("u", "Nonsense", NULL, NULL, 0);
    put_node("y", "Sqrt", "u", "T", TF_FLOAT);
    put_node("z", "Sqrt", "u:0", "T", TF_DOUBLE);
    load();
    program_want(&p, try_plan(fetches, 2), EDDY_INVALID_ARGUMENT,
                 EDDY_E_FEED_DTYPE);
    ck_assert_str_eq(p.err.node, "z");
    ck_assert_ptr_nonnull(strstr(p.err.message, "'u:0'"));
    ck_assert_int_eq(try_plan(fetches, 1), EDDY_OK);
    program_want(&p, feed(EDDY_FLOAT32, (const float[]){1, 2}),
                 EDDY_INVALID_ARGUMENT, EDDY_E_FEED_DTYPE);
    ck_assert_int_eq(feed(EDDY_FLOAT64, (const double[]){1, 4}), EDDY_OK);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 2));
}
END_TEST

static const struct {
    const char *op, *attr;
    char dtype;
} handles[] = {
    {"ReadVariableOp", "dtype", TF_FLOAT},
    {"TensorListLength", NULL, 0},
};

/* No tensor is a handle or a list. */
START_TEST(a_feed_that_would_have_to_be_a_handle_is_refused)
{
    static const char *const fetches[] = {"y"};

    put_node("u", "Nonsense", NULL, NULL, 0);
    put_node("y", handles[_i].op, "u", handles[_i].attr, handles[_i].dtype);
    load();
    program_want(&p, try_plan(fetches, 1), EDDY_INVALID_ARGUMENT,
                 EDDY_E_FEED_DTYPE);
    ck_assert_str_eq(p.err.node, "y");
}
END_TEST

/* Of what dtype it is, is known only when it comes. */
START_TEST(a_feed_that_is_only_fetched_may_be_of_any_dtype)
{
    static const char *const fetches[] = {"u"};

    put_node("u", "Nonsense", NULL, NULL, 0);
    load();
    ck_assert_int_eq(try_plan(fetches, 1), EDDY_OK);
    ck_assert_int_eq(feed(EDDY_INT32, (const int32_t[]){1, 2}), EDDY_OK);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(1, 2));
    ck_assert_int_eq(feed(EDDY_FLOAT64, (const double[]){3, 4}), EDDY_OK);
    program_run(&p);
    program_want_fetch(&p, 0, PROGRAM_DIMS(2), PROGRAM_NUMBERS(3, 4));
}
END_TEST

static const char *const handle_feeds[] = {"h", "l"};

/* Nor may a tensor stand for the handle of a node that is known. */
START_TEST(no_tensor_is_fed_for_a_handle_or_a_list)
{
    const float value = 1;
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *tensor = program_tensor(&p, EDDY_FLOAT32, &scalar, &value);

    program_build(&p, "h VarHandleOp dtype=float32 shape=()\n"
                      "r ReadVariableOp h dtype=float32\n"
                      "s int32[0]=\n"
                      "n int32=3\n"
                      "l EmptyTensorList s n element_dtype=float32\n"
                      "c TensorListLength l");
    program_plan(&p, handle_feeds[_i], _i == 0 ? "r" : "c");
    program_make_run(&p);
    program_want(&p, eddy_run_feed(p.run, 0, tensor, &p.err),
                 EDDY_INVALID_ARGUMENT, EDDY_E_FEED_DTYPE);
    eddy_tensor_release(tensor);
}
END_TEST

TCase *feed_dtype_tests(void)
{
    TCase *tc = tcase_create("feed_dtype");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, the_readers_of_a_feed_say_its_dtype);
    tcase_add_test(tc, readers_that_disagree_are_refused);
    tcase_add_loop_test(tc, a_feed_that_would_have_to_be_a_handle_is_refused, 0,
                        (int)(sizeof handles / sizeof *handles));
    tcase_add_test(tc, a_feed_that_is_only_fetched_may_be_of_any_dtype);
    tcase_add_loop_test(tc, no_tensor_is_fed_for_a_handle_or_a_list, 0, 2);
    return tc;
}
