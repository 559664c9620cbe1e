/* SPDX-License-Identifier: Apache-2.0 */
/* Where registers of the linear form are, on x86-64. */
#include "runtime/native/x86_64.h"

/* Behind those for use within an instruction. */
#define FIRST_XMM 3

/* Those that nothing but packs uses. */
#define FIRST_HIGH 16

/* Those that survive calls come first, as allocate.h has it. */
static const uint8_t int_homes[] = {EDDY__RBX, 12, 13, EDDY__R15, EDDY__RSI,
                                    EDDY__RDI, 8,  9,  10,        11};
static const uint8_t int_homes_with_tapes[] = {
    EDDY__RBX, 12, 13, EDDY__RSI, EDDY__RDI, 8, 9, 10, 11};

uint32_t eddy__x86_home(const eddy__x86_maker *m,
                        const eddy__native_range *range)
{
    switch ((eddy__native_class)range->class) {
    case EDDY__CLASS_FLOAT:
        return FIRST_XMM + range->home;
    case EDDY__CLASS_PACK:
        return (m->lanes.is_512 ? FIRST_HIGH
                                : FIRST_XMM + m->region.file->n_floats) +
               range->home;
    case EDDY__CLASS_MASK:
        return m->first_mask + range->home;
    default:
        return m->region.has_tapes ? int_homes_with_tapes[range->home]
                                   : int_homes[range->home];
    }
}

eddy__x86_place eddy__x86_lane_place(const eddy__native_pack *pack,
                                     uint32_t lane)
{
    const size_t size = eddy_dtype_size((eddy_dtype)pack->dtype);

    return eddy__x86_memory_by(EDDY__RSP, pack->slot + (int32_t)(lane * size));
}

eddy__x86_place eddy__x86_place_of(const eddy__x86_maker *m, uint32_t number)
{
    const eddy__native_range *r = eddy__native_range_of(&m->region, number);
    const eddy__native_pack *pack =
        eddy__native_pack_of(&m->region.homes.packs, number);

    if (pack)
        return eddy__x86_lane_place(pack, eddy__native_lane_of(pack, number));
    if (r->home != EDDY__NO_HOME)
        return eddy__x86_reg(eddy__x86_home(m, r));
    return eddy__x86_memory(
        (int32_t)(number * sizeof(eddy__value) + offsetof(eddy__value, as)));
}

eddy__x86_form eddy__x86_form_of(const eddy__x86_maker *m, uint32_t bytes)
{
    return (eddy__x86_form){.is_evex = m->lanes.is_512,
                            .bits = (uint16_t)(bytes * 8)};
}
