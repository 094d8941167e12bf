// What hooks in HIP need, without ROCm's headers. See docs/hooks.md, "Hooks in HIP, C++, OpenCL C and LLVM IR".
//
// lt.HookLibrary finds it as <luthier/hooks.h>. With ROCm's <hip/hip_runtime.h> in front of it, only what is not HIP's is
// declared here.
#pragma once

#if !defined(__HIP__)
#error "luthier/hooks.h is for HIP: language=\"hip\""
#endif
#ifndef LT_WAVE_SIZE
#error "luthier/hooks.h is for lt.HookLibrary, which defines LT_WAVE_SIZE"
#endif

// A function that can be inserted: it keeps its name, and the compiler keeps it.
#define LT_HOOK extern "C" __attribute__((device)) __attribute__((used))

#ifndef HIP_INCLUDE_HIP_HIP_RUNTIME_H
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((managed))
#define __forceinline__ inline __attribute__((always_inline))

typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __SIZE_TYPE__ size_t;

static constexpr int warpSize = LT_WAVE_SIZE;

// Where a work-item is, whatever the kernel's registers hold by now. Sizes come from the dispatch packet.
#define LT_OF_PACKET __attribute__((address_space(4)))
static __device__ __forceinline__ unsigned __lt_packet(int word) {
  return ((const LT_OF_PACKET unsigned *)__builtin_amdgcn_dispatch_ptr())[word];
}
static __device__ __forceinline__ unsigned __lt_block(int axis) {
  unsigned word = __lt_packet(1 + axis / 2);
  return axis & 1 ? word >> 16 : word & 0xffff;
}
static __device__ __forceinline__ unsigned __lt_blocks(int axis) {
#if defined(__gfx1250__) || defined(__gfx1251__)
  // The packet of a launch of clusters counts those.
  if ((__lt_packet(0) & 0xff) == 0) {
    unsigned counts[3] = {__lt_packet(3), __lt_packet(4) & 0xffff, __lt_packet(4) >> 16};
    return counts[axis] * (__lt_packet(5) >> 8 * axis & 0xff);
  }
#endif
  return (__lt_packet(3 + axis) - 1) / __lt_block(axis) + 1;
}
struct __lt_thread_idx {
  struct X { __device__ __forceinline__ operator unsigned() const { return __builtin_amdgcn_workitem_id_x(); } } x;
  struct Y { __device__ __forceinline__ operator unsigned() const { return __builtin_amdgcn_workitem_id_y(); } } y;
  struct Z { __device__ __forceinline__ operator unsigned() const { return __builtin_amdgcn_workitem_id_z(); } } z;
};
struct __lt_block_idx {
  struct X { __device__ __forceinline__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_x(); } } x;
  struct Y { __device__ __forceinline__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_y(); } } y;
  struct Z { __device__ __forceinline__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_z(); } } z;
};
struct __lt_block_dim {
  struct X { __device__ __forceinline__ operator unsigned() const { return __lt_block(0); } } x;
  struct Y { __device__ __forceinline__ operator unsigned() const { return __lt_block(1); } } y;
  struct Z { __device__ __forceinline__ operator unsigned() const { return __lt_block(2); } } z;
};
struct __lt_grid_dim {
  struct X { __device__ __forceinline__ operator unsigned() const { return __lt_blocks(0); } } x;
  struct Y { __device__ __forceinline__ operator unsigned() const { return __lt_blocks(1); } } y;
  struct Z { __device__ __forceinline__ operator unsigned() const { return __lt_blocks(2); } } z;
};
static constexpr __lt_thread_idx threadIdx{};
static constexpr __lt_block_idx blockIdx{};
static constexpr __lt_block_dim blockDim{};
static constexpr __lt_grid_dim gridDim{};

static __device__ __forceinline__ unsigned __lane_id() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}
static __device__ __forceinline__ unsigned long long __ballot(int condition) {
#if LT_WAVE_SIZE == 32
  return __builtin_amdgcn_ballot_w32(condition != 0);
#else
  return __builtin_amdgcn_ballot_w64(condition != 0);
#endif
}
static __device__ __forceinline__ unsigned long long __activemask() { return __ballot(1); }
static __device__ __forceinline__ int __any(int condition) { return __ballot(condition) != 0; }
static __device__ __forceinline__ int __all(int condition) { return __ballot(condition) == __activemask(); }

