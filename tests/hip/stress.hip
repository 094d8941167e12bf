// Streams, events, copies, kernels and allocations at random for a while, every result compared with the host's, and the
// process's memory at the end with that after the first rounds. Meanwhile other processes do the same and end by a fault of a
// kernel's. SECONDS says how long, SEED what.
#include "check.h"

#include <chrono>
#include <random>
#include <string>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void affine(int *p, int n, int by, int plus) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = p[i] * by + plus;
}
__global__ void sum_of(const int *a, const int *b, int *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void store(int *p, long at) { p[at] = 1; }
__global__ void trap() { __builtin_trap(); }
__global__ void illegal() { asm volatile(".long 0xbfff0000"); }
__global__ void for_ever(volatile int *p) {
    while (*p == 0) {
    }
}

static const int STREAMS = 5, BUFFERS = 8, MOST = 20000;

struct Buffer {
    int *device;
    std::vector<int> host;
    hipEvent_t last;
};

static long resident_kilobytes() {
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &ignored, &pages) == 2);
    fclose(file);
    return pages * 4;
}

static const int LEFT = 9;

// Ends by a fault in one of several busy streams, or leaves while they are busy.
static void faulty() {
    std::mt19937 random(atoi(getenv("SEED")));
    hipStream_t streams[3];
    for (hipStream_t &s : streams) HIP(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    int *p;
    HIP(hipMalloc(&p, MOST * 4));
    HIP(hipMemset(p, 0, MOST * 4));
    HIP(hipDeviceSynchronize());
    for (unsigned i = random() % 30; i > 0; i--) affine<<<MOST / 64, 64, 0, streams[random() % 3]>>>(p, MOST, 3, i);
    hipStream_t stream = streams[random() % 3];
    switch (random() % 5) {
        case 0: store<<<1, 64, 0, stream>>>(p, 1l << 36); break;
        case 1: store<<<1, 64, 0, stream>>>(nullptr, random() % 100); break;
        case 2: trap<<<1, 64, 0, stream>>>(); break;
        case 3: illegal<<<1, 64, 0, stream>>>(); break;
        default:
            HIP(hipStreamSynchronize(stream));
            HIP(hipMemset(p, 0, 4));
            for_ever<<<1, 64, 0, stream>>>(p);
            _exit(LEFT);
    }
    hipError_t error = hipDeviceSynchronize();
    if (HIP_VERSION_MAJOR >= 7 && error == hipErrorLaunchFailure) abort();  // It gives an error where others abort.
    printf("no fault: %s\n", hipGetErrorString(error));
    exit(1);
}

static pid_t start_faulty(unsigned seed) {
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    for (int fd : {1, 2}) CHECK(posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0) == 0);
    setenv("SEED", std::to_string(seed).c_str(), 1);
    const char *words[] = {"stress", "faulty", nullptr};
    pid_t child;
    CHECK(posix_spawn(&child, "/proc/self/exe", &actions, nullptr, (char *const *)words, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

// Whether it has ended, as it should.
static bool ended(pid_t child, int options) {
    int status;
    pid_t found = waitpid(child, &status, options);
    CHECK(found == 0 || found == child);
    if (found == 0) return false;
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) || (WIFEXITED(status) && WEXITSTATUS(status) == LEFT));
    return true;
}

static void run() {
    double seconds = getenv("SECONDS") ? atof(getenv("SECONDS")) : 5;
    std::mt19937 random(getenv("SEED") ? atoi(getenv("SEED")) : 1);
    auto below = [&](unsigned n) { return int(random() % n); };
    hipStream_t streams[STREAMS];
    for (hipStream_t &s : streams) HIP(hipStreamCreateWithFlags(&s, hipStreamNonBlocking));
    std::vector<Buffer> buffers(BUFFERS);
    for (Buffer &b : buffers) {
        HIP(hipMalloc(&b.device, MOST * 4));
        b.host = numbers(MOST, below(1000), below(9));
        HIP(hipMemcpy(b.device, b.host.data(), MOST * 4, hipMemcpyHostToDevice));
        HIP(hipEventCreate(&b.last));
        HIP(hipEventRecord(b.last, streams[0]));
    }
    HIP(hipDeviceSynchronize());
    auto start = std::chrono::steady_clock::now();
    auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    long rounds = 0, before = 0, faults = 0;
    pid_t child = 0;
    while (elapsed() < seconds) {
        if (child == 0) child = start_faulty(random());
        else if (ended(child, WNOHANG)) faults++, child = 0;
        for (int i = 0; i < 60; i++) {
            hipStream_t stream = streams[below(STREAMS)];
            int x = below(BUFFERS), y = below(BUFFERS), z = below(BUFFERS), n = 1 + below(MOST);
            Buffer &a = buffers[x], &b = buffers[y], &c = buffers[z];
            for (Buffer *one : {&a, &b, &c}) HIP(hipStreamWaitEvent(stream, one->last, 0));
            int block = 32 << below(5);
            switch (below(5)) {
                case 0: {
                    int by = below(7), plus = below(100);
                    affine<<<(n + block - 1) / block, block, 0, stream>>>(a.device, n, by, plus);
                    for (int k = 0; k < n; k++) a.host[k] = int(unsigned(a.host[k]) * by + plus);
                    break;
                }
                case 1:
                    if (z == x || z == y) break;
                    sum_of<<<(n + block - 1) / block, block, 0, stream>>>(a.device, b.device, c.device, n);
                    for (int k = 0; k < n; k++) c.host[k] = int(unsigned(a.host[k]) + unsigned(b.host[k]));
                    break;
                case 2:
                    if (x == y) break;
                    HIP(hipMemcpyAsync(a.device, b.device, n * 4, hipMemcpyDeviceToDevice, stream));
                    std::copy(b.host.begin(), b.host.begin() + n, a.host.begin());
                    break;
                case 3: {
                    int value = below(256);
                    HIP(hipMemsetAsync(a.device, value, n * 4, stream));
                    std::fill(a.host.begin(), a.host.begin() + n, value * 0x01010101);
                    break;
                }
                default: {
                    int *p;
                    HIP(hipMalloc(&p, n));
                    HIP(hipMemsetAsync(p, 0, n, stream));
                    HIP(hipStreamSynchronize(stream));
                    HIP(hipFree(p));
                }
            }
            for (Buffer *one : {&a, &b, &c}) HIP(hipEventRecord(one->last, stream));
        }
        HIP(hipDeviceSynchronize());
        std::vector<int> w(MOST);
        for (Buffer &b : buffers) {
            HIP(hipMemcpy(w.data(), b.device, MOST * 4, hipMemcpyDeviceToHost));
            CHECK(w == b.host);
        }
        if (++rounds == 20) before = resident_kilobytes();
    }
    if (child != 0 && ended(child, 0)) faults++;
    long grown = before ? resident_kilobytes() - before : 0;
    printf("%ld rounds, %ld KB more than after the first 20; %ld processes beside it ended by faults\n", rounds, grown, faults);
    CHECK(faults > 0);
    CHECK(grown < 40000);
}

CASES({"run", run}, {"faulty", faulty})
