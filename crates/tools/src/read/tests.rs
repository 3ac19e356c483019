use std::io::Write as _;

use ::image::{ImageFormat, RgbImage};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tiller_protocol::effect::{Effect, FileSeen, LineRange, Lines};

use crate::harness::{Bench, text};
use crate::{Done, ToolError};

fn seen(done: &Done) -> &FileSeen {
    match done.effects.as_slice() {
        [Effect::FileSeen(seen)] => seen,
        effects => panic!("{effects:?}"),
    }
}

fn range(first: u64, last: u64) -> Option<Lines> {
    Some(LineRange { first, last }.into())
}

// EXEC-27
#[tokio::test]
async fn lines_come_with_number_and_arrow() {
    let mut bench = Bench::new();
    bench.write("f", "one\n\ttwo\r\nthree");
    let done = bench.call("Read", json!({"file_path": "f"})).await.unwrap();
    assert_eq!(text(&done), "     1→one\n     2→\ttwo\n     3→three");
    assert_eq!(seen(&done).lines, None);
    assert_eq!(done.detail["file"]["totalLines"], 3);
    assert_eq!(done.detail["file"]["content"], "one\n\ttwo\nthree");
}

#[tokio::test]
async fn parts_are_shown_with_the_way_to_go_on() {
    let mut bench = Bench::new();
    bench.write("f", (1..=10).map(|n| format!("l{n}\n")).collect::<String>());
    let done = bench.call("Read", json!({"file_path": "f", "offset": "3", "limit": "2"})).await.unwrap();
    assert_eq!(text(&done), "     3→l3\n     4→l4\n[Lines 3 to 4 of 10. To go on: offset 5.]");
    assert_eq!(seen(&done).lines, range(3, 4));
    let done = bench.call("Read", json!({"file_path": "f", "offset": -2})).await.unwrap();
    assert_eq!(text(&done), "     9→l9\n    10→l10");
    let both = range(3, 4).zip(range(9, 10)).map(|(before, now)| before.with(&now));
    assert_eq!(seen(&done).lines, both, "what was seen before still counts, and nothing in between");
    let error = bench.error("Read", json!({"file_path": "f", "offset": 11})).await;
    assert!(error.contains("has 10 lines"), "{error}");
    let error = bench.error("Read", json!({"file_path": "f", "limit": 0})).await;
    assert!(error.contains("at least 1"), "{error}");
}

#[tokio::test]
async fn a_part_does_not_make_a_whole_read_forgotten() {
    let mut bench = Bench::new();
    bench.write("f", "a\nb\n");
    bench.text("Read", json!({"file_path": "f"})).await;
    let part = bench.call("Read", json!({"file_path": "f", "limit": 1})).await.unwrap();
    assert_eq!(seen(&part).lines, None);
    bench.write("f", "a\nc\n");
    let part = bench.call("Read", json!({"file_path": "f", "limit": 1})).await.unwrap();
    assert_eq!(seen(&part).lines, range(1, 1));
}

// SRCH-01
#[tokio::test]
async fn limits_are_reported() {
    let mut bench = Bench::new();
    bench.write("lines", "x\n".repeat(2_500));
    let shown = bench.text("Read", json!({"file_path": "lines"})).await;
    assert!(
        shown.ends_with("[Lines 1 to 2000 of 2500. To go on: offset 2001.]"),
        "{}",
        &shown[shown.len() - 80..]
    );

    bench.write("long", format!("short\n{}\n", "y".repeat(3_000)));
    let done = bench.call("Read", json!({"file_path": "long"})).await.unwrap();
    assert!(
        text(&done).contains("[1 line(s) cut after 2000 characters, the first is 2. The rest: `sed -n 2p"),
        "{}",
        text(&done)
    );
    assert_eq!(seen(&done).lines, None);

    bench.write("wide", format!("{}\n", "z".repeat(1_900)).repeat(100));
    let done = bench.call("Read", json!({"file_path": "wide"})).await.unwrap();
    assert!(text(&done).chars().count() < 100_000);
    assert!(text(&done).ends_with("of 100. To go on: offset 50.]"), "{:?}", text(&done).lines().last());
    assert_eq!(seen(&done).lines, range(1, 49));

    bench.write("large", "0123456789abcde\n".repeat(20_000));
    let error = bench.error("Read", json!({"file_path": "large"})).await;
    assert!(error.contains("312.5 KB and 20000 lines") && error.contains("offset 1, limit 500"), "{error}");
    assert!(bench.text("Read", json!({"file_path": "large", "limit": 1})).await.contains("of 20000"));
}

