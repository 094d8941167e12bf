#include "gpu.h"

// More values alive at once than 256 registers hold, each mixed with others from turn to turn.
#define VALUES 320
KERNEL __attribute__((amdgpu_waves_per_eu(1, 1))) __attribute__((amdgpu_flat_work_group_size(32, 32)))
upper(u32 *out, const u32 *in, u32 n) {
    u32 lane = local_x(), v[VALUES];
#pragma unroll
    for (u32 k = 0; k < VALUES; k++) v[k] = in[lane + 32 * k];
    for (u32 turn = 0; turn < n; turn++) {
#pragma unroll
        for (u32 k = 0; k < VALUES; k++) v[k] = v[k] * 3 + v[(k * 7 + 1) % VALUES];
        if (v[0] & lane & 1) continue;
#pragma unroll
        for (u32 k = 0; k < VALUES; k++) v[k] ^= v[(k * 11 + 5) % VALUES] >> 1;
    }
#pragma unroll
    for (u32 k = 0; k < VALUES; k++) out[lane + 32 * k] = v[k];
}
