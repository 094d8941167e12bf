//! Whether the words that a lane stores in a row are computed alike, each of loaded words with its own number.
//!
//! Loaded words lie in memory as they are stored: lane by lane, a lane's words in a row. What takes each word by itself may then be
//! done without regard to which lane's it is, and which of its words.

use super::graph::Graph;
use super::nodes::{Binary, Node, Value};

/// Of what a value is computed: of loaded words with this number, if of any; and what it is, if they are first ones instead, and
/// operands that may change places are in order.
type Known = (Option<u8>, Value);

/// Whether these are a lane's words in a row that are computed so; one word may be computed in any way.
pub fn are_alike(graph: &Graph, words: &[Value]) -> bool {
    let &[first, _, ..] = words else { return true };
    // A place for what no first word is computed by.
    let mut graph = graph.clone();
    let mut known: Vec<Option<Known>> = Vec::new();
    for at in 0..graph.nodes.len() {
        let value = Value(at as u32);
        let next = match graph.nodes[at] {
            Node::Global { place, offset, word } => {
                Some((Some(word), graph.node(Node::Global { place, offset, word: 0 })))
            }
            Node::Scalar(_) | Node::Constant(_) | Node::Kept => Some((None, value)),
            node => of_firsts(&mut graph, &known, node),
        };
        known.push(next);
    }
    let Some((_, as_first)) = known[first.0 as usize] else { return false };
    words.iter().zip(0..).all(|(value, number)| {
        known[value.0 as usize].is_some_and(|(word, other)| other == as_first && word.is_none_or(|word| word == number))
    })
}

/// The same of an operation on what is known.
fn of_firsts(graph: &mut Graph, known: &[Option<Known>], node: Node) -> Option<Known> {
    let mut all = None;
    for source in node.sources() {
        let (word, _) = known[source.0 as usize]?;
        if all.is_some() && word.is_some() && all != word {
            return None;
        }
        all = all.or(word);
    }
    let first = |value: Value| known[value.0 as usize].map_or(value, |(_, first)| first);
    let node = match with_sources(node, first)? {
        Node::Binary(op, a, b) if graph.may_swap(op, a, b) => Node::Binary(op, a.min(b), a.max(b)),
        Node::Fma(a, b, c) if graph.may_swap(Binary::MulF, a, b) => Node::Fma(a.min(b), a.max(b), c),
        node => node,
    };
    Some((all, graph.node(node)))
}

/// An operation with other sources, if it takes each word by itself.
fn with_sources(node: Node, of: impl Fn(Value) -> Value) -> Option<Node> {
    use Binary::{AddD, DivD, MaxD, MinD, MulD, Shuffle};
    Some(match node {
        Node::Binary(AddD | MulD | DivD | MinD | MaxD | Shuffle, ..) => return None,
        Node::Binary(op, a, b) => Node::Binary(op, of(a), of(b)),
        Node::Shift(op, a, by) => Node::Shift(op, of(a), by),
        Node::CompareF(predicate, a, b) => Node::CompareF(predicate, of(a), of(b)),
        Node::Fma(a, b, c) => Node::Fma(of(a), of(b), of(c)),
        Node::Select { mask, yes, no } => Node::Select { mask: of(mask), yes: of(yes), no: of(no) },
        Node::FloatOfSigned(a) => Node::FloatOfSigned(of(a)),
        Node::SignedOfFloat(a) => Node::SignedOfFloat(of(a)),
        Node::Integral(a, how) => Node::Integral(of(a), how),
        Node::MulHigh { signed, a, b } => Node::MulHigh { signed, a: of(a), b: of(b) },
        Node::SingleOfHalf(a) => Node::SingleOfHalf(of(a)),
        Node::HalfOfSingle(a, nearest) => Node::HalfOfSingle(of(a), nearest),
        _ => return None,
    })
}
