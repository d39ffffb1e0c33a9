//! The running service as seen from outside: a child process, its gauges, its end.

use std::io;
use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};

use axum::http::StatusCode;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::args::SERVE;
use crate::http::{Error, Http, get};
use crate::partner::Partners;
use crate::service::Arrangement;

/// It is killed when it is dropped, so that a failed claim leaves no process behind.
pub(crate) struct Instance {
    process: Child,
    output: Lines<BufReader<ChildStdout>>,
    pub(crate) users: SocketAddr,
    pub(crate) operators: Operators,
}

/// The door for those who run it.
#[derive(Clone)]
pub(crate) struct Operators {
    http: Http,
    address: SocketAddr,
}

/// How it ended.
pub(crate) struct End {
    pub(crate) status: ExitStatus,
    /// What it said on its way out.
    pub(crate) said: Vec<String>,
    pub(crate) last_words: Value,
}

impl Instance {
    /// This very program, told to be the service.
    pub(crate) async fn start(
        arrangement: Arrangement,
        partners: &Partners,
    ) -> Result<Self, Error> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(SERVE)
            .arg(arrangement.as_str())
            .arg(partners.payment.address.to_string())
            .arg(partners.shipping.address.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = process.stdout.take().expect("it is piped");
        let mut output = BufReader::new(output).lines();
        let addresses = output.next_line().await?;
        let addresses = addresses.ok_or("the service ended before it listened")?;
        let (users, operators) = addresses.split_once(' ').ok_or("two addresses, first")?;
        Ok(Self {
            process,
            output,
            users: users.parse()?,
            operators: Operators {
                http: Http::new(),
                address: operators.parse()?,
            },
        })
    }

    /// Asks it to end, as an orchestrator does.
    pub(crate) async fn terminate(&self) -> Result<(), Error> {
        let process = self.process.id().ok_or("it has ended already")?;
        let mut kill = Command::new("kill");
        let sent = kill.arg("-TERM").arg(process.to_string()).status().await?;
        if !sent.success() {
            return Err(format!("cannot send SIGTERM to {process}").into());
        }
        Ok(())
    }

    /// Waits until it has.
    pub(crate) async fn end(mut self) -> Result<End, Error> {
        let mut said = lines(&mut self.output).await?;
        let status = self.process.wait().await?;
        // A breaker may move as late as that.
        let last = said.iter().rposition(|line| line.starts_with('{'));
        let last = last.ok_or("it ended without its last words")?;
        let last_words = serde_json::from_str(&said.remove(last))?;
        Ok(End {
            status,
            said,
            last_words,
        })
    }
}

async fn lines(output: &mut Lines<BufReader<ChildStdout>>) -> io::Result<Vec<String>> {
    let mut said = Vec::new();
    while let Some(line) = output.next_line().await? {
        said.push(line);
    }
    Ok(said)
}

impl Operators {
    pub(crate) async fn gauges(&self) -> Result<Value, Error> {
        let (_, gauges) = self.http.send(get(self.address, "/gauges")).await?;
        Ok(serde_json::from_str(&gauges)?)
    }

    /// Whether a load balancer may send requests.
    pub(crate) async fn is_ready(&self) -> bool {
        let answer = self.http.send(get(self.address, "/ready")).await;
        matches!(answer, Ok((StatusCode::OK, _)))
    }
}
