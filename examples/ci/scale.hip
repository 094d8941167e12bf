// Doubles an array. With a length that is no multiple of 256, the last block writes past the end: pass -DFIXED to mend it.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void scale(float *values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    if (i >= n)
        return;
#endif
    values[i] *= 2;
}

__global__ void sum_rows(const float *values, float *sums, int n) {
    __shared__ float parts[128];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 128)
        sum += values[i];
    parts[threadIdx.x] = sum;
#ifdef FIXED
    __syncthreads();
#endif
    if (threadIdx.x == 0) {
        for (int i = 1; i < 128; i++)
            sum += parts[i];
        sums[0] = sum;
    }
}

#define HIP(call)                                                              \
    if (hipError_t error = (call); error != hipSuccess) {                      \
        fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));          \
        return 1;                                                              \
    }

int main(int count, char **words) {
    int n = count > 1 ? atoi(words[1]) : 1000;
    std::vector<float> values(n, 1.0f);
    float *device, *sums;
    HIP(hipMalloc(&device, n * sizeof(float)));
    HIP(hipMalloc(&sums, sizeof(float)));
    HIP(hipMemcpy(device, values.data(), n * sizeof(float), hipMemcpyHostToDevice));
    scale<<<(n + 255) / 256, 256>>>(device, n);
    sum_rows<<<1, 128>>>(device, sums, n);
    HIP(hipMemcpy(values.data(), device, n * sizeof(float), hipMemcpyDeviceToHost));
    for (float value : values)
        if (value != 2.0f)
            return 2;
    puts("scale: right");
    return 0;
}
