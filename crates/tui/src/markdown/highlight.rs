//! Code in colours. The grammars are loaded when the first code is shown.

use std::sync::OnceLock;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::text::clean;
use crate::theme::{Palette, Theme};

/// Longer lines are shown without colours: they are data, and would take long.
const LONGEST_LINE: usize = 1_000;

fn grammars() -> &'static SyntaxSet {
    static GRAMMARS: OnceLock<SyntaxSet> = OnceLock::new();
    GRAMMARS.get_or_init(two_face::syntax::extra_newlines)
}

/// Colours lines of one language, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Highlighter {
    /// Absent for languages that are not known.
    state: Option<(ParseState, ScopeStack)>,
}

impl Highlighter {
    /// For the language of a fence, e.g. `rust`.
    pub(crate) fn of_language(name: &str, theme: &Theme) -> Self {
        let name = name.split([',', ' ', '{']).next().unwrap_or_default();
        Self::of(theme, name, |name| grammars().find_syntax_by_token(name))
    }

    /// For the language that a file is written in, by its name.
    pub(crate) fn of_file(path: &str, theme: &Theme) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        Self::of(theme, name, |name| {
            let extension = name.rsplit('.').next().unwrap_or(name);
            grammars()
                .find_syntax_by_extension(name)
                .or_else(|| grammars().find_syntax_by_extension(extension))
        })
    }

    fn of(theme: &Theme, name: &str, find: impl Fn(&str) -> Option<&'static SyntaxReference>) -> Self {
        // Without colours there is no reason to load grammars.
        if theme.palette == Palette::Plain || name.is_empty() {
            return Self { state: None };
        }
        Self { state: find(name).map(|syntax| (ParseState::new(syntax), ScopeStack::new())) }
    }

    /// The next line, without its end.
    pub(crate) fn line(&mut self, code: &str, theme: &Theme) -> Line<'static> {
        let code = clean(code);
        let plain = || Line::styled(code.to_string(), theme.text);
        let Some((parser, scopes)) = self.state.as_mut().filter(|_| code.len() <= LONGEST_LINE) else {
            return plain();
        };
        let whole = format!("{code}\n");
        let Ok(ops) = parser.parse_line(&whole, grammars()) else { return plain() };
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut begun = 0;
        for (at, op) in &ops {
            push(&mut spans, code.get(begun..(*at).min(code.len())), style(scopes, theme));
            begun = (*at).min(code.len());
            if scopes.apply(op).is_err() {
                return plain();
            }
        }
        push(&mut spans, code.get(begun..), style(scopes, theme));
        Line::from(spans)
    }
}

fn push(spans: &mut Vec<Span<'static>>, text: Option<&str>, style: Style) {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return };
    match spans.last_mut() {
        Some(last) if last.style == style => last.content.to_mut().push_str(text),
        _ => spans.push(Span::styled(text.to_owned(), style)),
    }
}

/// The style of a role.
type Role = fn(&Theme) -> Style;

/// Which kinds of names in grammars get which role; the innermost that is known decides.
fn roles() -> &'static [(Scope, Role)] {
    static ROLES: OnceLock<Vec<(Scope, Role)>> = OnceLock::new();
    ROLES.get_or_init(|| {
        let roles: [(&str, Role); 12] = [
            ("comment", |theme| theme.comment),
            ("string", |theme| theme.literal),
            ("constant", |theme| theme.literal),
            ("keyword.operator", |theme| theme.text),
            ("keyword", |theme| theme.keyword),
            ("storage", |theme| theme.keyword),
            ("entity.name.tag", |theme| theme.keyword),
            ("entity.name", |theme| theme.name),
            ("support", |theme| theme.name),
            ("entity.other.attribute-name", |theme| theme.name),
            ("markup.inserted", |theme| theme.added),
            ("markup.deleted", |theme| theme.removed),
        ];
        let scoped = roles.into_iter().filter_map(|(name, role)| Some((Scope::new(name).ok()?, role)));
        scoped.collect()
    })
}

fn style(scopes: &ScopeStack, theme: &Theme) -> Style {
    let role =
        |scope: &Scope| roles().iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, role)| role);
    scopes.as_slice().iter().rev().find_map(role).map_or(theme.text, |role| role(theme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_coloured_by_role_and_keeps_its_text() {
        let theme = Theme::new(Palette::Dark);
        let mut highlighter = Highlighter::of_language("rust", &theme);
        let line = highlighter.line("fn main() { let s = \"x\"; } // why", &theme);
        assert_eq!(line.to_string(), "fn main() { let s = \"x\"; } // why");
        let styled =
            |text: &str| line.spans.iter().find(|span| span.content.contains(text)).map(|span| span.style);
        assert_eq!(styled("fn"), Some(theme.keyword));
        assert_eq!(styled("why"), Some(theme.comment));
        assert_eq!(styled("x"), Some(theme.literal));
    }

    #[test]
    fn a_state_that_spans_lines_is_kept_and_unknown_languages_are_plain() {
        let theme = Theme::new(Palette::Dark);
        let mut highlighter = Highlighter::of_file("src/a.rs", &theme);
        highlighter.line("/* begins", &theme);
        assert_eq!(highlighter.line("goes on */", &theme).spans[0].style, theme.comment);
        let line = Highlighter::of_language("no-such-language", &theme).line("x = 1", &theme);
        assert_eq!(line.spans.len(), 1);
    }
}
