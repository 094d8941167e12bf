//! What LLVM's tables say of an opcode in MIR: its name there, and where each of its operands comes from.

use std::collections::HashMap;
use std::sync::LazyLock;

use luthier_isa::{Generation, Inst};

/// Where one explicit operand of a machine instruction comes from.
#[derive(Debug)]
pub(super) enum Slot {
    /// A register or constant that the encoding names in these bits.
    Source {
        def: bool,
        mask: u128,
    },
    /// The same as an earlier operand.
    Tied(usize),
    /// A register that the encoding leaves no choice in, by LLVM's name.
    Fixed(&'static str),
    Immediate(Immediate),
    /// The target of a branch.
    Target,
}

/// A number with bits of the encoding xored into it.
#[derive(Debug)]
pub(super) struct Immediate {
    fixed: i64,
    runs: Vec<Run>,
}

#[derive(Debug)]
struct Run {
    low: usize,
    /// One weight a bit.
    weights: Vec<i64>,
}

impl Immediate {
    pub fn value(&self, inst: &Inst) -> i64 {
        let mut value = self.fixed;
        for run in &self.runs {
            for (bit, weight) in (run.low..).zip(&run.weights) {
                if inst.words().get(bit / 32).is_some_and(|word| word >> (bit % 32) & 1 != 0) {
                    value ^= weight;
                }
            }
        }
        value
    }
}

/// What opcodes have in common that differ in name only.
#[derive(Debug)]
pub(super) struct Shape {
    pub operands: Vec<Slot>,
    /// LLVM's names of the registers written and read beside the operands.
    pub implicit_defs: Vec<&'static str>,
    pub implicit_uses: Vec<&'static str>,
    /// What LLVM's assembler puts into bits that no operand shows: word, mask, value.
    hidden: Vec<(usize, u32, u32)>,
    /// The same of bits that only another name for the opcode has operands for.
    unsaid: Vec<(usize, u32, u32)>,
    pub is_terminator: bool,
}

impl Shape {
    /// Has the instruction a bit without effect that LLVM's assembler would not give it?
    pub fn hides(&self, inst: &Inst) -> bool {
        differs(&self.hidden, inst)
    }

    fn can_say(&self, inst: &Inst) -> bool {
        !differs(&self.unsaid, inst)
    }
}

fn differs(bits: &[(usize, u32, u32)], inst: &Inst) -> bool {
    bits.iter().any(|(word, mask, value)| inst.words().get(*word).is_some_and(|w| w & mask != *value))
}

pub(super) struct Table {
    shapes: Vec<Shape>,
    generations: Vec<Generation>,
    /// By LLVM's name of the encoded opcode: the mask of the generations, MIR's name, the shape.
    rows: HashMap<&'static str, Vec<(u64, &'static str, usize)>>,
}

impl Table {
    pub fn get() -> &'static Table {
        static TABLE: LazyLock<Table> =
            LazyLock::new(|| Table::parse(include_str!("../../tables/mir.txt")).expect("the generated table"));
        &TABLE
    }

    /// MIR's name for an instruction, and the shape.
    pub fn find(&self, inst: &Inst) -> Option<(&'static str, &Shape)> {
        let info = inst.info();
        let generation = info.mode.target().generation();
        let bit = self.generations.iter().position(|g| *g == generation)?;
        let rows = self.rows.get(info.llvm)?.iter().filter(|(mask, ..)| mask >> bit & 1 != 0);
        let rows = rows.map(|(_, name, shape)| (*name, &self.shapes[*shape])).filter(|(_, shape)| shape.can_say(inst));
        // The plain name, if it says everything; the encoded opcode's own is the longest.
        rows.min_by_key(|(name, _)| name.len())
    }

    fn parse(text: &'static str) -> Result<Table, String> {
        let mut table = Table { shapes: Vec::new(), generations: Vec::new(), rows: HashMap::new() };
        for line in text.lines().filter(|l| !l.starts_with("# ")) {
            let columns: Vec<&str> = line.split('\t').collect();
            let wrong = || format!("line {line}");
            match columns[..] {
                [list] if list.starts_with("#generations ") => {
                    let named = |word: &str| Generation::ALL.into_iter().find(|g| format!("{g:?}") == word);
                    table.generations = words(list).skip(1).map(named).collect::<Option<_>>().ok_or_else(wrong)?;
                }
                [number, operands, implicit, hidden, flags] if number == format!("#shape {}", table.shapes.len()) => {
                    table.shapes.push(shape(operands, implicit, hidden, flags).ok_or_else(wrong)?);
                }
                [mask, llvm, name, number] => {
                    let (mask, number) = (u64::from_str_radix(mask, 16).ok(), number.parse().ok());
                    let (mask, number) = mask.zip(number.filter(|n| *n < table.shapes.len())).ok_or_else(wrong)?;
                    // A number says how much shorter MIR's name is.
                    let name = match name.parse::<usize>() {
                        Ok(less) => llvm.len().checked_sub(less).and_then(|n| llvm.get(..n)).ok_or_else(wrong)?,
                        Err(_) => name,
                    };
                    table.rows.entry(llvm).or_default().push((mask, name, number));
                }
                _ => return Err(wrong()),
            }
        }
        Ok(table)
    }
}

