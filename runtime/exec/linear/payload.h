/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FIELD(D): the member of a value's payload that holds an element of D, one of
 * the letters of the tables.  Kind and dtype stand in the register already.
 */
#ifndef EDDY_EXEC_LINEAR_PAYLOAD_H
#define EDDY_EXEC_LINEAR_PAYLOAD_H

#define FIELD_F32 f32
#define FIELD_F64 f64
#define FIELD_I8 i8
#define FIELD_I16 i16
#define FIELD_I32 i32
#define FIELD_I64 i64
#define FIELD_U8 u8
#define FIELD_U16 u16
#define FIELD_U32 u32
#define FIELD_U64 u64
#define FIELD_B u8
#define FIELD(D) FIELD_##D

#endif
