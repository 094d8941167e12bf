// What random programs are made of, for the host and for every GPU: each helper is defined for all operands, and gives
// the same bits whatever compiles it. Shift counts are masked, quotients guarded, signed sums made of unsigned ones, and
// a NaN's payload, which no standard fixes, is gone before anything can see it.
#pragma once

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long i64;
typedef unsigned long u64;
typedef __int128 i128;
typedef unsigned __int128 u128;
typedef _Float16 f16;
typedef __bf16 bf16;
typedef float f32;
typedef double f64;

#define VECTORS(T)                                              \
    typedef T T##x2 __attribute__((ext_vector_type(2)));        \
    typedef T T##x3 __attribute__((ext_vector_type(3)));        \
    typedef T T##x4 __attribute__((ext_vector_type(4)));        \
    typedef T T##x8 __attribute__((ext_vector_type(8)));
VECTORS(u8) VECTORS(u16) VECTORS(u32) VECTORS(u64) VECTORS(f16) VECTORS(f32) VECTORS(f64)

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define FREE static

#ifdef __AMDGCN__
#define CONSTANT static const __attribute__((device))
#pragma clang force_cuda_host_device begin
#else
#define CONSTANT static const
#endif

union Union {
    u64 q;
    u32 d[2];
    u16 h[4];
    u8 b[8];
    i32 s[2];
};

template <class T> struct Unaligned {
    T value;
} __attribute__((packed));

template <class T> struct Wide { typedef u32 type; };
template <> struct Wide<i64> { typedef u64 type; };
template <> struct Wide<u64> { typedef u64 type; };
template <class T> using W = typename Wide<T>::type;
template <class T> using U = __make_unsigned(T);
template <class T> constexpr u32 WIDTH = sizeof(T) * 8;
template <class T> constexpr bool SIGNED = (T)-1 < (T)0;

#define OF_ONE(NAME, ...) template <class T> INLINE T NAME(T a) { return (T)(__VA_ARGS__); }
#define OF_TWO(NAME, ...) template <class T> INLINE T NAME(T a, T b) { return (T)(__VA_ARGS__); }
#define SHIFT(NAME, ...) template <class T> INLINE T NAME(T a, u32 n) { n &= WIDTH<T> - 1; return (T)(__VA_ARGS__); }
#define OF_THREE(NAME, ...) template <class T> INLINE T NAME(T a, T b, T c) { return (T)(__VA_ARGS__); }
OF_ONE(neg, (W<T>)0 - (W<T>)a)
OF_ONE(inv, ~a)
OF_ONE(popcount, __builtin_popcountg((U<T>)a))
OF_ONE(clz, __builtin_clzg((U<T>)a, (int)WIDTH<T>))
OF_ONE(ctz, __builtin_ctzg((U<T>)a, (int)WIDTH<T>))
OF_ONE(magnitude, a < 0 ? (W<T>)0 - (W<T>)a : (W<T>)a)
OF_TWO(add, (W<T>)a + (W<T>)b)
OF_TWO(sub, (W<T>)a - (W<T>)b)
OF_TWO(mul, (W<T>)a * (W<T>)b)
OF_TWO(low, a < b ? a : b)
OF_TWO(high, a > b ? a : b)
OF_TWO(add_sat, __builtin_elementwise_add_sat(a, b))
OF_TWO(sub_sat, __builtin_elementwise_sub_sat(a, b))
OF_TWO(distance, a > b ? (W<T>)a - (W<T>)b : (W<T>)b - (W<T>)a)
OF_TWO(mask24, (W<T>)(a & 0xffffff) * (W<T>)(b & 0xffffff))
SHIFT(shl, (W<T>)a << n)
SHIFT(shr, a >> n)
SHIFT(lshr, (U<T>)a >> n)
SHIFT(rotl, (U<T>)a << n | (U<T>)a >> ((WIDTH<T> - n) & (WIDTH<T> - 1)))
SHIFT(rotr, (U<T>)a >> n | (U<T>)a << ((WIDTH<T> - n) & (WIDTH<T> - 1)))
SHIFT(field, (U<T>)a >> n & ((U<T>)1 << (n & 7)) - 1)
OF_THREE(funnel, __builtin_elementwise_fshl((U<T>)a, (U<T>)b, (U<T>)c))
OF_THREE(merge, (a & b) | (~a & c))
OF_THREE(mad, (W<T>)a * (W<T>)b + (W<T>)c)
OF_THREE(middle, high<T>(low<T>(a, b), low<T>(high<T>(a, b), c)))
OF_THREE(sum3, (W<T>)a + (W<T>)b + (W<T>)c)
OF_THREE(xad, ((W<T>)a ^ (W<T>)b) + (W<T>)c)
OF_THREE(or3, a | b | c)
OF_THREE(sad, distance<T>(a, b) + (W<T>)c)
OF_THREE(shift_add, ((W<T>)a << ((W<T>)b & 7)) + (W<T>)c)
OF_THREE(carried, (W<T>)a + (W<T>)b + ((W<T>)a + (W<T>)b < (W<T>)a) + (W<T>)c)

