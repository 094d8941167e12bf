//! Wait states around matrix instructions and dot products.
//!
//! A matrix instruction holds its accumulator and its result for as many passes as its shape takes. Another one may
//! chain through the very same accumulator at once; everything else that touches those registers has to stay away.
//! On CDNA1 only moves from and to accumulators and other matrix instructions can touch them. Numbers: "Manually Inserted
//! Wait States" in AMD's CDNA ISA manuals, and what LLVM's GCNHazardRecognizer inserts for each pair.

use std::collections::VecDeque;

use crate::{Field, Flags, Generation, Inst, Operand, RegRange, Target};

use super::{Missing, Remedy};

/// How long a matrix instruction takes, as the tables of wait states group them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pipe {
    /// gfx908, with its passes.
    First(u32),
    /// gfx90a: single precision and narrower, with its passes.
    Single(u32),
    /// CDNA3 on: f32, with its passes.
    Slow(u32),
    /// CDNA3 on: what is narrower than f32, with its passes, and whether this is gfx950, which takes a state more.
    Fast(u32, bool),
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
    /// gfx908's v_accvgpr_read and v_accvgpr_write.
    MoveFrom,
    MoveTo,
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
    target: Target,
    /// LLVM's name of the opcode tells one dot product from another.
    name: &'static str,
    result: RegRange,
    accumulator: Option<RegRange>,
    /// When it was issued, and where it is.
    at: u64,
    pc: u64,
}

/// CDNA3's and CDNA4's passes. `narrow`: both factors have less than 8 bits.
fn cdna3_pipe(base: &str, narrow: bool, target: Target) -> Option<Pipe> {
    let big = base.contains("_32x32x");
    let fast = |passes| Some(Pipe::Fast(passes, target == Target::Gfx950));
    match () {
        () if base.starts_with("v_smfmac_") => fast(if big { 8 } else { 4 }),
        () if base.ends_with("_f32") => {
            let passes = if big { 16 } else { 8 };
            Some(Pipe::Slow(if base.contains("_4x4x") { 2 } else { passes }))
        }
        () if base.contains("_4x4x") => fast(2),
        () if base.contains("b_") || (base.ends_with("f8f6f4") && !narrow) => fast(if big { 16 } else { 8 }),
        () => fast(if big { 8 } else { 4 }),
    }
}

fn pipe(inst: &Inst, target: Target) -> Option<Pipe> {
    let base = inst.info().base;
    if base.starts_with("v_dot") {
        return Some(Pipe::Dot);
    }
    let cdna3 = target.generation() == Generation::Gfx940;
    if cdna3 && base.starts_with("v_smfmac_") {
        return cdna3_pipe(base, false, target);
    }
    let shape = base.strip_prefix("v_mfma_")?;
    if shape.starts_with("f64_4x4") {
        return Some(Pipe::Double4);
    }
    if shape.starts_with("f64_16x16") {
        return Some(Pipe::Double16);
    }
    if cdna3 {
        let narrow = |format| inst.field(format).is_some_and(|f| f >= 2);
        return cdna3_pipe(base, narrow(Field::Cbsz) && narrow(Field::Blgp), target);
    }
    let kind = if target == Target::Gfx908 { Pipe::First } else { Pipe::Single };
    let passes = [("_32x32x", 16), ("_16x16x", 8), ("_4x4x", 2)];
    passes.iter().find(|(shape, _)| base.contains(shape)).map(|&(_, passes)| kind(passes))
}

/// Whether this is a matrix instruction, which the rules for other VALU instructions leave out.
pub fn is_mfma(base: &str) -> bool {
    ["v_mfma_", "v_smfmac_"].iter().any(|start| base.starts_with(start))
}

