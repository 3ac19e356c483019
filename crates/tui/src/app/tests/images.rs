//! Images that belong to a message: none is sent without them.

use crossterm::event::{KeyCode, KeyModifiers};
use serde_json::json;
use tiller_protocol::block::RawBlock;
use tiller_protocol::entry::{Body, Delivery, Queued, Reading};
use tiller_protocol::id::EntryId;

use super::stage::Stage;
use crate::host::{Reply, Request};

fn image() -> RawBlock {
    RawBlock::from_value(&json!({"type": "image", "source": {"type": "base64"}}))
}

/// How many images the host was asked for since the last time.
fn asked(stage: &mut Stage) -> usize {
    stage.requests().iter().filter(|request| matches!(request, Request::LoadImage(_))).count()
}

fn came(stage: &mut Stage, number: usize) {
    stage.reply(Reply::Image { number, block: Ok(image()) });
}

#[test]
fn a_message_waits_for_its_image_and_the_next_for_it() {
    let mut stage = Stage::new(80, 20);
    stage.write("look at ");
    stage.paste("/tmp/a.png");
    assert_eq!(asked(&mut stage), 1);
    stage.press(KeyCode::Enter);
    stage.write("and then");
    stage.press(KeyCode::Enter);
    assert!(stage.shown().contains("look at [image #1 a.png]  waits for its image"), "{}", stage.shown());
    assert_eq!(stage.sent(), [""; 0]);
    came(&mut stage, 1);
    assert_eq!(stage.sent(), ["Steer <image> | look at [image #1 a.png]", "Steer and then"]);
    assert!(!stage.shown().contains("waits for its image"), "{}", stage.shown());
}

#[test]
fn a_message_whose_image_cannot_be_read_is_given_back() {
    let mut stage = Stage::new(80, 20);
    stage.paste("/tmp/a.png");
    stage.write(" is odd");
    stage.press(KeyCode::Enter);
    stage.write("and");
    stage.reply(Reply::Image { number: 1, block: Err("/tmp/a.png is no image".to_owned()) });
    assert_eq!(stage.sent(), [""; 0]);
    assert_eq!(stage.app.input.text(), "/tmp/a.png is odd\nand");
    let shown = stage.shown();
    assert!(
        shown.contains("is no image") && shown.contains("This was not sent: [image #1 a.png]"),
        "{shown}"
    );
}

#[test]
fn a_message_that_waits_for_its_image_can_be_taken_back() {
    let mut stage = Stage::new(80, 20);
    stage.paste("/tmp/a.png");
    stage.press(KeyCode::Enter);
    stage.press(KeyCode::Esc);
    assert_eq!(stage.app.input.text(), "[image #1 a.png]");
    came(&mut stage, 1);
    assert_eq!(stage.sent(), [""; 0]);
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), ["Steer <image> | [image #1 a.png]"]);
}

#[test]
fn images_stay_attached_in_the_editor_in_plans_and_in_the_history() {
    let mut stage = Stage::new(80, 20);
    stage.paste("/tmp/a.png");
    came(&mut stage, 1);
    stage.key(KeyCode::Char('g'), KeyModifiers::CONTROL);
    stage.app.on_edited(Ok("edited: [image #1 a.png]\n".to_owned()));
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), ["Steer <image> | edited: [image #1 a.png]"]);
    stage.press(KeyCode::Up);
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), ["Steer <image> | edited: [image #1 a.png]"]);
    stage.write("/plan with ");
    stage.paste("/tmp/b.png");
    came(&mut stage, 2);
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), ["SetMode(Plan)", "Steer <image> | with [image #2 b.png]"]);
}

// VERB-01: what waits comes back with its image, and as what it was.
#[test]
fn a_queued_message_is_taken_back_with_its_image() {
    let mut stage = Stage::new(80, 20);
    stage.begin_turn("work");
    stage.write("see ");
    stage.paste("/tmp/a.png");
    came(&mut stage, 1);
    stage.press(KeyCode::Tab);
    assert_eq!(stage.sent(), ["Queue <image> | see [image #1 a.png]"]);
    let content = vec![image(), RawBlock::text("see [image #1 a.png]")];
    let id = EntryId(uuid::Uuid::from_u128(77));
    let queued = Queued { id, delivery: Delivery::Queue, content, reading: Reading::Usual };
    stage.append(Body::Queued(queued));
    stage.press(KeyCode::Up);
    assert_eq!(stage.app.input.text(), "see [image #1 a.png]");
    stage.press(KeyCode::Backspace);
    assert_eq!(stage.app.input.text(), "see ", "it is one sign again");
    stage.key(KeyCode::Char('/'), KeyModifiers::CONTROL);
    stage.effects.clear();
    stage.press(KeyCode::Enter);
    assert_eq!(stage.sent(), ["Steer <image> | see [image #1 a.png]"]);
}

#[test]
fn of_many_images_the_last_are_kept_and_the_others_read_anew() {
    let mut stage = Stage::new(80, 20);
    for number in 1..=20 {
        stage.paste(&format!("/tmp/{number}.png"));
        came(&mut stage, number);
        stage.press(KeyCode::Enter);
    }
    assert_eq!(asked(&mut stage), 20);
    stage.app.on_edited(Ok("[image #1 1.png] [image #20 20.png]".to_owned()));
    stage.press(KeyCode::Enter);
    assert_eq!(asked(&mut stage), 1);
    came(&mut stage, 1);
    assert_eq!(stage.sent(), ["Steer <image> | <image> | [image #1 1.png] [image #20 20.png]"]);
}
