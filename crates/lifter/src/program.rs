//! The lifted object: structure of arrays, dense ids.

use luthier_isa::{Inst, Mode, RegAccess, RegRange, Target};
use luthier_loader::{CodeObject, OriginMap};
use serde::Serialize;

use crate::class::{Classes, Kind, Role};
use crate::live::Summaries;
use crate::pcrel::PcValue;
use crate::{BlockId, BlockIds, FuncId, InstrId, InstrIds, Issue, LiftError};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FunctionKind {
    /// Started by a dispatch, at its first instruction.
    Kernel,
    /// Called.
    Device,
}

#[derive(Clone, Debug)]
pub struct Function {
    /// The symbol's, or `sub_` and the address for code that is only reached by branches and calls.
    pub name: String,
    /// Of the first instruction to run.
    pub vaddr: u64,
    /// In bytes from `vaddr`, as the symbol says it; to the end of the last instruction where no symbol says it.
    pub size: u64,
    pub kind: FunctionKind,
    /// Has a symbol.
    pub named: bool,
    pub blocks: BlockIds,
    /// The block at `vaddr`.
    pub entry: BlockId,
    /// A kernel with preloaded arguments: hardware that knows of preloading starts here, 256 bytes behind `vaddr`, and
    /// only other hardware at `vaddr` (LLVM's AMDGPU usage page, "Preloaded Kernel Arguments").
    pub second_entry: Option<u64>,
    /// Why the function's code must not be touched: something in it is not understood.
    pub refusal: Option<String>,
    /// Addresses inside, other than the first, where control may come in from elsewhere.
    pub entered_inside: Vec<u64>,
}

impl Function {
    pub fn is_instrumentable(&self) -> bool {
        self.refusal.is_none()
    }
}

/// How a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminator {
    /// No control instruction: the next block starts because something branches to it.
    Fallthrough,
    /// `s_branch`.
    Branch,
    /// `s_cbranch_*`: the taken successor first, then the next block.
    CondBranch,
    /// `s_swappc_b64`, `s_call_b64`: see [`Program::call`]. The successor is where it returns to.
    Call,
    /// `s_setpc_b64` of the address that the caller left. `proven`: the value tracker has followed it there from the
    /// entry; otherwise it is in the register pair where callers leave it, but has been out of sight.
    Return { proven: bool },
    /// `s_setpc_b64` whose target is known: a successor or an exit.
    Jump,
    /// `s_setpc_b64` whose target is not known.
    UnknownJump,
    /// `s_endpgm` and its kin.
    End,
    /// `s_trap`: the trap handler may look at everything, and may or may not come back. `s_trap 2`, which is LLVM's, stops
    /// the program.
    Trap,
    /// An instruction whose flow is not modelled: fork and join.
    Unsupported,
    /// The function's last instruction, when it does not end it; or a gap of undecodable bytes.
    OffEnd,
}

#[derive(Clone, Copy, Debug)]
pub struct Block {
    pub func: FuncId,
    pub instrs: InstrIds,
    pub terminator: Terminator,
}

/// How the target of a call is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// `s_call_b64`: in the encoding.
    Direct,
    /// Value tracking: a PC-relative sum, or a pointer in constant memory.
    Tracked,
    Unresolved,
}

#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub block: BlockId,
    pub instr: InstrId,
    pub resolution: Resolution,
    /// The address called, `None` when unresolved.
    pub target: Option<u64>,
    /// The function whose first instruction that is.
    pub callee: Option<FuncId>,
    /// Where the return address goes.
    pub link: RegRange,
}

/// Control that leaves a function without a call: a branch or jump elsewhere, or running off its end.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    pub block: BlockId,
    pub target: u64,
    /// The function whose first instruction is at `target`.
    pub callee: Option<FuncId>,
}

/// What an executable byte range outside of every function is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// `s_nop`, `s_code_end` and zero words only.
    Padding,
    /// Anything else that nothing reaches.
    Unknown,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Gap {
    pub vaddr: u64,
    pub size: u64,
    pub kind: GapKind,
}

