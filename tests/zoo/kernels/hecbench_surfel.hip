// Surfels come through LDS a tile at a time; the next tile is fetched while slower waves still look at this one.
KERNEL exhibit(const float *surfels, float *out) {
    enum { TILE = 128, TILES = 3 };
    LDS float tile[TILE];
    u32 t = local_x();
    float sum = 0;
    for (u32 base = 0; base < TILE * TILES; base += TILE) {
        tile[t] = surfels[base + t]; // found: lds-race
        barrier();
        for (u32 k = 0; k < TILE; k++) sum += tile[k] * (k ^ t); // found: lds-race
#ifdef MENDED
        barrier();
#endif
    }
    out[t] = sum;
}
