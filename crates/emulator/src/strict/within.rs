//! What a block settles of its own instructions, once for all times that it runs.
//!
//! A register that an instruction of the block has found defined, or has written, is defined for those that follow, as
//! long as the same lanes are active; one that no load in flight writes stays so until a load is issued. That holds only
//! while all goes well: an instruction that finds something makes the rest of the block look at everything
//! ([`super::Strict`]'s `clean`).

use std::collections::HashSet;
use std::ops::DerefMut;

use super::checked::Checked;
use super::quick::Units;
use super::terms::{Place, Rule};
use luthier_isa::hazard;

/// What is known of registers at a point of a block.
#[derive(Default)]
struct Known {
    /// Defined in the active lanes.
    rows: HashSet<u16>,
    scalars: HashSet<u8>,
    /// Written by no load in flight.
    free: HashSet<u16>,
}

impl Known {
    fn forget(&mut self, places: &[Place]) {
        for place in places {
            match *place {
                Place::Rows(row, n) => (0..u16::from(n)).for_each(|k| {
                    self.rows.remove(&(row + k));
                }),
                Place::Scalars(code, n) => (0..n).for_each(|k| {
                    self.scalars.remove(&code.saturating_add(k));
                }),
                Place::Constant(_) => {}
            }
        }
    }

    /// Notes that these are defined once the instruction is done, and gives those that were not known to be: all rows
    /// where inactive lanes count too.
    fn learn(&mut self, all: &Units, reads_all: bool, writes_all: bool) -> Units {
        let mut rows = |of: &[u16], asks: bool| -> Vec<u16> {
            of.iter().copied().filter(|&row| self.rows.insert(row) || asks).collect()
        };
        let (read, written) = (rows(all.rows(), reads_all), rows(all.written_rows(), writes_all));
        let mut scalars =
            |of: &[u16]| -> Vec<u16> { of.iter().copied().filter(|&code| self.scalars.insert(code as u8)).collect() };
        let (scalars_read, scalars_written) = (scalars(all.scalars()), scalars(all.written_scalars()));
        Units::new(&read, &scalars_read, &written, &scalars_written)
    }
}

