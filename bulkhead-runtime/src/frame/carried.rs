//! A frame on its way to another task.

use std::sync::Arc;

use super::depth;
use super::due::{self, Setter};
use super::held::{self, Distant};
use super::inside::{self, Note};
use super::owner;
use crate::time::Instant;

/// What a task takes along from where it was spawned.
#[derive(Debug)]
pub(crate) struct Carried {
    deadline: Option<(Instant, Setter)>,
    held: Box<[Distant]>,
    note: Option<Arc<Note>>,
    is_retrying: bool,
    holds_permit: bool,
}

impl Carried {
    /// That of what is polled now.
    pub(crate) fn current() -> Self {
        Self {
            deadline: due::deadline().map(|deadline| (deadline, due::setter())),
            held: held::distant(),
            note: inside::note_for_a_task(),
            is_retrying: owner::is_retrying(),
            holds_permit: depth::holds_permit(),
        }
    }

    /// The same for work that goes on although its caller has left: no deadline is its own.
    pub(crate) fn without_deadline(self) -> Self {
        Self {
            deadline: None,
            ..self
        }
    }

    /// Polls in it.
    pub(crate) fn around<T>(&self, poll: impl FnOnce() -> T) -> T {
        let _permit = self.holds_permit.then(depth::hold_permit);
        let _held = held::hold_distant(&self.held);
        let _owner = owner::retrying(self.is_retrying);
        let _due = self
            .deadline
            .map(|(deadline, setter)| due::narrow(deadline, setter));
        match &self.note {
            Some(note) => inside::noting(note, poll),
            None => poll(),
        }
    }
}
