/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the names of shared resources together. */
#include "ops/state/named.h"

#include <string.h>

static eddy_string text_attr(const eddy_infer *infer, const char *name)
{
    eddy_attr attr;

    return eddy_infer_attr(infer, name, &attr) ? attr.as.strings[0]
                                               : (eddy_string){"", 0};
}

eddy_status eddy__prepare_shared_name(eddy_infer *infer, const char **out_name)
{
    const eddy_string container = text_attr(infer, "container");
    eddy_string name = text_attr(infer, "shared_name");
    char *to;

    if (name.length == 0)
        name = (eddy_string){infer->node->name, strlen(infer->node->name)};
    to = eddy__prepare_state(infer, container.length + name.length + 2);
    if (!to)
        return EDDY_RESOURCE_EXHAUSTED;
    *out_name = to;
    if (container.length > 0) {
        memcpy(to, container.data, container.length);
        to += container.length;
        *to++ = ':';
    }
    memcpy(to, name.data, name.length);
    if (strlen(*out_name) ==
        name.length + container.length + (container.length > 0))
        return EDDY_OK;
    return eddy_infer_fail(infer, EDDY_INVALID_ARGUMENT, EDDY_E_ATTR_VALUE,
                           "container and shared_name must have no NUL");
}

eddy_status eddy__prepare_named(eddy_infer *infer)
{
    const char *name;

    return eddy__prepare_shared_name(infer, &name);
}
