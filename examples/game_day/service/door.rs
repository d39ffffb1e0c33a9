//! The limit that every server has somewhere: worker threads, database connections, memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tokio::sync::Semaphore;

use super::Service;

/// How many requests the service works on at once. Calm, it has 30 of them.
pub(crate) const ROOM: usize = 150;

/// Who finds no room waits at the door, first come, first served. A request keeps its place while a partner keeps
/// it waiting.
pub(super) struct Door {
    room: Semaphore,
    waiting: AtomicUsize,
}

impl Door {
    pub(super) const fn new() -> Self {
        Self {
            room: Semaphore::const_new(ROOM),
            waiting: AtomicUsize::new(0),
        }
    }

    pub(super) fn inside(&self) -> usize {
        ROOM - self.room.available_permits()
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }
}

pub(super) async fn pass(
    State(service): State<Arc<Service>>,
    request: Request,
    next: Next,
) -> Response {
    let waiting = Waiting::at(&service.door);
    let place = service.door.room.acquire().await;
    let _place = place.expect("nobody closes the semaphore");
    drop(waiting);
    next.run(request).await
}

/// One that waits; also when it leaves, it is one less.
struct Waiting<'a>(&'a Door);

impl<'a> Waiting<'a> {
    fn at(door: &'a Door) -> Self {
        door.waiting.fetch_add(1, Ordering::Relaxed);
        Self(door)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
