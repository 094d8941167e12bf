// A program that goes to the limits of what queues and signals allow, or beyond them, each time in another way. Beyond them a
// real system gives an error, or the program hangs by its own fault; nothing may crash. The case's name is the argument; the
// kernel is vecadd of a code object.
#include "hsa_launch.h"

#include <hsa/hsa_ext_amd.h>

static hsa_agent_t gpu, cpu;
static hsa_amd_memory_pool_t system_pool;
static volatile int reported;

static hsa_status_t agent(hsa_agent_t found, void *data) {
    hsa_device_type_t type;
    hsa_agent_get_info(found, HSA_AGENT_INFO_DEVICE, &type);
    *(type == HSA_DEVICE_TYPE_GPU ? &gpu : &cpu) = found;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t pool(hsa_amd_memory_pool_t found, void *data) {
    hsa_amd_segment_t segment;
    hsa_amd_memory_pool_get_info(found, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
    if (segment == HSA_AMD_SEGMENT_GLOBAL) system_pool = found;
    return HSA_STATUS_SUCCESS;
}

static void queue_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
    printf("queue error %x\n", status);
    fflush(stdout);
    reported = 1;
}

static hsa_queue_t *queue(void) {
    hsa_queue_t *made;
    MUST(hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, queue_error, NULL, UINT32_MAX, UINT32_MAX, &made));
    return made;
}

static hsa_kernel_dispatch_packet_t dispatch(void) {
    hsa_kernel_dispatch_packet_t p;
    memset(&p, 0, sizeof p);
    p.header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER;
    p.setup = 1;
    p.workgroup_size_x = p.grid_size_x = 64;
    p.workgroup_size_y = p.workgroup_size_z = p.grid_size_y = p.grid_size_z = 1;
    return p;
}

static hsa_barrier_and_packet_t barrier(hsa_signal_t done) {
    hsa_barrier_and_packet_t p;
    memset(&p, 0, sizeof p);
    p.header = HSA_PACKET_TYPE_BARRIER_AND;
    p.completion_signal = done;
    return p;
}

static void await_error(void) {
    for (int i = 0; i < 3000 && !reported; i++) usleep(10000);
    if (!reported) exit(3);
}

// The driver works still, for another queue.
static void works(void) {
    hsa_queue_t *other = queue();
    hsa_signal_t done;
    MUST(hsa_signal_create(1, 0, NULL, &done));
    hsa_barrier_and_packet_t p = barrier(done);
    submit(other, &p);
    if (wait_for(done) != 0) exit(4);
    MUST(hsa_queue_destroy(other));
}

