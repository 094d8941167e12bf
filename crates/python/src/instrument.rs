//! From a plan, as Python states it, to an instrumented code object.
//!
//! Hooks, the distinct lists of arguments, and assembly cross once each; an insertion is a record of 32 bytes that names
//! them by number, so that a million cross as one piece of memory.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use luthier_codegen::TemplateSource;
use luthier_codegen::hook::{self, HookModule, HookSource, assemble};
use luthier_codegen::{
    Arg, Beside, Bodies, Body, Checking, CodegenError, End, HookError, Init, Insertion, Placement, Plan, Report, Slot,
    Variable, Where,
};
use luthier_isa::{Inst, Mode, Target};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use serde_json::{Value, json};

use crate::background::in_background;
use crate::error::{Class, guard};
use crate::json::to_python;
use crate::library::PyLibraryHook;
use crate::object::PyNativeBytes;
use crate::program::PyProgram;

/// What a hook is given as.
#[derive(FromPyObject)]
pub enum Given {
    /// In JSON.
    Tree(String),
    Library(Py<PyLibraryHook>),
}

impl Given {
    /// A tree, and the module of a library's.
    fn parts(self) -> (Option<String>, Option<Arc<HookModule>>) {
        match self {
            Given::Tree(tree) => (Some(tree), None),
            Given::Library(hook) => (None, Some(hook.get().module.clone())),
        }
    }
}

/// Why a plan is refused. It becomes an exception on the thread that asked: the one that works must not need Python.
enum Refused {
    Argument(String),
    Instrument(CodegenError),
    /// The hook's name, if it is a library's.
    Hook(HookError, Option<String>),
}

impl From<Refused> for PyErr {
    fn from(refused: Refused) -> PyErr {
        match refused {
            Refused::Argument(why) => Class::Argument.error(why),
            Refused::Instrument(error @ CodegenError::Check(_)) => Class::Internal.error(format!(
                "internal error, please report it: {error} (check=False, or --no-check, places hooks unproven)"
            )),
            Refused::Instrument(error) => Class::Instrument.error(error),
            Refused::Hook(error, name) => hook_error(error, name.as_deref()),
        }
    }
}

/// Whether hooks can be placed in code for a processor, ``gfx90a`` say.
#[pyfunction]
pub fn can_instrument(processor: &str) -> bool {
    Target::from_name(processor).is_some_and(Target::has_tables)
}

/// What is to be placed, and how: the attributes of :class:`luthier.instrumenting.options.Plan`, which says what they are.
#[derive(FromPyObject)]
pub struct PlanOptions {
    hooks: Vec<Given>,
    /// Lists of arguments, as JSON (`luthier_codegen::Arg`).
    arguments: String,
    assembly: Vec<String>,
    /// Symbol, size, alignment, first bytes.
    variables: Vec<(String, u64, u64, Vec<u8>)>,
    slots: Vec<Carried>,
    /// Records of `luthier.objects.places.RECORD`.
    insertions: Vec<u8>,
    kernels: Option<Vec<String>>,
    check: Option<bool>,
    /// Where vaddr 0 of the loaded original is, and the addresses of `variables`.
    beside: Option<(u64, Vec<u64>)>,
    calling_convention: bool,
    bodies: String,
}

