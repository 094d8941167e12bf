//! Why an insertion was not made.

use luthier_isa::{Reg, RegRange, RegSet};

use crate::entry_value::EntryValue;
use crate::register_file::File;

/// The reason, with its numbers. Its text is one sentence for the user.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Rejection {
    #[error("no instruction starts at {address:#x}")]
    NoInstruction { address: u64 },
    #[error("{mnemonic} accesses no memory with an address of its own")]
    NoAddress { mnemonic: &'static str },
    #[error("{mnemonic} accesses {count} places, each with an address of its own: ask for one by its number, from 0")]
    SeveralPlaces { mnemonic: &'static str, count: usize },
    #[error("{mnemonic} accesses {count} place(s), numbered from 0: it has none of number {number}")]
    NoPlace { mnemonic: &'static str, count: usize, number: usize },
    #[error("{mnemonic} does not say how many places it accesses: its resource does")]
    NoCount { mnemonic: &'static str },
    #[error(
        "whether {mnemonic} accesses what it names is not known here: its resource says it in ways that are not modelled"
    )]
    NoRange { mnemonic: &'static str },
    #[error("{mnemonic} accesses no memory")]
    NoAccess { mnemonic: &'static str },
    #[error("{mnemonic} does not say how many bytes it accesses: its resource does")]
    NoWidth { mnemonic: &'static str },
    #[error("the hook {hook} has {wanted} arguments, {given} were given")]
    ArgumentCount { hook: String, wanted: usize, given: usize },
    #[error("argument {index} of the hook {hook} is in a register, but no value is given for it")]
    NoValue { hook: String, index: usize },
    #[error("argument {index} of the hook {hook} has {wanted} registers, {given} is given")]
    RegisterCount { hook: String, index: usize, wanted: u8, given: RegRange },
    #[error(
        "argument {index} of the hook {hook} is {given}, which no instruction of {processor} reads like a register"
    )]
    NotReadable { hook: String, index: usize, given: RegRange, processor: &'static str },
    #[error(
        "{reg} holds nothing here: {processor} does not set it when a wave starts, and the kernel's code never does"
    )]
    NotSet { reg: Reg, processor: &'static str },
    #[error("the hook {hook} is to write {given}, which no instruction of {processor} writes like a register")]
    NotWritable { hook: String, given: RegRange, processor: &'static str },
    #[error("the hook {hook} has two new values for {given}: give it to one argument")]
    TwoValues { hook: String, given: RegRange },
    #[error("the hook {hook} is given {slot} twice: give it to one argument")]
    SlotTwice { hook: String, slot: String },
    #[error("the kernel has no {reg}: it is allocated {allocated} registers of that file")]
    NotAllocated { reg: Reg, allocated: u16 },
    #[error("there is no slot {index}: the plan has {count}")]
    NoSuchSlot { index: usize, count: usize },
    #[error("argument {index} of the hook {hook} has {wanted} units, {slot} has {units}")]
    SlotUnits { hook: String, index: usize, wanted: u8, slot: String, units: u8 },
    #[error("{processor} has no {value:?}")]
    NoEntryValue { value: EntryValue, processor: &'static str },
    #[error("the kernel would have {wanted} user SGPRs with {value:?}, and the hardware gives {most} at most")]
    UserSgprs { value: EntryValue, wanted: u32, most: u32 },
    #[error(
        "the hook {hook} needs {wanted} bytes of LDS behind the {used} of the kernel's, and a workgroup of {processor} has \
         {most} at most"
    )]
    NoLds { hook: String, wanted: u32, used: u32, processor: &'static str, most: u32 },
    #[error("the kernels that begin at one address start with different registers")]
    EntriesDiffer,
    #[error("{kernel} has no metadata that says where its hidden arguments are")]
    NoHidden { kernel: String },
    #[error("{kernel} has no argument {name} of {size} bytes")]
    NoKernelArgument { kernel: String, name: String, size: u32 },
    #[error("the kernels that run this have {what} at different places")]
    ArgumentsDiffer { what: String },
    #[error("no kernel of the object calls this function, so that nothing starts and ends what its waves carry")]
    SlotWithoutKernel,
    #[error("there is no room for {slot}: the application uses all registers, and {scratch}")]
    SlotsDoNotFit { slot: String, scratch: &'static str },
    #[error("VGPR indexing is on here, and {what}")]
    Indexed { what: String },
    #[error("the hook {hook} refers to {symbol}, which is neither a variable of the plan nor a symbol of the object")]
    NoSymbol { hook: String, symbol: String },
    #[error("the hook {hook} holds an absolute address, which an object that may be loaded anywhere cannot")]
    AbsoluteAddress { hook: String },
    #[error("the hook {hook} {what}")]
    Template { hook: String, what: String },
    /// Registers ran out.
    #[error(
        "the hook {hook} needs {count} {file}s in a row{}: {sgprs} SGPRs and {vgprs} VGPRs are free here, and nothing \
         more can be put away; live here: {live:?}",
        if *.align > 1 { format!(" (aligned to {align})") } else { String::new() }
    )]
    Registers { hook: String, file: File, count: u8, align: u8, sgprs: u32, vgprs: u32, live: Box<RegSet> },
    #[error("{what} is live and the hook {hook} changes it, but no SGPR is free to keep it")]
    NoHome { hook: String, what: &'static str },
    #[error(
        "the hook {hook} is placed by the calling convention, which stores registers in scratch, and the kernel cannot be \
         given any"
    )]
    NoScratch { hook: String },
    #[error(
        "the hook {hook} needs a stack of {bytes} bytes for each lane, and the kernel cannot be given so much scratch: it has \
         none left, or it is not known where its waves' scratch is or ends"
    )]
    NoStack { hook: String, bytes: u32 },
    #[error("no {file} is free over {inst} to keep the value that {range} had before it")]
    OldValue { inst: String, range: RegRange, file: File },
    #[error("nothing keeps the value that {range} had before {inst}: a function that is called may use every register")]
    OldOverCall { inst: String, range: RegRange },
    #[error("{inst} is not followed by anything: control does not continue at the next instruction")]
    NothingFollows { inst: String },
    #[error("the edge from {from:#x} to {to:#x} does not exist")]
    NoEdge { from: u64, to: u64 },
    #[error("the edge to {to:#x} is never taken: {inst}, which leads there, is taken out")]
    NeverTaken { inst: String, to: u64 },
    #[error("a successor of {inst} is outside of the function")]
    LeavesFunction { inst: String },
    #[error("{inst} decides where control goes, and cannot be replaced or removed")]
    ControlFlow { inst: String },
    #[error("{inst} says which registers the instructions behind it mean, and cannot be replaced or removed")]
    NamesRegisters { inst: String },
    #[error("something else that was to take the place of {inst} is rejected, and so it stays")]
    Stays { inst: String },
    #[error("none of the selected kernels runs {function}")]
    NotSelected { function: String },
    #[error("{function} may be called through a pointer, which leads to the original and not to its instrumented copy")]
    ThroughPointer { function: String },
    #[error("{function} may be called through a pointer and ends waves there, where their counters are not added up")]
    EndsAsItIs { function: String },
    #[error("the inserted {inst} {what}")]
    RawInstruction { inst: String, what: &'static str },
    #[error("no function starts at {address:#x}")]
    NoFunction { address: u64 },
    /// The component that the place belongs to is left as it is.
    #[error("{0}")]
    Component(String),
}

