// Each thread attenuates a segment, and all have one and the same scratch vector and one and the same flux.
KERNEL exhibit(const u32 *source, const u32 *segment, u32 *flux, u32 *scratch, u32 groups) {
    const u32 *own = source + segment[global_x()] * groups;
#ifdef MENDED
    u32 *mine = scratch + global_x() * groups;
    for (u32 g = 0; g < groups; g++) mine[g] = own[g] * 3;
    for (u32 g = 0; g < groups; g++) __hip_atomic_fetch_add(&flux[g], mine[g], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
#else
    volatile u32 *mine = scratch;
    for (u32 g = 0; g < groups; g++) mine[g] = own[g] * 3; // found: memory-race
    for (u32 g = 0; g < groups; g++) flux[g] += mine[g]; // found: memory-race
#endif
}
