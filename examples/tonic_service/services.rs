//! The two services, and the insurer behind one of them.

use std::sync::Arc;

use tokio::sync::{Semaphore, mpsc};
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use crate::generated::branches_server::Branches;
use crate::generated::quotes_server::Quotes;
use crate::generated::{HoursRequest, OpeningHours, Price, QuoteRequest};

pub(crate) type Prices = ReceiverStream<Result<Price, Status>>;

/// Both services, without any partition of their own.
#[derive(Clone)]
pub(crate) struct Desk {
    gate: Arc<Semaphore>,
    ask: mpsc::UnboundedSender<()>,
}

/// It hears every question, and answers none until it is told to.
pub(crate) struct Insurer {
    gate: Arc<Semaphore>,
    questions: mpsc::UnboundedReceiver<()>,
}

pub(crate) fn open() -> (Desk, Insurer) {
    let gate = Arc::new(Semaphore::new(0));
    let (ask, questions) = mpsc::unbounded_channel();
    let desk = Desk {
        gate: Arc::clone(&gate),
        ask,
    };
    (desk, Insurer { gate, questions })
}

impl Insurer {
    /// The next question is there.
    pub(crate) async fn question(&mut self) {
        let question = self.questions.recv().await;
        question.expect("the desk is open as long as the server is");
    }

    /// Answers all of them.
    pub(crate) fn answer(&self) {
        self.gate.close();
    }
}

impl Desk {
    async fn ask_the_insurer(&self) -> Result<Price, Status> {
        let gone = |_| Status::unavailable("the insurer is gone");
        self.ask.send(()).map_err(gone)?;
        // The gate has no permits to give: closing it is what opens it, for everybody.
        assert!(self.gate.acquire().await.is_err(), "the gate only closes");
        Ok(Price { cents: 4_200 })
    }
}

#[tonic::async_trait]
impl Quotes for Desk {
    async fn quote(&self, _: Request<QuoteRequest>) -> Result<Response<Price>, Status> {
        self.ask_the_insurer().await.map(Response::new)
    }

    type FollowStream = Prices;

    async fn follow(&self, _: Request<QuoteRequest>) -> Result<Response<Prices>, Status> {
        let (prices, stream) = mpsc::channel(1);
        let desk = self.clone();
        tokio::spawn(async move { prices.send(desk.ask_the_insurer().await).await });
        Ok(Response::new(Prices::new(stream)))
    }
}

#[tonic::async_trait]
impl Branches for Desk {
    async fn hours(&self, _: Request<HoursRequest>) -> Result<Response<OpeningHours>, Status> {
        let text = "nine to five".to_owned();
        Ok(Response::new(OpeningHours { text }))
    }
}
