// Asks LLVM's disassembler what every encoding of a target means, and prints one line for each MC opcode found.
//
// Only LLVM's public MC interface is used: the AMDGPU back end installs no private headers. Which MC operand lies in
// which bits is found by flipping each bit of a valid encoding and watching the operands.

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

namespace {

struct Found {
    std::string format;
    unsigned op;
    std::set<unsigned> keys;
    uint64_t word;
    uint64_t size;
    MCInst inst;
};

struct Prober {
    const MCRegisterInfo *regs;
    const MCInstrInfo *instrs;
    const MCSubtargetInfo *subtarget;
    MCDisassembler *disassembler;
    MCInstPrinter *printer;
    std::map<unsigned, Found> found;

    std::optional<std::pair<MCInst, uint64_t>> decode(uint64_t word) const {
        uint8_t bytes[20] = {};
        const uint32_t literal = 0x12345678;
        memcpy(bytes, &word, 8);
        memcpy(bytes + 8, &literal, 4);
        MCInst inst;
        uint64_t size;
        raw_null_ostream none;
        if (disassembler->getInstruction(inst, size, bytes, 0, none) != MCDisassembler::Success)
            return std::nullopt;
        return std::make_pair(inst, size);
    }

    std::string text(const MCInst &inst) const {
        std::string text;
        raw_string_ostream out(text);
        printer->printInst(&inst, 0, "", *subtarget, out);
        return text;
    }

