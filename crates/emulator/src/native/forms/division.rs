//! The steps of f32 and f64 division, and other operations that native code calls a function for.

use super::super::functions::{Function, SOURCES};
use super::super::nodes::{Node, Value};
use super::{Foreign, Form};
use crate::registers::scalar;

impl Form<'_> {
    pub(super) fn called(&mut self, function: Function, given: &[Value], mask: Option<Value>) -> Value {
        let mut sources = [None; SOURCES];
        sources.iter_mut().zip(given).for_each(|(to, &source)| *to = Some(source));
        sources[SOURCES - 1] = mask;
        self.graph.node(Node::Called { function, sources })
    }

    /// The words of a result of 64 bits.
    fn called64(&mut self, function: Function, given: &[Value], mask: Option<Value>) -> [Value; 2] {
        let low = self.called(function, given, mask);
        [low, self.graph.node(Node::More(low, 1))]
    }

    /// The words of all three sources of 64 bits.
    fn pairs(&mut self) -> [Value; 6] {
        let [[a, b], [c, d], [e, f]] = [0, 1, 2].map(|k| self.pair(k));
        [a, b, c, d, e, f]
    }

    /// A function computes the whole operation from its first `sources` operands.
    pub(super) fn function(&mut self, function: Function, sources: usize) -> Result<(), Foreign> {
        let given = self.three();
        let value = self.called(function, &given[..sources], None);
        self.result(value)
    }

    /// The value, and in which lanes v_div_fmas is to scale back.
    pub(super) fn division_scale(&mut self) -> Result<(), Foreign> {
        let given = self.three();
        let value = self.called(Function::Scaled, &given, None);
        let back = self.graph.node(Node::More(value, 1));
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
        let yes = self.called(Function::ScalingBack, &given, Some(mask));
        let value = self.graph.node(Node::Select { mask, yes, no });
        self.result(value)
    }

    /// The same of f64.
    pub(super) fn division_scale64(&mut self) -> Result<(), Foreign> {
        let given = self.pairs();
        let [low, high] = self.called64(Function::Scaled64, &given, None);
        let back = self.graph.node(Node::More(low, 2));
        self.pair_result([low, high])?;
        self.mask_result(back)
    }

    pub(super) fn division_fma64(&mut self) -> Result<(), Foreign> {
        let mask = self.lanes_of(scalar::VCC)?;
        let given = self.pairs();
        let (a, b, c) = (self.doubles(0), self.doubles(1), self.doubles(2));
        let [first, second] = [0, 1].map(|half| {
            let value = self.graph.node(Node::FmaD(a[half], b[half], c[half]));
            self.graph.is_computed(value);
            value
        });
        let no = [false, true].map(|high| self.graph.node(Node::Split { high, first, second }));
        let yes = self.called64(Function::ScalingBack64, &given, Some(mask));
        let pair = [0, 1].map(|k| self.graph.node(Node::Select { mask, yes: yes[k], no: no[k] }));
        self.pair_result(pair)
    }

    pub(super) fn division_fixup64(&mut self) -> Result<(), Foreign> {
        let given = self.pairs();
        let pair = self.called64(Function::Fixup64, &given, None);
        self.pair_result(pair)
    }

    /// `x * 2^n`
    pub(super) fn times_power64(&mut self) -> Result<(), Foreign> {
        let ([low, high], n) = (self.pair(0), self.source(1));
        let pair = self.called64(Function::TimesPower64, &[low, high, n], None);
        self.pair_result(pair)
    }
}
