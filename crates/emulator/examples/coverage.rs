//! Prints what the device implements of a target: `coverage [TARGET]`.

use luthier_emulator::coverage;
use luthier_isa::Target;

fn main() {
    let name = std::env::args().nth(1).unwrap_or_else(|| "gfx90a".into());
    let Some(target) = Target::from_name(&name) else {
        eprintln!("there is no target {name}");
        std::process::exit(2);
    };
    let all = coverage(target);
    let refused: Vec<_> = all.iter().filter_map(|c| Some((c.base, c.refusal.as_ref()?))).collect();
    println!("{name}: {} operations known, {} refused", all.len() - refused.len(), refused.len());
    for (base, why) in refused {
        println!("{base}: {why}");
    }
}