    void probe(const char *format, unsigned op, unsigned key, uint64_t word) {
        auto decoded = decode(word);
        if (!decoded) return;
        auto [inst, size] = *decoded;
        auto [at, fresh] = found.try_emplace(inst.getOpcode(), Found{format, op, {}, word, size, inst});
        if (fresh || (at->second.format == format && at->second.op == op)) at->second.keys.insert(key);
        else fprintf(stderr, "%s: %s %u and %s %u\n", instrs->getName(inst.getOpcode()).str().c_str(), format, op,
                     at->second.format.c_str(), at->second.op);
    }
};

uint64_t at(uint64_t value, unsigned bit) { return value << bit; }

// GCN5 and CDNA1/2. The keys are those of the decoder's variant selection (crates/isa/src/decode.rs).
void probe_gfx9(Prober &t) {
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
    for (unsigned op = 0; op < 1024; ++op)
        for (uint64_t s : {256, 0, 128})
            for (uint64_t s2 : {256, 0, 128})
                for (uint64_t acc : {0, 1, 2, 3})
                    for (uint64_t acc_cd : {0, 1})
                        for (uint64_t d : {0, 2}) {
                            bool packed = op >= 0x380, matrix = op >= 0x3c0 || op == 0x3d8;
                            if (!packed && (acc || acc_cd)) continue;
                            if (packed && !matrix && acc_cd) continue;
                            const char *format = matrix ? "Mai" : packed ? "Vop3p" : "Vop3a";
                            t.probe(format, packed ? op - 0x380 : op, matrix ? acc_cd : 0,
                                    0xD0000000 | at(op, 16) | at(acc_cd, 15) | d | s << 32 | s << 41 | s2 << 50 |
                                        acc << 59);
                        }
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
        for (uint64_t key = 0; key < 32; ++key)
            t.probe("Mimg", op, key, 0xF0000000 | at(op & 127, 18) | at(op >> 7, 0) | at(key & 15, 8) | at(key >> 4, 63) | at(1, 12));
    t.probe("Exp", 0, 0, 0xC4000001);
    for (unsigned op = 0; op < 4; ++op) t.probe("Vintrp", op, 0, 0xD4000000 | at(op, 16));
}

// A field: its place, and what is known of it: `r` it is there only for opcodes that keep a register in it, `o` it is
// part of the opcode, `k` of the decoder's variant key, ` ` all its codes are to be tried.
struct Piece {
    unsigned low, width;
    char kind;
};

// "Sop2=0:8,8:8,16:7,o23:7;Vop3a=0:8,r8:7;..."
std::map<std::string, std::vector<Piece>> parse_pieces(const char *text) {
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

bool same_operand(const MCOperand &a, const MCOperand &b) {
    return a.isReg() && b.isReg() ? a.getReg() == b.getReg() : a.isImm() && b.isImm() ? a.getImm() == b.getImm() : false;
}

// Which encodings are this opcode: bits that must have one value, bits that the text does not show, and fields with
// illegal codes.
struct Legal {
    uint64_t fixed = 0, value = 0, ignored = 0;
    std::vector<std::pair<Piece, std::string>> checks;
};

class Legality {
    const Prober &t;
    unsigned opcode;
    uint64_t base;
    MCInst inst;
    Legal out;
    // Another opcode for a field's code is a misreading: an image instruction with misaligned data registers is taken for
    // one of a single register, v_nop_sdwa with selectors for v_nop with a strange source.
    bool closed;

    enum Outcome { Illegal, Other, Same, Differs };

    Outcome outcome(uint64_t word, MCInst *result = nullptr) const {
        auto d = t.decode(word);
        if (!d) return Illegal;
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
        // LLVM has registers past v255 for a later processor, and names them for this one too.
        StringRef name = t.regs->getName(of.getOperand(i).getReg());
        // Sources like src_scc are in no class.
        if (name.starts_with("SRC_") || name.starts_with("SGPR_NULL")) return true;
        size_t last = name.rfind("VGPR") == StringRef::npos ? name.rfind("AGPR") : name.rfind("VGPR");
        unsigned number;
        if (last != StringRef::npos && !name.drop_front(last + 4).getAsInteger(10, number) && number > 255) return false;
        int id = t.instrs->getOpRegClassID(desc.operands()[i], t.subtarget->getHwMode(MCSubtargetInfo::HwMode_RegInfo));
        return id < 0 || t.regs->getRegClass(id).contains(AMDGPU::mc2PseudoReg(of.getOperand(i).getReg()));
    }

    unsigned violations(uint64_t word) const {
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

    uint64_t with(const Piece &p, uint64_t code) const {
        return (base & ~at((1ull << p.width) - 1, p.low)) | at(code, p.low);
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

    void field(const Piece &p, bool long_format) {
        std::string low = register_of(p, 0, 4), high = p.width == 9 ? register_of(p, 256, 260) : "";
        if (p.kind == 'r' && low.empty()) return;
        // A literal does not fit behind eight bytes. LLVM 22 makes its complaint of that from a string that is gone
        // already, and may crash: 255 cannot be tried where it would be one.
        bool vector = low.rfind("VGPR", 0) == 0 || low.rfind("AGPR", 0) == 0;
        bool literal = long_format && !vector && !(low.empty() && high.empty());
        std::string legal;
        bool all = true, effect = false, mine = false;
        int from = -1;
        for (int code = 0; code <= 1 << p.width; ++code) {
            bool ok = false;
            if (code < 1 << p.width && !(literal && code == 255)) {
                Outcome o = outcome(with(p, code));
                ok = o != Illegal && !(o == Other && closed);
                effect |= o == Differs;
                mine |= (o == Differs || o == Same) && with(p, code) != base;
            }
            if (code < 1 << p.width) all &= ok;
            if (ok && from < 0) from = code;
            if (!ok && from >= 0) {
                legal += (legal.empty() ? "" : ",") + std::to_string(from) + (code - 1 > from ? "-" + std::to_string(code - 1) : "");
                from = -1;
            }
        }
        uint64_t own = at((1ull << p.width) - 1, p.low);
        if (legal == "0") out.fixed |= own;
        else if (!mine) return; // other codes are other opcodes
        else if (!all) out.checks.push_back({p, legal});
        if (mine && !effect) out.ignored |= own;
    }

public:
    Legality(const Prober &t, const Found &f) : t(t), opcode(f.inst.getOpcode()), base(f.word), inst(f.inst), closed(f.format == "Mimg" || f.format.rfind("Sdwa", 0) == 0 || f.format.rfind("Dpp", 0) == 0) {}

    Legal run(const std::string &format, const std::vector<Piece> &pieces) {
        static const std::set<std::string> shorts{"Sop1", "Sop2", "Sopk", "Sopc", "Sopp", "Vop1", "Vop2", "Vopc", "Vintrp"};
        bool long_format = !shorts.count(format);
        // The destination of an SDWA comparison is ignored unless the SD bit says that there is one.
        if (format == "SdwaC") {
            base |= at(1, 47);
            inst = t.decode(base)->first;
        }
        // Start from an encoding whose registers are of the operands' own classes, if there is one.
        for (const Piece &p : pieces)
            for (uint64_t code : {256, 0, 128})
                if (p.width == 9 && violations(with(p, code)) < violations(base)) {
                    base = with(p, code);
                    inst = t.decode(base)->first;
                }
        uint64_t done = 0;
        for (const Piece &p : pieces) {
            if (p.kind == 'k') {
                // Another key is another opcode, is looked up as none, or changes nothing.
                for (unsigned bit = p.low; bit < p.low + p.width; ++bit)
                    if (!is_shown(bit)) out.ignored |= at(1, bit);
                done |= at((1ull << p.width) - 1, p.low);
                continue;
            }
            if (p.kind != 'o' && (p.width < 2 || p.width > 9)) continue;
            if (p.kind == 'r' && register_of(p, 0, 4).empty()) continue;
            if (p.kind != 'o') field(p, long_format);
            done |= at((1ull << p.width) - 1, p.low);
        }
        for (unsigned bit = 0; bit < (long_format ? 64 : 32); ++bit) {
            if ((bit >= 26 && bit < 32) || done >> bit & 1) continue;
            Outcome o = outcome(base ^ at(1, bit));
            if (o == Illegal || (o == Other && closed)) out.fixed |= at(1, bit);
            else if (!is_shown(bit)) out.ignored |= at(1, bit);
        }
        out.value = base & out.fixed;
        return out;
    }
};

std::string register_name(const Prober &t, MCRegister reg) { return t.regs->getName(reg); }

void print(Prober &t, const std::map<std::string, std::vector<Piece>> &pieces, const std::map<unsigned, unsigned> &pseudo) {
    std::map<std::string, unsigned> by_name;
    for (unsigned i = 0; i < t.instrs->getNumOpcodes(); ++i) by_name[t.instrs->getName(i).str()] = i;
    for (auto &[met, f] : t.found) {
        // DS_READ_B32_vi (which needs M0) and DS_READ_B32_vi_gfx9 (which does not) share an encoding, and the
        // disassembler takes the former whatever the processor.
        unsigned opcode = met;
        auto gfx9 = by_name.find(t.instrs->getName(met).str() + "_gfx9");
        if (gfx9 != by_name.end() && t.subtarget->getCPU().starts_with("gfx9")) opcode = gfx9->second;
        const MCInstrDesc &desc = t.instrs->get(opcode);
        std::vector<uint64_t> bits(f.inst.getNumOperands(), 0);
        for (unsigned bit = 0; bit < f.size * 8 && bit < 64; ++bit) {
            if (bit >= 26 && bit < 32) continue; // the format itself: LLVM crashes on some of what this would make
            auto other = t.decode(f.word ^ at(1, bit));
            if (!other || other->first.getOpcode() != met) continue;
            const MCInst &inst = other->first;
            for (unsigned i = 0; i < inst.getNumOperands() && i < bits.size(); ++i) {
                const MCOperand &a = f.inst.getOperand(i), &b = inst.getOperand(i);
                bool same = a.isReg() && b.isReg() ? a.getReg() == b.getReg()
                            : a.isImm() && b.isImm() ? a.getImm() == b.getImm() : false;
                if (!same) bits[i] |= at(1, bit);
            }
        }
        std::string text = t.text(f.inst);
        auto pseudo_at = pseudo.find(opcode);
        std::string name = t.instrs->getName(opcode).str();
        printf("%s\t%s\t%s\t%u\t", name.c_str(),
               pseudo_at == pseudo.end() ? "-" : t.instrs->getName(pseudo_at->second).str().c_str(), f.format.c_str(), f.op);
        bool first = true;
        for (unsigned key : f.keys) printf("%s%u", first ? "" : ",", key), first = false;
        printf("\t%lu\t%016lx\t", (unsigned long)f.size, (unsigned long)f.word);
        unsigned mode = t.subtarget->getHwMode(MCSubtargetInfo::HwMode_RegInfo);
        for (unsigned i = 0; i < desc.getNumOperands(); ++i) {
            const MCOperandInfo &info = desc.operands()[i];
            int rc = t.instrs->getOpRegClassID(info, mode);
            std::string rc_name = "-";
            unsigned width = 0;
            if (rc >= 0) {
                rc_name = t.regs->getRegClassName(&t.regs->getRegClass(rc));
                width = t.regs->getRegClass(rc).getSizeInBits();
            }
            std::string value = "-";
            if (i < f.inst.getNumOperands()) {
                const MCOperand &o = f.inst.getOperand(i);
                // ds_gws_init's class is of pairs, for their alignment; its register is one.
                if (o.isReg() && o.getReg() && rc >= 0 && width == 64 && rc_name[0] != 'S' &&
                    StringRef(register_name(t, o.getReg())).count("GPR") == 1)
                    width = 32;
                value = o.isReg() ? (o.getReg() ? register_name(t, o.getReg()) : "none") : o.isImm() ? std::to_string(o.getImm()) : "?";
            }
            printf("%s%d/%d:%s:%u:%d:%lx:%s", i ? " " : "", i < desc.getNumDefs(), (int)info.OperandType, rc_name.c_str(), width,
                   desc.getOperandConstraint(i, MCOI::TIED_TO), (unsigned long)(i < bits.size() ? bits[i] : 0), value.c_str());
        }
        printf("\t");
        for (MCPhysReg reg : desc.implicit_uses()) printf("%s ", register_name(t, reg).c_str());
        printf("\t");
        for (MCPhysReg reg : desc.implicit_defs()) printf("%s ", register_name(t, reg).c_str());
        auto fields = pieces.find(f.format);
        Legal legal = Legality(t, f).run(f.format, fields == pieces.end() ? std::vector<Piece>{} : fields->second);
        printf("\t%lx/%lx/%lx", (unsigned long)legal.fixed, (unsigned long)legal.value, (unsigned long)legal.ignored);
        for (auto &[piece, codes] : legal.checks) printf(" %u:%u:%s", piece.low, piece.width, codes.c_str());
        printf("\t%lx\t%d%d%d%d%d%d%d%d\t%s\n", (unsigned long)desc.TSFlags, desc.mayLoad(), desc.mayStore(), desc.isBranch(),
               desc.isConditionalBranch(), desc.isIndirectBranch(), desc.isCall(), desc.isTerminator(), desc.isReturn(), text.c_str());
    }
}

} // namespace

int main(int count, char **arguments) {
    if (count != 4) return fprintf(stderr, "usage: probe CPU ENCODING_FAMILIES FIELDS\n"), 2;
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    Triple triple("amdgcn-amd-amdhsa");
    std::string error;
    const auto *target = TargetRegistry::lookupTarget(triple, error);
    MCTargetOptions options;
    auto *regs = target->createMCRegInfo(triple);
    auto *asm_info = target->createMCAsmInfo(*regs, triple, options);
    auto *instrs = target->createMCInstrInfo();
    auto *subtarget = target->createMCSubtargetInfo(triple, arguments[1], "");
    MCContext context(triple, asm_info, regs, subtarget);
    Prober t{regs, instrs, subtarget, target->createMCDisassembler(*subtarget, context),
             target->createMCInstPrinter(triple, 1, *asm_info, *instrs, *regs), {}};
    probe_gfx9(t);
    std::map<unsigned, unsigned> pseudo;
    for (char *family = strtok(arguments[2], ","); family; family = strtok(nullptr, ","))
        for (unsigned opcode = 0; opcode < instrs->getNumOpcodes(); ++opcode) {
            int real = AMDGPU::getMCOpcode(opcode, atoi(family));
            if (real >= 0 && real != (int)opcode) pseudo.try_emplace(real, opcode);
        }
    print(t, parse_pieces(arguments[3]), pseudo);
}
