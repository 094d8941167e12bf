// Which encodings of an opcode are legal.

#pragma once

#include "prober.h"

inline bool same_operand(const MCOperand &a, const MCOperand &b) {
    return a.isReg() && b.isReg() ? a.getReg() == b.getReg() : a.isImm() && b.isImm() ? a.getImm() == b.getImm() : false;
}

// Which encodings are this opcode: bits that must have one value, bits that the text does not show, and fields with
// illegal codes.
struct Legal {
    Word fixed = 0, value = 0, ignored = 0;
    std::vector<std::pair<Piece, std::string>> checks;
};

class Legality {
    const Prober &t;
    unsigned opcode;
    Word base;
    MCInst inst;
    Legal out;
    // Another opcode for a field's code is a misreading: an image instruction with misaligned data registers is taken for
    // one of a single register, v_nop_sdwa with selectors for v_nop with a strange source.
    bool closed;
    // Behind other formats LLVM reads a literal too, if a source has its code, but there is none.
    bool takes_literal;
    uint64_t size;

    enum Outcome { Illegal, Other, Same, Differs };

    Outcome outcome(Word word, MCInst *result = nullptr) const {
        auto d = t.decode(word);
        if (!d || (!takes_literal && d->second != size && t.long_literals)) return Illegal;
        if (d->first.getOpcode() != opcode || d->first.getNumOperands() != inst.getNumOperands()) return Other;
        // Misaligned tuples and those that run out of their file are decoded, with a complaint in the text.
        for (unsigned i = 0; i < inst.getNumOperands(); ++i) {
            if (!in_class(d->first, i) && in_class(inst, i)) return Illegal;
            const MCInstrDesc &desc = t.instrs->get(opcode);
            bool register_only = i < desc.getNumOperands() && desc.operands()[i].OperandType == MCOI::OPERAND_REGISTER;
            if (register_only && inst.getOperand(i).isReg() && d->first.getOperand(i).isImm()) return Illegal;
        }
        if (result) *result = d->first;
        for (unsigned i = 0; i < inst.getNumOperands(); ++i)
            if (!same_operand(d->first.getOperand(i), inst.getOperand(i))) return Differs;
        return Same;
    }

    bool in_class(const MCInst &of, unsigned i) const {
        const MCInstrDesc &desc = t.instrs->get(opcode);
        if (i >= desc.getNumOperands() || !of.getOperand(i).isReg() || !of.getOperand(i).getReg()) return true;
        // LLVM has registers past v255 for gfx1250, and names them for others too.
        StringRef name = t.regs->getName(of.getOperand(i).getReg());
        // Sources like src_scc are in no class.
        if (name.starts_with("SRC_") || name.starts_with("SGPR_NULL")) return true;
        size_t last = name.rfind("VGPR") == StringRef::npos ? name.rfind("AGPR") : name.rfind("VGPR");
        bool is_vector = last != StringRef::npos;
        unsigned number;
        if (is_vector && !name.drop_front(last + 4).getAsInteger(10, number) && number > (t.subtarget->getCPU().starts_with("gfx125") ? 1023u : 255u)) return false;
        int id = t.instrs->getOpRegClassID(desc.operands()[i], t.subtarget->getHwMode(MCSubtargetInfo::HwMode_RegInfo));
        if (id < 0) return true;
        // Any scalar registers can be a lane mask: those that the compiler does not take for one the text shows like others.
        bool is_mask = desc.operands()[i].isLookupRegClassByHwMode() && StringRef(t.regs->getRegClassName(&t.regs->getRegClass(id))).starts_with("S");
        if (is_mask && !is_vector && name != "LDS_DIRECT") return true;
        return t.regs->getRegClass(id).contains(AMDGPU::mc2PseudoReg(of.getOperand(i).getReg()));
    }

    unsigned violations(Word word) const {
        auto d = t.decode(word);
        if (!d || d->first.getOpcode() != opcode) return ~0u;
        unsigned count = 0;
        for (unsigned i = 0; i < d->first.getNumOperands(); ++i) count += !in_class(d->first, i);
        return count;
    }

    // Does the text of the base encoding with this bit flipped show the bit?
    bool is_shown(unsigned bit) const {
        MCInst other;
        Outcome o = outcome(base ^ at(1, bit), &other);
        return o == Differs ? t.text(other) != t.text(inst) : o != Same;
    }

    Word with(const Piece &p, uint64_t code) const {
        return (base & ~at((Word(1) << p.width) - 1, p.low)) | at(code, p.low);
    }

    // The register that one of two codes puts into the operand that the field holds; empty if that is no register.
    std::string register_of(const Piece &p, uint64_t first, uint64_t second) const {
        MCInst a, b;
        if (outcome(with(p, first), &a) < Same || outcome(with(p, second), &b) < Same) return "";
        for (unsigned i = 0; i < a.getNumOperands(); ++i)
            if (a.getOperand(i).isReg() && !same_operand(a.getOperand(i), b.getOperand(i)))
                return t.regs->getName(b.getOperand(i).getReg());
        return "";
    }

    // The legal codes of a field as text, and whether these are all, a code changes an operand, and any keeps the opcode.
    struct Codes {
        std::string legal;
        bool all = true, effect = false, mine = false;
    };