/// Of f64.
pub fn is_double(base: &str) -> bool {
    base.starts_with("v_mfma_f64_")
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
    /// Whether others have to stay away from it.
    pub fn holds(&self) -> bool {
        self.holds.is_some()
    }

    /// It touches no register that another could hold, and holds none.
    pub fn is_indifferent(&self) -> bool {
        self.uses.is_empty() && self.holds.is_none() && !self.fma64
    }

    pub fn of(inst: &Inst) -> MatrixFacts {
        let info = inst.info();
        let flag = |f| info.flags.contains(f);
        let memory = flag(Flags::VMEM) || flag(Flags::DS) || flag(Flags::FLAT);
        let target = info.mode.target();
        let first = target == Target::Gfx908;
        let known = first || matches!(target.generation(), Generation::Gfx90a | Generation::Gfx940);
        if !known || !memory && !flag(Flags::VALU) {
            return MatrixFacts::default();
        }
        // CDNA1's dot products are through in time.
        let pipe = pipe(inst, target).filter(|&pipe| !first || pipe != Pipe::Dot);
        let sparse = info.base.starts_with("v_smfmac_");
        let matrix = pipe.is_some();
        let mut facts =
            MatrixFacts { fma64: info.base.starts_with("v_fma") && info.base.ends_with("_f64"), ..Default::default() };
        let mut result = None;
        for (operand, value) in inst.operands() {
            let Some(regs) = vector(Some(value)) else { continue };
            if operand.access.writes() {
                result.get_or_insert(regs);
                let moves = first && info.base == "v_accvgpr_write_b32";
                if !is_matrix(pipe) {
                    facts.uses.push(Use { regs, how: if moves { How::MoveTo } else { How::Write } });
                }
            }
            if operand.access.reads() {
                let how = match () {
                    () if memory => How::MemoryRead,
                    () if first && info.base == "v_accvgpr_read_b32" => How::MoveFrom,
                    () if !matrix => How::ValuRead,
                    () if operand.access.writes() || (operand.field == Field::Src2 && !sparse) => How::Accumulator,
                    () => How::Factor,
                };
                facts.uses.push(Use { regs, how });
            }
        }
        if let (Some(pipe), Some(result)) = (pipe, result) {
            let accumulator = vector(inst.operand_in(Field::Src2)).filter(|_| !sparse);
            facts.holds = Some(Holder { pipe, target, name: info.base, result, accumulator, at: 0, pc: 0 });
        }
        facts
    }
}

fn is_matrix(pipe: Option<Pipe>) -> bool {
    pipe.is_some_and(|p| p != Pipe::Dot)
}

/// As [`behind_result`], CDNA1.
fn behind_cdna1(passes: u32, first: &Holder, usage: Use) -> u32 {
    match usage.how {
        How::Accumulator if first.result == usage.regs => 0,
        How::Accumulator => 2,
        How::MoveFrom => passes + 2,
        How::MoveTo => passes - 1,
        How::Factor => 4,
        // Accumulators are out of the reach of all others.
        How::ValuRead | How::MemoryRead | How::Write => 0,
    }
}

/// As [`behind_result`], CDNA3 on.
fn behind_cdna3(first: &Holder, second: &MatrixFacts, usage: Use) -> u32 {
    let same = first.result == usage.regs;
    let next = second.holds.map(|h| h.pipe);
    let double = matches!(next, Some(Pipe::Double4 | Pipe::Double16));
    let into_fast = matches!(next, Some(Pipe::Fast(..)));
    let gfx950 = first.target == Target::Gfx950;
    match (first.pipe, usage.how) {
        (Pipe::Slow(passes) | Pipe::Fast(passes, _), How::Accumulator) if same && is_matrix(next) && !double => {
            if passes == 2 {
                2
            } else {
                0
            }
        }
        (Pipe::Slow(_), How::Accumulator) if into_fast => 0,
        (Pipe::Slow(passes), How::Accumulator) if is_matrix(next) => passes,
        (Pipe::Slow(passes), _) => passes + 2,
        (Pipe::Fast(passes, late), How::Accumulator) if is_matrix(next) => {
            passes + 1 + u32::from(late && (passes != 2 || into_fast))
        }
        (Pipe::Fast(passes, late), _) => passes + 3 + u32::from(late && passes != 2),
        (_, How::Accumulator) if into_fast => 0,
        (Pipe::Double16, How::Accumulator) if same && next == Some(Pipe::Double16) => 0,
        (Pipe::Double4, How::Accumulator) if is_matrix(next) => 4,
        (Pipe::Double16, How::Accumulator) if is_matrix(next) => {
            if gfx950 {
                17
            } else {
                9
            }
        }
        (Pipe::Double4, How::MemoryRead) => 9,
        (Pipe::Double16, How::MemoryRead) => 18,
        (Pipe::Double4, _) => 6,
        (_, How::Write) => 11,
        _ => {
            if gfx950 {
                19
            } else {
                11
            }
        }
    }
}

