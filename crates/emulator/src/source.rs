//! Where an instruction of a loaded code object is in its source.

use std::sync::OnceLock;

use luthier_loader::{CodeObject, HookLine, HookMap, OriginMap, SourceMap};

use crate::report::SourceFrame;

/// A module's DWARF, read when it is first asked for, and where its hooks come from.
#[derive(Default)]
pub struct Sources {
    application: OnceLock<Option<SourceMap>>,
    hooks: Option<HookMap>,
}

impl Sources {
    pub fn new(hooks: Option<HookMap>) -> Sources {
        Sources { application: OnceLock::new(), hooks }
    }

    /// The place in the original code object of the instruction at `vaddr`, if that is another one, and its source.
    /// Damaged DWARF counts as none: what was found wrong with a kernel is worth more than that.
    pub fn locate(
        &self,
        object: &CodeObject,
        origins: Option<&OriginMap>,
        vaddr: u64,
    ) -> (Option<u64>, Vec<SourceFrame>) {
        let original = origins.and_then(|o| o.origin(vaddr));
        let map = self.application.get_or_init(|| object.source_map().ok().flatten());
        let frames = match map {
            Some(map) if original.is_some() || origins.is_none_or(|o| !o.covers(vaddr)) => {
                map.frames(original.unwrap_or(vaddr))
            }
            _ => Vec::new(),
        };
        if let Some(line) = self.hooks.as_ref().and_then(|hooks| hooks.line(vaddr)) {
            let HookLine { function, file, line, column } = line.clone();
            return (None, vec![SourceFrame { function: Some(function), file: Some(file), line, column }]);
        }
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let frame = |f: &luthier_loader::Frame<'_>| SourceFrame {
            function: owned(f.function),
            file: owned(f.file),
            line: f.line,
            column: f.column,
        };
        (original, frames.iter().map(frame).collect())
    }
}
