/* SPDX-License-Identifier: Apache-2.0 */
/* Functions with parameters: what a call makes of them. */
#include "eddy/graphdef.h"
#include "eddy/lower.h"
#include "tests/aid/program.h"
#include "tests/aid/wire_writer.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

enum { FLOAT32 = 1, INT32 = 3, INT64 = 9 }; /* TensorFlow's numbers */

static program p;
static wire_writer w;

static void setup(void)
{
    program_init(&p, 0);
    memset(&w, 0, sizeof w);
}

static void teardown(void)
{
    program_deinit(&p);
}

/* ---- making FunctionDefs ---- */

static void begin_function(const char *name)
{
    if (w.n_open == 0)
        wire_begin(&w, 2); /* library */
    wire_begin(&w, 1);
    wire_begin(&w, 1); /* signature */
    wire_text(&w, 1, name);
}

/* Field 2 is an argument, 3 a result; parameters may be NULL. */
static void put_arg(uint32_t field, const char *name, const char *type,
                    const char *number, const char *types)
{
    wire_begin(&w, field);
    wire_text(&w, 1, name);
    if (type)
        wire_text(&w, 4, type);
    if (number)
        wire_text(&w, 5, number);
    if (types)
        wire_text(&w, 6, types);
    wire_end(&w);
}

/* A dtype as the default of a parameter if it is above 0. */
static void put_parameter(const char *name, const char *kind, int dtype)
{
    wire_begin(&w, 4);
    wire_text(&w, 1, name);
    wire_text(&w, 2, kind);
    if (dtype > 0) {
        wire_begin(&w, 3);
        wire_number(&w, 6, (uint64_t)dtype);
        wire_end(&w);
    }
    wire_end(&w);
}

static void put_placeholder(const char *attr, const char *parameter)
{
    wire_begin_attr(&w, attr);
    wire_text(&w, 9, parameter);
    wire_end_attr(&w);
}

static void put_return(const char *name, const char *value)
{
    wire_begin(&w, 4);
    wire_text(&w, 1, name);
    wire_text(&w, 2, value);
    wire_end(&w);
}

static void end_function(void)
{
    wire_end(&w);
}

/* A binary node of dtype T in a function. */
static void put_binary(const char *name, const char *op, const char *x,
                       const char *y)
{
    wire_begin_node(&w, 3, name, op);
    wire_input(&w, x);
    wire_input(&w, y);
    put_placeholder("T", "T");
    wire_end(&w);
}

/* sum(x: T, y: T) -> z: T */
static void put_sum(int dtype)
{
    begin_function("sum");
    put_arg(2, "x", "T", NULL, NULL);
    put_arg(2, "y", "T", NULL, NULL);
    put_arg(3, "z", "T", NULL, NULL);
    put_parameter("T", "type", dtype);
    wire_end(&w);
    put_binary("add", "AddV2", "x", "y:0");
    put_return("z", "add:z:0");
    end_function();
}

/* ---- making calls ---- */

static void put_source(const char *name, int dtype)
{
    if (w.n_open > 0)
        wire_end(&w); /* library */
    wire_begin_node(&w, 1, name, "Placeholder");
    wire_type(&w, "dtype", dtype);
    wire_end(&w);
}

static void put_types(const char *attr, const int *dtypes, size_t n)
{
    wire_begin_attr(&w, attr);
    wire_begin(&w, 1);
    for (size_t i = 0; i < n; i++)
        wire_number(&w, 6, (uint64_t)dtypes[i]);
    wire_end(&w);
    wire_end_attr(&w);
}

/* A function attribute whose parameter T is a dtype, or stands for a T. */
static void put_function(const char *attr, const char *function, int dtype)
{
    wire_begin_attr(&w, attr);
    wire_begin(&w, 10);
    wire_text(&w, 1, function);
    wire_begin(&w, 2);
    wire_text(&w, 1, "T");
    wire_begin(&w, 2);
    if (dtype > 0)
        wire_number(&w, 6, (uint64_t)dtype);
    else
        wire_text(&w, 9, "T");
    wire_end(&w);
    wire_end(&w);
    wire_end(&w);
    wire_end_attr(&w);
}

static void put_call(const char *name, const char *op, const char *const *from,
                     size_t n)
{
    wire_begin_node(&w, 1, name, op);
    for (size_t i = 0; i < n; i++)
        wire_input(&w, from[i]);
}

#define PUT_CALL(name, op, ...)                                                \
    put_call(name, op, (const char *[]){__VA_ARGS__},                          \
             sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))

