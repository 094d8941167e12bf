//! Turns what the prober found into crates/isa/tables/TARGET.txt, one opcode a line.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::prober::{Opcode, compile, found, probe};
use crate::row::{Classes, row};

use crate::field::Field;
use crate::format::Format;
use crate::generation::Generation;
use crate::layout::layout;

/// One file of tables: its name, and what to ask LLVM.
pub struct Family {
    name: &'static str,
    pub modes: &'static [Mode],
}

/// A processor and wave size, and LLVM's encoding families that its opcodes come from, the most specific first.
pub struct Mode {
    pub cpu: &'static str,
    pub wave: u32,
    pub generation: Generation,
    encodings: &'static str,
    /// A mode of the family with the same instructions, which are then not probed again, only compared.
    twin: Option<&'static str>,
}

const fn mode(cpu: &'static str, wave: u32, generation: Generation, encodings: &'static str) -> Mode {
    Mode { cpu, wave, generation, encodings, twin: None }
}

/// A processor whose instructions are those of another one.
const fn twin(cpu: &'static str, of: &'static str, wave: u32, generation: Generation, encodings: &'static str) -> Mode {
    Mode { cpu, wave, generation, encodings, twin: Some(of) }
}

impl Mode {
    /// Has another mode the same instructions?
    pub fn is_twin(&self) -> bool {
        self.twin.is_some()
    }

    /// What the prober asks LLVM for.
    pub fn request(&self) -> [&'static str; 3] {
        let features = match self.generation {
            Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => "",
            Generation::Gfx10 if self.wave == 32 => "+wavefrontsize32",
            Generation::Gfx10 => "+wavefrontsize64",
            // Otherwise LLVM pretends that 16-bit operands cannot be the high halves of registers.
            Generation::Gfx1250 => "+real-true16",
            _ if self.wave == 32 => "+wavefrontsize32,+real-true16",
            _ => "+wavefrontsize64,+real-true16",
        };
        [self.cpu, features, self.encodings]
    }
}

const GFX11: Family = Family {
    name: "gfx11",
    modes: &[
        mode("gfx1100", 32, Generation::Gfx11, "10"),
        mode("gfx1100", 64, Generation::Gfx11, "10"),
        twin("gfx1101", "gfx1100", 32, Generation::Gfx11, "10"),
        twin("gfx1101", "gfx1100", 64, Generation::Gfx11, "10"),
        twin("gfx1102", "gfx1100", 32, Generation::Gfx11, "10"),
        twin("gfx1102", "gfx1100", 64, Generation::Gfx11, "10"),
        twin("gfx1103", "gfx1100", 32, Generation::Gfx11, "10"),
        twin("gfx1103", "gfx1100", 64, Generation::Gfx11, "10"),
        mode("gfx1150", 32, Generation::Gfx11, "10"),
        mode("gfx1150", 64, Generation::Gfx11, "10"),
        twin("gfx1151", "gfx1150", 32, Generation::Gfx11, "10"),
        twin("gfx1151", "gfx1150", 64, Generation::Gfx11, "10"),
        twin("gfx1152", "gfx1150", 32, Generation::Gfx11, "10"),
        twin("gfx1152", "gfx1150", 64, Generation::Gfx11, "10"),
        twin("gfx1153", "gfx1150", 32, Generation::Gfx11, "10"),
        twin("gfx1153", "gfx1150", 64, Generation::Gfx11, "10"),
        twin("gfx11-generic", "gfx1100", 32, Generation::Gfx11, "10"),
        twin("gfx11-generic", "gfx1100", 64, Generation::Gfx11, "10"),
    ],
};

