/* SPDX-License-Identifier: Apache-2.0 */
/* The language of op signatures. */
#include "core/graph/signature.h"
#include "tests/aid/counting_allocator.h"
#include "tests/suites.h"

#include <stdio.h>
#include <string.h>

static counting_allocator counting;
static eddy__arena arena;
static eddy__op op;
static eddy_error err;

static void setup(void)
{
    counting_allocator_init(&counting);
    arena = (eddy__arena){.allocator = &counting.allocator};
    memset(&op, 0, sizeof op);
    memset(&err, 0, sizeof err);
}

static void teardown(void)
{
    eddy__arena_destroy(&arena);
    counting_allocator_want_none(&counting);
}

static eddy_status parse(const char *inputs, const char *outputs,
                         const char *attrs)
{
    const eddy_op_spec spec = {.size = sizeof spec,
                               .name = "Op",
                               .inputs = inputs,
                               .outputs = outputs,
                               .attrs = attrs};

    return eddy__signature_parse(&arena, &spec, &op, &err);
}

static const eddy__attr_def *attr(const char *text)
{
    ck_assert_msg(parse("", "", text) == EDDY_OK, "%s: %s", text, err.message);
    ck_assert_uint_eq(op.n_attrs, 1);
    return &op.attrs[0];
}

START_TEST(an_empty_signature_has_nothing)
{
    ck_assert_int_eq(parse(NULL, " ", ""), EDDY_OK);
    ck_assert_uint_eq(op.n_inputs + op.n_outputs + op.n_attrs, 0);
}
END_TEST

START_TEST(arguments_say_where_their_dtype_comes_from)
{
    ck_assert_int_eq(parse("x: T, values:N*T , data: L",
                           "y: ref T, i: int32, n: N * bool",
                           "T: type, N: int, L: list(type)"),
                     EDDY_OK);
    ck_assert_uint_eq(op.n_inputs, 3);
    ck_assert_str_eq(op.inputs[0].name, "x");
    ck_assert_int_eq(op.inputs[0].type_attr, 0);
    ck_assert_int_eq(op.inputs[0].number_attr, -1);
    ck_assert_int_eq(op.inputs[0].list_attr, -1);
    ck_assert_int_eq(op.inputs[1].number_attr, 1);
    ck_assert_int_eq(op.inputs[1].type_attr, 0);
    ck_assert_int_eq(op.inputs[2].list_attr, 2);
    ck_assert_int_eq(op.inputs[2].type_attr, -1);
    ck_assert_uint_eq(op.n_outputs, 3);
    ck_assert(op.outputs[0].is_ref && !op.inputs[0].is_ref);
    ck_assert_int_eq(op.outputs[1].dtype, EDDY_INT32);
    ck_assert_int_eq(op.outputs[1].type_attr, -1);
    ck_assert_int_eq(op.outputs[2].dtype, EDDY_BOOL);
    ck_assert_int_eq(op.outputs[2].number_attr, 1);
}
END_TEST

START_TEST(a_number_of_tensors_is_at_least_one_unless_said)
{
    ck_assert_int_eq(
        parse("x: N * T", "y: M * T", "T: type, N: int, M: int >= 0, K: int"),
        EDDY_OK);
    ck_assert(op.attrs[1].has_minimum);
    ck_assert_int_eq(op.attrs[1].minimum, 1);
    ck_assert(op.attrs[2].has_minimum);
    ck_assert_int_eq(op.attrs[2].minimum, 0);
    ck_assert(!op.attrs[3].has_minimum);
}
END_TEST

#define BIT(d) EDDY__DTYPE_BIT(EDDY_##d)

static const struct {
    const char *text;
    eddy__dtype_set allowed;
} groups[] = {
    {"T: type", EDDY__ALL_DTYPES},
    {"T: number", EDDY__NUMBERS},
    {"T: real", EDDY__REALS},
    {"T: integer", EDDY__INTEGERS},
    {"T: index", EDDY__INDEXES},
    {"T: {float}", EDDY__FLOATS},
    {"T: {float32}", BIT(FLOAT32)},
    {"T: {string, index,bool}", BIT(STRING) | BIT(BOOL) | EDDY__INDEXES},
    {"T: float = float32", EDDY__FLOATS},
    {"T: list(index)", EDDY__INDEXES},
};