static void read_graph(void)
{
    char line[1024];

    eddy_graph_destroy(p.graph);
    p.graph = NULL;
    if (eddy_graphdef_read(p.ctx, w.bytes, w.length, NULL, &p.graph, &p.err) ==
        EDDY_OK)
        return;
    eddy_error_format(&p.err, line, sizeof line);
    ck_abort_msg("%s", line);
}

/* Reads the graph, feeds x 1.5 and y 2.5, and i 3. */
static void run(const char *fetches)
{
    read_graph();
    program_plan(&p, "x y i", fetches);
    program_make_run(&p);
    program_feed_floats(&p, 0, (const float[]){1.5f}, 1);
    program_feed_floats(&p, 1, (const float[]){2.5f}, 1);
    program_feed_int(&p, 2, 3);
    program_run(&p);
}

static void put_sources(void)
{
    put_source("x", FLOAT32);
    put_source("y", FLOAT32);
    put_source("i", INT64);
}

/* ---- dtypes ---- */

START_TEST(a_function_is_called_with_several_dtypes)
{
    put_sum(0);
    put_sources();
    PUT_CALL("a", "sum", "x", "y");
    wire_type(&w, "T", FLOAT32);
    wire_end(&w);
    PUT_CALL("b", "sum", "i", "i");
    wire_type(&w, "T", INT64);
    wire_end(&w);
    PUT_CALL("c", "sum", "a", "a:0");
    wire_type(&w, "T", FLOAT32);
    wire_end(&w);
    run("a b c");
    ck_assert_float_eq(program_fetch_float(&p, 0), 4.0f);
    ck_assert_int_eq(program_fetch_int(&p, 1), 6);
    ck_assert_float_eq(program_fetch_float(&p, 2), 8.0f);
}
END_TEST

START_TEST(a_parameter_may_have_a_default)
{
    put_sum(FLOAT32);
    put_sources();
    PUT_CALL("a", "sum", "x", "y");
    wire_end(&w);
    PUT_CALL("b", "sum", "i", "i");
    wire_type(&w, "T", INT64);
    wire_end(&w);
    run("a b");
    ck_assert_float_eq(program_fetch_float(&p, 0), 4.0f);
    ck_assert_int_eq(program_fetch_int(&p, 1), 6);
}
END_TEST

/* twice(x: T) is a PartitionedCall of sum with the same T. */
START_TEST(parameters_are_handed_on)
{
    put_sum(0);
    begin_function("twice");
    put_arg(2, "x", "T", NULL, NULL);
    put_arg(3, "z", "T", NULL, NULL);
    put_parameter("T", "type", 0);
    wire_end(&w);
    wire_begin_node(&w, 3, "call", "PartitionedCall");
    wire_input(&w, "x");
    wire_input(&w, "x");
    put_function("f", "sum", 0);
    wire_begin_attr(&w, "Tin");
    wire_begin(&w, 1);
    wire_number(&w, 6, FLOAT32);
    wire_number(&w, 6, FLOAT32);
    wire_end(&w);
    wire_end_attr(&w);
    put_types("Tout", (const int[]){FLOAT32}, 1);
    wire_end(&w);
    put_return("z", "call:output:0");
    end_function();
    put_sources();
    PUT_CALL("a", "PartitionedCall", "x");
    put_function("f", "twice", FLOAT32);
    put_types("Tin", (const int[]){FLOAT32}, 1);
    put_types("Tout", (const int[]){FLOAT32}, 1);
    wire_end(&w);
    run("a");
    ck_assert_float_eq(program_fetch_float(&p, 0), 3.0f);
}
END_TEST

/* ---- lists ---- */

/* pick(xs: N * T, y: T) -> zs: N * T, s: T; zs = xs, s = xs[0] + xs[1] + y */
static void put_pick(void)
{
    begin_function("pick");
    put_arg(2, "xs", "T", "N", NULL);
    put_arg(2, "y", "T", NULL, NULL);
    put_arg(3, "zs", "T", "N", NULL);
    put_arg(3, "s", "T", NULL, NULL);
    put_parameter("T", "type", 0);
    put_parameter("N", "int", 0);
    wire_end(&w);
    put_binary("add", "AddV2", "xs:0", "y");
    wire_begin_node(&w, 3, "all", "AddN");
    wire_input(&w, "xs");
    put_placeholder("T", "T");
    put_placeholder("N", "N");
    wire_end(&w);
    put_binary("both", "AddV2", "add:z:0", "all:sum:0");
    put_return("zs", "xs");
    put_return("s", "both:z:0");
    end_function();
}

