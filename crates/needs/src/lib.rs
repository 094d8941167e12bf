//! `#[needs(corpus)]` and `#[needs(llvm)]`: tests that are ignored, with the reason, where the corpus of real code objects or
//! LLVM's tools are not there. A test that returned early instead would count as passed.
//!
//! With `CI` in the environment nothing is ignored: there both have to be there, and what looks for them fails.

use std::path::{Path, PathBuf};

use proc_macro::{TokenStream, TokenTree};

/// Ignores the test if something of the list is not there.
#[proc_macro_attribute]
pub fn needs(list: TokenStream, test: TokenStream) -> TokenStream {
    let mut missing = Vec::new();
    for token in list {
        match token {
            TokenTree::Ident(name) if name.to_string() == "corpus" => {
                if corpus().is_none() {
                    missing.push("the corpus of real code objects (LUTHIER_CORPUS)");
                }
            }
            TokenTree::Ident(name) if name.to_string() == "llvm" => {
                if !Path::new("/usr/lib/llvm-22/bin/llvm-readelf").exists() {
                    missing.push("LLVM 22's tools (make setup)");
                }
            }
            TokenTree::Punct(comma) if comma.as_char() == ',' => {}
            other => return source(&format!("compile_error!(\"needs: corpus and llvm, not {other}\");")),
        }
    }
    // With these the compiler expands it anew when a variable changes.
    let mut out =
        source("const _: (Option<&str>, Option<&str>) = (option_env!(\"LUTHIER_CORPUS\"), option_env!(\"CI\"));");
    if !missing.is_empty() && std::env::var_os("CI").is_none() {
        out.extend(source(&format!("#[ignore = {:?}]", format!("not here: {}", missing.join(", ")))));
    }
    out.extend(test);
    out
}

/// Where it is named, or beside the project.
fn corpus() -> Option<PathBuf> {
    let named = std::env::var_os("LUTHIER_CORPUS").map(PathBuf::from);
    let found = named.or_else(|| {
        let manifest = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
        manifest.ancestors().map(|dir| dir.join("shared/corpus")).find(|dir| dir.is_dir())
    });
    found.filter(|dir| dir.is_dir())
}

/// Rust text as tokens.
fn source(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
