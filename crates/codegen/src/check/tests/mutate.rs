//! Every way of breaking a splice.
//!
//! Not made, since they would have no effect: changes of EXEC where nothing runs under it before it is set again, or
//! only moves that take every lane (CDNA1's to and from accumulators); dropping a save or restore of a register that the
//! hooks do not touch after all, or a value that is there already from the hook before; one of several waits for the same
//! counter with nothing but loads from scratch in between; setting upper bits of VGPR numbers to the zero that they are, or where
//! nothing names a VGPR before they are set again; putting away more lanes than have to be, in a home that holds nothing
//! (a save in front of the change of EXEC that narrows it), or fetching back fewer, where the hooks run under the EXEC of
//! the application all the time and so have changed no other lane;
//! swapping instructions of a hook that do the same to other registers, or writes of two lanes.

use luthier_isa::op::Op;
use luthier_isa::{Decoder, Field, Flags, Inst, Mode, Operand, Reg, RegRange};

use super::places::Spliced;
use crate::component::Component;
use crate::layout::chunk::{Chunk, Fixup};
use crate::splice::emit::Span;

/// What was done, and the splice as it is then.
pub type Mutation = (String, Spliced);

/// All mutations of one place.
pub fn all(env: &Component, whole: &Spliced) -> Vec<Mutation> {
    let mut found = Vec::new();
    for at in 0..whole.insts.len() {
        if whole.in_hook(at) {
            in_hook(env, whole, at, &mut found);
        } else {
            outside(env, whole, at, &mut found);
        }
    }
    for n in 0..whole.spans.len() {
        hooks(env, whole, n, &mut found);
    }
    found
}

/// What an instruction of placement's own is for.
fn class(inst: &Inst) -> &'static str {
    let to = inst.operands().find(|(info, _)| info.access.writes()).and_then(|(_, v)| v.reg());
    match inst.info().op() {
        Op::SMovB32 | Op::SMovB64 => match to.map(|r| r.first) {
            Some(Reg::EXEC_LO) => "change of EXEC",
            Some(Reg::VCC_LO | Reg::M0 | Reg::FLAT_SCRATCH_LO) => "restore of VCC, M0 or FLAT_SCRATCH",
            _ => "scalar move",
        },
        Op::VMovB32 => "vector move",
        Op::VAccvgprReadB32 | Op::VAccvgprWriteB32 | Op::VAccvgprMovB32 => "accumulator move",
        Op::VWritelaneB32 => "save into a lane",
        Op::VReadlaneB32 => "restore from a lane",
        Op::SCselectB32 => "save of SCC",
        Op::SCmpLgU32 => "restore of SCC",
        Op::SGetregB32 => "save of MODE",
        Op::SSetregB32 => "restore of MODE",
        Op::SSetregImm32B32 => "default modes",
        Op::ScratchLoadDword => "load from scratch",
        Op::ScratchStoreDword => "store into scratch",
        Op::SCallB64 => "call",
        Op::SSetpcB64 => "return",
        Op::SSetVgprMsb => "upper bits of VGPR numbers",
        Op::SNop | Op::VNop | Op::SWaitcntDepctr => "wait state",
        _ => "wait for memory",
    }
}

