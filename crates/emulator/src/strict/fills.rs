//! Undefined bits against the device: a program runs with several values in them, and a bit of a result that differs must
//! be marked undefined. Where a rule claims to be exact, a bit that is marked must differ for some values.

use std::collections::{BTreeMap, BTreeSet};

use luthier_isa::{Field, Flags, Inst, Mode, OpcodeInfo, Operand, Reg, RegRange};

use super::checked::Checked;
use super::terms::{Place, Rule};
use super::{Group, Looks, Strict, set_up};
use crate::lower::{Builder, Ending, Limits};
use crate::op::{Flow, Op};
use crate::registers::{rows, scalar};
use crate::report::Kinds;
use crate::wave::Wave;

#[path = "../../../isa/tests/common/mod.rs"]
mod words;
use words::{Rng, random_words};

/// Registers of each kind that programs use; the rows behind them are looked at as well.
const VGPRS: u16 = 20;
const SGPRS: usize = 24;
const LIMITS: Limits = Limits { vgprs: 256, agprs: 0, vgpr_block: 0, first_agpr: rows::AGPR };

/// Scalars that are looked at.
fn scalars() -> impl Iterator<Item = u8> {
    (0..SGPRS as u8 + 8).chain([scalar::VCC, scalar::VCC + 1, scalar::M0, scalar::SCC])
}

/// Values of registers, and which of their bits are undefined.
struct Start {
    rows: Vec<([u32; 64], [u32; 64])>,
    scalars: Vec<(u8, u32, u32)>,
    exec: u64,
}

fn number(rng: &mut Rng) -> u32 {
    match rng.below(6) {
        0 => rng.below(40) as u32,
        1 => 0u32.wrapping_sub(rng.below(20) as u32),
        2 => (rng.below(64) as f32 / 4.0 - 8.0).to_bits(),
        3 => 0x3c00_4000,
        _ => rng.next() as u32,
    }
}

/// Undefined bits of a register, mostly those of a whole half or byte.
fn some_bits(rng: &mut Rng) -> u32 {
    match rng.below(9) {
        0..=3 => 0,
        4 => !0,
        5 => 0xffff_0000,
        6 => 0xffff,
        7 => 0xff << (8 * rng.below(4)),
        _ => rng.next() as u32,
    }
}

impl Start {
    fn random(mode: Mode, rng: &mut Rng) -> Start {
        let all = if mode.wave().lanes() == 32 { 0xffff_ffff } else { !0 };
        let rows = (0..VGPRS).map(|_| {
            let (same, common, apart) = (number(rng), some_bits(rng), rng.below(3) == 0);
            let alike = rng.below(4) == 0;
            let values = std::array::from_fn(|_| if alike { same } else { number(rng) });
            (values, std::array::from_fn(|_| if apart { some_bits(rng) } else { common }))
        });
        let rows = rows.collect();
        let codes = scalars().filter(|&code| code != scalar::SCC);
        let scalars = codes.map(|code| (code, number(rng), some_bits(rng))).collect();
        let exec = if rng.below(3) == 0 { rng.next() & rng.next() | 1 } else { !0 };
        Start { rows, scalars, exec: exec & all }
    }

    /// Leaves no register undefined in part: low bits may be rounded away.
    fn whole(&mut self) {
        let rows = self.rows.iter_mut().flat_map(|(_, undefined)| undefined);
        rows.chain(self.scalars.iter_mut().map(|(.., undefined)| undefined))
            .filter(|bits| **bits != 0)
            .for_each(|bits| *bits = !0);
    }

