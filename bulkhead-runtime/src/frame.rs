//! What the current task carries from call to call: its deadline, the partitions that it holds, and what
//! became of the calls inside.
//!
//! A frame holds while a future is polled. Whoever narrows the deadline, or holds a permit of a partition
//! in whose queue a nested call could wait for it, says so around each poll of what runs inside; whatever
//! is called in there finds it. So futures that are polled side by side, as by `join!`, do not see each
//! other's, and a frame does not outlive a poll, whatever unwinds. The price is a few thread-local writes a poll,
//! and only for those that have something to say.
//!
//! [`due`] is the deadline, [`held`] are the permits, [`depth`] tells whether there is a permit at all, [`inside`] is
//! what became of the calls inside, [`owner`] tells whether somebody retries; [`carried`] is all of it on its way to
//! another task.

mod carried;
mod depth;
mod due;
mod held;
mod inside;
mod owner;

pub(crate) use carried::Carried;
pub(crate) use depth::{hold_permit, holds_permit, standing};
pub(crate) use due::{
    Restored, Setter, allow, apart, deadline, is_due, left_unasked, narrow, set, setter,
};
pub(crate) use held::{Alive, Held, hold, holder};
pub(crate) use inside::{Ended, Inside};
pub(crate) use owner::{is_retrying, retrying};
