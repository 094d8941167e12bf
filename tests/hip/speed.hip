// How long things take on the mock GPU: lines of a name, a number and its unit, for tools/bench.
#include "check.h"

#include <algorithm>
#include <chrono>

__global__ void nothing() {}
__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The fastest of some runs, in seconds.
template <typename F> static double fastest(int runs, F work) {
    double best = 1e9;
    for (int i = 0; i < runs; i++) {
        double start = now();
        work();
        best = std::min(best, now() - start);
    }
    return best;
}

static void all() {
    nothing<<<1, 1>>>();
    HIP(hipDeviceSynchronize());
    double each = fastest(20, [] {
        for (int i = 0; i < 100; i++) {
            nothing<<<1, 1>>>();
            HIP(hipDeviceSynchronize());
        }
    });
    printf("launch_and_synchronise %.3f us\n", each / 100 * 1e6);
    each = fastest(3, [] {
        for (int i = 0; i < 10000; i++) nothing<<<1, 1>>>();
        HIP(hipDeviceSynchronize());
    });
    printf("launch_asynchronously %.3f us\n", each / 10000 * 1e6);
    const size_t n = 64 << 20;
    float *p, *q;
    void *pinned;
    HIP(hipMalloc(&p, n));
    HIP(hipMalloc(&q, n));
    HIP(hipHostMalloc(&pinned, n));
    std::vector<char> a(n, 1), b(n, 2);
    auto copy = [&](const char *name, auto work) {
        work();
        printf("%s %.3f GB/s\n", name, n / fastest(5, work) / 1e9);
    };
    copy("memcpy", [&] { memcpy(b.data(), a.data(), n); });
    copy("to_device", [&] { HIP(hipMemcpy(p, a.data(), n, hipMemcpyHostToDevice)); });
    copy("to_host", [&] { HIP(hipMemcpy(b.data(), p, n, hipMemcpyDeviceToHost)); });
    copy("pinned_to_device", [&] { HIP(hipMemcpy(p, pinned, n, hipMemcpyHostToDevice)); });
    copy("pinned_to_host", [&] { HIP(hipMemcpy(pinned, p, n, hipMemcpyDeviceToHost)); });
    copy("on_device", [&] {
        HIP(hipMemcpy(q, p, n, hipMemcpyDeviceToDevice));
        HIP(hipDeviceSynchronize());
    });
    int count = 1 << 20;
    double seconds = fastest(5, [&] {
        add<<<count / 256, 256>>>(p, q, q, count);
        HIP(hipDeviceSynchronize());
    });
    printf("add_a_million %.3f ms\n", seconds * 1e3);
}

static void vecadd() {
    // What a small program costs as a whole.
    const int n = 10000;
    std::vector<float> v(n, 1.5f);
    float *a, *c;
    HIP(hipMalloc(&a, n * 4));
    HIP(hipMalloc(&c, n * 4));
    HIP(hipMemcpy(a, v.data(), n * 4, hipMemcpyHostToDevice));
    add<<<40, 256>>>(a, a, c, n);
    HIP(hipMemcpy(v.data(), c, n * 4, hipMemcpyDeviceToHost));
    for (float x : v) CHECK(x == 3);
}

static void copies_only() {
    // The same without its kernel.
    const int n = 10000;
    std::vector<float> v(n, 1.5f);
    float *a;
    HIP(hipMalloc(&a, n * 4));
    HIP(hipMemcpy(a, v.data(), n * 4, hipMemcpyHostToDevice));
    HIP(hipMemcpy(v.data(), a, n * 4, hipMemcpyDeviceToHost));
}

static void allocation_only() {
    // The runtime alone: no copy, so its copying kernels are not compiled.
    float *a;
    HIP(hipMalloc(&a, 4096));
}

CASES({"all", all}, {"vecadd", vecadd}, {"copies_only", copies_only}, {"allocation_only", allocation_only})
