//! What functions of a module ask the processor for, and hooks are given as arguments instead: the numbers of the
//! work-item and the workgroup, the packet, the queue, the kernel's arguments.
//!
//! Each is one more argument of the hook, behind those that its source has. They travel to the part in a call of an unknown
//! function ([`MARKER`]); when all is inlined, the intrinsics are worked out from what it is called with.

use inkwell::{
    builder::{Builder, BuilderError},
    context::Context,
    module::Module,
    values::{AsValueRef, BasicValue, BasicValueEnum, InstructionOpcode, InstructionValue, IntValue},
};
use llvm_sys::core::LLVMReplaceAllUsesWith;
use luthier_abi::Axis;
use luthier_isa::{Generation, Target};

use super::{
    ast::Type,
    calls::{Callee, callee, instructions},
    lower::{entry::ENTRY, ll},
};

/// The function that is called with all of them.
const MARKER: &str = "luthier.given";
/// The function around the hook that calls it.
pub const AROUND: &str = "luthier.around";

/// Words of the dispatch packet: the header, a cluster's size, ...
const HEADER: u32 = 0;
const CLUSTER: u32 = 5;
/// How much LDS a workgroup has.
const LDS: u32 = 7;

/// One of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Given {
    /// Of each lane, ten bits for each dimension.
    WorkitemIds,
    /// Of a launch of clusters, the cluster's.
    Group(Axis),
    /// gfx1250: four bits for each dimension.
    PlaceInCluster,
    DispatchPtr,
    QueuePtr,
    KernargPtr,
    DispatchId,
    /// Bytes from the kernel's arguments to the hidden ones.
    ImplicitOffset,
    /// Bytes of LDS that all hooks have in a workgroup.
    SharedBytes,
}

impl Given {
    /// Its name among the facts of the hook language.
    pub fn name(self) -> &'static str {
        match self {
            Given::WorkitemIds => "WORKITEM_IDS",
            Given::Group(Axis::X) => "GROUP_X",
            Given::Group(Axis::Y) => "GROUP_Y",
            Given::Group(Axis::Z) => "GROUP_Z",
            Given::PlaceInCluster => "PLACE_IN_CLUSTER",
            Given::DispatchPtr => "DISPATCH_PTR",
            Given::QueuePtr => "QUEUE_PTR",
            Given::KernargPtr => "KERNARG_PTR",
            Given::DispatchId => "DISPATCH_ID",
            Given::ImplicitOffset => "IMPLICIT_OFFSET",
            Given::SharedBytes => "SHARED_BYTES",
        }
    }

    pub fn ty(self) -> Type {
        match self {
            Given::WorkitemIds | Given::Group(_) | Given::PlaceInCluster => Type::U32,
            Given::ImplicitOffset | Given::SharedBytes => Type::U32,
            Given::DispatchPtr | Given::QueuePtr | Given::KernargPtr | Given::DispatchId => Type::U64,
        }
    }
}

/// An intrinsic that is worked out.
#[derive(Clone, Copy)]
enum Asked {
    Workitem(Axis),
    Workgroup(Axis),
    /// The value as it is given, an address or a number.
    Plain(Given),
    Implicit,
}

impl Asked {
    fn of(intrinsic: &str) -> Option<Asked> {
        let axis = |start: &str| {
            let rest = intrinsic.strip_prefix(start)?;
            Axis::ALL.into_iter().zip(["x", "y", "z"]).find_map(|(axis, name)| (rest == name).then_some(axis))
        };
        if let Some(axis) = axis("llvm.amdgcn.workitem.id.") {
            return Some(Asked::Workitem(axis));
        }
        if let Some(axis) = axis("llvm.amdgcn.workgroup.id.") {
            return Some(Asked::Workgroup(axis));
        }
        Some(match intrinsic {
            "llvm.amdgcn.dispatch.ptr" => Asked::Plain(Given::DispatchPtr),
            "llvm.amdgcn.queue.ptr" => Asked::Plain(Given::QueuePtr),
            "llvm.amdgcn.kernarg.segment.ptr" => Asked::Plain(Given::KernargPtr),
            "llvm.amdgcn.dispatch.id" => Asked::Plain(Given::DispatchId),
            "llvm.amdgcn.implicitarg.ptr" => Asked::Implicit,
            _ => return None,
        })
    }

