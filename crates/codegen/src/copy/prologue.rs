//! What stands in front of a kernel: the prologue of its waves, and what the plan inserts at its entry.
//!
//! Whether the prologue has to find the wave's scratch is known only when all of the component is copied, so that this is
//! made last, and put in front of the kernel's copy, which it falls into.

use luthier_lifter::FuncId;

use super::bodies::{Inserter, Made};
use super::entry::{self, Start};
use super::{Copied, Refusal, Spot, Task};
use crate::check;
use crate::layout::chunk::Chunk;
use crate::machine::entry::PRELOAD_ENTRY;
use crate::machine::scratch::ScratchInputs;

/// What stands in front of one kernel.
#[derive(Debug)]
pub struct Front {
    pub copied: Copied,
    /// The word where what the plan inserts begins: what calls the kernel's function aims there.
    hooks: Option<u32>,
}

/// Makes it. `starts` are the kernel's entries, `inputs` what the scratch of its waves is found by, where it has to be.
pub fn front(task: &Task, spots: &[Spot], starts: &[Start], inputs: Option<ScratchInputs>) -> Result<Front, Refusal> {
    let insertions = entry::insertions(spots);
    let chunk = Chunk::default();
    let put = Inserter::new(task, Copied { chunk, ..Copied::default() });
    let mut maker = Maker { put, func: task.func, insertions, inputs };
    let hooks = match starts {
        [first] => {
            let (hooks, _) = maker.entry(first)?;
            if !first.is_first {
                maker.put.branch(first.to)?;
            }
            hooks
        }
        [first, second] => {
            maker.two(first, second)?;
            None
        }
        _ => None,
    };
    Ok(Front { copied: maker.put.out, hooks })
}

struct Maker<'a> {
    put: Inserter<'a>,
    func: FuncId,
    insertions: Vec<u32>,
    inputs: Option<ScratchInputs>,
}

impl Maker<'_> {
    /// What one entry gets. Gives the word where the plan's begins, if there is anything of it, and what was made.
    fn entry(&mut self, start: &Start) -> Result<(Option<u32>, Made), Refusal> {
        // What was issued before a wave began matters to nothing.
        self.put.seam.begin(None);
        let at = start.spotted();
        let alone = self.insertions.is_empty();
        let next: &[_] = if alone { &start.block } else { &[] };
        self.put.prologue(&super::bodies::Spotted { next, ..start.spotted() }, self.inputs, alone)?;
        if alone {
            return Ok((None, Made::new()));
        }
        let word = self.put.out.chunk.here();
        Ok((Some(word), self.put.bodies(&self.insertions, &at)?))
    }

    /// Each entry gets the same code and goes its way. At the first there is room for a branch to it only.
    fn two(&mut self, first: &Start, second: &Start) -> Result<(), Refusal> {
        let ops = &self.put.env.machine.ops;
        let nop = ops.nop(1)?;
        self.put.out.chunk.push(&ops.branch()?);
        while self.put.out.chunk.here() < (PRELOAD_ENTRY / 4) as u32 {
            self.put.out.chunk.push(&nop);
        }
        let (_, at_second) = self.entry(second)?;
        self.put.branch(second.to)?;
        let behind = self.put.out.chunk.here();
        self.put.out.chunk.words[0] |= (behind - 1) & 0xffff;
        let (_, at_first) = self.entry(first)?;
        if at_first != at_second {
            let name = &self.put.env.program.function(self.func).name;
            let reason = format!("a hook fits at one of the two entries of {name} only");
            return Err(Refusal::Reason(reason));
        }
        if !first.is_first {
            self.put.branch(first.to)?;
        }
        Ok(())
    }
}

/// Puts it in front of the kernel's copy, and what both call behind that.
pub fn join(task: &Task, front: Front, kernel: &mut Copied) -> Result<(), Refusal> {
    let Front { copied, hooks } = front;
    kernel.bodies.behind(copied.bodies, copied.chunk.here());
    kernel.chunk.prepend(copied.chunk);
    if let Some(word) = hooks {
        kernel.chunk.labels[kernel.entry as usize].word = word;
    }
    kernel.made.extend(copied.made);
    kernel.inserted += copied.inserted;
    kernel.rejected.extend(copied.rejected);
    kernel.violations.extend(copied.violations);
    kernel.highest.merge(&copied.highest);
    kernel.scratch = kernel.scratch.max(copied.scratch);
    let bodies = std::mem::take(&mut kernel.bodies);
    kernel.inserted += bodies.append(task.env, task.chunk, &mut kernel.chunk)?;
    let vaddr = task.env.program.function(task.func).vaddr;
    if task.checked.at(vaddr) {
        kernel.violations.extend(check::called(task.env, task.chunk, &kernel.chunk, bodies.calls()));
        kernel.violations.extend(check::seams(task.env, task.chunk, &kernel.chunk));
    }
    kernel.bodies = bodies;
    Ok(())
}