START_TEST(a_type_attribute_allows_its_group)
{
    const eddy__attr_def *def = attr(groups[_i].text);

    ck_assert_int_eq(def->kind, EDDY_ATTR_TYPE);
    ck_assert_uint_eq(def->allowed, groups[_i].allowed);
    ck_assert_int_eq(def->is_list, strstr(groups[_i].text, "list") != NULL);
}
END_TEST

START_TEST(float_is_a_group_where_an_argument_uses_it_and_a_number_elsewhere)
{
    ck_assert_int_eq(parse("x: T", "", "T: float, rate: float"), EDDY_OK);
    ck_assert_int_eq(op.attrs[0].kind, EDDY_ATTR_TYPE);
    ck_assert_uint_eq(op.attrs[0].allowed, EDDY__FLOATS);
    ck_assert_int_eq(op.attrs[1].kind, EDDY_ATTR_FLOAT);
}
END_TEST

static const struct {
    const char *text;
    eddy_attr_kind kind;
    bool is_list;
} kinds[] = {
    {"a: int", EDDY_ATTR_INT, false},
    {"a: float", EDDY_ATTR_FLOAT, false},
    {"a: bool", EDDY_ATTR_BOOL, false},
    {"a: string", EDDY_ATTR_STRING, false},
    {"a: shape", EDDY_ATTR_SHAPE, false},
    {"a: tensor", EDDY_ATTR_TENSOR, false},
    {"a: func", EDDY_ATTR_FUNCTION, false},
    {"a: list(int)", EDDY_ATTR_INT, true},
    {"a: list(shape)", EDDY_ATTR_SHAPE, true},
    {"a: list(func)", EDDY_ATTR_FUNCTION, true},
};

START_TEST(an_attribute_has_its_kind_and_no_default)
{
    const eddy__attr_def *def = attr(kinds[_i].text);

    ck_assert_int_eq(def->kind, kinds[_i].kind);
    ck_assert_int_eq(def->is_list, kinds[_i].is_list);
    ck_assert(!def->has_default && !def->has_minimum);
}
END_TEST

static const eddy_attr *default_of(const char *text)
{
    const eddy__attr_def *def = attr(text);

    ck_assert(def->has_default);
    ck_assert_str_eq(def->value.name, def->name);
    ck_assert_int_eq(def->value.kind, def->kind);
    ck_assert_int_eq(def->value.is_list, def->is_list);
    return &def->value;
}

static const struct {
    const char *text;
    int64_t value;
} int_defaults[] = {
    {"a: int = 0", 0},
    {"a: int = -1", -1},
    {"a: int >= -3 = -3", -3},
    {"a: int = 9223372036854775807", INT64_MAX},
    {"a: int = -9223372036854775808", INT64_MIN},
};

START_TEST(integers_are_read_to_their_limits)
{
    const eddy_attr *value = default_of(int_defaults[_i].text);

    ck_assert_uint_eq(value->n, 1);
    ck_assert_int_eq(value->as.ints[0], int_defaults[_i].value);
}
END_TEST

static const struct {
    const char *text;
    float value;
} float_defaults[] = {
    {"a: float = 0", 0.0f},           {"a: float = 1", 1.0f},
    {"a: float = 0.5", 0.5f},         {"a: float = -1.5e-3", -1.5e-3f},
    {"a: float = 1e-5", 1e-5f},       {"a: float = 0.1", 0.1f},
    {"a: float = 3.14159", 3.14159f}, {"a: float = 2e22", 2e22f},
    {"a: float = 0.0001", 0.0001f},
};

START_TEST(floats_are_rounded_as_the_compiler_rounds_them)
{
    const eddy_attr *value = default_of(float_defaults[_i].text);

    ck_assert(value->as.floats[0] == float_defaults[_i].value);
}
END_TEST

START_TEST(defaults_of_other_kinds_are_read)
{
    const eddy_attr *value;

    ck_assert(default_of("a: bool = true")->as.bools[0]);
    ck_assert(!default_of("a: bool = false")->as.bools[0]);
    ck_assert_int_eq(default_of("a: {bool, index} = int64")->as.types[0],
                     EDDY_INT64);
    value = default_of("a: string = ''");
    ck_assert_uint_eq(value->as.strings[0].length, 0);
    value = default_of("a: string = 'x, = ]'");
    ck_assert_uint_eq(value->as.strings[0].length, 6);
    ck_assert_mem_eq(value->as.strings[0].data, "x, = ]", 7);
}
END_TEST

