//! Which operations the mock device refuses, and why, stands in docs/audit/device-coverage.md, which this test keeps true.
//! UPDATE=1 rewrites it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use luthier_emulator::{Coverage, TARGETS, coverage};

const HEAD: &str = "# What the mock device knows

Every operation that LLVM has for a processor is either carried out exactly or refused by name, when a wave comes to it.
`luthier device --coverage PROCESSOR` prints the same. The test `crates/emulator/tests/coverage.rs` computes these tables
and compares them; `UPDATE=1 cargo test -p luthier-emulator --test coverage` rewrites them.
";

/// The reason without the operation's name, so that operations refused for the same one stand together.
fn reason(c: &Coverage) -> Option<String> {
    let why = c.refusal.as_deref()?;
    let words = why.split(' ').filter(|word| {
        let word = word.trim_end_matches([':', ',']);
        !["", "_e32", "_e64", "_dpp", "_sdwa", "_e64_dpp"].iter().any(|form| word.strip_suffix(form) == Some(c.base))
    });
    let words: Vec<&str> = words.collect();
    Some(match words.join(" ") {
        bare if bare == "the mock device does not implement" => "not implemented".to_owned(),
        said => said.trim_start_matches("with ").to_owned(),
    })
}

#[test]
fn the_documentation_has_every_operation_that_is_refused() {
    // Processors of a family that know the same stand together.
    let mut groups: Vec<(Vec<&str>, Vec<Coverage>)> = Vec::new();
    for target in TARGETS {
        let operations = coverage(target);
        assert!(operations.len() > 1000, "{}: {} operations", target.name(), operations.len());
        match groups.iter_mut().find(|(_, known)| *known == operations) {
            Some((names, _)) => names.push(target.name()),
            None => groups.push((vec![target.name()], operations)),
        }
    }
    for (names, _) in &mut groups {
        names.sort_unstable();
    }
    groups.sort_by_key(|(names, _)| (names[0].len(), names[0]));

    let mut found = format!("{HEAD}\n| processors | operations | known | refused |\n|---|---:|---:|---:|\n");
    for (names, operations) in &groups {
        let refused = operations.iter().filter(|c| c.refusal.is_some()).count();
        let (all, names) = (operations.len(), names.join(", "));
        writeln!(found, "| {names} | {all} | {} | {refused} |", all - refused).unwrap();
    }
    for (names, operations) in &groups {
        writeln!(found, "\n## {}\n", names.join(", ")).unwrap();
        let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for c in operations {
            if let Some(why) = reason(c) {
                reasons.entry(why).or_default().push(c.base);
            }
        }
        for (why, names) in reasons {
            writeln!(found, "- {why}: {}", names.join(", ")).unwrap();
        }
    }

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit/device-coverage.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let stale: Vec<&str> = found.lines().filter(|&line| !written.lines().any(|w| w == line)).collect();
    assert!(written == found, "UPDATE=1 rewrites docs/audit/device-coverage.md, which lacks:\n{}", stale.join("\n"));
}
