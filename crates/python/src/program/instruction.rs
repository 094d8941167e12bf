//! An instruction.

use std::sync::Arc;

use luthier_isa::{Access, Flags, Inst, MemoryAccess, Reg, RegSet};
use luthier_lifter::{InstrId, Origin};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFrozenSet};

use super::live::FunctionLive;
use super::source::PyFrame;
use super::{PyBlock, PyFunction, PyOperand, PyRegister, Shared, hash_of, identity, modifiers};
use crate::error::guard;

/// Instructions after which nothing runs at the next address, or not at once.
const LEAVES: Flags = Flags::BRANCH
    .union(Flags::COND_BRANCH)
    .union(Flags::INDIRECT)
    .union(Flags::CALL)
    .union(Flags::END)
    .union(Flags::TRAP);

/// The flags of an instruction whose memory access is known: the tables count more as one than there is.
pub fn flags(inst: &Inst, memory: Option<MemoryAccess>) -> Flags {
    let mut flags = inst.info().flags;
    flags.set(Flags::LOAD, memory.is_some_and(|memory| memory.reads));
    flags.set(Flags::STORE, memory.is_some_and(|memory| memory.writes));
    flags.set(Flags::ATOMIC, memory.is_some_and(|memory| memory.atomic));
    flags
}

/// One instruction of the original code.
#[pyclass(name = "Instruction", module = "luthier._core", frozen)]
pub struct PyInstruction {
    pub program: Arc<Shared>,
    pub id: InstrId,
}

