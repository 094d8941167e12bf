//! Symbol tables that grow, and the two hash tables that find a symbol in them by name.

use super::raw::{SYM_SIZE, string_at, u16_at, u32_at, u64_at};

pub const STB_LOCAL: u8 = 0;
pub const STB_GLOBAL: u8 = 1;
pub const STT_OBJECT: u8 = 1;
pub const STT_FUNC: u8 = 2;
const STV_DEFAULT: u8 = 0;

/// A symbol table entry.
#[derive(Clone, Debug)]
pub struct Sym {
    pub name: String,
    /// Where the name lies in the string table it was read with.
    name_at: Option<u32>,
    /// Binding in the high four bits, type in the low four.
    pub info: u8,
    pub other: u8,
    pub shndx: u16,
    pub value: u64,
    pub size: u64,
}

impl Sym {
    pub fn new(name: String, binding: u8, kind: u8, shndx: u16, value: u64, size: u64) -> Sym {
        Sym { name, name_at: None, info: binding << 4 | kind, other: STV_DEFAULT, shndx, value, size }
    }
    pub fn is_local(&self) -> bool {
        self.info >> 4 == STB_LOCAL
    }
}

/// The entries of a table, the null entry first. Entries that lie outside the table are left out.
pub fn read(table: &[u8], strings: &[u8]) -> Vec<Sym> {
    (0..table.len() / SYM_SIZE).filter_map(|i| read_one(table, i * SYM_SIZE, strings)).collect()
}

fn read_one(table: &[u8], at: usize, strings: &[u8]) -> Option<Sym> {
    let name_at = u32_at(table, at)?;
    Some(Sym {
        name: string_at(strings, name_at as usize),
        name_at: Some(name_at),
        info: *table.get(at + 4)?,
        other: *table.get(at + 5)?,
        shndx: u16_at(table, at + 6)?,
        value: u64_at(table, at + 8)?,
        size: u64_at(table, at + 16)?,
    })
}

/// A string table under construction.
#[derive(Debug)]
pub struct Strings(pub Vec<u8>);

impl Strings {
    /// One that grows from what is there (other structures may point into it).
    pub fn after(old: &[u8]) -> Strings {
        Strings(if old.is_empty() { vec![0] } else { old.to_vec() })
    }
    pub fn add(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let at = self.0.len() as u32;
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
        at
    }
}

/// The table's bytes, its string table grown from `strings`, and the number of leading local symbols (the section's
/// `sh_info`).
pub fn write(symbols: &[Sym], strings: &[u8]) -> (Vec<u8>, Vec<u8>, u32) {
    let mut strings = Strings::after(strings);
    let mut out = Vec::with_capacity(symbols.len() * SYM_SIZE);
    for s in symbols {
        let name = s.name_at.unwrap_or_else(|| strings.add(&s.name));
        out.extend_from_slice(&name.to_le_bytes());
        out.push(s.info);
        out.push(s.other);
        out.extend_from_slice(&s.shndx.to_le_bytes());
        out.extend_from_slice(&s.value.to_le_bytes());
        out.extend_from_slice(&s.size.to_le_bytes());
    }
    let locals = symbols.iter().take_while(|s| s.is_local()).count() as u32;
    (out, strings.0, locals)
}

/// The hash function of `.hash` (System V gABI, chapter 5).
fn sysv_hash(name: &str) -> u32 {
    name.bytes().fold(0u32, |h, c| {
        let h = (h << 4).wrapping_add(u32::from(c));
        let high = h & 0xf000_0000;
        (h ^ high >> 24) & !high
    })
}

/// The hash function of `.gnu.hash`: Bernstein's, h * 33 + c.
fn gnu_hash(name: &str) -> u32 {
    name.bytes().fold(5381u32, |h, c| h.wrapping_mul(33).wrapping_add(u32::from(c)))
}

/// `.hash` for a dynamic symbol table.
pub fn sysv_table(symbols: &[Sym]) -> Vec<u8> {
    let buckets = symbols.len().max(1);
    let mut heads = vec![0u32; buckets];
    let mut chain = vec![0u32; symbols.len()];
    for (i, s) in symbols.iter().enumerate().skip(1) {
        let bucket = sysv_hash(&s.name) as usize % buckets;
        chain[i] = heads[bucket];
        heads[bucket] = i as u32;
    }
    let header = [buckets as u32, symbols.len() as u32];
    header.iter().chain(&heads).chain(&chain).flat_map(|w| w.to_le_bytes()).collect()
}