const GFX10: Family = Family {
    name: "gfx10",
    modes: &[
        mode("gfx1010", 32, Generation::Gfx10, "6,7"),
        mode("gfx1010", 64, Generation::Gfx10, "6,7"),
        mode("gfx1011", 32, Generation::Gfx10, "6,7"),
        mode("gfx1011", 64, Generation::Gfx10, "6,7"),
        twin("gfx1012", "gfx1011", 32, Generation::Gfx10, "6,7"),
        twin("gfx1012", "gfx1011", 64, Generation::Gfx10, "6,7"),
        mode("gfx1013", 32, Generation::Gfx10, "6,7"),
        mode("gfx1013", 64, Generation::Gfx10, "6,7"),
        twin("gfx10-1-generic", "gfx1010", 32, Generation::Gfx10, "6,7"),
        twin("gfx10-1-generic", "gfx1010", 64, Generation::Gfx10, "6,7"),
        mode("gfx1030", 32, Generation::Gfx10, "6,7"),
        mode("gfx1030", 64, Generation::Gfx10, "6,7"),
        twin("gfx1031", "gfx1030", 32, Generation::Gfx10, "6,7"),
        twin("gfx1031", "gfx1030", 64, Generation::Gfx10, "6,7"),
        twin("gfx1032", "gfx1030", 32, Generation::Gfx10, "6,7"),
        twin("gfx1032", "gfx1030", 64, Generation::Gfx10, "6,7"),
        twin("gfx1033", "gfx1030", 32, Generation::Gfx10, "6,7"),
        twin("gfx1033", "gfx1030", 64, Generation::Gfx10, "6,7"),
        twin("gfx1034", "gfx1030", 32, Generation::Gfx10, "6,7"),
        twin("gfx1034", "gfx1030", 64, Generation::Gfx10, "6,7"),
        twin("gfx1035", "gfx1030", 32, Generation::Gfx10, "6,7"),
        twin("gfx1035", "gfx1030", 64, Generation::Gfx10, "6,7"),
        twin("gfx1036", "gfx1030", 32, Generation::Gfx10, "6,7"),
        twin("gfx1036", "gfx1030", 64, Generation::Gfx10, "6,7"),
        twin("gfx10-3-generic", "gfx1030", 32, Generation::Gfx10, "6,7"),
        twin("gfx10-3-generic", "gfx1030", 64, Generation::Gfx10, "6,7"),
    ],
};

const GFX12: Family = Family {
    name: "gfx12",
    modes: &[
        mode("gfx1200", 32, Generation::Gfx12, "11"),
        mode("gfx1200", 64, Generation::Gfx12, "11"),
        twin("gfx1201", "gfx1200", 32, Generation::Gfx12, "11"),
        twin("gfx1201", "gfx1200", 64, Generation::Gfx12, "11"),
        twin("gfx12-generic", "gfx1200", 32, Generation::Gfx12, "11"),
        twin("gfx12-generic", "gfx1200", 64, Generation::Gfx12, "11"),
    ],
};

const GFX1250: Family = Family {
    name: "gfx1250",
    modes: &[
        mode("gfx1250", 32, Generation::Gfx1250, "12,13,11"),
        mode("gfx1251", 32, Generation::Gfx1250, "12,13,11"),
    ],
};

pub const FAMILIES: &[Family] = &[GFX9, GFX10, GFX11, GFX12, GFX1250];

const GFX9: Family = Family {
    name: "gfx9",
    modes: &[
        mode("gfx900", 64, Generation::Gfx9, "5,3,1,2"),
        twin("gfx902", "gfx900", 64, Generation::Gfx9, "5,3,1,2"),
        mode("gfx904", 64, Generation::Gfx9, "5,3,1,2"),
        mode("gfx906", 64, Generation::Gfx9, "5,3,1,2"),
        mode("gfx908", 64, Generation::Gfx9, "5,3,1,2"),
        twin("gfx909", "gfx900", 64, Generation::Gfx9, "5,3,1,2"),
        twin("gfx90c", "gfx900", 64, Generation::Gfx9, "5,3,1,2"),
        mode("gfx9-generic", 64, Generation::Gfx9, "5,3,1,2"),
        mode("gfx90a", 64, Generation::Gfx90a, "8,5,3,1,2"),
        mode("gfx942", 64, Generation::Gfx940, "9,8,5,3,1,2"),
        mode("gfx950", 64, Generation::Gfx940, "9,8,5,3,1,2"),
        mode("gfx9-4-generic", 64, Generation::Gfx940, "9,8,5,3,1,2"),
    ],
};

const HEADER: &str = "\
# Made by `cargo xtask gen-isa` from LLVM's own tables; do not edit. One opcode a line, columns separated by tabs: mask of
# the modes that have it (bit 0 is the first of the list below), LLVM name, pseudo, mnemonic, format, opcode, variant keys,
# bytes, operands, implicit reads, implicit writes, flags, legality. An operand is field:units:access:file, then its type
# and modifiers if any; or VCC:units:access (or M0) where the assembly names a register that the encoding does not. Units count 32
# bits. The implicit VCC and EXEC are one register in wave32 and two in wave64. Legality: bits with one legal value / the
# value / bits that the text does not show, then low:width:class for fields of which only the codes of a class are legal.
";

