// Half of the shared array is written, all of it is read.
KERNEL planted(u32 *out) {
    LDS u32 words[128];
    if (local_x() < 64)
        words[local_x()] = 1;
    barrier();
    out[local_x()] = words[local_x()]; // planted: undefined-lds
}
