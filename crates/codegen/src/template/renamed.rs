//! Templates as they were renamed lately: neighbouring points mostly have the same registers free, and to encode each
//! operand again takes longer than anything else at a point.

use luthier_isa::{EncodeError, Inst, Reg};

use super::prepared::Prepared;

/// By the template's number and where its groups went.
#[derive(Clone, Debug, Default)]
pub struct Renamed {
    kept: Vec<(u32, Vec<Reg>, Vec<Inst>)>,
    /// Which of them makes room next.
    oldest: usize,
}

impl Renamed {
    /// So many are looked through faster than one is renamed.
    const MOST: usize = 8;

    /// Appends the template's instructions with its groups at these registers.
    pub fn append(
        &mut self,
        template: u32,
        prepared: &Prepared,
        groups: &[Reg],
        out: &mut Vec<Inst>,
    ) -> Result<(), EncodeError> {
        if let Some((.., insts)) = self.kept.iter().find(|(t, regs, _)| *t == template && regs == groups) {
            out.extend_from_slice(insts);
            return Ok(());
        }
        let start = out.len();
        prepared.rename(groups, out)?;
        let entry = (template, groups.to_vec(), out[start..].to_vec());
        if self.kept.len() < Renamed::MOST {
            self.kept.push(entry);
        } else {
            self.kept[self.oldest] = entry;
            self.oldest = (self.oldest + 1) % Renamed::MOST;
        }
        Ok(())
    }
}
