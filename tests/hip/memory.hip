// Memory of every kind, copied in every direction.
#include "check.h"

// HIP 6 has called it something else.
#if HIP_VERSION_MAJOR >= 6
#define TYPE(attributes) (attributes).type
#else
#define TYPE(attributes) (attributes).memoryType
#endif

__global__ void twice(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] *= 2;
}

__constant__ int weights[64];
__device__ int total;
__device__ int table[1000];

__global__ void weigh(int *out) { out[threadIdx.x] = weights[threadIdx.x] * 3; }
__global__ void add_up(const int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&total, p[i]);
}
__global__ void fill_table() {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1000) table[i] = i * i;
}

static const int N = 10007;

static void run_twice(int *device, int n) {
    twice<<<(n + 255) / 256, 256>>>(device, n);
    HIP(hipGetLastError());
}

static void device_memory() {
    int *p;
    HIP(hipMalloc(&p, N * 4));
    std::vector<int> v = numbers(N), w(N);
    HIP(hipMemcpy(p, v.data(), N * 4, hipMemcpyHostToDevice));
    run_twice(p, N);
    HIP(hipMemcpy(w.data(), p, N * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) CHECK(w[i] == 2 * i);
    HIP(hipFree(p));
    size_t available, all;
    HIP(hipMemGetInfo(&available, &all));
    CHECK(available <= all && all > (1u << 30));
    CHECK(hipMalloc(&p, all * 2) == hipErrorOutOfMemory);
}

static void large_copies() {
    const size_t n = 24 << 20;
    std::vector<char> v(n), w(n);
    for (size_t i = 0; i < n; i++) v[i] = char(i * 7 + (i >> 13));
    char *p, *q;
    HIP(hipMalloc(&p, n));
    HIP(hipMalloc(&q, n));
    HIP(hipMemcpy(p, v.data(), n, hipMemcpyHostToDevice));
    HIP(hipMemcpy(q, p, n, hipMemcpyDeviceToDevice));
    HIP(hipMemcpy(w.data(), q, n, hipMemcpyDeviceToHost));
    CHECK(v == w);
    HIP(hipMemcpy(q + 13, p + 5, 1001, hipMemcpyDeviceToDevice));
    HIP(hipMemcpy(w.data(), q + 13, 1001, hipMemcpyDeviceToHost));
    CHECK(!memcmp(w.data(), v.data() + 5, 1001));
}

// Copies and fills at any place and of any size, each beside the host's.
static void copies_on_device() {
    const int size = 60000;
    std::vector<unsigned char> v(size), w(size), read(size);
    unsigned state = 5;
    auto below = [&](unsigned n) { return int((state = state * 1664525 + 1013904223) >> 8) % int(n); };
    for (int i = 0; i < size; i++) v[i] = below(256), w[i] = below(256);
    unsigned char *p, *q;
    HIP(hipMalloc(&p, size));
    HIP(hipMalloc(&q, size));
    HIP(hipMemcpy(p, v.data(), size, hipMemcpyHostToDevice));
    HIP(hipMemcpy(q, w.data(), size, hipMemcpyHostToDevice));
    for (int round = 0; round < 40; round++) {
        int n = 1 + below(round % 4 ? 300 : 20000), from = below(size - n), to = below(size - n);
        int width = 1 + below(90), height = 1 + below(30), pitch = width + below(40), other = width + below(40);
        unsigned char value = below(256);
        switch (round % 8) {
            case 0:
            case 1:
            case 2:
                HIP(hipMemcpy(q + to, p + from, n, hipMemcpyDeviceToDevice));
                std::copy(&v[from], &v[from] + n, &w[to]);
                break;
            case 3:
                HIP(hipMemset(q + to, value, n));
                std::fill(&w[to], &w[to] + n, value);
                break;
            case 4:
                HIP(hipMemcpy2D(q + to % 9000, pitch, p + from % 9000, other, width, height, hipMemcpyDeviceToDevice));
                for (int y = 0; y < height; y++)
                    std::copy(&v[from % 9000 + y * other], &v[from % 9000 + y * other] + width, &w[to % 9000 + y * pitch]);
                break;
            case 5:
                HIP(hipMemset2D(q + to % 9000, pitch, value, width, height));
                for (int y = 0; y < height; y++)
                    std::fill(&w[to % 9000 + y * pitch], &w[to % 9000 + y * pitch] + width, value);
                break;
            case 6:
                to &= ~3;
                HIP(hipMemsetD32((hipDeviceptr_t)(q + to), 0x01020304 * value, n / 4));
                for (int i = 0; i < n / 4 * 4; i++) w[to + i] = 0x01020304u * value >> i % 4 * 8;
                break;
            default: {
                hipMemcpy3DParms box = {};
                box.srcPtr = make_hipPitchedPtr(p + from % 5000, other, width, height);
                box.dstPtr = make_hipPitchedPtr(q + to % 5000, pitch, width, height);
                box.extent = make_hipExtent(width, height, 5);
                box.kind = hipMemcpyDeviceToDevice;
                HIP(hipMemcpy3D(&box));
                for (int z = 0; z < 5; z++)
                    for (int y = 0; y < height; y++) {
                        int row = z * height + y, source = from % 5000 + row * other, target = to % 5000 + row * pitch;
                        std::copy(&v[source], &v[source] + width, &w[target]);
                    }
            }
        }
        HIP(hipMemcpy(read.data(), q, size, hipMemcpyDeviceToHost));
        CHECK(read == w);
    }
}

// Has the name and the arguments of HIP's own copy, and does something else.
extern "C" __global__ void __amd_rocclr_copyBuffer(const char *from, char *to, long from_at, long to_at, long n, int rest) {
    long i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[to_at + i] = ~from[from_at + n - 1 - i] + rest;
}
static void name_of_a_copy() {
    const int n = 1000;
    std::vector<char> v(n), w(n);
    for (int i = 0; i < n; i++) v[i] = i * 3;
    char *p, *q;
    HIP(hipMalloc(&p, n));
    HIP(hipMalloc(&q, n));
    HIP(hipMemcpy(p, v.data(), n, hipMemcpyHostToDevice));
    for (int round = 0; round < 2; round++) {
        __amd_rocclr_copyBuffer<<<4, 256>>>(p, q, 0, 0, n, round);
        HIP(hipMemcpy(w.data(), q, n, hipMemcpyDeviceToHost));
        for (int i = 0; i < n; i++) CHECK(w[i] == char(~v[n - 1 - i] + round));
    }
}

static void pinned() {
    int *p;
    HIP(hipHostMalloc(&p, N * 4, hipHostMallocMapped));
    for (int i = 0; i < N; i++) p[i] = i;
    int *d;
    HIP(hipHostGetDevicePointer((void **)&d, p, 0));
    run_twice(d, N);
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < N; i++) CHECK(p[i] == 2 * i);
    HIP(hipHostFree(p));
    std::vector<int> v = numbers(N);
    HIP(hipHostRegister(v.data(), N * 4, hipHostRegisterMapped));
    HIP(hipHostGetDevicePointer((void **)&d, v.data(), 0));
    run_twice(d, N);
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < N; i++) CHECK(v[i] == 2 * i);
    HIP(hipHostUnregister(v.data()));
}

