// Thread 0 stores the last pivot, and all threads then shift the pivots that they find.
KERNEL exhibit(u32 *pivots, u32 shift) {
    u32 t = local_x();
    if (t == 0)
        for (u32 k = 0; k < 128; k++) pivots[k] = k; // found: memory-race
#ifdef MENDED
    barrier();
#endif
    pivots[t] += shift; // found: memory-race
}