fn words(column: &'static str) -> impl Iterator<Item = &'static str> {
    column.split_whitespace().filter(|w| *w != "-")
}

fn shape(operands: &'static str, implicit: &'static str, hidden: &'static str, flags: &str) -> Option<Shape> {
    Some(Shape {
        operands: words(operands).map(slot).collect::<Option<_>>()?,
        implicit_defs: words(implicit).filter_map(|w| w.strip_prefix('=')).collect(),
        implicit_uses: words(implicit).filter(|w| !w.starts_with('=')).collect(),
        hidden: words(hidden).filter(|w| !w.starts_with('!')).map(bits).collect::<Option<_>>()?,
        unsaid: words(hidden).filter_map(|w| w.strip_prefix('!')).map(bits).collect::<Option<_>>()?,
        is_terminator: flags.contains('T'),
    })
}

fn bits(text: &str) -> Option<(usize, u32, u32)> {
    let (word, rest) = text.split_once(':')?;
    let (mask, value) = rest.split_once(':')?;
    Some((word.parse().ok()?, u32::from_str_radix(mask, 16).ok()?, u32::from_str_radix(value, 16).ok()?))
}

fn slot(word: &'static str) -> Option<Slot> {
    let (kind, rest) = word.split_at_checked(1)?;
    Some(match kind {
        "D" | "R" => Slot::Source { def: kind == "D", mask: u128::from_str_radix(rest, 16).ok()? },
        "T" => Slot::Tied(rest.parse().ok()?),
        "F" => Slot::Fixed(rest),
        "I" => Slot::Immediate(immediate(rest)?),
        "B" => Slot::Target,
        _ => return None,
    })
}

/// `3^12:13u0^25:1u4^60:3s2`: a number, then runs of bits as lowest bit, width, and either the weight's shift (`s` where the
/// last bit is a sign) or, behind an `x`, the weight of a single bit.
fn immediate(text: &str) -> Option<Immediate> {
    let mut parts = text.split('^');
    let fixed = parts.next()?.parse().ok()?;
    let runs = parts.map(run).collect::<Option<_>>()?;
    Some(Immediate { fixed, runs })
}

fn run(text: &str) -> Option<Run> {
    let (low, rest) = text.split_once(':')?;
    let at = rest.find(|c: char| !c.is_ascii_digit())?;
    let (width, kind, value) = (rest[..at].parse::<u32>().ok()?, &rest[at..=at], &rest[at + 1..]);
    let weights = match kind {
        "x" => vec![value.parse().ok()?],
        _ => {
            let shift: u32 = value.parse().ok()?;
            let mut weights: Vec<i64> = (shift..shift + width).map(|n| 1i64.checked_shl(n)).collect::<Option<_>>()?;
            if kind == "s" {
                let last = weights.last_mut()?;
                *last = last.wrapping_neg();
            }
            weights
        }
    };
    Some(Run { low: low.parse().ok()?, weights })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses() {
        assert!(Table::get().rows.len() > 3000);
        let bits = run("12:3s4").unwrap();
        assert_eq!((bits.low, bits.weights), (12, vec![16, 32, -64]));
    }
}
