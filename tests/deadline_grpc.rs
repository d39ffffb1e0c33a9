//! Deadlines of gRPC calls, both ways, over real sockets.

mod common;
#[expect(
    unreachable_pub,
    unused_qualifications,
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::pedantic,
    reason = "made of the example's `quotes.proto`, which says how"
)]
#[path = "../examples/tonic_service/generated.rs"]
mod generated;

use std::future::{Future, pending};
use std::time::Duration;

use bulkhead_runtime::Deadline;
use bulkhead_runtime::tower::{DeadlineLayer, PropagateDeadline, PropagateDeadlineLayer};
use common::wire::soon;
use generated::branches_client::BranchesClient;
use generated::branches_server::{Branches, BranchesServer};
use generated::{HoursRequest, OpeningHours};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tower::Layer;

/// Longer than any test may hang.
const CAP: Duration = Duration::from_secs(60);

/// Without a deadline it is a plain one.
type Client = BranchesClient<PropagateDeadline<Channel>>;

const MARGIN: Duration = Duration::from_millis(500);

fn client(channel: Channel) -> Client {
    let layer = PropagateDeadlineLayer::new().grpc().margin(MARGIN);
    BranchesClient::new(layer.layer(channel))
}

/// What a service sees of a call: its `grpc-timeout`, and what is left.
#[derive(Debug)]
struct Seen {
    told: Option<String>,
    left: Option<Duration>,
}

/// A service that tells what it sees, and then does what it is there for.
#[derive(Clone)]
struct Desk {
    seen: mpsc::UnboundedSender<Seen>,
    does: Does,
}

#[derive(Clone)]
enum Does {
    Answer,
    Ask(Client),
    Hang,
}

#[tonic::async_trait]
impl Branches for Desk {
    async fn hours(
        &self,
        request: Request<HoursRequest>,
    ) -> Result<Response<OpeningHours>, Status> {
        let told = request.metadata().get("grpc-timeout");
        let told = told.map(|it| it.to_str().expect("ASCII").to_owned());
        let left = Deadline::current().map(|deadline| deadline.remaining());
        let kept = self.seen.send(Seen { told, left });
        kept.expect("the test looks at it");
        match &self.does {
            Does::Answer => Ok(Response::new(OpeningHours::default())),
            Does::Ask(next) => next.clone().hours(HoursRequest::default()).await,
            Does::Hang => pending().await,
        }
    }
}

/// A server on a free port, and a channel to it.
async fn serve<S>(start: impl FnOnce(TcpIncoming) -> S) -> Channel
where
    S: Future<Output = Result<(), tonic::transport::Error>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(start(TcpIncoming::from(listener)));
    let endpoint = Endpoint::from_shared(format!("http://{address}"));
    let connected = endpoint.expect("an address is a uri").connect().await;
    connected.expect("the server listens")
}

async fn serve_capped(cap: Duration, desk: Desk) -> Channel {
    serve(move |incoming| {
        Server::builder()
            .layer(DeadlineLayer::capped(cap))
            .add_service(BranchesServer::new(desk))
            .serve_with_incoming(incoming)
    })
    .await
}

fn desk(does: Does) -> (Desk, mpsc::UnboundedReceiver<Seen>) {
    let (seen, witness) = mpsc::unbounded_channel();
    (Desk { seen, does }, witness)
}

/// What one call looks like from inside.
async fn ask(
    client: &mut Client,
    timeout: Option<Duration>,
    witness: &mut mpsc::UnboundedReceiver<Seen>,
) -> Seen {
    let mut request = Request::new(HoursRequest::default());
    if let Some(timeout) = timeout {
        request.set_timeout(timeout);
    }
    let answer = soon("an answer", client.hours(request)).await;
    answer.expect("an answer in time");
    witness.try_recv().expect("the server saw it")
}

