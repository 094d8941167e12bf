//! The registers past v255 of gfx1250, as llc knows them: it writes the number that it has allocated behind each operand
//! that is named otherwise, and we must find the same in the machine code alone.

mod common;

use std::fmt::Write as _;
use std::process::Command;

use common::{run, tool};
use luthier_isa::{Inst, Operand};
use luthier_lifter::{Liveness, Program};
use luthier_loader::CodeObject;

/// The number of vectors of four that are alive at once.
const VECTORS: usize = 110;

/// Loads everything, mixes it in a loop, and stores it: through global memory, LDS and a function that is called.
fn source() -> String {
    let mut ir = String::from(
        "target triple = \"amdgcn-amd-amdhsa\"\n\
         @lds = internal addrspace(3) global [16384 x float] poison\n\
         declare i32 @llvm.amdgcn.workitem.id.x()\n\
         declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)\n",
    );
    let body = |ir: &mut String, calls: bool| {
        let mut line = |text: String| writeln!(ir, "  {text}").unwrap();
        line("%t = call i32 @llvm.amdgcn.workitem.id.x()".into());
        line("%from = getelementptr <4 x float>, ptr addrspace(1) %p, i32 %t".into());
        line("%at = getelementptr <4 x float>, ptr addrspace(3) @lds, i32 %t".into());
        for i in 0..VECTORS {
            line(format!("%a{i} = getelementptr i8, ptr addrspace(1) %from, i32 {}", i * 4096));
            line(format!("%v{i} = load volatile <4 x float>, ptr addrspace(1) %a{i}"));
        }
        line("br label %loop".into());
        line("loop:".into());
        line("%i = phi i32 [0, %entry], [%next, %loop]".into());
        for i in 0..VECTORS {
            line(format!("%x{i} = phi <4 x float> [%v{i}, %entry], [%y{i}, %loop]"));
        }
        for i in 0..VECTORS {
            let (a, b) = ((i * 7 + 3) % VECTORS, (i * 11 + 5) % VECTORS);
            match i % 4 {
                0 => line(format!("%y{i} = fadd <4 x float> %x{i}, %x{a}")),
                1 => line(format!("%y{i} = fmul <4 x float> %x{a}, %x{b}")),
                _ => line(format!(
                    "%y{i} = call <4 x float> @llvm.fma.v4f32(<4 x float> %x{i}, <4 x float> %x{a}, <4 x float> %x{b})"
                )),
            }
        }
        for i in (0..VECTORS).step_by(9) {
            line(format!("%l{i} = getelementptr i8, ptr addrspace(3) %at, i32 {}", i * 16));
            line(format!("store volatile <4 x float> %y{i}, ptr addrspace(3) %l{i}"));
        }
        line("%next = add i32 %i, 1".into());
        line("%again = icmp slt i32 %next, %n".into());
        line("br i1 %again, label %loop, label %out".into());
        line("out:".into());
        if calls {
            line("call void @f(ptr addrspace(1) %q, i32 %n)".into());
        }
        line("%to = getelementptr <4 x float>, ptr addrspace(1) %p, i32 %t".into());
        for i in 0..VECTORS {
            line(format!("%b{i} = getelementptr i8, ptr addrspace(1) %to, i32 {}", i * 4096));
            line(format!("store volatile <4 x float> %y{i}, ptr addrspace(1) %b{i}"));
        }
        line("ret void".into());
    };
    ir.push_str("define internal void @f(ptr addrspace(1) %p, i32 %n) noinline #0 {\nentry:\n");
    body(&mut ir, false);
    ir.push_str("}\ndefine amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n) #0 {\nentry:\n");
    body(&mut ir, true);
    ir + "}\nattributes #0 = { \"amdgpu-waves-per-eu\"=\"1,1\" \"amdgpu-flat-work-group-size\"=\"1,64\" }\n"
}

