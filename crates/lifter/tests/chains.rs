//! Code of few instructions that lead one to the next, thousands of them: no stack overflow, no blow-up.

mod common;
#[path = "../fuzz/exercise.rs"]
mod exercise;

#[test]
fn long_chains_of_jumps_branches_and_calls_are_lifted() {
    const LENGTH: usize = 10_000;
    let mut jumps = String::from(".globl k\n.type k,@function\nk:\n");
    (0..LENGTH).for_each(|i| {
        jumps.push_str(&format!(
            "s_cbranch_scc1 l{}\nv_mov_b32 v{}, v{}\n l{i}:\n",
            (i * 7 + 13) % LENGTH,
            i % 50,
            i % 49
        ))
    });
    jumps.push_str("s_endpgm\n.size k, .-k\n");
    assert!(exercise::object(common::assemble(&jumps, &["k"]).bytes().to_vec()) > LENGTH);

    let mut calls = String::from(".globl k\n.type k,@function\nk:\ns_call_b64 s[30:31], f0\ns_endpgm\n.size k, .-k\n");
    for i in 0..1000 {
        let next = i + 1;
        calls.push_str(&format!(".type f{i},@function\nf{i}:\ns_mov_b64 s[40:41], s[30:31]\ns_call_b64 s[30:31], f{next}\ns_setpc_b64 s[40:41]\n.size f{i}, .-f{i}\n"));
    }
    calls.push_str(".type f1000,@function\nf1000:\ns_setpc_b64 s[30:31]\n.size f1000, .-f1000\n");
    assert!(exercise::object(common::assemble(&calls, &["k"]).bytes().to_vec()) > 3000);
}
