//! One row of a table: what the prober found of an opcode, in the table's words.

use std::collections::BTreeMap;

use crate::field::Field;
use crate::format::Format;
use crate::gen_isa::Mode;
use crate::generation::Generation;
use crate::layout::layout;
use crate::prober::{Mask, McOperand, Opcode};

/// Distinct sets of legal codes, numbered as they are met.
#[derive(Default)]
pub struct Classes(pub BTreeMap<String, usize>);

impl Classes {
    pub fn id(&mut self, codes: &str) -> usize {
        let next = self.0.len();
        *self.0.entry(codes.to_string()).or_insert(next)
    }
}

/// The columns of an opcode behind the mask of its modes.
pub fn row(mode: &Mode, o: &Opcode, accumulates: bool, classes: &mut Classes) -> Result<String, String> {
    let generation = mode.generation;
    let mnemonic = mnemonic(o)?;
    let mnemonic = mnemonic.as_str();
    let format = format(o)?;
    let mut operands = Vec::new();
    for (i, operand) in o.operands.iter().enumerate() {
        let written = operand.is_def;
        // A tied operand is the destination read again; source modifiers and cache bits are fields, not operands.
        if operand.tied || operand.kind == INPUT_MODIFIERS || (operand.class.is_none() && operand.mask.is_empty()) {
            continue;
        }
        let Some(field) = field_of(generation, format, o, operand)? else { continue };
        // The destination read again may lack the bit that chooses its half, and be called a whole register.
        let again = |other: &McOperand| match other.mask.is_empty() {
            true => other.class == operand.class,
            false => other.mask.is_within(operand.mask),
        };
        let tied = written && o.operands.iter().any(|other| other.tied && again(other));
        // DPP opcodes name their old destination, which masked lanes keep; whether they do is for the access rules.
        // It is an operand of the computation only where it is one of the plain opcode's.
        let tied = tied && (!o.format.contains("Dpp") || accumulates);
        // LLVM forgets what these accumulate into, and what they leave of their destination.
        let accumulates = ["v_pk_fmac_f16", "v_interp_p2_f32"].iter().any(|name| mnemonic.starts_with(name));
        let tied = tied || written && field == Field::Vdst && (accumulates || keeps_upper_half(generation, mnemonic));
        let access = if tied {
            "RW"
        } else if written {
            "W"
        } else {
            "R"
        };
        let units = if operand.kind == SPLIT_BARRIER { 1 } else { operand.bits.div_ceil(32) };
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
    if format == Format::Mimg {
        // LLVM has the ray that is written back before the addresses.
        let order = ["Vdata", "Vaddr", "Vaddr1", "Vaddr2", "Vaddr3", "Vaddr4"];
        operands.sort_by_key(|o| order.iter().position(|f| o.split(':').next() == Some(f)).unwrap_or(order.len()));
    }
    if matches!(format, Format::Vopd | Format::Vopd3) {
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
    if format == Format::Sop1 && o.text.ends_with(" m0") && o.keys == [1] {
        operands.push("M0:1:R".to_string());
        uses.retain(|r| r != "M0");
    }
    let literal = literal_bytes(format, o, mnemonic);
    let keys = ranges(&o.keys);
    let mut legal = String::new();
    for (i, word) in o.legal.split_whitespace().enumerate() {
        match word.splitn(3, ':').collect::<Vec<_>>()[..] {
            // For some operations LLVM takes the control of DPP for a source, whose code here would be the literal's.
            [low, _, "0-254,256-511"] if is_dpp_control(generation, format, low) => {}
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
        flags(o, mnemonic, literal).join(" "),
        legal,
    ];
    Ok(columns.map(|c| if c.is_empty() { "-".to_string() } else { c }).join("\t"))
}

fn is_dpp_control(generation: Generation, format: Format, low: &str) -> bool {
    layout(generation, format).iter().any(|(field, at, _)| *field == Field::DppCtrl && low.parse() == Ok(*at))
}

/// The operands of the first operation, then those of the second, the literal where each has it. What both accumulate
/// into is told by their names: LLVM's operands do not say which of the two it is.
fn order_dual(mnemonic: &str, operands: &mut Vec<String>) {
    // It lies behind the encoding, where the prober does not look.
    let literal = "Literal:0:R:Immediate:F32";
    let halves =
        mnemonic.split(" :: ").zip([["VdstX", "Src0X", "Vsrc1X", "Vsrc2X"], ["VdstY", "Src0Y", "Vsrc1Y", "Vsrc2Y"]]);
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
    ["_gfx90a", "_gfx940", "_gfx9", "_vi", "_gfx10", "_gfx11", "_gfx1250", "_gfx12"]
        .iter()
        .find_map(|s| llvm.strip_suffix(s))
        .unwrap_or(llvm)
        .to_string()
}

const INPUT_MODIFIERS: u8 = 45;
/// A barrier's number, in a scalar source: an inline constant. LLVM gives it no register class.
const SPLIT_BARRIER: u8 = 37;

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
    let second_result = o.operands.iter().any(|p| p.is_def && !p.mask.is_empty() && p.mask.is_within(Mask::of(8, 7)));
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

/// The size of the literal that always follows; 0 if none does.
fn literal_bytes(format: Format, o: &Opcode, mnemonic: &str) -> u8 {
    match format {
        Format::Sop2 | Format::Vop2 | Format::Sopk => o.size - 4,
        Format::Vopd if mnemonic.contains("_fmaak_") || mnemonic.contains("_fmamk_") => 4,
        _ => 0,
    }
}

/// The field that an operand's bits belong to; `None` for modifiers.
fn field_of(generation: Generation, format: Format, o: &Opcode, operand: &McOperand) -> Result<Option<Field>, String> {
    // s_atc_probe has a number where others have the data register.
    const IMMEDIATES: [Field; 5] = [Field::Simm16, Field::Offset, Field::Ssrc0, Field::Ssrc1, Field::Sdata];
    let behind = if format == Format::Vopd { 64 } else { 32 };
    if operand.mask.from(behind) != 0 && literal_bytes(format, o, &mnemonic(o)?) != 0 && operand.class.is_none() {
        return Ok(Some(Field::Literal));
    }
    let pieces = layout(generation, format).iter().filter(|(_, low, width)| operand.mask.touches(*low, *width));
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
    if format == Format::Vopd && fields.contains(&Field::VdstY) {
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
        (true, []) if operand.mask.is_empty() => {
            Err(format!("no bit changes the operand of class {:?}", operand.class))
        }
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
        13 | 28 | SPLIT_BARRIER | 41 => "I32",
        14 | 29 => "I64",
        15 | 27 | 39 => "I16",
        16 | 32 | 38 | 42 => "F32",
        17 | 33 | 40 | 43 => "F64",
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
    let class = match operand.class.as_deref() {
        _ if operand.kind == SPLIT_BARRIER => return "Scalar",
        None => return "Immediate",
        Some(class) => class,
    };
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

/// A result of 16 bits. On RDNA1 and RDNA2 the upper half of the register stays. (GCN5 has a zero there, and
/// later ones name halves.)
fn keeps_upper_half(generation: Generation, mnemonic: &str) -> bool {
    let wide = ["v_interp_p1", "v_sad_", "v_pack_", "v_cmp"].iter().any(|start| mnemonic.starts_with(start));
    let parts = || mnemonic.split('_').skip(1);
    let is_type =
        |part: &&str| part.len() > 1 && part.starts_with(['b', 'f', 'i', 'u']) && part[1..].parse::<u32>().is_ok();
    // That of the result is the first: v_cvt_f32_f16.
    let narrow =
        parts().find(is_type).is_some_and(|first| first.ends_with("16")) || mnemonic.starts_with("v_sat_pk_u8_i16");
    let packed = parts().any(|part| part.starts_with("pk")) && !mnemonic.starts_with("v_sat_pk_");
    generation == Generation::Gfx10 && mnemonic.starts_with("v_") && narrow && !packed && !wide
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
            // counters, which waiting reads
            "ASYNCcnt" | "TENSORcnt" | "XCNT" => {}
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
    // SDWA's comparisons name their destination, which is VCC or another.
    if format == Format::SdwaC && operands.iter().any(|operand| operand.starts_with("Sdst:")) {
        defs.retain(|register| !register.starts_with("VCC"));
    }
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
            .any(|(f, low, width)| fields.contains(f) && modifiers.mask.touches(*low, *width))
    };
    Ok(if touches(&[Field::Src0Sext, Field::Src1Sext]) {
        "Sext"
    } else if touches(&[
        Field::Neg,
        Field::NegX,
        Field::NegY,
        Field::Abs,
        Field::Src0Neg,
        Field::Src1Neg,
        Field::Src0Abs,
        Field::Src1Abs,
    ]) {
        "Float"
    } else {
        "Plain"
    })
}

fn flags(o: &Opcode, mnemonic: &str, literal: u8) -> Vec<&'static str> {
    let ts = |bit: u32| o.ts_flags >> bit & 1 != 0;
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| mnemonic.starts_with(p));
    let is = |names: &[&str]| names.contains(&mnemonic);
    let has = |list: &[String], name: &str| list.iter().any(|r| r == name);
    // LLVM takes LDS stores for atomics that return nothing.
    let atomic = (ts(57) || ts(58)) && o.may_load && o.may_store;
    let indirect = is(&[
        "s_setpc_b64",
        "s_swappc_b64",
        "s_set_pc_i64",
        "s_swap_pc_i64",
        "s_add_pc_i64",
        "s_rfe_b64",
        "s_rfe_restore_b64",
        "s_cbranch_g_fork",
        "s_cbranch_join",
    ]);
    let call = is(&["s_call_b64", "s_swappc_b64", "s_call_i64", "s_swap_pc_i64"]);
    let conditional = starts(&["s_cbranch_", "s_subvector_loop_"]);
    let matrix = ts(54) && starts(&["v_mfma", "v_smfmac"]);
    let dual = mnemonic.contains(" :: ");
    // Since gfx12 LLVM has a bit for each of their two encodings.
    let image = ts(20) || matches!(o.format.as_str(), "Mimg" | "Vsample");
    let table = [
        ("LOAD", o.may_load),
        ("STORE", o.may_store),
        ("ATOMIC", atomic),
        ("ATOMIC_RETURN", atomic && ts(58)),
        ("BRANCH", is(&["s_branch"]) || conditional || (indirect && !call)),
        ("COND_BRANCH", conditional),
        ("INDIRECT", indirect),
        ("CALL", call),
        ("END", starts(&["s_endpgm"])),
        ("BARRIER", starts(&["s_barrier", "s_wakeup_barrier"])),
        ("WAIT", starts(&["s_waitcnt", "s_wait_alu"]) || starts(&["s_wait_"]) && mnemonic.contains("cnt")),
        ("VALU", ts(1) || dual),
        ("SALU", ts(0)),
        ("SMEM", ts(19)),
        ("VMEM", ts(17) || ts(18) || image || ts(24)),
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
        ("FIXED_LITERAL", literal != 0),
        ("LITERAL_64", literal == 8),
        ("SDWA", ts(14)),
        ("DPP", ts(15)),
        ("GETPC", is(&["s_getpc_b64", "s_get_pc_i64"])),
        ("FP_MODE", ts(1) && has(&o.implicit_uses, "MODE")),
        ("MUBUF", ts(17)),
        ("MTBUF", ts(18)),
        ("MIMG", image),
        ("PACKED", ts(49)),
        ("OP_SEL", ts(42)),
        ("DUAL", dual),
    ];
    table.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect()
}

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
