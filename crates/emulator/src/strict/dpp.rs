//! Which lanes DPP has an instruction read.

use luthier_isa::{Field, Inst};

use crate::lower::dpp_source;

/// What DPP says of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Dpp {
    /// Control, row mask, bank mask.
    Rows { ctrl: u32, row_mask: u32, bank_mask: u32, bound_zero: bool, fetches: bool },
    /// A lane of each eight, three bits each.
    Eight(u32),
}

impl Dpp {
    pub fn of(inst: &Inst) -> Option<Dpp> {
        let field = |f| inst.field(f).unwrap_or(0);
        let format = inst.info().format;
        if format.is_dpp8() {
            return Some(Dpp::Eight(field(Field::Lanes)));
        }
        format.is_dpp16().then(|| Dpp::Rows {
            ctrl: field(Field::DppCtrl),
            row_mask: field(Field::RowMask),
            bank_mask: field(Field::BankMask),
            bound_zero: field(Field::BoundCtrl) != 0,
            fetches: field(Field::Fi) != 0,
        })
    }

    /// Whether a lane keeps what it has: one that a mask leaves out, and one without a source unless zero stands in for it.
    pub fn keeps(self, lane: usize, has_source: bool) -> bool {
        match self {
            Dpp::Rows { bound_zero, .. } => !self.is_enabled(lane) || !has_source && !bound_zero,
            Dpp::Eight(_) => false,
        }
    }

    fn is_enabled(self, lane: usize) -> bool {
        match self {
            Dpp::Rows { row_mask, bank_mask, .. } => {
                row_mask >> (lane / 16) & 1 != 0 && bank_mask >> (lane % 16 / 4) & 1 != 0
            }
            Dpp::Eight(_) => true,
        }
    }

    /// What a lane reads.
    pub fn source(self, lane: usize, exec: u64) -> Option<usize> {
        match self {
            Dpp::Rows { ctrl, fetches, .. } => {
                dpp_source(ctrl, lane).filter(|&from| self.is_enabled(lane) && (fetches || exec >> from & 1 != 0))
            }
            Dpp::Eight(lanes) => Some(lane & !7 | (lanes >> (3 * (lane & 7)) & 7) as usize),
        }
    }
}
