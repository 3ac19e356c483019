//! `cargo xtask requirements`: which requirements of `docs/requirements.md` a test carries, and which none does.

mod catalog;
mod scan;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;

use catalog::Catalog;
use xtask::say;

/// Prints the report; with `--check` and areas, fails if one of these areas has a requirement without a test.
pub(crate) fn run(root: &Path, options: &[&str]) -> anyhow::Result<()> {
    let catalog = Catalog::parse(&fs_err::read_to_string(root.join("docs/requirements.md"))?)?;
    let carried = carried(root, &catalog)?;
    match options {
        [] => {
            say(&report(&catalog, &carried, &catalog.areas()));
            Ok(())
        }
        ["--check", areas @ ..] if !areas.is_empty() => check(&catalog, &carried, areas),
        _ => bail!("use `requirements`, or `requirements --check AREA...` with areas such as LOOP"),
    }
}

fn check(catalog: &Catalog, carried: &BTreeSet<String>, areas: &[&str]) -> anyhow::Result<()> {
    if let Some(area) = areas.iter().find(|area| !catalog.areas().contains(area)) {
        bail!("there is no area {area}; choose from {}", catalog.areas().join(", "));
    }
    say(&report(catalog, carried, areas));
    let missing: usize = areas.iter().map(|area| catalog.missing(area, carried).len()).sum();
    if missing > 0 {
        bail!("{missing} requirements of {} have no test", areas.join(", "));
    }
    Ok(())
}

/// Every requirement that some test names.
fn carried(root: &Path, catalog: &Catalog) -> anyhow::Result<BTreeSet<String>> {
    let mut sources = Vec::new();
    for member in fs_err::read_dir(root.join("crates"))? {
        let member = member?.path();
        for dir in ["src", "tests"] {
            collect_sources(&member.join(dir), &mut sources)?;
        }
    }
    collect_sources(&root.join("xtask"), &mut sources)?;
    let mut carried = BTreeSet::new();
    for source in sources {
        carried.extend(scan::ids_of_tests(&fs_err::read_to_string(source)?, &catalog.areas()));
    }
    Ok(carried)
}

fn collect_sources(dir: &Path, sources: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    if !dir.is_dir() {
        return Ok(());
    }
    for entry in fs_err::read_dir(dir)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_sources(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
    Ok(())
}

fn report(catalog: &Catalog, carried: &BTreeSet<String>, areas: &[&str]) -> String {
    let mut lines = Vec::new();
    for area in areas {
        let missing = catalog.missing(area, carried);
        let total = catalog.of(area).count();
        lines.push(format!("{area}: {} of {total} have a test", total - missing.len()));
        lines.extend(missing.iter().map(|requirement| format!("  {}  {}", requirement.id, requirement.text)));
    }
    let unlisted: Vec<_> = carried.iter().filter(|id| !catalog.has(id)).cloned().collect();
    if !unlisted.is_empty() {
        lines.push(format!("In tests, but not in docs/requirements.md: {}", unlisted.join(", ")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        Catalog::parse("- AAA-01 First.\n- AAA-02 Second.\n- BBB-01 Third.\n").unwrap()
    }

    fn carried(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    #[test]
    fn the_report_lists_what_is_missing_by_area_and_what_is_not_listed() {
        let report = report(&catalog(), &carried(&["AAA-02", "BBB-01", "BBB-09"]), &["AAA", "BBB"]);
        let expected = "AAA: 1 of 2 have a test\n  AAA-01  First.\nBBB: 1 of 1 have a test\n\
                        In tests, but not in docs/requirements.md: BBB-09";
        assert_eq!(report, expected);
    }

    #[test]
    fn a_check_fails_only_for_the_areas_it_is_about() {
        let carried = carried(&["BBB-01"]);
        assert!(check(&catalog(), &carried, &["BBB"]).is_ok());
        let error = check(&catalog(), &carried, &["AAA", "BBB"]).unwrap_err().to_string();
        assert_eq!(error, "2 requirements of AAA, BBB have no test");
        let error = check(&catalog(), &carried, &["CCC"]).unwrap_err().to_string();
        assert!(error.contains("AAA, BBB"), "{error}");
    }

    #[test]
    fn sources_and_tests_of_every_crate_are_scanned() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(path, text).unwrap();
        };
        let test = |id: &str| format!("// {id}\n#[test]\nfn works() {{}}\n");
        write("crates/a/src/deep/x.rs", &test("AAA-01"));
        write("crates/b/tests/it/x.rs", &test("AAA-02"));
        write("xtask/src/main.rs", &test("BBB-01"));
        write("crates/a/src/notes.md", &test("BBB-02"));
        let found = super::carried(root.path(), &catalog()).unwrap();
        assert_eq!(found, carried(&["AAA-01", "AAA-02", "BBB-01"]));
    }
}
