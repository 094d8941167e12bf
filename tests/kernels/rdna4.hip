#include "gpu.h"

// RDNA4's matrix operations, one wave (WAVE64: of 64 lanes, else of 32), and its transposing loads. Each
// lane's operands lie side by side.

typedef f16 half4 __attribute__((ext_vector_type(4)));
typedef f16 half8 __attribute__((ext_vector_type(8)));
typedef f16 half16 __attribute__((ext_vector_type(16)));
typedef i16 short4v __attribute__((ext_vector_type(4)));
typedef i16 short8v __attribute__((ext_vector_type(8)));
typedef i16 short16v __attribute__((ext_vector_type(16)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef float float8v __attribute__((ext_vector_type(8)));
typedef i32 int2v __attribute__((ext_vector_type(2)));
typedef i32 int4v __attribute__((ext_vector_type(4)));
typedef i32 int8v __attribute__((ext_vector_type(8)));

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#ifdef WAVE64
#define PICK(wave32, wave64) wave64
#define DENSE(name) JOIN(__builtin_amdgcn_wmma_, JOIN(name, _w64_gfx12))
#define SPARSE(name) JOIN(__builtin_amdgcn_swmmac_, JOIN(name, _w64))
#else
#define PICK(wave32, wave64) wave32
#define DENSE(name) JOIN(__builtin_amdgcn_wmma_, JOIN(name, _w32_gfx12))
#define SPARSE(name) JOIN(__builtin_amdgcn_swmmac_, JOIN(name, _w32))
#endif

typedef PICK(float8v, float4v) singles;
typedef PICK(int8v, int4v) sums;

// A and B are of one type, `Side`.
#define FLOATS(name, Side, Result)                                                                                    \
    KERNEL name(const Side *a, const Side *b, Result *c) {                                                            \
        u32 lane = local_x();                                                                                         \
        c[lane] = DENSE(name)(a[lane], b[lane], c[lane]);                                                             \
    }
FLOATS(f32_16x16x16_f16, PICK(half8, half4), singles)
FLOATS(f32_16x16x16_bf16, PICK(short8v, short4v), singles)
FLOATS(f16_16x16x16_f16, PICK(half8, half4), PICK(half8, half4))
FLOATS(bf16_16x16x16_bf16, PICK(short8v, short4v), PICK(short8v, short4v))
FLOATS(f32_16x16x16_fp8_fp8, PICK(int2v, i32), singles)
FLOATS(f32_16x16x16_fp8_bf8, PICK(int2v, i32), singles)
FLOATS(f32_16x16x16_bf8_fp8, PICK(int2v, i32), singles)
FLOATS(f32_16x16x16_bf8_bf8, PICK(int2v, i32), singles)

// A is signed, B is not; the second result is limited.
#define INTEGERS(name, Side)                                                                                          \
    KERNEL name(const Side *a, const Side *b, sums *c, sums *limited) {                                               \
        u32 lane = local_x();                                                                                         \
        c[lane] = DENSE(name)(true, a[lane], false, b[lane], c[lane], false);                                         \
        limited[lane] = DENSE(name)(true, a[lane], false, b[lane], limited[lane], true);                              \
    }
INTEGERS(i32_16x16x16_iu8, PICK(int2v, i32))
INTEGERS(i32_16x16x16_iu4, i32)
INTEGERS(i32_16x16x32_iu4, PICK(int2v, i32))

// The last part of the index register is asked for in assembly: clang's builtins know the first only.
#define SPARSE_FLOATS(name, A, B, Result, last_part)                                                                  \
    KERNEL sparse_##name(const A *a, const B *b, const i32 *index, Result *first, Result *last) {                     \
        u32 lane = local_x();                                                                                         \
        first[lane] = SPARSE(name)(a[lane], b[lane], first[lane], index[lane]);                                       \
        Result c = last[lane];                                                                                        \
        asm("v_swmmac_" #name " %0, %1, %2, %3 index_key:" last_part                                                  \
            : "+v"(c) : "v"(a[lane]), "v"(b[lane]), "v"(index[lane]));                                                \
        last[lane] = c;                                                                                               \
    }
SPARSE_FLOATS(f32_16x16x32_f16, PICK(half8, half4), PICK(half16, half8), singles, PICK("1", "3"))
SPARSE_FLOATS(f32_16x16x32_bf16, PICK(short8v, short4v), PICK(short16v, short8v), singles, PICK("1", "3"))
SPARSE_FLOATS(f16_16x16x32_f16, PICK(half8, half4), PICK(half16, half8), PICK(half8, half4), PICK("1", "3"))
SPARSE_FLOATS(bf16_16x16x32_bf16, PICK(short8v, short4v), PICK(short16v, short8v), PICK(short8v, short4v), PICK("1", "3"))
SPARSE_FLOATS(f32_16x16x32_fp8_fp8, PICK(int2v, i32), PICK(int4v, int2v), singles, PICK("1", "3"))
SPARSE_FLOATS(f32_16x16x32_fp8_bf8, PICK(int2v, i32), PICK(int4v, int2v), singles, PICK("1", "3"))
SPARSE_FLOATS(f32_16x16x32_bf8_fp8, PICK(int2v, i32), PICK(int4v, int2v), singles, PICK("1", "3"))
SPARSE_FLOATS(f32_16x16x32_bf8_bf8, PICK(int2v, i32), PICK(int4v, int2v), singles, PICK("1", "3"))

// A is signed, B is not.
#define SPARSE_INTEGERS(name, A, B, last_part)                                                                        \
    KERNEL sparse_##name(const A *a, const B *b, const i32 *index, sums *first, sums *last) {                         \
        u32 lane = local_x();                                                                                         \
        first[lane] = SPARSE(name)(true, a[lane], false, b[lane], first[lane], index[lane], false);                   \
        sums c = last[lane];                                                                                          \
        asm("v_swmmac_" #name " %0, %1, %2, %3 " last_part "neg_lo:[1,0,0]"                                           \
            : "+v"(c) : "v"(a[lane]), "v"(b[lane]), "v"(index[lane]));                                                \
        last[lane] = c;                                                                                               \
    }
