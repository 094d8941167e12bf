//! Bits that go to a place that another operand says: shifts, fields, bytes. Where that operand is defined, they move as
//! they do by a constant, and what comes in beside them is defined.

use super::terms::{Rule, Way};

/// What an instruction does with the place, all but the place itself. Numbers are those of operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placed {
    Shift {
        way: Way,
        width: u32,
        by: usize,
        value: usize,
    },
    /// The first place, and the width.
    Field {
        signed: bool,
    },
    /// Place and width in one operand, and the bits of the result.
    Packed {
        bits: u32,
        signed: bool,
    },
    /// Two words, shifted right by bits, or by bytes.
    Funnel {
        each: u32,
    },
    Bytes,
    /// The first operand shifted left, or-ed with the third.
    Beside,
    /// The same, added.
    Sum,
    /// The sum of two, shifted left.
    SumShifted,
}

impl Placed {
    pub fn of(base: &str) -> Option<Placed> {
        let vector = |way, width| Some(Placed::Shift { way, width, by: 0, value: 1 });
        let scalar = |way, width| Some(Placed::Shift { way, width, by: 1, value: 0 });
        match base {
            "v_lshlrev_b16" => vector(Way::Left, 16),
            "v_lshrrev_b16" => vector(Way::Right, 16),
            "v_ashrrev_i16" => vector(Way::Signed, 16),
            "v_lshlrev_b32" => vector(Way::Left, 32),
            "v_lshrrev_b32" => vector(Way::Right, 32),
            "v_ashrrev_i32" => vector(Way::Signed, 32),
            "v_lshlrev_b64" => vector(Way::Left, 64),
            "v_lshrrev_b64" => vector(Way::Right, 64),
            "v_ashrrev_i64" => vector(Way::Signed, 64),
            "s_lshl_b32" => scalar(Way::Left, 32),
            "s_lshr_b32" => scalar(Way::Right, 32),
            "s_ashr_i32" => scalar(Way::Signed, 32),
            "s_lshl_b64" => scalar(Way::Left, 64),
            "s_lshr_b64" => scalar(Way::Right, 64),
            "s_ashr_i64" => scalar(Way::Signed, 64),
            "v_bfe_u32" => Some(Placed::Field { signed: false }),
            "v_bfe_i32" => Some(Placed::Field { signed: true }),
            "s_bfe_u32" => Some(Placed::Packed { bits: 32, signed: false }),
            "s_bfe_i32" => Some(Placed::Packed { bits: 32, signed: true }),
            "s_bfe_u64" => Some(Placed::Packed { bits: 64, signed: false }),
            "s_bfe_i64" => Some(Placed::Packed { bits: 64, signed: true }),
            "v_alignbit_b32" => Some(Placed::Funnel { each: 1 }),
            "v_alignbyte_b32" => Some(Placed::Funnel { each: 8 }),
            "v_perm_b32" => Some(Placed::Bytes),
            "v_lshl_or_b32" => Some(Placed::Beside),
            "v_lshl_add_u32" => Some(Placed::Sum),
            "v_add_lshl_u32" => Some(Placed::SumShifted),
            _ => None,
        }
    }

    /// The operands that say the place.
    pub fn places(self) -> &'static [usize] {
        match self {
            Placed::Shift { by: 0, .. } => &[0],
            Placed::Field { .. } => &[1, 2],
            Placed::Shift { .. } | Placed::Packed { .. } | Placed::Beside | Placed::Sum => &[1],
            Placed::Funnel { .. } | Placed::Bytes | Placed::SumShifted => &[2],
        }
    }

    /// The rule where those operands have these values.
    pub fn rule(self, place: impl Fn(usize) -> u32) -> Rule {
        match self {
            Placed::Shift { way, width, by, value } => Rule::Shift { way, by: place(by) & (width - 1), width, value },
            Placed::Field { signed } => Rule::Field { from: place(1) & 31, width: place(2) & 31, signed, bits: 32 },
            Placed::Packed { bits, signed } => {
                let packed = place(1);
                Rule::Field { from: packed & (bits - 1), width: (packed >> 16 & 0x7f).min(bits), signed, bits }
            }
            Placed::Funnel { each } => Rule::Funnel(each * (place(2) & (32 / each - 1))),
            Placed::Bytes => Rule::Bytes(place(2)),
            Placed::Beside => Rule::Beside(place(1) & 31),
            Placed::Sum => Rule::Sum { by: place(1) & 31, other: 2 },
            Placed::SumShifted => Rule::SumShifted(place(2) & 31),
        }
    }
}
