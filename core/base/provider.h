/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Provider libraries: parts of eddy that bring large libraries with them and
 * that not every program needs.  Each is a shared library of eddy's own, loaded
 * when it is first wanted, so that a program which does without starts without.
 */
#ifndef EDDY_CORE_PROVIDER_H
#define EDDY_CORE_PROVIDER_H

/*
 * Loads the shared library `file`, a bare name, and finds `symbol` in it; NULL
 * if there is none.  It is looked for beside the code of eddy itself (the
 * shared library, or the program that is linked with the static one), in `lib`
 * beside the folder of that, and then where the system looks for libraries.
 * It stays loaded; loading it twice loads it once.  @thread any
 */
const void *eddy__provider_load(const char *file, const char *symbol);

#endif