#[pymethods]
impl PyInstruction {
    /// Its place in :attr:`Program.instructions`.
    #[getter]
    fn id(&self) -> u32 {
        self.id.0
    }
    /// As the code object states it.
    #[getter]
    fn address(&self) -> u64 {
        self.program.program.vaddr(self.id)
    }
    /// Where the application has it: in instrumented code the address that it was copied from, and None for one that
    /// a tool has inserted; otherwise ``address``.
    #[getter]
    fn origin(&self) -> Option<u64> {
        match self.program.program.origin(self.id) {
            Origin::Application => Some(self.address()),
            Origin::Copy(original) => Some(original),
            Origin::Inserted => None,
        }
    }
    /// A tool's, in an instrumented object.
    #[getter]
    fn is_inserted(&self) -> bool {
        self.program.program.origin(self.id) == Origin::Inserted
    }
    /// In bytes, a literal included.
    #[getter]
    fn size(&self) -> usize {
        self.inst().size()
    }
    /// Its encoding.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut bytes = Vec::with_capacity(20);
        self.inst().encode_into(&mut bytes);
        PyBytes::new(py, &bytes)
    }
    /// As LLVM prints it: ``v_add_f32_e32``.
    #[getter]
    fn mnemonic(&self) -> &'static str {
        self.inst().info().mnemonic
    }
    /// The operation without the encoding's suffix: ``v_add_f32``.
    #[getter]
    fn opcode(&self) -> &'static str {
        self.inst().info().base
    }
    /// A small number for the opcode; stable for one version of Luthier and one processor.
    #[getter]
    fn opcode_id(&self) -> u16 {
        self.inst().info().id.0
    }
    /// LLVM's name of the encoded opcode: ``V_ADD_F32_e32_vi``.
    #[getter]
    fn llvm_name(&self) -> &'static str {
        self.inst().info().llvm
    }
    /// Assembly, as llvm-objdump prints it.
    #[getter]
    fn text(&self) -> String {
        self.inst().to_string()
    }
    /// In the order of assembly, destinations first.
    #[getter]
    fn operands(&self) -> Vec<PyOperand> {
        PyOperand::all_of(self.inst(), self.address())
    }
    /// What stands behind the operands in assembly, where it is not the default: ``{"offset": -16, "glc": True}``,
    /// ``{"dst_sel": "WORD_1"}``, ``{"op_sel": [0, 1]}``.
    #[getter]
    fn modifiers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        modifiers::to_python(py, self.inst())
    }
    /// The counters that it waits for, and down to which number: ``{"vmcnt": 0}``.
    #[getter]
    fn waits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (counter, value) in modifiers::waits(self.inst()) {
            dict.set_item(counter, value)?;
        }
        Ok(dict)
    }
    /// What it does: ``load``, ``store``, ``valu``, ``vmem``, ``ds``, ``mfma``, ``branch``, ...
    #[getter]
    fn flags<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        let flags = flags(self.inst(), self.inst().memory());
        PyFrozenSet::new(py, flags.iter_names().map(|(name, _)| name.to_lowercase()))
    }
    /// Which memory it reads or writes: ``flat``, ``global``, ``scratch``, ``lds``, ``gds``, ``buffer``, ``image``.
    #[getter]
    fn memory_space(&self) -> Option<&'static str> {
        self.inst().memory().map(|memory| memory.space.name())
    }
    /// The bytes that it reads or writes there: for each active lane, of scalar instructions for the wave. None where
    /// a resource says it, as for images.
    #[getter]
    fn memory_width(&self) -> Option<u16> {
        self.inst().memory()?.width
    }
    /// How many places it accesses for each active lane, each with an address of its own: 1, or 2 of ``ds_read2_b32`` and
    /// its like and of transfers between memory and LDS. None without memory, and where a resource says it, as for images.
    #[getter]
    fn access_count(&self) -> Option<usize> {
        self.inst().accesses().map(|places| places.len())
    }
    /// The function it belongs to.
    #[getter]
    fn function(&self) -> PyFunction {
        PyFunction { program: self.program.clone(), id: self.program.program.func_of(self.id) }
    }
    /// The block it belongs to.
    #[getter]
    fn block(&self) -> PyBlock {
        PyBlock { program: self.program.clone(), id: self.program.program.block_of(self.id) }
    }
    /// Where in the source it comes from, innermost first: the line, then the call of each function that was inlined
    /// around it. Empty where DWARF says nothing. LoadError where DWARF is damaged.
    #[getter]
    fn source(&self, py: Python<'_>) -> PyResult<Vec<PyFrame>> {
        guard(py, || {
            let lines = self.program.known_lines()?;
            let frames = lines.map_or_else(Vec::new, |lines| lines.frames(self.address()));
            Ok(frames.into_iter().map(PyFrame::of).collect())
        })
    }
    /// Where a direct branch or call goes.
    #[getter]
    fn branch_target(&self) -> Option<u64> {
        self.inst().branch_target(self.address())
    }
    /// The next instruction in the code runs after it, so that something can be inserted between them. Not so for
    /// branches, calls, returns, traps and the end of the program.
    #[getter]
    fn falls_through(&self) -> bool {
        !self.has(LEAVES)
    }
    /// A direct branch, conditional or not.
    #[getter]
    fn is_branch(&self) -> bool {
        self.has(Flags::BRANCH | Flags::COND_BRANCH)
    }
    /// ``s_swappc_b64``, ``s_call_b64``.
    #[getter]
    fn is_call(&self) -> bool {
        self.has(Flags::CALL)
    }
    /// ``s_endpgm`` and its kin.
    #[getter]
    fn is_end(&self) -> bool {
        self.has(Flags::END)
    }
    /// Reads memory; atomics do.
    #[getter]
    fn is_load(&self) -> bool {
        self.inst().memory().is_some_and(|memory| memory.reads)
    }
    /// Writes memory; atomics do.
    #[getter]
    fn is_store(&self) -> bool {
        self.inst().memory().is_some_and(|memory| memory.writes)
    }
    /// An atomic memory operation.
    #[getter]
    fn is_atomic(&self) -> bool {
        self.inst().memory().is_some_and(|memory| memory.atomic)
    }
    /// ``s_barrier``.
    #[getter]
    fn is_barrier(&self) -> bool {
        self.has(Flags::BARRIER)
    }
    /// Waits for outstanding memory operations: see :attr:`waits`.
    #[getter]
    fn is_wait(&self) -> bool {
        self.has(Flags::WAIT)
    }
    /// Computes in vector registers.
    #[getter]
    fn is_valu(&self) -> bool {
        self.has(Flags::VALU)
    }
    /// Computes in scalar registers.
    #[getter]
    fn is_salu(&self) -> bool {
        self.has(Flags::SALU)
    }
    /// What it is counted as: ``matrix``, ``valu``, ``lds``, ``vmem``, ``smem``, ``salu``, ``branch``, ``wait``, ``barrier``,
    /// ``message``, ``export`` or ``other``.
    #[getter]
    fn category(&self) -> &'static str {
        self.inst().info().category()
    }
    /// A matrix operation: ``v_mfma_*``, ``v_smfmac_*``, ``v_wmma_*``, ``v_swmmac_*``.
    #[getter]
    fn is_matrix(&self) -> bool {
        self.has(Flags::MFMA | Flags::WMMA)
    }
    /// Reads or writes device memory: by a global, flat, buffer or scalar access, or an image. A flat access may turn out to
    /// be one of LDS or scratch.
    #[getter]
    fn is_global(&self) -> bool {
        use luthier_isa::Space;
        let space = self.inst().memory().map(|memory| memory.space);
        matches!(space, Some(Space::Global | Space::Flat | Space::Buffer | Space::Image))
    }
    /// Whom :attr:`flops` and :attr:`bytes` are counted for: each active ``lane``, or once the ``wave`` (scalar and matrix
    /// operations).
    #[getter]
    fn works_for(&self) -> &'static str {
        if self.inst().info().works_for_the_wave() { "wave" } else { "lane" }
    }
    /// Its floating-point operations by type: ``{"f32": 2}`` of a fused multiplication with addition, for each active lane or
    /// for the wave (see :attr:`works_for`). Additions, multiplications and transcendental operations are one each; sparse
    /// matrix operations count for the values that are there.
    #[getter]
    fn flops<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for flops in self.inst().info().flops() {
            let before: u32 = dict.get_item(flops.kind)?.map_or(Ok(0), |n| n.extract())?;
            dict.set_item(flops.kind, before + flops.count)?;
        }
        Ok(dict)
    }
    /// The bytes that it reads or writes in memory, as :attr:`memory_width`; 0 without memory. None where a resource says it.
    #[getter]
    fn bytes(&self) -> Option<u16> {
        self.inst().memory().map_or(Some(0), |memory| memory.width)
    }
    /// Registers read, implicit ones included, neighbours joined.
    #[getter]
    fn reads(&self) -> Vec<PyRegister> {
        self.touched(Access::reads)
    }
    /// Registers written, implicit ones included, neighbours joined.
    #[getter]
    fn writes(&self) -> Vec<PyRegister> {
        self.touched(Access::writes)
    }
    /// Registers whose values just before it may still be read, by it or later, in any lane; neighbours joined.
    #[getter]
    fn live_before(&self, py: Python<'_>) -> PyResult<Vec<PyRegister>> {
        self.live(py, FunctionLive::before)
    }
    /// The same just behind it; of a call, where it returns to.
    #[getter]
    fn live_after(&self, py: Python<'_>) -> PyResult<Vec<PyRegister>> {
        self.live(py, FunctionLive::after)
    }
    fn __eq__(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
    fn __hash__(&self) -> u64 {
        hash_of(self.key())
    }
    fn __repr__(&self) -> String {
        format!("<Instruction {:#x}: {}>", self.address(), self.inst())
    }
}

impl PyInstruction {
    fn inst(&self) -> &Inst {
        self.program.program.inst(self.id)
    }
    fn has(&self, flags: Flags) -> bool {
        self.inst().info().flags.intersects(flags)
    }
    fn key(&self) -> (usize, u32) {
        identity(&self.program, self.id.0)
    }
    fn touched(&self, wanted: impl Fn(Access) -> bool) -> Vec<PyRegister> {
        let mut set = RegSet::EMPTY;
        self.inst().for_each_access(|a| {
            if wanted(a.access) {
                set.insert(a.reg);
            }
        });
        // The lifter's own bookkeeping, no register.
        set.remove(Reg::GPR_IDX);
        PyRegister::all_of(&set)
    }
    fn live(&self, py: Python<'_>, get: impl Fn(&FunctionLive, InstrId) -> RegSet + Sync) -> PyResult<Vec<PyRegister>> {
        guard(py, || {
            let func = self.program.program.func_of(self.id);
            Ok(PyRegister::all_of(&get(&self.program.live(func), self.id)))
        })
    }
}
