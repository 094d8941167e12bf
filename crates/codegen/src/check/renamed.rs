//! Is placed code the template with its registers renamed, and nothing else?

use std::collections::HashMap;

use luthier_isa::{Inst, Operand, Reg};

use crate::Template;

/// From the template's units to the placed ones.
#[derive(Debug, Default)]
pub struct Renaming {
    to: HashMap<Reg, Reg>,
    from: HashMap<Reg, Reg>,
}

fn renamable(reg: Reg) -> bool {
    reg.is_sgpr() || reg.is_vgpr() || reg.is_agpr()
}

impl Renaming {
    /// Compares instruction by instruction.
    pub fn between(template: &Template, placed: &[Inst]) -> Result<Renaming, String> {
        if template.insts.len() != placed.len() {
            return Err(format!(
                "{} has {} instructions, {} stand here",
                template.name,
                template.insts.len(),
                placed.len()
            ));
        }
        let mut renaming = Renaming::default();
        for (n, (old, new)) in template.insts.iter().zip(placed).enumerate() {
            let differs = |what: &str| format!("instruction {n} of {}, {old}, became {new}: {what}", template.name);
            if old.info().id != new.info().id || old.size() != new.size() {
                return Err(differs("another operation"));
            }
            let relocated = template.relocs.iter().any(|r| r.inst == n);
            for ((info, a), (_, b)) in old.operands().zip(new.operands()) {
                match (a, b) {
                    (Operand::Reg(a), Operand::Reg(b)) if a.count == b.count => {
                        for (a, b) in a.units().zip(b.units()) {
                            renaming.note(a, b).map_err(|e| differs(&e))?;
                        }
                    }
                    (Operand::Literal(_), Operand::Literal(_)) if relocated => {}
                    (a, b) if a == b => {}
                    _ => return Err(differs(&format!("another value in {:?}", info.field))),
                }
            }
        }
        Ok(renaming)
    }

    fn note(&mut self, from: Reg, to: Reg) -> Result<(), String> {
        let same_file =
            from.is_sgpr() == to.is_sgpr() && from.is_vgpr() == to.is_vgpr() && from.is_agpr() == to.is_agpr();
        if !renamable(from) && from != to || !same_file {
            return Err(format!("{from} cannot become {to}"));
        }
        if *self.to.entry(from).or_insert(to) != to || *self.from.entry(to).or_insert(from) != from {
            return Err(format!("{from} became {to} here and another register elsewhere"));
        }
        Ok(())
    }
    /// `None` for a unit that no instruction names.
    pub fn placed(&self, unit: Reg) -> Option<Reg> {
        if renamable(unit) { self.to.get(&unit).copied() } else { Some(unit) }
    }
    pub fn original(&self, unit: Reg) -> Option<Reg> {
        if renamable(unit) { self.from.get(&unit).copied() } else { Some(unit) }
    }
}
