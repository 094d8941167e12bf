//! Micro-ops before a vector operation: they put its sources into temporary rows.

use std::sync::LazyLock;

use luthier_isa::Generation;

use crate::crossing::{self, Sources};
use crate::op::{Flow, Kind, Op, Semantics};
use crate::registers::{Row, rows, scalar};
use crate::wave::Wave;

/// dst = the scalar `src[0]`, in every lane.
pub(super) struct Splat;
impl Semantics for Splat {
    const KIND: Kind = Kind::SPLAT;
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let value = w.s[usize::from(op.src[0] & 255)];
        *w.row_mut(op.dst) = Row([value; 64]);
        Flow::Next
    }
}

/// dst = imm, in every lane.
pub(super) struct SplatImm;
impl Semantics for SplatImm {
    const KIND: Kind = Kind::SPLAT_CONSTANT;
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        *w.row_mut(op.dst) = Row([op.imm as u32; 64]);
        Flow::Next
    }
}

/// dst = src0 in the lanes of EXEC.
pub(super) struct Copy;
impl Semantics for Copy {
    const KIND: Kind = Kind::COPY;
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let value = *w.row(op.src[0]);
        w.write(op.dst, &value);
        Flow::Next
    }
}

/// dst = (src0 & imm) ^ imm2: absolute value, negation, a plain copy.
pub(super) struct AndXor;
impl Semantics for AndXor {
    const KIND: Kind = Kind::AND_XOR;
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let (and, xor) = (op.imm as u32, op.imm2 as u32);
        let mut out = Row::ZERO;
        crate::lanes::fill1(&mut out, w.row(op.src[0]), |v| (v & and) ^ xor);
        *w.row_mut(op.dst) = out;
        Flow::Next
    }
}

/// dst = src0 shifted right by imm; imm2's low half says how many bits remain; bit 32: sign-extended.
pub(super) struct Extract;
impl Semantics for Extract {
    const KIND: Kind = Kind::EXTRACT;
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let (shift, up, signed) = (op.imm as u32 & 31, 32 - (op.imm2 as u32 & 31), op.imm2 >> 32 != 0);
        let mut out = Row::ZERO;
        let source = w.row(op.src[0]);
        if signed {
            crate::lanes::fill1(&mut out, source, |v| (((v >> shift) << up) as i32 >> up) as u32);
        } else {
            crate::lanes::fill1(&mut out, source, |v| ((v >> shift) << up) >> up);
        }
        *w.row_mut(op.dst) = out;
        Flow::Next
    }
}

/// A packed pair of halves: imm bit 0 and 1 pick the half that each half of the result comes from, imm2 is xored.
pub(super) struct PickHalves;
impl Semantics for PickHalves {
    const KIND: Kind = Kind::PICK_HALVES;
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let (lo, hi) = (op.imm as u32 & 1, op.imm as u32 >> 1 & 1);
        let xor = op.imm2 as u32;
        let mut out = Row::ZERO;
        crate::lanes::fill1(&mut out, w.row(op.src[0]), |v| {
            (((v >> (16 * lo)) & 0xffff) | ((v >> (16 * hi)) << 16)) ^ xor
        });
        *w.row_mut(op.dst) = out;
        Flow::Next
    }
}

/// How DPP moves lanes: what lane `i` reads, if there is such a lane.
pub(crate) fn dpp_source(ctrl: u32, i: usize) -> Option<usize> {
    let (row, at, by) = (i & !15, i & 15, (ctrl & 15) as usize);
    match ctrl {
        0x000..=0x0ff => Some(i & !3 | (ctrl as usize >> (2 * (i & 3)) & 3)),
        0x101..=0x10f => (at + by < 16).then_some(i + by),
        0x111..=0x11f => (at >= by).then(|| i - by),
        0x121..=0x12f => Some(row | (at + 16 - by) & 15),
        0x130 => (i < 63).then_some(i + 1),
        0x134 => Some((i + 1) & 63),
        0x138 => i.checked_sub(1),
        0x13c => Some((i + 63) & 63),
        0x140 => Some(row | (15 - at)),
        0x141 => Some(i & !7 | (7 - (i & 7))),
        // Lanes that have no row or half before theirs read themselves, whatever BOUND_CTRL says: no manual has that, and
        // rocWMMA's tests expect it.
        0x142 => Some(row.checked_sub(1).unwrap_or(i)),
        0x143 => Some(if i >= 32 { 31 } else { i }),
        // gfx90a and RDNA: broadcast of one lane within each row.
        0x150..=0x15f => Some(row | by),
        // RDNA: exchange within each row.
        0x160..=0x16f => Some(i ^ by),
        _ => None,
    }
}