int main(int count, char **words) {
    const char *name = count > 1 ? words[1] : "";
    MUST(hsa_init());
    MUST(hsa_iterate_agents(agent, NULL));
    MUST(hsa_amd_agent_iterate_memory_pools(cpu, pool, NULL));
    hsa_queue_t *to = queue();
    hsa_kernel_dispatch_packet_t p = dispatch();
    if (!strcmp(name, "unknown_type")) {
        p.header = 77;
        submit(to, &p);
        await_error();
    } else if (!strcmp(name, "unknown_vendor_format")) {
        memset(&p, 0, sizeof p);
        ((char *)&p)[2] = 99;
        submit(to, &p);
        await_error();
    } else if (!strcmp(name, "no_kernel")) {
        submit(to, &p);
        await_error();
    } else if (!strcmp(name, "wild_kernel")) {
        p.kernel_object = 0x123456789000;
        submit(to, &p);
        await_error();
    } else if (!strcmp(name, "no_grid")) {
        p.grid_size_x = 0;
        submit(to, &p);
        await_error();
    } else if (!strcmp(name, "large_workgroup")) {
        p.workgroup_size_x = 60000;
        submit(to, &p);
        await_error();
    } else if (!strcmp(name, "too_much_lds")) {
        p.group_segment_size = 1 << 20;
        submit(to, &p);
        await_error();
    } else if (!strcmp(name, "random_packets")) {
        srand(7);
        for (int round = 0; round < 40; round++) {
            hsa_queue_t *one = queue();
            unsigned char bytes[64];
            for (int i = 0; i < 64; i++) bytes[i] = rand();
            // A completion signal that is none would be a memory fault, which ends the process.
            memset(bytes + 56, 0, 8);
            bytes[0] = rand() % 8 == 3 ? 9 : rand() % 3 == 0 ? 2 : 4 + rand() % 60;
            if (bytes[0] == 5) bytes[0] = 6;
            submit(one, bytes);
            usleep(2000);
            MUST(hsa_queue_destroy(one));
        }
    } else if (!strcmp(name, "wild_signal")) {
        hsa_signal_t wild = {0x7000000000};
        hsa_barrier_and_packet_t b = barrier(wild);
        submit(to, &b);
        sleep(10);
        return 5;
    } else if (!strcmp(name, "signal_freed_early")) {
        hsa_signal_t early;
        MUST(hsa_signal_create(1, 0, NULL, &early));
        hsa_barrier_and_packet_t b = barrier(early);
        submit(to, &b);
        MUST(hsa_signal_destroy(early));
        usleep(20000);
    } else if (!strcmp(name, "places_beyond_the_ring")) {
        // Takes places for three rings of packets at once, and writes each when there is room for it.
        uint64_t count = 3 * to->size, first = hsa_queue_add_write_index_relaxed(to, count);
        hsa_signal_t done;
        MUST(hsa_signal_create(count, 0, NULL, &done));
        hsa_barrier_and_packet_t b = barrier(done);
        for (uint64_t i = first; i < first + count; i++) {
            while (i - hsa_queue_load_read_index_scacquire(to) >= to->size) usleep(50);
            submit_at(to, i, &b);
        }
        if (wait_for(done) != 0) return 10;
        if (reported) return 11;
    } else if (!strcmp(name, "doorbells_out_of_order")) {
        hsa_signal_t done;
        MUST(hsa_signal_create(20, 0, NULL, &done));
        uint64_t first = hsa_queue_add_write_index_relaxed(to, 20);
        hsa_barrier_and_packet_t b = barrier(done);
        for (int i = 19; i >= 0; i--) {
            submit_at(to, first + i, &b);
            usleep(500);
        }
        if (wait_for(done) != 0) return 6;
    } else if (!strcmp(name, "queue_destroyed_while_it_waits")) {
        hsa_signal_t never;
        MUST(hsa_signal_create(1, 0, NULL, &never));
        hsa_barrier_and_packet_t b = barrier((hsa_signal_t){0});
        b.dep_signal[0] = never;
        submit(to, &b);
        usleep(20000);
        MUST(hsa_queue_destroy(to));
    } else if (!strcmp(name, "barriers")) {
        // Barrier-or goes on with one of its signals, barrier-value with a condition.
        hsa_signal_t one, two, done;
        MUST(hsa_signal_create(1, 0, NULL, &one));
        MUST(hsa_signal_create(1, 0, NULL, &two));
        MUST(hsa_signal_create(2, 0, NULL, &done));
        hsa_barrier_or_packet_t either;
        memset(&either, 0, sizeof either);
        either.header = HSA_PACKET_TYPE_BARRIER_OR;
        either.dep_signal[0] = one;
        either.dep_signal[3] = two;
        either.completion_signal = done;
        submit(to, &either);
        usleep(20000);
        if (hsa_signal_load_scacquire(done) != 2) return 7;
        hsa_signal_store_screlease(two, 0);
        while (hsa_signal_load_scacquire(done) != 1) usleep(100);
        hsa_amd_barrier_value_packet_t value;
        memset(&value, 0, sizeof value);
        value.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC;
        value.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
        value.signal = one;
        value.value = 0x40;
        value.mask = 0xf0;
        value.cond = HSA_SIGNAL_CONDITION_GTE;
        value.completion_signal = done;
        submit(to, &value);
        usleep(20000);
        if (hsa_signal_load_scacquire(done) != 1) return 8;
        hsa_signal_store_screlease(one, 0x157);
        if (wait_for(done) != 0) return 9;
    } else {
        return 2;
    }
    works();
    MUST(hsa_shut_down());
    printf("%s: passed\n", name);
    return 0;
}
