//! MIR that llc accepts, and that assembles to the original instructions.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::Shape;
use luthier_isa::{Field, File, Flags, Inst, Mode, OpcodeInfo, Operand, Reg, RegRange, Target};
use luthier_lifter::{FuncId, Mir, Program};
use luthier_loader::{CodeObject, LoadError};

/// llc reads a MIR file of this many instructions quickly; its time grows faster than the file.
const CHUNK: usize = 20_000;

/// The same of samples: the verifier stops at the first that it does not like, and the others have to be read again.
const SAMPLES: usize = 1_500;

struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        let unique = format!("luthier-mir-{}-{:?}", std::process::id(), std::thread::current().id());
        let dir = std::env::temp_dir().join(unique.replace(['(', ')'], ""));
        std::fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn bytes_of(input: &Input, func: FuncId) -> Vec<u8> {
    let instrs = input.program.function_instrs(func);
    let (first, last) = (input.program.vaddr(instrs.first), instrs.last().unwrap());
    let end = input.program.vaddr(last) + input.program.inst(last).size() as u64;
    input.object.read(first, end - first).unwrap().to_vec()
}

/// The code that llc has made, with the original bits where both only differ in bits that no text shows.
fn keep_invisible(made: &[u8], original: &[u8], input: &Input, func: FuncId, mir: &Mir) -> Vec<u8> {
    let mut made = made.to_vec();
    let start = input.program.function(func).vaddr;
    for &instr in mir.normalized.iter().filter(|i| input.program.function_instrs(func).iter().any(|own| own == **i)) {
        let inst = input.program.inst(instr);
        let at = (input.program.vaddr(instr) - start) as usize;
        let same = |other: Inst| other.size() == inst.size() && other.to_string() == inst.to_string();
        if let Some(place) = made.get_mut(at..at + inst.size())
            && Inst::decode(input.program.mode(), place).is_ok_and(same)
        {
            place.copy_from_slice(&original[at..at + inst.size()]);
        }
    }
    made
}

/// A function that llc has made, and where it wants addresses: offset in the function, kind, symbol, addend.
struct Made {
    code: Vec<u8>,
    relocations: Vec<(usize, String, String, i64)>,
}

/// What llc makes of MIR, by function. The error is its complaint.
fn assemble(mir: &str, dir: &Path) -> Result<BTreeMap<String, Made>, String> {
    let (source, object, code) = (dir.join("in.mir"), dir.join("out.o"), dir.join("text"));
    std::fs::write(&source, mir).unwrap();
    let llc = Command::new(common::tool("llc"))
        .args(["-x", "mir", "-start-after=branch-relaxation", "-verify-machineinstrs", "-filetype=obj"])
        .arg(&source)
        .arg("-o")
        .arg(&object)
        .output()
        .unwrap();
    if !llc.status.success() || !llc.stderr.is_empty() {
        let complaint = String::from_utf8_lossy(&llc.stderr).into_owned();
        let from = complaint.find("*** Bad").unwrap_or(0);
        return Err(complaint[from..].chars().take(300).collect());
    }
    let read = |tool: &str, options: &[&str]| {
        String::from_utf8(common::run(Command::new(common::tool(tool)).args(options).arg(&object))).unwrap()
    };
    common::run(
        Command::new(common::tool("llvm-objcopy")).args(["-O", "binary", "-j", ".text"]).arg(&object).arg(&code),
    );
    let text = std::fs::read(&code).unwrap();
    let mut relocations = Vec::new();
    let table = read("llvm-readelf", &["-rW"]);
    let of_text = table.lines().skip_while(|l| !l.contains("'.rela.text'")).skip(1);
    for line in of_text.take_while(|l| !l.starts_with("Relocation")).filter(|l| l.contains("R_AMDGPU")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [offset, _, kind, _, symbol, rest @ ..] = &words[..] else { panic!("{line}") };
        let addend = match rest {
            ["+", n] => i64::from_str_radix(n, 16).unwrap(),
            ["-", n] => -i64::from_str_radix(n, 16).unwrap(),
            _ => 0,
        };
        relocations.push((usize::from_str_radix(offset, 16).unwrap(), kind.to_string(), symbol.to_string(), addend));
    }
    relocations.sort();
    let mut functions = BTreeMap::new();
    for line in read("llvm-nm", &["--format=posix", "--defined-only"]).lines() {
        let [name, "T", value, size] = line.split(' ').collect::<Vec<_>>()[..] else { continue };
        let (at, size) = (usize::from_str_radix(value, 16).unwrap(), usize::from_str_radix(size, 16).unwrap());
        let from = relocations.partition_point(|r| r.0 < at);
        let to = relocations.partition_point(|r| r.0 < at + size);
        let inside = relocations[from..to].iter().map(|(o, k, s, a)| (o - at, k.clone(), s.clone(), *a)).collect();
        functions.insert(name.to_owned(), Made { code: text[at..at + size].to_vec(), relocations: inside });
    }
    Ok(functions)
}

