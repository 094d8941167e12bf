//! Operations in which a lane reads another lane of the wave: `v_permlane*`.
//!
//! OP_SEL says what an inactive source lane gives: its value (bit 0), else zero (bit 1), else the destination stays.

use super::op;
use crate::op::{Flow, Op, RawMods};
use crate::registry::ValuOp;
use crate::wave::{Row, Wave};

/// Lane `i` reads what `from` says.
fn permute(w: &mut Wave, op: &Op, from: impl Fn(usize) -> usize) -> Flow {
    let (mods, exec) = (RawMods(op.imm), w.exec());
    let (source, mut out) = (*w.row(op.src[0]), Row::ZERO);
    let mut written = exec;
    for i in 0..w.lanes() as usize {
        let lane = from(i) & 63;
        let active = exec >> lane & 1 != 0;
        if active || mods.op_sel(0) {
            out.0[i] = source.0[lane];
        } else if !mods.op_sel(1) {
            written &= !(1 << i);
        }
    }
    w.write_masked(op.dst, &out, written);
    Flow::Next
}

/// Sixteen lane numbers of four bits from two scalars.
fn selection(w: &Wave, op: &Op) -> u64 {
    u64::from(w.row(op.src[1]).0[0]) | u64::from(w.row(op.src[2]).0[0]) << 32
}

pub fn lookup(base: &str) -> Option<ValuOp> {
    Some(match base {
        "v_permlane16_b32" => op!(scalar w, o => {
            let select = selection(w, o);
            permute(w, o, |i| i & !15 | (select >> (4 * (i & 15)) & 15) as usize)
        })
        .raw_mods(),
        // From the other row of a pair.
        "v_permlanex16_b32" => op!(scalar w, o => {
            let select = selection(w, o);
            permute(w, o, |i| i & !15 ^ 16 | (select >> (4 * (i & 15)) & 15) as usize)
        })
        .raw_mods(),
        // Each lane says for itself which one it reads.
        "v_permlane16_var_b32" => op!(scalar w, o => {
            let select = *w.row(o.src[1]);
            permute(w, o, |i| i & !15 | select.0[i] as usize & 15)
        })
        .raw_mods(),
        "v_permlanex16_var_b32" => op!(scalar w, o => {
            let select = *w.row(o.src[1]);
            permute(w, o, |i| i & !15 ^ 16 | select.0[i] as usize & 15)
        })
        .raw_mods(),
        // The halves of the wave, whatever lanes of the other are active; a wave of 32 lanes has but one.
        "v_permlane64_b32" => op!(scalar w, o => {
            if !w.is_wave32() {
                let source = *w.row(o.src[0]);
                w.write(o.dst, &Row(std::array::from_fn(|i| source.0[i ^ 32])));
            }
            Flow::Next
        }),
        _ => return None,
    })
}
