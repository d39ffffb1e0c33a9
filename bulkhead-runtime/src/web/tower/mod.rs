//! A layer for [tower](https://docs.rs/tower) services: it rejects before the request is read.
//!
//! Available with the feature `tower`.
//!
//! An annotated handler runs after its extractors: a request of four megabytes is received and parsed
//! before it is rejected. The layer stands before all that. It holds the request as it came, waits for
//! a permit where the partition has a queue, and calls the service only with the permit in hand.
//!
//! ```
//! use axum::{Router, routing::post};
//! use bulkhead_runtime::{BulkheadLayer, Partition, partition};
//!
//! #[partition(name = "import", max = 4)]
//! static IMPORT: Partition;
//!
//! async fn import(body: String) -> String {
//!     format!("{} bytes", body.len())
//! }
//!
//! let app: Router = Router::new()
//!     .route("/import", post(import))
//!     .route_layer(BulkheadLayer::new(&IMPORT));
//! ```
//!
//! # Who owns a permit
//!
//! Only a call does, from the first poll of its future to its response, or with
//! [`until_body`](BulkheadLayer::until_body) until the server has taken the last of that. `poll_ready`
//! is always ready and takes nothing, so no clone, no idle connection and no client holds a permit;
//! however a service is cloned, it is the one partition. The readiness of the service inside is awaited
//! *with* the permit, under the timeout: a service that is never ready fills its share and then
//! rejects, and does not collect callers without bound.
//!
//! The layer clones the service once for a call, as a middleware has to that does not call it at once.
//! It allocates nothing itself, except with `until_body`, which boxes the body once and spawns a task.
//!
//! # What the caller sees
//!
//! | | a rejected call becomes |
//! |---|---|
//! | [`BulkheadLayer::new`] | a response, as [`FromBulkheadError`](crate::FromBulkheadError) makes it: axum's and tonic's have it, with the features `axum` and `tonic` |
//! | [`BulkheadLayer::as_error`] | the error of the service, made `From<BulkheadError>`; a boxed error is one |
//! | [`BulkheadLayer::reject`] | what your function makes of it |
//!
//! # Deadlines
//!
//! [`DeadlineLayer`] before a server gives every request a [`Deadline`](crate::Deadline), the service's own or
//! the client's if that is sooner; [`PropagateDeadlineLayer`] before a client tells the next server what is
//! left of it.

mod deadline;
mod extent;
mod held;
mod judge;
mod layer;
mod propagate;
mod service;

pub use deadline::{DeadlineLayer, WithDeadline};
pub use extent::{Extent, UntilBody, UntilHead};
pub use held::HeldBody;
pub use judge::{ByError, ByFunction, ByResponse, Classified, ForEnvoy, Judge};
pub use layer::BulkheadLayer;
pub use propagate::{PropagateDeadline, PropagateDeadlineLayer};
pub use service::{Bulkhead, ResponseFuture};
