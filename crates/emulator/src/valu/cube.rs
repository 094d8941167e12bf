//! Cube map coordinates from a direction (x, y, z).

use luthier_isa::op::Op as IsaOp;

use super::op;
use crate::fp;
use crate::lanes::map3;
use crate::mode::Mode;
use crate::op::{Flow, Op};
use crate::registry::ValuOp;
use crate::wave::Wave;

/// Chooses by the major axis: z if no other is larger in magnitude, then y, then x.
#[inline(always)]
fn by_axis(w: &mut Wave, op: &Op, z: Choice, y: Choice, x: Choice, last: fn(Mode, u32) -> u32) -> Flow {
    let m = w.mode;
    map3(w, op, |a, b, c| {
        let (a, b, c) = (fp::in32(m, a), fp::in32(m, b), fp::in32(m, c));
        let (fx, fy, fz) = (f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
        let v = if fy.abs() >= fx.abs() { y(fx, fy, fz) } else { x(fx, fy, fz) };
        let v = if (fz.abs() >= fx.abs()) & (fz.abs() >= fy.abs()) { z(fx, fy, fz) } else { v };
        fp::out32(m, last(m, v.to_bits()))
    })
}
type Choice = fn(f32, f32, f32) -> f32;

fn same(_: Mode, x: u32) -> u32 {
    x
}
/// Twice the major axis, which overflows as MODE's rounding has it.
fn double(m: Mode, x: u32) -> u32 {
    fp::soft::mul32(m, x, 2.0f32.to_bits())
}

pub fn lookup(op: IsaOp) -> Option<ValuOp> {
    Some(match op {
        IsaOp::VCubeidF32 => op!(scalar w, o => by_axis(w, o,
            |_, _, z| if z < 0.0 { 5.0 } else { 4.0 },
            |_, y, _| if y < 0.0 { 3.0 } else { 2.0 },
            |x, _, _| if x < 0.0 { 1.0 } else { 0.0 }, same)),
        IsaOp::VCubescF32 => op!(scalar w, o => by_axis(w, o,
            |x, _, z| if z < 0.0 { -x } else { x },
            |x, _, _| x,
            |x, _, z| if x < 0.0 { z } else { -z }, same)),
        IsaOp::VCubetcF32 => op!(scalar w, o => by_axis(w, o,
            |_, y, _| -y,
            |_, y, z| if y < 0.0 { -z } else { z },
            |_, y, _| -y, same)),
        IsaOp::VCubemaF32 => op!(scalar w, o => by_axis(w, o, |_, _, z| z, |_, y, _| y, |x, _, _| x, double)),
        _ => return None,
    })
}