    /// A wave with these values, the undefined bits from `fill`.
    fn wave(&self, mode: Mode, fill: &mut dyn FnMut() -> u32) -> Wave {
        let mut w = Wave::new();
        w.generation = mode.target().generation();
        w.mode = crate::mode::Mode(0x3f0);
        w.set_lanes(mode.wave().lanes());
        w.set_exec(self.exec);
        let mut strict = Strict::new(Kinds::ALL, Group::new(1, 64, false, None, Looks::all()), 0, 0..0);
        for row in 0..ROWS {
            strict.define_lanes(row.into(), !0);
        }
        (0..=255).for_each(|code| strict.define_scalar(code));
        for (row, (values, undefined)) in (0..).zip(&self.rows) {
            for lane in 0..64 {
                w.row_mut(row).0[lane] = values[lane] & !undefined[lane] | fill() & undefined[lane];
                strict.shadow.set(Place::Rows(row, 1), 0, lane, undefined[lane]);
            }
        }
        for &(code, value, undefined) in &self.scalars {
            w.s[usize::from(code)] = value & !undefined | fill() & undefined;
            strict.shadow.set(Place::Scalars(code, 1), 0, 0, undefined);
        }
        w.strict = Some(Box::new(strict));
        w
    }
}

/// Rows that are compared.
const ROWS: u16 = VGPRS + 12;

/// The values that undefined bits get: zeros, ones, then anything.
fn waves(start: &Start, mode: Mode, ways: usize, rng: &mut Rng) -> Vec<Wave> {
    let fill = |way: usize| {
        let mut own = Rng(rng.next() | 1);
        start.wave(mode, &mut move || match way {
            0 => 0,
            1 => !0,
            _ => own.next() as u32,
        })
    };
    (0..ways).map(fill).collect()
}

/// Does an instruction in a wave, strict mode's part first; gives the findings, or nothing if the device cannot.
fn step(w: &mut Wave, inst: &Inst) -> Option<Vec<String>> {
    let mut builder = Builder::new(LIMITS, 0);
    if builder.instruction(inst, 0, 0) != Ok(Ending::Open) {
        return None;
    }
    let mut checked = vec![Box::new(Checked::new(inst, 0, LIMITS))];
    let mut check = Op::NOTHING;
    set_up(&mut checked, std::iter::once(&mut check), Looks::all());
    for op in std::iter::once(&check).chain(&builder.ops) {
        // SAFETY: `set_up` and the builder have made them, and what they point at is there.
        let flow = unsafe { (op.run)(w, op) };
        if flow != Flow::Next {
            return None;
        }
    }
    let strict = w.strict.as_mut()?;
    strict.log.seen.clear();
    Some(std::mem::take(&mut strict.log.findings).into_iter().map(|finding| finding.message).collect())
}

/// The bits of a register in which some waves differ from the first one, and those that its shadow marks.
fn differing(waves: &[Wave], place: Place, lane: usize) -> (u32, u32) {
    let value = |w: &Wave| super::shadow::value(w, place, 0, lane);
    let first = value(&waves[0]);
    let differ = waves.iter().fold(0, |bits, w| bits | value(w) ^ first);
    let marked = waves[0].strict.as_ref().map_or(0, |strict| strict.shadow.word(place, 0, lane));
    (differ, if matches!(place, Place::Scalars(scalar::SCC, _)) { u32::from(marked != 0) } else { marked })
}

fn places(lanes: usize) -> impl Iterator<Item = (Place, usize)> {
    let rows = (0..ROWS).flat_map(move |row| (0..lanes).map(move |lane| (Place::Rows(row, 1), lane)));
    rows.chain(scalars().map(|code| (Place::Scalars(code, 1), 0)))
}

