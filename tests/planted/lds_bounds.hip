// An index into LDS that is a page too far.
KERNEL planted(u32 *out) {
    LDS u32 words[128];
    auto mine = (__attribute__((address_space(3))) volatile u32 *)words;
    mine[local_x() + 4096] = 1; // planted: lds-bounds
    out[local_x()] = 1;
}