    // Opcodes of one format whose operands are of the same kinds have the same codes in the same field: those are tried
    // out once, and a few of them for each opcode.
    Codes codes(const Piece &p, bool literal) const {
        if (t.exhaustive) return try_all(p, literal);
        static std::map<std::string, Codes> known;
        std::string key = t.format + ' ' + std::to_string(p.low) + ' ' + std::to_string(p.width) + (literal ? "L" : "");
        const MCInstrDesc &desc = t.instrs->get(opcode);
        for (const MCOperandInfo &info : desc.operands())
            key += ' ' + std::to_string(info.OperandType) + ':' + std::to_string(info.RegClass) + ':' + std::to_string(info.Constraints);
        for (unsigned code : {0, 1, 2, 3, 105, 106, 124, 125, 128, 231, 239, 249, 250, 253, 255, 256, 257, 511})
            if (code < 1u << p.width && !(literal && code == 255)) key += "-+=~"[outcome(with(p, code))];
        auto [at, fresh] = known.try_emplace(key);
        if (fresh) at->second = try_all(p, literal);
        return at->second;
    }

    Codes try_all(const Piece &p, bool literal) const {
        Codes found;
        int from = -1;
        for (int code = 0; code <= 1 << p.width; ++code) {
            bool ok = false;
            if (code < 1 << p.width && !(literal && code == 255)) {
                Outcome o = outcome(with(p, code));
                ok = o != Illegal && !(o == Other && closed);
                // A destination is no literal, nor can VOPD3 have one: LLVM reads one all the same.
                auto d = code == 254 ? t.decode(with(p, code)) : std::nullopt;
                if (d && p.low == 0 && t.format.rfind("Vop3", 0) == 0 && d->second != size) ok = false;
                if (d && p.width == 9 && t.format == "Vopd3") ok = false;
                found.effect |= o == Differs;
                found.mine |= (o == Differs || o == Same) && with(p, code) != base;
            }
            if (code < 1 << p.width) found.all &= ok;
            if (ok && from < 0) from = code;
            if (!ok && from >= 0) {
                found.legal += (found.legal.empty() ? "" : ",") + std::to_string(from) + (code - 1 > from ? "-" + std::to_string(code - 1) : "");
                from = -1;
            }
        }
        return found;
    }

    void field(const Piece &p, bool long_format) {
        std::string low = register_of(p, 0, 4), high = p.width == 9 ? register_of(p, 256, 260) : "";
        if (p.kind == 'r' && low.empty()) return;
        // A literal does not fit behind eight bytes. LLVM 22 makes its complaint of that from a string that is gone
        // already, and may crash: 255 cannot be tried where it would be one.
        bool vector = low.rfind("VGPR", 0) == 0 || low.rfind("AGPR", 0) == 0;
        bool literal = long_format && !vector && !(low.empty() && high.empty());
        auto [legal, all, effect, mine] = codes(p, literal);
        Word own = at((Word(1) << p.width) - 1, p.low);
        // one code, that of the base
        if (!legal.empty() && legal.find_first_of(",-") == std::string::npos) out.fixed |= own;
        else if (!mine) return; // other codes are other opcodes
        else if (!all) out.checks.push_back({p, legal});
        if (mine && !effect) out.ignored |= own;
    }

public:
    Legality(const Prober &t, const Found &f) : t(t), opcode(f.inst.getOpcode()), base(f.word), inst(f.inst), closed(is_closed(f.format)),
          takes_literal(!t.long_format || f.format == "Vop3a" || f.format == "Vop3p" || f.format == "Vopd"), size(f.size) {}

    static bool is_closed(const std::string &format) {
        bool is_dpp = format.find("Dpp") != std::string::npos;
        return format.rfind("Mimg", 0) == 0 || format == "Vsample" || format == "MaiScaled" || format == "WmmaScaled" || format.rfind("Sdwa", 0) == 0 || is_dpp;
    }

    Legal run(const std::string &format, const std::vector<Piece> &pieces) {
        bool long_format = t.long_format;
        // The destination of an SDWA comparison is ignored unless the SD bit says that there is one. RDNA's v_cmpx has none.
        if (auto named = t.decode(base | at(1, 47)); format == "SdwaC" && named) {
            base |= at(1, 47);
            inst = named->first;
        }
        // Start from an encoding whose registers are of the operands' own classes, if there is one.
        for (const Piece &p : pieces)
            for (uint64_t code : {256, 0, 128})
                if (p.width == 9 && violations(with(p, code)) < violations(base)) {
                    base = with(p, code);
                    inst = t.decode(base)->first;
                }
        Word done = 0;
        for (const Piece &p : pieces) {
            if (p.kind == 'k') {
                // Another key is another opcode, is looked up as none, or changes nothing.
                for (unsigned bit = p.low; bit < p.low + p.width; ++bit)
                    if (!is_shown(bit)) out.ignored |= at(1, bit);
                done |= at((Word(1) << p.width) - 1, p.low);
                continue;
            }
            if (p.kind != 'o' && (p.width < 2 || p.width > 9)) continue;
            if (p.kind == 'r' && register_of(p, 0, 4).empty()) continue;
            if (p.kind != 'o') field(p, long_format && !t.long_literals);
            done |= at((Word(1) << p.width) - 1, p.low);
        }
        for (unsigned bit = 0; bit < (long_format ? t.words * 32 : 32); ++bit) {
            if (t.is_mark(bit) || done >> bit & 1) continue;
            Outcome o = outcome(base ^ at(1, bit));
            if (o == Illegal || (o == Other && closed)) out.fixed |= at(1, bit);
            else if (!is_shown(bit)) out.ignored |= at(1, bit);
        }
        out.value = base & out.fixed;
        return out;
    }
};
