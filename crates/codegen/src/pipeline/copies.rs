//! The copies of all functions, in parallel; a component is copied as a whole or not at all.

use luthier_lifter::{FuncId, Program};
use luthier_loader::Kernel;
use rayon::prelude::*;

use crate::component::Component;
use crate::copy::prologue::{self, Front};
use crate::copy::{self, ChunkMap, Copied, KernelEntry, Refusal, Spot, Task};
use crate::layout::chunk::ChunkId;
use crate::machine::scratch::ScratchInputs;
use crate::plan::Checked;
use crate::template::renamed::Renamed;

/// A chunk for every function of every component: its component, and the function.
pub type Numbered = Vec<(usize, FuncId)>;

pub fn number(program: &Program, components: &[Component]) -> (ChunkMap, Numbered) {
    let mut of_function = vec![None; program.functions().len()];
    let mut all = Vec::new();
    for (c, component) in components.iter().enumerate() {
        for &f in &component.functions {
            of_function[f.index()] = Some(ChunkId(all.len() as u32));
            all.push((c, f));
        }
    }
    (ChunkMap { of_function }, all)
}

/// What stands in front of those functions that kernels begin with.
type Fronts = Vec<Option<Result<Front, Refusal>>>;

/// The copies of all functions, still without what stands in front of kernels, and that.
pub struct Made {
    copies: Vec<Result<Copied, Refusal>>,
    fronts: Fronts,
}

impl Made {
    /// Which components want scratch that they could have, and have none.
    pub fn wanting(&self, components: &[Component], functions: &Numbered) -> Vec<bool> {
        let mut all = vec![false; components.len()];
        for (n, (c, _)) in functions.iter().enumerate().filter(|(_, (c, _))| components[*c].has_no_scratch_yet) {
            let front = self.fronts[n].as_ref().map(|front| front.as_ref().map(|front| &front.copied));
            let both = [Some(self.copies[n].as_ref()), front].into_iter().flatten();
            let wants = |copied: &Copied| copied.rejected.iter().any(|rejected| rejected.reason.wants_scratch());
            all[*c] |= both.into_iter().any(|copied| copied.map_or(true, wants));
        }
        all
    }
}

/// What the copies are made for.
pub struct Copies<'a> {
    pub components: &'a [Component<'a>],
    pub functions: &'a Numbered,
    pub map: &'a ChunkMap,
    /// All of them, sorted.
    pub spots: &'a [Spot],
    pub checked: Checked,
}

impl<'a> Copies<'a> {
    fn task(&self, n: usize) -> (Task<'a>, &'a [Spot]) {
        let (c, func) = self.functions[n];
        let component = &self.components[c];
        let env = &component.env;
        let instrs = env.program.function_instrs(func);
        let from = self.spots.partition_point(|s| s.instr < instrs.first);
        let to = self.spots.partition_point(|s| s.instr < instrs.end);
        let kernel = self.kernels(n).next().map(|kernel| {
            let preloads = self.kernels(n).any(|k| env.machine.preloads(&k.descriptor));
            KernelEntry { vaddr: kernel.entry, preloads }
        });
        let looked = &component.looked;
        let task = Task { env, looked, map: self.map, func, chunk: ChunkId(n as u32), kernel, checked: self.checked };
        (task, &self.spots[from..to])
    }

    /// The kernels that begin with a function.
    fn kernels(&self, n: usize) -> impl Iterator<Item = &'a Kernel> + use<'a> {
        let (c, f) = self.functions[n];
        let component = &self.components[c];
        let vaddr = component.env.program.function(f).vaddr;
        component.kernels.iter().copied().filter(move |k| k.entry == vaddr)
    }

    /// The copies of all functions, and what stands in front of kernels.
    pub fn make(&self) -> Made {
        let every = vec![true; self.components.len()];
        let mut made = Made { copies: self.functions(&every), fronts: Vec::new() };
        made.fronts = self.fronts(&made.copies, &every);
        made
    }

    /// Makes those of some components anew: they have changed.
    pub fn make_again(&self, made: &mut Made, which: &[bool]) {
        let new = self.functions(which);
        let fronts = self.fronts(&new, which);
        for (n, (copied, front)) in new.into_iter().zip(fronts).enumerate() {
            if which[self.functions[n].0] {
                (made.copies[n], made.fronts[n]) = (copied, front);
            }
        }
    }

