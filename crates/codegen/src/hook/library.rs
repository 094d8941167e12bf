//! What a module that a user brings may hold: nothing that needs what a hook does not get.
//!
//! A hook is not a kernel and not a function that one calls: it has its arguments, EXEC, a stack, its library's variables
//! and constants, the memory that these point to, and what it asks for where that can be given ([`given`]). Whatever else it
//! asks for (LDS of its own, registers by number, barriers) is refused by name.

use std::collections::HashSet;

use inkwell::{
    attributes::{Attribute, AttributeLoc},
    context::Context,
    memory_buffer::MemoryBuffer,
    module::{Linkage, Module},
    values::{FunctionValue, InstructionOpcode, InstructionValue},
};
use llvm_sys::core::LLVMGetModuleInlineAsm;
use luthier_isa::{Flags, Inst, Mode, Wave};

use super::{
    calls::{Callee, callee, instructions},
    code::Code,
    given::{self, Given},
    globals::{self, LDS, name_of},
    inline_asm,
    lower::{WAVE_ADD, entry::ENTRY},
    place,
    refusal::Refusal,
    scalar_atomic::SCALAR_ATOMIC,
};

/// How plain functions are called.
pub const C_CALL: u32 = 0;

/// Intrinsics by the start of their names, and what they ask for.
const REFUSED: &[(&str, &str)] = &[
    ("llvm.amdgcn.workgroup.", "the number of the workgroup"),
    ("llvm.amdgcn.workitem.", "the number of the work-item"),
    ("llvm.amdgcn.cluster.", "the number of the cluster"),
    ("llvm.amdgcn.dispatch.", "the dispatch packet"),
    ("llvm.amdgcn.kernarg.", "the kernel's arguments"),
    ("llvm.amdgcn.implicitarg.", "the kernel's hidden arguments"),
    ("llvm.amdgcn.implicit.buffer.", "a buffer of the driver's"),
    ("llvm.amdgcn.queue.", "the queue"),
    ("llvm.amdgcn.lds.kernel.id", "the kernel's number"),
    ("llvm.amdgcn.groupstaticsize", "the size of the kernel's LDS"),
    ("llvm.amdgcn.s.barrier", "a barrier, which not all waves need come to"),
    ("llvm.amdgcn.s.wakeup.barrier", "a barrier, which not all waves need come to"),
    ("llvm.amdgcn.s.cluster.barrier", "a barrier, which not all waves need come to"),
    ("llvm.amdgcn.ds.atomic.", "a barrier in LDS, which is the application's"),
    ("llvm.amdgcn.ds.ordered.", "the order of waves"),
    ("llvm.amdgcn.ds.add.gs.", "a graphics shader"),
    ("llvm.amdgcn.ds.sub.gs.", "a graphics shader"),
    ("llvm.amdgcn.pops.", "a pixel shader"),
    ("llvm.amdgcn.s.alloc.vgpr", "another number of VGPRs"),
    ("llvm.amdgcn.s.sethalt", "the end of the wave"),
    ("llvm.amdgcn.s.setprio", "another priority of the wave, which it would keep"),
    ("llvm.debugtrap", "the end of the wave"),
    ("llvm.amdgcn.init.", "another EXEC"),
    ("llvm.amdgcn.set.inactive", "lanes that are not active"),
    ("llvm.amdgcn.strict.", "lanes that are not active"),
    ("llvm.amdgcn.wwm", "lanes that are not active"),
    ("llvm.amdgcn.wqm", "lanes that are not active"),
    ("llvm.amdgcn.softwqm", "lanes that are not active"),
    ("llvm.amdgcn.kill", "the end of lanes"),
    ("llvm.amdgcn.endpgm", "the end of the wave"),
    ("llvm.amdgcn.if", "control flow that is LLVM's own"),
    ("llvm.amdgcn.else", "control flow that is LLVM's own"),
    ("llvm.amdgcn.loop", "control flow that is LLVM's own"),
    ("llvm.amdgcn.end.cf", "control flow that is LLVM's own"),
    ("llvm.amdgcn.cs.chain", "another shader"),
    ("llvm.amdgcn.call.", "another function"),
    ("llvm.amdgcn.unreachable", "control flow that is LLVM's own"),
    ("llvm.amdgcn.ps.live", "a pixel shader"),
    ("llvm.amdgcn.live.mask", "a pixel shader"),
    ("llvm.amdgcn.interp", "a pixel shader"),
    ("llvm.amdgcn.exp", "a graphics shader"),
    ("llvm.amdgcn.s.sendmsg", "a message to the host"),
    ("llvm.amdgcn.ds.gws", "global wave synchronisation"),
    ("llvm.amdgcn.s.setreg", "other modes than the application's"),
    ("llvm.set.rounding", "other modes than the application's"),
    ("llvm.set.fpmode", "other modes than the application's"),
    ("llvm.set.fpenv", "other modes than the application's"),
    ("llvm.read_register", "a register by its name"),
    ("llvm.read_volatile_register", "a register by its name"),
    ("llvm.write_register", "a register by its name"),
    ("llvm.returnaddress", "a return address"),
    ("llvm.addressofreturnaddress", "a return address"),
    ("llvm.frameaddress", "a stack"),
    ("llvm.sponentry", "a stack"),
    ("llvm.stack", "a stack"),
    ("llvm.thread.pointer", "a thread pointer"),
    ("llvm.va_", "a variable number of arguments"),
    ("llvm.eh.", "exceptions"),
    ("llvm.coro.", "coroutines"),
    ("llvm.trap", "the end of the wave"),
    ("llvm.ubsantrap", "the end of the wave"),
];

