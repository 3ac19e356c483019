//! What keys can do. Bindings, settings and help are all derived from [`TABLE`].

/// Where a key has its meaning. The innermost place that knows a key decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// Everywhere, if nothing else takes the key.
    Global,
    /// In the input line and in other text fields.
    Input,
    /// In a list that pops up beside the input.
    Menu,
    /// In a question or a list that has the screen for itself.
    Dialog,
    /// In what is only read, and in lists in which nothing is typed.
    Page,
}

impl Context {
    /// All of them, in the order of the help.
    pub const ALL: [Self; 5] = [Self::Input, Self::Menu, Self::Dialog, Self::Page, Self::Global];

    /// The heading in the help.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Global => "Anywhere",
            Self::Input => "Writing",
            Self::Menu => "Completion menu",
            Self::Dialog => "Questions and lists",
            Self::Page => "Pages",
        }
    }
}

impl Context {
    /// The places in which a key means one thing only: at the input, both it and what counts everywhere are asked.
    pub(super) fn shared(self) -> &'static [Self] {
        match self {
            Self::Input | Self::Global => &[Self::Input, Self::Global],
            Self::Menu => &[Self::Menu],
            Self::Dialog => &[Self::Dialog],
            Self::Page => &[Self::Page],
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What is done.
    pub action: Action,
    /// Its name in settings.
    pub name: &'static str,
    /// Where.
    pub context: Context,
    /// The keys if the settings say nothing.
    pub keys: &'static [&'static str],
    /// What the help says.
    pub help: &'static str,
}

macro_rules! actions {
    ($($context:ident { $($action:ident $name:literal [$($key:literal),*] $help:literal;)* })*) => {
        /// What a key can do.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $($(#[doc = $help] $action,)*)*
        }

        /// Every action with its place, its default keys and its help.
        pub const TABLE: &[Row] = &[
            $($(Row {
                action: Action::$action,
                name: $name,
                context: Context::$context,
                keys: &[$($key),*],
                help: $help,
            },)*)*
        ];
    };
}

