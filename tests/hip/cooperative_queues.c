// An HSA program: launches vecadd through a queue of cooperative launches that is created and destroyed again and again, beside
// another queue; also when there are two of them, which have one queue of the GPU's. Then it shuts the runtime down.
#include "hsa_launch.h"

enum { COUNT = 1024, ROUNDS = 5 };

static hsa_queue_t *queue_of(hsa_agent_t agent, hsa_queue_type_t type) {
    hsa_queue_t *queue;
    MUST(hsa_queue_create(agent, 64, type, NULL, NULL, 0, 0, &queue));
    return queue;
}

// A launch through a queue, with right results.
static void run(hsa_queue_t *queue, hsa_executable_symbol_t kernel, char *kernarg, float *a[3], int n) {
    for (int i = 0; i < COUNT; i++) a[0][i] = i + n, a[1][i] = 2 * i, a[2][i] = -1;
    hsa_signal_t signal;
    MUST(hsa_signal_create(1, 0, NULL, &signal));
    hsa_kernel_dispatch_packet_t packet = launch_of(kernel, kernarg, COUNT, 256, signal);
    submit(queue, &packet);
    wait_for(signal);
    for (int i = 0; i < COUNT; i++) {
        if (a[2][i] != 3 * i + n) exit(2);
    }
    MUST(hsa_signal_destroy(signal));
}

int main(void) {
    enum { KINDS = 3 };
    MUST(hsa_init());
    hsa_agent_t agent = a_gpu();
    hsa_executable_symbol_t kernel = load_kernel(agent, "vecadd.kd");
    float *a[3];
    for (int i = 0; i < 3; i++) a[i] = shared_memory(agent, COUNT * sizeof(float));
    char *kernarg = shared_memory(agent, kernel_number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE));
    unsigned count = COUNT;
    memcpy(kernarg, a, sizeof a), memcpy(kernarg + sizeof a, &count, sizeof count);
    for (int round = 0; round < ROUNDS; round++) {
        hsa_queue_t *all[KINDS] = {queue_of(agent, HSA_QUEUE_TYPE_COOPERATIVE), queue_of(agent, HSA_QUEUE_TYPE_MULTI),
                                   queue_of(agent, HSA_QUEUE_TYPE_COOPERATIVE)};
        for (int n = 0; n < KINDS; n++) run(all[n], kernel, kernarg, a, n);
        for (int n = 0; n < KINDS; n++) {
            MUST(hsa_queue_destroy(all[n]));
            // The other user of the queue goes on.
            if (n == 0) run(all[2], kernel, kernarg, a, KINDS);
        }
    }
    MUST(hsa_shut_down());
    puts("done");
    return 0;
}
