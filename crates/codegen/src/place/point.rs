//! Placing the hooks of one point.
//!
//! What comes out is straight code in this order: saves of what is live and will change, then for each hook the moves
//! of its arguments, its renamed template, and the moves of its results; then the restores.

use luthier_isa::{EncodeError, Inst, Operand, Reg, RegRange, RegSet};
use luthier_lifter::{InFlight, Live};

use super::borrow::{Borrowed, Shortage};
use super::chunk::Place;
use super::env::Env;
use super::hazard;
use super::ops::{one, pair};
use super::pool::{File, Pool};
use super::prepared::{Arg, Prepared, is_memory};
use super::renamed::Renamed;
use crate::RelocKind;
use crate::plan::{ArgValue, Rejected};

/// What is known of a point.
pub struct Point<'a> {
    pub live: &'a Live,
    /// Loads in flight, which may still write their registers.
    pub loads: &'a InFlight,
    /// Instructions before the point in its block, the nearest last.
    pub previous: &'a [Inst],
    /// The instruction that follows, if it is known.
    pub next: Option<&'a Inst>,
    /// Operands of matrix instructions that may still be at work.
    pub busy: &'a RegSet,
    /// VGPR operands may be indexed here.
    pub indexed: bool,
}

/// A template as it was placed; positions are indices into [`Splice::insts`].
#[derive(Clone, Debug)]
pub struct Span {
    pub start: usize,
    pub end: usize,
    /// Index into the plan's insertions.
    pub insertion: usize,
    /// Where each of the template's groups went.
    pub groups: Vec<Reg>,
}

/// A literal to fill in: of which instruction, and with what.
#[derive(Clone, Debug)]
pub struct Literal {
    pub inst: usize,
    pub place: Place,
    pub addend: i64,
    pub high: bool,
}

/// The code for one point.
#[derive(Clone, Debug, Default)]
pub struct Splice {
    pub insts: Vec<Inst>,
    pub literals: Vec<Literal>,
    pub spans: Vec<Span>,
    pub highest: Highest,
    renamed: Renamed,
}

/// One more than the highest register taken, by file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Highest {
    pub sgprs: u16,
    pub vgprs: u16,
    pub agprs: u16,
}

impl Highest {
    pub fn note(&mut self, range: RegRange) {
        let end = range.first.number() + u16::from(range.count);
        match File::of(range.first) {
            Some(File::Sgpr) => self.sgprs = self.sgprs.max(end),
            Some(File::Vgpr) => self.vgprs = self.vgprs.max(end),
            Some(File::Agpr) => self.agprs = self.agprs.max(end),
            None => {}
        }
    }
    pub fn merge(&mut self, other: &Highest) {
        self.sgprs = self.sgprs.max(other.sgprs);
        self.vgprs = self.vgprs.max(other.vgprs);
        self.agprs = self.agprs.max(other.agprs);
    }
}

impl Splice {
    pub fn clear(&mut self) {
        self.insts.clear();
        self.literals.clear();
        self.spans.clear();
        self.highest = Highest::default();
    }
}

/// Registers that keep special ones over the point.
#[derive(Default)]
struct Saved {
    scc: Option<Reg>,
    vcc: Option<Reg>,
    m0: Option<Reg>,
    mode: Option<Reg>,
}

impl Saved {
    /// Where the value of an argument that names a saved register is while hooks run.
    fn value(&self, value: &ArgValue) -> ArgValue {
        let ArgValue::Reg(range) = *value else { return *value };
        let within = |first: Reg, count: u8, copy: Option<Reg>| {
            let offset = range.first.index().checked_sub(first.index())?;
            (offset + usize::from(range.count) <= usize::from(count))
                .then(|| copy.map(|c| ArgValue::Reg(RegRange::new(c.offset(offset as u16), range.count))))
                .flatten()
        };
        within(Reg::SCC, 1, self.scc)
            .or_else(|| within(Reg::VCC_LO, 2, self.vcc))
            .or_else(|| within(Reg::M0, 1, self.m0))
            .unwrap_or(*value)
    }
}