template <class T> INLINE T bit_reverse(T a) {
    if constexpr (sizeof(T) == 1) return (T)__builtin_bitreverse8((u8)a);
    else if constexpr (sizeof(T) == 2) return (T)__builtin_bitreverse16((u16)a);
    else if constexpr (sizeof(T) == 4) return (T)__builtin_bitreverse32((u32)a);
    else return (T)__builtin_bitreverse64((u64)a);
}
template <class T> INLINE T byte_swap(T a) {
    if constexpr (sizeof(T) == 1) return a;
    else if constexpr (sizeof(T) == 2) return (T)__builtin_bswap16((u16)a);
    else if constexpr (sizeof(T) == 4) return (T)__builtin_bswap32((u32)a);
    // On gfx11 without optimisation LLVM 22 loses half of each word of llvm.bswap.i64 (v_mov_b16 where v_mov_b32 belongs).
    else return (T)((u64)__builtin_bswap32((u32)a) << 32 | __builtin_bswap32((u32)((u64)a >> 32)));
}
template <class T> INLINE T quotient(T a, T b) {
    if (b == 0) return a;
    if (SIGNED<T> && b == (T)-1) return neg<T>(a);
    return (T)(a / b);
}
template <class T> INLINE T remainder_of(T a, T b) {
    if (b == 0 || (SIGNED<T> && b == (T)-1)) return b;
    return (T)(a % b);
}
template <class T> INLINE T mul_high(T a, T b) {
    if constexpr (sizeof(T) == 8 && SIGNED<T>) return (T)((i128)a * b >> 64);
    else if constexpr (sizeof(T) == 8) return (T)((u128)a * b >> 64);
    else if constexpr (SIGNED<T>) return (T)((i64)a * b >> WIDTH<T>);
    else return (T)((u64)a * b >> WIDTH<T>);
}
// A sum, difference or product, and its overflow as the lowest bit.
template <class T> INLINE T add_overflow(T a, T b) { T r; bool o = __builtin_add_overflow(a, b, &r); return (T)(r ^ (T)o); }
template <class T> INLINE T sub_overflow(T a, T b) { T r; bool o = __builtin_sub_overflow(a, b, &r); return (T)(r ^ (T)o); }
template <class T> INLINE T mul_overflow(T a, T b) { T r; bool o = __builtin_mul_overflow(a, b, &r); return (T)(r ^ (T)o); }
// Integers of 128 and of odd numbers of bits.
template <class T> INLINE T wide_mix(T a, T b, u32 n) {
    u128 x = (u128)(u64)a << 64 | (u64)b, y = (u128)(u64)b * ((u64)a | 1);
    x = x + y - (x >> (n & 127)) + (y << ((n >> 7) & 127));
    return (T)(u64)(x ^ (x >> 64));
}
template <class T> INLINE T wide_quotient(T a, T b, T c) {
    i128 x = (i128)((u128)(u64)a << 60 ^ (u64)b), y = (i128)(i64)c | 1;
    return (T)(u64)(y == -1 ? x : x / y - x % y);
}
template <class T> INLINE T odd_width(T a, T b, u32 n) {
    unsigned _BitInt(37) x = (unsigned _BitInt(37))(u64)a, y = (unsigned _BitInt(37))(u64)b;
    unsigned _BitInt(37) z = (x * y + (x >> (n & 31))) ^ (y << (n & 15));
    _BitInt(23) s = (_BitInt(23))(z >> 3);
    return (T)((i64)s + (i64)(u64)(z / (y | 1)));
}
template <class T> INLINE T dot_bytes(T a, T b, T c) {
    u32 sum = (u32)c;
    i32 with_sign = 0;
    for (u32 k = 0; k < 4; k++) {
        sum += ((u32)a >> 8 * k & 255) * ((u32)b >> 8 * k & 255);
        with_sign += (i32)(i8)((u32)a >> 8 * k) * (i32)(i8)((u32)b >> 8 * k);
    }
    return (T)(sum ^ (u32)with_sign << 7);
}
template <class T> INLINE T pick_bytes(T a, T b) {
    u8x4 x = __builtin_bit_cast(u8x4, (u32)a), y = __builtin_bit_cast(u8x4, (u32)b);
    return (T)(__builtin_bit_cast(u32, __builtin_shufflevector(x, y, 6, 1, 0, 7)) ^
               __builtin_bit_cast(u32, __builtin_shufflevector(x, y, 3, 3, 4, 2)) << 1);
}

