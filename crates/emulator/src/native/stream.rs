//! The last loads of a wave and the store behind them, vector by vector.
//!
//! All lanes load before any stores: where a vector's lanes are at neighbouring words, those of the next ones behind them, and
//! none is stored to that a later vector loads, it comes to the same to do all for one vector after the other. Whether it is
//! so, this finds out before it does anything; if not, the phases do it. What registers hold is not kept: the wave ends.
//!
//! Of several words a lane, each has to be made of those with its number in what is loaded, all in the same way ([`alike`]).
//! Then they stay in the order in which memory has them, and a wave is as many vectors more.
//!
//! [`alike`]: super::words_alike

use super::addresses::{Base, Offsets, Place, Rest, Size};
use super::forms::{Space, Store};
use super::graph::Graph;
use super::nodes::{Binary, Node, Value};
use super::phase::{Phase, What};
use super::words_alike::are_alike;
use crate::registers::scalar;

/// How lanes' addresses differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub low: Value,
    pub high: Option<Value>,
    pub offsets: Offsets,
}

/// Words that the lanes of a wave access: those of a shape, moved by what a pair of scalar registers holds and by a constant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Words {
    pub shape: usize,
    pub base: Option<u8>,
    pub offset: i32,
}

/// Loads and a store that may be done so.
pub struct Stream {
    /// What is to be known of addresses, and what is computed of the words that are loaded.
    pub addresses: Graph,
    pub values: Graph,
    pub shapes: Vec<Shape>,
    /// The last ones are stored.
    pub words: Vec<Words>,
    /// What a lane loads and stores, and its first word of what is stored.
    pub size: Size,
    pub data: Value,
}

impl Stream {
    /// Those that a phase and the next one are, if these are the last ones of a wave.
    pub fn of(phases: &[Phase], number: usize) -> Option<Stream> {
        let [Phase { what: What::Lanes(graph), .. }, Phase { what: What::Store(store), ops }] = phases.get(number..)?
        else {
            return None;
        };
        let (Space::Global { base }, size @ (Size::Word | Size::Pair | Size::Quad)) = (store.space, store.size) else {
            return None;
        };
        let leads_between = |phase: &Phase| matches!(phase.what, What::Skip(_, to) if to == ops.start);
        let is_other = |node: &Node| match node {
            Node::Global { place, .. } => place.size != size,
            Node::Lds { .. } | Node::Buffer { .. } | Node::Called { .. } | Node::Crossed { .. } | Node::Readable(_) => {
                true
            }
            Node::Elsewhere { .. } | Node::Reached(_) => true,
            _ => false,
        };
        if !graph.masks.is_empty()
            || !graph.checks(&graph.live()).is_empty()
            || graph.nodes.iter().any(is_other)
            || phases.iter().any(leads_between)
        {
            return None;
        }
        Stream::from(graph, store, base)
    }

    fn from(graph: &Graph, store: &Store, base: Option<Base>) -> Option<Stream> {
        let access = store.accesses.first()?;
        let mut addresses = graph.clone();
        let low = addresses.row(store.address);
        let rest = match base {
            Some(base) => Rest::Base(base),
            None => Rest::High(addresses.row(store.address + 1)),
        };
        let size = store.size;
        let data: Vec<Value> = (access.data..).take(size.words().into()).map(|row| addresses.row(row)).collect();
        if !are_alike(&addresses, &data) {
            return None;
        }
        let data = *data.first()?;
        let mut values = addresses.clone();
        let (mut shapes, mut words) = (Vec::new(), Vec::new());
        for (at, node) in graph.nodes.iter().enumerate() {
            let Node::Global { place, offset, .. } = *node else { continue };
            let these = words_of(&addresses, &mut shapes, place, offset);
            let known = words.iter().position(|&other| other == these);
            let number = known.unwrap_or(words.len());
            words.extend(known.is_none().then_some(these));
            values.nodes[at] = Node::Streamed(number as u8);
        }
        words.push(words_of(&addresses, &mut shapes, Place { low, rest, size }, access.offset));
        let roots = shapes.iter().flat_map(|shape| [Some(shape.low), shape.high]).flatten();
        addresses.rows = (0..).zip(roots).collect();
        values.rows = [(0, data)].into();
        let is_known = |number: usize| !addresses.nodes[number].accesses();
        let knows = needed(&addresses).iter().enumerate().all(|(number, needed)| !needed || is_known(number));
        knows.then_some(Stream { addresses, values, shapes, words, size, data })
    }
}

/// The words of a load or a store, whose shape is among those that are known then.
fn words_of(graph: &Graph, shapes: &mut Vec<Shape>, place: Place, offset: i32) -> Words {
    let Place { low, rest, .. } = place;
    let (shape, base) = match rest {
        Rest::Base(Base { code, offsets }) => (Shape { low, high: None, offsets }, Some(code)),
        Rest::High(high) => match moved(graph, low, high) {
            Some((code, low, high)) => (Shape { low, high: Some(high), offsets: Offsets::Unsigned }, Some(code)),
            None => (Shape { low, high: Some(high), offsets: Offsets::Unsigned }, None),
        },
    };
    let known = shapes.iter().position(|&other| other == shape);
    let number = known.unwrap_or(shapes.len());
    shapes.extend(known.is_none().then_some(shape));
    Words { shape: number, base, offset }
}

/// The pair of scalar registers that is added to a number of 64 bits, and that number, where an address is such a sum.
fn moved(graph: &Graph, low: Value, high: Value) -> Option<(u8, Value, Value)> {
    let Node::Binary(Binary::Add, a, b) = graph.of(low) else { return None };
    let Node::Binary(Binary::Sub, sum, carry) = graph.of(high) else { return None };
    let Node::Binary(Binary::Add, c, d) = graph.of(sum) else { return None };
    let Node::Binary(Binary::Below, of, addend) = graph.of(carry) else { return None };
    if of != low || addend != a && addend != b {
        return None;
    }
    let scalar = |value: Value| if let Node::Scalar(code) = graph.of(value) { Some(code) } else { None };
    let ways = [(a, b, c, d), (a, b, d, c), (b, a, c, d), (b, a, d, c)];
    ways.into_iter().find_map(|(lower, low, upper, high)| {
        let code = scalar(lower)?;
        (scalar(upper) == code.checked_add(1) && code < scalar::FIRST_CONST - 1).then_some((code, low, high))
    })
}

/// Which nodes a graph's rows need.
pub fn needed(graph: &Graph) -> Vec<bool> {
    let mut needed = vec![false; graph.nodes.len()];
    graph.rows.values().for_each(|root| needed[root.0 as usize] = true);
    for at in (0..graph.nodes.len()).rev() {
        if needed[at] {
            graph.nodes[at].sources().for_each(|source| needed[source.0 as usize] = true);
        }
    }
    needed
}
