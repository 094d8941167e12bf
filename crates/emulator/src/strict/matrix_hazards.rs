//! Wait states around matrix instructions and dot products.
//!
//! A matrix instruction holds its accumulator and its result for as many passes as its shape takes. Another one may
//! chain through the very same accumulator at once; everything else that touches those registers has to stay away.
//! Only gfx90a's rules are here; other processors have other numbers.
//! Numbers: "Manually Inserted Wait States" in AMD's CDNA2 ISA manual, and LLVM's GCNHazardRecognizer for gfx90a.

use std::collections::VecDeque;

use luthier_isa::{Field, Flags, Generation, Inst, Operand, RegRange};

/// How long a matrix instruction takes, as the tables of wait states group them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pipe {
    /// Single precision and narrower, with its passes.
    Single(u32),
    /// `v_mfma_f64_4x4x4f64`
    Double4,
    /// `v_mfma_f64_16x16x4f64`
    Double16,
    /// A dot product.
    Dot,
}

/// What an instruction does with registers that an earlier one may still hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum How {
    /// Source A or B of a matrix instruction (or of a dot product).
    Factor,
    /// Source C of either.
    Accumulator,
    ValuRead,
    MemoryRead,
    Write,
}

#[derive(Clone, Copy, Debug)]
struct Use {
    regs: RegRange,
    how: How,
}

/// An instruction as these checks see it.
#[derive(Clone, Debug, Default)]
pub struct MatrixFacts {
    uses: Vec<Use>,
    holds: Option<Holder>,
    /// `v_fma_f64` and its kin, which share a pipe with f64 matrix instructions.
    fma64: bool,
}

/// What an instruction in flight holds.
#[derive(Clone, Copy, Debug)]
struct Holder {
    pipe: Pipe,
    /// LLVM's name of the opcode tells one dot product from another.
    name: &'static str,
    result: RegRange,
    accumulator: Option<RegRange>,
    /// When it was issued.
    at: u64,
}

fn pipe(base: &str) -> Option<Pipe> {
    if base.starts_with("v_dot") {
        return Some(Pipe::Dot);
    }
    let shape = base.strip_prefix("v_mfma_")?;
    if shape.starts_with("f64_4x4") {
        return Some(Pipe::Double4);
    }
    if shape.starts_with("f64_16x16") {
        return Some(Pipe::Double16);
    }
    let passes = [("_32x32x", 16), ("_16x16x", 8), ("_4x4x", 2)];
    passes.iter().find(|(shape, _)| base.contains(shape)).map(|&(_, passes)| Pipe::Single(passes))
}

fn vector(operand: Option<Operand>) -> Option<RegRange> {
    match operand {
        Some(Operand::Reg(range)) if range.first.is_vgpr() || range.first.is_agpr() => Some(range),
        _ => None,
    }
}

fn overlap(a: RegRange, b: RegRange) -> bool {
    let (a0, b0) = (a.first.index(), b.first.index());
    a0 < b0 + usize::from(b.count) && b0 < a0 + usize::from(a.count)
}

impl MatrixFacts {
    pub fn of(inst: &Inst) -> MatrixFacts {
        let info = inst.info();
        let flag = |f| info.flags.contains(f);
        let memory = flag(Flags::VMEM) || flag(Flags::DS) || flag(Flags::FLAT);
        let known = info.mode.target().generation() == Generation::Gfx90a;
        if !known || !memory && !flag(Flags::VALU) {
            return MatrixFacts::default();
        }
        let pipe = pipe(info.base);
        let matrix = pipe.is_some();
        let mut facts =
            MatrixFacts { fma64: info.base.starts_with("v_fma") && info.base.ends_with("_f64"), ..Default::default() };
        let mut result = None;
        for (operand, value) in inst.operands() {
            let Some(regs) = vector(Some(value)) else { continue };
            if operand.access.writes() {
                result.get_or_insert(regs);
                if !is_mfma(pipe) {
                    facts.uses.push(Use { regs, how: How::Write });
                }
            }
            if operand.access.reads() {
                let how = match () {
                    () if memory => How::MemoryRead,
                    () if !matrix => How::ValuRead,
                    () if operand.field == Field::Src2 || operand.access.writes() => How::Accumulator,
                    () => How::Factor,
                };
                facts.uses.push(Use { regs, how });
            }
        }
        if let (Some(pipe), Some(result)) = (pipe, result) {
            let accumulator = vector(inst.operand_in(Field::Src2));
            facts.holds = Some(Holder { pipe, name: info.base, result, accumulator, at: 0 });
        }
        facts
    }

