/* SPDX-License-Identifier: Apache-2.0 */
/* Visibility, linkage and checking marks that every public header uses. */
#ifndef EDDY_API_H
#define EDDY_API_H

#if defined(__GNUC__)
#define EDDY_API __attribute__((visibility("default")))
#define EDDY_MUST_USE __attribute__((warn_unused_result))
#define EDDY_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define EDDY_API
#define EDDY_MUST_USE
#define EDDY_PRINTF(fmt, args)
#endif

#ifdef __cplusplus
#define EDDY_BEGIN_DECLS extern "C" {
#define EDDY_END_DECLS }
#else
#define EDDY_BEGIN_DECLS
#define EDDY_END_DECLS
#endif

#endif
