/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Einsum.  The gradient of one input is an Einsum of the output's gradient with
 * the other input, but for three things: labels that only this input has were
 * summed over, so the gradient is spread over them; a label twice is a
 * diagonal; and dimensions of the ellipsis may have been broadcast.
 */
#include "autodiff/rule.h"

#include <stdio.h>
#include <string.h>

/* Room for the labels of a tensor, an ellipsis, and once more as many. */
#define ROOM 40

typedef struct equation {
    char in[2][ROOM], out[ROOM];
    uint32_t n;
} equation;

static void append(char *text, char c)
{
    const size_t n = strlen(text);

    if (n + 1 < ROOM) {
        text[n] = c;
        text[n + 1] = '\0';
    }
}

static bool holds(const char *text, char c)
{
    return strchr(text, c) != NULL;
}

/* What has no ellipsis is broadcast to the dimensions of the others. */
static void add_ellipsis(char *labels)
{
    if (holds(labels, '.'))
        return;
    for (int i = 0; i < 3; i++)
        append(labels, '.');
}

static equation read_equation(const eddy_gradient *g)
{
    const eddy_attr attr = eddy__rule_attr(g, "equation");
    equation e = {.n = 1};
    char *to = e.in[0];

    for (size_t i = 0; attr.n == 1 && i < attr.as.strings->length; i++) {
        const char c = attr.as.strings->data[i];

        if (c == ',')
            to = e.in[e.n++ > 0];
        else if (c == '-')
            to = e.out;
        else if (c != '>' && c != ' ')
            append(to, c);
    }
    for (uint32_t i = 0; i < e.n && i < 2 && holds(e.out, '.'); i++)
        add_ellipsis(e.in[i]);
    return e;
}

/* May it be one of tensors that there are?  The op checks the rest. */
static bool is_sane(const eddy_gradient *g, const equation *e)
{
    const size_t most = EDDY_MAX_RANK + 3;

    return e->n <= 2 && e->n == eddy_gradient_inputs(g) &&
           strlen(e->in[0]) <= most && strlen(e->in[1]) <= most &&
           strlen(e->out) <= most;
}

static eddy_output einsum(eddy_gradient *g, const char *text,
                          const eddy_output *inputs, size_t n)
{
    const eddy_string value = {.data = text, .length = strlen(text)};
    const eddy_attr attr = eddy_attr_string("equation", &value);

    return eddy_gradient_add(g, "Einsum", inputs, n, &attr, 1);
}

/* Labels of `own` that are nowhere else, once each. */
static void find_summed(const equation *e, uint32_t i, char *summed)
{
    const char *other = e->n == 2 ? e->in[1 - i] : "";

    for (const char *c = e->in[i]; *c; c++)
        if (*c != '.' && !holds(e->out, *c) && !holds(other, *c) &&
            !holds(summed, *c))
            append(summed, *c);
}

/* The rest of them, once each, and the ellipsis. */
static void find_kept(const equation *e, uint32_t i, const char *summed,
                      char *kept)
{
    for (const char *c = e->in[i]; *c; c++)
        if (*c == '.' || (!holds(summed, *c) && !holds(kept, *c)))
            append(kept, *c);
}

/* The dimension of `label` in a tensor of that shape. */
static eddy_output dimension(eddy_gradient *g, eddy_output shape,
                             const char *labels, char label)
{
    const char *at = strchr(labels, label);
    const char *ellipsis = strchr(labels, '.');
    const eddy_output behind = INT((double)strlen(at));

    if (!ellipsis || at < ellipsis)
        return eddy__rule_element(g, shape, INT((double)(at - labels)));
    return eddy__rule_element(g, shape, OP("Sub", OP("Size", shape), behind));
}

/* The gradient over the labels kept, over all of them. */
static eddy_output spread(eddy_gradient *g, const equation *e, uint32_t i,
                          const char *summed, eddy_output gradient)
{
    char text[3 * ROOM], kept[ROOM] = "";
    eddy_output shape, dims[ROOM];
    size_t n = 0;

    find_kept(e, i, summed, kept);
    if (!*summed && strcmp(kept, e->in[i]) == 0)
        return gradient;
    shape = eddy_gradient_shape_of(g, i);
    for (const char *c = summed; *c; c++)
        dims[n++] = dimension(g, shape, e->in[i], *c);
    if (n > 0)
        gradient = OP("BroadcastTo", gradient,
                      CONCAT(eddy_gradient_add(g, "Pack", dims, n, NULL, 0),
                             OP("Shape", gradient)));
    snprintf(text, sizeof text, "%s%s->%s", summed, kept, e->in[i]);
    return einsum(g, text, &gradient, 1);
}

/* The dimensions of input `i` that its ellipsis stands for. */
static eddy_output ellipsis_shape(eddy_gradient *g, const equation *e,
                                  uint32_t i)
{
    const eddy_output shape = eddy_gradient_shape_of(g, i);
    const char *at = strchr(e->in[i], '.');
    const double before = (double)(at - e->in[i]);
    const double named = (double)strlen(e->in[i]) - 3.0;
    const eddy_output size = OP("Sub", OP("Size", shape), INT(named));

    return OP("Slice", shape, INTS((int32_t)before),
              OP("Reshape", size, INTS(1)));
}

static eddy_output sum_broadcast(eddy_gradient *g, const equation *e,
                                 uint32_t i, eddy_output gradient)
{
    eddy_output axes;

    if (e->n == 1 || !holds(e->out, '.'))
        return gradient;
    axes = OP("BroadcastGradientArgs", ellipsis_shape(g, e, i),
              ellipsis_shape(g, e, 1 - i));
    axes = OP("AddV2", axes, INT((double)(strchr(e->in[i], '.') - e->in[i])));
    return OP("Reshape", OP("Sum", gradient, axes),
              eddy_gradient_shape_of(g, i));
}

eddy_status eddy__grad_einsum(eddy_gradient *g)
{
    const equation e = read_equation(g);

    if (!is_sane(g, &e))
        return eddy_gradient_fail(g, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                                  "its equation does not fit its inputs");
    for (uint32_t i = 0; i < e.n; i++) {
        char text[4 * ROOM], summed[ROOM] = "", kept[ROOM] = "";
        eddy_output inputs[2], gradient;

        if (!WANTS(i))
            continue;
        find_summed(&e, i, summed);
        find_kept(&e, i, summed, kept);
        inputs[0] = DY(0);
        if (e.n == 2) {
            inputs[1] = CONJ(1 - i, X(1 - i));
            snprintf(text, sizeof text, "%s,%s->%s", e.out, e.in[1 - i], kept);
        } else {
            snprintf(text, sizeof text, "%s->%s", e.out, kept);
        }
        gradient = einsum(g, text, inputs, e.n);
        gradient = spread(g, &e, i, summed, gradient);
        DX(i, sum_broadcast(g, &e, i, gradient));
    }
    return EDDY_OK;
}
