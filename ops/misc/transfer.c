/* SPDX-License-Identifier: Apache-2.0 */
/*
 * _Send and _Recv: the two ends of an edge that leads from one rank to another.
 * A dead value is sent as such, so in each iteration of its frame a pair
 * carries exactly one message (frames/partition).  But a pair of which both
 * ends are dead together (EDDY__KNOWN_DEAD) carries none then: the one does not
 * send, the other, whose start is dead, does not ask.
 */
#include "core/base/status.h"
#include "core/carrier.h"
#include "core/edge.h"
#include "core/kernel.h"
#include "ops/math/elements.h"
#include "ops/ops.h"

#include <string.h>

typedef eddy__edge_state pair;

static const char *const parts[] = {"send_device", "recv_device",
                                    "tensor_name"};

#define N_PARTS (sizeof parts / sizeof parts[0])

static eddy_string part_of(const eddy_infer *infer, size_t i)
{
    eddy_attr attr;

    return eddy_infer_attr(infer, parts[i], &attr) ? attr.as.strings[0]
                                                   : (eddy_string){"", 0};
}

static eddy_status prepare(eddy_infer *infer)
{
    size_t length = 0;
    eddy_attr known;
    char *to;
    pair *p;

    for (size_t i = 0; i < N_PARTS; i++) {
        const eddy_string part = part_of(infer, i);

        if (memchr(part.data, '\0', part.length))
            return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT,
                                   EDDY_E_ATTR_VALUE, "%s has a NUL in it",
                                   parts[i]);
        length += part.length + 1;
    }
    p = eddy__prepare_state(infer, sizeof *p + length);
    if (!p)
        return EDDY_RESOURCE_EXHAUSTED;
    to = p->text;
    for (size_t i = 0; i < N_PARTS; i++) {
        const eddy_string part = part_of(infer, i);

        memcpy(to, part.data, part.length);
        to += part.length;
        *to++ = i + 1 < N_PARTS ? ';' : '\0';
    }
    p->hash = eddy__carrier_edge_hash(p->text);
    p->is_known_dead = eddy_infer_attr(infer, EDDY__KNOWN_DEAD, &known) &&
                       known.kind == EDDY_ATTR_BOOL && known.n == 1 &&
                       known.as.bools[0];
    return EDDY_OK;
}

static eddy_status find_exchange(eddy_kernel *k, eddy__exchange **out)
{
    *out = k->services->exchange(k);
    if (*out)
        return EDDY_OK;
    return eddy__kfail(k, EDDY_FAILED_PRECONDITION, EDDY_E_MESSAGE,
                       "there is no other rank: a part of a graph runs with "
                       "the other parts of its partition");
}

static eddy__message_key key_of(const eddy_kernel *k)
{
    const pair *p = eddy__state(k);

    return (eddy__message_key){
        .edge = p->text, .hash = p->hash, .tag = k->services->tag(k)};
}

static bool is_silent(const eddy_kernel *k)
{
    const pair *p = eddy__state(k);

    return k->is_dead && p->is_known_dead;
}

static eddy_status run_send(eddy_kernel *k)
{
    const eddy__message_key key = key_of(k);
    eddy__value value = {.kind = EDDY__NONE};
    eddy__exchange *exchange;

    if (is_silent(k))
        return EDDY_OK;
    EDDY_TRY(find_exchange(k, &exchange));
    if (!k->is_dead)
        value = eddy__in_take(k, 0);
    return exchange->send(exchange, &key, value, k);
}

static eddy_status run_receive(eddy_kernel *k)
{
    const eddy__message_key key = key_of(k);
    eddy__exchange *exchange;

    if (is_silent(k))
        return EDDY_OK;
    /* It asks, whatever becomes of what starts it. */
    k->is_dead = false;
    EDDY_TRY(find_exchange(k, &exchange));
    return exchange->receive(exchange, &key, k);
}

#define FLAGS                                                                  \
    (EDDY_OP_STATEFUL | EDDY_OP_ASYNC | EDDY_OP_NOT_DIFFERENTIABLE |           \
     EDDY__OP_TRANSFER)
#define PAIR                                                                   \
    "tensor_name: string, send_device: string, send_device_incarnation: int, " \
    "recv_device: string, client_terminated: bool = false"
#define SEND(op)                                                               \
    EDDY__OP_ROW(op, .inputs = "tensor: T", .attrs = "T: type, " PAIR,         \
                 .kernel = run_send, .prepare = prepare, .flags = FLAGS,       \
                 .doc = "Sends the tensor to the node on another rank that "   \
                        "receives it.")
#define RECEIVE(op)                                                            \
    EDDY__OP_ROW(op, .outputs = "tensor: tensor_type",                         \
                 .attrs = "tensor_type: type, " PAIR, .kernel = run_receive,   \
                 .prepare = prepare, .flags = FLAGS,                           \
                 .doc = "What the node on another rank has sent.")

static const eddy_op_spec specs[] = {
    SEND("_Send"),
    SEND("_HostSend"),
    RECEIVE("_Recv"),
    RECEIVE("_HostRecv"),
};

const eddy__op_table eddy__transfer_ops = {specs, NULL,
                                           sizeof specs / sizeof *specs};
