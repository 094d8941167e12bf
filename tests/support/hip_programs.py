"""The programs of tests/hip that check their own results, and their cases."""

import rocm

CASES = {
    "memory": [
        "device_memory", "large_copies", "copies_on_device", "name_of_a_copy", "pinned", "managed", "pitched", "volume", "memset_of_all_sizes", "symbols",
        "pointers", "many_allocations",
    ],
    "streams": ["several", "progress", "events", "callbacks", "sleeping_callbacks", "priorities", "graphs", "threads", "many_launches"],
    "kernels": [
        "lds", "scratch", "device_malloc", "cooperative", "partitions", "math", "occupancy", "time_passes", "wrong_launches",
    ],
    "arrays": ["plane", "line", "volumes", "layers", "surfaces"],
    "pools": ["own_pool", "managed"],
    "devices": ["all_devices", "peers", "ring", "compiled_at_run_time", "modules", "fork_before_use", "interprocess"],
}  # fmt: skip

#: Cases that are no part of that: device_printf has a test of its own; HIP 5.2.3 itself does not come back
#: from destroying a stream that has allocated, and crashes where the null stream has.
NOT_HERE = {"device_printf", "ordered_by_streams", "default_pool"}
#: Cases that programs have on HIP 7 alone: tests/driver/test_rocm7.py runs them.
OF_HIP_7 = {
    "handler_at_the_end", "mapped", "unmapped_store", "host_store", "growing", "memory_is_counted", "shared_by_gpus",
    "between_processes", "graph_allocations",
} if rocm.RUNTIME == "7" else set()  # fmt: skip