/// Puts the original addresses in, as a linker would that places everything where it was.
fn link(made: &Made, vaddr: u64, input: &Input) -> Vec<u8> {
    let mut code = made.code.clone();
    for (offset, kind, symbol, addend) in &made.relocations {
        let number = |prefix: &str| symbol.strip_prefix(prefix).and_then(|n| u64::from_str_radix(n, 16).ok());
        let functions = || input.program.functions().iter().find(|f| f.name == *symbol).map(|f| f.vaddr);
        let known = input.object.symbols().iter().find(|s| s.name == *symbol && !s.is_undefined());
        let slot = || {
            let to_symbol = |r: &&luthier_loader::Relocation| {
                let name = |i: usize| input.object.symbols().get(i).map(|s| s.name.as_str());
                // A pointer to something inside of the object need not name it.
                r.symbol.and_then(name) == Some(symbol)
                    || r.addend.is_some_and(|a| known.is_some_and(|s| s.value as i64 == a))
            };
            input.object.relocations().iter().find(to_symbol).map(|r| r.offset)
        };
        let address = number("address_0x").or_else(|| number("literal_0x"));
        let value = match kind.contains("GOT") {
            true => slot(),
            false => address.or_else(functions).or_else(|| known.map(|s| s.value)),
        };
        let value = value.unwrap_or_else(|| panic!("{symbol} is nowhere")).wrapping_add_signed(*addend);
        let distance = value.wrapping_sub(vaddr + *offset as u64);
        let word = match kind.as_str() {
            "R_AMDGPU_REL32_LO" | "R_AMDGPU_GOTPCREL32_LO" => distance as u32,
            "R_AMDGPU_REL32_HI" | "R_AMDGPU_GOTPCREL32_HI" => (distance >> 32) as u32,
            "R_AMDGPU_ABS32_LO" => value as u32,
            other => panic!("relocation {other}"),
        };
        code[*offset..*offset + 4].copy_from_slice(&word.to_le_bytes());
    }
    code
}

struct Input {
    object: CodeObject,
    program: Program,
}

#[derive(Default, Debug)]
struct Counts {
    functions: usize,
    instructions: usize,
    left_out: Vec<String>,
    wrong: Vec<String>,
}

