//! What the tests share: hooks made by hand, compiled kernels, the corpus.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use luthier_codegen::*;
use luthier_emulator::{FindingKind, Kinds, Strict};
use luthier_isa::{Flags, Inst, Mode, Reg, RegRange, RegSet, Target, Wave};
use luthier_lifter::Program;
use luthier_loader::CodeObject;

pub mod by_name;
pub mod launch;

/// The processor of tests that are about none in particular.
pub const TARGET: Target = Target::Gfx90a;

/// Tests that take a few processors are to take all of them.
pub fn all_targets() -> bool {
    std::env::var_os("LUTHIER_ALL_TARGETS").is_some()
}

/// The corpus directory. Tests that ask for it are ignored where it is not there (`luthier_needs`); a run that
/// includes ignored tests, as CI's does, sees them fail.
pub fn corpus() -> PathBuf {
    luthier_needs::corpus!()
}

/// A program of LLVM 22, or a loud word that it is not there.
pub fn llvm(name: &str) -> Option<PathBuf> {
    let path = Path::new("/usr/lib/llvm-22/bin").join(name);
    assert!(path.exists(), "{} is not here: make setup", path.display());
    Some(path)
}

pub fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("luthier-codegen-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir.join(name)
}

/// What a program prints, both streams; it has to succeed.
pub fn output(program: &Path, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program:?} {args:?}: {text}");
    text
}

/// tests/kernels/NAME.hip, compiled for the processor of most tests.
pub fn kernel(name: &str, level: &str) -> Option<CodeObject> {
    kernel_for(TARGET.into(), name, level)
}

/// tests/kernels/NAME.hip, compiled.
pub fn kernel_for(mode: Mode, name: &str, level: &str) -> Option<CodeObject> {
    let clang = llvm("clang")?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/kernels/{name}.hip"));
    // Tests that run side by side compile the same kernel.
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let out = scratch(&format!("{name}_{level}_{}.hsaco", NEXT.fetch_add(1, Ordering::Relaxed)));
    let arch = format!("--offload-arch={}", mode.target().name());
    let fixed = "-x hip --cuda-device-only -nogpuinc -nogpulib --no-gpu-bundle-output -ffp-contract=off";
    let mut args: Vec<&str> = fixed.split(' ').collect();
    let level = format!("-{level}");
    if mode.target().waves().len() > 1 {
        args.push(if mode.wave() == Wave::W64 { "-mwavefrontsize64" } else { "-mno-wavefrontsize64" });
    }
    args.extend([&arch, level.as_str(), source.to_str().unwrap(), "-o", out.to_str().unwrap()]);
    output(&clang, &args);
    Some(CodeObject::parse(std::fs::read(out).unwrap()).unwrap())
}

/// Assembly, as an object for the processor of most tests.
pub fn assemble(name: &str, source: &str) -> Option<CodeObject> {
    assemble_for(TARGET.into(), name, source)
}

/// Assembly, as an object.
pub fn assemble_for(mode: Mode, name: &str, source: &str) -> Option<CodeObject> {
    let clang = llvm("clang")?;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let (input, out) = (scratch(&format!("{name}_{n}.s")), scratch(&format!("{name}_{n}.hsaco")));
    std::fs::write(&input, source).unwrap();
    let cpu = format!("-mcpu={}", mode.target().name());
    let size = if mode.wave() == Wave::W32 { "-mno-wavefrontsize64" } else { "-mwavefrontsize64" };
    let mut args = vec!["--target=amdgcn-amd-amdhsa", &cpu, "-fuse-ld=lld"];
    if mode.target().waves().len() > 1 {
        args.push(size);
    }
    args.extend([input.to_str().unwrap(), "-o", out.to_str().unwrap()]);
    output(&clang, &args);
    Some(CodeObject::parse(std::fs::read(out).unwrap()).unwrap())
}

