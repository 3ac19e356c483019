//! Finding requirement ids that belong to a test: in the comments directly above it, in its comments, in its name.
//!
//! Works on lines, which is enough for formatted code: a test begins with an attribute such as `#[test]` and ends with
//! a closing brace in the column of its `fn`.

use std::collections::BTreeSet;

/// Where the scan is.
enum Place<'a> {
    /// Outside any test, with the ids of comments that might belong to the next one.
    Between(BTreeSet<String>),
    /// After a test attribute, before its `fn`.
    Announced,
    /// In a test whose `fn` has this indentation.
    Inside(&'a str),
}

/// The ids of some areas that tests in a source file carry.
pub(crate) fn ids_of_tests(source: &str, areas: &[&str]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut place = Place::Between(BTreeSet::new());
    for line in source.lines() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let ids = ids_in_comment(code, areas);
        place = match place {
            Place::Between(above) if is_test_attribute(code) => {
                found.extend(above);
                found.extend(ids);
                Place::Announced
            }
            Place::Between(above) if code.starts_with("//") || code.starts_with("#[") => {
                Place::Between(above.into_iter().chain(ids).collect())
            }
            Place::Between(_) => Place::Between(BTreeSet::new()),
            Place::Announced => {
                found.extend(ids);
                let name = test_name(code);
                found.extend(name.and_then(|name| id_in_name(name, areas)));
                match name {
                    None => Place::Announced,
                    Some(_) if code.ends_with('}') => Place::Between(BTreeSet::new()),
                    Some(_) => Place::Inside(indent),
                }
            }
            Place::Inside(column) => {
                found.extend(ids);
                let ends = indent == column && code == "}";
                if ends { Place::Between(BTreeSet::new()) } else { Place::Inside(column) }
            }
        };
    }
    found
}

/// Whether text is an id: an area in capitals, a dash, two digits.
pub(crate) fn is_id(text: &str) -> bool {
    let Some((area, number)) = text.split_once('-') else { return false };
    !area.is_empty()
        && area.bytes().all(|byte| byte.is_ascii_uppercase())
        && number.len() == 2
        && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_test_attribute(code: &str) -> bool {
    let Some(attribute) = code.strip_prefix("#[") else { return false };
    let path = attribute.split(['(', ']']).next().unwrap_or_default();
    path == "test" || path.ends_with("::test")
}

fn ids_in_comment(code: &str, areas: &[&str]) -> BTreeSet<String> {
    let Some(at) = code.find("//") else { return BTreeSet::new() };
    let words = code[at..].split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    let ids =
        words.filter(|word| is_id(word) && areas.iter().any(|area| word.starts_with(&format!("{area}-"))));
    ids.map(str::to_owned).collect()
}

fn test_name(code: &str) -> Option<&str> {
    let signature = code.strip_prefix("pub ").unwrap_or(code);
    let signature = signature.strip_prefix("async ").unwrap_or(signature);
    signature.strip_prefix("fn ")?.split('(').next()
}

/// A name that begins with an id, as in `loop_17_says_so`.
fn id_in_name(name: &str, areas: &[&str]) -> Option<String> {
    let mut words = name.split('_');
    let id = format!("{}-{}", words.next()?.to_ascii_uppercase(), words.next()?);
    let listed = areas.iter().any(|area| id.starts_with(&format!("{area}-")));
    (listed && is_id(&id)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &[&str]) {
        let found: Vec<_> = ids_of_tests(source, &["AAA", "BBB"]).into_iter().collect();
        assert_eq!(found, expected, "{source}");
    }

    #[test]
    fn comments_directly_above_a_test_count() {
        check("// AAA-01, BBB-02: why\n#[test]\nfn works() {}\n", &["AAA-01", "BBB-02"]);
        check(
            "/// AAA-01\n#[tokio::test(start_paused = true)]\n// AAA-02\nasync fn works() {}",
            &["AAA-01", "AAA-02"],
        );
        check("// AAA-01\n#[cfg(unix)]\n#[test]\nfn works() {}", &["AAA-01"]);
        check("proptest! {\n    // AAA-01\n    #[test]\n    fn works(x in 0..9) {\n    }\n}", &["AAA-01"]);
    }

    #[test]
    fn comments_in_a_test_count_until_it_ends() {
        let test =
            "#[test]\nfn works() {\n    if x {\n    }\n    (1, 2), // AAA-01\n}\n// AAA-02\nfn other() {}\n";
        check(test, &["AAA-01"]);
    }

    #[test]
    fn names_of_tests_count() {
        check("#[test]\nfn aaa_07_is_kept() {\n}\n", &["AAA-07"]);
        check("fn aaa_07_is_no_test() {}\n", &[]);
        check("#[test]\nfn aaa_is_kept() {\n}\n", &[]);
    }

    #[test]
    fn other_places_do_not_count() {
        check("// AAA-01\nfn code() {}\n", &[]);
        check("// AAA-01\n\n#[test]\nfn works() {}\n", &[]);
        check("//! AAA-01\nuse x;\n#[test]\nfn works() {}\n", &[]);
        check("#[test]\nfn works() {\n    let id = \"AAA-01\";\n}\n", &[]);
    }

    #[test]
    fn only_whole_ids_of_known_areas_count() {
        check(
            "// CCC-01 UTF-16 AAA-1 AAA-011 aaa-01 XAAA-01 (AAA-03)\n#[test]\nfn works() {}\n",
            &["AAA-03"],
        );
    }
}
