// Hosts that touch memory while a launch or a copy does: too early, and not.
#include "check.h"

#include <atomic>
#include <unistd.h>

static const int N = 1 << 14;

__global__ void fill(int *p, int n, int value) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = value;
}

__global__ void twice(int *to, const int *from, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = 2 * from[i];
}

// Says by an atomic variable that the rest is written.
__global__ void tell(int *p, unsigned *flag) {
    p[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) __hip_atomic_store(flag, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

static volatile int sink;

// Pinned memory p, managed memory m, and memory of the device's.
struct Memory {
    hipStream_t stream;
    int *p, *m, *device;
    Memory() {
        HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        HIP(hipHostMalloc(&p, N * 4));
        HIP(hipMallocManaged(&m, N * 4));
        HIP(hipMalloc(&device, N * 4));
        memset(p, 0, N * 4);
        memset(m, 0, N * 4);
        HIP(hipMemset(device, 0, N * 4));
        HIP(hipDeviceSynchronize());
    }
    ~Memory() {
        HIP(hipDeviceSynchronize());
        HIP(hipFree(device));
        HIP(hipFree(m));
        HIP(hipHostFree(p));
        HIP(hipStreamDestroy(stream));
    }
    void filled(int *at, int n = N) { fill<<<(n + 255) / 256, 256, 0, stream>>>(at, n, 1); }
    void doubled(int *to, const int *from) { twice<<<N / 256, 256, 0, stream>>>(to, from, N); }
};

static void reads_managed() {
    Memory of;
    of.filled(of.m);
    sink = of.m[100];
}

static void writes_what_is_read() {
    Memory of;
    of.doubled(of.device, of.p);
    of.p[5] = 7;
}

static void overwrites() {
    Memory of;
    of.filled(of.p);
    of.p[6] = 2;
}

// The launch has long ended, and nothing has told the host.
static void reads_late() {
    Memory of;
    of.filled(of.p);
    usleep(300000);
    sink = of.p[2000];
}

static void reads_copied() {
    Memory of;
    HIP(hipMemcpyAsync(of.p, of.device, N * 4, hipMemcpyDeviceToHost, of.stream));
    sink = of.p[3000];
}

static void changes_copied() {
    Memory of;
    HIP(hipMemcpyAsync(of.device, of.p, N * 4, hipMemcpyHostToDevice, of.stream));
    of.p[4000] = 1;
}

// A system call reads.
static void sends() {
    Memory of;
    int ends[2];
    CHECK(pipe(ends) == 0);
    of.filled(of.p);
    CHECK(write(ends[1], of.p, 64) == 64);
}

// The host has waited for another stream.
static void wrong_stream() {
    Memory of;
    hipStream_t other;
    HIP(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    of.filled(of.m);
    HIP(hipStreamSynchronize(other));
    sink = of.m[200];
}

// The program ends, and has not waited at all.
static void leaves() {
    Memory *of = new Memory;
    of->filled(of->m);
    sink = of->m[300];
}

// Each of these is right.
static void in_order() {
    Memory of;
    hipEvent_t event;
    HIP(hipEventCreate(&event));
    for (int round = 0; round < 3; round++) {
        // Streams, devices and events that the host waits for, and asks.
        of.p[round] = 5;
        of.filled(of.p);
        HIP(hipStreamSynchronize(of.stream));
        CHECK(of.p[N - 1] == 1);
        of.p[N - 1] = 3;
        of.filled(of.m);
        HIP(hipDeviceSynchronize());
        CHECK(of.m[17] == 1);
        of.doubled(of.p, of.m);
        HIP(hipEventRecord(event, of.stream));
        HIP(hipEventSynchronize(event));
        CHECK(of.p[18] == 2);
        of.filled(of.p);
        while (hipStreamQuery(of.stream) == hipErrorNotReady) usleep(100);
        CHECK(of.p[19] == 1);
        of.filled(of.m);
        HIP(hipEventRecord(event, of.stream));
        while (hipEventQuery(event) == hipErrorNotReady) usleep(100);
        CHECK(of.m[20] == 1);
        // Copies.
        HIP(hipMemcpy(of.device, of.p, N * 4, hipMemcpyHostToDevice));
        of.p[21] = 9;
        HIP(hipMemcpy(of.p, of.device, N * 4, hipMemcpyDeviceToHost));
        CHECK(of.p[21] == 1);
        HIP(hipMemcpyAsync(of.p, of.m, N * 4, hipMemcpyDefault, of.stream));
        HIP(hipStreamSynchronize(of.stream));
        CHECK(of.p[22] == 1);
    }
    // Readers, and other bytes of the same page.
    of.doubled(of.device, of.p);
    sink = of.p[23];
    of.filled(of.m, 512);
    of.m[700] = 1;
    sink = of.m[900];
    HIP(hipDeviceSynchronize());
    // A callback, and memory that comes again.
    std::atomic<bool> is_called{false};
    of.filled(of.p);
    HIP(hipStreamAddCallback(of.stream, [](hipStream_t, hipError_t, void *flag) { *(std::atomic<bool> *)flag = true; }, &is_called, 0));
    while (!is_called) usleep(100);
    CHECK(of.p[24] == 1);
    for (int round = 0; round < 4; round++) {
        int *again;
        HIP(hipHostMalloc(&again, N * 4));
        again[round] = 1;
        of.filled(again);
        HIP(hipHostFree(again));
    }
}

// The host waits for a flag that the launch sets.
static void by_flag() {
    Memory of;
    unsigned *flag;
    HIP(hipHostMalloc(&flag, 4));
    *flag = 0;
    tell<<<1, 64, 0, of.stream>>>(of.p, flag);
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) usleep(100);
    CHECK(of.p[63] == 63);
}

CASES({"reads_managed", reads_managed}, {"writes_what_is_read", writes_what_is_read}, {"overwrites", overwrites},
      {"reads_late", reads_late}, {"reads_copied", reads_copied}, {"changes_copied", changes_copied}, {"sends", sends},
      {"wrong_stream", wrong_stream}, {"leaves", leaves}, {"in_order", in_order}, {"by_flag", by_flag})
