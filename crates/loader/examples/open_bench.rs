//! How long opening a code object takes: from the file's name to symbols, kernels, descriptors and metadata.
//!
//! `open_bench FILE [--json]`. The best of some runs, each with its own read of the file. `open_seconds` checks
//! everything and builds kernels with their descriptors; `everything_seconds` also builds every symbol, function and
//! metadata record.

use std::time::Instant;

use luthier_loader::CodeObject;

fn best<T>(mut run: impl FnMut() -> T) -> (f64, T) {
    let mut best: Option<(f64, T)> = None;
    for _ in 0..15 {
        let start = Instant::now();
        let result = run();
        let seconds = start.elapsed().as_secs_f64();
        if best.as_ref().is_none_or(|(least, _)| seconds < *least) {
            best = Some((seconds, result));
        }
    }
    best.expect("there were runs")
}

fn main() {
    let mut path = None;
    let mut json = false;
    for arg in std::env::args().skip(1) {
        if arg == "--json" { json = true } else { path = Some(arg) }
    }
    let path = path.expect("usage: open_bench FILE [--json]");
    let open = || CodeObject::open(&path).unwrap_or_else(|error| panic!("{error}"));
    let (read, size) = best(|| std::fs::read(&path).map(|bytes| bytes.len()).unwrap_or(0));
    let (opened, kernels) = best(|| open().kernels().len());
    let (everything, (symbols, args)) = best(|| {
        let object = open();
        let args: usize = object.kernels().iter().filter_map(|k| k.metadata()).map(|m| m.args.len()).sum();
        (object.symbols().len() + object.functions().len(), args)
    });
    if json {
        println!(
            "{{\"bytes\": {size}, \"kernels\": {kernels}, \"symbols\": {symbols}, \"args\": {args}, \
             \"read_seconds\": {read}, \"open_seconds\": {opened}, \"everything_seconds\": {everything}}}"
        );
    } else {
        println!("{size} bytes, {kernels} kernels, {args} arguments, {symbols} symbols and functions");
        println!("read {:.2} ms, open {:.2} ms, everything {:.2} ms", read * 1e3, opened * 1e3, everything * 1e3);
    }
}
