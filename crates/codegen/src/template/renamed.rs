//! Templates as they were renamed lately: neighbouring places mostly have the same registers free, and to encode each
//! operand again takes longer than anything else at a place.

use std::rc::Rc;

use luthier_isa::hazard::Facts;
use luthier_isa::{EncodeError, Inst, Reg};

use super::paths::Paths;
use super::prepared::Prepared;
use crate::machine::known;
use crate::machine::seams::WINDOW;

/// A template with its registers.
#[derive(Debug)]
pub struct Code {
    pub insts: Vec<Inst>,
    /// How hazards see them.
    pub facts: Vec<Rc<Facts>>,
    /// None of them keeps away from anything.
    pub indifferent: bool,
    /// Of a template that branches.
    pub paths: Option<Paths>,
}

/// By the template's number and where its groups went.
#[derive(Debug, Default)]
pub struct Renamed {
    kept: Vec<(u32, Vec<Reg>, Rc<Code>)>,
    /// Which of them makes room next.
    oldest: usize,
}

impl Renamed {
    /// So many are looked through faster than one is renamed.
    const MOST: usize = 8;

    /// The template's instructions with its groups at these registers.
    pub fn code(&mut self, template: u32, prepared: &Prepared, groups: &[Reg]) -> Result<Rc<Code>, EncodeError> {
        if let Some((.., code)) = self.kept.iter().find(|(t, regs, _)| *t == template && regs == groups) {
            return Ok(code.clone());
        }
        let mut insts = Vec::with_capacity(prepared.insts.len());
        prepared.rename(groups, &mut insts)?;
        let facts: Vec<Rc<Facts>> = insts.iter().map(known::facts).collect();
        let indifferent = facts.iter().all(|facts| facts.is_indifferent());
        let paths = Paths::of(&insts, WINDOW);
        let code = Rc::new(Code { insts, facts, indifferent, paths });
        let entry = (template, groups.to_vec(), code.clone());
        if self.kept.len() < Renamed::MOST {
            self.kept.push(entry);
        } else {
            self.kept[self.oldest] = entry;
            self.oldest = (self.oldest + 1) % Renamed::MOST;
        }
        Ok(code)
    }
}
