// Sums are added up that nothing has set to zero.
KERNEL planted(u32 *out) {
    out[local_x()] += local_x(); // planted: undefined-memory
}
