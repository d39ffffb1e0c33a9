//! What every arrangement has: a desk on a free port, an insurer that hangs, and twelve calls.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::http;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint};
use tower::util::MapRequestLayer;

use crate::generated::branches_client::BranchesClient;
use crate::generated::branches_server::BranchesServer;
use crate::generated::quotes_client::QuotesClient;
use crate::generated::quotes_server::QuotesServer;
use crate::generated::{HoursRequest, QuoteRequest};
use crate::seen::Seen;
use crate::services::{self, Desk, Insurer};

const HANGING: u32 = 10;
const QUICK: u32 = 2;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

pub(crate) struct Stage {
    uri: String,
    desk: Desk,
    insurer: Insurer,
    received: Arc<AtomicU32>,
}

impl Stage {
    pub(crate) async fn open() -> Result<(Self, TcpIncoming), Failure> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (desk, insurer) = services::open();
        let stage = Self {
            uri: format!("http://{}", listener.local_addr()?),
            desk,
            insurer,
            received: Arc::default(),
        };
        Ok((stage, TcpIncoming::from(listener)))
    }

    pub(crate) fn desk(&self) -> Desk {
        self.desk.clone()
    }

    pub(crate) fn quotes(&self) -> QuotesServer<Desk> {
        QuotesServer::new(self.desk())
    }

    pub(crate) fn branches(&self) -> BranchesServer<Desk> {
        BranchesServer::new(self.desk())
    }

    /// Counts what reaches the server, before anything can reject it.
    pub(crate) fn counting(
        &self,
    ) -> MapRequestLayer<impl Fn(http::Request<Body>) -> http::Request<Body> + Clone + use<>> {
        let received = Arc::clone(&self.received);
        MapRequestLayer::new(move |request| {
            received.fetch_add(1, Ordering::Relaxed);
            request
        })
    }

    pub(crate) async fn connect(&self) -> Result<Channel, Failure> {
        Ok(Endpoint::from_shared(self.uri.clone())?.connect().await?)
    }

    /// [`run`](Self::run) with a client that knows nothing of partitions.
    pub(crate) async fn run_plain(self) -> Result<Seen, Failure> {
        let client = QuotesClient::new(self.connect().await?);
        let quote = || {
            let mut client = client.clone();
            async move { client.quote(QuoteRequest::default()).await.map(drop) }
        };
        self.run(quote).await
    }

    /// Sends the calls that hang, then the quick ones while they do, then lets everything finish.
    pub(crate) async fn run<C>(mut self, hanging: impl Fn() -> C) -> Result<Seen, Failure>
    where
        C: Future<Output = Result<(), Status>> + Send + 'static,
    {
        let mut calls = JoinSet::new();
        for _ in 0..HANGING {
            calls.spawn(hanging());
        }

        // A call either reaches the insurer or is rejected: when each of them has done one of the two,
        // those that were accepted hang there, and no sleep had to guess it.
        let mut seen = Seen::default();
        while seen.hanging.sent() < HANGING {
            tokio::select! {
                () = self.insurer.question() => seen.hanging.accepted += 1,
                Some(ended) = calls.join_next() => {
                    let rejection = ended?.expect_err("no question is answered yet");
                    seen.hanging.rejected += 1;
                    seen.keep(rejection);
                }
            }
        }
        seen.hanging.reached = self.received.swap(0, Ordering::Relaxed);

        let mut client = BranchesClient::new(self.connect().await?);
        for _ in 0..QUICK {
            match client.hours(HoursRequest {}).await {
                Ok(_) => seen.quick.accepted += 1,
                Err(rejection) => {
                    seen.quick.rejected += 1;
                    seen.keep(rejection);
                }
            }
        }
        seen.quick.reached = self.received.swap(0, Ordering::Relaxed);

        self.insurer.answer();
        while let Some(ended) = calls.join_next().await {
            ended??;
        }
        Ok(seen)
    }
}
