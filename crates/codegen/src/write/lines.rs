//! Source lines of the copies: which instruction stands where, for the loader to write down.

use luthier_isa::Decoder;
use luthier_loader::CodeObject;
use luthier_loader::LoadError;
use luthier_loader::lines::{CodeCopy, DebugSection, lines_of_copies};

use crate::layout::Layout;
use crate::layout::chunk::Chunk;

/// The debug sections that change. `text` are the bytes of the new code, which begins at `start`.
///
/// # Errors
/// The object's debug information cannot be read.
pub fn of_copies(
    object: &CodeObject,
    decoder: &Decoder,
    chunks: &[Chunk],
    layout: &Layout,
    (start, text): (u64, &[u8]),
) -> Result<Vec<DebugSection>, LoadError> {
    if object.section(".debug_info").is_none() {
        return Ok(Vec::new());
    }
    let size = |address: u64| {
        let bytes = address.checked_sub(start).and_then(|at| text.get(at as usize..)).unwrap_or_default();
        decoder.decode(bytes).map_or(4, |inst| inst.size() as u64)
    };
    let mut copies = Vec::with_capacity(chunks.iter().map(|chunk| chunk.origins.len() + 1).sum());
    for (c, chunk) in chunks.iter().enumerate().filter(|(_, chunk)| !chunk.words.is_empty()) {
        let mut from = layout.address(c, 0);
        for (word, original) in &chunk.origins {
            let at = layout.address(c, *word);
            let end = at + size(at);
            copies.push(CodeCopy { start: from, at, end, original: Some(*original) });
            from = end;
        }
        let end = layout.address(c, chunk.here());
        if from < end {
            copies.push(CodeCopy { start: from, at: end, end, original: None });
        }
    }
    lines_of_copies(object, &copies)
}
