// Accesses at the bounds of what the program has asked for, which the runtime makes whole pages of.
// `bounds MEMORY FIRST COUNT`: a kernel changes COUNT of 100 floats from FIRST on.
#include "check.h"

#include <cstring>

__global__ void twice(float *x, int first, int count) {
    int i = threadIdx.x;
    if (i < count) x[first + i] *= 2;
}

int main(int, char **words) {
    const char *memory = words[1];
    int first = atoi(words[2]), count = atoi(words[3]);
    // Registered from the middle of a page on.
    alignas(4096) static float own[2048];
    size_t bytes = 100 * sizeof(float);
    float *x = nullptr;
    if (!strcmp(memory, "device")) HIP(hipMalloc(&x, bytes));
    if (!strcmp(memory, "large")) {
        // Pages of two megabytes, and some of another: the same floats are its last ones.
        char *all;
        HIP(hipMalloc(&all, (4 << 20) + bytes));
        x = (float *)(all + (4 << 20));
    }
    if (!strcmp(memory, "pinned")) HIP(hipHostMalloc(&x, bytes));
    if (!strcmp(memory, "managed")) HIP(hipMallocManaged(&x, bytes));
    if (!strcmp(memory, "registered")) {
        HIP(hipHostRegister(own + 512, bytes, hipHostRegisterMapped));
        HIP(hipHostGetDevicePointer((void **)&x, own + 512, 0));
    }
    twice<<<1, 256>>>(x, first, count);
    HIP(hipDeviceSynchronize());
    printf("it went on\n");
    return 0;
}
