//! Every object of the corpus, of every processor, lifts; what is left open is counted in docs/audit/lift-coverage.md, which
//! this test keeps true. UPDATE=1 rewrites it.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use luthier_isa::Target;
use luthier_lifter::{
    ExecState, ExecStates, GapKind, IssueKind, LoopForest, Program, Resolution, Terminator, Unresolved,
};
use luthier_loader::CodeObject;
use rayon::prelude::*;

const HEAD: &str = "# What lifting leaves open

Every code object of the corpus, lifted. The test `crates/lifter/tests/coverage.rs` computes these tables and compares
them; `UPDATE=1 cargo test --release -p luthier-lifter --test coverage` rewrites them.
";

/// Counts by name, in the order of the columns.
type Row = BTreeMap<&'static str, usize>;

const COLUMNS: [&str; 14] = [
    "objects",
    "refused objects",
    "functions",
    "instructions",
    "blocks",
    "loops",
    "irreducible edges",
    "calls",
    "through registers",
    "unresolved calls",
    "unresolved jumps",
    "unproven returns",
    "refused functions",
    "other issues",
];

const REASONS: [&str; 6] = ["given", "loaded", "from a call", "computed", "several", "not seen"];
const EXEC: [&str; 4] = ["full", "entry", "partial", "unknown"];

fn reason(why: &Unresolved) -> &'static str {
    REASONS[match why {
        Unresolved::Given { .. } => 0,
        Unresolved::Loaded { .. } => 1,
        Unresolved::Returned { .. } => 2,
        Unresolved::Computed { .. } => 3,
        Unresolved::Different { .. } => 4,
        Unresolved::Lost => 5,
    }]
}

fn count(path: &Path) -> Row {
    let object = match CodeObject::parse(std::fs::read(path).unwrap()) {
        Ok(object) => object,
        Err(error) => {
            println!("{}: {error}", path.display());
            return Row::from([("refused objects", 1)]);
        }
    };
    let p = Program::lift(&object).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut row = Row::new();
    let mut add = |name, n: usize| *row.entry(name).or_default() += n;
    add("objects", 1);
    add("functions", p.functions().len());
    add("instructions", p.instrs().len());
    add("blocks", p.blocks().len());
    for f in p.function_ids() {
        let loops = LoopForest::of(&p, f);
        add("loops", loops.loops().len());
        add("irreducible edges", loops.irreducible().len());
        add("refused functions", usize::from(!p.function(f).is_instrumentable()));
        let exec = ExecStates::of(&p, f);
        for state in p.function(f).blocks.iter().flat_map(|b| exec.points(b)) {
            let at = match state {
                ExecState::Full => 0,
                ExecState::Entry => 1,
                ExecState::Partial => 2,
                ExecState::Unknown => 3,
            };
            add(EXEC[at], 1);
        }
    }
    add("calls", p.calls().len());
    add("through registers", p.calls().iter().filter(|c| c.resolution == Resolution::Tracked).count());
    for issue in p.issues() {
        match &issue.kind {
            IssueKind::UnresolvedCall { why } => {
                add("unresolved calls", 1);
                add(reason(why), 1);
            }
            IssueKind::UnresolvedJump { why } => {
                add("unresolved jumps", 1);
                add(reason(why), 1);
            }
            IssueKind::UnprovenReturn => add("unproven returns", 1),
            other => {
                println!("{}: {other} at {:#x}", path.display(), issue.vaddr);
                add("other issues", 1);
            }
        }
    }
    // Each unresolved site is an issue, and the other way round.
    let open = |t: Terminator| p.blocks().iter().filter(|b| b.terminator == t).count();
    let unresolved = p.calls().iter().filter(|c| c.resolution == Resolution::Unresolved).count();
    assert_eq!(row.get("unresolved calls").copied().unwrap_or(0), unresolved, "{}", path.display());
    assert_eq!(row.get("unresolved jumps").copied().unwrap_or(0), open(Terminator::UnknownJump), "{}", path.display());
    let unknown = p.gaps().iter().filter(|g| g.kind == GapKind::Unknown).count();
    let outside = p.issues().iter().filter(|i| matches!(i.kind, IssueKind::OutsideFunctions { .. })).count();
    assert_eq!(unknown, outside, "{}", path.display());
    row
}

fn table(rows: &[(&str, Row)], columns: &[&str], out: &mut String) {
    writeln!(out, "| processor | {} |", columns.join(" | ")).unwrap();
    writeln!(out, "|---|{}", "---:|".repeat(columns.len())).unwrap();
    for (name, row) in rows {
        let cells: Vec<String> = columns.iter().map(|c| row.get(c).copied().unwrap_or(0).to_string()).collect();
        writeln!(out, "| {name} | {} |", cells.join(" | ")).unwrap();
    }
}

#[luthier_needs::needs(corpus)]
#[test]
fn the_whole_corpus_lifts() {
    let mut rows: Vec<(&str, Row)> = Vec::new();
    let mut without = Vec::new();
    for target in Target::ALL {
        let objects = common::objects_of(target.name());
        if !target.has_tables() {
            without.extend((!objects.is_empty()).then_some(target.name()));
            continue;
        }
        let counts: Vec<Row> = objects.par_iter().map(|path| count(path)).collect();
        let mut sum = Row::new();
        counts.iter().flatten().for_each(|(name, n)| *sum.entry(name).or_default() += n);
        if !counts.is_empty() {
            rows.push((target.name(), sum));
        }
    }
    let mut found = format!("{HEAD}\n");
    table(&rows, &COLUMNS, &mut found);
    found.push_str(
        "\n\"Refused objects\": of versions that the loader does not take. \"Through registers\": calls whose target value tracking has proven. \"Unproven returns\": jumps to the register \
         pair in\nwhich callers leave the return address, out of sight on some way.\n\nWhy targets are not known:\n\n",
    );
    table(&rows, &REASONS, &mut found);
    found.push_str("\nWhat is known of EXEC, in instructions:\n\n");
    table(&rows, &EXEC, &mut found);
    if !without.is_empty() {
        writeln!(found, "\nObjects of these processors wait for their tables: {}.", without.join(", ")).unwrap();
    }
    print!("{found}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit/lift-coverage.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    // A processor whose tables are new has no row yet; every row that there is must be true.
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let stale: Vec<&str> = written.lines().filter(|l| l.starts_with("| gfx") && !found.contains(*l)).collect();
    assert!(
        stale.is_empty(),
        "not what was found; UPDATE=1 rewrites docs/audit/lift-coverage.md:\n{}",
        stale.join("\n")
    );
    for (name, _) in &rows {
        if !written.contains(&format!("| {name} |")) {
            eprintln!("docs/audit/lift-coverage.md has no row for {name} yet: UPDATE=1 adds it");
        }
    }
    assert!(written.contains("| gfx90a |"), "docs/audit/lift-coverage.md has no rows");
}
