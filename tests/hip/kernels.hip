// What kernels do: LDS, scratch, recursion, atomics, printf, malloc, assert's absence, cooperative groups, occupancy.
#include "check.h"

#include <hip/hip_cooperative_groups.h>

#include <cmath>

namespace cg = cooperative_groups;

__global__ void reduce(const int *in, int *out, int n) {
    __shared__ int part[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    part[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int s = 128; s > 0; s >>= 1) {
        if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(out, part[0]);
}
__global__ void dynamic_lds(int *out) {
    extern __shared__ int words[];
    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = words[blockDim.x - 1 - threadIdx.x];
}
__global__ void private_arrays(int *out, int n) {
    int own[200];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = 0; k < 200; k++) own[k] = k * i;
    int sum = 0;
    for (int k = 0; k < 200; k++) sum += own[(k * 7 + i) % 200];
    if (i < n) out[i] = sum;
}
__device__ __attribute__((noinline)) int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__global__ void recursion(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

__global__ void say(int n) {
    if (threadIdx.x < n) printf("work-item %d of block %d: %s %.2f\n", (int)threadIdx.x, (int)blockIdx.x, "text", threadIdx.x * 0.5);
}
__global__ void grow(int **where, int n) {
    int *p = (int *)malloc(n * sizeof(int));
    for (int i = 0; p && i < n; i++) p[i] = i + threadIdx.x;
    where[threadIdx.x] = p;
}
__global__ void harvest(int **where, int *out, int n) {
    int sum = 0;
    for (int i = 0; where[threadIdx.x] && i < n; i++) sum += where[threadIdx.x][i];
    out[threadIdx.x] = sum;
    free(where[threadIdx.x]);
}
__global__ void grid_barrier(int *p, int n) {
    cg::grid_group grid = cg::this_grid();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int round = 0; round < 4; round++) {
        int next = p[(i + 1) % n];
        grid.sync();
        p[i] = next + 1;
        grid.sync();
    }
}
__global__ void tiles(int *out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int sum = threadIdx.x;
    for (int s = 16; s > 0; s /= 2) sum += tile.shfl_down(sum, s);
    if (tile.thread_rank() == 0) out[threadIdx.x / 32] = sum;
}
__global__ void mathematics(const float *x, float *y, double *z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = sinf(x[i]) * expf(-x[i]) + sqrtf(x[i]) + powf(x[i], 1.5f);
        z[i] = log((double)x[i] + 1) * cos((double)x[i]) + tgamma((double)x[i] / 8 + 1);
    }
}
__global__ void votes(unsigned long long *out) {
    unsigned long long odd = __ballot(threadIdx.x & 1);
    if (threadIdx.x == 0) out[0] = odd;
    out[1] = __popcll(__ballot(1));
}
__global__ void clocks(long long *out) {
    long long start = clock64();
    for (int i = 0; i < 100; i++) __builtin_amdgcn_s_sleep(1);
    out[0] = clock64() - start;
}

static const int N = 20011;

static void lds() {
    std::vector<int> v = numbers(N);
    int *in, *out;
    HIP(hipMalloc(&in, N * 4));
    HIP(hipMalloc(&out, 1024));
    HIP(hipMemcpy(in, v.data(), N * 4, hipMemcpyHostToDevice));
    HIP(hipMemset(out, 0, 4));
    reduce<<<(N + 255) / 256, 256>>>(in, out, N);
    int sum;
    HIP(hipMemcpy(&sum, out, 4, hipMemcpyDeviceToHost));
    CHECK(sum == N * (N - 1) / 2);
    dynamic_lds<<<1, 256, 1024>>>(out);
    std::vector<int> w(256);
    HIP(hipMemcpy(w.data(), out, 1024, hipMemcpyDeviceToHost));
    for (int i = 0; i < 256; i++) CHECK(w[i] == 255 - i);
}

