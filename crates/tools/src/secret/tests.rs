use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use tiller_protocol::env::{Clock, Env, Ids};
use uuid::Uuid;

use super::Vault;
use super::find::find;

struct World(AtomicU64);

impl Ids for World {
    fn next(&self) -> Uuid {
        Uuid::from_u128(self.0.fetch_add(1, Ordering::Relaxed).into())
    }

    fn random(&self) -> f64 {
        0.5
    }
}

impl Clock for World {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
}

fn vault() -> Vault {
    let world = Arc::new(World(AtomicU64::new(0xab_cdef)));
    Vault::new(&Env {
        clock: world.clone(),
        ids: world,
        vars: Arc::default(),
        home: "/".into(),
        cwd: "/".into(),
    })
}

/// What is found, as `kind=text`.
fn found(text: &str) -> Vec<String> {
    find(text).into_iter().map(|finding| format!("{}={}", finding.kind, &text[finding.span])).collect()
}

/// Random characters that no scanner of sources takes for a real credential in this file.
fn body(length: usize) -> String {
    "q7Rz2Kf9Lm4Xw8Tb3Vn6Yc1Hd5Gj0PsAeUiOoQZ".chars().cycle().take(length).collect()
}

fn hex(length: usize) -> String {
    "3f9a0c7e51d2b864".chars().cycle().take(length).collect()
}

/// Text whose one credential is given apart from it.
#[track_caller]
fn finds(kind: &str, before: &str, value: &str, after: &str) {
    let text = format!("{before}{value}{after}");
    assert_eq!(found(&text), [format!("{kind}={value}")], "{text}");
}

#[track_caller]
fn finds_nothing(text: &str) {
    assert_eq!(found(text), Vec::<String>::new(), "{text}");
}

// SECR-01
#[test]
fn formats_are_known_by_their_prefix() {
    for (kind, prefix, length) in [
        ("github-token", "ghp_", 36),
        ("github-token", "gho_", 36),
        ("github-token", "github_pat_", 82),
        ("gitlab-token", "glpat-", 20),
        ("slack-token", "xoxb-", 40),
        ("stripe-key", "sk_live_", 24),
        ("stripe-key", "rk_live_", 24),
        ("anthropic-key", "sk-ant-api03-", 95),
        ("openai-key", "sk-proj-", 48),
        ("api-key", "sk-", 48),
        ("google-api-key", "AIza", 35),
        ("npm-token", "npm_", 36),
        ("pypi-token", "pypi-AgE", 100),
    ] {
        let token = format!("{prefix}{}", body(length));
        for (before, after) in [
            ("", ""),
            ("token: ", "\n"),
            ("TOKEN=", ""),
            ("\"", "\","),
            ("https://x:", "@github.com/a/b"),
            ("(see ", ")."),
            ("a line\\n", "\\nanother"),
            ("é", "é"),
        ] {
            finds(kind, before, &token, after);
        }
        finds_nothing(&format!("x{token}"));
        finds_nothing(&format!("{prefix}{}", "x".repeat(length)));
        finds_nothing(&format!("{prefix}{}", &body(length)[..8]));
    }
    finds("digitalocean-token", "", &format!("dop_v1_{}", hex(64)), "");
}

