// The few names that the test kernels need of a device language, on top of clang's builtins: no SDK, no device library.
#pragma once

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long i64;
typedef unsigned long u64;
typedef _Float16 f16;

#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))
#define NOINLINE __attribute__((device, noinline))
#define LDS __attribute__((shared)) static
#define GLOBAL_VARIABLE __attribute__((device, visibility("protected"), used))
#define CONSTANT __attribute__((device)) static const

DEVICE static inline u32 local_x() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE static inline u32 local_y() { return __builtin_amdgcn_workitem_id_y(); }
DEVICE static inline u32 group_x() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE static inline u32 group_y() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE static inline u32 block_x() { return __builtin_amdgcn_workgroup_size_x(); }
DEVICE static inline u32 global_x() { return group_x() * block_x() + local_x(); }

DEVICE static inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
