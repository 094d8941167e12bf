// An HSA program that hears of its launches from the runtime, in handlers, each of which launches vecadd of a code object
// again and waits for that. HANDLERS of them, one after the other.
#include "hsa_launch.h"

#include <hsa/hsa_ext_amd.h>

enum { COUNT = 1024 };

static hsa_queue_t *queue;
static hsa_kernel_dispatch_packet_t packet;
static hsa_signal_t done;
static int waited;

static void launch(hsa_signal_t signal) {
    hsa_kernel_dispatch_packet_t mine = packet;
    mine.completion_signal = signal;
    submit(queue, &mine);
}

static bool is_over(hsa_signal_value_t value, void *unused) {
    hsa_signal_t signal;
    MUST(hsa_signal_create(1, 0, NULL, &signal));
    for (int i = 0; i < 3; i++) {
        hsa_signal_store_relaxed(signal, 1);
        launch(signal);
        // A minute of the runtime's clock.
        uint64_t ticks;
        MUST(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &ticks));
        waited += hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, 60 * ticks, HSA_WAIT_STATE_BLOCKED) == 0;
    }
    MUST(hsa_signal_destroy(signal));
    hsa_signal_subtract_screlease(done, 1);
    return false;
}

int main(void) {
    MUST(hsa_init());
    hsa_agent_t agent = a_gpu();
    hsa_executable_symbol_t kernel = load_kernel(agent, "vecadd.kd");
    MUST(hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
    float *a[3];
    for (int i = 0; i < 3; i++) a[i] = shared_memory(agent, COUNT * sizeof(float));
    for (int i = 0; i < COUNT; i++) a[0][i] = i, a[1][i] = 2 * i, a[2][i] = -1;
    char *kernarg = shared_memory(agent, kernel_number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE));
    unsigned count = COUNT;
    memcpy(kernarg, a, sizeof a), memcpy(kernarg + sizeof a, &count, sizeof count);

    int handlers = atoi(getenv("HANDLERS"));
    packet = launch_of(kernel, kernarg, COUNT, 256, (hsa_signal_t){0});
    MUST(hsa_signal_create(handlers, 0, NULL, &done));
    for (int i = 0; i < handlers; i++) {
        hsa_signal_t signal;
        MUST(hsa_signal_create(1, 0, NULL, &signal));
        MUST(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, is_over, NULL));
        launch(signal);
    }
    wait_for(done);
    printf("%d waits in handlers\n", waited);
    return 0;
}
