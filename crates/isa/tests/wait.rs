//! Waits against LLVM's assembler, and what counts on which counter.

mod common;

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use luthier_isa::wait::{Kind, counted};
use luthier_isa::{Counter, Field, Flags, Generation, Inst, Mode, Op, Wait};

/// The encoding of one line of assembly.
fn assembled(mode: Mode, text: &str) -> Vec<u8> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = common::scratch(&format!("wait{}", NEXT.fetch_add(1, Ordering::Relaxed)));
    let (source, object, raw) = (folder.join("a.s"), folder.join("a.o"), folder.join("a.bin"));
    std::fs::write(&source, format!("{text}\n")).unwrap();
    let run = |command: &mut Command| {
        let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        assert!(out.status.success(), "{text}: {}", String::from_utf8_lossy(&out.stderr));
    };
    let cpu = format!("-mcpu={}", mode.target().name());
    run(Command::new("llvm-mc-22").args(["-triple=amdgcn", &cpu, "-filetype=obj", "-o"]).arg(&object).arg(&source));
    run(Command::new("llvm-objcopy-22").args(["-O", "binary", "-j", ".text"]).arg(&object).arg(&raw));
    let bytes = std::fs::read(raw).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    bytes
}

fn modes() -> [Mode; 7] {
    ["gfx906", "gfx90a", "gfx950", "gfx1030", "gfx1151", "gfx1201", "gfx1250"]
        .map(|name| luthier_isa::Target::from_name(name).unwrap().into())
}

#[test]
fn waits_are_encoded_as_llvm_does_and_decoded_again() {
    for mode in modes() {
        let generation = mode.target().generation();
        let mut text = String::new();
        let mut ours = Vec::new();
        for counter in Counter::ALL {
            let Some(name) = counter.name(generation) else { continue };
            for value in [0, 1, counter.most(generation) - 1] {
                let wait = Wait::NONE.and(counter, value);
                let insts = wait.instructions(mode).unwrap();
                assert_eq!(insts.len(), 1, "{name}({value}) on {}", mode.target().name());
                assert_eq!(Wait::of_instruction(&insts[0]), wait, "{name}({value})");
                insts[0].encode_into(&mut ours);
                text += &match (name, generation) {
                    ("vscnt", _) => format!("s_waitcnt_vscnt null, {value}\n"),
                    (_, Generation::Gfx12 | Generation::Gfx1250) => format!("s_wait_{name} {value}\n"),
                    _ => format!("s_waitcnt {name}({value})\n"),
                };
            }
        }
        assert_eq!(assembled(mode, &text), ours, "{}:\n{text}", mode.target().name());
    }
}

#[test]
fn a_wait_for_several_counters_takes_one_instruction_where_there_is_one() {
    for mode in modes() {
        let generation = mode.target().generation();
        let all = Wait::all(generation);
        let insts = all.instructions(mode).unwrap();
        let again = insts.iter().fold(Wait::NONE, |wait, inst| wait.union(Wait::of_instruction(inst)));
        assert_eq!(again, all);
        let expected = match generation {
            Generation::Gfx9 | Generation::Gfx90a | Generation::Gfx940 => 1,
            Generation::Gfx10 | Generation::Gfx11 => 2,
            _ => Counter::ALL.iter().filter(|c| c.name(generation).is_some()).count(),
        };
        assert_eq!(insts.len(), expected);
        assert!(Wait::NONE.instructions(mode).unwrap().is_empty());
        let high = Counter::ALL.into_iter().fold(Wait::NONE, |wait, c| wait.and(c, c.most(generation)));
        assert!(high.instructions(mode).unwrap().is_empty(), "a counter at its maximum needs no wait");
    }
}