/// Compiles hooks, places them, and gives the new code object with a report. ``plan`` has the attributes of
/// :class:`luthier.instrumenting.options.Plan`.
#[pyfunction]
pub fn instrument<'py>(
    py: Python<'py>,
    program: &PyProgram,
    plan: PlanOptions,
) -> PyResult<(PyNativeBytes, Bound<'py, PyAny>)> {
    let lifted = program.inner.clone();
    let PlanOptions { hooks, arguments, assembly, variables, slots, insertions, .. } = plan;
    let PlanOptions { kernels, check, beside, calling_convention, bodies, .. } = plan;
    let bodies = match bodies.as_str() {
        "choose" => Bodies::Choose,
        "called" => Bodies::Called,
        _ => Bodies::InPlace,
    };
    let names: Vec<String> = variables.iter().map(|(name, ..)| name.clone()).collect();
    let hooks: Vec<_> = hooks.into_iter().map(Given::parts).collect();
    let result = in_background::<_, Refused>(py, move || {
        let mode = lifted.program.mode();
        let raw: Vec<Arc<[Inst]>> = assembly.iter().map(|text| assembled(mode, text)).collect::<Result<_, _>>()?;
        let args: Vec<Vec<Arg>> = serde_json::from_str(&arguments).map_err(|e| Refused::Argument(e.to_string()))?;
        let args: Vec<Arc<[Arg]>> = args.into_iter().map(Into::into).collect();
        let tables = Tables { hooks: hooks.len(), args: &args, raw: &raw };
        let plan = Plan {
            hooks: hooks.iter().map(template_source).collect::<Result<_, _>>()?,
            variables: variables
                .into_iter()
                .map(|(name, size, align, init)| Variable { name, size, align, init })
                .collect(),
            slots: {
                let entry = Slot::for_arguments(args.iter().flat_map(|list| list.iter()));
                slots.into_iter().map(slot).chain(entry).collect()
            },
            insertions: tables.insertions(&insertions)?,
            kernels,
            bodies,
            placement: if calling_convention { Placement::CallingConvention } else { Placement::default() },
            check: match check {
                None => Checking::Sample,
                Some(true) => Checking::Everything,
                Some(false) => Checking::Nothing,
            },
            beside: beside.map(|(original, variables)| Beside { original, variables }),
        };
        let made =
            luthier_codegen::instrument_lifted(&lifted.object, &lifted.program, &plan).map_err(
                |error| match error {
                    CodegenError::Hook { index, error } => {
                        let module = hooks.get(index).and_then(|hook| hook.1.as_ref());
                        Refused::Hook(error, module.map(|module| module.name().to_owned()))
                    }
                    other => Refused::Instrument(other),
                },
            )?;
        Ok((made.bytes, report(&made.report, &names)))
    });
    let (bytes, report) = result?;
    Ok((PyNativeBytes::new(bytes), to_python(py, &report)?))
}

/// What each wave carries: name, units, whether each lane has its own, the symbol that it is added to at the end.
type Carried = (String, u8, bool, Option<String>);

/// The slot, zero at first.
fn slot((name, units, per_lane, symbol): Carried) -> Slot {
    let end = symbol.map_or(End::Nothing, |symbol| End::AddTo { symbol, offset: 0 });
    Slot { name, units, per_lane, init: Init::Zero, end }
}

/// The instructions of assembly text, as they can be inserted into a program. ArgumentError for other text.
#[pyfunction(name = "assemble")]
pub fn assemble_text(py: Python<'_>, program: &PyProgram, text: String) -> PyResult<Vec<String>> {
    let mode = program.mode();
    guard(py, move || Ok(assembled(mode, &text)?.iter().map(ToString::to_string).collect()))
}

fn assembled(mode: Mode, text: &str) -> Result<Arc<[Inst]>, Refused> {
    assemble(mode, text).map(Into::into).map_err(|reason| Refused::Argument(format!("the assembly text: {reason}")))
}

/// Has compiled hooks kept in a folder, or, with None, no longer. What is in it becomes code: no other user may write to it.
#[pyfunction]
pub fn keep_hooks(folder: Option<PathBuf>) {
    hook::keep_in(folder);
}

/// Does for a processor what compiling the first hook has to wait for.
#[pyfunction]
pub fn warm_up(py: Python<'_>, processor: String) -> PyResult<()> {
    in_background::<_, Refused>(py, move || {
        let target = Target::from_name(&processor);
        for mode in Mode::all().filter(|mode| Some(mode.target()) == target) {
            // A processor without hooks says so when there is one.
            let _ = hook::warm_up(mode);
        }
        Ok(())
    })
}

/// Hooks that have been read, with what was compiled of them: kernels and code objects share it.
static MODULES: OnceLock<Mutex<HashMap<String, Arc<HookModule>>>> = OnceLock::new();
const MOST_MODULES: usize = 256;

fn template_source(
    (tree, module): &(Option<String>, Option<Arc<HookModule>>),
) -> Result<Arc<dyn TemplateSource>, Refused> {
    match (tree, module) {
        (_, Some(module)) => Ok(module.clone()),
        (Some(tree), None) => of_tree(tree),
        (None, None) => Err(Refused::Argument("a hook is a tree or a function of a library".to_owned())),
    }
}

fn of_tree(tree: &str) -> Result<Arc<dyn TemplateSource>, Refused> {
    let mut modules = MODULES.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = modules.get(tree) {
        return Ok(known.clone());
    }
    let module = HookModule::new(&HookSource::Tree(tree.to_owned()));
    let module = Arc::new(module.map_err(|error| Refused::Hook(error, None))?);
    if modules.len() >= MOST_MODULES {
        modules.clear();
    }
    modules.insert(tree.to_owned(), module.clone());
    Ok(module)
}

