// Each block leaves its sum and counts itself in. The last one adds up without an acquire: it may read what its cache still has.
KERNEL exhibit(const u32 *in, u32 *sums, u32 *count, u32 *out) {
    LDS u32 last;
    u32 t = local_x();
    if (t == 0) {
        __hip_atomic_store(&sums[group_x()], in[group_x()], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
        last = __hip_atomic_fetch_add(count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 3;
    }
    barrier();
    if (last) {
#ifdef MENDED
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
#endif
        u32 sum = 0;
        for (u32 k = 0; k < 4; k++) sum += sums[k]; // found: memory-race
        out[t] = sum;
    }
}