fn outside(env: &Component, whole: &Spliced, at: usize, found: &mut Vec<Mutation>) {
    let inst = whole.insts[at];
    let class = class(&inst);
    // Wait states are the other pass's: see the test of seams. Moves of a register to itself are wait states, too.
    let operands: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
    let itself = matches!(operands.as_slice(), [a @ Operand::Reg(_), b] if a == b);
    let zero = inst.info().op() == Op::SSetVgprMsb && (whole.msb.bits() == 0 || no_vgpr_until_set_again(whole, at + 1));
    let idle = itself || zero || is_idle(whole, at) || waits_again(whole, at);
    let counts = class != "change of EXEC" || matters(whole, at + 1);
    if class != "wait state" && !idle && counts {
        found.push((format!("drop: {class}"), without(whole, at)));
    }
    for (n, (info, value)) in inst.operands().enumerate() {
        let Operand::Reg(range) = value else { continue };
        for other in others(range) {
            let mut changed = inst;
            if idle || info.fixed.is_some() || changed.set_operand(n, Operand::Reg(other)).is_err() {
                continue;
            }
            let side = if info.access.writes() { "destination" } else { "source" };
            found.push((format!("other {side}: {class}"), with(whole, at, changed)));
        }
    }
    if let Some(last @ (_, Operand::Inline(code))) = inst.operands().enumerate().map(|(n, (_, v))| (n, v)).last()
        && matches!(inst.info().op(), Op::VReadlaneB32 | Op::VWritelaneB32)
    {
        let mut changed = inst;
        if changed.set_operand(last.0, Operand::Inline(if code == 128 { 129 } else { code - 1 })).is_ok() {
            found.push((format!("other lane: {class}"), with(whole, at, changed)));
        }
    }
    if matches!(inst.info().op(), Op::ScratchLoadDword | Op::ScratchStoreDword) {
        let offset = inst.field(Field::Offset).unwrap_or(0);
        for other in [offset + 4, offset.wrapping_sub(4), offset + 2, 0] {
            let mut changed = inst;
            if other != offset && changed.set_field(Field::Offset, other).is_ok() {
                found.push((format!("other offset: {class}"), with(whole, at, changed)));
            }
        }
    }
    if class == "wait for memory" && !idle {
        let mut changed = inst;
        // Counters at their highest values are not waited for.
        let none = [0xcf7f, 0xff7f, 0xfff7, 0x3f, 0x7];
        if none.iter().any(|n| changed.set_field(Field::Simm16, *n).is_ok()) && changed != inst {
            found.push(("a wait for nothing".to_owned(), with(whole, at, changed)));
        }
    }
    let next = at + 1;
    // CDNA1's moves between VGPRs and accumulators take every lane, whatever EXEC is.
    let takes_all =
        |i: &Inst| i.info().op().name().starts_with("v_accvgpr_") && i.info().flags.contains(Flags::IGNORES_EXEC);
    let apart = whole.insts.get(next).is_some_and(|other| !takes_all(&inst) && !takes_all(other));
    let ops = &env.machine.ops;
    let full = ops.mov_mask(Reg::EXEC_LO, Operand::Inline(193)).unwrap();
    let harmless = apart && (saves_more(whole, at, &full) || fetches_less(whole, at, &full));
    if apart && !harmless && !whole.in_hook(next) && depend(&inst, &whole.insts[next]) {
        let mut changed = whole.clone();
        changed.insts.swap(at, next);
        let pair = format!("swap: {class} and {}", self::class(&whole.insts[next]));
        found.push((pair, changed));
    }
    if whole.insts[at] != full && matters(whole, at) && !is_full(whole, at, &full) {
        found.push(("clobber EXEC".to_owned(), inserted(whole, at, full)));
    }
    if let Some(live) = whole.live.active.iter().find(|r| r.is_sgpr() && !env.registers.never_used.contains(*r))
        && !touched_before_saved(whole, at, live)
    {
        let clobber = ops.mov32(live, Operand::Inline(128)).unwrap();
        found.push(("clobber a live SGPR".to_owned(), inserted(whole, at, clobber)));
    }
    let branch = Inst::new(ops.s_setpc_b64);
    found.push(("a strange instruction".to_owned(), inserted(whole, at, branch)));
}