/// Instructions from assembly.
pub fn instructions(mode: Mode, source: &str) -> Option<Vec<Inst>> {
    let mc = llvm("llvm-mc")?;
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let input = scratch(&format!("insts_{}.s", NEXT.fetch_add(1, Ordering::Relaxed)));
    std::fs::write(&input, source).unwrap();
    let cpu = format!("--mcpu={}", mode.target().name());
    let wave = format!("--mattr=+wavefrontsize{}", mode.wave().lanes());
    let text = output(&mc, &["--triple=amdgcn", &cpu, &wave, "--show-encoding", input.to_str().unwrap()]);
    let mut insts = Vec::new();
    for line in text.lines() {
        let Some((_, bytes)) = line.split_once("encoding: [") else { continue };
        let bytes = bytes.trim_end_matches(']').split(',').map(|b| u8::from_str_radix(&b[2..], 16).unwrap_or(0));
        let bytes: Vec<u8> = bytes.collect();
        insts.push(Inst::decode(mode, &bytes).unwrap());
    }
    Some(insts)
}

/// A template with every register in a group of its own, except those named together in `groups`.
pub struct Maker<'a> {
    pub mode: Mode,
    pub source: &'a str,
    pub groups: Vec<(RegRange, u8)>,
    pub args: Vec<Option<ArgPlace>>,
    pub relocs: Vec<TemplateReloc>,
    pub whole: RegSet,
}

impl Maker<'_> {
    pub fn make(self, name: &str) -> Option<Arc<Template>> {
        let insts = instructions(self.mode, self.source)?;
        let (mut uses, mut clobbers) = (RegSet::EMPTY, RegSet::EMPTY);
        for inst in &insts {
            inst.for_each_access(|a| {
                uses.insert(a.reg);
                let exec = a.reg == Reg::EXEC_LO || a.reg == Reg::EXEC_HI;
                if a.access.writes() && !exec && a.reg != Reg::MODE {
                    clobbers.insert(a.reg);
                }
            });
        }
        let mut groups: Vec<RegGroup> =
            self.groups.iter().map(|(range, align)| RegGroup { range: *range, align: *align, limit: 256 }).collect();
        for reg in uses.iter().filter(|r| r.is_sgpr() || r.is_vgpr() || r.is_agpr()) {
            if !groups.iter().any(|g| g.range.units().any(|u| u == reg)) {
                groups.push(RegGroup { range: RegRange::new(reg, 1), align: 1, limit: 256 });
            }
        }
        let mut live_in = RegSet::EMPTY;
        self.args.iter().flatten().for_each(|a| live_in.insert_range(a.range));
        Some(Arc::new(Template {
            name: name.into(),
            insts,
            relocs: self.relocs,
            lines: Vec::new(),
            args: self.args.into_iter().map(|a| vec![a]).collect(),
            groups,
            clobbers,
            live_in,
            writes_inactive_lanes: self.whole,
            data: Vec::new(),
            stack: None,
            uses_fp_mode: false,
            gives_a_lane: false,
        }))
    }
}

pub fn s(first: u16, count: u8) -> RegRange {
    RegRange::new(Reg::sgpr(first), count)
}
pub fn v(first: u16, count: u8) -> RegRange {
    RegRange::new(Reg::vgpr(first), count)
}

/// `counter += 1`: two scalar instructions.
pub fn counter() -> Option<Arc<Template>> {
    counter_for(TARGET.into())
}

pub fn counter_for(mode: Mode) -> Option<Arc<Template>> {
    Maker {
        mode,
        source: "s_add_u32 s4, s4, 1\ns_addc_u32 s5, s5, 0\n",
        groups: vec![(s(4, 2), 2)],
        args: vec![Some(ArgPlace { range: s(4, 2), read: true, written: true, clobbered: true })],
        relocs: vec![],
        whole: RegSet::EMPTY,
    }
    .make("count")
}

/// Adds 1 to the variable `total` in memory, one lane for the wave, whatever EXEC is: touches EXEC, SCC and VCC, and
/// VGPRs in all lanes.
pub fn memory_counter() -> Option<Arc<Template>> {
    memory_counter_for(TARGET.into())
}