/// Whether programs may have an instruction: it computes from registers, goes on, and does the same every time.
fn is_wanted(inst: &Inst) -> bool {
    let info = inst.info();
    let elsewhere = Flags::VMEM | Flags::DS | Flags::FLAT | Flags::MUBUF | Flags::SMEM | Flags::LOAD | Flags::STORE;
    let computes = info.flags.intersects(Flags::VALU | Flags::SALU) && !info.flags.intersects(elsewhere);
    let others = [
        "time", "getreg", "setreg", "movrel", "getpc", "sendmsg", "gpr_idx", "vgpr_msb", "trap", "version", "cycles",
        "swaprel",
    ];
    let registers = inst.operands().all(|(_, value)| match value {
        Operand::Reg(range) if range.first.is_agpr() => false,
        Operand::Reg(range) if range.first.is_vgpr() => range.first.number() + u16::from(range.count) <= ROWS,
        Operand::Reg(range) => {
            let code = range.first.index();
            let last = code + usize::from(range.count);
            last <= SGPRS + 8 || matches!(range.first, Reg::VCC_LO | Reg::VCC_HI | Reg::M0 | Reg::SCC | Reg::EXEC_LO)
        }
        // Apertures and flags.
        Operand::Special(_) => false,
        _ => true,
    });
    // Of what no assembler writes: EXEC of 64 bits in waves of 32 lanes, half of a pair of halves as a destination.
    let narrow = info.mode.wave().lanes() == 32 && (info.base.contains("exec_b64"));
    let halves = ["_pk", "_pack", "_align"].iter().any(|name| info.base.contains(name));
    let odd = narrow || halves && inst.field(Field::OpSel).unwrap_or(0) & 8 != 0;
    // Nor two results in one register.
    let results: Vec<_> = Checked::new(inst, 0, LIMITS).results;
    let odd = odd || info.flags.contains(Flags::DUAL) && results.first() == results.last();
    computes && registers && !odd && !inst.has_invisible_bits() && !others.iter().any(|name| info.base.contains(name))
}

/// An instruction with this opcode on few registers, so that instructions meet.
fn instruction(mode: Mode, info: &'static OpcodeInfo, rng: &mut Rng) -> Option<Inst> {
    let raw = random_words(info, rng);
    let bytes: Vec<u8> = raw.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut inst = Inst::decode(mode, &bytes).ok().filter(|inst| inst.info().llvm == info.llvm)?;
    for index in 0..inst.info().operands.len() {
        let Some(Operand::Reg(range)) = inst.operands().nth(index).map(|(_, value)| value) else { continue };
        let room = if range.first.is_vgpr() {
            u64::from(VGPRS)
        } else if range.first.index() < 102 {
            SGPRS as u64
        } else {
            continue;
        };
        let even = if range.count > 1 { !1 } else { !0 };
        let at = (rng.below(room.saturating_sub(u64::from(range.count)).max(1)) & even) as u16;
        let first = if range.first.is_vgpr() { Reg::vgpr(at) } else { Reg::sgpr(at) };
        let _ = inst.set_operand(index, Operand::Reg(RegRange { first, ..range }));
    }
    let mut code = Vec::new();
    inst.encode_into(&mut code);
    Inst::decode(mode, &code).ok().filter(is_wanted)
}

/// A packed operation that selects any words of registers, which may be scalars.
fn packed(info: &'static OpcodeInfo, rng: &mut Rng) -> Option<Inst> {
    let mut inst = Inst::new(info);
    for index in 0..info.operands.len() {
        let at = 2 * (index as u16 + 4 * rng.below(2) as u16);
        let vector = Operand::Reg(RegRange::new(Reg::vgpr(at), 2));
        let scalar = Operand::Reg(RegRange::new(Reg::sgpr(at), 2));
        let first = if rng.below(4) == 0 { [scalar, vector] } else { [vector, scalar] };
        first.into_iter().find(|&value| inst.set_operand(index, value).is_ok())?;
    }
    let sources = info.operands.len() as u32 - 1;
    for field in [Field::OpSel, Field::OpSelHi] {
        inst.set_field(field, rng.below(1 << sources) as u32).ok()?;
    }
    Some(inst)
}

fn modes() -> impl Iterator<Item = Mode> {
    Mode::all().filter(|mode| crate::TARGETS.contains(&mode.target()))
}

