//! Whole registers of one wave of RDNA3 or RDNA4 as a test's operands.

use super::{Strict, assemble_rdna, load};

/// A register's number and its lanes.
pub type Register = (u32, Vec<u32>);

/// Loads registers, runs a body, and gives the registers from `first` on, `count` of them. The body must not use v0, v1
/// and s[0:5].
pub fn run_on(processor: &str, lanes: u32, loads: &[Register], body: &str, first: u32, count: u32) -> Vec<Vec<u32>> {
    let is_rdna4 = processor.starts_with("gfx12");
    let [scalars, vectors] = if is_rdna4 {
        ["s_wait_kmcnt 0x0", "s_wait_loadcnt 0x0"]
    } else {
        ["s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(0)"]
    };
    let mut words = Vec::new();
    let mut text = format!(
        "
  s_load_b64 s[4:5], s[0:1], 0x0
  v_and_b32_e32 v1, 0x3ff, v0
  v_lshlrev_b32_e32 v1, 2, v1
  {scalars}
"
    );
    let step = format!("  v_add_nc_u32_e32 v1, {}, v1\n", 4 * lanes);
    for (register, values) in loads {
        assert_eq!(values.len() as u32, lanes);
        words.extend_from_slice(values);
        text += &format!("  global_load_b32 v{register}, v1, s[4:5]\n{step}");
    }
    text += &format!("  {vectors}\n{body}\n");
    for k in 0..count {
        text += &format!("  global_store_b32 v1, v{}, s[4:5]\n{step}", first + k);
    }
    let loaded = load(&assemble_rdna(processor, lanes, &text));
    let start = words.len();
    words.resize(start + (count * lanes) as usize, 0);
    let buffer = loaded.buffer(&words);
    let report = loaded.launch("k", [lanes, 1, 1], [lanes, 1, 1], &[buffer], Strict::On).expect("the kernel runs");
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    let out = loaded.words(buffer, words.len());
    out[start..].chunks(lanes as usize).map(<[u32]>::to_vec).collect()
}

/// A measurement file's lines of figures, without its remarks.
pub fn lines(text: &str) -> Vec<Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(' ').collect()).collect()
}

pub fn hex(word: &str) -> u32 {
    u32::from_str_radix(word, 16).expect("a number in base 16")
}
