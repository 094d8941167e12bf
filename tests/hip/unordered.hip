// Launches and copies on several streams that touch the same bytes: in order, and not.
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

__global__ void count(unsigned *sum, const int *from, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, from[i]);
}

// Tells by an atomic variable that its bytes are written; another launch waits for that.
__global__ void produce(int *p, unsigned *flag) {
    p[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) __hip_atomic_store(flag, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

__global__ void consume(const int *p, unsigned *flag, int *to) {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
    to[threadIdx.x] = p[threadIdx.x];
}

__global__ void wait_for(volatile int *open) {
    while (*open == 0) __builtin_amdgcn_s_sleep(1);
}

struct Streams {
    hipStream_t one, two;
    int *p, *q;
    unsigned *sum;
    volatile int *open;
    bool copies_on_two = false;

    // What closed streams get runs only when all was submitted, so that the host learns of nothing in between. The one with a
    // copy comes first: a copy knows what the host knows when it begins.
    explicit Streams(bool one_closed = true, bool two_closed = true) {
        HIP(hipStreamCreateWithFlags(&one, hipStreamNonBlocking));
        HIP(hipStreamCreateWithFlags(&two, hipStreamNonBlocking));
        HIP(hipMalloc(&p, N * 4));
        HIP(hipMalloc(&q, N * 4));
        HIP(hipMalloc(&sum, 4));
        HIP(hipMemset(p, 0, N * 4));
        HIP(hipMemset(q, 0, N * 4));
        HIP(hipMemset(sum, 0, 4));
        HIP(hipHostMalloc((void **)&open, 8));
        open[0] = open[1] = 0;
        HIP(hipDeviceSynchronize());
        if (one_closed) wait_for<<<1, 1, 0, one>>>(&open[0]);
        if (two_closed) wait_for<<<1, 1, 0, two>>>(&open[1]);
    }
    ~Streams() {
        open[copies_on_two] = 1;
        usleep(300000);
        open[!copies_on_two] = 1;
        HIP(hipDeviceSynchronize());
        HIP(hipStreamDestroy(one));
        HIP(hipStreamDestroy(two));
        HIP(hipFree(p));
        HIP(hipFree(q));
        HIP(hipFree(sum));
    }
    void filled(hipStream_t stream, int first = 0, int n = N) { fill<<<(n + 255) / 256, 256, 0, stream>>>(p + first, n, 1); }
    void doubled(hipStream_t stream) { twice<<<N / 256, 256, 0, stream>>>(q, p, N); }
};

static void two_writers() {
    Streams s;
    s.filled(s.one);
    s.filled(s.two, N - 100, 100);
}

static void writer_and_reader() {
    Streams s;
    s.filled(s.one);
    s.doubled(s.two);
}

static void reader_and_writer() {
    Streams s;
    s.doubled(s.one);
    s.filled(s.two);
}

static void kernel_and_copy() {
    Streams s;
    s.copies_on_two = true;
    int *host;
    HIP(hipHostMalloc(&host, N * 4));
    s.filled(s.one);
    HIP(hipMemcpyAsync(host, s.p, N * 4, hipMemcpyDeviceToHost, s.two));
}

static void copy_and_kernel() {
    Streams s;
    int *host;
    HIP(hipHostMalloc(&host, N * 4));
    HIP(hipMemcpyAsync(s.p, host, N * 4, hipMemcpyHostToDevice, s.one));
    s.doubled(s.two);
}

// The host has waited for another stream.
static void wrong_stream() {
    Streams s(true, false);
    s.filled(s.one);
    HIP(hipStreamSynchronize(s.two));
    s.doubled(s.two);
}

// The event comes before what it should come behind.
static void early_event() {
    Streams s;
    hipEvent_t event;
    HIP(hipEventCreate(&event));
    HIP(hipEventRecord(event, s.one));
    s.filled(s.one);
    HIP(hipStreamWaitEvent(s.two, event, 0));
    s.doubled(s.two);
}

// In order, or of different bytes: each of these is right.
static void in_order() {
    Streams s(false, false);
    hipEvent_t event;
    HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
    int *host;
    HIP(hipHostMalloc(&host, N * 4));
    // One stream.
    s.filled(s.one), s.doubled(s.one);
    HIP(hipStreamSynchronize(s.one));
    // Halves.
    s.filled(s.one, 0, N / 2), s.filled(s.two, N / 2, N / 2);
    HIP(hipDeviceSynchronize());
    // Readers, and atomics.
    count<<<N / 256, 256, 0, s.one>>>(s.sum, s.p, N), count<<<N / 256, 256, 0, s.two>>>(s.sum, s.p, N);
    HIP(hipStreamSynchronize(s.one));
    HIP(hipStreamSynchronize(s.two));
    // An event on the device.
    s.filled(s.one);
    HIP(hipEventRecord(event, s.one));
    HIP(hipStreamWaitEvent(s.two, event, 0));
    s.doubled(s.two);
    HIP(hipMemcpyAsync(host, s.q, N * 4, hipMemcpyDeviceToHost, s.two));
    HIP(hipStreamSynchronize(s.two));
    // An event that the host waits for, and one that it asks.
    s.filled(s.one);
    HIP(hipEventRecord(event, s.one));
    HIP(hipEventSynchronize(event));
    s.filled(s.two);
    HIP(hipEventRecord(event, s.two));
    while (hipEventQuery(event) == hipErrorNotReady) usleep(100);
    s.doubled(s.one);
    // A stream that the host asks.
    while (hipStreamQuery(s.one) == hipErrorNotReady) usleep(100);
    s.doubled(s.two);
    // A callback, whose flag the host looks at.
    std::atomic<bool> is_called{false};
    auto call = [](hipStream_t, hipError_t, void *flag) { *(std::atomic<bool> *)flag = true; };
    HIP(hipStreamAddCallback(s.two, call, &is_called, 0));
    while (!is_called) usleep(100);
    s.filled(s.one);
    // The null stream, with streams that wait for it.
    hipStream_t waits;
    HIP(hipStreamCreate(&waits));
    HIP(hipDeviceSynchronize());
    s.filled(waits);
    s.doubled(nullptr);
    s.filled(waits);
    HIP(hipStreamSynchronize(waits));
    // Copies that wait, and memory that comes again.
    for (int round = 0; round < 4; round++) {
        int *again;
        HIP(hipMalloc(&again, N * 4));
        fill<<<N / 256, 256, 0, round % 2 ? s.one : s.two>>>(again, N, round);
        HIP(hipMemcpy(host, s.q, N * 4, hipMemcpyDeviceToHost));
        HIP(hipFree(again));
    }
}

static void by_flag() {
    Streams s(false, false);
    produce<<<1, 64, 0, s.one>>>(s.p, s.sum);
    consume<<<1, 64, 0, s.two>>>(s.p, s.sum, s.q);
}

CASES({"two_writers", two_writers}, {"writer_and_reader", writer_and_reader}, {"reader_and_writer", reader_and_writer},
      {"kernel_and_copy", kernel_and_copy}, {"copy_and_kernel", copy_and_kernel}, {"wrong_stream", wrong_stream},
      {"early_event", early_event}, {"in_order", in_order}, {"by_flag", by_flag})
