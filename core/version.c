/* SPDX-License-Identifier: Apache-2.0 */
/* The version of the library that runs. */
#include "eddy/version.h"

const char *eddy_version(void)
{
    return EDDY_VERSION_STRING;
}

int eddy_version_number(void)
{
    return EDDY_VERSION_NUMBER;
}