pub fn memory_counter_for(mode: Mode) -> Option<Arc<Template>> {
    let source = "
        s_mov_b64 s[6:7], exec
        s_mov_b64 exec, 1
        s_getpc_b64 s[4:5]
        s_add_u32 s4, s4, 0x11223344
        s_addc_u32 s5, s5, 0x11223344
        v_mov_b32_e32 v0, 1
        v_mov_b32_e32 v1, 0
        v_mov_b32_e32 v2, 0
        v_cmp_eq_u32_e32 vcc, 0, v2
        global_atomic_add_x2 v2, v[0:1], s[4:5]
        s_mov_b64 exec, s[6:7]
    ";
    let mut source = source.to_owned();
    if mode.wave() == Wave::W32 {
        source = source.replace("e32 vcc,", "e32 vcc_lo,").replace("s_mov_b64 s[6:7], exec", "s_mov_b32 s6, exec_lo");
        source = source.replace("s_mov_b64 exec, 1", "s_mov_b32 exec_lo, 1");
        source = source.replace("s_mov_b64 exec, s[6:7]", "s_mov_b32 exec_lo, s6");
    }
    let generation = mode.target().generation();
    if generation >= luthier_isa::Generation::Gfx11 {
        source = source.replace("atomic_add_x2", "atomic_add_u64");
    }
    // RDNA1: EXEC may not be written while a memory instruction is still reading it.
    if generation == luthier_isa::Generation::Gfx10 {
        source = source.replace("s[4:5]\n        s_mov", "s[4:5]\n        s_waitcnt_depctr 0xffe3\n        s_mov");
    }
    // RDNA4, RDNA3 in waves of 64: a scalar that vector instructions may have read is written, and waited for before it
    // is read.
    let rdna3 = generation == luthier_isa::Generation::Gfx11 && mode.wave() == Wave::W64;
    let waits = generation == luthier_isa::Generation::Gfx12 || rdna3;
    if waits {
        source = source.replace("s_getpc_b64 s[4:5]", "s_getpc_b64 s[4:5]\n        s_wait_alu 0xfffe");
        source = source.replace("        s_mov_b64 exec, s", "        s_wait_alu 0xfffe\n        s_mov_b64 exec, s");
        source =
            source.replace("        s_mov_b32 exec_lo, s", "        s_wait_alu 0xfffe\n        s_mov_b32 exec_lo, s");
    }
    if rdna3 {
        source = source.replace("s_wait_alu", "s_waitcnt_depctr");
    }
    let (more, by) = if waits { (1, 4) } else { (0, 0) };
    // Literals measure from themselves; s_getpc_b64 gives the address behind it.
    let reloc =
        |inst, kind, addend| TemplateReloc { inst, target: RelocTarget::Symbol("tool.total".into()), kind, addend };
    Maker {
        mode,
        source: &source,
        groups: vec![(s(4, 2), 2), (s(6, 2), 2), (v(0, 2), 2)],
        args: vec![],
        relocs: vec![reloc(3 + more, RelocKind::Rel32Lo, 4 + by), reloc(4 + more, RelocKind::Rel32Hi, 12 + by)],
        whole: (0..3).map(Reg::vgpr).collect(),
    }
    .make("count in memory")
}

/// RDNA4, RDNA3 in waves of 64: where a scalar that vector instructions may have read is written, it is waited for before
/// it is read.
pub fn scalar_wait(mode: Mode) -> &'static str {
    match mode.target().generation() {
        luthier_isa::Generation::Gfx12 => "s_wait_alu 0xfffe\n",
        luthier_isa::Generation::Gfx11 if mode.wave() == Wave::W64 => "s_waitcnt_depctr 0xfffe\n",
        _ => "",
    }
}

/// Special state to look at.
pub fn scribbled(mode: Mode) -> Vec<Arg> {
    let masks = if mode.wave() == Wave::W32 { 1 } else { 2 };
    let state = [(Reg::SCC, 1), (Reg::VCC_LO, 1), (Reg::M0, 1), (Reg::MODE, 1), (Reg::EXEC_LO, masks)];
    state.into_iter().map(|(reg, count)| Arg::Reg(RegRange::new(reg, count))).collect()
}

