//! What tools show of files with credentials, and what they make of masks (SECR-01).

use serde_json::{Value, json};

use crate::Done;
use crate::harness::{Bench, text};

const TOKEN: &str = concat!("gh", "p_q7Rz2Kf9Lm4Xw8Tb3Vn6Yc1Hd5Gj0PsAeUiO");
const PASSWORD: &str = "Zx9!kQ2mPw7rTv4";

fn dotenv() -> String {
    format!("# for tests\nTOKEN={TOKEN}\nDB_PASSWORD=\"{PASSWORD}\"\nDEBUG=1\n")
}

fn key() -> String {
    let line = "MIIEowIBAAKCAQEAq7Rz2Kf9Lm4Xw8Tb3Vn6Yc1Hd5Gj0PsAeUiOoQZMIIEowIBAA";
    let lines: Vec<String> = (0..6).map(|at| format!("{at}{}", &line[1..])).collect();
    format!("-----BEGIN PRIVATE KEY-----\n{}\nkQ==\n-----END PRIVATE KEY-----\n", lines.join("\n"))
}

/// The masks in a text, in order.
fn masks(text: &str) -> Vec<String> {
    let starts = text.match_indices("[secret:").map(|(start, _)| &text[start..]);
    starts.map(|rest| rest[..=rest.find(']').unwrap()].to_owned()).collect()
}

#[track_caller]
fn is_clean(done: &Done) {
    let all = format!("{:?}{}", done.content, done.detail);
    for secret in [TOKEN, PASSWORD, &TOKEN[..20]]
        .into_iter()
        .chain(key().lines().filter(|line| !line.contains('-')).collect::<Vec<_>>())
    {
        assert!(!all.contains(secret), "{secret} in {all}");
    }
}

async fn read(bench: &mut Bench, input: Value) -> Done {
    let done = bench.call("Read", input).await.unwrap();
    is_clean(&done);
    done
}

#[tokio::test]
async fn reading_shows_masks_and_says_so() {
    let mut bench = Bench::new();
    bench.write(".env", dotenv());
    let done = read(&mut bench, json!({"file_path": ".env"})).await;
    let shown = text(&done);
    assert!(shown.contains("     2→TOKEN=[secret:github-token:"), "{shown}");
    assert!(shown.contains("DB_PASSWORD=\"[secret:password:"), "{shown}");
    assert!(shown.contains("     4→DEBUG=1\n[Secrets masked above: 1 github-token, 1 password."), "{shown}");
    assert_eq!(
        done.detail["masked"],
        json!([{"kind": "github-token", "count": 1}, {"kind": "password", "count": 1}])
    );
    bench.write("plain", "nothing here\n");
    let done = read(&mut bench, json!({"file_path": "plain"})).await;
    assert_eq!((text(&done).as_str(), done.detail.get("masked")), ("     1→nothing here", None));
}

#[tokio::test]
async fn a_part_of_a_key_is_recognised_by_the_whole_file() {
    let mut bench = Bench::new();
    bench.write("key.pem", key());
    let done = read(&mut bench, json!({"file_path": "key.pem", "offset": 3, "limit": 2})).await;
    assert_eq!(masks(&text(&done)).len(), 2);
    for input in [
        json!({"pattern": "MII|IEow", "path": "key.pem", "output_mode": "content"}),
        json!({"pattern": "BEGIN", "path": ".", "output_mode": "content", "-A": 9}),
    ] {
        let mut bench = Bench::new();
        bench.write("key.pem", key());
        is_clean(&bench.call("Grep", input.clone()).await.unwrap());
        let done = bench.call("Grep", input).await.unwrap();
        is_clean(&done);
        assert!(masks(&text(&done)).len() >= 6, "{}", text(&done));
    }
}

#[tokio::test]
async fn every_encoding_is_looked_through() {
    let mut bench = Bench::new();
    let utf16: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain(dotenv().encode_utf16().flat_map(u16::to_le_bytes)).collect();
    bench.write("utf16", utf16);
    bench.write("latin1", [dotenv().as_bytes(), b"caf\xe9\n"].concat());
    bench.write("broken", [dotenv().as_bytes(), "é".as_bytes(), b"\xff\n"].concat());
    for file in ["utf16", "latin1", "broken"] {
        let done = read(&mut bench, json!({"file_path": file})).await;
        assert_eq!(masks(&text(&done)).len(), 2, "{file}");
    }
}

#[tokio::test]
async fn edits_beside_and_across_a_mask_meet_the_real_bytes() {
    let mut bench = Bench::new();
    bench.write(".env", dotenv());
    let shown = text(&read(&mut bench, json!({"file_path": ".env"})).await);
    let [token, password] = masks(&shown).try_into().unwrap();
    let edit = |old: &str, new: &str| json!({"file_path": ".env", "old_string": old, "new_string": new});
    is_clean(&bench.call("Edit", edit("DEBUG=1", "DEBUG=0")).await.unwrap());
    let across = edit(&format!("TOKEN={token}\nDB_"), &format!("API_TOKEN={token}\nMAIN_DB_"));
    is_clean(&bench.call("Edit", across).await.unwrap());
    let twice = edit("DEBUG=0\n", &format!("DEBUG=0\nCOPY={password}\n"));
    is_clean(&bench.call("Edit", twice).await.unwrap());
    assert_eq!(
        bench.content(".env"),
        format!(
            "# for tests\nAPI_TOKEN={TOKEN}\nMAIN_DB_PASSWORD=\"{PASSWORD}\"\nDEBUG=0\nCOPY={PASSWORD}\n"
        )
    );
    // Taking a credential out, and putting it back.
    bench.call("Edit", edit(&format!("API_TOKEN={token}\n"), "")).await.unwrap();
    assert!(!bench.content(".env").contains(TOKEN));
    bench.call("Edit", edit("# for tests\n", &format!("TOKEN={token}\n"))).await.unwrap();
    assert!(bench.content(".env").starts_with(&format!("TOKEN={TOKEN}\n")));
    let error = bench.error("Edit", edit("DB_PASSWORT", "x")).await;
    assert!(error.contains("was not found") && !error.contains(PASSWORD), "{error}");
}

