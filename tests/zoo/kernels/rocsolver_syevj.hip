// Jacobi rotations: a few threads compute cosines and sines, all apply them, and the next sweep computes others.
KERNEL exhibit(const float *in, float *out) {
    enum { N = 256, PAIRS = 4, SWEEPS = 3 };
    LDS float cosines[PAIRS], sines[PAIRS];
    u32 t = local_x(), pair = t % PAIRS;
    float x = in[t], y = in[N + t];
    for (u32 sweep = 0; sweep < SWEEPS; sweep++) {
        if (t < PAIRS) {
            cosines[t] = t + sweep; // found: lds-race
            sines[t] = t * sweep; // found: lds-race
        }
        barrier();
        float c = cosines[pair], s = sines[pair]; // found: lds-race
        float turned = c * x - s * y;
        y = s * x + c * y;
        x = turned;
#ifdef MENDED
        barrier();
#endif
    }
    out[t] = x;
    out[N + t] = y;
}
