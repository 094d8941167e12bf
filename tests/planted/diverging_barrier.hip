// One wave leaves before the barrier that the other waits at.
KERNEL planted(u32 *out) {
    out[local_x()] = 1;
    if (__builtin_amdgcn_readfirstlane(local_x() / 64))
        return;
    __builtin_amdgcn_s_barrier(); // planted: barrier-divergence
}
