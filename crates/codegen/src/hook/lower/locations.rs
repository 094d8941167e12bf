//! Where each instruction of the IR comes from, as LLVM's debug information carries it to the machine code. What it calls
//! a line is the number of a place here: so no name has to go through it, and the columns stay.

use std::fmt::Write;

use luthier_loader::HookLine;

use super::super::ast::{At, Unit};

/// The shader part around the hook, and what calls the hook there.
pub const ENTRY: u32 = 6;
pub const CALL: u32 = 7;
/// The first of the unit's functions; the places come behind them.
const FUNCTIONS: u32 = 8;

/// Places that the IR names.
#[derive(Default)]
pub struct Locations {
    /// The function, by index into the unit's, and the line and column.
    all: Vec<(usize, At)>,
}

/// The metadata of a shader part around a hook that brings its own debug information.
pub fn frame() -> String {
    format!("{HEAD}{}!{CALL} = !DILocation(line: 0, scope: !{ENTRY})\n", subprogram(ENTRY, "entry"))
}

/// Of version 4, whose line tables hold names themselves; other modules' are written as these.
const HEAD: &str = "!llvm.dbg.cu = !{!1}\n\
     !llvm.module.flags = !{!4, !5}\n\
     !1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, isOptimized: true, emissionKind: LineTablesOnly)\n\
     !2 = !DIFile(filename: \"hook\", directory: \"\")\n\
     !3 = !DISubroutineType(types: !{null})\n\
     !4 = !{i32 2, !\"Debug Info Version\", i32 3}\n\
     !5 = !{i32 4, !\"Dwarf Version\", i32 4}\n";

fn subprogram(number: u32, name: &str) -> String {
    let what = "file: !2, type: !3, unit: !1, spFlags: DISPFlagDefinition | DISPFlagOptimized";
    format!("!{number} = distinct !DISubprogram(name: \"{name}\", {what})\n")
}

/// The metadata of a function, by index into the unit's.
pub fn function(index: usize) -> u32 {
    FUNCTIONS + index as u32
}

impl Locations {
    /// The metadata of a place in a function.
    pub fn of(&mut self, unit: &Unit, function: usize, at: At) -> u32 {
        let known = self.all.iter().rposition(|known| *known == (function, at));
        let number = known.unwrap_or_else(|| {
            self.all.push((function, at));
            self.all.len() - 1
        });
        FUNCTIONS + unit.functions.len() as u32 + number as u32
    }

    /// The metadata as text.
    pub fn metadata(&self, unit: &Unit) -> String {
        let mut out = HEAD.to_owned();
        out.push_str(&subprogram(ENTRY, "entry"));
        (0..unit.functions.len()).for_each(|index| out.push_str(&subprogram(function(index), &format!("f{index}"))));
        let _ = writeln!(out, "!{CALL} = !DILocation(line: 0, scope: !{ENTRY})");
        let first = FUNCTIONS + unit.functions.len() as u32;
        for (number, (index, _)) in self.all.iter().enumerate() {
            let scope = function(*index);
            let (id, line) = (first + number as u32, number + 1);
            let _ = writeln!(out, "!{id} = !DILocation(line: {line}, scope: !{scope})");
        }
        out
    }

    /// What the lines of the machine code stand for: line 1 is the first.
    pub fn lines(self, unit: &Unit) -> Vec<HookLine> {
        let line = |(index, (line, column)): (usize, At)| {
            let function = &unit.functions[index];
            HookLine { function: function.name.clone(), file: function.file.clone(), line, column }
        };
        self.all.into_iter().map(line).collect()
    }
}
