//! MFMA on signed bytes with 32-bit accumulators, which wrap.

use super::layout::{a_block, b_lane, gather, result_place, result_registers};
use crate::op::{Flow, Op, RawMods};
use crate::wave::{Row, Wave};

#[inline(always)]
pub fn run<const M: usize, const K: usize, const BLOCKS: usize>(w: &mut Wave, op: &Op) -> Flow {
    let mods = RawMods(op.imm);
    let byte = |row: u16, l: usize, e: usize| i32::from((w.row(row).0[l] >> (8 * e)) as i8);
    let a = gather::<i32, M, K, BLOCKS>(4, |l, e| byte(op.src[0], l, e));
    let b = gather::<i32, M, K, BLOCKS>(4, |l, e| byte(op.src[1], b_lane(mods, l), e));
    for r in 0..result_registers(M, BLOCKS) {
        let c = w.row(op.src[2] + r as u16);
        let mut sum = [0i32; 64];
        for l in 0..64 {
            sum[l] = c.0[l] as i32;
        }
        for run in 0..64 / M {
            let (block, row, _) = result_place::<M>(r, run * M);
            let from = a_block(mods, block, BLOCKS);
            for k in 0..K {
                let x = a.0[(from * K + k) * M + row];
                for j in 0..M {
                    let y = b.0[(block * K + k) * M + j];
                    sum[run * M + j] = sum[run * M + j].wrapping_add(x * y);
                }
            }
        }
        let mut out = Row::ZERO;
        for l in 0..64 {
            out.0[l] = sum[l] as u32;
        }
        *w.row_mut(op.dst + r as u16) = out;
    }
    Flow::Next
}
