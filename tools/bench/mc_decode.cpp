// LLVM's MC decoder on the code of a file, for comparison: mc_decode FILE.bin [repeat]
//
// Decodes the bytes of the file (instructions in a row, nothing else) to MCInst, without printing, and writes the
// number of instructions and the best time of the repetitions.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
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
#include <llvm/TargetParser/Triple.h>

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    std::ifstream file(argv[1], std::ios::binary);
    std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    int repeat = argc > 2 ? std::atoi(argv[2]) : 3;

    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
    llvm::Triple triple("amdgcn-amd-amdhsa");
    std::string error;
    const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!target) return std::fprintf(stderr, "%s\n", error.c_str()), 1;
    llvm::MCTargetOptions options;
    std::unique_ptr<llvm::MCRegisterInfo> registers(target->createMCRegInfo(triple));
    std::unique_ptr<llvm::MCAsmInfo> assembly(target->createMCAsmInfo(*registers, triple, options));
    std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, "gfx90a", ""));
    llvm::MCContext context(triple, assembly.get(), registers.get(), subtarget.get());
    std::unique_ptr<llvm::MCDisassembler> decoder(target->createMCDisassembler(*subtarget, context));

    double best = 1e9;
    uint64_t count = 0;
    for (int i = 0; i < repeat; i++) {
        auto start = std::chrono::steady_clock::now();
        count = 0;
        for (uint64_t at = 0; at < bytes.size();) {
            llvm::MCInst inst;
            uint64_t size = 0;
            auto rest = llvm::ArrayRef<uint8_t>(bytes).drop_front(at);
            if (decoder->getInstruction(inst, size, rest, at, llvm::nulls()) == llvm::MCDisassembler::Fail || size == 0) {
                size = 4;
            } else {
                count++;
            }
            at += size;
        }
        best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    std::printf("{\"instructions\": %lu, \"seconds\": %.6f}\n", (unsigned long)count, best);
}
