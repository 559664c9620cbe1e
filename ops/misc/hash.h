/* SPDX-License-Identifier: Apache-2.0 */
/* Published hashes of bytes, the same on every machine. */
#ifndef EDDY_OPS_HASH_H
#define EDDY_OPS_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FarmHash's Fingerprint64. */
uint64_t eddy__hash_farm(const unsigned char *data, size_t n);

/* MurmurHash64A with the seed that TensorFlow gives it. */
uint64_t eddy__hash_murmur(const unsigned char *data, size_t n);

#endif
