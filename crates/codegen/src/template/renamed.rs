//! Templates as they were renamed lately: neighbouring places mostly have the same registers free, and to encode each
//! operand again takes longer than anything else at a place.

use std::rc::Rc;

use luthier_isa::hazard::Facts;
use luthier_isa::{EncodeError, Inst, Operand, Reg, RegRange};

use super::paths::Paths;
use super::prepared::Prepared;
use crate::machine::cures::WINDOW;
use crate::machine::{Operations, known};

/// A template with its registers, as it is issued: one that is called behind its call, and before its return.
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

/// Where a template's groups went, and the SGPRs that hold where it returns to, if it is called.
type Registers<'a> = (&'a [Reg], Option<Reg>);

#[derive(Debug)]
struct Kept {
    template: u32,
    groups: Vec<Reg>,
    link: Option<Reg>,
    code: Rc<Code>,
}

/// By the template's number and its registers.
#[derive(Debug, Default)]
pub struct Renamed {
    kept: Vec<Kept>,
    /// Which of them makes room next.
    oldest: usize,
}

impl Renamed {
    /// This many are looked through faster than one is renamed.
    const MOST: usize = 8;

    /// The template's instructions with these registers.
    pub fn code(
        &mut self,
        ops: &Operations,
        (template, prepared): (u32, &Prepared),
        (groups, link): Registers,
    ) -> Result<Rc<Code>, EncodeError> {
        let same = |kept: &&Kept| kept.template == template && kept.groups == groups && kept.link == link;
        if let Some(kept) = self.kept.iter().find(same) {
            return Ok(kept.code.clone());
        }
        let mut insts = Vec::with_capacity(prepared.insts.len() + 2);
        prepared.rename(groups, &mut insts)?;
        let paths = match link {
            Some(link) => {
                let link = Operand::Reg(RegRange::new(link, 2));
                insts.insert(0, Inst::build(ops.s_call_b64, &[link, Operand::Imm(0)])?);
                insts.push(Inst::build(ops.s_setpc_b64, &[link])?);
                // Control goes on behind both.
                let mut flow = insts.clone();
                (flow[0], flow[insts.len() - 1]) = (ops.nop(1)?, ops.nop(1)?);
                Paths::of(&flow, WINDOW)
            }
            None => Paths::of(&insts, WINDOW),
        };
        let facts: Vec<Rc<Facts>> = insts.iter().map(known::facts).collect();
        let indifferent = facts.iter().all(|facts| facts.is_indifferent());
        let code = Rc::new(Code { insts, facts, indifferent, paths });
        let entry = Kept { template, groups: groups.to_vec(), link, code: code.clone() };
        if self.kept.len() < Renamed::MOST {
            self.kept.push(entry);
        } else {
            self.kept[self.oldest] = entry;
            self.oldest = (self.oldest + 1) % Renamed::MOST;
        }
        Ok(code)
    }
}
