#include "gpu.h"

// Matrix operations, conversions and exchanges of CDNA4, one wave. Each lane's operands lie side by side.

typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float2v __attribute__((ext_vector_type(2)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef float float32v __attribute__((ext_vector_type(32)));
typedef int int8v __attribute__((ext_vector_type(8)));
typedef u32 uint2v __attribute__((ext_vector_type(2)));
typedef u32 uint6v __attribute__((ext_vector_type(6)));

// A fp8, B fp4; the scales are in bytes 1 and 2.
KERNEL scaled_16(const int8v *a, const int8v *b, const i32 *sa, const i32 *sb, float4v *c) {
    u32 lane = local_x();
    c[lane] = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a[lane], b[lane], c[lane], 0, 4, 1, sa[lane], 2, sb[lane]);
}

// A bf6, B bf8; the scales are in bytes 3 and 0.
KERNEL scaled_32(const int8v *a, const int8v *b, const i32 *sa, const i32 *sb, float16v *c) {
    u32 lane = local_x();
    c[lane] = __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(a[lane], b[lane], c[lane], 3, 1, 3, sa[lane], 0, sb[lane]);
}

// Four bits, in byte 2, and back; six bits, and back.
KERNEL narrow(const float *x, const float *scale, u32 *four, float2v *back, float32v *six) {
    u32 lane = local_x();
    u32 codes = __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(0x11111111, x[32 * lane], x[32 * lane + 1], scale[lane], 2);
    four[lane] = codes;
    back[lane] = __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(codes, scale[lane], 2);
    const float16v *wide = (const float16v *)(x + 32 * lane);
    uint6v packed = __builtin_amdgcn_cvt_scalef32_2xpk16_fp6_f32(wide[0], wide[1], scale[lane]);
    six[lane] = __builtin_amdgcn_cvt_scalef32_pk32_f32_fp6(packed, scale[lane]);
}

KERNEL exchange(u32 *x, u32 *y) {
    u32 lane = local_x();
    uint2v by_16 = __builtin_amdgcn_permlane16_swap(x[lane], y[lane], false, false);
    uint2v by_32 = __builtin_amdgcn_permlane32_swap(by_16[0], by_16[1], false, false);
    x[lane] = by_32[0];
    y[lane] = by_32[1];
}
