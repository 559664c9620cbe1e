/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which loops a network takes.  What depends on itself is a strongly connected
 * component of the cells, found by Tarjan's algorithm along the references;
 * each such component is a loop of its own.  The rest is computed at every
 * step too, and goes into the latest loop that it depends on; what depends on
 * sequences alone, into the one loop that reads it, or else before all others.
 */
#include "core/base/status.h"
#include "frontends/shared/network.h"

#include <stdio.h>
#include <string.h>

/* The loop of what depends on no other loop, until it is known which it is. */
#define FLOATING (UINT32_MAX - 1)

typedef struct visit {
    uint32_t cell;
    size_t next; /* the input to go to */
} visit;

typedef struct planner {
    const eddy_cntk *network;
    eddy__loops *loops;
    uint32_t *index, *low; /* Tarjan's; index 0: not visited */
    uint8_t *on_stack;
    uint32_t *stack;
    visit *visits;
    size_t n_stack, n_visits;
    uint32_t n_indices, n_components;
    uint32_t *pending; /* scratch: inputs that a cell waits for */
    eddy_error *err;
} planner;

static const eddy__cell *cell_at(const planner *p, uint32_t cell)
{
    return &p->network->cells[cell];
}

/* The cell that input `i` comes from in the end. */
static uint32_t source_of(const planner *p, const eddy__cell *cell, size_t i)
{
    return p->network->cell_of[eddy__network_root(p->network, cell->inputs[i])];
}

static size_t n_sources(const eddy__cell *cell)
{
    return cell->kind == EDDY__CELL_DECLARED ? 0 : cell->n_inputs;
}

static eddy_status fail_at(const planner *p, const char *name, const char *why)
{
    return eddy__fail_node(p->err, EDDY_INVALID_ARGUMENT, EDDY_E_RECURRENCE,
                           name, NULL, "'%.64s' of '%.64s' %s", name,
                           p->network->name, why);
}

/* ---- components ---- */

static void open_cell(planner *p, uint32_t cell)
{
    p->index[cell] = p->low[cell] = ++p->n_indices;
    p->stack[p->n_stack++] = cell;
    p->on_stack[cell] = 1;
    p->visits[p->n_visits++] = (visit){cell, 0};
    p->loops->placing[cell].is_needed = true;
}

/* Takes a whole component off the stack; its cells follow each other. */
static void close_component(planner *p, uint32_t cell)
{
    const size_t begin = p->loops->n_order;
    uint32_t member;

    do {
        member = p->stack[--p->n_stack];
        p->on_stack[member] = 0;
        p->loops->placing[member].component = p->n_components;
        p->loops->order[p->loops->n_order++] = member;
    } while (member != cell);
    p->n_components++;
    if (p->loops->n_order - begin > 1)
        for (size_t i = begin; i < p->loops->n_order; i++)
            p->loops->placing[p->loops->order[i]].is_recurrent = true;
}

static eddy_status step(planner *p)
{
    visit *v = &p->visits[p->n_visits - 1];
    const eddy__cell *cell = cell_at(p, v->cell);
    const uint32_t at = v->cell;
    uint32_t to;

    if (cell->kind == EDDY__CELL_DECLARED)
        return fail_at(p, cell->name, "was declared and not resolved");
    if (v->next == n_sources(cell)) {
        if (p->low[at] == p->index[at])
            close_component(p, at);
        p->n_visits--;
        if (p->n_visits > 0) {
            const uint32_t from = p->visits[p->n_visits - 1].cell;

            if (p->low[at] < p->low[from])
                p->low[from] = p->low[at];
        }
        return EDDY_OK;
    }
    to = source_of(p, cell, v->next++);
    if (to == at)
        p->loops->placing[at].is_recurrent = true;
    if (p->index[to] == 0)
        open_cell(p, to);
    else if (p->on_stack[to] && p->index[to] < p->low[at])
        p->low[at] = p->index[to];
    return EDDY_OK;
}

static eddy_status find_components(planner *p, const eddy_cntk_wanted *wanted,
                                   size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const eddy_cntk_value root =
            eddy__network_root(p->network, wanted[i].value);
        const uint32_t cell = p->network->cell_of[root];

        if (p->index[cell] == 0)
            open_cell(p, cell);
        while (p->n_visits > 0)
            EDDY_TRY(step(p));
    }
    return EDDY_OK;
}

/* ---- what a cycle must be ---- */

