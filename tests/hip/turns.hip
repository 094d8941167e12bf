// What a race comes to depends on how waves take turns: all lanes read a word of LDS, some work later lane 0 writes it, and no
// barrier is in between, as in rocSOLVER's kernel for small Cholesky factors (potf2_kernel_small).
#include "check.h"

__global__ void late_writer(int *saw, int steps) {
    __shared__ volatile int word;
    if (threadIdx.x == 0) word = 1;
    __syncthreads();
    int seen = word;
    int work = seen;
    for (int i = 0; i < steps; i++) work = work * 3 + i;
    if (threadIdx.x == 0) word = 2 + (work == 7);
    saw[threadIdx.x] = seen;
}

int main() {
    const int lanes = 256;
    int *saw, late = 0;
    HIP(hipMalloc(&saw, lanes * sizeof(int)));
    late_writer<<<1, lanes>>>(saw, 20);
    std::vector<int> host(lanes);
    HIP(hipMemcpy(host.data(), saw, lanes * sizeof(int), hipMemcpyDeviceToHost));
    for (int seen : host) late += seen != 1;
    printf("%d of %d lanes saw what was written later\n", late, lanes);
    return 0;
}
