//! The command line: small enough to be read by hand.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::http::Error;
use crate::service::Arrangement;

pub(crate) const USAGE: &str = "usage: game_day [--picture FILE.svg]";
/// How the program starts itself a second time, as the service.
pub(crate) const SERVE: &str = "serve";

#[derive(Debug)]
pub(crate) enum Command {
    GameDay {
        picture: PathBuf,
    },
    Serve {
        arrangement: Arrangement,
        payment: SocketAddr,
        shipping: SocketAddr,
    },
    Help,
}

pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Command, Error> {
    let args: Vec<String> = args.collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [] => Ok(Command::GameDay {
            picture: beside_the_build()?,
        }),
        ["--picture", picture] => Ok(Command::GameDay {
            picture: picture.into(),
        }),
        [SERVE, arrangement, payment, shipping] => Ok(Command::Serve {
            arrangement: Arrangement::named(arrangement).ok_or("no such arrangement")?,
            payment: payment.parse()?,
            shipping: shipping.parse()?,
        }),
        ["-h" | "--help"] => Ok(Command::Help),
        _ => Err("these arguments say nothing".into()),
    }
}

/// The target directory: the program is in `examples` of one of its profiles.
fn beside_the_build() -> Result<PathBuf, Error> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(3).ok_or("the program is nowhere")?;
    Ok(target.join("game_day.svg"))
}
