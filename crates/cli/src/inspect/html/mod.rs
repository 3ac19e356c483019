//! The report as one page that needs nothing else.

mod call;
mod chart;
mod compactions;
mod markup;
mod overview;
mod permissions;
mod step;
mod tables;
mod timeline;

use super::report::Report;
use markup::Html;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The page. Browsers run no other script and load no other style than those with the nonce, and connect to nothing.
pub(super) fn page(report: &Report, nonce: &str) -> String {
    let mut title = Html::default();
    title.text(&report.session.title);
    let mut body = Html::default();
    overview::header(&mut body, report);
    body.element("main", &[], |html| {
        overview::tiles(html, report);
        chart::section(html, report);
        timeline::section(html, report);
        tables::sections(html, report);
    });
    fill(nonce, &title.into_string(), &body.into_string())
}

/// Puts the parts into their places. What has been put in is not looked at again: it may contain the name of a place.
fn fill(nonce: &str, title: &str, body: &str) -> String {
    let mut page = String::with_capacity(TEMPLATE.len() + STYLE.len() + SCRIPT.len() + body.len());
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((place, after)) = after.split_once("}}") else { break };
        page.push_str(before);
        page.push_str(match place {
            "nonce" => nonce,
            "title" => title,
            "style" => STYLE,
            "script" => SCRIPT,
            "body" => body,
            _ => "",
        });
        rest = after;
    }
    page.push_str(rest);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_filled_once_and_content_is_left_alone() {
        let page = fill("N0NCE", "a {{body}} title", "<p>{{script}}</p>");
        assert!(page.contains("<title>a {{body}} title"), "{page}");
        assert_eq!(page.matches("<p>{{script}}</p>").count(), 1);
        assert_eq!(page.matches("{{").count(), 2);
        assert_eq!(page.matches("N0NCE").count(), 4);
    }

    #[test]
    fn style_and_script_ask_for_nothing_from_outside() {
        for text in [TEMPLATE, STYLE, SCRIPT] {
            for word in ["http:", "https:", "//cdn", "@import", "url(", "fetch(", "innerHTML"] {
                assert!(!text.contains(word), "{word}");
            }
        }
    }
}
