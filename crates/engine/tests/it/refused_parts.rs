//! Images, documents and reasoning that the provider does not take: none of them must be the end of a session.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tiller_engine::{Setup, Start};
use tiller_model::{Catalog, anthropic};
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{Command, UserInput};
use tiller_protocol::entry::{Body, Delivery, Outcome};
use tiller_testkit::Reply;
use tiller_tools::Read;

use crate::harness::{Lab, Watch, says};

/// A PDF whose pages Tiller cannot count and the provider can.
fn pdf(pages: usize) -> String {
    format!("%PDF-1.7\n{}%%EOF\n", "1 0 obj <</Type /Page /Parent 2 0 R>> endobj\n".repeat(pages))
}

/// It looks like a PDF, and is none.
const BROKEN: &str = "%PDF-1.7\nnothing that a PDF is made of\n%%EOF\n";

fn document(content: &str) -> Value {
    let data = STANDARD.encode(content);
    json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}})
}

async fn show(watch: &mut Watch, text: &str, parts: &[Value]) {
    let content = [RawBlock::text(text)].into_iter().chain(parts.iter().map(RawBlock::from_value)).collect();
    watch.send(Command::Submit(UserInput::of(content, Delivery::Steer))).await;
    watch.until_turn_ends().await;
}

/// What each repair says of parts that were refused.
fn refusals(watch: &Watch) -> Vec<usize> {
    let refused = watch.entries().into_iter().filter_map(|entry| match &entry.body {
        Body::Repaired(repair) if !repair.refused.is_empty() => Some(repair.refused.len()),
        _ => None,
    });
    refused.collect()
}

fn last_request(lab: &Lab) -> String {
    lab.server.messages().last().unwrap().body()["messages"].to_string()
}

fn epochs(watch: &Watch) -> Vec<String> {
    let reasons = watch.entries().into_iter().filter_map(|entry| match &entry.body {
        Body::Epoch(epoch) => Some(epoch.reason.clone()),
        _ => None,
    });
    reasons.collect()
}

