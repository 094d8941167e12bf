// Which words to try on gfx1250.

#pragma once

#include "gfx12.h"

// The keys are those of the decoder's variant selection (crates/isa/src/decode/gfx1250.rs).
inline void probe_gfx1250(Prober &t) {
    const uint64_t sources[] = {256, 0, 128}, null = 124;
    const Word high = at(1, 14) | at(3, 59);
    probe_registers_gfx11(t, true);
    probe_vop3_gfx11(t, "Vop3p", "Vop3pDpp", "Vop3pDpp8", 0xCC000000, 256);
    // Where OP_SEL_HI is no format.
    for (unsigned op = 0; op < 256; ++op)
        for (uint64_t s : sources)
            for (uint64_t s2 : sources)
                if (op != 0x33) t.probe("Vop3p", op, 0, 0xCC000000 | high | at(op, 16) | at(s, 32) | at(s, 41) | at(s2, 50));
    auto formats = [](uint64_t key) { return at(key & 7, 11) | at(key >> 3 & 3, 59) | at(key >> 5, 14); };
    for (uint64_t s2 : sources)
        for (uint64_t key = 0; key < 64; ++key) {
            const Word matrix = at(256, 32) | at(256, 41) | at(s2, 50);
            t.probe("Vop3p", 0x33, key, 0xCC330000 | formats(key) | matrix);
            for (uint64_t wide : {0, 1})
                for (uint64_t s : sources) {
                    const Word scales = 0xCC000000 | at(wide ? 0x3A : 0x35, 16) | at(s, 32) | at(s, 41) | at(256, 50);
                    t.probe("WmmaScaled", 0x33, wide | key << 1, scales | at(0xCC330000 | formats(key) | matrix, 64));
                    if (key == 0) t.probe("WmmaScaled", 0x88, wide, scales | at(0xCC880000 | high | matrix, 64));
                }
        }
    for (unsigned op = 0; op < 4096; ++op)
        for (uint64_t s : sources) t.probe("Vopd3", op, 0, 0xCF000000 | at(op, 12) | s | at(s, 32) | at(2, 88));
    for (unsigned op = 0; op < 256; ++op)
        for (uint64_t key : {0, 1})
            t.probe("Tensor", op, key, 0xD0400001 | at(op, 14) | at(null, 56) | at(key ? 0 : null, 80) | at(key ? 0 : null, 88));
    probe_memory_gfx12(t);
}
