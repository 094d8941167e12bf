// The compiler's descriptor asks for fewer vector registers than its code uses.
#ifdef MENDED
#define TOLD "v60", "v61"
#else
#define TOLD "memory"
#endif
KERNEL exhibit(const u32 *in, u32 *out) {
    u32 sum, x = in[local_x()];
    asm volatile("v_mov_b32 v60, %1\n v_mov_b32 v61, 5\n v_lshl_add_u32 %0, v60, 1, v61" // found: unallocated-register
                 : "=v"(sum) : "v"(x) : TOLD);
    out[local_x()] = sum;
}