#[test]
fn what_differs_is_marked() {
    let (mut done, mut wrong) = (BTreeMap::<&str, usize>::new(), BTreeMap::<String, (usize, String)>::new());
    for mode in modes() {
        let rng = &mut Rng(0x1234_5678_9abc + u64::from(mode.wave().lanes()));
        let pool: Vec<_> = mode.opcodes().iter().filter(|i| i.flags.intersects(Flags::VALU | Flags::SALU)).collect();
        for _ in 0..std::env::var("LUTHIER_FILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(150) {
            let start = Start::random(mode, rng);
            let mut waves = waves(&start, mode, 5, rng);
            let mut program = Vec::new();
            for _ in 0..6 {
                let info = pool[rng.below(pool.len() as u64) as usize];
                let Some(inst) = instruction(mode, info, rng) else { continue };
                program.push(inst.to_string());
                let found: Option<Vec<_>> = waves.iter_mut().map(|w| step(w, &inst)).collect();
                let Some(found) = found else { break };
                if found.iter().any(|found| !found.is_empty()) {
                    break;
                }
                *done.entry(inst.info().base).or_default() += 1;
                let missed = places(mode.wave().lanes() as usize).find_map(|(place, lane)| {
                    let (differ, marked) = differing(&waves, place, lane);
                    (differ & !marked != 0).then(|| format!("{place:?}, lane {lane}: {differ:#x}, {marked:#x}"))
                });
                let exec = waves.iter().any(|w| w.exec() != waves[0].exec());
                if let Some(missed) = missed.or_else(|| exec.then(|| "EXEC".into())) {
                    let entry = wrong.entry(inst.info().base.to_string()).or_default();
                    entry.0 += 1;
                    let before = &program[..program.len() - 1];
                    entry.1 = format!("{}: {inst}: {missed}; after {before:?}", mode.target().name());
                    break;
                }
            }
        }
    }
    let total: usize = done.values().sum();
    println!("{total} instructions, {} operations", done.len());
    assert!(wrong.is_empty(), "{} operations of {}: {wrong:#?}", wrong.len(), done.len());
    assert!(total > 5_000, "{total}");
}

/// Operations that may give any value to every bit that is marked, as long as what says a place is defined.
const EXACT: [&str; 33] = [
    "v_mov_b32",
    "v_not_b32",
    "v_bfrev_b32",
    "v_and_b32",
    "v_or_b32",
    "v_xor_b32",
    "v_bfi_b32",
    "v_and_or_b32",
    "v_or3_b32",
    "v_xor3_b32",
    "v_pk_mov_b32",
    "v_lshlrev_b32",
    "v_lshrrev_b32",
    "v_ashrrev_i32",
    "v_lshlrev_b64",
    "v_lshrrev_b64",
    "v_ashrrev_i64",
    "v_lshlrev_b16",
    "v_lshrrev_b16",
    "v_bfe_u32",
    "v_bfe_i32",
    "v_alignbit_b32",
    "v_alignbyte_b32",
    "v_perm_b32",
    "s_mov_b32",
    "s_lshl_b32",
    "s_lshr_b32",
    "s_ashr_i32",
    "s_lshl_b64",
    "s_lshr_b64",
    "s_ashr_i64",
    "s_bfe_u32",
    "s_bfe_i32",
];
/// Those whose words are undefined as wholes.
const BY_WORD: [&str; 3] = ["v_pk_add_f32", "v_pk_mul_f32", "v_pk_fma_f32"];

