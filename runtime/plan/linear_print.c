/* SPDX-License-Identifier: Apache-2.0 */
/* The linear form as text: `eddy inspect --linear`. */
#include "runtime/plan/linear.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct printer {
    bool (*write)(void *user, const char *text, size_t length);
    void *user;
    bool goes_on;
} printer;

static void print(printer *p, const char *format, ...) EDDY_PRINTF(2, 3);

static void print(printer *p, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    p->goes_on = p->goes_on && p->write(p->user, text, strlen(text));
}

static uint32_t number_of(uint32_t offset)
{
    return offset / (uint32_t)sizeof(eddy__value);
}

static void print_list(printer *p, const char *before, const uint32_t *list,
                       uint32_t n)
{
    print(p, "%s", before);
    for (uint32_t i = 0; i < n; i++)
        print(p, "%sr%u", i == 0 ? "" : " ", list[i]);
}

static void print_call(printer *p, const eddy_plan *plan,
                       const eddy__linear_call *call)
{
    const eddy__kernel_node *node = plan->steps[call->step].node;

    print(p, " %s '%s'", node->op_name, node->name);
    print_list(p, " (", call->in, call->n_in);
    print_list(p, ") -> ", call->out, call->n_out);
}

/* Operands that are registers or targets as such, others as numbers. */
static void print_operand(printer *p, char kind, uint32_t value, bool is_shown)
{
    if (kind == 't')
        print(p, " @%u", value);
    else if (kind != '-')
        print(p, " r%u", number_of(value));
    else if (is_shown)
        print(p, " %u", value);
}

static void print_code(printer *p, const eddy_plan *plan,
                       const eddy__linear *linear, uint32_t i)
{
    const eddy__linear_code *c = &linear->code[i];
    const char *operands = eddy__linear_operands(c->op);

    print(p, "  %4u %s", i, eddy__linear_name(c->op));
    if (eddy__linear_is_call(c->op)) {
        print_call(p, plan, &linear->calls[c->a]);
    } else if (c->op == EDDY__LINEAR_OUTPUTS) {
        print(p, " r%u r%u", number_of(c->a), number_of(c->b));
    } else {
        const bool is_pass =
            c->op == EDDY__LINEAR_PASS || c->op == EDDY__LINEAR_TAKE_OUT;

        print_operand(p, operands[0], c->to, strcmp(operands, "---") == 0);
        print_operand(p, operands[1], c->a, false);
        print_operand(p, operands[2], c->b, is_pass);
        if (eddy__linear_is_select(c->op))
            print(p, " if r%u", c->aux);
    }
    print(p, "\n");
}

static void print_entry(printer *p, const eddy_plan *plan,
                        const eddy__linear_entry *entry)
{
    print(p, "  enter %s ->", plan->steps[entry->step].node->name);
    if (entry->to != EDDY__LINEAR_NONE)
        print(p, " r%u", entry->to);
    for (uint32_t i = 0; i < entry->n_parts; i++)
        print(p, " r%u", entry->parts[i]);
    print(p, "\n");
}

bool eddy__linear_print(const eddy_plan *plan, const eddy__linear *linear,
                        bool (*write)(void *user, const char *text,
                                      size_t length),
                        void *user)
{
    printer p = {.write = write, .user = user, .goes_on = true};

    for (uint32_t i = 0; i < linear->n_entries; i++)
        print_entry(&p, plan, &linear->entries[i]);
    for (uint32_t i = 0; i < linear->n_code; i++)
        print_code(&p, plan, linear, i);
    for (uint32_t i = 0; i < linear->n_exits; i++)
        print(&p, "  exit %s <- r%u\n",
              plan->steps[linear->exits[i].step].node->name,
              linear->exits[i].from);
    return p.goes_on;
}

static void print_frame(printer *p, const eddy_plan *plan, uint32_t i)
{
    const eddy__plan_frame *frame = &plan->frames[i];

    print(p, "frame '%s': ", frame->name);
    if (frame->linear)
        print(p, "linear, %u instructions, %u registers\n",
              frame->linear->n_code, frame->linear->n_registers);
    else if (frame->is_linear)
        print(p, "linear, in '%s'\n", plan->frames[frame->parent].name);
    else
        print(p, "dynamic, for '%s': %s\n",
              frame->why_node ? frame->why_node : frame->name,
              frame->why ? frame->why : "as the options want it");
    if (p->goes_on && frame->linear)
        p->goes_on = eddy__linear_print(plan, frame->linear, p->write, p->user);
}

bool eddy_plan_print_linear(const eddy_plan *plan,
                            bool (*write)(void *user, const char *text,
                                          size_t length),
                            void *user)
{
    printer p = {.write = write, .user = user, .goes_on = true};

    for (uint32_t i = 1; i < plan->n_frames && p.goes_on; i++)
        print_frame(&p, plan, i);
    return p.goes_on;
}
