// LLVM's disassembler for one processor, the fields of its formats, and the opcodes that were found.

#pragma once

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

using namespace llvm;

// Exported by the AMDGPU utilities library: the encoded opcode of a pseudo opcode in one encoding family.
// And the register that register classes know an encoded one by (TTMP0 for gfx9's TTMP0).
namespace llvm::AMDGPU {
int getMCOpcode(uint16_t Opcode, unsigned Family);
MCRegister mc2PseudoReg(MCRegister Reg);
}

// The words of an encoding, five at most.
using Word = unsigned _BitInt(192);
constexpr unsigned MOST_WORDS = 5;

inline Word at(Word value, unsigned bit) { return value << bit; }

inline std::string hex(Word word) {
    std::string text;
    for (; word || text.empty(); word >>= 4) text.insert(text.begin(), "0123456789abcdef"[unsigned(word & 15)]);
    return text;
}

// A field: its place, and what is known of it: `r` it is there only for opcodes that keep a register in it, `o` it is
// part of the opcode, `k` of the decoder's variant key, ` ` all its codes are to be tried.
struct Piece {
    unsigned low, width;
    char kind;
};

// "Sop2=0:8,8:8,16:7,o23:7;Vop3a=0:8,r8:7;..."
inline std::map<std::string, std::vector<Piece>> parse_pieces(const char *text) {
    std::map<std::string, std::vector<Piece>> out;
    std::string format;
    while (*text) {
        const char *equals = strchr(text, '=');
        format.assign(text, equals - text);
        text = equals + 1;
        while (*text && *text != ';') {
            Piece p{0, 0, strchr("rok", *text) ? *text : ' '};
            int used = 0;
            sscanf(text += p.kind != ' ', "%u:%u%n", &p.low, &p.width, &used);
            text += used;
            if (*text == ',') ++text;
            out[format].push_back(p);
        }
        if (*text) ++text;
    }
    return out;
}

struct Found {
    std::string format;
    unsigned op;
    std::set<unsigned> keys;
    Word word;
    uint64_t size;
    MCInst inst;
};

struct Prober {
    const MCRegisterInfo *regs;
    const MCInstrInfo *instrs;
    const MCSubtargetInfo *subtarget;
    MCDisassembler *disassembler;
    MCInstPrinter *printer;
    std::map<std::string, std::vector<Piece>> pieces;
    // By opcode. That of an image instruction may have more words of addresses behind it than it looks at: its formats are
    // told from each other.
    std::map<std::pair<unsigned, std::string>, Found> found = {};
    // Words of the encodings that are being tried, a literal not counted; two for one-word formats too.
    unsigned words = 2;
    // Longer than one word.
    bool long_format = false;
    // Two encodings in a row.
    bool is_scaled = false, is_wmma_scaled = false;
    std::string format = {};
    // A literal may follow VOP3 and its like, and is read from behind any encoding whose source says so.
    bool long_literals = false;
    // Try out every code of every field of every opcode.
    bool exhaustive = false;

    const std::vector<Piece> &fields(const std::string &format) const {
        static const std::vector<Piece> none;
        auto at = pieces.find(format);
        return at == pieces.end() ? none : at->second;
    }

    void set_format(const std::string &next) {
        if (next == format) return;
        format = next;
        unsigned bits = 0;
        for (const Piece &p : fields(format)) bits = std::max(bits, p.low + p.width);
        words = std::clamp((bits + 31) / 32, 2u, MOST_WORDS);
        long_format = bits > 32;
        is_scaled = format == "MaiScaled";
        is_wmma_scaled = format == "WmmaScaled";
    }

    // Bits that make the encoding one of its format.
    bool is_mark(unsigned bit) const {
        if (is_wmma_scaled && ((bit >= 16 && bit < 26) || (bit >= 80 && bit < 96))) return true;
        return (bit >= 26 && bit < 32) || (is_scaled && ((bit >= 16 && bit < 32) || (bit >= 75 && bit < 79) || (bit >= 87 && bit < 96)));
    }

    // LLVM 22 takes the sources of matrix operations with formats for registers without looking, and crashes on constants.
    bool is_crash(Word word) const {
        // It looks for a barrier's number in a literal that is none.
        unsigned op = word >> 8 & 0xff;
        bool is_rdna4 = subtarget->getCPU().starts_with("gfx12");
        if (is_rdna4 && (word & 0xFF8000FF) == 0xBE8000FF && op >= 0x4E && op < 0x58) return true;
        for (unsigned low : {0, 64}) {
            unsigned first = unsigned(word >> low) >> 16, second = unsigned(word >> (low + 32));
            bool has_formats = is_rdna4 ? first == 0xcc33 : first == 0xd3ad || first == 0xd3ae;
            if (has_formats && !(second >> 8 & 1 && second >> 17 & 1)) return true;
            // Literals where none can be.
            bool scales = first == 0xcc35 || first == 0xcc3a || first == 0xcc33 || first == 0xcc88;
            for (unsigned source : {0, 9, 18})
                if (is_rdna4 && scales && (second >> source & 511) == 255) return true;
        }
        return false;
    }

    bool is_matrix(Word word) const {
        auto decoded = decode(word);
        return decoded && instrs->get(decoded->first.getOpcode()).TSFlags >> 54 & 1;
    }

    std::optional<std::pair<MCInst, uint64_t>> decode(Word word) const {
        if (is_crash(word)) return std::nullopt;
        uint8_t bytes[24] = {};
        const uint32_t literal = 0x12345678;
        memcpy(bytes, &word, words * 4);
        memcpy(bytes + words * 4, &literal, 4);
        MCInst inst;
        uint64_t size;
        raw_null_ostream none;
        auto status = disassembler->getInstruction(inst, size, bytes, 0, none);
        // What LLVM calls potentially undefined (v_cmpx with a destination that is not EXEC) it prints like any other.
        if (status == MCDisassembler::Fail || (status == MCDisassembler::SoftFail && !long_literals)) return std::nullopt;
        // Where bits of OP_SEL are set that have no operand, it tries its forms that have no halves.
        if (instrs->getName(inst.getOpcode()).contains("_fake16_")) return std::nullopt;
        return std::make_pair(inst, size);
    }

    std::string text(const MCInst &inst) const {
        std::string text;
        raw_string_ostream out(text);
        printer->printInst(&inst, 0, "", *subtarget, out);
        return text;
    }

    void probe(const char *format, unsigned op, unsigned key, Word word) {
        set_format(format);
        auto decoded = decode(word);
        if (!decoded) return;
        auto [inst, size] = *decoded;
        std::string image = strncmp(format, "Mimg", 4) ? "" : format;
        auto [at, fresh] = found.try_emplace({inst.getOpcode(), image}, Found{format, op, {}, word, size, inst});
        if (fresh || (at->second.format == format && at->second.op == op)) at->second.keys.insert(key);
        else fprintf(stderr, "%s: %s %u and %s %u\n", instrs->getName(inst.getOpcode()).str().c_str(), format, op,
                     at->second.format.c_str(), at->second.op);
    }
};