/* _i tensors. */
START_TEST(an_argument_may_be_a_list)
{
    static const float sums[] = {0, 5.5f, 7.0f, 9.5f};
    char fetches[32];

    put_pick();
    put_sources();
    put_call("a", "pick", (const char *[]){"x", "y", "x", "y"}, (size_t)_i + 1);
    wire_type(&w, "T", FLOAT32);
    wire_int(&w, "N", _i);
    wire_end(&w);
    snprintf(fetches, sizeof fetches, "a a:%d a:%d", _i, _i - 1);
    run(fetches);
    ck_assert_float_eq(program_fetch_float(&p, 1), sums[_i]);
    ck_assert_float_eq(program_fetch_float(&p, 2), _i == 2 ? 2.5f : 1.5f);
    ck_assert_float_eq(program_fetch_float(&p, 0), 1.5f);
}
END_TEST

/* In a body, an edge names an item of a list that a call gives. */
START_TEST(items_of_lists_are_told_apart_in_bodies)
{
    put_pick();
    begin_function("outer");
    put_arg(2, "x", "T", NULL, NULL);
    put_arg(2, "y", "T", NULL, NULL);
    put_arg(3, "z", "T", NULL, NULL);
    put_parameter("T", "type", 0);
    wire_end(&w);
    wire_begin_node(&w, 3, "call", "pick");
    wire_input(&w, "x");
    wire_input(&w, "y");
    wire_input(&w, "x");
    put_placeholder("T", "T");
    wire_int(&w, "N", 2);
    wire_end(&w);
    put_binary("sub", "Sub", "call:s:0", "call:zs:1");
    put_return("z", "sub:z:0");
    end_function();
    put_sources();
    PUT_CALL("a", "outer", "x", "y");
    wire_type(&w, "T", FLOAT32);
    wire_end(&w);
    run("a");
    ck_assert_float_eq(program_fetch_float(&p, 0), 1.5f + 1.5f + 4.0f - 2.5f);
}
END_TEST

/* swap(xs: L, y: T) -> y, xs */
START_TEST(an_argument_may_be_a_list_of_several_dtypes)
{
    begin_function("swap");
    put_arg(2, "xs", NULL, NULL, "L");
    put_arg(2, "y", "T", NULL, NULL);
    put_arg(3, "v", "T", NULL, NULL);
    put_arg(3, "us", NULL, NULL, "L");
    put_parameter("L", "list(type)", 0);
    put_parameter("T", "type", 0);
    wire_end(&w);
    wire_begin_node(&w, 3, "id", "IdentityN");
    wire_input(&w, "xs");
    put_placeholder("T", "L");
    wire_end(&w);
    put_return("v", "y");
    put_return("us", "id:output");
    end_function();
    put_sources();
    PUT_CALL("a", "swap", "x", "i", "y");
    put_types("L", (const int[]){FLOAT32, INT64}, 2);
    wire_type(&w, "T", FLOAT32);
    wire_end(&w);
    run("a a:1 a:2");
    ck_assert_float_eq(program_fetch_float(&p, 0), 2.5f);
    ck_assert_float_eq(program_fetch_float(&p, 1), 1.5f);
    ck_assert_int_eq(program_fetch_int(&p, 2), 3);
}
END_TEST

/* ---- mistakes ---- */

static void want_refused(eddy_detail detail, const char *words)
{
    eddy_graph *lowered = NULL;

    read_graph();
    program_want(&p, eddy_graph_lower(p.graph, NULL, &lowered, &p.err),
                 EDDY_INVALID_ARGUMENT, detail);
    ck_assert_ptr_null(lowered);
    ck_assert_msg(strstr(p.err.message, words) != NULL, "'%s' has no '%s'",
                  p.err.message, words);
    ck_assert_str_eq(p.err.node, "a");
}

START_TEST(a_parameter_needs_a_value)
{
    put_sum(0);
    put_sources();
    PUT_CALL("a", "sum", "x", "y");
    wire_end(&w);
    want_refused(EDDY_E_ATTR_MISSING, "parameter 'T'");
}
END_TEST

START_TEST(a_value_must_be_of_the_kind_of_its_parameter)
{
    put_pick();
    put_sources();
    PUT_CALL("a", "pick", "x", "y");
    wire_type(&w, "T", FLOAT32);
    wire_type(&w, "N", FLOAT32);
    wire_end(&w);
    want_refused(EDDY_E_ATTR_KIND, "a number of tensors");
}
END_TEST

START_TEST(a_length_must_make_sense)
{
    put_pick();
    put_sources();
    PUT_CALL("a", "pick", "x", "y");
    wire_type(&w, "T", FLOAT32);
    wire_int(&w, "N", _i ? INT64_MAX : -1);
    wire_end(&w);
    want_refused(EDDY_E_ATTR_KIND, "a number of tensors");
}
END_TEST

