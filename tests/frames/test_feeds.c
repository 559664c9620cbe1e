/* SPDX-License-Identifier: Apache-2.0 */
/* What may be fed: outputs of the root frame alone. */
#include "tests/aid/text_graph.h"
#include "tests/suites.h"

#include <string.h>

static text_graph t;

static void setup(void)
{
    text_graph_init(&t);
}

static void teardown(void)
{
    text_graph_deinit(&t);
}

static const struct {
    const char *feed;
    const char *refused_at; /* NULL: it may be fed */
} feeds[] = {
    {"x", NULL}, {"y", NULL},  {"o", NULL},  {"z", NULL},  {"e", "e"},
    {"k", "k"},  {"m", "m"},   {"m:1", "m"}, {"s:1", "s"}, {"n", "n"},
    {"i", "i"},  {"io", "io"}, {"u", NULL},
};

START_TEST(only_the_root_frame_can_be_fed)
{
    text_graph_build(&t, TEXT_GRAPH_LOOP "y Neg x\nz Neg o\n"
                                         "i Enter@g s:1\nio Exit i\nr Neg io\n"
                                         "u Neg v\nv Neg u");
    ck_assert_int_eq(text_graph_analyse(&t, "u"), EDDY_OK);
    ck_assert_int_eq(text_graph_analyse(&t, feeds[_i].feed),
                     feeds[_i].refused_at || strcmp(feeds[_i].feed, "u") != 0
                         ? EDDY_INVALID_ARGUMENT
                         : EDDY_OK);
    if (feeds[_i].refused_at) {
        ck_assert_int_eq(t.err.detail, EDDY_E_FEED_IN_FRAME);
        ck_assert_str_eq(t.err.node, feeds[_i].refused_at);
    } else if (strcmp(feeds[_i].feed, "u") != 0) {
        ck_assert_int_eq(t.err.detail, EDDY_E_CYCLE);
    }
}
END_TEST

START_TEST(what_is_not_selected_still_has_a_frame_for_feeds)
{
    const uint8_t keep[] = {0, 0, 1, 0};
    const uint8_t is_fed[] = {0, 1, 0, 0};
    const eddy_output fed = {1, 0};
    eddy__selection s = {
        .keep = keep, .is_fed = is_fed, .feeds = &fed, .n_feeds = 1};

    text_graph_build(&t, "x Source\ne Enter@f x\ny Neg e\no Exit y");
    s.graph = t.graph;
    ck_assert_int_eq(eddy__check_feeds(&s, &t.err), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(t.err.detail, EDDY_E_FEED_IN_FRAME);
}
END_TEST

TCase *feeds_tests(void)
{
    TCase *tc = tcase_create("feeds");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, only_the_root_frame_can_be_fed, 0,
                        sizeof feeds / sizeof feeds[0]);
    tcase_add_test(tc, what_is_not_selected_still_has_a_frame_for_feeds);
    return tc;
}
