//! Hooks in LLVM IR: what they may hold, and what is refused by name.

use std::collections::BTreeMap;

use super::super::Bitcode;
use super::*;

fn ir(text: &str) -> HookSource {
    HookSource::Bitcode(Bitcode { bytes: text.as_bytes().to_vec(), function: "f".to_owned(), ..Bitcode::default() })
}

/// A hook without parameters with this body, and these declarations in front of it.
fn body(outside: &str, body: &str) -> HookSource {
    ir(&format!("target triple = \"amdgcn-amd-amdhsa\"\n{outside}\ndefine void @f() {{\n{body}\n  ret void\n}}\n"))
}

#[test]
fn hooks_in_llvm_ir() {
    let text = br#"
        target triple = "amdgcn-amd-amdhsa"
        declare i64 @llvm.amdgcn.ballot.i64(i1)
        define void @"my hook"(ptr addrspace(5) %count, ptr addrspace(1) %out, i32 %lane) noinline optnone {
          %old = load i64, ptr addrspace(5) %count
          %exec = call i64 @llvm.amdgcn.ballot.i64(i1 true)
          %new = add i64 %old, %exec
          store i64 %new, ptr addrspace(5) %count
          store i32 %lane, ptr addrspace(1) %out
          ret void
        }
    "#;
    let source =
        HookSource::Bitcode(Bitcode { bytes: text.to_vec(), function: "my hook".to_owned(), ..Bitcode::default() });
    for mode in modes() {
        let t = compile_for(&source, mode, &[ArgSpec::Slot { per_lane: false, units: 2 }, variable(), lanes(1)])
            .unwrap_or_else(|e| panic!("{e}"));
        check(&t);
        assert!(t.args[0][0].is_some_and(|a| a.written) && t.args[2][0].is_some_and(|a| a.read));
        assert!(t.relocs.iter().all(|r| r.target == RelocTarget::Arg(1)) && !t.relocs.is_empty());
    }
    let missing =
        HookSource::Bitcode(Bitcode { bytes: text.to_vec(), function: "other".to_owned(), ..Bitcode::default() });
    assert!(refused(&missing, &[]).message.contains("no function other"));
    let garbage =
        HookSource::Bitcode(Bitcode { bytes: b"garbage".to_vec(), function: "x".to_owned(), ..Bitcode::default() });
    assert!(!refused(&garbage, &[]).message.is_empty());
}

#[test]
fn what_a_hook_is_not_given_is_refused_by_name() {
    let intrinsics = [
        ("i32 @llvm.amdgcn.workgroup.id.x()", "workgroup"),
        ("i32 @llvm.amdgcn.workgroup.id.z()", "workgroup"),
        ("i32 @llvm.amdgcn.workitem.id.x()", "work-item"),
        ("i32 @llvm.amdgcn.workitem.id.y()", "work-item"),
        ("ptr addrspace(4) @llvm.amdgcn.kernarg.segment.ptr()", "kernel's arguments"),
        ("ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()", "packet"),
        ("i64 @llvm.amdgcn.dispatch.id()", "packet"),
        ("ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()", "hidden arguments"),
        ("ptr addrspace(4) @llvm.amdgcn.queue.ptr()", "queue"),
        ("ptr addrspace(4) @llvm.amdgcn.implicit.buffer.ptr()", "driver"),
        ("i32 @llvm.amdgcn.lds.kernel.id()", "kernel's number"),
        ("i32 @llvm.amdgcn.groupstaticsize()", "LDS"),
        ("void @llvm.amdgcn.s.barrier()", "barrier"),
        ("void @llvm.amdgcn.endpgm()", "end of the wave"),
        ("void @llvm.trap()", "end of the wave"),
        ("ptr @llvm.returnaddress(i32 0)", "return address"),
        ("ptr addrspace(5) @llvm.frameaddress.p5(i32 0)", "stack"),
        ("ptr addrspace(5) @llvm.stacksave.p5()", "stack"),
        ("i32 @llvm.read_register.i32(metadata !0)", "register"),
        ("void @llvm.write_register.i32(metadata !0, i32 1)", "register"),
        ("void @llvm.amdgcn.s.setreg(i32 2177, i32 3)", "modes"),
        ("i1 @llvm.amdgcn.ps.live()", "pixel shader"),
    ];
    for mode in modes() {
        for (call, what) in intrinsics {
            let declared = call.replace("i32 0", "i32").replace("i32 1)", "i32)").replace(" !0", "");
            let declared = declared.replace("i32 2177, i32 3", "i32, i32");
            let result = if call.starts_with("void") { "" } else { "%r = " };
            let used = if result.is_empty() || call.starts_with("i1") {
                String::new()
            } else {
                let ty = call.split(" @").next().expect("a type");
                format!("\n  store {ty} %r, ptr addrspace(1) null")
            };
            let source =
                body(&format!("declare {declared}\n!0 = !{{!\"s4\"}}"), &format!("  {result}call {call}{used}"));
            let error = compile_for(&source, mode, &[]).map(|t| t.insts.clone()).expect_err(call);
            assert!(error.message.contains(what), "{call} for {}: {error}", mode.target().name());
            assert!(error.message.contains("llvm."), "{call}: {error}");
        }
    }
}

