use tiller_protocol::entry::{AssistantBlock, Cause, Orphaned};

use super::*;

fn tally() -> Tally {
    let mut tally = Tally::new(State::default(), PathBuf::new());
    tally.begin_turn();
    tally
}

fn push(tally: &mut Tally, number: u128, body: Body) -> EntryId {
    let id = EntryId(uuid::Uuid::from_u128(number));
    let (seq, at) = (u64::try_from(number).unwrap(), jiff::Timestamp::UNIX_EPOCH);
    tally.take(&Entry { seq, id, parent: None, at, agent: None, body });
    id
}

fn says(tally: &mut Tally, number: u128, message: &str, text: &str) -> EntryId {
    let block = AssistantBlock {
        message_id: message.into(),
        model: "m".to_owned(),
        block: RawBlock::text(text),
        invalid_input: None,
        api_error: None,
        aborted: false,
    };
    push(tally, number, Body::Assistant(block))
}

// HEAD-01
#[test]
fn void_words_are_no_part_of_the_result_even_if_their_id_comes_again() {
    let mut tally = tally();
    let void = says(&mut tally, 1, "msg_1", "Never m");
    let ids = vec![void];
    push(&mut tally, 2, Body::Orphaned(Orphaned { ids, cause: Cause::StreamingFallback }));
    assert_eq!(tally.answer(), "");
    says(&mut tally, 3, "msg_1", "The answer.");
    assert_eq!(tally.answer(), "The answer.");
}