fn round_trip(input: &Input, functions: &[FuncId], counts: &mut Counts) {
    let program = &input.program;
    let scratch = Scratch::new();
    let mir = Mir::of(program, functions);
    for (func, why) in &mir.left_out {
        counts.left_out.push(format!("{}: {why}", program.function(*func).name));
    }
    if mir.functions.is_empty() {
        return;
    }
    let made = match assemble(&mir.text, &scratch.0) {
        Ok(made) => made,
        Err(why) if mir.functions.len() > 1 => {
            // The verifier stops at the first function that it does not like, and names it.
            let named = why.split("- function:").nth(1).and_then(|rest| rest.split_whitespace().next());
            let bad = mir.functions.iter().position(|f| Some(program.function(*f).name.as_str()) == named);
            if let Some(bad) = bad {
                counts.wrong.push(format!("{}: {why}", program.function(mir.functions[bad]).name));
                let good: Vec<FuncId> = mir.functions.iter().copied().filter(|f| *f != mir.functions[bad]).collect();
                return round_trip(input, &good, counts);
            }
            let (low, high) = mir.functions.split_at(mir.functions.len() / 2);
            eprintln!("split: {}", why.lines().next().unwrap_or(""));
            round_trip(input, low, counts);
            return round_trip(input, high, counts);
        }
        Err(why) => {
            counts.wrong.push(format!("{}: {why}", program.function(mir.functions[0]).name));
            return;
        }
    };
    for &func in &mir.functions {
        let name = &program.function(func).name;
        let original = bytes_of(input, func);
        let made = made.get(name).map(|made| link(made, program.function(func).vaddr, input));
        let made = made.map(|made| keep_invisible(&made, &original, input, func, &mir));
        if made.as_ref() == Some(&original) {
            counts.functions += 1;
            counts.instructions += program.function_instrs(func).len();
        } else {
            let at = made.as_ref().map_or(0, |b| b.iter().zip(&original).take_while(|(a, b)| a == b).count());
            let instr = program
                .function_instrs(func)
                .iter()
                .rfind(|i| program.vaddr(*i) <= program.function(func).vaddr + at as u64);
            let what = instr.map(|i| {
                let from = (program.vaddr(i) - program.function(func).vaddr) as usize;
                let words = made.as_deref().and_then(|m| m.get(from..)).unwrap_or_default();
                let got = Inst::decode(program.mode(), words).map(|i| i.to_string());
                format!("{} is {:?}, which became {got:?}", program.inst(i), mir.line(i))
            });
            counts.wrong.push(format!("{name}: differs at byte {at}: {what:?}"));
        }
    }
}

/// `None` for an object that the loader does not take, older than version 3.
fn lift(path: &Path) -> Option<Input> {
    let object = match CodeObject::parse(std::fs::read(path).unwrap()) {
        Err(LoadError::UnsupportedVersion { .. }) => return None,
        other => other.unwrap(),
    };
    let program = Program::lift(&object).unwrap();
    Some(Input { object, program })
}

/// Every `step`-th function of an object, about `at_once` instructions at a time.
fn round_trip_every(input: &Input, step: usize, at_once: usize) -> Counts {
    let (mut chunk, mut size, mut counts) = (Vec::new(), 0, Counts::default());
    for func in input.program.function_ids().step_by(step) {
        chunk.push(func);
        size += input.program.function_instrs(func).len();
        if size >= at_once {
            round_trip(input, &std::mem::take(&mut chunk), &mut counts);
            size = 0;
        }
    }
    round_trip(input, &chunk, &mut counts);
    counts
}

/// A sample of the functions, chosen so that a target takes a few seconds; all of them with LUTHIER_MIR_ALL.
fn corpus_comes_back(target: Target) {
    let all = std::env::var_os("LUTHIER_MIR_ALL").is_some();
    let mut sum = Counts::default();
    let mut objects = 0;
    for input in common::objects_of(target.name()).iter().filter_map(|path| lift(path)) {
        let step = if all { 1 } else { input.program.instrs().len() / CHUNK + 1 };
        let counts = round_trip_every(&input, step, CHUNK);
        sum.functions += counts.functions;
        sum.instructions += counts.instructions;
        sum.left_out.extend(counts.left_out);
        sum.wrong.extend(counts.wrong);
        objects += 1;
    }
    println!("{}: {objects} objects, {} functions, {} instructions", target.name(), sum.functions, sum.instructions);
    let wrong: Vec<&String> = sum.left_out.iter().chain(&sum.wrong).collect();
    let shown: String = wrong.iter().take(30).map(|w| format!("{w}\n")).collect();
    assert!(wrong.is_empty(), "{} functions do not come back:\n{shown}", wrong.len());
}

