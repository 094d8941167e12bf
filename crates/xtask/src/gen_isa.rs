//! Turns what the prober found into crates/isa/tables/TARGET.txt, one opcode a line.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::prober::{McOperand, Opcode, compile, found, probe};

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
    /// What the prober asks LLVM for.
    pub fn request(&self) -> [&'static str; 3] {
        let features = match self.generation {
            Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => "",
            Generation::Gfx10 if self.wave == 32 => "+wavefrontsize32",
            Generation::Gfx10 => "+wavefrontsize64",
            // Otherwise LLVM pretends that 16-bit operands cannot be the high halves of registers.
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

pub const FAMILIES: &[Family] = &[GFX9, GFX11];

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
# and modifiers if any; or VCC:units:access where the assembly names a register that the encoding does not. Units count 32
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

/// Asks for each mode, so many at a time.
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

/// `0-3,8`. A single pair stays a list.
fn ranges(numbers: &[u16]) -> String {
    let mut out: Vec<(u16, u16)> = Vec::new();
    for &n in numbers {
        match out.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => out.push((n, n)),
        }
    }
    let show = |&(from, to): &(u16, u16)| match to - from {
        0 => from.to_string(),
        1 => format!("{from},{to}"),
        _ => format!("{from}-{to}"),
    };
    out.iter().map(show).collect::<Vec<_>>().join(",")
}

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

/// Distinct sets of legal codes, numbered as they are met.
#[derive(Default)]
struct Classes(BTreeMap<String, usize>);

impl Classes {
    fn id(&mut self, codes: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(codes.to_string()).or_insert(next)
    }
}

/// The fields whose codes the prober tries out. VOP3B is not told from VOP3A yet: its scalar destination is tried where
/// those bits hold a register.
pub fn fields(generation: Generation) -> String {
    use Field::*;
    let keyed = |format: Format, field: Field| match format {
        Format::Ds | Format::Flat | Format::Mubuf | Format::Mtbuf if field == Acc => true,
        Format::Smem if field == Glc => generation.is_gfx9_family(),
        Format::Flat | Format::Mubuf if field == Glc => true,
        Format::MaiScaled => matches!(field, AccCd | Cbsz | Blgp),
        Format::Mimg | Format::MimgNsa if matches!(field, D16 | A16 | Dim | Nsa) => {
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

fn row(mode: &Mode, o: &Opcode, accumulates: bool, classes: &mut Classes) -> Result<String, String> {
    let generation = mode.generation;
    let mnemonic = mnemonic(o)?;
    let mnemonic = mnemonic.as_str();
    let format = format(o)?;
    let mut operands = Vec::new();
    for (i, operand) in o.operands.iter().enumerate() {
        let written = operand.is_def;
        // A tied operand is the destination read again; source modifiers and cache bits are fields, not operands.
        if operand.tied || operand.kind == INPUT_MODIFIERS || (operand.class.is_none() && operand.mask == 0) {
            continue;
        }
        let Some(field) = field_of(generation, format, o, operand)? else { continue };
        // The destination read again may lack the bit that chooses its half, and be called a whole register.
        let again = |other: &McOperand| match other.mask {
            0 => other.class == operand.class,
            mask => mask & !operand.mask == 0,
        };
        let tied = written && o.operands.iter().any(|other| other.tied && again(other));
        // DPP opcodes name their old destination, which masked lanes keep; whether they do is for the access rules.
        // It is an operand of the computation only where it is one of the plain opcode's.
        let tied = tied && (!o.format.contains("Dpp") || accumulates);
        // LLVM forgets what this one accumulates into.
        let tied = tied || written && mnemonic.starts_with("v_pk_fmac_f16");
        let access = if tied {
            "RW"
        } else if written {
            "W"
        } else {
            "R"
        };
        let units = operand.bits.div_ceil(32);
        let modifiers = i.checked_sub(1).map(|before| &o.operands[before]).filter(|p| p.kind == INPUT_MODIFIERS);
        let modifiers = modifiers.map_or(Ok("Plain"), |p| source_modifiers(generation, format, p))?;
        let (ty, file) = (data_type(operand.kind)?, file(operand));
        let optional: String =
            [ty, modifiers].iter().filter(|w| !matches!(**w, "None" | "Plain")).map(|w| format!(":{w}")).collect();
        operands.push(format!("{field:?}:{units}:{access}:{file}{optional}"));
    }
    if format == Format::Flat {
        // LLVM's operand order is not the assembly's.
        let order = ["Vdst", "Addr", "Vdata", "Saddr"];
        operands.sort_by_key(|o| order.iter().position(|f| o.starts_with(f)));
    }
    if format == Format::Vopd {
        order_dual(mnemonic, &mut operands);
    }
    if mnemonic.starts_with("s_subvector_loop") {
        operands.sort_by_key(|o| o.starts_with("Simm16"));
    }
    if mnemonic.starts_with("s_setreg") {
        // The register that is set comes first.
        operands.sort_by_key(|o| !o.starts_with("Simm16"));
    }
    let mut uses = names(mode, &o.implicit_uses, true)?;
    if forgets_exec(mnemonic) {
        uses.push("EXEC".to_string());
    }
    let mut defs = names(mode, &o.implicit_defs, false)?;
    name_vcc(mode, o, format, mnemonic, &mut operands, &mut uses, &mut defs);
    let literal = if has_literal(format, o, mnemonic) { 4 } else { 0 };
    let keys = ranges(&o.keys);
    let mut legal = String::new();
    for (i, word) in o.legal.split_whitespace().enumerate() {
        match word.splitn(3, ':').collect::<Vec<_>>()[..] {
            [low, width, codes] => legal += &format!(" {low}:{width}:{}", classes.id(codes)),
            _ if i == 0 => legal += word,
            _ => return Err(format!("{word} is no list of legal codes")),
        }
    }
    let columns = [
        o.llvm.clone(),
        o.pseudo.clone().unwrap_or_else(|| strip_suffix(&o.llvm)),
        mnemonic.to_string(),
        format!("{format:?}"),
        o.op.to_string(),
        keys,
        (o.size - literal).to_string(),
        operands.join(" "),
        uses.join(" "),
        defs.join(" "),
        flags(o, mnemonic, literal != 0).join(" "),
        legal,
    ];
    Ok(columns.map(|c| if c.is_empty() { "-".to_string() } else { c }).join("\t"))
}

/// The operands of the first operation, then those of the second, the literal where each has it. What both accumulate
/// into is told by their names: LLVM's operands do not say which of the two it is.
fn order_dual(mnemonic: &str, operands: &mut Vec<String>) {
    // It lies behind the encoding, where the prober does not look.
    let literal = "Literal:0:R:Immediate:F32";
    let halves = mnemonic.split(" :: ").zip([["VdstX", "Src0X", "Vsrc1X"], ["VdstY", "Src0Y", "Vsrc1Y"]]);
    let mut out: Vec<String> = Vec::new();
    for (name, fields) in halves {
        let from = out.len();
        for field in fields {
            out.extend(operands.iter().find(|o| o.split(':').next() == Some(field)).cloned());
        }
        if name.contains("_fmac_") || name.contains("_dot2c_") || name.contains("_dot2acc_") {
            out[from] = out[from].replace(":W:", ":RW:");
        } else {
            out[from] = out[from].replace(":RW:", ":W:");
        }
        if name.contains("_fmaak_") {
            out.push(literal.to_string());
        } else if name.contains("_fmamk_") {
            out.insert(from + 2, literal.to_string());
        }
    }
    *operands = out;
}

/// Image opcodes are not in LLVM's pseudo map; their pseudo name is the real one without its encoding family.
fn strip_suffix(llvm: &str) -> String {
    ["_gfx90a", "_gfx940", "_gfx9", "_vi", "_gfx11"]
        .iter()
        .find_map(|s| llvm.strip_suffix(s))
        .unwrap_or(llvm)
        .to_string()
}

const INPUT_MODIFIERS: u8 = 45;

/// The first word of the text; of two operations at once both, as `v_dual_mul_f32 :: v_dual_add_f32`.
fn mnemonic(o: &Opcode) -> Result<String, String> {
    let first = |text: &str| text.split_whitespace().next().map(str::to_string).ok_or("no mnemonic");
    Ok(match o.text.split_once("::") {
        Some((x, y)) => format!("{} :: {}", first(x)?, first(y)?),
        None => first(&o.text)?,
    })
}

fn format(o: &Opcode) -> Result<Format, String> {
    // The prober calls both VOP3 forms Vop3a; VOP3B is the one with a scalar destination in bits 8 to 14.
    let second_result = o.operands.iter().any(|p| p.is_def && p.mask != 0 && p.mask & !0x7f00 == 0);
    if second_result {
        match o.format.as_str() {
            "Vop3a" => return Ok(Format::Vop3b),
            "Vop3aDpp" => return Ok(Format::Vop3bDpp),
            "Vop3aDpp8" => return Ok(Format::Vop3bDpp8),
            _ => {}
        }
    }
    Format::ALL.into_iter().find(|f| format!("{f:?}") == o.format).ok_or_else(|| format!("format {}", o.format))
}

/// A 32-bit literal always follows.
fn has_literal(format: Format, o: &Opcode, mnemonic: &str) -> bool {
    match format {
        Format::Sop2 | Format::Vop2 | Format::Sopk => o.size == 8,
        Format::Vopd => mnemonic.contains("_fmaak_") || mnemonic.contains("_fmamk_"),
        _ => false,
    }
}

/// The field that an operand's bits belong to; `None` for modifiers.
fn field_of(generation: Generation, format: Format, o: &Opcode, operand: &McOperand) -> Result<Option<Field>, String> {
    // s_atc_probe has a number where others have the data register.
    const IMMEDIATES: [Field; 5] = [Field::Simm16, Field::Offset, Field::Ssrc0, Field::Ssrc1, Field::Sdata];
    let behind = if format == Format::Vopd { 64 } else { 32 };
    if operand.mask >> behind != 0 && has_literal(format, o, &mnemonic(o)?) && operand.class.is_none() {
        return Ok(Some(Field::Literal));
    }
    let pieces =
        layout(generation, format).iter().filter(|(_, low, width)| operand.mask >> low & ((1 << width) - 1) != 0);
    // The acc and SDWA scalar bits qualify a register; they are not its field.
    let mut fields: Vec<Field> = pieces
        .map(|piece| piece.0)
        .filter(|f| {
            !matches!(
                f,
                Field::Acc
                    | Field::Nv
                    | Field::Tfe
                    | Field::AccCd
                    | Field::S0
                    | Field::S1
                    | Field::Sd
                    | Field::Op
                    | Field::OpSel
                    | Field::Nsa
                    | Field::Lwe
            )
        })
        .collect();
    fields.dedup();
    if fields.contains(&Field::VdstY) {
        // Its lowest bit is the opposite of the other destination's.
        fields.retain(|f| *f != Field::VdstX);
    }
    if mnemonic(o)? == "s_version" {
        // Its operand is an expression, and any two of these look different.
        return Ok(Some(Field::Simm16));
    }
    match (operand.class.is_some(), &fields[..]) {
        (true, [one]) => Ok(Some(*one)),
        // Flipping bit 47 turns the VCC destination of an SDWA comparison into s[0:1]; the register lies beside it.
        (true, []) if format == Format::SdwaC => Ok(Some(Field::Sdst)),
        (true, []) if operand.mask == 0 => Err(format!("no bit changes the operand of class {:?}", operand.class)),
        (true, several) => Err(format!("an operand in several fields: {several:?}")),
        // Memory offsets are modifiers everywhere but in SMEM.
        (false, [one]) if IMMEDIATES.contains(one) && (*one != Field::Offset || format == Format::Smem) => {
            Ok(Some(*one))
        }
        (false, _) => Ok(None),
    }
}

/// LLVM's operand type numbers, as far as they say how a constant is expanded.
fn data_type(kind: u8) -> Result<&'static str, String> {
    Ok(match kind {
        0..=4 | 46 => "None",
        13 | 28 | 41 => "I32",
        14 | 29 => "I64",
        15 | 27 | 39 => "I16",
        16 | 32 | 38 | 42 => "F32",
        17 | 33 | 43 => "F64",
        18 | 30 => "Bf16",
        19 | 31 => "F16",
        20 | 35 => "V2Bf16",
        21 | 22 | 24 | 36 => "V2F16",
        23 | 34 => "V2I16",
        25 => "V2I32",
        26 => "V2F32",
        other => return Err(format!("operand type {other}")),
    })
}

fn file(operand: &McOperand) -> &'static str {
    let Some(class) = operand.class.as_deref() else { return "Immediate" };
    match class {
        c if c.starts_with("VGPR_16") => "VgprHalf",
        c if c.starts_with("VS_16") => "SourceHalf",
        c if c.starts_with("AReg") || c.starts_with("AGPR") => "Agpr",
        c if c.starts_with("AV_") => "Vector",
        c if c.starts_with("VS_") => "Source",
        c if c.starts_with('V') => "Vgpr",
        _ => "Scalar",
    }
}

/// LLVM does not say that these moves leave lanes alone that are off.
fn forgets_exec(mnemonic: &str) -> bool {
    mnemonic.starts_with("v_movrelsd_2_b32") || mnemonic.starts_with("v_swaprel_b32")
}

/// Register names of LLVM's implicit operands, as 32-bit units of ours. EXEC is left to the access rules.
fn names(mode: &Mode, list: &[String], reads: bool) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    for name in list {
        match name.as_str() {
            "SCC" | "M0" | "MODE" => out.push(name.clone()),
            // Lane masks of both wave sizes: what is packed into the crate knows how many registers they are.
            "VCC" | "EXEC" if !mode.generation.is_gfx9_family() => out.push(name.clone()),
            "VCC" => out.extend(["VCC_LO", "VCC_HI"].map(String::from)),
            "EXEC" => out.extend(["EXEC_LO", "EXEC_HI"].map(String::from)),
            "FLAT_SCR" if !mode.generation.is_gfx9_family() => {
                out.extend(["FLAT_SCRATCH_BASE_LO", "FLAT_SCRATCH_BASE_HI"].map(String::from));
            }
            "FLAT_SCR" => out.extend(["FLAT_SCRATCH_LO", "FLAT_SCRATCH_HI"].map(String::from)),
            "VCCZ" | "EXECZ" if reads => {}
            other => return Err(format!("implicit register {other}")),
        }
    }
    Ok(out)
}

/// Where the assembly names VCC although the encoding does not, VCC becomes an operand.
fn name_vcc(
    mode: &Mode,
    o: &Opcode,
    format: Format,
    mnemonic: &str,
    operands: &mut Vec<String>,
    uses: &mut Vec<String>,
    defs: &mut Vec<String>,
) {
    let Some(rest) = o.text.strip_prefix(mnemonic) else { return };
    // SDWA's comparisons name their destination.
    if format == Format::SdwaC || !matches!(format.plain(), Format::Vop2 | Format::Vopc) {
        return;
    }
    let (vcc, units) = if mode.wave == 32 { ("vcc_lo", 1) } else { ("vcc", 2) };
    let named: Vec<bool> = rest.split(',').map(|t| t.split_whitespace().next() == Some(vcc)).collect();
    for (at, _) in named.iter().enumerate().filter(|(_, vcc)| **vcc) {
        let written = at < 2 && defs.iter().any(|d| d.starts_with("VCC"));
        operands.insert(at.min(operands.len()), format!("VCC:{units}:{}", if written { "W" } else { "R" }));
        let list = if written { &mut *defs } else { &mut *uses };
        list.retain(|r| !r.starts_with("VCC"));
    }
}

/// Which modifiers the operand behind this one takes.
fn source_modifiers(generation: Generation, format: Format, modifiers: &McOperand) -> Result<&'static str, String> {
    let touches = |fields: &[Field]| {
        layout(generation, format)
            .iter()
            .any(|(f, low, width)| fields.contains(f) && modifiers.mask >> low & ((1 << width) - 1) != 0)
    };
    Ok(if touches(&[Field::Src0Sext, Field::Src1Sext]) {
        "Sext"
    } else if touches(&[Field::Neg, Field::Abs, Field::Src0Neg, Field::Src1Neg, Field::Src0Abs, Field::Src1Abs]) {
        "Float"
    } else {
        "Plain"
    })
}