/// Looks at the hook and what it calls as they are brought.
pub fn check(module: &Module<'_>, function: &str, mode: Mode, given: &[Given]) -> Result<(), Refusal> {
    let mut len = 0;
    // SAFETY: the module is alive.
    unsafe { LLVMGetModuleInlineAsm(module.as_mut_ptr(), &raw mut len) };
    if len > 0 {
        return Err("the module has assembly outside all functions".into());
    }
    let hook = module.get_function(function).filter(|f| f.count_basic_blocks() > 0);
    let hook = hook.ok_or_else(|| no_function(module, function))?;
    if hook.get_call_conventions() != C_CALL {
        return Err(
            format!("{function} is a kernel or a shader, or is called like one: a hook is a plain function").into()
        );
    }
    let reached = reached(module, hook);
    let names: HashSet<String> = reached.iter().map(|f| name_of(f.as_global_value())).collect();
    for global in module.get_globals() {
        let Some(user) = globals::use_in(global, &names) else { continue };
        let (name, place) = (name_of(global), place::of_instruction(user));
        if globals::address_space(global) == LDS {
            let what = "the kernel's LDS is the application's";
            let what = format!("the module has the LDS variable {name}, and {what}");
            return Err(Refusal::at(place, format!("{what}: give the hook an lt.shared for a pointer to LDS")));
        }
        if global.is_thread_local() {
            return Err(Refusal::at(place, format!("the module has the thread-local variable {name}")));
        }
    }
    for function in reached {
        is_for(function, mode)?;
        instructions(function).filter(|inst| given.is_empty() || !asks(*inst)).try_for_each(look)?;
    }
    Ok(())
}

/// The instruction asks for something that the hook is given.
fn asks(inst: InstructionValue<'_>) -> bool {
    let call = inst.get_opcode() == InstructionOpcode::Call;
    call && matches!(callee(inst), Callee::Function(name) if given::is_given(&name))
}

/// What the function and those that it calls ask the processor for, by name.
pub fn asked<'c>(module: &Module<'c>, hook: FunctionValue<'c>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for call in reached(module, hook).into_iter().flat_map(instructions).filter(|inst| asks(*inst)) {
        if let Callee::Function(name) = callee(call)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// The hook and the functions that it calls by name, with bodies.
fn reached<'c>(module: &Module<'c>, hook: FunctionValue<'c>) -> Vec<FunctionValue<'c>> {
    let mut found = vec![hook];
    let mut next = 0;
    while let Some(function) = found.get(next).copied() {
        next += 1;
        for call in instructions(function).filter(|i| i.get_opcode() == InstructionOpcode::Call) {
            let Callee::Function(name) = callee(call) else { continue };
            let called = module.get_function(&name).filter(|f| f.count_basic_blocks() > 0 && !found.contains(f));
            found.extend(called);
        }
    }
    found
}

