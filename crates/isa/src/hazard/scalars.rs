//! Scalars that change between two vector instructions that read them.
//!
//! RDNA3, waves of 64: once a VALU instruction has read an SGPR as a lane mask, a write of that SGPR reaches later
//! readers only behind a wait for the writer (the hazard of masks). RDNA4: the same once a VALU instruction has read the
//! SGPR, or its neighbour in the pair, in any way. On RDNA3 what was read before a call or a return is forgotten. The wait is `s_waitcnt_depctr`, on RDNA4 `s_wait_alu`.

use crate::{Field, Flags, Generation, Mode, Operand, Reg, RegSet, Target, Wave};

use super::view::View;
use super::{Cure, ELSEWHERE, Missing, Remedy};

/// An instruction as these checks see it.
#[derive(Clone, Debug)]
pub struct ScalarFacts {
    kind: Kind,
    /// Whether the processor is one of RDNA4.
    any_read: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Access {
        vector: bool,
        reads: u128,
        writes: u128,
        masks: u128,
        literal: bool,
    },
    Wait {
        scalar: bool,
        vector: bool,
        vcc: bool,
    },
    /// All writers are through by then.
    Drain,
    /// A call or a return.
    Leave,
    /// A `ds_nop`: enough of them in a row make the hardware forget the reads.
    Rest {
        enough: u32,
    },
}

const VCC: u128 = 3 << 106;
/// The others, and trap temporaries.
const SGPRS: u128 = ((1 << 124) - 1) & !VCC;

fn bits(regs: &[Reg]) -> u128 {
    regs.iter().fold(0, |bits, reg| bits | 1 << reg.index())
}

/// The mask of an instruction that selects or carries by lanes.
fn masks(view: &View) -> u128 {
    let by_lanes = ["v_cndmask", "v_add_co_ci_", "v_addc_", "v_sub_co_ci_", "v_subrev_co_ci_", "v_subb", "v_div_fmas"];
    if !by_lanes.iter().any(|start| view.base.starts_with(start)) {
        return 0;
    }
    match view.inst.operand_in(Field::Src2) {
        Some(Operand::Reg(range)) if range.first.index() < 128 => bits(&range.units().collect::<Vec<_>>()),
        _ => VCC,
    }
}

impl ScalarFacts {
    pub fn of(view: &View) -> Option<ScalarFacts> {
        let any_read = any_read(view.target, view.wave)?;
        let facts = |kind| Some(ScalarFacts { kind, any_read });
        if let Some(wait) = view.dependencies() {
            return facts(Kind::Wait { scalar: wait & 1 == 0, vcc: wait >> 1 & 1 == 0, vector: wait >> 9 & 7 == 0 });
        }
        if any_read && view.base == "ds_nop" {
            return facts(Kind::Rest { enough: if view.wave == Wave::W64 { 8 } else { 4 } });
        }
        if any_read && (view.is(Flags::SMEM) || view.is(Flags::VMEM)) {
            return facts(Kind::Drain);
        }
        // LLVM looks for the reader of a mask in the function of the writer only, and compiled code relies on it.
        if !any_read && (view.is(Flags::CALL) || view.base == "s_setpc_b64") {
            return facts(Kind::Leave);
        }
        let vector = view.is_vector();
        if !vector && !view.is(Flags::SALU) {
            return None;
        }
        let (reads, writes) = view.scalars();
        // The return address is there when the function that is called begins.
        let writes = if view.is(Flags::CALL) { 0 } else { bits(&writes) };
        let (reads, masks) = (bits(&reads), masks(view));
        let literal = vector && (view.inst.literal().is_some() || view.inst.literal64().is_some());
        if reads | writes | masks == 0 && (any_read || !literal) {
            return None;
        }
        facts(Kind::Access { vector, reads, writes, masks, literal })
    }
}

impl ScalarFacts {
    /// The scalars that it leaves marked as read.
    pub fn marked(&self) -> RegSet {
        let bits = match self.kind {
            Kind::Access { vector: true, reads, .. } if self.any_read => pairs(reads),
            Kind::Access { vector: true, masks, .. } => masks,
            _ => 0,
        };
        (0..128).filter(|n| bits >> n & 1 != 0).filter_map(Reg::from_index).collect()
    }
}

