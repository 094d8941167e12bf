// A scan over tiles keeps its running total in LDS. A fence orders what one thread does; it makes no thread wait.
KERNEL exhibit(const u32 *in, u32 *out) {
    enum { N = 128, TILES = 2 };
    LDS u32 sums[N + 1];
    u32 t = local_x();
    if (t == 0) sums[0] = 0;
    for (u32 tile = 0; tile < TILES; tile++) {
        sums[t + 1] = in[tile * N + t];
        barrier();
        for (u32 step = 1; step < N; step *= 2) {
            u32 other = t >= step ? sums[t + 1 - step] : 0;
            barrier();
            sums[t + 1] += other;
            barrier();
        }
        u32 total = sums[0]; // found: lds-race
        out[tile * N + t] = sums[t + 1] + total; // found: lds-race
#ifdef MENDED
        barrier();
#else
        __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
#endif
        if (t == N - 1) sums[0] = total + sums[N]; // found: lds-race
        barrier();
    }
}
