// Launches crowded of a code object with LDS of the launch's own, and says how many of its results are right.
#include "hsa_launch.h"

enum { COUNT = 1024, BLOCK = 128, VALUES = 124, ROUNDS = 3 };

static unsigned sum_of(unsigned first) {
    unsigned sum = 0;
    for (unsigned k = 0; k < VALUES; k++) {
        unsigned value = first * (2 * k + 1);
        for (unsigned round = 0; round < ROUNDS; round++) value = value * 5 ^ round;
        sum = sum * 3 + value;
    }
    return sum;
}

int main(void) {
    MUST(hsa_init());
    hsa_agent_t agent = a_gpu();
    hsa_executable_symbol_t kernel = load_kernel(agent, "crowded.kd");
    hsa_queue_t *queue;
    MUST(hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
    unsigned *in = shared_memory(agent, COUNT * sizeof *in), *out = shared_memory(agent, COUNT * sizeof *out);
    for (unsigned i = 0; i < COUNT; i++) in[i] = i * 2654435761u;
    struct {
        unsigned *in, *out, rounds;
    } *arguments = shared_memory(agent, kernel_number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE));
    arguments->in = in, arguments->out = out, arguments->rounds = ROUNDS;

    hsa_signal_t done;
    MUST(hsa_signal_create(1, 0, NULL, &done));
    hsa_kernel_dispatch_packet_t packet = launch_of(kernel, arguments, COUNT, BLOCK, done);
    packet.group_segment_size += BLOCK * sizeof *out;
    submit(queue, &packet);
    wait_for(done);
    int right = 0;
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned lane = i % BLOCK, *group = &in[i - lane];
        right += out[i] == (sum_of(group[BLOCK - 1 - lane]) ^ sum_of(group[(lane + 1) & 63]));
    }
    printf("%d results\n", right);
    return 0;
}
