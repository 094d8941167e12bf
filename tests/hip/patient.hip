// What a thread of the program does while it waits for a kernel: how much of a processor it takes.
#include "check.h"

#include <ctime>
#include <thread>
#include <unistd.h>

__global__ void spin(volatile int *flag) {
    while (*flag == 0) __builtin_amdgcn_s_sleep(1);
}

static double seconds(clockid_t clock) {
    timespec now;
    CHECK(clock_gettime(clock, &now) == 0);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

// Waits for a kernel of a second.
template <typename F> static void wait_by(F wait) {
    int *flag;
    HIP(hipHostMalloc(&flag, 64, hipHostMallocCoherent));
    *flag = 1;
    spin<<<1, 64>>>(flag);
    HIP(hipDeviceSynchronize());
    *flag = 0;
    spin<<<1, 64>>>(flag);
    std::thread later([flag] {
        sleep(1);
        *(volatile int *)flag = 1;
    });
    double began = seconds(CLOCK_MONOTONIC), worked = seconds(CLOCK_THREAD_CPUTIME_ID);
    wait();
    worked = seconds(CLOCK_THREAD_CPUTIME_ID) - worked;
    printf("worked %.4f of %.4f\n", worked, seconds(CLOCK_MONOTONIC) - began);
    later.join();
}

static void device() {
    wait_by([] { HIP(hipDeviceSynchronize()); });
}

static void stream() {
    wait_by([] { HIP(hipStreamSynchronize(nullptr)); });
}

static void event() {
    hipEvent_t end;
    HIP(hipEventCreate(&end));
    wait_by([end] {
        HIP(hipEventRecord(end));
        HIP(hipEventSynchronize(end));
    });
}

static void copy() {
    int *memory, number;
    HIP(hipMalloc(&memory, 4096));
    wait_by([&] { HIP(hipMemcpy(&number, memory, 4, hipMemcpyDeviceToHost)); });
}

CASES({"device", device}, {"stream", stream}, {"event", event}, {"copy", copy})
