// Sums of floats, some of which nothing has written. `unwritten MEMORY HOW`: a hundred floats in some memory, and who writes
// the first sixty of them.
#include "check.h"

#include <cstring>

__global__ void set(float *x, int count) {
    int i = threadIdx.x;
    if (i < count) x[i] = i;
}

__global__ void add(float *out, const float *x) {
    int i = threadIdx.x;
    if (i < 100) out[i] += x[i];
}

int main(int, char **words) {
    const char *memory = words[1], *how = words[2];
    size_t bytes = 100 * sizeof(float), some = 60 * sizeof(float);
    float *x = nullptr, *out, host[100] = {}, back[100];
    if (!strcmp(memory, "device")) HIP(hipMalloc(&x, bytes));
    if (!strcmp(memory, "large")) HIP(hipMalloc(&x, 5 << 20));
    if (!strcmp(memory, "pitched")) {
        size_t pitch;
        HIP(hipMallocPitch((void **)&x, &pitch, bytes, 1));
    }
    if (!strcmp(memory, "pinned")) HIP(hipHostMalloc(&x, bytes));
    if (!strcmp(memory, "managed")) HIP(hipMallocManaged(&x, bytes));
    if (!strcmp(memory, "again")) {
        // What another allocation has left is not this one's.
        float *before;
        HIP(hipMalloc(&before, bytes));
        HIP(hipMemset(before, 0, bytes));
        HIP(hipFree(before));
        HIP(hipMalloc(&x, bytes));
    }
    hipStream_t stream;
    HIP(hipStreamCreate(&stream));
#if HIP_VERSION_MAJOR >= 7
    if (!strcmp(memory, "pool")) HIP(hipMallocAsync((void **)&x, bytes, stream));
    if (!strcmp(memory, "own pool")) {
        hipMemPoolProps wanted = {};
        wanted.allocType = hipMemAllocationTypePinned;
        wanted.location = {hipMemLocationTypeDevice, 0};
        hipMemPool_t pool;
        HIP(hipMemPoolCreate(&pool, &wanted));
        HIP(hipMallocFromPoolAsync((void **)&x, bytes, pool, stream));
    }
    if (!strcmp(memory, "pool again")) {
        // What a pool gives out again holds what it held.
        HIP(hipMallocAsync((void **)&x, bytes, stream));
        HIP(hipMemsetAsync(x, 0, bytes, stream));
        HIP(hipFreeAsync(x, stream));
        HIP(hipMallocAsync((void **)&x, bytes, stream));
    }
    if (!strcmp(memory, "mapped")) {
        hipMemAllocationProp wanted = {};
        wanted.type = hipMemAllocationTypePinned;
        wanted.location = {hipMemLocationTypeDevice, 0};
        size_t granule;
        HIP(hipMemGetAllocationGranularity(&granule, &wanted, hipMemAllocationGranularityRecommended));
        hipMemGenericAllocationHandle_t piece;
        HIP(hipMemCreate(&piece, granule, &wanted, 0));
        HIP(hipMemAddressReserve((void **)&x, granule, 0, nullptr, 0));
        HIP(hipMemMap(x, granule, 0, piece, 0));
        hipMemAccessDesc access = {wanted.location, hipMemAccessFlagsProtReadWrite};
        HIP(hipMemSetAccess(x, granule, &access, 1));
    }
#endif
    HIP(hipStreamSynchronize(stream));
    HIP(hipMalloc(&out, bytes));
    HIP(hipMemset(out, 0, bytes));
    if (!strcmp(how, "copy")) HIP(hipMemcpy(x, host, some, hipMemcpyHostToDevice));
    if (!strcmp(how, "async")) {
        float *pinned;
        HIP(hipHostMalloc(&pinned, bytes));
        HIP(hipMemcpyAsync(x, pinned, some, hipMemcpyHostToDevice, stream));
        HIP(hipStreamSynchronize(stream));
    }
    if (!strcmp(how, "within")) HIP(hipMemcpy(x, out, some, hipMemcpyDeviceToDevice));
    if (!strcmp(how, "fill")) HIP(hipMemset(x, 0, some));
    if (!strcmp(how, "kernel")) set<<<1, 128>>>(x, 60);
    if (!strcmp(how, "all")) HIP(hipMemset(x, 0, bytes));
    if (!strcmp(how, "rows")) HIP(hipMemcpy2D(x, 8, host, 8, 8, 30, hipMemcpyHostToDevice));
    // A copy that nothing depends on takes along what is not written.
    HIP(hipMemcpy(back, x, bytes, hipMemcpyDeviceToHost));
    HIP(hipDeviceSynchronize());
    add<<<1, 128>>>(out, x);
    HIP(hipDeviceSynchronize());
    printf("it went on\n");
    return 0;
}
