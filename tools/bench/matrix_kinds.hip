// Loops of matrix instructions of the types that mfma.hip and wmma.hip do not have, each with the accumulator of the one before the
// last. A processor's kernels are those whose instructions it has.
typedef int int4 __attribute__((ext_vector_type(4)));
typedef int int8 __attribute__((ext_vector_type(8)));
typedef int int16 __attribute__((ext_vector_type(16)));
typedef float float4 __attribute__((ext_vector_type(4)));
typedef float float16 __attribute__((ext_vector_type(16)));

// A kernel of that name: `from` makes a factor of a lane's number, and `step` multiplies two and adds.
#define LOOP(name, factor, sum, from, step)                                      \
    extern "C" __attribute__((global)) void name(float *out, unsigned rounds) {  \
        unsigned lane = __builtin_amdgcn_workitem_id_x();                        \
        factor a = from(lane), b = from(lane * 3 + 1);                           \
        sum c = 0, d = 1;                                                        \
        for (unsigned i = 0; i < rounds; i += 8)                                 \
            for (int k = 0; k < 8; k++) {                                        \
                c = step(a, b, c);                                               \
                d = step(b, a, d);                                               \
            }                                                                    \
        out[lane] = (float)(c[0] + d[1]);                                        \
    }

#define WORD(n) ((int)((n) * 0x01030507u))
#define TWO(n) ((long)(n) * 0x0103050701020304l)
#define FOUR(n) (int4{WORD(n), WORD(n + 1), WORD(n + 2), WORD(n + 3)})
// Numbers from 0.5 to 1.875 in fp8 (e4m3).
#define SMALL(n) ((WORD(n) & 0x0f0f0f0f) | 0x30303030)
#define EIGHT(n) (int8{SMALL(n), SMALL(n + 1), SMALL(n + 2), SMALL(n + 3), SMALL(n + 4), SMALL(n + 5), SMALL(n + 6), SMALL(n + 7)})
#define REAL(n) ((float)((n) % 7) * 0.125f)

#ifdef __gfx90a__
#define F32(a, b, c) __builtin_amdgcn_mfma_f32_32x32x2f32(a, b, c, 0, 0, 0)
#define I8(a, b, c) __builtin_amdgcn_mfma_i32_32x32x8i8(a, b, c, 0, 0, 0)
LOOP(f32, float, float16, REAL, F32)
LOOP(i8, int, int16, WORD, I8)
#endif
#ifdef __gfx942__
#define I8(a, b, c) __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, 0, 0, 0)
LOOP(i8, long, int4, TWO, I8)
#endif
#ifdef __gfx950__
// Both factors are fp8, scaled by 1.
#define SCALED(a, b, c) __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, 0, 0, 0, 127, 0, 127)
LOOP(scaled, int8, float4, EIGHT, SCALED)
#endif
#ifdef __gfx1100__
#define I8(a, b, c) __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, c, false)
LOOP(i8, int4, int8, FOUR, I8)
#endif