#[test]
fn what_is_marked_differs_where_places_are_defined() {
    let (mut tried, mut seen, mut wrong) = (0, BTreeSet::new(), BTreeMap::<&str, (usize, String)>::new());
    for mode in modes() {
        let rng = &mut Rng(0x1234_5678_9abc + u64::from(mode.wave().lanes()));
        let exact = |info: &&OpcodeInfo| EXACT.contains(&info.op().name()) || BY_WORD.contains(&info.op().name());
        for info in mode.opcodes().iter().filter(exact).filter(|info| !info.flags.contains(Flags::SDWA)) {
            let base = info.op().name();
            let mut left = 3;
            for _ in 0..300 {
                if left == 0 {
                    break;
                }
                let made = if base.starts_with("v_pk_") { packed(info, rng) } else { instruction(mode, info, rng) };
                let Some(inst) = made else { continue };
                let checked = Checked::new(&inst, 0, LIMITS);
                let places: Vec<_> = checked.sources.iter().map(|source| format!("{:?}", source.place)).collect();
                let again = places.iter().collect::<BTreeSet<_>>().len() < places.len();
                // Lanes of eight that are off count as read, and give zeros.
                let moved = checked.dpp.is_some() && (base != "v_mov_b32" || inst.info().format.is_dpp8());
                let clamped = inst.field(Field::Clamp).unwrap_or(0) != 0;
                let floats = inst.operands().any(|(_, value)| matches!(value, Operand::Inline(240..)));
                if again || moved || clamped || floats {
                    continue;
                }
                let mut start = Start::random(mode, rng);
                if BY_WORD.contains(&base) {
                    start.whole();
                }
                let mut waves = waves(&start, mode, 40, rng);
                let by: Vec<_> = match checked.rule {
                    Rule::Placed(placed) => placed.places().iter().map(|&n| checked.sources[n]).collect(),
                    _ => Vec::new(),
                };
                let placed = |lane: usize| {
                    let shadow = &waves[0].strict.as_ref().expect("strict mode").shadow;
                    !by.iter().any(|source| shadow.undefined(source, lane))
                };
                let known: Vec<bool> = (0..64).map(placed).collect();
                if waves.iter_mut().any(|w| step(w, &inst).is_none()) {
                    continue;
                }
                seen.insert(base);
                left -= 1;
                for &result in checked.results.iter().filter(|&&r| r != Place::Scalars(scalar::SCC, 1)) {
                    let lanes = if matches!(result, Place::Rows(..)) { mode.wave().lanes() as usize } else { 1 };
                    for k in 0..result.words() {
                        let place = match result {
                            Place::Rows(row, _) => Place::Rows(row + u16::from(k), 1),
                            Place::Scalars(code, _) => Place::Scalars(code + k, 1),
                            Place::Constant(_) => continue,
                        };
                        let all: Vec<_> =
                            (0..lanes).filter(|&lane| known[lane] && waves[0].exec() >> lane & 1 != 0).collect();
                        let of: Vec<_> = all.iter().map(|&lane| (lane, differing(&waves, place, lane))).collect();
                        tried += of.len();
                        let unsound = of.iter().find(|(_, (differ, marked))| differ & !marked != 0);
                        assert!(unsound.is_none(), "{}: {inst}: {place:?}: {unsound:x?}", mode.target().name());
                        let bad = if BY_WORD.contains(&base) {
                            // A NaN stays one whatever it is added to.
                            let is_nan =
                                |lane: usize| f32::from_bits(super::shadow::value(&waves[0], place, 0, lane)).is_nan();
                            let marked: Vec<_> =
                                of.iter().filter(|(lane, (_, marked))| *marked != 0 && !is_nan(*lane)).collect();
                            (marked.len() > 8 && marked.iter().all(|(_, (differ, _))| *differ == 0)).then(|| *marked[0])
                        } else {
                            of.into_iter().find(|(_, (differ, marked))| marked & !differ != 0)
                        };
                        if let Some((lane, (differ, marked))) = bad {
                            let entry = wrong.entry(base).or_default();
                            let text = format!(
                                "{}: {inst}: {place:?}, lane {lane}: {differ:#x}, {marked:#x}",
                                mode.target().name()
                            );
                            *entry = (entry.0 + 1, text);
                        }
                    }
                }
            }
        }
    }
    println!("{tried} words of {} operations", seen.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    let missing: Vec<_> = EXACT.iter().chain(&BY_WORD).filter(|name| !seen.contains(**name)).collect();
    assert!(tried > 10_000 && missing.is_empty(), "{tried}, {missing:?}");
    assert!(seen.len() == EXACT.len() + BY_WORD.len());
}
