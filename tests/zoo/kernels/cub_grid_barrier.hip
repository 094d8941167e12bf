// A barrier over the grid, of more blocks than fit: those that run wait for those that cannot begin.
KERNEL exhibit(u32 *arrived, u32 *out) {
    if (local_x() == 0) {
        __hip_atomic_fetch_add(arrived, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
        while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < BLOCKS) __builtin_amdgcn_s_sleep(1); // endless
    }
    barrier();
    out[global_x()] = 1;
}