/// Places the plan's `insertions` (by index, in the order in which they run) at one point.
pub fn place(
    env: &Env,
    point: &Point,
    address: u64,
    insertions: &[u32],
    out: &mut Splice,
    rejected: &mut Vec<Rejected>,
) -> Result<(), EncodeError> {
    let mut borrowed = Borrowed::default();
    loop {
        let mut reasons = Vec::new();
        let short = attempt(env, point, insertions, &borrowed, out, &mut reasons)?;
        // Where SGPRs are short, some that are live are kept in a VGPR's lanes meanwhile.
        if let Some(need) = short.filter(|_| !point.indexed)
            && borrowed.borrow(env, &pool(env, point, insertions), &excluded(env, point, insertions), need)
        {
            continue;
        }
        rejected.extend(reasons.into_iter().map(|reason| Rejected { address, reason }));
        return Ok(());
    }
}

/// One try. Gives back what scalar registers were missing, if that is why a hook was rejected.
fn attempt(
    env: &Env,
    point: &Point,
    insertions: &[u32],
    borrowed: &Borrowed,
    out: &mut Splice,
    reasons: &mut Vec<String>,
) -> Result<Option<Shortage>, EncodeError> {
    out.clear();
    let mut pool = pool(env, point, insertions);
    let mut todo: Vec<u32> = Vec::with_capacity(insertions.len());
    for &i in insertions {
        match obstacle(env, point, i, env.prepared(i)) {
            Some(reason) => reasons.push(reason),
            None => todo.push(i),
        }
    }
    let Some(lanes) = borrowed.begin(env, &mut pool, out)? else {
        reasons.extend(todo.iter().map(|_| "neither SGPRs nor a VGPR to keep some in are free here".to_owned()));
        out.clear();
        return Ok(None);
    };
    let mut short = None;
    let saved = save(env, point, &mut todo, &mut pool, out, &mut short, reasons)?;
    let mut written_back = RegSet::EMPTY;
    let mut trailing = 0;
    for i in todo {
        push_nops(env, trailing, out)?;
        trailing = 0;
        // Each hook begins with the same free registers: nothing of the one before is needed any more.
        match place_one(env, point, i, pool, &saved, out, &mut written_back, &mut short)? {
            Ok(()) => {
                let traits = &env.prepared(i).traits;
                trailing = hazard::trailing(traits, &written_back, saved.vcc.is_some(), saved.m0.is_some());
                // A run of memory instructions that is replayed must still find its addresses: keep runs apart.
                if env.replays && traits.ends_with_memory && point.next.is_none_or(is_memory) {
                    trailing = trailing.max(1);
                }
            }
            Err(reason) => reasons.push(reason),
        }
    }
    if out.spans.is_empty() {
        out.clear();
        return Ok(short);
    }
    restore(env, &saved, out)?;
    trailing = trailing.max(borrowed.end(env, lanes, out)?);
    push_nops(env, trailing, out)?;
    Ok(short)
}

/// Registers that must be left alone at the point, live or not: those of arguments, and of what is under way.
fn excluded(env: &Env, point: &Point, insertions: &[u32]) -> RegSet {
    let mut kept = arguments(env, insertions);
    kept.union_with(point.busy);
    kept.union_with(&point.loads.registers());
    kept.union_with(&env.reserved);
    kept
}

fn arguments(env: &Env, insertions: &[u32]) -> RegSet {
    let mut all = RegSet::EMPTY;
    for &i in insertions {
        for arg in &env.plan.insertions[i as usize].args {
            if let ArgValue::Reg(range) | ArgValue::RegInOut(range) = arg {
                all.insert_range(*range);
            }
        }
    }
    all
}

/// The registers free at the point, those that arguments lie in left out.
fn pool(env: &Env, point: &Point, insertions: &[u32]) -> Pool {
    let mut kept = arguments(env, insertions);
    kept.union_with(point.busy);
    pool_without(env, point.live, point.loads, &kept)
}

fn pool_without(env: &Env, live: &Live, loads: &InFlight, kept: &RegSet) -> Pool {
    let mut taken = live.active;
    let mut inactive = live.inactive;
    let loaded = loads.registers();
    for set in [&mut taken, &mut inactive] {
        set.union_with(&loaded);
        set.subtract(&env.never_used);
        set.union_with(&env.reserved);
        set.union_with(kept);
    }
    Pool::new(&taken, &inactive, env.limits)
}

