//! Guarded actix-web handlers, one for each type that can carry a rejection.
//!
//! Each of the three handlers asks an archive that does not answer. When as many calls hang as its
//! partition has permits, the next is told so at once, and the rest of the server does not notice.
//! Everything is real HTTP over loopback.
//!
//! ```text
//! cargo run --example actix_handler
//! ```
#![expect(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;
use std::io;
use std::net::SocketAddr;

use actix_web::dev::Server;
use actix_web::web::{Data, Path};
use actix_web::{App, HttpResponse, HttpServer, error, get};
use bulkhead_runtime::{BulkheadError, Partition, Verdict, bulkhead, partition};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

#[partition(name = "report", max = 2)]
static REPORT: Partition;

/// The error itself is a response.
#[get("/report")]
#[bulkhead(REPORT)]
async fn report(archive: Data<Archive>) -> Result<&'static str, BulkheadError> {
    archive.search().await;
    Ok("a report")
}

#[partition(name = "invoice", max = 3)]
static INVOICE: Partition;

/// An `actix_web::Error` is made of it, as of everything else that can go wrong.
#[get("/invoice/{number}")]
#[bulkhead(INVOICE, classify = verdict)]
async fn invoice(
    number: Path<u32>,
    archive: Data<Archive>,
) -> Result<&'static str, actix_web::Error> {
    if *number == 0 {
        return Err(error::ErrorNotFound("no such invoice"));
    }
    archive.search().await;
    Ok("an invoice")
}

/// Every `Err` would be a failure. One that is the caller's own mistake says nothing about the archive.
fn verdict<T>(returned: &Result<T, actix_web::Error>) -> Verdict {
    match returned {
        Ok(_) => Verdict::Success,
        Err(error) if error.as_response_error().status_code().is_client_error() => Verdict::Ignored,
        Err(_) => Verdict::Failure,
    }
}

#[partition(name = "picture", max = 1)]
static PICTURE: Partition;

/// A bare response needs no `Result`; it is a failure when its status is a 5xx.
#[get("/picture")]
#[bulkhead(PICTURE)]
async fn picture(archive: Data<Archive>) -> HttpResponse {
    archive.search().await;
    HttpResponse::Ok().body("a picture")
}

/// Needs nobody.
#[get("/health")]
async fn health() -> &'static str {
    "fine"
}

/// It hears every question, and answers as many as it is told to.
struct Archive {
    questions: mpsc::UnboundedSender<()>,
    answers: Semaphore,
}

impl Archive {
    async fn search(&self) {
        let question = self.questions.send(());
        question.expect("somebody listens as long as the server runs");
        let answer = self.answers.acquire().await;
        answer.expect("it never closes").forget();
    }
}

#[actix_web::main]
async fn main() -> Result<(), Failure> {
    let (questions, mut asked) = mpsc::unbounded_channel();
    let answers = Semaphore::new(0);
    let archive = Data::new(Archive { questions, answers });
    let (address, server) = start(archive.clone())?;
    let stop = server.handle();
    let server = actix_web::rt::spawn(server);

    println!("handler        permits   one more is told           /health   in the end");
    for (path, partition) in [
        ("/report", &REPORT),
        ("/invoice/7", &INVOICE),
        ("/picture", &PICTURE),
    ] {
        let max = partition.policy().max();
        let mut hanging = JoinSet::new();
        for _ in 0..max {
            hanging.spawn(ask(address, path));
            tokio::select! {
                Some(()) = asked.recv() => {}
                Some(early) = hanging.join_next() => panic!("nobody has answered: {early:?}"),
            }
        }

        let told = told(&ask(address, path).await?);
        let other = ask(address, "/health").await?.status;
        assert_eq!(other, 200, "another route does not notice");
        archive.answers.add_permits(hanging.len());
        while let Some(reply) = hanging.join_next().await {
            assert_eq!(reply??.status, 200, "it has its answer");
        }
        println!("{path:<15}{max:>7}   {told:<27}{other:>7}   {max} answered, 1 rejected");
        assert_counted(partition);
    }

    let mistaken = ask(address, "/invoice/0").await?;
    assert_eq!(mistaken.status, 404, "no such invoice");
    assert_eq!(INVOICE.snapshot().outcomes.failure, 0, "nobody failed");

    stop.stop(true).await;
    server.await??;
    Ok(())
}

fn start(archive: Data<Archive>) -> io::Result<(SocketAddr, Server)> {
    let server = HttpServer::new(move || {
        App::new()
            .app_data(archive.clone())
            .service(report)
            .service(invoice)
            .service(picture)
            .service(health)
    })
    // Or else the call of a client that has closed its connection goes on, and keeps its permit.
    .h1_allow_half_closed(false)
    .workers(1)
    .bind(("127.0.0.1", 0))?;
    Ok((server.addrs()[0], server.run()))
}

/// What a rejection says.
fn told(rejection: &Reply) -> String {
    assert_eq!(rejection.status, 503, "{rejection:?}");
    assert_eq!(
        rejection.header("content-type"),
        Some("application/problem+json"),
        "{rejection:?}"
    );
    let again = rejection.header("retry-after").unwrap_or("no");
    assert!(["1", "2"].contains(&again), "{rejection:?}");
    format!("{}, retry after {again} s", rejection.status)
}

/// As many have finished as there are permits, one was rejected, and all permits are back.
fn assert_counted(partition: &Partition) {
    let snapshot = partition.snapshot();
    let name = partition.name();
    assert_eq!(
        snapshot.outcomes.success, snapshot.max,
        "`{name}`: finished"
    );
    assert_eq!(snapshot.rejected.full, 1, "`{name}`: rejected");
    assert_eq!(snapshot.started, snapshot.max + 1, "`{name}`: and no other");
    assert_eq!(
        snapshot.headroom, snapshot.max,
        "`{name}`: all permits are back"
    );
}

#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// As much of a client as this needs.
async fn ask(server: SocketAddr, path: &str) -> Result<Reply, Failure> {
    let mut stream = TcpStream::connect(server).await?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut head = String::new();
    stream.read_to_string(&mut head).await?;
    let status = head.split(' ').nth(1).ok_or("no status line")?.parse()?;
    Ok(Reply { status, head })
}
