// A scalar register that the vector unit has read is written by the scalar unit, and read by the vector unit again.
#ifdef MENDED
#define WAIT "s_wait_alu depctr_sa_sdst(0)\n"
#else
#define WAIT
#endif
KERNEL exhibit(u32 *out) {
    u32 d;
    asm volatile("s_mov_b32 s20, 3\n s_wait_alu depctr_sa_sdst(0)\n v_mov_b32 %0, s20\n s_mov_b32 s20, 5\n" WAIT "v_add_nc_u32 %0, %0, s20" // found: hazard
                 : "=&v"(d) : : "s20", "s21");
    out[local_x()] = d;
}
