/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/map.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

#define MANY 20000

typedef struct name {
    char text[24];
} name;

static name *make_names(void)
{
    name *names =
        eddy__allocate(eddy__default_allocator(), MANY, sizeof *names);

    ck_assert_ptr_nonnull(names);
    for (int i = 0; i < MANY; i++)
        snprintf(names[i].text, sizeof names[i].text, "while/n_%d", i);
    return names;
}

START_TEST(an_empty_map_finds_nothing)
{
    eddy__map map = {.allocator = eddy__default_allocator()};

    ck_assert_uint_eq(eddy__map_find(&map, "a", 1), EDDY__NOT_FOUND);
    ck_assert_uint_eq(eddy__map_find(&map, NULL, 0), EDDY__NOT_FOUND);
    eddy__map_deinit(&map);
}
END_TEST

START_TEST(what_is_set_is_found)
{
    counting_allocator counting;
    eddy__map map = {.allocator = &counting.allocator};
    name *names = make_names();

    counting_allocator_init(&counting);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert(eddy__map_set(&map, names[i].text, i));
    ck_assert_uint_eq(map.size, MANY);
    ck_assert_uint_le(map.size * 4, map.capacity * 3);
    for (uint32_t i = 0; i < MANY; i++) {
        const size_t length = strlen(names[i].text);
        char other[24];

        ck_assert_uint_eq(eddy__map_find(&map, names[i].text, length), i);
        snprintf(other, sizeof other, "while/m_%u", i);
        ck_assert_uint_eq(eddy__map_find(&map, other, strlen(other)),
                          EDDY__NOT_FOUND);
    }
    eddy__map_deinit(&map);
    eddy__map_deinit(&map);
    eddy__free(eddy__default_allocator(), names, MANY, sizeof *names);
    counting_allocator_want_none(&counting);
}
END_TEST

START_TEST(setting_again_replaces)
{
    eddy__map map = {.allocator = eddy__default_allocator()};
    const char same[] = "abc";

    ck_assert(eddy__map_set(&map, "abc", 1));
    ck_assert(eddy__map_set(&map, same, 2));
    ck_assert_uint_eq(map.size, 1);
    ck_assert_uint_eq(eddy__map_find(&map, "abc", 3), 2);
    eddy__map_deinit(&map);
}
END_TEST

START_TEST(keys_are_compared_whole)
{
    eddy__map map = {.allocator = eddy__default_allocator()};

    ck_assert(eddy__map_set(&map, "abc", 1));
    ck_assert(eddy__map_set(&map, "", 2));
    ck_assert(eddy__map_set(&map, "a", 3));
    ck_assert_uint_eq(eddy__map_find(&map, "abcdef", 3), 1);
    ck_assert_uint_eq(eddy__map_find(&map, "abcdef", 1), 3);
    ck_assert_uint_eq(eddy__map_find(&map, "abcdef", 2), EDDY__NOT_FOUND);
    ck_assert_uint_eq(eddy__map_find(&map, "abcdef", 4), EDDY__NOT_FOUND);
    ck_assert_uint_eq(eddy__map_find(&map, NULL, 0), 2);
    ck_assert_uint_eq(eddy__map_find(&map, "a\0c", 3), EDDY__NOT_FOUND);
    eddy__map_deinit(&map);
}
END_TEST

START_TEST(a_map_without_memory_keeps_what_it_has)
{
    counting_allocator counting;
    eddy__map map = {.allocator = &counting.allocator};
    name *names = make_names();
    uint32_t n = 0;

    counting_allocator_init(&counting);
    counting_allocator_allow(&counting, 0);
    ck_assert(!eddy__map_set(&map, "a", 1));
    ck_assert_uint_eq(eddy__map_find(&map, "a", 1), EDDY__NOT_FOUND);
    counting_allocator_allow(&counting, 3);
    while (eddy__map_set(&map, names[n].text, n))
        n++;
    /* Three allocations, of 16, 32 and 64 entries. */
    ck_assert_uint_eq(n, 48);
    for (uint32_t i = 0; i < n; i++)
        ck_assert_uint_eq(
            eddy__map_find(&map, names[i].text, strlen(names[i].text)), i);
    ck_assert_uint_eq(
        eddy__map_find(&map, names[n].text, strlen(names[n].text)),
        EDDY__NOT_FOUND);
    /* Replacing needs no memory. */
    ck_assert(eddy__map_set(&map, names[0].text, 77));
    eddy__map_deinit(&map);
    eddy__free(eddy__default_allocator(), names, MANY, sizeof *names);
    counting_allocator_want_none(&counting);
}
END_TEST

#define COLLIDING 200
#define PLACES 1024

/* FNV-1a, which anybody can compute. */
static uint32_t known_hash(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return (uint32_t)(hash ^ hash >> 32);
}

/* Names that a hash without a secret would put onto one place. */
START_TEST(nobody_can_make_names_that_collide)
{
    uint8_t is_taken[PLACES] = {0};
    uint32_t n = 0, n_taken = 0;

    for (uint32_t i = 0; n < COLLIDING; i++) {
        uint32_t at;
        name made;

        snprintf(made.text, sizeof made.text, "n%u", i);
        if (known_hash(made.text) % PLACES != 0)
            continue;
        n++;
        at = eddy__map_hash(made.text, strlen(made.text)) % PLACES;
        n_taken += !is_taken[at];
        is_taken[at] = 1;
    }
    ck_assert_uint_gt(n_taken, COLLIDING / 2);
}
END_TEST

/* The same text has the same hash, wherever its bytes are. */
START_TEST(a_hash_is_of_the_text_alone)
{
    char many[64];

    for (size_t length = 0; length < 24; length++) {
        const char *text = "abcdefghijklmnopqrstuvwxyz";

        for (size_t shift = 0; shift < 8; shift++) {
            memcpy(many + shift, text, length + 1);
            ck_assert_uint_eq(eddy__map_hash(many + shift, length),
                              eddy__map_hash(text, length));
        }
    }
}
END_TEST

TCase *map_tests(void)
{
    TCase *tests = tcase_create("map");

    tcase_add_test(tests, an_empty_map_finds_nothing);
    tcase_add_test(tests, what_is_set_is_found);
    tcase_add_test(tests, setting_again_replaces);
    tcase_add_test(tests, keys_are_compared_whole);
    tcase_add_test(tests, a_map_without_memory_keeps_what_it_has);
    tcase_add_test(tests, nobody_can_make_names_that_collide);
    tcase_add_test(tests, a_hash_is_of_the_text_alone);
    return tests;
}
