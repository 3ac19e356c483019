//! What is on its way to the agent, and the images that belong to it. Reading an image takes a moment: what names one
//! waits for it, and what is sent later waits as well, so that everything arrives in its order.

use std::collections::{HashSet, VecDeque};

use indexmap::IndexMap;
use ratatui::text::{Line, Span};
use tiller_protocol::block::RawBlock;
use tiller_protocol::command::{Command, UserInput};
use tiller_protocol::entry::{Delivery, Level};

use super::{App, Effect};
use crate::host::Request;
use crate::input::{Image, Past, Purpose};
use crate::text::{clean, fit, fit_line};

/// Images that are kept after they were sent, in case that their message comes back. Others are read anew.
const KEPT: usize = 8;
/// Columns that a text has at least.
const LEAST: usize = 8;

/// Where the images of a message stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// Before the text that speaks of them.
    ImagesFirst,
    /// Behind the name of something that the session carries out.
    TextFirst,
}

/// A message that waits to be sent.
#[derive(Debug)]
struct Letter {
    text: String,
    images: Vec<Image>,
    delivery: Delivery,
    order: Order,
}

/// Messages that wait for their images, and the images.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    letters: VecDeque<Letter>,
    /// Images by their number, the oldest first.
    read: IndexMap<usize, RawBlock>,
    asked: HashSet<usize>,
    /// Whether the session shall end when everything is sent.
    closes: bool,
}

impl Outgoing {
    fn is_ready(&self, letter: &Letter) -> bool {
        letter.images.iter().all(|image| self.read.contains_key(&image.number))
    }

    /// Keeps an image; those that nobody waits for go, the oldest first.
    fn keep(&mut self, number: usize, block: RawBlock) {
        self.asked.remove(&number);
        self.read.insert(number, block);
        let is_awaited = |number: usize| {
            self.letters.iter().any(|letter| letter.images.iter().any(|image| image.number == number))
        };
        let idle: Vec<usize> = self.read.keys().copied().filter(|number| !is_awaited(*number)).collect();
        for number in idle.iter().take(idle.len().saturating_sub(KEPT)) {
            self.read.shift_remove(number);
        }
    }

    fn blocks(&self, images: &[Image]) -> Vec<RawBlock> {
        images.iter().filter_map(|image| self.read.get(&image.number).cloned()).collect()
    }
}

impl App {
    /// Says something to the agent, with what belongs to it.
    pub(super) fn send(&mut self, text: &str, images: &[Image], delivery: Delivery) -> Vec<Effect> {
        self.post(text, images, delivery, Order::ImagesFirst)
    }

    /// Calls for something that the session carries out: its name comes first, then what belongs to it.
    pub(super) fn call_for(&mut self, text: &str, images: &[Image]) -> Vec<Effect> {
        self.post(text, images, Delivery::Queue, Order::TextFirst)
    }

    fn post(&mut self, text: &str, images: &[Image], delivery: Delivery, order: Order) -> Vec<Effect> {
        let mut effects = self.read_images(images.to_vec());
        let letter = Letter { text: text.to_owned(), images: images.to_vec(), delivery, order };
        self.outgoing.letters.push_back(letter);
        effects.extend(self.dispatch());
        effects
    }

    /// Asks for images that are neither there nor asked for.
    pub(super) fn read_images(&mut self, images: Vec<Image>) -> Vec<Effect> {
        let Outgoing { read, asked, .. } = &mut self.outgoing;
        let is_new = |image: &Image| !read.contains_key(&image.number) && asked.insert(image.number);
        images.into_iter().filter(is_new).map(|image| Effect::Ask(Request::LoadImage(image))).collect()
    }

    /// Sends what waits for nothing any more.
    fn dispatch(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        while let Some(letter) = self.outgoing.letters.pop_front() {
            if !self.outgoing.is_ready(&letter) {
                self.outgoing.letters.push_front(letter);
                return effects;
            }
            effects.push(self.sent(&letter));
        }
        if std::mem::take(&mut self.outgoing.closes) {
            effects.push(Effect::Send(Command::Close));
        }
        effects
    }

    fn sent(&mut self, letter: &Letter) -> Effect {
        let notes: Vec<RawBlock> = self.shell_notes.drain(..).map(|note| RawBlock::text(&note)).collect();
        let images = self.outgoing.blocks(&letter.images);
        let text = vec![RawBlock::text(&letter.text)];
        let content = match letter.order {
            Order::ImagesFirst => [notes, images, text].concat(),
            Order::TextFirst => [text, notes, images].concat(),
        };
        Effect::Send(Command::Submit(UserInput::of(content, letter.delivery)))
    }

    /// An image was read, or not: then nothing is sent without it, but given back.
    pub(super) fn image_came(&mut self, number: usize, block: Result<RawBlock, String>) -> Vec<Effect> {
        match block {
            Ok(block) => self.outgoing.keep(number, block),
            Err(problem) => {
                self.outgoing.asked.remove(&number);
                self.tell(Level::Warning, &problem);
                let names = |letter: &Letter| letter.images.iter().any(|image| image.number == number);
                let (lost, kept) = std::mem::take(&mut self.outgoing.letters).into_iter().partition(names);
                self.outgoing.letters = kept;
                self.give_back(lost);
                self.input.image_failed(number);
            }
        }
        self.dispatch()
    }

    /// Takes back what waits for an image; whether there was anything.
    pub(super) fn take_back_letters(&mut self) -> bool {
        let letters = std::mem::take(&mut self.outgoing.letters);
        let is_any = !letters.is_empty();
        self.give_back(letters);
        is_any
    }

    fn give_back(&mut self, letters: VecDeque<Letter>) {
        for letter in letters.into_iter().rev() {
            let first = clean(&letter.text).lines().next().unwrap_or_default().to_owned();
            self.tell(Level::Warning, &format!("This was not sent: {first}"));
            self.input.give_back(&Past { purpose: Purpose::Prompt, text: letter.text });
        }
    }

    /// Ends the session when everything is sent.
    pub(super) fn close_when_sent(&mut self) -> Vec<Effect> {
        self.outgoing.closes = true;
        self.dispatch()
    }

    /// What waits for an image or for the running step, above the input.
    pub(super) fn outgoing_rows(&self) -> Vec<Line<'static>> {
        let columns = usize::from(self.look.size.width);
        let theme = &self.look.theme;
        let row = |text: &str, when: &'static str| {
            let text = clean(text).lines().next().unwrap_or_default().to_owned();
            let room = columns.saturating_sub(crate::text::width(when) + 2).max(LEAST);
            let spans = vec![
                Span::styled("⧗ ", theme.accent),
                Span::styled(fit(&text, room), theme.user),
                Span::styled(when, theme.dim),
            ];
            fit_line(Line::from(spans), columns)
        };
        let letters = self.outgoing.letters.iter().map(|letter| row(&letter.text, "  waits for its image"));
        let compact = self.live.compact.iter().map(|command| row(command, "  runs after the running step"));
        letters.chain(compact).collect()
    }
}
