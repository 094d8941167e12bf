//! Has no code: see Cargo.toml, whose dependencies give other projects' crates the same features in all that is built.
