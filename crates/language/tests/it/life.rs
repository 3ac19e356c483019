//! The life of a server: when it starts, what it is told, how it ends.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tiller_language::Waits;
use tokio::time::timeout;

use crate::fake::{behaving, world};
use tiller_testenv::eventually_beside;

use crate::world::{DEADLINE, exists};

#[tokio::test]
async fn a_server_starts_with_the_first_file_of_its_language() {
    let world = world("good");
    world.edit("a.other", "BROKEN");
    world.settled().await;
    assert!(!exists(&world.path("started")));
    world.edit("a.txt", "BROKEN");
    world.settled().await;
    assert!(exists(&world.path("started")));
    assert_eq!(world.messages("a.txt"), ["BROKEN"]);
    assert_eq!(world.messages("a.other"), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_starts_is_waited_for_longer_than_one_that_has_reported() {
    let world = world("gated");
    let gate = world.path("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    let opening = {
        let gate = gate.clone();
        tokio::task::spawn_blocking(move || fs_err::write(gate, "go"))
    };
    world.edit("a.txt", "BROKEN");
    let long = 2 * DEADLINE;
    let at_first = Waits { report: Duration::ZERO, start: long };
    timeout(DEADLINE, world.languages.settle(at_first)).await.unwrap();
    assert_eq!(world.messages("a.txt"), ["BROKEN"]);
    opening.await.unwrap().unwrap();

    world.edit("a.txt", "BROKEN again");
    timeout(DEADLINE, world.languages.settle(at_first)).await.unwrap();
    assert_eq!(world.messages("a.txt"), ["BROKEN"], "the gate is closed, and nobody has waited");
    let opening = tokio::task::spawn_blocking(move || fs_err::write(gate, "go"));
    eventually_beside("the report is there", || world.messages("a.txt") == ["BROKEN again"]).await;
    opening.await.unwrap().unwrap();
}

#[tokio::test]
async fn problems_come_and_go_with_the_text() {
    let world = world("good");
    world.edit("a.txt", "BROKEN");
    world.edit("b.txt", "BROKEN\nalso BROKEN");
    world.settled().await;
    assert_eq!(world.problems("a.txt")[0].source.as_deref(), Some("fake"));
    assert_eq!(world.problems("b.txt").len(), 2);
    world.edit("b.txt", "mended\nalso BROKEN");
    world.settled().await;
    assert_eq!(world.problems("b.txt")[0].line, 2);
    assert_eq!(world.languages.problems(&[world.path("b.txt"), world.path("a.txt")]).len(), 2);
}

#[tokio::test]
async fn what_others_change_is_noticed() {
    let world = world("good");
    world.edit("a.txt", "fine");
    world.settled().await;
    world.write("a.txt", "BROKEN by a command");
    world.settled().await;
    assert_eq!(world.messages("a.txt"), ["BROKEN by a command"]);
    fs_err::remove_file(world.path("a.txt")).unwrap();
    world.settled().await;
    assert_eq!(world.messages("a.txt"), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_asks_is_told_its_settings() {
    let mut plan = behaving("curious");
    plan.wish.settings = [("text".to_owned(), json!({"width": 80}))].into_iter().collect();
    let world = plan.begin();
    world.edit("a.txt", "fine");
    eventually_beside("the answer is there", || {
        fs_err::read(world.path("answer")).is_ok_and(|text| !text.is_empty())
    })
    .await;
    let answer: Value = serde_json::from_str(&fs_err::read_to_string(world.path("answer")).unwrap()).unwrap();
    assert_eq!(answer["result"], json!([80]));
}

#[tokio::test]
async fn a_server_ends_as_the_protocol_wants_it() {
    let mut plan = behaving("good");
    plan.patience.leaving = DEADLINE;
    let world = plan.begin();
    world.edit("a.txt", "fine");
    world.settled().await;
    timeout(DEADLINE, world.languages.end()).await.unwrap();
    assert!(exists(&world.path("left")));
    world.edit("a.txt", "BROKEN");
    world.settled().await;
    assert_eq!(world.messages("a.txt"), Vec::<String>::new(), "nothing starts after the end");
}

#[tokio::test]
async fn a_server_ends_when_tiller_is_killed() {
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "life::host_that_is_killed", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("server is up: ")).unwrap();
    let pid = line.rsplit(' ').next().unwrap().to_owned();
    let is_alive = || exists(std::path::Path::new(&format!("/proc/{pid}/exe")));
    assert!(fs_err::read_to_string(format!("/proc/{pid}/cmdline")).unwrap().contains("fake::serve"));
    host.kill().unwrap();
    host.wait().unwrap();
    eventually_beside("the server is gone", || {
        // One that is only waiting to be collected has no command line any more.
        !is_alive() || fs_err::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().is_empty()
    })
    .await;
}

#[tokio::test]
#[ignore = "only runs as the victim of the test above"]
async fn host_that_is_killed() {
    let world = world("mute");
    world.edit("a.txt", "fine");
    eventually_beside("it is up", || fs_err::read(world.path("started")).is_ok_and(|text| !text.is_empty()))
        .await;
    println!("server is up: {}", fs_err::read_to_string(world.path("started")).unwrap());
    std::future::pending::<()>().await;
}
