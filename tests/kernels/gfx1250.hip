#include "gpu.h"

// What gfx1250 alone has: arithmetic on bf16, and its dense matrix operations.
typedef __bf16 bf16x2 __attribute__((ext_vector_type(2)));
typedef __bf16 bf16x8 __attribute__((ext_vector_type(8)));
typedef __bf16 bf16x16 __attribute__((ext_vector_type(16)));
typedef f16 f16x8 __attribute__((ext_vector_type(8)));
typedef f16 f16x16 __attribute__((ext_vector_type(16)));
typedef float f32x2 __attribute__((ext_vector_type(2)));
typedef float f32x8 __attribute__((ext_vector_type(8)));
typedef i32 i32x8 __attribute__((ext_vector_type(8)));
typedef i32 i32x16 __attribute__((ext_vector_type(16)));

#define PAIRS(name, result)                                                                  \
    KERNEL pair_##name(const bf16x2 *as, const bf16x2 *bs, const bf16x2 *cs, bf16x2 *out) { \
        u32 i = global_x();                                                                  \
        bf16x2 a = as[i], b = bs[i], c = cs[i];                                              \
        (void)c;                                                                             \
        out[i] = result;                                                                     \
    }
PAIRS(add, a + b)
PAIRS(sub, a - b)
PAIRS(mul, a * b)
PAIRS(fma, __builtin_elementwise_fma(a, b, c))
PAIRS(neg_fma, __builtin_elementwise_fma(-a, b, c.yx))
PAIRS(max, __builtin_elementwise_max(a, b))
PAIRS(min, __builtin_elementwise_min(a, b))

// One number at a time: no form for one of them exists, but for the mixed ones.
KERNEL single_add(const __bf16 *as, const __bf16 *bs, const __bf16 *, __bf16 *out) {
    u32 i = global_x();
    out[i] = as[i] + bs[i];
}
KERNEL mixed(const __bf16 *as, const __bf16 *bs, const float *cs, float *out) {
    u32 i = global_x();
    out[i] = __builtin_fmaf((float)as[i], (float)bs[i], cs[i]);
}

#define DENSE(name, A, C, D, ...)                                           \
    KERNEL wmma_##name(const A *as, const A *bs, const C *cs, D *out) {     \
        u32 lane = local_x();                                               \
        A a = as[lane], b = bs[lane];                                       \
        C c = cs[lane];                                                     \
        out[lane] = __builtin_amdgcn_wmma_##name(__VA_ARGS__, false, false); \
    }
#define WORDS(name, A, C, D) DENSE(name, A, C, D, false, a, false, b, (i16)0, c)
WORDS(f32_16x16x4_f32, f32x2, f32x8, f32x8)
WORDS(f32_16x16x32_f16, f16x16, f32x8, f32x8)
WORDS(f32_16x16x32_bf16, bf16x16, f32x8, f32x8)
WORDS(f16_16x16x32_f16, f16x16, f16x8, f16x8)
WORDS(bf16_16x16x32_bf16, bf16x16, bf16x8, bf16x8)
WORDS(bf16f32_16x16x32_bf16, bf16x16, f32x8, bf16x8)
#define BYTES(kinds)                                                            \
    DENSE(f32_16x16x64_##kinds, i32x8, f32x8, f32x8, a, b, (i16)0, c)           \
    DENSE(f16_16x16x64_##kinds, i32x8, f16x8, f16x8, a, b, (i16)0, c)           \
    DENSE(f32_16x16x128_##kinds, i32x16, f32x8, f32x8, a, b, (i16)0, c)         \
    DENSE(f16_16x16x128_##kinds, i32x16, f16x8, f16x8, a, b, (i16)0, c)
BYTES(fp8_fp8)
BYTES(fp8_bf8)
BYTES(bf8_fp8)
BYTES(bf8_bf8)
// A's integers are signed, B's are not.
DENSE(i32_16x16x64_iu8, i32x8, i32x8, i32x8, true, a, false, b, c)