/// Whether the control value is one that a generation has.
pub(super) fn dpp_known(generation: Generation, ctrl: u32) -> bool {
    match ctrl {
        0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f | 0x140..=0x141 => true,
        // Across the whole wave.
        0x130 | 0x134 | 0x138 | 0x13c | 0x142..=0x143 => generation.is_gfx9_family(),
        0x150..=0x15f => true,
        0x160..=0x16f => !generation.is_gfx9_family(),
        _ => false,
    }
}

/// A control value worked out for all lanes.
struct Moves {
    from: Sources,
    /// Lanes that have a source.
    valid: u64,
}

/// By control value.
static MOVES: LazyLock<Vec<Moves>> = LazyLock::new(|| {
    (0..0x170)
        .map(|ctrl| {
            let from = |i| dpp_source(ctrl, i);
            let valid = (0..64).filter(|&i| from(i).is_some()).fold(0, |lanes, i| lanes | 1 << i);
            Moves { from: crossing::sources(|i| from(i).unwrap_or(i)), valid }
        })
        .collect()
});

/// The lanes that a row mask and a bank mask leave enabled.
pub(crate) fn dpp_enabled(row_mask: u32, bank_mask: u32) -> u64 {
    (0..64).filter(|i| row_mask >> (i / 16) & 1 != 0 && bank_mask >> (i % 16 / 4) & 1 != 0).fold(0, |m, i| m | 1 << i)
}

/// dst = src0 permuted by imm (the control field \[15:0\], bound_ctrl 16, fetch from inactive lanes 17), on the lanes of
/// imm2.
/// Narrows EXEC to the lanes that are written; [`RestoreExec`] puts it back. `sdst` 0: the first of two rows, which
/// leaves EXEC alone.
pub(super) struct Permute;
impl Semantics for Permute {
    const KIND: Kind = Kind::PERMUTE;
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        permute(w, op);
        Flow::Next
    }
}

#[inline(always)]
fn permute(w: &mut Wave, op: &Op) {
    let exec = w.exec();
    let moves = &MOVES[(op.imm & 0xffff) as usize];
    let bound_zero = op.imm >> 16 & 1 != 0;
    let active = if op.imm >> 17 & 1 != 0 || exec == w.all_lanes() { !0 } else { exec };
    let readable = moves.valid & crossing::reading(&moves.from, active);
    let mut out = crossing::read(w.row(op.src[0]), &moves.from, active);
    if readable != !0 {
        out = crossing::kept(&out, readable);
    }
    *w.row_mut(op.dst) = out;
    if op.sdst != 0 {
        w.saved_exec = exec;
        w.set_exec(exec & op.imm2 & if bound_zero { !0 } else { readable });
    }
}

/// dst = src0 with the lanes of each eight permuted by imm, three bits each; imm2: from inactive lanes too, which give
/// zero otherwise (so LLVM's "Syntax of AMDGPU Instruction Modifiers" says). `sdst` as that of [`Permute`].
pub(super) struct PermuteEight;
impl Semantics for PermuteEight {
    const KIND: Kind = Kind::PERMUTE_EIGHT;
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let exec = w.exec();
        let from = crossing::sources(|i| i & !7 | (op.imm as usize >> (3 * (i & 7)) & 7));
        let out = crossing::read(w.row(op.src[0]), &from, if op.imm2 == 0 { exec } else { !0 });
        *w.row_mut(op.dst) = out;
        if op.sdst != 0 {
            w.saved_exec = exec;
        }
        Flow::Next
    }
}

