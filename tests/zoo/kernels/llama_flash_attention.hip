// A barrier that only some waves reach: from then on the waves of the workgroup wait for each other at different places.
KERNEL exhibit(const u32 *in, u32 *out) {
    LDS u32 tile[256];
    u32 t = local_x(), wave = __builtin_amdgcn_readfirstlane(t / 128), sum = 0;
    for (u32 k = 0; k < 2; k++) {
        tile[t] = in[256 * k + t]; // found: lds-race
        barrier(); // found: barrier-divergence
        sum += tile[t ^ 128]; // found: lds-race
        if (wave == 0) {
            sum *= 3;
#ifndef MENDED
            barrier(); // found: barrier-divergence
#endif
        }
#ifdef MENDED
        barrier();
#endif
    }
    out[t] = sum;
}
