/* SPDX-License-Identifier: Apache-2.0 */
/* Registering ops and finding them. */
#include "core/context.h"
#include "core/graph/signature.h"
#include "tests/aid/core_fixture.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static core_fixture f;

static void setup(void)
{
    core_fixture_init(&f);
}

static void teardown(void)
{
    core_fixture_deinit(&f);
}

static eddy_status run_nothing(eddy_kernel *kernel)
{
    (void)kernel;
    return EDDY_OK;
}

static eddy_op_spec spec_of(const char *name)
{
    return (eddy_op_spec){.size = sizeof(eddy_op_spec),
                          .name = name,
                          .inputs = "x: T",
                          .outputs = "y: T",
                          .attrs = "T: number",
                          .kernel = run_nothing,
                          .flags = EDDY_OP_CHEAP};
}

static const eddy__op *find(const char *name)
{
    return eddy__registry_find(&f.ctx.registry, name);
}

START_TEST(a_registered_op_is_found_with_copies_of_its_texts)
{
    char name[] = "Mine", inputs[] = "x: T";
    eddy_op_spec spec = spec_of(name);
    const eddy__op *op;

    spec.inputs = inputs;
    ck_assert_int_eq(eddy_op_register(&f.ctx, &spec, &f.err), EDDY_OK);
    memset(name, '?', sizeof name - 1);
    memset(inputs, '?', sizeof inputs - 1);
    op = find("Mine");
    ck_assert_ptr_nonnull(op);
    ck_assert_str_eq(op->name, "Mine");
    ck_assert_str_eq(op->inputs[0].name, "x");
    ck_assert_uint_eq(op->flags, EDDY_OP_CHEAP);
    ck_assert_int_eq(op->role, EDDY__ROLE_NONE);
    ck_assert(op->kernel == run_nothing);
}
END_TEST

START_TEST(an_unknown_op_is_not_found)
{
    ck_assert_ptr_null(find("Nope"));
    ck_assert_ptr_null(find(""));
    ck_assert_ptr_null(find("Ad"));
}
END_TEST

START_TEST(ops_stay_where_they_are_when_others_come)
{
    const eddy__op *add = find("Add");
    char name[16];

    for (int i = 0; i < 300; i++) {
        eddy_op_spec spec;

        snprintf(name, sizeof name, "Op%d", i);
        spec = spec_of(name);
        ck_assert_int_eq(eddy_op_register(&f.ctx, &spec, &f.err), EDDY_OK);
    }
    ck_assert_ptr_eq(find("Add"), add);
    ck_assert_str_eq(find("Op0")->name, "Op0");
    ck_assert_str_eq(find("Op299")->name, "Op299");
}
END_TEST

START_TEST(names_come_in_order_and_end_with_null)
{
    size_t n = f.ctx.registry.n_ops;

    for (size_t i = 0; i + 1 < n; i++)
        ck_assert_str_lt(eddy_op_name(&f.ctx, i), eddy_op_name(&f.ctx, i + 1));
    ck_assert_str_eq(eddy_op_name(&f.ctx, 0), "Add");
    ck_assert_str_eq(eddy_op_name(&f.ctx, n - 1), "Two");
    ck_assert_ptr_null(eddy_op_name(&f.ctx, n));
}
END_TEST

START_TEST(an_op_tells_what_it_was_registered_with)
{
    eddy_op_spec spec = spec_of("Mine");
    eddy_op_info info;

    spec.attrs = "T: {float32, bool}, n: int = 1, L: list(index) = []";
    spec.doc = "What it does.";
    spec.source = "me";
    spec.flags = EDDY_OP_HEAVY;
    ck_assert_int_eq(eddy_op_register(&f.ctx, &spec, &f.err), EDDY_OK);
    ck_assert(eddy_op_find(&f.ctx, "Mine", &info));
    ck_assert_str_eq(info.name, "Mine");
    ck_assert_str_eq(info.inputs, "x: T");
    ck_assert_str_eq(info.outputs, "y: T");
    ck_assert_str_eq(info.attrs, spec.attrs);
    ck_assert_ptr_ne(info.attrs, spec.attrs);
    ck_assert_str_eq(info.doc, "What it does.");
    ck_assert_str_eq(info.source, "me");
    ck_assert_uint_eq(info.flags, EDDY_OP_HEAVY);
    ck_assert_uint_eq(info.n_types, 2);
    ck_assert_str_eq(info.types[0].attr, "T");
    ck_assert_uint_eq(info.types[0].dtypes,
                      1u << EDDY_FLOAT32 | 1u << EDDY_BOOL);
    ck_assert(!info.types[0].is_list);
    ck_assert_str_eq(info.types[1].attr, "L");
    ck_assert_uint_eq(info.types[1].dtypes,
                      1u << EDDY_INT32 | 1u << EDDY_INT64);
    ck_assert(info.types[1].is_list);
}
END_TEST

