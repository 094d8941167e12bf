//! Graphviz draws every graph that we write, with all its blocks, edges and instructions.

mod common;

use std::io::Write as _;
use std::process::{Command, Stdio};

use luthier_lifter::{FuncId, Program, export};

/// The drawing.
fn draw(graph: &str) -> String {
    let mut dot = Command::new("dot")
        .arg("-Tsvg")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("graphviz is not here: tools/system-packages installs it");
    // It reads all before it writes.
    dot.stdin.take().unwrap().write_all(graph.as_bytes()).unwrap();
    let output = dot.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.is_empty(), "{errors}\n{graph}");
    String::from_utf8(output.stdout).unwrap()
}

fn check(program: &Program, func: FuncId) {
    let graph = export::dot(program, func);
    let drawing = draw(&graph);
    let count = |what: &str| drawing.matches(what).count();
    let blocks = program.function(func).blocks;
    for block in blocks.iter() {
        assert_eq!(count(&format!("<title>b{block}</title>")), 1, "{graph}");
        for succ in program.succs(block) {
            assert!(count(&format!("<title>b{block}&#45;&gt;b{succ}</title>")) >= 1, "{block} to {succ}: {graph}");
        }
    }
    let edges: usize = blocks
        .iter()
        .map(|b| program.succs(b).len() + program.exits_of(b).len() + usize::from(program.call(b).is_some()))
        .sum();
    assert_eq!(count("class=\"edge\""), edges, "{graph}");
    // A line for each instruction, one for each label, and those of the edges and the places outside.
    let instrs = program.function_instrs(func).len();
    for i in program.function_instrs(func).iter() {
        assert!(count(&format!(">{:x}", program.vaddr(i))) >= 1, "{:x}: {drawing}", program.vaddr(i));
    }
    assert!(count("</text>") >= instrs + blocks.len(), "{drawing}");
}

#[test]
fn graphs_can_be_drawn() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files");
    for name in ["calls", "jumps", "loop", "nest", "outside", "unknown"] {
        let source = std::fs::read_to_string(dir.join(format!("{name}.s"))).unwrap();
        let kernels = source.lines().find_map(|l| l.strip_prefix("; kernel: ")).unwrap_or_default();
        let kernels: Vec<&str> = kernels.split_whitespace().collect();
        let program = Program::lift(&common::assemble(&source, &kernels)).unwrap();
        program.function_ids().for_each(|f| check(&program, f));
    }
}

#[test]
fn names_may_be_anything() {
    let names = ["quote\\\"s", "a<b, c>::operator->", "back\\\\slash", "\u{3bb}"];
    for name in names {
        let source = format!(
            ".globl \"{name}\"\n.type \"{name}\",@function\n\"{name}\":\n  .Lback:\n  s_cbranch_scc1 .Lback\n  s_endpgm\n.size \"{name}\", .-\"{name}\"\n"
        );
        let program = Program::lift(&common::assemble(&source, &[])).unwrap();
        assert_eq!(program.functions().len(), 1);
        program.function_ids().for_each(|f| check(&program, f));
    }
}
