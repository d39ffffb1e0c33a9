//! What a partition is to gRPC servers and channels, over real sockets.

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

use std::collections::BTreeSet;
use std::error::Error as _;
use std::future::{Future, pending};
use std::sync::Arc;
use std::time::Duration;

use axum::http;
use bulkhead_runtime::{
    BreakerPolicy, BulkheadError, BulkheadLayer, Deadline, FromBulkheadError, Outcomes, Partition,
    Policy, Verdict, bulkhead, partition, register,
};
use common::wire::{in_flight, soon, until};
use common::{Crowd, assert_idle, ms, plain, poll_once, queued};
use generated::branches_client::BranchesClient;
use generated::branches_server::{Branches, BranchesServer};
use generated::quotes_client::QuotesClient;
use generated::quotes_server::{Quotes, QuotesServer};
use generated::{HoursRequest, OpeningHours, Price, QuoteRequest};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tonic::body::Body;
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::MetadataValue;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Request, Response, Status};
use tonic_types::StatusExt;
use tower::{BoxError, Layer, ServiceBuilder, ServiceExt};

type Prices = mpsc::Sender<Result<Price, Status>>;

/// A service that does what its callers say.
#[derive(Clone)]
struct Desk {
    crowd: Arc<Crowd>,
    streams: mpsc::UnboundedSender<Prices>,
}

/// The other end of every stream that the desk opens.
type Streams = mpsc::UnboundedReceiver<Prices>;

fn desk() -> (Desk, Streams) {
    let (streams, opened) = mpsc::unbounded_channel();
    let crowd = Arc::default();
    (Desk { crowd, streams }, opened)
}

/// Calls that end at once.
fn any() -> QuoteRequest {
    QuoteRequest::default()
}

/// A call that never ends.
fn hang() -> QuoteRequest {
    let item = "hang".to_owned();
    QuoteRequest { item }
}

/// A call that ends with this status.
fn fail_with(code: i32) -> QuoteRequest {
    let item = code.to_string();
    QuoteRequest { item }
}

#[tonic::async_trait]
impl Quotes for Desk {
    async fn quote(&self, request: Request<QuoteRequest>) -> Result<Response<Price>, Status> {
        let _inside = self.crowd.enter();
        match request.get_ref().item.as_str() {
            "" => Ok(Response::new(Price { cents: 42 })),
            "hang" => pending().await,
            code => {
                let code = code.parse::<i32>().expect("a test asks for a code");
                Err(Status::new(Code::from(code), "as you wish"))
            }
        }
    }

    type FollowStream = ReceiverStream<Result<Price, Status>>;

