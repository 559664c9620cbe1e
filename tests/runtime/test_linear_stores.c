/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks and TensorArrays of scalars in loops that run as code in a row, as
 * node by node, and one so, the other so.
 */
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

/*
 * Of each executor one: the dynamic one is what counts.  test_native_stores.c
 * has the tests again for machine code.
 */
#ifndef OTHER
#define OTHER EDDY_EXECUTOR_LINEAR
#define NAME "linear_stores"
#endif

static program programs[2];

static void setup(void)
{
    for (int e = 0; e < 2; e++) {
        program_init(&programs[e], 0);
        programs[e].plan_options.executor =
            e == 0 ? EDDY_EXECUTOR_DYNAMIC : OTHER;
        programs[e].plan_options.parallel_iterations = 1;
    }
}

static void teardown(void)
{
    for (int e = 0; e < 2; e++)
        program_deinit(&programs[e]);
}

typedef struct finding {
    const char *text;
    size_t n;
} finding;

static bool find_line(void *user, const char *text, size_t length)
{
    finding *f = user;

    (void)length;
    f->n += strstr(text, f->text) != NULL;
    return true;
}

/* How often a text stands in the linear code. */
static size_t count(const char *text)
{
    finding f = {.text = text};

    ck_assert(eddy_plan_print_linear(programs[1].plan, find_line, &f));
    return f.n;
}

/* Runs it on both, which end alike. */
static eddy_status run_both(const char *text, const char *fetches)
{
    eddy_status status[2];
    eddy_stats stats[2];

    for (int e = 0; e < 2; e++) {
        program *p = &programs[e];

        program_clear(p);
        program_build(p, text);
        program_plan(p, NULL, fetches);
        p->err = (eddy_error){.code = EDDY_OK};
        status[e] = program_execute(p);
        stats[e] = program_stats(p);
    }
    ck_assert_int_eq(status[0], status[1]);
    ck_assert_int_eq(programs[0].err.detail, programs[1].err.detail);
    ck_assert_str_eq(programs[0].err.message, programs[1].err.message);
    ck_assert_str_eq(programs[0].err.node, programs[1].err.node);
    ck_assert_str_eq(programs[0].err.frame, programs[1].err.frame);
    if (status[0] == EDDY_OK) {
        ck_assert_uint_eq(stats[0].live_executions, stats[1].live_executions);
        ck_assert_uint_eq(stats[0].dead_executions, stats[1].dead_executions);
    }
    return status[0];
}

/* ---- stacks ---- */

/*
 * Loop f pushes 1, 2, ... n as `dtype`, and loop b sums them up as it pops; a
 * loop that looks at its value_index is not linear.
 */
typedef struct loops {
    const char *dtype;
    int n, n_pops, room;
    bool f_dynamic, b_dynamic;
} loops;

