/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aid/child.h"

#include <stdlib.h>

#ifdef EDDY_COUNTED
#include <gcov.h>
#endif

void child_leave(int status)
{
#ifdef EDDY_COUNTED
    __gcov_dump();
#endif
    _Exit(status);
}
