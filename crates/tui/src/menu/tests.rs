use super::*;
use crate::theme::Palette;

fn commands() -> Arc<[Candidate]> {
    let command = |text: &str, hint: &str, help: &str, source: &str| Candidate {
        text: text.to_owned(),
        hint: hint.to_owned(),
        help: help.to_owned(),
        source: source.to_owned(),
    };
    Arc::from([
        command("clear", "", "Begin anew", ""),
        command("compact", "[what to keep]", "Make the conversation shorter", ""),
        command("context", "", "What the context is made of", ""),
        command("review", "<branch>", "Look at a branch", "project"),
    ])
}

fn files() -> Arc<[Candidate]> {
    ["src/main.rs", "src/menu/", "src/menu/mod.rs", "docs/main.md"].map(Candidate::plain).into()
}

fn texts(menu: &Menu, columns: u16, height: u16) -> Vec<String> {
    let view = menu.view(columns, height, &Theme::new(Palette::Dark));
    view.lines.iter().map(ToString::to_string).collect()
}

fn found(candidates: Arc<[Candidate]>, order: Order, query: &str) -> Vec<String> {
    let mut menu = Menu::new(candidates, order, "");
    menu.filter(query);
    menu.found.iter().map(|found| menu.candidates[found.index].text.clone()).collect()
}

#[test]
fn what_fits_best_comes_first() {
    assert_eq!(found(commands(), Order::Names, "co")[0], "compact");
    assert_eq!(found(commands(), Order::Names, "ctx"), ["context"]);
    assert_eq!(found(files(), Order::Paths, "main"), ["src/main.rs", "docs/main.md"]);
    assert_eq!(found(files(), Order::Paths, "smenu/mo"), ["src/menu/mod.rs"]);
    assert_eq!(found(files(), Order::Paths, "zzz"), Vec::<String>::new());
    let past: Arc<[Candidate]> = ["fix the tests", "write docs", "test the fix"].map(Candidate::plain).into();
    assert_eq!(found(past, Order::Texts, "FIX test"), ["fix the tests", "test the fix"]);
}

#[test]
fn help_stands_in_a_column_and_gives_way() {
    let menu = Menu::new(commands(), Order::Names, "/");
    assert_eq!(
        texts(&menu, 60, 9),
        [
            "› /clear                   Begin anew",
            "  /compact [what to keep]  Make the conversation shorter",
            "  /context                 What the context is made of",
            "  /review <branch>         Look at a branch (project)",
        ]
    );
    assert_eq!(texts(&menu, 20, 3), ["› /clear", "  /compact [what to…", "  1/4"]);
}

#[test]
fn the_chosen_entry_is_always_shown() {
    let mut menu = Menu::new(commands(), Order::Names, "/");
    menu.previous();
    assert_eq!(menu.selected().map(|chosen| chosen.text.as_str()), Some("review"));
    assert_eq!(texts(&menu, 20, 2), ["› /review <branch>", "  4/4"]);
    menu.next();
    assert_eq!(menu.selected_index(), Some(0));
    menu.filter("nothing like it");
    menu.next();
    menu.previous();
    assert_eq!(menu.selected(), None);
    assert!(texts(&menu, 20, 2).is_empty());
}

#[test]
fn no_row_is_too_wide() {
    let menu = Menu::new(
        Arc::from([Candidate {
            help: "漢字".repeat(20), ..Candidate::plain("漢字\n漢字👨‍👩‍👧")
        }]),
        Order::Texts,
        "@",
    );
    for columns in 1..60 {
        for line in texts(&menu, columns, 4) {
            assert!(width(&line) <= columns.into(), "{columns}: {line}");
        }
    }
}
