// A convolution needs a few elements beyond the tile; those beyond the end of the input are never written to LDS.
KERNEL exhibit(const float *in, float *out, u32 n) {
    enum { TILE = 128, TAPS = 4 };
    LDS float tile[TILE + TAPS];
    u32 t = local_x(), at = global_x();
    if (at < n) tile[t] = in[at];
#ifdef MENDED
    else tile[t] = 0;
#endif
    if (t < TAPS - 1) {
        if (at + TILE < n) tile[TILE + t] = in[at + TILE];
#ifdef MENDED
        else tile[TILE + t] = 0;
#endif
    }
    barrier();
    float sum = 0;
    for (u32 k = 0; k < TAPS; k++) sum += tile[t + k] * (k + 1);
    if (at < n) out[at] = sum; // found: undefined-lds
}
