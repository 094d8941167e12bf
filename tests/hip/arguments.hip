// A launch with arguments of all kinds, which are printed as they are.
#include "check.h"

struct Pair {
    int a;
    float b;
};

__global__ void kinds(float *out, double d, float f, short s, bool t, unsigned char c, Pair pair, const int *nothing, long l) {
    out[threadIdx.x] = float(d) + f + s + t + c + pair.a + pair.b + (nothing != nullptr) + l;
}

int main() {
    float *out;
    HIP(hipMalloc(&out, 256));
    kinds<<<1, 64>>>(out, -2.5, 0.125f, -7, true, 250, Pair{3, 0.5f}, nullptr, -(1l << 40));
    HIP(hipDeviceSynchronize());
    printf("out %p\n", (void *)out);
}
