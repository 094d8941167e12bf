// Two groups of waves take turns on one LDS buffer. A bare s_barrier does not wait for the loads that are under way.
DEVICE static inline void meet() {
#ifdef MENDED
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
#else
    __builtin_amdgcn_sched_barrier(0);
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_sched_barrier(0);
#endif
}
KERNEL exhibit(const u32 *in, u32 *out) {
    LDS u32 tile[512];
    u32 t = local_x(), lane = t % 256;
    bool second = __builtin_amdgcn_readfirstlane(t / 256);
    tile[t] = in[t];
    barrier();
    u32 sum = 0, fresh = in[512 + t];
    u32 a = tile[lane], b = tile[256 + lane]; // found: missing-wait
    meet();
    tile[t] = fresh; // found: missing-wait | lds-race
    sum = a + 3 * b; 
    barrier();
    out[t] = sum + tile[second ? lane : 256 + lane];
}