/* "a, b, c": the cells of a component, as far as there is room. */
static void list_names(const planner *p, size_t begin, size_t end, char *text,
                       size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = begin; i < end && length < size; i++) {
        const eddy__cell *cell = cell_at(p, p->loops->order[i]);
        const char *format = cell->kind != EDDY__CELL_DELAY ? "%s%.40s"
                             : cell->delay > 0 ? "%spast_value(%.40s)"
                                               : "%sfuture_value(%.40s)";
        const int n = snprintf(text + length, size - length, format,
                               i > begin ? ", " : "", cell->name);

        length += n > 0 ? (size_t)n : 0;
    }
}

static eddy_status fail_cycle(const planner *p, size_t begin, size_t end,
                              const char *why)
{
    char names[400];

    list_names(p, begin, end, names, sizeof names);
    return eddy__fail_node(p->err, EDDY_INVALID_ARGUMENT, EDDY_E_RECURRENCE,
                           cell_at(p, p->loops->order[begin])->name, NULL,
                           "a cycle of '%.64s' %s: %s", p->network->name, why,
                           names);
}

static eddy_status find_direction(const planner *p, size_t begin, size_t end,
                                  int *out)
{
    bool past = false, future = false;

    for (size_t i = begin; i < end; i++) {
        const eddy__cell *cell = cell_at(p, p->loops->order[i]);

        past = past || (cell->kind == EDDY__CELL_DELAY && cell->delay > 0);
        future = future || (cell->kind == EDDY__CELL_DELAY && cell->delay < 0);
    }
    if (past && future)
        return fail_cycle(p, begin, end,
                          "goes by past and by future values, which no loop "
                          "has at one time");
    *out = future ? -1 : 1;
    return EDDY_OK;
}

/* Does input `i` of the cell wait for a cell of the component at this step? */
static bool waits(const planner *p, const eddy__cell *cell, size_t i,
                  uint32_t component)
{
    return cell->kind != EDDY__CELL_DELAY &&
           p->loops->placing[source_of(p, cell, i)].component == component;
}

/*
 * Sorts a component so that each cell comes after what it needs at the same
 * step.  Delays need nothing: they come first.
 */
static eddy_status sort_component(planner *p, size_t begin, size_t end)
{
    uint32_t *order = p->loops->order;
    const uint32_t component = p->loops->placing[order[begin]].component;
    size_t done = begin;
    bool any = true;

    for (size_t i = begin; i < end; i++)
        p->pending[order[i]] = 1;
    while (any) {
        any = false;
        for (size_t i = done; i < end; i++) {
            const uint32_t id = order[i];
            const eddy__cell *cell = cell_at(p, id);
            bool ready = true;

            for (size_t k = 0; k < n_sources(cell) && ready; k++)
                ready = !waits(p, cell, k, component) ||
                        p->pending[source_of(p, cell, k)] == 0;
            if (!ready)
                continue;
            p->pending[id] = 0;
            order[i] = order[done];
            order[done++] = id;
            any = true;
        }
    }
    return done == end ? EDDY_OK
                       : fail_cycle(p, done, end,
                                    "needs its own value of the same step; a "
                                    "past or future value is wanted in it");
}

/* ---- loops ---- */

static void add_loop(planner *p, int direction)
{
    p->loops->direction[p->loops->n_loops++] = direction;
}

static bool is_shift(const planner *p, uint32_t cell)
{
    return cell_at(p, cell)->kind == EDDY__CELL_DELAY &&
           !p->loops->placing[cell].is_recurrent;
}

/*
 * The first loop in which what the cell gives can be read: 0 for any.  A shift
 * takes the whole of what it shifts.
 */
static uint32_t ready_in(const planner *p, uint32_t cell)
{
    uint32_t after = 0, loop;

    while (is_shift(p, cell)) {
        cell = source_of(p, cell_at(p, cell), 0);
        after = 1;
    }
    loop = p->loops->placing[cell].loop;
    if (loop == EDDY__NO_LOOP)
        return 0;
    return (loop == FLOATING ? 0 : loop) + after;
}

/* Where a function in no cycle goes: with the last of what it depends on. */
static void place(planner *p, uint32_t id)
{
    const eddy__cell *cell = cell_at(p, id);
    uint32_t last = 0;

    for (size_t i = 0; i < n_sources(cell); i++) {
        const uint32_t ready = ready_in(p, source_of(p, cell, i));

        if (ready > last)
            last = ready;
    }
    if (last == p->loops->n_loops)
        add_loop(p, 1);
    p->loops->placing[id].loop = last > 0 ? last : FLOATING;
}