/// What the instruction writes is there already, or is written nowhere else.
fn is_idle(whole: &Spliced, at: usize) -> bool {
    let inst = whole.insts[at];
    let writes = |other: &Inst| {
        let (mut mine, mut theirs) = (luthier_isa::RegSet::EMPTY, luthier_isa::RegSet::EMPTY);
        inst.for_each_access(|a| {
            if a.access.writes() {
                mine.insert(a.reg)
            }
        });
        other.for_each_access(|a| {
            if a.access.writes() {
                theirs.insert(a.reg)
            }
        });
        mine.intersects(&theirs)
    };
    let before = (0..at).rev().find(|n| writes(&whole.insts[*n]));
    let ends = |inst: &Inst| {
        let all: Vec<Operand> = inst.operands().map(|(_, value)| value).collect();
        (inst.info().op() == Op::SMovB32 && all.len() == 2).then(|| (all[0], all[1]))
    };
    let inverse = before.is_some_and(|n| {
        let back =
            (n..at).rev().find_map(|n| ends(&whole.insts[n]).filter(|(to, from)| ends(&inst) == Some((*from, *to))));
        back.is_some() && !(n + 1..at).any(|n| whole.in_hook(n))
    });
    if inverse {
        return true;
    }
    let restores = matches!(inst.info().op(), Op::VReadlaneB32);
    before.is_some_and(|n| whole.insts[n] == inst && !whole.in_hook(n)) || restores && before.is_none()
}

/// The same wait follows behind nothing but loads from scratch.
fn waits_again(whole: &Spliced, at: usize) -> bool {
    let inst = whole.insts[at];
    let mut rest = whole.insts[at + 1..].iter().skip_while(|i| i.info().op() == Op::ScratchLoadDword);
    class(&inst) == "wait for memory" && rest.next() == Some(&inst)
}

/// Something looks at EXEC, or runs under it, from here on before it is set anew.
fn matters(whole: &Spliced, at: usize) -> bool {
    for inst in &whole.insts[at..] {
        let (mut reads, mut writes, mut all) = (false, false, false);
        inst.for_each_access(|a| {
            let exec = a.reg == Reg::EXEC_LO;
            reads |= exec && a.access.reads();
            writes |= exec && a.access.writes();
            all |= (a.reg.is_vgpr() || a.reg.is_agpr()) && a.access == luthier_isa::Access::Write;
        });
        if reads && !all {
            return true;
        }
        if writes {
            return false;
        }
    }
    true
}

/// The upper bits of VGPR numbers are set again before anything names a VGPR or reads MODE.
fn no_vgpr_until_set_again(whole: &Spliced, from: usize) -> bool {
    let rest = &whole.insts[from..];
    let end = rest.iter().position(|i| matches!(i.info().op(), Op::SSetVgprMsb | Op::SSetregImm32B32));
    let matters = |inst: &Inst| {
        let mut matters = false;
        // A write of the bits ends what they were; a copy of MODE that only goes back has others put into their place
        // behind that.
        let harmless = match inst.info().op() {
            Op::SSetregB32 => inst.field(Field::Simm16).is_some_and(|hwreg| hwreg >> 6 == 31 << 5),
            Op::SGetregB32 => !looked_at(whole, inst),
            _ => false,
        };
        inst.for_each_access(|a| matters |= a.reg.is_vgpr() || a.reg == Reg::MODE && a.access.reads() && !harmless);
        matters
    };
    end.is_some_and(|end| !rest[..end].iter().any(matters))
}

/// Something but a write of a hardware register reads what the instruction writes.
fn looked_at(whole: &Spliced, inst: &Inst) -> bool {
    let copy = inst.operands().find(|(info, _)| info.access.writes()).and_then(|(_, v)| v.reg());
    whole.insts.iter().filter(|other| other.info().op() != Op::SSetregB32).any(|other| {
        let mut reads = false;
        other.for_each_access(|a| reads |= a.access.reads() && copy.is_some_and(|copy| copy.first == a.reg));
        reads
    })
}

/// Behind the change of EXEC at `at`, which takes lanes away, something is put into a home that holds nothing in any lane:
/// in front of it, it would be put away in all.
fn saves_more(whole: &Spliced, at: usize, full: &Inst) -> bool {
    let next = &whole.insts[at + 1];
    let nobodys = match next.info().op() {
        Op::ScratchStoreDword => true,
        Op::VAccvgprWriteB32 => {
            let home = next.operands().find(|(info, _)| info.access.writes()).and_then(|(_, v)| v.reg());
            home.is_some_and(|home| {
                home.units().all(|r| !whole.live.active.contains(r) && !whole.live.inactive.contains(r))
            })
        }
        _ => false,
    };
    class(&whole.insts[at]) == "change of EXEC" && nobodys && whole.insts[at] != *full && is_full(whole, at, full)
}

