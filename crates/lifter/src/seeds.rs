//! The functions that symbols and kernel descriptors name, and the decoding of their bytes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use luthier_isa::Wave;
use luthier_loader::{CodeObject, OriginMap, descriptor::Generation};
use rayon::prelude::*;

use crate::decode::{Decoded, Pool, sweep, traverse};
use crate::flow::Draft;
use crate::lift::Code;
use crate::origin::REPLACED;
use crate::{Issue, IssueKind};

/// Code that one pool is worth: less is not spread over cores.
const SHARE: u64 = 256 << 10;

/// What is known of a function before its code is looked at.
#[derive(Clone)]
struct Seed {
    name: String,
    vaddr: u64,
    /// `None`: the symbol does not say.
    size: Option<u64>,
    is_kernel: bool,
    private_buffer: bool,
    /// Its waves have another size than those of the object's first kernel.
    other_wave: bool,
    second_entry: Option<u64>,
    issues: Vec<Issue>,
    refusal: Option<String>,
}

/// Every named function, decoded and taken apart into blocks, by address.
pub(crate) fn drafts(object: &CodeObject, code: &Code<'_>, issues: &mut Vec<Issue>) -> Vec<Draft> {
    let seeds = seeds(object, code, issues);
    let ends = function_ends(&seeds, code);
    let bytes: u64 = seeds.iter().zip(&ends).map(|(seed, end)| end - seed.vaddr).sum();
    let cores = rayon::current_num_threads() as u64;
    let share = SHARE.max(bytes / cores.max(1) + 1);
    // One run of functions for each core; what comes out does not depend on where they are cut.
    let mut runs: Vec<Vec<(Seed, u64)>> = vec![Vec::new()];
    let mut filled = 0;
    for (seed, end) in seeds.into_iter().zip(ends) {
        if filled >= share {
            runs.push(Vec::new());
            filled = 0;
        }
        filled += end - seed.vaddr;
        runs.last_mut().into_iter().for_each(|run| run.push((seed.clone(), end)));
    }
    let decoded = runs.into_par_iter().flat_map_iter(|run| decode_run(run, code));
    let mut drafts: Vec<Draft> = decoded.collect();
    drafts.retain(|d| !d.insts().is_empty() || !d.issues.is_empty());
    drafts
}

/// Functions whose instructions share a pool.
fn decode_run(run: Vec<(Seed, u64)>, code: &Code<'_>) -> Vec<Draft> {
    let mut pool = Pool::default();
    let bytes: u64 = run.iter().map(|(seed, end)| end - seed.vaddr).sum();
    // Most instructions have eight bytes or four. Memory that is not filled in the end has never been touched.
    pool.reserve(bytes as usize / 5);
    let mut drafts: Vec<Draft> = run.into_iter().map(|(seed, end)| decode_seed(seed, end, code, &mut pool)).collect();
    let pool = Arc::new(pool);
    drafts.iter_mut().filter(|d| d.swept).for_each(|d| d.pool = pool.clone());
    drafts
}

/// The functions that symbols and kernel descriptors name, by address.
fn seeds(object: &CodeObject, code: &Code<'_>, issues: &mut Vec<Issue>) -> Vec<Seed> {
    let mut seeds: BTreeMap<u64, Seed> = BTreeMap::new();
    let instrumented = object.section(OriginMap::SECTION).is_some();
    let generation = Generation::of(&object.target().processor);
    let functions = object.functions().iter().map(|f| (&f.name, f.vaddr, f.size, None));
    let kernels = object.kernels().iter().map(|k| (&k.name, k.entry, 0, Some(&k.descriptor)));
    for (name, vaddr, size, kernel) in functions.chain(kernels) {
        if code.around(vaddr).is_none() || vaddr % 4 != 0 {
            issues.push(Issue { vaddr, function: String::new(), kind: IssueKind::BadSymbol { symbol: name.clone() } });
            continue;
        }
        let seed = seeds.entry(vaddr).or_insert_with(|| Seed {
            name: name.clone(),
            vaddr,
            size: None,
            is_kernel: false,
            private_buffer: false,
            other_wave: false,
            second_entry: None,
            issues: Vec::new(),
            refusal: None,
        });
        if let (Some(_), true) = (kernel, instrumented) {
            // The symbol of an instrumented copy has another name than the kernel that it is now.
            seed.name.clone_from(name);
        }
        seed.size = seed.size.or((size != 0).then_some(size));
        if let Some(descriptor) = kernel {
            // With two descriptors for one entry, neither can be relied on.
            seed.private_buffer = descriptor.enable_sgpr_private_segment_buffer() && !seed.is_kernel;
            seed.is_kernel = true;
            let wave = if descriptor.enable_wavefront_size32() { Wave::W32 } else { Wave::W64 };
            // A processor with one size only has no choice.
            seed.other_wave |= code.mode.target().waves().contains(&wave) && code.mode.wave() != wave;
            let second = generation.and_then(|generation| descriptor.preloaded_entry(generation));
            seed.second_entry = second.and_then(|second| vaddr.checked_add(second));
        }
    }
    if instrumented {
        let entries: HashMap<&str, u64> = object.kernels().iter().map(|k| (k.name.as_str(), k.entry)).collect();
        for seed in seeds.values_mut().filter(|seed| !seed.is_kernel) {
            if entries.contains_key(seed.name.as_str()) {
                seed.name.push_str(REPLACED);
            }
        }
    }
    seeds.into_values().collect()
}

