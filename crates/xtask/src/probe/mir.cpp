// Says how MIR names each encoded opcode: the opcode that code generation would have, and where each of its operands comes
// from. One line for each line of standard input, which is an encoded opcode's name and the bytes of an encoding of it.
//
// An immediate operand's value is a fixed number with bits of the encoding xored into it; which ones is found by flipping
// every bit, and checked on random encodings.

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCCodeEmitter.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCFixup.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace llvm;

namespace llvm::AMDGPU {
int getMCOpcode(uint16_t Opcode, unsigned Family);
}

namespace {

using Bytes = std::vector<uint8_t>;

// A literal does not fit behind the eight bytes of most processors' VOP3, SDWA or buffer operations. LLVM 22 makes its
// complaint of that from a string that is gone already, and may crash.
bool long_literal(const Bytes &bytes) {
    uint64_t words[2];
    memcpy(words, bytes.data(), 16);
    for (uint64_t word : words) {
        auto source = [&](unsigned low, unsigned mask) { return (word >> low & mask) == 255; };
        unsigned format = word >> 26 & 0x3f;
        bool vop3 = format >= 0x33 && format <= 0x35, buffer = format == 0x38 || format == 0x3a;
        if (vop3 && (source(0, 0xff) || source(32, 0x1ff) || source(41, 0x1ff) || source(50, 0x1ff))) return true;
        if (buffer && source(56, 0xff)) return true;
        if (!vop3 && !buffer && (word & 0x1ff) == 249 && (source(32, 0xff) || source(9, 0xff))) return true;
        // A matrix operation with scales is two of these.
        if (!vop3) break;
    }
    return false;
}

// LLVM 22 takes the sources of matrix operations with formats for registers without looking, and crashes on constants. In
// a literal that is none, it looks for a barrier's number.
bool constant_source(const Bytes &bytes, bool is_gfx12) {
    uint32_t words[4];
    memcpy(words, bytes.data(), 16);
    unsigned op = words[0] >> 8 & 0xff;
    if (is_gfx12 && (words[0] & 0xff8000ff) == 0xbe8000ff && op >= 0x4e && op < 0x58) return true;
    for (unsigned i : {0, 2}) {
        unsigned first = words[i] >> 16, second = words[i + 1];
        bool has_formats = is_gfx12 ? first == 0xcc33 : first == 0xd3ad || first == 0xd3ae;
        if (has_formats && !(second >> 8 & 1 && second >> 17 & 1)) return true;
        // Literals where none can be.
        bool scales = first == 0xcc35 || first == 0xcc3a || first == 0xcc33 || first == 0xcc88;
        for (unsigned source : {0, 9, 18})
            if (is_gfx12 && scales && (second >> source & 511) == 255) return true;
    }
    return false;
}

struct Asker {
    const MCRegisterInfo *regs;
    const MCInstrInfo *instrs;
    const MCSubtargetInfo *subtarget;
    MCDisassembler *disassembler;
    MCCodeEmitter *emitter;
    bool is_gfx9;

    std::optional<MCInst> decode(Bytes bytes, uint64_t *length = nullptr) const {
        bytes.resize(20);
        if (long_literal(bytes) || constant_source(bytes, subtarget->getCPU().starts_with("gfx12"))) return std::nullopt;
        MCInst inst;
        uint64_t size;
        auto status = disassembler->getInstruction(inst, size, bytes, 0, nulls());
        // What LLVM calls potentially undefined (v_cmpx with a destination that is not EXEC) it prints like any other.
        if (status == MCDisassembler::Fail || (status == MCDisassembler::SoftFail && is_gfx9)) return std::nullopt;
        // Where bits of OP_SEL are set that have no operand, it tries its forms that have no halves.
        if (instrs->getName(inst.getOpcode()).contains("_fake16_")) return std::nullopt;
        if (length) *length = size;
        return inst;
    }
};

struct Immediate {
    int64_t fixed = 0;
    std::map<unsigned, int64_t> bits;

