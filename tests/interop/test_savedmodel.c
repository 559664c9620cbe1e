/* SPDX-License-Identifier: Apache-2.0 */
/* SavedModels: the folder, its signatures, its variables, and bad ones. */
#include "tests/aid/command_runner.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include "eddy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NESTED "tests/conformance/savedmodel/nested"
#define LSTM "tests/conformance/savedmodel/lstm"
#define MASKED "tests/conformance/savedmodel/masked"
#define SEQ2SEQ "tests/conformance/savedmodel/seq2seq"
#define LAZY "tests/conformance/savedmodel/lazy"

static eddy_context *ctx;
static eddy_savedmodel *model;
static eddy_error err;

static void set_up(void)
{
    memset(&err, 0, sizeof err);
    model = NULL;
    ck_assert_int_eq(eddy_context_create(NULL, &ctx, &err), EDDY_OK);
}

static void tear_down(void)
{
    eddy_savedmodel_destroy(model);
    eddy_context_destroy(ctx);
}

static void load(const char *path)
{
    ck_assert_msg(eddy_savedmodel_load(ctx, path, NULL, &model, &err) ==
                      EDDY_OK,
                  "%s", err.message);
}

static eddy_tensor *load_npy(const char *folder, const char *name)
{
    eddy_tensor *tensor = NULL;
    char path[200];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_msg(eddy_npy_load(ctx, path, &tensor, &err) == EDDY_OK, "%s",
                  err.message);
    return tensor;
}

static void assert_close(const eddy_tensor *got, const eddy_tensor *want)
{
    const float *a = eddy_tensor_data(got), *b = eddy_tensor_data(want);

    ck_assert_int_eq(eddy_tensor_count(got), eddy_tensor_count(want));
    for (int64_t i = 0; i < eddy_tensor_count(want); i++)
        ck_assert_float_le(fabsf(a[i] - b[i]), 1e-6F);
}

/* Runs serving_default with `feeds`; gives the output of that name. */
static eddy_tensor *call(eddy_tensor *const *feeds, const char *output)
{
    const eddy_savedmodel_signature *s =
        eddy_savedmodel_find(model, "serving_default");
    eddy_output in[4], fetch = {0};
    eddy_session *session = NULL;
    eddy_plan *plan = NULL;
    eddy_tensor *result = NULL;

    ck_assert_ptr_nonnull(s);
    ck_assert_uint_le(s->n_inputs, 4);
    for (size_t i = 0; i < s->n_inputs; i++)
        in[i] = s->inputs[i].output;
    for (size_t i = 0; i < s->n_outputs; i++)
        if (strcmp(s->outputs[i].name, output) == 0)
            fetch = s->outputs[i].output;
    ck_assert_int_eq(eddy_session_create(ctx, &session, &err), EDDY_OK);
    ck_assert_msg(eddy_savedmodel_restore(model, session, NULL, &err) ==
                      EDDY_OK,
                  "%s", err.message);
    ck_assert_msg(
        eddy_plan_create(eddy_savedmodel_graph(model),
                         &(eddy_plan_options){.size = sizeof(eddy_plan_options),
                                              .feeds = in,
                                              .n_feeds = s->n_inputs,
                                              .fetches = &fetch,
                                              .n_fetches = 1},
                         &plan, &err) == EDDY_OK,
        "%s", err.message);
    ck_assert_msg(
        eddy_plan_run(plan,
                      &(eddy_run_options){.size = sizeof(eddy_run_options),
                                          .session = session},
                      feeds, &result, &err) == EDDY_OK,
        "%s", err.message);
    eddy_plan_release(plan);
    eddy_session_release(session);
    return result;
}

/* Calls a model that takes `n`, a number, and `x`, and gives `y`. */
static void check_counted(const char *folder, int32_t n, const char *y)
{
    const eddy_shape scalar = {.rank = 0};
    eddy_tensor *feeds[2] = {NULL, load_npy(folder, "x.npy")};
    eddy_tensor *want = load_npy(folder, "y.npy"), *got;

    load(folder);
    ck_assert_int_eq(
        eddy_tensor_create(ctx, EDDY_INT32, &scalar, &feeds[0], &err), EDDY_OK);
    memcpy(eddy_tensor_mutable_data(feeds[0]), &n, sizeof n);
    got = call(feeds, y);
    assert_close(got, want);
    eddy_tensor_release(got);
    eddy_tensor_release(want);
    eddy_tensor_release(feeds[0]);
    eddy_tensor_release(feeds[1]);
}

