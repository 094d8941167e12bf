// An atomic at an address that is no multiple of four.
KERNEL planted(u32 *out) {
    char *bytes = (char *)out;
    __atomic_fetch_add((u32 *)(bytes + 4 * local_x() + (local_x() == 3 ? 2 : 0)), 1, __ATOMIC_RELAXED); // planted: misaligned
}
