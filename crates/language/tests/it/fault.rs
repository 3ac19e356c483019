//! Servers that do what they should not.

use std::time::Duration;

use tiller_testenv::eventually_beside;
use tokio::time::timeout;

use crate::fake::{behaving, world};
use crate::world::{DEADLINE, MOMENT, equally, exists};

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() {
    let mut plan = behaving("silent");
    plan.patience.greeting = Duration::from_millis(300);
    let mut world = plan.begin();
    world.edit("a.txt", "BROKEN");
    world.settled().await;
    let notice = world.notice().await;
    assert!(notice.contains("did not answer in time") && notice.contains("text"), "{notice}");
    world.edit("a.txt", "BROKEN again");
    world.settled().await;
    assert_eq!(world.messages("a.txt"), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_that_hangs_is_waited_for_once() {
    let world = world("mute");
    world.edit("a.txt", "BROKEN");
    world.languages.settle(equally(MOMENT)).await;
    for text in ["more", "and more"] {
        world.edit("a.txt", text);
        world.settled().await;
    }
    timeout(DEADLINE, world.languages.end()).await.unwrap();
}

#[tokio::test]
async fn what_comes_too_late_is_there_the_next_time() {
    let world = world("gated");
    let gate = world.path("gate");
    assert!(std::process::Command::new("mkfifo").arg(&gate).status().unwrap().success());
    world.edit("a.txt", "BROKEN");
    world.languages.settle(equally(MOMENT)).await;
    assert_eq!(world.messages("a.txt"), Vec::<String>::new());
    tokio::task::spawn_blocking(move || fs_err::write(gate, "go")).await.unwrap().unwrap();
    eventually_beside("the report is there", || world.messages("a.txt") == ["BROKEN"]).await;
}

#[tokio::test]
async fn a_server_that_crashes_is_started_once_more() {
    let mut world = world("crashing once");
    world.edit("a.txt", "BROKEN");
    world.settled().await;
    assert!(exists(&world.path("crashed")));
    assert_eq!(world.messages("a.txt"), ["BROKEN"], "the file was told to the second server as well");
    assert!(world.is_quiet());
}

#[tokio::test]
async fn a_server_that_keeps_crashing_is_given_up() {
    let mut world = world("crashing");
    world.edit("a.txt", "BROKEN");
    world.settled().await;
    let notice = world.notice().await;
    assert!(notice.contains("bash ended with exit code 3: the last straw"), "{notice}");
    world.edit("a.txt", "again");
    world.settled().await;
    assert!(world.is_quiet(), "it is said once");
}

#[tokio::test]
async fn a_server_that_speaks_no_protocol_is_given_up() {
    for (behaviour, complaint) in
        [("garbage", "not the language server protocol"), ("huge", "99999999999 bytes")]
    {
        let mut world = world(behaviour);
        world.edit("a.txt", "BROKEN");
        world.settled().await;
        let notice = world.notice().await;
        assert!(notice.contains(complaint), "{notice}");
    }
}

#[tokio::test]
async fn a_server_that_stops_in_the_middle_of_a_message_holds_nobody_up() {
    let world = world("voiceless");
    world.edit("a.txt", "BROKEN");
    world.languages.settle(equally(MOMENT)).await;
    eventually_beside("it hangs", || exists(&world.path("hanging"))).await;
    timeout(DEADLINE, world.languages.end()).await.unwrap();
}

#[tokio::test]
async fn a_server_that_does_not_read_holds_nobody_up() {
    let world = world("deaf");
    let long = "BROKEN ".repeat(100_000);
    for number in 0..20 {
        world.edit("a.txt", &format!("{number} {long}"));
        world.languages.settle(equally(Duration::from_millis(1))).await;
    }
    timeout(DEADLINE, world.languages.end()).await.unwrap();
}

#[tokio::test]
async fn noise_wrong_ids_nonsense_and_floods_are_survived() {
    for behaviour in ["noisy", "wrong ids", "mumbling", "flooding"] {
        let mut world = world(behaviour);
        world.edit("a.txt", "fine\nBROKEN");
        world.settled().await;
        let problems = world.problems("a.txt");
        assert_eq!((problems.len(), problems[0].line), (1, 2), "{behaviour}");
        world.edit("a.txt", "fine");
        world.settled().await;
        assert_eq!(world.problems("a.txt"), [], "{behaviour}");
        assert!(world.is_quiet(), "{behaviour}");
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told_of() {
    let mut world = crate::world::Plan::new(vec!["no-such-server".to_owned()]).begin();
    world.edit("a.txt", "BROKEN");
    world.settled().await;
    let notice = world.notice().await;
    assert!(notice.contains("no-such-server was not found"), "{notice}");
}

#[tokio::test]
async fn a_server_that_cannot_be_held_is_not_started() {
    let mut plan = behaving("good");
    plan.wish.confined = Some(true);
    plan.hold = std::sync::Arc::new(|_| Err("may not run: nothing holds it".to_owned()));
    let mut world = plan.begin();
    world.edit("a.txt", "BROKEN");
    world.settled().await;
    let notice = world.notice().await;
    assert!(notice.contains("may not run: nothing holds it"), "{notice}");
    assert!(!exists(&world.path("started")));
}