    int64_t value(const Bytes &bytes) const {
        int64_t v = fixed;
        for (auto &[bit, weight] : bits)
            if (bytes[bit / 8] >> bit % 8 & 1) v ^= weight;
        return v;
    }

    // "3" or "3^12:13<<0^25:1<<4^60:1<<-3": low bit, width and shift of a run, `s` where its last bit is a sign.
    std::string text() const {
        std::string out = std::to_string(fixed);
        for (auto at = bits.begin(); at != bits.end();) {
            auto [low, first] = *at;
            bool power = first > 0 && (first & (first - 1)) == 0;
            unsigned width = 1;
            bool sign = false;
            int shift = power ? __builtin_ctzll(first) : 0;
            for (++at; power && !sign && at != bits.end() && at->first == low + width; ++at, ++width) {
                if (at->second == int64_t(uint64_t(1) << (shift + width))) continue;
                if (at->second == -int64_t(uint64_t(1) << (shift + width))) sign = true;
                else break;
            }
            out += "^" + std::to_string(low) + ":" + std::to_string(width);
            if (power) out += (sign ? "s" : "u") + std::to_string(shift);
            else out += "x" + std::to_string(first);
        }
        return out;
    }
};

struct Row {
    Asker t;
    unsigned real;
    Bytes base;
    MCInst inst;
    std::string error;
    std::vector<unsigned> hidden;
    // Those that show in operands which the named opcode does not have.
    std::vector<unsigned> unsaid;
    // Bits that can change together only.
    std::set<unsigned> joint;

    Bytes flipped(unsigned bit) const {
        Bytes b = base;
        b[bit / 8] ^= 1 << bit % 8;
        return b;
    }

    static bool differ(const MCOperand &a, const MCOperand &b) {
        return !(a.isReg() && b.isReg() ? a.getReg() == b.getReg() : a.isImm() && b.isImm() && a.getImm() == b.getImm());
    }

    bool is_barrier(unsigned opcode) const {
        StringRef name = t.instrs->getName(opcode);
        return name.contains("BARRIER_") && name.contains("_IMM_");
    }

    std::string operands(const MCInstrDesc &desc) {
        unsigned count = desc.getNumOperands(), given = inst.getNumOperands();
        std::vector<unsigned __int128> masks(count);
        std::vector<Immediate> immediates(count);
        auto immediate = [&](unsigned i, const MCInst &of) { return of.getOperand(i).isImm() ? of.getOperand(i).getImm() : 0; };
        std::vector<unsigned> free, closed;
        for (unsigned bit = 0; bit < base.size() * 8; ++bit) {
            // LLVM crashes on some of what would come of another format.
            if (bit >= 26 && bit < 32) continue;
            auto other = t.decode(flipped(bit));
            if (!other || other->getOpcode() != inst.getOpcode() || other->getNumOperands() < std::min(count, given)) {
                closed.push_back(bit);
                continue;
            }
            free.push_back(bit);
            bool shown = false;
            for (unsigned i = 0; i < count && i < given; ++i) {
                const MCOperand &a = inst.getOperand(i), &b = other->getOperand(i);
                if (!differ(a, b)) continue;
                masks[i] |= (unsigned __int128)1 << bit % 128; // an image instruction has no register in its first word
                immediates[i].bits[bit] = immediate(i, inst) ^ immediate(i, *other);
                shown = true;
            }
            bool beyond = false;
            for (unsigned i = count; i < t.instrs->get(real).getNumOperands() && i < given && i < other->getNumOperands(); ++i)
                beyond |= differ(inst.getOperand(i), other->getOperand(i));
            if (beyond) unsaid.push_back(bit);
            else if (!shown) hidden.push_back(bit);
        }
        forget_shown(count, free);
        together(count, closed, free, immediates);
        for (unsigned i = 0; i < count && i < given; ++i) {
            int64_t now = immediates[i].value(base);
            immediates[i].fixed = immediate(i, inst) ^ now;
        }
        check(desc, immediates, free);
        // MIR's verifier wants the constants of these signed, which the disassembler gives unsigned.
        StringRef name = t.instrs->getName(desc.getOpcode());
        bool sopk = base[3] >> 4 == 0xb && !name.starts_with("S_GETREG") && !(name.starts_with("S_CMPK") && name.ends_with("_U32"));
        for (Immediate &immediate : immediates)
            if (auto top = immediate.bits.find(15); sopk && top != immediate.bits.end() && top->second == 0x8000)
                top->second = -0x8000;
        std::string out;
        for (unsigned i = 0; i < count; ++i) {
            const MCOperandInfo &info = desc.operands()[i];
            int tied = desc.getOperandConstraint(i, MCOI::TIED_TO);
            bool reg = info.RegClass >= 0 || info.OperandType == MCOI::OPERAND_REGISTER;
            out += i ? " " : "";
            if (tied >= 0) out += "T" + std::to_string(tied);
            // op_sel and its like, which the encoder takes from the source modifiers.
            else if (i >= given && !reg) out += "I0";
            else if (i >= given) error = "operand " + std::to_string(i) + " is not in the disassembler's instruction";
            else if (info.OperandType == MCOI::OPERAND_PCREL) out += "B";
            // A barrier's number is the source of a scalar operation, an inline constant.
            else if (is_barrier(real) && i >= desc.getNumDefs()) out += "Rff";
            else if (reg && masks[i] == 0) {
                const MCOperand &o = inst.getOperand(i);
                if (!o.isReg()) error = "a register operand is a constant";
                else out += std::string("F") + (o.getReg() ? t.regs->getName(o.getReg()) : "none");
            } else if (reg) {
                char hex[40];
                uint64_t high = masks[i] >> 64, low = masks[i];
                snprintf(hex, sizeof hex, high ? "%lx%016lx" : "%.0lx%lx", (unsigned long)high, (unsigned long)low);
                out += (i < desc.getNumDefs() ? "D" : "R") + std::string(hex);
            } else {
                if (!inst.getOperand(i).isImm()) error = "operand " + std::to_string(i) + " is not an immediate";
                out += "I" + immediates[i].text();
            }
        }
        return out;
    }