START_TEST(the_body_must_make_sense_of_the_value)
{
    put_pick();
    put_sources();
    PUT_CALL("a", "pick", "y");
    wire_type(&w, "T", FLOAT32);
    wire_int(&w, "N", 0);
    wire_end(&w);
    want_refused(EDDY_E_OUTPUT_INDEX, "'xs:0', which has 0 tensors");
}
END_TEST

START_TEST(the_call_must_give_what_the_function_takes)
{
    put_sum(0);
    put_sources();
    PUT_CALL("a", "PartitionedCall", "x", "y");
    put_function("f", "sum", INT32);
    put_types("Tin", (const int[]){FLOAT32, FLOAT32}, 2);
    put_types("Tout", (const int[]){FLOAT32}, 1);
    wire_end(&w);
    want_refused(EDDY_E_FUNCTION,
                 "argument 0 of function 'sum' is int32, float32 is given");
}
END_TEST

START_TEST(what_stands_for_nothing_is_refused)
{
    begin_function("f");
    put_arg(2, "x", "T", NULL, NULL);
    put_arg(3, "z", "T", NULL, NULL);
    put_parameter("T", "type", 0);
    wire_end(&w);
    wire_begin_node(&w, 3, "id", "Identity");
    wire_input(&w, "x");
    put_placeholder("T", "U");
    wire_end(&w);
    put_return("z", "id:output:0");
    end_function();
    put_sources();
    PUT_CALL("a", "f", "x");
    wire_type(&w, "T", FLOAT32);
    wire_end(&w);
    want_refused(EDDY_E_FUNCTION, "no parameter 'U'");
}
END_TEST

/* An edge in a function names the output of an op that nobody knows. */
START_TEST(outputs_without_numbers_are_not_saved)
{
    eddy_graph *lowered = NULL;
    void *bytes = NULL;
    size_t length = 0;

    begin_function("f");
    put_arg(2, "x", "T", NULL, NULL);
    put_arg(3, "z", "T", NULL, NULL);
    put_parameter("T", "type", 0);
    wire_end(&w);
    wire_begin_node(&w, 3, "wonder", "Wonder");
    wire_input(&w, "x");
    wire_end(&w);
    put_binary("add", "AddV2", "wonder:second:0", "x");
    put_return("z", "add:z:0");
    end_function();
    put_sources();
    PUT_CALL("a", "f", "x");
    wire_type(&w, "T", FLOAT32);
    wire_end(&w);
    read_graph();
    ck_assert_int_eq(eddy_graph_lower(p.graph, NULL, &lowered, &p.err),
                     EDDY_OK);
    program_want(&p, eddy_graphdef_write(lowered, &bytes, &length, &p.err),
                 EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP);
    ck_assert_str_eq(p.err.node, "a/wonder");
    eddy_graph_destroy(lowered);
    program_want(&p, program_try_plan(&p, NULL, "a"), EDDY_NOT_FOUND,
                 EDDY_E_UNKNOWN_OP);
    ck_assert_str_eq(p.err.node, "a/wonder");
}
END_TEST

START_TEST(memory_may_run_short)
{
    eddy_graph *lowered = NULL;
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;

    put_pick();
    put_sources();
    PUT_CALL("a", "pick", "x", "y", "x");
    wire_type(&w, "T", FLOAT32);
    wire_int(&w, "N", 2);
    wire_end(&w);
    read_graph();
    for (int n = 0; status != EDDY_OK; n++) {
        counting_allocator_fail(&p.counting, n);
        status = eddy_graph_lower(p.graph, NULL, &lowered, &p.err);
        counting_allocator_fail(&p.counting, -1);
        if (status != EDDY_OK)
            program_want(&p, status, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY);
    }
    eddy_graph_destroy(lowered);
}
END_TEST

TCase *function_bind_tests(void)
{
    TCase *tc = tcase_create("function_bind");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_function_is_called_with_several_dtypes);
    tcase_add_test(tc, a_parameter_may_have_a_default);
    tcase_add_test(tc, parameters_are_handed_on);
    tcase_add_loop_test(tc, an_argument_may_be_a_list, 1, 4);
    tcase_add_test(tc, items_of_lists_are_told_apart_in_bodies);
    tcase_add_test(tc, an_argument_may_be_a_list_of_several_dtypes);
    tcase_add_test(tc, a_parameter_needs_a_value);
    tcase_add_test(tc, a_value_must_be_of_the_kind_of_its_parameter);
    tcase_add_loop_test(tc, a_length_must_make_sense, 0, 2);
    tcase_add_test(tc, the_body_must_make_sense_of_the_value);
    tcase_add_test(tc, the_call_must_give_what_the_function_takes);
    tcase_add_test(tc, what_stands_for_nothing_is_refused);
    tcase_add_test(tc, outputs_without_numbers_are_not_saved);
    tcase_add_test(tc, memory_may_run_short);
    return tc;
}
