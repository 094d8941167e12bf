//! The micro-ops of strict mode, one before each instruction.

use std::ops::DerefMut;

use luthier_isa::hazard::{self, Firsts, Steps};
use luthier_isa::op::Op as IsaOp;
use luthier_isa::{Flags, Format, Inst};

use super::quick::{ROWS, SCALARS};
use super::{Checked, Looks, Strict, engine, within};
use crate::op::{Flow, Handler, Op};
use crate::registers::scalar;
use crate::report::FindingKind;
use crate::wave::Wave;

/// Bits of `sdst` of the micro-ops here: the instruction begins its block; it is a VALU instruction; a transcendental one.
const OPENS: u8 = 1;
const VECTOR: u8 = 2;
const TRANSCENDENTAL: u8 = 4;
/// Later instructions may have to stay away from it, or it has to do with more than pairs: whatever was done lately.
const ACTS: u8 = 8;

/// Sets up the micro-ops that come before the instructions of a block, each given with what it is to check.
pub fn set_up<'a>(
    checked: &mut [impl DerefMut<Target = Checked>],
    ops: impl Iterator<Item = &'a mut Op>,
    looks: Looks,
) {
    within::prune(checked, looks.contains(Looks::MEMORY));
    for checked in checked.iter_mut() {
        if !looks.contains(Looks::VALUES) {
            checked.quick = None;
        }
        if !looks.contains(Looks::PENDING) {
            checked.fresh.clear();
        }
    }
    for (number, (checked, op)) in checked.iter().zip(ops).enumerate() {
        let steps = checked.hazards.steps();
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let fresh = checked.quick.as_ref().map_or(0, |quick| quick.fresh.kinds());
        let fresh = fresh | if checked.fresh.is_empty() { 0 } else { PENDING };
        let plain = is_plain(checked, looks) && (checked.quick.is_some() || !looks.contains(Looks::VALUES));
        let concerns = if looks.contains(Looks::HAZARDS) { checked.hazards.concerns() } else { Some(0) };
        op.run = match () {
            () if plain && !looks.at_all() => mark as Handler,
            () if plain => light_for(fresh),
            () if is_bare(checked, looks) => bare,
            () if only_issues(checked, looks) => issue,
            () => before,
        };
        let acts = concerns.is_none();
        let concerns = concerns.unwrap_or(0);
        (op.src[0], op.src[1]) = (concerns as u16, (concerns >> 16) as u16);
        op.imm = std::ptr::from_ref::<Checked>(&**checked) as u64;
        op.imm2 = checked.pc;
        op.dst = steps.length.into();
        op.sdst = bit(number == 0, OPENS)
            | bit(steps.vector, VECTOR)
            | bit(steps.transcendental, TRANSCENDENTAL)
            | bit(acts, ACTS);
    }
}

/// Whether an instruction waits for what is in flight, or sees to caches, and has nothing to do with registers.
fn is_bare(checked: &Checked, looks: Looks) -> bool {
    let no_values = !looks.contains(Looks::VALUES) || checked.quick.as_ref().is_some_and(|quick| quick.all.is_empty());
    // Some cache instructions are counted, as loads that fill nothing.
    let is_bare = checked.touched.is_empty() && checked.unallocated.is_none();
    no_values && is_bare && (checked.counters == 0 || checked.cache.is_some())
}

/// Whether an instruction is counted by what waits go by, and does nothing else out of the ordinary.
fn only_issues(checked: &Checked, looks: Looks) -> bool {
    let is_quick = checked.quick.is_some() || !looks.contains(Looks::VALUES);
    let is_counted = looks.contains(Looks::WAITS) && checked.counters != 0 && checked.wait.is_none();
    is_quick && is_counted && checked.cache.is_none() && checked.unallocated.is_none()
}

/// Whether nothing but an instruction's registers and neighbours may matter to the findings that are wanted.
fn is_plain(checked: &Checked, looks: Looks) -> bool {
    let waits = looks.contains(Looks::WAITS) && (checked.wait.is_some() || checked.counters != 0);
    let caches = looks.contains(Looks::RACES) && checked.cache.is_some();
    !waits && !caches && checked.unallocated.is_none()
}

