// Threads beyond the last element return before the barrier that the others wait at.
KERNEL exhibit(const u32 *in, u32 *out, u32 n) {
    LDS u32 largest[256];
    u32 t = local_x();
    bool active = t < n;
#ifndef MENDED
    if (!active) return;
#endif
    largest[t] = active ? in[t] : 0;
    barrier(); // found: barrier-divergence
    for (u32 step = 16; step > 0; step /= 2) {
        u32 other = largest[t ^ step];
        barrier(); // found: barrier-divergence
        largest[t] = other > largest[t] ? other : largest[t];
        barrier(); // found: barrier-divergence
    }
    if (active) out[t] = largest[t]; // found: undefined-lds
}