#[test]
fn what_a_module_may_not_hold_is_refused() {
    let lds = "@lds = internal addrspace(3) global [16 x i32] poison";
    let cases = [
        (body(lds, "  store i32 1, ptr addrspace(3) @lds"), "LDS variable lds"),
        (body("module asm \"s_nop 0\"", ""), "assembly outside"),
        (
            body("@t = external thread_local addrspace(1) global i32", "  store i32 1, ptr addrspace(1) @t"),
            "thread-local",
        ),
        (body("declare void @elsewhere()", "  call void @elsewhere()"), "calls elsewhere, which is not in the module"),
        (
            body(
                "define i32 @g(i32 %n) {\n  %z = icmp eq i32 %n, 0\n  br i1 %z, label %a, label %b\na:\n  ret i32 1\nb:\n\
                 %m = sub i32 %n, 1\n  %r = call i32 @g(i32 %m)\n  %s = call i32 @g(i32 %r)\n  ret i32 %s\n}",
                "  %x = load volatile i32, ptr addrspace(1) null\n  %r = call i32 @g(i32 %x)\n\
                 store i32 %r, ptr addrspace(1) null",
            ),
            "calls itself",
        ),
        (
            body("@p = external addrspace(1) global ptr", "  %f = load ptr, ptr addrspace(1) @p\n  call void %f()"),
            "pointer",
        ),
        (ir("define amdgpu_kernel void @f() { ret void }"), "is a kernel"),
        (ir("define amdgpu_cs void @f() { ret void }"), "is a kernel or a shader"),
        (ir("define i32 @f() { ret i32 1 }"), "returns a value"),
        (ir("define void @f() \"target-cpu\"=\"gfx906\" { ret void }"), "compiled for gfx906"),
        (ir("define void @f() \"target-features\"=\"+wavefrontsize32\" { ret void }"), "waves of 32 lanes"),
        (
            body(
                "",
                "  %a = alloca [32769 x i32], addrspace(5)\n  call void asm sideeffect \"; $0\", \"v\"(ptr addrspace(5) %a)",
            ),
            "stack of more than 131072 bytes",
        ),
        (
            body(
                "@p = external addrspace(1) global i32",
                "  %n = load volatile i32, ptr addrspace(1) @p\n  %a = alloca i32, i32 %n, addrspace(5)\n  \
                 call void asm sideeffect \"; $0\", \"v\"(ptr addrspace(5) %a)",
            ),
            "known only as it runs",
        ),
        (
            body(
                "@a = internal addrspace(4) constant i32 1\n@b = internal addrspace(4) constant [2 x ptr addrspace(4)] \
                 [ptr addrspace(4) @a, ptr addrspace(4) @b]\n@p = external addrspace(1) global i32",
                "  %n = load volatile i32, ptr addrspace(1) @p\n  %at = getelementptr ptr addrspace(4), ptr addrspace(4) @b, i32 %n\n  \
                 %v = load volatile ptr addrspace(4), ptr addrspace(4) %at\n  store ptr addrspace(4) %v, ptr addrspace(1) null",
            ),
            "holds addresses",
        ),
    ];
    for (n, (source, what)) in cases.iter().enumerate() {
        let error = refused(source, &[]);
        assert!(error.message.contains(what), "case {n}: {error}");
    }
}

#[test]
fn assembly_with_registers_of_its_own_is_refused() {
    let refused_asm = [
        ("v_mov_b32 v5, 0", ""),
        ("s_mov_b32 s7, 0", "~{s7}"),
        ("v_mov_b32 v[5], 0", ""),
        ("s_load_dword s4, s[0:1], 0x0", ""),
        ("s_mov_b64 exec, -1", ""),
        ("s_or_saveexec_b64 vcc, -1", ""),
        ("v_cmpx_eq_u32 0, 0", ""),
        ("s_mov_b32 flat_scratch_lo, 0", ""),
        ("s_mov_b32 ttmp3, 0", ""),
        ("s_mov_b32 vcc_lo, -s4", ""),
        ("nop", "{v3}"),
        (".text", ""),
        ("s_endpgm", ""),
        ("s_setpc_b64 vcc", "~{vcc}"),
        ("no_such_instruction", ""),
        ("s_set_gpr_idx_on vcc_lo, 1", ""),
    ];
    for (text, constraints) in refused_asm {
        let source = match constraints.starts_with('{') {
            true => body("", &format!("  call void asm sideeffect \"{text}\", \"{constraints}\"(i32 0)")),
            false => body("", &format!("  call void asm sideeffect \"{text}\", \"{constraints}\"()")),
        };
        let error = compile_for(&source, Target::Gfx90a.into(), &[]).map(|t| t.insts.clone()).expect_err(text);
        assert!(!error.message.is_empty());
    }
    // Registers that LLVM chooses are renamed like all others.
    let source = body("", "  %x = call i32 asm \"v_mov_b32 $0, 5\", \"=v\"()\n  store i32 %x, ptr addrspace(1) null");
    check(&compile(&source, &[]));
}

