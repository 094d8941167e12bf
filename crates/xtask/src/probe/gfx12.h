// Which words to try on RDNA4.

#pragma once

#include "gfx11.h"

inline void probe_image_gfx12(Prober &t) {
    for (unsigned op = 0; op < 256; ++op)
        for (uint64_t key = 0; key < 256; ++key) {
            Word image = at(op, 14) | key >> 5 | at((2 << (key & 3)) - 1, 22) | at(key >> 4 & 1, 6) | at(key >> 3 & 1, 5);
            // Rays' resources have R128 set.
            for (uint64_t r128 : {0, 1})
                t.probe("Mimg", op, key, 0xD0000000 | image | at(r128, 4) | at(key >> 2 & 1, 55));
            t.probe("Vsample", op, key, 0xE4000000 | image | at(key >> 2 & 1, 3));
        }
}

inline void probe_memory_gfx12(Prober &t) {
    const uint64_t null = 124;
    for (unsigned op = 0; op < 64; ++op)
        for (uint64_t key = 0; key < 2; ++key)
            for (uint64_t data : {0, 4})
                t.probe("Smem", op, key, 0xF4000000 | at(op, 13) | at(data, 6) | at(key ? 8 : null, 57));
    for (unsigned op = 0; op < 256; ++op) {
        t.probe("Ds", op, 0, 0xD8000000 | at(op, 18));
        for (uint64_t key = 0; key < 32; ++key)
            t.probe("Flat", op, key, 0xEC000000 | at(op, 14) | at(key & 3, 24) | (key >> 2 & 1 ? 0 : null) | at(key >> 3 & 1, 49) |
                                         at(key >> 4, 52));
        for (uint64_t key = 0; key < 16; ++key) {
            Word buffer = 0xC4000000 | at(key & 3, 62) | at(key >> 2 & 1, 22) | at(key >> 3, 52) | at(1, 55);
            if (op >> 4 != 8) t.probe("Mubuf", op, key, buffer | at(op, 14));
            else if (key < 8) t.probe("Mtbuf", op & 15, key, buffer | at(op, 14));
        }
    }
}

// The keys are those of the decoder's variant selection (crates/isa/src/decode/gfx12.rs).
inline void probe_gfx12(Prober &t) {
    probe_registers_gfx11(t, true);
    // Matrix operations must have OP_SEL_HI set.
    probe_vop3_gfx11(t, "Vop3p", nullptr, nullptr, 0xCC000000 | at(1, 14) | at(3, 59), 128);
    probe_memory_gfx12(t);
    probe_image_gfx12(t);
    for (uint64_t key = 0; key < 4; ++key) t.probe("Exp", 0, key, 0xF8000001 | at(key & 1, 11) | at(key >> 1, 13));
}
