/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a failure is the one that a recorded case expects. */
#ifndef EDDY_TOOLS_VERIFY_ERROR_H
#define EDDY_TOOLS_VERIFY_ERROR_H

#include "eddy/status.h"

#include <stdbool.h>

/*
 * `class` is TensorFlow's name of an error class or Python's of one that its
 * client raised, `text` its message.  False also for a class that is not known,
 * and for an op that this build does not know where TensorFlow does.
 */
bool eddy__error_is_of_class(const eddy_error *err, const char *class,
                             const char *text);

#endif