static __device__ __forceinline__ int __popc(unsigned x) { return __builtin_popcount(x); }
static __device__ __forceinline__ int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static __device__ __forceinline__ int __ffs(unsigned x) { return __builtin_ffs((int)x); }
static __device__ __forceinline__ int __ffsll(unsigned long long x) { return __builtin_ffsll((long long)x); }
static __device__ __forceinline__ int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
static __device__ __forceinline__ int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }

// The value of another active lane; of one that is off, zero or what it last had.
static __device__ __forceinline__ int __shfl(int value, int lane) {
  return __builtin_amdgcn_ds_bpermute(lane << 2, value);
}
static __device__ __forceinline__ unsigned __shfl(unsigned value, int lane) { return (unsigned)__shfl((int)value, lane); }
static __device__ __forceinline__ float __shfl(float value, int lane) {
  return __builtin_bit_cast(float, __shfl(__builtin_bit_cast(int, value), lane));
}
static __device__ __forceinline__ int __shfl_xor(int value, int mask) { return __shfl(value, (int)__lane_id() ^ mask); }
static __device__ __forceinline__ unsigned __shfl_xor(unsigned value, int mask) {
  return __shfl(value, (int)__lane_id() ^ mask);
}

// Each active lane by itself, relaxed, in the scope of the device.
template <typename T> static __device__ __forceinline__ T atomicAdd(T *at, T value) {
  return __hip_atomic_fetch_add(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> static __device__ __forceinline__ T atomicMin(T *at, T value) {
  return __hip_atomic_fetch_min(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> static __device__ __forceinline__ T atomicMax(T *at, T value) {
  return __hip_atomic_fetch_max(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> static __device__ __forceinline__ T atomicAnd(T *at, T value) {
  return __hip_atomic_fetch_and(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> static __device__ __forceinline__ T atomicOr(T *at, T value) {
  return __hip_atomic_fetch_or(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> static __device__ __forceinline__ T atomicXor(T *at, T value) {
  return __hip_atomic_fetch_xor(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> static __device__ __forceinline__ T atomicExch(T *at, T value) {
  return __hip_atomic_exchange(at, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <typename T> static __device__ __forceinline__ T atomicCAS(T *at, T expected, T value) {
  __hip_atomic_compare_exchange_strong(at, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}
#endif

namespace lt {

// A parameter that is an application register, or the wave's own count: what is stored in it stays.
template <typename T> using inout = __attribute__((address_space(5))) T *;
// One value for the wave: what is stored must be the same in all active lanes.
using counter = inout<unsigned long long>;

static __attribute__((device)) inline __attribute__((always_inline)) unsigned long long exec_mask() {
#if LT_WAVE_SIZE == 32
  return __builtin_amdgcn_ballot_w32(true);
#else
  return __builtin_amdgcn_ballot_w64(true);
#endif
}

namespace detail {
using global32 = __attribute__((address_space(1))) unsigned *;
using global64 = __attribute__((address_space(1))) unsigned long long *;
extern "C" __attribute__((device)) __attribute__((weak)) void wave_add_32(global32 at, unsigned value)
    __asm__("luthier.wave_add.i32");
extern "C" __attribute__((device)) __attribute__((weak)) void wave_add_64(global64 at, unsigned long long value)
    __asm__("luthier.wave_add.i64");
} // namespace detail

// The wave adds once, however many lanes are active, even none. Address and value must be the same in all of them.
static __attribute__((device)) inline __attribute__((always_inline)) void wave_atomic_add(unsigned *at, unsigned value) {
  detail::wave_add_32((detail::global32)at, value);
}
static __attribute__((device)) inline __attribute__((always_inline)) void wave_atomic_add(unsigned long long *at,
                                                                                          unsigned long long value) {
  detail::wave_add_64((detail::global64)at, value);
}

} // namespace lt
