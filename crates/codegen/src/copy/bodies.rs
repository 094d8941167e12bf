//! What is inserted at one place: hooks, and the plan's raw instructions among them.

use luthier_isa::{Flags, Inst, Reg, RegRange, RegSet, VgprMsb};
use luthier_lifter::{InFlight, Live, Wait};
use smallvec::SmallVec;

use super::literals::write;
use super::{Copied, Refusal, Spot, Task};
use crate::check::{self, Looked};
use crate::layout::chunk::{ChunkId, Fixup, Place};
use crate::machine::scratch::ScratchInputs;
use crate::plan::{Arg, Body, Checked, Placement, Rejected, Rejection, Where};
use crate::splice::Allocation;
use crate::splice::demand::not_allocated;
use crate::splice::keeper::Keeper;
use crate::splice::prologue::Prologue;
use crate::splice::seams::Seam;
use crate::splice::settled::{self, NOTHING};
use crate::splice::{Demand, Env, HookId, Literal, Site, Splice, allocate, convention, emit};
use crate::template::renamed::Renamed;

/// The insertions that were made at a place.
pub type Made = SmallVec<[u32; 4]>;

/// A place in the copy.
pub struct Spotted<'a> {
    pub address: u64,
    /// The application's instruction that the place belongs to.
    pub inst: &'a Inst,
    pub live: &'a Live,
    pub loads: &'a InFlight,
    /// The application's instruction in front of it, if it is in the same block.
    pub previous: Option<&'a Inst>,
    /// What follows in the same block.
    pub next: &'a [Inst],
    pub indexed: bool,
    pub msb: VgprMsb,
    /// Values from before the instruction.
    pub olds: &'a [(RegRange, RegRange)],
}

impl Spotted<'_> {
    fn site<'a>(&'a self, busy: &'a RegSet, kept: &'a RegSet) -> Site<'a> {
        let Spotted { address, live, loads, indexed, msb, .. } = *self;
        Site { address, live, loads, busy, kept, indexed, msb, last: false }
    }
}

/// Puts what is inserted at one place after the other into a chunk.
pub struct Inserter<'a> {
    pub env: &'a Env<'a>,
    looked: &'a Looked<'a>,
    pub checked: Checked,
    /// What is issued, the application's instructions included.
    pub seam: Seam<'a>,
    pub out: Copied,
    /// The place that is being worked on.
    splice: Splice,
    settled: settled::Latest<'a>,
    pub renamed: Renamed<'a>,
}

