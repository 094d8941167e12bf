//! `v_screen_partition_4se_b32` of GCN 5: which of four shader engines the rectangle of a primitive touches.
//!
//! The Vega manual gives a table of 256 masks and says where they come from: of tiles of 32 x 32 pixels, the one in
//! column x and row y belongs to engine { x\[0\] ^ y\[1\], y\[0\] ^ x\[1\] }. The operand has the lowest two bits of the
//! tile columns and rows at two corners, { x_min, y_min, x_max, y_max }; from one to the other they count modulo four.

use luthier_isa::op::Op as IsaOp;

use super::op;
use crate::lanes::map1;
use crate::registry::ValuOp;

/// One bit for each engine.
const fn engines(corners: u32) -> u8 {
    const fn bits(corners: u32, shift: u32) -> u32 {
        corners >> shift & 3
    }
    let columns = bits(corners, 2).wrapping_sub(bits(corners, 6)) & 3;
    let rows = bits(corners, 0).wrapping_sub(bits(corners, 4)) & 3;
    let (mut mask, mut tile) = (0, 0);
    while tile < 16 {
        if tile % 4 <= columns && tile / 4 <= rows {
            let (x, y) = (bits(corners, 6) + tile % 4, bits(corners, 4) + tile / 4);
            mask |= 1 << (((x ^ y >> 1) & 1) * 2 + ((y ^ x >> 1) & 1));
        }
        tile += 1;
    }
    mask
}

static ENGINES: [u8; 256] = {
    let mut table = [0; 256];
    let mut corners = 0;
    while corners < 256 {
        table[corners] = engines(corners as u32);
        corners += 1;
    }
    table
};

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    match op {
        IsaOp::VScreenPartition4seB32 => {
            Some(op!(scalar w, o => map1(w, o, |corners| ENGINES[corners as usize & 255].into())))
        }
        _ => None,
    }
}
