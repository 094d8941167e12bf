#include "gpu.h"

LDS i32 partial[256];

// One sum a workgroup of 256 work-items, by a tree in LDS.
KERNEL reduce(const i32 *in, i32 *out, u32 n) {
    u32 lane = local_x(), i = global_x();
    partial[lane] = i < n ? in[i] : 0;
    barrier();
    for (u32 half = 128; half > 0; half /= 2) {
        if (lane < half) partial[lane] += partial[lane + half];
        barrier();
    }
    if (lane == 0) out[group_x()] = partial[0];
}