/// Whether any read by the VALU counts, or those of masks alone. `None` where there is no such hazard.
fn any_read(target: Target, wave: Wave) -> Option<bool> {
    match target.generation() {
        Generation::Gfx11 if wave == Wave::W64 => Some(false),
        Generation::Gfx12 => Some(true),
        _ => None,
    }
}

/// The scalars of a set, one bit each.
fn scalars_of(set: &RegSet) -> u128 {
    let words = set.words();
    u128::from(words[0]) | u128::from(words[1]) << 64
}

/// What a wave has read and written lately.
#[derive(Clone, Default)]
pub struct Scalars {
    /// Those that a VALU instruction has read: as masks (RDNA3), in any way, both of a pair (RDNA4).
    read: u128,
    /// Written since, by the SALU and by the VALU, and not waited for.
    by_scalar: u128,
    by_vector: u128,
    /// Where each was written.
    writers: Option<Box<[u64; 128]>>,
    rests: u32,
}

impl Scalars {
    /// Whether a processor leaves any of this to software.
    pub fn matter(mode: Mode) -> bool {
        any_read(mode.target(), mode.wave()).is_some()
    }

    /// All have been read but these.
    pub fn assume_read(&mut self, unread: &RegSet) {
        self.read = !scalars_of(unread);
    }

    /// All have been written but these, by either unit, at [`ELSEWHERE`], and no wait has followed, where that matters.
    pub fn assume_written(&mut self, mode: Mode, unwritten: &RegSet) {
        if !Scalars::matter(mode) {
            return;
        }
        let written = !scalars_of(unwritten);
        let open = self.by_scalar | self.by_vector;
        let writers = self.writers.get_or_insert_with(|| Box::new([ELSEWHERE; 128]));
        (0..128).filter(|n| open >> n & 1 == 0).for_each(|n| writers[n] = ELSEWHERE);
        (self.by_scalar, self.by_vector) = (self.by_scalar | written, self.by_vector | written);
    }

    /// Those that vector instructions have read, for as long as that matters.
    pub fn marked(&self) -> RegSet {
        (0..128).filter(|n| self.read >> n & 1 != 0).filter_map(Reg::from_index).collect()
    }

    /// Where two ways meet: what may be so on either. Of two that wrote a register the one with the lower `pc` is kept.
    /// Whether that is more than was known here.
    pub fn join(&mut self, other: &Scalars) -> bool {
        let known = (self.read, self.by_scalar, self.by_vector, self.rests);
        let mut lower = false;
        if let Some(others) = &other.writers {
            let open = |s: &Scalars, n: usize| (s.by_scalar | s.by_vector) >> n & 1 != 0;
            for n in (0..128).filter(|n| open(other, *n)) {
                let ours = open(self, n);
                let writer = &mut self.writers.get_or_insert_with(|| Box::new([0; 128]))[n];
                if !ours || *writer > others[n] {
                    lower |= *writer != others[n];
                    *writer = others[n];
                }
            }
        }
        self.read |= other.read;
        self.by_scalar |= other.by_scalar;
        self.by_vector |= other.by_vector;
        self.rests = self.rests.min(other.rests);
        lower || known != (self.read, self.by_scalar, self.by_vector, self.rests)
    }

    /// As for a wave that begins.
    pub fn restart(&mut self) {
        (self.read, self.by_scalar, self.by_vector, self.rests) = (0, 0, 0, 0);
    }

