#include "gpu.h"

// The tensor data mover and barriers in LDS (gfx1250). Descriptors come from the host, with addresses from the start of
// the tensor and of LDS.
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef int i32x4 __attribute__((ext_vector_type(4)));
typedef int i32x8 __attribute__((ext_vector_type(8)));
typedef __attribute__((address_space(3))) u32 lds_u32;
typedef __attribute__((address_space(3))) i64 lds_i64;

extern __attribute__((shared)) u32 memory[];

struct Groups {
    i32x4 g0;
    i32x8 g1;
    i32x4 g2, g3;
};

DEVICE static inline Groups groups(const u32 *dwords, const void *tensor) {
    u32 d[20];
    for (u32 i = 0; i < 20; i++)
        d[i] = __builtin_amdgcn_readfirstlane(dwords[i]);
    u64 at = (u64)tensor + (d[2] | (u64)(d[3] & 0x1ffffff) << 32);
    d[2] = __builtin_amdgcn_readfirstlane((u32)at);
    d[3] = __builtin_amdgcn_readfirstlane(d[3] & 0xfe000000 | (u32)(at >> 32));
    Groups g;
    for (u32 i = 0; i < 4; i++)
        g.g0[i] = d[i], g.g2[i] = d[12 + i], g.g3[i] = d[16 + i];
    for (u32 i = 0; i < 8; i++)
        g.g1[i] = d[4 + i];
    return g;
}

DEVICE static inline void into_lds(const u32 *from, u32 words) {
    for (u32 i = local_x(); i < words; i += block_x())
        memory[i] = from[i];
    barrier();
}

DEVICE static inline void out_of_lds(u32 *to, u32 words) {
    barrier();
    for (u32 i = local_x(); i < words; i += block_x())
        to[i] = memory[i];
}

// LDS gets `words` words from `lds`, the tensor comes, and LDS goes back there.
KERNEL load(const u32 *dwords, const void *tensor, u32 *lds, u32 words) {
    into_lds(lds, words);
    if (__builtin_amdgcn_readfirstlane(local_x()) == 0) {
        Groups g = groups(dwords, tensor);
        __builtin_amdgcn_tensor_load_to_lds(g.g0, g.g1, g.g2, g.g3, 0);
        __builtin_amdgcn_s_wait_tensorcnt(0);
    }
    out_of_lds(lds, words);
}
KERNEL load_d2(const u32 *dwords, const void *tensor, u32 *lds, u32 words) {
    into_lds(lds, words);
    if (__builtin_amdgcn_readfirstlane(local_x()) == 0) {
        Groups g = groups(dwords, tensor);
        __builtin_amdgcn_tensor_load_to_lds_d2(g.g0, g.g1, 0);
        __builtin_amdgcn_s_wait_tensorcnt(0);
    }
    out_of_lds(lds, words);
}
KERNEL store(const u32 *dwords, void *tensor, u32 *lds, u32 words) {
    into_lds(lds, words);
    if (__builtin_amdgcn_readfirstlane(local_x()) == 0) {
        Groups g = groups(dwords, tensor);
        __builtin_amdgcn_tensor_store_from_lds(g.g0, g.g1, g.g2, g.g3, 0);
        __builtin_amdgcn_s_wait_tensorcnt(0);
    }
}

// Each lane that may arrives as often as it is told, and tells what it got.
KERNEL arrive(u32 *lds, const u32 *mask, const u64 *counts, u64 *got) {
    into_lds(lds, 2);
    if (mask[local_x()])
        got[local_x()] =
            __builtin_amdgcn_ds_atomic_barrier_arrive_rtn_b64((lds_i64 *)(lds_u32 *)memory, counts[local_x()]);
    out_of_lds(lds, 2);
}
KERNEL arrive_later(u32 *lds, const u32 *mask) {
    into_lds(lds, 2);
    if (mask[local_x()])
        __builtin_amdgcn_ds_atomic_async_barrier_arrive_b64((lds_i64 *)(lds_u32 *)memory);
    __builtin_amdgcn_s_wait_asynccnt(0);
    out_of_lds(lds, 2);
}
