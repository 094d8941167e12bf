//! Each file of tests/files is assembly with the expected result of lifting it below, after a line `; expect:`.
//!
//! Lines at the top say what to do: `; target: NAME` for another processor than gfx90a (`; wave: 64` where it has the
//! choice), `; kernel: NAME...` gives symbols kernel descriptors (`; scratch: buffer` with a descriptor of scratch
//! memory, `; preload: N` with preloaded arguments), `; print: WHAT...` chooses what is printed besides blocks, edges and
//! notes: at every instruction active, inactive, exec, pending and counters, and at every block loops. Registers are
//! those just before the instruction. With UPDATE=1 the expectations are rewritten.

mod common;

use std::fmt::Write as _;
use std::rc::Rc;

use luthier_isa::{Reg, RegSet};
use luthier_lifter::{
    BlockId, Counter, ExecStates, FuncId, InFlight, Line, Liveness, LoopForest, LoopId, PendingLoads, Point, Points,
    Program,
};

const MARK: &str = "\n; expect:\n";

#[test]
fn files() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    let mut names: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    assert!(names.len() >= 18, "the test files are gone");
    let mut wrong = Vec::new();
    for path in names {
        let text = std::fs::read_to_string(&path).unwrap();
        let (source, expected) = text.split_once(MARK).unwrap_or((&text, ""));
        let found = check(source);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, format!("{}{MARK}{found}", source.trim_end())).unwrap();
        } else if found != expected {
            wrong.push(format!("{}:\n{}", path.display(), diff(expected, &found)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn directive<'a>(source: &'a str, name: &str) -> Vec<&'a str> {
    let lines = source.lines().filter_map(|l| l.strip_prefix("; ")?.strip_prefix(name)?.strip_prefix(": "));
    lines.flat_map(str::split_whitespace).collect()
}

fn check(source: &str) -> String {
    let word = |name| directive(source, name).first().copied();
    let shape = common::Shape {
        target: word("target").unwrap_or("gfx90a"),
        wave64: word("wave") == Some("64"),
        preload: word("preload").map_or(0, |n| n.parse().unwrap()),
        private_buffer: word("scratch") == Some("buffer"),
    };
    let object = common::assemble_as(source, &directive(source, "kernel"), shape);
    let program = Program::lift(&object).unwrap();
    let print = directive(source, "print");
    let mut out = String::new();
    for f in program.function_ids() {
        function(&program, f, &print, &mut out);
    }
    let base = program.functions()[0].vaddr;
    for gap in program.gaps() {
        writeln!(out, "; gap +{:x} {} bytes {:?}", gap.vaddr - base, gap.size, gap.kind).unwrap();
    }
    for issue in program.issues() {
        writeln!(out, "; issue +{:x} {}", issue.vaddr - base, relative(&issue.kind.to_string(), base)).unwrap();
    }
    out
}

/// Addresses as distances from the first function, so that the expectations survive another linker.
fn relative(text: &str, base: u64) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let digits = word.strip_prefix("0x").map(|w| w.trim_end_matches([',', ')', ';']));
        match digits.and_then(|d| u64::from_str_radix(d, 16).ok()) {
            Some(n) if n >= base && n < base + 0x10000 => {
                words.push(word.replacen(&format!("{n:#x}"), &format!("+{:x}", n - base), 1))
            }
            _ => words.push(word.to_owned()),
        }
    }
    words.join(" ")
}

fn function(program: &Program, func: FuncId, print: &[&str], out: &mut String) {
    let f = program.function(func);
    let base = program.functions()[0].vaddr;
    write!(out, ";\n; {:?} {}", f.kind, f.name).unwrap();
    if program.is_address_taken(func) {
        out.push_str(" (address taken)");
    }
    if let Some(why) = &f.refusal {
        write!(out, " (refused: {})", relative(why, base)).unwrap();
    }
    out.push('\n');
    let live = Liveness::of(program, func);
    let pending = PendingLoads::of(program, func);
    let exec = ExecStates::of(program, func);
    let loops = LoopForest::of(program, func);
    if print.contains(&"loops") {
        loop_lines(program, &loops, out);
    }
    let lines: Vec<Line> = program.listing(func).collect();
    for block in f.blocks.iter() {
        let labels = |list: &[BlockId]| list.iter().map(|b| format!(" {}", program.label(*b))).collect::<String>();
        writeln!(
            out,
            "; {}: from{}; to{} ({:?})",
            program.label(block),
            labels(program.preds(block)),
            labels(program.succs(block)),
            program.block(block).terminator
        )
        .unwrap();
        let points = live.points(block);
        let under_way = pending.points(block);
        parts(&live, &pending, block, &points, &under_way);
        let masks = exec.points(block);
        for (n, i) in program.block(block).instrs.iter().enumerate() {
            let point = points.get(n).unwrap();
            let line = lines.iter().find(|l| matches!(l, Line::Instruction { instr, .. } if *instr == i)).unwrap();
            let Line::Instruction { text, notes, .. } = line else { unreachable!() };
            let mut all: Vec<String> = notes.iter().map(|n| relative(n, base)).collect();
            for what in print {
                match *what {
                    "active" => all.push(format!("active {}", set(&point.before.active))),
                    "inactive" => all.push(format!("inactive {}", set(&only_vector(point.before.inactive)))),
                    "exec" => all.push(format!("{:?}", masks[n]).to_lowercase()),
                    "loops" => {}
                    "counters" => all.push(counters(program, &under_way[n])),
                    "pending" => all.push(format!("pending {}", set(&under_way[n].registers()))),
                    other => panic!("; print: {other} is not known"),
                }
            }
            let text = relative(text, base);
            let text = format!(";   {:<4x} {text:<44} {}", program.vaddr(i) - base, all.join("; "));
            writeln!(out, "{}", text.trim_end()).unwrap();
        }
    }
}

