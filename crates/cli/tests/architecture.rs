//! The shape of the workspace, as ARCHITECTURE.md describes it. A change of shape is an edit of these tables.

#![expect(clippy::expect_used, reason = "a workspace that cannot be read should fail the test")]

use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

/// Which of our crates each crate may depend on.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("config", &["protocol"]),
    ("policy", &["protocol"]),
    ("sandbox", &["protocol", "policy"]),
    ("language", &["protocol", "policy", "sandbox"]),
    ("snapshot", &["protocol"]),
    ("tls", &["protocol"]),
    ("mcp", &["protocol", "config", "policy", "sandbox", "tls", "tools"]),
    ("model", &["protocol", "tls"]),
    ("tools", &["protocol", "policy", "sandbox", "tls"]),
    ("steering", &["protocol", "config"]),
    (
        "engine",
        &[
            "protocol", "config", "policy", "sandbox", "language", "mcp", "snapshot", "model", "tools",
            "steering",
        ],
    ),
    ("tui", &["protocol"]),
    (
        "cli",
        &[
            "protocol", "config", "policy", "sandbox", "mcp", "snapshot", "model", "tools", "steering",
            "engine", "tui",
        ],
    ),
    ("testenv", &[]),
    ("testkit", &[]),
    ("xtask", &["testenv"]),
    ("xtask-drive", &["testkit", "xtask"]),
];

/// What tests may use besides.
const MAY_TEST_WITH: &[&str] = &["testenv", "testkit"];

/// Outside crates that stand for a capability: who may use it, and who else in tests.
const OWNED: &[(&str, &[&str], &[&str])] = &[
    // The network.
    ("rmcp", &["mcp"], &[]),
    ("sse-stream", &["mcp"], &[]),
    ("reqwest", &["tls", "mcp", "model", "tools"], &["testkit", "cli"]),
    ("rustls", &["tls", "mcp"], &["testkit"]),
    ("axum", &["testkit"], &["tools"]),
    // Keys and signatures.
    ("ring", &["mcp"], &[]),
    // Processes and the file system, below the standard library.
    ("rustix", &["sandbox", "snapshot", "tools", "engine", "tui", "cli"], &[]),
    ("libc", &["sandbox"], &[]),
    (
        "fs-err",
        &[
            "config",
            "sandbox",
            "testenv",
            "tls",
            "language",
            "mcp",
            "snapshot",
            "model",
            "tools",
            "steering",
            "engine",
            "cli",
            "testkit",
            "xtask",
            "xtask-drive",
        ],
        &["policy"],
    ),
    (
        "tempfile",
        &["config", "tools", "engine", "cli", "xtask-drive"],
        &["policy", "sandbox", "language", "mcp", "snapshot", "model", "steering", "testkit", "xtask"],
    ),
    // Waiting.
    (
        "tokio",
        &["sandbox", "language", "mcp", "model", "tools", "steering", "engine", "tui", "cli", "testkit"],
        &[],
    ),
    ("tokio-util", &["language", "mcp", "tools", "steering", "engine", "cli"], &[]),
    // Searching and changing files.
    ("aho-corasick", &["tools"], &[]),
    ("grep-matcher", &["tools"], &[]),
    ("grep-regex", &["tools"], &[]),
    ("grep-searcher", &["tools"], &[]),
    ("ignore", &["snapshot", "tools"], &[]),
    ("globset", &["policy", "tools"], &[]),
    ("similar", &["tools", "steering", "tui"], &[]),
    ("encoding_rs", &["tools"], &[]),
    ("htmd", &["tools"], &[]),
    ("image", &["tools", "testkit"], &[]),
    ("base64", &["mcp", "tools", "steering", "testkit"], &["engine"]),
    ("jsonschema", &["mcp", "tools", "testkit"], &[]),
    ("jsonc-parser", &["config"], &[]),
    ("serde-saphyr", &["config"], &[]),
    // The terminal.
    ("ratatui", &["tui"], &[]),
    ("crossterm", &["tui"], &[]),
    ("pulldown-cmark", &["tui"], &[]),
    ("syntect", &["tui"], &[]),
    ("two-face", &["tui"], &[]),
    ("nucleo-matcher", &["tui"], &[]),
    ("vt100", &["testkit"], &[]),
    ("portable-pty", &["testkit"], &[]),
    // The command line.
    ("clap", &["cli"], &[]),
    ("anyhow", &["cli", "xtask", "xtask-drive"], &[]),
    ("tracing-subscriber", &["cli"], &[]),
    ("cargo_metadata", &[], &["cli"]),
];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] =
    &["common", "core", "helper", "helpers", "manager", "misc", "shared", "types", "util", "utils"];

const LONGEST_FILE: usize = 600;

fn workspace() -> Metadata {
    MetadataCommand::new().no_deps().exec().expect("cargo metadata describes the workspace")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace has a root")
}

/// A crate's name in the tables: `tiller` is the binary, the others drop their prefix.
fn short(name: &str) -> &str {
    if name == "tiller" { "cli" } else { name.strip_prefix("tiller-").unwrap_or(name) }
}

/// Names of a crate's dependencies, for the program or for its tests.
fn dependencies(package: &Package, test: bool) -> impl Iterator<Item = &str> {
    let wanted = move |kind| (kind == DependencyKind::Development) == test;
    package.dependencies.iter().filter(move |edge| wanted(edge.kind)).map(|edge| edge.name.as_str())
}

