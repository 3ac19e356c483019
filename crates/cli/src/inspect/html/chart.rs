//! Tokens, cost and steering of each request, drawn.

use super::markup::{Attributes, Html};
use super::overview::ratio;
use crate::inspect::figures::{grouped, money, percent};
use crate::inspect::report::{Report, Step, Turn};

/// Requests that fill the width; fewer leave room at the right.
const FEWEST: usize = 24;
/// The part of its slot that a bar takes.
const BAR: f64 = 0.76;
/// Room above the highest bar.
const HEADROOM: f64 = 8.0;

/// A row of bars: what is stacked in it, and how high.
struct Panel {
    name: &'static str,
    height: f64,
    parts: &'static [(&'static str, &'static str)],
    values: fn(&Step) -> Vec<f64>,
    shown: fn(f64) -> String,
}

const PANELS: [Panel; 4] = [
    Panel {
        name: "Tokens in",
        height: 128.0,
        parts: &[("read", "read from cache"), ("write", "written to cache"), ("fresh", "not cached")],
        values: |step| {
            [step.tokens.cache_read, step.tokens.cache_write, step.tokens.input].map(whole).to_vec()
        },
        shown: tokens,
    },
    Panel {
        name: "Tokens out",
        height: 48.0,
        parts: &[("out", "tokens out")],
        values: |step| vec![whole(step.tokens.output)],
        shown: tokens,
    },
    Panel {
        name: "Cost",
        height: 48.0,
        parts: &[("cost", "in dollars")],
        values: |step| vec![step.cost_usd.unwrap_or_default()],
        shown: money,
    },
    Panel {
        name: "Steering",
        height: 48.0,
        parts: &[("hidden", "of the request is steering")],
        values: |step| vec![step.steering_share],
        shown: percent,
    },
];

pub(super) fn section(html: &mut Html, report: &Report) {
    let steps: Vec<(&Turn, &Step)> =
        report.turns.iter().flat_map(|turn| turn.steps.iter().map(move |step| (turn, step))).collect();
    if steps.is_empty() {
        return;
    }
    let label = "Charts of all requests; the timeline below has the same figures";
    html.element("section", &[("id", &"requests")], |html| {
        html.leaf("h2", "", "Requests");
        html.element("div", &[("class", &"panel chart")], |html| {
            legend(html);
            let scroll: Attributes<'_> =
                &[("class", &"scroll"), ("tabindex", &"0"), ("role", &"group"), ("aria-label", &label)];
            html.element("div", scroll, |html| {
                PANELS.iter().for_each(|panel| draw(html, panel, &steps));
                axis(html, &steps);
            });
        });
    });
}

fn legend(html: &mut Html) {
    html.element("ul", &[("class", &"legend")], |html| {
        for (class, name) in PANELS[0].parts {
            html.element("li", &[], |html| {
                swatch(html, class);
                html.text(name);
            });
        }
        html.element("li", &[], |html| {
            html.element("svg", SWATCH, |html| {
                html.empty("circle", &[("cx", &"5"), ("cy", &"5"), ("r", &"4"), ("class", &"miss")]);
            });
            html.text("cache missed");
        });
    });
}

const SWATCH: Attributes<'_> = &[("width", &"10"), ("height", &"10"), ("aria-hidden", &"true")];

fn swatch(html: &mut Html, class: &str) {
    html.element("svg", SWATCH, |html| {
        html.empty("rect", &[("width", &"10"), ("height", &"10"), ("rx", &"2"), ("class", &class)]);
    });
}

fn draw(html: &mut Html, panel: &Panel, steps: &[(&Turn, &Step)]) {
    let sums = steps.iter().map(|(_, step)| (panel.values)(step).iter().sum());
    let most: f64 = sums.fold(0.0, f64::max);
    let label = format!("{} per request, at most {}", panel.name, (panel.shown)(most));
    let height = panel.height + HEADROOM;
    html.element("div", &[("class", &"row")], |html| {
        html.element("p", &[("class", &"scale")], |html| {
            html.leaf("b", "", panel.name);
            html.text(&format!(" to {}", (panel.shown)(most)));
        });
        let bars: Attributes<'_> =
            &[("class", &"bars"), ("height", &height), ("role", &"img"), ("aria-label", &label)];
        html.element("svg", bars, |html| {
            for y in [HEADROOM, HEADROOM + panel.height / 2.0, height - 0.5] {
                html.empty(
                    "line",
                    &[("class", &"grid"), ("x1", &"0"), ("x2", &"100%"), ("y1", &y), ("y2", &y)],
                );
            }
            for (at, (turn, step)) in steps.iter().enumerate() {
                if at > 0 && turn.steps.first().is_some_and(|first| first.seq == step.seq) {
                    let x = position(at, steps.len());
                    let line: Attributes<'_> =
                        &[("class", &"turns"), ("x1", &x), ("x2", &x), ("y1", &"0"), ("y2", &"100%")];
                    html.empty("line", line);
                }
                bar(html, panel, (at, steps.len()), step, most);
            }
        });
    });
}

