use super::*;
use crate::text::WIDTH;

// LEDG-02: a change of this document is a change of its version, and of docs/inspect.md.
#[test]
fn the_document_is_as_documented() {
    insta::assert_json_snapshot!(sample::report());
}

// LEDG-02
#[test]
fn the_text_fits_the_terminal_and_cannot_steer_it() {
    let text = text::of(&sample::report());
    let long: Vec<_> = text.lines().filter(|line| line.chars().count() > WIDTH).collect();
    assert_eq!(long, Vec::<&str>::new());
    assert!(!text.contains('\u{1b}'));
    insta::assert_snapshot!(text);
}

// LEDG-01
#[test]
fn every_hidden_byte_stands_in_the_ledger_and_in_the_sums() {
    let report = sample::report();
    let steering = &report.steering;
    let added: u64 = steering.additions.iter().map(|addition| addition.bytes).sum();
    assert_eq!(added, steering.bytes);
    let kinds: Vec<_> =
        steering.kinds.iter().map(|kind| (kind.kind.as_str(), kind.count, kind.repeated)).collect();
    let expected = [
        ("user_context", 2, 1),
        ("hidden_message", 2, 0),
        ("queued_command", 1, 0),
        ("hook_additional_context", 1, 0),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(steering.forged_tags, 1);
    let next = &report.next_request;
    assert_eq!(
        next.sent_bytes,
        next.system_bytes + next.tools_bytes + next.user_context_bytes + next.conversation_bytes
    );
    assert_eq!(next.steering_bytes, next.user_context_bytes + next.added_bytes);
}

#[test]
fn an_empty_log_makes_an_empty_report() {
    let report = Fold::new(tiller_protocol::id::SessionId::default(), PathBuf::new()).finish(&[]);
    assert!(text::of(&report).contains("(no prompt)"));
    assert!(html::page(&report, "n").contains("Nothing was asked."));
    assert_eq!(report.totals.cost_usd, None);
}

// LEDG-02
#[test]
fn the_page_has_every_part() {
    let page = html::page(&sample::report(), "n");
    for part in
        ["Turn 3", "Bash(rm:*)", "Mind the gap.", "void: streaming_fallback", "2 side by side", "said before"]
    {
        assert!(page.contains(part), "{part}");
    }
}
