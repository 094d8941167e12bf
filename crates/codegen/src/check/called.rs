//! Hooks that are called: at each place the call keeps the way back and the hook leaves it alone; in the finished copy
//! each call leads to what was proven at its place.

use luthier_isa::{Decoder, Inst, Op, Operand, RegRange};

use super::value::Value;
use super::{Checker, Violation, Wrong};
use crate::RelocKind;
use crate::layout::chunk::{Chunk, ChunkId, Fixup, Half, Place};
use crate::splice::called::Body;
use crate::splice::emit::Span;
use crate::splice::{Env, Literal};

impl Checker<'_> {
    /// A call, a hook and its return, as they are issued. `number` counts the hooks of the place.
    pub(super) fn call(&mut self, number: usize, span: &Span, insts: &[Inst]) {
        let [call, code @ .., back] = insts else { return };
        let hook = || format!("{:?}", span.hook);
        let wrong = |what: String| Wrong::Called { hook: hook(), what };
        let operand = |inst: &Inst| inst.operands().next().and_then(|(_, value)| value.reg());
        let pair = |range: RegRange| range.count == 2 && !range.is_half() && range.first.is_sgpr();
        let link = operand(call).filter(|range| call.info().op() == Op::SCallB64 && pair(*range));
        let Some(link) = link else { return self.wrong(wrong(format!("{call} stands in front of it"))) };
        self.touch(call);
        let halves = [false, true].map(|high| Value::Return { hook: number as u16, high });
        link.units().zip(halves).for_each(|(unit, value)| self.state.set(unit, value));
        self.hook(number, span, code);
        self.touch(back);
        let from = operand(back).filter(|range| back.info().op() == Op::SSetpcB64 && pair(*range));
        match from.map(|range| range.units().map(|unit| self.state.get(unit)).collect::<Vec<_>>()) {
            Some(holds) if holds == halves => {}
            Some(holds) => self.wrong(wrong(format!("{back} goes where {} is", holds[0]))),
            None => self.wrong(wrong(format!("{back} stands behind it"))),
        }
    }
}

/// All calls of a finished copy that lead to something else than was proven at their places.
pub fn called<'a>(
    env: &Env,
    id: ChunkId,
    chunk: &Chunk,
    calls: impl Iterator<Item = (u32, &'a Body)>,
) -> Vec<Violation> {
    let mut found = Vec::new();
    for (word, body) in calls {
        if let Some(what) = differs(env, id, chunk, word, body) {
            let next = chunk.origins.partition_point(|(at, _)| *at < word);
            let near = chunk.origins.get(next).or(chunk.origins.last());
            let kind = Wrong::Called { hook: format!("the hook at word {word}"), what };
            found.push(Violation { address: near.map_or(0, |(_, vaddr)| *vaddr), kind });
        }
    }
    found
}

/// What is wrong with the code that a word calls.
fn differs(env: &Env, id: ChunkId, chunk: &Chunk, word: u32, body: &Body) -> Option<String> {
    let aims = chunk.fixups.iter().filter_map(|fixup| match *fixup {
        Fixup::Branch { at, to } if at == word => Some(to),
        _ => None,
    });
    let aims: Vec<Place> = aims.collect();
    let [Place::Label { chunk: to, label }] = aims[..] else { return Some(format!("it is aimed at {aims:?}")) };
    let label = chunk.labels.get(label as usize).filter(|_| to == id);
    let Some(label) = label else { return Some("it is aimed at no label of the copy".to_owned()) };
    if chunk.origins.last().is_some_and(|(at, _)| *at >= label.word) {
        return Some("it leads to the application".to_owned());
    }
    let (decoder, mut at) = (Decoder::new(env.machine.mode), label.word);
    let decoded = |at: u32| {
        let words = chunk.words.get(at as usize..).unwrap_or_default();
        let bytes: Vec<u8> = words.iter().take(5).flat_map(|w| w.to_le_bytes()).collect();
        decoder.decode(&bytes)
    };
    let pair = |inst: &Inst| inst.operands().find_map(|(_, value)| value.reg());
    let leads_back = |call: &Inst| {
        call.info().op() == Op::SCallB64 && pair(call).is_some() && pair(call) == body.insts.last().and_then(pair)
    };
    if !decoded(word).is_ok_and(|call| leads_back(&call)) {
        return Some("no call stands there that keeps the way back where the body looks for it".to_owned());
    }
    for (n, wanted) in body.insts.iter().enumerate() {
        let Ok(stands) = decoded(at) else { return Some(format!("{wanted} is not there")) };
        at += stands.size() as u32 / 4;
        let literals: Vec<&Literal> = body.literals.iter().filter(|l| l.inst == n).collect();
        let same = match literals[..] {
            [] => stands.words() == wanted.words(),
            [literal] => stands.size() == wanted.size() && is_bound(env, chunk, (&stands, wanted), literal, at),
            _ => false,
        };
        if !same {
            return Some(format!("instruction {n} is {stands} and not {wanted}"));
        }
    }
    None
}

/// A literal refers to its place. Where that has an address already, a move of half of it stands there.
fn is_bound(env: &Env, chunk: &Chunk, (stands, wanted): (&Inst, &Inst), literal: &Literal, end: u32) -> bool {
    let to = |inst: &Inst| inst.operands().next().map(|(_, value)| value);
    if env.plan.beside.is_some() && !matches!(literal.place, Place::Label { .. } | Place::Constant { .. }) {
        let moved = matches!(stands.operands().nth(1), Some((_, Operand::Literal(_) | Operand::Inline(_))));
        return stands.info().op() == Op::SMovB32 && to(stands) == to(wanted) && moved;
    }
    let half = match literal.kind {
        RelocKind::Rel32Lo | RelocKind::Abs32Lo => Half::Low,
        RelocKind::Rel32Hi | RelocKind::Abs32Hi => Half::High,
        RelocKind::Rel64 | RelocKind::Abs64 => Half::Whole,
    };
    let first = if half == Half::Whole { end - 2 } else { end - 1 };
    let aimed = |fixup: &&Fixup| matches!(fixup, Fixup::Relative { at, .. } if *at == first);
    let fixups: Vec<&Fixup> = chunk.fixups.iter().filter(aimed).collect();
    let right = match fixups[..] {
        [&Fixup::Relative { to, addend, part, .. }] => to == literal.place && addend == literal.addend && part == half,
        _ => false,
    };
    right && stands.info() == wanted.info() && to(stands) == to(wanted)
}