/// `.gnu.hash`, which wants the defined symbols last and sorted by bucket. Sorts the table, and returns the bytes and,
/// for each old index, the new one.
pub fn gnu_table(symbols: &mut Vec<Sym>) -> (Vec<u8>, Vec<u32>) {
    const SHIFT: u32 = 26;
    let hashed = |s: &Sym| !s.is_local() && s.shndx != 0;
    let defined = symbols.iter().skip(1).filter(|s| hashed(s)).count();
    let buckets = (defined / 4).max(1) as u32;
    let first = symbols.len() - defined;

    let mut order: Vec<usize> = (0..symbols.len()).collect();
    // Stable: the null entry, locals and undefined symbols stay in front in their order.
    order.sort_by_key(|&i| {
        let s = &symbols[i];
        if i == 0 || !hashed(s) { (0, u32::from(!s.is_local())) } else { (1, gnu_hash(&s.name) % buckets) }
    });
    let mut renumbered = vec![0u32; symbols.len()];
    order.iter().enumerate().for_each(|(new, &old)| renumbered[old] = new as u32);
    *symbols = order.iter().map(|&i| symbols[i].clone()).collect();

    let bloom_words = (defined / 8).max(1).next_power_of_two();
    let mut bloom = vec![0u64; bloom_words];
    let mut heads = vec![0u32; buckets as usize];
    let mut chain = vec![0u32; defined];
    for (i, s) in symbols.iter().enumerate().skip(first) {
        let h = gnu_hash(&s.name);
        bloom[(h / 64) as usize % bloom_words] |= 1 << (h % 64) | 1 << ((h >> SHIFT) % 64);
        let bucket = (h % buckets) as usize;
        if heads[bucket] == 0 {
            heads[bucket] = i as u32;
        }
        let last = symbols.get(i + 1).is_none_or(|next| (gnu_hash(&next.name) % buckets) as usize != bucket);
        chain[i - first] = h & !1 | u32::from(last);
    }
    let header = [buckets, first as u32, bloom_words as u32, SHIFT];
    let mut out: Vec<u8> = header.iter().flat_map(|w| w.to_le_bytes()).collect();
    out.extend(bloom.iter().flat_map(|w| w.to_le_bytes()));
    out.extend(heads.iter().chain(&chain).flat_map(|w| w.to_le_bytes()));
    (out, renumbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(names: &[&str]) -> Vec<Sym> {
        let mut symbols = vec![Sym::new(String::new(), STB_LOCAL, 0, 0, 0, 0)];
        symbols.extend(names.iter().map(|n| Sym::new(n.to_string(), STB_GLOBAL, STT_OBJECT, 1, 0, 0)));
        symbols
    }

    /// What a dynamic loader does to find a name.
    fn gnu_lookup(bytes: &[u8], symbols: &[Sym], name: &str) -> Option<usize> {
        let word = |i: usize| u32_at(bytes, i * 4).unwrap();
        let (buckets, first, bloom) = (word(0), word(1) as usize, word(2) as usize);
        let h = gnu_hash(name);
        let filter = u64_at(bytes, 16 + (h as usize / 64 % bloom) * 8).unwrap();
        if filter >> (h % 64) & filter >> ((h >> word(3)) % 64) & 1 == 0 {
            return None;
        }
        let heads = 4 + bloom * 2;
        let mut i = word(heads + (h % buckets) as usize) as usize;
        while i >= first {
            let c = word(heads + buckets as usize + i - first);
            if c | 1 == h | 1 && symbols[i].name == name {
                return Some(i);
            }
            if c & 1 == 1 {
                return None;
            }
            i += 1;
        }
        None
    }

    #[test]
    fn every_symbol_is_found_through_gnu_hash_and_the_renumbering_is_right() {
        let names: Vec<String> = (0..100).map(|i| format!("symbol_{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut symbols = table(&names);
        let (bytes, renumbered) = gnu_table(&mut symbols);
        for (old, name) in names.iter().enumerate() {
            assert_eq!(gnu_lookup(&bytes, &symbols, name), Some(renumbered[old + 1] as usize), "{name}");
        }
        assert_eq!(gnu_lookup(&bytes, &symbols, "absent"), None);
    }

    #[test]
    fn hash_functions_give_the_published_values() {
        assert_eq!(sysv_hash("printf"), 0x077905a6);
        assert_eq!(gnu_hash("printf"), 0x156b2bb8);
    }
}
