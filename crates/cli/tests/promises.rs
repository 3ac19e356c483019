//! Every promise of the security page names a test that exists.

use std::path::Path;

#[test]
fn each_promise_leads_to_its_test() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = fs_err::read_to_string(docs.join("security.md")).unwrap();
    let mut promises = 0;
    for line in page.lines().filter(|line| line.starts_with("| ") && line.contains("](../crates/")) {
        for link in line.split("[`").skip(1) {
            let (name, rest) = link.split_once("`](").unwrap();
            let file = rest.split_once(')').unwrap().0;
            let code = fs_err::read_to_string(docs.join(file)).unwrap();
            assert!(code.contains(&format!("fn {name}(")), "{file} has no test {name}");
            promises += 1;
        }
    }
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.contains("---")).count();
    assert!(promises > 25 && rows > promises / 2, "{promises} promises in {rows} rows");
}
