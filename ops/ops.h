/* The families of ops, each with its table of definitions and kernels. */
#ifndef EDDY_OPS_OPS_H
#define EDDY_OPS_OPS_H

#include "runtime/core/registry.h"

/* X(family): ops/<family>.c holds the table eddy__<family>_ops. */
#define EDDY__OP_FAMILY_MAP(X)

#define X(family) extern const eddy__op_table eddy__##family##_ops;
EDDY__OP_FAMILY_MAP(X)
#undef X

#endif
