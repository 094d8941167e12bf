//! What each operation computes, as nodes of a [`Graph`]: those that have a native form.

mod bits;
mod branch;
mod compare;
mod convert;
mod crossing;
mod division;
mod float;
mod half;
mod half_float;
mod hardware;
mod integer;
mod memory;
mod operation;
mod power;
mod scalar;
mod scalar_form;

pub use branch::{Branch, branch};
pub use hardware::{Hardware, HardwareAccess, hardware};
pub use memory::{Space, Store, scalar_load, store};
pub use scalar::{Logic, Scalar, ScalarForm, Source, When, Which};
pub use scalar_form::scalar_form;

use luthier_isa::op::Op as IsaOp;

use super::addresses::{Place, Rest};
use super::graph::Graph;
use super::nodes::{Binary, Node, Value};
use crate::op::{Kind, Op, OpFlags};
use crate::registers::{inline_constant_f16, inline_constant32, rows, scalar as codes};
use crate::valu::compare::comparison;

/// Scalar registers at most that are kept while masks take their place.
pub const MOST_OVERWRITTEN: usize = 8;

/// That a micro-op has no native form here: the run ends before its instruction.
#[derive(Debug)]
pub struct Foreign;

/// Adds what a micro-op does to a run's graph.
pub fn add(graph: &mut Graph, op: &Op, wave64: bool) -> Result<(), Foreign> {
    one(&mut Form { graph, op, wave64 })?;
    if graph.is_whole && graph.may_be_left() { Err(Foreign) } else { Ok(()) }
}

fn one(form: &mut Form) -> Result<(), Foreign> {
    let op = form.op;
    match op.kind {
        Kind::SPLAT => {
            let code = (op.src[0] & 255) as u8;
            let value = form.scalar(code)?;
            form.temporary(value)
        }
        Kind::SPLAT_CONSTANT => {
            let value = form.graph.constant(op.imm as u32);
            form.temporary(value)
        }
        Kind::COPY => {
            let value = form.source(0);
            form.result(value)
        }
        Kind::AND_XOR => {
            let value = form.source(0);
            let value = form.with_constant(Binary::And, value, op.imm as u32, !0);
            let value = form.with_constant(Binary::Xor, value, op.imm2 as u32, 0);
            form.temporary(value)
        }
        Kind::EXTRACT => {
            let (value, width) = (form.source(0), op.imm2 as u32 & 31);
            let value = form.field(value, op.imm as u32 & 31, width, op.imm2 >> 32 != 0);
            form.temporary(value)
        }
        Kind::DS_WORDS => form.lds_words(1),
        Kind::DS_WORDS_TWICE => form.lds_words(2),
        Kind::DS_PARTS => form.lds_part(),
        Kind::BUFFER => form.buffer(),
        kind if kind.is_of_memory() => form.global(),
        Kind::MERGE => form.placed(),
        Kind::PICK_HALVES => form.picked_halves(),
        Kind::MODIFY32 => form.clamped(),
        Kind::PERMUTE => form.permuted(),
        Kind::PERMUTE_EIGHT => form.permuted_eight(),
        Kind::RESTORE_EXEC => {
            form.graph.narrowed = None;
            Ok(())
        }
        kind => match kind.operation() {
            Some(operation) if op.flags.contains(OpFlags::CLAMP) => form.saturated(operation),
            Some(operation) => form.operation(operation),
            _ => Err(Foreign),
        },
    }
}

struct Form<'a> {
    graph: &'a mut Graph,
    op: &'a Op,
    wave64: bool,
}

