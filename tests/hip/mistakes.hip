// Programs that are wrong: each ends as it would on a GPU, or worse than that.
#include "check.h"

#include <cassert>
#include <csignal>

#include <unistd.h>

__global__ void store(int *p, long at) { p[at] = 1; }
__global__ void asserts(int n) { assert(n > 100 && "too few"); }
__global__ void aborts() { abort(); }
__global__ void traps() { __builtin_trap(); }
__global__ void illegal() { asm volatile(".long 0xbfff0000"); }
__global__ void for_ever(volatile int *p) {
    while (*p == 0) {
    }
}
__global__ void race(int *out) {
    __shared__ int words[128];
    words[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = words[(threadIdx.x + 64) % 128];
}
// An image whose resource says that it is of type 1, which there is not.
__global__ void fetch() {
#ifdef __gfx90a__
    asm volatile("s_mov_b32 s11, 0x10000000\n\timage_load v0, v[0:1], s[8:15] dmask:0x1 unorm\n\ts_waitcnt vmcnt(0)" ::: "s8",
                 "s9", "s10", "s11", "s12", "s13", "s14", "s15", "v0", "v1");
#endif
}

static int *memory() {
    int *p;
    HIP(hipMalloc(&p, 1 << 12));
    HIP(hipMemset(p, 0, 1 << 12));
    HIP(hipDeviceSynchronize());
    return p;
}
static void finish() {
    hipError_t error = hipDeviceSynchronize();
    printf("hipDeviceSynchronize: %s\n", hipGetErrorString(error));
}

static void wild_store() {
    store<<<1, 64>>>(memory(), 1l << 35);
    finish();
}
static void store_behind_the_end() {
    store<<<1, 1>>>(memory(), (1 << 10) + 2);
    finish();
}
static void store_to_freed_memory() {
    int *p = memory();
    HIP(hipFree(p));
    store<<<1, 1>>>(p, 0);
    finish();
}
static void store_to_host_memory() {
    static int words[1000];
    store<<<1, 1>>>(words, 500);
    finish();
}
static void null_store() {
    store<<<1, 1>>>(nullptr, 2);
    finish();
}
static void failed_assert() {
    asserts<<<1, 64>>>(3);
    finish();
}
static void abort_in_kernel() {
    aborts<<<1, 64>>>();
    finish();
}
static void trap() {
    traps<<<1, 64>>>();
    finish();
}
static void illegal_instruction() {
    illegal<<<1, 64>>>();
    finish();
}
static void endless() {
    for_ever<<<1, 64>>>(memory());
    finish();
}
static void leaves_while_a_kernel_runs() {
    for_ever<<<1, 64>>>(memory());
    exit(7);
}
static void leaves_at_once() {
    for_ever<<<1, 64>>>(memory());
    _exit(8);
}
static void leaves_in_a_handler() {
    signal(SIGUSR1, [](int) { exit(9); });
    store<<<1, 64>>>(memory(), 0);
    finish();
}
static void race_in_lds() {
    race<<<1, 128>>>(memory());
    finish();
}
static void reads_an_unknown_image() {
    fetch<<<1, 16>>>();
    finish();
}
CASES({"wild_store", wild_store}, {"store_behind_the_end", store_behind_the_end},
      {"store_to_freed_memory", store_to_freed_memory}, {"store_to_host_memory", store_to_host_memory},
      {"null_store", null_store}, {"failed_assert", failed_assert}, {"abort_in_kernel", abort_in_kernel}, {"trap", trap},
      {"illegal_instruction", illegal_instruction}, {"endless", endless},
      {"leaves_while_a_kernel_runs", leaves_while_a_kernel_runs}, {"leaves_at_once", leaves_at_once},
      {"leaves_in_a_handler", leaves_in_a_handler},
      {"race_in_lds", race_in_lds}, {"reads_an_unknown_image", reads_an_unknown_image})
