// An HSA program: launches vecadd of a code object some times through a queue, each launch with a signal, and says how many
// elements are right. With INTERCEPT, the path of intercepting.cpp's library, the queue is an
// intercept queue of the program's own.
#include <hsa/hsa.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(call)                                             \
    do {                                                       \
        if ((call) != HSA_STATUS_SUCCESS) {                    \
            fprintf(stderr, "%d: %s fails\n", __LINE__, #call); \
            exit(1);                                           \
        }                                                      \
    } while (0)

enum { COUNT = 1024 };
static int seen;

static hsa_status_t gpu(hsa_agent_t agent, void *to) {
    hsa_device_type_t type;
    MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU) *(hsa_agent_t *)to = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t arguments(hsa_region_t region, void *to) {
    hsa_region_global_flag_t flags = 0;
    hsa_region_segment_t segment;
    MUST(hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment));
    if (segment != HSA_REGION_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    MUST(hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags));
    if (flags & HSA_REGION_GLOBAL_FLAG_KERNARG) *(hsa_region_t *)to = region;
    return HSA_STATUS_SUCCESS;
}

static uint64_t number(hsa_executable_symbol_t kernel, hsa_executable_symbol_info_t what) {
    uint64_t value = 0;
    MUST(hsa_executable_symbol_get_info(kernel, what, &value));
    return value;
}

int main(void) {
    hsa_agent_t agent = {0};
    hsa_region_t region = {0};
    MUST(hsa_init());
    MUST(hsa_iterate_agents(gpu, &agent));
    MUST(hsa_agent_iterate_regions(agent, arguments, &region));
    hsa_code_object_reader_t reader;
    hsa_executable_t executable;
    hsa_executable_symbol_t kernel;
    MUST(hsa_code_object_reader_create_from_file(open(getenv("MODULE"), O_RDONLY), &reader));
    MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &executable));
    MUST(hsa_executable_load_agent_code_object(executable, agent, reader, NULL, NULL));
    MUST(hsa_executable_freeze(executable, NULL));
    MUST(hsa_executable_get_symbol_by_name(executable, "vecadd.kd", &agent, &kernel));
    hsa_queue_t *queue;
    if (getenv("INTERCEPT")) {
        void *library = dlopen(getenv("INTERCEPT"), RTLD_NOW | RTLD_NOLOAD);
        hsa_status_t (*make)(hsa_agent_t, hsa_queue_t **, int *) = dlsym(library, "make_queue");
        MUST(make(agent, &queue, &seen));
    } else {
        MUST(hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
    }
    float *a[3];
    for (int i = 0; i < 3; i++) MUST(hsa_memory_allocate(region, COUNT * sizeof(float), (void **)&a[i]));
    for (int i = 0; i < COUNT; i++) a[0][i] = i, a[1][i] = 2 * i, a[2][i] = -1;
    char *kernarg;
    uint64_t size = number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
    MUST(hsa_memory_allocate(region, size, (void **)&kernarg));
    memset(kernarg, 0, size);
    unsigned count = COUNT;
    memcpy(kernarg, a, sizeof a), memcpy(kernarg + sizeof a, &count, sizeof count);

    int launches = atoi(getenv("LAUNCHES"));
    hsa_signal_t signal;
    MUST(hsa_signal_create(launches, 0, NULL, &signal));
    for (int i = 0; i < launches; i++) {
        hsa_kernel_dispatch_packet_t packet = {0};
        packet.setup = 1;
        packet.workgroup_size_x = 256, packet.workgroup_size_y = packet.workgroup_size_z = 1;
        packet.grid_size_x = COUNT, packet.grid_size_y = packet.grid_size_z = 1;
        packet.private_segment_size = number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
        packet.group_segment_size = number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
        packet.kernel_object = number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
        packet.kernarg_address = kernarg;
        packet.completion_signal = signal;
        uint64_t index = hsa_queue_load_write_index_relaxed(queue);
        while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) usleep(10);
        hsa_queue_store_write_index_relaxed(queue, index + 1);
        hsa_kernel_dispatch_packet_t *at = (hsa_kernel_dispatch_packet_t *)queue->base_address + index % queue->size;
        memcpy((char *)at + 2, (char *)&packet + 2, sizeof packet - 2);
        int fences = HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE |
                     HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE;
        __atomic_store_n(&at->header, HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE | fences, __ATOMIC_RELEASE);
        hsa_signal_store_relaxed(queue->doorbell_signal, index);
    }
    while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >= 1) continue;
    int right = 0;
    for (int i = 0; i < COUNT; i++) right += a[2][i] == 3 * i;
    printf("%d elements, %d packets\n", right, seen);
    return 0;
}
