// Each group of 32 threads leaves its sum, and the first 32 threads add up. One thread more than those takes part.
KERNEL exhibit(const u32 *in, u32 *out) {
    enum { WARP = 32 };
    LDS u32 array[WARP];
    auto sums = (__attribute__((address_space(3))) volatile u32 *)array;
    u32 t = local_x(), sum = in[t];
    if (t < WARP) sums[t] = 0;
    barrier();
    __hip_atomic_fetch_add(&array[t / WARP], sum, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    barrier();
#ifdef MENDED
    if (t >= WARP) return;
#else
    if (t > WARP) return;
#endif
    sum = sums[t]; // found: lds-bounds
    for (u32 step = WARP / 2; step > 0; step /= 2) sum += __builtin_amdgcn_ds_bpermute((t ^ step) * 4, sum);
    if (t == 0) out[0] = sum;
}
