//! `#[needs(corpus)]` and `#[needs(llvm)]`: tests that are ignored, with the reason, where the corpus of real code objects or
//! LLVM's tools are not there. A test that returned early instead would count as passed.
//!
//! `corpus!()` is the corpus's folder.
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
                if found().is_none() {
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

/// Where the corpus is: where it is named, or beside the project; the name is that of a crate's folder. The same is done
/// here, and where [`corpus`] stands when a test runs.
macro_rules! looking_for_the_corpus {
    ($manifest:ident: $($look:tt)*) => {
        fn found() -> Option<PathBuf> {
            let $manifest = std::env::var_os("CARGO_MANIFEST_DIR")?;
            $($look)*
        }
        const LOOK: &str = stringify!($($look)*);
    };
}

looking_for_the_corpus! { manifest:
    let named = ::std::env::var_os("LUTHIER_CORPUS").map(::std::path::PathBuf::from);
    let beside = ::std::path::Path::new(&manifest).ancestors().map(|dir| dir.join("shared/corpus"));
    named.map_or_else(|| beside.into_iter().find(|dir| dir.is_dir()), |dir| Some(dir).filter(|dir| dir.is_dir()))
}

/// The folder of the corpus, a `PathBuf`. A test that asks for it is ignored where it is not there (`#[needs(corpus)]`); a run
/// that includes ignored tests, as CI's does, sees it fail.
#[proc_macro]
pub fn corpus(_: TokenStream) -> TokenStream {
    source(&format!(
        "{{ let manifest = env!(\"CARGO_MANIFEST_DIR\"); let found = {{ {LOOK} }}; \
         found.expect(\"the corpus is not here: set LUTHIER_CORPUS\") }}"
    ))
}

/// Rust text as tokens.
fn source(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
