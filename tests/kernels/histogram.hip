#include "gpu.h"

LDS u32 bins[64];

KERNEL histogram(const u32 *in, u32 *out, u32 n) {
    u32 lane = local_x(), i = global_x();
    if (lane < 64) bins[lane] = 0;
    barrier();
    if (i < n) __atomic_fetch_add(&bins[in[i] & 63], 1u, __ATOMIC_RELAXED);
    barrier();
    if (lane < 64) __atomic_fetch_add(&out[lane], bins[lane], __ATOMIC_RELAXED);
}
