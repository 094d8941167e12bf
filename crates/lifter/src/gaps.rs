//! The executable bytes that belong to no function: filler, or code that no symbol names and nothing reaches.

use std::ops::Range;

use crate::decode::is_padding;
use crate::flow::Draft;
use crate::lift::Code;
use crate::{Gap, GapKind, Issue, IssueKind};

/// The executable bytes that belong to no function.
pub(crate) fn gaps(drafts: &[Draft], code: &Code<'_>, issues: &mut Vec<Issue>) -> Vec<Gap> {
    let mut taken: Vec<Range<u64>> = Vec::new();
    for draft in drafts {
        if draft.named {
            taken.push(draft.entry..draft.entry + draft.size);
        }
        // There is no other instruction of it.
        if draft.swept {
            continue;
        }
        // Runs of instructions.
        let mut run: Option<Range<u64>> = None;
        let view = draft.view();
        for i in 0..view.insts.len() {
            let (vaddr, end) = (view.vaddr(i), view.end_of(i));
            match &mut run {
                Some(run) if run.end == vaddr => run.end = end,
                _ => taken.extend(run.replace(vaddr..end)),
            }
        }
        taken.extend(run);
    }
    taken.sort_by_key(|r| r.start);
    let mut gaps = Vec::new();
    let mut taken = taken.into_iter().peekable();
    for (range, _) in &code.ranges {
        let mut at = range.start;
        while let Some(next) = taken.next_if(|t| t.start < range.end) {
            if next.start > at {
                gaps.push(at..next.start);
            }
            at = at.max(next.end);
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
    }
    gaps.into_iter()
        .map(|range| {
            let (vaddr, size) = (range.start, range.end - range.start);
            let words = code.bytes(&range).unwrap_or_default().chunks(4);
            let padding = words.into_iter().all(|w| match w.try_into() {
                Ok(word) => is_padding(u32::from_le_bytes(word)),
                Err(_) => w.iter().all(|b| *b == 0),
            });
            if !padding {
                issues.push(Issue { vaddr, function: String::new(), kind: IssueKind::OutsideFunctions { size } });
            }
            Gap { vaddr, size, kind: if padding { GapKind::Padding } else { GapKind::Unknown } }
        })
        .collect()
}
