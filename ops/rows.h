/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan must know of loops that overlap (runtime/plan/overlap.c): the ops
 * by which one loop reads rows that another still writes
 * (ops/list/tensor_array_rows.c).
 */
#ifndef EDDY_OPS_ROWS_H
#define EDDY_OPS_ROWS_H

/* TensorArrayWriteV3 to an array whose items others wait for. */
#define EDDY__WRITE_ROW "_WriteRow"
/* An item of such an array, once it is written. */
#define EDDY__READ_ROW "_ReadRow"
/* No more items come: what waits still fails, as do items that differ. */
#define EDDY__ROWS_END "_RowsEnd"

#endif
