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

    /// Lanes without a source are written all the same.
    pub fn bound_zero(self) -> bool {
        matches!(self, Dpp::Rows { bound_zero: true, .. } | Dpp::Eight(_))
    }

    /// What a lane reads.
    pub fn source(self, lane: usize, exec: u64) -> Option<usize> {
        match self {
            Dpp::Rows { ctrl, row_mask, bank_mask, fetches, .. } => {
                let enabled = row_mask >> (lane / 16) & 1 != 0 && bank_mask >> (lane % 16 / 4) & 1 != 0;
                dpp_source(ctrl, lane).filter(|&from| enabled && (fetches || exec >> from & 1 != 0))
            }
            Dpp::Eight(lanes) => Some(lane & !7 | (lanes >> (3 * (lane & 7)) & 7) as usize),
        }
    }
}