static const struct {
    const char *text;
    eddy_shape shape;
} shape_defaults[] = {
    {"a: shape = ?", {.rank = -1}},
    {"a: shape = []", {.rank = 0}},
    {"a: shape = [3]", {.rank = 1, .dims = {3}}},
    {"a: shape = [ 2 , ?, 0]", {.rank = 3, .dims = {2, -1, 0}}},
};

START_TEST(shapes_are_read)
{
    const eddy_shape *got = default_of(shape_defaults[_i].text)->as.shapes;
    const eddy_shape *want = &shape_defaults[_i].shape;

    ck_assert_int_eq(got->rank, want->rank);
    for (int32_t i = 0; i < want->rank; i++)
        ck_assert_int_eq(got->dims[i], want->dims[i]);
}
END_TEST

START_TEST(lists_are_read)
{
    const eddy_attr *value = default_of("a: list(int) = []");

    ck_assert_uint_eq(value->n, 0);
    value = default_of("a: list(int) >= 2 = [7, -8, 9]");
    ck_assert_uint_eq(value->n, 3);
    ck_assert_int_eq(value->as.ints[1], -8);
    value = default_of("a: list(shape) = [?, [1], []]");
    ck_assert_uint_eq(value->n, 3);
    ck_assert_int_eq(value->as.shapes[0].rank, -1);
    ck_assert_int_eq(value->as.shapes[1].dims[0], 1);
    ck_assert_int_eq(value->as.shapes[2].rank, 0);
    value = default_of("a: list(bool) = [true,false]");
    ck_assert(value->as.bools[0] && !value->as.bools[1]);
    value = default_of("a: list(string) = ['a', 'bc']");
    ck_assert_mem_eq(value->as.strings[1].data, "bc", 3);
    value = default_of("a: list({index}) = [int32, int64]");
    ck_assert_int_eq(value->as.types[1], EDDY_INT64);
}
END_TEST

/* What is wrong, and where in which text. */
static const struct {
    const char *inputs, *outputs, *attrs;
    const char *part;
    unsigned offset;
} mistakes[] = {
    {"x", "", "", "inputs", 1},
    {"x:", "", "", "inputs", 2},
    {"x: T", "", "", "inputs", 3},
    {": int32", "", "", "inputs", 0},
    {"x: int32,", "", "", "inputs", 9},
    {"x: int32 y: int32", "", "", "inputs", 9},
    {"x: N * int32", "", "", "inputs", 3},
    {"x: int32 * int32", "", "", "inputs", 3},
    {"x: N * T", "", "N: int >= -1, T: type", "inputs", 3},
    {"x: N * L", "", "N: int, L: list(type)", "inputs", 7},
    {"x: N", "", "N: int", "inputs", 3},
    {"x: float", "", "", "inputs", 3},
    {"", "y: ref", "", "outputs", 6},
    {"", "y: int33", "", "outputs", 3},
    {"", "", "T", "attrs", 1},
    {"", "", "T: typ", "attrs", 3},
    {"", "", "T: {", "attrs", 4},
    {"", "", "T: {float32", "attrs", 11},
    {"", "", "T: {float32,}", "attrs", 12},
    {"", "", "T: {float31}", "attrs", 4},
    {"", "", "T: type, T: int", "attrs", 9},
    {"", "", "a: list", "attrs", 7},
    {"", "", "a: list(int", "attrs", 11},
    {"", "", "a: list(list(int))", "attrs", 8},
    {"", "", "a: bool >= 1", "attrs", 8},
    {"", "", "a: int > 1", "attrs", 9},
    {"", "", "a: int >= x", "attrs", 10},
    {"", "", "a: int = x", "attrs", 9},
    {"", "", "a: int = 9223372036854775808", "attrs", 9},
    {"", "", "a: int >= 1 = 0", "attrs", 14},
    {"", "", "a: int = 1.5", "attrs", 10},
    {"", "", "a: float = .5", "attrs", 11},
    {"", "", "a: float = 1e", "attrs", 11},
    {"", "", "a: float = 1e30", "attrs", 11},
    {"", "", "a: bool = 1", "attrs", 10},
    {"", "", "a: string = x", "attrs", 12},
    {"", "", "a: string = 'x", "attrs", 12},
    {"", "", "a: {index} = float32", "attrs", 13},
    {"", "", "a: type = invalid", "attrs", 10},
    {"", "", "a: shape = 2", "attrs", 11},
    {"", "", "a: shape = [2", "attrs", 13},
    {"", "", "a: shape = [-1]", "attrs", 12},
    {"", "", "a: shape = [1,1,1,1,1,1,1,1,1]", "attrs", 27},
    {"", "", "a: list(int) = 1", "attrs", 15},
    {"", "", "a: list(int) = [1", "attrs", 17},
    {"", "", "a: list(int) = [1,]", "attrs", 18},
    {"", "", "a: list(int) >= 2 = [1]", "attrs", 22},
    {"", "", "a: tensor = 1", "attrs", 10},
    {"", "", "a: func = f", "attrs", 8},
    {"", "", "a: int = 1 b: int", "attrs", 11},
};

