// How a random program is launched: a kernel on the GPU, loops over workgroups and work-items on the host. Each program
// has two halves with an exchange between its work-items, of which the host's side is written out here.
#pragma once
#include "prelude.h"

enum { INPUTS = 8, ROW = 8, CELLS = 8, OUTPUTS = 24 };

struct State {
    u64 s[4];
};
// What a work-item has of its own: a row of inputs, of memory that it may change, of LDS and of results.
struct Item {
    const u64 *in;
    u64 *row, *lds, *out;
    u64 uniform;
    u32 item, local, group;
};

#ifdef __AMDGCN__
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))
// With few registers the compiler spills. Without optimisation it may not find enough of them, so it is not asked to.
#ifdef SPILL
#define FEW(COUNT) , amdgpu_num_vgpr(COUNT)
#else
#define FEW(COUNT)
#endif

template <u32 DPP> DEVICE static inline void exchange(State &s, u64 *cells, u32 block, u32 local, u32 flip) {
#if WAVE == 32
    s.s[0] ^= __builtin_amdgcn_ballot_w32(s.s[0] & 1);
#else
    s.s[0] ^= __builtin_amdgcn_ballot_w64(s.s[0] & 1);
#endif
    u32 half = local & ~31u, there = block - half < 32 ? block - half : 32, lane = __builtin_amdgcn_mbcnt_lo(~0u, 0);
#if WAVE == 64
    lane = __builtin_amdgcn_mbcnt_hi(~0u, lane);
#endif
    u32 from = (lane & 32) + ((u32)(s.s[1] >> 32) & 31) % there;
    s.s[1] ^= (u32)__builtin_amdgcn_ds_bpermute((i32)(4 * from), (i32)(u32)s.s[1]);
    s.s[2] ^= (u32)__builtin_amdgcn_readfirstlane((i32)(u32)s.s[2]);
    s.s[3] ^= (u64)(u32)__builtin_amdgcn_update_dpp((i32)(s.s[3] >> 32), (i32)(u32)s.s[3], DPP, 0xf, 0xf, false) << 32;
    s.s[3] ^= cells[(local ^ flip) % block * CELLS + 1];
}
DEVICE static inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#define PROGRAM(NAME, BLOCK, DPP, FLIP, ...)                                                                        \
    KERNEL __VA_ARGS__ NAME(const u64 *in, u64 *rows, u64 *out, u64 uniform, u32 n) {                               \
        __attribute__((shared)) static u64 cells[BLOCK * CELLS];                                                    \
        u32 local = __builtin_amdgcn_workitem_id_x(), group = __builtin_amdgcn_workgroup_id_x();                    \
        u32 item = group * BLOCK + local;                                                                           \
        Item it = {in + item * INPUTS, rows + item * ROW, cells + local * CELLS, out + item * OUTPUTS,              \
                   uniform, item, local, group};                                                                    \
        State s = {};                                                                                               \
        for (u32 k = 0; k < CELLS; k++) it.lds[k] = item < n ? it.in[k % INPUTS] * 0x9e3779b97f4a7c15 + k : 0;      \
        if (item < n) NAME##_first(it, s);                                                                          \
        barrier();                                                                                                  \
        exchange<DPP>(s, cells, BLOCK, local, FLIP);                                                                \
        barrier();                                                                                                  \
        if (item < n) NAME##_second(it, s);                                                                         \
    }
#else
template <u32 DPP> static u32 source_lane(u32 lane) {
    u32 in_row = lane & 15, row = lane & ~15u;
    if (DPP < 0x100) return (lane & ~3u) + (DPP >> 2 * (lane & 3) & 3);
    if (DPP < 0x110) return in_row + (DPP & 15) < 16 ? lane + (DPP & 15) : ~0u;
    if (DPP < 0x120) return in_row >= (DPP & 15) ? lane - (DPP & 15) : ~0u;
    if (DPP < 0x130) return row + ((in_row - (DPP & 15)) & 15);
    return DPP == 0x140 ? row + (15 - in_row) : (lane & ~7u) + (7 - (lane & 7));
}
template <u32 DPP> static void exchange(State *all, const u64 *cells, u32 block, u32 wave, u32 flip) {
    for (u32 base = 0; base < block; base += wave) {
        u32 count = block - base < wave ? block - base : wave;
        State old[64];
        u64 ballot = 0;
        for (u32 lane = 0; lane < count; lane++) {
            old[lane] = all[base + lane];
            ballot |= (old[lane].s[0] & 1) << lane;
        }
        for (u32 lane = 0; lane < count; lane++) {
            State &s = all[base + lane];
            u32 half = lane & ~31u, there = count - half < 32 ? count - half : 32, from = source_lane<DPP>(lane);
            s.s[0] ^= ballot;
            s.s[1] ^= (u32)old[half + (u32)(s.s[1] >> 32) % 32 % there].s[1];
            s.s[2] ^= (u32)old[0].s[2];
            s.s[3] ^= (from < count ? old[from].s[3] << 32 : s.s[3] >> 32 << 32);
            s.s[3] ^= cells[((base + lane) ^ flip) % block * CELLS + 1];
        }
    }
}
#define PROGRAM(NAME, BLOCK, DPP, FLIP, ...)                                                                        \
    extern "C" void NAME(const u64 *in, u64 *rows, u64 *out, u64 uniform, u32 n, u32 groups, u32 wave) {            \
        static u64 cells[BLOCK * CELLS];                                                                            \
        for (u32 group = 0; group < groups; group++) {                                                              \
            State all[BLOCK] = {};                                                                                  \
            Item items[BLOCK];                                                                                      \
            for (u32 local = 0; local < BLOCK; local++) {                                                           \
                u32 item = group * BLOCK + local;                                                                   \
                Item it = {in + item * INPUTS, rows + item * ROW, cells + local * CELLS, out + item * OUTPUTS,      \
                           uniform, item, local, group};                                                            \
                items[local] = it;                                                                                  \
                for (u32 k = 0; k < CELLS; k++) it.lds[k] = item < n ? it.in[k % INPUTS] * 0x9e3779b97f4a7c15 + k : 0; \
                if (item < n) NAME##_first(it, all[local]);                                                         \
            }                                                                                                       \
            exchange<DPP>(all, cells, BLOCK, wave, FLIP);                                                           \
            for (u32 local = 0; local < BLOCK; local++)                                                             \
                if (items[local].item < n) NAME##_second(items[local], all[local]);                                 \
        }                                                                                                           \
    }
#if __clang__
// libgcc 12 has no rounding to bf16; clang knows this one for what it is, and would make it call itself.
extern "C" __attribute__((weak, noinline, optnone)) __bf16 __truncsfbf2(float a) {
    u32 b = bits<f32>(a);
    if ((b & 0x7fffffff) > 0x7f800000) return __builtin_bit_cast(__bf16, (u16)0x7fc0);
    return __builtin_bit_cast(__bf16, (u16)((b + 0x7fff + (b >> 16 & 1)) >> 16));
}
#endif
#endif
