//! Who is told. Always last, outside every lock; whatever a listener does, it changes no result and
//! no count.

#[cfg(feature = "tracing")]
mod events;
mod listeners;
#[cfg_attr(not(feature = "tracing"), path = "observer/untraced.rs")]
mod traced;

use std::fmt;
use std::time::Duration;

use crate::admission::Saturation;
use crate::breaker::{Breaker, BreakerTransition};
use crate::error::{BulkheadError, Origin};
#[cfg(feature = "tracing")]
use crate::foreign::harmless;
use crate::function::Function;
use crate::partition::{Live, Partition};
use crate::registry::Conflict;

#[cfg(feature = "tracing")]
pub(crate) use events::{OneSampling, Sampling};
pub(crate) use listeners::keep_in_view;
use listeners::tell;
pub(crate) use traced::Traced;

/// One that is told what happens; [`subscribe`] it.
///
/// Every closure of the form `|event: &Event<'_>| …` is one, and wants what [`Wants::USUAL`] says.
///
/// **When.** It is told after the fact, by the thread that brought it about, while none of the crate's locks is
/// held: it may take permits, resize, close, subscribe and unsubscribe. What it brings about itself it is told
/// of, too, so it must not answer every event with another. The call goes on when it returns: let it be short,
/// and let it not block.
///
/// **In which order.** As it happened for one thread. Of two threads the one that was later may tell first, and
/// what one observer brings about while it is told, those behind it hear first. Of saturation, the numbers of the
/// [episodes](Event::Saturated) keep that apart; of everything else, ask the partition what holds.
///
/// **If it panics**, the panic ends there, after the panic hook has told of it: the others are told, and neither
/// the call nor any count notices.
///
/// # Examples
/// A gauge of saturated partitions that is right whoever tells first:
/// ```
/// use std::collections::HashMap;
/// use std::sync::{Arc, Mutex};
/// use bulkhead_runtime::{partition, subscribe, Event, Observer, Partition};
///
/// /// The newest episode of each partition, and whether it is over.
/// #[derive(Default)]
/// struct Saturated(Mutex<HashMap<&'static str, (u64, bool)>>);
///
/// impl Saturated {
///     fn now(&self, name: &str) -> bool {
///         self.0.lock().unwrap().get(name).is_some_and(|(_, is_over)| !is_over)
///     }
/// }
///
/// struct Gauge(Arc<Saturated>);
///
/// impl Observer for Gauge {
///     fn observe(&self, event: &Event<'_>) {
///         let told = match *event {
///             Event::Saturated { episode, .. } => (episode, false),
///             Event::Relieved { episode, .. } => (episode, true),
///             _ => return,
///         };
///         let mut all = self.0.0.lock().unwrap();
///         let newest = all.entry(event.partition().name()).or_default();
///         *newest = told.max(*newest);
///     }
/// }
///
/// #[partition(name = "gauged", max = 2)]
/// static GAUGED: Partition;
///
/// let saturated = Arc::new(Saturated::default());
/// subscribe(Gauge(Arc::clone(&saturated)));
///
/// let first = GAUGED.try_enter()?;
/// assert!(!saturated.now("gauged"));
/// let second = GAUGED.try_enter()?;
/// assert!(saturated.now("gauged"));
/// drop(first);
/// assert!(!saturated.now("gauged"));
/// # Ok::<(), bulkhead_runtime::BulkheadError>(())
/// ```
pub trait Observer: Send + Sync + 'static {
    /// Something happened.
    fn observe(&self, event: &Event<'_>);

    /// What it wants to be told of; asked once, when it subscribes.
    fn wants(&self) -> Wants {
        Wants::USUAL
    }
}

