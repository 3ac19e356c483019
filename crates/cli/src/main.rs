//! Tiller: the coding agent you can steer.
fn main() {}