/// Whether strict mode has nothing to do before an instruction: it computes, branches or waits, and neither what it works
/// with nor where it is matters to the findings that are wanted.
pub fn has_nothing_to_do(inst: &Inst, checked: &Checked, looks: Looks) -> bool {
    let info = inst.info();
    // Hints to who issues instructions, which nothing else looks at.
    let is_hint = matches!(info.op(), IsaOp::SDelayAlu | IsaOp::SClause);
    if is_hint && !hazard::counts_states(info.mode) {
        return true;
    }
    let flags = info.flags;
    let is_silent = match info.format {
        Format::Sop2 | Format::Sopc => true,
        Format::Sop1 | Format::Sopk => flags.contains(Flags::SALU) && !flags.contains(Flags::BARRIER),
        Format::Sopp => flags.intersects(Flags::BRANCH | Flags::COND_BRANCH | Flags::WAIT),
        _ => checked.hazards.steps().vector,
    };
    is_silent && !looks.at_all() && is_plain(checked, looks)
}

/// What a micro-op is to check.
///
/// # Safety
/// [`set_up`] has made the op, and the block that it is in is there.
#[inline(always)]
unsafe fn checked_of(op: &Op) -> &Checked {
    // SAFETY: the block holds the probe with the `Checked` too, and neither moves nor drops it while the op can run.
    unsafe { &*(op.imm as *const Checked) }
}

/// Before an instruction with nothing to check, about which its own handler may have something to say.
fn mark(w: &mut Wave, op: &Op) -> Flow {
    if let Some(strict) = &mut w.strict {
        strict.log.pc = op.imm2;
        strict.access = 0;
    }
    Flow::Next
}

/// What must not have been done lately for an instruction to be passed over.
#[inline(always)]
fn concerns_of(op: &Op) -> Firsts {
    Firsts::from(op.src[0]) | Firsts::from(op.src[1]) << 16
}

/// How an instruction moves a wave's clocks on.
#[inline(always)]
fn steps_of(op: &Op) -> Steps {
    let (vector, transcendental) = (op.sdst & VECTOR != 0, op.sdst & TRANSCENDENTAL != 0);
    Steps { length: op.dst as u8, vector, transcendental }
}

/// Before an instruction that only waits, or sees to caches.
fn bare(w: &mut Wave, op: &Op) -> Flow {
    let Some(strict) = &mut w.strict else { return Flow::Next };
    // SAFETY: `set_up` has made this op.
    let checked = unsafe { checked_of(op) };
    strict.be_before(op);
    let cache = checked.cache.filter(|_| strict.looks.contains(Looks::RACES));
    if let Some(control) = cache {
        strict.invalidate_caches(control);
    }
    if strict.looks.contains(Looks::WAITS) {
        if checked.counters != 0 {
            strict.waits.see_to_room(checked);
            strict.waits.issue(checked);
        }
        if let Some(wait) = &checked.wait {
            strict.waits.wait(wait);
        }
        strict.settle();
        if strict.waits.has_done() {
            strict.note_done();
        }
        if let Some(control) = cache {
            strict.write_caches_back(control);
        }
    }
    strict.move_on(op);
    if strict.landings.is_due() { engine::land(w) } else { Flow::Next }
}

/// Before an instruction that is counted, with nothing else out of the ordinary.
fn issue(w: &mut Wave, op: &Op) -> Flow {
    let (exec, all) = (w.exec(), w.all_lanes());
    let Some(strict) = &mut w.strict else { return Flow::Next };
    // SAFETY: `set_up` has made this op.
    let checked = unsafe { checked_of(op) };
    strict.clean |= op.sdst & OPENS != 0;
    if !strict.clean
        || !strict.waits.has_room(checked)
        || !strict.finds_nothing::<{ ROWS | SCALARS }>(checked, (exec, all))
    {
        return before(w, op);
    }
    strict.be_before(op);
    strict.scope = (checked.scope, checked.marked);
    strict.waits.issue(checked);
    strict.move_on(op);
    Flow::Next
}

/// What of an instruction's registers the instructions of its block before it have not settled: whether loads in flight write
/// some; and [`units`](super::quick::Units) of these kinds.
const PENDING: u8 = 4;

/// The micro-op before an instruction that mostly has nothing to check, by what is to be looked at.
fn light_for(fresh: u8) -> Handler {
    const ROWS_TOO: u8 = PENDING | ROWS;
    const SCALARS_TOO: u8 = PENDING | SCALARS;
    const ALL: u8 = PENDING | ROWS | SCALARS;
    match fresh {
        0 => light::<0>,
        PENDING => light::<PENDING>,
        ROWS | ROWS_TOO => light::<ROWS_TOO>,
        SCALARS | SCALARS_TOO => light::<SCALARS_TOO>,
        _ => light::<ALL>,
    }
}