#[tokio::test]
async fn an_empty_file_is_said_to_be_empty() {
    let mut bench = Bench::new();
    bench.write("empty", "");
    let done = bench.call("Read", json!({"file_path": "empty"})).await.unwrap();
    assert_eq!(text(&done), "[The file exists but is empty.]");
    assert_eq!(seen(&done).lines, None);
}

#[tokio::test]
async fn encodings_are_decoded_and_named() {
    let mut bench = Bench::new();
    bench.write("bom", b"\xEF\xBB\xBFhi\n");
    bench.write("utf16", b"\xFF\xFEh\0\xE9\0\r\0\n\0");
    bench.write("latin", b"caf\xE9\n");
    bench.write("broken", [("é".repeat(9) + "\n").as_bytes(), b"\xFFx\n"].concat());
    assert_eq!(bench.text("Read", json!({"file_path": "bom"})).await, "     1→hi");
    assert_eq!(
        bench.text("Read", json!({"file_path": "utf16"})).await,
        "     1→hé\n[Stored as UTF-16 (little endian).]"
    );
    assert_eq!(bench.text("Read", json!({"file_path": "latin"})).await, "     1→café\n[Stored as Latin-1.]");
    let broken = bench.text("Read", json!({"file_path": "broken"})).await;
    assert!(broken.contains("     2→\u{FFFD}x\n[Bytes that are not valid"), "{broken}");
}

#[tokio::test]
async fn what_cannot_be_shown_is_explained() {
    let mut bench = Bench::new();
    bench.write("prog", b"\x7fELF\x02\x01\0\0");
    bench.write("dir/f", "");
    bench.write("notes.txt", "");
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.path("pipe"), rustix::fs::Mode::from_raw_mode(0o600))
        .unwrap();
    for (name, part) in [
        ("prog", "an ELF program or library (8 bytes)"),
        ("dir", "is a directory, not a file. List it with Glob or `ls`"),
        ("pipe", "named pipe"),
        ("/dev/null", "device"),
        ("note.txt", "Did you mean"),
        ("no/such/place", "does not exist. The working directory is"),
        ("notes.txt/x", "notes.txt is a file, not a directory"),
    ] {
        let error = bench.error("Read", json!({"file_path": name})).await;
        assert!(error.contains(part), "{name}: {error}");
    }
}

// RULE-05
#[tokio::test]
async fn a_link_is_judged_by_its_target_and_by_what_it_is_when_read() {
    let bench = Bench::new();
    let outside = Bench::new();
    outside.write("secret", "s");
    bench.write("inside", "i");
    std::os::unix::fs::symlink(bench.path("inside"), bench.path("link")).unwrap();
    let call = bench.permitted("Read", &json!({"file_path": "link"})).unwrap();
    fs_err::remove_file(bench.path("link")).unwrap();
    std::os::unix::fs::symlink(outside.path("secret"), bench.path("link")).unwrap();
    let error = call.run().await.unwrap_err().to_string();
    assert!(error.contains("was not part of what this call was permitted"), "{error}");
}

#[tokio::test]
async fn a_huge_file_is_read_in_parts() {
    let mut bench = Bench::new();
    let path = bench.path("huge");
    let mut file = fs_err::File::create(&path).unwrap();
    writeln!(file, "first\nsecond").unwrap();
    for _ in 0..2 * 1024 {
        file.write_all(&[b'.'; 32]).unwrap();
    }
    file.set_len(200 * 1024 * 1024).unwrap();
    let error = bench.error("Read", json!({"file_path": "huge"})).await;
    assert!(error.contains("200.0 MB"), "{error}");
    let done = bench.call("Read", json!({"file_path": "huge", "limit": 2})).await.unwrap();
    assert_eq!(text(&done), "     1→first\n     2→second\n[Lines 1 to 2. To go on: offset 3.]");
    assert!(seen(&done).fingerprint.0.starts_with("stamp:209715200:"));
    let tail = bench.text("Read", json!({"file_path": "huge", "offset": -1})).await;
    assert!(tail.contains("     3→....") && tail.len() < 5_000);
}

