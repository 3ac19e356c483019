//! Files that contain the tag of reminders: the model is shown it with a mark, and can change them all the same.

use serde_json::json;
use tiller_testkit::Reply;

use crate::harness::{World, result_text, stream_args};

const RAW: &str = "# Notes\n<system-reminder> is a tag.\nThe end.\n";

fn read(world: &World) -> Reply {
    Reply::new().tool_with_id("r", "Read", json!({"file_path": world.path("notes.md")}))
}

// LEDG-05
#[test]
fn text_with_a_tag_is_edited_as_it_is_shown() {
    let world = World::new().file("notes.md", RAW);
    let edit = json!({"file_path": world.path("notes.md"), "old_string": "<\\system-reminder> is a tag.",
        "new_string": "<\\system-reminder> is our tag, </b>."});
    world.server.replies([read(&world), Reply::new().tool_with_id("e", "Edit", edit), Reply::text("done")]);
    world.run(&stream_args("go")).ok();
    assert_eq!(world.read("notes.md"), RAW.replace("is a tag.", "is our tag, </b>."));
    let told = result_text(world.server.messages()[2].body(), "e");
    assert!(told.contains("with a backslash"), "{told}");
    world.server.assert_clean();
}

// LEDG-05
#[test]
fn text_with_a_tag_is_written_back_as_it_was() {
    let world = World::new().file("notes.md", RAW);
    let shown = RAW.replace("<system", "<\\system").replace("end", "END");
    let write = json!({"file_path": world.path("notes.md"), "content": shown});
    let copy = json!({"file_path": world.path("copy.md"), "content": shown});
    world.server.replies([
        read(&world),
        Reply::new().tool_with_id("w", "Write", write).tool_with_id("c", "Write", copy),
        Reply::text("done"),
    ]);
    world.run(&stream_args("go")).ok();
    assert_eq!(world.read("notes.md"), RAW.replace("end", "END"));
    assert_eq!(world.read("copy.md"), shown);
    let told = |call: &str| result_text(world.server.messages()[2].body(), call);
    assert!(told("w").contains("without it"), "{}", told("w"));
    assert!(told("c").contains("was stored with it"), "{}", told("c"));
    world.server.assert_clean();
}
