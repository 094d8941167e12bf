// Two workgroups add to the same words without atomics.
KERNEL planted(u32 *out) {
    out[local_x()] += group_x(); // planted: memory-race
}
