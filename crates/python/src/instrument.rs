//! From hooks and points, as Python lists them, to an instrumented code object.

use std::collections::HashMap;
use std::sync::Arc;

use luthier_codegen::hook::{HookError, HookModule, HookSource};
use luthier_codegen::{ArgSpec, ArgValue, Counter, Insertion, Plan, Report, Template, Variable, When};
use luthier_isa::{Reg, RegRange, Target};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyTuple};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::error::{Class, guard};
use crate::json::to_python;
use crate::object::PyCodeObject;

/// What the compiler has to know of an argument.
enum Spec {
    Const(i128),
    /// The address in a variable; equal numbers, the same variable.
    Variable(usize),
    Counter,
    Reg(RegRange),
    InOut(RegRange),
}

impl Spec {
    fn of(item: &Bound<'_, PyTuple>) -> PyResult<Spec> {
        let kind: String = item.get_item(0)?.extract()?;
        Ok(match kind.as_str() {
            "const" => Spec::Const(item.get_item(1)?.extract()?),
            "variable" => Spec::Variable(item.get_item(1)?.extract()?),
            "counter" => Spec::Counter,
            "reg" => Spec::Reg(registers(item)?),
            "inout" => Spec::InOut(registers(item)?),
            other => return Err(Class::Argument.error(format!("{other} is no kind of argument"))),
        })
    }

    /// Variables are compiled by the name of their slot, and get their own when the template is bound.
    fn for_compiler(&self) -> ArgSpec {
        match *self {
            Spec::Const(bits) => ArgSpec::Const(bits),
            Spec::Variable(slot) => ArgSpec::Variable { symbol: slot_name(slot) },
            Spec::Counter => ArgSpec::Counter,
            Spec::Reg(range) => ArgSpec::Reg(range),
            Spec::InOut(range) => ArgSpec::RegInOut(range),
        }
    }
}

fn slot_name(slot: usize) -> String {
    format!("\u{1}{slot}")
}

/// `(_, file, first, count)`.
fn registers(item: &Bound<'_, PyTuple>) -> PyResult<RegRange> {
    let (_, file, first, count): (String, String, u16, u8) = item.extract()?;
    let (reg, limit): (fn(u16) -> Reg, u16) = match file.as_str() {
        "s" => (Reg::sgpr, 102),
        "v" => (Reg::vgpr, 256),
        _ => (Reg::agpr, 256),
    };
    if first + u16::from(count) > limit {
        return Err(Class::Argument.error(format!("there is no register {file}{}", first + u16::from(count) - 1)));
    }
    Ok(RegRange::new(reg(first), count))
}

/// A hook with the shape of its arguments.
struct Hook {
    tree: String,
    file: String,
    specs: Vec<Spec>,
}

/// What an insertion passes for one parameter.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Binding {
    Baked,
    Variable { symbol: String, offset: i64 },
    Counter(usize),
}

impl Binding {
    fn of(item: &Bound<'_, PyTuple>) -> PyResult<Binding> {
        let kind: String = item.get_item(0)?.extract()?;
        Ok(match kind.as_str() {
            "variable" => {
                Binding::Variable { symbol: item.get_item(1)?.extract()?, offset: item.get_item(2)?.extract()? }
            }
            "counter" => Binding::Counter(item.get_item(1)?.extract()?),
            _ => Binding::Baked,
        })
    }
}

struct Point {
    address: u64,
    when: When,
    hook: usize,
    bindings: Vec<Binding>,
    order: i32,
}

/// Address, after, hook, bindings, order.
type PyPoint<'py> = (u64, bool, usize, Vec<Bound<'py, PyTuple>>, i32);