// Floating point. Each operation is rounded to its type: bf16's excess precision ends where a value is returned, and f16 has
// none with -fexcess-precision=16, without which x86's clang computes whole expressions of halves in f32.
template <class F> struct Bits;
template <> struct Bits<f16> { typedef u16 type; static constexpr u16 inf = 0x7c00, nan = 0x7e00, abs = 0x7fff; };
template <> struct Bits<bf16> { typedef u16 type; static constexpr u16 inf = 0x7f80, nan = 0x7fc0, abs = 0x7fff; };
template <> struct Bits<f32> { typedef u32 type; static constexpr u32 inf = 0x7f800000, nan = 0x7fc00000, abs = ~0u >> 1; };
template <> struct Bits<f64> {
    typedef u64 type;
    static constexpr u64 inf = 0x7ffull << 52, nan = 0x7ff8ull << 48, abs = ~0ull >> 1;
};
template <class F> using B = typename Bits<F>::type;

template <class F> INLINE B<F> plain_bits(B<F> b) { return (B<F>)(b & Bits<F>::abs) > Bits<F>::inf ? Bits<F>::nan : b; }
template <class F> INLINE B<F> bits(F a) { return plain_bits<F>(__builtin_bit_cast(B<F>, a)); }
template <class F> INLINE F from_bits(B<F> b) { return __builtin_bit_cast(F, plain_bits<F>(b)); }
template <class F> INLINE F plain(F a) { return from_bits<F>(__builtin_bit_cast(B<F>, a)); }
template <class F> INLINE bool finite(F a) { return (B<F>)(bits<F>(a) & Bits<F>::abs) < Bits<F>::inf; }

