// Several GPUs, programs that are compiled when they run, other processes, and life after fork.
#include "check.h"

#include <hip/hiprtc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

__global__ void increment(int *p, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i]++;
}

static const int N = 5000;

static void all_devices() {
    int count;
    HIP(hipGetDeviceCount(&count));
    CHECK(count >= 2);
    for (int d = 0; d < count; d++) {
        HIP(hipSetDevice(d));
        int *p;
        HIP(hipMalloc(&p, N * 4));
        std::vector<int> v = numbers(N, d), w(N);
        HIP(hipMemcpy(p, v.data(), N * 4, hipMemcpyHostToDevice));
        increment<<<20, 256>>>(p, N);
        HIP(hipMemcpy(w.data(), p, N * 4, hipMemcpyDeviceToHost));
        for (int i = 0; i < N; i++) CHECK(w[i] == i + d + 1);
    }
}

static void peers() {
    int can;
    HIP(hipDeviceCanAccessPeer(&can, 0, 1));
    CHECK(can);
    int *first, *second;
    std::vector<int> v = numbers(N), w(N);
    HIP(hipSetDevice(0));
    HIP(hipMalloc(&first, N * 4));
    HIP(hipMemcpy(first, v.data(), N * 4, hipMemcpyHostToDevice));
    HIP(hipSetDevice(1));
    HIP(hipMalloc(&second, N * 4));
    HIP(hipMemcpyPeer(second, 1, first, 0, N * 4));
    increment<<<20, 256>>>(second, N);
    HIP(hipMemcpy(w.data(), second, N * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) CHECK(w[i] == i + 1);
    HIP(hipDeviceEnablePeerAccess(0, 0));
    increment<<<20, 256>>>(first, N);
    HIP(hipDeviceSynchronize());
    HIP(hipSetDevice(0));
    HIP(hipMemcpy(w.data(), first, N * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) CHECK(w[i] == i + 1);
}

// A buffer goes round all devices twice; each adds one to every element.
static void ring() {
    int count;
    HIP(hipGetDeviceCount(&count));
    std::vector<int *> p(count);
    for (int d = 0; d < count; d++) {
        HIP(hipSetDevice(d));
        HIP(hipMalloc(&p[d], N * 4));
    }
    std::vector<int> v = numbers(N), w(N);
    HIP(hipMemcpy(p[0], v.data(), N * 4, hipMemcpyHostToDevice));
    for (int step = 0; step < 2 * count; step++) {
        int from = step % count, to = (step + 1) % count;
        HIP(hipSetDevice(from));
        increment<<<20, 256>>>(p[from], N);
        HIP(hipDeviceSynchronize());
        HIP(hipMemcpyPeer(p[to], to, p[from], from, N * 4));
    }
    HIP(hipMemcpy(w.data(), p[0], N * 4, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) CHECK(w[i] == i + 2 * count);
}

static const char *source =
    "extern \"C\" __global__ void scale(float *p, float by, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) p[i] *= by;\n"
    "}\n";

static void compiled_at_run_time() {
    hiprtcProgram program;
    CHECK(hiprtcCreateProgram(&program, source, "scale.hip", 0, nullptr, nullptr) == HIPRTC_SUCCESS);
    hipDeviceProp_t device;
    HIP(hipGetDeviceProperties(&device, 0));
    std::string option = std::string("--gpu-architecture=") + device.gcnArchName;
    const char *options[] = {option.c_str()};
    hiprtcResult done = hiprtcCompileProgram(program, 1, options);
    if (done != HIPRTC_SUCCESS) {
        size_t size;
        hiprtcGetProgramLogSize(program, &size);
        std::string log(size, 0);
        hiprtcGetProgramLog(program, &log[0]);
        fprintf(stderr, "%s\n", log.c_str());
    }
    CHECK(done == HIPRTC_SUCCESS);
    size_t size;
    hiprtcGetCodeSize(program, &size);
    std::vector<char> code(size);
    hiprtcGetCode(program, code.data());
    hipModule_t module;
    hipFunction_t function;
    HIP(hipModuleLoadData(&module, code.data()));
    HIP(hipModuleGetFunction(&function, module, "scale"));
    float *p, by = 3;
    int n = 1000;
    HIP(hipMalloc(&p, n * 4));
    std::vector<float> v(n, 2.5f);
    HIP(hipMemcpy(p, v.data(), n * 4, hipMemcpyHostToDevice));
    void *arguments[] = {&p, &by, &n};
    HIP(hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, 0, arguments, nullptr));
    HIP(hipMemcpy(v.data(), p, n * 4, hipMemcpyDeviceToHost));
    for (float x : v) CHECK(x == 7.5f);
    HIP(hipModuleUnload(module));
}

static void modules() {
    // What the build has put beside the program: the same kernel in a file of its own.
    std::string path = std::string(getenv("MODULE") ? getenv("MODULE") : "module.hsaco");
    int rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 3, launches = getenv("LAUNCHES") ? atoi(getenv("LAUNCHES")) : 1;
    for (int round = 0; round < rounds; round++) {
        hipModule_t module;
        hipFunction_t function;
        HIP(hipModuleLoad(&module, path.c_str()));
        HIP(hipModuleGetFunction(&function, module, "vecadd"));
        int n = 1000;
        float *a, *c;
        HIP(hipMalloc(&a, n * 4));
        HIP(hipMalloc(&c, n * 4));
        std::vector<float> v(n, 1.25f);
        HIP(hipMemcpy(a, v.data(), n * 4, hipMemcpyHostToDevice));
        void *arguments[] = {&a, &a, &c, &n};
        for (int i = 0; i < launches; i++) {
            HIP(hipModuleLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, 0, arguments, nullptr));
            HIP(hipDeviceSynchronize());
        }
        HIP(hipMemcpy(v.data(), c, n * 4, hipMemcpyDeviceToHost));
        for (float x : v) CHECK(x == 2.5f);
        HIP(hipFree(a));
        HIP(hipFree(c));
        HIP(hipModuleUnload(module));
    }
}

static void fork_before_use() {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        int *p, one;
        HIP(hipMalloc(&p, 4));
        HIP(hipMemset(p, 0, 4));
        increment<<<1, 1>>>(p, 1);
        HIP(hipMemcpy(&one, p, 4, hipMemcpyDeviceToHost));
        _exit(one == 1 ? 0 : 1);
    }
    int *p, one, status;
    HIP(hipMalloc(&p, 4));
    HIP(hipMemset(p, 0, 4));
    increment<<<1, 1>>>(p, 1);
    HIP(hipMemcpy(&one, p, 4, hipMemcpyDeviceToHost));
    CHECK(one == 1 && waitpid(child, &status, 0) == child && status == 0);
}

