// Cholesky of a tile in LDS: all threads read the diagonal, and thread 0 puts its root there.
KERNEL exhibit(const float *in, float *out) {
    enum { N = 16 };
    LDS float tile[N * N];
    u32 t = local_x(), row = t % N, column = t / N;
    tile[t] = in[t];
    barrier();
    for (u32 k = 0; k < N; k++) {
        float pivot = tile[k * N + k]; // found: lds-race
#ifdef MENDED
        barrier();
#endif
        if (!(pivot > 0)) break;
        float root = __builtin_amdgcn_sqrtf(pivot);
        if (t == 0) tile[k * N + k] = root; // found: lds-race
        barrier();
        if (t < N && t > k) tile[k * N + t] = tile[k * N + t] / root;
        barrier();
        if (row >= column && column > k) tile[column * N + row] -= tile[k * N + row] * tile[k * N + column];
        barrier();
    }
    out[t] = row >= column ? tile[t] : 0;
}
