//! Many instructions or blocks as a sequence: numbers; an object is made of one when it is asked for.

use std::ops::Range;
use std::sync::Arc;

use luthier_lifter::{BlockId, IdRange, InstrId};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PySlice;

use super::{PyBlock, PyInstruction, Shared, hash_of};

/// Numbers in runs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Ids {
    runs: Vec<Range<u32>>,
    /// How many there are before each run, and in all.
    starts: Vec<usize>,
}

impl Ids {
    fn new(runs: impl IntoIterator<Item = Range<u32>>) -> Ids {
        let mut ids = Ids { runs: Vec::new(), starts: vec![0] };
        for run in runs.into_iter().filter(|run| !run.is_empty()) {
            let count = ids.len() + run.len();
            match ids.runs.last_mut().filter(|last| last.end == run.start) {
                Some(last) => {
                    last.end = run.end;
                    ids.starts.pop();
                }
                None => ids.runs.push(run),
            }
            ids.starts.push(count);
        }
        ids
    }

    pub fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    pub fn runs(&self) -> &[Range<u32>] {
        &self.runs
    }

    fn get(&self, place: usize) -> Option<u32> {
        let run = self.starts.partition_point(|&start| start <= place).checked_sub(1)?;
        Some(self.runs.get(run)?.start + (place - self.starts[run]) as u32)
    }

    /// The place of the first `number`.
    fn place(&self, number: u32) -> Option<usize> {
        let run = self.runs.iter().position(|run| run.contains(&number))?;
        Some(self.starts[run] + (number - self.runs[run].start) as usize)
    }

    fn slice(&self, start: isize, step: isize, count: usize) -> Ids {
        if step == 1 {
            let places = start as usize..start as usize + count;
            let parts = self.runs.iter().zip(&self.starts).map(|(run, &first)| {
                let cut = |place: usize| run.start + place.clamp(first, first + run.len()).wrapping_sub(first) as u32;
                cut(places.start)..cut(places.end)
            });
            return Ids::new(parts);
        }
        let places = (0..count).map(|i| (start + i as isize * step) as usize);
        Ids::new(places.filter_map(|place| self.get(place)).map(|id| id..id + 1))
    }
}

macro_rules! sequence {
    ($doc:literal, $name:ident, $python:literal, $iterator:ident, $item:ident, $id:ident, $what:literal) => {
        #[doc = $doc]
        #[pyclass(name = $python, module = "luthier._core", frozen, sequence)]
        pub struct $name {
            program: Arc<Shared>,
            ids: Ids,
        }

        impl $name {
            pub fn new(program: Arc<Shared>, runs: impl IntoIterator<Item = IdRange<$id>>) -> $name {
                $name { program, ids: Ids::new(runs.into_iter().map(|run| run.first.0..run.end.0)) }
            }
            fn item(&self, id: u32) -> $item {
                $item { program: self.program.clone(), id: $id(id) }
            }
            fn find(&self, item: &Bound<'_, PyAny>) -> Option<usize> {
                let item = item.cast::<$item>().ok()?.get();
                self.ids.place(item.id.0).filter(|_| Arc::ptr_eq(&item.program, &self.program))
            }
        }

        #[pymethods]
        impl $name {
            fn __len__(&self) -> usize {
                self.ids.len()
            }
            fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
                if let Ok(slice) = index.cast::<PySlice>() {
                    let indices = slice.indices(self.ids.len() as isize)?;
                    let ids = self.ids.slice(indices.start, indices.step, indices.slicelength);
                    return Ok(Bound::new(py, $name { program: self.program.clone(), ids })?.into_any());
                }
                let Ok(index) = index.extract::<isize>() else {
                    return Err(PyTypeError::new_err("the index is no integer and no slice"));
                };
                let place = if index < 0 { index + self.ids.len() as isize } else { index };
                let id = usize::try_from(place).ok().and_then(|place| self.ids.get(place));
                let id = id.ok_or_else(|| PyIndexError::new_err(concat!("there are not so many ", $what)))?;
                Ok(Bound::new(py, self.item(id))?.into_any())
            }
            fn __iter__(&self) -> $iterator {
                let runs = self.ids.runs.clone();
                $iterator { program: self.program.clone(), run: 0..0, rest: runs.into_iter() }
            }
            fn __contains__(&self, item: &Bound<'_, PyAny>) -> bool {
                self.find(item).is_some()
            }
            /// The place of one of them, without a search. ValueError if it is not there.
            #[pyo3(signature = (value, start=0, stop=isize::MAX))]
            fn index(&self, value: &Bound<'_, PyAny>, start: isize, stop: isize) -> PyResult<usize> {
                let from_start = |place: isize| if place < 0 { place + self.ids.len() as isize } else { place };
                let looked_at = from_start(start)..from_start(stop);
                let found = self.find(value).filter(|&place| looked_at.contains(&(place as isize)));
                found.ok_or_else(|| PyValueError::new_err(concat!("not one of these ", $what)))
            }
            /// How often it is here.
            fn count(&self, value: &Bound<'_, PyAny>) -> usize {
                match value.cast::<$item>() {
                    Ok(item) if Arc::ptr_eq(&item.get().program, &self.program) => {
                        self.ids.runs.iter().filter(|run| run.contains(&item.get().id.0)).count()
                    }
                    _ => 0,
                }
            }
            fn __eq__(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.program, &other.program) && self.ids == other.ids
            }
            fn __hash__(&self) -> u64 {
                hash_of((Arc::as_ptr(&self.program).addr(), &self.ids))
            }
            fn __repr__(&self) -> String {
                format!(concat!("<{} ", $what, ">"), self.ids.len())
            }
        }

        #[pyclass(module = "luthier._core")]
        pub struct $iterator {
            program: Arc<Shared>,
            run: Range<u32>,
            rest: std::vec::IntoIter<Range<u32>>,
        }

        #[pymethods]
        impl $iterator {
            fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
                this
            }
            fn __next__(&mut self) -> Option<$item> {
                loop {
                    if let Some(id) = self.run.next() {
                        return Some($item { program: self.program.clone(), id: $id(id) });
                    }
                    self.run = self.rest.next()?;
                }
            }
        }
    };
}

sequence!(
    "Instructions, whose objects are made when they are asked for. Slices are of the same kind.",
    PyInstructions,
    "Instructions",
    PyInstructionIterator,
    PyInstruction,
    InstrId,
    "instructions"
);
sequence!(
    "Blocks, whose objects are made when they are asked for. Slices are of the same kind.",
    PyBlocks,
    "Blocks",
    PyBlockIterator,
    PyBlock,
    BlockId,
    "blocks"
);

impl PyInstructions {
    pub fn program(&self) -> &Shared {
        &self.program
    }
    pub fn ids(&self) -> &Ids {
        &self.ids
    }
}