/// What the records of insertions name by number.
struct Tables<'a> {
    hooks: usize,
    args: &'a [Arc<[Arg]>],
    raw: &'a [Arc<[Inst]>],
}

/// Bytes of an insertion: address and successor (8 each), priority, hook or assembly, and list of arguments (4 each),
/// order of the tool (2), place and body (1 each), all little-endian. `luthier.instrumenting.planning` writes it.
const RECORD: usize = 32;

impl Tables<'_> {
    fn insertions(&self, bytes: &[u8]) -> Result<Vec<Insertion>, Refused> {
        let wrong = || Refused::Argument("the insertions are malformed".to_owned());
        let (records, rest) = bytes.as_chunks::<RECORD>();
        if !rest.is_empty() {
            return Err(wrong());
        }
        // At one place the order is that of priority, then of the tools.
        let ranks: BTreeSet<(i32, u16)> = records.iter().map(rank).collect();
        let ranks: Vec<(i32, u16)> = ranks.into_iter().collect();
        records
            .iter()
            .map(|record| {
                let (first, second) = (word(record, 5) as usize, word(record, 6) as usize);
                let body = match record[31] {
                    0 if first < self.hooks => {
                        Body::Hook { hook: first, args: self.args.get(second).ok_or_else(wrong)?.clone() }
                    }
                    1 => Body::Raw(self.raw.get(first).ok_or_else(wrong)?.clone()),
                    2 => Body::Nothing,
                    _ => return Err(wrong()),
                };
                let at = match record[30] {
                    0 => Where::Entry,
                    1 => Where::Before,
                    2 => Where::Instead,
                    3 => Where::After,
                    4 => Where::Edge { to: long(record, 1) },
                    _ => return Err(wrong()),
                };
                let order = ranks.partition_point(|r| *r < rank(record)) as i32;
                Ok(Insertion { address: long(record, 0), at, body, order })
            })
            .collect()
    }
}

fn word(record: &[u8; RECORD], index: usize) -> u32 {
    record.as_chunks().0.get(index).copied().map_or(0, u32::from_le_bytes)
}

fn long(record: &[u8; RECORD], index: usize) -> u64 {
    u64::from(word(record, 2 * index)) | u64::from(word(record, 2 * index + 1)) << 32
}

fn rank(record: &[u8; RECORD]) -> (i32, u16) {
    (word(record, 4).cast_signed(), word(record, 7) as u16)
}

fn report(report: &Report, variables: &[String]) -> Value {
    let registers: serde_json::Map<String, Value> = report
        .registers
        .iter()
        .map(|r| {
            let change = json!({
                "sgprs": [r.sgprs_before, r.sgprs_after],
                "vgprs": [r.vgprs_before, r.vgprs_after],
                "occupancy": [r.occupancy_before, r.occupancy_after],
                "scratch": [r.scratch_before, r.scratch_after],
                "lds": [r.lds_before, r.lds_after],
                "lds_most": r.lds_most,
            });
            (r.kernel.clone(), change)
        })
        .collect();
    let rejected = report.rejected.iter();
    let rejected = rejected.map(|r| {
        let (kind, reason) = (r.reason.kind(), r.reason.to_string());
        json!({"point": r.insertion, "address": r.address, "kind": kind, "reason": reason})
    });
    json!({
        "points": report.points,
        "inserted_instructions": report.inserted_instructions,
        "copied_instructions": report.copied_instructions,
        "registers": registers,
        "rejected": rejected.collect::<Vec<_>>(),
        "notes": report.notes,
        "variables": variables,
    })
}

static HOOK_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A `luthier.lang.HookError`, at its place if that is known; a library's hook without one goes by its name.
fn hook_error(HookError { place, message }: HookError, library: Option<&str>) -> PyErr {
    let message = match library {
        Some(name) if place.is_none() => format!("the hook {name}: {message}"),
        _ => message,
    };
    let (file, line, col) = place.map_or_else(Default::default, |place| (place.file, place.line, place.col));
    Python::attach(|py| {
        let made = HOOK_ERROR
            .get_or_try_init(py, || Ok::<_, PyErr>(py.import("luthier.lang")?.getattr("HookError")?.unbind()))
            .and_then(|class| class.bind(py).call_method1("at", (message, file, line, col)));
        match made {
            Ok(value) => PyErr::from_value(value),
            Err(error) => error,
        }
    })
}
