//! Python's arithmetic on fixed widths. LLVM leaves division by zero, `MIN / -1` and wide shifts undefined; here each
//! has a value, at the price of a select that disappears when the right side is a constant.

use super::{
    super::ast::{At, BinaryOp, Space, Type},
    Body, Val, ll,
};
use crate::template::HookError;

impl Body<'_, '_> {
    pub(super) fn binary(&mut self, op: BinaryOp, left: &Val, right: &Val, at: At) -> Result<Val, HookError> {
        let ty = left.ty;
        let name = match (op, ty.is_float()) {
            (BinaryOp::Add, true) => "fadd",
            (BinaryOp::Sub, true) => "fsub",
            (BinaryOp::Mul, true) => "fmul",
            (BinaryOp::Div, true) => "fdiv",
            (_, true) => return self.fail(at, format!("{op:?} is not for floats")),
            (BinaryOp::Add, _) => "add",
            (BinaryOp::Sub, _) => "sub",
            (BinaryOp::Mul, _) => "mul",
            (BinaryOp::And, _) => "and",
            (BinaryOp::Or, _) => "or",
            (BinaryOp::Xor, _) => "xor",
            (BinaryOp::Div, _) => return self.fail(at, "Div is for floats"),
            (BinaryOp::FloorDiv | BinaryOp::Mod, _) => return Ok(self.divide(op, left, right)),
            (BinaryOp::Shl | BinaryOp::Shr, _) => return self.shift(op, left, right, at),
        };
        Ok(Val { ty, text: self.op(format!("{name} {}, {}", left.typed(), right.text)) })
    }

    /// `//` and `%`: rounding toward minus infinity, the remainder with the divisor's sign; 0 when the divisor is 0.
    fn divide(&mut self, op: BinaryOp, left: &Val, right: &Val) -> Val {
        let (ty, int) = (left.ty, ll(left.ty));
        let (a, b) = (&left.text, &right.text);
        let by_zero = self.op(format!("icmp eq {int} {b}, 0"));
        if !ty.is_signed() {
            let safe = self.op(format!("select i1 {by_zero}, {int} 1, {int} {b}"));
            // A remainder by 1 is 0, as it has to be for 0.
            let text = if op == BinaryOp::Mod {
                self.op(format!("urem {int} {a}, {safe}"))
            } else {
                let quotient = self.op(format!("udiv {int} {a}, {safe}"));
                self.op(format!("select i1 {by_zero}, {int} 0, {int} {quotient}"))
            };
            return Val { ty, text };
        }
        // 0 and -1 apart: MIN // -1 would overflow, and is MIN again.
        let next = self.op(format!("add {int} {b}, 1"));
        let special = self.op(format!("icmp ult {int} {next}, 2"));
        let safe = self.op(format!("select i1 {special}, {int} 1, {int} {b}"));
        let remainder = self.op(format!("srem {int} {a}, {safe}"));
        let inexact = self.op(format!("icmp ne {int} {remainder}, 0"));
        let mixed = self.op(format!("xor {int} {remainder}, {safe}"));
        let signs_differ = self.op(format!("icmp slt {int} {mixed}, 0"));
        let adjust = self.op(format!("and i1 {inexact}, {signs_differ}"));
        let text = if op == BinaryOp::Mod {
            let moved = self.op(format!("add {int} {remainder}, {safe}"));
            self.op(format!("select i1 {adjust}, {int} {moved}, {int} {remainder}"))
        } else {
            let quotient = self.op(format!("sdiv {int} {a}, {safe}"));
            let one = self.op(format!("zext i1 {adjust} to {int}"));
            let floor = self.op(format!("sub {int} {quotient}, {one}"));
            let negated = self.op(format!("sub {int} 0, {a}"));
            let other = self.op(format!("select i1 {by_zero}, {int} 0, {int} {negated}"));
            self.op(format!("select i1 {special}, {int} {other}, {int} {floor}"))
        };
        Val { ty, text }
    }

