// A library that launches a kernel of its own.
#include <hip/hip_runtime.h>

__global__ void store(int *to) { *to = 7; }

extern "C" int launches() {
    int *p, value = 0;
    if (hipMalloc(&p, 4) != hipSuccess) return 1;
    store<<<1, 1>>>(p);
    return hipMemcpy(&value, p, 4, hipMemcpyDeviceToHost) == hipSuccess && value == 7 ? 0 : 2;
}