    /// Whether this is a matrix instruction, which the rules for other VALU instructions leave out.
    pub fn is_matrix(&self) -> bool {
        is_mfma(self.holds.map(|h| h.pipe))
    }

    pub fn is_dot(&self) -> bool {
        self.holds.is_some_and(|h| h.pipe == Pipe::Dot)
    }
}

fn is_mfma(pipe: Option<Pipe>) -> bool {
    pipe.is_some_and(|p| p != Pipe::Dot)
}

/// Wait states that a use needs behind the instruction that writes those registers.
fn behind_result(first: &Holder, second: &MatrixFacts, usage: Use) -> u32 {
    let same = first.result == usage.regs;
    let next = second.holds.map(|h| h.pipe);
    let double = matches!(next, Some(Pipe::Double4 | Pipe::Double16));
    match (first.pipe, usage.how) {
        (Pipe::Dot, how) => {
            let itself = second.holds.is_some_and(|h| h.name == first.name);
            if is_mfma(next) || (itself && how != How::Factor) { 0 } else { 3 }
        }
        (Pipe::Single(passes), How::Accumulator) if is_mfma(next) => match () {
            () if same => 0,
            () if double => passes + 1,
            () => passes,
        },
        (Pipe::Single(passes), _) => passes + 3,
        (Pipe::Double4 | Pipe::Double16, How::Accumulator) if is_mfma(next) && !double => 0,
        (Pipe::Double4, How::Accumulator) if double => 4,
        (Pipe::Double16, How::Accumulator) if double => {
            if same {
                0
            } else {
                9
            }
        }
        (Pipe::Double4, How::MemoryRead) => 9,
        (Pipe::Double16, How::MemoryRead) => 18,
        (Pipe::Double4, _) => 6,
        (Pipe::Double16, _) => 11,
    }
}

/// The longest distance that any rule asks for.
const LONGEST: u64 = 19;
const FMA64: u32 = 2;

/// The matrix instructions and dot products of the last few wait states.
#[derive(Default)]
pub struct MatrixHazards {
    recent: VecDeque<Holder>,
}

impl MatrixHazards {
    /// The wait states that are missing before an instruction at `now`, and why.
    pub fn missing(&self, facts: &MatrixFacts, now: u64) -> Option<(u64, String)> {
        let mut worst: Option<(u64, String)> = None;
        let mut need = |states: u32, at: u64, why: &dyn Fn() -> String| {
            let have = now.saturating_sub(at + 1);
            let missing = u64::from(states).saturating_sub(have);
            if missing > worst.as_ref().map_or(0, |w| w.0) {
                worst = Some((missing, why()));
            }
        };
        // The latest writer of a register is the one to wait for.
        for usage in &facts.uses {
            if let Some(first) = self.recent.iter().rev().find(|h| overlap(h.result, usage.regs)) {
                let what = if first.pipe == Pipe::Dot { "a dot product" } else { "a matrix instruction" };
                let states = behind_result(first, facts, *usage);
                need(states, first.at, &|| format!("{what} is still writing {}", first.result));
            }
            if usage.how == How::Write {
                for first in &self.recent {
                    if let (Pipe::Single(passes), Some(c)) = (first.pipe, first.accumulator)
                        && overlap(c, usage.regs)
                    {
                        need(passes - 1, first.at, &|| format!("a matrix instruction is still reading {c}"));
                    }
                }
            }
        }
        if facts.fma64
            && let Some(first) = self.recent.iter().rev().find(|h| matches!(h.pipe, Pipe::Double4 | Pipe::Double16))
        {
            need(FMA64, first.at, &|| "an f64 matrix instruction has just been issued".into());
        }
        worst
    }

    pub fn note(&mut self, facts: &MatrixFacts, now: u64) {
        while self.recent.front().is_some_and(|h| h.at + LONGEST < now) {
            self.recent.pop_front();
        }
        if let Some(holder) = facts.holds {
            self.recent.push_back(Holder { at: now, ..holder });
        }
    }

    /// When the last f64 matrix instruction was issued.
    pub fn last_double(&self) -> Option<u64> {
        self.recent.iter().rev().find(|h| matches!(h.pipe, Pipe::Double4 | Pipe::Double16)).map(|h| h.at)
    }
}
