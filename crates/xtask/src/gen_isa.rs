//! Turns what the prober found into crates/isa/tables/TARGET.txt, one opcode a line.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::prober::{McOperand, Opcode, compile, found, probe};

use crate::field::Field;
use crate::format::Format;
use crate::generation::Generation;
use crate::layout::layout;

/// One file of tables: its name, and what to ask LLVM.
struct Family {
    name: &'static str,
    modes: &'static [Mode],
}

/// A processor and wave size, and LLVM's encoding families that its opcodes come from, the most specific first.
struct Mode {
    cpu: &'static str,
    wave: u32,
    generation: Generation,
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
    fn request(&self) -> [&'static str; 3] {
        let features = match (self.generation.is_gfx9_family(), self.wave) {
            (true, _) => "",
            (_, 32) => "+wavefrontsize32",
            _ => "+wavefrontsize64",
        };
        [self.cpu, features, self.encodings]
    }
}

const FAMILIES: &[Family] = &[Family {
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
}];

const HEADER: &str = "\
# Made by `cargo xtask gen-isa` from LLVM's own tables; do not edit. One opcode a line, columns separated by tabs: mask of
# the modes that have it (bit 0 is the first of the list below), LLVM name, pseudo, mnemonic, format, opcode, variant keys,
# bytes, operands, implicit reads, implicit writes, flags, legality. An operand is field:units:access:file, then its type
# and modifiers if any; or VCC:units:access where the assembly names a register that the encoding does not. Units count 32
# bits. Legality: bits with one legal value / the value / bits that the text does not show, then low:width:class for fields
# of which only the codes of a class are legal.
";

fn path(family: &Family) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../isa/tables").join(format!("{}.txt", family.name))
}

/// `extent` is empty, or `exhaustive`: to try out every code of every opcode's fields, which takes minutes and should give the
/// same.
pub fn write(extent: &'static str) -> Result<String, String> {
    let mut message = String::new();
    for family in FAMILIES {
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
    let mut out = HashMap::new();
    for mode in family.modes {
        let fields = fields(mode.generation);
        let Some(other) = mode.twin else {
            out.insert((mode.cpu, mode.wave), probe(program, mode.request(), &fields, extent)?);
            continue;
        };
        let is_twin = |m: &&Mode| m.cpu == other && m.wave == mode.wave && m.twin.is_none();
        let other = family.modes.iter().find(is_twin).ok_or_else(|| format!("{other} is not probed"))?;
        if found(program, mode.request(), &fields)? != found(program, other.request(), &fields)? {
            return Err(format!("{} has not the instructions of {}", mode.cpu, other.cpu));
        }
    }
    Ok(out)
}

type Row = ((String, u16, u16), String);

fn mode_rows(mode: &Mode, opcodes: &[Opcode], classes: &mut Classes) -> Result<Vec<Row>, String> {
    let accumulators: BTreeSet<(&str, u16)> =
        opcodes.iter().filter(|o| o.operands.iter().any(|p| p.tied)).map(|o| (o.format.as_str(), o.op)).collect();
    let accumulates = |o: &Opcode| match o.format.as_str() {
        "Dpp1" => accumulators.contains(&("Vop1", o.op)),
        "Dpp2" => accumulators.contains(&("Vop2", o.op)),
        _ => false,
    };
    let row = |o: &Opcode| {
        let row = row(mode.generation, o, accumulates(o), classes).map_err(|e| format!("{}: {e}", o.llvm))?;
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
fn fields(generation: Generation) -> String {
    use Field::*;
    let keyed = |format: Format, field: Field| match format {
        Format::Ds | Format::Flat | Format::Mubuf | Format::Mtbuf if field == Acc => true,
        Format::Smem | Format::Flat | Format::Mubuf if field == Glc => true,
        Format::MaiScaled => matches!(field, AccCd | Cbsz | Blgp),
        Format::Mimg if field == D16 => true,
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
            Format::Sdwa1 | Format::Sdwa2 | Format::SdwaC | Format::Dpp1 | Format::Dpp2 => pieces.push("o0:9".into()),
            _ => {}
        }
        format!("{format:?}={}", pieces.join(","))
    };
    let has = |f: &Format| *f != Format::Vop3b && !layout(generation, *f).is_empty();
    Format::ALL.into_iter().filter(has).map(format).collect::<Vec<_>>().join(";")
}

fn row(generation: Generation, o: &Opcode, accumulates: bool, classes: &mut Classes) -> Result<String, String> {
    let mnemonic = o.text.split_whitespace().next().ok_or("no mnemonic")?;
    let format = format(o)?;
    let mut operands = Vec::new();
    for (i, operand) in o.operands.iter().enumerate() {
        let written = operand.is_def;
        // A tied operand is the destination read again; source modifiers and cache bits are fields, not operands.
        if operand.tied || operand.kind == INPUT_MODIFIERS || (operand.class.is_none() && operand.mask == 0) {
            continue;
        }
        let Some(field) = field_of(generation, format, o, operand)? else { continue };
        let tied = written
            && o.operands
                .iter()
                .any(|other| other.tied && other.class == operand.class && [0, operand.mask].contains(&other.mask));
        // DPP opcodes name their old destination, which masked lanes keep; whether they do is for the access rules.
        // It is an operand of the computation only where it is one of the plain opcode's.
        let tied = tied && (!o.format.starts_with("Dpp") || accumulates);
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
    if mnemonic.starts_with("s_setreg") {
        // The register that is set comes first.
        operands.sort_by_key(|o| !o.starts_with("Simm16"));
    }
    let mut uses = names(&o.implicit_uses, true)?;
    let mut defs = names(&o.implicit_defs, false)?;
    name_vcc(o, format, mnemonic, &mut operands, &mut uses, &mut defs);
    let literal = if o.size == 8 && matches!(format, Format::Vop2 | Format::Sopk) { 4 } else { 0 };
    let keys: Vec<String> = o.keys.iter().map(u16::to_string).collect();
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
        keys.join(","),
        (o.size - literal).to_string(),
        operands.join(" "),
        uses.join(" "),
        defs.join(" "),
        flags(o, mnemonic, literal != 0).join(" "),
        legal,
    ];
    Ok(columns.map(|c| if c.is_empty() { "-".to_string() } else { c }).join("\t"))
}

/// Image opcodes are not in LLVM's pseudo map; their pseudo name is the real one without its encoding family.
fn strip_suffix(llvm: &str) -> String {
    ["_gfx90a", "_gfx940", "_gfx9", "_vi"].iter().find_map(|s| llvm.strip_suffix(s)).unwrap_or(llvm).to_string()
}

const INPUT_MODIFIERS: u8 = 45;

fn format(o: &Opcode) -> Result<Format, String> {
    // The prober calls both VOP3 forms Vop3a; VOP3B is the one with a scalar destination in bits 8 to 14.
    let second_result = o.operands.iter().any(|p| p.is_def && p.mask != 0 && p.mask & !0x7f00 == 0);
    if o.format == "Vop3a" && second_result {
        return Ok(Format::Vop3b);
    }
    Format::ALL.into_iter().find(|f| format!("{f:?}") == o.format).ok_or_else(|| format!("format {}", o.format))
}

/// The field that an operand's bits belong to; `None` for modifiers.
fn field_of(generation: Generation, format: Format, o: &Opcode, operand: &McOperand) -> Result<Option<Field>, String> {
    // s_atc_probe has a number where others have the data register.
    const IMMEDIATES: [Field; 4] = [Field::Simm16, Field::Offset, Field::Ssrc1, Field::Sdata];
    if operand.mask >> 32 != 0
        && o.size == 8
        && matches!(format, Format::Vop2 | Format::Sopk)
        && operand.class.is_none()
    {
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
                Field::Acc | Field::Nv | Field::Tfe | Field::AccCd | Field::S0 | Field::S1 | Field::Sd | Field::Op
            )
        })
        .collect();
    fields.dedup();
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
        c if c.starts_with("AReg") || c.starts_with("AGPR") => "Agpr",
        c if c.starts_with("AV_") => "Vector",
        c if c.starts_with("VS_") => "Source",
        c if c.starts_with('V') => "Vgpr",
        _ => "Scalar",
    }
}

