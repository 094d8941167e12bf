//! The increments that sum up the lengths of all blocks that run, as a plan has them: for tools that count in thousands of
//! functions, without an object for each place.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use luthier_lifter::{BlockId, FuncId, Program};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rayon::prelude::*;

use super::PyFunction;
use super::counting::{ending, of_lengths};
use crate::error::{Class, beside, guard};

/// The increments of one function.
#[derive(Clone, Debug, Default)]
pub struct Lengths {
    /// The different amounts, in the order of their first places, and at how many places each is added.
    amounts: Vec<(u64, u32)>,
    /// Which of them, where (`luthier.objects.places`), and whether the block has more than one instruction.
    places: Vec<(u32, Spot, bool)>,
}

#[derive(Clone, Copy, Debug)]
enum Spot {
    Entry(u64),
    Block(u64),
    Edge(u64, u64),
}

impl Lengths {
    fn of(program: &Program, id: FuncId, ending: &HashSet<u64>) -> Lengths {
        let function = program.function(id);
        let block = |n: u32| BlockId(function.blocks.first.0 + n);
        let mut all = Lengths::default();
        for (sum, place) in of_lengths(program, id, ending) {
            let amount = sum.cast_unsigned();
            let known = all.amounts.iter().position(|(known, _)| *known == amount);
            let number = known.unwrap_or_else(|| {
                all.amounts.push((amount, 0));
                all.amounts.len() - 1
            });
            all.amounts[number].1 += 1;
            let (spot, long) = match place {
                (None, _) => (Spot::Entry(function.vaddr), false),
                (Some(n), None) => {
                    (Spot::Block(program.block_vaddr(block(n))), program.block(block(n)).instrs.len() > 1)
                }
                (Some(n), Some(to)) => {
                    let last = program.block(block(n)).instrs.last().map_or(0, |last| program.vaddr(last));
                    (Spot::Edge(last, program.block_vaddr(block(to))), false)
                }
            };
            all.places.push((number as u32, spot, long));
        }
        all
    }
}

/// What was worked out of the lengths of a program's functions.
#[derive(Default)]
pub struct Counted {
    ending: OnceLock<HashSet<u64>>,
    asked: AtomicUsize,
    all: OnceLock<Vec<Lengths>>,
}

/// A caller that asks more often, for one function after the other, mostly wants all of them: they are done on all cores.
const FEW: usize = 16;

fn with_lengths<T: Send>(
    py: Python<'_>,
    function: &PyFunction,
    tell: impl FnOnce(&Lengths) -> PyResult<T> + Send,
) -> PyResult<T> {
    let (shared, id) = (function.program.clone(), function.id);
    guard(py, move || {
        let (program, counted) = (&shared.program, &shared.counted);
        let ends = counted.ending.get_or_init(|| ending(program.function_ids().map(|id| (program, id))));
        let of = |id: FuncId| Lengths::of(program, id, ends);
        if counted.all.get().is_none() && counted.asked.fetch_add(1, Ordering::Relaxed) < FEW {
            return tell(&of(id));
        }
        let count = program.functions().len() as u32;
        let all = counted.all.get_or_init(|| {
            let all = (0..count).into_par_iter().map(|n| of(FuncId(n))).collect();
            // Python makes a plan of them on one core; what placing asks first is done meanwhile.
            let shared = shared.clone();
            beside(move || shared.program.look_at_registers());
            all
        });
        tell(&all[id.index()])
    })
}

/// The different increments of a function's lengths, modulo 2**64, and at how many places each is.
#[pyfunction]
pub fn length_amounts(py: Python<'_>, function: PyRef<'_, PyFunction>) -> PyResult<Vec<(u64, u32)>> {
    with_lengths(py, &function, |lengths| Ok(lengths.amounts.clone()))
}

/// The places of these increments, as records of `luthier.objects.places.RECORD`: with a hook, and for each of the amounts the
/// number of the list of arguments.
#[pyfunction]
pub fn length_records<'py>(
    py: Python<'py>,
    function: PyRef<'_, PyFunction>,
    arguments: Vec<u32>,
    hook: u32,
    order: u16,
    priority: i32,
    after: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let records = with_lengths(py, &function, |lengths| {
        if arguments.len() != lengths.amounts.len() {
            return Err(Class::Argument.error("there has to be a list of arguments for each amount"));
        }
        let mut records = Vec::with_capacity(32 * lengths.places.len());
        for &(amount, spot, long) in &lengths.places {
            let (address, to, place) = match spot {
                Spot::Entry(address) => (address, 0, 0u8),
                Spot::Block(address) => (address, 0, if after && long { 3 } else { 1 }),
                Spot::Edge(address, to) => (address, to, 4),
            };
            records.extend(address.to_le_bytes());
            records.extend(to.to_le_bytes());
            records.extend(priority.to_le_bytes());
            records.extend(hook.to_le_bytes());
            records.extend(arguments[amount as usize].to_le_bytes());
            records.extend(order.to_le_bytes());
            records.extend([place, 0]);
        }
        Ok(records)
    })?;
    Ok(PyBytes::new(py, &records))
}
