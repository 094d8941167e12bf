//! Additions and subtractions of known values.

use crate::class::Kind;
use crate::values::Value;

/// Result and SCC of a 32-bit addition or subtraction.
pub(crate) fn arithmetic(
    kind: Kind,
    a: Option<Value>,
    b: Option<Value>,
    scc: Option<Value>,
) -> (Option<Value>, Option<Value>) {
    use Value::{Carry, Const, Entry, High, Low};
    let (Some(a), Some(b)) = (a, b) else { return (None, None) };
    // Addition commutes; keep the address on the left.
    let (a, b) = match (kind, a) {
        (Kind::AddU32 | Kind::AddcU32 | Kind::AddI32, Const(_)) if !matches!(b, Const(_)) => (b, a),
        _ => (a, b),
    };
    match (kind, a, b) {
        (Kind::AddU32, Low { vaddr, source }, Const(by)) => {
            (Some(Low { vaddr: vaddr.wrapping_add(by), source }), Some(Carry { vaddr, by, minus: false }))
        }
        (Kind::SubU32, Low { vaddr, source }, Const(by)) => {
            (Some(Low { vaddr: vaddr.wrapping_sub(by), source }), Some(Carry { vaddr, by, minus: true }))
        }
        // The stack pointer and the frame's places; SCC is the carry or the overflow, which no caller asks for.
        (Kind::AddU32 | Kind::AddI32, Entry { unit, plus }, Const(by)) => {
            (Some(Entry { unit, plus: plus.wrapping_add(by) }), None)
        }
        (Kind::SubU32 | Kind::SubI32, Entry { unit, plus }, Const(by)) => {
            (Some(Entry { unit, plus: plus.wrapping_sub(by) }), None)
        }
        (Kind::AddI32, Const(a), Const(b)) => (Some(Const(a.wrapping_add(b))), None),
        (Kind::SubI32, Const(a), Const(b)) => (Some(Const(a.wrapping_sub(b))), None),
        (Kind::AddU32, Const(a), Const(b)) => {
            let (sum, carry) = a.overflowing_add(b);
            (Some(Const(sum)), Some(Const(carry.into())))
        }
        (Kind::SubU32, Const(a), Const(b)) => (Some(Const(a.wrapping_sub(b))), Some(Const((b > a).into()))),
        (Kind::AddcU32, High { vaddr, source }, Const(high)) => match scc {
            Some(Carry { vaddr: low, by, minus: false }) if low == vaddr as u32 => {
                let by = u64::from(high) << 32 | u64::from(by);
                (Some(High { vaddr: vaddr.wrapping_add(by), source }), None)
            }
            _ => (None, None),
        },
        (Kind::SubbU32, High { vaddr, source }, Const(high)) => match scc {
            Some(Carry { vaddr: low, by, minus: true }) if low == vaddr as u32 => {
                let by = u64::from(high) << 32 | u64::from(by);
                (Some(High { vaddr: vaddr.wrapping_sub(by), source }), None)
            }
            _ => (None, None),
        },
        (Kind::AddcU32, Const(a), Const(b)) => match scc {
            Some(Const(carry)) => {
                let sum = u64::from(a) + u64::from(b) + u64::from(carry);
                (Some(Const(sum as u32)), Some(Const((sum >> 32) as u32)))
            }
            _ => (None, None),
        },
        _ => (None, None),
    }
}

/// Low and high half of a 64-bit value.
type Pair = (Option<Value>, Option<Value>);

/// A 64-bit addition: an address and a constant.
pub(crate) fn add_pairs(a: Pair, b: Pair) -> Option<(Value, Value)> {
    use Value::{Const, High, Low};
    let constant = |pair: Pair| match pair {
        (Some(Const(low)), Some(Const(high))) => Some(u64::from(high) << 32 | u64::from(low)),
        _ => None,
    };
    let (address, by) = match (constant(a), constant(b)) {
        (Some(a), Some(b)) => {
            let sum = a.wrapping_add(b);
            return Some((Const(sum as u32), Const((sum >> 32) as u32)));
        }
        (None, Some(by)) => (a, by),
        (Some(by), None) => (b, by),
        (None, None) => return None,
    };
    match address {
        (Some(Low { vaddr: low, .. }), Some(High { vaddr, source })) if vaddr as u32 == low => {
            let vaddr = vaddr.wrapping_add(by);
            Some((Low { vaddr: vaddr as u32, source }, High { vaddr, source }))
        }
        _ => None,
    }
}
