// One LDS array is the column in which all look for the pivot, and then the row in which the pivot was found.
KERNEL exhibit(const float *in, float *out) {
    enum { N = 128, COLUMNS = 4 };
    LDS float common[N];
    u32 row = local_x();
    float mine[COLUMNS];
    for (u32 k = 0; k < COLUMNS; k++) mine[k] = in[k * N + row];
    common[row] = mine[0];
    barrier();
    u32 pivot = 0;
    for (u32 r = 1; r < N; r++)
        if (common[r] > common[pivot]) pivot = r; // found: lds-race
#ifdef MENDED
    barrier();
#endif
    if (row == pivot)
        for (u32 k = 0; k < COLUMNS; k++) common[k] = mine[k]; // found: lds-race
    barrier();
    for (u32 k = 0; k < COLUMNS; k++) out[k * N + row] = mine[k] * common[0] - mine[0] * common[k];
}