static void interprocess() {
    int to[2], from[2];
    CHECK(pipe(to) == 0 && pipe(from) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    // The second lies somewhere inside of what the runtime has allocated.
    hipIpcMemHandle_t handles[2];
    char byte = 0;
    if (child == 0) {
        // So that the parent's end is heard of.
        close(to[1]);
        CHECK(read(to[0], handles, sizeof handles) == sizeof handles);
        for (int round = 0; round < 2; round++) {
            int *p[2];
            for (int i = 0; i < 2; i++) HIP(hipIpcOpenMemHandle((void **)&p[i], handles[i], hipIpcMemLazyEnablePeerAccess));
            for (int i = 0; i < 2; i++) increment<<<20, 256>>>(p[i], N);
            HIP(hipDeviceSynchronize());
            for (int i = 0; i < 2; i++) HIP(hipIpcCloseMemHandle(p[i]));
            CHECK(write(from[1], &byte, 1) == 1);
        }
        _exit(0);
    }
    int *p[2], status;
    std::vector<int> v = numbers(N), w(N);
    for (int i = 0; i < 2; i++) {
        HIP(hipMalloc(&p[i], N * 4));
        HIP(hipMemcpy(p[i], v.data(), N * 4, hipMemcpyHostToDevice));
        HIP(hipIpcGetMemHandle(&handles[i], p[i]));
    }
    CHECK(write(to[1], handles, sizeof handles) == sizeof handles);
    for (int round = 0; round < 2; round++) CHECK(read(from[0], &byte, 1) == 1);
    for (int i = 0; i < 2; i++) {
        HIP(hipMemcpy(w.data(), p[i], N * 4, hipMemcpyDeviceToHost));
        for (int k = 0; k < N; k++) CHECK(w[k] == k + 2);
        HIP(hipFree(p[i]));
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

CASES({"all_devices", all_devices}, {"peers", peers}, {"ring", ring}, {"compiled_at_run_time", compiled_at_run_time},
      {"modules", modules}, {"fork_before_use", fork_before_use}, {"interprocess", interprocess})