/// Behind the change of EXEC at `at`, which switches all lanes on, something is fetched from its home, but no hook has
/// run with other lanes than the application's.
fn fetches_less(whole: &Spliced, at: usize, full: &Inst) -> bool {
    let fetches = matches!(whole.insts[at + 1].info().op(), Op::ScratchLoadDword | Op::VAccvgprReadB32);
    let sets_exec = |inst: &Inst| {
        let mut sets = false;
        inst.for_each_access(|a| sets |= a.reg == Reg::EXEC_LO && a.access.writes());
        sets
    };
    let hooks = whole.spans.iter().flat_map(|span| &whole.insts[span.start..span.end]);
    fetches && whole.insts[at] == *full && !hooks.into_iter().any(sets_exec)
}

/// EXEC is full already.
fn is_full(whole: &Spliced, at: usize, full: &Inst) -> bool {
    let sets = |inst: &&Inst| {
        let mut sets = false;
        inst.for_each_access(|a| sets |= a.reg == Reg::EXEC_LO && a.access.writes());
        sets
    };
    whole.insts[..at].iter().rev().find(sets) == Some(full)
}

/// The register is put away here, so that a change of it does not matter.
fn touched_before_saved(whole: &Spliced, at: usize, reg: Reg) -> bool {
    let touches = |inst: &Inst| {
        let mut touches = false;
        inst.for_each_access(|a| touches |= a.reg == reg);
        touches
    };
    let _ = at;
    whole.insts.iter().any(touches)
}

/// One reads or writes what the other writes.
pub fn depend(a: &Inst, b: &Inst) -> bool {
    let touched = |inst: &Inst, writes: bool| {
        let mut all = luthier_isa::RegSet::EMPTY;
        inst.for_each_access(|x| {
            if !writes || x.access.writes() {
                all.insert(x.reg);
            }
        });
        all
    };
    let lanes = |inst: &Inst| inst.info().op() == Op::VWritelaneB32;
    let moves = |inst: &Inst| matches!(inst.info().op(), Op::VAccvgprReadB32 | Op::VAccvgprWriteB32);
    let whole = |inst: &Inst| {
        let mut all = false;
        inst.for_each_access(|a| all |= a.access == luthier_isa::Access::Write);
        moves(inst) && all
    };
    let upper = |inst: &Inst| inst.info().op() == Op::SSetVgprMsb;
    if upper(a) || upper(b) || lanes(a) && lanes(b) || whole(a) || whole(b) {
        return false;
    }
    a != b && (touched(a, true).intersects(&touched(b, false)) || touched(a, false).intersects(&touched(b, true)))
}

/// Other registers of the same kind.
pub fn others(range: RegRange) -> Vec<RegRange> {
    let moved = |by: i32| {
        let first = (range.first.index() as i32 + by).try_into().ok().and_then(Reg::from_index)?;
        let file = |r: Reg| (r.is_sgpr(), r.is_vgpr(), r.is_agpr());
        let last = first.offset(u16::from(range.count) - 1);
        let same = file(first) == file(range.first) && file(last) == file(range.first);
        (same && file(first) != (false, false, false)).then_some(RegRange { first, ..range })
    };
    let step = i32::from(range.count.next_power_of_two());
    [step, -step].into_iter().filter_map(moved).collect()
}

