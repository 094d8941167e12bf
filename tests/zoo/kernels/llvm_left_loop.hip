// Each lane leaves a loop in its own round. The number of the round is scalar, and was read behind the loop: there it is the last
// lane's.
#ifdef MENDED
#define IN_LOOP "v_mov_b32 %0, s20\n"
#define BEHIND
#else
#define IN_LOOP
#define BEHIND "v_mov_b32 %0, s20\n"
#endif
KERNEL exhibit(const u32 *in, u32 *out) {
    u32 round, limit = in[local_x()];
    asm volatile("s_mov_b64 s[22:23], exec\n s_mov_b32 s20, -1\n"
                 "1: s_add_i32 s20, s20, 1\n " IN_LOOP "v_cmp_gt_u32 vcc, %1, s20\n s_and_b64 exec, exec, vcc\n s_cbranch_execnz 1b\n"
                 "s_mov_b64 exec, s[22:23]\n " BEHIND
                 : "=&v"(round) : "v"(limit) : "s20", "s22", "s23", "vcc", "scc");
    out[local_x()] = round; // differs
}
