// Which words to try on RDNA1 and RDNA2.

#pragma once

#include "prober.h"

// VOP3 and VOP3P.
inline void probe_vop3_gfx10(Prober &t, const char *name, Word mark, unsigned ops) {
    const uint64_t sources[] = {256, 0, 128};
    for (unsigned op = 0; op < ops; ++op)
        for (uint64_t s0 : sources)
            for (uint64_t s1 : sources)
                for (uint64_t s2 : sources)
                    for (uint64_t d : {0, 2, 126})
                        t.probe(name, op, 0, mark | at(op, 16) | d | at(s0, 32) | at(s1, 41) | at(s2, 50));
}

// Images, with none to three words of further addresses.
inline void probe_image_gfx10(Prober &t) {
    const char *formats[] = {"Mimg", "MimgNsa", "MimgNsa2", "MimgNsa3"};
    for (unsigned nsa = 0; nsa < 4; ++nsa)
        for (unsigned op = 0; op < 256; ++op)
            for (uint64_t key = 0; key < 256; ++key) {
                Word dmask = (Word(2) << (key & 3)) - 1;
                // Ray intersections have their descriptors' size set.
                for (uint64_t r128 : {0, 1})
                    t.probe(formats[nsa], op, key, 0xF0000000 | at(op & 127, 18) | op >> 7 | nsa << 1 | at(key >> 5, 3) |
                                                       dmask << 8 | at(key >> 2 & 1, 16) | at(key >> 3 & 3, 62) |
                                                       at(1, 12) | at(r128, 15));
            }
}

// The keys are those of the decoder's variant selection (crates/isa/src/decode/gfx10.rs).
inline void probe_gfx10(Prober &t) {
    const uint64_t sources[] = {256, 0, 128}, null = 125, no_address = 127;
    for (uint64_t s : {0, 2, 128})
        for (uint64_t d : {0, 2, 125}) {
            for (unsigned op = 0; op < 128; ++op) {
                if (op < 96) t.probe("Sop2", op, 0, 0x80000000 | at(op, 23) | at(d, 16) | s << 8 | s);
                t.probe("Sopc", op, 0, 0xBF000000 | at(op, 16) | s << 8 | s);
                t.probe("Sopp", op, 0, 0xBF800000 | at(op, 16) | s);
            }
            for (unsigned op = 0; op < 29; ++op)
                for (uint64_t imm : {0, 1, 0x1801}) t.probe("Sopk", op, 0, 0xB0000000 | at(op, 23) | at(d, 16) | imm);
            for (unsigned op = 0; op < 256; ++op) t.probe("Sop1", op, 0, 0xBE800000 | at(op, 8) | at(d, 16) | s);
        }
    for (unsigned op = 0; op < 256; ++op)
        for (uint64_t key = 0; key < 8; ++key)
            for (uint64_t data : {0, 4})
                t.probe("Smem", op, key, 0xF4000000 | at(op, 18) | at(data, 6) | at(key & 1 ? 8 : null, 57) |
                                             at(key >> 1 & 1 ? 8 : 0, 32) | at(key >> 2, 16));
    for (uint64_t s : sources) {
        for (unsigned op = 0; op < 62; ++op) t.probe("Vop2", op, 0, at(op, 25) | s);
        for (unsigned op = 0; op < 256; ++op) {
            for (uint64_t d : {0, 2}) t.probe("Vop1", op, 0, 0x7E000000 | at(op, 9) | s | at(d, 17));
            t.probe("Vopc", op, 0, 0x7C000000 | at(op, 17) | s);
        }
    }
    for (unsigned op = 0; op < 256; ++op) {
        for (uint64_t high : {0x06060600, 0x00060600, 0x06060000, 0}) {
            const Word sdwa = at(high, 32) | 249;
            if (op < 62) t.probe("Sdwa2", op, 0, at(op, 25) | sdwa);
            t.probe("Sdwa1", op, 0, 0x7E000000 | at(op, 9) | sdwa);
            t.probe("SdwaC", op, 0, 0x7C000000 | at(op, 17) | sdwa);
        }
        // LLVM takes small numbers for inline constants; these lanes are not one bit from any.
        const Word dpp16 = at(0xff00e400, 32) | 250, dpp8 = at(0xffffff, 40) | 233;
        if (op < 62) t.probe("Dpp2", op, 0, at(op, 25) | dpp16), t.probe("Dpp8_2", op, 0, at(op, 25) | dpp8);
        t.probe("Dpp1", op, 0, 0x7E000000 | at(op, 9) | dpp16);
        t.probe("Dpp8_1", op, 0, 0x7E000000 | at(op, 9) | dpp8);
    }
    probe_vop3_gfx10(t, "Vop3a", 0xD4000000, 1024);
    probe_vop3_gfx10(t, "Vop3p", 0xCC000000, 128);
    for (unsigned op = 0; op < 4; ++op) t.probe("Vintrp", op, 0, 0xC8000000 | at(op, 16));
    for (unsigned op = 0; op < 256; ++op)
        for (uint64_t key = 0; key < 2; ++key) t.probe("Ds", op, key, 0xD8000000 | at(op, 18) | at(key, 17));
    for (unsigned op = 0; op < 128; ++op)
        for (uint64_t key = 0; key < 64; ++key) {
            const uint64_t addresses[] = {null, 0, no_address};
            if ((key >> 2 & 3) == 3) continue;
            t.probe("Flat", op, key, 0xDC000000 | at(op, 18) | at(key & 3, 14) | at(addresses[key >> 2 & 3], 48) |
                                         at(key >> 4 & 1, 16) | at(key >> 5, 13));
        }
    for (unsigned op = 0; op < 256; ++op)
        for (uint64_t key = 0; key < 32; ++key)
            t.probe("Mubuf", op, key, 0xE0000000 | at(op, 18) | at(key & 3, 12) | at(key >> 2 & 1, 14) |
                                          at(key >> 3 & 1, 55) | at(key >> 4, 16) | at(0x80, 56));
    for (unsigned op = 0; op < 16; ++op)
        for (uint64_t key = 0; key < 8; ++key)
            t.probe("Mtbuf", op, key, 0xE8000000 | at(op & 7, 16) | at(op >> 3, 53) | at(key & 3, 12) | at(1, 19) |
                                          at(key >> 2, 55) | at(0x80, 56));
    probe_image_gfx10(t);
    for (uint64_t key = 0; key < 2; ++key) t.probe("Exp", 0, key, 0xF8000001 | at(key, 11));
}