/// Whether a hook, or what it calls, uses a variable.
pub fn uses<'c>(module: &Module<'c>, hook: FunctionValue<'c>, variable: &str) -> bool {
    let names = reached(module, hook).iter().map(|f| name_of(f.as_global_value())).collect();
    module.get_global(variable).is_some_and(|global| globals::use_in(global, &names).is_some())
}

/// Refuses what is compiled for another processor.
fn is_for(function: FunctionValue<'_>, mode: Mode) -> Result<(), String> {
    let name = function.get_name().to_string_lossy();
    let value = |key| {
        let attribute = function.get_string_attribute(AttributeLoc::Function, key);
        attribute.map(|a| a.get_string_value().to_string_lossy().into_owned()).unwrap_or_default()
    };
    let (cpu, features) = (value("target-cpu"), value("target-features"));
    if !cpu.is_empty() && cpu != mode.target().name() {
        return Err(format!("{name} is compiled for {cpu}, not for {}", mode.target().name()));
    }
    let wave = features.split(',').find_map(|f| match f {
        "+wavefrontsize32" => Some(Wave::W32),
        "+wavefrontsize64" => Some(Wave::W64),
        _ => None,
    });
    if let Some(wave) = wave.filter(|w| *w != mode.wave()) {
        let (is, wanted) = (wave.lanes(), mode.wave().lanes());
        return Err(format!("{name} is compiled for waves of {is} lanes, not of {wanted}"));
    }
    Ok(())
}

/// The intrinsics of the processor that a module calls, of those that it calls at all.
pub fn intrinsics(module: &[u8]) -> Vec<String> {
    let cx = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(module, "library");
    let Ok(module) = cx.create_module_from_ir(buffer) else { return Vec::new() };
    let names = module.get_functions().map(|f| name_of(f.as_global_value()));
    names.filter(|name| name.starts_with("llvm.amdgcn.")).collect()
}

/// Says which functions there are instead.
pub fn no_function(module: &Module<'_>, name: &str) -> String {
    const MOST: usize = 8;
    let known = module.get_functions().filter(|f| f.count_basic_blocks() > 0 && f.get_call_conventions() == C_CALL);
    let known: Vec<String> = known.map(|f| name_of(f.as_global_value())).collect();
    let some = known.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    match known.len() {
        0 => format!("the module has no function {name}, nor any other"),
        1..=MOST => format!("the module has no function {name}: it has {some}"),
        n => format!("the module has no function {name}: it has {some} and {} more", n - MOST),
    }
}

/// What of the host's a hook cannot call: what the source calls it, the start of the names that clang makes of it, and
/// what to do.
const OF_THE_HOST: &[(&str, &[&str], &str)] = &[
    (
        "printf",
        &["printf", "puts", "putchar", "vprintf", "fprintf", "__printf_alloc", "__ockl_printf", "__ockl_fprintf"],
        "which asks the application's host: in an lt.HookLibrary, include <luthier/hooks.h>, whose printf is for hooks; in a \
         hook in Python, use lt.printf",
    ),
    (
        "assert",
        &["__assert", "abort", "__lt_assert"],
        "which would end the application's kernel: print it, or count in a variable what is not so",
    ),
    (
        "malloc or free",
        &["malloc", "free", "__ockl_dm_", "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv"],
        "which asks the application's host: a __device__ variable, an lt.DeviceArray or a local array is memory of the hook's",
    ),
];

