#include "gpu.h"

KERNEL vecadd(const float *a, const float *b, float *c, u32 n) {
    u32 i = global_x();
    if (i < n) c[i] = a[i] + b[i];
}
