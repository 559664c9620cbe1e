/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/ops.h"
#include "tests/aid/kernel_harness.h"
#include "tests/suites.h"

#include <math.h>
#include <string.h>

static harness h;

static void begin(void)
{
    harness_init(&h, &eddy__einsum_ops);
}

static void end(void)
{
    harness_deinit(&h);
}

static const eddy_dtype dtypes[] = {
    EDDY_FLOAT16, EDDY_FLOAT32,   EDDY_FLOAT64,  EDDY_INT32,
    EDDY_INT64,   EDDY_COMPLEX64, EDDY_BFLOAT16, EDDY_COMPLEX128};

#define N_DTYPES (sizeof dtypes / sizeof dtypes[0])

/* `plain` is `equation` with letters for the dimensions of the ellipsis. */
typedef struct einsum_case {
    const char *equation, *plain;
    eddy_shape in[2];
} einsum_case;

static const einsum_case cases[] = {
    {"ij,jk->ik", NULL, {{2, {2, 3}}, {2, {3, 4}}}},
    {"ij,jk->ki", NULL, {{2, {2, 3}}, {2, {3, 4}}}},
    {"ji,jk->ik", NULL, {{2, {3, 2}}, {2, {3, 4}}}},
    {"ij,kj->ik", NULL, {{2, {2, 3}}, {2, {4, 3}}}},
    {"ji,kj->ki", NULL, {{2, {3, 2}}, {2, {4, 3}}}},
    {"bij,bjk->bik", NULL, {{3, {2, 2, 3}}, {3, {2, 3, 2}}}},
    {"bij,bjk->ibk", NULL, {{3, {2, 2, 3}}, {3, {2, 3, 2}}}},
    {"ibj,jbk->bki", NULL, {{3, {2, 3, 4}}, {3, {4, 3, 2}}}},
    {"abcd,cdab->ac", NULL, {{4, {2, 3, 2, 2}}, {4, {2, 2, 2, 3}}}},
    {"abc,dcb->ad", NULL, {{3, {2, 3, 4}}, {3, {2, 4, 3}}}},
    {"abc,cb->a", NULL, {{3, {2, 3, 4}}, {2, {4, 3}}}},
    {"i,i->i", NULL, {{1, {5}}, {1, {5}}}},
    {"i,j->ij", NULL, {{1, {3}}, {1, {4}}}},
    {"i,j->ji", NULL, {{1, {3}}, {1, {4}}}},
    {"i,i->", NULL, {{1, {5}}, {1, {5}}}},
    {"i,->i", NULL, {{1, {3}}, {0, {0}}}},
    {",->", NULL, {{0, {0}}, {0, {0}}}},
    {"->", NULL, {{0, {0}}}},
    {"ij->ij", NULL, {{2, {2, 3}}}},
    {"ij->ji", NULL, {{2, {2, 3}}}},
    {"ij->i", NULL, {{2, {2, 3}}}},
    {"ij->j", NULL, {{2, {2, 3}}}},
    {"ij->", NULL, {{2, {2, 3}}}},
    {"ii->i", NULL, {{2, {3, 3}}}},
    {"ii->", NULL, {{2, {3, 3}}}},
    {"iji->ij", NULL, {{3, {2, 3, 2}}}},
    {"iji->j", NULL, {{3, {2, 3, 2}}}},
    {"i->ii", NULL, {{1, {3}}}},
    {"ij->iijj", NULL, {{2, {2, 2}}}},
    {"ij->jj", NULL, {{2, {2, 3}}}},
    {"ii,ij->j", NULL, {{2, {2, 2}}, {2, {2, 3}}}},
    {"ij,jk->ii", NULL, {{2, {2, 3}}, {2, {3, 4}}}},
    {"ij,kl->il", NULL, {{2, {2, 3}}, {2, {2, 3}}}},
    {"1j->j1", NULL, {{2, {2, 3}}}},
    {"abcdefgh->hgfedcba", NULL, {{8, {1, 2, 1, 2, 1, 2, 1, 2}}}},
    {"abcdefgh,hgfedcba->ach",
     NULL,
     {{8, {1, 2, 1, 2, 1, 2, 1, 2}}, {8, {2, 1, 2, 1, 2, 1, 2, 1}}}},
    {"...ij,jk->...ik", "ABij,jk->ABik", {{4, {2, 1, 2, 2}}, {2, {2, 3}}}},
    {"...ij,...jk->...ik",
     "ABij,Bjk->ABik",
     {{4, {2, 3, 1, 2}}, {3, {3, 2, 1}}}},
    {"...ij,...jk->...ik",
     "ABij,Bjk->ABik",
     {{4, {2, 1, 1, 2}}, {3, {3, 2, 1}}}},
    {"...ij,...jk->...ki",
     "ABij,ABjk->ABki",
     {{4, {2, 1, 1, 2}}, {4, {1, 3, 2, 2}}}},
    {"ab...,b...c->a...c", "abA,bAc->aAc", {{3, {2, 3, 4}}, {3, {3, 1, 2}}}},
    {"...,...->...", "AB,B->AB", {{2, {2, 3}}, {1, {3}}}},
    {"...->...", "AB->AB", {{2, {2, 3}}}},
    {"i...->...i", "iAB->ABi", {{3, {2, 3, 4}}}},
    {"...i->...", "Ai->A", {{2, {2, 3}}}},
    {"...ii->...i", "Aii->Ai", {{3, {2, 3, 3}}}},
    {"...i->...ii", "Ai->Aii", {{2, {2, 3}}}},
    {"i->i...", "i->i", {{1, {2}}}},
    {"ab,cd->...abcd", "ab,cd->abcd", {{2, {1, 2}}, {2, {2, 1}}}},
    {"ij->j", NULL, {{2, {0, 3}}}},
    {"ij->i", NULL, {{2, {0, 3}}}},
    {"ij,jk->ik", NULL, {{2, {2, 0}}, {2, {0, 3}}}},
    {"ij,jk->ik", NULL, {{2, {2, 3}}, {2, {3, 0}}}},
    {"ij,kl->il", NULL, {{2, {2, 0}}, {2, {2, 3}}}},
};

