// Mistakes whose findings have something to say: `told` makes them in its second and third launch.
#include "check.h"

__global__ void add(int *x, int count) {
    int i = threadIdx.x;
    if (i < count) atomicAdd(x + i, 1); // add: an atomic of the runtime's headers
}
__global__ void race(int *out) {
    __shared__ int words[128];
    words[threadIdx.x] = threadIdx.x;                    // race: the store
    out[threadIdx.x] = words[(threadIdx.x + 64) % 128];  // race: the load
}

int main() {
    int *x;
    HIP(hipMalloc(&x, 100 * sizeof(int)));
    HIP(hipMemset(x, 0, 100 * sizeof(int)));
    add<<<1, 192>>>(x, 100);
    HIP(hipMemset(x, 0, 100 * sizeof(int)));
    add<<<1, 192>>>(x, 136);
    int *out;
    HIP(hipMalloc(&out, 128 * sizeof(int)));
    race<<<1, 128>>>(out);
    HIP(hipDeviceSynchronize());
    return 0;
}