fn bar(html: &mut Html, panel: &Panel, (at, of): (usize, usize), step: &Step, most: f64) {
    let class = if step.is_void() || step.failure.is_some() { "bar void" } else { "bar" };
    let anchor = format!("#step-{}-{}", step.number, step.attempt);
    let (x, slot) = (position(at, of), Html::percentage(1.0 / slots(of)));
    let wide = Html::percentage(BAR / slots(of));
    html.element("a", &[("href", &anchor), ("class", &class), ("tabindex", &"-1")], |html| {
        html.element("title", &[], |html| html.text(&told(panel, step)));
        let hit: Attributes<'_> =
            &[("class", &"hit"), ("x", &x), ("width", &slot), ("y", &"0"), ("height", &"100%")];
        html.empty("rect", hit);
        let mut floor = panel.height + HEADROOM;
        for ((class, _), value) in panel.parts.iter().zip((panel.values)(step)) {
            if value <= 0.0 {
                continue;
            }
            let height = (value / most * panel.height).max(1.0);
            floor -= height;
            let (y, height) = (format!("{floor:.1}"), format!("{height:.1}"));
            html.empty(
                "rect",
                &[("class", class), ("x", &x), ("width", &wide), ("y", &y), ("height", &height)],
            );
        }
        if panel.parts.len() > 1 && step.cache_miss.is_some() {
            let (x, y) = (middle(at, of), format!("{:.1}", (floor - 6.0).max(4.0)));
            html.empty("circle", &[("class", &"miss"), ("cx", &x), ("cy", &y), ("r", &"3.5")]);
        }
    });
}

fn told(panel: &Panel, step: &Step) -> String {
    let parts = panel.parts.iter().zip((panel.values)(step));
    let parts: Vec<String> =
        parts.map(|((_, name), value)| format!("{} {name}", (panel.shown)(value))).collect();
    let text = format!("Step {}: {}", step.number, parts.join(", "));
    match &step.cache_miss {
        Some(miss) if panel.parts.len() > 1 => format!("{text}. {miss}"),
        _ => text,
    }
}

/// The numbers of steps below the bars.
fn axis(html: &mut Html, steps: &[(&Turn, &Step)]) {
    let every = if steps.len() > 60 { 10 } else { 5 };
    let numbered = |step: &Step| step.attempt == 1 && (step.number == 1 || step.number.is_multiple_of(every));
    html.element("svg", &[("class", &"bars axis"), ("height", &"18"), ("aria-hidden", &"true")], |html| {
        for (at, (_, step)) in steps.iter().enumerate().filter(|(_, (_, step))| numbered(step)) {
            let number = step.number.to_string();
            html.element("text", &[("x", &middle(at, steps.len())), ("y", &"13")], |html| html.text(&number));
        }
    });
}

/// The composition of the next request as one bar.
pub(super) fn composition(html: &mut Html, report: &Report) {
    let next = &report.next_request;
    let parts = [
        ("system", "system prompt", "/nextRequest/systemBytes", next.system_bytes),
        ("tools", "tool definitions", "/nextRequest/toolsBytes", next.tools_bytes),
        ("hidden", "user context", "/nextRequest/userContextBytes", next.user_context_bytes),
        ("hidden", "added later", "/nextRequest/addedBytes", next.added_bytes),
        ("said", "the conversation", "", next.conversation_bytes.saturating_sub(next.added_bytes)),
    ];
    let label = "What the next request is made of";
    html.element("figure", &[("class", &"composition")], |html| {
        html.element("svg", &[("height", &"16"), ("role", &"img"), ("aria-label", &label)], |html| {
            let mut from = 0;
            for (class, name, _, bytes) in parts {
                let [x, width] = [from, bytes].map(|part| Html::percentage(ratio(part, next.sent_bytes)));
                let title = format!("{name}: {} bytes", grouped(bytes));
                let part: Attributes<'_> =
                    &[("class", &class), ("x", &x), ("width", &width), ("height", &"16")];
                html.element("rect", part, |html| html.leaf("title", "", &title));
                from += bytes;
            }
        });
        html.element("figcaption", &[("class", &"legend")], |html| {
            for (class, name, pointer, bytes) in parts {
                html.element("span", &[], |html| {
                    swatch(html, class);
                    html.text(name);
                    match pointer {
                        "" => html.leaf("span", "", &grouped(bytes)),
                        pointer => html.number(pointer, bytes),
                    }
                });
            }
        });
    });
}

fn position(at: usize, of: usize) -> String {
    Html::percentage(whole(at as u64) / slots(of))
}

fn middle(at: usize, of: usize) -> String {
    Html::percentage((whole(at as u64) + BAR / 2.0) / slots(of))
}

fn slots(of: usize) -> f64 {
    whole(of.max(FEWEST) as u64)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
fn tokens(count: f64) -> String {
    grouped(count as u64)
}

#[expect(clippy::cast_precision_loss, reason = "for drawing")]
fn whole(count: u64) -> f64 {
    count as f64
}
