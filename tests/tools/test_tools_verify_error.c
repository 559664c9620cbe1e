/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/suites.h"
#include "tools/verify_error.h"

static bool matches(eddy_status code, eddy_detail detail, const char *class,
                    const char *text)
{
    const eddy_error err = {.code = code, .detail = detail};

    return eddy__error_is_of_class(&err, class, text);
}

START_TEST(each_class_is_one_code)
{
    static const struct {
        const char *class;
        eddy_status code;
    } rows[] = {
        {"CancelledError", EDDY_CANCELLED},
        {"InvalidArgumentError", EDDY_INVALID_ARGUMENT},
        {"NotFoundError", EDDY_NOT_FOUND},
        {"ResourceExhaustedError", EDDY_RESOURCE_EXHAUSTED},
        {"FailedPreconditionError", EDDY_FAILED_PRECONDITION},
        {"OutOfRangeError", EDDY_OUT_OF_RANGE},
        {"UnimplementedError", EDDY_UNIMPLEMENTED},
        {"InternalError", EDDY_INTERNAL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int code = EDDY_OK; code <= EDDY_UNAUTHENTICATED; code++)
            ck_assert(matches((eddy_status)code, EDDY_E_NONE, rows[i].class,
                              "") == (code == (int)rows[i].code));
    }
    ck_assert(!matches(EDDY_INVALID_ARGUMENT, EDDY_E_NONE, "OtherError", ""));
}
END_TEST

START_TEST(what_the_client_raised_is_a_bad_argument)
{
    ck_assert(matches(EDDY_INVALID_ARGUMENT, EDDY_E_NONE, "ValueError", ""));
    ck_assert(matches(EDDY_INVALID_ARGUMENT, EDDY_E_NONE, "TypeError", ""));
    ck_assert(matches(EDDY_INVALID_ARGUMENT, EDDY_E_NONE, "KeyError", ""));
    ck_assert(matches(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, "KeyError", ""));
    ck_assert(matches(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, "ValueError", ""));
    ck_assert(!matches(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, "TypeError", ""));
    ck_assert(!matches(EDDY_NOT_FOUND, EDDY_E_FUNCTION, "ValueError", ""));
    ck_assert(!matches(EDDY_INTERNAL, EDDY_E_NONE, "ValueError", ""));
}
END_TEST

START_TEST(an_op_of_tensorflow_must_not_be_unknown)
{
    ck_assert(matches(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, "NotFoundError",
                      "Op type not registered 'Frobnicate' in binary"));
    ck_assert(!matches(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, "NotFoundError",
                       "Resource x does not exist"));
    ck_assert(!matches(EDDY_NOT_FOUND, EDDY_E_UNKNOWN_OP, "KeyError", "x"));
}
END_TEST

TCase *tools_verify_error_tests(void)
{
    TCase *tc = tcase_create("tools_verify_error");

    tcase_add_test(tc, each_class_is_one_code);
    tcase_add_test(tc, what_the_client_raised_is_a_bad_argument);
    tcase_add_test(tc, an_op_of_tensorflow_must_not_be_unknown);
    return tc;
}
