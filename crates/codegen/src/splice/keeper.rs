//! Where a register's value from before an instruction is kept for the hooks behind it.

use luthier_isa::{Inst, Reg, RegRange};

use super::env::Env;
use super::pool::{Pool, Want};
use crate::machine::File;
use crate::plan::Rejection;

#[derive(Clone, Copy, Debug)]
pub struct Keeper {
    pub of: RegRange,
    pub kept: RegRange,
    /// Holds EXEC while all lanes are copied: lanes that are off may be on when a hook looks.
    pub exec: Option<RegRange>,
}

impl Keeper {
    /// Registers out of the pool, in which nothing is that the instruction touches.
    ///
    /// # Errors
    /// None are left.
    pub fn take(env: &Env, pool: &mut Pool, inst: &Inst, of: RegRange) -> Result<Keeper, Rejection> {
        let vector = of.first.is_vgpr() || of.first.is_agpr();
        let file = if vector { File::Vgpr } else { File::Sgpr };
        let whole = vector && writes_exec(inst);
        let mut take =
            |want: Want| pool.take(want).ok_or(Rejection::OldValue { inst: inst.to_string(), range: of, file });
        let kept = take(Want { whole, ..Want::of(file, of.count) })?;
        let exec = whole.then(|| take(Want::of(File::Sgpr, env.machine.exec().count))).transpose()?;
        Ok(Keeper { of, kept, exec })
    }
}

fn writes_exec(inst: &Inst) -> bool {
    let mut writes = false;
    inst.for_each_access(|a| writes |= a.access.writes() && matches!(a.reg, Reg::EXEC_LO | Reg::EXEC_HI));
    writes
}