#[tokio::test]
async fn a_whole_file_can_be_written_back() {
    let mut bench = Bench::new();
    bench.write(".env", dotenv().replace('\n', "\r\n"));
    let shown = text(&read(&mut bench, json!({"file_path": ".env"})).await);
    let [token, password] = masks(&shown).try_into().unwrap();
    let content = format!("TOKEN={token}\nDB_PASSWORD=\"{password}\"\nNEW=1\n");
    is_clean(&bench.call("Write", json!({"file_path": ".env", "content": content})).await.unwrap());
    assert_eq!(bench.content(".env"), format!("TOKEN={TOKEN}\r\nDB_PASSWORD=\"{PASSWORD}\"\r\nNEW=1\r\n"));
    // What was written is known as it is: no need to read it again.
    bench
        .call("Edit", json!({"file_path": ".env", "old_string": "NEW=1", "new_string": "NEW=2"}))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_mask_does_not_carry_a_secret_into_another_file() {
    let mut bench = Bench::new();
    bench.write(".env", dotenv());
    bench.write("public.js", "let token = '';\n");
    bench.write("a.ipynb", r#"{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#);
    let [token, _] = masks(&text(&read(&mut bench, json!({"file_path": ".env"})).await)).try_into().unwrap();
    read(&mut bench, json!({"file_path": "public.js"})).await;
    read(&mut bench, json!({"file_path": "a.ipynb"})).await;
    for (tool, input) in [
        ("Write", json!({"file_path": "new", "content": token})),
        ("Write", json!({"file_path": "public.js", "content": format!("let token = '{token}';\n")})),
        ("Edit", json!({"file_path": "public.js", "old_string": "''", "new_string": format!("'{token}'")})),
        ("Edit", json!({"file_path": "new", "old_string": "", "new_string": token})),
        (
            "NotebookEdit",
            json!({"notebook_path": "a.ipynb", "new_source": token, "cell_type": "code", "edit_mode": "insert"}),
        ),
    ] {
        let error = bench.error(tool, input).await;
        assert!(error.contains("not copied from file to file"), "{tool}: {error}");
    }
    assert_eq!(bench.content("public.js"), "let token = '';\n");
    assert!(!bench.path("new").exists());
}

#[tokio::test]
async fn a_mask_of_an_earlier_run_is_not_taken_for_text() {
    let mut bench = Bench::new();
    bench.write(".env", dotenv());
    read(&mut bench, json!({"file_path": ".env"})).await;
    let stale = "TOKEN=[secret:github-token:deadbeef]\n";
    for (tool, input) in [
        ("Write", json!({"file_path": ".env", "content": stale})),
        ("Edit", json!({"file_path": ".env", "old_string": stale, "new_string": ""})),
    ] {
        let error = bench.error(tool, input).await;
        assert!(error.contains("Read") && error.contains("again"), "{error}");
    }
    assert_eq!(bench.content(".env"), dotenv());
}

#[tokio::test]
async fn cells_of_notebooks_are_masked_and_restored() {
    let mut bench = Bench::new();
    let cell = json!({"cell_type": "code", "id": "c1", "metadata": {}, "execution_count": null,
        "source": [format!("token = '{TOKEN}'\n"), "x = 1\n"],
        "outputs": [{"output_type": "stream", "name": "stdout", "text": [format!("{TOKEN}\n")]}]});
    let notebook = json!({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    bench.write("a.ipynb", notebook.to_string());
    let shown = text(&read(&mut bench, json!({"file_path": "a.ipynb"})).await);
    let mask = &masks(&shown)[0];
    assert_eq!(masks(&shown).len(), 2);
    let input = json!({"notebook_path": "a.ipynb", "cell_id": "c1", "new_source": format!("token = '{mask}'\nx = 2\n")});
    is_clean(&bench.call("NotebookEdit", input).await.unwrap());
    let written: Value = serde_json::from_str(&bench.content("a.ipynb")).unwrap();
    assert_eq!(written["cells"][0]["source"], json!([format!("token = '{TOKEN}'\n"), "x = 2\n"]));
}

#[tokio::test]
async fn switched_off_everything_is_shown() {
    let mut bench = Bench::unmasked();
    bench.write(".env", dotenv());
    let shown = bench.text("Read", json!({"file_path": ".env"})).await;
    assert!(shown.contains(TOKEN) && !shown.contains("masked"), "{shown}");
}

#[tokio::test]
async fn long_lines_are_cut_after_masking() {
    let mut bench = Bench::new();
    let line = format!("{} TOKEN={TOKEN} {}", "x".repeat(1_980), "y".repeat(600));
    bench.write("long", format!("{line}\n"));
    is_clean(&read(&mut bench, json!({"file_path": "long"})).await);
    let line = format!("needle {} TOKEN={TOKEN} {}", "x".repeat(470), "y".repeat(600));
    bench.write("long", format!("{line}\n"));
    let done = bench.call("Grep", json!({"pattern": "needle", "output_mode": "content"})).await.unwrap();
    is_clean(&done);
}
