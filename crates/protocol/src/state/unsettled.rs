//! What was known before entries of an answer that may still become void.

use std::path::PathBuf;

use super::State;
use crate::effect::{Effect, SkillUse, Todo};
use crate::id::EntryId;

/// What was known before entries of an answer that may still become void, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unsettled(Vec<(EntryId, Was)>);

/// A value as it was.
#[derive(Clone, Debug, PartialEq)]
enum Was {
    Cwd(PathBuf),
    Todos(Vec<Todo>),
    Skills(Vec<SkillUse>),
}

impl State {
    /// Keeps what an effect of an entry is about to change, as far as it belongs to the conversation.
    pub(super) fn keep_before(&mut self, entry: EntryId, effect: &Effect) {
        let was = match effect {
            Effect::ChangeDir { .. } => Was::Cwd(self.cwd.clone()),
            Effect::SetTodos { .. } => Was::Todos(self.todos.clone()),
            Effect::SkillUsed(_) => Was::Skills(self.skills.clone()),
            _ => return,
        };
        self.unsettled.0.push((entry, was));
    }

    /// The answer so far is there to stay.
    pub(super) fn settle(&mut self) {
        self.unsettled.0.clear();
    }

    /// Entries are void: what they have changed is what it was. What others have changed since stays.
    pub(super) fn undo(&mut self, entries: &[EntryId]) {
        let mut kept: Vec<(EntryId, Was)> = Vec::new();
        for (entry, was) in std::mem::take(&mut self.unsettled.0).into_iter().rev() {
            if !entries.contains(&entry) {
                kept.push((entry, was));
                continue;
            }
            let is_same = |later: &&mut (EntryId, Was)| {
                std::mem::discriminant(&later.1) == std::mem::discriminant(&was)
            };
            match kept.iter_mut().rev().find(is_same) {
                Some(later) => later.1 = was,
                None => self.restore(was),
            }
        }
        kept.reverse();
        self.unsettled.0 = kept;
    }

    fn restore(&mut self, was: Was) {
        match was {
            Was::Cwd(cwd) => self.cwd = cwd,
            Was::Todos(todos) => self.todos = todos,
            Was::Skills(skills) => self.skills = skills,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::RawBlock;
    use crate::effect::TodoStatus;
    use crate::entry::{AssistantBlock, Body, CallResult, Cause, Entry, Orphaned};
    use crate::id::{CallId, MessageId};

    fn id(n: u64) -> EntryId {
        EntryId(uuid::Uuid::from_u128(u128::from(n)))
    }

    fn entry(seq: u64, body: Body) -> Entry {
        Entry { seq, id: id(seq), parent: None, at: Default::default(), agent: None, body }
    }

    fn answer(seq: u64, message: &str) -> Entry {
        entry(
            seq,
            Body::Assistant(AssistantBlock {
                message_id: MessageId(message.to_owned()),
                model: String::new(),
                block: RawBlock::text("x"),
                invalid_input: None,
                api_error: None,
                aborted: false,
            }),
        )
    }

    fn result(seq: u64, effects: Vec<Effect>) -> Entry {
        let call = CallId(seq.to_string());
        entry(
            seq,
            Body::Result(CallResult {
                call,
                tool: "Bash".to_owned(),
                content: Vec::new(),
                is_error: false,
                cause: Cause::Call,
                detail: serde_json::Value::Null,
                effects,
            }),
        )
    }

    fn orphaned(seq: u64, ids: Vec<EntryId>) -> Entry {
        entry(seq, Body::Orphaned(Orphaned { ids, cause: Cause::StreamingFallback }))
    }

    fn goes(path: &str) -> Effect {
        Effect::ChangeDir { path: path.into() }
    }

    fn todos(content: &str) -> Vec<Todo> {
        let content = content.to_owned();
        vec![Todo { active_form: content.clone(), content, status: TodoStatus::Pending }]
    }

    fn skill(name: &str) -> SkillUse {
        SkillUse { name: name.to_owned(), ..SkillUse::default() }
    }

    // LOOP-46: nobody but a void answer has changed directory, list and skills.
    #[test]
    fn what_void_results_have_changed_is_what_it_was() {
        let known = State {
            cwd: "/p".into(),
            todos: todos("first"),
            skills: vec![skill("a"), skill("b")],
            ..State::default()
        };
        let mut state = known.clone();
        state.apply(&answer(1, "m"));
        let effects =
            vec![goes("/p/sub"), Effect::SetTodos { todos: todos("second") }, Effect::SkillUsed(skill("a"))];
        state.apply(&result(2, effects));
        state.apply(&entry(3, Body::Effect(goes("/p/sub/deeper"))));
        state.apply(&orphaned(4, vec![id(1), id(2), id(3)]));
        assert_eq!((&state.cwd, &state.todos, &state.skills), (&known.cwd, &known.todos, &known.skills));
        assert_eq!(state.unsettled, Unsettled::default());
    }

    // LOOP-46
    #[test]
    fn what_stands_beside_a_void_result_stays() {
        let mut state = State { cwd: "/p".into(), ..State::default() };
        state.apply(&answer(1, "m"));
        state.apply(&result(2, vec![goes("/p/void")]));
        state.apply(&entry(3, Body::Effect(goes("/p/chosen"))));
        state.apply(&orphaned(4, vec![id(1), id(2)]));
        assert_eq!(state.cwd, PathBuf::from("/p/chosen"));
        state.apply(&orphaned(5, vec![id(3)]));
        assert_eq!(state.cwd, PathBuf::from("/p"), "what was void before is not what it goes back to");
    }

    #[test]
    fn an_answer_that_others_follow_is_there_to_stay() {
        let mut state = State { cwd: "/p".into(), ..State::default() };
        state.apply(&answer(1, "m"));
        state.apply(&result(2, vec![goes("/p/sub")]));
        state.apply(&answer(3, "n"));
        assert_eq!(state.unsettled, Unsettled::default());
        state.apply(&orphaned(4, vec![id(1), id(2)]));
        assert_eq!(state.cwd, PathBuf::from("/p/sub"));
    }
}