/// LLVM never waits for more than one less than a counter's most: what it says of the oldest of many loads gives that away.
#[test]
fn counters_have_the_room_that_llvm_knows_of() {
    const MANY: usize = 140;
    let loads = |space: u32, load: &dyn Fn(usize) -> String| {
        let each: String = (0..MANY).map(load).collect();
        let sums: String = (1..MANY).map(|n| format!("%s{n} = add i32 %s{}, %v{n}\n", n - 1)).collect();
        format!(
            "define amdgpu_kernel void @k(ptr addrspace({space}) %p, ptr addrspace(1) %o, <8 x i32> %r, <4 x i32> %m) \
             \"amdgpu-flat-work-group-size\"=\"32,32\" \"amdgpu-waves-per-eu\"=\"1,1\" {{\n\
             %t = call i32 @llvm.amdgcn.workitem.id.x()\n%q = getelementptr i32, ptr addrspace({space}) %p, i32 %t\n\
             %f = bitcast i32 %t to float\n{each}\
             call void asm sideeffect \"; use $0\", \"v\"(i32 %v0)\n%s0 = add i32 %v0, 1\n{sums}\
             store i32 %s{}, ptr addrspace(1) %o\nret void\n}}\n\
             declare i32 @llvm.amdgcn.workitem.id.x()\n\
             declare float @llvm.amdgcn.image.sample.1d.f32.f32(i32, float, <8 x i32>, <4 x i32>, i1, i32, i32)\n",
            MANY - 1
        )
    };
    let plain = |space: u32| {
        // Atomic, so that LLVM does not unite them.
        loads(space, &|n| {
            format!(
                "%a{n} = getelementptr i32, ptr addrspace({space}) %q, i32 {}\n\
                 %v{n} = load atomic i32, ptr addrspace({space}) %a{n} syncscope(\"singlethread\") monotonic, align 4\n",
                67 * n
            )
        })
    };
    let samples = loads(1, &|n| {
        format!(
            "%f{n} = fadd float %f, {n}.0\n%w{n} = call float @llvm.amdgcn.image.sample.1d.f32.f32(i32 1, float %f{n}, \
             <8 x i32> %r, <4 x i32> %m, i1 false, i32 0, i32 0)\n%v{n} = bitcast float %w{n} to i32\n"
        )
    });
    let folder = common::scratch("most");
    let waits = |mode: Mode, text: &str| {
        let source = folder.join("a.ll");
        std::fs::write(&source, text).unwrap();
        let cpu = format!("-mcpu={}", mode.target().name());
        let more = ["-O1", "-enable-misched=false", "-enable-post-misched=false", "-o", "-"];
        let out = Command::new("llc-22").args(["-mtriple=amdgcn-amd-amdhsa", &cpu]).args(more).arg(&source).output();
        let out = out.expect("llc-22 is installed (make setup)");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8(out.stdout).unwrap();
        let (before, _) = text.split_once("; use ").expect("the use");
        let last = before.lines().rev().find(|line| line.contains("s_wait")).expect("a wait").trim().to_owned();
        let code = assembled(mode, &last);
        Wait::of_instruction(&Inst::decode(mode, &code).unwrap())
    };
    for mode in modes() {
        let generation = mode.target().generation();
        let split = matches!(generation, Generation::Gfx12 | Generation::Gfx1250);
        let mut cases = vec![(if split { Counter::Ds } else { Counter::Lgkm }, plain(3)), (Counter::Vm, plain(1))];
        if generation == Generation::Gfx12 {
            cases.push((Counter::Sample, samples.clone()));
        }
        for (counter, text) in cases {
            let expected = Wait::NONE.and(counter, counter.most(generation) - 1);
            assert_eq!(waits(mode, &text), expected, "{}: {counter:?}", mode.target().name());
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// `vmcnt(3) lgkmcnt(0)`; all of them, at their maxima, if nothing is waited for.
#[test]
fn s_waitcnt_waits_for_what_its_text_says() {
    for mode in modes().into_iter().filter(|mode| mode.plain(Op::SWaitcnt).is_some()) {
        let generation = mode.target().generation();
        let mut inst = Inst::new(mode.plain(Op::SWaitcnt).unwrap());
        for immediate in 0..=u32::from(u16::MAX) {
            inst.set_field(Field::Simm16, immediate).unwrap();
            let wait = Wait::of_instruction(&inst);
            let mut said: Vec<String> = wait
                .bounds()
                .map(|(counter, value)| format!("{}({value})", counter.name(generation).unwrap()))
                .collect();
            let text = inst.to_string();
            let mut shown: Vec<&str> = text.split_whitespace().skip(1).collect();
            said.sort();
            shown.sort();
            assert!(said == shown || wait.is_none(), "{text}: {said:?}");
        }
    }
}

/// Where the processor has the counter that LLVM's flags say, the table has it too.
#[test]
fn every_memory_instruction_is_counted_on_a_counter_that_there_is() {
    for mode in Mode::all() {
        let generation = mode.target().generation();
        for info in mode.opcodes() {
            let inst = Inst::new(info);
            let found: Vec<_> = counted(&inst).collect();
            for one in &found {
                assert!(one.counter.name(generation).is_some(), "{} on {:?}", info.mnemonic, one.counter);
            }
            if info.flags.intersects(Flags::VM_CNT | Flags::LGKM_CNT | Flags::EXPORT) {
                assert!(!found.is_empty(), "{}: {:?} counts nowhere", mode.target().name(), info.mnemonic);
            }
        }
    }
}

#[test]
fn operations_are_counted_where_the_manuals_say() {
    let on = |target: &str, op: Op, set: &[(Field, u32)]| {
        let mode = Mode::from(luthier_isa::Target::from_name(target).unwrap());
        let mut inst = Inst::new(mode.plain(op).unwrap_or_else(|| panic!("{target} has no {op}")));
        inst.set_fields(set).unwrap();
        counted(&inst).map(|one| (one.counter, one.kind)).collect::<Vec<_>>()
    };
    use Counter::*;
    assert_eq!(on("gfx90a", Op::GlobalLoadDword, &[]), [(Vm, Kind::Memory)]);
    assert_eq!(on("gfx90a", Op::GlobalStoreDword, &[]), [(Vm, Kind::Memory)]);
    assert_eq!(on("gfx1030", Op::GlobalStoreDword, &[]), [(Vs, Kind::Memory)]);
    assert_eq!(on("gfx90a", Op::FlatLoadDword, &[]), [(Vm, Kind::Flat), (Lgkm, Kind::Flat)]);
    assert_eq!(on("gfx1201", Op::FlatLoadDword, &[]), [(Vm, Kind::Flat), (Ds, Kind::Flat)]);
    assert_eq!(on("gfx950", Op::GlobalLoadLdsDword, &[]), [(Vm, Kind::Memory)]);
    assert_eq!(on("gfx1201", Op::ImageSample, &[]), [(Sample, Kind::Sample)]);
    assert_eq!(on("gfx1201", Op::ImageGetLod, &[]), [(Sample, Kind::Sample)]);
    assert_eq!(on("gfx1151", Op::ImageSample, &[]), [(Vm, Kind::Sample)]);
    assert_eq!(on("gfx1201", Op::ImageBvhIntersectRay, &[]), [(Bvh, Kind::Bvh)]);
    assert_eq!(on("gfx1201", Op::ImageLoad, &[]), [(Vm, Kind::Memory)]);
    assert_eq!(on("gfx90a", Op::DsReadB32, &[]), [(Lgkm, Kind::Lds)]);
    assert_eq!(on("gfx90a", Op::DsReadB32, &[(Field::Gds, 1)]), [(Lgkm, Kind::Gds), (Exp, Kind::Gds)]);
    assert_eq!(on("gfx1201", Op::SLoadDword, &[]), [(Km, Kind::Scalar)]);
    assert_eq!(on("gfx1250", Op::SLoadDword, &[]), [(Km, Kind::Scalar), (X, Kind::Scalar)]);
    assert_eq!(on("gfx1201", Op::SSendmsgRtnB32, &[]), [(Km, Kind::Message)]);
    assert_eq!(on("gfx1201", Op::GlobalWb, &[]), [(Vs, Kind::Cache)]);
    assert_eq!(on("gfx1250", Op::TensorLoadToLds, &[]), [(Tensor, Kind::Tensor)]);
    assert_eq!(on("gfx1250", Op::GlobalLoadAsyncToLdsB32, &[]), [(Async, Kind::AsyncLoad), (X, Kind::Memory)]);
    assert_eq!(on("gfx1151", Op::LdsDirectLoad, &[]), [(Exp, Kind::Export)]);
    assert_eq!(on("gfx90a", Op::VMovB32, &[]), []);
}