fn in_hook(env: &Component, whole: &Spliced, at: usize, found: &mut Vec<Mutation>) {
    let inst = whole.insts[at];
    found.push(("hook: drop an instruction".to_owned(), without(whole, at)));
    let follows = whole.spans.iter().any(|s| s.start <= at && at + 1 < s.end);
    if follows {
        found.push(("hook: an instruction twice".to_owned(), inserted(whole, at + 1, inst)));
    }
    if follows && whole.insts[at + 1].info() != inst.info() {
        let mut changed = whole.clone();
        changed.insts.swap(at, at + 1);
        found.push(("hook: swap two instructions".to_owned(), changed));
    }
    let literal = whole.literals.iter().any(|l| l.inst == at);
    for (n, (info, value)) in inst.operands().enumerate() {
        let mut changed = inst;
        match value {
            Operand::Reg(range) if info.fixed.is_none() && !named_once(whole, at, range) => {
                for other in others(range) {
                    let mut changed = inst;
                    if changed.set_operand(n, Operand::Reg(other)).is_ok() {
                        found.push(("hook: another register".to_owned(), with(whole, at, changed)));
                    }
                }
            }
            Operand::Literal(old) if !literal && changed.set_operand(n, Operand::Literal(old ^ 0x100)).is_ok() => {
                found.push(("hook: another literal".to_owned(), with(whole, at, changed)));
            }
            Operand::Inline(code @ 128..=191) if changed.set_operand(n, Operand::Inline(code + 1)).is_ok() => {
                found.push(("hook: another constant".to_owned(), with(whole, at, changed)));
            }
            _ => {}
        }
    }
    for (field, ..) in inst.info().layout() {
        let mut changed = inst;
        let named = inst.info().operands.iter().any(|o| o.field == *field);
        if !named && changed.set_field(*field, inst.field(*field).unwrap_or(0) ^ 1).is_ok() && changed != inst {
            found.push(("hook: another modifier".to_owned(), with(whole, at, changed)));
        }
    }
    let _ = env;
}

/// No other operand of the hook names a register of it: any other free one would do.
fn named_once(whole: &Spliced, at: usize, range: RegRange) -> bool {
    let Some(span) = whole.spans.iter().find(|s| (s.start..s.end).contains(&at)) else { return false };
    let named = whole.insts[span.start..span.end].iter().flat_map(|i| i.operands()).filter_map(|(_, v)| v.reg());
    named.filter(|r| r.units().any(|u| range.units().any(|x| x == u))).count() < 2
}

fn hooks(env: &Component, whole: &Spliced, n: usize, found: &mut Vec<Mutation>) {
    let span = &whole.spans[n];
    let mut dropped = whole.clone();
    for _ in span.start..span.end {
        dropped = without(&dropped, span.start);
    }
    dropped.spans.remove(n);
    found.push(("drop a hook".to_owned(), dropped));
    let mut shifted = whole.clone();
    shifted.spans[n] = Span { start: span.start + 1, end: span.end + 1, ..span.clone() };
    found.push(("hook: begins elsewhere".to_owned(), shifted));
    if n + 1 < whole.spans.len() {
        let mut swapped = whole.clone();
        let other = swapped.spans[n + 1].hook;
        swapped.spans[n + 1].hook = span.hook;
        swapped.spans[n].hook = other;
        found.push(("hooks in another order".to_owned(), swapped));
    }
    for literal in 0..whole.literals.len() {
        let mut changed = whole.clone();
        changed.literals[literal].addend += 4;
        found.push(("relocation: other addend".to_owned(), changed));
        let mut changed = whole.clone();
        changed.literals.remove(literal);
        found.push(("relocation: none".to_owned(), changed));
        let mut changed = whole.clone();
        changed.literals[literal].inst += 1;
        found.push(("relocation: of another instruction".to_owned(), changed));
    }
    // A register of the hook's becomes one that is live, or one that the kernel does not have.
    let insts = &whole.insts[span.start..span.end];
    let mut names: Vec<Reg> = Vec::new();
    for (_, value) in insts.iter().flat_map(|i| i.operands()).filter(|(info, _)| info.access.writes()) {
        if let Operand::Reg(range) = value
            && range.count == 1
            && (range.first.is_sgpr() || range.first.is_vgpr())
            && !names.contains(&range.first)
        {
            names.push(range.first);
        }
    }
    for reg in names {
        let live = whole.live.active.iter().find(|r| {
            r.is_sgpr() == reg.is_sgpr()
                && r.is_vgpr() == reg.is_vgpr()
                && *r != reg
                && !touched_before_saved(whole, 0, *r)
        });
        if let Some(changed) = live.and_then(|live| renamed(whole, n, reg, live)) {
            found.push(("hook: a live register".to_owned(), changed));
        }
        let last = if reg.is_sgpr() { Reg::sgpr(101) } else { Reg::vgpr(255) };
        let beyond = env.registers.allocated.vgprs.max(whole.splice.highest.vgprs) <= last.number();
        if reg.is_vgpr()
            && beyond
            && let Some(changed) = renamed(whole, n, reg, last)
        {
            found.push(("hook: a register that is not allocated".to_owned(), changed));
        }
    }
}

