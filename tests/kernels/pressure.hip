#include "gpu.h"

// More values at a time than a lane of a workgroup of 1,024 may have registers for, so that the compiler keeps some in
// scratch and no register is free in between.
#define VALUES 140
#define LARGE __attribute__((amdgpu_flat_work_group_size(1, 1024)))

DEVICE static inline u32 stir(const u32 *in, u32 i, u32 n) {
    u32 values[VALUES];
#pragma unroll
    for (u32 k = 0; k < VALUES; ++k) values[k] = in[(i * 7 + k * 3) & 4095];
    for (u32 round = 0; round < (n & 3) + 1; ++round) {
#pragma unroll
        for (u32 k = 0; k < VALUES; ++k) values[k] = values[k] * 5 + (values[(k + 71) % VALUES] ^ round);
    }
    u32 sum = 0;
#pragma unroll
    for (u32 k = 0; k < VALUES; ++k) sum = sum * 3 + values[k];
    return sum;
}

LARGE KERNEL pressure(const u32 *in, u32 *out, u32 n) {
    u32 i = global_x();
    out[i & 4095] = stir(in, i, n);
}

// The same, and generic addresses of scratch besides, so that the kernel itself sets FLAT_SCRATCH.
NOINLINE void fill(volatile u32 *to, u32 n) {
    for (u32 k = 0; k < 8; ++k) to[k] = n * k;
}

LARGE KERNEL pressure_flat(const u32 *in, u32 *out, u32 n) {
    u32 i = global_x();
    u32 own[8];
    fill(own, i);
    out[i & 4095] = stir(in, i, n) + own[n & 7];
}