/// `grpc-timeout` in microseconds, as tonic and we write everything between 100 ms and 100 s.
fn micros(told: Option<&str>) -> Duration {
    let digits = told.and_then(|told| told.strip_suffix('u'));
    let micros = digits.unwrap_or_else(|| panic!("no microseconds: {told:?}"));
    Duration::from_micros(micros.parse().expect("a number"))
}

#[tokio::test]
async fn a_server_holds_to_the_timeout_of_its_client_and_to_its_own_cap() {
    let (desk, mut witness) = desk(Does::Answer);
    let mut client = client(serve_capped(CAP, desk).await);
    for (timeout, at_most) in [
        (Some(Duration::from_secs(30)), Duration::from_secs(30)),
        (Some(Duration::from_secs(3_600)), CAP),
        (None, CAP),
    ] {
        let seen = ask(&mut client, timeout, &mut witness).await;
        let left = seen.left.expect("there is a layer before it");
        assert!(left <= at_most, "{timeout:?}: {seen:?}");
    }
}

#[tokio::test]
async fn one_service_of_a_server_may_have_a_cap_of_its_own() {
    let (desk, mut witness) = desk(Does::Answer);
    let channel = serve(|incoming| {
        Server::builder()
            .add_service(DeadlineLayer::capped(CAP).layer(BranchesServer::new(desk)))
            .serve_with_incoming(incoming)
    });
    let mut client = client(channel.await);
    let seen = ask(&mut client, None, &mut witness).await;
    assert!(seen.left.is_some_and(|left| left <= CAP), "{seen:?}");
    assert_eq!(seen.told, None, "and the cap is nobody else's business");
}

#[tokio::test]
async fn a_channel_tells_what_is_left_unless_the_call_has_a_shorter_timeout() {
    let (desk, mut witness) = desk(Does::Answer);
    let mut client = client(serve_capped(CAP, desk).await);
    let seen = ask(&mut client, None, &mut witness).await;
    assert_eq!(seen.told, None, "without a deadline nothing is told");

    let (time, hour) = (Duration::from_secs(30), Duration::from_secs(3_600));
    for (timeout, at_most) in [
        (None, time.saturating_sub(MARGIN)),
        (Some(hour), time.saturating_sub(MARGIN)),
        (Some(Duration::from_secs(20)), Duration::from_secs(20)),
    ] {
        let deadline = Deadline::after(time);
        let asked = deadline.scope(ask(&mut client, timeout, &mut witness));
        let seen = asked.await;
        let told = micros(seen.told.as_deref());
        assert!(told <= at_most, "{timeout:?}: {seen:?}");
        assert!(seen.left.is_some_and(|left| left <= told), "{seen:?}");
    }
}

#[tokio::test]
async fn the_second_of_two_services_has_less_time_than_the_first() {
    let (second, mut second_witness) = desk(Does::Answer);
    let second = client(serve_capped(Duration::from_secs(3_600), second).await);
    let (first, mut first_witness) = desk(Does::Ask(second));
    let mut client = client(serve_capped(CAP, first).await);
    for timeout in [None, Some(Duration::from_secs(30))] {
        let first = ask(&mut client, timeout, &mut first_witness).await;
        let second = second_witness.try_recv().expect("the first asked it");
        let had = first.left.expect("there is a layer before it");
        let told = micros(second.told.as_deref());
        assert!(told <= had.saturating_sub(MARGIN), "{first:?}, {second:?}");
        assert!(second.left.is_some_and(|left| left <= told), "{second:?}");
    }
}

#[tokio::test]
async fn a_call_that_is_out_of_time_does_not_hang_with_its_server() {
    let (desk, _witness) = desk(Does::Hang);
    let mut client = client(serve_capped(CAP, desk).await);
    let late = Deadline::after(MARGIN).scope(client.hours(HoursRequest::default()));
    let ended = soon("tonic's own timeout, by our header", late).await;
    ended.expect_err("a nanosecond is soon over");
}
