/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/array/box.h"
#include "tests/suites.h"

#include <string.h>

#define BYTES 4096

typedef struct buffers {
    unsigned char from[2 * BYTES], to[2 * BYTES], want[2 * BYTES];
} buffers;

/* Element by element, from the middle of the buffers. */
static void copy_naively(const eddy__box *box, unsigned char *to,
                         const unsigned char *from)
{
    int64_t n = 1;

    for (int32_t d = 0; d < box->rank; d++)
        n *= box->dims[d];
    for (int64_t i = 0; i < n; i++) {
        int64_t rest = i, to_at = 0, from_at = 0;

        for (int32_t d = box->rank - 1; d >= 0; d--) {
            to_at += rest % box->dims[d] * box->to[d];
            from_at += rest % box->dims[d] * box->from[d];
            rest /= box->dims[d];
        }
        memcpy(to + to_at, from + from_at, box->item);
    }
}

static void compare(eddy__box *box)
{
    buffers b;

    for (size_t i = 0; i < sizeof b.from; i++)
        b.from[i] = (unsigned char)(i * 151 >> 3);
    memset(b.to, 0xee, sizeof b.to);
    memset(b.want, 0xee, sizeof b.want);
    copy_naively(box, b.want + BYTES, b.from + BYTES);
    eddy__box_copy(NULL, box, b.to + BYTES, b.from + BYTES);
    ck_assert_mem_eq(b.to, b.want, sizeof b.to);
}

static uint32_t draw(uint32_t *state, uint32_t n)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 16) % n;
}

/*
 * Random dimensions; the target's are dense in a random order, the source's
 * strides are anything, 0 and negative ones too.
 */
static void draw_box(uint32_t *state, size_t item, eddy__box *box)
{
    int64_t dims[4], to[4], stride = (int64_t)item;
    int32_t rank = (int32_t)draw(state, 5);
    uint32_t first = draw(state, 4);

    for (int32_t d = 0; d < rank; d++)
        dims[d] = draw(state, 9) == 0 ? 0 : 1 + draw(state, 4);
    for (int32_t d = 0; d < rank; d++) {
        int32_t i = (d + (int32_t)first) % rank;

        to[i] = stride;
        stride *= dims[i];
    }
    *box = (eddy__box){.item = item};
    for (int32_t d = 0; d < rank; d++) {
        int64_t step = (int64_t)draw(state, 13) - 6;

        eddy__box_add(box, dims[d],
                      draw(state, 2) == 0 ? to[d] : step * (int64_t)item,
                      to[d]);
    }
}

/* _i is one of the sizes of items: those that have loops of their own, others.
 */
START_TEST(boxes_are_copied_as_element_by_element)
{
    static const size_t items[] = {1, 2, 3, 4, 8, 12, 16};
    uint32_t state = 77u + (uint32_t)_i;
    eddy__box box;

    for (int n = 0; n < 3000; n++) {
        draw_box(&state, items[_i], &box);
        compare(&box);
    }
}
END_TEST

/* Longer than the blocks of every size, and no multiple of them. */
START_TEST(planes_are_turned)
{
    static const struct {
        int64_t item, rows, columns;
    } cases[] = {{1, 67, 61}, {1, 20, 130}, {2, 37, 53},
                 {4, 19, 35}, {8, 17, 21},  {16, 11, 19}};
    int64_t item = cases[_i].item;
    eddy__box box = {.item = (size_t)item};

    eddy__box_add(&box, cases[_i].rows, item, item * cases[_i].columns);
    eddy__box_add(&box, cases[_i].columns, item * cases[_i].rows, item);
    compare(&box);
}
END_TEST

START_TEST(an_empty_box_copies_nothing)
{
    eddy__box box = {.item = 4};

    eddy__box_add(&box, 3, 4, 4);
    eddy__box_add(&box, 0, 0, 0);
    eddy__box_copy(NULL, &box, NULL, NULL);
    ck_assert_int_eq(box.rank, 2);
}
END_TEST

START_TEST(strides_of_a_dense_tensor)
{
    const eddy_shape shape = {.rank = 3, .dims = {2, 3, 5}};
    int64_t strides[EDDY_MAX_RANK];

    eddy__box_dense_strides(&shape, 4, strides);
    ck_assert_int_eq(strides[0], 60);
    ck_assert_int_eq(strides[1], 20);
    ck_assert_int_eq(strides[2], 4);
}
END_TEST

TCase *ops_box_tests(void)
{
    TCase *tests = tcase_create("ops_box");

    tcase_add_loop_test(tests, boxes_are_copied_as_element_by_element, 0, 7);
    tcase_add_loop_test(tests, planes_are_turned, 0, 6);
    tcase_add_test(tests, an_empty_box_copies_nothing);
    tcase_add_test(tests, strides_of_a_dense_tensor);
    return tests;
}
