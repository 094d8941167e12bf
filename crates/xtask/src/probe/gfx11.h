// Which words to try on RDNA3.

#pragma once

#include "prober.h"

// VOP3, VOP3P and interpolation: the same with a word of DPP16 or DPP8 behind.
inline void probe_vop3_gfx11(Prober &t, const char *name, const char *dpp, const char *dpp8, Word mark, unsigned ops) {
    const uint64_t sources[] = {256, 0, 128};
    // LLVM takes small numbers for inline constants; these lanes are not one bit from any.
    const Word dpp16_word = at(0xff00e400, 64), dpp8_word = at(0xffffff, 72);
    for (unsigned op = 0; op < ops; ++op)
        for (uint64_t s1 : sources)
            for (uint64_t s2 : sources)
                for (uint64_t d : {0, 2, 126}) {
                    Word rest = mark | at(op, 16) | d | at(s1, 41) | at(s2, 50);
                    for (uint64_t s0 : sources) t.probe(name, op, 0, rest | at(s0, 32));
                    if (dpp) t.probe(dpp, op, 0, rest | at(250, 32) | dpp16_word);
                    if (dpp8) t.probe(dpp8, op, 0, rest | at(233, 32) | dpp8_word);
                }
}

inline void probe_image_gfx11(Prober &t) {
    for (const char *format : {"Mimg", "MimgNsa"})
        for (unsigned op = 0; op < 256; ++op)
            for (uint64_t key = 0; key < 256; ++key) {
                Word dmask = (Word(2) << (key & 3)) - 1, nsa = strcmp(format, "Mimg") != 0;
                // Ray intersections have their descriptors' size set.
                for (uint64_t r128 : {0, 1})
                    t.probe(format, op, key, 0xF0000000 | at(op, 18) | nsa | at(key >> 5, 2) | dmask << 8 |
                                                 at(key >> 4 & 1, 16) | at(key >> 3 & 1, 17) | at(key >> 2 & 1, 53) |
                                                 at(1, 7) | at(r128, 15));
            }
}

// What works on registers only; from RDNA4 on with a key that says that a scalar source is M0, and fewer bits of
// interpolations that count.
inline void probe_registers_gfx11(Prober &t, bool is_rdna4) {
    const uint64_t sources[] = {256, 0, 128}, m0 = 125;
    for (uint64_t s : {0, 2, 128})
        for (uint64_t d : {0, 2, 124}) {
            for (unsigned op = 0; op < 128; ++op) {
                if (op < 96) t.probe("Sop2", op, 0, 0x80000000 | at(op, 23) | at(d, 16) | s << 8 | s);
                t.probe("Sopc", op, 0, 0xBF000000 | at(op, 16) | s << 8 | s);
                t.probe("Sopp", op, 0, 0xBF800000 | at(op, 16) | s);
            }
            for (unsigned op = 0; op < 29; ++op)
                for (uint64_t imm : {0, 1, 0x1801}) t.probe("Sopk", op, 0, 0xB0000000 | at(op, 23) | at(d, 16) | imm);
            for (unsigned op = 0; op < 256; ++op) {
                t.probe("Sop1", op, 0, 0xBE800000 | at(op, 8) | at(d, 16) | s);
                if (is_rdna4) t.probe("Sop1", op, 1, 0xBE800000 | at(op, 8) | at(d, 16) | m0);
            }
        }
    for (uint64_t s : sources) {
        for (unsigned op = 0; op < 62; ++op) t.probe("Vop2", op, 0, at(op, 25) | s);
        for (unsigned op = 0; op < 256; ++op) {
            for (uint64_t d : {0, 2}) t.probe("Vop1", op, 0, 0x7E000000 | at(op, 9) | s | at(d, 17));
            t.probe("Vopc", op, 0, 0x7C000000 | at(op, 17) | s);
        }
    }
    for (unsigned op = 0; op < 256; ++op) {
        const Word dpp16 = at(0xff00e400, 32) | 250, dpp8 = at(0xffffff, 40) | 233;
        if (op < 62) t.probe("Dpp2", op, 0, at(op, 25) | dpp16), t.probe("Dpp8_2", op, 0, at(op, 25) | dpp8);
        t.probe("Dpp1", op, 0, 0x7E000000 | at(op, 9) | dpp16);
        t.probe("Dpp8_1", op, 0, 0x7E000000 | at(op, 9) | dpp8);
        t.probe("DppC", op, 0, 0x7C000000 | at(op, 17) | dpp16);
        t.probe("Dpp8C", op, 0, 0x7C000000 | at(op, 17) | dpp8);
    }
    probe_vop3_gfx11(t, "Vop3a", "Vop3aDpp", "Vop3aDpp8", 0xD4000000, 1024);
    probe_vop3_gfx11(t, "Vop3p", "Vop3pDpp", "Vop3pDpp8", 0xCC000000, 128);
    probe_vop3_gfx11(t, "Vinterp", nullptr, nullptr, 0xCD000000, is_rdna4 ? 32 : 128);
    for (unsigned op = 0; op < 512; ++op) t.probe("Vopd", op, 0, 0xC8000000 | at(op, 17) | 256 | at(256, 32));
    for (unsigned op = 0; op < 4; ++op) t.probe("Ldsdir", op, 0, 0xCE000000 | at(op, 20));
}

// The keys are those of the decoder's variant selection (crates/isa/src/decode/gfx11.rs).
inline void probe_gfx11(Prober &t) {
    const uint64_t null = 124;
    probe_registers_gfx11(t, false);
    for (unsigned op = 0; op < 256; ++op)
        for (uint64_t key = 0; key < 4; ++key)
            for (uint64_t data : {0, 4})
                t.probe("Smem", op, key, 0xF4000000 | at(op, 18) | at(data, 6) | at(key & 1 ? 8 : null, 57) |
                                             at(key >> 1 ? 8 : 0, 32));
    for (unsigned op = 0; op < 256; ++op)
        for (uint64_t key = 0; key < 2; ++key) t.probe("Ds", op, key, 0xD8000000 | at(op, 18) | at(key, 17));
    for (unsigned op = 0; op < 128; ++op)
        for (uint64_t key = 0; key < 32; ++key)
            t.probe("Flat", op, key, 0xDC000000 | at(op, 18) | at(key & 3, 16) | at(key >> 2 & 1 ? 0 : null, 48) |
                                         at(key >> 3 & 1, 55) | at(key >> 4, 14));
    for (unsigned op = 0; op < 256; ++op)
        for (uint64_t key = 0; key < 16; ++key)
            t.probe("Mubuf", op, key, 0xE0000000 | at(op, 18) | at(key & 3, 54) | at(key >> 2 & 1, 14) | at(key >> 3, 53) |
                                          at(0x80, 56));
    for (unsigned op = 0; op < 16; ++op)
        for (uint64_t key = 0; key < 8; ++key)
            t.probe("Mtbuf", op, key, 0xE8000000 | at(op, 15) | at(key & 3, 54) | at(1, 19) | at(key >> 2, 53) | at(0x80, 56));
    probe_image_gfx11(t);
    for (uint64_t key = 0; key < 4; ++key) t.probe("Exp", 0, key, 0xF8000001 | at(key & 1, 11) | at(key >> 1, 13));
}