static void write_loops(char *to, size_t size, loops l)
{
    static const char pattern[] =
        "room int32=%d\ns StackV2 room elem_type=%s stack_name='tape'\n"
        "zero int32=0\none int32=1\nn int32=%d\npops int32=%d\n"
        "start %s=0\n"
        "f/e Enter@f zero\nf/n Enter@f! n\nf/one Enter@f! one\n"
        "f/s Enter@f! s\nf/z Enter@f! zero\n"
        "f/m Merge f/e f/next\nf/l Less f/m f/n\nf/c LoopCond f/l\n"
        "f/sw Switch f/m f/c\nf/add AddV2 f/sw:1 f/one\n"
        "f/x Cast f/add SrcT=int32 DstT=%s Truncate=false\n"
        "f/push StackPushV2 f/s f/x\n"
        "f/odd Mul %s f/z\n"
        "f/i AddV2 f/add f/odd ^f/push\nf/next NextIteration f/i\n"
        "f/exit Exit f/sw\n"
        "b/e Enter@b pops ^f/exit\nb/a Enter@b start\nb/zero Enter@b! zero\n"
        "b/one Enter@b! one\nb/s Enter@b! s\n"
        "b/m Merge b/e b/next\nb/ma Merge b/a b/na\n"
        "b/g Greater b/m b/zero\nb/c LoopCond b/g\n"
        "b/sw Switch b/m b/c\nb/sa Switch b/ma b/c\n"
        "b/sub Sub b/sw:1 b/one\n"
        "b/odd Mul %s b/zero\nb/i AddV2 b/sub b/odd\n"
        "b/pop StackPopV2 b/s ^b/sub elem_type=%s\n"
        "b/add AddV2 b/sa:1 b/pop\n"
        "b/next NextIteration b/i\nb/na NextIteration b/add\n"
        "b/out Exit b/sa\n";
    const int length =
        snprintf(to, size, pattern, l.room, l.dtype, l.n, l.n_pops, l.dtype,
                 l.dtype, l.f_dynamic ? "f/m:1" : "f/one",
                 l.b_dynamic ? "b/m:1" : "b/one", l.dtype);

    ck_assert(length > 0 && (size_t)length < size);
}

static const char *const dtypes[] = {"int8",    "uint8",   "int16",  "uint16",
                                     "int32",   "uint32",  "int64",  "uint64",
                                     "float32", "float64", "float16"};

#define N_DTYPES 11

/* Over many segments, each side by either executor. */
START_TEST(a_tape_goes_from_one_executor_to_the_other)
{
    char text[4096];

    for (int d = 0; d < N_DTYPES; d++)
        for (int who = 0; who < 4; who++) {
            const bool is_small = d < 4 || d == 10;

            write_loops(text, sizeof text,
                        (loops){.dtype = dtypes[d],
                                .n = is_small ? 40 : 5000,
                                .n_pops = is_small ? 11 : 5000,
                                .room = -1,
                                .f_dynamic = (who & 1) != 0,
                                .b_dynamic = (who & 2) != 0});
            ck_assert_int_eq(run_both(text, "b/out"), EDDY_OK);
            ck_assert_uint_eq(count("PUSH_"), !(who & 1));
            ck_assert_uint_eq(count("POP_"), !(who & 2));
            ck_assert_int_eq(
                memcmp(eddy_tensor_data(eddy_run_fetch(programs[0].run, 0)),
                       eddy_tensor_data(eddy_run_fetch(programs[1].run, 0)),
                       eddy_tensor_bytes(eddy_run_fetch(programs[0].run, 0))),
                0);
            if (strcmp(dtypes[d], "int64") == 0)
                ck_assert_int_eq(program_fetch_int(&programs[1], 0),
                                 (int64_t)5000 * 5001 / 2);
        }
}
END_TEST

/* The second execution finds what the first one has left behind: nothing. */
START_TEST(a_tape_serves_again)
{
    program *p = &programs[1];
    char text[4096];

    write_loops(
        text, sizeof text,
        (loops){.dtype = "int64", .n = 5000, .n_pops = 5000, .room = -1});
    program_build(p, text);
    program_plan(p, NULL, "b/out");
    for (int i = 0; i < 3; i++) {
        program_run(p);
        ck_assert_int_eq(program_fetch_int(p, 0), (int64_t)5000 * 5001 / 2);
    }
    ck_assert_uint_lt(program_stats(p).allocations, 3);
}
END_TEST

