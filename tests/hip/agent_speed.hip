// What the agent costs: calls of HSA's, launches, and a kernel's first launch.
#include "check.h"

#include <chrono>
#include <hsa/hsa.h>

__global__ void one(int *p) { p[threadIdx.x] += 1; }
__global__ void two(int *p) { p[threadIdx.x] += 2; }

static double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static int number(const char *name, int otherwise) { return getenv(name) ? atoi(getenv(name)) : otherwise; }

static void calls() {
    CHECK(hsa_init() == HSA_STATUS_SUCCESS);
    hsa_signal_t signal;
    CHECK(hsa_signal_create(7, 0, nullptr, &signal) == HSA_STATUS_SUCCESS);
    hsa_signal_load_relaxed(signal);
    int count = number("CALLS", 5000000);
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        double start = now();
        for (int i = 0; i < count; i++) CHECK(hsa_signal_load_relaxed(signal) == 7);
        best = std::min(best, now() - start);
    }
    printf("call %.2f ns\n", best / count * 1e9);
    best = 1e9;
    hipGetLastError();
    for (int round = 0; round < 5; round++) {
        double start = now();
        for (int i = 0; i < count; i++) CHECK(hipGetLastError() == hipSuccess);
        best = std::min(best, now() - start);
    }
    printf("hip_call %.2f ns\n", best / count * 1e9);
}

static void launches() {
    int *p, count = number("LAUNCHES", 10000);
    HIP(hipMalloc(&p, 256));
    one<<<1, 64>>>(p);
    HIP(hipDeviceSynchronize());
    double start = now();
    for (int i = 0; i < count; i++) one<<<1, 64>>>(p);
    HIP(hipDeviceSynchronize());
    printf("launches %.3f ms\n", (now() - start) * 1e3);
}

static void first() {
    int *p;
    HIP(hipMalloc(&p, 256));
    for (int round = 0; round < 2; round++) {
        double start = now();
        one<<<1, 64>>>(p);
        HIP(hipDeviceSynchronize());
        printf("first_of_all_%d %.3f ms\n", round, (now() - start) * 1e3);
        start = now();
        two<<<1, 64>>>(p);
        HIP(hipDeviceSynchronize());
        printf("first_%d %.3f ms\n", round, (now() - start) * 1e3);
    }
}

CASES({"calls", calls}, {"launches", launches}, {"first", first})