/// Free registers at a point without hooks.
pub fn free_registers(env: &Env, live: &Live, loads: &InFlight, without: &[RegRange]) -> Pool {
    let mut kept = RegSet::EMPTY;
    without.iter().for_each(|r| kept.insert_range(*r));
    pool_without(env, live, loads, &kept)
}

/// Why the hook cannot run here at all.
fn obstacle(env: &Env, point: &Point, i: u32, prepared: &Prepared) -> Option<String> {
    let insertion = &env.plan.insertions[i as usize];
    let name = &insertion.template.name;
    if let Some(reason) = &prepared.refused {
        return Some(reason.clone());
    }
    if point.indexed && prepared.traits.touches_vgprs {
        return Some(format!("VGPR indexing is on here, and the hook {name} uses VGPRs"));
    }
    if insertion.args.len() != prepared.args.len() {
        return Some(format!(
            "the hook {name} has {} arguments, {} were given",
            prepared.args.len(),
            insertion.args.len()
        ));
    }
    for (n, (value, place)) in insertion.args.iter().zip(&prepared.args).enumerate() {
        match (value, place) {
            (ArgValue::Counter(c), Some(_)) if !env.has_counter(*c) => {
                return Some(
                    env.no_counter
                        .clone()
                        .unwrap_or_else(|| format!("argument {n} names a counter that is not in the plan")),
                );
            }
            (ArgValue::Baked, Some(p)) if p.read => {
                return Some(format!("argument {n} of the hook {name} is in a register, but no value is given for it"));
            }
            (ArgValue::Reg(r) | ArgValue::RegInOut(r), Some(p)) if r.count != p.count => {
                return Some(format!("argument {n} of the hook {name} has {} registers, {r} is given", p.count));
            }
            (ArgValue::Reg(r) | ArgValue::RegInOut(r), Some(_)) if !readable(*r) => {
                return Some(format!(
                    "argument {n} of the hook {name} is {r}, which no instruction reads like a register"
                ));
            }
            (ArgValue::RegInOut(r), Some(_)) if r.units().any(|u| File::of(u).is_none()) => {
                return Some(format!(
                    "the hook {name} is to write {r}, which is not supported: only s, v and a registers"
                ));
            }
            (ArgValue::Counter(c), Some(_)) if point.indexed && env.counters.get(*c).copied().flatten().is_none() => {
                return Some("VGPR indexing is on here, and the counter is in a VGPR's lanes".to_owned());
            }
            (ArgValue::Counter(_), Some(p)) if p.count != 2 => {
                return Some(format!("argument {n} of the hook {name} is no 64-bit value, but a counter is given"));
            }
            _ => {}
        }
    }
    let missing = prepared.relocs.iter().find(|(_, symbol, ..)| !env.symbols.contains_key(symbol));
    if let Some((_, symbol, ..)) = missing {
        return Some(format!(
            "the hook {name} refers to {symbol}, which is neither a variable of the plan nor a symbol of the object"
        ));
    }
    let absolute = prepared.relocs.iter().any(|r| matches!(r.2, RelocKind::Abs32Lo | RelocKind::Abs32Hi));
    absolute.then(|| {
        format!("the hook {name} holds an absolute address, which an object that may be loaded anywhere cannot")
    })
}

/// Can be the source of a move.
fn readable(range: RegRange) -> bool {
    let scalar = |r: Reg| r.index() < 125 || r == Reg::EXEC_LO || r == Reg::EXEC_HI || r == Reg::SCC;
    let all = |inside: &dyn Fn(Reg) -> bool| range.units().all(inside);
    all(&scalar) || all(&Reg::is_vgpr) || all(&Reg::is_agpr)
}