#[test]
fn aws_keys_come_in_pairs() {
    let id = format!("AKIA{}", "Q7RZ2KF5LM4XW6TB");
    let secret = format!("{}/{}", body(30), "aB3+xY7z9");
    let text = format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = {secret}\n");
    let expected: BTreeSet<String> =
        [format!("aws-access-key-id={id}"), format!("aws-secret-key={secret}")].into();
    assert_eq!(found(&text).into_iter().collect::<BTreeSet<_>>(), expected);
    assert_eq!(found(&format!("key,{id},{secret}")).into_iter().collect::<BTreeSet<_>>(), expected);
    // A hash near an id is no secret, and what documentation uses is none either.
    finds("aws-access-key-id", "", &id, &format!(" at commit {}", hex(40)));
    finds_nothing("AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
}

#[test]
fn web_tokens_have_three_parts_and_an_algorithm() {
    let token =
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P";
    finds("jwt", "cookie: session=", token, "; Path=/");
    finds_nothing("eyJ0eXBlIjoibWFwIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P");
    finds_nothing("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.");
}

#[test]
fn headers_and_addresses_give_credentials_away() {
    finds("bearer-token", "Authorization: Bearer ", &body(30), "\r\n");
    finds("bearer-token", "curl -H 'authorization: bearer ", &body(30), "' https://x");
    finds_nothing("Authorization: Bearer authentication is required");
    finds_nothing("Authorization: Bearer ${ACCESS_TOKEN_OF_SERVICE1}");
    finds("basic-auth", "Authorization: Basic ", "bWU6aHVudGVyMg==", "\n");
    finds_nothing("basic authentication, basic knowledge");
    finds("url-password", "postgres://app:", "s3cr3t!pw", "@db:5432/app");
    finds("url-password", "redis://:", "p4ssw", "@cache");
    finds("url-password", "https://me:", "pw%2Fx9", "@example.org/a@b");
    finds("webhook", "https://hooks.slack.com/services/", "T0AB12CD3/B0EF45GH6/x7Yz9Qw3Er5Ty7Ui9Op1As3D", "");
    for harmless in [
        "postgres://postgres:postgres@localhost/db",
        "postgres://user:password@localhost/db",
        "https://user:${PASSWORD}@example.org",
        "https://<user>:<password>@example.org",
        "https://example.org:8080/path@2x.png",
        "git@github.com:me/repo.git",
        "ssh://git@github.com:22/me/repo.git",
    ] {
        finds_nothing(harmless);
    }
}

#[test]
fn assignments_are_read_in_every_notation() {
    let value = "Zx9!kQ2mPw7r";
    for (kind, before, after) in [
        ("password", "DB_PASSWORD=", "\n"),
        ("password", "password = \"", "\"\n"),
        ("password", "  password: ", "\n"),
        ("password", "\"password\": \"", "\","),
        ("password", "{\\\"password\\\": \\\"", "\\\"}"),
        ("password", "'password' => '", "',"),
        ("password", "const password: &str = \"", "\";"),
        ("password", "spring.datasource.password=", ""),
        ("password", "<password>", "</password>"),
        ("password", "mysql --password ", " db"),
        ("password", "DB_PASS=", "\n"),
        ("password", "pass: ", "\n"),
        ("password", "smtpPass: '", "'"),
        ("password", "  password: |\n    ", "\n"),
        ("password", "password: >-\n  ", ""),
        ("api-key", "APP_KEY=", "\n"),
        ("password", "config[\"password\"] = \"", "\""),
        ("token", "export API_TOKEN='", "'"),
        ("token", "?access_token=", "&x=1"),
        ("secret", "clientSecret: `", "`"),
        ("secret", "SECRET_KEY = '", "'"),
        ("api-key", "X-Api-Key: ", "\r\n"),
        ("api-key", "apiKey2 = \"", "\""),
    ] {
        finds(kind, before, value, after);
    }
    let uuid = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
    finds("api-key", "HEROKU_API_KEY=", uuid, "\n");
    finds("api-key", "APP_KEY=", &format!("base64:{}=", body(43)), "\n");
    finds("password", "DB_PASS=", "kQ2&m4Pw7&rZ", "\n");
    finds("password", "password=", "kQ2mPw7rZ9", "&& make");
    finds("password", "?password=", "kQ2mPw7rZ9", "&user=x");
    finds("password", "password: \"", "correct h0rse b4tt3ry", "\"");
    let lines = found("token: |\n  kQ2mPw7rZ9\n  x8Yt4Lm1Nb\nname: z9Xw3Kd8Qp\n");
    assert_eq!(lines, ["token=kQ2mPw7rZ9", "token=x8Yt4Lm1Nb"]);
}

#[test]
fn what_is_no_credential_is_left_alone() {
    for text in [
        "password = \"changeme\"",
        "password: hunter2",
        "password = os.environ[\"DB_PASSWORD1\"]",
        "PASSWORD=${DB_PASSWORD_2}",
        "PASSWORD=$DB_PASSWORD_2",
        "password: {{ vault_password_1 }}",
        "token = <your-token-1>",
        "token: \"xxxxxxxxxxxx1x\"",
        "password: String,",
        "token = get_token_v2(client)",
        "let token = parser.next_token2();",
        "token == Token::Ident2",
        "secret: Option<&'a str>",
        "password_hash = \"5f4dcc3b5aa765d61d8327deb882cf99\"",
        "max_tokens: 4096",
        "nextToken: \"a1b2c3d4e5f6g7h8\"",
        "SECRET_FILE=/run/secrets/db_1",
        "password=/run/secrets/db_password_1",
        "token: 2024-01-02",
        "\"token\": \"example-token-1a2b3c\"",
        "The password is a secret: 8 characters at least.",
        "secret-santa: true",
        "bypass: a1b2c3d4e5f6",
        "12 passed; compass=a1b2c3d4e5f6",
        "pass: 12, fail: 0",
        "password: \"Enter the password of user 1 here!\"",
        "token: \"must have 8 characters, 1 digit\"",
        "token: Sha256HmacSha512Signer",
        "let secret = Aes256Gcm128Siv::new(key)",
        "password: Argon2id13ParamsV2,",
        "token: |\n  Some words about it\n",
        "api_key: env.API_KEY_1",
        "sk-learn and task-force and risk-averse-2024",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
    ] {
        finds_nothing(text);
    }
}

fn key(prefix: &str, end: &str) -> String {
    let lines: Vec<String> = (0..5).map(|at| format!("{prefix}{at}{}", body(63))).collect();
    format!(
        "{prefix}-----BEGIN RSA PRIVATE KEY-----{end}{}{end}{prefix}kQ=={end}{prefix}-----END RSA PRIVATE KEY-----",
        lines.join(end)
    )
}

#[test]
fn every_line_of_a_private_key_is_found() {
    for (prefix, end) in [("", "\n"), ("", "\r\n"), ("", "\\n"), ("    ", "\n"), ("+", "\n"), ("-", "\n")] {
        let text = key(prefix, end);
        let found = found(&text);
        assert_eq!(found.len(), 6, "{text}");
        assert_eq!(found[0], format!("private-key=0{}", body(63)));
        assert_eq!(found[5], "private-key=kQ==");
    }
    let whole = key("", "\n");
    let lines: Vec<&str> = whole.lines().collect();
    assert_eq!(found(&lines[..4].join("\n")).len(), 3, "cut off at the end");
    assert_eq!(found(&lines[3..].join("\n")).len(), 4, "cut off at the beginning");
    assert_eq!(found(&format!("{whole}\nand some prose about {}\n", "a".repeat(50))).len(), 6);
}

// SECR-01
#[test]
fn a_mask_is_stable_tells_the_kind_and_keeps_lines() {
    let vault = vault();
    let (a, b) = (format!("ghp_{}", body(36)), format!("ghp_{}", hex(36)));
    let text = format!("A={a}\nB={b}\nA again: {a}\n");
    let masked = vault.mask(&text);
    assert_eq!(
        masked,
        "A=[secret:github-token:00abcdef]\nB=[secret:github-token:00abcdf0]\nA again: [secret:github-token:00abcdef]\n"
    );
    assert_eq!(vault.mask(&masked), masked, "masks are left alone");
    assert_eq!(
        vault.mask("api_key = \"[secret:api-key:0123abcd]\""),
        "api_key = \"[secret:api-key:0123abcd]\""
    );
    assert_eq!(vault.reveal(&masked), text);
    assert_eq!(vault.mask(&a), "[secret:github-token:00abcdef]");
    let pem = key("", "\n");
    assert_eq!(vault.mask(&pem).lines().count(), pem.lines().count());
    assert_eq!(vault.tally(&masked)[0].count, 3);
    assert!(!format!("{vault:?}").contains(&a[4..]));
}

#[test]
fn a_known_credential_is_masked_without_its_context() {
    let vault = vault();
    let value = "Zx9!kQ2mPw7rTv4";
    assert_eq!(vault.mask(value), value);
    let masked = vault.mask(&format!("PASSWORD={value}")).into_owned();
    assert_eq!(vault.mask(&format!("the value {value} twice: {value}")).matches("[secret:").count(), 2);
    // A line of a key, once the key was seen; but not a word that happens to be a weak password.
    let pem = key("", "\n");
    _ = vault.mask(&pem);
    assert!(vault.mask(pem.lines().nth(2).unwrap()).starts_with("[secret:private-key:"));
    _ = vault.mask("postgres://app:development@db");
    assert_eq!(vault.mask("development"), "development");
    assert_eq!(vault.reveal(&masked), format!("PASSWORD={value}"));
}

// SECR-01: a secret gets into no other file by way of its mask.
#[test]
fn values_are_restored_only_where_they_belong() {
    let vault = vault();
    let content = format!("TOKEN=ghp_{}\n", body(36));
    let (env, other) = (Path::new("/w/.env"), Path::new("/w/public.js"));
    let masked = vault.mask_file(&content, env).into_owned();
    assert_eq!(vault.restore(&masked, env, &content).unwrap(), content);
    assert_eq!(vault.restore(&masked, env, "").unwrap(), content, "it was there");
    assert_eq!(vault.restore(&masked, other, &content).unwrap(), content, "it is there");
    let refused = vault.restore(&masked, other, "let x = 1;").unwrap_err();
    assert!(refused.contains("not copied from file to file") && !refused.contains(&body(20)), "{refused}");
    assert_eq!(vault.restore(&masked, other, &masked).unwrap(), masked, "a file may hold the text of a mask");
    let unknown = "x [secret:github-token:99999999] y";
    assert!(vault.restore(unknown, env, &content).unwrap_err().contains("Read /w/.env again"));
    assert_eq!(vault.restore(unknown, env, unknown).unwrap(), unknown);
    for plain in ["[secret:]", "[secret:a:b]", "[secret:github-token]", "[secret:github-token:…]"] {
        assert_eq!(vault.restore(plain, env, "").unwrap(), plain);
    }
}

#[test]
fn nothing_is_masked_when_that_is_switched_off() {
    let text = format!("ghp_{}", body(36));
    assert_eq!(Vault::off().mask(&text), text);
    assert_eq!(
        Vault::off().restore("[secret:a:01234567]", Path::new("/f"), "").unwrap(),
        "[secret:a:01234567]"
    );
}

#[test]
fn the_oldest_are_forgotten_and_the_newest_still_masked() {
    let vault = vault();
    let tokens: Vec<String> = (0..6_000).map(|at| format!("ghp_{at:05}{}", body(31))).collect();
    let masked = vault.mask(&tokens.join("\n")).into_owned();
    assert_eq!(masked.matches("[secret:github-token:").count(), 6_000);
    assert!(!masked.contains("ghp_"));
    assert_eq!(vault.reveal(masked.lines().last().unwrap()), tokens[5_999]);
    assert_eq!(vault.reveal(masked.lines().next().unwrap()), masked.lines().next().unwrap());
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("-----BEGIN RSA PRIVATE KEY-----".to_owned()),
        Just("-----END RSA PRIVATE KEY-----".to_owned()),
        Just("-----BEGIN ".to_owned()),
        Just("-----".to_owned()),
        Just("password".to_owned()),
        Just("token: ".to_owned()),
        Just("=\"".to_owned()),
        Just("\\\"".to_owned()),
        Just("AKIAQ7RZ2KF5LM4XW6TB".to_owned()),
        Just("ghp_".to_owned()),
        Just("sk-ant-".to_owned()),
        Just("eyJhbGciOiJIUzI1NiJ9.".to_owned()),
        Just("https://a:".to_owned()),
        Just("@".to_owned()),
        Just("Bearer ".to_owned()),
        Just("Basic ".to_owned()),
        Just("[secret:".to_owned()),
        Just("[secret:jwt:01234567]".to_owned()),
        Just("\\n".to_owned()),
        Just("\n".to_owned()),
        "[A-Za-z0-9+/=_-]{0,70}",
        "\\PC{0,8}",
    ]
}