/// What is asked of a part of a block is what is known of all of it.
fn parts(live: &Liveness, pending: &PendingLoads, block: BlockId, points: &Points, under_way: &[Rc<InFlight>]) {
    let count = points.iter().count();
    let same = |a: Point, b: Point| a.instr == b.instr && a.before == b.before && a.after == b.after;
    for from in 0..=count {
        let mut last = Points::NONE;
        live.points_from(block, from, &mut last);
        assert!((0..from).all(|n| last.get(n).is_none()), "before {from} of {block:?}");
        assert!((from..count).all(|n| same(last.get(n).unwrap(), points.get(n).unwrap())), "{block:?} from {from}");
        // Two places, or the same one.
        let (first, last) = (from / 2, from);
        let numbers: &[usize] = if first < last { &[first, last] } else { &[last] };
        let found = pending.points_at(block, numbers);
        assert!(found.iter().map(|(n, _)| n).eq(numbers), "{block:?} before {numbers:?}");
        assert!(found.iter().all(|(n, point)| *point == under_way[*n]), "{block:?} before {numbers:?}");
        if let Some(point) = points.get(from) {
            assert_eq!(pending.at(point.instr), *under_way[from], "{block:?} before {from}");
        }
    }
    assert!(pending.points_at(block, &[]).is_empty(), "{block:?}");
    if let Some(first) = points.get(0) {
        assert_eq!(live.before_first(block), *first.before, "{block:?}");
    }
}

fn loop_lines(program: &Program, loops: &LoopForest, out: &mut String) {
    let labels = |list: &[BlockId]| list.iter().map(|b| format!(" {}", program.label(*b))).collect::<String>();
    for (id, l) in (0..).map(LoopId).zip(loops.loops()) {
        let (members, indent) = (labels(loops.members(id)), "  ".repeat(l.depth as usize - 1));
        writeln!(out, "; {indent}loop{members}; back from{}", labels(&l.latches)).unwrap();
    }
    for (from, to) in loops.irreducible() {
        writeln!(out, "; no loop: back from {} to {}", program.label(*from), program.label(*to)).unwrap();
    }
}

/// The counters that may not be at zero, and the most that they may be at.
fn counters(program: &Program, in_flight: &InFlight) -> String {
    let mut out = Vec::new();
    for counter in Counter::ALL {
        let name = counter.name(program.target().generation());
        match (name, in_flight.outstanding(counter)) {
            (_, Some(0)) | (None, None) => {}
            (name, Some(n)) => out.push(format!("{} <= {n}", name.unwrap_or("a counter that is not there"))),
            (Some(name), None) => out.push(format!("{name} any")),
        }
    }
    if out.is_empty() { "all at zero".to_owned() } else { out.join(" ") }
}

fn only_vector(set: RegSet) -> RegSet {
    set.iter().filter(|r| r.is_vgpr() || r.is_agpr()).collect()
}

/// Ranges of registers, as short as can be.
fn set(set: &RegSet) -> String {
    if set.len() > 500 {
        // Upper VGPRs are only there on gfx1250.
        let all = if set.contains(Reg::vgpr(1023)) { 775 + 768 } else { 775 };
        return format!("all but {}", all - set.len());
    }
    let mut out = Vec::new();
    // MODE and the like last.
    let mut regs: Vec<Reg> = set.iter().collect();
    regs.sort_by_key(|r| r.is_state());
    let mut regs = regs.into_iter().peekable();
    while let Some(first) = regs.next() {
        let mut last = first;
        while let Some(next) = regs.next_if(|r| numbered(first) && numbered(*r) && *r == last.offset(1)) {
            last = next;
        }
        out.push(if first == last { first.to_string() } else { format!("{first}-{}", last.number()) });
    }
    if out.is_empty() { "none".to_owned() } else { out.join(" ") }
}

fn numbered(r: Reg) -> bool {
    r.is_sgpr() || r.is_vgpr() || r.is_agpr()
}

fn diff(expected: &str, found: &str) -> String {
    let (e, f): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), found.lines().collect());
    let mut out = String::new();
    for n in 0..e.len().max(f.len()) {
        let (a, b) = (e.get(n).copied().unwrap_or(""), f.get(n).copied().unwrap_or(""));
        if a != b {
            writeln!(out, "  expected {a}\n  found    {b}").unwrap();
        }
    }
    out
}