/// Keeps SCC, VCC, M0 and MODE where they are live and some hook changes them. Hooks for which no register is left to
/// do so are taken out of `todo`.
fn save(
    env: &Env,
    point: &Point,
    todo: &mut Vec<u32>,
    pool: &mut Pool,
    out: &mut Splice,
    short: &mut Option<Shortage>,
    reasons: &mut Vec<String>,
) -> Result<Saved, EncodeError> {
    let ops = &env.ops;
    // A later hook's argument counts as a use.
    let args = todo.iter().flat_map(|i| &env.plan.insertions[*i as usize].args);
    let mut live = point.live.active;
    args.for_each(|arg| {
        if let ArgValue::Reg(range) = arg {
            live.insert_range(*range);
        }
    });
    let live = |reg| live.contains(reg);
    let mut saved = Saved::default();
    let mut highest = Highest::default();
    let mut keep = |what: &str, needs: &dyn Fn(&Prepared) -> bool, count: u8, todo: &mut Vec<u32>| -> Option<Reg> {
        if !todo.iter().any(|i| needs(env.prepared(*i))) {
            return None;
        }
        let range = pool.take(File::Sgpr, count, count, 0, false);
        if range.is_none() {
            *short = Some(Shortage { count, align: count, remainder: 0 });
            let free = pool.describe();
            todo.retain(|i| {
                let prepared = env.prepared(*i);
                if needs(prepared) {
                    let name = &env.plan.insertions[*i as usize].template.name;
                    reasons.push(format!(
                        "{what} is live and the hook {name} changes it, but no register is free to keep it: {free}"
                    ));
                }
                !needs(prepared)
            });
        }
        range.inspect(|r| highest.note(*r)).map(|r| r.first)
    };
    if live(Reg::SCC) {
        saved.scc = keep("SCC", &|p| p.needs.scc, 1, todo);
    }
    if live(Reg::VCC_LO) || live(Reg::VCC_HI) {
        saved.vcc = keep("VCC", &|p| p.needs.vcc, 2, todo);
    }
    if live(Reg::M0) {
        saved.m0 = keep("M0", &|p| p.needs.m0, 1, todo);
    }
    if !env.default_fp_mode {
        saved.mode = keep("MODE", &|p| p.needs.fp_mode, 1, todo);
    }
    out.highest.merge(&highest);
    if let Some(to) = saved.scc {
        out.insts.push(ops.save_scc(to)?);
    }
    if let Some(to) = saved.vcc {
        out.insts.push(ops.mov64(to, pair(Reg::VCC_LO))?);
    }
    if let Some(to) = saved.m0 {
        out.insts.push(ops.mov32(to, one(Reg::M0))?);
    }
    if let Some(to) = saved.mode {
        // The application may have written MODE just now, and floating-point work must not overtake the change.
        out.insts.push(ops.nop(2)?);
        out.insts.push(ops.read_fp_mode(to)?);
        out.insts.push(ops.default_fp_mode()?);
        out.insts.push(ops.nop(2)?);
    }
    Ok(saved)
}

fn restore(env: &Env, saved: &Saved, out: &mut Splice) -> Result<(), EncodeError> {
    let ops = &env.ops;
    if let Some(from) = saved.mode {
        out.insts.push(ops.nop(2)?);
        out.insts.push(ops.write_fp_mode(from)?);
        out.insts.push(ops.nop(2)?);
    }
    if let Some(from) = saved.m0 {
        out.insts.push(ops.mov32(Reg::M0, one(from))?);
    }
    if let Some(from) = saved.vcc {
        out.insts.push(ops.mov64(Reg::VCC_LO, pair(from))?);
    }
    if let Some(from) = saved.scc {
        out.insts.push(ops.restore_scc(from)?);
    }
    Ok(())
}

fn push_nops(env: &Env, mut states: u32, out: &mut Splice) -> Result<(), EncodeError> {
    while states > 0 {
        out.insts.push(env.ops.nop(states)?);
        states = states.saturating_sub(16);
    }
    Ok(())
}

/// How an argument's value gets to its place.
enum Supply {
    /// The group is renamed onto the registers that hold it.
    InPlace(Reg),
    Moved(RegRange),
    /// A counter, in two lanes of a VGPR.
    Lanes(Reg, u8),
    Nothing,
}