START_TEST(an_op_without_texts_has_an_empty_signature)
{
    const eddy_op_spec spec = {
        .size = sizeof spec, .name = "Bare", .kernel = run_nothing};
    eddy_op_info info = {.n_types = 7};

    ck_assert(!eddy_op_find(&f.ctx, "Bare", &info));
    ck_assert_uint_eq(info.n_types, 7);
    ck_assert_int_eq(eddy_op_register(&f.ctx, &spec, &f.err), EDDY_OK);
    ck_assert(eddy_op_find(&f.ctx, "Bare", &info));
    ck_assert_str_eq(info.inputs, "");
    ck_assert_str_eq(info.outputs, "");
    ck_assert_str_eq(info.attrs, "");
    ck_assert_ptr_null(info.doc);
    ck_assert_ptr_null(info.source);
    ck_assert_uint_eq(info.n_types, 0);
}
END_TEST

static const char *const bad_names[] = {
    "", "1st", "_Mine", "a b", "a/b", "a-b", "a\nb", "\xc3\xa4", ">a", ".a",
};

START_TEST(a_bad_name_is_refused)
{
    const eddy_op_spec spec = spec_of(bad_names[_i]);

    core_fixture_want(&f, eddy_op_register(&f.ctx, &spec, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_OP_SPEC);
}
END_TEST

START_TEST(names_with_digits_and_marks_are_legal)
{
    const char *names[] = {"a", "Conv2D", "Scope>Op", "my.op", "a_1"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const eddy_op_spec spec = spec_of(names[i]);

        ck_assert_int_eq(eddy_op_register(&f.ctx, &spec, &f.err), EDDY_OK);
    }
}
END_TEST

START_TEST(a_name_that_is_taken_is_refused)
{
    const eddy_op_spec spec = spec_of("Add");
    const eddy__op *add = find("Add");

    core_fixture_want(&f, eddy_op_register(&f.ctx, &spec, &f.err),
                      EDDY_ALREADY_EXISTS, EDDY_E_OP_SPEC);
    ck_assert_str_eq(f.err.op, "Add");
    ck_assert_ptr_eq(find("Add"), add);
}
END_TEST

START_TEST(a_specification_that_lacks_something_is_refused)
{
    eddy_op_spec sizeless = spec_of("A"), nameless = spec_of(NULL),
                 idle = spec_of("B"), garbled = spec_of("C");

    sizeless.size = 8;
    idle.kernel = NULL;
    garbled.outputs = "y";
    core_fixture_want(&f, eddy_op_register(&f.ctx, &sizeless, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_OP_SPEC);
    core_fixture_want(&f, eddy_op_register(&f.ctx, &nameless, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_OP_SPEC);
    core_fixture_want(&f, eddy_op_register(&f.ctx, &idle, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_OP_SPEC);
    core_fixture_want(&f, eddy_op_register(&f.ctx, &garbled, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_OP_SPEC);
    core_fixture_want(&f, eddy_op_register(&f.ctx, NULL, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    core_fixture_want(&f, eddy_op_register(NULL, &idle, &f.err),
                      EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT);
    ck_assert_ptr_null(find("C"));
}
END_TEST

START_TEST(a_table_gives_roles_and_marks_its_ops_as_built_in)
{
    const eddy_op_spec specs[] = {spec_of("_Inner"), spec_of("Outer")};
    const eddy__role roles[] = {EDDY__ROLE_MERGE, EDDY__ROLE_NONE};
    const eddy__op_table table = {.specs = specs, .roles = roles, .n = 2};
    eddy_op_spec mine = spec_of("Mine");
    eddy_op_info info;

    mine.flags |= EDDY__OP_BUILTIN;
    ck_assert_int_eq(eddy__registry_add_table(&f.ctx.registry, &table, &f.err),
                     EDDY_OK);
    ck_assert_int_eq(eddy_op_register(&f.ctx, &mine, &f.err), EDDY_OK);
    ck_assert_int_eq(find("_Inner")->role, EDDY__ROLE_MERGE);
    ck_assert_int_eq(find("Outer")->role, EDDY__ROLE_NONE);
    ck_assert((find("Outer")->flags & EDDY__OP_BUILTIN) != 0);
    ck_assert((find("Mine")->flags & EDDY__OP_BUILTIN) == 0);
    ck_assert(eddy_op_find(&f.ctx, "Outer", &info));
    ck_assert_uint_eq(info.flags, EDDY_OP_CHEAP);
}
END_TEST

START_TEST(a_failed_allocation_leaves_the_registry_as_it_was)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;
    size_t n_before = f.ctx.registry.n_ops;

    for (long long n = 0; status != EDDY_OK; n++) {
        const eddy_op_spec spec = spec_of("Mine");

        counting_allocator_allow(&f.counting, n);
        status = eddy_op_register(&f.ctx, &spec, &f.err);
        counting_allocator_allow(&f.counting, -1);
        ck_assert_int_eq(find("Mine") != NULL, status == EDDY_OK);
        ck_assert_uint_eq(f.ctx.registry.n_ops, n_before + (status == EDDY_OK));
        if (status != EDDY_OK)
            core_fixture_want(&f, status, EDDY_RESOURCE_EXHAUSTED,
                              EDDY_E_MEMORY);
        ck_assert_int_lt(n, 100);
    }
}
END_TEST

/* Enough ops to make every array and the map grow in the middle. */
START_TEST(every_allocation_of_a_large_table_may_fail)
{
    char names[100][16];
    eddy_op_spec specs[100];
    const eddy__op_table table = {.specs = specs, .n = 100};
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;

    for (int i = 0; i < 100; i++) {
        snprintf(names[i], sizeof names[i], "X%d", i);
        specs[i] = spec_of(names[i]);
    }
    for (long long n = 0; status != EDDY_OK; n++) {
        eddy__registry registry;

        eddy__registry_init(&registry, &f.counting.allocator);
        counting_allocator_allow(&f.counting, n);
        status = eddy__registry_add_table(&registry, &table, &f.err);
        counting_allocator_allow(&f.counting, -1);
        for (size_t i = 0; i < 100; i++)
            ck_assert_int_eq(eddy__registry_find(&registry, names[i]) != NULL,
                             i < registry.n_ops);
        eddy__registry_deinit(&registry);
        ck_assert_int_lt(n, 1000);
    }
}
END_TEST

TCase *registry_tests(void)
{
    TCase *tc = tcase_create("registry");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_registered_op_is_found_with_copies_of_its_texts);
    tcase_add_test(tc, an_unknown_op_is_not_found);
    tcase_add_test(tc, ops_stay_where_they_are_when_others_come);
    tcase_add_test(tc, names_come_in_order_and_end_with_null);
    tcase_add_test(tc, an_op_tells_what_it_was_registered_with);
    tcase_add_test(tc, an_op_without_texts_has_an_empty_signature);
    tcase_add_loop_test(tc, a_bad_name_is_refused, 0,
                        (int)(sizeof bad_names / sizeof bad_names[0]));
    tcase_add_test(tc, names_with_digits_and_marks_are_legal);
    tcase_add_test(tc, a_name_that_is_taken_is_refused);
    tcase_add_test(tc, a_specification_that_lacks_something_is_refused);
    tcase_add_test(tc, a_table_gives_roles_and_marks_its_ops_as_built_in);
    tcase_add_test(tc, a_failed_allocation_leaves_the_registry_as_it_was);
    tcase_add_test(tc, every_allocation_of_a_large_table_may_fail);
    return tc;
}
