use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::*;

/// The catalog, the tree in two levels, a font, and pages with their content and a link to the next one.
fn objects_of(pages: usize) -> Vec<(u32, String)> {
    let page = |n: usize| 10 + 2 * n;
    let kids = |range: std::ops::Range<usize>| {
        range.map(|n| format!("{} 0 R", page(n))).collect::<Vec<_>>().join(" ")
    };
    let half = pages / 2;
    let mut objects = vec![
        (1, "<</Type/Catalog/Pages 2 0 R/Outlines 6 0 R>>".to_owned()),
        (
            2,
            format!(
                "<</Type/Pages/Kids[3 0 R 4 0 R]/Count {pages}/MediaBox[0 0 200 100]\n\
                 /Resources<</Font<</F1 5 0 R>>>>>>"
            ),
        ),
        (3, format!("<</Type/Pages/Parent 2 0 R/Kids[{}]/Count {half}>>", kids(0..half))),
        (4, format!("<</Type/Pages/Parent 2 0 R/Kids 7 0 R/Count {}/MediaBox[0 0 300 100]>>", pages - half)),
        (5, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned()),
        (6, format!("<</Type/Outlines/First {} 0 R>>", page(0))),
        (7, format!("[{}]", kids(half..pages))),
    ];
    for n in 0..pages {
        let node = if n < half { 3 } else { 4 };
        let link =
            format!("<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/Dest[{} 0 R/Fit]>>", page((n + 1) % pages));
        let (id, content) = (u32::try_from(page(n)).unwrap(), page(n) + 1);
        let own = format!("<</Type/Page/Parent {node} 0 R/Contents {content} 0 R/Annots[{link}]>>");
        let drawn = format!("BT /F1 24 Tf 20 40 Td (This is page {}) Tj ET", n + 1);
        objects.push((id, own));
        objects.push((id + 1, format!("<</Length {}>>stream\n{drawn}\nendstream", drawn.len())));
    }
    objects
}

/// A document as most programs wrote it.
fn plain(pages: usize) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n%\xff\xff\n".to_vec();
    for (number, body) in objects_of(pages) {
        file.extend(format!("{number} 0 obj\n{body}\nendobj\n").into_bytes());
    }
    file.extend(b"trailer\n<</Size 99/Root 1 0 R>>\nstartxref\n0\n%%EOF\n");
    file
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The same as most programs write it now: what is no content is packed together.
fn modern(pages: usize) -> Vec<u8> {
    let (streams, others): (Vec<_>, Vec<_>) =
        objects_of(pages).into_iter().partition(|(_, body)| body.ends_with("endstream"));
    let (mut table, mut bodies) = (String::new(), String::new());
    for (number, body) in &others {
        table.push_str(&format!("{number} {} ", bodies.len()));
        bodies.push_str(&format!("{body} "));
    }
    let mut file = b"%PDF-1.7\n%\xff\xff\n".to_vec();
    for (number, body) in streams {
        file.extend(format!("{number} 0 obj\n{body}\nendobj\n").into_bytes());
    }
    let content = packed(format!("{table}{bodies}").as_bytes());
    let head =
        format!("/N {}/First {}/Filter/FlateDecode/Length {}", others.len(), table.len(), content.len());
    file.extend(format!("900 0 obj <</Type/ObjStm{head}>> stream\r\n").into_bytes());
    file.extend(content);
    file.extend(
        b"\r\nendstream endobj\n901 0 obj\n<</Type/XRef/Root 1 0 R/Length 0>>stream\n\nendstream\nendobj\n",
    );
    file.extend(b"startxref\n0\n%%EOF\n");
    file
}

fn extract(file: &[u8], pages: &str) -> Result<Extract, NoPages> {
    Pages::parse(pages).unwrap().of(file)
}

/// Every place that the table of a document names is the beginning of that object.
fn assert_consistent(document: &[u8]) {
    let text = String::from_utf8_lossy(document);
    let (_, tail) = text.rsplit_once("startxref\n").unwrap();
    let table: usize = tail.lines().next().unwrap().parse().unwrap();
    let lines: Vec<&str> = std::str::from_utf8(&document[table..]).unwrap().lines().collect();
    let entries: Vec<_> = lines[3..].chunks_exact(2).take_while(|pair| pair[0].ends_with(" 1")).collect();
    assert!(entries.len() > 4);
    for pair in entries {
        let (number, place) = (pair[0].split(' ').next().unwrap(), pair[1][..10].parse::<usize>().unwrap());
        assert!(document[place..].starts_with(format!("{number} 0 obj\n").as_bytes()), "{pair:?}");
        assert_eq!(pair[1].len(), 19);
    }
}

#[test]
fn pages_keep_what_they_are_drawn_with_and_nothing_else() {
    for file in [plain(6), modern(6)] {
        for (range, expected) in [("1", 1..=1), ("2-5", 2..=5), (" 6 - 6 ", 6..=6), ("1-6", 1..=6)] {
            let Extract { bytes, of } = extract(&file, range).unwrap();
            assert_eq!(of, 6);
            assert_consistent(&bytes);
            let text = String::from_utf8_lossy(&bytes);
            for page in 1..=6 {
                assert_eq!(
                    text.contains(&format!("(This is page {page})")),
                    expected.contains(&page),
                    "{range}"
                );
            }
            assert_eq!(text.matches("/Helvetica").count(), 1);
            assert!(!text.contains("/Outlines"));
            let again = extract(&bytes, &format!("1-{}", expected.clone().count())).unwrap();
            assert_eq!(again.of, expected.count());
        }
    }
}