SPARSE_INTEGERS(i32_16x16x32_iu8, PICK(int2v, i32), PICK(int4v, int2v), PICK("index_key:1 ", "index_key:3 "))
SPARSE_INTEGERS(i32_16x16x32_iu4, i32, PICK(int2v, i32), "index_key:1 ")
SPARSE_INTEGERS(i32_16x16x64_iu4, PICK(int2v, i32), PICK(int4v, int2v), PICK("", "index_key:1 "))

#ifndef WAVE64
// Each lane names its own piece of a matrix, by its byte offset.
KERNEL transposed(const char *matrix, const u32 *wide_at, const u32 *narrow_at, short8v *wide, int2v *narrow) {
    typedef __attribute__((address_space(1))) short8v *Wide;
    typedef __attribute__((address_space(1))) int2v *Narrow;
    u32 lane = local_x();
    wide[lane] = __builtin_amdgcn_global_load_tr_b128_v8i16((Wide)(matrix + wide_at[lane]));
    narrow[lane] = __builtin_amdgcn_global_load_tr_b64_v2i32((Narrow)(matrix + narrow_at[lane]));
}
#endif

// Which wave signals first, three times over; what the barrier has to say once all have.
KERNEL signals(u32 *first, u32 *state) {
    for (u32 round = 0; round < 3; round++) {
        bool is_first = __builtin_amdgcn_s_barrier_signal_isfirst(-1);
        __builtin_amdgcn_s_barrier_wait(-1);
        if (is_first)
            __atomic_fetch_add(first + round, 1, __ATOMIC_RELAXED);
    }
    u32 after = __builtin_amdgcn_s_get_barrier_state(-1);
    __builtin_amdgcn_s_barrier_signal(-1);
    __builtin_amdgcn_s_barrier_wait(-1);
    state[local_x()] = after;
}