    pub fn check(&mut self, facts: &ScalarFacts, pc: u64) -> Option<Missing> {
        let rests = std::mem::take(&mut self.rests);
        match facts.kind {
            Kind::Wait { scalar, vector, vcc } => {
                if scalar {
                    self.by_scalar = 0;
                }
                if vector {
                    self.by_vector &= VCC;
                }
                if vcc {
                    self.by_vector &= !VCC;
                }
                None
            }
            Kind::Drain => {
                (self.by_scalar, self.by_vector) = (0, 0);
                None
            }
            Kind::Leave => {
                self.read = 0;
                None
            }
            Kind::Rest { enough } => {
                self.rests = rests + 1;
                if self.rests >= enough {
                    self.read = 0;
                }
                None
            }
            Kind::Access { vector, reads, writes, masks, literal } => {
                if facts.any_read && !vector {
                    // The SALU itself waits for what the VALU has written, and then all of that is there. LLVM relies on
                    // it wherever some way leads there on which the register was read, so it is so for any.
                    if reads & VCC != 0 {
                        self.by_vector &= !VCC;
                    }
                    if reads & SGPRS != 0 {
                        self.by_vector &= VCC;
                    }
                }
                let early = reads & (self.by_scalar | if vector { self.by_vector } else { 0 });
                let missing = (early != 0).then(|| self.missing(facts.any_read, self.seen(early).trailing_zeros()));
                self.by_scalar &= !early;
                self.by_vector &= !early;

                if facts.any_read && vector {
                    self.read |= pairs(reads);
                }
                let risky = writes & self.read;
                if risky != 0 {
                    let (by, not_by) = if vector {
                        (&mut self.by_vector, &mut self.by_scalar)
                    } else {
                        (&mut self.by_scalar, &mut self.by_vector)
                    };
                    *by |= risky;
                    // Of VCC the last writer counts, of others any that has not been waited for.
                    *not_by &= !(risky & VCC);
                    let writers = self.writers.get_or_insert_with(|| Box::new([0; 128]));
                    let mut left = risky;
                    while left != 0 {
                        writers[left.trailing_zeros() as usize] = pc;
                        left &= left - 1;
                    }
                }
                if !facts.any_read {
                    self.read &= !writes;
                    // A VALU instruction that reads another SGPR, or a literal, ends the hazard of those before it.
                    if vector && (reads != 0 || literal) {
                        self.read = masks;
                    }
                }
                missing
            }
        }
    }

    /// Those whose writer is known; all if there is none.
    fn seen(&self, registers: u128) -> u128 {
        let Some(writers) = &self.writers else { return registers };
        let seen =
            (0..128).filter(|n| registers >> n & 1 != 0 && writers[*n] != ELSEWHERE).fold(0, |all, n| all | 1 << n);
        if seen == 0 { registers } else { seen }
    }

    /// What waits for the writer of a register.
    fn cure(&self, any_read: bool, register: u32) -> Cure {
        let scalar = self.by_scalar >> register & 1 != 0;
        match (scalar, VCC >> register & 1 != 0, any_read) {
            (true, _, false) => Cure::SaSdst,
            (true, _, true) => Cure::AluSaSdst,
            (false, true, false) => Cure::VaVcc,
            (false, true, true) => Cure::AluVaVcc,
            (false, false, false) => Cure::VaSdst,
            (false, false, true) => Cure::AluVaSdst,
        }
    }

    /// What waits for some writer of a live register that has not been waited for.
    pub fn rest(&self, target: Target, live: impl Fn(Reg) -> bool) -> Option<Cure> {
        let all = self.by_scalar | self.by_vector;
        let read = (0..128).filter(|n| all >> n & 1 != 0 && Reg::from_index(*n).is_some_and(&live));
        let open = read.fold(0u128, |open, n| open | 1 << n);
        (open != 0).then(|| self.cure(target.generation() == Generation::Gfx12, open.trailing_zeros()))
    }

    fn missing(&self, any_read: bool, register: u32) -> Missing {
        let scalar = self.by_scalar >> register & 1 != 0;
        let cure = self.cure(any_read, register);
        let rule = if any_read { "sgpr-write-after-vector-read" } else { "sgpr-write-after-mask" };
        let reg = Reg::from_index(register as usize).map(|reg| reg.to_string()).unwrap_or_default();
        let unit = if scalar { "scalar" } else { "VALU" };
        let read = if any_read { "read by a vector instruction" } else { "read as a mask" };
        Missing {
            rule,
            what: format!("{reg} was {read} and has since been written by a {unit} instruction"),
            remedy: Remedy::Cure(cure),
            first: self.writers.as_ref().map_or(0, |w| w[register as usize]),
        }
    }
}

/// The registers and their neighbours.
fn pairs(regs: u128) -> u128 {
    const EVEN: u128 = u128::MAX / 3;
    let low = (regs | regs >> 1) & EVEN;
    low | low << 1
}