/// Wait states that a use needs behind the instruction that writes those registers.
fn behind_result(first: &Holder, second: &MatrixFacts, usage: Use) -> u32 {
    if let Pipe::First(passes) = first.pipe {
        return behind_cdna1(passes, first, usage);
    }
    if first.pipe != Pipe::Dot && first.target.generation() == Generation::Gfx940 {
        return behind_cdna3(first, second, usage);
    }
    let same = first.result == usage.regs;
    let next = second.holds.map(|h| h.pipe);
    let double = matches!(next, Some(Pipe::Double4 | Pipe::Double16));
    match (first.pipe, usage.how) {
        (Pipe::Dot, how) => {
            let itself = second.holds.is_some_and(|h| h.name == first.name);
            if is_matrix(next) || (itself && how != How::Factor) { 0 } else { 3 }
        }
        (Pipe::Single(passes), How::Accumulator) if is_matrix(next) => match () {
            () if same => 0,
            () if double => passes + 1,
            () => passes,
        },
        (Pipe::Single(passes), _) => passes + 3,
        (Pipe::Double4 | Pipe::Double16, How::Accumulator) if is_matrix(next) && !double => 0,
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
        // `behind_cdna3` has the others.
        (Pipe::Double16 | Pipe::Slow(_) | Pipe::Fast(..) | Pipe::First(_), _) => 11,
    }
}

/// Wait states that a use needs behind the instruction that reads those registers as its accumulator.
fn behind_accumulator(first: &Holder, usage: Use) -> u32 {
    match (first.pipe, usage.how) {
        (Pipe::Single(passes) | Pipe::Fast(passes, _), How::Write) => passes - 1,
        (Pipe::First(passes), How::MoveTo) => passes.saturating_sub(3),
        _ => 0,
    }
}

/// All that a processor has.
fn pipes(target: Target) -> Vec<Pipe> {
    let late = target == Target::Gfx950;
    match target.generation() {
        _ if target == Target::Gfx908 => [2, 8, 16].map(Pipe::First).to_vec(),
        Generation::Gfx90a => {
            [2, 8, 16].map(Pipe::Single).into_iter().chain([Pipe::Double4, Pipe::Double16, Pipe::Dot]).collect()
        }
        Generation::Gfx940 => {
            let slow = [2, 8, 16].map(Pipe::Slow).into_iter();
            let fast = [2, 4, 8, 16].map(|passes| Pipe::Fast(passes, late));
            slow.chain(fast).chain([Pipe::Double4, Pipe::Double16, Pipe::Dot]).collect()
        }
        _ => Vec::new(),
    }
}

/// The longest distance that any rule asks for.
const LONGEST: u64 = 20;
const FMA64: u32 = 2;

/// The matrix instructions and dot products of the last few wait states.
#[derive(Clone, Default)]
pub struct MatrixHazards {
    recent: VecDeque<Holder>,
    /// Up to when any may have been issued, on which processor.
    elsewhere: Option<(Target, u64)>,
}

impl MatrixHazards {
    /// The wait states that are missing before an instruction at `now`, and why.
    #[inline(always)]
    pub fn missing(&self, facts: &MatrixFacts, now: u64) -> Option<Missing> {
        if self.recent.is_empty() { None } else { self.missing_behind(facts, now) }
    }

