// The device half of a tool: a HIP library that HIP loads beside a program's own code. instruction_counter.py is the other half
// and says how both are used. For each processor that the program runs on:
//
//     clang++ -x hip --offload-arch=gfx90a -O1 -Xclang -fembed-bitcode=all -DLT_WAVE_SIZE=64 \
//         -I$(python -c 'import luthier; print(luthier.__path__[0])')/include -fPIC -shared instruction_counter.hip -o libcounter.so
#include <luthier/hooks.h>

// Marks the library as a tool: its kernels, if it has any, are not the program's.
__managed__ char __luthier_reserved;

// Memory that the GPUs and this library's host code have.
__managed__ unsigned long long global_counter = 0;
// Each GPU has one of these.
__device__ unsigned long long lanes = 0;

// The hook. What HIP compiles of it is never run: it is placed from the bitcode that the library embeds.
LT_HOOK __attribute__((noinline)) void instrumentation_kernel() {
  lt::wave_atomic_add(&global_counter, 1ull);
  atomicAdd(&lanes, 1ull);
}
