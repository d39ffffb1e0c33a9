//! Who listens, and which gates are watched for them.
//!
//! One lock orders both: a state that is made while somebody subscribes is either in view when the gates are
//! told to watch, or is told itself. Nothing foreign runs while it is held.

use std::sync::Arc;

use super::{Event, Observer, Wants};
use crate::admission::Watch;
use crate::foreign::{drop_harmlessly, harmless};
use crate::frame;
use crate::partition::Live;
use crate::sync::{StaticFlag, StaticMutex};

static LISTENERS: StaticMutex<Listeners> = StaticMutex::new(Listeners {
    all: None,
    subscribed: 0,
    lives: Vec::new(),
    watch: Watch::Nothing,
});

/// Whether anybody subscribed and is still there.
static ANYBODY: StaticFlag = StaticFlag::new();

struct Listeners {
    /// Whoever tells, tells those of one moment, without the lock.
    all: Option<Arc<[Listener]>>,
    subscribed: u64,
    /// Every state that there is, isolated ones included.
    lives: Vec<&'static Live>,
    /// How closely all of them are watched, if one is not watched more closely.
    watch: Watch,
}

#[derive(Clone)]
struct Listener {
    id: u64,
    wants: Wants,
    observer: Arc<dyn Observer>,
}

impl Wants {
    const fn watch(self) -> Watch {
        match (self.admissions, self.saturation) {
            (true, _) => Watch::Admissions,
            (false, true) => Watch::Saturation,
            (false, false) => Watch::Nothing,
        }
    }
}

/// Costs a look at one flag where nobody has subscribed.
#[inline]
pub(super) fn tell<'e>(event: impl FnOnce() -> Event<'e>) {
    if ANYBODY.is_set() {
        make_and_tell(event);
    }
}

/// Out of line: a rejection shall not make space for an event that nobody hears.
#[cold]
#[inline(never)]
fn make_and_tell<'e>(event: impl FnOnce() -> Event<'e>) {
    // What an observer does is no part of the call that it is told of.
    frame::apart(|| tell_all(&event()));
}

fn tell_all(event: &Event<'_>) {
    let Some(all) = LISTENERS.lock().all.clone() else {
        return;
    };
    for listener in all.iter().filter(|listener| listener.wants.include(event)) {
        harmless(|| listener.observer.observe(event));
    }
    // Perhaps the last that holds one who has unsubscribed meanwhile.
    drop_harmlessly(all);
}

pub(super) fn add(observer: impl Observer) -> u64 {
    let wants = observer.wants();
    let observer: Arc<dyn Observer> = Arc::new(observer);
    let mut listeners = LISTENERS.lock();
    listeners.subscribed += 1;
    let listener = Listener {
        id: listeners.subscribed,
        wants,
        observer: Arc::clone(&observer),
    };
    let id = listener.id;
    let others = listeners.all.take();
    let all = others.iter().flat_map(|others| others.iter().cloned());
    listeners.all = Some(all.chain([listener]).collect());
    ANYBODY.set(true);
    // Before the others are watched: what that brings to light is told to all of them.
    let saturated = if wants.saturation {
        listeners.saturated()
    } else {
        Vec::new()
    };
    let changed = listeners.watch_anew();
    drop(listeners);
    settle(&changed);
    for (live, episode) in saturated {
        let partition = live.partition;
        frame::apart(|| harmless(|| observer.observe(&Event::Saturated { partition, episode })));
    }
    id
}

pub(super) fn remove(id: u64) {
    let mut listeners = LISTENERS.lock();
    let Some(all) = listeners.all.take() else {
        return;
    };
    let others = all.iter().filter(|listener| listener.id != id).cloned();
    let others: Arc<[Listener]> = others.collect();
    ANYBODY.set(!others.is_empty());
    listeners.all = Some(others).filter(|others| !others.is_empty());
    let changed = listeners.watch_anew();
    drop(listeners);
    settle(&changed);
    drop_harmlessly(all);
}

/// Has a state watched as closely as anybody wants, from here on. It is new: nobody is in it.
pub(crate) fn keep_in_view(live: &'static Live) {
    let mut listeners = LISTENERS.lock();
    listeners.lives.push(live);
    let watch = listeners.wanted();
    if watch != Watch::Nothing {
        live.gate.watch(watch);
    }
}

/// Nobody says so when a subscriber of `tracing` is installed; those that come by look.
#[cfg(feature = "tracing")]
#[inline]
pub(super) fn keep_up_with_tracing() {
    if super::events::watch() != Watch::Nothing && !WATCHED.is_set() {
        let changed = LISTENERS.lock().watch_anew();
        settle(&changed);
    }
}

/// Whether all gates are watched.
#[cfg(feature = "tracing")]
static WATCHED: StaticFlag = StaticFlag::new();

impl Listeners {
    /// How closely those that listen now want the gates to be watched.
    fn wanted(&self) -> Watch {
        let all = self.all.iter().flat_map(|all| all.iter());
        let closest = all.map(|listener| listener.wants.watch()).max();
        #[cfg(feature = "tracing")]
        let closest = closest.max(Some(super::events::watch()));
        closest.unwrap_or(Watch::Nothing)
    }

    /// Has all gates watched as is wanted now. Tells which are to be settled, after the lock.
    fn watch_anew(&mut self) -> Vec<&'static Live> {
        let watch = self.wanted();
        if watch == self.watch {
            return Vec::new();
        }
        self.watch = watch;
        #[cfg(feature = "tracing")]
        WATCHED.set(watch != Watch::Nothing);
        for live in &self.lives {
            live.gate.watch(watch);
        }
        self.lives.clone()
    }

    /// The partitions that others know to be saturated.
    fn saturated(&self) -> Vec<(&'static Live, u64)> {
        let episode = |live: &&'static Live| Some((*live, live.gate.episode()?));
        self.lives.iter().filter_map(episode).collect()
    }
}

/// What is watched from now on may be saturated, and what is not any more forgets that it was told to be.
fn settle(changed: &[&'static Live]) {
    for live in changed {
        live.gate.hand_over();
    }
}
