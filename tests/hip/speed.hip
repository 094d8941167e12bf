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
    const std::pair<const char *, size_t> sizes[] = {{"64_MB", n}, {"1_MB", 1 << 20}, {"4_KB", 4096}};
    for (auto [called, size] : sizes) {
        auto measure = [&, called = called, size = size](const char *name, auto work, size_t part = 1) {
            work();
            int each = size < n ? 100 : 1;
            double seconds = fastest(5, [&] {
                for (int i = 0; i < each; i++) work();
            });
            printf("%s_%s %.3f GB/s\n", name, called, size / part * each / seconds / 1e9);
        };
        measure("memcpy", [&, size = size] { memcpy(b.data(), a.data(), size); });
        measure("to_device", [&, size = size] { HIP(hipMemcpy(p, a.data(), size, hipMemcpyHostToDevice)); });
        measure("to_host", [&, size = size] { HIP(hipMemcpy(b.data(), p, size, hipMemcpyDeviceToHost)); });
        measure("pinned_to_device", [&, size = size] { HIP(hipMemcpy(p, pinned, size, hipMemcpyHostToDevice)); });
        measure("pinned_to_host", [&, size = size] { HIP(hipMemcpy(pinned, p, size, hipMemcpyDeviceToHost)); });
        measure("on_device", [&, size = size] {
            HIP(hipMemcpy(q, p, size, hipMemcpyDeviceToDevice));
            HIP(hipDeviceSynchronize());
        });
        measure("fill", [&, size = size] {
            HIP(hipMemset(q, 3, size));
            HIP(hipDeviceSynchronize());
        });
        // Rows of half the width of what they lie in.
        size_t pitch = size < n ? 256 : 8192;
        measure("rectangle_on_device", [&, size = size] {
            HIP(hipMemcpy2D(q, pitch, p, pitch, pitch / 2, size / pitch, hipMemcpyDeviceToDevice));
            HIP(hipDeviceSynchronize());
        }, 2);
        measure("rectangle_to_device", [&, size = size] {
            HIP(hipMemcpy2D(q, pitch, a.data(), pitch, pitch / 2, size / pitch, hipMemcpyHostToDevice));
        }, 2);
    }
}

// A kernel of a code object that the bench runs from Python as well. HIP's thread sleeps while it waits: else it takes a core
// from the mock GPU.
static void addition() {
    HIP(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));
    hipModule_t module;
    hipFunction_t vecadd;
    HIP(hipModuleLoad(&module, getenv("MODULE")));
    HIP(hipModuleGetFunction(&vecadd, module, "vecadd"));
    unsigned count = 1 << 20;
    float *p[3];
    for (float *&one : p) {
        HIP(hipMalloc(&one, count * 4));
        HIP(hipMemset(one, 0, count * 4));
    }
    void *arguments[] = {&p[0], &p[1], &p[2], &count};
    double seconds = fastest(20, [&] {
        HIP(hipModuleLaunchKernel(vecadd, count / 256, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr));
        HIP(hipDeviceSynchronize());
    });
    printf("add_a_million %.3f ms\n", seconds * 1e3);
}

// What a small program costs as a whole.
static void add_vectors(bool checked) {
    const int n = 10000;
    std::vector<float> v(n, 1.5f);
    float *a, *c;
    HIP(hipMalloc(&a, n * 4));
    HIP(hipMalloc(&c, n * 4));
    HIP(hipMemcpy(a, v.data(), n * 4, hipMemcpyHostToDevice));
    add<<<40, 256>>>(a, a, c, n);
    HIP(hipMemcpy(v.data(), c, n * 4, hipMemcpyDeviceToHost));
    for (float x : v) CHECK(x == 3 || !checked);
}
static void vecadd() { add_vectors(true); }
// For a device that does nothing.
static void unchecked() { add_vectors(false); }

static void allocation_only() {
    // The runtime alone: no copy, so its copying kernels are not compiled.
    float *a;
    HIP(hipMalloc(&a, 4096));
}

CASES({"all", all}, {"addition", addition}, {"vecadd", vecadd}, {"unchecked", unchecked}, {"allocation_only", allocation_only})