/// EXEC as it was before [`Permute`].
pub(super) struct RestoreExec;
impl Semantics for RestoreExec {
    const KIND: Kind = Kind::RESTORE_EXEC;
    #[inline(always)]
    fn run(w: &mut Wave, _op: &Op) -> Flow {
        w.set_exec(w.saved_exec);
        Flow::Next
    }
}

/// The row that M0's index, added to `base` within the register file, leads to; the last row if it leads out.
fn indexed(w: &Wave, base: u16) -> u16 {
    let index = (w.s[usize::from(scalar::M0)] & 255) as u16;
    let end = if base < rows::AGPR { rows::AGPR } else { rows::TEMP };
    (base + index).min(end - 1)
}

/// dst = the row `src[0]` plus M0's index.
pub(super) struct LoadIndexed;
impl Semantics for LoadIndexed {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let from = indexed(w, op.src[0]);
        *w.row_mut(op.dst) = *w.row(from);
        Flow::Next
    }
}

/// The row `dst` plus M0's index = src0, in the lanes of EXEC.
pub(super) struct StoreIndexed;
impl Semantics for StoreIndexed {
    #[inline(always)]
    fn run(w: &mut Wave, op: &Op) -> Flow {
        let to = indexed(w, op.dst);
        let value = *w.row(op.src[0]);
        w.write(to, &value);
        Flow::Next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dpp_controls() {
        assert_eq!(dpp_source(0x1b, 5), Some(6)); // quad_perm:[3,2,1,0]
        assert_eq!(dpp_source(0x111, 16), None); // row_shr:1
        assert_eq!(dpp_source(0x111, 17), Some(16));
        assert_eq!(dpp_source(0x101, 15), None); // row_shl:1
        assert_eq!(dpp_source(0x121, 16), Some(31)); // row_ror:1
        assert_eq!(dpp_source(0x142, 20), Some(15)); // row_bcast:15
        assert_eq!(dpp_source(0x142, 3), Some(3));
        assert_eq!(dpp_source(0x143, 40), Some(31)); // row_bcast:31
        assert_eq!(dpp_source(0x143, 20), Some(20));
        assert_eq!(dpp_source(0x141, 9), Some(14)); // row_half_mirror
    }

    #[test]
    fn permutation_is_its_definition() {
        let known = |ctrl: &u32| [Generation::Gfx90a, Generation::Gfx11].iter().any(|&g| dpp_known(g, *ctrl));
        for ctrl in (0..0x170).filter(known) {
            for exec in [!0u64, 0x0123_4567_89ab_cdef] {
                for (row_mask, bank_mask, bound) in [(15, 15, 0), (15, 15, 1), (10, 15, 0), (15, 6, 1)] {
                    let mut w = Wave::new();
                    w.set_exec(exec);
                    *w.row_mut(1) = Row(std::array::from_fn(|i| 1000 + i as u32));
                    let imm = u64::from(ctrl | bound << 16);
                    let imm2 = dpp_enabled(row_mask, bank_mask);
                    permute(&mut w, &Op { dst: 2, src: [1, 0, 0], imm, imm2, sdst: 1, ..Op::NOTHING });
                    let narrowed = w.exec();
                    for i in 0..64 {
                        let from = dpp_source(ctrl, i).filter(|&from| exec >> from & 1 != 0);
                        let on = exec >> i & 1 != 0
                            && row_mask >> (i / 16) & 1 != 0
                            && bank_mask >> (i % 16 / 4) & 1 != 0
                            && (from.is_some() || bound == 1);
                        assert_eq!(narrowed >> i & 1 != 0, on, "control {ctrl:#x} lane {i}");
                        if on {
                            assert_eq!(w.row(2).0[i], from.map_or(0, |from| 1000 + from as u32));
                        }
                    }
                    let _ = RestoreExec::run(&mut w, &Op::NOTHING);
                    assert_eq!(w.exec(), exec);
                }
            }
        }
    }
}
