//! What is always in sight: the mode, and how commands are held in it.

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_protocol::mode::Mode;

use super::stage::Stage;
use super::views::run;
use crate::host::{Reply, Request};
use crate::theme::{Palette, Rgb};

/// The mode and the level at the beginning of the row at the bottom.
fn standing(stage: &mut Stage) -> String {
    let status = stage.status();
    status.split("  ").next().unwrap_or_default().to_owned()
}

// KERN-08: what is shown is what holds, in the mode there is and with the settings there are.
#[test]
fn the_confinement_is_that_of_the_mode() {
    let mut stage = Stage::new(80, 20);
    for (mode, shown) in [
        (Mode::Default, "asks before changes · sandboxed"),
        (Mode::AcceptEdits, "accepts edits · sandboxed"),
        (Mode::Plan, "PLAN MODE: changes nothing · read-only"),
        (Mode::BypassPermissions, "ASKS NOTHING · NOT SANDBOXED"),
    ] {
        stage.set_mode(mode);
        assert_eq!(standing(&mut stage), shown);
    }
    run(&mut stage, "/status");
    assert!(stage.shown().contains("commands    NOT SANDBOXED in this mode"), "{}", stage.shown());
    stage.press(KeyCode::Esc);
    stage.set_mode(Mode::Default);
    stage.app.info.confinement.is_wanted = false;
    assert_eq!(standing(&mut stage), "asks before changes · NOT SANDBOXED");
    run(&mut stage, "/status");
    assert!(stage.shown().contains("NOT SANDBOXED: sandbox.enabled is off"), "{}", stage.shown());
}

// LEDG-06: the share of steering is there as well, next to a long name and a cost.
#[test]
fn the_share_of_steering_is_always_there() {
    let mut stage = Stage::new(80, 20);
    stage.app.info.model = "claude-with-a-long-name-5-5".to_owned();
    stage.app.state.spent.usd = 0.123;
    assert!(stage.status().contains("steering 0%"), "{}", stage.status());
    stage.set_mode(Mode::Plan);
    assert!(stage.status().contains("steering 0%"), "{}", stage.status());
}

#[test]
fn nothing_hides_the_mode() {
    for columns in [100, 80, 40, 20] {
        let mut stage = Stage::new(columns, 20);
        stage.set_mode(Mode::Plan);
        let (mode, level) = ("PLAN", "read-only");
        let is_there = |stage: &mut Stage, what: &str| {
            let standing = standing(stage);
            assert!(
                standing.contains(mode) && standing.contains(level),
                "{what} in {columns} columns:\n{}",
                stage.shown()
            );
        };
        is_there(&mut stage, "the beginning");
        stage.press(KeyCode::Esc);
        is_there(&mut stage, "a hint");
        let words: String = stage.shown().split_whitespace().collect();
        assert!(words.contains("earlierprompt"), "the hint is whole: {}", stage.shown());
        stage.write("/he");
        is_there(&mut stage, "a menu");
        stage.key(KeyCode::Char('u'), KeyModifiers::CONTROL);
        stage.key(KeyCode::Char('r'), KeyModifiers::CONTROL);
        is_there(&mut stage, "a search");
        stage.press(KeyCode::Esc);
        stage.reply(Reply::StatusLine("printed by a command of the user's that says a lot".to_owned()));
        is_there(&mut stage, "the user's own line");
    }
}

#[test]
fn the_users_command_is_told_mode_and_confinement_when_they_change() {
    let mut stage = Stage::new(80, 20);
    for (mode, told) in
        [(Mode::Plan, ("plan", "read-only")), (Mode::BypassPermissions, ("bypassPermissions", "full"))]
    {
        stage.requests();
        stage.set_mode(mode);
        let requests = stage.requests();
        let [Request::StatusLine(facts)] = requests.as_slice() else { panic!("{requests:?}") };
        let facts: serde_json::Value = serde_json::from_str(facts).unwrap();
        assert_eq!((facts["mode"].as_str(), facts["confinement"].as_str()), (Some(told.0), Some(told.1)));
        assert!(facts["steeringPercent"].is_number(), "{facts}");
    }
}

// PERM-13: what the mode key does can be said, too.
#[test]
fn a_mode_can_be_named() {
    let mut stage = Stage::new(80, 30);
    run(&mut stage, "/mode acceptedits");
    assert_eq!(stage.sent(), ["SetMode(AcceptEdits)"]);
    run(&mut stage, "/mode nosuch");
    assert!(
        stage.shown().contains("There is no mode nosuch. Known modes: default, acceptEdits"),
        "{}",
        stage.shown()
    );
    run(&mut stage, "/mode");
    let shown = stage.shown();
    assert!(shown.contains("Which mode? Current: default") && shown.contains("plan"), "{shown}");
    assert!(shown.contains("PLAN MODE: changes nothing · commands read-only"), "{shown}");
    stage.write("5");
    assert_eq!(stage.sent(), ["SetMode(Plan)"]);
}

#[test]
fn colours_follow_the_terminal_until_others_are_chosen() {
    let mut stage = Stage::new(80, 30);
    let white = Rgb(255, 255, 255);
    let palette = |stage: &Stage| stage.app.look.theme.palette;
    run(&mut stage, "/theme dark");
    stage.app.on_background(white);
    assert_eq!(palette(&stage), Palette::Dark, "a late answer changes nothing that was chosen");
    run(&mut stage, "/theme none");
    assert_eq!(palette(&stage), Palette::Plain);
    run(&mut stage, "/theme no-color");
    assert_eq!(palette(&stage), Palette::Plain);
    stage.effects.clear();
    run(&mut stage, "/theme auto");
    assert_eq!(palette(&stage), Palette::Light);
    let asks = |effect: &crate::app::Effect| matches!(effect, crate::app::Effect::AskBackground);
    assert!(stage.effects.iter().any(asks), "{:?}", stage.effects);
    let kept = Request::Keep { key: "terminal.theme".to_owned(), value: "auto".to_owned() };
    assert!(stage.requests().contains(&kept));
    stage.app.on_background(Rgb(0, 0, 0));
    assert_eq!(palette(&stage), Palette::Dark);
}