/// A lifted code object. It owns everything; the object may be dropped.
pub struct Program {
    pub(crate) mode: Mode,
    pub(crate) classes: &'static Classes,
    /// Instruction addresses are kept as 32-bit distances from here.
    pub(crate) base: u64,
    /// The most VGPRs that a kernel of the object has: an indexed operand can reach none beyond.
    pub(crate) allocated_vgprs: u16,
    pub(crate) functions: Vec<Function>,
    pub(crate) blocks: Vec<Block>,
    /// `succs[succ_start[b]..succ_start[b + 1]]`, and the same for predecessors.
    pub(crate) succ_start: Vec<u32>,
    pub(crate) succs: Vec<BlockId>,
    pub(crate) pred_start: Vec<u32>,
    pub(crate) preds: Vec<BlockId>,
    pub(crate) insts: Vec<Inst>,
    pub(crate) offsets: Vec<u32>,
    pub(crate) roles: Vec<Role>,
    /// By instruction.
    pub(crate) calls: Vec<Call>,
    /// By block.
    pub(crate) exits: Vec<Exit>,
    /// By the instruction that completes the value.
    pub(crate) pc_values: Vec<PcValue>,
    /// Functions that something may hold the address of.
    pub(crate) address_taken: Vec<bool>,
    /// Some jump is not followed, or some address inside of a function is formed that no jump is known to use: any
    /// block may be jumped to.
    pub(crate) wild_jumps: bool,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) issues: Vec<Issue>,
    pub(crate) graph: crate::graph::CallGraph,
    pub(crate) summaries: Summaries,
    /// Of an instrumented object.
    pub(crate) origins: Option<OriginMap>,
}

