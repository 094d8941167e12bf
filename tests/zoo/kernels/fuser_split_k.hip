// Blocks add to a tile one after the other. A barrier has all threads store before thread 0 hands the tile on, but it
// does not make what they have stored visible to another block.
KERNEL exhibit(const u32 *in, u32 *tile, u32 *turn) {
    u32 t = local_x(), me = group_x();
    if (t == 0) {
        while (__hip_atomic_load(turn, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) != me) __builtin_amdgcn_s_sleep(1);
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    }
    barrier();
    tile[t] += in[me * 128 + t]; // found: memory-race
    barrier();
    if (t == 0) {
#ifdef MENDED
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
#endif
        __hip_atomic_store(turn, me + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }
}