fn path(family: &Family) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../isa/tables").join(format!("{}.txt", family.name))
}

/// Writes the tables, those of one family if it is named. `extent` is empty, or `exhaustive`: to try out every code of every opcode's fields, which takes minutes and should give the
/// same.
pub fn write(only: Option<&str>, extent: &'static str) -> Result<String, String> {
    let mut message = String::new();
    for family in FAMILIES.iter().filter(|f| only.is_none_or(|name| name == f.name)) {
        let (table, count) = table(family, extent)?;
        let path = path(family);
        std::fs::write(&path, table).map_err(|e| format!("{}: {e}", path.display()))?;
        message += &format!("{}: {count} rows for {} modes\n", family.name, family.modes.len());
    }
    Ok(message)
}

pub fn check() -> Result<String, String> {
    for family in FAMILIES {
        let path = path(family);
        let old = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        if old != table(family, "")?.0 {
            return Err(format!("{} is not what LLVM's tables give: run `cargo xtask gen-isa`", path.display()));
        }
    }
    Ok("the tables are up to date".to_string())
}

fn table(family: &Family, extent: &'static str) -> Result<(String, usize), String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/probe/main.cpp");
    let scratch = std::env::temp_dir().join(format!("luthier-gen-isa-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(|e| e.to_string())?;
    let program = compile(&source, &scratch, "-O1");
    let found = program.and_then(|program| opcodes(family, &program, extent));
    std::fs::remove_dir_all(&scratch).map_err(|e| e.to_string())?;
    let mut classes = Classes::default();
    // Rows in the order of their encodings, with the modes that have them.
    let mut rows: BTreeMap<((String, u16, u16), String), u32> = BTreeMap::new();
    let found = found?;
    for (bit, mode) in family.modes.iter().enumerate() {
        let opcodes = &found[&(mode.twin.unwrap_or(mode.cpu), mode.wave)];
        for (place, row) in mode_rows(mode, opcodes, &mut classes).map_err(|e| format!("{}: {e}", mode.cpu))? {
            *rows.entry((place, row)).or_default() |= 1 << bit;
        }
    }
    let names: Vec<String> = family.modes.iter().map(|m| format!("{}:{}", m.cpu, m.wave)).collect();
    let mut text = format!("{HEADER}#modes {}\n", names.join(" "));
    let by_number: BTreeMap<usize, &String> = classes.0.iter().map(|(codes, id)| (*id, codes)).collect();
    by_number.into_iter().for_each(|(id, codes)| text += &format!("#class {id} {codes}\n"));
    rows.iter().for_each(|((_, row), mask)| text += &format!("{mask:x}\t{row}\n"));
    Ok((text, rows.len()))
}

/// The opcodes of every processor and wave size, twins left out.
fn opcodes(
    family: &Family,
    program: &Path,
    extent: &'static str,
) -> Result<HashMap<(&'static str, u32), Vec<Opcode>>, String> {
    // LLVM takes its time, and has to be asked about each mode: several at once.
    const AT_ONCE: usize = 4;
    let (whole, twins): (Vec<&Mode>, Vec<&Mode>) = family.modes.iter().partition(|m| m.twin.is_none());
    let probed = in_parallel(&whole, AT_ONCE, |mode| probe(program, mode.request(), &fields(mode.generation), extent))?;
    let mut asked = twins.clone();
    asked.extend(whole.iter().filter(|m| twins.iter().any(|t| t.twin == Some(m.cpu))));
    let found = in_parallel(&asked, AT_ONCE, |mode| found(program, mode.request(), &fields(mode.generation)))?;
    let met = |cpu: &str, wave: u32| asked.iter().zip(&found).find(|(m, _)| m.cpu == cpu && m.wave == wave);
    for (mode, mine) in twins.iter().zip(&found) {
        let cpu = mode.twin.unwrap_or_default();
        let (_, other) = met(cpu, mode.wave).ok_or_else(|| format!("{cpu} is not probed"))?;
        if mine != other {
            return Err(format!("{} has not the instructions of {cpu}", mode.cpu));
        }
    }
    Ok(whole.iter().map(|m| (m.cpu, m.wave)).zip(probed).collect())
}

/// Asks for each mode, some at a time.
fn in_parallel<T: Send>(
    modes: &[&Mode],
    at_once: usize,
    ask: impl Fn(&Mode) -> Result<T, String> + Sync,
) -> Result<Vec<T>, String> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let answers: std::sync::Mutex<Vec<(usize, Result<T, String>)>> = Default::default();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(mode) = modes.get(at) else { break };
                    let answer = ask(mode);
                    answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

type Row = ((String, u16, u16), String);

fn mode_rows(mode: &Mode, opcodes: &[Opcode], classes: &mut Classes) -> Result<Vec<Row>, String> {
    let accumulators: BTreeSet<(String, u16)> =
        opcodes.iter().filter(|o| o.operands.iter().any(|p| p.tied)).map(|o| (o.format.clone(), o.op)).collect();
    let accumulates = |o: &Opcode| {
        let plain = Format::ALL.into_iter().find(|f| format!("{f:?}") == o.format).map(Format::plain);
        o.format.contains("Dpp") && plain.is_some_and(|f| accumulators.contains(&(format!("{f:?}"), o.op)))
    };
    let row = |o: &Opcode| {
        let row = row(mode, o, accumulates(o), classes).map_err(|e| format!("{}: {e}", o.llvm))?;
        Ok(((o.format.clone(), o.op, o.keys[0]), row))
    };
    opcodes.iter().map(row).collect()
}

/// The fields whose codes the prober tries out. VOP3B is not told from VOP3A yet: its scalar destination is tried where
/// those bits hold a register.
pub fn fields(generation: Generation) -> String {
    use Field::*;
    let keyed = |format: Format, field: Field| match format {
        Format::Ds | Format::Flat | Format::Mubuf | Format::Mtbuf if field == Acc => true,
        Format::Smem if field == Glc => generation.is_gfx9_family() || generation == Generation::Gfx10,
        Format::Flat | Format::Mubuf if matches!(field, Glc | TemporalHint) => true,
        Format::MaiScaled => matches!(field, AccCd | Cbsz | Blgp),
        Format::Mimg | Format::MimgNsa | Format::MimgNsa2 | Format::MimgNsa3 | Format::Vsample
            if matches!(field, D16 | A16 | Dim | Nsa) =>
        {
            !(generation.is_gfx9_family() && field == A16)
        }
        Format::Exp if matches!(field, Done | RowEn) => !generation.is_gfx9_family(),
        _ => matches!(field, Seg | Lds | Sve | Gds | Imm | SoffsetEn | Offen | Idxen | AccCd | Dmask | Tfe),
    };
    let format = |format: Format| {
        let mut pieces: Vec<String> = layout(generation, format)
            .iter()
            .filter(|(field, ..)| !matches!(field, Abs | OpSel | OpSelHi | Neg | NegHi | ScaleOpSel | ScaleOpSelHi))
            .map(|(field, low, width)| {
                let kind = match *field {
                    Op => "o",
                    field if keyed(format, field) => "k",
                    _ => "",
                };
                format!("{kind}{low}:{width}")
            })
            .collect();
        match format {
            Format::Vop3a => pieces.push("r8:7".into()),
            Format::Vop3aDpp => pieces.extend(["r8:7".into(), "o32:9".into()]),
            Format::Vop3aDpp8 => pieces.extend(["r8:7".into(), "o34:7".into()]),
            Format::Vop3pDpp => pieces.push("o32:9".into()),
            Format::Vop3pDpp8 => pieces.push("o34:7".into()),
            Format::Sdwa1 | Format::Sdwa2 | Format::SdwaC | Format::Dpp1 | Format::Dpp2 | Format::DppC => {
                pieces.push("o0:9".into());
            }
            Format::Dpp8_1 | Format::Dpp8_2 | Format::Dpp8C => pieces.push("o2:7".into()),
            _ => {}
        }
        format!("{format:?}={}", pieces.join(","))
    };
    let has = |f: &Format| f.plain() != Format::Vop3b && !layout(generation, *f).is_empty();
    Format::ALL.into_iter().filter(has).map(format).collect::<Vec<_>>().join(";")
}
