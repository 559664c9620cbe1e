/* SPDX-License-Identifier: Apache-2.0 */
/* eddy trace: files in each format, looked at by their formats' rules. */
#include "tests/aid/command_runner.h"
#include "tests/aid/scratch_folder.h"
#include "tests/suites.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASE "tests/conformance/tf/gradients/cond_in_while/"
#define FEEDS                                                                  \
    "--feed", "x=@" CASE "in_0_x.npy", "--feed", "n=@" CASE "in_0_n.npy"
#define GRADIENT "gradients/x/AddN"

static char folder[SCRATCH_PATH], graph[SCRATCH_PATH + 16];
static char file[SCRATCH_PATH + 32];
static command_result got;

static void set_up(void)
{
    command_result made;

    scratch_folder_create(folder);
    snprintf(graph, sizeof graph, "%s/grad.pb", folder);
    made = command_run("grad", CASE "graph.pb", "--ys", "loss:0", "--xs", "x:0",
                       "-o", graph, NULL);
    ck_assert_int_eq(made.status, 0);
    command_result_free(&made);
    got = (command_result){0};
}

static void tear_down(void)
{
    command_result_free(&got);
    scratch_folder_remove(folder);
}

static void trace_to(const char *name)
{
    snprintf(file, sizeof file, "%s/%s", folder, name);
    command_result_free(&got);
    got = command_run("trace", graph, FEEDS, "--fetch", "loss:0", "--fetch",
                      GRADIENT, "-o", file, NULL);
    ck_assert_msg(got.status == 0, "%s", got.err);
}

static const char *text_of(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* Slices of a thread follow each other; flows come in pairs. */
START_TEST(chrome_events_are_as_the_format_says)
{
    json_int_t n_slices = 0, n_begun = 0, n_ended = 0, nodes = 0;
    json_t *root, *events, *other;
    double end = 0;

    trace_to("run.json");
    root = json_load_file(file, 0, NULL);
    ck_assert_ptr_nonnull(root);
    events = json_object_get(root, "traceEvents");
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);
        const char *phase = text_of(e, "ph");

        ck_assert(json_is_integer(json_object_get(e, "pid")));
        if (strcmp(phase, "X") == 0) {
            const double start = json_number_value(json_object_get(e, "ts"));

            ck_assert_double_ge(start, end - 1e-6);
            end = start + json_number_value(json_object_get(e, "dur"));
            nodes += json_integer_value(
                json_object_get(json_object_get(e, "args"), "nodes"));
            n_slices++;
        }
        n_begun += strcmp(phase, "s") == 0;
        n_ended += strcmp(phase, "f") == 0;
    }
    other = json_object_get(root, "otherData");
    ck_assert_int_eq(nodes,
                     json_integer_value(json_object_get(other, "live")) +
                         json_integer_value(json_object_get(other, "dead")));
    ck_assert_int_eq(n_slices,
                     json_integer_value(json_object_get(other, "records")));
    ck_assert_int_eq(n_begun, 8); /* five trips: predicates and products */
    ck_assert_int_eq(n_ended, 8);
    json_decref(root);
}
END_TEST

/* ---- protocol buffers ---- */

typedef struct reader {
    const unsigned char *at, *end;
} reader;

static uint64_t read_varint(reader *r)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        ck_assert(r->at < r->end);
        value |= (uint64_t)(*r->at & 0x7f) << shift;
        if ((*r->at++ & 0x80) == 0)
            return value;
    }
    ck_abort_msg("a varint of more than ten bytes");
    return 0;
}

/* The next field: its number, and its value or its bytes in `inner`. */
static uint32_t read_field(reader *r, uint64_t *value, reader *inner)
{
    const uint64_t key = read_varint(r);

    *inner = (reader){NULL, NULL};
    *value = 0;
    switch (key & 7) {
    case 0:
        *value = read_varint(r);
        break;
    case 1:
        ck_assert_int_ge(r->end - r->at, 8);
        r->at += 8;
        break;
    case 2:
        *value = read_varint(r);
        ck_assert_int_ge(r->end - r->at, (long)*value);
        *inner = (reader){r->at, r->at + *value};
        r->at += *value;
        break;
    default:
        ck_abort_msg("wire type %d", (int)(key & 7));
    }
    return (uint32_t)(key >> 3);
}

typedef struct seen {
    uint64_t begun, ended, counters, flows, ends, descriptors, annotations;
} seen;