    // A bit may be without effect for some values of its field only: the lowest one of a register pair's number.
    void forget_shown(unsigned count, const std::vector<unsigned> &free) {
        std::mt19937 random(real);
        for (unsigned n = 0, decoded = 0; n < 300 && decoded < 30 && !hidden.empty(); ++n) {
            Bytes bytes = base;
            for (unsigned bit : free)
                if (random() & 1) bytes[bit / 8] ^= 1 << bit % 8;
            auto a = t.decode(bytes);
            if (!a || a->getOpcode() != inst.getOpcode()) continue;
            ++decoded;
            auto is_shown = [&](unsigned bit) {
                Bytes other = bytes;
                other[bit / 8] ^= 1 << bit % 8;
                auto b = t.decode(other);
                if (!b || b->getOpcode() != inst.getOpcode()) return false;
                for (unsigned i = 0; i < count && i < a->getNumOperands() && i < b->getNumOperands(); ++i) {
                    if (differ(a->getOperand(i), b->getOperand(i))) return true;
                }
                return false;
            };
            hidden.erase(std::remove_if(hidden.begin(), hidden.end(), is_shown), hidden.end());
        }
    }

    // An image instruction's mask of channels bears on the number of its registers, and with it on the opcode: its bits can
    // change only together. What they weigh in an immediate follows from encodings that differ in several of them: a system
    // of linear equations over bits, which leaves some choice. It is made so that as few bits as possible weigh anything.
    void together(unsigned count, const std::vector<unsigned> &closed, const std::vector<unsigned> &free,
                  std::vector<Immediate> &immediates) {
        auto both = [&](unsigned a, unsigned b) {
            Bytes bytes = flipped(a);
            bytes[b / 8] ^= 1 << b % 8;
            return same(t.decode(bytes));
        };
        std::set<unsigned> weighty;
        for (Immediate &immediate : immediates)
            for (auto &[bit, weight] : immediate.bits)
                if (weight) weighty.insert(bit);
        for (unsigned a : closed) {
            for (unsigned b : closed)
                if (a < b && both(a, b)) joint.insert({a, b});
            for (unsigned b : weighty)
                if (!joint.count(a) && both(a, b)) joint.insert(a);
        }
        if (joint.empty()) return;
        struct Equation { uint64_t bits; std::vector<int64_t> change; };
        auto add = [](Equation &to, const Equation &from) {
            to.bits ^= from.bits;
            for (size_t i = 0; i < to.change.size(); ++i) to.change[i] ^= from.change[i];
        };
        std::vector<unsigned> bits(joint.begin(), joint.end());
        std::map<unsigned, Equation> solved; // by the bit that no other equation has
        std::mt19937 random(real);
        for (unsigned n = 0, news = 0; n < news + 700; ++n) {
            Equation next{random() | uint64_t(random()) << 32, {}};
            if (n % 2) next.bits &= random() & (random() | uint64_t(random()) << 32);
            Bytes bytes = base;
            for (unsigned k = 0; k < bits.size(); ++k)
                if (next.bits >> k & 1) bytes[bits[k] / 8] ^= 1 << bits[k] % 8;
            for (unsigned bit : free)
                if (n % 3 && (random() & 3) == 0) bytes[bit / 8] ^= 1 << bit % 8;
            if (bits.size() < 64) next.bits &= (uint64_t(1) << bits.size()) - 1;
            auto other = t.decode(bytes);
            if (!same(other)) continue;
            for (unsigned i = 0; i < count && i < inst.getNumOperands(); ++i) {
                const MCOperand &x = inst.getOperand(i), &y = other->getOperand(i);
                next.change.push_back(x.isImm() && y.isImm() ? x.getImm() ^ y.getImm() ^ immediates[i].value(base) ^ immediates[i].value(bytes) : 0);
            }
            for (auto &[bit, equation] : solved)
                if (next.bits >> bit & 1) add(next, equation);
            if (next.bits == 0) continue; // what contradicts is found by `check`
            unsigned pivot = __builtin_ctzll(next.bits);
            for (auto &[bit, equation] : solved)
                if (equation.bits >> pivot & 1) add(equation, next);
            solved[pivot] = next;
            news = n;
        }
        for (unsigned i = 0; i < count && i < inst.getNumOperands(); ++i) {
            std::vector<int64_t> weights(bits.size());
            for (auto &[bit, equation] : solved) weights[bit] = equation.change[i];
            auto cost = [&] {
                size_t sum = 0;
                for (int64_t w : weights) sum += w == 0 ? 0 : w & (w - 1) ? 3 : 1;
                return sum;
            };
            for (unsigned choice = 0; choice < bits.size(); ++choice) {
                if (solved.count(choice)) continue;
                // These may all weigh the same more.
                std::vector<unsigned> alike{choice};
                for (auto &[bit, equation] : solved)
                    if (equation.bits >> choice & 1) alike.push_back(bit);
                auto best = weights, before = weights;
                size_t least = cost();
                for (unsigned bit : alike) {
                    for (unsigned k : alike) weights[k] = before[k] ^ before[bit];
                    if (cost() < least) least = cost(), best = weights;
                }
                weights = best;
            }
            for (unsigned k = 0; k < bits.size(); ++k)
                if (weights[k]) immediates[i].bits[bits[k]] = weights[k];
        }
    }

