// Memory pools, managed memory, and on HIP 7 memory that is made apart from its addresses.
#include "check.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const int N = 10000;

__global__ void fill(int *p, int n, int first) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = first + i;
}

__global__ void add(int *to, const int *a, const int *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = a[i] + b[i];
}

static void launch_fill(int *p, int n, int first, hipStream_t stream = nullptr) {
    fill<<<(n + 255) / 256, 256, 0, stream>>>(p, n, first);
    HIP(hipGetLastError());
}

static std::vector<int> fetch(const int *p, int n) {
    std::vector<int> v(n);
    HIP(hipMemcpy(v.data(), p, n * 4, hipMemcpyDeviceToHost));
    return v;
}

// What a stream has freed, the next allocation may get, and only then.
static void ordered_by_streams() {
    hipStream_t streams[3];
    for (hipStream_t &stream : streams) HIP(hipStreamCreate(&stream));
    for (int round = 0; round < 20; round++)
        for (int s = 0; s < 3; s++) {
            int n = N + round * 1000 * (s + 1), *a, *b, *c;
            std::vector<int> out(n);
            HIP(hipMallocAsync((void **)&a, n * 4, streams[s]));
            HIP(hipMallocAsync((void **)&b, n * 4, streams[s]));
            launch_fill(a, n, round, streams[s]);
            launch_fill(b, n, 7 * s, streams[s]);
            HIP(hipMallocAsync((void **)&c, n * 4, streams[s]));
            add<<<(n + 255) / 256, 256, 0, streams[s]>>>(c, a, b, n);
            HIP(hipFreeAsync(a, streams[s]));
            HIP(hipFreeAsync(b, streams[s]));
            HIP(hipMemcpyAsync(out.data(), c, n * 4, hipMemcpyDeviceToHost, streams[s]));
            HIP(hipFreeAsync(c, streams[s]));
            HIP(hipStreamSynchronize(streams[s]));
            CHECK(out == numbers(n, round + 7 * s, 2));
        }
    for (hipStream_t stream : streams) HIP(hipStreamDestroy(stream));
}

static void own_pool() {
    hipMemPoolProps properties = {};
    properties.allocType = hipMemAllocationTypePinned;
    properties.location = {hipMemLocationTypeDevice, 0};
    hipMemPool_t pool;
    HIP(hipMemPoolCreate(&pool, &properties));
    uint64_t keep = 1 << 20, used = 1;
    HIP(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &keep));
    hipStream_t stream;
    HIP(hipStreamCreate(&stream));
    std::vector<int *> all;
    for (int i = 0; i < 30; i++) {
        int *p;
        HIP(hipMallocFromPoolAsync((void **)&p, (i + 1) * 4000, pool, stream));
        launch_fill(p, (i + 1) * 1000, i, stream);
        all.push_back(p);
    }
    HIP(hipStreamSynchronize(stream));
    for (int i = 0; i < 30; i++) CHECK(fetch(all[i], (i + 1) * 1000) == numbers((i + 1) * 1000, i));
    for (int *p : all) HIP(hipFreeAsync(p, stream));
    HIP(hipStreamSynchronize(stream));
    HIP(hipMemPoolTrimTo(pool, 0));
    HIP(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &used));
    CHECK(used == 0);
    HIP(hipMemPoolDestroy(pool));
    HIP(hipStreamDestroy(stream));
}

static void default_pool() {
    hipMemPool_t pool, current;
    HIP(hipDeviceGetDefaultMemPool(&pool, 0));
    HIP(hipDeviceGetMemPool(&current, 0));
    CHECK(pool == current);
    int *p;
    HIP(hipMallocAsync((void **)&p, N * 4, nullptr));
    launch_fill(p, N, 3);
    CHECK(fetch(p, N) == numbers(N, 3));
    hipPointerAttribute_t attributes;
    HIP(hipPointerGetAttributes(&attributes, p));
    CHECK(attributes.device == 0 && attributes.devicePointer == p);
    HIP(hipFreeAsync(p, nullptr));
    HIP(hipDeviceSynchronize());
    HIP(hipMallocAsync((void **)&p, N * 4, nullptr));
    HIP(hipFree(p));
}

