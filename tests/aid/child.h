/* SPDX-License-Identifier: Apache-2.0 */
/* How a process that a test has forked ends. */
#ifndef EDDY_TESTS_CHILD_H
#define EDDY_TESTS_CHILD_H

/*
 * Ends the process at once: what its parent wants done at an exit is left to
 * the parent.  In the build that counts lines, those of the child count.
 */
_Noreturn void child_leave(int status);

#endif
