//! Nested address ranges, laid flat.

use std::collections::BinaryHeap;

use super::{NONE, Stretch};

/// `start..end` belongs to `scope`, unless a scope with a higher number has it too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stroke {
    pub start: u64,
    pub end: u64,
    pub scope: u32,
}

/// What is visible of the strokes. An inner scope has a higher number than what it is in, so it covers it.
pub fn flatten(mut strokes: Vec<Stroke>) -> Vec<Stretch> {
    strokes.retain(|stroke| stroke.start < stroke.end);
    strokes.sort_unstable();
    let mut strokes = strokes.into_iter().peekable();
    let mut stretches = Vec::new();
    // The strokes that have begun, the topmost first. What has ended is thrown away once it comes to the top.
    let mut open: BinaryHeap<(u32, u64)> = BinaryHeap::new();
    let mut at = 0;
    loop {
        while open.peek().is_some_and(|&(_, end)| end <= at) {
            open.pop();
        }
        if open.is_empty() {
            show(&mut stretches, at, NONE);
            let Some(next) = strokes.peek() else { break };
            at = next.start;
        }
        while let Some(stroke) = strokes.next_if(|stroke| stroke.start <= at) {
            open.push((stroke.scope, stroke.end));
        }
        let Some(&(scope, end)) = open.peek() else { break };
        show(&mut stretches, at, scope);
        at = strokes.peek().map_or(end, |next| next.start.min(end));
    }
    stretches
}

fn show(stretches: &mut Vec<Stretch>, start: u64, scope: u32) {
    match stretches.last_mut() {
        Some(last) if last.start == start => last.scope = scope,
        Some(last) if last.scope == scope => {}
        _ => stretches.push(Stretch { start, scope }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte asked on its own.
    #[test]
    fn the_highest_scope_shows() {
        let mut seed = 0x1234_5678_9abc_def1u64;
        let mut random = |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        for _ in 0..500 {
            let strokes: Vec<Stroke> = (0..random(12))
                .map(|_| {
                    let start = random(40);
                    Stroke { start, end: start + random(12), scope: random(6) as u32 }
                })
                .collect();
            let stretches = flatten(strokes.clone());
            for at in 0..60 {
                let expected = strokes.iter().filter(|s| (s.start..s.end).contains(&at)).map(|s| s.scope).max();
                let after = stretches.partition_point(|stretch| stretch.start <= at);
                let found = stretches[..after].last().map(|s| s.scope).filter(|&scope| scope != NONE);
                assert_eq!(found, expected, "{at} of {strokes:?}");
            }
        }
    }
}
