//! Colours by what they mean, so that no widget names a colour.

use ratatui::style::{Color, Modifier, Style};

/// Which colours a terminal gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Palette {
    /// Light text on a dark background.
    #[default]
    Dark,
    /// Dark text on a light background.
    Light,
    /// No colours: emphasis by weight alone.
    Plain,
}

impl Palette {
    /// Every palette, in the order in which they are offered.
    pub const ALL: [Self; 3] = [Self::Dark, Self::Light, Self::Plain];

    /// The name in settings and menus.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dark => "dark",
            Self::Light => "light",
            Self::Plain => "no-color",
        }
    }

    /// The palette of this name. That there are no colours can be said in two ways.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = if name == "none" { Self::Plain.name() } else { name };
        Self::ALL.into_iter().find(|palette| palette.name() == name)
    }
}

/// A colour as a terminal tells it: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// The palette that can be read on this background.
    #[must_use]
    pub fn palette(self) -> Palette {
        let Self(red, green, blue) = self;
        // The eye sees green best and blue least.
        let brightness = (u32::from(red) * 299 + u32::from(green) * 587 + u32::from(blue) * 114) / 1_000;
        if brightness > 127 { Palette::Light } else { Palette::Dark }
    }
}

/// The style of each role.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    /// Which palette it was made of.
    pub palette: Palette,
    /// Ordinary text.
    pub text: Style,
    /// What matters less.
    pub dim: Style,
    /// Headings and names.
    pub strong: Style,
    /// What belongs to Tiller: the prompt mark, the selected line.
    pub accent: Style,
    /// Everything that says "plan mode".
    pub plan: Style,
    /// Modes that ask for less: edits are accepted.
    pub edits: Style,
    /// What the user wrote.
    pub user: Style,
    /// A failure.
    pub error: Style,
    /// Something to look at.
    pub warning: Style,
    /// Success.
    pub ok: Style,
    /// Code within text.
    pub code: Style,
    /// An address one can open.
    pub link: Style,
    /// A line that was added.
    pub added: Style,
    /// The part of an added line that differs.
    pub added_word: Style,
    /// A line that was removed.
    pub removed: Style,
    /// The part of a removed line that differs.
    pub removed_word: Style,
    /// The chosen entry of a menu.
    pub selected: Style,
    /// Keywords in code.
    pub keyword: Style,
    /// Strings and numbers in code.
    pub literal: Style,
    /// Comments in code.
    pub comment: Style,
    /// Names of functions and types in code.
    pub name: Style,
    /// Whether it is printed once instead of drawn: nothing is marked, and no keys are told.
    pub is_printed: bool,
}

impl Theme {
    /// The theme made of a palette.
    #[must_use]
    pub fn new(palette: Palette) -> Self {
        match palette {
            Palette::Dark => Self::dark(),
            Palette::Light => Self::light(),
            Palette::Plain => Self::plain(),
        }
    }

    /// The theme of what is printed line by line.
    #[must_use]
    pub fn printed() -> Self {
        Self { is_printed: true, ..Self::plain() }
    }

    fn dark() -> Self {
        let on = |color| Style::new().fg(color);
        Self {
            palette: Palette::Dark,
            text: Style::new(),
            dim: on(Color::Indexed(245)),
            strong: Style::new().add_modifier(Modifier::BOLD),
            accent: on(Color::Indexed(80)),
            plan: on(Color::Indexed(141)),
            edits: on(Color::Indexed(114)),
            user: on(Color::Indexed(153)),
            error: on(Color::Indexed(203)),
            warning: on(Color::Indexed(221)),
            ok: on(Color::Indexed(114)),
            code: on(Color::Indexed(180)),
            link: on(Color::Indexed(75)).add_modifier(Modifier::UNDERLINED),
            added: on(Color::Indexed(114)),
            added_word: on(Color::Indexed(231)).bg(Color::Indexed(28)),
            removed: on(Color::Indexed(210)),
            removed_word: on(Color::Indexed(231)).bg(Color::Indexed(88)),
            selected: on(Color::Indexed(80)).add_modifier(Modifier::BOLD),
            keyword: on(Color::Indexed(176)),
            literal: on(Color::Indexed(150)),
            comment: on(Color::Indexed(245)).add_modifier(Modifier::ITALIC),
            name: on(Color::Indexed(117)),
            is_printed: false,
        }
    }

    fn light() -> Self {
        let on = |color| Style::new().fg(color);
        Self {
            palette: Palette::Light,
            text: Style::new(),
            dim: on(Color::Indexed(242)),
            strong: Style::new().add_modifier(Modifier::BOLD),
            accent: on(Color::Indexed(24)),
            plan: on(Color::Indexed(91)),
            edits: on(Color::Indexed(28)),
            user: on(Color::Indexed(18)),
            error: on(Color::Indexed(160)),
            warning: on(Color::Indexed(130)),
            ok: on(Color::Indexed(28)),
            code: on(Color::Indexed(94)),
            link: on(Color::Indexed(25)).add_modifier(Modifier::UNDERLINED),
            added: on(Color::Indexed(22)),
            added_word: on(Color::Indexed(22)).bg(Color::Indexed(157)),
            removed: on(Color::Indexed(124)),
            removed_word: on(Color::Indexed(88)).bg(Color::Indexed(224)),
            selected: on(Color::Indexed(24)).add_modifier(Modifier::BOLD),
            keyword: on(Color::Indexed(90)),
            literal: on(Color::Indexed(28)),
            comment: on(Color::Indexed(242)).add_modifier(Modifier::ITALIC),
            name: on(Color::Indexed(25)),
            is_printed: false,
        }
    }

    fn plain() -> Self {
        let (plain, bold) = (Style::new(), Style::new().add_modifier(Modifier::BOLD));
        let underlined = Style::new().add_modifier(Modifier::UNDERLINED);
        let reversed = Style::new().add_modifier(Modifier::REVERSED);
        Self {
            palette: Palette::Plain,
            text: plain,
            dim: plain,
            strong: bold,
            accent: bold,
            plan: reversed,
            edits: bold,
            user: bold,
            error: bold,
            warning: bold,
            ok: plain,
            code: plain,
            link: underlined,
            added: plain,
            added_word: underlined,
            removed: plain,
            removed_word: underlined,
            selected: reversed,
            keyword: plain,
            literal: plain,
            comment: plain,
            name: plain,
            is_printed: false,
        }
    }
}
