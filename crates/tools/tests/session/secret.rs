//! Credentials in what commands print and pages say (SECR-01).

use serde_json::json;

use crate::bench::{Bench, Ended, ended};

const TOKEN: &str = concat!("gh", "p_q7Rz2Kf9Lm4Xw8Tb3Vn6Yc1Hd5Gj0PsAeUiO");

#[track_caller]
fn is_clean(ended: &Ended) {
    let all = format!("{}{}", ended.text, ended.detail);
    assert!(!all.contains(&TOKEN[..12]) && !all.contains(&TOKEN[28..]), "{all}");
}

#[tokio::test]
async fn what_a_command_prints_is_masked_whether_it_fails_or_not() {
    let mut bench = Bench::new();
    for (command, failed) in [(format!("echo {TOKEN}"), false), (format!("echo x={TOKEN} >&2; false"), true)]
    {
        let ended = bench.bash(&command).await;
        is_clean(&ended);
        assert_eq!(ended.failed, failed);
        assert!(ended.text.contains("[secret:github-token:"), "{}", ended.text);
        assert_eq!(ended.detail["masked"], json!([{"kind": "github-token", "count": 1}]));
    }
}

// Wherever the cut falls, no half of a credential remains.
#[tokio::test]
async fn long_output_is_masked_before_it_is_cut() {
    for shift in [0, 13, 26, 39] {
        let mut bench = Bench::new();
        let script = format!("printf '%{shift}s' ''; for i in $(seq 1 {{}}); do printf '{TOKEN} '; done");
        for count in ["2000", "1000"] {
            let ended = bench.bash(&script.replace("{}", count)).await;
            is_clean(&ended);
            assert!(ended.text.contains("cut here"), "{}", ended.text);
        }
    }
}

#[tokio::test]
async fn progress_is_masked() {
    let mut bench = Bench::new();
    let printed = format!("for i in $(seq 1 60); do printf '{TOKEN} '; done; echo ready");
    let command = format!("{printed}; until test -e go; do :; done");
    let running = tokio::spawn(bench.start("Bash", &json!({"command": command})).unwrap());
    let seen = loop {
        let progress = bench.progress.recv().await.unwrap();
        let output = progress["output"].as_str().unwrap().to_owned();
        assert!(!output.contains(&TOKEN[20..]), "{output}");
        if output.contains("ready") {
            break output;
        }
    };
    assert!(seen.contains("[secret:github-token:"), "{seen}");
    fs_err::write(bench.path().join("go"), "").unwrap();
    is_clean(&ended(running.await.unwrap()));
}

#[tokio::test]
async fn background_output_is_masked() {
    let mut bench = Bench::new();
    let command = format!("echo {TOKEN}; sleep 1000");
    assert!(!bench.call("Bash", json!({"command": command, "run_in_background": true})).await.failed);
    let printed = loop {
        let news = bench.call("BashOutput", json!({"bash_id": "bash_1"})).await;
        is_clean(&news);
        if news.detail["stdout"] != "" {
            break news.text;
        }
        tokio::task::yield_now().await;
    };
    assert!(printed.contains("[secret:github-token:"), "{printed}");
}

#[tokio::test]
async fn a_command_with_a_mask_is_refused() {
    let mut bench = Bench::new();
    let text = bench.bash(&format!("echo {TOKEN}")).await.text;
    let mask = &text[..=text.find(']').unwrap()];
    let refused = bench.bash(&format!("echo '{mask}' > copy")).await;
    assert!(
        refused.failed && refused.text.contains("commands do not get the real value"),
        "{}",
        refused.text
    );
    assert!(!bench.path().join("copy").exists());
    assert!(!bench.bash("echo '[secret:github-token:99999999]'").await.failed, "that is any text");
}
