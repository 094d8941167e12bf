// Kernels with assertions: calls that do not come back.
#include <cassert>
#include <hip/hip_runtime.h>

__device__ __attribute__((noinline)) int half(int n) {
    assert(n % 2 == 0);
    return n / 2;
}

__global__ void checked(float *x, int n) {
    assert(n > 0);
    x[threadIdx.x] += half(2 * n);
}

int main() {
    float *x;
    if (hipMalloc(&x, 256) != hipSuccess || hipMemset(x, 0, 256) != hipSuccess) return 1;
    checked<<<1, 64>>>(x, 5);
    return hipDeviceSynchronize() != hipSuccess;
}