impl Rejection {
    /// Scratch of its own, for registers or for stacks, could be what the place lacks.
    pub fn wants_scratch(&self) -> bool {
        use Rejection::{NoScratch, NoStack, Registers, SlotsDoNotFit};
        matches!(self, NoScratch { .. } | NoStack { .. } | Registers { .. } | SlotsDoNotFit { .. })
    }

    /// A word for programs: the reason without its numbers.
    pub fn kind(&self) -> &'static str {
        match self {
            Rejection::NoInstruction { .. } => "no_instruction",
            Rejection::NoAddress { .. } => "no_address",
            Rejection::SeveralPlaces { .. } => "several_places",
            Rejection::NoPlace { .. } => "no_place",
            Rejection::NoCount { .. } => "no_count",
            Rejection::NoRange { .. } => "no_range",
            Rejection::NoAccess { .. } => "no_access",
            Rejection::NoWidth { .. } => "no_width",
            Rejection::ArgumentCount { .. } => "argument_count",
            Rejection::NoValue { .. } => "no_value",
            Rejection::RegisterCount { .. } => "register_count",
            Rejection::NotReadable { .. } => "not_readable",
            Rejection::NotSet { .. } => "not_set",
            Rejection::NotWritable { .. } => "not_writable",
            Rejection::TwoValues { .. } => "two_values",
            Rejection::SlotTwice { .. } => "slot_twice",
            Rejection::NotAllocated { .. } => "not_allocated",
            Rejection::NoSuchSlot { .. } => "no_such_slot",
            Rejection::SlotUnits { .. } => "slot_units",
            Rejection::NoEntryValue { .. } => "no_entry_value",
            Rejection::UserSgprs { .. } => "user_sgprs",
            Rejection::NoLds { .. } => "no_lds",
            Rejection::EntriesDiffer => "entries_differ",
            Rejection::NoHidden { .. } => "no_hidden",
            Rejection::NoKernelArgument { .. } => "no_kernel_argument",
            Rejection::ArgumentsDiffer { .. } => "arguments_differ",
            Rejection::SlotWithoutKernel => "slot_without_kernel",
            Rejection::SlotsDoNotFit { .. } => "slots_do_not_fit",
            Rejection::Indexed { .. } => "indexed",
            Rejection::NoSymbol { .. } => "no_symbol",
            Rejection::AbsoluteAddress { .. } => "absolute_address",
            Rejection::Template { .. } => "template",
            Rejection::Registers { .. } => "registers",
            Rejection::NoHome { .. } => "no_home",
            Rejection::NoScratch { .. } => "no_scratch",
            Rejection::NoStack { .. } => "no_stack",
            Rejection::OldValue { .. } => "old_value",
            Rejection::OldOverCall { .. } => "old_over_call",
            Rejection::NothingFollows { .. } => "nothing_follows",
            Rejection::NoEdge { .. } => "no_edge",
            Rejection::NeverTaken { .. } => "never_taken",
            Rejection::LeavesFunction { .. } => "leaves_function",
            Rejection::ControlFlow { .. } => "control_flow",
            Rejection::NamesRegisters { .. } => "names_registers",
            Rejection::Stays { .. } => "stays",
            Rejection::NotSelected { .. } => "not_selected",
            Rejection::ThroughPointer { .. } => "through_pointer",
            Rejection::EndsAsItIs { .. } => "ends_as_it_is",
            Rejection::RawInstruction { .. } => "raw_instruction",
            Rejection::NoFunction { .. } => "no_function",
            Rejection::Component(_) => "component",
        }
    }
}
