/* SPDX-License-Identifier: Apache-2.0 */
/* Executions of regions: made, entered, counted and freed. */
#include "runtime/exec/linear/linear.h"

#include "core/base/status.h"
#include "runtime/exec/carver.h"
#include "runtime/exec/check.h"

#include <string.h>

/* Registers of both forms, those that code uses first. */
static size_t room_of(const eddy__linear *region)
{
    return (size_t)region->n_before + region->n_registers + region->n_behind;
}

static void carve_run(const eddy__linear *region, eddy__carver *c,
                      eddy__linear_run *l)
{
    eddy__linear_run parts;

    eddy__carve(c, 1, sizeof *l);
    parts.runner = eddy__carve(c, 1, sizeof *l->runner);
    parts.registers = eddy__carve(c, room_of(region), sizeof *l->registers);
    parts.instances = eddy__carve(c, region->n_frames, sizeof *l->instances);
    parts.places = eddy__carve(c, region->n_frames, sizeof *l->places);
    parts.iterations = eddy__carve(c, region->n_frames, sizeof *l->iterations);
    parts.counters = eddy__carve(c, region->n_counters, sizeof *l->counters);
    parts.live = eddy__carve(c, region->n_guards, sizeof *l->live);
    parts.entered = eddy__carve(c, region->n_frames, sizeof *l->entered);
    if (!l)
        return;
    l->runner = parts.runner;
    l->registers = parts.registers + region->n_before;
    l->instances = parts.instances;
    l->places = parts.places;
    l->iterations = parts.iterations;
    l->counters = parts.counters;
    l->live = parts.live;
    l->entered = parts.entered;
}

/* By carving from a block that is not there. */
eddy__native_layout eddy__linear_layout(const eddy__linear *region)
{
    eddy__linear_run parts;
    eddy__carver c = {0};
    size_t at, registers;
    eddy__native_layout layout = {.index_stride = sizeof(eddy__place)};

    (void)parts;
    eddy__carve(&c, 1, sizeof parts);
    at = c.used;
    eddy__carve(&c, 1, sizeof *parts.runner);
    registers = c.used + region->n_before * sizeof *parts.registers;
    layout.state = -(int32_t)(registers - at);
    eddy__carve(&c, room_of(region), sizeof *parts.registers);
    eddy__carve(&c, region->n_frames, sizeof *parts.instances);
    layout.indexes =
        (int32_t)(c.used - registers + offsetof(eddy__place, index));
    eddy__carve(&c, region->n_frames, sizeof *parts.places);
    layout.iterations = (int32_t)(c.used - registers);
    eddy__carve(&c, region->n_frames, sizeof *parts.iterations);
    layout.counters = (int32_t)(c.used - registers);
    return layout;
}

eddy__linear_run *eddy__linear_create(eddy_run *run, const eddy__linear *region,
                                      const eddy__place *parent)
{
    eddy__carver c = {0};
    eddy__linear_run *l;
    size_t size;

    /* With code, it begins in the form of the code. */
    if (region->later &&
        atomic_load_explicit(&region->tier->machine, memory_order_acquire))
        region = region->later;
    carve_run(region, &c, NULL);
    size = c.used;
    c = (eddy__carver){.block = eddy__heap_allocate(&run->heap, size, &size)};
    if (!c.block) {
        eddy__run_raise_memory(run, &run->steps[region->frames[0].enter],
                               parent);
        return NULL;
    }
    l = (eddy__linear_run *)(void *)c.block;
    memset(l, 0, sizeof *l);
    carve_run(region, &c, l);
    l->region = region;
    l->block_size = size;
    memcpy(l->registers, region->start,
           region->n_registers * sizeof *l->registers);
    memset(l->iterations, 0, region->n_frames * sizeof *l->iterations);
    memset(l->counters, 0, region->n_counters * sizeof *l->counters);
    for (uint32_t i = 0; i < region->n_frames; i++) {
        const eddy__linear_frame *frame = &region->frames[i];

        l->instances[i].plan = &run->plan->frames[frame->frame];
        l->instances[i].parent = frame->parent == EDDY__LINEAR_NONE
                                     ? parent
                                     : &l->places[frame->parent];
        l->instances[i].is_linear = true;
        l->places[i] = (eddy__place){.instance = &l->instances[i], .index = -1};
    }
    return l;
}

void eddy__linear_put_elements(eddy__linear_run *l, const eddy__value *value,
                               const uint32_t *registers, uint32_t n)
{
    const unsigned char *data = eddy__value_elements(value);
    size_t size;

    if (n == 0)
        return;
    size = eddy_dtype_size((eddy_dtype)value->dtype);
    for (uint32_t i = 0; i < n; i++)
        memcpy(&l->registers[registers[i]].as, data + i * size, size);
}

void eddy__linear_enter(eddy_run *run, eddy__linear_run *l, uint32_t i,
                        eddy__value value)
{
    const eddy__linear_entry *entry = &l->region->entries[i];
    eddy__value *to;

    if (!eddy__check_value(run, &run->steps[entry->step], 0, &value,
                           &l->places[0])) {
        eddy__value_clear(&run->heap, &value);
        return;
    }
    eddy__linear_put_elements(l, &value, entry->parts, entry->n_parts);
    if (entry->to == EDDY__LINEAR_NONE) {
        eddy__value_clear(&run->heap, &value);
        return;
    }
    to = &l->registers[entry->to];
    if (entry->is_raw)
        to->as = value.as;
    else if (entry->held != EDDY__LINEAR_NONE) {
        l->registers[entry->held] = value;
        *to = eddy__value_lend(&value);
    } else {
        *to = value;
        to->uses = entry->uses;
        if (entry->uses == 0)
            eddy__value_clear(&run->heap, to);
    }
}