/// Where argument `value` may lie while the template runs.
fn supply(env: &Env, prepared: &Prepared, arg: &Arg, value: &ArgValue) -> Supply {
    let group = &prepared.groups[arg.group];
    let (range, kept) = match value {
        ArgValue::Baked => return Supply::Nothing,
        ArgValue::Counter(c) => match env.counters.get(*c).copied().flatten() {
            Some(reg) => (RegRange::new(reg, 2), true),
            None => match env.counter_lanes.get(*c).copied().flatten() {
                Some((vgpr, lane)) => return Supply::Lanes(vgpr, lane),
                None => return Supply::Nothing,
            },
        },
        ArgValue::Reg(r) => (*r, false),
        ArgValue::RegInOut(r) => (*r, true),
    };
    // Its new value may be left there; any other may not.
    let unharmed = !arg.clobbered || arg.written && kept && !group.whole;
    let fits = File::of(range.first) == Some(group.file)
        && File::of(range.first.offset(u16::from(range.count) - 1)) == Some(group.file)
        && range.first.number() % u16::from(group.align) == group.range.first.number() % u16::from(group.align);
    if arg.alone && unharmed && fits { Supply::InPlace(range.first) } else { Supply::Moved(range) }
}

/// One hook. The inner error says why there is no room for it.
#[allow(clippy::too_many_arguments)]
fn place_one(
    env: &Env,
    point: &Point,
    i: u32,
    mut pool: Pool,
    saved: &Saved,
    out: &mut Splice,
    written_back: &mut RegSet,
    short: &mut Option<Shortage>,
) -> Result<Result<(), String>, EncodeError> {
    let insertion = &env.plan.insertions[i as usize];
    let prepared = env.prepared(i);
    let mut groups: Vec<Option<Reg>> = vec![None; prepared.groups.len()];
    let mut moves: Vec<(&Arg, RegRange, bool)> = Vec::new();
    let mut in_lanes: Vec<(&Arg, Reg, u8)> = Vec::new();
    let (mut in_place, mut sources) = (RegSet::EMPTY, RegSet::EMPTY);
    for (value, arg) in insertion.args.iter().zip(&prepared.args) {
        let Some(arg) = arg else { continue };
        let back = arg.written && !matches!(value, ArgValue::Reg(_) | ArgValue::Baked);
        match supply(env, prepared, arg, &saved.value(value)) {
            Supply::Nothing => {}
            Supply::Lanes(vgpr, lane) => in_lanes.push((arg, vgpr, lane)),
            Supply::InPlace(reg) if groups[arg.group].is_none() => {
                groups[arg.group] = Some(reg);
                let range = RegRange::new(reg, arg.count);
                in_place.insert_range(range);
                if back && !matches!(value, ArgValue::Counter(_)) {
                    written_back.insert_range(range);
                }
            }
            Supply::InPlace(reg) => moves.push((arg, RegRange::new(reg, arg.count), back)),
            Supply::Moved(range) => moves.push((arg, range, back)),
        }
    }
    moves.iter().for_each(|(_, range, _)| sources.insert_range(*range));
    sources.union_with(&in_place);

    // Wide groups first: they are the hardest to find a place for.
    let mut order: Vec<usize> = (0..groups.len()).filter(|g| groups[*g].is_none()).collect();
    order.sort_by_key(|g| std::cmp::Reverse((prepared.groups[*g].range.count, prepared.groups[*g].align)));
    for g in order {
        let group = &prepared.groups[g];
        let remainder = group.range.first.number() % u16::from(group.align);
        let Some(range) = pool.take(group.file, group.range.count, group.align, remainder, group.whole) else {
            let name = &insertion.template.name;
            if group.file == File::Sgpr {
                *short = Some(Shortage { count: group.range.count, align: group.align, remainder });
            }
            return Ok(Err(format!(
                "the hook {name} needs {} registers in a row (its {}): {}; live here: {:?}",
                group.range.count,
                group.range,
                pool.describe(),
                point.live.active
            )));
        };
        out.highest.note(range);
        groups[g] = Some(range.first);
    }
    let groups: Vec<Reg> = groups.into_iter().flatten().collect();

    let wait = point.loads.wait_for(&sources);
    if !wait.is_none() {
        out.insts.push(env.ops.wait(wait.encode())?);
    }
    if sources.intersects(point.busy) {
        push_nops(env, hazard::MATRIX, out)?;
    }
    let mut moved_vector = false;
    for (arg, range, _) in moves.iter().filter(|(arg, ..)| arg.read) {
        let to = groups[arg.group].offset(arg.delta.into());
        moved_vector |= File::of(to) != Some(File::Sgpr);
        copy(env, RegRange::new(to, arg.count), *range, &mut out.insts)?;
    }
    for (arg, vgpr, lane) in in_lanes.iter().filter(|(arg, ..)| arg.read) {
        let to = groups[arg.group].offset(arg.delta.into());
        for n in 0..2 {
            out.insts.push(env.ops.read_lane(to.offset(n.into()), *vgpr, lane + n)?);
        }
    }
    let mut states = hazard::leading(&prepared.traits, &in_place, point.previous);
    if moved_vector && prepared.traits.dpp {
        states = states.max(2);
    }
    if env.replays && prepared.traits.starts_with_memory && point.previous.last().is_none_or(is_memory) {
        states = states.max(1);
    }
    if !in_lanes.is_empty() && prepared.traits.vmem {
        states = states.max(hazard::VALU_SCALAR);
    }
    push_nops(env, states, out)?;

    let start = out.insts.len();
    out.renamed.append(env, i, &groups, &mut out.insts)?;
    for (inst, symbol, kind, addend) in &prepared.relocs {
        if let Some(&place) = env.symbols.get(symbol) {
            let high = matches!(kind, RelocKind::Rel32Hi);
            out.literals.push(Literal { inst: start + inst, place, addend: *addend, high });
        }
    }
    out.spans.push(Span { start, end: out.insts.len(), insertion: i as usize, groups: groups.clone() });
    for (arg, vgpr, lane) in in_lanes.iter().filter(|(arg, ..)| arg.written) {
        let from = groups[arg.group].offset(arg.delta.into());
        for n in 0..2 {
            out.insts.push(env.ops.write_lane(*vgpr, lane + n, one(from.offset(n.into())))?);
        }
    }
    for (arg, range, _) in moves.iter().filter(|(.., back)| *back) {
        let from = groups[arg.group].offset(arg.delta.into());
        copy(env, *range, RegRange::new(from, arg.count), &mut out.insts)?;
        written_back.insert_range(*range);
    }
    Ok(Ok(()))
}