    fn missing_behind(&self, facts: &MatrixFacts, now: u64) -> Option<Missing> {
        let mut worst: Option<(u64, Missing)> = None;
        let mut need = |rule: &'static str, states: u32, first: &Holder, why: &dyn Fn() -> String| {
            let have = now.saturating_sub(first.at + 1);
            let missing = u64::from(states).saturating_sub(have);
            if missing > worst.as_ref().map_or(0, |w| w.0) {
                worst = Some((
                    missing,
                    Missing { rule, what: why(), remedy: Remedy::States(missing as u32), first: first.pc },
                ));
            }
        };
        // The latest writer of a register is the one to wait for.
        for usage in &facts.uses {
            if let Some(first) = self.recent.iter().rev().find(|h| overlap(h.result, usage.regs)) {
                let (rule, what) = match first.pipe {
                    Pipe::Dot => ("dot-result", "a dot product"),
                    _ => ("matrix-result", "a matrix instruction"),
                };
                let states = behind_result(first, facts, *usage);
                need(rule, states, first, &|| format!("{what} is still writing {}", first.result));
            }
            // So is its latest reader.
            let reads = |h: &&Holder| h.accumulator.is_some_and(|c| overlap(c, usage.regs));
            if let Some(first) = self.recent.iter().rev().find(reads) {
                let states = behind_accumulator(first, *usage);
                let why =
                    || format!("a matrix instruction is still reading {}", first.accumulator.unwrap_or(usage.regs));
                need("matrix-accumulator-overwrite", states, first, &why);
            }
        }
        if facts.fma64
            && let Some(first) = self.recent.iter().rev().find(|h| matches!(h.pipe, Pipe::Double4 | Pipe::Double16))
        {
            let why = || "an f64 matrix instruction has just been issued".into();
            need("double-matrix-fma", FMA64, first, &why);
        }
        worst.map(|(_, missing)| missing)
    }

    /// Takes it that any may have been issued by then, on any registers.
    pub fn assume_anything(&mut self, target: Target, at: u64) {
        self.elsewhere = (!pipes(target).is_empty()).then_some((target, at));
    }

    /// The wait states that are missing because of instructions that were not looked at.
    pub fn unseen(&self, facts: &MatrixFacts, now: u64) -> Option<Missing> {
        let (target, at) = self.elsewhere?;
        let (mut states, mut touched) = (0, None);
        for pipe in pipes(target) {
            for usage in &facts.uses {
                // Not the very registers that are used: then it would be nearer.
                let result = RegRange::new(usage.regs.first, 0);
                let first = Holder { pipe, target, name: "", result, accumulator: None, at, pc: super::ELSEWHERE };
                let much = behind_result(&first, facts, *usage).max(behind_accumulator(&first, *usage));
                if much > states {
                    (states, touched) = (much, Some(usage.regs));
                }
            }
        }
        if facts.fma64 && pipes(target).contains(&Pipe::Double4) {
            states = states.max(FMA64);
        }
        let missing = u64::from(states).saturating_sub(now.saturating_sub(at + 1));
        (missing > 0).then(|| Missing {
            rule: "matrix-result",
            what: match touched {
                Some(regs) => format!("a matrix instruction may be writing or reading {regs}"),
                None => "an f64 matrix instruction may have been issued".into(),
            },
            remedy: Remedy::States(missing as u32),
            first: super::ELSEWHERE,
        })
    }

    /// Wait states until none holds its registers any more.
    pub fn rest(&self, now: u64) -> u64 {
        self.recent.back().map_or(0, |h| (h.at + 1 + LONGEST).saturating_sub(now))
    }

    /// The registers that recent ones write or read.
    pub fn held(&self) -> impl Iterator<Item = RegRange> + '_ {
        self.recent.iter().flat_map(|h| h.accumulator.into_iter().chain([h.result]))
    }

    /// Whether none has been issued lately.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.recent.is_empty() && self.elsewhere.is_none()
    }

    /// Whether any that has been issued is so long ago that nothing has to keep away from it.
    pub fn is_over(&self, now: u64) -> bool {
        let long_ago = |at: u64| at + 1 + LONGEST <= now;
        self.recent.iter().all(|h| long_ago(h.at)) && self.elsewhere.is_none_or(|(_, at)| long_ago(at))
    }

    /// As for a wave that begins.
    pub fn restart(&mut self) {
        self.recent.clear();
        self.elsewhere = None;
    }

    #[inline]
    pub fn note(&mut self, facts: &MatrixFacts, now: u64, pc: u64) {
        while self.recent.front().is_some_and(|h| h.at + LONGEST < now) {
            self.recent.pop_front();
        }
        self.elsewhere = self.elsewhere.filter(|(_, at)| at + LONGEST >= now);
        if let Some(holder) = facts.holds {
            self.recent.push_back(Holder { at: now, pc, ..holder });
        }
    }
}
