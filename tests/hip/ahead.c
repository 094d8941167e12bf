// An HSA program that is further ahead of its GPU than its queue has room for: a gate holds the GPU up, and the launches behind it are
// written many at a time, with one ring of the doorbell for each lot. Each adds 1 to an array.
#include "hsa_launch.h"

#include <pthread.h>

enum { COUNT = 256, SIZE = 64, LOT = 16 };

static hsa_signal_t gate;

static void *opens(void *unused) {
    usleep(300 * 1000);
    hsa_signal_store_screlease(gate, 0);
    return unused;
}

int main(void) {
    MUST(hsa_init());
    hsa_agent_t agent = a_gpu();
    hsa_executable_symbol_t kernel = load_kernel(agent, "vecadd.kd");
    hsa_queue_t *queue;
    MUST(hsa_queue_create(agent, SIZE, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
    float *sum = shared_memory(agent, COUNT * sizeof(float)), *ones = shared_memory(agent, COUNT * sizeof(float));
    for (int i = 0; i < COUNT; i++) ones[i] = 1;
    char *kernarg = shared_memory(agent, kernel_number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE));
    float *arguments[] = {sum, ones, sum};
    unsigned count = COUNT;
    memcpy(kernarg, arguments, sizeof arguments), memcpy(kernarg + sizeof arguments, &count, sizeof count);

    hsa_signal_t done;
    int launches = atoi(getenv("LAUNCHES"));
    MUST(hsa_signal_create(1, 0, NULL, &gate));
    MUST(hsa_signal_create(launches, 0, NULL, &done));
    hsa_barrier_and_packet_t waits = {0};
    waits.header = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER;
    waits.dep_signal[0] = gate;
    submit(queue, &waits);
    pthread_t thread;
    pthread_create(&thread, NULL, opens, NULL);

    hsa_kernel_dispatch_packet_t packet = launch_of(kernel, kernarg, COUNT, 256, done);
    packet.header |= 1 << HSA_PACKET_HEADER_BARRIER;
    for (int i = 0; i < launches; i += LOT) {
        uint64_t first = hsa_queue_add_write_index_relaxed(queue, LOT);
        while (first + LOT - hsa_queue_load_read_index_scacquire(queue) > SIZE) usleep(10);
        for (uint64_t at = first; at < first + LOT; at++) {
            char *slot = (char *)queue->base_address + (at & (SIZE - 1)) * 64;
            memcpy(slot + 4, (char *)&packet + 4, 60);
            uint32_t header;
            memcpy(&header, &packet, 4);
            __atomic_store_n((uint32_t *)slot, header, __ATOMIC_RELEASE);
        }
        hsa_signal_store_screlease(queue->doorbell_signal, first + LOT - 1);
    }
    wait_for(done);
    pthread_join(thread, NULL);
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) wrong += sum[i] != launches;
    printf("%d launches, %d sums wrong\n", launches, wrong);
    return wrong != 0;
}