impl Form<'_> {
    /// What source `k` holds.
    pub(super) fn source(&mut self, k: usize) -> Value {
        self.row(self.op.src[k])
    }

    pub(super) fn row(&mut self, row: u16) -> Value {
        if let Some(&value) = self.graph.rows.get(&row) {
            return value;
        }
        let constant = match row {
            rows::CONST..rows::CONST_F16 => inline_constant32((row - rows::CONST) as u8 + codes::FIRST_CONST),
            rows::CONST_F16.. => inline_constant_f16((row - rows::CONST_F16) as u8 + 240),
            _ => None,
        };
        match constant {
            Some(constant) => self.graph.constant(constant),
            None => self.graph.node(Node::Row(row)),
        }
    }

    pub(super) fn two(&mut self) -> [Value; 2] {
        [self.source(0), self.source(1)]
    }

    pub(super) fn three(&mut self) -> [Value; 3] {
        [self.source(0), self.source(1), self.source(2)]
    }

    /// A source of 64 bits, low word first.
    pub(super) fn pair(&mut self, k: usize) -> [Value; 2] {
        [self.row(self.op.src[k]), self.row(self.op.src[k] + 1)]
    }

    /// Whether the run has written a mask that this scalar register is of.
    pub(super) fn is_written(&self, code: u8) -> bool {
        let before = code.checked_sub(1).filter(|_| self.wave64);
        self.graph.masks.contains_key(&code) || before.is_some_and(|before| self.graph.masks.contains_key(&before))
    }

    /// EXEC is narrower than it says where lanes are left to the interpreter, and masks are not whole within a phase.
    pub(super) fn scalar(&mut self, code: u8) -> Result<Value, Foreign> {
        if matches!(code, codes::EXECZ | codes::VCCZ) || self.is_written(code) {
            return Err(Foreign);
        }
        if matches!(code, 126 | 127) {
            if self.graph.narrowed.is_some() {
                return Err(Foreign);
            }
            self.graph.is_whole = true;
        }
        if let Some(constant) = inline_constant32(code).filter(|_| (128..=248).contains(&code)) {
            return Ok(self.graph.constant(constant));
        }
        Ok(self.graph.node(Node::Scalar(code)))
    }

    /// The lanes of the mask that the micro-op reads.
    pub(super) fn mask(&mut self) -> Result<Value, Foreign> {
        self.lanes_of(self.op.ssrc)
    }

    /// The lanes of a mask in scalar registers.
    pub(super) fn lanes_of(&mut self, code: u8) -> Result<Value, Foreign> {
        if let Some(&value) = self.graph.masks.get(&code) {
            return Ok(value);
        }
        if matches!(code, 126 | 127) || self.is_written(code) || self.wave64 && self.is_written(code.wrapping_add(1)) {
            return Err(Foreign);
        }
        Ok(self.graph.node(Node::Mask(code)))
    }

    pub(super) fn result(&mut self, value: Value) -> Result<(), Foreign> {
        self.write(self.op.dst, value);
        Ok(())
    }

    pub(super) fn pair_result(&mut self, [low, high]: [Value; 2]) -> Result<(), Foreign> {
        self.write(self.op.dst, low);
        self.write(self.op.dst + 1, high);
        Ok(())
    }

    pub(super) fn write(&mut self, row: u16, value: Value) {
        let value = match self.graph.narrowed {
            Some(mask) if !is_temporary(row) => {
                let no = self.row(row);
                self.graph.node(Node::Select { mask, yes: value, no })
            }
            _ => value,
        };
        self.graph.rows.insert(row, value);
    }

    /// All lanes are written, whether they are on or not: nothing but a temporary row.
    pub(super) fn temporary(&mut self, value: Value) -> Result<(), Foreign> {
        if !is_temporary(self.op.dst) {
            return Err(Foreign);
        }
        self.result(value)
    }

    pub(super) fn mask_result(&mut self, value: Value) -> Result<(), Foreign> {
        let code = self.op.sdst;
        let overlaps = |other: &u8| *other != code && self.wave64 && other.abs_diff(code) == 1;
        // What the run has read before is read again in each piece of it.
        let is_read = |node: &Node| match *node {
            Node::Mask(read) => read == code || self.wave64 && read.abs_diff(code) == 1,
            Node::Global { place: Place { rest: Rest::Base(base), .. }, .. } => [base.code, base.code.wrapping_add(1)]
                .iter()
                .any(|&read| read == code || self.wave64 && read == code.wrapping_add(1)),
            Node::Buffer { at, .. } => at.reads(code) || self.wave64 && at.reads(code.wrapping_add(1)),
            _ => false,
        };
        let same = |node: &Node| matches!(*node, Node::Mask(read) if read == code);
        let clashes = self.graph.nodes.iter().any(|node| is_read(node) && !same(node));
        if matches!(code, 125..=127) || clashes || self.graph.masks.keys().any(overlaps) {
            return Err(Foreign);
        }
        let value = match self.graph.narrowed {
            Some(on) => self.graph.binary(Binary::And, value, on),
            None => value,
        };
        self.graph.masks.insert(code, value);
        let overwritten = self.graph.overwritten(self.wave64).len();
        self.graph.is_whole |= overwritten != 0;
        if overwritten > MOST_OVERWRITTEN { Err(Foreign) } else { Ok(()) }
    }

    /// EXEC becomes what a comparison gives, and nothing else does.
    pub(super) fn exec_result(&mut self, value: Value) -> Result<(), Foreign> {
        if self.op.sdst != codes::EXEC || self.graph.narrowed.is_some() {
            return Err(Foreign);
        }
        self.graph.masks.insert(codes::EXEC, value);
        Ok(())
    }

    pub(super) fn with_constant(&mut self, op: Binary, value: Value, constant: u32, neutral: u32) -> Value {
        if constant == neutral {
            return value;
        }
        let constant = self.graph.constant(constant);
        self.graph.binary(op, value, constant)
    }

    pub(super) fn shifted(&mut self, op: Binary, value: Value, by: u32) -> Value {
        let by = self.graph.constant(by & 31);
        self.graph.binary(op, value, by)
    }

    /// A shift by the lowest five bits.
    pub(super) fn shift(&mut self, op: Binary, value: Value, by: Value) -> Value {
        let by = match self.graph.of(by) {
            Node::Constant(by) => self.graph.constant(by & 31),
            _ => self.with_constant(Binary::And, by, 31, !0),
        };
        self.graph.binary(op, value, by)
    }

    pub(super) fn not(&mut self, value: Value) -> Value {
        self.with_constant(Binary::Xor, value, !0, 0)
    }

    /// `a < b`, unsigned.
    pub(super) fn below(&mut self, a: Value, b: Value) -> Value {
        self.graph.binary(Binary::Below, a, b)
    }
}

/// A row of the lowering, which no instruction reads that did not write it.
pub fn is_temporary(row: u16) -> bool {
    (rows::TEMP..rows::TEMP + rows::TEMPS).contains(&row)
}

/// Whether a micro-op with a native form writes a mask to `sdst`.
pub fn writes_mask(op: &Op) -> bool {
    op.kind.operation().is_some_and(|operation| {
        comparison(operation).is_some()
            || matches!(
                operation,
                IsaOp::VCmpClassF32
                    | IsaOp::VAddCoU32
                    | IsaOp::VAddcCoU32
                    | IsaOp::VSubCoU32
                    | IsaOp::VSubrevCoU32
                    | IsaOp::VSubbCoU32
                    | IsaOp::VSubbrevCoU32
                    | IsaOp::VDivScaleF32
                    | IsaOp::VDivScaleF64
                    | IsaOp::VMadU64U32
                    | IsaOp::VMadI64I32
            )
    })
}
