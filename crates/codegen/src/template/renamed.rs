//! Templates as they were renamed lately: most places have the same few registers free, and to encode each operand again
//! takes longer than anything else at a place.

use std::rc::Rc;

use luthier_isa::hazard::{Facts, Hazards};
use luthier_isa::{EncodeError, Inst, Operand, Reg, RegRange};
use smallvec::SmallVec;

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
    /// None of them comes too early behind another one of them.
    pub apart: bool,
    /// Of a template that branches.
    pub paths: Option<Paths>,
}

/// Where a template's groups went, and the SGPRs that hold where it returns to, if it is called.
type Registers<'a> = (&'a [Reg], Option<Reg>);

#[derive(Debug)]
struct Kept<'a> {
    template: &'a Prepared,
    groups: SmallVec<[Reg; 4]>,
    link: Option<Reg>,
    code: Rc<Code>,
}

/// By a hash of the template and its registers. A newer one takes the place of an older one.
#[derive(Debug, Default)]
pub struct Renamed<'a> {
    kept: Vec<Option<Kept<'a>>>,
}

impl<'a> Renamed<'a> {
    /// A power of two.
    const SLOTS: usize = 256;

    /// The template's instructions with these registers.
    pub fn code(
        &mut self,
        ops: &Operations,
        prepared: &'a Prepared,
        (groups, link): Registers,
    ) -> Result<Rc<Code>, EncodeError> {
        if self.kept.is_empty() {
            self.kept.resize_with(Renamed::SLOTS, || None);
        }
        let template = std::ptr::from_ref(prepared).addr() / align_of::<Prepared>();
        let hash =
            groups.iter().chain(&link).fold(template, |hash, reg| hash.wrapping_mul(31).wrapping_add(reg.index()));
        let slot = &mut self.kept[hash.wrapping_mul(0x9e37_79b9) >> 16 & (Renamed::SLOTS - 1)];
        let same =
            |kept: &&Kept| std::ptr::eq(kept.template, prepared) && kept.groups[..] == *groups && kept.link == link;
        if let Some(kept) = slot.as_ref().filter(same) {
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
        let apart = match &paths {
            Some(paths) => paths.first.iter().all(|way| is_apart(way.iter().map(|n| &*facts[*n]))),
            None => is_apart(facts.iter().map(|facts| &**facts)),
        };
        let code = Rc::new(Code { insts, facts, indifferent, apart, paths });
        *slot = Some(Kept { template: prepared, groups: groups.into(), link, code: code.clone() });
        Ok(code)
    }
}

/// Whether each of these instructions, which come one after the other, is far enough from those before it.
fn is_apart<'f>(mut code: impl Iterator<Item = &'f Facts>) -> bool {
    let mut state = Hazards::brief();
    code.all(|facts| {
        let needed = state.needed(facts);
        state.step(facts);
        needed.is_none()
    })
}