// bf16's denormal products and quotients are rounded twice where they are computed in f32, and once elsewhere: they are 0.
template <class F> INLINE F settled(F a) {
    if constexpr (__is_same(F, bf16)) return (B<F>)(bits<F>(a) & 0x7fff) < 0x100 ? (F)0 : a;
    else return a;
}
// x86's clang loses the sign of llvm.copysign.bf16 at -O1, so bf16's is made of f32's.
template <class F> struct Large { typedef F type; };
template <> struct Large<bf16> { typedef f32 type; };
template <class F> using Larger = typename Large<F>::type;
#define F_ONE(NAME, ...) template <class F> INLINE F NAME(F a) { return (F)(__VA_ARGS__); }
#define F_TWO(NAME, ...) template <class F> INLINE F NAME(F a, F b) { return (F)(__VA_ARGS__); }
F_TWO(fadd, a + b)
F_TWO(fsub, a - b)
F_TWO(fmul, settled<F>((F)(a * b)))
F_TWO(fdiv, settled<F>((F)(a / b)))
F_TWO(fless, a < b ? a : b)
F_TWO(fgreater, a > b ? a : b)
F_TWO(not_less, !(a < b) ? a : b)
F_TWO(fcopysign, (F)__builtin_elementwise_copysign(Larger<F>(a), Larger<F>(plain<F>(b))))
F_TWO(lesser, __builtin_elementwise_min(plain<F>(a), plain<F>(b)) + (F)0)
F_TWO(greater, __builtin_elementwise_max(plain<F>(a), plain<F>(b)) + (F)0)
F_ONE(fneg, -a)
F_ONE(fmagnitude, __builtin_elementwise_abs(a))
F_ONE(fclamp, a > (F)1 ? (F)1 : a > (F)0 ? a : (F)0)
F_ONE(fdouble, a * (F)2)
F_ONE(fhalf, settled<F>((F)(a * (F)0.5f)))

#define ROUNDING(NAME, BUILTIN)                                                             \
    template <class F> INLINE F NAME(F a) {                                                 \
        if constexpr (__is_same(F, bf16)) return (F)__builtin_elementwise_##BUILTIN((f32)a); \
        else return __builtin_elementwise_##BUILTIN(a);                                     \
    }
ROUNDING(ftrunc, trunc)
ROUNDING(ffloor, floor)
ROUNDING(fceil, ceil)
ROUNDING(frint, rint)
ROUNDING(feven, roundeven)
ROUNDING(fround, round)

template <class F> INLINE F froot(F a) {
    if constexpr (__is_same(F, f64)) return __builtin_sqrt(a);
    else return (F)__builtin_sqrtf((f32)a);
}
template <class F> INLINE F ffma(F a, F b, F c) {
    if constexpr (__is_same(F, f64)) return __builtin_fma(a, b, c);
    else if constexpr (__is_same(F, f32)) return __builtin_fmaf(a, b, c);
    else if constexpr (__is_same(F, bf16)) return fadd<F>(fmul<F>(a, b), c);
    else {
#ifdef __AMDGCN__
        return __builtin_fmaf16(a, b, c);
#else
        // The product is exact in double; the sum is rounded to odd there, so that rounding it to half rounds it once.
        f64 p = (f64)a * (f64)b, s = p + (f64)c;
        f64 v = s - p, rest = (p - (s - v)) + ((f64)c - v);
        u64 k = __builtin_bit_cast(u64, s);
        if (finite<f64>(s) && rest != 0 && !(k & 1)) k += (rest > 0) == (s > 0) ? 1 : -1;
        return (F)__builtin_bit_cast(f64, k);
#endif
    }
}
template <class F> INLINE F fscale(F a, i32 n) {
    n %= 400;
    if constexpr (__is_same(F, f64)) return __builtin_ldexp(a, n * 4);
    else if constexpr (__is_same(F, f32)) return __builtin_ldexpf(a, n);
#ifdef __AMDGCN__
    else if constexpr (__is_same(F, f16)) return __builtin_ldexpf16(a, n / 8);
#else
    else if constexpr (__is_same(F, f16)) return (f16)__builtin_ldexpf((f32)a, n / 8);
#endif
    else return a;
}
template <class F> INLINE F fparts(F a) {
    i32 e = 0;
    if (!finite<F>(a)) return a;
    if constexpr (__is_same(F, f64)) { f64 m = __builtin_frexp(a, &e); return m + e; }
    else { f32 m = __builtin_frexpf((f32)a, &e); return (F)(m + (f32)e); }
}
template <class F> INLINE F fremainder(F a, F b) {
    if constexpr (__is_same(F, f64)) return __builtin_fmod(a, b);
    else if constexpr (__is_same(F, f32)) return __builtin_fmodf(a, b);
    else return a;
}
// What lies between two numbers: IEEE 754-2019's minimum and maximum, whose zeros and NaNs are fixed.
template <class F> INLINE F minimum(F a, F b) {
    if constexpr (__is_same(F, bf16)) return fless<F>(a, b);
    else return __builtin_elementwise_minimum(a, b);
}
template <class F> INLINE F maximum(F a, F b) {
    if constexpr (__is_same(F, bf16)) return fgreater<F>(a, b);
    else return __builtin_elementwise_maximum(a, b);
}
template <class T, class F> INLINE T to_int(F a, T otherwise) {
    f64 d = (f64)a, top = (f64)((u64)1 << (WIDTH<T> - 1)) * (SIGNED<T> ? 1 : 2);
    if (SIGNED<T> && d >= -top && d < top) return (T)a;
    if (!SIGNED<T> && d > -1 && d < top) return (T)a;
    return otherwise;
}
template <class F, class T> INLINE F to_float(T a) {
    if constexpr (__is_same(F, bf16)) return (F)(f32)a;
    else return (F)a;
}
// f64 becomes bf16 in two steps, both of them written down.
template <class F, class G> INLINE F recast(G a) {
    if constexpr (__is_same(F, bf16) || __is_same(G, bf16)) return (F)(f32)a;
    else return (F)a;
}
template <class F> INLINE F mixed(f16 a, f16 b, F c) { return recast<F>(__builtin_fmaf((f32)a, (f32)b, recast<f32>(c))); }