#[test]
fn what_a_processor_cannot_do_does_not_end_the_process() {
    // An operation of CDNA's, on a processor without it.
    let outside = "declare <4 x float> @llvm.amdgcn.mfma.f32.4x4x1f32(float, float, <4 x float>, i32, i32, i32)";
    let text = "  %r = call <4 x float> @llvm.amdgcn.mfma.f32.4x4x1f32(float 1.0, float 1.0, <4 x float> zeroinitializer, \
                i32 0, i32 0, i32 0)\n  store <4 x float> %r, ptr addrspace(1) null";
    let error = compile_for(&body(outside, text), Target::Gfx1030.into(), &[]).map(|t| t.insts.clone());
    assert!(!error.expect_err("there is no such operation").message.is_empty());
    // LLVM still works.
    check(&compile(&fixture!("bump"), &[variable(), ArgSpec::Literal]));
}

/// A table that is indexed by the lane.
const TABLE: &str = "@c = internal addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4]\n\
                     declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)";
const LOOK: &str = "  %x = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)\n  %p = getelementptr i32, ptr addrspace(4) @c, i32 %x\n  \
                    %v = load i32, ptr addrspace(4) %p\n  store i32 %v, ptr addrspace(1) null";

#[test]
fn a_table_travels_with_its_hook() {
    for mode in modes() {
        let t = compile_for(&body(TABLE, LOOK), mode, &[]).unwrap_or_else(|e| panic!("{e}"));
        check(&t);
        let [table] = t.data.as_slice() else { panic!("{:?}", t.data) };
        let numbers: Vec<u32> = table.bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        let target = RelocTarget::Symbol(table.name.clone());
        assert!(!t.relocs.is_empty() && t.relocs.iter().all(|r| r.target == target), "{:?}", t.relocs);
    }
}

#[test]
fn what_no_register_holds_lies_on_the_stack() {
    let allocate = "  %a = alloca [100 x i32], addrspace(5)\n  %x = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)\n  \
                    %p = getelementptr i32, ptr addrspace(5) %a, i32 %x\n  store volatile i32 %x, ptr addrspace(5) %p\n  \
                    %v = load volatile i32, ptr addrspace(5) %a\n  store i32 %v, ptr addrspace(1) null";
    for mode in modes() {
        let t = compile_for(&body("declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)", allocate), mode, &[]);
        let t = t.unwrap_or_else(|e| panic!("{e}"));
        check(&t);
        let stack = t.stack.expect("it has one");
        assert_eq!(stack.bytes, 400);
        assert!(stack.base.is_some_and(|base| base.read && t.live_in.contains(base.range.first)));
        assert!(t.insts.iter().any(|i| i.info().flags.contains(Flags::SCRATCH)), "{:?}", t.insts);
    }
}

#[test]
fn variables_are_declared_and_have_the_names_that_they_are_given() {
    let outside = "@count = addrspace(1) externally_initialized global i64 5\n\
                   @m.managed = addrspace(1) externally_initialized global i32 7\n\
                   @m = addrspace(1) externally_initialized global ptr addrspace(1) null\n\
                   @llvm.used = appending addrspace(1) global [1 x ptr] [ptr @f], section \"llvm.metadata\"";
    let used = "  %o = atomicrmw add ptr addrspace(1) @count, i64 1 syncscope(\"agent\") monotonic\n  \
                %p = load ptr addrspace(1), ptr addrspace(1) @m\n  \
                %n = atomicrmw add ptr addrspace(1) %p, i32 1 syncscope(\"agent\") monotonic";
    let HookSource::Bitcode(bitcode) = body(outside, used) else { panic!() };
    let symbols = BTreeMap::from([("count".to_owned(), "tool.count".to_owned())]);
    let found = super::super::contents(&bitcode.bytes).unwrap();
    let names: Vec<_> = found.variables.iter().map(|v| (v.name.as_str(), v.spoken.as_str(), v.size)).collect();
    assert_eq!(names, [("count", "count", 8), ("m.managed", "m", 4)]);
    assert_eq!((found.variables[0].init.as_slice(), found.variables[1].is_managed), (&5u64.to_le_bytes()[..], true));
    let source = HookSource::Bitcode(Bitcode { symbols, ..bitcode });
    for mode in modes() {
        let t = compile_for(&source, mode, &[]).unwrap_or_else(|e| panic!("{e}"));
        check(&t);
        let named = |name: &str| t.relocs.iter().any(|r| r.target == RelocTarget::Symbol(name.to_owned()));
        assert!(named("tool.count") && named("m.managed") && !named("m") && t.data.is_empty(), "{:?}", t.relocs);
    }
}
