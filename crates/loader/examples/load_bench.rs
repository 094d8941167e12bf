//! How long loading and linking an object takes, beside a memcpy of its segments into fresh memory.
//!
//! `load_bench FILE [--json]`. The best of some runs. Every run, the memcpy's too, has an object of its own, opened
//! before the clock starts: so nothing that loading builds is there from the run before, and both find the file's bytes
//! in the same caches.

use std::time::Instant;

use luthier_loader::{CodeObject, LoadOptions, MockLoader, SegmentKind};

const RUNS: usize = 25;

/// Seconds of the fastest run; `prepare` is not counted.
fn best<I, T>(mut prepare: impl FnMut() -> I, mut run: impl FnMut(I) -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let input = prepare();
        let start = Instant::now();
        let result = std::hint::black_box(run(input));
        best = best.min(start.elapsed().as_secs_f64());
        drop(result);
    }
    best
}

fn main() {
    let mut path = None;
    let mut json = false;
    for arg in std::env::args().skip(1) {
        if arg == "--json" { json = true } else { path = Some(arg) }
    }
    let path = path.expect("usage: load_bench FILE [--json]");
    let open = || CodeObject::open(&path).unwrap_or_else(|error| panic!("{error}"));
    let object = open();
    let loads = object.segments().iter().filter(|s| s.kind == SegmentKind::Load);
    let bytes: u64 = loads.map(|s| s.memsz).sum();
    let copy = |object: CodeObject| -> (CodeObject, Vec<Vec<u8>>) {
        let segment = |s: &luthier_loader::Segment| {
            let mut memory = Vec::with_capacity(s.memsz as usize);
            memory.extend_from_slice(object.read(s.vaddr, s.filesz).unwrap_or_default());
            memory.resize(s.memsz as usize, 0);
            memory
        };
        let loads = object.segments().iter().filter(|s| s.kind == SegmentKind::Load && s.memsz != 0);
        let copies = loads.map(segment).collect();
        (object, copies)
    };
    let memcpy = best(open, copy);
    let load = best(open, |object| {
        let mut loader = MockLoader::new();
        loader.load(object, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        loader.finalize().unwrap_or_else(|error| panic!("{error}"));
        loader
    });
    let records = object.relocations().len();
    if json {
        println!(
            "{{\"bytes\": {bytes}, \"records\": {records}, \"memcpy_seconds\": {memcpy}, \"load_seconds\": {load}}}"
        );
    } else {
        println!("{bytes} bytes in segments, {records} dynamic relocations");
        println!("memcpy {:.3} ms, load and finalize {:.3} ms", memcpy * 1e3, load * 1e3);
    }
}