// Vectors: elements one by one where the host has no whole operation, a shift count per element.
template <class V> INLINE V vshl(V a, V n, u32 width) { return a << (n & (V)(width - 1)); }
template <class V> INLINE V vshr(V a, V n, u32 width) { return a >> (n & (V)(width - 1)); }
template <class V, class F> INLINE V vfma(V a, V b, V c, u32 n) {
    for (u32 k = 0; k < n; k++) a[k] = ffma<F>(a[k], b[k], c[k]);
    return a;
}
template <class V, class F> INLINE V vplain(V a, u32 n) {
    for (u32 k = 0; k < n; k++) a[k] = plain<F>(a[k]);
    return a;
}

// Memory at any byte, and memory that is read and written as the program says, no more and no less.
template <class T> INLINE T load_any(const void *p) { return ((const Unaligned<T> *)p)->value; }
template <class T> INLINE void store_any(void *p, T a) { ((Unaligned<T> *)p)->value = a; }
template <class T> INLINE T load_volatile(const void *p) { return *(const volatile T *)p; }
template <class T> INLINE void store_volatile(void *p, T a) { *(volatile T *)p = a; }

// A float in memory that an atomic adds to; what is in the cell before and after has no NaN's payload.
template <class F> INLINE F atomic_fadd(void *p, F a) {
    F *cell = (F *)p;
    *cell = plain<F>(*cell);
    F old = __scoped_atomic_fetch_add(cell, a, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    *cell = plain<F>(*cell);
    return old;
}
template <class T> INLINE T atomic_cas_loop(T *p, T a) {
    T old = __scoped_atomic_load_n(p, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    while (!__scoped_atomic_compare_exchange_n(p, &old, add<T>(mul<T>(old, 3), a), true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE,
                                               __MEMORY_SCOPE_DEVICE)) {}
    return old;
}
template <class T> INLINE T atomic_cas(T *p, T expected, T a) {
    bool done = __scoped_atomic_compare_exchange_n(p, &expected, a, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    return done ? a : expected;
}
#ifdef __AMDGCN__
#pragma clang force_cuda_host_device end
#endif