/* What entry `from` brought in, or what has come back to it since. */
static void move_entry(eddy_run *run, eddy__linear_run *l, eddy__value *before,
                       const eddy__linear_entry *from,
                       const eddy__linear_entry *to)
{
    const bool is_held = from->held != EDDY__LINEAR_NONE;
    eddy__value *value;

    if (from->to == EDDY__LINEAR_NONE) {
        for (uint32_t i = 0; i < from->n_parts; i++)
            l->registers[to->parts[i]].as = before[from->parts[i]].as;
        return;
    }
    value = &before[is_held ? from->held : from->to];
    if (from->is_raw) {
        l->registers[to->to].as = value->as;
        return;
    }
    if (value->kind == EDDY__NONE)
        return; /* nobody reads it any more */
    eddy__linear_put_elements(l, value, to->parts, to->n_parts);
    if (to->to == EDDY__LINEAR_NONE) {
        eddy__value_clear(&run->heap, value);
        return;
    }
    l->registers[is_held ? to->held : to->to] = *value;
    if (is_held)
        l->registers[to->to] = eddy__value_lend(value);
    value->kind = EDDY__NONE;
}

/* Where an iteration of `later`'s one loop begins as one does at `at`. */
static uint32_t place_of(const eddy__linear *first, const eddy__linear *later,
                         uint32_t at)
{
    const bool is_enter = first->code[at].op == EDDY__LINEAR_ENTER;
    uint32_t i = 0;

    while (is_enter ? later->code[i].op != EDDY__LINEAR_ENTER
                    : later->code[i].op != EDDY__LINEAR_BACK &&
                          !eddy__linear_is_back_if(later->code[i].op))
        i++;
    return i;
}

void eddy__linear_go_over(eddy_run *run, eddy__linear_run *l)
{
    const eddy__linear *first = l->region, *later = first->later;
    eddy__value *const before = l->registers;

    if (!later)
        return;
    l->registers = before - later->n_registers;
    memcpy(l->registers, later->start,
           later->n_registers * sizeof *l->registers);
    for (uint32_t i = 0; i < first->n_entries; i++)
        move_entry(run, l, before, &first->entries[i], &later->entries[i]);
    for (uint32_t i = 0; i < first->n_owned; i++)
        eddy__value_clear(&run->heap, &before[first->owned[i]]);
    l->at = place_of(first, later, l->at);
    l->region = later;
    run->kernel.values = l->registers;
}

eddy__value eddy__linear_take_exit(eddy__linear_run *l, uint32_t i)
{
    eddy__value value = eddy__run_take(&l->registers[l->region->exits[i].from]);

    eddy__value_keep(&value);
    return value;
}

/* ---- counting ---- */

/* How often a guard was live: those it depends on come before it. */
static uint64_t times(const eddy__linear_run *l, uint32_t i)
{
    const uint64_t *live = l->live, *entered = l->entered;
    const eddy__linear_guard *g = &l->region->guards[i];
    const uint64_t all = l->iterations[g->frame];

    switch ((eddy__linear_guard_kind)g->kind) {
    case EDDY__GUARD_ALWAYS:
        return all;
    case EDDY__GUARD_BODY:
        return all - (entered[g->frame] < all ? entered[g->frame] : all);
    case EDDY__GUARD_END:
        return entered[g->frame] < all ? entered[g->frame] : all;
    case EDDY__GUARD_TRUE:
        return g->counter == EDDY__LINEAR_NONE ? 0 : l->counters[g->counter];
    case EDDY__GUARD_FALSE:
        return live[g->parent] > live[g->other]
                   ? live[g->parent] - live[g->other]
                   : 0;
    }
    return 0;
}

/*
 * From the counts of blocks to those of nodes.  A region that has broken off
 * counts the iterations that it was in as whole.
 */
static void count(eddy_run *run, eddy__linear_run *l)
{
    uint64_t *live = l->live, *entered = l->entered;
    const eddy__linear *region = l->region;
    uint64_t n_live = 0, n_dead = 0;

    for (uint32_t f = 0; f < region->n_frames; f++) {
        l->iterations[f] += (uint64_t)(l->places[f].index + 1);
        entered[f] = f == 0;
    }
    for (uint32_t i = 0; i < region->n_guards; i++) {
        const eddy__linear_guard *g = &region->guards[i];

        /* Guards come by frame: what a frame is entered under is known. */
        if (g->kind == EDDY__GUARD_ALWAYS && g->frame > 0) {
            const eddy__linear_frame *frame = &region->frames[g->frame];

            const uint64_t n =
                l->iterations[frame->parent] - live[frame->guard];

            entered[g->frame] = live[frame->guard];
            n_dead += frame->n_dead * n;
            n_live += frame->n_live * n;
        }
        live[i] = times(l, i);
        n_live += live[i] * g->own;
        n_dead += (l->iterations[g->frame] - live[i]) * g->own;
    }
    run->stats.dead_executions += n_dead;
    run->n_executed += n_live + n_dead;
}

/* ---- the end ---- */

void eddy__linear_destroy(eddy_run *run, eddy__linear_run *l)
{
    const eddy__linear *region = l->region;

    if (l->is_on)
        count(run, l);
    for (uint32_t i = 0; i < region->n_owned; i++)
        eddy__value_clear(&run->heap, &l->registers[region->owned[i]]);
    eddy__heap_recycle(&run->heap, l, l->block_size);
}