static void scratch() {
    int *out;
    HIP(hipMalloc(&out, 1000 * 4));
    private_arrays<<<8, 128>>>(out, 1000);
    std::vector<int> w(1000);
    HIP(hipMemcpy(w.data(), out, 4000, hipMemcpyDeviceToHost));
    for (int i = 0; i < 1000; i++) CHECK(w[i] == 19900 * i);
    recursion<<<1, 100>>>(out);
    HIP(hipMemcpy(w.data(), out, 400, hipMemcpyDeviceToHost));
    const int expected[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    for (int i = 0; i < 100; i++) CHECK(w[i] == expected[i % 12]);
}

static void device_printf() {
    say<<<2, 64>>>(3);
    HIP(hipDeviceSynchronize());
}

static void device_malloc() {
    const int n = 100;
    int **where, *out;
    HIP(hipMalloc(&where, 64 * 8));
    HIP(hipMalloc(&out, 64 * 4));
    grow<<<1, 64>>>(where, n);
    harvest<<<1, 64>>>(where, out, n);
    std::vector<int> w(64);
    HIP(hipMemcpy(w.data(), out, 256, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) CHECK(w[i] == n * (n - 1) / 2 + n * i);
}

static void cooperative() {
    int supported = 0, blocks = 0;
    HIP(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0));
    CHECK(supported);
    HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, grid_barrier, 128, 0));
    CHECK(blocks > 0);
    int n = 8 * 128, *p;
    HIP(hipMalloc(&p, n * 4));
    std::vector<int> v = numbers(n), w(n);
    HIP(hipMemcpy(p, v.data(), n * 4, hipMemcpyHostToDevice));
    void *arguments[] = {&p, &n};
    for (int round = 0; round < 2; round++)
        HIP(hipLaunchCooperativeKernel((void *)grid_barrier, dim3(8), dim3(128), arguments, 0, 0));
    HIP(hipMemcpy(w.data(), p, n * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) CHECK(w[i] == (i + 8) % n + 8);
    // More than the GPU holds at a time cannot wait for each other.
    CHECK(hipLaunchCooperativeKernel((void *)grid_barrier, dim3(1 << 20), dim3(128), arguments, 0, 0) != hipSuccess);
}

static void partitions() {
    int *out;
    HIP(hipMalloc(&out, 32));
    tiles<<<1, 256>>>(out);
    std::vector<int> w(8);
    HIP(hipMemcpy(w.data(), out, 32, hipMemcpyDeviceToHost));
    for (int t = 0; t < 8; t++) CHECK(w[t] == 32 * 32 * t + 496);
    unsigned long long *bits, host[2];
    HIP(hipMalloc(&bits, 16));
    hipDeviceProp_t device;
    HIP(hipGetDeviceProperties(&device, 0));
    int lanes = device.warpSize;
    votes<<<1, lanes>>>(bits);
    HIP(hipMemcpy(host, bits, 16, hipMemcpyDeviceToHost));
    unsigned long long odd = 0xaaaaaaaaaaaaaaaaull;
    CHECK(host[0] == (lanes == 64 ? odd : odd & 0xffffffff) && host[1] == (unsigned)lanes);
}

static void math() {
    const int n = 1000;
    std::vector<float> x(n), y(n);
    std::vector<double> z(n);
    for (int i = 0; i < n; i++) x[i] = i * 0.01f;
    float *dx, *dy;
    double *dz;
    HIP(hipMalloc(&dx, n * 4));
    HIP(hipMalloc(&dy, n * 4));
    HIP(hipMalloc(&dz, n * 8));
    HIP(hipMemcpy(dx, x.data(), n * 4, hipMemcpyHostToDevice));
    mathematics<<<4, 256>>>(dx, dy, dz, n);
    HIP(hipMemcpy(y.data(), dy, n * 4, hipMemcpyDeviceToHost));
    HIP(hipMemcpy(z.data(), dz, n * 8, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        double v = x[i], f = sin(v) * exp(-v) + sqrt(v) + pow(v, 1.5), d = log(v + 1) * cos(v) + tgamma(v / 8 + 1);
        CHECK(fabs(y[i] - f) <= 1e-5 * (1 + fabs(f)) && fabs(z[i] - d) <= 1e-13 * (1 + fabs(d)));
    }
}

static void occupancy() {
    int blocks, grid, block;
    HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reduce, 256, 0));
    HIP(hipOccupancyMaxPotentialBlockSize(&grid, &block, reduce, 0, 0));
    CHECK(blocks > 0 && grid > 0 && block > 0 && block <= 1024);
    hipFuncAttributes of;
    HIP(hipFuncGetAttributes(&of, (void *)reduce));
    CHECK(of.sharedSizeBytes == 1024 && of.numRegs > 0);
    hipDeviceProp_t device;
    HIP(hipGetDeviceProperties(&device, 0));
    // HIP counts pairs of compute units on RDNA.
    int units = device.warpSize == 32 ? 4 : 8;
    CHECK(!strncmp(device.name, "Luthier mock gfx", 16) && device.multiProcessorCount == units);
}

static void time_passes() {
    long long *out, host;
    HIP(hipMalloc(&out, 8));
    clocks<<<1, 1>>>(out);
    HIP(hipMemcpy(&host, out, 8, hipMemcpyDeviceToHost));
    CHECK(host > 0);
}

static void wrong_launches() {
    dynamic_lds<<<1, 2048>>>(nullptr);
    CHECK(hipGetLastError() != hipSuccess);
    dynamic_lds<<<1, 64, 1 << 20>>>(nullptr);
    CHECK(hipGetLastError() != hipSuccess);
    lds();
}

CASES({"lds", lds}, {"scratch", scratch}, {"device_printf", device_printf}, {"device_malloc", device_malloc},
      {"cooperative", cooperative}, {"partitions", partitions}, {"math", math}, {"occupancy", occupancy},
      {"time_passes", time_passes}, {"wrong_launches", wrong_launches})
