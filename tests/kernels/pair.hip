#include "gpu.h"

GLOBAL_VARIABLE u32 total = 1000;

KERNEL accumulate(const u32 *in, u32 n) {
    u32 i = global_x();
    if (i < n) __atomic_fetch_add(&total, in[i], __ATOMIC_RELAXED);
}

KERNEL publish(u32 *out) {
    if (global_x() == 0) out[0] = total;
}