static void managed() {
    int *p;
    HIP(hipMallocManaged(&p, N * 4));
    for (int i = 0; i < N; i++) p[i] = i;
    run_twice(p, N);
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < N; i++) CHECK(p[i] == 2 * i);
    HIP(hipFree(p));
}

static void pitched() {
    const int width = 100, height = 37;
    char *p;
    size_t pitch;
    HIP(hipMallocPitch((void **)&p, &pitch, width * 4, height));
    CHECK(pitch >= width * 4);
    std::vector<int> v = numbers(width * height), w(width * height);
    HIP(hipMemcpy2D(p, pitch, v.data(), width * 4, width * 4, height, hipMemcpyHostToDevice));
    HIP(hipMemcpy2D(w.data(), width * 4, p, pitch, width * 4, height, hipMemcpyDeviceToHost));
    CHECK(v == w);
    HIP(hipMemset2D(p, pitch, 0x55, 10, height));
    HIP(hipMemcpy2D(w.data(), width * 4, p, pitch, width * 4, height, hipMemcpyDeviceToHost));
    for (int y = 0; y < height; y++) CHECK(w[y * width] == 0x55555555 && w[y * width + 3] == v[y * width + 3]);
}

static void volume() {
    hipExtent extent = make_hipExtent(40 * 4, 9, 7);
    hipPitchedPtr p;
    HIP(hipMalloc3D(&p, extent));
    std::vector<int> v = numbers(40 * 9 * 7), w(v.size());
    hipMemcpy3DParms parms = {};
    parms.srcPtr = make_hipPitchedPtr(v.data(), 160, 40, 9);
    parms.dstPtr = p;
    parms.extent = extent;
    parms.kind = hipMemcpyHostToDevice;
    HIP(hipMemcpy3D(&parms));
    hipMemcpy3DParms back = {};
    back.srcPtr = p;
    back.dstPtr = make_hipPitchedPtr(w.data(), 160, 40, 9);
    back.extent = extent;
    back.kind = hipMemcpyDeviceToHost;
    HIP(hipMemcpy3D(&back));
    CHECK(v == w);
    HIP(hipMemset3D(p, 0, extent));
    HIP(hipMemcpy3D(&back));
    for (int x : w) CHECK(x == 0);
}