/// Where each function's bytes end: where its symbol says, but not past the next function or the executable range.
fn function_ends(seeds: &[Seed], code: &Code<'_>) -> Vec<u64> {
    let next = |i: usize| seeds.get(i + 1).map_or(u64::MAX, |s: &Seed| s.vaddr);
    seeds
        .iter()
        .enumerate()
        .map(|(i, seed)| {
            let range_end = code.around(seed.vaddr).map_or(seed.vaddr, |r| r.0.end);
            let end = seed.size.map_or(range_end, |size| seed.vaddr.saturating_add(size));
            end.min(next(i)).min(range_end)
        })
        .collect()
}

fn decode_seed(mut seed: Seed, end: u64, code: &Code<'_>, pool: &mut Pool) -> Draft {
    let range = seed.vaddr..end;
    let claimed = seed.size.unwrap_or(0);
    if range.end - range.start < claimed {
        let kind = IssueKind::SymbolOverlap { symbol: format!("at {end:#x}") };
        seed.issues.push(Issue { vaddr: end, function: seed.name.clone(), kind });
        seed.refusal = Some(format!("its symbol overlaps what starts at {end:#x}"));
    }
    let bytes = code.bytes(&range).unwrap_or_default();
    let mut draft = Draft {
        name: seed.name,
        is_kernel: seed.is_kernel,
        private_buffer: seed.private_buffer,
        named: true,
        entry: seed.vaddr,
        base: code.base(),
        second_entry: seed.second_entry,
        size: range.end - range.start,
        issues: seed.issues,
        refusal: seed.refusal,
        ..Draft::default()
    };
    if seed.other_wave {
        // The same words mean other registers there.
        let lanes = code.mode.wave().lanes();
        draft.issue(draft.entry, IssueKind::OtherWaveSize { lanes });
        draft.refusal.get_or_insert_with(|| format!("its waves do not have {lanes} lanes, as other kernels' here do"));
        return draft;
    }
    // With a size, the bytes are the symbol's promise of code. Without, only what is reached is.
    let before = pool.len();
    let swept = match seed.size {
        Some(_) => sweep(code.classes, bytes, (range.start - draft.base) as u32, pool),
        None => Err(0),
    };
    let Err(first_bad) = swept else {
        draft.instrs = before..pool.len();
        draft.swept = true;
        draft.build_flow_of(pool.view(draft.base, draft.instrs.clone()));
        return draft;
    };
    let entries = [range.start].into_iter().chain(draft.second_entry);
    draft.fill(traverse(code.classes, draft.base, bytes, range.clone(), entries, |_| false));
    if seed.size.is_some() && draft.refusal.is_none() {
        let first_bad = range.start + first_bad as u64;
        let reached: u64 = draft.insts().iter().map(|i| i.size() as u64).sum();
        let size = (range.end - range.start).saturating_sub(reached);
        draft.issue(first_bad, IssueKind::UnreachedBytes { size });
        draft.refusal = Some(format!("the bytes at {first_bad:#x} are no instruction"));
    } else if seed.size.is_none() {
        draft.size = draft.extent().end.saturating_sub(draft.entry);
    }
    draft
}

impl Draft {
    pub fn issue(&mut self, vaddr: u64, kind: IssueKind) {
        self.issues.push(Issue { vaddr, function: self.name.clone(), kind });
    }
    /// Takes on instructions of its own.
    pub fn fill(&mut self, decoded: Decoded) {
        for (vaddr, error) in decoded.bad {
            self.issue(vaddr, IssueKind::Undecodable { reason: error.to_string() });
            self.refusal.get_or_insert_with(|| format!("the bytes at {vaddr:#x} are no instruction"));
        }
        for (vaddr, with) in decoded.overlaps {
            self.issue(vaddr, IssueKind::Overlap { with });
            self.refusal.get_or_insert_with(|| format!("instructions overlap at {vaddr:#x}"));
        }
        self.instrs = 0..decoded.pool.len();
        self.pool = Arc::new(decoded.pool);
        self.build_flow();
    }
}
