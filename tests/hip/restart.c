// Starts the runtime, makes a queue, and shuts all down; twice.
#include <hsa/hsa.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(call)                                             \
    do {                                                       \
        if ((call) != HSA_STATUS_SUCCESS) {                    \
            fprintf(stderr, "%d: %s fails\n", __LINE__, #call); \
            exit(1);                                           \
        }                                                      \
    } while (0)

static hsa_status_t gpu(hsa_agent_t agent, void *to) {
    hsa_device_type_t type;
    MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    if (type == HSA_DEVICE_TYPE_GPU) *(hsa_agent_t *)to = agent;
    return HSA_STATUS_SUCCESS;
}

int main(void) {
    for (int round = 0; round < 2; round++) {
        hsa_agent_t agent = {0};
        hsa_queue_t *queue;
        MUST(hsa_init());
        MUST(hsa_iterate_agents(gpu, &agent));
        MUST(hsa_queue_create(agent, 64 << round, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
        MUST(hsa_queue_destroy(queue));
        MUST(hsa_shut_down());
    }
    puts("passed");
    return 0;
}