/// Copies registers of whatever files, unit by unit (SGPR pairs at once where they are aligned).
fn copy(env: &Env, to: RegRange, from: RegRange, out: &mut Vec<Inst>) -> Result<(), EncodeError> {
    let ops = &env.ops;
    let file = |r: Reg| File::of(r).unwrap_or(File::Sgpr);
    let mut n = 0;
    while n < u16::from(to.count.min(from.count)) {
        let (t, f) = (to.first.offset(n), from.first.offset(n));
        let even = n + 1 < u16::from(to.count) && t.index() % 2 == 0 && f.index() % 2 == 0;
        match (file(t), file(f)) {
            (File::Sgpr, File::Sgpr) if f == Reg::SCC => out.push(ops.save_scc(t)?),
            (File::Sgpr, File::Sgpr) if even => {
                out.push(ops.mov64(t, pair(f))?);
                n += 1;
            }
            (File::Sgpr, File::Sgpr) => out.push(ops.mov32(t, one(f))?),
            (File::Vgpr, File::Agpr) => out.push(Inst::build(ops.v_accvgpr_read_b32, &[one(t), one(f)])?),
            (File::Agpr, File::Vgpr) => out.push(Inst::build(ops.v_accvgpr_write_b32, &[one(t), one(f)])?),
            (_, File::Vgpr | File::Sgpr) => {
                out.push(Inst::build(ops.v_mov_b32, &[one(t), Operand::Reg(RegRange::new(f, 1))])?)
            }
            (File::Sgpr | File::Agpr, File::Agpr) => out.push(Inst::build(ops.v_mov_b32, &[one(t), one(f)])?),
        }
        n += 1;
    }
    Ok(())
}
