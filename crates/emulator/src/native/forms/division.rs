//! The steps of f32 division, and what a function gives.

use super::super::functions::{Function, SOURCES};
use super::super::graph::{Node, Value};
use super::{Foreign, Form};
use crate::wave::scalar;

impl Form<'_> {
    fn called(&mut self, function: Function, given: &[Value]) -> Value {
        let mut sources = [None; SOURCES];
        sources.iter_mut().zip(given).for_each(|(to, &source)| *to = Some(source));
        self.graph.node(Node::Called { function, sources })
    }

    /// All of an operation is a function of so many sources.
    pub(super) fn function(&mut self, function: Function, sources: usize) -> Result<(), Foreign> {
        let given = self.three();
        let value = self.called(function, &given[..sources]);
        self.result(value)
    }

    /// The value, and in which lanes v_div_fmas is to scale back.
    pub(super) fn division_scale(&mut self) -> Result<(), Foreign> {
        let given = self.three();
        let value = self.called(Function::Scaled, &given);
        let back = self.graph.node(Node::Second(value));
        self.result(value)?;
        self.mask_result(back)
    }

    /// `a * b + c`, scaled back in the lanes of VCC.
    pub(super) fn division_fma(&mut self) -> Result<(), Foreign> {
        let given = self.three();
        let mask = self.lanes_of(scalar::VCC)?;
        let [a, b, c] = given.map(|value| self.flushed(value));
        let no = self.graph.node(Node::Fma(a, b, c));
        self.graph.is_computed(no);
        let no = self.flushed(no);
        let [a, b, c] = given;
        let yes = self.called(Function::ScalingBack, &[a, b, c, mask]);
        let value = self.graph.node(Node::Select { mask, yes, no });
        self.result(value)
    }
}
