//! Serves a script by hand or for benchmarks: `model-server [--lenient] [--port N] [script.json]`.
//!
//! The first line of output is the base URL. Without a script every request is answered with a short text. The
//! format of scripts is documented with `ScriptFile`. The server runs until its input is closed.

use std::{
    error::Error,
    io::{Read as _, Write as _},
};

use tiller_testkit::{ModelServer, Reply, ScriptFile};

fn main() -> Result<(), Box<dyn Error>> {
    let mut builder = ModelServer::builder();
    let mut script = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--lenient" => builder = builder.validate(false).keep_bodies(false),
            "--port" => builder = builder.port(arguments.next().ok_or("--port needs a number")?.parse()?),
            path => script = Some(serde_json::from_str::<ScriptFile>(&fs_err::read_to_string(path)?)?),
        }
    }
    let server = builder.start();
    match script {
        Some(script) => server.load(script),
        None => server.respond_with(|_| Reply::text("Hello from the scripted model.")),
    }
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", server.url())?;
    stdout.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let mut stderr = std::io::stderr();
    for rejection in server.rejections() {
        writeln!(stderr, "{rejection}")?;
    }
    Ok(())
}
