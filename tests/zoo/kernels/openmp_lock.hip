// A spin lock for each lane of a wave: the lane that has it waits for the others to leave the loop.
KERNEL exhibit(u32 *lock, u32 *count) {
#ifdef MENDED
    for (u32 lane = 0; lane < 64; lane++)
        if (local_x() % 64 == lane) {
#endif
    for (;;) { // endless
        u32 free = 0;
        if (__hip_atomic_compare_exchange_strong(lock, &free, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) break; // endless
    }
    *(volatile u32 *)count += 1;
    __hip_atomic_store(lock, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
#ifdef MENDED
        }
#endif
}