#[pyfunction]
#[pyo3(signature = (code_object, hooks, variables, counters, insertions, check=false))]
pub fn instrument<'py>(
    py: Python<'py>,
    code_object: &PyCodeObject,
    hooks: Vec<(String, String, Vec<Bound<'py, PyTuple>>)>,
    variables: Vec<(String, u64, u64, Vec<u8>)>,
    counters: Vec<String>,
    insertions: Vec<PyPoint<'py>>,
    check: bool,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyAny>)> {
    let hooks = hooks
        .into_iter()
        .map(|(tree, file, specs)| Ok(Hook { tree, file, specs: specs.iter().map(Spec::of).collect::<PyResult<_>>()? }))
        .collect::<PyResult<Vec<Hook>>>()?;
    let points = insertions
        .into_iter()
        .map(|(address, after, hook, bindings, order)| {
            let bindings = bindings.iter().map(Binding::of).collect::<PyResult<Vec<_>>>()?;
            if hooks.get(hook).is_none_or(|h| h.specs.len() != bindings.len()) {
                return Err(Class::Argument.error(format!("the insertion at {address:#x} does not fit its hook")));
            }
            Ok(Point { address, when: if after { When::After } else { When::Before }, hook, bindings, order })
        })
        .collect::<PyResult<Vec<Point>>>()?;
    let names: Vec<String> = variables.iter().map(|(name, ..)| name.clone()).collect();
    let object = code_object.inner.clone();
    let result = guard(py, move || {
        let processor = &object.target().processor;
        let target = Target::from_name(processor)
            .filter(|target| *target == Target::Gfx90a)
            .ok_or_else(|| Class::Instrument.error(format!("{processor} code cannot be instrumented")))?;
        let plan = Plan {
            variables: variables
                .into_iter()
                .map(|(name, size, align, init)| Variable { name, size, align, init })
                .collect(),
            counters: counters.into_iter().map(|symbol| Counter { name: symbol.clone(), symbol, offset: 0 }).collect(),
            insertions: place(&hooks, target, &points)?,
            check,
        };
        let made = luthier_codegen::instrument(&object, &plan).map_err(|e| Class::Instrument.error(e))?;
        Ok((made.bytes, report(&made.report, &names)))
    });
    let (bytes, report) = result?;
    Ok((PyBytes::new(py, &bytes), to_python(py, &report)?))
}

/// Compiles the hooks, on all cores, and binds their variables.
fn place(hooks: &[Hook], target: Target, points: &[Point]) -> PyResult<Vec<Insertion>> {
    let templates = hooks
        .par_iter()
        .map(|hook| {
            let specs: Vec<ArgSpec> = hook.specs.iter().map(Spec::for_compiler).collect();
            HookModule::compile(&HookSource::Tree(hook.tree.clone()), target, &specs).map(Arc::new)
        })
        .collect::<Vec<Result<Arc<Template>, HookError>>>();
    let templates = templates
        .into_iter()
        .zip(hooks)
        .map(|(made, hook)| {
            made.map_err(|e| {
                let file = if e.line == 0 { &hook.file } else { &e.file };
                Python::attach(|py| hook_error(py, &e.message, file, e.line, e.col))
            })
        })
        .collect::<PyResult<Vec<_>>>()?;
    let mut bound: HashMap<(usize, &[Binding]), Arc<Template>> = HashMap::new();
    Ok(points
        .iter()
        .map(|point| {
            let key = (point.hook, point.bindings.as_slice());
            let template = bound
                .entry(key)
                .or_insert_with(|| bind(&templates[point.hook], &hooks[point.hook].specs, &point.bindings))
                .clone();
            let args =
                hooks[point.hook].specs.iter().zip(&point.bindings).map(|(spec, binding)| match (spec, binding) {
                    (Spec::Counter, Binding::Counter(index)) => ArgValue::Counter(*index),
                    (Spec::Reg(range), _) => ArgValue::Reg(*range),
                    (Spec::InOut(range), _) => ArgValue::RegInOut(*range),
                    _ => ArgValue::Baked,
                });
            Insertion { address: point.address, when: point.when, args: args.collect(), template, order: point.order }
        })
        .collect())
}

/// The template with the variables' own symbols and offsets in its relocations.
fn bind(template: &Arc<Template>, specs: &[Spec], bindings: &[Binding]) -> Arc<Template> {
    if template.relocs.is_empty() {
        return template.clone();
    }
    let mut bound = Template::clone(template);
    for (spec, binding) in specs.iter().zip(bindings) {
        if let (Spec::Variable(slot), Binding::Variable { symbol, offset }) = (spec, binding) {
            let placeholder = slot_name(*slot);
            for reloc in bound.relocs.iter_mut().filter(|r| r.symbol == placeholder) {
                reloc.symbol.clone_from(symbol);
                reloc.addend += offset;
            }
        }
    }
    Arc::new(bound)
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
            });
            (r.kernel.clone(), change)
        })
        .collect();
    json!({
        "points": report.points,
        "inserted_instructions": report.inserted_instructions,
        "copied_instructions": report.copied_instructions,
        "registers": registers,
        "rejected": report.rejected.iter().map(|r| json!({"address": r.address, "reason": r.reason})).collect::<Vec<_>>(),
        "notes": report.notes,
        "variables": variables,
    })
}

static HOOK_ERROR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A `luthier.lang.HookError` at a place in a source file.
fn hook_error(py: Python<'_>, message: &str, file: &str, line: u32, col: u32) -> PyErr {
    let made = HOOK_ERROR
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("luthier.lang")?.getattr("HookError")?.unbind()))
        .and_then(|class| class.bind(py).call_method1("at", (message, file, line, col)));
    match made {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}
