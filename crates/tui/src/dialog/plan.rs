//! Is this plan good, and how freely may it be carried out? And before: shall there be a plan at all?

use std::collections::BTreeMap;
use std::sync::Arc;

use crossterm::event::KeyEvent;
use ratatui::text::Line;
use tiller_protocol::ask::{Answer, PermissionAsk, PlanAsk, Then};
use tiller_protocol::mode::Mode;

use super::Outcome;
use super::choice::{Choice, ChoiceOption, ChoiceOutcome, Tone};
use super::choices::{Choices, Entry, Pick};
use super::feedback::{Feedback, Written};
use super::line::{Form, Said, Words};
use super::sheet::{Body, Scroll, Sheet};
use crate::keys::{Action, Keymap};
use crate::markdown;
use crate::text::{hides_something, paragraphs, visible, visible_line, wrap};
use crate::theme::Theme;
use crate::view::View;

/// The dialog that approves a plan.
#[derive(Debug)]
pub struct PlanApproval {
    ask: PlanAsk,
    body: Body,
    choices: Choices,
    feedback: Option<Feedback>,
    scroll: Scroll,
    keys: Arc<Keymap>,
}

impl PlanApproval {
    /// Asks about a plan.
    #[must_use]
    pub fn new(ask: PlanAsk, keys: Arc<Keymap>) -> Self {
        let body = plan_body(&ask.plan);
        let mut choices = Choices::new(ask.modes.len() + 1);
        // To switch all questions off takes more than one Enter.
        choices.mark(
            ask.modes.iter().position(|mode| *mode != Mode::BypassPermissions).unwrap_or(ask.modes.len()),
        );
        Self { ask, body, choices, feedback: None, scroll: Scroll::default(), keys }
    }

    /// The plan as it stands after the user has edited it.
    pub fn edited(&mut self, plan: String) {
        self.body = plan_body(&plan);
        self.ask.plan = plan;
        self.scroll.rewind();
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> Outcome {
        if let Some(feedback) = &mut self.feedback {
            return match feedback.handle(&key) {
                Written::More => Outcome::Handled,
                Written::Ignored => Outcome::Ignored,
                Written::Done(text) => keep_planning(text),
                Written::Cancelled => {
                    self.feedback = None;
                    Outcome::Handled
                }
            };
        }
        match self.choices.handle(&key, &self.keys) {
            Pick::Moved => Outcome::Handled,
            Pick::Chosen(index) => match self.ask.modes.get(index) {
                Some(mode) => self.approved(*mode),
                None => {
                    let question = "What should be different? (optional)";
                    self.feedback = Some(Feedback::new(question, "", &self.keys));
                    Outcome::Handled
                }
            },
            Pick::Other => match self.keys.in_question(&key) {
                Some(Action::Cancel) => keep_planning(String::new()),
                Some(Action::EditPlan) => Outcome::EditPlan(self.ask.path.clone()),
                Some(action) if self.scroll.act(action) => Outcome::Handled,
                _ => Outcome::Ignored,
            },
        }
    }

    fn approved(&self, mode: Mode) -> Outcome {
        Outcome::Answered(Answer::Plan { mode, plan: self.ask.plan.clone() })
    }

    /// What a line can answer. "Yes" does not say how freely the plan may be carried out if there are several ways.
    pub(super) fn form(&self) -> Form {
        let keep = self.ask.modes.len();
        Form {
            count: keep + 1,
            yes: (keep == 1).then_some(0),
            no: Some(Said::one(keep)),
            words: Some(Words { index: keep, needed: false }),
            several: false,
        }
    }

    /// Takes the answer of a line.
    pub(super) fn say(&self, said: Said) -> Outcome {
        match (said.index().and_then(|index| self.ask.modes.get(index)), said) {
            (Some(mode), _) => self.approved(*mode),
            (None, Said::Chosen(_, words)) => keep_planning(words),
            (None, Said::Refused) => keep_planning(String::new()),
        }
    }

    /// Takes a paste into the text field, if one is open; says whether that was so.
    pub fn paste(&mut self, text: &str) -> bool {
        self.feedback.as_mut().map(|feedback| feedback.paste(text)).is_some()
    }

    /// The plan, what it asks for, and the choices.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        let (rows, focus, cursor) = match &self.feedback {
            Some(feedback) => feedback.rows(columns, theme),
            None => {
                let entries = self.ask.modes.iter().map(|mode| Entry::new(approval(*mode)));
                let entries = entries.chain([Entry::new("No, keep planning")]).collect();
                let (rows, focus) = self.choices.rows(entries, columns, theme);
                (rows, focus, None)
            }
        };
        let mut body = self.body.lines(columns, theme);
        let mut foot = self.requests(columns, theme);
        // They stay in sight if they leave half of the room to the plan; otherwise they scroll with it.
        if (foot.len() + rows.len()) * 2 > usize::from(height) {
            body.append(&mut foot);
        }
        foot.push(Line::default());
        let above = foot.len();
        foot.extend(rows);
        let below = |row: u16| row.saturating_add(u16::try_from(above).unwrap_or(u16::MAX));
        let sheet = Sheet {
            title: "Carry out this plan?".to_owned(),
            style: theme.plan,
            body,
            foot,
            focus: focus.start + above..focus.end + above,
            cursor: cursor.map(|(column, row)| (column, below(row))),
            hint: self.hint(),
            read_on: self.keys.hint(Action::PageDown),
            ..Sheet::default()
        };
        sheet.compose(columns, height, &self.scroll, theme)
    }

    fn requests(&self, columns: u16, theme: &Theme) -> Vec<Line<'static>> {
        if self.ask.allowed_prompts.is_empty() {
            return Vec::new();
        }
        let mut lines = vec![Line::default()];
        lines.extend(paragraphs("It would do this without asking again:", columns, theme.strong));
        for wanted in &self.ask.allowed_prompts {
            let line = format!("  · {}: {}", visible_line(&wanted.tool), visible_line(&wanted.prompt));
            lines.extend(wrap(&Line::styled(line, theme.text), columns, 4));
        }
        lines
    }

    fn hint(&self) -> String {
        let keys = |action| self.keys.hint(action);
        match &self.feedback {
            Some(_) => format!("{} send · {} back", keys(Action::Submit), keys(Action::Cancel)),
            None => format!(
                "{} choose · {} edit · {} no",
                keys(Action::Accept),
                keys(Action::EditPlan),
                keys(Action::Cancel)
            ),
        }
    }
}

