// Launches that tools hear of while the program goes on: between other calls, of several threads, before it is killed.
#include "check.h"

#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

__global__ void one(int *p) { p[threadIdx.x] += 1; }

static int number(const char *name, int otherwise) { return getenv(name) ? atoi(getenv(name)) : otherwise; }

static int *memory() {
    int *p;
    HIP(hipMalloc(&p, 256));
    return p;
}

static void launch(int *p, int count) {
    for (int i = 0; i < count; i++) one<<<1, 64>>>(p);
}

// Each launch stands between an allocation, of a size that HIP has none of, and its end.
static void alternates() {
    for (int i = 0; i < number("ROUNDS", 100); i++) {
        int *p;
        HIP(hipMalloc(&p, 0x103000));
        one<<<1, 64>>>(p);
        HIP(hipFree(p));
    }
}

static void threads() {
    int *p = memory(), count = number("LAUNCHES", 500);
    std::vector<std::thread> all;
    for (int i = 0; i < 4; i++) all.emplace_back([=] {
        hipStream_t stream;
        HIP(hipStreamCreate(&stream));
        for (int n = 0; n < count; n++) one<<<1, 64, 0, stream>>>(p);
        HIP(hipStreamSynchronize(stream));
    });
    for (std::thread &one : all) one.join();
}

static void launches() {
    int *p = memory(), count = number("LAUNCHES", 5000);
    launch(p, count);
    HIP(hipDeviceSynchronize());
}

// What it has waited for is over, by each of the ways to wait; it leaves before anything else can be said of it.
static void leaves() {
    int *p = memory(), count = number("LAUNCHES", 2), got, way = number("WAY", 0);
    hipStream_t stream, other;
    hipEvent_t event;
    HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    HIP(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
    HIP(hipEventCreate(&event));
    for (int i = 0; i < count; i++) one<<<1, 64, 0, stream>>>(p);
    switch (way) {
    case 0: HIP(hipDeviceSynchronize()); break;
    case 1: HIP(hipStreamSynchronize(stream)); break;
    case 2:
        HIP(hipEventRecord(event, stream));
        HIP(hipEventSynchronize(event));
        break;
    case 3:
        HIP(hipMemcpyAsync(&got, p, 4, hipMemcpyDeviceToHost, stream));
        HIP(hipStreamSynchronize(stream));
        break;
    case 4:
        HIP(hipEventRecord(event, stream));
        HIP(hipStreamWaitEvent(other, event, 0));
        HIP(hipStreamSynchronize(other));
        break;
    default:
        while (hipStreamQuery(stream) == hipErrorNotReady) {
        }
    }
    printf("leaves: passed\n");
    fflush(stdout);
    _exit(0);
}

static void killed() {
    int *p = memory(), count = number("LAUNCHES", 1500);
    launch(p, count);
    raise(SIGKILL);
}

// A child that does not use the GPU, in between.
static void forks() {
    int *p = memory(), count = number("LAUNCHES", 300);
    for (int i = 0; i < 3; i++) {
        launch(p, count);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) _exit(0);
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    HIP(hipDeviceSynchronize());
}

// Launches until FILE is there, and some more.
static void goes_on() {
    int *p = memory(), launched = 0;
    const char *file = getenv("FILE");
    CHECK(file);
    while (access(file, F_OK)) {
        launch(p, 10);
        HIP(hipDeviceSynchronize());
        CHECK(++launched < 1000000);
    }
    launch(p, number("LAUNCHES", 5000));
    HIP(hipDeviceSynchronize());
}

CASES({"alternates", alternates}, {"threads", threads}, {"launches", launches}, {"leaves", leaves}, {"killed", killed}, {"forks", forks},
      {"goes_on", goes_on})
