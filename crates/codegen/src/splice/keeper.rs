//! Where a register's value from before an instruction is kept for the hooks behind it.

use luthier_isa::{Inst, Reg, RegRange};

use super::env::Env;
use super::pool::{Pool, Want};
use crate::register_file::File;

#[derive(Clone, Copy, Debug)]
pub struct Keeper {
    pub of: RegRange,
    pub kept: RegRange,
    /// Holds EXEC while all lanes are copied: lanes that are off may be on when a hook looks.
    pub exec: Option<RegRange>,
}

impl Keeper {
    /// Registers out of the pool, in which nothing is that the instruction touches; none if none are left. `moves`: what
    /// stands in its place gives the application another EXEC.
    pub fn take(env: &Env, pool: &mut Pool, inst: &Inst, of: RegRange, moves: bool) -> Option<Keeper> {
        let vector = of.first.is_vgpr() || of.first.is_agpr();
        let file = if vector { File::Vgpr } else { File::Sgpr };
        let whole = vector && (moves || writes_exec(inst));
        let want = Want { whole, ..Want::of(file, of.count) };
        // Where hooks look for a value it may be as it is if it is aligned; it need not be.
        let loose = Want { align: 1, ..want };
        let agprs = Want { file: File::Agpr, whole: false, ..loose };
        let wants = [Some(want), vector.then_some(loose), of.first.is_vgpr().then_some(agprs)];
        let kept = wants.into_iter().flatten().find_map(|want| pool.take(want))?;
        let exec = match whole {
            true => Some(pool.take(Want::of(File::Sgpr, env.machine.exec().count))?),
            false => None,
        };
        Some(Keeper { of, kept, exec })
    }
}

fn writes_exec(inst: &Inst) -> bool {
    let mut writes = false;
    inst.for_each_access(|a| writes |= a.access.writes() && matches!(a.reg, Reg::EXEC_LO | Reg::EXEC_HI));
    writes
}
