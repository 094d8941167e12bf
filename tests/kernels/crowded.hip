#include "gpu.h"

// As many values at a time as a lane of a workgroup of 1,024 may have registers for on gfx1030, and nothing in scratch; LDS of
// the kernel's own, and LDS that the launch adds.
#define VALUES 124

LDS u32 own[64];
extern __attribute__((shared)) u32 added[];

extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 1024))) void crowded(const u32 *in, u32 *out, u32 n) {
    u32 lane = local_x(), i = global_x();
    u32 first = in[i], values[VALUES];
#pragma unroll
    for (u32 k = 0; k < VALUES; ++k) values[k] = first * (2 * k + 1);
    for (u32 round = 0; round < n; ++round) {
#pragma unroll
        for (u32 k = 0; k < VALUES; ++k) values[k] = values[k] * 5 ^ round;
    }
    u32 sum = 0;
#pragma unroll
    for (u32 k = 0; k < VALUES; ++k) sum = sum * 3 + values[k];
    if (lane < 64) own[lane] = sum;
    added[lane] = sum;
    barrier();
    out[i] = added[block_x() - 1 - lane] ^ own[(lane + 1) & 63];
}