    fn functions(&self, which: &[bool]) -> Vec<Result<Copied, Refusal>> {
        let one = |renamed: &mut Renamed<'a>, n: usize| {
            if !which[self.functions[n].0] {
                return Err(Refusal::Reason("it is copied already".to_owned()));
            }
            let (task, spots) = self.task(n);
            copy::copy(&task, spots, renamed)
        };
        (0..self.functions.len()).into_par_iter().map_init(Renamed::default, one).collect()
    }

    fn fronts(&self, copies: &[Result<Copied, Refusal>], which: &[bool]) -> Fronts {
        let mut scratch: Vec<u32> = self.components.iter().map(|c| c.env.carried.slots.scratch).collect();
        for ((c, _), copied) in self.functions.iter().zip(copies.iter()) {
            scratch[*c] = scratch[*c].max(copied.as_ref().map_or(0, |copied| copied.scratch));
        }
        let mut fronts = self.made(copies, |c| scratch[c] > 0, |c| which[c]);
        // What stands at the entries may be the first that needs scratch.
        let first = |c: usize| scratch[c] == 0;
        let mut needs = vec![false; self.components.len()];
        for (n, front) in fronts.iter().enumerate() {
            let (c, _) = self.functions[n];
            needs[c] |= first(c) && matches!(front, Some(Ok(front)) if front.copied.scratch > 0);
        }
        if needs.contains(&true) {
            let again = self.made(copies, |_| true, |c| needs[c]);
            fronts.iter_mut().zip(again).for_each(|(front, again)| *front = again.or_else(|| front.take()));
        }
        fronts
    }

    /// Puts in front of each kernel what its waves begin with.
    pub fn join(&self, made: Made) -> Vec<Result<Copied, Refusal>> {
        let Made { mut copies, fronts } = made;
        copies.par_iter_mut().zip(fronts).enumerate().for_each(|(n, (copied, front))| {
            let joined = match (copied.as_mut(), front) {
                (Ok(kernel), Some(Ok(front))) => prologue::join(&self.task(n).0, front, kernel),
                (Ok(_), Some(Err(refusal))) => Err(refusal),
                _ => Ok(()),
            };
            if let Err(refusal) = joined {
                *copied = Err(refusal);
            }
        });
        copies
    }

    /// What stands in front of the kernels of some components; `finds` says whether they have to find their scratch.
    fn made(
        &self,
        copies: &[Result<Copied, Refusal>],
        finds: impl Fn(usize) -> bool + Sync,
        wanted: impl Fn(usize) -> bool + Sync,
    ) -> Fronts {
        let one = |(n, copied): (usize, &Result<Copied, Refusal>)| {
            let (c, _) = self.functions[n];
            let kernel = self.kernels(n).next().filter(|_| wanted(c))?;
            let Ok(copied) = copied else { return None };
            let own = self.components[c].env.scratch.filter(|own| own.set_at_entry && finds(c));
            let env = &self.components[c].env;
            let begins = own.and_then(|_| env.carried.asked.begins(kernel.entry));
            let inputs = begins.and_then(|begins| ScratchInputs::of(&begins.descriptor, env.machine.mode));
            let (task, spots) = self.task(n);
            Some(prologue::front(&task, spots, &copied.starts, inputs))
        };
        copies.par_iter().enumerate().map(one).collect()
    }
}

/// A component is copied as a whole or not at all.
pub fn settle(components: &mut [Component], functions: &Numbered, copies: &mut [Result<Copied, Refusal>]) {
    for n in 0..copies.len() {
        let (c, f) = functions[n];
        let Err(refusal) = &copies[n] else { continue };
        let name = &components[c].env.program.function(f).name;
        let reason = format!("{name} cannot be copied: {refusal}");
        if components[c].refused.is_none() {
            refuse(components, c, reason, functions, copies);
        }
    }
    for (n, copied) in copies.iter().enumerate() {
        if let Ok(copied) = copied {
            let component = &mut components[functions[n].0];
            component.highest.merge(&copied.highest);
            component.scratch = component.scratch.max(copied.scratch);
        }
    }
    for (c, component) in components.iter().enumerate() {
        if let Some(reason) = &component.refused {
            for (n, _) in functions.iter().enumerate().filter(|(_, (of, _))| *of == c) {
                copies[n] = Err(Refusal::Reason(reason.clone()));
            }
        }
    }
}

pub fn refuse(
    components: &mut [Component],
    c: usize,
    reason: String,
    functions: &Numbered,
    copies: &mut [Result<Copied, Refusal>],
) {
    for (n, (component, _)) in functions.iter().enumerate() {
        if *component == c {
            copies[n] = Err(Refusal::Reason(reason.clone()));
        }
    }
    components[c].refused = Some(reason);
}