/// With one register of a hook another one, everywhere in it; `None` where it is part of a tuple.
fn renamed(whole: &Spliced, n: usize, from: Reg, to: Reg) -> Option<Spliced> {
    let mut changed = whole.clone();
    let span = whole.spans[n].clone();
    for inst in &mut changed.insts[span.start..span.end] {
        let operands: Vec<(usize, RegRange)> =
            inst.operands().enumerate().filter_map(|(n, (_, v))| Some((n, v.reg()?))).collect();
        for (n, range) in operands {
            if range.units().any(|u| u == from) {
                if range.count != 1 {
                    return None;
                }
                inst.set_operand(n, Operand::Reg(RegRange { first: to, ..range })).ok()?;
            }
        }
    }
    Some(changed)
}

fn with(whole: &Spliced, at: usize, inst: Inst) -> Spliced {
    let mut changed = whole.clone();
    changed.insts[at] = inst;
    changed
}

fn without(whole: &Spliced, at: usize) -> Spliced {
    let mut changed = whole.clone();
    changed.insts.remove(at);
    for span in &mut changed.spans {
        span.start -= usize::from(span.start > at);
        span.end -= usize::from(span.end > at);
    }
    changed.literals.retain(|l| l.inst != at);
    changed.literals.iter_mut().filter(|l| l.inst > at).for_each(|l| l.inst -= 1);
    changed
}

fn inserted(whole: &Spliced, at: usize, inst: Inst) -> Spliced {
    let mut changed = whole.clone();
    changed.insts.insert(at, inst);
    for span in &mut changed.spans {
        span.start += usize::from(span.start >= at);
        span.end += usize::from(span.end > at);
    }
    changed.literals.iter_mut().filter(|l| l.inst >= at).for_each(|l| l.inst += 1);
    changed
}

/// The copy without one of the wait states that were inserted, for at most `most` of them.
pub fn without_wait_states(mode: Mode, chunk: &Chunk, most: usize) -> Vec<(String, Chunk)> {
    let decoder = Decoder::new(mode);
    let mut found = Vec::new();
    let mut word = 0;
    while word < chunk.words.len() && found.len() < most {
        let bytes: Vec<u8> = chunk.words[word..].iter().take(5).flat_map(|w| w.to_le_bytes()).collect();
        let Ok(inst) = decoder.decode(&bytes) else { break };
        let inserted = chunk.origins.binary_search_by_key(&(word as u32), |o| o.0).is_err();
        if inserted && matches!(inst.info().op(), Op::SNop | Op::SWaitcntDepctr | Op::DsNop) {
            found.push((inst.info().base.to_owned(), removed(chunk, word as u32, word as u32 + 1)));
        }
        word += inst.size() / 4;
    }
    found
}

/// The copy without some of its words, which are no branches.
pub fn removed(chunk: &Chunk, from: u32, to: u32) -> Chunk {
    let mut changed = chunk.clone();
    changed.words.drain(from as usize..to as usize);
    let moved = |n: &mut u32| *n -= if *n > from { (*n).min(to) - from } else { 0 };
    changed.labels.iter_mut().for_each(|label| moved(&mut label.word));
    changed.origins.iter_mut().for_each(|origin| moved(&mut origin.0));
    for fixup in &mut changed.fixups {
        if let Fixup::Branch { at, .. } = fixup {
            moved(at);
        }
    }
    changed
}
