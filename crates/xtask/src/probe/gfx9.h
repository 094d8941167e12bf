// Which words to try on GCN5 and CDNA.

#pragma once

#include "prober.h"

// VOP3's forms share the opcode's place. The variant key of matrix operations is the bit that says whether C and D are in
// AGPRs, and, of those whose operands' formats are fields (gfx950), the formats too.
inline void probe_vop3(Prober &t) {
    const uint64_t sources[] = {256, 0, 128};
    for (unsigned op = 0; op < 1024; ++op)
        for (uint64_t s : sources)
            for (uint64_t s2 : sources)
                for (uint64_t acc : {0, 1, 2, 3})
                    for (uint64_t acc_cd : {0, 1})
                        for (uint64_t d : {0, 2}) {
                            bool packed = op >= 0x380, formats = op == 0x3ad || op == 0x3ae;
                            if (!packed && acc) continue;
                            Word word = 0xD0000000 | at(op, 16) | at(acc_cd, 15) | d | at(s, 32) | at(s, 41) |
                                        at(s2, 50) | at(acc, 59);
                            t.set_format("Mai");
                            bool matrix = op >= 0x3c0 || (packed && t.is_matrix(word));
                            if (!matrix) {
                                if (!acc_cd)
                                    for (unsigned key : {0, 1})
                                        t.probe(packed ? "Vop3p" : "Vop3a", packed ? op - 0x380 : op, key, word);
                                continue;
                            }
                            for (uint64_t key = 0; key < (formats ? 64 : 1); ++key) {
                                Word with = word | at(key & 7, 8) | at(key >> 3, 61);
                                t.probe("Mai", op - 0x380, acc_cd | key << 1, with);
                                // its scales before it, in two more sources
                                if (formats)
                                    t.probe("MaiScaled", op - 0x380, acc_cd | key << 1,
                                            0xD3AC0000 | at(s2, 32) | at(s2, 41) | at(with | at(1, 11), 64));
                            }
                        }
}

// GCN5 and CDNA. The keys are those of the decoder's variant selection (crates/isa/src/decode.rs).
inline void probe_gfx9(Prober &t) {
    const uint64_t scalar_sources[] = {0, 2, 128};
    for (uint64_t s : scalar_sources)
        for (uint64_t d : {0, 2}) {
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
                t.probe("Smem", op, key, 0xC0000000 | at(op, 18) | at(key & 1, 17) | at(key >> 1 & 1, 14) |
                                             at(key >> 2 & 1, 16) | at(data, 6) | at(8, 32));
    for (uint64_t s : {256, 0, 128}) {
        for (unsigned op = 0; op < 64; ++op)
            if (op != 62 && op != 63) t.probe("Vop2", op, 0, at(op, 25) | s);
        for (unsigned op = 0; op < 256; ++op) {
            for (uint64_t d : {0, 2}) t.probe("Vop1", op, 0, 0x7E000000 | at(op, 9) | s | at(d, 17));
            t.probe("Vopc", op, 0, 0x7C000000 | at(op, 17) | s);
        }
    }
    const uint64_t sdwa[] = {0x06060600, 0x00060600, 0x06060000, 0}, dpp[] = {0xff00e400, 0xff015000};
    for (unsigned op = 0; op < 256; ++op) {
        for (uint64_t high : sdwa) {
            if (op < 62) t.probe("Sdwa2", op, 0, at(op, 25) | 249 | high << 32);
            t.probe("Sdwa1", op, 0, 0x7E000000 | at(op, 9) | 249 | high << 32);
            t.probe("SdwaC", op, 0, 0x7C000000 | at(op, 17) | 249 | high << 32);
        }
        for (uint64_t high : dpp) {
            if (op < 62) t.probe("Dpp2", op, 0, at(op, 25) | 250 | high << 32);
            t.probe("Dpp1", op, 0, 0x7E000000 | at(op, 9) | 250 | high << 32);
        }
    }
    probe_vop3(t);
    for (unsigned op = 0; op < 256; ++op)
        for (uint64_t key = 0; key < 4; ++key)
            t.probe("Ds", op, key, 0xD8000000 | at(op, 17) | at(key & 1, 25) | at(key >> 1, 16));
    for (unsigned op = 0; op < 128; ++op)
        for (uint64_t key = 0; key < 64; ++key) {
            uint64_t seg = key & 3, saddr = key >> 2 & 1, glc = key >> 3 & 1, acc = key >> 4 & 1, lds = key >> 5;
            t.probe("Flat", op, key, 0xDC000000 | at(op, 18) | at(seg, 14) | at(glc, 16) | at(lds, 13) |
                                         at(acc, 55) | at(saddr ? 0 : 0x7f, 48));
        }
    for (unsigned op = 0; op < 128; ++op)
        for (uint64_t key = 0; key < 32; ++key)
            t.probe("Mubuf", op, key, 0xE0000000 | at(op, 18) | at(key & 3, 12) | at(key >> 2 & 1, 14) |
                                          at(key >> 3 & 1, 55) | at(key >> 4, 16) | at(0x80, 56));
    for (unsigned op = 0; op < 16; ++op)
        for (uint64_t key = 0; key < 8; ++key)
            t.probe("Mtbuf", op, key,
                    0xE8000000 | at(op, 15) | at(key & 3, 12) | at(1, 19) | at(key >> 2, 55) | at(0x80, 56));
    for (unsigned op = 0; op < 256; ++op)
        for (uint64_t key = 0; key < 64; ++key)
            t.probe("Mimg", op, key, 0xF0000000 | at(op & 127, 18) | at(op >> 7, 0) | at(key & 15, 8) |
                                         at(key >> 4 & 1, 63) | at(key >> 5, 16) | at(1, 12));
    t.probe("Exp", 0, 0, 0xC4000001);
    for (unsigned op = 0; op < 4; ++op) t.probe("Vintrp", op, 0, 0xD4000000 | at(op, 16));
}
