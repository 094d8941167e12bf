// Ten threads with four streams on each of two GPUs, and a child that does the same.
#include "check.h"

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

__global__ void add_to(int *p, int by) { p[blockIdx.x * blockDim.x + threadIdx.x] += by; }
__global__ void twice(int *p) { p[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }

static const int THREADS = 10, STREAMS = 4, ROUNDS = 3, N = 512;
static std::atomic<int> wrong{0};

static void one_thread(int t) {
    for (int gpu = 0; gpu < 2; gpu++) {
        HIP(hipSetDevice(gpu));
        hipStream_t streams[STREAMS];
        int *p[STREAMS];
        for (int s = 0; s < STREAMS; s++) {
            HIP(hipStreamCreate(&streams[s]));
            HIP(hipMalloc(&p[s], N * 4));
            HIP(hipMemsetAsync(p[s], 0, N * 4, streams[s]));
        }
        for (int round = 0; round < ROUNDS; round++)
            for (int s = 0; s < STREAMS; s++) {
                add_to<<<N / 64, 64, 0, streams[s]>>>(p[s], t + s);
                twice<<<N / 128, 128, 0, streams[s]>>>(p[s]);
            }
        for (int s = 0; s < STREAMS; s++) {
            std::vector<int> v(N);
            HIP(hipMemcpyAsync(v.data(), p[s], N * 4, hipMemcpyDeviceToHost, streams[s]));
            HIP(hipStreamSynchronize(streams[s]));
            for (int x : v) wrong += x != 14 * (t + s);
            HIP(hipFree(p[s]));
            HIP(hipStreamDestroy(streams[s]));
        }
    }
}

static void threads() {
    std::vector<std::thread> all;
    for (int t = 0; t < THREADS; t++) all.emplace_back(one_thread, t);
    for (std::thread &one : all) one.join();
    CHECK(wrong == 0);
}

static void family() {
    int *p;
    HIP(hipMalloc(&p, 4));
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        execl("/proc/self/exe", "crowd", "threads", nullptr);
        _exit(127);
    }
    threads();
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

CASES({"threads", threads}, {"family", family})