macro_rules! corpus {
    ($($name:ident $target:ident)*) => { mod corpus { $(
        #[luthier_needs::needs(corpus)]
        #[test]
        fn $name() {
            super::corpus_comes_back(luthier_isa::Target::$target);
        }
    )* } };
}

corpus! {
    gfx900 Gfx900
    gfx906 Gfx906
    gfx908 Gfx908
    gfx9_generic Gfx9Generic
    gfx90a Gfx90a
    gfx942 Gfx942
    gfx950 Gfx950
    gfx9_4_generic Gfx9_4Generic
    gfx1010 Gfx1010
    gfx10_1_generic Gfx10_1Generic
    gfx1030 Gfx1030
    gfx10_3_generic Gfx10_3Generic
    gfx1100 Gfx1100
    gfx1151 Gfx1151
    gfx11_generic Gfx11Generic
    gfx1200 Gfx1200
    gfx1201 Gfx1201
    gfx12_generic Gfx12Generic
    gfx1250 Gfx1250
    gfx1251 Gfx1251
}

/// A small generator of numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Encodings of an opcode: one register number for all operands, so that the limits on scalar sources are kept; and with
/// modifiers, any that their field may have.
fn samples(info: &'static OpcodeInfo) -> Vec<Inst> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 + u64::from(info.id.0));
    let mut out = Vec::new();
    for with_modifiers in [false, true] {
        let mut inst = Inst::new(info);
        let number = (random.next() % 20) as u16 * 4;
        for (i, operand) in info.operands.iter().enumerate() {
            let first = match operand.file {
                File::Immediate => continue,
                File::Scalar => Reg::sgpr(number),
                File::Agpr => Reg::agpr(number),
                File::Vgpr | File::Vector | File::Source => Reg::vgpr(number),
            };
            // Not every operand may have every register; then it keeps the one it has.
            let _ = inst.set_operand(i, Operand::Reg(RegRange::new(first, operand.units)));
        }
        for (field, _, width) in info.layout() {
            let operand = info.operands.iter().any(|o| o.field == *field && o.file != File::Immediate);
            // What an image instruction says of the shape of the image has to agree with its registers.
            let shape = info.flags.contains(Flags::MIMG)
                && matches!(field, Field::Dim | Field::Dmask | Field::A16 | Field::D16 | Field::Tfe | Field::Lwe);
            // LLVM's verifier knows who has it, and stops at each that has not.
            let scaled = *field == Field::ScaleOffset;
            let chooses = matches!(field, Field::Op | Field::Sd | Field::S0 | Field::S1);
            if with_modifiers && !operand && !shape && !scaled && !chooses {
                let mut changed = inst;
                let fits = changed.set_field(*field, random.next() as u32 & ((1 << width) - 1)).is_ok();
                // Bits that the text does not show are not in MIR either.
                if fits && changed.to_string() != inst.to_string() {
                    inst = changed;
                }
            }
        }
        // LLVM's default, sources that are not there included.
        if !with_modifiers {
            let _ = inst.set_field(Field::OpSelHi, 7);
        }
        // The one way of sharing lanes that any operation may have.
        let _ = inst.set_field(Field::DppCtrl, 0x150);
        out.push(inst);
    }
    out
}

const SPARE: &str = "more words for addresses than there are addresses";

