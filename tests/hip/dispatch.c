// An HSA program: launches vecadd of a code object some times through a queue, each launch with a signal, and says how many
// elements are right. With INTERCEPT, the path of intercepting.cpp's library, the queue is an
// intercept queue of the program's own. With ROUNDS, it starts the runtime so many times, and shuts it down before the next one.
#include "hsa_launch.h"

#include <dlfcn.h>

enum { COUNT = 1024 };
static int seen;

static void launches(void) {
    MUST(hsa_init());
    hsa_agent_t agent = a_gpu();
    hsa_executable_symbol_t kernel = load_kernel(agent, "vecadd.kd");
    hsa_queue_t *queue;
    if (getenv("INTERCEPT")) {
        void *library = dlopen(getenv("INTERCEPT"), RTLD_NOW | RTLD_NOLOAD);
        hsa_status_t (*make)(hsa_agent_t, hsa_queue_t **, int *) = dlsym(library, "make_queue");
        MUST(make(agent, &queue, &seen));
    } else {
        MUST(hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
    }
    float *a[3];
    for (int i = 0; i < 3; i++) a[i] = shared_memory(agent, COUNT * sizeof(float));
    for (int i = 0; i < COUNT; i++) a[0][i] = i, a[1][i] = 2 * i, a[2][i] = -1;
    char *kernarg = shared_memory(agent, kernel_number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE));
    unsigned count = COUNT;
    memcpy(kernarg, a, sizeof a), memcpy(kernarg + sizeof a, &count, sizeof count);

    int launches = atoi(getenv("LAUNCHES"));
    hsa_signal_t signal;
    MUST(hsa_signal_create(launches, 0, NULL, &signal));
    hsa_kernel_dispatch_packet_t packet = launch_of(kernel, kernarg, COUNT, 256, signal);
    for (int i = 0; i < launches; i++) submit(queue, &packet);
    wait_for(signal);
    int right = 0;
    for (int i = 0; i < COUNT; i++) right += a[2][i] == 3 * i;
    printf("%d elements, %d packets\n", right, seen);
}

int main(void) {
    int rounds = getenv("ROUNDS") ? atoi(getenv("ROUNDS")) : 1;
    for (int round = 0; round < rounds; round++) {
        if (round) MUST(hsa_shut_down());
        launches();
    }
    return 0;
}