impl Program {
    /// Decodes and takes apart all code of the object. What is not understood is in [`Program::issues`]; only an
    /// object that cannot be lifted at all is an error.
    pub fn lift(object: &CodeObject) -> Result<Program, LiftError> {
        crate::lift::lift(object)
    }
    pub fn target(&self) -> Target {
        self.mode.target()
    }
    /// The processor and the wave size that the code was compiled for.
    pub fn mode(&self) -> Mode {
        self.mode
    }
    pub fn functions(&self) -> &[Function] {
        &self.functions
    }
    pub fn function(&self, id: FuncId) -> &Function {
        &self.functions[id.index()]
    }
    pub fn function_ids(&self) -> impl DoubleEndedIterator<Item = FuncId> + ExactSizeIterator {
        (0..self.functions.len() as u32).map(FuncId)
    }
    pub fn find_function(&self, name: &str) -> Option<FuncId> {
        self.functions.iter().position(|f| f.name == name).map(|i| FuncId(i as u32))
    }
    /// The function that starts at `vaddr`.
    pub fn function_at(&self, vaddr: u64) -> Option<FuncId> {
        self.functions.binary_search_by_key(&vaddr, |f| f.vaddr).ok().map(|i| FuncId(i as u32))
    }
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id.index()]
    }
    pub fn block_vaddr(&self, id: BlockId) -> u64 {
        self.vaddr(self.block(id).instrs.first)
    }
    /// Number of the block within its function, as in its label `.LBB3`.
    pub fn block_number(&self, id: BlockId) -> u32 {
        id.0 - self.function(self.block(id).func).blocks.first.0
    }
    pub fn succs(&self, id: BlockId) -> &[BlockId] {
        &self.succs[self.succ_start[id.index()] as usize..self.succ_start[id.index() + 1] as usize]
    }
    pub fn preds(&self, id: BlockId) -> &[BlockId] {
        &self.preds[self.pred_start[id.index()] as usize..self.pred_start[id.index() + 1] as usize]
    }
    pub fn instrs(&self) -> InstrIds {
        InstrIds::new(0, self.insts.len() as u32)
    }
    /// The instructions of a function, by address.
    pub fn function_instrs(&self, id: FuncId) -> InstrIds {
        let blocks = self.function(id).blocks;
        match blocks.last() {
            Some(last) => InstrIds::new(self.block(blocks.first).instrs.first.0, self.block(last).instrs.end.0),
            None => InstrIds::new(0, 0),
        }
    }
    pub fn instr(&self, id: InstrId) -> (&Inst, u64) {
        (&self.insts[id.index()], self.vaddr(id))
    }
    pub fn inst(&self, id: InstrId) -> &Inst {
        &self.insts[id.index()]
    }
    /// The instructions with these numbers.
    pub fn insts(&self, ids: InstrIds) -> &[Inst] {
        &self.insts[ids.first.index()..ids.end.index()]
    }
    pub fn vaddr(&self, id: InstrId) -> u64 {
        self.base + u64::from(self.offsets[id.index()])
    }
    /// The instruction that starts at `vaddr`.
    pub fn instr_at(&self, vaddr: u64) -> Option<InstrId> {
        let offset = u32::try_from(vaddr.checked_sub(self.base)?).ok()?;
        self.offsets.binary_search(&offset).ok().map(|i| InstrId(i as u32))
    }
    /// The same, if it is one of a function's: found sooner than one of all.
    pub fn instr_within(&self, func: FuncId, vaddr: u64) -> Option<InstrId> {
        let instrs = self.function_instrs(func);
        let offset = u32::try_from(vaddr.checked_sub(self.base)?).ok()?;
        let found = self.offsets[instrs.indices()].binary_search(&offset).ok()?;
        Some(instrs.first.offset(found as u32))
    }
    /// The block of an instruction.
    pub fn block_of(&self, id: InstrId) -> BlockId {
        BlockId(self.blocks.partition_point(|b| b.instrs.first <= id) as u32 - 1)
    }
    pub fn func_of(&self, id: InstrId) -> FuncId {
        self.block(self.block_of(id)).func
    }
    /// Every call, by address.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }
    /// The call that ends a block with [`Terminator::Call`].
    pub fn call(&self, block: BlockId) -> Option<&Call> {
        self.calls.binary_search_by_key(&block, |c| c.block).ok().map(|i| &self.calls[i])
    }
    /// The calls in a function.
    pub fn calls_of(&self, func: FuncId) -> &[Call] {
        let blocks = self.function(func).blocks;
        let from = self.calls.partition_point(|c| c.block < blocks.first);
        let to = self.calls.partition_point(|c| c.block < blocks.end);
        &self.calls[from..to]
    }
    /// Control that leaves functions without a call, by block.
    pub fn exits(&self) -> &[Exit] {
        &self.exits
    }
    pub fn exits_of(&self, block: BlockId) -> &[Exit] {
        let from = self.exits.partition_point(|e| e.block < block);
        let to = self.exits.partition_point(|e| e.block <= block);
        &self.exits[from..to]
    }
    /// Control may go on behind the block's last instruction, or where that leads to. Not behind a call that never comes
    /// back, with which a function ends.
    pub fn goes_on(&self, block: BlockId) -> bool {
        !self.succs(block).is_empty() || !self.exits_of(block).is_empty()
    }
    /// Something may hold the function's address, so that any unresolved call may reach it.
    pub fn is_address_taken(&self, id: FuncId) -> bool {
        self.address_taken[id.index()]
    }
    /// Some jump is not followed, or some address inside of a function is formed that no jump is known to use: any
    /// block may be jumped to.
    pub fn has_wild_jumps(&self) -> bool {
        self.wild_jumps
    }
    /// Executable bytes outside of every function.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }
    /// What could not be settled, by address.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }
    /// Every PC-relative value formed, by the address of the instruction that completes it.
    pub fn pc_values(&self) -> &[PcValue] {
        &self.pc_values
    }
    /// Bytes held in memory by the tables.
    pub fn memory(&self) -> usize {
        use std::mem::size_of;
        self.insts.capacity() * size_of::<Inst>()
            + self.offsets.capacity() * size_of::<u32>()
            + self.roles.capacity() * size_of::<Role>()
            + self.blocks.capacity() * size_of::<Block>()
            + (self.succ_start.capacity() + self.pred_start.capacity()) * size_of::<u32>()
            + (self.succs.capacity() + self.preds.capacity()) * size_of::<BlockId>()
            + self.functions.iter().map(|f| size_of::<Function>() + f.name.capacity()).sum::<usize>()
            + self.calls.capacity() * size_of::<Call>()
            + self.exits.capacity() * size_of::<Exit>()
    }
    /// No value of the unit comes through a call of the function.
    pub(crate) fn overwrites(&self, func: FuncId, unit: luthier_isa::Reg) -> bool {
        !self.summaries.passes(Some(func)).contains(unit)
    }
    /// As [`Inst::for_each_access`] of the instruction, and faster: what an opcode does is worked out once.
    pub fn for_each_access(&self, id: InstrId, f: impl FnMut(RegAccess)) {
        self.classes.for_each_access(self.inst(id), f);
    }
    pub(crate) fn kind(&self, id: InstrId) -> Kind {
        self.roles[id.index()].kind
    }
    pub(crate) fn role(&self, id: InstrId) -> Role {
        self.roles[id.index()]
    }
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program")
            .field("mode", &self.mode)
            .field("functions", &self.functions.len())
            .field("blocks", &self.blocks.len())
            .field("instructions", &self.insts.len())
            .finish_non_exhaustive()
    }
}
