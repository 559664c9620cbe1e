#include "ops/onednn.h"

bool eddy__onednn_multiply(const eddy__product *p)
{
    (void)p;
    return false;
}