/// Why some of the samples do not come back, though the code of the corpus does.
const ILLEGAL: [&str; 27] = [
    // LLVM's verifier knows more of what is legal than its disassembler.
    "Image instruction returns too many registers",
    "bad vaddr size",
    "Invalid dpp_ctrl value",
    "violates constant bus restriction",
    "= V_FMAC_F16_t16_e64_dpp8_gfx11 ",
    "= V_FMAC_F16_t16_e64_dpp8_gfx12 ",
    "= V_MOVRELSD_2_B32_",
    // Not even LLVM's own description of these has what its verifier wants.
    "instruction: V_MOVRELSD_2_B32_e",
    "= V_SWAPREL_B32 ",
    "= V_MOVRELD_B32_dpp ",
    "= V_MOVRELSD_B32_dpp ",
    "$sgpr_null = V_SWAP_B16 ",
    "= V_FMAC_F16_t16_e64_dpp ",
    "= V_FMAC_F16_t16_e64_dpp_gfx12 ",
    "Expected inline constant for operand",
    "agpr loads and stores not supported on this GPU",
    // What MIR's name stands for is not there.
    "V_MOVRELD_B32_sdwa_gfx10.",
    // LLVM's disassembler gives these other operands than its encoder wants.
    "v_fma_mixhi_f16_e64_dpp has no name in MIR",
    "v_fma_mixlo_f16_e64_dpp has no name in MIR",
    "v_fma_mixlo_bf16_e64_dpp has no name in MIR",
    "v_cvt_pk_bf8_f32_e64_dpp has no name in MIR",
    "v_cvt_pk_fp8_f32_e64_dpp has no name in MIR",
    "v_fma_mixhi_bf16_e64_dpp has no name in MIR",
    "s_version has no name in MIR",
    "v_interp_p2_f32 has no name in MIR",
    // Filler behind functions, which it takes for their end.
    "S_CODE_END ends a block in MIR",
    // It makes these shorter.
    SPARE,
];

/// Opcodes that are no branches, in two encodings each: one in eight of them, all with LUTHIER_MIR_ALL.
fn opcodes_come_back(mode: Mode) {
    let step = if std::env::var_os("LUTHIER_MIR_ALL").is_some() { 1 } else { 8 };
    let counts = round_trip_every(&sampled(mode, step), 1, SAMPLES);
    // Encodings that LLVM does not make.
    let spare = counts.left_out.iter().filter(|why| why.contains(SPARE)).count();
    let (back, not) = (counts.functions, counts.left_out.len() + counts.wrong.len() - spare);
    println!("{mode:?}: {back} of {} samples come back", back + not);
    let wrong: Vec<&String> = counts
        .left_out
        .iter()
        .chain(&counts.wrong)
        .filter(|why| !ILLEGAL.iter().any(|known| why.contains(known)))
        .collect();
    let shown: String = wrong.iter().take(30).map(|w| format!("{w}\n")).collect();
    assert!(wrong.is_empty(), "{mode:?}: {} samples do not come back:\n{shown}", wrong.len());
    assert!(back > 500 && not < back / 10, "{mode:?}: {not} of {} samples do not come back", back + not);
}

macro_rules! opcodes {
    ($($name:ident $target:ident $wave:ident)*) => { mod opcodes { $(
        #[test]
        fn $name() {
            super::opcodes_come_back(luthier_isa::Mode::new(luthier_isa::Target::$target, luthier_isa::Wave::$wave).unwrap());
        }
    )* } };
}

opcodes! {
    gfx900 Gfx900 W64
    gfx908 Gfx908 W64
    gfx90a Gfx90a W64
    gfx942 Gfx942 W64
    gfx950 Gfx950 W64
    gfx1010 Gfx1010 W32
    gfx1010_wave64 Gfx1010 W64
    gfx1030 Gfx1030 W32
    gfx1100 Gfx1100 W32
    gfx1100_wave64 Gfx1100 W64
    gfx1151 Gfx1151 W32
    gfx1201 Gfx1201 W32
    gfx1201_wave64 Gfx1201 W64
    gfx1250 Gfx1250 W32
}

