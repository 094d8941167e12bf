//! Source lines: frames for Python, and what listings and JSON say of them.

use luthier_lifter::{FuncId, export};
use luthier_loader::{Frame, SourceMap};
use pyo3::prelude::*;
use serde::Serialize;

use super::{Shared, hash_of};

/// A place in the source. ``str`` of it: ``saxpy at /src/saxpy.hip:6:3``.
#[pyclass(name = "Frame", module = "luthier._core", frozen, skip_from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PyFrame {
    /// The function's name as the source has it.
    #[pyo3(get)]
    function: Option<String>,
    /// The path that the compiler was given, behind its working directory unless it was absolute.
    #[pyo3(get)]
    file: Option<String>,
    /// From 1; 0 where the compiler says that the code belongs to no line.
    #[pyo3(get)]
    line: u32,
    /// From 1; 0 where the compiler did not say.
    #[pyo3(get)]
    column: u32,
}

#[pymethods]
impl PyFrame {
    fn __str__(&self) -> String {
        self.frame().to_string()
    }
    fn __repr__(&self) -> String {
        format!("<Frame {}>", self.frame())
    }
    fn __eq__(&self, other: &Self) -> bool {
        self == other
    }
    fn __hash__(&self) -> u64 {
        hash_of(self)
    }
}

impl PyFrame {
    pub fn of(frame: Frame<'_>) -> PyFrame {
        let Frame { function, file, line, column } = frame;
        PyFrame { function: function.map(str::to_owned), file: file.map(str::to_owned), line, column }
    }
    fn frame(&self) -> Frame<'_> {
        Frame { function: self.function.as_deref(), file: self.file.as_deref(), line: self.line, column: self.column }
    }
}

/// Frames on one line, innermost first: `twice at a.h:3:10, inlined into work at a.cl:12:5`.
pub fn on_one_line(frames: &[Frame<'_>]) -> String {
    frames.iter().map(Frame::to_string).collect::<Vec<_>>().join(", inlined into ")
}

/// What `luthier lift --emit json` prints: the lifter's document, with the source lines of what is in it.
#[derive(Serialize)]
pub struct Document<'a> {
    #[serde(flatten)]
    program: export::Document<'a>,
    /// By address; each row holds up to the next one's address, or the end of its function. `None` without DWARF.
    source: Option<Vec<Row<'a>>>,
}

#[derive(Serialize)]
struct Row<'a> {
    vaddr: u64,
    /// Innermost first; empty where DWARF says nothing.
    frames: Vec<Place<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    function: Option<&'a str>,
    file: Option<&'a str>,
    line: u32,
    column: u32,
}

/// The document for some functions, or for all of them.
pub fn document<'a>(shared: &'a Shared, only: Option<&[FuncId]>) -> Document<'a> {
    let program = export::document(&shared.program, only);
    let source = shared.lines().unwrap_or_default().map(|lines| {
        let ids = shared.program.function_ids().filter(|id| only.is_none_or(|only| only.contains(id)));
        ids.flat_map(|id| rows(shared, lines, id)).collect()
    });
    Document { program, source }
}

fn rows<'a>(shared: &'a Shared, lines: &'a SourceMap, func: FuncId) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    let mut last = None;
    for id in shared.program.function_instrs(func).iter() {
        let vaddr = shared.program.vaddr(id);
        let frames = lines.frames(vaddr);
        if last.as_ref() == Some(&frames) {
            continue;
        }
        let place = |frame: &Frame<'a>| {
            let &Frame { function, file, line, column } = frame;
            Place { function, file, line, column }
        };
        rows.push(Row { vaddr, frames: frames.iter().map(place).collect() });
        last = Some(frames);
    }
    rows
}