static void managed() {
    int *p;
    HIP(hipMallocManaged(&p, N * 4));
    for (int i = 0; i < N; i++) p[i] = -1;
    // Hints: whether they are supported or not, the bytes are what they are.
    (void)hipMemAdvise(p, N * 4, hipMemAdviseSetPreferredLocation, 0);
    (void)hipMemPrefetchAsync(p, N * 4, 0, nullptr);
    (void)hipGetLastError();
    launch_fill(p, N, 5);
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < N; i++) CHECK(p[i] == 5 + i);
    hipPointerAttribute_t attributes;
    HIP(hipPointerGetAttributes(&attributes, p));
    CHECK(attributes.isManaged);
    HIP(hipFree(p));
}

#if HIP_VERSION_MAJOR >= 7
struct Memory {
    hipMemAllocationProp properties = {};
    hipMemAccessDesc access = {};
    size_t granule;

    // As many granules as two times N numbers take.
    size_t enough() const { return (2 * N * 4 + granule - 1) / granule * granule; }

    explicit Memory(int device = 0) {
        properties.type = hipMemAllocationTypePinned;
        properties.requestedHandleType = hipMemHandleTypePosixFileDescriptor;
        properties.location = access.location = {hipMemLocationTypeDevice, device};
        access.flags = hipMemAccessFlagsProtReadWrite;
        HIP(hipMemGetAllocationGranularity(&granule, &properties, hipMemAllocationGranularityRecommended));
        CHECK(granule % 4096 == 0);
    }

    hipMemGenericAllocationHandle_t create(size_t size) const {
        hipMemGenericAllocationHandle_t handle;
        HIP(hipMemCreate(&handle, size, &properties, 0));
        return handle;
    }

    void map(void *at, size_t size, hipMemGenericAllocationHandle_t handle) const {
        HIP(hipMemMap(at, size, 0, handle, 0));
        HIP(hipMemSetAccess(at, size, &access, 1));
    }
};

static char *reserve(size_t size) {
    void *p;
    HIP(hipMemAddressReserve(&p, size, 0, nullptr, 0));
    return (char *)p;
}

// Memory is mapped here and there, moves, grows behind what is there, and keeps its bytes.
static void mapped() {
    Memory memory;
    size_t g = memory.granule;
    int n = g / 4;
    char *at = reserve(8 * g);
    auto one = memory.create(g), two = memory.create(g);
    memory.map(at + 2 * g, g, one);
    memory.map(at + 3 * g, g, two);
    // Over the border between the two.
    launch_fill((int *)(at + 2 * g), 2 * n, 100);
    CHECK(fetch((int *)(at + 2 * g), 2 * n) == numbers(2 * n, 100));
    int v = 0;
    HIP(hipMemcpyDtoH(&v, (hipDeviceptr_t)(at + 3 * g - 4), 4));
    CHECK(v == 100 + n - 1);
    HIP(hipMemsetD32((hipDeviceptr_t)(at + 3 * g - 400), 9, 200));
    CHECK(fetch((int *)(at + 3 * g - 400), 200) == numbers(200, 9, 0));
    HIP(hipMemUnmap(at + 2 * g, g));
    memory.map(at + 6 * g, g, one);
    auto moved = fetch((int *)(at + 6 * g), n);
    CHECK(moved[0] == 100 && moved[n - 101] == 100 + n - 101 && moved[n - 100] == 9);
    unsigned long long flags = 0;
    hipMemLocation location = {hipMemLocationTypeDevice, 0};
    HIP(hipMemGetAccess(&flags, &location, at + 6 * g));
    CHECK(flags == hipMemAccessFlagsProtReadWrite);
    hipMemGenericAllocationHandle_t again;
    HIP(hipMemRetainAllocationHandle(&again, at + 6 * g));
    HIP(hipMemRelease(again));
    HIP(hipMemUnmap(at + 6 * g, g));
    HIP(hipMemUnmap(at + 3 * g, g));
    HIP(hipMemRelease(one));
    HIP(hipMemRelease(two));
    HIP(hipMemAddressFree(at, 8 * g));
    // New memory is not the old one's bytes.
    at = reserve(g);
    one = memory.create(g);
    memory.map(at, g, one);
    HIP(hipMemset(at, 0, g));
    CHECK(fetch((int *)at, n) == numbers(n, 0, 0));
}