    fn needs(self, target: Target) -> Vec<Given> {
        let clusters = target.generation() == Generation::Gfx1250;
        match self {
            Asked::Workitem(_) => vec![Given::WorkitemIds],
            Asked::Workgroup(axis) if clusters => vec![Given::Group(axis), Given::PlaceInCluster, Given::DispatchPtr],
            Asked::Workgroup(axis) => vec![Given::Group(axis)],
            Asked::Plain(given) => vec![given],
            Asked::Implicit => vec![Given::KernargPtr, Given::ImplicitOffset],
        }
    }
}

/// A hook is given what this intrinsic asks for.
pub fn is_given(intrinsic: &str) -> bool {
    Asked::of(intrinsic).is_some()
}

/// What hooks that call these are given on a processor, each once, in an order that depends on nothing else. `shared`: some
/// of their parameters are LDS of the hooks' own.
pub fn of<'a>(intrinsics: impl IntoIterator<Item = &'a str>, target: Target, shared: bool) -> Vec<Given> {
    let mut all: Vec<Given> = Vec::new();
    let lds: &[Given] = if shared { &[Given::DispatchPtr, Given::SharedBytes] } else { &[] };
    let asked = intrinsics.into_iter().filter_map(Asked::of).flat_map(|asked| asked.needs(target));
    for given in asked.chain(lds.iter().copied()) {
        if !all.contains(&given) {
            all.push(given);
        }
    }
    all.sort_by_key(|given| given.name());
    all
}

/// The text of the function around a hook, whose parameters are `types`; `hook` is its name as the text has it. The
/// parameters `shared` are given as distances from where the hooks' LDS begins.
pub fn around(hook: &str, types: &[&str], given: &[Given], shared: &[usize]) -> String {
    let own: Vec<String> = types.iter().enumerate().map(|(n, ty)| format!("{ty} %p{n}")).collect();
    let more: Vec<String> = given.iter().enumerate().map(|(n, given)| format!("{} %g{n}", ll(given.ty()))).collect();
    let kinds: Vec<&str> = given.iter().map(|given| ll(given.ty())).collect();
    let all = [&own[..], &more[..]].concat().join(", ");
    let number = |wanted: Given| given.iter().position(|given| *given == wanted).unwrap_or_default();
    let mut body = format!("  call void @{MARKER}({})\n", more.join(", "));
    if !shared.is_empty() {
        // The packet says how much LDS a workgroup has, whatever the launch has added. The hooks' ends there, and begins
        // on 16 bytes.
        body += &format!(
            "  %packet = inttoptr i64 %g{} to ptr addrspace(4)\n  \
             %at = getelementptr i32, ptr addrspace(4) %packet, i64 {LDS}\n  %lds = load i32, ptr addrspace(4) %at\n  \
             %before = sub i32 %lds, %g{}\n  %above = add i32 %before, 15\n  %begin = and i32 %above, -16\n",
            number(Given::DispatchPtr),
            number(Given::SharedBytes)
        );
    }
    let passed = |(n, ty): (usize, &&str)| {
        let name = if shared.contains(&n) { "s" } else { "p" };
        format!("{ty} %{name}{n}")
    };
    for n in shared {
        body += &format!("  %s{n} = getelementptr i8, ptr addrspace(3) %p{n}, i32 %begin\n");
    }
    let passed: Vec<String> = types.iter().enumerate().map(passed).collect();
    format!(
        "declare void @{MARKER}({}) nounwind willreturn memory(inaccessiblemem: readwrite)\n\
         define internal void @{AROUND}({all}) alwaysinline nounwind {{\n{body}  call void @\"{hook}\"({})\n  \
         ret void\n}}\n",
        kinds.join(", "),
        passed.join(", ")
    )
}

