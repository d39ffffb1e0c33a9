//! The command line: small enough to be read by hand.

use std::fmt;

pub(crate) const USAGE: &str = "usage: shop [serve] [--port N]";

/// Where `serve` listens unless told: a port one can remember.
const SERVE_PORT: u16 = 8080;
/// Where the load run listens unless told: any free port.
const FREE_PORT: u16 = 0;

#[derive(Debug)]
pub(crate) enum Command {
    Load { port: u16 },
    Serve { port: u16 },
    Help,
}

#[derive(Debug)]
pub(crate) enum Mistake {
    Unknown(String),
    NoPort,
    NotAPort(String),
}

pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Command, Mistake> {
    let mut args = args;
    let mut serve = false;
    let mut port = None;
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "serve" if !serve => serve = true,
            "--port" => port = Some(number(args.next().ok_or(Mistake::NoPort)?)?),
            "-h" | "--help" => return Ok(Command::Help),
            other => match other.strip_prefix("--port=") {
                Some(value) => port = Some(number(value.to_owned())?),
                None => return Err(Mistake::Unknown(arg)),
            },
        }
    }
    Ok(if serve {
        Command::Serve {
            port: port.unwrap_or(SERVE_PORT),
        }
    } else {
        Command::Load {
            port: port.unwrap_or(FREE_PORT),
        }
    })
}

fn number(text: String) -> Result<u16, Mistake> {
    text.parse().map_err(|_| Mistake::NotAPort(text))
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(arg) => write!(f, "unknown argument `{arg}`"),
            Self::NoPort => f.write_str("`--port` needs a number"),
            Self::NotAPort(text) => write!(f, "`{text}` is no port: a number from 0 to 65535"),
        }
    }
}