#[test]
fn pages_inherit_from_the_nodes_above_them() {
    let text = |range: &str| String::from_utf8_lossy(&extract(&plain(6), range).unwrap().bytes).into_owned();
    let (early, late) = (text("1-3"), text("4-6"));
    assert_eq!((early.matches("[0 0 200 100]").count(), early.matches("[0 0 300 100]").count()), (3, 0));
    assert_eq!((late.matches("[0 0 200 100]").count(), late.matches("[0 0 300 100]").count()), (0, 3));
    assert_eq!(late.matches("/Resources <</Font<</F1 5 0 R>>>>").count(), 3);
}

#[test]
fn what_was_changed_later_counts() {
    let mut file = plain(2);
    let drawn = "BT /F1 9 Tf (changed) Tj ET";
    let body = format!("11 0 obj\n<</Length 8 0 R>>stream\n{drawn}\nendstream\nendobj\n8 0 obj 27 endobj\n");
    file.extend(body.into_bytes());
    file.extend(b"trailer <</Root 1 0 R/Prev 0>>\nstartxref\n0\n%%EOF\n");
    let text = String::from_utf8_lossy(&extract(&file, "1").unwrap().bytes).into_owned();
    assert!(text.contains("(changed)") && !text.contains("(This is page 1)"));
    assert!(text.contains("8 0 obj\n27\nendobj"), "the length stands elsewhere");
}

#[test]
fn what_is_asked_for_has_to_make_sense() {
    for (text, complaint) in [
        ("", "such as"),
        ("x", "such as"),
        ("1,3", "such as"),
        ("-3", "such as"),
        ("2-", "such as"),
        ("0", "counted from 1"),
        ("5-2", "goes up"),
        ("1-101", "100 at once"),
        ("1-99999999999999999999999", "such as"),
    ] {
        let error = Pages::parse(text).unwrap_err();
        assert!(error.contains(complaint), "{text}: {error}");
    }
    assert!(Pages::parse("1-100").is_ok());
    for range in ["7", "5-7"] {
        assert_eq!(extract(&plain(6), range).unwrap_err(), NoPages::Outside { of: 6 });
    }
}

#[test]
fn what_cannot_be_taken_apart_is_said() {
    let replaced = |from: &str, to: &str| {
        let text = String::from_utf8_lossy(&plain(3)).replace(from, to);
        extract(text.as_bytes(), "1").unwrap_err()
    };
    assert_eq!(replaced("/Root 1 0 R", "/Root 1 0 R/Encrypt 9 0 R"), NoPages::Encrypted);
    assert_eq!(replaced("/Kids[3 0 R 4 0 R]", "/Kids[]"), NoPages::Broken("it has no pages"));
    assert_eq!(replaced("/Kids[3 0 R 4 0 R]", "/Kids[2 0 R 2 0 R]"), NoPages::Broken("it has no pages"));
    assert_eq!(replaced("/Root 1 0 R", "/Root 77 0 R"), NoPages::Broken("its catalog is missing"));
    for broken in
        ["%PDF-1.4 nothing", "%PDF-1.4 1 0 obj <</A [", "%PDF-1.4 1 0 obj <<>> stream x", "1 0 obj 5"]
    {
        assert!(matches!(extract(broken.as_bytes(), "1"), Err(NoPages::Broken(_))), "{broken}");
    }
    let whole = modern(3);
    for end in (0..whole.len()).step_by(7) {
        _ = extract(&whole[..end], "1");
    }
}

#[test]
fn a_hostile_file_costs_neither_stack_nor_memory() {
    let deep = |inside: &[u8]| [b"%PDF-1.4 1 0 obj <</Type/Catalog/Pages ".as_slice(), inside].concat();
    let nested = [b"[".repeat(1_000_000), b"]".repeat(1_000_000), b">> endobj".to_vec()].concat();
    assert!(matches!(extract(&deep(&nested), "1"), Err(NoPages::Broken(_))));
    assert!(matches!(extract(&deep(&b"[(]".repeat(500_000)), "1"), Err(NoPages::Broken(_))));

    let bomb = packed(&vec![b' '; 300 * 1024 * 1024]);
    let head = format!(
        "%PDF-1.4\n9 0 obj <</Type/ObjStm/N 1/First 4/Filter/FlateDecode/Length {}>>stream\n",
        bomb.len()
    );
    let file = [head.as_bytes(), &bomb, b"\nendstream endobj\n"].concat();
    assert!(file.len() < 1024 * 1024);
    assert_eq!(extract(&file, "1").unwrap_err(), NoPages::TooLarge);
    let twice = String::from_utf8_lossy(&file).replace("/FlateDecode", "[/FlateDecode/FlateDecode]");
    assert_eq!(extract(twice.as_bytes(), "1").unwrap_err(), NoPages::Unusual);

    let heavy = "x".repeat(LARGEST / 2);
    let text = String::from_utf8_lossy(&plain(4)).replace("/Helvetica", &format!("/Helvetica/X({heavy})"));
    assert!(extract(text.as_bytes(), "1").is_ok());
    let text = text.replace("/MediaBox[0 0 200 100]", &format!("/MediaBox[0 0 200 100]/Rotate({heavy})"));
    assert_eq!(extract(text.as_bytes(), "1-2").unwrap_err(), NoPages::TooMuch);
}