#[tokio::test]
async fn a_cancelled_read_stops() {
    let bench = Bench::new();
    bench.write("f", "x");
    let call = bench.permitted("Read", &json!({"file_path": "f"})).unwrap();
    bench.cancel.cancel();
    assert!(matches!(call.run().await, Err(ToolError::Cancelled)));
}

fn picture(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    RgbImage::from_fn(width, height, |x, y| ::image::Rgb([x as u8, y as u8, 7]))
        .write_to(&mut bytes, format)
        .unwrap();
    bytes.into_inner()
}

fn image_source(done: &Done) -> Value {
    done.content[0].to_value()["source"].clone()
}

#[tokio::test]
async fn images_are_shown_and_scaled_to_fit() {
    let mut bench = Bench::new();
    let small = picture(20, 10, ImageFormat::Png);
    bench.write("small.dat", &small);
    let done = bench.call("Read", json!({"file_path": "small.dat"})).await.unwrap();
    assert_eq!(done.content.len(), 1);
    let source = image_source(&done);
    assert_eq!(source["media_type"], "image/png");
    assert_eq!(STANDARD.decode(source["data"].as_str().unwrap()).unwrap(), small);

    bench.write("large.jpg", picture(3136, 784, ImageFormat::Jpeg));
    let done = bench.call("Read", json!({"file_path": "large.jpg"})).await.unwrap();
    assert_eq!(text(&done), "[Image of 3136x784 pixels, shown at 1568x392.]");
    let bytes = STANDARD.decode(image_source(&done)["data"].as_str().unwrap()).unwrap();
    assert_eq!(::image::load_from_memory(&bytes).unwrap().width(), 1568);

    bench.write("still.gif", picture(4, 4, ImageFormat::Gif));
    let done = bench.call("Read", json!({"file_path": "still.gif"})).await.unwrap();
    assert_eq!(image_source(&done)["media_type"], "image/png");

    bench.write("torn.png", &small[..small.len() / 2]);
    let error = bench.error("Read", json!({"file_path": "torn.png"})).await;
    assert!(error.contains("cannot be decoded"), "{error}");
}

#[tokio::test]
async fn pdfs_are_documents_within_limits() {
    let mut bench = Bench::new();
    bench.write(
        "a.pdf",
        "%PDF-1.4\n1 0 obj <</Type /Outlines /Count 500>> endobj\n2 0 obj <</Type /Pages /Count 3>> endobj\n%%EOF",
    );
    let done = bench.call("Read", json!({"file_path": "a.pdf"})).await.unwrap();
    let block = done.content[0].to_value();
    assert_eq!(
        (block["type"].as_str(), block["source"]["media_type"].as_str()),
        (Some("document"), Some("application/pdf"))
    );
    assert_eq!(done.detail["file"]["numPages"], 3);
    bench.write("b.pdf", "%PDF-1.4\n2 0 obj <</Count 300 /Type/Pages>> endobj\n%%EOF");
    let error = bench.error("Read", json!({"file_path": "b.pdf"})).await;
    assert!(error.contains("has 300 pages") && error.contains("with `pages` such as"), "{error}");
    bench.write("c.pdf", "%PDF-1.4\ntrailer <</Encrypt 5 0 R>>\n%%EOF");
    assert!(bench.error("Read", json!({"file_path": "c.pdf"})).await.contains("password"));
}

