//! The path of a call: in, the body, out; for annotated functions, for futures, for permits held by
//! hand, and for blocking work.
//!
//! [`guard`](mod@guard) and [`contract`] stand around the bodies of annotated functions, [`future`] around any
//! future; [`permit`] is held by hand, and [`blocking`] takes one along. [`entering`] is the way in that all of them
//! share, [`run`] the body and what bounds it, [`side`] what breakers hear of it, [`answer`] what an annotated
//! function makes of a rejection.

mod answer;
mod attempt;
mod blocking;
mod bodies;
mod contract;
mod entering;
mod future;
mod guard;
mod permit;
mod repeat;
mod run;
mod side;
mod whole;

pub use answer::{Answer, Ask};
pub(crate) use blocking::run_blocking;
pub use bodies::{Again, Once, Settles, Stays};
pub use future::{Call, Unclassified};
pub use guard::{Contract, Guards, guard, guard_timed, once};
pub use permit::{Enter, Permit};
pub use repeat::{
    Returned, ReturnedWhole, Unanswered, UnansweredWhole, again, instead, receive_again,
};
#[cfg(feature = "tower")]
pub(crate) use run::{Run, Terms};
#[cfg(feature = "tower")]
pub(crate) use side::Boxed;
pub use whole::{guard_whole, guard_whole_or};
