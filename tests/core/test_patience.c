/* SPDX-License-Identifier: Apache-2.0 */
/* How long who waits looks; the test is the clock. */
#include "core/base/patience.h"
#include "tests/suites.h"

#define US ((uint64_t)1000)
#define MS ((uint64_t)1000 * 1000)

/* Looks every microsecond until it may not; what that took. */
static uint64_t look_in_vain(eddy__patience *p, uint64_t *now)
{
    const uint64_t begun = *now;

    while (eddy__patience_goes_on(p, *now))
        *now += US;
    eddy__patience_end(p, *now, false);
    return *now - begun;
}

/* How many waits, a microsecond each, don't look before one does. */
static uint32_t count_skipped(eddy__patience *p, uint64_t *now)
{
    uint32_t n = 0;

    while (!eddy__patience_begin(p, *now)) {
        eddy__patience_end(p, *now, false);
        *now += US;
        n++;
    }
    return n;
}

START_TEST(who_may_not_never_looks)
{
    eddy__patience p = {.is_allowed = false};

    for (uint64_t i = 0; i < 1000; i++)
        ck_assert(!eddy__patience_begin(&p, i * MS));
}
END_TEST

START_TEST(looking_has_a_bound)
{
    eddy__patience p = {.is_allowed = true};
    uint64_t now = 5 * MS;
    uint64_t took;

    ck_assert(eddy__patience_begin(&p, now));
    took = look_in_vain(&p, &now);
    ck_assert_uint_ge(took, 20 * US);
    ck_assert_uint_le(took, 50 * US);
}
END_TEST

START_TEST(who_finds_looks_every_time)
{
    eddy__patience p = {.is_allowed = true};
    uint64_t now = MS;

    for (int i = 0; i < 1000; i++) {
        ck_assert(eddy__patience_begin(&p, now));
        ck_assert(eddy__patience_goes_on(&p, now + US));
        now += 2 * US;
        eddy__patience_end(&p, now, true);
    }
}
END_TEST

START_TEST(looking_in_vain_becomes_rare_and_then_comes_back)
{
    eddy__patience p = {.is_allowed = true};
    uint64_t now = MS;
    uint32_t expected = 0;

    for (int i = 0; i < 14; i++) {
        ck_assert_uint_eq(count_skipped(&p, &now), expected);
        (void)look_in_vain(&p, &now);
        expected = expected < 1023 ? 2 * expected + 1 : 1023;
    }
    ck_assert_uint_eq(count_skipped(&p, &now), 1023);
    eddy__patience_end(&p, now + US, true);
    ck_assert_uint_eq(count_skipped(&p, &now), 0);
}
END_TEST

/* Looks, gives the processor away for 3 ms, and finds what came meanwhile. */
static void lose_processor(eddy__patience *p, uint64_t *now)
{
    ck_assert(eddy__patience_goes_on(p, *now));
    *now += 3 * MS;
    eddy__patience_end(p, *now, true);
}

START_TEST(who_lost_the_processor_rests_twice_as_long_each_time)
{
    eddy__patience p = {.is_allowed = true};
    uint64_t now = MS, rest = MS;

    for (int i = 0; i < 12; i++) {
        ck_assert(eddy__patience_begin(&p, now));
        lose_processor(&p, &now);
        ck_assert(!eddy__patience_begin(&p, now));
        ck_assert(!eddy__patience_begin(&p, now + rest - 1));
        now += rest;
        rest = rest < 256 * MS ? 2 * rest : 256 * MS;
    }
}
END_TEST

START_TEST(a_rest_is_short_again_after_a_quiet_time)
{
    eddy__patience p = {.is_allowed = true};
    uint64_t now = MS;

    for (int i = 0; i < 4; i++) {
        now += (uint64_t)8 * MS;
        ck_assert(eddy__patience_begin(&p, now));
        lose_processor(&p, &now);
    }
    now = p.rested_ns + 8 * p.rest_ns;
    ck_assert(eddy__patience_begin(&p, now));
    lose_processor(&p, &now);
    ck_assert(!eddy__patience_begin(&p, now + MS - 1));
    ck_assert(eddy__patience_begin(&p, now + MS));
}
END_TEST

START_TEST(a_pause_between_waits_is_no_loss)
{
    eddy__patience p = {.is_allowed = true};

    for (uint64_t i = 1; i < 100; i++) {
        ck_assert(eddy__patience_begin(&p, i * 100 * MS));
        eddy__patience_end(&p, i * 100 * MS + US, true);
    }
}
END_TEST

TCase *patience_tests(void)
{
    TCase *tests = tcase_create("patience");

    tcase_add_test(tests, who_may_not_never_looks);
    tcase_add_test(tests, looking_has_a_bound);
    tcase_add_test(tests, who_finds_looks_every_time);
    tcase_add_test(tests, looking_in_vain_becomes_rare_and_then_comes_back);
    tcase_add_test(tests, who_lost_the_processor_rests_twice_as_long_each_time);
    tcase_add_test(tests, a_rest_is_short_again_after_a_quiet_time);
    tcase_add_test(tests, a_pause_between_waits_is_no_loss);
    return tests;
}
