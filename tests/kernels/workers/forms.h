// The instructions by which a kernel loads and stores: each form has the bytes `at` behind a pointer that all lanes have.
#pragma once
#include "../gpu.h"

typedef u32 pair __attribute__((ext_vector_type(2)));
typedef u32 quad __attribute__((ext_vector_type(4)));

#define AT_GLOBAL __attribute__((address_space(1)))

struct Global {
    template <class T> static DEVICE T load(u8 *p, u32 at) { return *(volatile AT_GLOBAL T *)((AT_GLOBAL u8 *)p + at); }
    template <class T> static DEVICE void store(u8 *p, u32 at, T value) { *(volatile AT_GLOBAL T *)((AT_GLOBAL u8 *)p + at) = value; }
};

struct Flat {
    // The compiler may not see where the pointer comes from.
    static DEVICE u8 *hidden(u8 *p) { asm volatile("" : "+v"(p)); return p; }
    template <class T> static DEVICE T load(u8 *p, u32 at) { return *(volatile T *)(hidden(p) + at); }
    template <class T> static DEVICE void store(u8 *p, u32 at, T value) { *(volatile T *)(hidden(p) + at) = value; }
};

struct Buffer {
    // A buffer without a structure, of 32-bit elements.
#if __GFX9__
    static constexpr u32 RAW = 0x00027000;
#elif __GFX10__
    static constexpr u32 RAW = 0x31016000;
#else
    static constexpr u32 RAW = 0x31014000;
#endif
    // For the compiler alone: a volatile access.
    static constexpr u32 VOLATILE = 1u << 31;
    static DEVICE __amdgpu_buffer_rsrc_t resource(u8 *p) { return __builtin_amdgcn_make_buffer_rsrc(p, 0, 1 << 20, RAW); }
    template <class T> static DEVICE T load(u8 *p, u32 at) {
        if constexpr (sizeof(T) == 2) return T(__builtin_amdgcn_raw_buffer_load_b16(resource(p), at, 0, VOLATILE));
        else if constexpr (sizeof(T) == 4) return T(__builtin_amdgcn_raw_buffer_load_b32(resource(p), at, 0, VOLATILE));
        else if constexpr (sizeof(T) == 8) return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b64(resource(p), at, 0, VOLATILE));
        else return __builtin_bit_cast(T, __builtin_amdgcn_raw_buffer_load_b128(resource(p), at, 0, VOLATILE));
    }
    template <class T> static DEVICE void store(u8 *p, u32 at, T value) {
        if constexpr (sizeof(T) == 2) __builtin_amdgcn_raw_buffer_store_b16(value, resource(p), at, 0, VOLATILE);
        else if constexpr (sizeof(T) == 4) __builtin_amdgcn_raw_buffer_store_b32(value, resource(p), at, 0, VOLATILE);
        else if constexpr (sizeof(T) == 8) __builtin_amdgcn_raw_buffer_store_b64(__builtin_bit_cast(pair, value), resource(p), at, 0, VOLATILE);
        else __builtin_amdgcn_raw_buffer_store_b128(__builtin_bit_cast(quad, value), resource(p), at, 0, VOLATILE);
    }
};