    bool same(const std::optional<MCInst> &other) const {
        return other && other->getOpcode() == inst.getOpcode() && other->getNumOperands() == inst.getNumOperands();
    }

    // What LLVM's assembler puts into the bits that nothing shows: word, mask, value. Behind a `!`, what it puts into those
    // that operands show which MIR's opcode does not have.
    std::string unseen(const MCInstrDesc &desc) {
        std::string out = bits(hidden, desc, ""), more = bits(unsaid, desc, "!");
        if (out.empty() && more.empty()) return "-";
        return out + (out.empty() || more.empty() ? "" : " ") + more;
    }

    std::string bits(const std::vector<unsigned> &list, const MCInstrDesc &desc, const char *mark) {
        if (list.empty()) return "";
        MCInst whole = inst;
        whole.setOpcode(real);
        for (unsigned i = desc.getNumOperands(); i < whole.getNumOperands(); ++i)
            if (whole.getOperand(i).isImm()) whole.getOperand(i).setImm(0);
        for (unsigned i = whole.getNumOperands(); i < desc.getNumOperands(); ++i) {
            int tied = desc.getOperandConstraint(i, MCOI::TIED_TO);
            whole.addOperand(tied >= 0 ? inst.getOperand(tied) : MCOperand::createImm(0));
        }
        SmallVector<char, 20> encoded;
        SmallVector<MCFixup, 2> fixups;
        t.emitter->encodeInstruction(whole, encoded, fixups, *t.subtarget);
        encoded.resize(20);
        std::string out;
        for (unsigned word = 0; word < 5; ++word) {
            uint32_t mask = 0, value;
            for (unsigned bit : list)
                if (bit / 32 == word) mask |= 1u << bit % 32;
            memcpy(&value, encoded.data() + 4 * word, 4);
            char text[32];
            snprintf(text, sizeof text, "%s%s%u:%x:%x", out.empty() ? "" : " ", mark, word, mask, value & mask);
            if (mask) out += text;
        }
        return out;
    }

