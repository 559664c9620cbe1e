/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of the attributes of a _Send or a _Recv once it is planned: the
 * state of its kernel.
 */
#ifndef EDDY_CORE_EDGE_H
#define EDDY_CORE_EDGE_H

#include <stdint.h>

typedef struct eddy__edge_state {
    uint64_t hash;
    char text[]; /* that both ends have: SENDER;RECEIVER;NAME, with devices */
} eddy__edge_state;

#endif
