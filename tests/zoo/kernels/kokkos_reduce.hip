// Each block leaves its sum in memory and counts itself in; the last one adds up. Without a fence before the atomic the count
// may be seen before the sum.
KERNEL exhibit(const u32 *in, u32 *sums, u32 *count, u32 *out) {
    LDS u32 last, parts[128];
    u32 t = local_x();
    parts[t] = in[global_x()];
    barrier();
    for (u32 step = 64; step > 0; step /= 2) {
        if (t < step) parts[t] += parts[t + step];
        barrier();
    }
    if (t == 0) {
        sums[group_x()] = parts[0];
#ifdef MENDED
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
#endif
        last = __hip_atomic_fetch_add(count, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 3;
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    }
    barrier();
    if (last) {
        u32 sum = 0;
        for (u32 k = 0; k < 4; k++) sum += sums[k]; // found: memory-race
        out[t] = sum;
    }
}