    void check(const MCInstrDesc &desc, const std::vector<Immediate> &immediates, const std::vector<unsigned> &free) {
        if (is_barrier(real)) return;
        std::mt19937 random(real);
        for (unsigned n = 0; n < (joint.empty() ? 40 : 300); ++n) {
            Bytes bytes = base;
            unsigned flips = 1 + random() % 12;
            for (unsigned k = 0; k < flips && !free.empty(); ++k) {
                unsigned bit = free[random() % free.size()];
                bytes[bit / 8] ^= 1 << bit % 8;
            }
            for (unsigned bit : joint)
                if (n % 2 == 0 && random() & 1) bytes[bit / 8] ^= 1 << bit % 8;
            auto other = t.decode(bytes);
            if (!other || other->getOpcode() != inst.getOpcode() || other->getNumOperands() < std::min<unsigned>(desc.getNumOperands(), inst.getNumOperands())) continue;
            for (unsigned i = 0; i < desc.getNumOperands() && i < inst.getNumOperands(); ++i) {
                const MCOperandInfo &info = desc.operands()[i];
                if (info.RegClass >= 0 || info.OperandType == MCOI::OPERAND_REGISTER || !other->getOperand(i).isImm()) continue;
                if (desc.getOperandConstraint(i, MCOI::TIED_TO) >= 0) continue;
                if (immediates[i].value(bytes) != other->getOperand(i).getImm())
                    error = "operand " + std::to_string(i) + " is no sum of bits: " + std::to_string(other->getOperand(i).getImm()) + " is not " + std::to_string(immediates[i].value(bytes));
            }
        }
    }
};

} // namespace