// LOG-05: what can be known before is not even sent.
#[tokio::test]
async fn a_document_that_is_none_is_never_sent() {
    let lab = Lab::new();
    lab.server.replies([Reply::text("hello"), Reply::text("I see no PDF.")]);
    let mut watch = lab.turn(lab.setup(), "hello").await;
    let image =
        json!({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png", "x": 1}});
    let parts = [document("not a pdf"), document("%PDF-1.7\ntrailer <</Encrypt 5 0 R>>\n%%EOF"), image];
    show(&mut watch, "look", &parts).await;
    assert_eq!(watch.outcome(), Outcome::Success);
    let sent = last_request(&lab);
    assert!(sent.contains("is not a PDF") && sent.contains("protected by a password"), "{sent}");
    assert!(sent.contains("https://example.org/a.png") && !sent.contains("\"document\""), "{sent}");
    lab.server.assert_clean();
}

// LOG-05: a hostile document that only the provider sees through does not poison the session, nor its resumption.
#[tokio::test]
async fn a_document_that_the_provider_refuses_is_left_out_from_then_on() {
    let lab = Lab::new();
    lab.server.replies([Reply::text("hello"), Reply::text("It is broken."), Reply::text("Still here.")]);
    let mut watch = lab.turn(lab.setup(), "hello").await;
    show(&mut watch, "look", &[document(BROKEN), document(&pdf(3))]).await;
    assert_eq!((watch.outcome(), refusals(&watch)), (Outcome::Success, vec![1]));
    assert!(watch.sketch().contains(&"notice part_refused".to_owned()), "{:?}", watch.sketch());
    let sent = last_request(&lab);
    assert!(
        sent.contains("Here was a document. The provider refused it: The PDF specified was not valid."),
        "{sent}"
    );
    assert_eq!(sent.matches("application/pdf").count(), 1, "the other one is sent: {sent}");
    let id = watch.session.id;
    watch.close().await;

    let again = Setup { start: Start::Resume(id), ..lab.setup() };
    let mut watch = lab.turn(again, "are you there?").await;
    assert_eq!(watch.outcome(), Outcome::Success);
    lab.server.reply(Reply::text("As before."));
    show(&mut watch, "and now?", &[document(BROKEN)]).await;
    assert_eq!((watch.outcome(), refusals(&watch)), (Outcome::Success, vec![]), "it is known");
    assert_eq!(lab.server.rejections().len(), 1, "{:?}", lab.server.rejections());
}

// LOG-05 CACHE-06: reasoning whose calls wait for results stays where it is.
#[tokio::test]
async fn a_result_that_the_provider_refuses_is_left_out() {
    let lab = Lab::new();
    fs_err::write(lab.project().join("a.pdf"), BROKEN).unwrap();
    let path = lab.project().join("a.pdf");
    let read = Reply::new().thinking("hm").tool_with_id("a", "Read", json!({"file_path": path}));
    lab.server.replies([read, Reply::text("It is broken."), Reply::text("Yes.")]);
    let setup = lab.setup();
    let setup = Setup { registry: setup.registry.clone().with(Read), ..setup };
    let mut watch = lab.turn(setup, "read it").await;
    assert_eq!((watch.outcome(), refusals(&watch)), (Outcome::Success, vec![1]));
    let sent = last_request(&lab);
    assert!(sent.contains("\"thinking\"") && sent.contains("Here was a document"), "{sent}");
    watch.prompt("sure?").await;
    assert_eq!((watch.outcome(), epochs(&watch).len()), (Outcome::Success, 1));
    assert_eq!(lab.server.rejections().len(), 1, "{:?}", lab.server.rejections());
}

// LOG-05 CACHE-06: what was accepted before, and is not any more, changes what later reasoning was bound to.
#[tokio::test]
async fn an_old_part_that_is_refused_begins_an_epoch() {
    let lab = Lab::new();
    let thought = || Reply::new().thinking("hm");
    let call = thought().tool_with_id("a", "Probe", says("x"));
    lab.server.replies([Reply::text("hello"), call, thought().and_text("150 pages."), Reply::text("Gone.")]);
    let mut watch = lab.turn(lab.setup(), "hello").await;
    show(&mut watch, "look", &[document(&pdf(150))]).await;
    assert_eq!((watch.outcome(), refusals(&watch)), (Outcome::Success, vec![]));
    lab.server.set_window(200_000);
    watch.prompt("and now?").await;
    assert_eq!((watch.outcome(), refusals(&watch)), (Outcome::Success, vec![1]));
    assert_eq!(epochs(&watch), ["start", "a refused part was left out"]);
    let sent = last_request(&lab);
    assert!(sent.contains("A maximum of 100 PDF pages") && !sent.contains("\"thinking\""), "{sent}");
    assert_eq!(lab.server.rejections().len(), 1, "{:?}", lab.server.rejections());
}

// LOG-05: a refusal without a place is about what was sent for the first time.
#[tokio::test]
async fn a_refusal_that_names_no_place_ends_with_an_answer_too() {
    let lab = Lab::new();
    lab.server.replies([
        Reply::text("hello"),
        Reply::text("fine"),
        Reply::status(400, "invalid_request_error", "Could not process PDF"),
        Reply::text("without it"),
        Reply::status(400, "invalid_request_error", "Could not process PDF"),
    ]);
    let mut watch = lab.turn(lab.setup(), "hello").await;
    show(&mut watch, "look", &[document(&pdf(1))]).await;
    show(&mut watch, "and at this", &[document(&pdf(2))]).await;
    assert_eq!((watch.outcome(), refusals(&watch)), (Outcome::Success, vec![1]));
    assert_eq!(last_request(&lab).matches("application/pdf").count(), 1, "the accepted one stays");
    watch.prompt("and nothing").await;
    assert!(matches!(watch.outcome(), Outcome::Error { .. }), "nothing could be left out");
}

// CACHE-06: of a model whose thinking is not known, nothing can be said to the provider; then none of it is sent.
#[tokio::test]
async fn reasoning_that_an_unknown_model_refuses_is_not_sent_again() {
    let lab = Lab::new();
    let text = "messages.1.content.0: Invalid signature in thinking block. The block is bound to a different conversation.";
    let thought = || Reply::new().thinking("hm").and_text("so");
    lab.server.replies([thought(), Reply::status(400, "invalid_request_error", text), thought()]);
    lab.server.replies([Reply::status(400, "invalid_request_error", text), Reply::text("fine")]);
    let setup = lab.setup();
    let id = setup.names.main_model(None);
    let row = json!({"models": [{"id": id, "thinkingByDefault": false, "thinkingForms": []}]});
    let config = anthropic::Config::from_env(&setup.env).unwrap();
    let catalog = Catalog::with_overrides(&row.to_string()).unwrap();
    let model = Arc::new(anthropic::Anthropic::new(config, catalog, setup.env.clone()).unwrap());
    let mut watch = lab.turn(Setup { model, ..setup }, "go").await;
    for prompt in ["and on", "and on again"] {
        watch.prompt(prompt).await;
        assert_eq!(watch.outcome(), Outcome::Success);
        let sent: Vec<String> =
            lab.server.messages().iter().map(|request| request.body().to_string()).collect();
        let [.., refused, repeated] = &sent[..] else { panic!("two requests were made") };
        assert!(refused.contains("\"thinking\"") && !repeated.contains("\"thinking\""), "{repeated}");
    }
    lab.server.assert_clean();
}
