// Cargo has no dependencies of a build script where there is none.
fn main() {}
