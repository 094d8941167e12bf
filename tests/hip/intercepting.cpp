// What a program has that makes intercept queues itself: a tool that does nothing but keep ROCr's table for the program.
#define AMD_INTERNAL_BUILD
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>

static HsaApiTable *kept;

static void packets(const void *from, uint64_t count, uint64_t, void *seen, hsa_amd_queue_intercept_packet_writer write) {
    *(int *)seen += count;
    write(from, count);
}

extern "C" hsa_status_t make_queue(hsa_agent_t agent, hsa_queue_t **queue, int *seen) {
    AmdExtTable *amd = kept->amd_ext_;
    hsa_status_t status = amd->hsa_amd_queue_intercept_create_fn(agent, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, queue);
    return status ? status : amd->hsa_amd_queue_intercept_register_fn(*queue, packets, seen);
}

extern "C" bool OnLoad(HsaApiTable *table, uint64_t, uint64_t, const char *const *) { return kept = table; }

extern "C" void OnUnload() {}