static void memset_of_all_sizes() {
    unsigned char *p;
    HIP(hipMalloc(&p, N));
    std::vector<unsigned char> w(N);
    HIP(hipMemset(p, 0xab, N));
    HIP(hipMemset(p + 3, 0x11, 5));
    HIP(hipMemcpy(w.data(), p, N, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) CHECK(w[i] == (i >= 3 && i < 8 ? 0x11 : 0xab));
    HIP(hipMemsetD16((hipDeviceptr_t)p, 0x1234, 1000));
    HIP(hipMemsetD32((hipDeviceptr_t)(p + 4000), 0xdeadbeef, 500));
    HIP(hipMemcpy(w.data(), p, N, hipMemcpyDeviceToHost));
    CHECK(w[0] == 0x34 && w[1999] == 0x12 && w[2000] == 0xab && w[4000] == 0xef && w[5999] == 0xde && w[6000] == 0xab);
}

static void symbols() {
    std::vector<int> v = numbers(64, 5), w(1000);
    HIP(hipMemcpyToSymbol(HIP_SYMBOL(weights), v.data(), 256));
    int *p;
    HIP(hipMalloc(&p, 4000));
    weigh<<<1, 64>>>(p);
    HIP(hipMemcpy(w.data(), p, 256, hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) CHECK(w[i] == 3 * (i + 5));
    int zero = 0, sum;
    HIP(hipMemcpyToSymbol(HIP_SYMBOL(total), &zero, 4));
    add_up<<<1, 64>>>(p, 64);
    HIP(hipMemcpyFromSymbol(&sum, HIP_SYMBOL(total), 4));
    CHECK(sum == std::accumulate(w.begin(), w.begin() + 64, 0));
    fill_table<<<4, 256>>>();
    HIP(hipMemcpyFromSymbol(w.data(), HIP_SYMBOL(table), 4000));
    for (int i = 0; i < 1000; i++) CHECK(w[i] == i * i);
    void *address;
    size_t size;
    HIP(hipGetSymbolAddress(&address, HIP_SYMBOL(table)));
    HIP(hipGetSymbolSize(&size, HIP_SYMBOL(table)));
    CHECK(size == 4000 && address);
}

static void pointers() {
    int *p, *host;
    HIP(hipMalloc(&p, 4096));
    HIP(hipHostMalloc(&host, 4096));
    hipPointerAttribute_t of;
    HIP(hipPointerGetAttributes(&of, p + 10));
    CHECK(TYPE(of) == hipMemoryTypeDevice && of.device == 0);
    HIP(hipPointerGetAttributes(&of, host));
    CHECK(TYPE(of) == hipMemoryTypeHost);
    hipDeviceptr_t base;
    size_t size;
    HIP(hipMemGetAddressRange(&base, &size, (hipDeviceptr_t)(p + 10)));
    CHECK(base == (hipDeviceptr_t)p && size == 4096);
}

static void many_allocations() {
    std::vector<int *> all;
    for (int i = 0; i < 2000; i++) {
        int *p;
        HIP(hipMalloc(&p, 64 + i * 16));
        all.push_back(p);
        if (i % 3 == 0) {
            HIP(hipFree(all[i / 2]));
            all[i / 2] = nullptr;
        }
    }
    HIP(hipMemset(all.back(), 1, 64));
    for (int *p : all)
        if (p) HIP(hipFree(p));
}

CASES({"device_memory", device_memory}, {"large_copies", large_copies},
      {"copies_on_device", copies_on_device}, {"name_of_a_copy", name_of_a_copy}, {"pinned", pinned}, {"managed", managed},
      {"pitched", pitched}, {"volume", volume}, {"memset_of_all_sizes", memset_of_all_sizes},
      {"symbols", symbols}, {"pointers", pointers}, {"many_allocations", many_allocations})
