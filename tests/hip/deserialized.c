// An HSA program that loads vecadd in the deprecated way, as GCC's libgomp loads what it offloads: the file's bytes are
// deserialized, and the executable is loaded without a reader.
#include "hsa_launch.h"

enum { COUNT = 1024 };

static void *bytes_of(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

int main(void) {
    MUST(hsa_init());
    hsa_agent_t agent = a_gpu();
    hsa_executable_t executable;
    hsa_code_object_t object;
    hsa_executable_symbol_t kernel;
    size_t size;
    void *bytes = bytes_of(getenv("MODULE"), &size);
    MUST(hsa_code_object_deserialize(bytes, size, NULL, &object));
    // The runtime has a copy.
    memset(bytes, 0, size), free(bytes);
    MUST(hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_UNFROZEN, NULL, &executable));
    MUST(hsa_executable_load_code_object(executable, agent, object, NULL));
    MUST(hsa_executable_freeze(executable, NULL));
    MUST(hsa_executable_get_symbol(executable, NULL, "vecadd.kd", agent, 0, &kernel));

    hsa_queue_t *queue;
    hsa_signal_t done;
    MUST(hsa_queue_create(agent, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &queue));
    MUST(hsa_signal_create(1, 0, NULL, &done));
    float *a[3];
    for (int i = 0; i < 3; i++) a[i] = shared_memory(agent, COUNT * sizeof(float));
    for (int i = 0; i < COUNT; i++) a[0][i] = i, a[1][i] = 2 * i, a[2][i] = -1;
    char *kernarg = shared_memory(agent, kernel_number(kernel, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE));
    unsigned count = COUNT;
    memcpy(kernarg, a, sizeof a), memcpy(kernarg + sizeof a, &count, sizeof count);
    hsa_kernel_dispatch_packet_t packet = launch_of(kernel, kernarg, COUNT, 256, done);
    submit(queue, &packet);
    wait_for(done);
    int right = 0;
    for (int i = 0; i < COUNT; i++) right += a[2][i] == 3 * i;
    printf("%d sums right\n", right);
    MUST(hsa_executable_destroy(executable));
    MUST(hsa_code_object_destroy(object));
    MUST(hsa_shut_down());
    return 0;
}
