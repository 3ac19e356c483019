use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;
use tiller_steering::source::Unread;

use super::*;

struct Desk {
    dir: TempDir,
    mailbox: Mailbox,
}

impl Desk {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let mailbox = Mailbox::of(dir.path(), Path::new("/p"));
        Self { dir, mailbox }
    }

    fn send(&self, id: u128, from: &str, text: &str) -> Result<(), MailError> {
        self.mailbox.send(&note(id, from, text))
    }

    fn texts(&self) -> Vec<String> {
        self.mailbox.notes(None).unwrap().into_iter().map(|note| note.text).collect()
    }
}

fn note(id: u128, from: &str, text: &str) -> Note {
    Note {
        id: Uuid::from_u128(id),
        from: from.to_owned(),
        session: None,
        at: Timestamp::UNIX_EPOCH,
        text: text.to_owned(),
    }
}

fn session(id: u128) -> SessionId {
    SessionId(Uuid::from_u128(id))
}

// SECR-02
#[test]
fn notes_are_kept_in_order_and_private() {
    let desk = Desk::new();
    assert!(desk.texts().is_empty());
    desk.send(2, "b", "two").unwrap();
    desk.send(1, "a", "one").unwrap();
    assert_eq!(desk.texts(), ["one", "two"]);
    assert_eq!(desk.mailbox.notes(Some(Uuid::from_u128(1))).unwrap().len(), 1);
    let rights = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(rights(desk.mailbox.dir()), 0o700);
    assert_eq!(rights(&desk.mailbox.file(Uuid::from_u128(1))), 0o600);
    assert_eq!(rights(&desk.dir.path().join("mail")), 0o700);
}

#[test]
fn what_is_no_note_is_passed_over() {
    let desk = Desk::new();
    desk.send(1, "a", "one").unwrap();
    let put =
        |id: u128, content: &str| fs_err::write(desk.mailbox.file(Uuid::from_u128(id)), content).unwrap();
    put(2, "{");
    put(3, &serde_json::to_string(&note(4, "a", "under another name")).unwrap());
    put(5, &serde_json::to_string(&note(5, "a\nb", "a name of two lines")).unwrap());
    put(6, &format!("\"{}\"", "x".repeat(200_000)));
    fs_err::create_dir(desk.mailbox.file(Uuid::from_u128(7))).unwrap();
    std::os::unix::fs::symlink("/dev/zero", desk.mailbox.file(Uuid::from_u128(8))).unwrap();
    fs_err::write(desk.mailbox.dir().join("readme.txt"), "x").unwrap();
    assert_eq!(desk.texts(), ["one"]);
}

#[test]
fn what_cannot_be_a_note_is_refused() {
    let desk = Desk::new();
    assert!(matches!(desk.send(1, "a", ""), Err(MailError::Empty)));
    assert!(matches!(desk.send(1, "a", &"x".repeat(MAX_TEXT + 1)), Err(MailError::TooLong)));
    for name in ["", " ", "a\nb", "a\u{1b}[31m", &"x".repeat(MAX_NAME + 1)] {
        assert!(matches!(desk.send(1, name, "x"), Err(MailError::BadName)), "{name:?}");
    }
    for id in 0..MAX_NOTES {
        desk.send(id as u128, "a", "x").unwrap();
    }
    assert!(matches!(desk.send(1_000, "a", "x"), Err(MailError::Full(_))));
}

#[test]
fn a_note_is_removed_after_a_week() {
    let desk = Desk::new();
    desk.send(1, "a", "old").unwrap();
    let later = Timestamp::UNIX_EPOCH + KEPT;
    desk.mailbox.send(&Note { at: later, ..note(2, "a", "new") }).unwrap();
    assert_eq!(desk.texts(), ["old", "new"], "a week is not over yet");
    let even_later = later + SignedDuration::from_secs(1);
    desk.mailbox.send(&Note { at: even_later, ..note(3, "a", "newest") }).unwrap();
    assert_eq!(desk.texts(), ["new", "newest"]);
}

// STEER-41
#[test]
fn a_session_hears_of_what_others_sent_and_was_not_read_before() {
    let desk = Desk::new();
    desk.send(1, "a", "read").unwrap();
    desk.mailbox.mark_read(Uuid::from_u128(1)).unwrap();
    let inbox = Inbox::open(desk.mailbox.clone(), session(9));
    assert_eq!(inbox.unread(None), Unread::default());
    desk.mailbox.send(&Note { session: Some(session(9)), ..note(2, "me", "mine") }).unwrap();
    assert_eq!(inbox.unread(None), Unread::default());
    desk.send(3, "a", "new").unwrap();
    desk.send(4, "b", "newer").unwrap();
    // Others who read it change nothing for this session.
    desk.mailbox.mark_read(Uuid::from_u128(4)).unwrap();
    let unread = inbox.unread(None);
    let told: Vec<(&str, u64)> =
        unread.chats.iter().map(|chat| (chat.name.as_str(), chat.unread_count)).collect();
    assert_eq!(told, [("a", 1), ("b", 1)]);
    assert!(unread.how_to_read.contains(&desk.mailbox.file(Uuid::from_u128(3)).display().to_string()));
    assert_eq!(inbox.unread(Some(&unread.newest)), Unread::default());
}
