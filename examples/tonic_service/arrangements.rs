//! Five places for a partition, each with its server and its clients.

use std::time::Duration;

use bulkhead_runtime::{BulkheadLayer, Partition, bulkhead, partition};
use tonic::transport::Server;
use tonic::{Request, Response, Status};
use tower::Layer;

use crate::generated::quotes_client::QuotesClient;
use crate::generated::quotes_server::{Quotes, QuotesServer};
use crate::generated::{Price, QuoteRequest};
use crate::seen::Seen;
use crate::services::{Desk, Prices};
use crate::stage::{Failure, Stage};

/// Every call of every service: it bounds the process, and helps nobody against a neighbour.
#[partition(name = "whole-server", max = 3)]
pub(crate) static WHOLE_SERVER: Partition;

pub(crate) async fn whole_server() -> Result<Seen, Failure> {
    let (stage, incoming) = Stage::open().await?;
    let server = Server::builder()
        .layer(stage.counting())
        .layer(BulkheadLayer::new(&WHOLE_SERVER))
        .add_service(stage.quotes())
        .add_service(stage.branches());
    tokio::spawn(server.serve_with_incoming(incoming));

    stage.run_plain().await
}

/// Every call of one service, before its message is read.
#[partition(name = "one-service", max = 3)]
pub(crate) static ONE_SERVICE: Partition;

pub(crate) async fn one_service() -> Result<Seen, Failure> {
    let (stage, incoming) = Stage::open().await?;
    let quotes = BulkheadLayer::new(&ONE_SERVICE).layer(stage.quotes());
    let server = Server::builder()
        .layer(stage.counting())
        .add_service(quotes)
        .add_service(stage.branches());
    tokio::spawn(server.serve_with_incoming(incoming));

    stage.run_plain().await
}

/// One method, after its message was read.
#[partition(name = "one-method", max = 3)]
pub(crate) static ONE_METHOD: Partition;

struct GuardedDesk(Desk);

/// `#[tonic::async_trait]` stands on the whole, and so comes first.
#[tonic::async_trait]
impl Quotes for GuardedDesk {
    #[bulkhead(ONE_METHOD)]
    async fn quote(&self, request: Request<QuoteRequest>) -> Result<Response<Price>, Status> {
        self.0.quote(request).await
    }

    type FollowStream = Prices;

    async fn follow(&self, request: Request<QuoteRequest>) -> Result<Response<Prices>, Status> {
        self.0.follow(request).await
    }
}

pub(crate) async fn one_method() -> Result<Seen, Failure> {
    let (stage, incoming) = Stage::open().await?;
    let server = Server::builder()
        .layer(stage.counting())
        .add_service(QuotesServer::new(GuardedDesk(stage.desk())))
        .add_service(stage.branches());
    tokio::spawn(server.serve_with_incoming(incoming));

    stage.run_plain().await
}

/// Streams: a service has answered when they begin, so their permit would be back at once.
#[partition(name = "streams", max = 3)]
pub(crate) static STREAMS: Partition;

pub(crate) async fn streams() -> Result<Seen, Failure> {
    let (stage, incoming) = Stage::open().await?;
    let until_they_end = BulkheadLayer::new(&STREAMS).until_body(Duration::from_secs(300));
    let server = Server::builder()
        .layer(stage.counting())
        .add_service(until_they_end.layer(stage.quotes()))
        .add_service(stage.branches());
    tokio::spawn(server.serve_with_incoming(incoming));

    let client = QuotesClient::new(stage.connect().await?);
    let follow = || {
        let mut client = client.clone();
        async move {
            let mut prices = client.follow(QuoteRequest::default()).await?.into_inner();
            while prices.message().await?.is_some() {}
            Ok(())
        }
    };
    stage.run(follow).await
}

/// The outgoing side, which needs nobody's consent: what is rejected here is never sent.
#[partition(name = "our-channel", max = 3)]
pub(crate) static OUR_CHANNEL: Partition;

pub(crate) async fn our_channel() -> Result<Seen, Failure> {
    let (stage, incoming) = Stage::open().await?;
    let server = Server::builder()
        .layer(stage.counting())
        .add_service(stage.quotes())
        .add_service(stage.branches());
    tokio::spawn(server.serve_with_incoming(incoming));

    let channel = BulkheadLayer::new(&OUR_CHANNEL).layer(stage.connect().await?);
    let client = QuotesClient::new(channel);
    let quote = || {
        let mut client = client.clone();
        async move { client.quote(QuoteRequest::default()).await.map(drop) }
    };
    stage.run(quote).await
}
