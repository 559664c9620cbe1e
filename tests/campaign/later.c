/* SPDX-License-Identifier: Apache-2.0 */
/* Suspended kernels wait in a list, last in first out, under one lock. */
#include "tests/campaign/later.h"

#include <pthread.h>
#include <stdlib.h>

#define N_BESIDE 8

typedef struct waiting {
    eddy_kernel *kernel;
    struct waiting *next;
} waiting;

static pthread_t thread;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static waiting *list; /* guarded by mu */
static bool is_over;  /* guarded by mu */

static eddy_status put_out_input(eddy_kernel *kernel)
{
    eddy_tensor *tensor = eddy_kernel_input_tensor(kernel, 0);
    eddy_status status =
        tensor == NULL
            ? eddy_kernel_fail(kernel, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                               "no memory for the input")
            : eddy_kernel_output_tensor(kernel, 0, tensor);

    eddy_tensor_release(tensor);
    return status;
}

static void *complete_all(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mu);
    while (!is_over || list != NULL) {
        waiting *first = list;

        if (first == NULL) {
            pthread_cond_wait(&changed, &mu);
            continue;
        }
        list = first->next;
        pthread_mutex_unlock(&mu);
        eddy_kernel_complete(first->kernel, put_out_input(first->kernel));
        free(first);
        pthread_mutex_lock(&mu);
    }
    pthread_mutex_unlock(&mu);
    return NULL;
}

void later_start(void)
{
    if (pthread_create(&thread, NULL, complete_all, NULL) != 0)
        abort();
}

void later_stop(void)
{
    pthread_mutex_lock(&mu);
    is_over = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mu);
    pthread_join(thread, NULL);
}

static eddy_status suspend(eddy_kernel *kernel)
{
    waiting *item = malloc(sizeof *item);

    if (item == NULL || (item->kernel = eddy_kernel_suspend(kernel)) == NULL) {
        free(item);
        return eddy_kernel_fail(kernel, EDDY_RESOURCE_EXHAUSTED, EDDY_E_MEMORY,
                                "no memory to suspend");
    }
    pthread_mutex_lock(&mu);
    item->next = list;
    list = item;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mu);
    return EDDY_OK;
}

bool later_graph(eddy_context *ctx, eddy_graph **out_graph)
{
    const eddy_op_spec spec = {.size = sizeof spec,
                               .name = "CampaignLater",
                               .inputs = "x: float32",
                               .outputs = "y: float32",
                               .kernel = suspend,
                               .flags = EDDY_OP_ASYNC};
    eddy_output x, beside[N_BESIDE], sum;
    eddy_error err;

    if (eddy_op_register(ctx, &spec, &err) != EDDY_OK ||
        eddy_graph_create(ctx, out_graph, &err) != EDDY_OK ||
        eddy_graph_add_placeholder(*out_graph, "x", EDDY_FLOAT32,
                                   &(eddy_shape){.rank = 1, .dims = {5}}, &x,
                                   &err) != EDDY_OK)
        return false;
    for (size_t i = 0; i < N_BESIDE; i++)
        if (eddy_graph_add_op(*out_graph, spec.name, NULL, &x, 1, &beside[i],
                              &err) != EDDY_OK)
            return false;
    sum = beside[0];
    for (size_t i = 1; i < N_BESIDE; i++)
        if (eddy_graph_add_op(*out_graph, "AddV2", NULL,
                              (eddy_output[]){sum, beside[i]}, 2, &sum,
                              &err) != EDDY_OK)
            return false;
    return true;
}