/// Before an instruction that mostly has nothing to check.
fn light<const FRESH: u8>(w: &mut Wave, op: &Op) -> Flow {
    let lanes = if FRESH & ROWS != 0 { (w.exec(), w.all_lanes()) } else { (0, 0) };
    let Some(strict) = &mut w.strict else { return Flow::Next };
    strict.clean |= op.sdst & OPENS != 0;
    if !strict.clean {
        return before(w, op);
    }
    // SAFETY: `set_up` has made this op.
    if FRESH != 0 && !strict.finds_nothing::<FRESH>(unsafe { checked_of(op) }, lanes) {
        return before(w, op);
    }
    strict.be_before(op);
    strict.move_on(op);
    Flow::Next
}

impl Strict {
    /// The wave is before the instruction of this micro-op.
    #[inline(always)]
    fn be_before(&mut self, op: &Op) {
        self.clean |= op.sdst & OPENS != 0;
        self.log.pc = op.imm2;
        self.access = 0;
    }

    /// Whether an instruction finds its registers defined, and written by no load in flight; if so, what it writes is defined.
    /// All instructions of the block before it have.
    #[inline(always)]
    fn finds_nothing<const FRESH: u8>(&mut self, checked: &Checked, (exec, all): (u64, u64)) -> bool {
        if !self.waits.are_free(&checked.fresh) {
            return false;
        }
        match &checked.quick {
            Some(quick) if FRESH & (ROWS | SCALARS) != 0 => self.shadow.passes::<FRESH>(quick, true, exec, all),
            _ => true,
        }
    }

    /// Goes on behind an instruction, as far as hazards are concerned.
    #[inline(always)]
    fn move_on(&mut self, op: &Op) {
        if op.sdst & ACTS == 0 && self.hazards.is_calm(concerns_of(op)) {
            self.hazards.pass(steps_of(op));
        } else {
            self.look(op);
        }
    }

    #[inline(never)]
    fn look(&mut self, op: &Op) {
        // SAFETY: `set_up` has made this op.
        let checked = unsafe { checked_of(op) };
        let (wave, log) = (self.wave, &mut self.log);
        self.hazards.check(&checked.hazards, op.imm2, |missing| log.hazard(missing, wave));
    }
}

/// The micro-op before an instruction.
fn before(w: &mut Wave, op: &Op) -> Flow {
    // SAFETY: `set_up` has made this op.
    let checked = unsafe { checked_of(op) };
    let (exec, all) = (w.exec(), w.all_lanes());
    let Some(strict) = &mut w.strict else { return Flow::Next };
    strict.log.pc = op.imm2;
    strict.access = 0;
    strict.scope = (checked.scope, checked.marked);
    let cache = checked.cache.filter(|_| strict.looks.contains(Looks::RACES));
    if let Some(control) = cache {
        strict.invalidate_caches(control);
    }
    if let Some(message) = &checked.unallocated {
        strict.log.report(FindingKind::Unallocated, None, None, message.clone());
    }
    let clean = strict.clean | (op.sdst & OPENS != 0);
    let mut free = true;
    if strict.looks.contains(Looks::WAITS) {
        free = strict.waits.check(checked, clean, w.s[usize::from(scalar::M0)], &mut strict.log);
        free |= !strict.looks.contains(Looks::PENDING);
        strict.settle();
        if strict.waits.has_done() {
            strict.note_done();
        }
        if let Some(control) = cache {
            strict.write_caches_back(control);
        }
    }
    let (wave, log) = (strict.wave, &mut strict.log);
    let pc = log.pc;
    if strict.looks.contains(Looks::HAZARDS) {
        strict.hazards.check(&checked.hazards, pc, |missing| log.hazard(missing, wave));
    }
    let passes = match &checked.quick {
        _ if !strict.looks.contains(Looks::VALUES) => Some(true),
        quick => quick.as_ref().map(|quick| strict.shadow.passes::<{ ROWS | SCALARS }>(quick, clean, exec, all)),
    };
    // Of others nothing is known.
    let settles = checked.quick.as_ref().is_some_and(|quick| quick.settles());
    strict.clean = clean && free && !(settles && passes == Some(false));
    if passes != Some(true)
        && let Some(mut strict) = w.strict.take()
    {
        strict.shadow.check(w, checked, &mut strict.log);
        w.strict = Some(strict);
    }
    if w.strict.as_ref().is_some_and(|strict| strict.landings.is_due()) { engine::land(w) } else { Flow::Next }
}
