//! What a body that settles logs belongs to its caller's span, also where nobody wants a span of the library.

#![expect(clippy::disallowed_types, reason = "a subscriber may lock as it likes")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bulkhead_runtime::{BulkheadError, bulkhead};
use tokio::task::yield_now;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_default;
use tracing::{Event, Metadata, Subscriber, info};
use tracing_core::span::Current;

/// Keeps in which span each event was told, and takes nothing of the library.
#[derive(Clone, Default)]
struct Spans(Arc<Book>);

#[derive(Default)]
struct Book {
    last: AtomicU64,
    entered: Mutex<Vec<(Id, &'static Metadata<'static>)>>,
    told: Mutex<Vec<Option<&'static str>>>,
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == module_path!()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = Id::from_u64(self.0.last.fetch_add(1, Ordering::Relaxed) + 1);
        NAMES
            .lock()
            .expect("nobody panics")
            .push((id.clone(), span.metadata()));
        id
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        let entered = self.0.entered.lock().expect("nobody panics");
        let name = entered.last().map(|(_, metadata)| metadata.name());
        self.0.told.lock().expect("nobody panics").push(name);
    }

    fn enter(&self, id: &Id) {
        let names = NAMES.lock().expect("nobody panics");
        let (_, metadata) = names
            .iter()
            .find(|(known, _)| known == id)
            .expect("it is known");
        self.0
            .entered
            .lock()
            .expect("nobody panics")
            .push((id.clone(), metadata));
    }

    fn exit(&self, _: &Id) {
        self.0.entered.lock().expect("nobody panics").pop();
    }

    fn current_span(&self) -> Current {
        let entered = self.0.entered.lock().expect("nobody panics");
        match entered.last() {
            Some((id, metadata)) => Current::new(id.clone(), metadata),
            None => Current::none(),
        }
    }
}

static NAMES: Mutex<Vec<(Id, &'static Metadata<'static>)>> = Mutex::new(Vec::new());

#[bulkhead(name = "settle-span", max = 1, settle)]
async fn settles() -> Result<(), BulkheadError> {
    info!("it begins");
    yield_now().await;
    info!("it goes on");
    Ok(())
}

#[tracing::instrument]
async fn request() {
    settles().await.expect("there is room");
}

#[tokio::test]
async fn what_a_body_that_settles_logs_belongs_to_the_span_of_its_caller() {
    let spans = Spans::default();
    let _listening = set_default(spans.clone());
    request().await;
    let told = spans.0.told.lock().expect("nobody panics").clone();
    assert_eq!(told, [Some("request"); 2]);
}
