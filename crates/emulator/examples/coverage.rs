//! Lists the operations of gfx90a that the device refuses.

fn main() {
    let all = luthier_emulator::coverage(luthier_isa::Target::Gfx90a);
    let refused: Vec<_> = all.iter().filter_map(|c| c.refusal.as_ref().map(|why| (c.base, why))).collect();
    refused.iter().for_each(|(base, why)| println!("{base}: {why}"));
    println!("{} operations, {} refused", all.len(), refused.len());
}
