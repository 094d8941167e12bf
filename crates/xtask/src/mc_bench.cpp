// Decodes a file of raw code with LLVM's disassembler, and prints how many instructions it met and how long it took.

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <iterator>
#include <vector>

using namespace llvm;

int main(int count, char **arguments) {
    if (count != 3) return fprintf(stderr, "usage: mc_bench CPU FILE\n"), 2;
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    std::ifstream file(arguments[2], std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    Triple triple("amdgcn-amd-amdhsa");
    std::string error;
    const auto *target = TargetRegistry::lookupTarget(triple, error);
    MCTargetOptions options;
    auto *regs = target->createMCRegInfo(triple);
    auto *asm_info = target->createMCAsmInfo(*regs, triple, options);
    auto *subtarget = target->createMCSubtargetInfo(triple, arguments[1], "");
    MCContext context(triple, asm_info, regs, subtarget);
    auto *disassembler = target->createMCDisassembler(*subtarget, context);
    ArrayRef<uint8_t> code(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
    double best = 1e9;
    unsigned long instructions = 0;
    for (int run = 0; run < 3; ++run) {
        instructions = 0;
        // Time at work, which other programs do not lengthen.
        auto start = std::clock();
        for (size_t at = 0; at < code.size();) {
            MCInst inst;
            uint64_t size = 0;
            bool ok = disassembler->getInstruction(inst, size, code.slice(at), at, nulls()) == MCDisassembler::Success;
            instructions += ok;
            at += ok ? size : 4;
        }
        best = std::min(best, double(std::clock() - start) / CLOCKS_PER_SEC);
    }
    printf("%lu %.9f\n", instructions, best);
}
