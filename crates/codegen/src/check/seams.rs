//! Where inserted code meets other code: wait states and waits for dependencies by isa's table, and memory instructions
//! that are replayed in a row.

use luthier_isa::{Flags, Inst, Mode, RegSet};

use super::{Violation, Wrong};

/// Whose instruction it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whose {
    Application,
    /// That many places have been inserted before.
    Inserted(u32),
}

/// A run of memory instructions of one kind, which is replayed as a whole after a page fault.
#[derive(Clone, Debug, Default)]
struct Run {
    scalar: bool,
    from: Vec<Whose>,
    reads: RegSet,
    writes: RegSet,
}

/// Follows the instructions that a wave issues.
#[derive(Clone, Debug)]
pub struct Seams {
    replays: bool,
    places: u32,
    run: Run,
}

impl Seams {
    /// Nothing is known of what came before. `replays` says that memory instructions in a row may be replayed.
    pub fn start(_mode: Mode, replays: bool) -> Seams {
        Seams { replays, places: 0, run: Run::default() }
    }

    /// The application's next instruction, as it stands in the copy.
    pub fn application(&mut self, address: u64, inst: &Inst) -> Vec<Violation> {
        self.issue(address, inst, Whose::Application)
    }

    /// Inserted code.
    pub fn inserted(&mut self, address: u64, insts: &[Inst]) -> Vec<Violation> {
        self.places += 1;
        let whose = Whose::Inserted(self.places);
        insts.iter().flat_map(|inst| self.issue(address, inst, whose)).collect()
    }

    fn issue(&mut self, address: u64, inst: &Inst, whose: Whose) -> Vec<Violation> {
        let mut found = Vec::new();
        if self.replays && self.replay(inst, whose) {
            found.push(Violation { address, kind: Wrong::Replay { inst: Box::new(*inst) } });
        }
        found
    }

    /// Whether it stands in a run with other code's, of which one writes what another reads.
    fn replay(&mut self, inst: &Inst, whose: Whose) -> bool {
        let flags = inst.info().flags;
        let scalar = flags.contains(Flags::SMEM);
        if !flags.intersects(Flags::SMEM | Flags::VMEM | Flags::FLAT) {
            self.run = Run::default();
            return false;
        }
        if scalar != self.run.scalar {
            self.run = Run { scalar, ..Run::default() };
        }
        let run = &mut self.run;
        if !run.from.contains(&whose) {
            run.from.push(whose);
        }
        inst.for_each_access(|a| {
            if a.access.writes() {
                run.writes.insert(a.reg);
            }
            if a.access.reads() {
                run.reads.insert(a.reg);
            }
        });
        run.from.len() > 1 && run.writes.intersects(&run.reads)
    }
}
