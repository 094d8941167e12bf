// A tool of ROCr's own kind: counts executables and dispatch packets, and looks at the segments that these ask for, through a
// queue creation and a freeze of its own.
#define AMD_INTERNAL_BUILD
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

static decltype(hsa_queue_create) *create_queue;
static decltype(hsa_executable_freeze) *freeze;
static decltype(hsa_amd_queue_intercept_create) *intercept_create;
static decltype(hsa_amd_queue_intercept_register) *intercept_register;
static std::atomic<int> executables, dispatches;
static std::atomic<uint32_t> scratch, lds;

static void at_least(std::atomic<uint32_t> &most, uint32_t size) {
    for (uint32_t old = most; old < size && !most.compare_exchange_weak(old, size);) {}
}

static void packets(const void *from, uint64_t count, uint64_t, void *, hsa_amd_queue_intercept_packet_writer write) {
    for (uint64_t i = 0; i < count; i++) {
        const hsa_kernel_dispatch_packet_t &packet = ((const hsa_kernel_dispatch_packet_t *)from)[i];
        if ((packet.header & 0xff) != HSA_PACKET_TYPE_KERNEL_DISPATCH) continue;
        dispatches++;
        at_least(scratch, packet.private_segment_size), at_least(lds, packet.group_segment_size);
    }
    write(from, count);
}

static hsa_status_t my_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                              void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data, uint32_t scratch,
                              uint32_t lds, hsa_queue_t **queue) {
    hsa_status_t status = intercept_create(agent, size, type, callback, data, scratch, lds, queue);
    return status ? status : intercept_register(*queue, packets, nullptr);
}

static hsa_status_t my_freeze(hsa_executable_t executable, const char *options) {
    executables++;
    return freeze(executable, options);
}

extern "C" bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) {
    create_queue = table->core_->hsa_queue_create_fn;
    freeze = table->core_->hsa_executable_freeze_fn;
    intercept_create = table->amd_ext_->hsa_amd_queue_intercept_create_fn;
    intercept_register = table->amd_ext_->hsa_amd_queue_intercept_register_fn;
    table->core_->hsa_queue_create_fn = my_create;
    table->core_->hsa_executable_freeze_fn = my_freeze;
    atexit([] {
        fprintf(stderr, "packet tool: %d executables, %d dispatches, at most %u bytes of scratch and %u of LDS\n",
                executables.load(), dispatches.load(), scratch.load(), lds.load());
    });
    return true;
}

extern "C" void OnUnload() {}
