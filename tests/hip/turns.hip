// What a race comes to depends on how waves take turns: all lanes read a word of LDS, some work later lane 0 writes it, and no
// barrier is in between, as in rocSOLVER's kernel for small Cholesky factors (potf2_kernel_small). With the argument `linger`
// the other waves read later, and lane 0 writes later still.
#include "check.h"

__global__ void late_writer(int *saw, int steps, int linger) {
    __shared__ volatile int word;
    if (threadIdx.x == 0) word = 1;
    __syncthreads();
    if (threadIdx.x >= warpSize)
        for (int i = 0; i < linger; i++) asm volatile("s_nop 0");
    int seen = word;
    int work = seen;
    for (int i = 0; i < steps; i++) work = work * 3 + i;
    if (threadIdx.x == 0) word = 2 + (work == 7);
    saw[threadIdx.x] = seen;
}

int main(int argc, char **argv) {
    const bool linger = argc > 1 && !strcmp(argv[1], "linger");
    const int lanes = 256;
    int *saw, late = 0;
    HIP(hipMalloc(&saw, lanes * sizeof(int)));
    late_writer<<<1, lanes>>>(saw, linger ? 300 : 20, linger ? 100 : 0);
    std::vector<int> host(lanes);
    HIP(hipMemcpy(host.data(), saw, lanes * sizeof(int), hipMemcpyDeviceToHost));
    for (int seen : host) late += seen != 1;
    printf("%d of %d lanes saw what was written later\n", late, lanes);
    return 0;
}