impl<'a> Inserter<'a> {
    pub fn new(task: &Task<'a>, out: Copied) -> Inserter<'a> {
        let Task { env, looked, checked, .. } = *task;
        let seam = Seam::new(env.machine.mode, env.carried.unread);
        Inserter {
            env,
            looked,
            checked,
            seam,
            out,
            splice: Splice::default(),
            settled: settled::Latest::default(),
            renamed: Renamed::default(),
        }
    }

    /// Has the checker look at something, if it is to. `address` is the original's, of what is looked at.
    pub fn check_with(&mut self, address: u64, look: impl FnOnce(&mut Self) -> Vec<check::Violation>) {
        if self.checked.at(address) {
            let found = look(self);
            self.out.violations.extend(found);
        }
    }

    /// An `s_branch` to a place.
    pub fn branch(&mut self, to: Place) -> Result<Inst, Refusal> {
        let at = self.out.chunk.here();
        let branch = self.env.machine.ops.branch()?;
        self.out.chunk.push(&branch);
        self.out.chunk.fixups.push(Fixup::Branch { at, to });
        Ok(branch)
    }

    pub fn reject(&mut self, insertion: u32, address: u64, reason: Rejection) {
        self.out.rejected.push(Rejected { insertion, address, reason });
    }

    /// Inserts what the plan asks for at a place. Gives the insertions that were made.
    pub fn bodies(&mut self, insertions: &[u32], at: &Spotted) -> Result<Made, Refusal> {
        let mut made = Made::new();
        if insertions.is_empty() {
            return Ok(made);
        }
        self.splice.clear();
        self.seam.avoid(at.loads, self.env.registers.allocated.vgprs, at.msb);
        // Nothing may stand between a global wave sync operation and the wait for it.
        if at.previous.is_some_and(|i| i.info().op().is_gws()) {
            let all = Wait { vmcnt: Some(0), lgkmcnt: Some(0), expcnt: Some(0), ..Wait::default() };
            let wait = self.env.machine.wait(all)?;
            self.splice.insts.extend(wait);
        }
        let plan = self.env.plan;
        let is_hook = |i: &u32| matches!(plan.insertions[*i as usize].body, Body::Hook { .. });
        for run in insertions.chunk_by(|a, b| is_hook(a) && is_hook(b)) {
            match &plan.insertions[run[0] as usize].body {
                Body::Hook { .. } => self.hooks(run, at, &mut made)?,
                Body::Raw(insts) => {
                    for inst in insts.iter() {
                        self.raw(inst)?;
                    }
                    made.push(run[0]);
                }
                Body::Nothing => made.push(run[0]),
            }
        }
        if self.env.replays {
            self.seam.separate_next(&self.env.machine.ops, at.next.first(), &mut self.splice.insts)?;
        }
        self.forget()?;
        let env = self.env;
        let live = || {
            let mut live = at.live.any();
            live.union_with(&env.carried.reserved);
            let restored = self.splice.restored.iter();
            restored.for_each(|special| live.insert_range(special.range(env.machine)));
            live
        };
        self.seam.lead_out(&self.env.machine.ops, at.next, live, &mut self.splice.insts)?;
        self.append(&made)?;
        Ok(made)
    }

    /// The application's scalars are not marked as read, where that would last.
    fn forget(&mut self) -> Result<(), Refusal> {
        let (machine, unused) = (self.env.machine, &self.env.registers.never_used);
        // Neighbours in a pair are marked together.
        let used = |reg: Reg| {
            let neighbour = Reg::from_index(reg.index() ^ 1).unwrap_or(reg);
            !unused.contains(reg) || !unused.contains(neighbour)
        };
        if self.seam.marks(used, &self.splice.insts) {
            for inst in machine.forget_scalar_reads()? {
                self.seam.issue(&machine.ops, inst, &mut self.splice.insts)?;
            }
        }
        Ok(())
    }

    /// Registers that the kernel is given for what stands here: the hooks' own, and those of what the wave carries.
    fn given(&self) -> crate::machine::registers::Counts {
        let mut given = self.splice.highest;
        given.merge(&self.env.carried.slots.highest);
        given
    }

    fn raw(&mut self, inst: &Inst) -> Result<(), Refusal> {
        self.seam.issue(&self.env.machine.ops, *inst, &mut self.splice.insts)?;
        inst.for_each_access(|a| self.splice.highest.note(RegRange::new(a.reg, 1)));
        Ok(())
    }

    fn hooks(&mut self, insertions: &[u32], at: &Spotted, made: &mut Made) -> Result<(), Refusal> {
        let spans = self.splice.spans.len();
        let site = at.site(&NOTHING, &NOTHING);
        let alone = match insertions {
            [insertion] if at.olds.is_empty() => self.settled.find(self.env, &site, HookId::Insertion(*insertion)),
            _ => None,
        };
        match alone {
            Some((demand, allocation)) => self.place(at, &site, &[demand], &allocation, check::splice)?,
            None => self.decide(insertions, at)?,
        }
        // What stands in the code counts, and not what was decided.
        made.extend(self.splice.spans[spans..].iter().filter_map(|span| match span.hook {
            HookId::Insertion(insertion) => Some(insertion),
            HookId::Ending(_) => None,
        }));
        Ok(())
    }

    /// Decides where the hooks of a place have what they need, and emits them.
    fn decide(&mut self, insertions: &[u32], at: &Spotted) -> Result<(), Refusal> {
        let mut kept = RegSet::EMPTY;
        at.olds.iter().for_each(|(_, range)| kept.insert_range(*range));
        let called = self.env.plan.placement == Placement::CallingConvention;
        let plain = |i: &u32| self.env.hook(HookId::Insertion(*i)).is_some_and(|(_, p, _)| !p.touches_vgprs);
        let mut busy = if !called && insertions.iter().all(plain) { RegSet::EMPTY } else { self.seam.busy() };
        let site = at.site(&busy, &kept);
        let mut demands: SmallVec<[Demand; 1]> = SmallVec::with_capacity(insertions.len());
        for &insertion in insertions {
            match Demand::of(self.env, &site, at.inst, HookId::Insertion(insertion), at.olds) {
                Ok(demand) => demands.push(demand),
                Err(reason) => self.out.rejected.push(Rejected { insertion, address: at.address, reason }),
            }
        }
        let decide = if called { convention::allocate } else { allocate };
        let mut allocation = decide(self.env, &site, &demands);
        // Only hooks without VGPRs were thought to be here; where they need some after all, the busy ones matter.
        if busy.is_empty() && !called && allocation.takes_vgprs() {
            busy = self.seam.busy();
            if !busy.is_empty() {
                allocation = decide(self.env, &at.site(&busy, &kept), &demands);
            }
        }
        let site = at.site(&busy, &kept);
        for (demand, reason) in &allocation.rejected {
            if let HookId::Insertion(insertion) = demands[*demand].id {
                self.out.rejected.push(Rejected { insertion, address: at.address, reason: reason.clone() });
            }
        }
        if !called {
            self.settled.keep(self.env, &demands, &allocation);
        }
        self.place(at, &site, &demands, &allocation, check::splice)
    }

    /// Emits what was decided for a place, and has it proven.
    fn place(
        &mut self,
        at: &Spotted,
        site: &Site,
        demands: &[Demand<'a>],
        allocation: &Allocation,
        prove: fn(&check::Question) -> Vec<check::Violation>,
    ) -> Result<(), Refusal> {
        let (start, spans, literals) = (self.splice.insts.len(), self.splice.spans.len(), self.splice.literals.len());
        emit(self.env, site, demands, allocation, &mut self.renamed, &mut self.seam, &mut self.splice)?;
        self.check_with(at.address, |inserter| {
            let made: Vec<HookId> = allocation.hooks.iter().map(|hook| demands[hook.demand].id).collect();
            prove(&check::Question {
                env: inserter.env,
                looked: inserter.looked,
                site,
                olds: at.olds,
                inst: at.inst,
                insts: &inserter.splice.insts[start..],
                base: start,
                spans: &inserter.splice.spans[spans..],
                made: &made,
                literals: &inserter.splice.literals[literals..],
                highest: inserter.given(),
                scratch: inserter.splice.scratch,
            })
        });
        Ok(())
    }

    /// Ends what the wave carries, in front of its last instruction.
    pub fn ending(&mut self, at: &Spotted) -> Result<(), Refusal> {
        if at.indexed {
            return Err(Refusal::Reason(format!("VGPR indexing may be on at {:#x}, where the wave ends", at.address)));
        }
        self.splice.clear();
        self.seam.avoid(at.loads, self.env.registers.allocated.vgprs, at.msb);
        let (busy, kept) = (self.seam.busy(), RegSet::EMPTY);
        let site = Site { live: &Live::NONE, last: true, ..at.site(&busy, &kept) };
        let mut demands: SmallVec<[Demand; 1]> = SmallVec::new();
        let refused = |reason: Rejection| Refusal::Reason(format!("its counters cannot be added to memory: {reason}"));
        for ending in 0..self.env.carried.slots.endings.len() {
            let demand = Demand::of(self.env, &site, at.inst, HookId::Ending(ending as u32), &[]);
            demands.push(demand.map_err(refused)?);
        }
        let allocation = allocate(self.env, &site, &demands);
        if let Some((_, reason)) = allocation.rejected.first() {
            return Err(refused(reason.clone()));
        }
        self.place(at, &site, &demands, &allocation, check::ending)?;
        // The wave's last instruction waits for nothing.
        self.append_uncounted()
    }

    /// What the wave begins with. `inputs`: what its scratch is found by, where it has to be found. `alone`: what follows
    /// is the application's.
    pub fn prologue(&mut self, at: &Spotted, inputs: Option<ScratchInputs>, alone: bool) -> Result<(), Refusal> {
        self.splice.clear();
        let (busy, kept) = (RegSet::EMPTY, RegSet::EMPTY);
        let site = at.site(&busy, &kept);
        let prologue = Prologue::of(self.env, &site, inputs)
            .map_err(|what| Refusal::Reason(format!("no register is free where its waves begin, for {what}")))?;
        let finds = prologue.emit(self.env, &site, &mut self.seam, &mut self.splice)?;
        self.forget()?;
        if alone {
            let live = || {
                let mut live = at.live.any();
                live.union_with(&self.env.carried.reserved);
                live
            };
            self.seam.lead_out(&self.env.machine.ops, at.next, live, &mut self.splice.insts)?;
        }
        self.check_with(at.address, |inserter| {
            let insts = &inserter.splice.insts;
            check::prologue(
                &check::Question {
                    env: inserter.env,
                    looked: inserter.looked,
                    site: &site,
                    olds: &[],
                    inst: at.inst,
                    insts: &insts[finds..],
                    base: finds,
                    spans: &[],
                    made: &[],
                    literals: &[],
                    highest: inserter.given(),
                    scratch: inserter.splice.scratch,
                },
                inputs.is_some().then_some(&insts[..finds]),
            )
        });
        self.append_uncounted()
    }

    /// Puts what waves begin or end with into the chunk, which is not counted among what was inserted for the plan's hooks.
    fn append_uncounted(&mut self) -> Result<(), Refusal> {
        let inserted = self.out.inserted;
        self.append(&[])?;
        self.out.inserted = inserted;
        Ok(())
    }

    /// Puts the splice into the chunk. `made` are the insertions that were made in it.
    fn append(&mut self, made: &[u32]) -> Result<(), Refusal> {
        let splice = &self.splice;
        match *made {
            [alone] => self.out.made.push(alone),
            _ => self.out.made.extend_from_slice(made),
        }
        self.out.inserted += splice.insts.len();
        self.out.highest.merge(&splice.highest);
        self.out.scratch = self.out.scratch.max(splice.scratch);
        let (out, env) = (&mut self.out, self.env);
        let mut at = 0;
        for span in &splice.spans {
            let HookId::Insertion(insertion) = span.hook else { continue };
            let Some(template) = env.template_of[insertion as usize] else { continue };
            let begin = span.start - usize::from(span.called);
            write(env, &splice.insts, at..begin, &splice.literals, &mut out.chunk)?;
            at = begin;
            if !span.called {
                out.chunk.hooks.push((out.chunk.here(), template));
                continue;
            }
            let inside = splice.literals.iter().filter(|l| (span.start..span.end).contains(&l.inst));
            let literals = inside.map(|l| Literal { inst: l.inst - span.start, ..l.clone() }).collect();
            let body = &splice.insts[span.start..=span.end];
            out.bodies.call(out.chunk.here(), template, body, literals);
            out.chunk.push(&splice.insts[begin]);
            out.inserted -= body.len();
            at = span.end + 1;
        }
        write(env, &splice.insts, at..splice.insts.len(), &splice.literals, &mut out.chunk)
    }

    /// Puts what is called behind all other code, as chunk `id`.
    pub fn append_bodies(&mut self, id: ChunkId, address: u64) -> Result<(), Refusal> {
        let bodies = std::mem::take(&mut self.out.bodies);
        self.out.inserted += bodies.append(self.env, id, &mut self.out.chunk)?;
        self.check_with(address, |put| check::called(put.env, id, &put.out.chunk, bodies.calls()));
        self.out.bodies = bodies;
        Ok(())
    }

    /// The insertion gives the application another EXEC.
    fn moves_lanes(&self, spot: &Spot) -> bool {
        let exec = |reg: Reg| self.env.machine.exec().units().any(|unit| unit == reg);
        match &self.env.plan.insertions[spot.insertion as usize].body {
            Body::Hook { args, .. } => {
                args.iter().any(|arg| matches!(arg, Arg::InOut(range) if range.units().any(exec)))
            }
            Body::Raw(insts) => insts.iter().any(|inst| {
                let mut writes = false;
                inst.for_each_access(|a| writes |= a.access.writes() && exec(a.reg));
                writes
            }),
            Body::Nothing => false,
        }
    }

    /// The values that hooks behind an instruction want from before it, put where nothing touches them: each with where
    /// it is kept. `after` is what is live behind the instruction.
    pub fn olds(&mut self, spots: &[Spot], at: &Spotted, after: &Live) -> Result<Vec<(RegRange, RegRange)>, Refusal> {
        let mut wanted: Vec<RegRange> = Vec::new();
        for spot in spots.iter().filter(|spot| spot.at.is_behind()) {
            let Body::Hook { args, .. } = &self.env.plan.insertions[spot.insertion as usize].body else { continue };
            args.iter().flat_map(|arg| arg.kept(at.inst)).for_each(|range| {
                if !wanted.contains(&range) {
                    wanted.push(range);
                }
            });
        }
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let busy = self.seam.busy();
        let kept = RegSet::EMPTY;
        let site = at.site(&busy, &kept);
        let mut without = after.any();
        without.subtract(&self.env.registers.never_used);
        at.inst.for_each_access(|a| without.insert(a.reg));
        wanted.iter().for_each(|range| without.insert_range(*range));
        let mut pool = site.pool(self.env, &without, false);
        self.splice.clear();
        self.seam.avoid(at.loads, self.env.registers.allocated.vgprs, at.msb);
        let mut found = Vec::new();
        let moves = spots.iter().any(|spot| spot.at == Where::Instead && self.moves_lanes(spot));
        for range in wanted {
            let call = at.inst.info().flags.contains(Flags::CALL);
            // Where VGPRs are indexed, a move of them would be one of others.
            let indexed = at.indexed && (range.first.is_vgpr() || range.first.is_agpr());
            if call || indexed || not_allocated(self.env, at.address, range).is_some() {
                continue; // refused when the demand is made
            }
            // Where nothing is free for it, each hook that wants it is refused when its demand is made.
            let Some(keeper) = Keeper::take(self.env, &mut pool, at.inst, range, moves) else { continue };
            let kept = keeper.kept;
            self.splice.highest.note(kept);
            keeper.exec.iter().for_each(|exec| self.splice.highest.note(*exec));
            let mut splice = std::mem::take(&mut self.splice);
            crate::splice::emit::keep(self.env, &site, &keeper, &mut self.seam, &mut splice)?;
            self.splice = splice;
            found.push((range, RegRange { part: range.part, ..kept }));
        }
        let reserved = &self.env.carried.reserved;
        let live = || {
            let mut live = at.live.any();
            live.union_with(reserved);
            found.iter().for_each(|(_, kept)| live.insert_range(*kept));
            live
        };
        self.seam.lead_out(&self.env.machine.ops, at.next, live, &mut self.splice.insts)?;
        self.check_with(at.address, |inserter| {
            check::keep(&check::Question {
                env: inserter.env,
                looked: inserter.looked,
                site: &site,
                olds: &found,
                inst: at.inst,
                insts: &inserter.splice.insts,
                base: 0,
                spans: &[],
                made: &[],
                literals: &[],
                highest: inserter.given(),
                scratch: 0,
            })
        });
        self.append(&[])?;
        Ok(found)
    }
}
