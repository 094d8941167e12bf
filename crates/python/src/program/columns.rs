//! Many instructions as arrays, one for each property.

use luthier_isa::{Flags, Inst, MemoryAccess, Reg, RegSet, Space};
use luthier_lifter::{BlockId, FuncId, InstrId, Liveness, Origin, Program};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use rayon::prelude::*;

use super::instruction::flags;
use super::sequence::Ids;
use super::{PyInstructions, Shared};
use crate::error::{Class, guard};

/// The values of a column, little-endian, and their type in NumPy's words.
struct Column {
    name: String,
    kind: &'static str,
    bytes: Vec<u8>,
}

/// The bit of each of :attr:`Instruction.flags` in the ``flags`` column.
#[pyfunction]
pub fn flag_bits(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, flag) in Flags::all().iter_names() {
        dict.set_item(name.to_lowercase(), flag.bits())?;
    }
    Ok(dict)
}

/// For each name the type as NumPy calls it, and the values; see :func:`luthier.columns.columns`.
#[pyfunction(name = "columns")]
pub fn instruction_columns<'py>(
    py: Python<'py>,
    instructions: &PyInstructions,
    names: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = guard(py, || made(instructions.program(), instructions.ids(), &names))?;
    let dict = PyDict::new(py);
    for column in columns {
        dict.set_item(column.name, (column.kind, PyByteArray::new(py, &column.bytes)))?;
    }
    Ok(dict)
}

fn made(shared: &Shared, ids: &Ids, names: &[String]) -> PyResult<Vec<Column>> {
    let program = &shared.program;
    names
        .iter()
        .map(|name| {
            let mut memory = Memory::new(program);
            let made = match name.as_str() {
                "address" => each(ids, |id| program.vaddr(id)),
                "origin" => each(ids, |id| match program.origin(id) {
                    Origin::Application => program.vaddr(id),
                    Origin::Copy(original) => original,
                    Origin::Inserted => u64::MAX,
                }),
                "size" => each(ids, |id| program.inst(id).size() as u8),
                "opcode_id" => each(ids, |id| program.inst(id).info().id.0),
                "flags" => each(ids, |id| flags(program.inst(id), memory.of(program.inst(id))).bits()),
                "memory_space" => {
                    each(ids, |id| memory.of(program.inst(id)).map_or(0, |memory| memory.space as u8 + 1))
                }
                "memory_width" => {
                    each(ids, |id| memory.of(program.inst(id)).and_then(|memory| memory.width).unwrap_or(0))
                }
                "target" => each(ids, |id| program.inst(id).branch_target(program.vaddr(id)).unwrap_or(0)),
                "block" => by_block(program, ids, |block| block.0),
                "function" => by_block(program, ids, |block| program.block(block).func.0),
                "file" | "line" | "column" => lines(shared, ids, name)?,
                "live_sgprs" => live(program, ids, Reg::is_sgpr),
                "live_vgprs" => live(program, ids, Reg::is_vgpr),
                "live_agprs" => live(program, ids, Reg::is_agpr),
                _ => return Err(Class::Argument.error(format!("there is no column {name}"))),
            };
            Ok(Column { name: name.clone(), kind: made.0, bytes: made.1 })
        })
        .collect()
}

/// A number that a column can be of.
trait Value {
    const KIND: &'static str;
    fn put(self, out: &mut Vec<u8>);
}

macro_rules! value {
    ($($ty:ident $kind:literal),*) => {
        $(impl Value for $ty {
            const KIND: &'static str = $kind;
            fn put(self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        })*
    };
}
value!(u8 "u1", u16 "<u2", u32 "<u4", u64 "<u8", i32 "<i4");

type Made = (&'static str, Vec<u8>);

fn each<T: Value>(ids: &Ids, mut value: impl FnMut(InstrId) -> T) -> Made {
    let mut bytes = Vec::with_capacity(ids.len() * size_of::<T>());
    ids.runs().iter().flat_map(|run| run.clone()).for_each(|id| value(InstrId(id)).put(&mut bytes));
    (T::KIND, bytes)
}

/// What all instructions of a block have in common.
fn by_block(program: &Program, ids: &Ids, value: impl Fn(BlockId) -> u32) -> Made {
    let mut now: Option<(BlockId, u32)> = None;
    each(ids, |id| match now {
        Some((block, value)) if program.block(block).instrs.contains(id) => value,
        _ => {
            let block = program.block_of(id);
            let found = value(block);
            now = Some((block, found));
            found
        }
    })
}

/// Memory accesses by opcode, each worked out once: that takes reading the mnemonic.
struct Memory {
    known: Vec<Option<Option<MemoryAccess>>>,
}

impl Memory {
    fn new(program: &Program) -> Memory {
        Memory { known: vec![None; program.target().opcodes().len()] }
    }

    fn of(&mut self, inst: &Inst) -> Option<MemoryAccess> {
        let known = &mut self.known[usize::from(inst.info().id.0)];
        let access = (*known.get_or_insert_with(|| inst.memory()))?;
        // Two spaces have a bit in the encoding that tells more.
        if matches!(access.space, Space::Lds | Space::Gds | Space::Buffer) { inst.memory() } else { Some(access) }
    }
}

fn lines(shared: &Shared, ids: &Ids, name: &str) -> PyResult<Made> {
    let lines = shared.lines().map_err(|error| Class::Load.error(error))?;
    let line = |id| lines.and_then(|lines| lines.line(shared.program.vaddr(id)));
    Ok(match name {
        "file" => each(ids, |id| line(id).and_then(|line| line.file).map_or(-1, |file| file as i32)),
        "line" => each(ids, |id| line(id).map_or(0, |line| line.line)),
        _ => each(ids, |id| line(id).map_or(0, |line| line.column)),
    })
}

/// How many registers of a file are live before each instruction.
fn live(program: &Program, ids: &Ids, is_counted: impl Fn(Reg) -> bool + Sync) -> Made {
    let mask: RegSet = (0..Reg::COUNT).filter_map(Reg::from_index).filter(|reg| is_counted(*reg)).collect();
    let mut functions: Vec<FuncId> = Vec::new();
    for run in ids.runs() {
        let (first, last) = (program.func_of(InstrId(run.start)), program.func_of(InstrId(run.end - 1)));
        functions.extend((first.0..=last.0).map(FuncId));
    }
    functions.sort_unstable();
    functions.dedup();
    let mut counts: Vec<(FuncId, Vec<u16>)> = functions
        .into_par_iter()
        .map(|func| {
            let liveness = Liveness::of(program, func);
            let mut counts = Vec::new();
            for block in program.function(func).blocks.iter() {
                counts.extend(liveness.points(block).iter().map(|point| {
                    let live = point.before.any();
                    let both = live.words().iter().zip(mask.words());
                    both.map(|(live, counted)| (live & counted).count_ones() as u16).sum::<u16>()
                }));
            }
            (func, counts)
        })
        .collect();
    counts.sort_unstable_by_key(|(func, _)| *func);
    let mut at = 0;
    each(ids, |id| {
        let holds = |at: usize| counts.get(at).is_some_and(|(func, _)| program.function_instrs(*func).contains(id));
        if !holds(at) {
            at = counts.partition_point(|(func, _)| program.function_instrs(*func).end <= id);
        }
        let (func, counts) = &counts[at];
        counts[(id.0 - program.function_instrs(*func).first.0) as usize]
    })
}
