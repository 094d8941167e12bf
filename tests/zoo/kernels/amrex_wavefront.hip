// A sum within what is taken for a wave of 64. Where waves have 32 lanes two of them take part, and nothing orders them.
KERNEL exhibit(const u32 *in, u32 *out) {
    enum { WAVE = 64 };
    LDS volatile u32 slot[WAVE];
    u32 t = local_x();
    slot[t] = in[t]; // found: lds-race
#ifdef MENDED
    barrier();
#endif
    for (u32 step = WAVE / 2; step > 0; step /= 2) {
        if (t < step) slot[t] += slot[t + step]; // found: lds-race | undefined-lds
#ifdef MENDED
        barrier();
#endif
    }
    if (t == 0) out[0] = slot[0]; // found: undefined-lds
}