// SECR-01
/// Names of classes: words with capitals, a number here and there.
fn class_name() -> impl Strategy<Value = String> {
    let words =
        ["Token", "Sha", "Hmac", "Parser", "Reader", "Base", "Utf", "Json", "Secret", "Factory", "Http"];
    let word = (proptest::sample::select(words.to_vec()), proptest::option::of(1_u16..600));
    let word = word.prop_map(|(word, number)| match number {
        Some(number) => format!("{word}{number}"),
        None => word.to_owned(),
    });
    proptest::collection::vec(word, 1..6).prop_map(|words| words.concat())
}

proptest! {
    // SECR-01: whatever a generator of passwords makes is found behind each kind of name and notation.
    #[test]
    fn generated_values_are_found(
        name in proptest::sample::select(vec!["DB_PASS", "pass", "APP_KEY", "password", "apiToken", "client_secret"]),
        (open, close) in proptest::sample::select(vec![("=", ""), (": ", "\n"), ("=\"", "\""), (" = '", "'"), (": |\n  ", "\n")]),
        value in "[a-z]{2}[0-9][A-Z][0-9][a-z][0-9][a-z0-9]{12,30}",
    ) {
        prop_assert_eq!(found(&format!("{name}{open}{value}{close}")).len(), 1);
    }

    #[test]
    fn names_of_classes_are_no_credentials(
        class in class_name(),
        (before, after) in proptest::sample::select(vec![("token: ", ","), ("secret = ", "\n"), ("password: ", " | None"), ("token = \"", "\"")]),
    ) {
        prop_assert_eq!(found(&format!("{before}{class}{after}")), Vec::<String>::new());
    }

    #[test]
    fn any_text_survives_and_can_be_restored(pieces in proptest::collection::vec(piece(), 0..24)) {
        let text = pieces.concat();
        let vault = vault();
        let masked = vault.mask(&text).into_owned();
        prop_assert!(vault.reveal(&masked) == text.as_str());
        prop_assert_eq!(masked.lines().count(), text.lines().count());
        let file = Path::new("/f");
        if let Ok(restored) = vault.restore(&masked, file, &text) {
            prop_assert_eq!(restored, text);
        }
    }

    #[test]
    fn any_bytes_are_looked_through(bytes: Vec<u8>) {
        let text = String::from_utf8_lossy(&bytes);
        for finding in find(&text) {
            prop_assert!(!text[finding.span].contains('\n'));
        }
    }

    #[test]
    fn what_was_found_does_not_remain(before in "[ -~]{0,20}", after in "[ -~]{0,20}") {
        let token = format!("ghp_{}", body(36));
        let text = format!("{before}\n{token} {after}");
        prop_assert!(!vault().mask(&text).contains(&token));
    }
}
