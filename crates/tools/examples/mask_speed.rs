//! Measures how fast text is looked through for credentials: `cargo run --release -p tiller-tools --example mask_speed
//! [FILE]...`. Without files, made-up logs, sources and the worst that can be thought of are measured.
#![expect(clippy::print_stdout, clippy::expect_used, reason = "a measuring tool for developers")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use tiller_protocol::env::{Clock, Env, Ids};
use tiller_tools::Vault;
use uuid::Uuid;

const SIZE: usize = 8 * 1024 * 1024;
const AT_LEAST: Duration = Duration::from_secs(1);

struct World;

impl Ids for World {
    #[expect(clippy::disallowed_methods, reason = "no session to take ids from")]
    fn next(&self) -> Uuid {
        Uuid::new_v4()
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

fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    for file in &files {
        let bytes = fs_err::read(file).expect("the file is readable");
        measure(file, &String::from_utf8_lossy(&bytes));
    }
    if files.is_empty() {
        measure(
            "log",
            &filled(
                "2026-11-15T10:00:00Z INFO server: GET https://example.org/a/b?page=2 200 13ms token accepted\n",
            ),
        );
        measure(
            "source",
            &filled(
                "    let password = config.get(\"password\").ok_or(Error::Missing)?; // see https://docs.rs\n",
            ),
        );
        measure("secrets", &filled("API_KEY=q7Rz2Kf9Lm4Xw8Tb3Vn6Yc1Hd5Gj0Ps\n"));
        measure("key frames", &filled("-----BEGIN RSA PRIVATE KEY-----\n"));
        measure("names", &filled("token=token=secret:password="));
        measure("tokens", &filled("sk-ant-sk-ant-eyJ.eyJ://a:b@"));
        measure("one word", &filled("a"));
    }
}

fn filled(line: &str) -> String {
    line.repeat(SIZE / line.len())
}

fn measure(name: &str, text: &str) {
    let world = Arc::new(World);
    let env =
        Env { clock: world.clone(), ids: world, vars: Arc::default(), home: "/".into(), cwd: "/".into() };
    let vault = Vault::new(&env);
    let (mut rounds, begun) = (0_u32, Instant::now());
    while begun.elapsed() < AT_LEAST {
        std::hint::black_box(vault.mask(text));
        rounds += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "a measurement")]
    let megabytes = text.len() as f64 * f64::from(rounds) / 1e6;
    println!("{name:12} {:8.0} MB/s", megabytes / begun.elapsed().as_secs_f64());
}
