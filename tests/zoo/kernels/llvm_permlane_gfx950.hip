// A comparison sets the lanes that are on, and a permutation follows too soon.
#ifdef MENDED
#define PAD "s_nop 3\n"
#else
#define PAD
#endif
KERNEL exhibit(u32 *out) {
    u32 a = local_x(), b = local_x() + 64;
    asm volatile("s_nop 4\n v_cmpx_le_u32 0, %0\n" PAD "v_permlane32_swap_b32 %0, %1\n s_nop 4" // found: hazard
                 : "+v"(a), "+v"(b) : : "vcc");
    out[local_x()] = a;
}