/// Works the intrinsics of the part out. An error is a sentence about the hook.
pub fn settle<'c>(cx: &'c Context, module: &Module<'c>, given: &[Given], target: Target) -> Result<(), String> {
    let Some(part) = module.get_function(ENTRY).filter(|_| !given.is_empty()) else { return Ok(()) };
    let calls = || instructions(part).filter(|inst| inst.get_opcode() == InstructionOpcode::Call);
    let name = |call: InstructionValue<'c>| match callee(call) {
        Callee::Function(name) => name,
        _ => String::new(),
    };
    let marker =
        calls().find(|call| name(*call) == MARKER).ok_or("what the hook is given is lost: a mistake of Luthier")?;
    let builder = cx.create_builder();
    builder.position_before(&marker);
    let mut values = Vec::new();
    for index in 0..given.len() {
        match marker.get_operand(index as u32).and_then(|operand| operand.value()) {
            Some(BasicValueEnum::IntValue(value)) => values.push(value),
            _ => return Err("what the hook is given is no number: a mistake of Luthier".to_owned()),
        }
    }
    let made = Made { cx, builder: &builder, given, values: &values, target };
    let found: Vec<(InstructionValue<'c>, Asked)> = calls().filter_map(|c| Some((c, Asked::of(&name(c))?))).collect();
    for (call, asked) in found {
        let value = made.value(asked).map_err(|e| e.to_string())?;
        // SAFETY: an instruction of a live module and a value of its type, which is made in front of it.
        unsafe { LLVMReplaceAllUsesWith(call.as_value_ref(), value.as_value_ref()) };
        call.erase_from_basic_block();
    }
    marker.erase_from_basic_block();
    Ok(())
}

/// Values in front of the marker.
struct Made<'a, 'c> {
    cx: &'c Context,
    builder: &'a Builder<'c>,
    given: &'a [Given],
    values: &'a [IntValue<'c>],
    target: Target,
}

impl<'c> Made<'_, 'c> {
    fn of(&self, given: Given) -> Result<IntValue<'c>, BuilderError> {
        let found = self.given.iter().position(|other| *other == given);
        found.and_then(|n| self.values.get(n)).copied().ok_or(BuilderError::UnsetPosition)
    }

    fn value(&self, asked: Asked) -> Result<BasicValueEnum<'c>, BuilderError> {
        Ok(match asked {
            Asked::Workitem(axis) => self.bits(self.of(Given::WorkitemIds)?, 10 * axis as u64, 10)?.into(),
            Asked::Workgroup(axis) => self.workgroup(axis)?.into(),
            Asked::Plain(Given::DispatchId) => self.of(Given::DispatchId)?.into(),
            Asked::Plain(given) => self.pointer(self.of(given)?)?,
            Asked::Implicit => {
                let offset = self.of(Given::ImplicitOffset)?;
                let offset = self.builder.build_int_z_extend(offset, self.cx.i64_type(), "offset")?;
                self.pointer(self.builder.build_int_add(self.of(Given::KernargPtr)?, offset, "hidden")?)?
            }
        })
    }

    fn bits(&self, of: IntValue<'c>, shift: u64, bits: u32) -> Result<IntValue<'c>, BuilderError> {
        let ty = self.cx.i32_type();
        let shifted = self.builder.build_right_shift(of, ty.const_int(shift, false), false, "above")?;
        self.builder.build_and(shifted, ty.const_int((1 << bits) - 1, false), "bits")
    }

    fn pointer(&self, address: IntValue<'c>) -> Result<BasicValueEnum<'c>, BuilderError> {
        let ty = self.cx.ptr_type(inkwell::AddressSpace::from(4));
        Ok(self.builder.build_int_to_ptr(address, ty, "pointer")?.as_basic_value_enum())
    }

    /// Where there are clusters, their packet says how large they are, and which launches have some.
    fn workgroup(&self, axis: Axis) -> Result<IntValue<'c>, BuilderError> {
        let group = self.of(Given::Group(axis))?;
        if self.target.generation() != Generation::Gfx1250 {
            return Ok(group);
        }
        let (builder, ty) = (self.builder, self.cx.i32_type());
        let place = self.bits(self.of(Given::PlaceInCluster)?, 4 * axis as u64, 4)?;
        let size = self.bits(self.word(CLUSTER)?, 8 * axis as u64, 8)?;
        let inside = builder.build_int_add(builder.build_int_mul(group, size, "first")?, place, "inside")?;
        let kind = self.bits(self.word(HEADER)?, 0, 8)?;
        let clusters = builder.build_int_compare(inkwell::IntPredicate::EQ, kind, ty.const_zero(), "is.of.clusters")?;
        Ok(builder.build_select(clusters, inside, group, "workgroup")?.into_int_value())
    }

    fn word(&self, number: u32) -> Result<IntValue<'c>, BuilderError> {
        let ty = self.cx.i32_type();
        let packet = self.pointer(self.of(Given::DispatchPtr)?)?.into_pointer_value();
        // SAFETY: a packet has 16 words.
        let at = unsafe { self.builder.build_gep(ty, packet, &[ty.const_int(number.into(), false)], "word") }?;
        Ok(self.builder.build_load(ty, at, "packet")?.into_int_value())
    }
}
