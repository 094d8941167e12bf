// A constant of 64 bits with two equal halves was folded into an inline constant, which has one.
KERNEL exhibit(const u64 *in, u32 *out) {
    u64 same, x = in[local_x()];
#ifdef MENDED
    asm volatile("v_cmp_eq_u64_e64 %0, %1, %2\n s_nop 1" : "=s"(same) : "v"(x), "s"(0x2a0000002aul));
#else
    asm volatile("v_cmp_eq_u64_e64 %0, %1, 42\n s_nop 1" : "=s"(same) : "v"(x));
#endif
    out[local_x()] = same >> local_x() & 1; // differs
}