#define N_CASES (sizeof cases / sizeof cases[0])

static eddy_status run(const char *equation, eddy_tensor *const *inputs,
                       size_t n)
{
    const eddy_string text = {equation, strlen(equation)};
    const eddy_attr attr = eddy_attr_string("equation", &text);

    return harness_run_attrs(&h, "Einsum", inputs, n, &attr, 1);
}

static double digit(int64_t i, int seed)
{
    return (double)((i * 7 + seed + i / 5) % 4);
}

static eddy_tensor *digits(eddy_dtype dtype, const eddy_shape *shape, int seed)
{
    double values[256];
    int64_t n = 1;

    for (int32_t d = 0; d < shape->rank; d++)
        n *= shape->dims[d];
    ck_assert_int_le(n, 256);
    for (int64_t i = 0; i < n; i++)
        values[i] = digit(i, seed);
    return harness_numbers(&h, dtype, shape->rank, shape->dims, values);
}

/* ---- the reference: every assignment of numbers to letters in turn ---- */

typedef struct letters {
    int64_t dims[128]; /* 0: unused, else the dimension and 1 */
    int64_t at[128];
} letters;

static const char *subscript(const char *plain, int which)
{
    if (which == 2)
        return strstr(plain, "->") + 2;
    return which == 0 ? plain : strchr(plain, ',') + 1;
}

static size_t length(const char *s)
{
    return strcspn(s, ",-");
}

static int64_t offset(const letters *l, const char *s, const eddy_shape *shape)
{
    int64_t at = 0;

    for (int32_t d = 0; d < shape->rank; d++) {
        const int64_t i = l->at[(int)s[d]];

        at = at * shape->dims[d] + (shape->dims[d] == 1 ? 0 : i);
    }
    return at;
}

static bool next(letters *l)
{
    for (int c = 0; c < 128; c++) {
        if (l->dims[c] == 0)
            continue;
        if (++l->at[c] < l->dims[c] - 1)
            return true;
        l->at[c] = 0;
    }
    return false;
}

static bool is_empty(const letters *l)
{
    for (int c = 0; c < 128; c++)
        if (l->dims[c] == 1)
            return true;
    return false;
}

static void reference(const einsum_case *c, int n, letters *l,
                      eddy_shape *shape, double *out)
{
    const char *plain = c->plain ? c->plain : c->equation;

    *l = (letters){.at = {0}};
    for (int i = 0; i < n; i++)
        for (size_t d = 0; d < length(subscript(plain, i)); d++) {
            const int letter = subscript(plain, i)[d];

            if (l->dims[letter] < 3)
                l->dims[letter] = c->in[i].dims[d] + 1;
        }
    *shape = (eddy_shape){.rank = (int32_t)strlen(subscript(plain, 2))};
    for (int32_t d = 0; d < shape->rank; d++)
        shape->dims[d] = l->dims[(int)subscript(plain, 2)[d]] - 1;
    memset(out, 0, 256 * sizeof *out);
    if (is_empty(l))
        return;
    do {
        double product = 1;

        for (int i = 0; i < n; i++)
            product *= digit(offset(l, subscript(plain, i), &c->in[i]), i);
        out[offset(l, subscript(plain, 2), shape)] += product;
    } while (next(l));
}

START_TEST(equations_agree_with_the_reference)
{
    const einsum_case *c = &cases[_i];
    const int n = strchr(c->equation, ',') ? 2 : 1;
    eddy_shape shape;
    double want[256];
    letters l;

    reference(c, n, &l, &shape, want);
    for (size_t d = 0; d < N_DTYPES; d++) {
        eddy_tensor *inputs[2];

        for (int i = 0; i < n; i++)
            inputs[i] = digits(dtypes[d], &c->in[i], i);
        ck_assert_int_eq(run(c->equation, inputs, (size_t)n), EDDY_OK);
        harness_want(&h, 0, dtypes[d], shape.rank, shape.dims);
        for (int64_t i = 0; i < h.outputs[0]->count; i++)
            ck_assert_double_eq(harness_get(h.outputs[0], i), want[i]);
    }
}
END_TEST