/// Leaves other values in all of its registers, some of them in all lanes, and in SCC, VCC, M0 and MODE. Its arguments are
/// those of [`scribbled`].
pub fn scribbler_for(mode: Mode) -> Option<Arc<Template>> {
    let wide = mode.wave() == Wave::W64;
    let (vcc, exec, home) = if wide { ("vcc", "exec", "s[10:11]") } else { ("vcc_lo", "exec_lo", "s10") };
    let (mov, masks) = if wide { ("s_mov_b64", 2) } else { ("s_mov_b32", 1) };
    let wait = scalar_wait(mode);
    let mut source = format!("{mov} {home}, {exec}\n{wait}{mov} {exec}, -1\n");
    (3..6).for_each(|v| source += &format!("v_mov_b32_e32 v{v}, 0x5eed{v:04x}\n"));
    source += &format!("{mov} {exec}, {home}\n");
    (0..3).for_each(|v| source += &format!("v_mov_b32_e32 v{v}, 0xdead{v:04x}\n"));
    source +=
        &format!("v_cmp_eq_u32_e64 {vcc}, v0, v1\ns_mov_b32 m0, 0xbad\ns_setreg_imm32_b32 hwreg(1, 0, 8), 0xa5\n");
    for s in [0, 2, 4, 6, 8, 9, 10, 12, 13, 14, 15] {
        source += &format!("s_xor_b32 s{s}, s{s}, 0x1234567\n");
    }
    let place = |range| Some(ArgPlace { range, read: true, written: false, clobbered: true });
    let made = Maker {
        mode,
        source: &source,
        groups: vec![(s(8, masks), 2), (s(10, masks), 2), (s(12, 4), 4), (v(3, 3), 2)],
        args: vec![place(s(0, 1)), place(s(2, 1)), place(s(4, 1)), place(s(6, 1)), place(s(8, masks))],
        relocs: vec![],
        whole: (3..6).map(Reg::vgpr).collect(),
    };
    let mut template = Arc::unwrap_or_clone(made.make("scribble")?);
    template.clobbers.insert(Reg::MODE);
    Some(Arc::new(template))
}

/// Computes with a scalar, a vector and a number.
pub fn reader_for(mode: Mode) -> Option<Arc<Template>> {
    let wait = scalar_wait(mode);
    let source = format!("s_xor_b32 s3, s0, s2\n{wait}v_xor_b32_e32 v1, s3, v0\nv_add_u32_e64 v1, v1, v1\n");
    let source = if mode.target().generation() >= luthier_isa::Generation::Gfx10 {
        source.replace("v_add_u32_e64", "v_add_nc_u32_e64")
    } else {
        source
    };
    let place = |range| Some(ArgPlace { range, read: true, written: false, clobbered: false });
    let args = vec![place(s(0, 1)), place(v(0, 1)), place(s(2, 1))];
    Maker { mode, source: &source, groups: vec![], args, relocs: vec![], whole: RegSet::EMPTY }.make("reader")
}

/// A plan with one hook at every instruction of an object.
pub fn everywhere(object: &CodeObject, template: &Arc<Template>, args: Vec<Arg>, at: Where) -> Plan {
    let program = Program::lift(object).unwrap();
    // Behind an instruction that ends the wave or returns there is nothing.
    let ends = |i: &Inst| i.info().flags.intersects(Flags::END) || i.info().op() == luthier_isa::op::Op::SSetpcB64;
    let instrs = program.instrs().iter().filter(|i| at == Where::Before || !ends(program.inst(*i)));
    let args: Arc<[Arg]> = args.into();
    let insertions = instrs.map(|i| Insertion {
        address: program.vaddr(i),
        at,
        body: Body::Hook { hook: 0, args: args.clone() },
        order: 0,
    });
    Plan {
        hooks: vec![Arc::new(template.clone())],
        variables: vec![Variable { name: "tool.total".into(), size: 8, align: 8, init: vec![] }],
        slots: vec![Slot::counter("tool.total", "tool.total", 0)],
        insertions: insertions.collect(),
        check: Checking::Everything,
        ..Plan::default()
    }
}

/// Strict mode without the search for data races: which of a kernel's own are found depends on how its waves take turns,
/// and so on the hooks.
pub fn strict() -> Strict {
    Strict::Only(Kinds::USUAL.difference(FindingKind::MemoryRace.into()))
}