    /// `<<` and `>>`: an amount of the width or more, or a negative one, shifts everything out.
    fn shift(&mut self, op: BinaryOp, left: &Val, right: &Val, at: At) -> Result<Val, HookError> {
        let (ty, int) = (left.ty, ll(left.ty));
        let width = ty.bits();
        // Compared in its own type: a negative amount is a huge one.
        let inside = self.op(format!("icmp ult {}, {width}", right.typed()));
        let amount = self.cast(right.clone(), ty, at)?;
        let masked = self.op(format!("and {int} {}, {}", amount.text, width - 1));
        let text = if op == BinaryOp::Shr && ty.is_signed() {
            let amount = self.op(format!("select i1 {inside}, {int} {masked}, {int} {}", width - 1));
            self.op(format!("ashr {int} {}, {amount}", left.text))
        } else {
            let name = if op == BinaryOp::Shl { "shl" } else { "lshr" };
            let shifted = self.op(format!("{name} {int} {}, {masked}", left.text));
            self.op(format!("select i1 {inside}, {int} {shifted}, {int} 0"))
        };
        Ok(Val { ty, text })
    }

    /// A conversion: integers are cut off or extended by their own sign, floats are rounded toward zero and held to the
    /// integer's range (a NaN becomes 0).
    pub(super) fn cast(&mut self, value: Val, to: Type, at: At) -> Result<Val, HookError> {
        let from = value.ty;
        if from == to {
            return Ok(value);
        }
        let pointer = |t: Type| matches!(t, Type::Ptr { .. });
        let text = match (from, to) {
            (_, Type::Array { .. }) | (Type::Array { .. }, _) => return self.fail(at, "an array is not converted"),
            (Type::Ptr { space: Space::Global, .. }, Type::Ptr { space: Space::Const, .. }) => {
                self.op(format!("addrspacecast {} to {}", value.typed(), ll(to)))
            }
            (Type::Ptr { space: a, .. }, Type::Ptr { space: b, .. }) if a == b => value.text,
            _ if pointer(from) && to.bits() == 64 && !pointer(to) && !to.is_float() => {
                self.op(format!("ptrtoint {} to i64", value.typed()))
            }
            _ if pointer(to) && from.bits() == 64 && !pointer(from) && !from.is_float() => {
                self.op(format!("inttoptr {} to {}", value.typed(), ll(to)))
            }
            _ if pointer(from) || pointer(to) => return self.fail(at, "this conversion of a pointer does not exist"),
            _ if from.is_float() && to.is_float() => {
                let name = if from.bits() < to.bits() { "fpext" } else { "fptrunc" };
                self.op(format!("{name} {} to {}", value.typed(), ll(to)))
            }
            _ if from.is_float() => {
                let name =
                    format!("llvm.fpto{}i.sat.{}.f{}", if to.is_signed() { "s" } else { "u" }, ll(to), from.bits());
                self.module.declare(&name, format!("declare {} @{name}({})", ll(to), ll(from)));
                self.op(format!("call {} @{name}({})", ll(to), value.typed()))
            }
            _ if to.is_float() => {
                let value = if to.bits() == 16 && from.bits() > 16 { self.within_f16(value) } else { value };
                let name = if from.is_signed() { "sitofp" } else { "uitofp" };
                self.op(format!("{name} {} to {}", value.typed(), ll(to)))
            }
            (_, Type::Bool) => self.op(format!("icmp ne {}, 0", value.typed())),
            _ if from.bits() == to.bits() => value.text,
            _ => {
                let name = match (from.bits() > to.bits(), from.is_signed()) {
                    (true, _) => "trunc",
                    (false, true) => "sext",
                    (false, false) => "zext",
                };
                self.op(format!("{name} {} to {}", value.typed(), ll(to)))
            }
        };
        Ok(Val { ty: to, text })
    }

    /// An integer as one of -65535 to 65535, which are infinite in f16 as all beyond them are. LLVM takes a conversion to
    /// f16 for exact if few bits of the integer can be set, however high: `lt.f32(lt.f16(x << 63))` would be finite.
    fn within_f16(&mut self, value: Val) -> Val {
        let (ty, int) = (value.ty, ll(value.ty));
        let less = if ty.is_signed() { "slt" } else { "ult" };
        let below = self.op(format!("icmp {less} {}, 65535", value.typed()));
        let mut text = self.op(format!("select i1 {below}, {int} {}, {int} 65535", value.text));
        if ty.is_signed() {
            let above = self.op(format!("icmp sgt {int} {text}, -65535"));
            text = self.op(format!("select i1 {above}, {int} {text}, {int} -65535"));
        }
        Val { ty, text }
    }
}