actions! {
    Input {
        Submit "submit" ["enter"] "Send; while the agent works, steer it";
        Queue "queue" ["tab"] "Send when the running turn is over";
        Newline "newline" ["shift+enter", "alt+enter", "ctrl+j"] "Start a new line";
        Clear "clear" ["ctrl+c"] "Clear the input (undo brings it back)";
        Left "left" ["left"] "Go left";
        Right "right" ["right", "ctrl+f"] "Go right";
        WordLeft "word-left" ["alt+b", "ctrl+left", "alt+left"] "Go to the beginning of the word";
        WordRight "word-right" ["alt+f", "ctrl+right", "alt+right"] "Go to the end of the word";
        LineStart "line-start" ["ctrl+a", "home"] "Go to the beginning of the line";
        LineEnd "line-end" ["ctrl+e", "end"] "Go to the end of the line";
        TextStart "text-start" ["alt+<", "ctrl+home"] "Go to the beginning of the text";
        TextEnd "text-end" ["alt+>", "ctrl+end"] "Go to the end of the text";
        Up "up" ["up"] "Go up, then back in the history";
        Down "down" ["down"] "Go down, then forward in the history";
        HistoryOlder "history-older" ["ctrl+p"] "Previous input";
        HistoryNewer "history-newer" ["ctrl+n"] "Next input";
        HistorySearch "history-search" ["ctrl+r"] "Search the history of all sessions";
        DeleteBack "delete-back" ["backspace", "ctrl+h"] "Delete to the left";
        DeleteForward "delete-forward" ["delete", "ctrl+d"] "Delete to the right";
        KillWordBack "kill-word-back" ["ctrl+w"] "Cut back to the previous blank";
        KillPartBack "kill-part-back" ["alt+backspace", "ctrl+backspace"] "Cut back to the beginning of the word";
        KillWordForward "kill-word-forward" ["alt+d", "ctrl+delete"] "Cut to the end of the word";
        KillLineEnd "kill-line-end" ["ctrl+k"] "Cut to the end of the line";
        KillLineStart "kill-line-start" ["ctrl+u"] "Cut to the beginning of the line";
        Yank "yank" ["ctrl+y"] "Insert what was cut";
        YankOlder "yank-older" ["alt+y"] "After that: replace it with an earlier cut";
        Undo "undo" ["ctrl+_", "ctrl+/", "ctrl+7"] "Undo";
        Redo "redo" ["alt+_", "alt+/", "ctrl+shift+z"] "Redo";
        ExternalEditor "external-editor" ["ctrl+g"] "Continue in $EDITOR";
        PasteImage "paste-image" ["ctrl+v"] "Attach the image in the clipboard";
        Unfold "unfold" ["alt+p"] "Show a folded paste in full";
        ShortHelp "short-help" ["?"] "This help, if the input is empty";
    }
    Menu {
        MenuNext "menu-next" ["down", "ctrl+n"] "Next entry";
        MenuPrevious "menu-previous" ["up", "ctrl+p"] "Previous entry";
        MenuAccept "menu-accept" ["enter"] "Accept the entry";
        MenuComplete "menu-complete" ["tab"] "Complete and keep typing";
        MenuClose "menu-close" ["esc", "ctrl+c"] "Close the menu";
    }
    Dialog {
        Next "next" ["down", "ctrl+n"] "Next choice";
        Previous "previous" ["up", "ctrl+p"] "Previous choice";
        Accept "accept" ["enter"] "Choose";
        Toggle "toggle" ["space"] "Check or uncheck; for a queued message: steer or queue";
        Cancel "cancel" ["esc", "ctrl+c"] "Refuse or close";
        NextPart "next-part" ["right", "tab"] "Next question, or wider scope";
        PreviousPart "previous-part" ["left", "shift+tab"] "Previous question, or narrower scope";
        MoveUp "move-up" ["shift+up", "alt+up"] "Move a queued message up";
        MoveDown "move-down" ["shift+down", "alt+down"] "Move a queued message down";
        Drop "drop" ["delete", "d"] "Drop a queued message";
        PageDown "page-down" ["pagedown", "ctrl+f"] "Read on";
        PageUp "page-up" ["pageup", "ctrl+b"] "Read back";
        EditPlan "edit-plan" ["e", "ctrl+g"] "Open the plan in $EDITOR";
    }
    Page {
        ReadOn "read-on" ["space"] "Read on";
        First "first" ["home", "g"] "Go to the beginning";
        Last "last" ["end", "G"] "Go to the end";
    }
    Global {
        Interrupt "interrupt" ["esc"] "Close what is open, then stop the agent; pressed twice while idle: go back to an earlier prompt";
        CycleMode "cycle-mode" ["shift+tab"] "Next permission mode";
        Background "background" ["ctrl+b"] "Move the running command or agent to the background";
        ExpandOutput "expand-output" ["ctrl+o"] "List results of calls and show them in full";
        Todos "todos" ["ctrl+t"] "Show or hide the todo list";
        Queued "queued" ["ctrl+q"] "List queued messages: edit, move, drop, change delivery";
        Redraw "redraw" ["ctrl+l"] "Redraw the screen";
        Suspend "suspend" ["ctrl+z"] "Suspend Tiller; `fg` resumes it";
        Exit "exit" ["ctrl+d"] "Exit, if the input is empty";
        Help "help" ["f1"] "This help";
    }
}

/// Actions that must keep a key: without them one could not go on.
pub(super) const ESSENTIAL: &[Action] = &[
    Action::Submit,
    Action::MenuClose,
    Action::Next,
    Action::Accept,
    Action::Cancel,
    Action::Interrupt,
    Action::Exit,
];

impl Action {
    /// Its row in the table.
    #[must_use]
    pub fn row(self) -> &'static Row {
        // The table is made from the same list as the actions, in the same order.
        &TABLE[self as usize]
    }
}