START_TEST(one_tensor_may_be_both_inputs)
{
    eddy_tensor *x = harness_numbers(&h, EDDY_FLOAT32, HARNESS_DIMS(2, 2),
                                     (const double[]){1, 2, 3, 4});

    ck_assert_int_eq(run("ij,kj->ik", (eddy_tensor *[]){x, x}, 2), EDDY_OK);
    ck_assert_double_eq(harness_get(h.outputs[0], 0), 5);
    ck_assert_double_eq(harness_get(h.outputs[0], 1), 11);
    ck_assert_double_eq(harness_get(h.outputs[0], 3), 25);
}
END_TEST

START_TEST(complex_sums_keep_imaginary_parts)
{
    const float x[] = {1, 2, 3, -1, 0, 5};
    eddy_tensor *t = harness_tensor(&h, EDDY_COMPLEX64, HARNESS_DIMS(3), x);
    const float *got;

    ck_assert_int_eq(run("i->", &t, 1), EDDY_OK);
    got = h.outputs[0]->data;
    ck_assert_float_eq(got[0], 4);
    ck_assert_float_eq(got[1], 6);
}
END_TEST

START_TEST(infinities_stay_in_sums)
{
    eddy_tensor *x = harness_vector(&h, EDDY_FLOAT32, 1, INFINITY, 2);

    ck_assert_int_eq(run("i->", &x, 1), EDDY_OK);
    ck_assert(isinf(harness_get(h.outputs[0], 0)));
}
END_TEST

typedef struct bad_case {
    const char *equation;
    int n;
    eddy_shape in[3];
    eddy_detail detail;
} bad_case;

static const bad_case bad_cases[] = {
    {"ij", 1, {{2, {2, 3}}}, EDDY_E_ATTR_VALUE},
    {"", 1, {{0, {0}}}, EDDY_E_ATTR_VALUE},
    {"ij->ij->ij", 1, {{2, {2, 3}}}, EDDY_E_ATTR_VALUE},
    {"ij->ik", 1, {{2, {2, 3}}}, EDDY_E_ATTR_VALUE},
    {"..ij->ij", 1, {{2, {2, 3}}}, EDDY_E_ATTR_VALUE},
    {".i.j.->ij", 1, {{2, {2, 3}}}, EDDY_E_ATTR_VALUE},
    {"i...j...->ij", 1, {{2, {2, 3}}}, EDDY_E_ATTR_VALUE},
    {"i,j,k->ijk", 3, {{1, {2}}, {1, {2}}, {1, {2}}}, EDDY_E_ATTR_VALUE},
    {"abcdefghi->a", 1, {{1, {2}}}, EDDY_E_RANK},
    {"abcde,fghij->abcdefghij",
     2,
     {{5, {1, 1, 1, 1, 1}}, {5, {1, 1, 1, 1, 1}}},
     EDDY_E_RANK},
    {"...a,b->...aabbaa", 2, {{4, {1, 1, 1, 1}}, {1, {1}}}, EDDY_E_RANK},
    {"ij,jk->ik", 1, {{2, {2, 3}}}, EDDY_E_INPUT_COUNT},
    {"i j->ji", 1, {{2, {2, 3}}}, EDDY_E_RANK},
    {"ij,jk->ik", 2, {{3, {2, 3, 1}}, {2, {3, 2}}}, EDDY_E_RANK},
    {"ij...->ij", 1, {{1, {2}}}, EDDY_E_RANK},
    {"ij,jk->ik", 2, {{2, {2, 3}}, {2, {4, 2}}}, EDDY_E_SHAPE},
    {"ij,jk->ik", 2, {{2, {2, 1}}, {2, {3, 2}}}, EDDY_E_SHAPE},
    {"ii->i", 1, {{2, {2, 3}}}, EDDY_E_SHAPE},
    {"...i->i", 1, {{2, {2, 3}}}, EDDY_E_SHAPE},
    {"...,...->...", 2, {{1, {2}}, {1, {3}}}, EDDY_E_SHAPE},
};

START_TEST(bad_equations_and_inputs_are_refused)
{
    const bad_case *c = &bad_cases[_i];
    eddy_tensor *inputs[3];

    for (int i = 0; i < c->n; i++)
        inputs[i] = digits(EDDY_FLOAT32, &c->in[i], i);
    harness_want_error(&h, run(c->equation, inputs, (size_t)c->n),
                       EDDY_INVALID_ARGUMENT, c->detail);
    ck_assert_ptr_nonnull(strstr(h.err.message, "equation '"));
}
END_TEST

TCase *ops_einsum_tests(void)
{
    TCase *tc = tcase_create("ops_einsum");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, equations_agree_with_the_reference, 0, N_CASES);
    tcase_add_test(tc, one_tensor_may_be_both_inputs);
    tcase_add_test(tc, complex_sums_keep_imaginary_parts);
    tcase_add_test(tc, infinities_stay_in_sums);
    tcase_add_loop_test(tc, bad_equations_and_inputs_are_refused, 0,
                        sizeof bad_cases / sizeof bad_cases[0]);
    return tc;
}