    async fn follow(
        &self,
        _: Request<QuoteRequest>,
    ) -> Result<Response<Self::FollowStream>, Status> {
        let (prices, stream) = mpsc::channel(1);
        let opened = self.streams.send(prices);
        opened.expect("a test that opens streams keeps their other end");
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

#[tonic::async_trait]
impl Branches for Desk {
    async fn hours(&self, _: Request<HoursRequest>) -> Result<Response<OpeningHours>, Status> {
        Ok(Response::new(OpeningHours::default()))
    }
}

/// A server on a free port.
async fn serve<S>(start: impl FnOnce(TcpIncoming) -> S) -> Endpoint
where
    S: Future<Output = Result<(), tonic::transport::Error>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(start(TcpIncoming::from(listener)));
    let endpoint = Endpoint::from_shared(format!("http://{address}"));
    endpoint.expect("an address is a uri").timeout(PATIENCE)
}

/// A server whose every call takes a permit of `partition`.
async fn serve_behind(partition: &'static Partition, desk: Desk) -> Endpoint {
    serve(|incoming| {
        Server::builder()
            .layer(BulkheadLayer::new(partition))
            .add_service(QuotesServer::new(desk))
            .serve_with_incoming(incoming)
    })
    .await
}

/// A server whose streams keep their permit of `partition`.
async fn serve_streams_behind(
    partition: &'static Partition,
    longest: Duration,
    desk: Desk,
) -> Endpoint {
    serve(|incoming| {
        Server::builder()
            .layer(BulkheadLayer::new(partition).until_body(longest))
            .add_service(QuotesServer::new(desk))
            .serve_with_incoming(incoming)
    })
    .await
}

/// A server without any partition.
async fn serve_plainly(desk: Desk) -> Endpoint {
    serve(|incoming| {
        Server::builder()
            .add_service(QuotesServer::new(desk))
            .serve_with_incoming(incoming)
    })
    .await
}

async fn channel(server: &Endpoint) -> Channel {
    server.connect().await.expect("the server listens")
}

async fn client(server: &Endpoint) -> QuotesClient<Channel> {
    QuotesClient::new(channel(server).await)
}

/// A failure is a hang that ends.
const PATIENCE: Duration = Duration::from_secs(20);

fn outcomes(partition: &Partition) -> Outcomes {
    partition.snapshot().outcomes
}

/// What a status says about trying again, in its details and in its metadata.
fn come_back_in(status: &Status) -> (Option<Duration>, Option<&str>) {
    let details = status.get_details_retry_info();
    let pushback = status.metadata().get("grpc-retry-pushback-ms");
    (
        details.and_then(|retry| retry.retry_delay),
        pushback.map(|millis| millis.to_str().expect("a number")),
    )
}

#[track_caller]
fn assert_says(status: &Status, code: Code, reason: &str, partition: &Partition) {
    assert_eq!(status.code(), code, "{status:?}");
    let info = status.get_details_error_info().expect("it says why");
    assert_eq!(
        (info.reason.as_str(), info.domain.as_str()),
        (reason, "bulkhead"),
        "{status:?}"
    );
    assert_eq!(
        Vec::from_iter(&info.metadata),
        [(&"partition".to_owned(), &partition.name().to_owned())],
        "nothing else is told"
    );
}

#[tokio::test]
async fn a_full_server_says_unavailable_and_when_to_come_back() {
    let whole = plain("grpc-full", 1);
    let mut client = client(&serve_behind(whole, desk().0).await).await;
    assert_eq!(client.quote(any()).await.unwrap().get_ref().cents, 42);

    let held = whole.try_enter().unwrap();
    let mut back = BTreeSet::new();
    for _ in 0..40 {
        let status = client.quote(any()).await.unwrap_err();
        assert_says(&status, Code::Unavailable, "FULL", whole);
        assert_eq!(status.message(), "too many calls at the moment");
        let (details, pushback) = come_back_in(&status);
        let again = details.expect("it is worth trying again");
        assert_eq!(
            pushback,
            Some(again.as_millis().to_string().as_str()),
            "a client that retries by itself waits as long"
        );
        back.insert(again);
    }
    assert!(
        back.iter()
            .all(|again| (ms(1_000)..=ms(2_000)).contains(again)),
        "once to twice the hint: {back:?}"
    );
    // Drawn from a thousand: by chance at most a few are the same.
    assert!(back.len() > 30, "no whole seconds: {back:?}");
    drop(held);
    assert!(client.quote(any()).await.is_ok(), "there is room again");
    let snapshot = whole.snapshot();
    assert_eq!((snapshot.rejected.full, snapshot.outcomes.success), (40, 3));
    assert_idle(whole);
}

#[tokio::test]
async fn a_partition_with_the_status_429_is_resource_exhausted() {
    #[partition(name = "grpc-429", max = 1, status = 429)]
    static QUOTA: Partition;

    let mut client = client(&serve_behind(&QUOTA, desk().0).await).await;
    let _held = QUOTA.try_enter().unwrap();
    let status = client.quote(any()).await.unwrap_err();
    assert_says(&status, Code::ResourceExhausted, "FULL", &QUOTA);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_deadline_exceeded_and_does_not_ask_to_come_back() {
    let slow = plain("grpc-timeout", 1);
    let (desk, _streams) = desk();
    let crowd = Arc::clone(&desk.crowd);
    let server = serve(|incoming| {
        Server::builder()
            .layer(BulkheadLayer::new(slow).timeout(ms(20)))
            .add_service(QuotesServer::new(desk))
            .serve_with_incoming(incoming)
    });
    let status = client(&server.await).await.quote(hang()).await.unwrap_err();
    assert_says(&status, Code::DeadlineExceeded, "CALL_TIMEOUT", slow);
    assert_eq!(status.message(), "the call took too long");
    assert_eq!(come_back_in(&status), (None, None));
    assert_eq!(outcomes(slow).timed_out, 1);
    assert_eq!((crowd.ever(), crowd.inside()), (1, 0), "it was dropped");
    assert_idle(slow);
}

#[tokio::test]
async fn a_call_waits_in_the_queue_of_a_server_for_its_turn_or_for_too_long() {
    let patient = queued("grpc-queue", 1, 1, Duration::from_secs(20));
    let mut client = client(&serve_behind(patient, desk().0).await).await;
    let held = patient.try_enter().unwrap();
    let call = tokio::spawn({
        let mut client = client.clone();
        async move { client.quote(any()).await }
    });
    until("the call waits", || patient.snapshot().waiting == 1).await;
    let status = client.quote(any()).await.unwrap_err();
    assert_says(&status, Code::Unavailable, "FULL", patient);
    drop(held);
    assert!(call.await.unwrap().is_ok(), "its turn came");
    assert_idle(patient);

    let hasty = queued("grpc-wait", 1, 1, ms(5));
    let mut client = self::client(&serve_behind(hasty, desk().0).await).await;
    let _held = hasty.try_enter().unwrap();
    let status = client.quote(any()).await.unwrap_err();
    assert_says(&status, Code::Unavailable, "WAIT_TIMEOUT", hasty);
}

#[tokio::test]
async fn a_full_channel_sends_nothing() {
    let ours = plain("grpc-channel", 2);
    let (desk, _streams) = desk();
    let crowd = Arc::clone(&desk.crowd);
    let channel = channel(&serve_plainly(desk).await).await;
    let mut client = QuotesClient::new(BulkheadLayer::new(ours).layer(channel.clone()));

    let running = [(); 2].map(|()| {
        let mut client = client.clone();
        tokio::spawn(async move { client.quote(hang()).await })
    });
    until("two calls run", || crowd.inside() == 2).await;
    for _ in 0..10 {
        let status = client.quote(any()).await.unwrap_err();
        assert_says(&status, Code::Unavailable, "FULL", ours);
    }
    // On the same connection: what had been sent before it, the server would have seen.
    let mut unguarded = QuotesClient::new(channel);
    unguarded.quote(any()).await.unwrap();
    assert_eq!(crowd.ever(), 3, "the two that run, and the unguarded one");

    for call in running {
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
    }
    assert_idle(ours);
    assert_eq!(outcomes(ours).cancelled, 2);
}

#[tokio::test]
async fn a_status_of_the_servers_fault_is_a_failure_and_any_other_is_not() {
    let (theirs, ours) = (
        plain("grpc-codes-server", 1),
        plain("grpc-codes-channel", 1),
    );
    let server = serve_behind(theirs, desk().0).await;
    let mut client = QuotesClient::new(BulkheadLayer::new(ours).layer(channel(&server).await));

    client.quote(any()).await.unwrap();
    assert_eq!((outcomes(ours).failure, outcomes(theirs).failure), (0, 0));
    let mut failures = Vec::new();
    for code in (1..=16).map(Code::from) {
        let before = outcomes(theirs).failure;
        assert_eq!(
            client
                .quote(fail_with(code as i32))
                .await
                .unwrap_err()
                .code(),
            code,
            "the layers pass it on"
        );
        if outcomes(theirs).failure > before {
            failures.push(code);
        }
    }
    assert_eq!(
        failures,
        [
            Code::Unknown,
            Code::DeadlineExceeded,
            Code::Unimplemented,
            Code::Internal,
            Code::Unavailable,
            Code::DataLoss
        ]
    );
    assert_eq!(
        (outcomes(theirs).success, outcomes(theirs).failure),
        (11, 6)
    );
    assert_eq!(outcomes(ours), outcomes(theirs), "both sides see the same");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failure() {
    let ours = plain("grpc-nobody", 1);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let channel = Endpoint::from_shared(nobody).unwrap().connect_lazy();
    let mut client = QuotesClient::new(BulkheadLayer::new(ours).layer(channel));
    let status = client.quote(any()).await.unwrap_err();
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.get_details_error_info().is_none(), "not our doing");
    assert_eq!(outcomes(ours).failure, 1);
    assert_idle(ours);
}

#[tokio::test(start_paused = true)]
async fn the_longest_hints_are_spread_over_fifteen_seconds() {
    let one = plain("grpc-longest-hint", 1);
    let endless = one.call(tokio::time::sleep(Duration::from_secs(3_600)));
    endless.await.expect("it is measured");
    let _held = one.try_enter().unwrap();
    let back: Vec<_> = (0..200)
        .map(|_| {
            let status = Status::from(one.try_enter().map(drop).unwrap_err());
            come_back_in(&status).0.expect("it is worth trying again")
        })
        .collect();
    let (least, most) = (back.iter().min().unwrap(), back.iter().max().unwrap());
    assert!((ms(15_000)..ms(18_000)).contains(least), "{least:?}");
    assert!((ms(27_000)..=ms(30_000)).contains(most), "{most:?}");
}

#[test]
fn a_code_that_does_not_exist_is_a_failure_as_unknown_is() {
    for (code, verdict) in [
        ("0", Verdict::Success),
        ("16", Verdict::Success),
        ("17", Verdict::Failure),
        ("ok", Verdict::Failure),
    ] {
        let response = http::Response::builder().header("grpc-status", code);
        let response = response.body(Body::empty()).unwrap();
        assert_eq!(response.verdict(), verdict, "{code}");
    }
}

#[test]
fn a_proxy_without_grpc_is_judged_by_its_http_status() {
    for (status, verdict) in [
        (200, Verdict::Success),
        (404, Verdict::Success),
        (502, Verdict::Failure),
        (503, Verdict::Failure),
    ] {
        let response = http::Response::builder().status(status);
        let response = response.body(Body::empty()).unwrap();
        assert_eq!(response.verdict(), verdict, "{status}");
    }
}

/// How the channel and the server counted a stream that was read to its end.
async fn counted_after(end: Option<Status>, name: &str) -> [Outcomes; 2] {
    let theirs = plain(&format!("grpc-trailers-server-{name}"), 1);
    let ours = plain(&format!("grpc-trailers-channel-{name}"), 1);
    let (desk, mut streams) = desk();
    let server = serve_streams_behind(theirs, Duration::from_secs(60), desk).await;
    let layer = BulkheadLayer::new(ours).until_body(Duration::from_secs(60));
    let mut client = QuotesClient::new(layer.layer(channel(&server).await));

    let expected = end.as_ref().map(Status::code);
    let opened = client.follow(any()).await.expect("there is room");
    let mut stream = opened.into_inner();
    let prices = streams.recv().await.expect("the desk opened it");
    let price = prices.send(Ok(Price { cents: 1 })).await;
    price.expect("the stream is open");
    let price = stream.message().await.expect("it goes on");
    assert_eq!(price, Some(Price { cents: 1 }), "it goes on");
    assert_eq!((in_flight(ours), in_flight(theirs)), (1, 1), "it goes on");
    if let Some(end) = end {
        prices.send(Err(end)).await.expect("the stream is open");
    }
    drop(prices);
    let ended = stream.message().await.err().map(|status| status.code());
    assert_eq!(ended, expected, "the layers pass it on");

    // A client that keeps the handle on a stream that has ended keeps nothing else.
    let counted = [outcomes(ours), outcomes(theirs)];
    assert_idle(ours);
    assert_idle(theirs);
    drop(stream);
    counted
}

#[tokio::test]
async fn a_stream_that_fails_at_its_end_is_a_failure() {
    for both in counted_after(Some(Status::internal("the cursor is lost")), "internal").await {
        assert_eq!((both.failure, both.success), (1, 0), "{both:?}");
    }
    for both in counted_after(Some(Status::not_found("no more")), "not-found").await {
        assert_eq!((both.failure, both.success), (0, 1), "{both:?}");
    }
    for both in counted_after(None, "ok").await {
        assert_eq!((both.failure, both.success), (0, 1), "{both:?}");
    }
}

#[tokio::test]
async fn a_stream_keeps_its_permit_until_it_has_ended() {
    let one = plain("grpc-stream", 1);
    let (desk, mut streams) = desk();
    let server = serve_streams_behind(one, Duration::from_secs(60), desk).await;
    let mut client = client(&server).await;

    let mut stream = client.follow(any()).await.unwrap().into_inner();
    let prices = streams.recv().await.unwrap();
    for _ in 0..3 {
        prices.send(Ok(Price { cents: 1 })).await.unwrap();
        assert!(stream.message().await.unwrap().is_some());
        let status = client.follow(any()).await.unwrap_err();
        assert_says(&status, Code::Unavailable, "FULL", one);
    }
    drop(prices);
    assert_eq!(stream.message().await.unwrap(), None);
    assert_eq!(outcomes(one).success, 1);
    assert_eq!(client.quote(any()).await.unwrap().get_ref().cents, 42);
    assert_eq!(outcomes(one).success, 2, "a call without a stream as well");
    assert_idle(one);
}

#[tokio::test]
async fn a_stream_without_until_body_has_given_back_its_permit_when_it_begins() {
    let one = plain("grpc-stream-head", 1);
    let (desk, mut streams) = desk();
    let mut client = client(&serve_behind(one, desk).await).await;

    let mut stream = client.follow(any()).await.unwrap().into_inner();
    assert_eq!((in_flight(one), outcomes(one).success), (0, 1));
    let prices = streams.recv().await.unwrap();
    let end = Status::internal("nobody counts this");
    prices.send(Err(end)).await.unwrap();
    assert_eq!(stream.message().await.unwrap_err().code(), Code::Internal);
    assert_eq!(outcomes(one).failure, 0, "its call was over");
    assert_idle(one);
}

#[tokio::test]
async fn a_client_that_drops_a_stream_gives_the_permit_back() {
    let (theirs, ours) = (plain("grpc-left-server", 1), plain("grpc-left-channel", 1));
    let (desk, mut streams) = desk();
    let server = serve_streams_behind(theirs, Duration::from_secs(60), desk).await;
    let layer = BulkheadLayer::new(ours).until_body(Duration::from_secs(60));
    let mut client = QuotesClient::new(layer.layer(channel(&server).await));

    let stream = client.follow(any()).await.unwrap();
    let prices = streams.recv().await.unwrap();
    assert_eq!((in_flight(ours), in_flight(theirs)), (1, 1));
    drop(stream);
    assert_eq!(outcomes(ours).cancelled, 1, "at once where it was dropped");
    soon("its end", prices.closed()).await;
    until("the permit is back", || in_flight(theirs) == 0).await;
    assert_eq!(outcomes(theirs).cancelled, 1);

    client.quote(any()).await.unwrap();
    assert_eq!((outcomes(ours).success, outcomes(theirs).success), (1, 1));
    assert_idle(ours);
    assert_idle(theirs);
}

#[tokio::test]
async fn a_stream_that_takes_too_long_is_cut_off_by_the_server() {
    let one = plain("grpc-longest-server", 1);
    let (desk, mut streams) = desk();
    let server = serve_streams_behind(one, ms(100), desk).await;
    let mut client = client(&server).await;

    let mut stream = client.follow(any()).await.unwrap().into_inner();
    let prices = streams.recv().await.unwrap();
    let status = soon("its end", stream.message()).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
    assert!(prices.is_closed(), "it was dropped");
    assert_eq!(outcomes(one).timed_out, 1);
    assert_idle(one);
}

#[tokio::test]
async fn a_stream_that_takes_too_long_is_cut_off_by_the_channel() {
    let one = plain("grpc-longest-channel", 1);
    let (desk, mut streams) = desk();
    let channel = channel(&serve_plainly(desk).await).await;
    let layer = BulkheadLayer::new(one).until_body(ms(100));
    let mut client = QuotesClient::new(layer.layer(channel));

    let mut stream = client.follow(any()).await.unwrap().into_inner();
    let prices = streams.recv().await.unwrap();
    let status = soon("its end", stream.message()).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
    soon("its end", prices.closed()).await;
    assert_eq!(outcomes(one).timed_out, 1);
    assert_idle(one);
}

#[tokio::test]
async fn a_client_that_leaves_gives_the_permit_back() {
    let (theirs, ours) = (plain("grpc-gone-server", 1), plain("grpc-gone-channel", 1));
    let (desk, _streams) = desk();
    let crowd = Arc::clone(&desk.crowd);
    let server = serve_behind(theirs, desk).await;
    let mut client = QuotesClient::new(BulkheadLayer::new(ours).layer(channel(&server).await));

    let call = tokio::spawn({
        let mut client = client.clone();
        async move { client.quote(hang()).await }
    });
    until("the call runs", || crowd.inside() == 1).await;
    assert_eq!((in_flight(ours), in_flight(theirs)), (1, 1));
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(outcomes(ours).cancelled, 1, "at once where it was dropped");
    until("the permit is back", || in_flight(theirs) == 0).await;
    assert_eq!(outcomes(theirs).cancelled, 1);
    assert_eq!(crowd.inside(), 0, "the call went before its permit");
    client.quote(any()).await.unwrap();
    assert_idle(ours);
    assert_idle(theirs);
}

#[tokio::test]
async fn a_client_that_leaves_the_queue_is_never_served() {
    let patient = queued("grpc-abandoned", 1, 1, Duration::from_secs(20));
    let (desk, _streams) = desk();
    let crowd = Arc::clone(&desk.crowd);
    let mut client = client(&serve_behind(patient, desk).await).await;

    let held = patient.try_enter().unwrap();
    let call = tokio::spawn(async move { client.quote(any()).await });
    until("the call waits", || patient.snapshot().waiting == 1).await;
    call.abort();
    until("it has left", || patient.snapshot().abandoned == 1).await;
    drop(held);
    assert_idle(patient);
    assert_eq!(crowd.ever(), 0);
}

#[tokio::test]
async fn an_idle_connection_and_a_cloned_client_hold_nothing() {
    let (theirs, ours) = (plain("grpc-idle-server", 1), plain("grpc-idle-channel", 1));
    let server = serve_behind(theirs, desk().0).await;
    let mut clients = Vec::new();
    for _ in 0..4 {
        let mut channel = BulkheadLayer::new(ours).layer(channel(&server).await);
        for _ in 0..4 {
            let ready = ServiceExt::<http::Request<Body>>::ready(&mut channel).await;
            assert!(ready.is_ok(), "the channel is ready without a permit");
        }
        let mut client = QuotesClient::new(channel);
        client.quote(any()).await.unwrap();
        clients.push(client.clone());
        clients.push(client);
    }
    assert_idle(ours);
    assert_idle(theirs);
    for client in &mut clients {
        client.quote(any()).await.unwrap();
    }
    assert_eq!((outcomes(ours).success, outcomes(theirs).success), (13, 13));
}

#[tokio::test]
async fn a_partition_before_one_service_leaves_the_others_alone() {
    let one = plain("grpc-one-service", 1);
    let (desk, _streams) = desk();
    let server = serve(|incoming| {
        let quotes = QuotesServer::new(desk.clone());
        Server::builder()
            .add_service(BulkheadLayer::new(one).layer(quotes))
            .add_service(BranchesServer::new(desk))
            .serve_with_incoming(incoming)
    })
    .await;
    let _held = one.try_enter().unwrap();
    let status = client(&server).await.quote(any()).await.unwrap_err();
    assert_says(&status, Code::Unavailable, "FULL", one);
    let mut branches = BranchesClient::new(channel(&server).await);
    branches.hours(HoursRequest {}).await.unwrap();
}

/// Has the attribute on one of its methods.
struct Annotated(Desk);

#[tonic::async_trait]
impl Quotes for Annotated {
    #[bulkhead(name = "grpc-method", max = 1)]
    async fn quote(&self, request: Request<QuoteRequest>) -> Result<Response<Price>, Status> {
        self.0.quote(request).await
    }

    type FollowStream = ReceiverStream<Result<Price, Status>>;

    async fn follow(
        &self,
        request: Request<QuoteRequest>,
    ) -> Result<Response<Self::FollowStream>, Status> {
        self.0.follow(request).await
    }
}

#[tokio::test]
async fn an_annotated_method_rejects_with_a_status() {
    let (desk, _streams) = desk();
    let server = serve(|incoming| {
        Server::builder()
            .add_service(QuotesServer::new(Annotated(desk)))
            .serve_with_incoming(incoming)
    });
    let mut client = client(&server.await).await;
    client.quote(any()).await.unwrap();

    let method = partition("grpc-method").unwrap();
    let held = method.try_enter().unwrap();
    let status = client.quote(any()).await.unwrap_err();
    assert_says(&status, Code::Unavailable, "FULL", method);
    client.follow(any()).await.unwrap();
    drop(held);

    client
        .quote(fail_with(Code::NotFound as i32))
        .await
        .unwrap_err();
    let outcomes = outcomes(method);
    assert_eq!(
        (outcomes.success, outcomes.failure),
        (2, 1),
        "of a `Result` every `Err` is a failure, unless `classify` says otherwise"
    );
}

#[tokio::test]
async fn only_a_call_that_never_ran_tells_envoy_not_to_retry() {
    let mesh = plain("grpc-envoy", 1);
    let server = serve(|incoming| {
        let layer = BulkheadLayer::new(mesh).timeout(ms(20));
        Server::builder()
            .layer(layer.envoy_ratelimited())
            .add_service(QuotesServer::new(desk().0))
            .serve_with_incoming(incoming)
    });
    let mut client = client(&server.await).await;
    let told = |metadata: &tonic::metadata::MetadataMap| {
        let told = metadata.get("x-envoy-ratelimited").cloned();
        told.map(|value| value == MetadataValue::from_static("true"))
    };

    assert_eq!(told(client.quote(any()).await.unwrap().metadata()), None);
    let status = client.quote(hang()).await.unwrap_err();
    assert_says(&status, Code::DeadlineExceeded, "CALL_TIMEOUT", mesh);
    assert_eq!(told(status.metadata()), None);
    let _held = mesh.try_enter().unwrap();
    let status = client.quote(any()).await.unwrap_err();
    assert_says(&status, Code::Unavailable, "FULL", mesh);
    assert_eq!(told(status.metadata()), Some(true));
}

#[tokio::test(start_paused = true)]
async fn every_reason_has_its_code_and_the_error_is_the_source() {
    let one = register("grpc-reasons", Policy::new(1).with_queue(1, ms(5))).unwrap();
    let held = one.try_enter().unwrap();
    let mut errors = vec![one.enter().await.unwrap_err()];
    let late = one.enter_by(tokio::time::Instant::now() + ms(1));
    errors.push(late.await.unwrap_err());
    let mut waiting = std::pin::pin!(one.enter());
    assert!(poll_once(waiting.as_mut()).is_pending());
    errors.push(one.enter().await.unwrap_err());
    drop(held);
    drop(waiting.await.unwrap());
    let endless = one.call(pending::<()>()).timeout(ms(10));
    errors.push(endless.await.unwrap_err());
    one.close();
    errors.push(one.try_enter().map(drop).unwrap_err());

    let told = errors.into_iter().map(|error| {
        let text = error.to_string();
        let status = Status::from(error);
        let source = status.source().and_then(|source| source.downcast_ref());
        let source: &BulkheadError = source.expect("it is the error");
        assert_eq!(source.to_string(), text);
        let info = status.get_details_error_info().expect("it says why");
        let worth_trying = come_back_in(&status).0.is_some();
        (status.code(), info.reason, worth_trying)
    });
    let told: Vec<_> = told.collect();
    assert_eq!(
        told,
        [
            (Code::Unavailable, "WAIT_TIMEOUT".to_owned(), true),
            (Code::DeadlineExceeded, "DEADLINE_EXCEEDED".to_owned(), true),
            (Code::Unavailable, "FULL".to_owned(), true),
            (Code::DeadlineExceeded, "CALL_TIMEOUT".to_owned(), false),
            (Code::Unavailable, "CLOSED".to_owned(), true),
        ]
    );
}

#[tokio::test]
async fn a_channel_that_rejects_with_a_status_as_its_error_keeps_the_source() {
    let ours = plain("grpc-source", 1);
    let server = serve_plainly(desk().0).await;
    let rejecting = BulkheadLayer::new(ours)
        .reject(|error| Err::<http::Response<Body>, _>(BoxError::from(Status::from(error))));
    let channel = ServiceBuilder::new()
        .layer(rejecting)
        .map_err(BoxError::from)
        .service(channel(&server).await);
    let mut client = QuotesClient::new(channel);
    client.quote(any()).await.unwrap();

    let _held = ours.try_enter().unwrap();
    let status = client.quote(any()).await.unwrap_err();
    assert_says(&status, Code::Unavailable, "FULL", ours);
    let source = status.source().and_then(|source| source.downcast_ref());
    assert!(matches!(source, Some(BulkheadError::Full(_))), "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_and_deadlines_have_their_codes_and_say_when_to_come_back() {
    #[bulkhead(name = "grpc-contract", max = 1, timeout = 50ms, deadline = 1s, breaker(consecutive = 1, open_for = 40s))]
    async fn hangs() -> Result<(), Status> {
        pending().await
    }
    let ours = partition("grpc-contract").unwrap();
    let before = Deadline::after(Duration::ZERO)
        .scope(hangs())
        .await
        .unwrap_err();
    assert_says(&before, Code::DeadlineExceeded, "DEADLINE_EXCEEDED", ours);
    assert!(come_back_in(&before).0.is_some(), "it never ran");
    let inside = Deadline::after(ms(20)).scope(hangs()).await.unwrap_err();
    assert_says(&inside, Code::DeadlineExceeded, "DEADLINE_EXCEEDED", ours);
    assert_eq!(inside.message(), "the call took too long");
    assert_eq!(come_back_in(&inside), (None, None));

    assert_says(
        &hangs().await.unwrap_err(),
        Code::DeadlineExceeded,
        "CALL_TIMEOUT",
        ours,
    );
    let mut back = BTreeSet::new();
    for _ in 0..40 {
        let open = hangs().await.unwrap_err();
        assert_says(&open, Code::Unavailable, "BREAKER_OPEN", ours);
        assert_eq!(open.message(), "not available at the moment");
        let (details, pushback) = come_back_in(&open);
        let again = details.expect("it says when");
        assert_eq!(pushback, Some(again.as_millis().to_string().as_str()));
        back.insert(again);
    }
    let only = back.pop_first().expect("forty said it");
    assert!(back.is_empty(), "to everybody the same: {back:?}");
    assert!(
        only >= ms(40_000),
        "it is not cut to half a minute: {only:?}"
    );

    let breaker = ours.breakers().next().expect("that of the function");
    breaker.force_open();
    assert_eq!(
        come_back_in(&hangs().await.unwrap_err()),
        (None, None),
        "nobody knows"
    );
}

#[tokio::test]
async fn statuses_of_the_servers_fault_open_the_breaker_before_a_channel() {
    let breaker = BreakerPolicy::new().with_consecutive(2);
    let policy = Policy::new(4).with_breaker(breaker);
    let ours = register("grpc-breaker", policy).unwrap();
    let (desk, _streams) = desk();
    let crowd = Arc::clone(&desk.crowd);
    let mut client = client(&serve_behind(ours, desk).await).await;
    for code in [
        Code::NotFound,
        Code::Internal,
        Code::InvalidArgument,
        Code::Unavailable,
        Code::Unknown,
    ] {
        let status = client.quote(fail_with(code as i32)).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (code, "as you wish"));
    }
    assert_eq!(crowd.ever(), 5);
    let status = client.quote(any()).await.unwrap_err();
    assert_says(&status, Code::Unavailable, "BREAKER_OPEN", ours);
    assert_eq!(crowd.ever(), 5, "the service was not called");
}
