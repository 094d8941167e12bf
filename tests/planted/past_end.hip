// The last elements are written past the end of `out`.
DEVICE static inline void put(u32 *out, u32 at, u32 value) {
    out[at] = value; // planted: out-of-bounds
}
KERNEL planted(u32 *out) {
    put(out, global_x() + 8, 1);
}