impl<F: Fn(&Event<'_>) + Send + Sync + 'static> Observer for F {
    fn observe(&self, event: &Event<'_>) {
        self(event);
    }
}

/// Something that happened to a partition.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A call was rejected: its body never ran. Each attempt is told of. Told when its caller gets the error: one that
    /// was turned away while it waited, and is dropped before it is polled, is counted and not told.
    #[non_exhaustive]
    Rejected {
        /// What rejected it.
        partition: &'static Partition,
        /// What became of this attempt; its caller gets it unless another attempt or a fallback answers.
        error: &'a BulkheadError,
    },
    /// A call ran out of time while its body ran: its `timeout` or a deadline was over. Each attempt is told of. Not
    /// told when a deadline ends only the wait for a body that settles, or a fallback.
    #[non_exhaustive]
    TimedOut {
        /// Where it ran.
        partition: &'static Partition,
        /// What became of this attempt; its caller gets it unless another attempt or a fallback answers.
        error: &'a BulkheadError,
    },
    /// The last permit was taken: there is no headroom.
    ///
    /// Also told when a [`resize`](Partition::resize) to fewer leaves none; and in the mode
    /// [`Observe`](crate::Mode::Observe), where calls run all the same. In the mode [`Off`](crate::Mode::Off)
    /// no partition is saturated. A permit that goes on to a waiter was never free: the partition stays saturated.
    ///
    /// One that subscribes while partitions are saturated is told of each of them at once.
    #[non_exhaustive]
    Saturated {
        /// Which one.
        partition: &'static Partition,
        /// Its number: the times are counted, for each partition from 1, at which it was saturated and anybody
        /// wanted to know. The [`Relieved`](Self::Relieved) that ends it has the same number.
        episode: u64,
    },
    /// There is headroom again.
    #[non_exhaustive]
    Relieved {
        /// Which one.
        partition: &'static Partition,
        /// The number of the [`Saturated`](Self::Saturated) that it ends.
        episode: u64,
        /// How long there was none, or, if nobody listened when it began, how long that was known.
        after: Duration,
    },
    /// It was [closed](Partition::close), or a [drain](Partition::drain) began, and those that waited are turned away.
    /// Told once until it is reopened, also when it is closed while it drains.
    #[non_exhaustive]
    Closed {
        /// Which one.
        partition: &'static Partition,
    },
    /// It was [reopened](Partition::reopen).
    #[non_exhaustive]
    Reopened {
        /// Which one.
        partition: &'static Partition,
    },
    /// A [breaker](Breaker) has changed its state.
    ///
    /// By the [era](BreakerTransition::era) a listener tells which of two is the later.
    #[non_exhaustive]
    Breaker {
        /// Whose calls it watches.
        partition: &'static Partition,
        /// Which one.
        breaker: &'static Breaker,
        /// From which state to which, and why.
        transition: BreakerTransition,
    },
    /// A function that says `margin` and no `deadline`, and so relies on the deadline of its caller, was called
    /// where there is none: nothing bounds it but its `timeout`.
    #[non_exhaustive]
    WithoutDeadline {
        /// Its partition.
        partition: &'static Partition,
        /// Its path.
        function: &'static str,
    },
    /// A call failed and was worth another attempt, and the [retry budget](crate::RetryBudget) of its partition was
    /// spent: its caller, or its fallback, gets the error as it is.
    #[non_exhaustive]
    BudgetSpent {
        /// Whose budget.
        partition: &'static Partition,
        /// The path of the function.
        function: &'static str,
    },
    /// A call was admitted. Told to those only that [ask for it](Wants::with_admissions), and not in the mode
    /// [`Off`](crate::Mode::Off).
    #[non_exhaustive]
    Admitted {
        /// What admitted it.
        partition: &'static Partition,
        /// The path of the annotated function; `None` for a permit that was taken by hand.
        function: Option<&'static str>,
        /// The time in the queue; zero for a call that was admitted at once.
        waited: Duration,
    },
}

impl Event<'_> {
    /// The partition to which it happened: its labels, and with a [`snapshot`](Partition::snapshot) its numbers.
    #[must_use]
    pub const fn partition(&self) -> &'static Partition {
        match *self {
            Self::Rejected { partition, .. }
            | Self::TimedOut { partition, .. }
            | Self::Saturated { partition, .. }
            | Self::Relieved { partition, .. }
            | Self::Closed { partition }
            | Self::Reopened { partition }
            | Self::Breaker { partition, .. }
            | Self::WithoutDeadline { partition, .. }
            | Self::BudgetSpent { partition, .. }
            | Self::Admitted { partition, .. } => partition,
        }
    }
}

