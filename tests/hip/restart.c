// Starts the runtime, makes a queue, and shuts all down; twice.
#include "hsa_launch.h"

int main(void) {
    for (int round = 0; round < 2; round++) {
        hsa_queue_t *queue;
        MUST(hsa_init());
        MUST(hsa_queue_create(a_gpu(), 64 << round, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
        MUST(hsa_queue_destroy(queue));
        MUST(hsa_shut_down());
    }
    puts("passed");
    return 0;
}
