/* SPDX-License-Identifier: Apache-2.0 */
/* Matches the status of a failure with what a recorded case says of it. */
#include "tools/verify_error.h"

#include <string.h>

typedef struct class_row {
    const char *name;
    eddy_status code;
} class_row;

static const class_row classes[] = {
    {"CancelledError", EDDY_CANCELLED},
    {"UnknownError", EDDY_UNKNOWN},
    {"InvalidArgumentError", EDDY_INVALID_ARGUMENT},
    {"DeadlineExceededError", EDDY_DEADLINE_EXCEEDED},
    {"NotFoundError", EDDY_NOT_FOUND},
    {"AlreadyExistsError", EDDY_ALREADY_EXISTS},
    {"PermissionDeniedError", EDDY_PERMISSION_DENIED},
    {"ResourceExhaustedError", EDDY_RESOURCE_EXHAUSTED},
    {"FailedPreconditionError", EDDY_FAILED_PRECONDITION},
    {"AbortedError", EDDY_ABORTED},
    {"OutOfRangeError", EDDY_OUT_OF_RANGE},
    {"UnimplementedError", EDDY_UNIMPLEMENTED},
    {"InternalError", EDDY_INTERNAL},
    {"UnavailableError", EDDY_UNAVAILABLE},
    {"DataLossError", EDDY_DATA_LOSS},
    {"UnauthenticatedError", EDDY_UNAUTHENTICATED},
};

/*
 * Python's client looks names up before the runtime sees the request, and says
 * ValueError or KeyError where eddy says that there is no node of that name.
 */
static bool is_of_client(const eddy_error *err, const char *class)
{
    if (err->code == EDDY_INVALID_ARGUMENT)
        return true;
    if (err->code != EDDY_NOT_FOUND)
        return false;
    return strcmp(class, "KeyError") == 0 ||
           (strcmp(class, "ValueError") == 0 &&
            err->detail == EDDY_E_UNKNOWN_NAME);
}

bool eddy__error_is_of_class(const eddy_error *err, const char *class,
                             const char *text)
{
    /* The one place where the text counts: the code says too little. */
    if (err->detail == EDDY_E_UNKNOWN_OP &&
        strstr(text, "Op type not registered") == NULL)
        return false;
    if (strcmp(class, "ValueError") == 0 || strcmp(class, "TypeError") == 0 ||
        strcmp(class, "KeyError") == 0)
        return is_of_client(err, class);
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(classes[i].name, class) == 0)
            return classes[i].code == err->code;
    }
    return false;
}
