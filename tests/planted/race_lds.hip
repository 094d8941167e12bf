// A neighbour's word is read with no barrier in between.
KERNEL planted(u32 *out) {
    LDS u32 words[128];
    words[local_x()] = local_x();
    out[local_x()] = words[local_x() ^ 64]; // planted: lds-race
}
