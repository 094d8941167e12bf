// One thread leaves where the block's vertices and triangles begin, and all read it at once.
KERNEL exhibit(u32 *next, u32 *out) {
    LDS volatile u32 first[2];
    u32 t = local_x();
    if (t == 0) {
        first[0] = __hip_atomic_fetch_add(next, 128, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); // found: lds-race
        first[1] = __hip_atomic_fetch_add(next + 1, 256, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); // found: lds-race
    }
#ifdef MENDED
    barrier();
#endif
    out[first[0] + t] = first[1] + 2 * t; // found: lds-race | undefined-lds
}
