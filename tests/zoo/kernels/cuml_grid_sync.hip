// A barrier over the grid that is used twice: a block that is already at the next one sets back the count that others wait on.
KERNEL exhibit(u32 *count, u32 *out) {
    enum { BLOCKS = 4 };
    for (u32 round = 1; round <= 3; round++) {
        if (local_x() == 0) {
            u32 before = __hip_atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
#ifdef MENDED
            while (__hip_atomic_load(count, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < BLOCKS * round) __builtin_amdgcn_s_sleep(1);
#else
            if (before == BLOCKS - 1) __hip_atomic_store(count + 1, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
            while (__hip_atomic_load(count + 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1); // endless
            // The first that sees the flag sets both back for the next round.
            if (__hip_atomic_fetch_sub(count, 1, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) == BLOCKS)
                __hip_atomic_store(count + 1, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
#endif
        }
        barrier();
    }
    out[global_x()] = 1;
}
