// A pair of constants was folded away from a packed addition.
KERNEL exhibit(const u32 *in, u32 *out) {
    u32 sum, x = in[local_x()];
#ifdef MENDED
    asm volatile("v_pk_add_f16 %0, %1, %2" : "=v"(sum) : "v"(x), "s"(0x42004000));
#else
    asm volatile("v_pk_add_f16 %0, %1, 0" : "=v"(sum) : "v"(x));
#endif
    out[local_x()] = sum; // differs
}