static eddy_status place_component(planner *p, size_t begin, size_t end)
{
    const uint32_t *order = p->loops->order;
    int direction = 1;

    if (!p->loops->placing[order[begin]].is_recurrent) {
        const eddy__cell *cell = cell_at(p, order[begin]);

        if (cell->kind == EDDY__CELL_FUNCTION)
            place(p, order[begin]);
        if (cell->kind == EDDY__CELL_DELAY &&
            cell_at(p, source_of(p, cell, 0))->kind == EDDY__CELL_OUTSIDE)
            return fail_at(p, cell->name,
                           "is a value from outside, which has no steps, no "
                           "past and no future");
        return EDDY_OK;
    }
    EDDY_TRY(find_direction(p, begin, end, &direction));
    EDDY_TRY(sort_component(p, begin, end));
    for (size_t i = begin; i < end; i++)
        p->loops->placing[order[i]].loop = (uint32_t)p->loops->n_loops;
    add_loop(p, direction);
    return EDDY_OK;
}

static eddy_status place_all(planner *p)
{
    const uint32_t *order = p->loops->order;

    add_loop(p, 1);
    for (size_t begin = 0; begin < p->loops->n_order;) {
        const uint32_t component = p->loops->placing[order[begin]].component;
        size_t end = begin;

        while (end < p->loops->n_order &&
               p->loops->placing[order[end]].component == component)
            end++;
        EDDY_TRY(place_component(p, begin, end));
        begin = end;
    }
    return EDDY_OK;
}

/*
 * A floating cell goes where all that reads it is, if that is one loop; its
 * readers come after it in the order, so they are settled first.  `pending`
 * holds the loop that has been seen.
 */
static void settle(planner *p)
{
    const eddy__placing *placing = p->loops->placing;

    for (size_t i = 0; i < p->network->n_cells; i++)
        p->pending[i] = EDDY__NO_LOOP;
    for (size_t i = p->loops->n_order; i-- > 0;) {
        const uint32_t id = p->loops->order[i];
        const eddy__cell *cell = cell_at(p, id);
        uint32_t loop;

        if (placing[id].loop == FLOATING)
            p->loops->placing[id].loop =
                p->pending[id] == EDDY__NO_LOOP ? 0 : p->pending[id];
        loop = is_shift(p, id) ? 0 : placing[id].loop;
        for (size_t k = 0; k < n_sources(cell); k++) {
            uint32_t *seen = &p->pending[source_of(p, cell, k)];

            *seen = *seen == EDDY__NO_LOOP || *seen == loop ? loop : 0;
        }
    }
}

/* ---- the whole ---- */

static bool allocate(planner *p, eddy__arena *arena)
{
    const size_t n = p->network->n_cells;

    p->loops->placing =
        eddy__arena_allocate_zeroed(arena, n, sizeof *p->loops->placing);
    p->loops->order = eddy__arena_allocate(arena, n, sizeof *p->loops->order);
    p->loops->direction =
        eddy__arena_allocate(arena, n + 1, sizeof *p->loops->direction);
    p->index = eddy__arena_allocate_zeroed(arena, n, sizeof *p->index);
    p->low = eddy__arena_allocate_zeroed(arena, n, sizeof *p->low);
    p->on_stack = eddy__arena_allocate_zeroed(arena, n, 1);
    p->stack = eddy__arena_allocate(arena, n, sizeof *p->stack);
    p->visits = eddy__arena_allocate(arena, n, sizeof *p->visits);
    p->pending = eddy__arena_allocate(arena, n, sizeof *p->pending);
    for (size_t i = 0; p->loops->placing && i < n; i++)
        p->loops->placing[i].loop = EDDY__NO_LOOP;
    return p->loops->placing && p->loops->order && p->loops->direction &&
           p->index && p->low && p->on_stack && p->stack && p->visits &&
           p->pending;
}

eddy_status eddy__network_plan(const eddy_cntk *network,
                               const eddy_cntk_wanted *wanted, size_t n,
                               eddy__arena *arena, eddy__loops *out,
                               eddy_error *err)
{
    planner p = {.network = network, .loops = out, .err = err};

    *out = (eddy__loops){.n_order = 0};
    if (!allocate(&p, arena))
        return eddy__fail_memory(err);
    EDDY_TRY(find_components(&p, wanted, n));
    EDDY_TRY(place_all(&p));
    settle(&p);
    return EDDY_OK;
}
