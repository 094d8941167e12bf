//! Inline assembly that a user brings: its registers have to be LLVM's to choose, or a renaming would miss what it means.

/// Refuses what names registers by number, changes EXEC, or leaves the section. An error is a sentence about the hook.
pub fn check(text: &str, constraints: &str) -> Result<(), String> {
    for constraint in constraints.split(',') {
        if let Some((kind, rest)) = constraint.split_once('{') {
            let name = rest.trim_end_matches('}');
            let harmless = matches!(name, "memory" | "scc" | "vcc" | "vcc_lo" | "vcc_hi" | "m0");
            if !(kind.ends_with('~') && harmless) {
                return Err(format!("inline assembly asks for the register {name}: let LLVM choose (\"s\", \"v\")"));
            }
        }
    }
    for statement in text.split(['\n', ';']) {
        let statement = statement.split("//").next().unwrap_or_default().trim();
        let (name, operands) = statement.split_once(char::is_whitespace).unwrap_or((statement, ""));
        if name.starts_with('.') {
            return Err(format!("inline assembly has the directive {name}"));
        }
        let changes = ["saveexec", "wrexec", "cmpx", "wqm", "subvector", "set_gpr_idx", "set_vgpr_msb", "movrel"];
        let first = operands.split(',').next().unwrap_or_default().trim();
        if first.starts_with("exec") || changes.iter().any(|c| name.contains(c)) {
            return Err(format!("inline assembly changes EXEC or the numbers of registers: {statement}"));
        }
        if let Some(register) = numbered(operands) {
            return Err(format!("inline assembly names the register {register}: let LLVM choose (\"s\", \"v\")"));
        }
    }
    Ok(())
}

/// The first register that is named by its number, or that no code may touch.
fn numbered(operands: &str) -> Option<&str> {
    let tokens = operands.split(|c: char| !c.is_ascii_alphanumeric() && !"_[$".contains(c));
    tokens.map(|t| t.trim_start_matches(['-', '|'])).find(|token| {
        let reserved = ["flat_scratch", "xnack_mask", "tba", "tma", "ttmp"];
        let name = token.to_ascii_lowercase();
        let number = ["v", "s", "a", "acc"].iter().filter_map(|file| name.strip_prefix(file));
        reserved.iter().any(|r| name.starts_with(r))
            || number.into_iter().any(|n| n.starts_with('[') || n.starts_with(|c: char| c.is_ascii_digit()))
    })
}
