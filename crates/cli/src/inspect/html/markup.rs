//! Writing HTML. Tags and attribute names are part of the program; everything else is escaped on the way in, so that
//! nothing a session contains can become markup.

use std::fmt::{Display, Write};

use crate::inspect::excerpt::visible;
use crate::inspect::figures::grouped;

/// Attributes of an element.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

/// Markup that is being written.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    pub(super) fn into_string(self) -> String {
        self.0
    }

    /// An element around whatever is written inside.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Self),
    ) {
        self.open(tag, attributes);
        inside(self);
        self.0.push_str("</");
        self.0.push_str(tag);
        self.0.push('>');
    }

    /// An element that is nothing but text.
    pub(super) fn leaf(&mut self, tag: &'static str, class: &'static str, text: &str) {
        let attributes: Attributes<'_> = if class.is_empty() { &[] } else { &[("class", &class)] };
        self.element(tag, attributes, |html| html.text(text));
    }

    /// An element with nothing inside.
    pub(super) fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.element(tag, attributes, |_| ());
    }

    fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.0.push('<');
        self.0.push_str(tag);
        for (name, value) in attributes {
            self.0.push(' ');
            self.0.push_str(name);
            self.0.push_str("=\"");
            self.text(&value.to_string());
            self.0.push('"');
        }
        self.0.push('>');
    }

    /// Text, escaped.
    pub(super) fn text(&mut self, text: &str) {
        for c in visible(text).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                other => self.0.push(other),
            }
        }
    }

    /// A whole number of the report, by its place there.
    pub(super) fn number(&mut self, pointer: &str, value: u64) {
        self.figure(pointer, &value, &grouped(value));
    }

    /// A figure of the report, by its place there, in the form in which people read it.
    pub(super) fn figure(&mut self, pointer: &str, value: &dyn Display, shown: &str) {
        self.element("data", &[("value", value), ("data-json", &pointer)], |html| html.text(shown));
    }

    /// A figure that may be missing.
    pub(super) fn optional(&mut self, pointer: &str, value: Option<f64>, shown: impl Fn(f64) -> String) {
        match value {
            Some(value) => self.figure(pointer, &value, &shown(value)),
            None => self.figure(pointer, &"", "unknown"),
        }
    }

    /// A percentage of a length in SVG.
    pub(super) fn percentage(fraction: f64) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = write!(text, "{:.3}%", fraction.clamp(0.0, 1.0) * 100.0);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_becomes_markup_that_was_not_meant_to_be() {
        let hostile = "</script><img src=x onerror='alert(1)'>\" onload=\"x&amp;\u{202e}";
        let mut html = Html::default();
        html.element("p", &[("title", &hostile)], |html| html.text(hostile));
        let markup = html.into_string();
        assert_eq!(markup.matches('<').count(), 2, "{markup}");
        assert_eq!(markup.matches('"').count(), 2, "{markup}");
        assert!(!markup.contains('\'') && !markup.contains('\u{202e}'), "{markup}");
        assert!(markup.contains("&amp;amp;"), "{markup}");
    }
}