// A vector that grows without being copied, as PyTorch's expandable segments do.
static void growing() {
    Memory memory;
    size_t g = memory.granule;
    int n = g / 4;
    char *at = reserve(20 * g);
    std::vector<hipMemGenericAllocationHandle_t> handles;
    for (int i = 0; i < 10; i++) {
        handles.push_back(memory.create(g));
        memory.map(at + i * g, g, handles.back());
        HIP(hipMemRelease(handles.back()));  // the mapping keeps it
        launch_fill((int *)at + i * n, n, i);
    }
    for (int i = 0; i < 10; i++) CHECK(fetch((int *)at + i * n, n) == numbers(n, i));
    HIP(hipMemUnmap(at, 10 * g));
    HIP(hipMemAddressFree(at, 20 * g));
}

// As much as there is, and no more; what is given back can be had again.
static void memory_is_counted() {
    size_t before, total, with, after;
    HIP(hipMemGetInfo(&before, &total));
    Memory memory;
    auto handle = memory.create(64 * memory.granule);
    HIP(hipMemGetInfo(&with, &total));
    CHECK(before - with == 64 * memory.granule);
    HIP(hipMemRelease(handle));
    HIP(hipMemGetInfo(&after, &total));
    CHECK(after == before);
    hipMemGenericAllocationHandle_t much;
    CHECK(hipMemCreate(&much, total + memory.granule, &memory.properties, 0) == hipErrorOutOfMemory);
}

// Both GPUs, at one address.
static void shared_by_gpus() {
    int devices;
    HIP(hipGetDeviceCount(&devices));
    CHECK(devices >= 2);
    Memory memory(1);
    size_t g = memory.enough();
    char *at = reserve(g);
    auto handle = memory.create(g);
    HIP(hipMemMap(at, g, 0, handle, 0));
    hipMemAccessDesc both[2] = {memory.access, memory.access};
    both[0].location.id = 0;
    HIP(hipMemSetAccess(at, g, both, 2));
    for (int device = 0; device < 2; device++) {
        HIP(hipSetDevice(device));
        launch_fill((int *)at + device * N, N, 50 * device);
        HIP(hipDeviceSynchronize());
    }
    CHECK(fetch((int *)at, N) == numbers(N, 0) && fetch((int *)at + N, N) == numbers(N, 50));
    HIP(hipMemUnmap(at, g));
    HIP(hipMemRelease(handle));
    HIP(hipMemAddressFree(at, g));
}

static void send(int to, int handle) {
    char byte = 0, control[CMSG_SPACE(sizeof(int))] = {};
    iovec bytes = {&byte, 1};
    msghdr message = {nullptr, 0, &bytes, 1, control, sizeof control, 0};
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &handle, sizeof handle);
    CHECK(sendmsg(to, &message, 0) == 1);
}

static int receive(int from) {
    char byte, control[CMSG_SPACE(sizeof(int))] = {};
    iovec bytes = {&byte, 1};
    msghdr message = {nullptr, 0, &bytes, 1, control, sizeof control, 0};
    CHECK(recvmsg(from, &message, 0) == 1);
    int handle;
    memcpy(&handle, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof handle);
    return handle;
}