START_TEST(nested_loops_give_tensorflows_values)
{
    check_counted(NESTED, 5, "y");
}
END_TEST

/* What is restored are copies of the variables that its function reads. */
START_TEST(variables_that_a_function_made_have_their_values)
{
    check_counted(LAZY, 4, "h");
}
END_TEST

START_TEST(a_keras_classifier_gives_tensorflows_values)
{
    eddy_tensor *x = load_npy(LSTM, "x.npy"), *want = load_npy(LSTM, "y.npy");
    eddy_tensor *got;

    load(LSTM);
    got = call(&x, "output_0");
    assert_close(got, want);
    eddy_tensor_release(got);
    eddy_tensor_release(want);
    eddy_tensor_release(x);
}
END_TEST

START_TEST(a_masked_bidirectional_classifier_too)
{
    eddy_tensor *x = load_npy(MASKED, "x.npy");
    eddy_tensor *want = load_npy(MASKED, "y.npy"), *got;

    load(MASKED);
    got = call(&x, "output_0");
    assert_close(got, want);
    eddy_tensor_release(got);
    eddy_tensor_release(want);
    eddy_tensor_release(x);
}
END_TEST

/* Its decoder's loop ends when all texts have: so many columns there are. */
START_TEST(a_sequence_to_sequence_model_too)
{
    eddy_tensor *x = load_npy(SEQ2SEQ, "x.npy");
    eddy_tensor *state = load_npy(SEQ2SEQ, "y.npy");
    eddy_tensor *texts = load_npy(SEQ2SEQ, "texts.npy"), *got;

    load(SEQ2SEQ);
    got = call(&x, "output_1");
    assert_close(got, state);
    eddy_tensor_release(got);
    got = call(&x, "output_0");
    ck_assert_uint_eq(eddy_tensor_bytes(got), eddy_tensor_bytes(texts));
    ck_assert_mem_eq(eddy_tensor_data(got), eddy_tensor_data(texts),
                     eddy_tensor_bytes(texts));
    eddy_tensor_release(got);
    eddy_tensor_release(texts);
    eddy_tensor_release(state);
    eddy_tensor_release(x);
}
END_TEST

START_TEST(signatures_say_what_goes_in_and_out)
{
    const eddy_savedmodel_signature *s;

    load(NESTED);
    s = eddy_savedmodel_signature_at(model, 0);
    ck_assert_ptr_nonnull(s);
    ck_assert_ptr_eq(s, eddy_savedmodel_find(model, "serving_default"));
    ck_assert_ptr_null(eddy_savedmodel_signature_at(model, 1));
    ck_assert_ptr_null(eddy_savedmodel_find(model, "no_such"));
    ck_assert_uint_eq(s->n_inputs, 2);
    ck_assert_str_eq(s->inputs[0].name, "n");
    ck_assert_int_eq(s->inputs[0].dtype, EDDY_INT32);
    ck_assert_int_eq(s->inputs[0].shape.rank, 0);
    ck_assert_str_eq(s->inputs[1].name, "x");
    ck_assert_int_eq(s->inputs[1].shape.dims[0], -1);
    ck_assert_int_eq(s->inputs[1].shape.dims[1], 3);
    ck_assert_uint_eq(s->n_outputs, 2);
    ck_assert_str_eq(s->outputs[1].name, "y");
}
END_TEST

START_TEST(a_graph_can_be_taken)
{
    eddy_graph *graph;

    load(NESTED);
    graph = eddy_savedmodel_take_graph(model);
    eddy_savedmodel_destroy(model);
    model = NULL;
    ck_assert_uint_gt(eddy_graph_size(graph), 0);
    eddy_graph_destroy(graph);
}
END_TEST

START_TEST(what_is_no_model_is_refused)
{
    const eddy_savedmodel_options options = {.size = sizeof options,
                                             .tag = "train"};

    ck_assert(eddy_savedmodel_is_there(NESTED));
    ck_assert(!eddy_savedmodel_is_there("tests/conformance"));
    ck_assert(!eddy_savedmodel_is_there(NULL));
    ck_assert_int_eq(
        eddy_savedmodel_load(ctx, "tests/conformance", NULL, &model, &err),
        EDDY_NOT_FOUND);
    ck_assert_int_eq(err.detail, EDDY_E_IO);
    ck_assert_int_eq(eddy_savedmodel_load(ctx, NESTED, &options, &model, &err),
                     EDDY_NOT_FOUND);
    ck_assert_int_eq(err.detail, EDDY_E_UNKNOWN_NAME);
    ck_assert_ptr_null(model);
}
END_TEST

