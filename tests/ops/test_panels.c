/* SPDX-License-Identifier: Apache-2.0 */
/* Products by panels: against sums that are written out, and in a loop. */
#include "ops/linalg/panels.h"
#include "tests/aid/program.h"
#include "tests/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N ((int64_t)512)
#define ROWS ((int64_t)32)

enum { MOST = 256 };

static float noise(uint32_t i)
{
    return (float)(i * 2654435761U >> 8) / 0x1p24F - 0.5F;
}

static float *numbers(size_t n, uint32_t seed)
{
    float *made = malloc(n * sizeof *made);

    ck_assert_ptr_nonnull(made);
    for (size_t i = 0; i < n; i++)
        made[i] = noise((uint32_t)i + seed);
    return made;
}

/* One sum in the order of k, each step rounded once. */
static void check_element(const eddy__product *p, int64_t row, int64_t column)
{
    const float *a = p->a, *b = p->b;
    float want = 0;

    for (int64_t j = 0; j < p->k; j++)
        want = fmaf(a[p->transpose_a ? j * p->m + row : row * p->k + j],
                    b[j * N + column], want);
    ck_assert_mem_eq((const float *)p->out + row * N + column, &want,
                     sizeof want);
}

static void check(int64_t m, int64_t k, bool transpose)
{
    float *a = numbers((size_t)(m * k), 1), *b = numbers((size_t)(k * N), 7);
    float *panels = numbers((size_t)(k * N), 0);
    float *out = numbers((size_t)(ROWS * N), 0);
    const eddy__product p = {.m = m,
                             .n = N,
                             .k = k,
                             .transpose_a = transpose,
                             .a = a,
                             .b = b,
                             .out = out};
    const bool pays = eddy__panels_pay(&p);

    eddy__panels_make(&p, panels);
    if (pays)
        eddy__panels_multiply(&p, panels);
    for (int64_t row = 0; pays && row < m; row++)
        for (int64_t column = 0; column < N; column++)
            check_element(&p, row, column);
    free(out);
    free(panels);
    free(b);
    free(a);
}

START_TEST(each_element_is_one_sum_in_order)
{
    for (int64_t m = 3; m <= ROWS; m++)
        check(m, m % 2 ? 64 : 101, m % 3 == 0);
    check(16, MOST, false);
}
END_TEST

START_TEST(they_are_for_few_rows_and_a_short_sum)
{
    const eddy__product fits = {.m = 16, .n = 1024, .k = 256};
    eddy__product p = fits;
    const bool pays = eddy__panels_pay(&fits);

    p.m = 2;
    ck_assert(!eddy__panels_pay(&p));
    p.m = 33;
    ck_assert(!eddy__panels_pay(&p));
    p = fits;
    p.k = 257;
    ck_assert(!eddy__panels_pay(&p));
    p = fits;
    p.n = 1000;
    ck_assert(!eddy__panels_pay(&p));
    p.n = (int64_t)1 << 40;
    ck_assert(!eddy__panels_pay(&p));
    p = fits;
    p.transpose_b = true;
    ck_assert(!eddy__panels_pay(&p));
    p.transpose_b = false;
    p.transpose_a = true;
    ck_assert_int_eq(eddy__panels_pay(&p), pays);
}
END_TEST

/* x W in a loop, with W a constant and W fed: sums of small integers. */
#define LOOP                                                                   \
    "n int64=3\nz int64=0\none int64=1\nx ?float32[16,64]\n"                   \
    "s float32[16,512]=0\nen Enter@f! n\neo Enter@f! one\new Enter@f! w\n"     \
    "ex Enter@f! x\nei Enter@f z\nes Enter@f s\nmi Merge ei ni\n"              \
    "ms Merge es ns\nless Less mi en\ncond LoopCond less\nsi Switch mi cond\n" \
    "ss Switch ms cond\ni AddV2 si:1 eo\nni NextIteration i\n"                 \
    "f Cast si:1 SrcT=int64 DstT=float32\nxf AddV2 ex f\nq MatMul xf ew\n"     \
    "a AddV2 ss:1 q\nns NextIteration a\nxs Exit ss:0"

static void run_loop(program *p, const char *weights, eddy_tensor **out)
{
    static float values[64 * 512];
    char text[1024] = "";

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        values[i] = (float)(i % 3 + 1);
    ck_assert_int_gt(snprintf(text, sizeof text, "%s%s", weights, LOOP), 0);
    program_clear(p);
    program_build(p, text);
    program_plan(p, weights[2] == '?' ? "x w" : "x", "xs");
    program_make_run(p);
    for (size_t i = 0; i < 2; i++) {
        const eddy_shape shape = {.rank = 2,
                                  .dims = {i == 0 ? 16 : 64, i ? 512 : 64}};
        eddy_tensor *fed = program_tensor(p, EDDY_FLOAT32, &shape, values);

        if (i == 0 || weights[2] == '?')
            program_want_ok(p, eddy_run_feed(p->run, i, fed, &p->err));
        eddy_tensor_release(fed);
    }
    program_run(p);
    *out = eddy_tensor_retain(eddy_run_fetch(p->run, 0));
}

START_TEST(constant_weights_give_what_fed_ones_do)
{
    static const eddy_plan_executor executors[] = {EDDY_EXECUTOR_DYNAMIC,
                                                   EDDY_EXECUTOR_LINEAR};
    eddy_tensor *want, *got;
    program p;

    program_init(&p, 0);
    for (size_t e = 0; e < 2; e++) {
        p.plan_options.executor = executors[e];
        run_loop(&p, "w ?float32[64,512]\n", &want);
        run_loop(&p, "w float32[64,512]=1,2,3\n", &got);
        ck_assert_uint_eq(eddy_tensor_bytes(got), sizeof(float[16][512]));
        ck_assert_mem_eq(eddy_tensor_data(got), eddy_tensor_data(want),
                         sizeof(float[16][512]));
        eddy_tensor_release(want);
        eddy_tensor_release(got);
    }
    program_deinit(&p);
}
END_TEST

TCase *panels_tests(void)
{
    TCase *tc = tcase_create("panels");

    tcase_add_test(tc, each_element_is_one_sum_in_order);
    tcase_add_test(tc, they_are_for_few_rows_and_a_short_sum);
    tcase_add_test(tc, constant_weights_give_what_fed_ones_do);
    return tc;
}
