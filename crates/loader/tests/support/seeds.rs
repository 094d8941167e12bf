//! What is fuzzed, and the good input that the damaged input is made of.

#![allow(dead_code)]

use std::path::Path;

use luthier_loader::fuzz::{self, Random};

pub struct Target {
    pub name: &'static str,
    /// Of all executions.
    pub share: usize,
    pub seeds: Vec<Vec<u8>>,
    /// Makes input without a seed, every other time.
    pub generate: Option<fn(&mut Random) -> Vec<u8>>,
    pub check: fn(&[u8]) -> bool,
    /// Bytes of memory for a byte of input, and for none.
    pub memory: (usize, usize),
}

impl Target {
    /// One input, into `out`.
    pub fn input(&self, random: &mut Random, out: &mut Vec<u8>) {
        out.clear();
        match self.generate.filter(|_| random.below(2) == 0) {
            Some(generate) => {
                out.extend(generate(random));
                // Half of these stay as they are.
                if random.below(2) == 0 {
                    return;
                }
            }
            None => out.extend(&self.seeds[random.below(self.seeds.len())]),
        }
        fuzz::mutate(random, out);
    }

    pub fn memory_limit(&self, size: usize) -> usize {
        self.memory.0 * size + self.memory.1
    }
}

/// The seeds are files whose names begin with the target's: `object-`, `container-`, `metadata-`, `text-`, `origin-`.
pub fn targets(directory: &Path) -> Vec<Target> {
    let of = |name: &str| -> Vec<Vec<u8>> {
        let entries = std::fs::read_dir(directory).expect("the seeds are there");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("can be listed").path()).collect();
        paths.sort();
        let named = |path: &Path| path.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name));
        let seeds: Vec<_> =
            paths.iter().filter(|path| named(path)).map(|path| std::fs::read(path).expect("can be read")).collect();
        assert!(!seeds.is_empty(), "no seeds for {name}");
        seeds
    };
    // An empty map of one byte can become an argument, all of whose fields are missing: 300 bytes, and again as much
    // while the vector grows. What comes out of a compressed bundle is bounded by a ratio of 1000, and 4 MB.
    vec![
        Target {
            name: "object",
            share: 10,
            seeds: of("object-"),
            generate: None,
            check: fuzz::check_object,
            memory: (1000, 1 << 18),
        },
        Target {
            name: "container",
            share: 4,
            seeds: of("container-"),
            generate: None,
            check: fuzz::check_container,
            memory: (1100, 5 << 20),
        },
        Target {
            name: "metadata",
            share: 6,
            seeds: of("metadata-"),
            generate: Some(fuzz::generate_metadata),
            check: fuzz::check_metadata,
            memory: (1000, 1 << 16),
        },
        Target {
            name: "text",
            share: 2,
            seeds: of("text-"),
            generate: None,
            check: fuzz::check_text,
            memory: (64, 1 << 12),
        },
        Target {
            name: "origin",
            share: 2,
            seeds: of("origin-"),
            generate: None,
            check: fuzz::check_origin,
            memory: (200, 1 << 12),
        },
    ]
}