START_TEST(a_full_stack_and_an_empty_one_say_where)
{
    char text[4096];

    write_loops(
        text, sizeof text,
        (loops){.dtype = "float32", .n = 1000, .n_pops = 10, .room = 700});
    ck_assert_int_eq(run_both(text, "b/out"), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(programs[1].err.detail, EDDY_E_FULL);
    ck_assert_str_eq(programs[1].err.node, "f/push");
    ck_assert_str_eq(programs[1].err.frame, "f[700]");
    write_loops(
        text, sizeof text,
        (loops){.dtype = "float32", .n = 1000, .n_pops = 1001, .room = -1});
    ck_assert_int_eq(run_both(text, "b/out"), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(programs[1].err.detail, EDDY_E_EMPTY);
    ck_assert_str_eq(programs[1].err.node, "b/pop");
    ck_assert_str_eq(programs[1].err.frame, "b[1000]");
}
END_TEST

START_TEST(a_tape_is_charged)
{
    char text[4096];

    for (int e = 0; e < 2; e++)
        programs[e].run_options.max_bytes = 1 << 18;
    write_loops(
        text, sizeof text,
        (loops){.dtype = "float64", .n = 100000, .n_pops = 10, .room = -1});
    ck_assert_int_eq(run_both(text, "b/out"), EDDY_RESOURCE_EXHAUSTED);
    ck_assert_int_eq(programs[1].err.detail, EDDY_E_LIMIT_BYTES);
    ck_assert_str_eq(programs[1].err.node, "f/push");
}
END_TEST

/* A vector among the values: nothing is proved, and nothing is bare. */
START_TEST(a_stack_with_a_vector_is_left_to_kernels)
{
    char text[4096];

    write_loops(
        text, sizeof text,
        (loops){.dtype = "float32", .n = 100, .n_pops = 100, .room = -1});
    strncat(text,
            "v float32[3]=1\nlate StackPushV2 s v ^b/out\n"
            "last StackPopV2 s ^late elem_type=float32\n",
            sizeof text - strlen(text) - 1);
    ck_assert_int_eq(run_both(text, "b/out last"), EDDY_OK);
    ck_assert_uint_eq(count("POP_"), 0);
    ck_assert_uint_eq(count(" StackPopV2 "), 1);
    ck_assert_float_eq(program_fetch_float(&programs[1], 0), 5050);
}
END_TEST

/* ---- TensorArrays ---- */

/*
 * Writes i at `write` and reads at `read`, both of i, for i < n, in an array of
 * 100, and adds up what is read.
 */
static void write_array(char *to, size_t size, const char *attrs,
                        const char *write, const char *read, int n)
{
    static const char loop[] =
        "size int32=100\nt TensorArrayV3 size dtype=int32%s\n"
        "zero int32=0\none int32=1\nn int32=%d\nhalf int32=50\n"
        "f/e Enter@f zero\nf/fl Enter@f t:1\nf/a Enter@f zero\n"
        "f/n Enter@f! n\nf/one Enter@f! one\nf/half Enter@f! half\n"
        "f/t Enter@f! t\n"
        "f/m Merge f/e f/next\nf/mf Merge f/fl f/nf\nf/ma Merge f/a f/na\n"
        "f/l Less f/m f/n\nf/c LoopCond f/l\n"
        "f/sw Switch f/m f/c\nf/sf Switch f/mf f/c\nf/sa Switch f/ma f/c\n"
        "f/i Identity f/sw:1\nf/add AddV2 f/i f/one\n"
        "f/j %s\nf/k %s\n"
        "f/w TensorArrayWriteV3 f/t f/j f/i f/sf:1\n"
        "f/r TensorArrayReadV3 f/t f/k f/w dtype=int32\n"
        "f/sum AddV2 f/sa:1 f/r\n"
        "f/next NextIteration f/add\nf/nf NextIteration f/w\n"
        "f/na NextIteration f/sum\n"
        "f/out Exit f/sa\nf/flow Exit f/sf\n"
        "all TensorArraySizeV3 t f/flow\n";
    const int length = snprintf(to, size, loop, attrs, n, write, read);

    ck_assert(length > 0 && (size_t)length < size);
}

START_TEST(an_array_of_scalars_needs_no_kernel)
{
    char text[4096];

    write_array(text, sizeof text, "", "Identity f/i", "Identity f/i", 100);
    ck_assert_int_eq(run_both(text, "f/out all"), EDDY_OK);
    ck_assert_uint_eq(count("WRITE_32"), 1);
    ck_assert_uint_eq(count("READ_32"), 1);
    ck_assert_uint_eq(count("CALL"), 0);
    ck_assert_int_eq(program_fetch_int(&programs[1], 0), 4950);
    write_array(text, sizeof text, " dynamic_size=true clear_after_read=false",
                "Identity f/i", "Identity f/i", 1000);
    ck_assert_int_eq(run_both(text, "f/out all"), EDDY_OK);
    ck_assert_int_eq(program_fetch_int(&programs[1], 0), 499500);
    ck_assert_int_eq(program_fetch_int(&programs[1], 1), 1000);
}
END_TEST

typedef struct wrong {
    const char *attrs, *write, *read;
    eddy_detail detail;
    const char *node, *frame;
} wrong;

START_TEST(what_is_wrong_with_an_item_is_said_with_its_node)
{
    static const wrong all[] = {
        {"", "AddV2 f/i f/half", "Identity f/j", EDDY_E_INDEX, "f/w", "f[50]"},
        {"", "Sub f/i f/one", "Identity f/j", EDDY_E_INDEX, "f/w", "f[0]"},
        {"", "Identity f/i", "AddV2 f/i f/n", EDDY_E_INDEX, "f/r", "f[0]"},
        {" clear_after_read=false", "FloorMod f/i f/half", "Identity f/i",
         EDDY_E_ITEM_WRITTEN, "f/w", "f[50]"},
        {"", "Identity f/i", "Minimum f/i f/half", EDDY_E_ITEM_CLEARED, "f/r",
         "f[51]"},
        {"", "Identity f/i", "AddV2 f/i f/half", EDDY_E_UNINITIALIZED, "f/r",
         "f[0]"},
    };
    char text[4096];

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        write_array(text, sizeof text, all[i].attrs, all[i].write, all[i].read,
                    100);
        ck_assert_int_eq(run_both(text, "f/out all"), EDDY_INVALID_ARGUMENT);
        ck_assert_int_eq(programs[1].err.detail, all[i].detail);
        ck_assert_str_eq(programs[1].err.node, all[i].node);
        ck_assert_str_eq(programs[1].err.frame, all[i].frame);
        ck_assert_uint_eq(count("WRITE_32"), 1);
    }
}
END_TEST

/* Items that nobody wrote are zeros where the shape is stated. */
START_TEST(an_item_that_was_never_written_is_zero)
{
    char text[4096];

    write_array(text, sizeof text, " element_shape=() clear_after_read=false",
                "Identity f/i", "Sub f/n f/add", 100);
    ck_assert_int_eq(run_both(text, "f/out all"), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(programs[1].err.detail, EDDY_E_ITEM_WRITTEN);
    ck_assert_str_eq(programs[1].err.frame, "f[50]");
    write_array(text, sizeof text, " element_shape=() clear_after_read=false",
                "Identity f/i", "AddV2 f/i f/half", 50);
    ck_assert_int_eq(run_both(text, "f/out all"), EDDY_OK);
    ck_assert_int_eq(program_fetch_int(&programs[1], 0), 0);
}
END_TEST

TCase *linear_stores_tests(void)
{
    TCase *tc = tcase_create(NAME);

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_tape_goes_from_one_executor_to_the_other);
    tcase_add_test(tc, a_tape_serves_again);
    tcase_add_test(tc, a_full_stack_and_an_empty_one_say_where);
    tcase_add_test(tc, a_tape_is_charged);
    tcase_add_test(tc, a_stack_with_a_vector_is_left_to_kernels);
    tcase_add_test(tc, an_array_of_scalars_needs_no_kernel);
    tcase_add_test(tc, what_is_wrong_with_an_item_is_said_with_its_node);
    tcase_add_test(tc, an_item_that_was_never_written_is_zero);
    return tc;
}
