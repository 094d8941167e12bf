// Reed-Solomon in groups of five threads: those that make no whole group, and those beyond the end, leave before the barriers.
KERNEL exhibit(const u64 *in, u64 *out, u32 size) {
    enum { W = 5, K = 3 };
    LDS u64 words[256];
    u32 t = local_x(), whole = block_x() / W * W, at = whole * group_x() + t;
    bool active = t < whole && at < size;
#ifndef MENDED
    if (!active) return;
#endif
    u64 result = 0;
    for (u32 k = 0; k < K; k++) {
        words[t] = active ? in[k * size + at] : 0;
        barrier(); // found: barrier-divergence
        if (active)
            for (u32 j = 0; j < W; j++) result ^= words[t / W * W + j] << (j ^ k);
        barrier(); // found: barrier-divergence
    }
    if (active) out[at] = result;
}
