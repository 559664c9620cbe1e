/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left of the attributes of a _Send or a _Recv once it is planned: the
 * state of its kernel.
 */
#ifndef EDDY_CORE_EDGE_H
#define EDDY_CORE_EDGE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * An attribute of both ends, which TensorFlow ignores: both ranks know by
 * themselves when the value is dead, and nothing is sent then.
 */
#define EDDY__KNOWN_DEAD "_eddy_known_dead"

typedef struct eddy__edge_state {
    uint64_t hash;
    bool is_known_dead;
    char text[]; /* that both ends have: SENDER;RECEIVER;NAME, with devices */
} eddy__edge_state;

#endif