static size_t read_file(const char *path, char **out_bytes)
{
    FILE *file = fopen(path, "rb");
    size_t n;

    ck_assert_ptr_nonnull(file);
    *out_bytes = malloc(1 << 20);
    ck_assert_ptr_nonnull(*out_bytes);
    n = fread(*out_bytes, 1, 1 << 20, file);
    (void)fclose(file);
    return n;
}

static void write_file(const char *folder, const char *bytes, size_t n)
{
    char path[200];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/saved_model.pb", folder);
    file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, n, file), n);
    (void)fclose(file);
}

/* It is refused, or what is left of it is a model. */
static void try_bytes(const char *folder, const char *bytes, size_t n)
{
    eddy_savedmodel *tried = NULL;

    write_file(folder, bytes, n);
    if (eddy_savedmodel_load(ctx, folder, NULL, &tried, &err) != EDDY_OK) {
        ck_assert_ptr_null(tried);
        ck_assert_str_ne(err.message, "");
    }
    eddy_savedmodel_destroy(tried);
}

START_TEST(damaged_bytes_do_no_harm)
{
    char folder[SCRATCH_PATH];
    char *bytes;
    const size_t n = read_file(NESTED "/saved_model.pb", &bytes);

    scratch_folder_create(folder);
    for (size_t cut = 0; cut < n; cut += 211)
        try_bytes(folder, bytes, cut);
    for (size_t at = 0; at < n; at += 97) {
        bytes[at] = (char)~bytes[at];
        try_bytes(folder, bytes, n);
        bytes[at] = (char)~bytes[at];
    }
    scratch_folder_remove(folder);
    free(bytes);
}
END_TEST

START_TEST(variables_that_are_gone_are_missed)
{
    eddy_session *session = NULL;
    char folder[SCRATCH_PATH];
    char *bytes;
    const size_t n = read_file(NESTED "/saved_model.pb", &bytes);

    scratch_folder_create(folder);
    write_file(folder, bytes, n);
    scratch_folder_write(folder, "variables/variables.index", "not an index");
    load(folder);
    ck_assert_int_eq(eddy_session_create(ctx, &session, &err), EDDY_OK);
    ck_assert_int_eq(eddy_savedmodel_restore(model, session, NULL, &err),
                     EDDY_DATA_LOSS);
    eddy_session_release(session);
    scratch_folder_remove(folder);
    free(bytes);
}
END_TEST

START_TEST(the_command_calls_a_signature)
{
    command_result got =
        command_run("run", NESTED, "--signature", "serving_default", "--feed",
                    "x=[[1, 0, 0]]", "--feed", "n=0", NULL);

    ck_assert_int_eq(got.status, 0);
    ck_assert_str_eq(got.out,
                     "i\tint32\t[]\t0\ny\tfloat32\t[1,3]\t[[1,0,0]]\n");
    command_result_free(&got);
    got = command_run("run", NESTED, "--feed", "z=1", NULL);
    ck_assert_int_eq(got.status, 2);
    ck_assert_ptr_nonnull(strstr(got.err, "has no input of that name"));
    command_result_free(&got);
    got = command_run("run", NESTED, "--signature", "no_such", NULL);
    ck_assert_int_eq(got.status, 2);
    ck_assert_ptr_nonnull(strstr(got.err, "no signature 'no_such'"));
    command_result_free(&got);
    got = command_run("inspect", NESTED, NULL);
    ck_assert_ptr_nonnull(strstr(got.out, "signature serving_default:\n"));
    ck_assert_ptr_nonnull(strstr(got.out, "  input x  float32 [?,3]"));
    command_result_free(&got);
}
END_TEST

TCase *savedmodel_tests(void)
{
    TCase *tc = tcase_create("savedmodel");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, nested_loops_give_tensorflows_values);
    tcase_add_test(tc, variables_that_a_function_made_have_their_values);
    tcase_add_test(tc, a_keras_classifier_gives_tensorflows_values);
    tcase_add_test(tc, a_masked_bidirectional_classifier_too);
    tcase_add_test(tc, a_sequence_to_sequence_model_too);
    tcase_add_test(tc, signatures_say_what_goes_in_and_out);
    tcase_add_test(tc, a_graph_can_be_taken);
    tcase_add_test(tc, what_is_no_model_is_refused);
    tcase_add_test(tc, damaged_bytes_do_no_harm);
    tcase_add_test(tc, variables_that_are_gone_are_missed);
    tcase_add_test(tc, the_command_calls_a_signature);
    return tc;
}
