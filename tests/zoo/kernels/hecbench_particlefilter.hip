// Block 0 computes a number, and all blocks read it, behind barriers that order the threads of one block only.
KERNEL exhibit(const u32 *seed, u32 *u, u32 n) {
    LDS u32 first;
    u32 i = global_x();
    u32 drawn = seed[0] * 1103515245 + 12345;
#ifndef MENDED
    if (i == 0) u[0] = drawn; // found: memory-race
    barrier();
    if (local_x() == 0) first = u[0]; // found: memory-race
#else
    if (local_x() == 0) first = drawn;
#endif
    barrier();
    if (i < n) u[i] = first + i; // found: memory-race
}
