//! A page as text.

use encoding_rs::{Encoding, UTF_8};
use htmd::HtmlToMarkdown;

use super::get::Page;

/// Tags whose content is not for readers.
const SKIPPED: &[&str] = &["script", "style", "noscript", "svg", "iframe", "template", "canvas", "object"];
/// Levels of nesting that are converted; conversion is recursive.
const MAX_DEPTH: usize = 5_000;
/// Stack for so many levels.
const STACK: usize = 64 * 1024 * 1024;

enum Kind {
    Html,
    Text,
}

/// The page's text, HTML as markdown. The error is a text for the model.
pub(super) async fn text(page: Page) -> Result<String, String> {
    let kind = kind(&page)?;
    let text = decoded(&page);
    match kind {
        Kind::Text => Ok(text),
        Kind::Html => Ok(markdown(text).await),
    }
}

fn kind(page: &Page) -> Result<Kind, String> {
    let media = page.content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (group, rest) = media.split_once('/').unwrap_or((&media, ""));
    match (group, rest) {
        ("text", "html") | ("application", "xhtml+xml") => Ok(Kind::Html),
        ("text", _) => Ok(Kind::Text),
        (
            "application",
            "json" | "xml" | "yaml" | "x-yaml" | "toml" | "javascript" | "x-javascript" | "x-sh",
        ) => Ok(Kind::Text),
        (_, rest) if rest.ends_with("+json") || rest.ends_with("+xml") => Ok(Kind::Text),
        ("", _) if looks_like_html(&page.body) => Ok(Kind::Html),
        ("", _) if std::str::from_utf8(&page.body).is_ok() => Ok(Kind::Text),
        ("", _) => Err(format!("{} has no stated type and is not text.", page.url)),
        _ => {
            Err(format!("{} is {media}, which WebFetch cannot read. It reads HTML, text and JSON.", page.url))
        }
    }
}

fn looks_like_html(body: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&body[..body.len().min(200)]).trim_start().to_ascii_lowercase();
    start.starts_with("<!doctype html") || start.starts_with("<html")
}

fn decoded(page: &Page) -> String {
    let charset = page.content_type.split(';').filter_map(|part| part.trim().strip_prefix("charset=")).next();
    let encoding =
        charset.and_then(|name| Encoding::for_label(name.trim_matches('"').as_bytes())).unwrap_or(UTF_8);
    encoding.decode(&page.body).0.into_owned()
}

/// Converts on a thread whose stack is large enough for what is let through.
async fn markdown(html: String) -> String {
    let (sender, converted) = tokio::sync::oneshot::channel();
    let convert = move || {
        let deep = depth(&html) > MAX_DEPTH;
        let converter = HtmlToMarkdown::builder().skip_tags(SKIPPED.to_vec()).build();
        let text = if deep { None } else { converter.convert(&html).ok() };
        // Nobody waits any more when the call was cancelled.
        _ = sender.send(text.unwrap_or_else(|| without_tags(&html)));
    };
    match std::thread::Builder::new().name("html".to_owned()).stack_size(STACK).spawn(convert) {
        Ok(_) => converted.await.unwrap_or_default(),
        Err(error) => format!("(the page could not be converted: {error})"),
    }
}

/// How deep elements may be nested, at most: end tags that may be left out are not accounted for.
fn depth(html: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for (at, _) in html.match_indices('<') {
        match html.as_bytes().get(at + 1) {
            Some(b'/') => depth = depth.saturating_sub(1),
            Some(byte) if byte.is_ascii_alphabetic() => depth += 1,
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn without_tags(html: &str) -> String {
    let mut text = String::new();
    for (at, part) in html.split('<').enumerate() {
        let shown = if at == 0 { part } else { part.split_once('>').map_or("", |(_, rest)| rest) };
        text.push_str(shown);
        text.push(' ');
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::*;

    fn page(content_type: &str, body: &[u8]) -> Page {
        Page {
            url: "https://example.org/".parse().unwrap(),
            status: StatusCode::OK,
            content_type: content_type.to_owned(),
            body: body.to_vec(),
        }
    }

    #[tokio::test]
    async fn html_becomes_markdown() {
        let html = b"<html><script>x()</script><h1>Title</h1><p>See <a href='/a'>this</a>.<ul><li>one</ul>";
        let text = text(page("text/html; charset=utf-8", html)).await.unwrap();
        assert!(text.contains("# Title") && text.contains("[this](/a)") && text.contains("one"), "{text}");
        assert!(!text.contains("x()"), "{text}");
    }

    #[tokio::test]
    async fn text_stays_and_charsets_are_heeded() {
        for (content_type, body, expected) in [
            ("application/json", &b"{\"a\": 1}"[..], "{\"a\": 1}"),
            ("application/ld+json", b"{}", "{}"),
            ("text/markdown", b"# T", "# T"),
            ("text/plain; charset=iso-8859-1", b"caf\xe9", "caf\u{e9}"),
            ("", b"bare", "bare"),
        ] {
            assert_eq!(text(page(content_type, body)).await.unwrap(), expected, "{content_type}");
        }
    }

    #[tokio::test]
    async fn other_types_are_refused_by_name() {
        for content_type in ["application/pdf", "image/png", "application/octet-stream"] {
            let error = text(page(content_type, b"x")).await.unwrap_err();
            assert!(error.contains(content_type), "{error}");
        }
        assert!(text(page("", b"\xff\xfe\x00")).await.is_err());
    }

    #[tokio::test]
    async fn a_bottomless_page_is_survived() {
        for levels in [MAX_DEPTH - 10, 500_000] {
            let html = format!("{}deep", "<div>".repeat(levels));
            assert!(text(page("text/html", html.as_bytes())).await.unwrap().contains("deep"));
        }
    }
}