/// Every source file of ours.
fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&root().join("crates"), &mut found);
    collect(&root().join("xtask"), &mut found);
    assert!(found.len() > 100, "only {} source files were found; the walk is broken", found.len());
    found
}

fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs_err::read_dir(dir).expect("the directory is readable") {
        let path = entry.expect("the entry is readable").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn none(violations: &[String], advice: &str) {
    assert!(violations.is_empty(), "{}\n\n{advice}\n", violations.join("\n"));
}

#[test]
fn crates_depend_only_on_what_the_table_allows() {
    let workspace = workspace();
    let ours: Vec<&str> = workspace.packages.iter().map(|package| short(&package.name)).collect();
    let mut violations = Vec::new();
    for package in &workspace.packages {
        let name = short(&package.name);
        let Some((_, allowed)) = MAY_DEPEND_ON.iter().find(|(row, _)| *row == name) else {
            violations.push(format!("{name} has no row in MAY_DEPEND_ON"));
            continue;
        };
        let edges = dependencies(package, false).map(short).filter(|edge| ours.contains(edge));
        violations.extend(
            edges.filter(|edge| !allowed.contains(edge)).map(|edge| format!("{name} depends on {edge}")),
        );
        let edges = dependencies(package, true).map(short).filter(|edge| ours.contains(edge));
        let edges = edges.filter(|edge| !allowed.contains(edge) && !MAY_TEST_WITH.contains(edge));
        violations.extend(edges.map(|edge| format!("the tests of {name} depend on {edge}")));
    }
    none(
        &violations,
        "Move the code to the side of the wall where it belongs, or pass a value instead of calling. If the wall \
         itself is wrong, change MAY_DEPEND_ON here and the table in ARCHITECTURE.md.",
    );
}

#[test]
fn architecture_md_has_the_same_table() {
    let document =
        fs_err::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is readable");
    let row = |(name, allowed): &(&str, &[&str])| {
        let allowed = if allowed.is_empty() { "–".to_owned() } else { allowed.join(", ") };
        format!("| `{name}` | {allowed} |")
    };
    let missing: Vec<_> = MAY_DEPEND_ON.iter().map(row).filter(|row| !document.contains(row)).collect();
    none(&missing, "These rows of MAY_DEPEND_ON are not in ARCHITECTURE.md. Change the table there as well.");
}

#[test]
fn a_capability_has_one_owner() {
    let mut violations = Vec::new();
    for package in &workspace().packages {
        let name = short(&package.name);
        for (outside, owners, testers) in OWNED {
            if dependencies(package, false).any(|edge| edge == *outside) && !owners.contains(&name) {
                violations.push(format!("{name} depends on {outside}"));
            }
            let may_test = owners.contains(&name) || testers.contains(&name);
            if dependencies(package, true).any(|edge| edge == *outside) && !may_test {
                violations.push(format!("the tests of {name} depend on {outside}"));
            }
        }
    }
    none(
        &violations,
        "Ask the crate that owns the capability to do the work. If it really has to be used in another place, add \
         that place to OWNED.",
    );
}

#[test]
fn names_say_what_is_inside() {
    let is_empty = |name: &str| EMPTY_NAMES.contains(&name);
    let mut violations = Vec::new();
    for source in sources() {
        let path = source.strip_prefix(root()).unwrap_or(&source);
        if path.with_extension("").iter().filter_map(|part| part.to_str()).any(is_empty) {
            violations.push(path.display().to_string());
        }
    }
    let workspace = workspace();
    let crates = workspace.packages.iter().map(|package| short(&package.name)).filter(|name| is_empty(name));
    violations.extend(crates.map(|name| format!("the crate {name}")));
    none(&violations, "Name it after what it does. If it does several things, split it.");
}

#[test]
fn files_are_short_enough_to_read() {
    let mut violations = Vec::new();
    for source in sources() {
        let lines = fs_err::read_to_string(&source).expect("the source is readable").lines().count();
        if lines > LONGEST_FILE {
            violations.push(format!("{}: {lines} lines", source.display()));
        }
    }
    none(
        &violations,
        &format!("A file has at most {LONGEST_FILE} lines, and 200 is better: split it by subject."),
    );
}

#[test]
fn unsafe_code_is_in_the_sandbox_alone() {
    // Put together so that this file does not find itself.
    let patterns = ["{", "fn", "impl", "extern", "trait"].map(|what| format!("{} {what}", "unsafe"));
    let lint = format!("({}_code", "unsafe");
    let mut violations = Vec::new();
    for source in sources().iter().filter(|source| !source.starts_with(root().join("crates/sandbox"))) {
        let text = fs_err::read_to_string(source).expect("the source is readable");
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if code.contains(&lint) || patterns.iter().any(|pattern| code.contains(pattern)) {
                violations.push(format!("{}:{}", source.display(), number + 1));
            }
        }
    }
    none(
        &violations,
        "Use a safe interface (rustix has most of the system calls), or move the code to `sandbox`.",
    );
}

#[test]
fn every_crate_follows_the_lints_of_the_workspace() {
    let workspace = workspace();
    let lax = workspace.packages.iter().filter(|package| {
        let manifest = fs_err::read_to_string(&package.manifest_path).expect("the manifest is readable");
        !manifest.contains("[lints]\nworkspace = true")
    });
    let violations: Vec<_> = lax.map(|package| package.manifest_path.to_string()).collect();
    none(&violations, "Add to the manifest:\n[lints]\nworkspace = true");
}
