//! The page of `tiller inspect --html`, in a real browser that reaches no network.

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::Browser;
use crate::harness::World;
use crate::inspect_session::{HOSTILE, ID, recorded};

/// Ratio of brightness that text needs to be read, by the accessibility guidelines.
const CONTRAST: f64 = 4.5;

/// A recording as a page in a browser, and as a document.
pub(crate) struct Page {
    pub(crate) browser: Browser,
    pub(crate) report: Value,
    pub(crate) url: String,
    _dir: TempDir,
}

impl Page {
    pub(crate) fn of(world: &World) -> Self {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("page.html");
        world.run(&["inspect", ID, "--html", file.to_str().unwrap()]).ok();
        let report = serde_json::from_str(&world.run(&["inspect", ID, "--json"]).ok().stdout).unwrap();
        let mut browser = Browser::start();
        browser.open(&file);
        Self { browser, report, url: format!("file://{}", file.display()), _dir: dir }
    }

    pub(crate) fn steps(&self) -> Vec<&Value> {
        let turns = self.report["turns"].as_array().unwrap();
        turns.iter().flat_map(|turn| turn["steps"].as_array().unwrap()).collect()
    }

    /// Every figure of the page is the one of the document, and everything of the document is on the page.
    pub(crate) fn assert_figures(&mut self) {
        let figures = self.browser.eval(
            "[...document.querySelectorAll('[data-json]')].map(e => [e.dataset.json, e.value, e.textContent])",
        );
        let figures = figures.as_array().unwrap();
        for figure in figures {
            let (pointer, value, shown) =
                (figure[0].as_str().unwrap(), figure[1].as_str().unwrap(), figure[2].as_str().unwrap());
            let expected =
                self.report.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is not in the document"));
            match expected {
                Value::Null => assert_eq!((value, shown), ("", "unknown"), "{pointer}"),
                expected => assert_eq!(value.parse::<f64>().ok(), expected.as_f64(), "{pointer}"),
            }
            if let Some(whole) = expected.as_u64() {
                assert_eq!(shown.replace(',', ""), whole.to_string(), "{pointer}");
            }
        }
        let shown = self.browser.eval(
            "({turns: document.querySelectorAll('.turn[id]').length, steps: document.querySelectorAll('.step').length,
               calls: document.querySelectorAll('.call').length, hidden: document.querySelectorAll('details.hidden').length,
               bars: document.querySelectorAll('.bar').length, hooks: document.querySelectorAll('#hooks tbody tr').length,
               events: document.querySelectorAll('#events tbody tr').length})",
        );
        let (report, steps) = (&self.report, self.steps().len());
        assert!(figures.len() > steps * 7, "{} figures", figures.len());
        let count = |list: &Value| list.as_array().unwrap().len();
        let expected = json!({
            "turns": count(&report["turns"]), "steps": steps, "calls": report["totals"]["calls"],
            "hidden": count(&report["steering"]["additions"]), "bars": 4 * steps, "hooks": count(&report["hooks"]),
            "events": count(&report["events"]),
        });
        assert_eq!(shown, expected);
    }
}

fn opened() -> Page {
    Page::of(&recorded())
}

// LEDG-02: nothing is loaded, and nothing that the session contains becomes part of the page's own code.
#[test]
fn the_page_needs_no_network_and_hostile_text_stays_text() {
    let Page { mut browser, report, url, .. } = opened();
    assert!(report["session"]["title"].as_str().unwrap().contains("</script>"));
    assert_eq!(browser.requests(), [url]);
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let found = browser.eval(
        "({images: document.images.length, scripts: document.scripts.length,
           frames: document.querySelectorAll('iframe, object, embed, link, form, base').length,
           handlers: [...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).filter(n => n.startsWith('on')).length,
           title: document.title, prompt: document.querySelector('.prompt pre').textContent})",
    );
    assert_eq!((&found["images"], &found["frames"], &found["handlers"]), (&json!(0), &json!(0), &json!(0)));
    assert_eq!(found["scripts"], 1);
    assert!(found["title"].as_str().unwrap().starts_with("The parser loses"), "{found}");
    assert!(found["prompt"].as_str().unwrap().ends_with(HOSTILE), "{found}");
}

// The policy of the page holds even for markup that gets in: what would run or load is refused by the browser.
#[test]
fn the_page_forbids_scripts_and_connections_that_are_not_its_own() {
    let Page { mut browser, .. } = opened();
    let outcome = browser.eval(
        "new Promise(done => {
           const refused = [];
           document.addEventListener('securitypolicyviolation', event => {
             refused.push(event.effectiveDirective);
             if (refused.length === 4) done({refused: refused.sort(), title: document.title});
           });
           const element = document.createElement('div');
           document.body.append(element);
           element.innerHTML = '<img src=\"http://127.0.0.1:9/x\" onerror=\"document.title = 1\">';
           const script = document.createElement('script');
           script.textContent = 'document.title = 2';
           document.body.append(script);
           fetch('http://127.0.0.1:9/').catch(() => {});
         })",
    );
    assert_eq!(outcome["refused"], json!(["connect-src", "img-src", "script-src-attr", "script-src-elem"]));
    assert!(outcome["title"].as_str().unwrap().starts_with("The parser loses"), "{outcome}");
}

// LEDG-02
#[test]
fn every_figure_of_the_page_is_the_one_of_the_document() {
    let mut page = opened();
    assert!(page.steps().len() > 30);
    page.assert_figures();
}

