// What the tests' HSA programs share: finding a GPU and its memory, loading a kernel, writing packets.
#pragma once

#include <fcntl.h>
#include <hsa/hsa.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(call)                                                                             \
    do {                                                                                       \
        hsa_status_t status_ = (call);                                                         \
        if (status_ != HSA_STATUS_SUCCESS) {                                                   \
            fprintf(stderr, "%s:%d: %s gives %#x\n", __FILE__, __LINE__, #call, (int)status_); \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)

static inline hsa_status_t take_gpu(hsa_agent_t agent, void *to) {
    hsa_device_type_t type;
    MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU) *(hsa_agent_t *)to = agent;
    return HSA_STATUS_SUCCESS;
}

// The last GPU that there is.
static inline hsa_agent_t a_gpu(void) {
    hsa_agent_t agent = {0};
    MUST(hsa_iterate_agents(take_gpu, &agent));
    return agent;
}

static inline hsa_status_t take_arguments(hsa_region_t region, void *to) {
    hsa_region_global_flag_t flags = 0;
    hsa_region_segment_t segment;
    MUST(hsa_region_get_info(region, HSA_REGION_INFO_SEGMENT, &segment));
    if (segment != HSA_REGION_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    MUST(hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags));
    if (flags & HSA_REGION_GLOBAL_FLAG_KERNARG) *(hsa_region_t *)to = region;
    return HSA_STATUS_SUCCESS;
}

// Memory for arguments, which both processors have. It is all zero.
static inline void *shared_memory(hsa_agent_t agent, size_t size) {
    hsa_region_t region = {0};
    void *made = NULL;
    MUST(hsa_agent_iterate_regions(agent, take_arguments, &region));
    MUST(hsa_memory_allocate(region, size, &made));
    memset(made, 0, size);
    return made;
}

// A kernel of the code object whose path is in the variable MODULE.
static inline hsa_executable_symbol_t load_kernel(hsa_agent_t agent, const char *descriptor) {
    hsa_code_object_reader_t reader;
    hsa_executable_t executable;
    hsa_executable_symbol_t kernel;
    MUST(hsa_code_object_reader_create_from_file(open(getenv("MODULE"), O_RDONLY), &reader));
    MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL, &executable));
    MUST(hsa_executable_load_agent_code_object(executable, agent, reader, NULL, NULL));
    MUST(hsa_executable_freeze(executable, NULL));
    MUST(hsa_executable_get_symbol_by_name(executable, descriptor, &agent, &kernel));
    return kernel;
}

static inline uint64_t kernel_number(hsa_executable_symbol_t kernel, hsa_executable_symbol_info_t what) {
    uint64_t value = 0;
    MUST(hsa_executable_symbol_get_info(kernel, what, &value));
    return value;
}

// A launch of a kernel in one dimension.
static inline hsa_kernel_dispatch_packet_t launch_of(hsa_executable_symbol_t kernel, void *arguments, unsigned grid,
                                                     unsigned block, hsa_signal_t done) {
    hsa_kernel_dispatch_packet_t packet = {0};
    packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_ACQUIRE_FENCE_SCOPE |
                    HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_RELEASE_FENCE_SCOPE;
    packet.setup = 1;
    packet.workgroup_size_x = block, packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = grid, packet.grid_size_y = packet.grid_size_z = 1;
    packet.private_segment_size = kernel_number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE);
    packet.group_segment_size = kernel_number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE);
    packet.kernel_object = kernel_number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
    packet.kernarg_address = arguments;
    packet.completion_signal = done;
    return packet;
}

// Writes a packet of 64 bytes whose header comes last, and rings.
static inline void submit_at(hsa_queue_t *to, uint64_t index, const void *packet) {
    char *slot = (char *)to->base_address + (index & (to->size - 1)) * 64;
    memcpy(slot + 4, (const char *)packet + 4, 60);
    uint32_t first;
    memcpy(&first, packet, 4);
    __atomic_store_n((uint32_t *)slot, first, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(to->doorbell_signal, index);
}

// The same, at the next place, once there is room.
static inline void submit(hsa_queue_t *to, const void *packet) {
    uint64_t index = hsa_queue_add_write_index_relaxed(to, 1);
    while (index - hsa_queue_load_read_index_scacquire(to) >= to->size) usleep(10);
    submit_at(to, index, packet);
}

// Waits until a signal is 0 or less; gives what it is.
static inline hsa_signal_value_t wait_for(hsa_signal_t done) {
    hsa_signal_value_t left = 1;
    while (left >= 1) left = hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    return left;
}