/// Leaves to the instructions of a block only what has to be looked at when they run. `memory`: what scalar loads bring may be
/// undefined.
pub fn prune(block: &mut [impl DerefMut<Target = Checked>], memory: bool) {
    let mut known = Known::default();
    for inst in block.iter_mut() {
        let inst = &mut **inst;
        if let Some(quick) = inst.quick.as_mut().filter(|quick| quick.settles()) {
            quick.fresh = known.learn(&quick.all, quick.reads_all, quick.writes_all);
        } else {
            known.forget(&inst.results);
            inst.halves.iter().for_each(|half| known.forget(&half.results));
        }
        // What comes from memory, memory knows.
        if matches!(inst.rule, Rule::Memory { .. }) || memory && inst.is_scalar_memory {
            known.forget(&inst.results);
        }
        if inst.changes_exec {
            known.rows.clear();
        }
        if inst.wait.is_none() {
            inst.fresh = inst.touched.iter().map(|&(unit, _)| unit).filter(|&unit| known.free.insert(unit)).collect();
        }
        if inst.counters != 0 {
            inst.loaded.units().for_each(|unit| {
                known.free.remove(&(unit as u16));
            });
        }
    }
    let mut facts: Vec<_> = block.iter_mut().map(|inst| &mut inst.hazards).collect();
    hazard::prune(&mut facts);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use luthier_isa::{Inst, Mode, Operand, Reg, RegRange, Target, Wave as Width};

    use super::*;
    use crate::lower::Limits;
    use crate::op::Op;
    use crate::report::Kinds;
    use crate::strict::{Group, Looks, Strict, set_up};
    use crate::wave::Wave;

    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (self.0 >> 33) % n
        }
        fn mask(&mut self) -> u64 {
            match self.below(4) {
                0 => !0,
                1 => 0xffff_ffff,
                _ => self.below(1 << 31) << 16 | self.below(1 << 16),
            }
        }
    }

    /// Few registers, so that instructions meet.
    fn operand(random: &mut Random) -> Operand {
        let count = [1, 1, 1, 2, 4][random.below(5) as usize];
        let at = random.below(6) as u16;
        match random.below(8) {
            0..=2 => Operand::Reg(RegRange::new(Reg::vgpr(at), count)),
            3 => Operand::Reg(RegRange::new(Reg::sgpr(at / 2 * 2), count)),
            4 => Operand::Reg(RegRange::new([Reg::VCC_LO, Reg::EXEC_LO, Reg::M0][usize::from(at) % 3], count)),
            5 => Operand::Reg(RegRange::new(Reg::agpr(at), count)),
            6 => Operand::Inline(128 + at),
            _ => Operand::Imm(i64::from(at)),
        }
    }

    const NAMES: [&str; 36] = [
        "v_add_f32_e32",
        "v_mov_b32_e32",
        "v_mov_b32_e32",
        "v_mov_b32_dpp",
        "v_fma_f32",
        "v_cmp_gt_f32_e32",
        "v_cmpx_gt_f32_e32",
        "v_cmp_gt_f32_e64",
        "v_cndmask_b32_e64",
        "v_readfirstlane_b32",
        "v_readlane_b32",
        "v_writelane_b32",
        "v_div_fmas_f32",
        "v_exp_f32_e32",
        "v_permlane16_b32",
        "v_mfma_f32_4x4x1f32",
        "v_dual_add_f32 :: v_dual_mov_b32",
        "s_mov_b32",
        "s_mov_b64",
        "s_and_saveexec_b64",
        "s_and_saveexec_b32",
        "s_nop",
        "s_waitcnt",
        "s_wait_loadcnt",
        "s_waitcnt_depctr",
        "s_load_dword",
        "s_load_b32",
        "global_load_dword",
        "global_load_b32",
        "global_store_dwordx4",
        "ds_read_b32",
        "ds_load_b32",
        "ds_write_b32",
        "s_add_u32",
        "v_mad_u64_u32",
        "s_delay_alu",
    ];

    /// Any of the mode's instructions, with any operands that it can have.
    fn instruction(mode: Mode, random: &mut Random) -> Inst {
        loop {
            let Some(info) = mode.find(NAMES[random.below(NAMES.len() as u64) as usize]) else { continue };
            let mut inst = Inst::new(info);
            for (k, _) in info.operands.iter().enumerate() {
                (0..12).find(|_| inst.set_operand(k, operand(random)).is_ok());
            }
            return inst;
        }
    }

    /// What is found in instructions that are checked in blocks of these lengths; what they do, `seed` says.
    fn findings(insts: &[Inst], lengths: &[usize], lanes: u32, seed: u64) -> (BTreeSet<(u64, String)>, Vec<u64>) {
        let mut random = Random(seed);
        let mut w = Wave::new();
        w.set_lanes(lanes);
        w.set_exec(!0);
        let mut strict = Strict::new(Kinds::ALL, Group::new(1, 64, false, None, Looks::all()), 0, 0..0);
        (0..8).for_each(|row| strict.define_lanes(row, if row < 5 { !0 } else { random.mask() }));
        (0..128).filter(|code| code % 7 != 3).for_each(|code| strict.define_scalar(code));
        w.strict = Some(Box::new(strict));
        let mut at = 0;
        let mut blocks = Vec::new();
        for &length in lengths {
            let block = &insts[at..at + length];
            let mut checked: Vec<_> = block
                .iter()
                .enumerate()
                .map(|(k, i)| Box::new(Checked::new(i, 8 * (at + k) as u64, Limits::WHOLE)))
                .collect();
            let mut ops = vec![Op::NOTHING; length];
            set_up(&mut checked, ops.iter_mut(), Looks::all());
            blocks.push((checked, ops));
            at += length;
        }
        for (checked, op) in blocks.iter().flat_map(|(checked, ops)| checked.iter().zip(ops)) {
            // SAFETY: `set_up` has made it, and its block is there.
            unsafe { (op.run)(&mut w, op) };
            let (mask, lane) = (random.mask(), random.below(lanes.into()) as usize);
            if checked.changes_exec {
                w.set_exec(mask);
            }
            // Memory sometimes holds nothing.
            let loads = matches!(checked.rule, Rule::Memory { .. }) && mask & 3 == 0;
            if let (true, Some(&Place::Rows(row, _)), Some(strict)) = (loads, checked.results.first(), &mut w.strict) {
                strict.shadow.update(row, lane, |_| !0);
            }
        }
        let mut strict = w.strict.take().unwrap();
        let found = strict.take_findings().into_iter().map(|f| (f.pc, f.message)).collect();
        (found, strict.shadow.lanes[..8].to_vec())
    }

    #[test]
    fn blocks_find_what_their_instructions_find_one_by_one() {
        let mut some = 0;
        for (target, width) in [
            (Target::Gfx90a, Width::W64),
            (Target::Gfx908, Width::W64),
            (Target::Gfx942, Width::W64),
            (Target::Gfx1010, Width::W32),
            (Target::Gfx1100, Width::W32),
            (Target::Gfx1100, Width::W64),
            (Target::Gfx1201, Width::W32),
        ] {
            let mode = Mode::new(target, width).unwrap();
            for seed in 0..150 {
                let random = &mut Random(seed);
                let insts: Vec<Inst> = (0..60).map(|_| instruction(mode, random)).collect();
                let mut lengths = Vec::new();
                while lengths.iter().sum::<usize>() < insts.len() {
                    let left = insts.len() - lengths.iter().sum::<usize>();
                    lengths.push((1 + random.below(30) as usize).min(left));
                }
                let lanes = if width == Width::W32 { 32 } else { 64 };
                let together = findings(&insts, &lengths, lanes, seed);
                let apart = findings(&insts, &[1; 60], lanes, seed);
                assert!(together == apart, "{target:?}, {seed}: {:?}\n{:?}", together, apart);
                some += apart.0.len();
            }
        }
        assert!(some > 1000, "{some} findings are too few to tell");
    }
}