static void read_event(reader r, seen *s)
{
    while (r.at < r.end) {
        uint64_t value;
        reader inner;
        const uint32_t field = read_field(&r, &value, &inner);

        if (field == 9) {
            s->begun += value == 1;
            s->ended += value == 2;
            s->counters += value == 4;
        }
        s->annotations += field == 4;
        s->flows += field == 47;
        s->ends += field == 48;
    }
}

static void read_packet(reader r, seen *s)
{
    bool has_sequence = false;

    while (r.at < r.end) {
        uint64_t value;
        reader inner;
        const uint32_t field = read_field(&r, &value, &inner);

        has_sequence = has_sequence || (field == 10 && value == 1);
        s->descriptors += field == 60;
        if (field == 11)
            read_event(inner, s);
    }
    ck_assert(has_sequence);
}

START_TEST(perfetto_packets_are_as_the_format_says)
{
    static unsigned char bytes[1 << 20];
    seen s = {0};
    reader r = {.at = bytes};
    FILE *f;

    trace_to("run.pftrace");
    f = fopen(file, "rb");
    ck_assert_ptr_nonnull(f);
    r.end = bytes + fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    while (r.at < r.end) {
        uint64_t value;
        reader packet;

        ck_assert_uint_eq(read_field(&r, &value, &packet), 1);
        read_packet(packet, &s);
    }
    ck_assert_uint_eq(s.begun, s.ended);
    ck_assert_uint_gt(s.begun, 300);
    ck_assert_uint_gt(s.counters, 0);
    ck_assert_uint_gt(s.annotations, 3 * s.begun);
    ck_assert_uint_eq(s.flows, 8);
    ck_assert_uint_eq(s.ends, 8);
    ck_assert_uint_eq(s.descriptors, 3);
}
END_TEST

static void expect_file(const char *words)
{
    static char text[1 << 20];
    FILE *f = fopen(file, "rb");

    ck_assert_ptr_nonnull(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in %s", words, file);
}

START_TEST(an_iteration_is_drawn_as_dot)
{
    trace_to("run.dot");
    expect_file("digraph \"while/while_context[0]\"");
    expect_file("style=dashed");
    expect_file("while/LoopCond\\nLoopCond\\ntrue");
}
END_TEST

START_TEST(run_records_too)
{
    snprintf(file, sizeof file, "%s/run.json", folder);
    got = command_run("run", graph, FEEDS, "--fetch", "loss:0", "--trace", file,
                      NULL);
    ck_assert_int_eq(got.status, 0);
    ck_assert_ptr_nonnull(strstr(got.out, "loss:0\tfloat64\t"));
    expect_file("\"traceEvents\"");
}
END_TEST

START_TEST(recorded_cases_agree_with_their_counts)
{
    got = command_run("verify", "--record", "tests/conformance/tf/gradients",
                      "tests/conformance/tf/while",
                      "tests/conformance/tf/errors", NULL);
    ck_assert_msg(got.status == 0, "%s%s", got.out, got.err);
}
END_TEST

START_TEST(wrong_use_is_refused)
{
    got = command_run("trace", graph, FEEDS, "--fetch", "loss:0", NULL);
    ck_assert_int_eq(got.status, 2);
    command_result_free(&got);
    got = command_run("trace", graph, FEEDS, "--fetch", "loss:0", "-o",
                      "run.xml", NULL);
    ck_assert_int_eq(got.status, 2);
    command_result_free(&got);
    snprintf(file, sizeof file, "%s/run.json", folder);
    got = command_run("trace", graph, FEEDS, "--fetch", "loss:0", "--frame",
                      "nowhere", "-o", file, NULL);
    ck_assert_int_eq(got.status, 2);
    command_result_free(&got);
    got = command_run("trace", graph, FEEDS, "--fetch", "loss:0",
                      "--iterations", "5..2", "-o", file, NULL);
    ck_assert_int_eq(got.status, 2);
}
END_TEST

TCase *command_trace_tests(void)
{
    TCase *tc = tcase_create("command_trace");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, chrome_events_are_as_the_format_says);
    tcase_add_test(tc, perfetto_packets_are_as_the_format_says);
    tcase_add_test(tc, an_iteration_is_drawn_as_dot);
    tcase_add_test(tc, run_records_too);
    tcase_add_test(tc, recorded_cases_agree_with_their_counts);
    tcase_add_test(tc, wrong_use_is_refused);
    return tc;
}
