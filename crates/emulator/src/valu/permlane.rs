//! Operations in which a lane reads another lane of the wave: `v_permlane*`.
//!
//! OP_SEL says what an inactive source lane gives: its value (bit 0), else zero (bit 1), else the destination stays.
//!
//! gfx1250's `v_permlane_bcast`, `up`, `down` and `xor` work within groups of lanes, as CUDA's shuffles do; the second
//! source says by how many lanes (which lane), the third how wide a group is. They read a lane whether it is active or
//! not; who would read beyond the group keeps its own value. `v_permlane_idx_gen` gives the address of a lane of the group
//! that ds_bpermute takes. That is what HIP's headers say of the instructions (`__shfl` and its kin, amd_device_functions),
//! and tests that others have written from section 15.14 of AMD's CDNA5 manual; rocjitsu gives zero beyond the group, and
//! for idx_gen an exclusive or. Widths that are no power of two are refused.

use luthier_isa::op::Op as IsaOp;

use super::op;
use crate::crossing::{self, Within, group_width};
use crate::error::FaultKind;
use crate::op::{Flow, Op, RawMods};
use crate::registers::Row;
use crate::registry::ValuOp;
use crate::wave::Wave;

/// Lane `i` reads what `from` says.
fn permute(w: &mut Wave, op: &Op, from: impl Fn(usize) -> usize) -> Flow {
    let (mods, exec, from) = (RawMods(op.imm), w.exec(), crossing::sources(from));
    let readable = if mods.op_sel(0) { !0 } else { exec };
    let out = crossing::read(w.row(op.src[0]), &from, readable);
    let written = if mods.op_sel(1) { exec } else { exec & crossing::reading(&from, readable) };
    w.write_masked(op.dst, &out, written);
    Flow::Next
}

/// Sixteen lane numbers of four bits from two scalars.
fn selection(w: &Wave, op: &Op) -> u64 {
    u64::from(w.row(op.src[1]).0[0]) | u64::from(w.row(op.src[2]).0[0]) << 32
}

fn no_group(w: &mut Wave, width: u32) -> Flow {
    w.fault(FaultKind::Unsupported, format!("groups of {width} lanes are not documented"))
}

fn within(w: &mut Wave, op: &Op, how: Within) -> Flow {
    let (by, width) = (w.row(op.src[1]).0[0], w.row(op.src[2]).0[0]);
    let Some(width) = group_width(width) else { return no_group(w, width) };
    let from = crossing::sources(|lane| how.source(lane, by, width));
    let out = crossing::read(w.row(op.src[0]), &from, !0);
    w.write(op.dst, &out);
    Flow::Next
}

fn address(w: &mut Wave, op: &Op) -> Flow {
    let width = w.row(op.src[1]).0[0];
    let Some(width) = group_width(width) else { return no_group(w, width) };
    let index = *w.row(op.src[0]);
    let lane = |lane: usize| index.0[lane] & (width - 1) | lane as u32 & !(width - 1);
    w.write(op.dst, &Row(std::array::from_fn(|i| lane(i) << 2)));
    Flow::Next
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VPermlane16B32 => op!(scalar w, o => {
            let select = selection(w, o);
            permute(w, o, |i| i & !15 | (select >> (4 * (i & 15)) & 15) as usize)
        })
        .raw_mods(),
        // From the other row of a pair.
        IsaOp::VPermlanex16B32 => op!(scalar w, o => {
            let select = selection(w, o);
            permute(w, o, |i| i & !15 ^ 16 | (select >> (4 * (i & 15)) & 15) as usize)
        })
        .raw_mods(),
        // Each lane says for itself which one it reads.
        IsaOp::VPermlane16VarB32 => op!(scalar w, o => {
            let select = *w.row(o.src[1]);
            permute(w, o, |i| i & !15 | select.0[i] as usize & 15)
        })
        .raw_mods(),
        IsaOp::VPermlanex16VarB32 => op!(scalar w, o => {
            let select = *w.row(o.src[1]);
            permute(w, o, |i| i & !15 ^ 16 | select.0[i] as usize & 15)
        })
        .raw_mods(),
        // The halves of the wave, whatever lanes of the other are active; a wave of 32 lanes has but one.
        IsaOp::VPermlane64B32 => op!(scalar w, o => {
            if !w.is_wave32() {
                let source = *w.row(o.src[0]);
                w.write(o.dst, &Row(std::array::from_fn(|i| source.0[i ^ 32])));
            }
            Flow::Next
        }),
        IsaOp::VPermlaneIdxGenB32 => op!(scalar w, o => address(w, o)),
        _ => {
            return Some(match Within::of(op)? {
                Within::Broadcast => op!(scalar w, o => within(w, o, Within::Broadcast)),
                Within::Up => op!(scalar w, o => within(w, o, Within::Up)),
                Within::Down => op!(scalar w, o => within(w, o, Within::Down)),
                Within::Xor => op!(scalar w, o => within(w, o, Within::Xor)),
            });
        }
    })
}
