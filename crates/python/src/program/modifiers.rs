//! What stands behind the operands in assembly: `offset:-16 glc`, `row_mask:0xf`, `clamp`.
//!
//! Taken from the text, which is LLVM's to the letter: what a field is called there, and which sign and default it has,
//! is known in one place only.

use luthier_isa::{Inst, Wait};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// The value of a modifier.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// It is there: `glc`.
    Set,
    /// `offset:-16`.
    Number(i64),
    /// `op_sel:[0,1]`.
    Numbers(Vec<i64>),
    /// `dst_sel:WORD_1`.
    Name(String),
}

/// The modifiers of an instruction, in the order of assembly.
pub fn modifiers(inst: &Inst) -> Vec<(String, Value)> {
    let text = inst.to_string();
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    words.next();
    let mut found = Vec::new();
    // Operands come first, with commas between them.
    let mut operand = true;
    for word in words {
        // The operand of waits and messages has parentheses; a register tuple has its colon in brackets.
        let name_end = word.find(['[', '(', ':']).unwrap_or(word.len());
        let is_named = word[name_end..].starts_with(':');
        if operand && !is_named && word != "gds" {
            operand = word.ends_with(',');
            continue;
        }
        operand = false;
        if word[name_end..].starts_with('(') {
            continue;
        }
        let (name, value) = match word.split_once(':') {
            Some((name, value)) if is_named => (name, read(value)),
            _ => (word, Value::Set),
        };
        found.push((name.to_owned(), value));
    }
    found
}

fn read(text: &str) -> Value {
    if let Some(list) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))
        && let Some(numbers) = list.split(',').map(number).collect()
    {
        return Value::Numbers(numbers);
    }
    number(text).map_or_else(|| Value::Name(text.to_owned()), Value::Number)
}

fn number(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    value.ok().map(|value: i64| sign * value)
}

pub fn to_python<'py>(py: Python<'py>, inst: &Inst) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in modifiers(inst) {
        match value {
            Value::Set => dict.set_item(name, true)?,
            Value::Number(value) => dict.set_item(name, value)?,
            Value::Numbers(values) => dict.set_item(name, PyList::new(py, values)?)?,
            Value::Name(value) => dict.set_item(name, value)?,
        }
    }
    Ok(dict)
}

/// The counters that an instruction waits for, and down to which number each.
pub fn waits(inst: &Inst) -> Vec<(String, i64)> {
    let generation = inst.info().mode.target().generation();
    let bounds = Wait::of_instruction(inst).bounds();
    bounds.filter_map(|(counter, value)| Some((counter.name(generation)?.to_owned(), value.into()))).collect()
}