int main(int count, char **arguments) {
    if (count != 4) return fprintf(stderr, "usage: mir CPU FEATURES ENCODING_FAMILIES\n"), 2;
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
    Asker t{regs, instrs, subtarget, target->createMCDisassembler(*subtarget, context),
            target->createMCCodeEmitter(*instrs, context), StringRef(arguments[1]).starts_with("gfx9")};

    std::map<std::string, unsigned> by_name;
    for (unsigned i = 0; i < instrs->getNumOpcodes(); ++i) by_name[instrs->getName(i).str()] = i;
    std::vector<unsigned> families;
    for (char *family = strtok(arguments[3], ","); family; family = strtok(nullptr, ",")) families.push_back(atoi(family));
    // The pseudos that this processor encodes so. A real opcode that none leads to (gfx9 has two encodings of a scalar load
    // with a register offset) goes by its own name.
    std::map<unsigned, std::vector<unsigned>> pseudos;
    for (unsigned opcode = 0; opcode < instrs->getNumOpcodes(); ++opcode)
        for (unsigned family : families) {
            int real = AMDGPU::getMCOpcode(opcode, family);
            if (real < 0 || real == (int)opcode || real == 0xffff) continue;
            pseudos[real].push_back(opcode);
            break;
        }

    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string name, hex;
        words >> name >> hex;
        Bytes bytes;
        for (size_t i = 0; i + 1 < hex.size(); i += 2) bytes.push_back(std::stoul(hex.substr(i, 2), nullptr, 16));
        // The destination of gfx9's SDWA comparisons is ignored unless a bit says that there is one.
        if (bytes[0] == 0xf9 && bytes[3] >> 1 == 0x3e) {
            Bytes named = bytes;
            named[5] |= 0x80;
            if (t.decode(named)) bytes = named;
        }
        // LLVM 22 takes a small literal that both halves of a dual operation share for the code of a source.
        const char *const literal = "\x78\x56\x34\x12";
        if (name.find("_DUAL_FMAAK") != name.npos || name.find("_DUAL_FMAMK") != name.npos || name.find("_X_FMAAK") != name.npos || name.find("_X_FMAMK") != name.npos)
            memcpy(bytes.data() + 8, literal, 4);
        uint64_t length = 0;
        auto inst = t.decode(bytes, &length);
        bytes.resize(length);
        // As the first prober has it: of gfx9's two names of an LDS operation, the disassembler gives the one with M0.
        auto real = by_name.find(name + "_gfx9");
        if (real == by_name.end() || !StringRef(arguments[1]).starts_with("gfx9")) real = by_name.find(name);
        name = real == by_name.end() ? name : real->first;
        if (!inst || real == by_name.end())
            return fprintf(stderr, "%s is not decoded\n", name.c_str()), 1;
        // Several pseudos may share an encoding (S_MOV_B32_sideeffects, BUFFER_LOAD_DWORD_OFFEN_exact): the plain one has
        // the shortest name, but that of a matrix operation which adds to any register says three addresses. Image opcodes
        // have no pseudo.
        unsigned named = real->second;
        auto rank = [&](unsigned opcode) {
            StringRef name = instrs->getName(opcode);
            return std::make_tuple(name.contains("_twoaddr"), name.size(), opcode);
        };
        // Of two encodings with the same meaning, code generation has one; and it does not find its way to gfx9's of these.
        bool own_name = families[0] == 5 && (StringRef(name).ends_with("_alt_gfx9") || StringRef(name).ends_with("_gfx9_gfx9"));
        if (auto at = pseudos.find(real->second); at != pseudos.end() && !own_name)
            named = *std::min_element(at->second.begin(), at->second.end(), [&](unsigned a, unsigned b) { return rank(a) < rank(b); });
        std::vector<unsigned> names{named};
        for (size_t n = 0; n < names.size(); ++n) {
            const MCInstrDesc &desc = instrs->get(names[n]);
            Row row{t, real->second, bytes, *inst, {}, {}, {}, {}};
            std::string operands = row.operands(desc);
            // A literal that an inline constant could express is no number to the disassembler.
            if (!row.error.empty() && bytes.size() >= 8) {
                memcpy(bytes.data() + bytes.size() - 4, literal, 4);
                if (auto again = t.decode(bytes)) {
                    row = Row{t, real->second, bytes, *again, {}, {}, {}, {}};
                    operands = row.operands(desc);
                }
            }
            // What is not understood has no row, and is reported as not to be said in MIR.
            if (!row.error.empty()) {
                fprintf(stderr, "%s %s: %s\n", arguments[1], name.c_str(), row.error.c_str());
                continue;
            }
            // Where the plain name does not say everything, the encoded opcode's own does.
            if (!row.unsaid.empty() && names[n] != real->second) names.push_back(real->second);
            printf("%s\t%s\t%s\t", name.c_str(), instrs->getName(names[n]).str().c_str(), operands.empty() ? "-" : operands.c_str());
            std::string implicit;
            for (MCPhysReg reg : desc.implicit_defs()) implicit += std::string(" =") + regs->getName(reg);
            for (MCPhysReg reg : desc.implicit_uses()) implicit += std::string(" ") + regs->getName(reg);
            printf("%s\t%s\t%s\n", implicit.empty() ? "-" : implicit.c_str() + 1, row.unseen(desc).c_str(), desc.isTerminator() ? "T" : "-");
        }
    }
}