// Another process has the same bytes, also when the one that made them has given them back.
static void between_processes() {
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    pid_t child = fork();
    close(pair[child != 0]);
    Memory memory;
    size_t g = memory.enough();
    char *at = reserve(g), byte = 0;
    if (child == 0) {
        int handle = receive(pair[1]);
        hipMemGenericAllocationHandle_t imported;
        HIP(hipMemImportFromShareableHandle(&imported, (void *)(intptr_t)handle, hipMemHandleTypePosixFileDescriptor));
        memory.map(at, g, imported);
        CHECK(fetch((int *)at, N) == numbers(N, 77));
        launch_fill((int *)at, N, 5);
        HIP(hipDeviceSynchronize());
        CHECK(write(pair[1], &byte, 1) == 1 && read(pair[1], &byte, 1) == 1);
        CHECK(fetch((int *)at, N) == numbers(N, 5));
        _exit(0);
    }
    auto handle = memory.create(g);
    memory.map(at, g, handle);
    launch_fill((int *)at, N, 77);
    HIP(hipDeviceSynchronize());
    int file;
    HIP(hipMemExportToShareableHandle(&file, handle, hipMemHandleTypePosixFileDescriptor, 0));
    send(pair[0], file);
    CHECK(read(pair[0], &byte, 1) == 1);
    CHECK(fetch((int *)at, N) == numbers(N, 5));
    close(file);
    HIP(hipMemUnmap(at, g));
    HIP(hipMemRelease(handle));
    HIP(hipMemAddressFree(at, g));
    CHECK(write(pair[0], &byte, 1) == 1);
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void graph_allocations() {
    hipStream_t stream;
    HIP(hipStreamCreate(&stream));
    std::vector<int> out(N);
    hipGraph_t graph;
    hipGraphExec_t executable;
    HIP(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    int *p;
    HIP(hipMallocAsync((void **)&p, N * 4, stream));
    launch_fill(p, N, 11, stream);
    HIP(hipMemcpyAsync(out.data(), p, N * 4, hipMemcpyDeviceToHost, stream));
    HIP(hipFreeAsync(p, stream));
    HIP(hipStreamEndCapture(stream, &graph));
    HIP(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    for (int i = 0; i < 3; i++) {
        std::fill(out.begin(), out.end(), 0);
        HIP(hipGraphLaunch(executable, stream));
        HIP(hipStreamSynchronize(stream));
        CHECK(out == numbers(N, 11));
    }
    HIP(hipGraphExecDestroy(executable));
    HIP(hipGraphDestroy(graph));
}

// A store into addresses where nothing is mapped, by one workgroup: of several, either may be the first.
static void unmapped_store() {
    Memory memory;
    size_t g = memory.granule;
    char *at = reserve(4 * g);
    memory.map(at, g, memory.create(g));
    launch_fill((int *)(at + g) - 10, 100, 0);
    HIP(hipDeviceSynchronize());
}

static void host_store() {
    Memory memory;
    size_t g = memory.enough();
    char *at = reserve(g);
    memory.map(at, g, memory.create(g));
    hipMemAccessDesc host = memory.access;
    host.location = {hipMemLocationTypeHost, 0};
    HIP(hipMemSetAccess(at, g, &host, 1));
    launch_fill((int *)at, N, 4);
    HIP(hipDeviceSynchronize());
    for (int i = 0; i < N; i++) CHECK(((int *)at)[i] == 4 + i);
    ((int *)at)[0] = 99;
    CHECK(fetch((int *)at, 1)[0] == 99);
}
#define OF_HIP_7                                                                                                         \
    , {"mapped", mapped}, {"growing", growing}, {"memory_is_counted", memory_is_counted},                               \
        {"shared_by_gpus", shared_by_gpus}, {"between_processes", between_processes},                                   \
        {"graph_allocations", graph_allocations}, {"unmapped_store", unmapped_store}, {"host_store", host_store}
#else
#define OF_HIP_7
#endif

CASES({"ordered_by_streams", ordered_by_streams}, {"own_pool", own_pool}, {"default_pool", default_pool},
      {"managed", managed} OF_HIP_7)
