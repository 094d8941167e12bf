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
#define __shared__ __attribute__((shared))
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

// Atomics by scalar instructions: GCN 5, CDNA and RDNA 1. The compiler's names of the operations, and theirs here.
#define LT_SCALAR_ATOMICS(of)                                                                                         \
  of(add, add) of(sub, sub) of(umin, min) of(umax, max) of(and, and) of(or, or) of(xor, xor) of(inc, inc) of(dec, dec) \
  of(exchange, exchange)
#define LT_DECLARE(op, name)                                                                                           \
  extern "C" __attribute__((device)) __attribute__((weak)) unsigned scalar_##name##_32(global32 at, unsigned value)     \
      __asm__("luthier.scalar_atomic." #op ".i32");                                                                   \
  extern "C" __attribute__((device)) __attribute__((weak)) unsigned long long scalar_##name##_64(                     \
      global64 at, unsigned long long value) __asm__("luthier.scalar_atomic." #op ".i64");
LT_SCALAR_ATOMICS(LT_DECLARE)
#undef LT_DECLARE
extern "C" __attribute__((device)) __attribute__((weak)) unsigned scalar_cas_32(
    global32 at, unsigned expected, unsigned value) __asm__("luthier.scalar_atomic.cas.i32");
extern "C" __attribute__((device)) __attribute__((weak)) unsigned long long scalar_cas_64(
    global64 at, unsigned long long expected, unsigned long long value) __asm__("luthier.scalar_atomic.cas.i64");

#ifdef LT_HOOK_LIBRARY
// The ring of a tool's lt.printf, and where things are in it (python/luthier/lang/records.py, PRINTED).
extern "C" __attribute__((device)) unsigned char __lt_printed[];
constexpr unsigned printed_capacity = 4096, printed_size = 56, printed_text = 48, printed_stamp = 52, printed_most = 6;
constexpr unsigned printed_tail = 0, printed_head = 64, printed_closed = 68, printed_records = 192;

// What stands for a text: the host knows the texts of a library.
static __attribute__((device)) constexpr unsigned number_of(const char *text) {
  unsigned found = 2166136261u;
  for (; *text; ++text) found = (found ^ (unsigned char)*text) * 16777619u;
  return found;
}
static __attribute__((device)) constexpr bool is_in(char c, const char *some) {
  for (; *some; ++some)
    if (*some == c) return true;
  return false;
}

// The types of what is printed.
template <typename... T> struct printed_values {
  // 0 if the text prints them, else what is wrong: 1, how many they are; 2, a conversion that there is not; 3, a type.
  static __attribute__((device)) constexpr int wrong(const char *text) {
    constexpr bool is_float[] = {__is_floating_point(T)..., false};
    constexpr bool is_number[] = {(__is_arithmetic(T) || __is_pointer(T) || __is_enum(T))..., false};
    unsigned n = 0;
    for (; *text; ++text) {
      if (*text != '%') continue;
      if (*++text == '%') continue;
      while (*text && is_in(*text, "-+ #0123456789.")) ++text;
      while (*text && is_in(*text, "hlzjt")) ++text;
      if (!*text || !is_in(*text, "diuxXoceEfFgG")) return 2;
      if (n == sizeof...(T)) return 1;
      if (!is_number[n] || is_float[n] != is_in(*text, "eEfFgG")) return 3;
      ++n;
    }
    return n == sizeof...(T) && n <= printed_most ? 0 : 1;
  }
};
template <typename... T> __attribute__((device)) printed_values<T...> values_of(T...);

template <typename T> static __attribute__((device)) inline __attribute__((always_inline)) unsigned long long bits_of(T value) {
  if constexpr (__is_floating_point(T))
    return __builtin_bit_cast(unsigned long long, (double)value);
  else
    return (unsigned long long)value;
}

template <typename... T>
static __attribute__((device)) inline __attribute__((always_inline)) int print(unsigned number, T... values) {
  const unsigned long long bits[printed_most + 1] = {bits_of(values)...};
  unsigned char *ring = __lt_printed;
  unsigned *head = (unsigned *)(ring + printed_head), *closed = (unsigned *)(ring + printed_closed);
  unsigned position = __hip_atomic_fetch_add((unsigned *)(ring + printed_tail), 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  // What a lane waits for are positions in front of all of its wave's.
  while (position - __hip_atomic_load(head, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) >= printed_capacity &&
         !__hip_atomic_load(closed, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM))
    __builtin_amdgcn_s_sleep(1);
  unsigned char *record = ring + printed_records + (position & (printed_capacity - 1)) * printed_size;
  for (unsigned n = 0; n < printed_most; ++n) ((unsigned long long *)record)[n] = bits[n];
  *(unsigned *)(record + printed_text) = number;
  __hip_atomic_store((unsigned *)(record + printed_stamp), (position | (printed_capacity - 1)) + 1, __ATOMIC_RELEASE,
                     __HIP_MEMORY_SCOPE_SYSTEM);
  return 0;
}

extern "C" __attribute__((device)) void __lt_assert();
#endif
} // namespace detail

// A library that has host code, too, keeps the host's.
#ifdef LT_HOOK_LIBRARY
// Each active lane prints on the host's standard output: a text in quotes, and up to six numbers.
#define printf(text, ...)                                                                                              \
  (__extension__({                                                                                                     \
    static __attribute__((used)) const char __lt_text[] = text;                                                        \
    constexpr int __lt_wrong = decltype(lt::detail::values_of(__VA_ARGS__))::wrong(text);                              \
    static_assert(__lt_wrong != 1, "printf: the text prints another number of values, or more than six");              \
    static_assert(__lt_wrong != 2, "printf knows %d %i %u %x %X %o %c %e %E %f %F %g %G and %%");                      \
    static_assert(__lt_wrong != 3, "printf: a value is not of the type that the text prints");                         \
    constexpr unsigned __lt_number = lt::detail::number_of(text);                                                      \
    lt::detail::print(__lt_number __VA_OPT__(, ) __VA_ARGS__);                                                         \
  }))
// There is none in hooks, and they are told so by this name.
#undef assert
#define assert(condition) ((condition) ? (void)0 : lt::detail::__lt_assert())
#endif

// The wave adds once, however many lanes are active, even none. Address and value must be the same in all of them.
static __attribute__((device)) inline __attribute__((always_inline)) void wave_atomic_add(unsigned *at, unsigned value) {
  detail::wave_add_32((detail::global32)at, value);
}
static __attribute__((device)) inline __attribute__((always_inline)) void wave_atomic_add(unsigned long long *at,
                                                                                          unsigned long long value) {
  detail::wave_add_64((detail::global64)at, value);
}

// The wave acts once by a scalar instruction, whatever EXEC is; gives what was there before. Address and values must be the
// same in all lanes.
#define LT_DEFINE(op, name)                                                                                            \
  static __attribute__((device)) inline __attribute__((always_inline)) unsigned scalar_atomic_##name(                 \
      unsigned *at, unsigned value) {                                                                                 \
    return detail::scalar_##name##_32((detail::global32)at, value);                                                     \
  }                                                                                                                   \
  static __attribute__((device)) inline __attribute__((always_inline)) unsigned long long scalar_atomic_##name(       \
      unsigned long long *at, unsigned long long value) {                                                             \
    return detail::scalar_##name##_64((detail::global64)at, value);                                                     \
  }
LT_SCALAR_ATOMICS(LT_DEFINE)
#undef LT_DEFINE
#undef LT_SCALAR_ATOMICS
static __attribute__((device)) inline __attribute__((always_inline)) unsigned scalar_atomic_cas(
    unsigned *at, unsigned expected, unsigned value) {
  return detail::scalar_cas_32((detail::global32)at, expected, value);
}
static __attribute__((device)) inline __attribute__((always_inline)) unsigned long long scalar_atomic_cas(
    unsigned long long *at, unsigned long long expected, unsigned long long value) {
  return detail::scalar_cas_64((detail::global64)at, expected, value);
}

} // namespace lt