/// llc's text and the linked object.
fn compile(cpu: &str) -> (String, CodeObject) {
    let dir = std::env::temp_dir().join(format!("luthier-lifter-upper-{cpu}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let [ll, s, o, so] = ["k.ll", "k.s", "k.o", "k.so"].map(|n| dir.join(n));
    std::fs::write(&ll, source()).unwrap();
    let llc = |kind: &str, to: &std::path::Path| {
        run(Command::new(tool("llc"))
            .args(["-O2", &format!("-mcpu={cpu}"), &format!("-filetype={kind}"), "-o"])
            .arg(to)
            .arg(&ll));
    };
    llc("asm", &s);
    llc("obj", &o);
    run(Command::new(tool("ld.lld")).arg("-shared").arg(&o).arg("-o").arg(&so));
    let result = (std::fs::read_to_string(&s).unwrap(), CodeObject::parse(std::fs::read(&so).unwrap()).unwrap());
    std::fs::remove_dir_all(&dir).unwrap();
    result
}

/// Mnemonic and VGPRs of every instruction of a function, in order, from llc's text: `v1 /*v257*/` is v257.
fn in_text(text: &str, function: &str) -> Vec<(String, Vec<String>)> {
    let body = text.split_once(&format!("\n{function}:")).unwrap().1.split_once(".Lfunc_end").unwrap().0;
    let mut out = Vec::new();
    for line in body.lines().filter(|l| l.starts_with('\t')) {
        let line = line.trim().split(';').next().unwrap_or_default();
        let Some(mnemonic) = line.split_whitespace().next().filter(|m| !m.starts_with('.')) else { continue };
        let named = |word: &str| {
            let number = word.strip_prefix('v').map(|rest| rest.trim_start_matches('['));
            number.is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()))
        };
        let words = line.split(|c: char| !c.is_ascii_alphanumeric() && !"[]:/*._".contains(c));
        let mut registers: Vec<String> = Vec::new();
        for word in words {
            match word.strip_prefix("/*") {
                Some(meant) => *registers.last_mut().unwrap() = meant.trim_end_matches("*/").to_owned(),
                None if named(word) => registers.push(word.to_owned()),
                None => {}
            }
        }
        out.push((mnemonic.to_owned(), registers));
    }
    out
}

fn in_code(inst: &Inst) -> (String, Vec<String>) {
    let registers = inst.operands().filter_map(|(_, value)| match value {
        Operand::Reg(range) if range.first.is_vgpr() => Some(range.to_string()),
        _ => None,
    });
    (inst.info().mnemonic.split(' ').next().unwrap_or_default().to_owned(), registers.collect())
}

#[test]
fn registers_are_those_that_llc_has_allocated() {
    for cpu in ["gfx1250", "gfx1251"] {
        let (text, object) = compile(cpu);
        let program = Program::lift(&object).unwrap();
        assert!(program.issues().is_empty(), "{:?}", program.issues());
        let mut upper = 0;
        for name in ["k", "f"] {
            let func = program.find_function(name).unwrap();
            let expected = in_text(&text, name);
            // Behind the last instruction there may be filler.
            let instrs = program.function_instrs(func);
            assert_eq!(instrs.len(), expected.len(), "{cpu} {name}");
            for (i, expected) in instrs.iter().zip(&expected) {
                let found = in_code(program.inst(i));
                assert_eq!(found, *expected, "{cpu} {name} at {:#x}: {}", program.vaddr(i), program.inst(i));
                upper += found.1.iter().filter(|r| r.trim_matches(|c: char| !c.is_ascii_digit()).len() > 2).count();
            }
            assert!(program.function(func).is_instrumentable(), "{:?}", program.function(func).refusal);
            // All that the loop mixes is alive around it.
            let live = Liveness::of(&program, func);
            let most = program.function(func).blocks.iter().map(|b| {
                let live = live.live_in(b);
                live.iter().filter(|r| r.is_vgpr()).count()
            });
            let most = most.max().unwrap();
            assert!((4 * VECTORS..1024).contains(&most), "{cpu} {name}: {most} VGPRs are live at once");
        }
        assert!(upper > 1000, "llc has used {upper} registers past v99");
    }
}
