//! The page of a long session as it is seen, pixel by pixel.

use tiller_testkit::{Color, Picture};

use crate::inspect_page::Page;
use crate::inspect_session::long;

/// How wide the window is, the scheme that is asked for, and the paper that belongs to it.
const LOOKS: [(u32, &str, Color); 4] =
    [(390, "light", LIGHT), (390, "dark", DARK), (1400, "light", LIGHT), (1400, "dark", DARK)];
const LIGHT: Color = [0xfa, 0xf9, 0xf6];
const DARK: Color = [0x14, 0x17, 0x1a];

/// What is brought into sight: the top, the charts, the middle of the timeline, the tables.
const PLACES: [&str; 4] = [".top", "#requests", "#turn-6", "#permissions"];

/// How much brighter or darker than the paper something is that can be read.
const READABLE: i32 = 90;

fn brightness([red, green, blue]: Color) -> i32 {
    (i32::from(red) * 299 + i32::from(green) * 587 + i32::from(blue) * 114) / 1000
}

/// A screen with text on it, on the paper that was asked for.
fn assert_drawn(picture: &Picture, paper: Color, what: &str) {
    let (width, height) = picture.size();
    let pixels = (width * height) as usize;
    let colors = picture.colors();
    // Panels and excerpts have papers of their own, close to the one of the page.
    let is_paper = |color: Color| (brightness(color) - brightness(paper)).abs() < 25;
    let of = |wanted: &dyn Fn(Color) -> bool| -> usize {
        colors.iter().filter(|(color, _)| wanted(**color)).map(|(_, count)| count).sum()
    };
    let (blank, ink) = (of(&is_paper), of(&|color| (brightness(color) - brightness(paper)).abs() > READABLE));
    assert!(blank * 2 > pixels, "{what}: only {blank} of {pixels} pixels are paper");
    assert!(ink * 200 > pixels, "{what}: only {ink} of {pixels} pixels can be read");
    assert!(colors.len() > 50, "{what}: {} colours", colors.len());
    // Nothing reaches the edges, but for the line of links, which is scrolled.
    for x in [0, width - 1] {
        let strange: Vec<Color> = picture.column(x).filter(|color| !is_paper(*color)).collect();
        assert!(strange.len() < 30, "{what}: {strange:?} at the edge {x}");
    }
}

// LEDG-02
#[test]
fn the_page_of_a_long_session_is_drawn_on_phones_and_desks_in_light_and_dark() {
    let mut page = Page::of(&long());
    assert!(page.steps().len() > 200);
    for list in ["agents", "compactions", "decisions"] {
        assert_ne!(page.report[list].as_array().map(Vec::len).unwrap_or_default(), 0, "{list}");
    }
    page.assert_figures();
    for (width, scheme, paper) in LOOKS {
        let browser = &mut page.browser;
        browser.look(width, scheme);
        let overflow = browser.eval("document.documentElement.scrollWidth - innerWidth");
        assert!(overflow.as_i64().unwrap() <= 0, "{width} {scheme}: {overflow} pixels too wide");
        for place in PLACES {
            let scroll =
                format!("document.querySelector('{place}').scrollIntoView({{behavior: 'instant'}}), 0");
            browser.eval(&scroll);
            let picture = browser.screenshot();
            assert_eq!(picture.size(), (width, 900));
            assert_drawn(&picture, paper, &format!("{place} {width} {scheme}"));
        }
    }
    assert_eq!((page.browser.requests(), page.browser.complaints()), (vec![page.url], Vec::new()));
}