START_TEST(a_mistake_is_refused_with_its_place)
{
    char place[32];

    ck_assert_int_eq(
        parse(mistakes[_i].inputs, mistakes[_i].outputs, mistakes[_i].attrs),
        EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(err.detail, EDDY_E_OP_SPEC);
    ck_assert_str_eq(err.op, "Op");
    snprintf(place, sizeof place, "%s, offset %u: ", mistakes[_i].part,
             mistakes[_i].offset);
    ck_assert_msg(strncmp(err.message, place, strlen(place)) == 0,
                  "%s, not at %s", err.message, place);
}
END_TEST

START_TEST(a_repeated_argument_is_refused)
{
    ck_assert_int_eq(parse("x: int32, x: bool", "", ""), EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(parse("x: int32", "x: bool", ""), EDDY_OK);
}
END_TEST

START_TEST(a_default_below_the_minimum_of_a_number_is_refused)
{
    ck_assert_int_eq(parse("x: N * int32", "", "N: int = 0"),
                     EDDY_INVALID_ARGUMENT);
    ck_assert_int_eq(parse("x: N * int32", "", "N: int >= 0 = 0"), EDDY_OK);
}
END_TEST

START_TEST(more_attributes_than_the_limit_are_refused)
{
    char text[16 * (EDDY__MAX_ATTRS + 1)];
    size_t used = 0;

    for (int i = 0; i <= EDDY__MAX_ATTRS; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%sa%d: int",
                                 i > 0 ? ", " : "", i);
        ck_assert_int_eq(parse("", "", text),
                         i < EDDY__MAX_ATTRS ? EDDY_OK : EDDY_INVALID_ARGUMENT);
    }
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    eddy_status status = EDDY_RESOURCE_EXHAUSTED;

    for (long long n = 0; status != EDDY_OK; n++) {
        eddy__arena_destroy(&arena);
        counting_allocator_allow(&counting, n);
        status = parse("x: T, values: N * T", "y: T",
                       "T: {float32, index} = int64, N: int, "
                       "s: string = 'a text', d: list(int) = [1, 2]");
        ck_assert(status == EDDY_OK || status == EDDY_RESOURCE_EXHAUSTED);
        ck_assert_int_lt(n, 100);
    }
    counting_allocator_allow(&counting, -1);
}
END_TEST

#define N(table) (int)(sizeof(table) / sizeof((table)[0]))

TCase *signature_tests(void)
{
    TCase *tc = tcase_create("signature");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, an_empty_signature_has_nothing);
    tcase_add_test(tc, arguments_say_where_their_dtype_comes_from);
    tcase_add_test(tc, a_number_of_tensors_is_at_least_one_unless_said);
    tcase_add_loop_test(tc, a_type_attribute_allows_its_group, 0, N(groups));
    tcase_add_test(
        tc, float_is_a_group_where_an_argument_uses_it_and_a_number_elsewhere);
    tcase_add_loop_test(tc, an_attribute_has_its_kind_and_no_default, 0,
                        N(kinds));
    tcase_add_loop_test(tc, integers_are_read_to_their_limits, 0,
                        N(int_defaults));
    tcase_add_loop_test(tc, floats_are_rounded_as_the_compiler_rounds_them, 0,
                        N(float_defaults));
    tcase_add_test(tc, defaults_of_other_kinds_are_read);
    tcase_add_loop_test(tc, shapes_are_read, 0, N(shape_defaults));
    tcase_add_test(tc, lists_are_read);
    tcase_add_loop_test(tc, a_mistake_is_refused_with_its_place, 0,
                        N(mistakes));
    tcase_add_test(tc, a_repeated_argument_is_refused);
    tcase_add_test(tc, a_default_below_the_minimum_of_a_number_is_refused);
    tcase_add_test(tc, more_attributes_than_the_limit_are_refused);
    tcase_add_test(tc, every_allocation_may_fail);
    return tc;
}