/// What an [`Observer`] wants to be told of, beside what costs nobody anything.
///
/// Rejections, timeouts, the moves of breakers, closing and reopening are off the way of a call that is admitted.
/// Saturation and admissions are not: while anybody wants those, some calls or all of them take the partition's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wants {
    saturation: bool,
    admissions: bool,
}

impl Wants {
    /// Everything but admissions.
    pub const USUAL: Self = Self {
        saturation: true,
        admissions: false,
    };

    /// [`Admitted`](Event::Admitted) as well: every call of every partition then goes through its lock.
    #[must_use]
    pub const fn with_admissions(self) -> Self {
        Self {
            admissions: true,
            ..self
        }
    }

    /// Neither [`Saturated`](Event::Saturated) nor [`Relieved`](Event::Relieved). If nobody else wants those, the
    /// call that takes the last permit, and the one that gives it back, are spared the lock; with a `max` of 1
    /// that is every call.
    #[must_use]
    pub const fn without_saturation(self) -> Self {
        Self {
            saturation: false,
            ..self
        }
    }

    const fn include(self, event: &Event<'_>) -> bool {
        match event {
            Event::Saturated { .. } | Event::Relieved { .. } => self.saturation,
            Event::Admitted { .. } => self.admissions,
            _ => true,
        }
    }
}

impl Default for Wants {
    fn default() -> Self {
        Self::USUAL
    }
}

/// Tells `observer` from now on what happens to all partitions of the process.
///
/// As long as nobody subscribes, an admitted call pays nothing for it, and a rejected one a look at a flag.
///
/// Observers are told in the order in which they subscribed.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use bulkhead_runtime::{partition, subscribe, Event, Partition};
///
/// #[partition(name = "overheard", max = 1)]
/// static OVERHEARD: Partition;
///
/// let rejected = Arc::new(AtomicU64::new(0));
/// let subscription = subscribe({
///     let rejected = Arc::clone(&rejected);
///     move |event: &Event<'_>| {
///         if let Event::Rejected { partition, error, .. } = event {
///             assert_eq!((partition.name(), error.reason().as_str()), ("overheard", "full"));
///             rejected.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// });
///
/// let held = OVERHEARD.try_enter()?;
/// OVERHEARD.try_enter().unwrap_err();
/// assert_eq!(rejected.load(Ordering::Relaxed), 1);
///
/// subscription.unsubscribe();
/// OVERHEARD.try_enter().unwrap_err();
/// assert_eq!(rejected.load(Ordering::Relaxed), 1);
/// # Ok::<(), bulkhead_runtime::BulkheadError>(())
/// ```
pub fn subscribe(observer: impl Observer) -> Subscription {
    Subscription {
        listener: listeners::add(observer),
    }
}

/// What [`subscribe`] returns. Dropping it changes nothing: the observer stays until it is
/// [unsubscribed](Self::unsubscribe), or for as long as the program runs.
pub struct Subscription {
    listener: u64,
}

