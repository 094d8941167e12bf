// Accesses of several workgroups to the same bytes. Whatever is stored has equal bytes; what is loaded must have them, too.
#include "forms.h"

template <class T> DEVICE T all_bytes(u32 byte) { return T(0x0101010101010101ul * (byte & 255)); }
template <> DEVICE quad all_bytes<quad>(u32 byte) { return quad(0x01010101u * (byte & 255)); }
template <class T> DEVICE bool is_whole(T value) { return value == all_bytes<T>(u32(value)); }
template <> DEVICE bool is_whole<quad>(quad v) { return v.x == all_bytes<u32>(v.x) && v.y == v.x && v.z == v.x && v.w == v.x; }

// Loads by the scalar unit; vector stores.
struct Scalar {
#if __GFX12__
#define LOAD(words) "s_load_b" words " %0, %1, 0x0\ns_wait_kmcnt 0x0"
#define PAIR "64"
#define QUAD "128"
#elif __GFX11__
#define LOAD(words) "s_load_b" words " %0, %1, 0x0\ns_waitcnt lgkmcnt(0)"
#define PAIR "64"
#define QUAD "128"
#else
#define LOAD(words) "s_load_dword" words " %0, %1, 0x0\ns_waitcnt lgkmcnt(0)"
#define PAIR "x2"
#define QUAD "x4"
#endif
    template <class T> static DEVICE T load(u8 *p, u32 at) {
        T value;
        u8 *first = p + __builtin_amdgcn_readfirstlane(at);
        if constexpr (sizeof(T) == 8) asm volatile(LOAD(PAIR) : "=&s"(value) : "s"(first) : "memory");
        else asm volatile(LOAD(QUAD) : "=&s"(value) : "s"(first) : "memory");
        return value;
    }
    template <class T> static DEVICE void store(u8 *p, u32 at, T value) { Global::store(p, at, value); }
};

// A buffer of elements of two or four words, which its resource says.
struct Typed {
#if __GFX9__
    template <class T> static constexpr u32 FORMAT = 4u << 12 | (sizeof(T) == 8 ? 11 : 14) << 15;
#elif __GFX10__
    template <class T> static constexpr u32 FORMAT = (sizeof(T) == 8 ? 62 : 75) << 12 | 3u << 28;
#else
    template <class T> static constexpr u32 FORMAT = (sizeof(T) == 8 ? 48 : 61) << 12 | 3u << 28;
#endif
#if __GFX12__
#define TYPED(what, wait) "buffer_" what " %0, %1, %2, null offen\n" wait
#define STORED "s_wait_storecnt 0x0"
#define LOADED "s_wait_loadcnt 0x0"
#else
#define TYPED(what, wait) "buffer_" what " %0, %1, %2, 0 offen\n" wait
#define STORED ""
#define LOADED "s_waitcnt vmcnt(0)"
#endif
    // Component 0 is the first element's, and so on.
    template <class T> static DEVICE quad resource(u8 *p) { return quad{u32(u64(p)), u32(u64(p) >> 32), 1u << 20, FORMAT<T> | 07654}; }
    template <class T> static DEVICE T load(u8 *p, u32 at) {
        T value;
        if constexpr (sizeof(T) == 8) asm volatile(TYPED("load_format_xy", LOADED) : "=&v"(value) : "v"(at), "s"(resource<T>(p)) : "memory");
        else asm volatile(TYPED("load_format_xyzw", LOADED) : "=&v"(value) : "v"(at), "s"(resource<T>(p)) : "memory");
        return value;
    }
    template <class T> static DEVICE void store(u8 *p, u32 at, T value) {
        if constexpr (sizeof(T) == 8) asm volatile(TYPED("store_format_xy", STORED) : : "v"(value), "v"(at), "s"(resource<T>(p)) : "memory");
        else asm volatile(TYPED("store_format_xyzw", STORED) : : "v"(value), "v"(at), "s"(resource<T>(p)) : "memory");
    }
};

// Atomic operations that replace a value or add to all its bytes at once, against plain loads.
struct Exchange : Global {
    template <class T> static DEVICE void store(u8 *p, u32 at, T value) {
        __hip_atomic_exchange((T *)(p + at), value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
};

// ... and against plain stores.
struct Fetch : Global {
    template <class T> static DEVICE T load(u8 *p, u32 at) {
        return __hip_atomic_fetch_or((T *)(p + at), T(0), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
};

// Workgroups with an odd number store, the others load. Lane `i` accesses the bytes at `i` times a stride, if its bit of
// `lanes` is set; a lane that loads what is not aligned is promised nothing.
template <class Form, class T>
DEVICE void run(u8 *p, u32 *torn, u32 rounds, u32 stored, u32 loaded, u64 lanes) {
    u32 lane = local_x(), found = 0;
    if (!(lanes >> lane & 1)) return;
    if (group_x() & 1) {
        for (u32 round = 0; round < rounds; round++) Form::template store<T>(p, lane * stored, all_bytes<T>(3 * round + 37 * group_x()));
        return;
    }
    for (u32 round = 0; round < rounds; round++) found += !is_whole(Form::template load<T>(p, lane * loaded));
    if (lane * loaded % sizeof(T) == 0 && found) __hip_atomic_fetch_add(torn, found, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

#define CASE(name, Form, T)                                                                              \
    KERNEL name(u8 *p, u32 *torn, u32 rounds, u32 stored, u32 loaded, u64 lanes) {                       \
        run<Form, T>(p, torn, rounds, stored, loaded, lanes);                                            \
    }
#define WIDTHS(name, Form) CASE(name##_16, Form, u16) CASE(name##_32, Form, u32) CASE(name##_64, Form, u64) CASE(name##_128, Form, quad)

WIDTHS(global, Global)
WIDTHS(flat, Flat)
WIDTHS(buffer, Buffer)
CASE(typed_64, Typed, u64)
CASE(typed_128, Typed, quad)
CASE(scalar_64, Scalar, u64)
CASE(scalar_128, Scalar, quad)
CASE(exchange_32, Exchange, u32)
CASE(exchange_64, Exchange, u64)
CASE(fetch_32, Fetch, u32)
CASE(fetch_64, Fetch, u64)

// Two waves of a workgroup on its LDS: the first one stores, the second one loads.
template <class T> DEVICE void local(u32 *torn, u32 rounds) {
    LDS T cells[64];
    volatile T *mine = &cells[local_x() % 64];
    u32 found = 0;
    *mine = all_bytes<T>(0);
    barrier();
    for (u32 round = 0; round < rounds; round++) {
        if (local_x() < 64) *mine = all_bytes<T>(round);
        else found += !is_whole<T>(*mine);
    }
    if (found) __hip_atomic_fetch_add(torn, found, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL local_64(u32 *torn, u32 rounds) { local<u64>(torn, rounds); }
KERNEL local_128(u32 *torn, u32 rounds) { local<quad>(torn, rounds); }