fn flags(o: &Opcode, mnemonic: &str, literal: bool) -> Vec<&'static str> {
    let ts = |bit: u32| o.ts_flags >> bit & 1 != 0;
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| mnemonic.starts_with(p));
    let is = |names: &[&str]| names.contains(&mnemonic);
    let has = |list: &[String], name: &str| list.iter().any(|r| r == name);
    let atomic = ts(57) || ts(58);
    let indirect =
        is(&["s_setpc_b64", "s_swappc_b64", "s_rfe_b64", "s_rfe_restore_b64", "s_cbranch_g_fork", "s_cbranch_join"]);
    let call = is(&["s_call_b64", "s_swappc_b64"]);
    let conditional = starts(&["s_cbranch_", "s_subvector_loop_"]);
    let matrix = ts(54) && starts(&["v_mfma", "v_smfmac"]);
    let dual = mnemonic.contains(" :: ");
    let table = [
        ("LOAD", o.may_load),
        ("STORE", o.may_store),
        ("ATOMIC", atomic),
        ("ATOMIC_RETURN", ts(58)),
        ("BRANCH", is(&["s_branch"]) || conditional || (indirect && !call)),
        ("COND_BRANCH", conditional),
        ("INDIRECT", indirect),
        ("CALL", call),
        ("END", starts(&["s_endpgm"])),
        ("BARRIER", is(&["s_barrier"])),
        ("WAIT", starts(&["s_waitcnt"])),
        ("VALU", ts(1) || dual),
        ("SALU", ts(0)),
        ("SMEM", ts(19)),
        ("VMEM", ts(17) || ts(18) || ts(20) || ts(24)),
        ("FLAT", ts(24) && !ts(51) && !ts(56)),
        ("GLOBAL", ts(51)),
        ("SCRATCH", ts(56)),
        ("DS", ts(25)),
        ("MFMA", matrix),
        ("WMMA", starts(&["v_wmma", "v_swmmac"])),
        ("VINTERP", ts(13)),
        ("EXPORT", ts(23)),
        ("TRAP", is(&["s_trap"])),
        ("IGNORES_EXEC", ts(0) || ts(19) || matrix || !has(&o.implicit_uses, "EXEC") && !forgets_exec(mnemonic)),
        ("VM_CNT", ts(32)),
        ("LGKM_CNT", ts(34)),
        ("EXP_CNT", ts(33)),
        ("D16_PRESERVE", mnemonic.contains("_d16") && o.may_load && o.operands.iter().any(|p| p.tied)),
        ("FIXED_LITERAL", literal),
        ("SDWA", ts(14)),
        ("DPP", ts(15)),
        ("GETPC", is(&["s_getpc_b64"])),
        ("FP_MODE", ts(1) && has(&o.implicit_uses, "MODE")),
        ("MUBUF", ts(17)),
        ("MTBUF", ts(18)),
        ("MIMG", ts(20)),
        ("PACKED", ts(49)),
        ("OP_SEL", ts(42)),
        ("DUAL", dual),
    ];
    table.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
}