impl Subscription {
    /// Tells the observer nothing more, and drops it.
    ///
    /// Another thread that is about to tell it of something may still do so, and then drops it.
    pub fn unsubscribe(self) {
        listeners::remove(self.listener);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

/// A call was rejected.
#[inline]
pub(crate) fn rejected(live: &Live, error: &BulkheadError) {
    #[cfg(feature = "tracing")]
    {
        listeners::keep_up_with_tracing();
        harmless(|| events::rejected(live, error));
    }
    let partition = live.partition;
    tell(|| Event::Rejected { partition, error });
}

/// A call ran out of time while its body ran.
#[cold]
pub(crate) fn timed_out(live: &Live, error: &BulkheadError) {
    #[cfg(feature = "tracing")]
    harmless(|| events::timed_out(live, error));
    let partition = live.partition;
    tell(|| Event::TimedOut { partition, error });
}

/// A call was admitted that the gate looked at closely; while anybody wants admissions, that is every call.
#[cold]
pub(crate) fn admitted(live: &Live, origin: Origin, waited: Duration) {
    tell(|| Event::Admitted {
        partition: live.partition,
        function: origin.function.map(Function::path),
        waited,
    });
}

/// The last permit was taken, or one is free again.
#[cold]
pub(crate) fn saturation(partition: &'static Partition, saturation: Saturation) {
    #[cfg(feature = "tracing")]
    harmless(|| events::saturation(partition, saturation));
    tell(|| match saturation {
        Saturation::Began { episode } => Event::Saturated { partition, episode },
        Saturation::Ended { episode, after } => Event::Relieved {
            partition,
            episode,
            after,
        },
    });
}

/// An open partition was closed, for all or for those outside.
#[cold]
pub(crate) fn closed(live: &Live) {
    #[cfg(feature = "tracing")]
    harmless(|| events::closed(live.partition));
    let partition = live.partition;
    tell(|| Event::Closed { partition });
}

/// A closed partition was reopened.
#[cold]
pub(crate) fn reopened(live: &Live) {
    #[cfg(feature = "tracing")]
    harmless(|| events::reopened(live.partition));
    let partition = live.partition;
    tell(|| Event::Reopened { partition });
}

/// A breaker has changed its state.
#[cold]
pub(crate) fn breaker(breaker: &'static Breaker, transition: &BreakerTransition) {
    #[cfg(feature = "tracing")]
    harmless(|| events::breaker(breaker, transition));
    tell(|| Event::Breaker {
        partition: breaker.partition(),
        breaker,
        transition: *transition,
    });
}

/// A function that only shortens the deadline of its caller was called without one.
#[cold]
pub(crate) fn without_deadline(live: &Live, function: &'static Function) {
    let function = function.path();
    #[cfg(feature = "tracing")]
    harmless(|| events::without_deadline(live, function));
    tell(|| Event::WithoutDeadline {
        partition: live.partition,
        function,
    });
}

/// A retry that the budget did not afford.
#[cold]
pub(crate) fn budget_spent(live: &'static Live, function: &'static Function) {
    let function = function.path();
    #[cfg(feature = "tracing")]
    harmless(|| events::budget_spent(live, function));
    tell(|| Event::BudgetSpent {
        partition: live.partition,
        function,
    });
}

/// Two declarations of one identity disagree.
#[cfg_attr(
    not(feature = "tracing"),
    expect(unused_variables, reason = "nobody listens")
)]
pub(crate) fn conflict(conflict: &Conflict) {
    #[cfg(feature = "tracing")]
    harmless(|| events::conflict(conflict));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;
    use crate::registry::register;
    use crate::sync::StaticMutex;

    /// What was told of the partition of the test, and to whom.
    static TOLD: StaticMutex<Vec<(&str, String)>> = StaticMutex::new(Vec::new());

    struct Listener(&'static str, Wants);

    impl Observer for Listener {
        fn observe(&self, event: &Event<'_>) {
            if let Event::Admitted {
                partition,
                function,
                waited,
            } = event
            {
                let told = format!("{} {function:?} {waited:?}", partition.name());
                TOLD.lock().push((self.0, told));
            }
        }

        fn wants(&self) -> Wants {
            self.1
        }
    }

    #[test]
    fn admissions_are_told_to_those_that_ask_for_them() {
        let partition = register("told-admissions", Policy::new(1)).expect("legal");
        let subscriptions = [
            subscribe(Listener("usual", Wants::USUAL)),
            subscribe(Listener("all", Wants::USUAL.with_admissions())),
        ];
        let live = partition.live();
        assert!(live.gate.enter_at_once().is_none(), "nobody would be told");
        let origin = Origin {
            partition,
            function: None,
        };
        admitted(live, origin, Duration::from_millis(7));
        let told = "told-admissions None 7ms".to_owned();
        assert_eq!(*TOLD.lock(), [("all", told)]);
        for subscription in subscriptions {
            subscription.unsubscribe();
        }
        assert!(live.gate.enter_at_once().is_some(), "nobody asks any more");
    }
}
