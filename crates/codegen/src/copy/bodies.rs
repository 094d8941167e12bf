//! What is inserted at one place: hooks, and the plan's raw instructions among them.

use luthier_isa::op::Op;
use luthier_isa::{Flags, Inst, Operand, Reg, RegRange, RegSet, VgprMsb};
use luthier_lifter::{InFlight, Live, Wait};
use smallvec::SmallVec;

use super::function::Copier;
use super::{Refusal, Spot};
use crate::RelocKind;
use crate::check;
use crate::layout::chunk::Fixup;
use crate::plan::{Arg, Body, Placement, Rejected, Where};
use crate::splice::demand::not_allocated;
use crate::splice::keeper::Keeper;
use crate::splice::{Demand, Literal, Site, allocate, convention, emit};

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
        Site { address, live, loads, busy, kept, indexed, msb }
    }
}

impl Copier<'_> {
    /// Inserts what the plan asks for at a place. Gives the insertions that were made.
    pub(super) fn bodies(&mut self, insertions: &[u32], at: &Spotted) -> Result<Made, Refusal> {
        let mut made = Made::new();
        if insertions.is_empty() {
            return Ok(made);
        }
        self.splice.clear();
        self.seam.avoid(at.loads, self.env.allocated.vgprs);
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
        let (reserved, restored) = (&self.env.reserved, self.splice.restored);
        let live = || {
            let mut live = at.live.any();
            live.union_with(reserved);
            live.union_with(&restored);
            live
        };
        self.seam.lead_out(&self.env.machine.ops, at.next, live, &mut self.splice.insts)?;
        self.append(&made)?;
        Ok(made)
    }

    /// The application's scalars are not marked as read, where that would last.
    fn forget(&mut self) -> Result<(), Refusal> {
        let (machine, unused) = (self.env.machine, &self.env.never_used);
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

    /// Registers that the kernel is given for what stands here: the hooks' own, and the counters'.
    fn given(&self) -> crate::machine::registers::Counts {
        let mut given = self.splice.highest;
        self.env.slots.iter().flatten().for_each(|home| given.note(home.range()));
        given
    }

    fn raw(&mut self, inst: &Inst) -> Result<(), Refusal> {
        self.seam.issue(&self.env.machine.ops, *inst, &mut self.splice.insts)?;
        inst.for_each_access(|a| self.splice.highest.note(RegRange::new(a.reg, 1)));
        Ok(())
    }

    fn hooks(&mut self, insertions: &[u32], at: &Spotted, made: &mut Made) -> Result<(), Refusal> {
        let mut kept = RegSet::EMPTY;
        at.olds.iter().for_each(|(_, range)| kept.insert_range(*range));
        let called = self.env.plan.placement == Placement::CallingConvention;
        let plain = |i: &u32| self.env.prepared(*i).is_some_and(|p| !p.touches_vgprs);
        let mut busy = if !called && insertions.iter().all(plain) { RegSet::EMPTY } else { self.busy() };
        let site = at.site(&busy, &kept);
        let mut demands: SmallVec<[Demand; 1]> = SmallVec::with_capacity(insertions.len());
        for &insertion in insertions {
            match Demand::of(self.env, &site, at.inst, insertion, at.olds) {
                Ok(demand) => demands.push(demand),
                Err(reason) => self.out.rejected.push(Rejected { insertion, address: at.address, reason }),
            }
        }
        let decide = if called { convention::allocate } else { allocate };
        let mut allocation = decide(self.env, &site, &demands);
        // Only hooks without VGPRs were thought to be here; where they need some after all, the busy ones matter.
        if busy.is_empty() && !called && !(allocation.lanes.is_empty() && allocation.vgprs.is_empty()) {
            busy = self.busy();
            if !busy.is_empty() {
                allocation = decide(self.env, &at.site(&busy, &kept), &demands);
            }
        }
        let site = at.site(&busy, &kept);
        for (demand, reason) in &allocation.rejected {
            let insertion = demands[*demand].insertion;
            self.out.rejected.push(Rejected { insertion, address: at.address, reason: reason.clone() });
        }
        let (start, spans, literals) = (self.splice.insts.len(), self.splice.spans.len(), self.splice.literals.len());
        let before = made.len();
        emit(self.env, &site, &demands, &allocation, &mut self.renamed, &mut self.seam, &mut self.splice)?;
        // What stands in the code counts, and not what was decided.
        made.extend(self.splice.spans[spans..].iter().map(|span| span.insertion));
        if self.checked.at(at.address) {
            self.out.violations.extend(check::splice(&check::Question {
                env: self.env,
                site: &site,
                olds: at.olds,
                inst: at.inst,
                insts: &self.splice.insts[start..],
                base: start,
                spans: &self.splice.spans[spans..],
                made: &made[before..],
                literals: &self.splice.literals[literals..],
                highest: self.given(),
                scratch: self.splice.scratch,
            }));
        }
        Ok(())
    }

    /// Puts the splice into the chunk. `made` are the insertions that were made in it.
    pub(super) fn append(&mut self, made: &[u32]) -> Result<(), Refusal> {
        let splice = &self.splice;
        self.out.made.extend_from_slice(made);
        self.out.inserted += splice.insts.len();
        self.out.highest.merge(&splice.highest);
        self.out.scratch = self.out.scratch.max(splice.scratch);
        let mut literals = splice.literals.iter().peekable();
        let mut spans = splice.spans.iter().peekable();
        for (n, inst) in splice.insts.iter().enumerate() {
            while let Some(span) = spans.next_if(|span| span.start == n) {
                let template = self.env.template_of[span.insertion as usize];
                self.out.chunk.hooks.extend(template.map(|template| (self.out.chunk.here(), template)));
            }
            if let Some(address) =
                literals.peek().filter(|l| l.inst == n).and_then(|l| self.env.plan.elsewhere(l.place))
            {
                while let Some(literal) = literals.next_if(|l| l.inst == n) {
                    let number = sum_half(&splice.insts[..=n], address, literal).ok_or_else(|| {
                        Refusal::Reason(format!(
                            "{inst} of a hook makes an address, but not of s_getpc_b64 and one half"
                        ))
                    })?;
                    self.out.chunk.push(&self.env.machine.ops.mov32(number.0, Operand::Literal(number.1))?);
                }
                continue;
            }
            self.out.chunk.push(inst);
            while let Some(literal) = literals.next_if(|l| l.inst == n) {
                let at = self.out.chunk.here() - 1;
                let fixup = Fixup::relative(at, literal.place, literal.addend, literal.kind);
                self.out.chunk.fixups.push(fixup);
            }
        }
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
    pub(super) fn olds(
        &mut self,
        spots: &[Spot],
        at: &Spotted,
        after: &Live,
    ) -> Result<Vec<(RegRange, RegRange)>, Refusal> {
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
        let busy = self.busy();
        let kept = RegSet::EMPTY;
        let site = at.site(&busy, &kept);
        let mut without = after.any();
        without.subtract(&self.env.never_used);
        at.inst.for_each_access(|a| without.insert(a.reg));
        wanted.iter().for_each(|range| without.insert_range(*range));
        let mut pool = site.pool(self.env, &without, false);
        self.splice.clear();
        self.seam.avoid(at.loads, self.env.allocated.vgprs);
        let mut found = Vec::new();
        let moves = spots.iter().any(|spot| spot.at == Where::Instead && self.moves_lanes(spot));
        for range in wanted {
            let call = at.inst.info().flags.contains(Flags::CALL);
            if call || not_allocated(self.env, at.address, range).is_some() {
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
        let reserved = &self.env.reserved;
        let live = || {
            let mut live = at.live.any();
            live.union_with(reserved);
            found.iter().for_each(|(_, kept)| live.insert_range(*kept));
            live
        };
        self.seam.lead_out(&self.env.machine.ops, at.next, live, &mut self.splice.insts)?;
        self.check_with(at.address, |copier| {
            check::keep(&check::Question {
                env: copier.env,
                site: &site,
                olds: &found,
                inst: at.inst,
                insts: &copier.splice.insts,
                base: 0,
                spans: &[],
                made: &[],
                literals: &[],
                highest: copier.given(),
                scratch: 0,
            })
        });
        self.append(&[])?;
        Ok(found)
    }
}

/// The register that the last of `insts` writes, half of a sum of `s_getpc_b64` and its literal, and what that comes to
/// where the literal's place is at `address`.
fn sum_half(insts: &[Inst], address: u64, literal: &Literal) -> Option<(Reg, u32)> {
    let (inst, before) = insts.split_last()?;
    let (op, high) = match literal.kind {
        RelocKind::Rel32Lo => (Op::SAddU32, false),
        RelocKind::Rel32Hi => (Op::SAddcU32, true),
        _ => return None,
    };
    let to = inst.operands().next().and_then(|(_, v)| v.reg()).filter(|_| inst.info().op() == op)?;
    let getpc = before.iter().rposition(|i| i.info().flags.contains(Flags::GETPC))?;
    let pair = before[getpc].operands().next().and_then(|(_, v)| v.reg())?;
    if pair.first.offset(u16::from(high)) != to.first || inst.operands().nth(1)?.1 != Operand::Reg(to) {
        return None;
    }
    // The literal, the instruction's last word, measures from itself.
    let bytes: usize = insts[getpc + 1..].iter().map(|i| i.size()).sum();
    let sum = address.wrapping_add_signed(literal.addend).wrapping_sub(bytes as u64 - 4);
    Some((to.first, if high { (sum >> 32) as u32 } else { sum as u32 }))
}