// LEDG-02: by mouse, by key, by link, and all at once.
#[test]
fn hidden_messages_unfold_on_demand() {
    let Page { mut browser, report, .. } = opened();
    let text = report["steering"]["additions"][0]["text"].as_str().unwrap();
    let visible = "document.querySelector('details.hidden pre').checkVisibility()";
    assert_eq!(browser.eval(visible), false);
    browser.eval("document.querySelector('details.hidden summary').click()");
    assert_eq!(browser.eval(visible), true);
    assert_eq!(browser.eval("document.querySelector('details.hidden pre').innerText.trim()"), text.trim());
    browser.eval("document.querySelector('details.hidden summary').focus()");
    browser.press("Enter", 13, "\r");
    assert_eq!(browser.eval(visible), false);
    browser.eval("document.querySelector('button[data-fold=open]').click()");
    let closed = "document.querySelectorAll('#timeline details:not([open])').length";
    assert_eq!(browser.eval(closed), 0);
    browser.eval("document.querySelector('button[data-fold=close]').click()");
    assert_eq!(browser.eval("document.querySelectorAll('#timeline details[open]').length"), 0);
    let denied = "document.querySelector('#permissions a[href^=\"#call-\"]')";
    let shown = format!(
        "new Promise(done => {{ addEventListener('hashchange', () => done(document.querySelector(location.hash + ' details') !== null)); {denied}.click(); }})"
    );
    assert_eq!(browser.eval(&shown), true);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

// LEDG-02
#[test]
fn calls_that_ran_side_by_side_stand_side_by_side() {
    let Page { mut browser, report, .. } = opened();
    let groups = browser.eval("document.querySelectorAll('.beside').length").as_u64().unwrap();
    let steps = report["turns"].as_array().unwrap().iter().flat_map(|turn| turn["steps"].as_array().unwrap());
    let beside =
        |step: &Value| step["calls"].as_array().unwrap().iter().any(|call| call["beside"] != json!([]));
    assert!(groups > 0 && groups >= steps.filter(|step| beside(step)).count() as u64);
    let places = "[...document.querySelector('.beside').children].map(e => [e.offsetLeft, e.offsetTop])";
    browser.look(1280, "light");
    let wide = browser.eval(places);
    assert!(wide[0][0].as_f64() < wide[1][0].as_f64() && wide[0][1] == wide[1][1], "{wide}");
    browser.look(390, "light");
    let narrow = browser.eval(places);
    assert!(narrow[0][0] == narrow[1][0] && narrow[0][1].as_f64() < narrow[1][1].as_f64(), "{narrow}");
}

// LEDG-02
#[test]
fn the_page_fits_phones_and_desks_in_light_and_dark() {
    let mut page = opened();
    let browser = &mut page.browser;
    browser.eval("document.querySelectorAll('details').forEach(fold => { fold.open = true; })");
    let mut papers = Vec::new();
    for (width, scheme) in [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark"), (320, "light")] {
        browser.look(width, scheme);
        let overflow =
            browser.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        assert_eq!(overflow, 0, "{width} {scheme}");
        let poor = browser.eval(&format!("({POOR_CONTRAST})({CONTRAST})"));
        assert_eq!(poor, json!([]), "{width} {scheme}");
        papers.push(browser.eval("getComputedStyle(document.body).backgroundColor"));
    }
    assert_ne!(papers[0], papers[1]);
    assert_ne!(browser.eval(&format!("({POOR_CONTRAST})(22)")), json!([]), "nothing was looked at");
    browser.call("Emulation.setEmulatedMedia", &json!({"media": "print"}));
    assert_eq!(browser.eval("getComputedStyle(document.querySelector('nav')).display"), "none");
    assert_eq!(browser.eval("getComputedStyle(document.querySelector('.call pre')).maxHeight"), "none");
}

/// Texts whose colour is too close to what is behind them.
const POOR_CONTRAST: &str = "least => {
  const parse = color => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = element => {
    for (; element; element = element.parentElement) {
      const color = parse(getComputedStyle(element).backgroundColor);
      if (color.length < 4 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const said = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
  return [...document.querySelectorAll('body *:not(script)')].filter(said).map(element => {
    const ink = parse(element.closest('svg') ? getComputedStyle(element).fill : getComputedStyle(element).color);
    const [a, b] = [light(ink), light(behind(element.closest('svg') || element))].sort((x, y) => y - x);
    return [(a + 0.05) / (b + 0.05), element.tagName, element.className, element.textContent.slice(0, 40)];
  }).filter(([ratio, tag]) => ratio < least && tag !== 'title').slice(0, 5);
}";

// Headings form an outline, drawings have a name or are decoration, everything that scrolls or acts is reachable.
#[test]
fn the_page_can_be_read_without_seeing_it() {
    let Page { mut browser, .. } = opened();
    let levels =
        browser.eval("[...document.querySelectorAll('h1, h2, h3, h4')].map(e => Number(e.tagName[1]))");
    let levels: Vec<u64> = levels.as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1);
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
    let nameless = browser.eval(
        "({drawings: [...document.querySelectorAll('svg')].filter(e => !(e.getAttribute('aria-hidden') || (e.getAttribute('role') === 'img' && e.getAttribute('aria-label')))).length,
           ids: [...document.querySelectorAll('[id]')].map(e => e.id).filter((id, at, all) => all.indexOf(id) !== at),
           targets: [...document.querySelectorAll('a[href^=\"#\"]')].map(e => e.getAttribute('href')).filter(href => !document.getElementById(href.slice(1))),
           language: document.documentElement.lang, tables: document.querySelectorAll('table th:not([scope])').length})",
    );
    assert_eq!(nameless, json!({"drawings": 0, "ids": [], "targets": [], "language": "en", "tables": 0}));
    browser.press("Tab", 9, "");
    assert_eq!(browser.eval("document.activeElement.getAttribute('href')"), "#timeline");
}