fn plan_body(plan: &str) -> Body {
    let plan = visible(plan).into_owned();
    Body::new(move |columns, theme| {
        let as_written = || paragraphs(&plan, columns, theme.text);
        if plan.lines().any(hides_something) {
            return as_written();
        }
        let rendered = markdown::render(&plan, columns, theme);
        let is_plain = !markdown::has_hidden_entities(&plan) && shows_all(&plan, &rendered);
        if is_plain { rendered } else { as_written() }
    })
}

/// Whether no letter of a plan is lost: Markdown has comments, titles and definitions that are not part of the page.
fn shows_all(plan: &str, rendered: &[Line<'_>]) -> bool {
    let mut left: BTreeMap<char, usize> = BTreeMap::new();
    for c in rendered.iter().flat_map(|line| &line.spans).flat_map(|span| span.content.chars()) {
        *left.entry(c).or_default() += 1;
    }
    let names_language = |line: &&str| {
        let line = line.trim();
        let name = line.trim_start_matches(['`', '~']);
        line.len() - name.len() >= 3 && name.chars().all(|c| c.is_alphanumeric() || "+-_#".contains(c))
    };
    let letters =
        plan.lines().filter(|line| !names_language(line)).flat_map(str::chars).filter(|c| c.is_alphabetic());
    letters.into_iter().all(|c| match left.get_mut(&c) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        _ => false,
    })
}

fn approval(mode: Mode) -> String {
    match mode {
        Mode::BypassPermissions => "Yes, and skip all permission questions".to_owned(),
        Mode::AcceptEdits => "Yes, and accept edits automatically".to_owned(),
        Mode::Default => "Yes, and confirm each edit".to_owned(),
        mode => format!("Yes, in mode {mode}"),
    }
}

fn keep_planning(feedback: String) -> Outcome {
    let (feedback, then) =
        if feedback.is_empty() { (None, Then::EndTurn) } else { (Some(feedback), Then::GoOn) };
    Outcome::Answered(Answer::Refuse { feedback, then })
}

/// The dialog that asks whether to plan first.
#[derive(Debug)]
pub struct PlanEntry {
    choice: Choice,
}

impl PlanEntry {
    /// The first line of the reason is the question.
    #[must_use]
    pub fn new(ask: &PermissionAsk, keys: Arc<Keymap>) -> Self {
        let (question, reason) = ask.reason.split_once('\n').unwrap_or((&ask.reason, ""));
        let reason = visible(reason).into_owned();
        let body = Arc::new(move |columns: u16, theme: &Theme| paragraphs(&reason, columns, theme.text));
        let options =
            vec![ChoiceOption::plain("Yes, plan first"), ChoiceOption::plain("No, without plan mode")];
        Self { choice: Choice::new(question, body, options, keys).in_tone(Tone::Plan) }
    }

    /// Takes a key.
    pub fn handle(&mut self, key: KeyEvent) -> Outcome {
        let outcome = self.choice.handle(key);
        Self::settled(outcome)
    }

    /// What a line can answer.
    pub(super) fn form(&self) -> Form {
        Form { yes: Some(0), no: Some(Said::one(1)), ..self.choice.form() }
    }

    /// Takes the answer of a line.
    pub(super) fn say(&self, said: &Said) -> Outcome {
        Self::settled(self.choice.say(said))
    }

    fn settled(outcome: ChoiceOutcome) -> Outcome {
        match outcome {
            ChoiceOutcome::Handled => Outcome::Handled,
            ChoiceOutcome::Ignored => Outcome::Ignored,
            ChoiceOutcome::Chosen(0) => {
                Outcome::Answered(Answer::Allow { updated_input: None, updates: Vec::new() })
            }
            // Without a plan the work goes on; with nothing at all the turn ends.
            ChoiceOutcome::Chosen(_) => {
                Outcome::Answered(Answer::Refuse { feedback: None, then: Then::GoOn })
            }
            ChoiceOutcome::Cancelled => {
                Outcome::Answered(Answer::Refuse { feedback: None, then: Then::EndTurn })
            }
        }
    }

    /// The question.
    #[must_use]
    pub fn view(&self, columns: u16, height: u16, theme: &Theme) -> View {
        self.choice.view(columns, height, theme)
    }
}
