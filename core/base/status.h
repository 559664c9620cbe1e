/* SPDX-License-Identifier: Apache-2.0 */
/* How eddy's own code raises and passes on a status. */
#ifndef EDDY_BASE_STATUS_H
#define EDDY_BASE_STATUS_H

#include "eddy/status.h"

#include <stdarg.h>

/* Leaves the enclosing function with the status of `call` unless it is OK. */
#define EDDY_TRY(call)                                                         \
    do {                                                                       \
        eddy_status try_status_ = (call);                                      \
        if (try_status_ != EDDY_OK)                                            \
            return try_status_;                                                \
    } while (0)

/*
 * Leaves the enclosing function with EDDY_E_ARGUMENT and a message, printed as
 * by printf, if `condition` holds: one line for each mistake of a caller, so
 * that the message names the one that was made.
 */
#define EDDY_REFUSE_IF(condition, err, ...)                                    \
    do {                                                                       \
        if (condition)                                                         \
            return eddy__fail(err, EDDY_INVALID_ARGUMENT, EDDY_E_ARGUMENT,     \
                              __VA_ARGS__);                                    \
    } while (0)

/*
 * Formats the message into `err`, which may be NULL, clears its other texts,
 * and returns `code`, so that a failure is one statement: return
 * eddy__fail(err, EDDY_NOT_FOUND, EDDY_E_UNKNOWN_NAME, "...");
 */
eddy_status eddy__fail(eddy_error *err, eddy_status code, eddy_detail detail,
                       const char *format, ...) EDDY_PRINTF(4, 5);

/* The same for a mistake at a node; `node` and `op` may be NULL. */
eddy_status eddy__fail_node(eddy_error *err, eddy_status code,
                            eddy_detail detail, const char *node,
                            const char *op, const char *format, ...)
    EDDY_PRINTF(6, 7);
eddy_status eddy__fail_v(eddy_error *err, eddy_status code, eddy_detail detail,
                         const char *format, va_list args);

/* RESOURCE_EXHAUSTED, EDDY_E_MEMORY. */
eddy_status eddy__fail_memory(eddy_error *err);

/*
 * Copies `length` bytes of `from` into `to` as a NUL-terminated text of at most
 * `size` - 1 bytes: bytes that do not print, and all that are not UTF-8, are
 * escaped as \xNN, and what is too long loses its middle to "...".
 */
void eddy__copy_text(char *to, size_t size, const char *from, size_t length);

#endif
