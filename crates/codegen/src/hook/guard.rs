//! Instructions put in front of LLVM's, for what LLVM does not expect.
//!
//! *Undefined registers.* In loops that lanes leave at different times LLVM updates masks none of whose bits it has set yet;
//! the undefined bits never matter, but reading a register that nothing has written is what strict mode reports. Such
//! registers begin as zero.
//!
//! *A wave without active lanes.* LLVM assumes that some lane is active. With none, vector instructions give nothing: a loop
//! that waits for what they compare would not end, and an address that scalars take from them is any. A hook with a loop, or
//! with scalar loads beside vector instructions that set scalars, and no effect of the wave's own, skips itself then. A hook
//! that acts for the wave, and computes what it does with vector instructions, runs with one lane; see
//! [`NoLanes`](super::lower::NoLanes).

use luthier_isa::{Flags, Inst, Mode, Operand, Reg, RegRange, RegSet, Wave, op::Op};

use super::{code::Code, processor};

/// Sets the scalar registers of `undefined` to zero at the start.
pub fn zero_undefined(code: &mut Code, mode: Mode, undefined: &RegSet) -> Result<(), String> {
    let mut moves = Vec::new();
    let mut units = undefined.iter().filter(|r| r.is_sgpr()).peekable();
    while let Some(unit) = units.next() {
        let pair = unit.number() % 2 == 0 && units.peek() == Some(&unit.offset(1));
        if pair {
            units.next();
        }
        let (name, count) = if pair { (Op::SMovB64, 2) } else { (Op::SMovB32, 1) };
        moves.push(build(mode, name, &[Operand::Reg(RegRange::new(unit, count)), Operand::Inline(128)])?);
    }
    prepend(code, moves);
    Ok(())
}

/// Makes a wave without active lanes jump over the part, if it has a loop, or `loads_anywhere`.
pub fn skip_without_lanes(code: &mut Code, mode: Mode, loads_anywhere: bool) -> Result<(), String> {
    let loops = code.insts.iter().zip(&code.offsets).any(|(inst, at)| {
        let to = inst.branch_target(u64::from(*at));
        inst.info().flags.intersects(Flags::BRANCH | Flags::COND_BRANCH) && to.is_some_and(|to| to <= u64::from(*at))
    });
    if loops || loads_anywhere {
        let words: usize = code.insts.iter().map(Inst::size).sum::<usize>() / 4;
        let distance = i16::try_from(words).map_err(|_| "the hook is too long for a branch".to_owned())?;
        prepend(code, vec![build(mode, Op::SCbranchExecz, &[Operand::Imm(distance.into())])?]);
    }
    Ok(())
}

/// Gives a wave without active lanes its first one while the part runs. `exec` is where the part leaves the EXEC of the
/// beginning.
pub fn one_lane(code: &mut Code, mode: Mode, exec: RegRange) -> Result<(), String> {
    let [mov, compare, select] = match mode.wave() {
        Wave::W64 => [Op::SMovB64, Op::SCmpEqU64, Op::SCselectB64],
        Wave::W32 => [Op::SMovB32, Op::SCmpEqU32, Op::SCselectB32],
    };
    let (kept, now) = (Operand::Reg(exec), Operand::Reg(RegRange::new(Reg::EXEC_LO, exec.count)));
    let accesses = code.insts.iter().any(|i| i.info().flags.intersects(Flags::VMEM | Flags::DS));
    if let Some(immediate) = processor::before_exec(mode).filter(|_| accesses) {
        append(code, build(mode, Op::SWaitcntDepctr, &[Operand::Imm(immediate)])?);
    }
    append(code, build(mode, mov, &[now, kept])?);
    let before = vec![
        build(mode, mov, &[kept, now])?,
        build(mode, compare, &[now, Operand::Inline(128)])?,
        build(mode, select, &[now, Operand::Inline(129), now])?,
    ];
    prepend(code, before);
    Ok(())
}

/// Whether the part does something for the wave as a whole: an atomic, or changes a scalar register of its own.
pub fn acts_for_the_wave(code: &Code, mut written: impl Iterator<Item = RegRange>) -> bool {
    // Only `wave_atomic_add` sets EXEC from a constant.
    let sets_exec = code.insts.iter().any(|inst| {
        let mut operands = inst.operands();
        inst.info().flags.contains(Flags::SALU)
            && operands.any(|(o, v)| o.access.writes() && matches!(v, Operand::Reg(r) if r.first == Reg::EXEC_LO))
            && inst.operands().any(|(_, v)| v.is_constant())
    });
    let is_scalar = |inst: &Inst| inst.info().flags.contains(Flags::SMEM | Flags::ATOMIC);
    sets_exec || code.insts.iter().any(is_scalar) || written.any(|r| r.first.is_sgpr())
}

/// The plainest form of an operation. An error is a sentence about the hook.
pub fn build(mode: Mode, op: Op, operands: &[Operand]) -> Result<Inst, String> {
    let info = mode.plain(op).ok_or_else(|| format!("{} has no {op}", mode.target().name()))?;
    Inst::build(info, operands).map_err(|e| e.to_string())
}

fn append(code: &mut Code, inst: Inst) {
    code.offsets.push(code.insts.iter().map(Inst::size).sum::<usize>() as u32);
    code.insts.push(inst);
    code.rows.push(0);
}

/// Branches and PC-relative pairs measure distances inside the part, so putting something before it changes none.
fn prepend(code: &mut Code, insts: Vec<Inst>) {
    let bytes: usize = insts.iter().map(Inst::size).sum();
    code.offsets.iter_mut().for_each(|o| *o += bytes as u32);
    code.relocs.iter_mut().for_each(|r| r.inst += insts.len());
    let mut at = 0;
    let offsets: Vec<u32> = insts
        .iter()
        .map(|i| {
            at += i.size() as u32;
            at - i.size() as u32
        })
        .collect();
    code.offsets.splice(0..0, offsets);
    code.rows.splice(0..0, insts.iter().map(|_| 0));
    code.insts.splice(0..0, insts);
}