/// An object with a function for each sample, which does nothing else.
fn sampled(mode: Mode, step: usize) -> Input {
    let leaves = Flags::BRANCH | Flags::COND_BRANCH | Flags::INDIRECT | Flags::CALL | Flags::END;
    let mut source = String::new();
    // Of gfx1250, where one function may set the upper bits of VGPRs' numbers, a function without callers has unknown ones.
    let sets = |info: &&OpcodeInfo| info.base == "s_set_vgpr_msb" || info.base.starts_with("s_setreg");
    let mine = |info: &&OpcodeInfo| !(info.flags.intersects(leaves) || mode.target().vgprs() > 256 && sets(info));
    for info in mode.opcodes().iter().filter(mine).step_by(step) {
        for (i, inst) in samples(info).iter().enumerate() {
            let words: Vec<String> = inst.words().iter().map(|w| format!("{w:#x}")).collect();
            let (name, words) = (format!("{}.{}.{i}", info.llvm, info.id.0), words.join(","));
            let _ = writeln!(
                source,
                ".type {name},@function\n.globl {name}\n{name}: .long {words}\ns_endpgm\n.size {name}, .-{name}"
            );
        }
    }
    let shape = Shape { target: mode.target().name(), wave64: mode != mode.target().into(), ..Shape::default() };
    // A kernel says how many lanes waves have.
    source += ".p2align 8\nmain: s_endpgm\n";
    let object = common::assemble_as(&source, &["main"], shape);
    let program = Program::lift(&object).unwrap();
    assert_eq!(program.mode(), mode);
    Input { object, program }
}

/// Literals of one word and of two for operands of two: gfx1250 has both, and LLVM chooses. What it would encode otherwise is
/// left out.
#[test]
fn literals_of_wide_operands_come_back_or_are_left_out() {
    let back = [
        ("s_mov_b64", "s_mov_b64 s[2:3], 0x7fffffff"),
        ("s_mov_b64_long", "s_mov_b64 s[2:3], 0x123456789a"),
        ("v_add_f64_e32_short", "v_add_f64_e32 v[0:1], 0x41200000, v[2:3]"),
        ("v_add_nc_u64", ".long 0xd5280000, 0x0001ff02, 0x80000000"),
        ("v_lshlrev_b64", ".long 0xd51f0000, 0x0001fe83, 0x80000000"),
        ("v_fma_f64", "v_fma_f64 v[0:1], v[2:3], v[4:5], 0x41200000"),
        ("v_add_f64_e32", "v_add_f64_e32 v[0:1], 0x412e848000000001, v[2:3]"),
    ];
    let left_out = [
        ("s_mov_b64_unsigned", ".long 0xbe8201ff, 0x80000000"),
        ("s_and_b64_unsigned", ".long 0x8b82ff04, 0xfffffff0"),
        ("s_mov_b64_needless", ".long 0xbe8201ff, 0x00000007"),
        ("v_add_f64_e32_needless", ".long 0x040004ff, 0x3ff00000"),
        ("v_lshlrev_b64_needless", ".long 0xd51f0000, 0x0001fe83, 0x00000007"),
        ("s_mov_b64_short", ".long 0xbe8201fe, 0x00010000, 0"),
        ("v_add_f64_long", ".long 0xd5020000, 0x0001fd02, 0x80000000, 0"),
        ("v_add_nc_u64_long", ".long 0xd5280000, 0x0001fd02, 0x80000000, 1"),
    ];
    let mut source: String = back
        .iter()
        .chain(&left_out)
        .map(|(name, body)| {
            format!(".type {name},@function\n.globl {name}\n{name}: {body}\ns_endpgm\n.size {name}, .-{name}\n")
        })
        .collect();
    source += ".p2align 8\nmain: s_endpgm\n";
    let object = common::assemble_as(&source, &["main"], Shape { target: "gfx1250", ..Shape::default() });
    let program = Program::lift(&object).unwrap();
    let counts = round_trip_every(&Input { object, program }, 1, SAMPLES);
    assert!(counts.wrong.is_empty(), "{counts:#?}");
    assert_eq!(counts.functions, back.len() + 1, "{counts:#?}");
    for (name, _) in left_out {
        let said = |why: &String| why.starts_with(&format!("{name}: ")) && why.contains("a literal of");
        assert!(counts.left_out.iter().any(said), "{name}: {counts:#?}");
    }
}