/// Register names of LLVM's implicit operands, as 32-bit units of ours. EXEC is left to the access rules.
fn names(list: &[String], reads: bool) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    for name in list {
        match name.as_str() {
            "SCC" | "M0" | "MODE" => out.push(name.clone()),
            "VCC" => out.extend(["VCC_LO", "VCC_HI"].map(String::from)),
            "EXEC" => out.extend(["EXEC_LO", "EXEC_HI"].map(String::from)),
            "FLAT_SCR" => out.extend(["FLAT_SCRATCH_LO", "FLAT_SCRATCH_HI"].map(String::from)),
            "VCCZ" | "EXECZ" if reads => {}
            other => return Err(format!("implicit register {other}")),
        }
    }
    Ok(out)
}

/// Where the assembly names VCC although the encoding does not, VCC becomes an operand.
fn name_vcc(
    o: &Opcode,
    format: Format,
    mnemonic: &str,
    operands: &mut Vec<String>,
    uses: &mut Vec<String>,
    defs: &mut Vec<String>,
) {
    let Some(rest) = o.text.strip_prefix(mnemonic) else { return };
    if !matches!(format, Format::Vop2 | Format::Vopc | Format::Sdwa2 | Format::Dpp2) {
        return;
    }
    let named: Vec<bool> = rest.split(',').map(|t| t.split_whitespace().next() == Some("vcc")).collect();
    for (at, _) in named.iter().enumerate().filter(|(_, vcc)| **vcc) {
        let written = at < 2 && defs.iter().any(|d| d == "VCC_LO");
        operands.insert(at.min(operands.len()), format!("VCC:2:{}", if written { "W" } else { "R" }));
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
    let conditional = starts(&["s_cbranch_"]);
    let matrix = ts(54) && starts(&["v_mfma", "v_smfmac"]);
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
        ("VALU", ts(1)),
        ("SALU", ts(0)),
        ("SMEM", ts(19)),
        ("VMEM", ts(17) || ts(18) || ts(20) || ts(24)),
        ("FLAT", ts(24) && !ts(51) && !ts(56)),
        ("GLOBAL", ts(51)),
        ("SCRATCH", ts(56)),
        ("DS", ts(25)),
        ("MFMA", matrix),
        ("VINTERP", ts(13)),
        ("EXPORT", ts(23)),
        ("TRAP", is(&["s_trap"])),
        ("IGNORES_EXEC", ts(0) || ts(19) || matrix || !has(&o.implicit_uses, "EXEC")),
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
    ];
    table.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
}
