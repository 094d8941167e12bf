// Counters in LDS are set to zero by some threads and added to by others.
KERNEL exhibit(const u32 *experts, u32 *out) {
    LDS u32 counts[128];
    u32 t = local_x();
    counts[t] = 0; // found: lds-race
#ifdef MENDED
    barrier();
#endif
    __hip_atomic_fetch_add(&counts[experts[t]], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); // found: lds-race | undefined-lds
    barrier();
    out[t] = counts[t];
}
