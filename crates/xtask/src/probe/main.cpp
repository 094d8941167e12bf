// Asks LLVM's disassembler what every encoding of a target means, and prints one line for each MC opcode found.
//
// Only LLVM's public MC interface is used: the AMDGPU back end installs no private headers. Which MC operand lies in
// which bits is found by flipping each bit of a valid encoding and watching the operands.

#include "gfx10.h"
#include "gfx1250.h"
#include "gfx9.h"
#include "legality.h"

namespace {

std::string register_name(const Prober &t, MCRegister reg) { return t.regs->getName(reg); }

void print(Prober &t, const std::map<unsigned, unsigned> &pseudo) {
    std::map<std::string, unsigned> by_name;
    for (unsigned i = 0; i < t.instrs->getNumOpcodes(); ++i) by_name[t.instrs->getName(i).str()] = i;
    for (auto &[place, f] : t.found) {
        const unsigned met = place.first;
        // DS_READ_B32_vi (which needs M0) and DS_READ_B32_vi_gfx9 (which does not) share an encoding, and the
        // disassembler takes the former whatever the processor.
        unsigned opcode = met;
        auto gfx9 = by_name.find(t.instrs->getName(met).str() + "_gfx9");
        if (gfx9 != by_name.end() && t.subtarget->getCPU().starts_with("gfx9")) opcode = gfx9->second;
        const MCInstrDesc &desc = t.instrs->get(opcode);
        t.set_format(f.format);
        std::vector<Word> bits(f.inst.getNumOperands(), 0);
        for (unsigned bit = 0; bit < f.size * 8 && bit < t.words * 32; ++bit) {
            if (t.is_mark(bit)) continue; // LLVM crashes on some of what this would make
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
        printf("\t%lu\t%s\t", (unsigned long)f.size, hex(f.word).c_str());
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
            printf("%s%d/%d:%s:%u:%d:%s:%s", i ? " " : "", i < desc.getNumDefs(), (int)info.OperandType, rc_name.c_str(), width,
                   desc.getOperandConstraint(i, MCOI::TIED_TO), hex(i < bits.size() ? bits[i] : 0).c_str(), value.c_str());
        }
        printf("\t");
        for (MCPhysReg reg : desc.implicit_uses()) printf("%s ", register_name(t, reg).c_str());
        printf("\t");
        for (MCPhysReg reg : desc.implicit_defs()) printf("%s ", register_name(t, reg).c_str());
        Legal legal = Legality(t, f).run(f.format, t.fields(f.format));
        // The tables have room for four words; in the fifth there are registers only, or nothing.
        const Word four = (Word(1) << 128) - 1;
        if (legal.fixed & ~four) fprintf(stderr, "%s: bits past the fourth word are fixed\n", name.c_str());
        printf("\t%s/%s/%s", hex(legal.fixed).c_str(), hex(legal.value).c_str(), hex(legal.ignored & four).c_str());
        for (auto &[piece, codes] : legal.checks) printf(" %u:%u:%s", piece.low, piece.width, codes.c_str());
        printf("\t%lx\t%d%d%d%d%d%d%d%d\t%s\n", (unsigned long)desc.TSFlags, desc.mayLoad(), desc.mayStore(), desc.isBranch(),
               desc.isConditionalBranch(), desc.isIndirectBranch(), desc.isCall(), desc.isTerminator(), desc.isReturn(), text.c_str());
    }
}

// What was found, without what it means: enough to see that two processors have the same instructions.
void print_found(const Prober &t) {
    for (auto &[place, f] : t.found) {
        printf("%s\t%s\t%u\t%s\t%s\t", t.instrs->getName(place.first).str().c_str(), f.format.c_str(), f.op, hex(f.word).c_str(),
               t.text(f.inst).c_str());
        for (unsigned key : f.keys) printf("%u ", key);
        printf("\n");
    }
}

} // namespace

int main(int count, char **arguments) {
    if (count != 5 && count != 6) return fprintf(stderr, "usage: probe CPU FEATURES ENCODING_FAMILIES FIELDS [exhaustive|found]\n"), 2;
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
    auto *subtarget = target->createMCSubtargetInfo(triple, arguments[1], arguments[2]);
    MCContext context(triple, asm_info, regs, subtarget);
    Prober t{regs, instrs, subtarget, target->createMCDisassembler(*subtarget, context),
             target->createMCInstPrinter(triple, 1, *asm_info, *instrs, *regs), parse_pieces(arguments[4])};
    std::string extent = count == 6 ? arguments[5] : "";
    t.exhaustive = extent == "exhaustive";
    StringRef cpu = arguments[1];
    t.long_literals = !cpu.starts_with("gfx9");
    if (cpu.starts_with("gfx10")) probe_gfx10(t);
    else if (cpu.starts_with("gfx11")) probe_gfx11(t);
    else if (cpu.starts_with("gfx125")) probe_gfx1250(t);
    else if (cpu.starts_with("gfx12")) probe_gfx12(t);
    else probe_gfx9(t);
    if (extent == "found") return print_found(t), 0;
    std::map<unsigned, unsigned> pseudo;
    for (char *family = strtok(arguments[3], ","); family; family = strtok(nullptr, ","))
        for (unsigned opcode = 0; opcode < instrs->getNumOpcodes(); ++opcode) {
            int real = AMDGPU::getMCOpcode(opcode, atoi(family));
            if (real >= 0 && real != (int)opcode) pseudo.try_emplace(real, opcode);
        }
    print(t, pseudo);
}
