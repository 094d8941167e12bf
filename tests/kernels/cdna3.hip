#include "gpu.h"

// Matrix operations and conversions of CDNA3, one wave. Each lane's operands lie side by side.

typedef float float2v __attribute__((ext_vector_type(2)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float16v __attribute__((ext_vector_type(16)));
typedef int int2v __attribute__((ext_vector_type(2)));
typedef int int4v __attribute__((ext_vector_type(4)));

// 32x32x16, A bf8, B fp8.
KERNEL eight_bits(const i64 *a, const i64 *b, float16v *c) {
    u32 lane = local_x();
    c[lane] = __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(a[lane], b[lane], c[lane], 0, 0, 0);
}

KERNEL nineteen_bits(const float2v *a, const float2v *b, float4v *c) {
    u32 lane = local_x();
    c[lane] = __builtin_amdgcn_mfma_f32_16x16x8_xf32(a[lane], b[lane], c[lane], 0, 0, 0);
}

// 16x16x64, the second of two sets of indices.
KERNEL sparse(const int2v *a, const int4v *b, const i32 *index, float4v *c) {
    u32 lane = local_x();
    c[lane] = __builtin_amdgcn_smfmac_f32_16x16x64_fp8_fp8(a[lane], b[lane], c[lane], index[lane], 0, 1);
}

// To eight bits and back, in both halves of a register.
KERNEL narrow(const float *x, const float *y, i32 *codes, float *back) {
    u32 lane = local_x();
    i32 packed = __builtin_amdgcn_cvt_pk_fp8_f32(x[lane], y[lane], 0, false);
    packed = __builtin_amdgcn_cvt_pk_bf8_f32(x[lane], y[lane], packed, true);
    codes[lane] = packed;
    back[4 * lane] = __builtin_amdgcn_cvt_f32_fp8(packed, 0);
    back[4 * lane + 1] = __builtin_amdgcn_cvt_f32_fp8(packed, 1);
    back[4 * lane + 2] = __builtin_amdgcn_cvt_f32_bf8(packed, 2);
    back[4 * lane + 3] = __builtin_amdgcn_cvt_f32_bf8(packed, 3);
}