#[tokio::test]
async fn some_pages_of_a_pdf_are_a_document_of_their_own() {
    let mut bench = Bench::new();
    let page = |number: usize| {
        format!(
            "{number}0 0 obj <</Type/Page/Parent 2 0 R/Contents {number}1 0 R>> endobj\n\
             {number}1 0 obj <</Length 6>>stream\npage {number}\nendstream endobj\n"
        )
    };
    let pages: String = (1..=3).map(page).collect();
    let tree = "1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n\
                2 0 obj <</Type/Pages/Count 3/Kids[10 0 R 20 0 R 30 0 R]/MediaBox[0 0 9 9]>> endobj\n";
    bench.write("a.pdf", format!("%PDF-1.4\n{tree}{pages}trailer <</Root 1 0 R>>\n%%EOF"));
    let done = bench.call("Read", json!({"file_path": "a.pdf", "pages": "2-3"})).await.unwrap();
    let block = done.content[0].to_value();
    let document = STANDARD.decode(block["source"]["data"].as_str().unwrap()).unwrap();
    let document = String::from_utf8_lossy(&document);
    assert!(document.contains("page 2") && document.contains("page 3") && !document.contains("page 1"));
    assert_eq!(done.content[1].as_text().as_deref(), Some("[Pages 2-3 of 3.]"));
    assert_eq!((&done.detail["file"]["pages"], &done.detail["file"]["numPages"]), (&json!("2-3"), &json!(3)));
    for (input, complaint) in [
        (json!({"file_path": "a.pdf", "pages": "3-4"}), "has no such pages: it has 3."),
        (json!({"file_path": "a.pdf", "pages": "three"}), "such as \"2-5\", not \"three\""),
        (json!({"file_path": "a.txt", "pages": "1"}), "is no PDF and has no pages"),
    ] {
        bench.write("a.txt", "text");
        let error = bench.error("Read", input).await;
        assert!(error.contains(complaint), "{error}");
    }
    bench.write("secret.pdf", "%PDF-1.4\ntrailer <</Encrypt 5 0 R>>\n%%EOF");
    let error = bench.error("Read", json!({"file_path": "secret.pdf", "pages": "1"})).await;
    assert!(error.contains("password"), "{error}");
    bench.write("broken.pdf", "%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n%%EOF");
    let error = bench.error("Read", json!({"file_path": "broken.pdf", "pages": "1"})).await;
    assert!(error.contains("it has no pages") && error.contains("pdftotext"), "{error}");
}

#[tokio::test]
async fn notebooks_come_as_cells() {
    let mut bench = Bench::new();
    let png = STANDARD.encode(picture(2, 2, ImageFormat::Png));
    let notebook = json!({
        "cells": [
            {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# A\n", "text"]},
            {"cell_type": "code", "metadata": {}, "execution_count": 2, "source": "1 + 1", "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["\u{1b}[31mred\u{1b}[0m\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "2"}, "metadata": {}, "execution_count": 2},
                {"output_type": "display_data", "data": {"image/png": png, "text/plain": "<Figure>"}, "metadata": {}},
                {"output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["\u{1b}[0;31mline\u{1b}[0m"]},
            ]},
        ],
        "metadata": {"language_info": {"name": "julia"}}, "nbformat": 4, "nbformat_minor": 4,
    });
    bench.write("n.ipynb", notebook.to_string());
    let done = bench.call("Read", json!({"file_path": "n.ipynb"})).await.unwrap();
    insta::assert_snapshot!(text(&done), @r#"
    <cell id="intro" type="markdown">
    # A
    text
    </cell>
    <cell id="cell-1" type="code" language="julia">
    1 + 1
    </cell>
    <output cell="cell-1">
    red
    </output>
    <output cell="cell-1">
    2
    </output>
    <output cell="cell-1">
    [image 1 below]
    </output>
    <output cell="cell-1">
    E: bad
    line
    </output>
    "#);
    assert_eq!(done.content[1].kind(), "image");
    assert_eq!(seen(&done).lines, None);
    let first = bench.text("Read", json!({"file_path": "n.ipynb", "limit": 1})).await;
    assert!(first.ends_with("[Cells 1 to 1 of 2. To go on: offset 2.]"), "{first}");
    bench.write("bad.ipynb", "not json");
    assert_eq!(bench.text("Read", json!({"file_path": "bad.ipynb"})).await, "     1→not json");
}

// LOG-05: a provider would refuse it, and with it every later request.
#[tokio::test]
async fn a_broken_pdf_is_not_shown() {
    let mut bench = Bench::new();
    bench.write("f.pdf", "%PDF-1.4 broken");
    assert!(bench.error("Read", json!({"file_path": "f.pdf"})).await.contains("not a complete PDF"));
}
