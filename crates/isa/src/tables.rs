//! The generated tables, unpacked for a processor when it is first asked for.
//!
//! The crate carries one list of rows for each family of processors, each row with the set of processors that have it,
//! and lists that the rows share. Unpacking takes well under a millisecond, so that a process pays for what it uses only.

use std::sync::OnceLock;

use crate::decode;
use crate::op::{self, Op};
use crate::opcode::{Check, Legality};
use crate::places::places;
use crate::target::{Mode, Wave};
use crate::{Access, DataType, Field, File, Flags, Format, Modifiers, OpcodeId, OpcodeInfo, OperandInfo, Reg};

/// What decoding for one mode needs.
pub struct Tables {
    pub opcodes: Vec<OpcodeInfo>,
    /// The opcode at each slot of the family's decoder; `u16::MAX` where there is none.
    pub ids: Vec<u16>,
    /// Mnemonics in order, with the first opcode of each.
    pub names: Vec<(&'static str, u16)>,
    /// All opcodes by operation, the plainest of each first.
    pub by_op: Vec<u16>,
}

/// One file of `tables/`.
struct Family {
    /// `gfx90a:64`, in the order of the rows' mask bits.
    modes: &'static [&'static str],
    /// Records of [`ROW`] bytes.
    rows: &'static [u8],
}

/// As build.rs writes them: four numbers of 32 bits, eleven of 16.
const ROW: usize = 4 * 4 + 11 * 2;

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

static ALL: [OnceLock<Tables>; Mode::COUNT] = [const { OnceLock::new() }; Mode::COUNT];

pub fn of(mode: Mode) -> &'static Tables {
    ALL[mode.index()].get_or_init(|| unpack(mode))
}

/// The mode's family and its bit in the rows' masks.
fn family(mode: Mode) -> Option<(&'static Family, usize)> {
    let is_mode = |name: &&str| {
        let wave = if mode.wave() == Wave::W32 { ":32" } else { ":64" };
        name.strip_suffix(wave) == Some(mode.target().name())
    };
    FAMILIES.iter().find_map(|f| Some((f, f.modes.iter().position(is_mode)?)))
}

pub fn exist(mode: Mode) -> bool {
    family(mode).is_some()
}

struct Record<'a>(&'a [u8]);

impl Record<'_> {
    fn wide(&self, at: usize) -> u32 {
        let b = &self.0[4 * at..4 * at + 4];
        u32::from_le_bytes([b[0], b[1], b[2], b[3]])
    }
    fn narrow(&self, at: usize) -> u16 {
        let b = &self.0[16 + 2 * at..16 + 2 * at + 2];
        u16::from_le_bytes([b[0], b[1]])
    }
    fn index(&self, at: usize) -> usize {
        self.narrow(at).into()
    }
    /// A string by its place and length in the pool.
    fn text(&self, at: usize) -> &'static str {
        let packed = self.wide(at) as usize;
        &STRINGS[packed >> 8..(packed >> 8) + (packed & 0xff)]
    }
}

fn unpack(mode: Mode) -> Tables {
    let mut tables = Tables { opcodes: Vec::new(), ids: Vec::new(), names: Vec::new(), by_op: Vec::new() };
    let Some((family, bit)) = family(mode) else { return tables };
    let generation = mode.target().generation();
    tables.ids = vec![u16::MAX; decode::slots(generation)];
    for record in family.rows.chunks_exact(ROW).map(Record).filter(|r| r.wide(0) >> bit & 1 != 0) {
        let id = tables.opcodes.len() as u16;
        let [llvm, pseudo, mnemonic] = [1, 2, 3].map(|at| record.text(at));
        let (format, opcode) = (FORMATS[record.index(0)], record.narrow(1));
        let (operands, flags) = (OPERANDS[record.index(4)], FLAGS[record.index(7)]);
        let clears = mode.clears_halves() && flags.contains(Flags::D16_PRESERVE);
        let (operands, flags) =
            if clears { (whole(operands), flags.difference(Flags::D16_PRESERVE)) } else { (operands, flags) };
        let keys = KEYS[record.index(3)];
        let [fixed, value, ignored] = BITS[record.index(9)];
        // Made from LLVM 22, which wants one value where the hardware and later LLVMs take any.
        let unread = decode::unread(format);
        let (fixed, value, ignored) = (fixed & !unread, value & !unread, ignored | unread);
        for &key in keys {
            let word = decode::template(generation, format, opcode, key);
            let slot = &mut tables.ids[decode::slot(generation, |i| (word >> (32 * i)) as u32)];
            debug_assert_eq!(*slot, u16::MAX, "two opcodes at one place: {llvm} {key}");
            *slot = id;
        }
        let legality = Legality {
            template: decode::template(generation, format, opcode, keys[0]),
            fixed,
            value,
            ignored,
            checks: CHECKS[record.index(8)],
            literals: decode::literal_places(generation, format, operands),
        };
        tables.opcodes.push(OpcodeInfo {
            id: OpcodeId(id),
            mode,
            mnemonic,
            base: base(mnemonic),
            op: Op::from_number(record.narrow(10)),
            llvm,
            pseudo,
            format,
            opcode,
            size: record.narrow(2) as u8,
            operands,
            implicit_reads: REGISTERS[record.index(5)][mode.wave() as usize],
            implicit_writes: REGISTERS[record.index(6)][mode.wave() as usize],
            flags,
            places: places(generation, format),
            legality,
        });
    }
    tables.names = tables.opcodes.iter().map(|o| (o.mnemonic, o.id.0)).collect();
    tables.names.sort_unstable();
    tables.names.dedup_by_key(|(name, _)| *name);
    tables.by_op = (0..tables.opcodes.len() as u16).collect();
    tables.by_op.sort_unstable_by_key(|&id| op::rank(&tables.opcodes[usize::from(id)]));
    tables
}

/// The operands of a load into half a register that writes it whole: it reads nothing of it.
fn whole(operands: &'static [OperandInfo]) -> &'static [OperandInfo] {
    let whole = |operand: &OperandInfo| OperandInfo {
        access: if operand.access.writes() { Access::Write } else { operand.access },
        ..*operand
    };
    // Tables live as long as the process, and are unpacked once for a mode.
    Box::leak(operands.iter().map(whole).collect())
}

/// The operation: the mnemonic without what tells its encoding.
fn base(mnemonic: &'static str) -> &'static str {
    let strip =
        |name: &'static str, suffixes: [&str; 2]| suffixes.iter().find_map(|s| name.strip_suffix(s)).unwrap_or(name);
    // v_add_f32_e64_dpp
    strip(strip(mnemonic, ["_dpp", "_sdwa"]), ["_e32", "_e64"])
}

/// Is the code a member of the numbered class?
pub fn in_class(class: u16, code: usize) -> bool {
    CLASSES[usize::from(class)][code / 64] >> (code % 64) & 1 != 0
}

/// The class's codes, one bit each.
pub fn class(class: u16) -> &'static [u64; 8] {
    &CLASSES[usize::from(class)]
}