/// Looks at what is left when everything is inlined.
pub fn check_rest(module: &Module<'_>) -> Result<(), Refusal> {
    let is_call = |inst: &InstructionValue<'_>| inst.get_opcode() == InstructionOpcode::Call;
    // Those of a function that calls itself are in it, and say more than that of the hook.
    let (part, others): (Vec<_>, Vec<_>) =
        module.get_functions().partition(|f| f.get_name().to_bytes() == ENTRY.as_bytes());
    for call in others.into_iter().chain(part).flat_map(instructions).filter(is_call) {
        if let Callee::Function(name) = callee(call)
            && !name.starts_with("llvm.")
            && ![WAVE_ADD, SCALAR_ATOMIC].iter().any(|of_ours| name.starts_with(of_ours))
        {
            let of_the_host =
                |(_, starts, _): &&(&str, &[&str], &str)| starts.iter().any(|start| name.starts_with(start));
            let what = match OF_THE_HOST.iter().find(of_the_host) {
                _ if module.get_function(&name).is_some_and(|f| f.count_basic_blocks() > 0) => {
                    format!("{name}, which calls itself: all that a hook calls becomes part of it")
                }
                Some((spoken, _, what)) => format!("{spoken} ({name}), {what}"),
                None => format!("{name}, which is not in the module"),
            };
            return Err(Refusal::at(place::of(call), format!("the hook calls {what}")));
        }
        look(call)?;
    }
    Ok(())
}

/// Looks at what came of it, assembly included: nothing that concerns more than the lanes' values.
pub fn check_code(code: &Code) -> Result<(), Refusal> {
    let others = |inst: &Inst| {
        let info = inst.info();
        let op = info.op();
        let name = op.name();
        info.flags.intersects(Flags::BARRIER | Flags::EXPORT | Flags::TRAP)
            || op.is_gws()
            || ["s_barrier", "s_sethalt", "s_setkill", "s_setprio", "s_alloc_vgpr", "s_rfe", "s_cbranch_g", "ds_ordered"]
                .iter()
                .any(|start| name.starts_with(start))
            // A message that is answered is no more than a question.
            || name.starts_with("s_sendmsg") && !name.starts_with("s_sendmsg_rtn")
    };
    match code.insts.iter().position(others) {
        Some(at) => {
            let what = format!("the hook has {}, which concerns all of the wave, or others", code.insts[at]);
            Err(Refusal::at(place::of_code(code, at), what))
        }
        None => Ok(()),
    }
}

/// Makes everything but the part internal to the module, and inlined into it.
pub fn inline(cx: &Context, module: &Module<'_>) {
    let [inline, outline, unoptimized] = ["alwaysinline", "noinline", "optnone"].map(Attribute::get_named_enum_kind_id);
    for function in module.get_functions().filter(|f| f.count_basic_blocks() > 0) {
        if function.get_name().to_bytes() == ENTRY.as_bytes() {
            continue;
        }
        function.set_linkage(Linkage::Internal);
        for kind in [outline, unoptimized] {
            function.remove_enum_attribute(AttributeLoc::Function, kind);
        }
        for key in ["target-cpu", "target-features"] {
            function.remove_string_attribute(AttributeLoc::Function, key);
        }
        function.add_attribute(AttributeLoc::Function, cx.create_enum_attribute(inline, 0));
    }
    for global in module.get_globals().filter(|g| !g.is_declaration()) {
        global.set_linkage(Linkage::Internal);
    }
    globals::hide_declarations(module);
}

/// Refuses one instruction.
fn look(inst: InstructionValue<'_>) -> Result<(), Refusal> {
    match inst.get_opcode() {
        InstructionOpcode::Call => {}
        InstructionOpcode::Invoke | InstructionOpcode::CallBr => {
            return Err("the hook has a call that may go on elsewhere".into());
        }
        InstructionOpcode::IndirectBr => return Err("the hook has an indirect branch".into()),
        InstructionOpcode::VAArg => return Err("the hook needs a variable number of arguments".into()),
        _ => return Ok(()),
    }
    let refused = match callee(inst) {
        Callee::Function(name) => match REFUSED.iter().find(|(start, _)| name.starts_with(start)) {
            Some((_, what)) => Err(format!("the hook calls {name}, but {what} is nothing that a hook is given")),
            None => Ok(()),
        },
        Callee::Assembly { text, constraints } => inline_asm::check(&text, &constraints),
        Callee::Pointer => Err("the hook calls a function through a pointer".to_owned()),
    };
    refused.map_err(|what| Refusal::at(place::of(inst), what))
}
